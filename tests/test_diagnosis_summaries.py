"""The text of a summary by itself: doubled parts, missing sections, lists that outgrow it, credentials."""

import pytest
from builders import SessionBuilder
from diagnosed import findings_of, line_of

from compactor.file_ops import FileLists, file_blocks
from compactor.summary import SPLIT_TURN_LEAD

WHOLE = "\n\n".join(
    f"## {name}\nCrane 3."
    for name in ("Goal", "Constraints & Preferences", "Progress", "Key Decisions", "Next Steps", "Critical Context")
).replace("## Progress\nCrane 3.", "## Progress\n### Done\n- a\n### In Progress\n- b\n### Blocked\n- c")
READ = file_blocks(FileLists(read_files=("a.md", "b.md")))
TOKEN = "ghp_" + "aB3d" * 9
LAYOUT = ("doubled_headings", "doubled_file_lists", "file_list_bloat", "missing_sections", "secret_in_summary")


def session(summary: str, **fields: object) -> SessionBuilder:
    builder = SessionBuilder()
    for _ in range(3):
        builder.user("The crane stands at berth fourteen. " * 80)
    builder.compaction(builder.leaf or "", summary, tokensBefore=2000, **fields)
    return builder


def said(builder: SessionBuilder) -> list[str]:
    return [f.message for f in findings_of(builder, *LAYOUT)]


@pytest.mark.parametrize(
    ("summary", "expected"),
    [
        (WHOLE, []),
        (WHOLE + READ, []),
        ("Crane 3 stands at berth 14.", []),
        ("## Goal\nMove.", []),
        (WHOLE + "\n\n## Goal\nMove.", ["“Goal” stands in the summary twice"]),
        (WHOLE + "\n\n## Goal\nMove.\n## Next Steps\n1. x", ["“Goal” and “Next Steps” stand in the summary twice"]),
        (WHOLE + 2 * SPLIT_TURN_LEAD, ["the part about a split turn stands in the summary twice"]),
        (WHOLE + READ + READ, ["<read-files> stands in the summary twice"]),
        (
            WHOLE + 2 * file_blocks(FileLists(read_files=("a",), modified_files=("b",))),
            ["<modified-files> and <read-files> stand in the summary twice"],
        ),
        (WHOLE + "\nThe word <read-files> in a sentence, <read-files> twice.", []),
        ("## Goal\nMove.\n## Next Steps\n1. x", ["the summary lacks “Constraints & Preferences”, “Progress”, "
         "“Key Decisions”, “Critical Context”, “Done”, “In Progress” and “Blocked”"]),
    ],
)  # fmt: skip
def test_the_parts_of_a_summary_stand_in_it_once(summary: str, expected: list[str]) -> None:
    assert said(session(summary)) == expected


def test_an_extension_may_leave_out_sections() -> None:
    assert said(session("## Goal\nMove.\n## Next Steps\n1. x", fromHook=True)) == []


def test_file_lists_that_take_most_of_a_summary_are_told_with_their_size() -> None:
    lists = file_blocks(FileLists(read_files=tuple(f"docs/berth-{n}.md" for n in range(60)), modified_files=("a",)))
    (message,) = said(session(WHOLE + lists))
    assert message == "the file lists, 61 paths, take 84% of the summary"
    assert said(session(WHOLE * 20 + lists))[-1:] != [message]


def test_a_short_list_is_no_burden() -> None:
    assert said(session("Move." + file_blocks(FileLists(read_files=("docs/berth.md",) * 30)))) == []


def test_a_credential_is_told_by_its_kind_and_never_shown() -> None:
    builder = session(f"{WHOLE}\nUse {TOKEN}; the password is password=tR7w9QzX2mLk4")
    certain, guessed = findings_of(builder, "secret_in_summary")
    assert (certain.severity, certain.message) == ("error", "the summary holds a credential: GitHub token ghp_…")
    assert guessed.severity == "warning"
    assert guessed.message == "the summary seems to hold a credential: password tR7w…"
    assert {certain.line, guessed.line} == {line_of(builder, builder.leaf or "")}


def test_summaries_of_branches_are_looked_at_too() -> None:
    builder = SessionBuilder()
    builder.user()
    builder.branch_summary(f"## Goal\nUse {TOKEN}\n## Goal\nAgain.")
    assert [f.code for f in findings_of(builder, *LAYOUT)] == ["doubled_headings", "secret_in_summary"]
    builder = SessionBuilder()
    builder.branch_summary(None)  # type: ignore[arg-type]
    assert findings_of(builder, *LAYOUT) == []
    (empty,) = findings_of(builder, "empty_summary")
    assert (empty.severity, empty.line) == ("note", line_of(builder, builder.leaf or ""))
