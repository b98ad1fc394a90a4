"""What a branch summary reads: the branch that was left, as edited on it, within a budget."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from builders import SessionBuilder, tool_call
from hypothesis import given
from hypothesis import strategies as st
from strategies import sessions

from compactor.branch import active_branch, find_leaf
from compactor.branch_reading import BranchReading, read_branch, reserve_tokens_setting
from compactor.entries import Session
from compactor.errors import SettingsError
from compactor.formats.pi import parse_session
from compactor.session_file import read_session
from compactor.settings import SettingsFile
from compactor.tokens import PiCounter, TokenizerCounter
from compactor.transcript import transcript, transcript_size

SHARED = Path(__file__).parents[2] / "shared"
ORACLE = SHARED / "oracle" / "branches.jsonl"
HIDDEN = SHARED / "bugs" / "44-branch-summary-hidden" / "input.jsonl"


def reading_of(
    session: Session | SessionBuilder, left: str, target: str, budget: int = 0, *, exact: bool = False
) -> BranchReading:
    found = session.session(exact=exact) if isinstance(session, SessionBuilder) else session
    ends = find_leaf(found, left), find_leaf(found, target)
    assert ends[0] is not None and ends[1] is not None
    return read_branch(found, ends[0], ends[1], PiCounter(), budget, exact=exact)


def texts(reading: BranchReading) -> list[str]:
    return [m.summary or m.output or m.text() for m in reading.messages]


class Fork:
    """A session that forks after its second entry; entries are added to the branch that will be left."""

    def __init__(self) -> None:
        self.session = SessionBuilder()
        self.session.user("Plan the harbor.")
        self.fork = self.session.assistant("North or east?")

    def read(self, budget: int = 0, *, exact: bool = False) -> BranchReading:
        left = self.session.leaf or ""
        self.session.back_to(self.fork)
        target = self.session.user("Take the east berth.")
        return reading_of(self.session, left, target, budget, exact=exact)


def test_the_branch_after_the_common_ancestor_is_read_oldest_first() -> None:
    made = Fork()
    made.session.user("Take the north berth.")
    made.session.assistant("It is full.")
    reading = made.read()
    assert reading.ancestor is not None
    assert reading.ancestor.id == made.fork
    assert texts(reading) == ["Take the north berth.", "It is full."]
    assert [entry.index for entry in reading.entries] == [2, 3]
    assert reading.history_ids == ["00000003", "00000004"]


def test_branches_without_a_common_root_are_read_whole() -> None:
    builder = SessionBuilder()
    left = builder.user("First root.")
    builder.back_to(None)
    reading = reading_of(builder, left, builder.user("Second root."))
    assert reading.ancestor is None
    assert texts(reading) == ["First root."]


def test_going_back_on_one_branch_reads_what_came_after() -> None:
    builder = SessionBuilder()
    target = builder.user("Plan the harbor.")
    builder.assistant("North or east?")
    left = builder.user("North.")
    assert texts(reading_of(builder, left, target)) == ["North or east?", "North."]


@pytest.mark.parametrize(
    ("left", "target", "reason"),
    [("#1", "#1", "same_entry"), ("#0", "#1", "same_branch"), ("#2", "#1", "no_messages")],
)
def test_what_leaves_nothing_to_summarize_is_told(left: str, target: str, reason: str) -> None:
    builder = SessionBuilder()
    builder.user("Plan the harbor.")
    builder.assistant("North or east?")
    builder.add("label", targetId="00000001", label="start")
    unread = reading_of(builder, left, target).unread
    assert unread is not None
    assert unread.reason == reason


def test_results_are_left_out_and_kept_for_clients_without_a_model() -> None:
    made = Fork()
    made.session.assistant("I look.", tool_call("c1", "bash", command="make test"))
    made.session.result("c1", "3 failed")
    reading = made.read()
    assert [m.role for m in reading.messages] == ["assistant"]
    assert [m.role for m in reading.history] == ["assistant", "toolResult"]
    assert reading.tokens == PiCounter().message(reading.messages[0])


def test_summaries_of_compactions_and_of_other_branches_are_read_as_messages() -> None:
    made = Fork()
    kept = made.session.user("North.")
    made.session.compaction(kept, "## Goal\nNorth berth", systemMessage={"role": "system", "content": "Rules."})
    made.session.branch_summary("South was shallow.")
    reading = made.read()
    assert [m.role for m in reading.messages] == ["user", "compactionSummary", "branchSummary"]
    assert texts(reading) == ["North.", "## Goal\nNorth berth", "South was shallow."]


def test_edits_of_the_branch_that_was_left_count_and_the_newest_wins() -> None:
    made = Fork()
    asked = made.session.user("ORIGINAL")
    failed = made.session.assistant("HIDDEN", stopReason="error", errorMessage="terminated")
    made.session.edit(failed)
    made.session.edit(asked, "OLDER")
    made.session.edit(asked, "REPLACED")
    note = made.session.custom_message("ORIGINAL NOTE")
    made.session.edit(note, "NEW NOTE")
    assert texts(made.read()) == ["REPLACED", "NEW NOTE"]


def test_an_edit_made_after_the_old_leaf_does_not_count() -> None:
    builder = SessionBuilder()
    target = builder.user("Plan.")
    left = builder.user("ORIGINAL")
    builder.edit(left, "REPLACED")
    assert texts(reading_of(builder, left, target)) == ["ORIGINAL"]


@pytest.mark.parametrize(("exact", "expected"), [(False, []), (True, ["South was shallow.", "", "out"])])
def test_what_the_user_hid_is_hidden_unless_read_as_pi_does(exact: bool, expected: list[str]) -> None:
    made = Fork()
    summary = made.session.branch_summary("South was shallow.")
    made.session.edit(summary)
    made.session.branch_summary("")
    made.session.private_shell("out")
    assert texts(made.read(exact=exact)) == expected


def test_system_messages_are_counted_as_pi_does_and_left_out_by_default() -> None:
    made = Fork()
    made.session.system("You run the harbor.")
    made.session.user("North.")
    assert [m.role for m in made.read(exact=True).messages] == ["system", "user"]
    made.session.back_to("00000004")
    assert [m.role for m in made.read().messages] == ["user"]


def words(tokens: int) -> str:
    """A text of so many tokens by Pi's estimate."""
    return "x" * (4 * tokens)


@pytest.mark.parametrize(
    ("budget", "count", "tokens"),
    [(0, 3, 30), (-5, 3, 30), (30, 3, 30), (29, 2, 20), (20, 2, 20), (19, 1, 10), (10, 1, 10), (9, 0, 0)],
)
def test_the_budget_is_filled_from_the_newest_message_back(budget: int, count: int, tokens: int) -> None:
    made = Fork()
    for _ in range(3):
        made.session.user(words(10))
    reading = made.read(budget)
    assert (len(reading.messages), reading.tokens) == (count, tokens)
    assert (reading.unread_messages, reading.unread_tokens) == (3 - count, 30 - tokens)
    over = [w.message for w in reading.warnings if w.code == "branch_over_budget"]
    assert len(over) == (0 < count < 3)


@pytest.mark.parametrize(("newer", "taken"), [(89, True), (90, False), (91, False), (0, True)])
@pytest.mark.parametrize("kind", ["compaction", "branch_summary"])
def test_a_summary_over_the_budget_is_taken_while_less_than_nine_tenths_are_used(
    kind: str, newer: int, taken: bool
) -> None:
    made = Fork()
    older = made.session.user("Too old.")
    made.session.compaction(older, words(500)) if kind == "compaction" else made.session.branch_summary(words(500))
    made.session.user(words(newer))
    reading = made.read(100)
    assert [len(m.summary or "") for m in reading.messages if m.role != "user"] == ([2000] if taken else [])
    assert reading.tokens == newer + 500 * taken
    assert "Too old." not in texts(reading)


def test_a_message_over_the_budget_ends_the_reading_even_if_older_ones_would_fit() -> None:
    made = Fork()
    for tokens in (1, 50, 10):
        made.session.user(words(tokens))
    assert [len(t) // 4 for t in texts(made.read(20))] == [10]


def test_a_newest_message_over_the_budget_is_told_with_what_helps() -> None:
    made = Fork()
    made.session.user(words(50))
    unread = made.read(20).unread
    assert unread is not None
    assert unread.reason == "over_budget"
    assert "--context-window" in unread.detail


def with_files() -> Fork:
    """Old, crossing and newest message with a file each, and earlier branch summaries with lists."""
    made = Fork()
    made.session.branch_summary("S", details={"readFiles": ["told.md", "b.py"], "modifiedFiles": ["made.py", 7]})
    made.session.branch_summary("S", details={"readFiles": ["extension.md"]}, fromHook=True)
    made.session.assistant(words(20), tool_call("c1", "write", path="old.py"))
    made.session.assistant(words(90), tool_call("c2", "edit", path="crossing.py"))
    made.session.assistant("", tool_call("c3", "read", path="b.py"), tool_call("c4", "script"))
    nested = {"calls": [{"name": "edit", "arguments": {"path": "nested.py"}}], "complete": True}
    made.session.result("c4", "ran", nestedCalls=nested)
    return made


def test_all_files_of_the_branch_count_whether_or_not_they_fit_the_budget() -> None:
    files = with_files().read(50).files
    assert files.read_files == ("b.py", "told.md")
    assert files.modified_files == ("crossing.py", "made.py", "nested.py", "old.py")


def test_to_pi_files_count_as_far_as_it_looked() -> None:
    files = with_files().read(50, exact=True).files
    assert files.read_files == ("b.py", "told.md")
    assert files.modified_files == ("crossing.py", "made.py")


RULE = "Never dredge the harbor after 22:00."


def test_a_rule_in_a_message_that_did_not_fit_is_named_if_there_is_room() -> None:
    made = Fork()
    made.session.user(RULE)
    made.session.assistant(words(400))
    assert [m.text() for m in made.read(410).rules] == []
    made.session.back_to("00000004")
    assert [m.text() for m in made.read(405).rules] == [RULE]
    made.session.back_to("00000004")
    assert made.read(405, exact=True).rules == []


def test_a_rule_that_was_lifted_in_what_is_read_is_not_named() -> None:
    made = Fork()
    made.session.user(RULE)
    made.session.user("You may dredge the harbor after 22:00 now. " + words(400))
    assert made.read(420).rules == []


def test_rules_that_would_take_much_of_the_summary_are_not_named() -> None:
    made = Fork()
    made.session.user(RULE)
    made.session.user(words(30))
    assert made.read(32).rules == []


def test_a_malformed_field_is_a_warning() -> None:
    made = Fork()
    made.session.user([{"type": "text", "text": "North."}, 7])
    reading = made.read()
    assert texts(reading) == ["North."]
    assert [w.code for w in reading.warnings] == ["malformed_field"]


def test_the_counter_that_was_asked_for_counts() -> None:
    made = Fork()
    left = made.session.user("three short words")
    session = made.session.session()
    ends = find_leaf(session, left), find_leaf(session, made.fork)
    assert ends[0] is not None and ends[1] is not None
    counter = TokenizerCounter(name="words", count=lambda text: len(text.split()))
    assert read_branch(session, ends[0], ends[1], counter, 0).tokens == 3


class KnownCounter(PiCounter):
    """Knows what each entry costs, as the provider reported it."""

    def entry(self, index: int) -> int | None:  # type: ignore[override]
        return 1000 + index


def test_a_counter_that_knows_an_entry_is_believed_unless_the_entry_was_edited() -> None:
    builder = SessionBuilder()
    builder.user("Plan.")
    first = builder.user("North.")
    builder.user("Quick.")
    left = builder.edit(first, "1234")
    session = builder.session()
    ends = find_leaf(session, left), find_leaf(session, "#0")
    assert ends[0] is not None and ends[1] is not None
    assert read_branch(session, ends[0], ends[1], KnownCounter(), 0).tokens == 1 + 1002


@given(builder=sessions(max_steps=20), data=st.data(), exact=st.booleans())
def test_what_is_read_is_the_newest_part_of_the_branch_and_fits(
    builder: SessionBuilder, data: st.DataObject, exact: bool
) -> None:
    session = builder.session(exact=exact)
    if not session.entries:
        return
    places = st.integers(0, len(session.entries) - 1).map(lambda n: session.entries[n])
    left, target = data.draw(places), data.draw(places)
    whole = read_branch(session, left, target, PiCounter(), 0, exact=exact)
    budget = data.draw(st.integers(1, 200))
    part = read_branch(session, left, target, PiCounter(), budget, exact=exact)
    assert part.messages == whole.messages[len(whole.messages) - len(part.messages) :]
    assert part.unread_messages + len(part.messages) == len(whole.messages)
    assert part.unread_tokens + part.tokens == whole.tokens
    sizes = [PiCounter().message(m) for m in part.messages]
    assert sum(sizes) == part.tokens
    assert part.tokens <= budget or (part.messages[0].summary and sum(sizes[1:]) < 0.9 * budget)
    on_target = {entry.index for entry in active_branch(session, target).entries}
    assert on_target.isdisjoint(entry.index for entry in whole.entries)
    assert (part.unread is None) == bool(part.messages)
    transcript(part.messages).encode("utf-8", "surrogatepass")


@given(data=st.data(), builder=sessions(max_steps=8))
def test_reading_survives_damage(data: st.DataObject, builder: SessionBuilder) -> None:
    raw = builder.data()
    at = data.draw(st.integers(min(len(raw), raw.index(b"\n") + 1), len(raw)))
    session = parse_session(raw[:at] + data.draw(st.binary(max_size=6)) + raw[at + 40 :])
    for left in session.entries[-2:]:
        for target in session.entries[:2]:
            read_branch(session, left, target, PiCounter(), 50)


FILE = SettingsFile(path="/p/.pi/settings.json", values={"branchSummary": {"reserveTokens": 2e3}})
USER = SettingsFile(path="/u/settings.json", values={"branchSummary": {"reserveTokens": 7}, "compaction": {}})
NULL = SettingsFile(path="/n", values={"branchSummary": {"reserveTokens": None}, "compaction": {"reserveTokens": 5}})


@pytest.mark.parametrize(
    ("project", "user", "expected"),
    [
        (None, None, 16384),
        (FILE, USER, 2000),
        (None, USER, 7),
        (SettingsFile(path="/n", values={"branchSummary": {}}), USER, 7),
        (SettingsFile(path="/n", values={"branchSummary": "much"}), USER, 16384),
        (NULL, USER, 16384),
    ],
)
def test_the_reserve_is_that_of_branch_summaries(
    project: SettingsFile | None, user: SettingsFile | None, expected: int
) -> None:
    assert reserve_tokens_setting(project, user) == expected


@pytest.mark.parametrize("value", [-1, "many", True, 10**400, [1]])
def test_a_reserve_that_is_no_number_of_tokens_is_refused(value: Any) -> None:
    bad = SettingsFile(path="/p/settings.json", values={"branchSummary": {"reserveTokens": value}})
    with pytest.raises(SettingsError, match=r"/p/settings\.json: branchSummary\.reserveTokens: expected .*--reserve"):
        reserve_tokens_setting(None, bad)


def recorded() -> dict[str, list[dict[str, Any]]]:
    """Pi's recorded answers, by session."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    if ORACLE.exists():
        for line in ORACLE.read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            found[case["file"]].append(case["answer"])
    return found


def place(index: int | None) -> str | None:
    return None if index is None else f"#{index}"


@pytest.mark.skipif(not ORACLE.exists(), reason="skipped: no corpus")
@pytest.mark.parametrize(("file", "answers"), recorded().items(), ids=lambda v: v if isinstance(v, str) else "")
def test_pi_would_read_the_same(file: str, answers: list[dict[str, Any]]) -> None:
    session = read_session(str(SHARED / "corpus" / file), exact=True)
    for answer in answers:
        reading = reading_of(session, answer["from"], answer["to"], answer["budget"], exact=True)
        size = transcript_size(reading.messages)
        assert answer == {
            "from": answer["from"],
            "to": answer["to"],
            "budget": answer["budget"],
            "commonAncestor": place(reading.ancestor.index if reading.ancestor else None),
            "entries": len(reading.entries),
            "messages": len(reading.messages),
            "totalTokens": reading.tokens,
            "readFiles": list(reading.files.read_files),
            "modifiedFiles": list(reading.files.modified_files),
            "transcriptChars": size.chars,
            "transcriptSha256": size.sha256,
        }


@pytest.mark.skipif(not HIDDEN.exists(), reason="skipped: no corpus")
@pytest.mark.parametrize("exact", [False, True])
def test_hidden_attempts_and_replaced_texts_of_a_real_report_are_as_edited(exact: bool) -> None:
    session = read_session(str(HIDDEN), exact=exact)
    text = transcript(reading_of(session, "00000007", "#8", exact=exact).messages)
    assert "REPLACED-TEXT" in text and "gate is closed" in text
    assert "HIDDEN-ATTEMPT" not in text and "ORIGINAL-TEXT" not in text
