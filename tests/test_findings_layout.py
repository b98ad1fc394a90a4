"""Quotations that can fake nothing, and sections written within a budget."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import any_character

from compactor.findings.frames import ALL_FRAMES, CHINESE, ENGLISH, frames_for
from compactor.findings.items import CONTEXT, DONE, GOAL, NAMES, NEXT, Item, no_sections, without_repeats
from compactor.findings.layout import LAYOUTS, written
from compactor.findings.quotes import clipped, code, one_line, quoted, reference, short_path
from compactor.js_text import utf16_len
from compactor.model import RequestKind
from compactor.summary import CONSTRAINTS, SECTIONS, SectionSet, parse_summary

RULE = "Never push to origin."


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\n  b\t c\r\nd", "a b c d"),
        ("## Goal\nx", "Goal x"),
        ("---", ""),
        ("x\n---\n## Done", "x --- ## Done"),
        ("</conversation> <read-files>", "&lt;/conversation> &lt;read-files>"),
        ("<previous-summary>x</summary>", "&lt;previous-summary>x&lt;/summary>"),
        ("a < b and <div>", "a < b and <div>"),
        ("a\u2028b\x00c\x1b[0m", "a b c [0m"),
    ],
)
def test_a_quotation_is_one_line_and_inert(text: str, line: str) -> None:
    assert one_line(text) == line


def test_a_cut_is_marked_with_what_is_missing() -> None:
    assert clipped("alpha beta gamma", 11) == "alpha beta [… 6 more characters]"
    assert clipped("short", 11) == "short"
    assert quoted("😀" * 30, 10) == f"“{'😀' * 10} [… 40 more characters]”"
    assert code("a`b", 9) == "`a'b`"
    assert (reference("0123456789"), reference("")) == (" [#01234567]", "")
    assert short_path("/home/me/projects/harbor/src/crane/lift.py") == "/home/me/projects/harbor/src/crane/lift.py"
    assert short_path("/home/somebody/projects/harbor/src/crane/winch/lift.py") == "…/crane/winch/lift.py"


@given(st.text(any_character, max_size=300), st.integers(10, 200))
def test_no_text_makes_a_line_a_heading_or_a_tag(text: str, size: int) -> None:
    for line in (one_line(text), clipped(text, size)):
        assert len(line.splitlines()) <= 1
        assert not re.search(r"</?\s*(conversation|previous-summary|read-files|modified-files|summary)\b", line, re.I)
        assert not re.match(r"#{1,6}\s", line)
    missing = re.search(r"\[… (\d+) more characters\]$", clipped(text, size))
    whole = one_line(text)
    if missing and missing.group() not in whole:
        assert int(missing.group(1)) == utf16_len(whole) - utf16_len(clipped(text, size)[: missing.start() - 1])


@pytest.mark.parametrize("kind", list(LAYOUTS))
def test_an_empty_summary_has_all_headings_once_and_says_none(kind: RequestKind) -> None:
    text = written(no_sections(), kind, 2000, ENGLISH)
    expected: SectionSet = kind if kind in ("turn_prefix", "branch") else "history"
    document = parse_summary(text, expected)
    assert (document.missing, document.doubled) == ((), ())
    assert [s.name for s in document.sections if s.level == 2] == list(SECTIONS[expected])
    assert text.count("- (none)") == (8 if kind not in ("turn_prefix", "branch") else 3 if kind == "turn_prefix" else 7)


def test_marks_say_what_a_line_is() -> None:
    sections = no_sections()
    for name in NAMES:
        sections[name] += [Item(text=f"{name} b", rank=50, order=2), Item(text=f"{name} a", rank=50, order=1)]
    lines = written(sections, "history", 4000, ENGLISH).splitlines()
    assert [line for line in lines if line.endswith(" a")] == [
        *("- Goal a", "- Constraints & Preferences a", "- [x] Done a", "- [ ] In Progress a", "- Blocked a"),
        *("- Key Decisions a", "1. Next Steps a", "- Critical Context a"),
    ]
    assert "2. Next Steps b" in lines
    prefix = written(sections, "turn_prefix", 4000, ENGLISH)
    assert "- Constraint: Constraints & Preferences a" in prefix


def test_what_does_not_fit_is_counted_and_the_lowest_rank_goes_first() -> None:
    sections = no_sections()
    sections[DONE] = [Item(text=f"done {n} " + "x" * 60, rank=n, order=n) for n in range(30, 90)]
    text = written(sections, "history", 2000, ENGLISH)
    shown = [int(n) for n in re.findall(r"done (\d+)", text)]
    assert shown == list(range(90 - len(shown), 90))
    assert f"- (+{60 - len(shown)} more, left out for length)" in text
    assert utf16_len(text) <= 2000


def test_certain_constraints_give_way_to_nothing_else() -> None:
    sections = no_sections()
    sections[CONSTRAINTS] = [Item(text=f"rule {n}", rank=95, order=n) for n in range(40)]
    for name in (GOAL, DONE, NEXT, CONTEXT):
        sections[name] = [Item(text=f"{name} {n} " + "x" * 100, rank=99, order=n) for n in range(40)]
    body = parse_summary(written(sections, "history", 1500, ENGLISH)).body(CONSTRAINTS) or ""
    assert [line for line in body.splitlines() if line.startswith("- rule")] == [f"- rule {n}" for n in range(40)]


def test_uncertain_constraints_take_a_smaller_part() -> None:
    sections = no_sections()
    sections[CONSTRAINTS] = [Item(text=f"maybe {n} " + "x" * 50, rank=30, order=n) for n in range(60)]
    sections[CONSTRAINTS].append(Item(text=RULE, rank=95, order=99))
    text = written(sections, "history", 2000, ENGLISH)
    assert RULE in text
    assert 0 < text.count("maybe") * 60 < 0.4 * 2000


def test_only_a_constraint_longer_than_a_third_of_the_room_is_cut() -> None:
    sections = no_sections()
    long, short = "a " * 500, "b " * 100
    sections[CONSTRAINTS] = [Item(text=long.strip(), rank=95), Item(text=short.strip(), rank=95)]
    text = written(sections, "history", 1500, ENGLISH)
    assert short.strip() in text
    assert re.search(r"more characters\]", text)


def test_a_rule_of_common_length_stands_whole_in_the_smallest_summary() -> None:
    sections = no_sections()
    rule = "For the rest of this session the scope is the scheduler, and " + "nothing else " * 6
    sections[CONSTRAINTS] = [Item(text=rule.strip(), rank=95)]
    assert rule.strip() in written(sections, "history", 520, ENGLISH)


def test_the_goal_is_cut_rather_than_left_out() -> None:
    sections = no_sections()
    sections[GOAL] = [Item(text="Latest request: “go on”", rank=100), Item(text="The aim " + "x " * 200, rank=80)]
    body = parse_summary(written(sections, "history", 600, ENGLISH)).body(GOAL) or ""
    assert "- The aim x" in body and "more characters]" in body and "Latest request" in body


def test_a_goal_of_which_no_cut_fits_is_counted_and_the_budget_holds() -> None:
    """A cut counts characters, the budget counts UTF-16 units, of which an emoji has two."""
    sections = no_sections()
    sections[GOAL] = [Item(text="😀" * 400, rank=80)]
    text = written(sections, "history", 600, ENGLISH)
    assert parse_summary(text).body(GOAL) == "- (+1 more)"
    assert utf16_len(text) <= 600


@given(
    st.dictionaries(
        st.sampled_from(NAMES),
        st.lists(st.builds(Item, text=st.text("ab ", min_size=1, max_size=200), rank=st.integers(0, 100)), max_size=30),
    ),
    st.sampled_from(list(LAYOUTS)),
    st.integers(300, 4000),
    st.sampled_from(ALL_FRAMES),
)
def test_a_summary_stays_within_its_budget(
    found: dict[str, list[Item]], kind: RequestKind, budget: int, frames: type
) -> None:
    text = written(no_sections() | found, kind, budget, frames)  # type: ignore[arg-type]
    assert utf16_len(text) <= budget
    assert text.count("## Goal") == (kind != "turn_prefix")


def test_lines_that_say_the_same_stand_once() -> None:
    sections = no_sections()
    sections[DONE] = [Item(text="It is done [#a]", rank=1)]
    sections[CONTEXT] = [Item(text="“it is done.”", rank=2), Item(text="other", rank=2)]
    sections[CONSTRAINTS] = [Item(text="It is done", rank=1)]
    kept = without_repeats(sections)
    assert [len(kept[name]) for name in (DONE, CONTEXT, CONSTRAINTS)] == [0, 2, 1]


def test_frames_follow_the_language() -> None:
    assert frames_for("Chinese") is CHINESE
    assert frames_for("German") is frames_for("English") is ENGLISH
