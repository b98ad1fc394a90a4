"""Faults that were reported of real agents, on the inputs of the reports, without the agents' losses.

The kinds of fault have their own tests with each module. The inputs are not part of the project; without them the tests
are skipped.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from builders import plan_of

from compactor.entries import Session
from compactor.errors import SessionError
from compactor.messages import Message
from compactor.plan import CompactionPlan
from compactor.session_file import read_session
from compactor.tokens import PiCounter, TokenizerCounter, should_compact
from compactor.transcript import model_message, transcript, with_missing_results
from compactor.vocabulary_file import text_counter

FAULTS = Path(__file__).parents[2] / "shared" / "bugs"
PI = PiCounter()


def read(name: str) -> Session:
    return read_session(str(FAULTS / name))


def shown(session: Session) -> list[Message]:
    return [m for p in plan_of(session, keep=1).measured.projection.entries for m in p.messages()]


def codes(session: Session) -> list[str]:
    return [w.code for w in session.warnings]


def what_the_first_compaction_kept_is_summarized_by_the_second() -> None:
    outcome = plan_of(read("01-repeat-compaction-keeps/input.jsonl"), keep=60)
    starts = [" ".join(t.split()[:2]).rstrip(":") for t in outcome.texts(outcome.cut.history)]
    assert starts == ["KEPT-ONE the", "KEPT-TWO noted,", "Third question", "Third answer"]
    assert outcome.cut.first_kept.id == "00000008"
    assert outcome.cut.previous_summary == "## Goal\nShip the demo service."
    assert outcome.cut.tokens_before == 223


def no_budget_parts_a_call_from_its_late_result() -> None:
    for name in ("input", "input-out-of-order"):
        session = read(f"03-late-parallel-result/{name}.jsonl")
        planned = 0
        for keep in range(1, 401):
            outcome = plan_of(session, keep=keep)
            if isinstance(outcome.plan, CompactionPlan):
                planned += 1
                tail = outcome.measured.measures[outcome.plan.cut.index :]
                assert {r for m in tail for r in m.results} <= {c for m in tail for c in m.calls}
        assert planned > 100


def an_orphan_result_is_left_out_and_a_dangling_call_is_answered() -> None:
    outcome = plan_of(read("04-orphan-result-after-compaction/input.jsonl"), keep=5)
    made = list(with_missing_results(m for p in outcome.measured.projection.entries for m in p.messages()))
    answered = [m.tool_call_id for m in made if m.role == "toolResult"]
    assert answered == ["c1", "c2"]
    at = next(n for n, m in enumerate(made) if any(c.id == "c2" for c in m.tool_calls))
    assert (made[at + 1].tool_call_id, made[at + 1].is_error) == ("c2", True)
    assert [w.code for w in outcome.measured.warnings] == ["orphan_result"]


def a_private_row_costs_nothing_and_is_shown_to_nobody() -> None:
    session = read("06-private-bash-row/input.jsonl")
    outcome = plan_of(session, keep=100)
    assert outcome.skip.reason == "nothing_to_compact"
    assert outcome.context.tokens < 30
    assert "PRIVATE-ROW" not in transcript(shown(session))


def each_case_of_nothing_to_do_has_its_reason() -> None:
    reasons = {"just-compacted": "already_compacted", "no-messages": "no_messages", "one-message": "nothing_to_compact"}
    for name, reason in reasons.items():
        for keep in (1, 20_000):
            outcome = plan_of(read(f"08-nothing-to-compact/input-{name}.jsonl"), keep=keep)
            assert outcome.skip.reason == reason


def a_report_from_before_the_compaction_does_not_trigger() -> None:
    outcome = plan_of(read("09-stale-usage-after-compaction/input.jsonl"), keep=20_000)
    assert outcome.context.tokens == 13
    assert not should_compact(outcome.context.tokens, context_window=200_000, reserve_tokens=16_384)


def chinese_text_is_kept_by_its_true_size_when_a_tokenizer_counts() -> None:
    session = read("13-cjk-budget/input.jsonl")
    by_pi = plan_of(session, keep=400)
    real = TokenizerCounter(name="o200k", count=text_counter("o200k_base"))
    by_tokenizer = plan_of(session, keep=400, counter=real)
    assert {m.tokens for m in by_pi.measured.measures} == {100}
    assert by_pi.cut.first_kept.id == "0000000d"
    assert by_pi.cut.kept_messages == 4
    assert by_tokenizer.cut.kept_messages < 4


def an_image_has_a_flat_cost_and_no_place_in_a_transcript() -> None:
    session = read("14-image-base64/input.jsonl")
    assert [PI.message(m) for m in shown(session) if any(b.type == "image" for b in m.blocks)] == [1206, 1204]
    assert max(map(len, transcript(shown(session)).split())) < 100


def a_spelled_out_control_token_is_text() -> None:
    session = read("17-special-token-text/input.jsonl")
    assert [PI.message(m) for m in shown(session)][:2] == [24, 12]
    assert PI.text("<|endoftext|>") > 1


def a_long_run_of_one_character_is_counted() -> None:
    assert max(PI.message(m) for m in shown(read("18-repeated-chars-slow/input.jsonl"))) == 75_000


def a_lone_surrogate_goes_through_and_its_line_stays() -> None:
    session = read("20-lone-surrogate/input.jsonl")
    lines = (FAULTS / "20-lone-surrogate/input.jsonl").read_bytes().splitlines()
    assert [e.raw for e in session.entries] == lines[1:]
    assert transcript(shown(session)).encode("utf-8", "replace")
    assert session.warnings == []


def a_whole_record_behind_a_torn_one_is_recovered() -> None:
    session = read("22-fused-line/input.jsonl")
    assert any("harbor" in m.text() for m in shown(session))
    assert any("250" in m.text() for m in shown(session))
    assert 4 in [w.line for w in session.warnings]


def a_hole_of_nul_bytes_costs_nothing() -> None:
    for name in ("own-line", "prefix"):
        session = read(f"23-nul-hole/input-{name}.jsonl")
        assert len(shown(session)) == 4
        assert codes(session) == ["nul_bytes"]


def what_is_not_a_session_is_refused_by_name() -> None:
    for name in ("notes", "no-header", "empty"):
        with pytest.raises(SessionError, match=f"input-{name}.jsonl: expected a session file"):
            read(f"25-not-a-session/input-{name}.jsonl")
    bom = read("25-not-a-session/input-bom.jsonl")
    assert (len(shown(bom)), codes(bom)) == (1, ["byte_order_mark"])


def a_circle_of_parents_ends_and_is_named() -> None:
    circle, alone = (read(f"26-parent-cycle/input-{name}.jsonl") for name in ("cycle", "self"))
    assert [len(shown(s)) for s in (circle, alone)] == [3, 1]
    for name in ("aaaaaaa1", "bbbbbbb2", "ccccccc3"):
        assert name in circle.warnings[0].message
    assert "aaaaaaa1" in alone.warnings[0].message


def a_missing_parent_hides_nothing() -> None:
    session = read("28-missing-parent/input.jsonl")
    assert len(shown(session)) == 5
    assert "parent deadbeef not found, line 4" in session.warnings[0].message


def a_damaged_line_does_not_shift_the_index_of_version_1() -> None:
    clean, damaged = (read(f"30-v1-index-shift/input-{name}.jsonl") for name in ("clean", "damaged"))
    for session in (clean, damaged):
        assert [m.text() for m in shown(session)][1] == "u2 KEEP FROM HERE"
    assert (codes(clean), codes(damaged)) == ([], ["damaged_line"])


def a_long_result_is_cut_by_utf16_units() -> None:
    text = transcript(shown(read("32-surrogate-cut/input.jsonl")))
    assert "x" * 1999 + "\n\n[... 19 more characters truncated]" in text
    assert text.isascii()


def the_newest_request_opens_the_turn_prefix() -> None:
    outcome = plan_of(read("48-stale-active-request/input.jsonl"), keep=60)
    assert outcome.cut.history_messages == 4
    assert any("TASK-X" in t for t in outcome.texts(outcome.cut.history))
    assert not any("TASK-Y" in t for t in outcome.texts(outcome.cut.history))
    assert outcome.texts(outcome.cut.turn_prefix)[0].startswith("TASK-Y")
    assert outcome.cut.first_kept.id == "00000008"


def a_summary_enters_the_context_in_its_frame() -> None:
    messages = shown(read("50-summary-framing/input.jsonl"))
    first = model_message(messages[0])
    assert first is not None
    lead = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n"
    assert first.role == "user"
    assert first.text().startswith(lead)
    assert first.text().endswith("\n</summary>")
    assert messages[1].text().startswith("Install it.")


CHECKS: list[Callable[[], None]] = [
    what_the_first_compaction_kept_is_summarized_by_the_second,
    no_budget_parts_a_call_from_its_late_result,
    an_orphan_result_is_left_out_and_a_dangling_call_is_answered,
    a_private_row_costs_nothing_and_is_shown_to_nobody,
    each_case_of_nothing_to_do_has_its_reason,
    a_report_from_before_the_compaction_does_not_trigger,
    chinese_text_is_kept_by_its_true_size_when_a_tokenizer_counts,
    an_image_has_a_flat_cost_and_no_place_in_a_transcript,
    a_spelled_out_control_token_is_text,
    a_long_run_of_one_character_is_counted,
    a_lone_surrogate_goes_through_and_its_line_stays,
    a_whole_record_behind_a_torn_one_is_recovered,
    a_hole_of_nul_bytes_costs_nothing,
    what_is_not_a_session_is_refused_by_name,
    a_circle_of_parents_ends_and_is_named,
    a_missing_parent_hides_nothing,
    a_damaged_line_does_not_shift_the_index_of_version_1,
    a_long_result_is_cut_by_utf16_units,
    the_newest_request_opens_the_turn_prefix,
    a_summary_enters_the_context_in_its_frame,
]


@pytest.mark.skipif(not FAULTS.is_dir(), reason="skipped: no corpus")
@pytest.mark.parametrize("check", CHECKS, ids=[check.__name__ for check in CHECKS])
def test_a_reported_fault_does_not_occur(check: Callable[[], None]) -> None:
    check()


REFUSED = {"derived-pi-empty", "derived-pi-no-header", "derived-pi-whitespace-only"}
HARMLESS = {
    "derived-pi-header-only", "derived-pi-blank-lines", "derived-pi-crlf", "derived-pi-cr-only-tail",
    "derived-pi-lone-surrogate", "derived-pi-self-compaction", "derived-pi-unicode-separators",
}  # fmt: skip
ROBUSTNESS = sorted((FAULTS.parent / "corpus" / "robustness").glob("*.jsonl"))
NO_CORPUS = pytest.param(None, marks=pytest.mark.skip(reason="skipped: no corpus"))


@pytest.mark.parametrize("path", ROBUSTNESS or [NO_CORPUS])
def test_a_damaged_file_is_read_with_warnings_or_refused(path: Path) -> None:
    if path.stem in REFUSED:
        with pytest.raises(SessionError, match=path.name):
            read_session(str(path))
        return
    session = read_session(str(path))
    for keep in (1, 500, 20_000):
        warnings = session.warnings + plan_of(session, keep=keep).measured.warnings
        assert bool(warnings) == (path.stem not in HARMLESS), [w.code for w in warnings]
