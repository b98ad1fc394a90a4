"""A session played through: sizes that planning agrees with, firings that it agrees with, and real compactions."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from builders import SessionBuilder, tool_call, usage
from command_line import long_session
from hypothesis import given
from hypothesis import strategies as st
from strategies import sessions

from compactor.branch import Branch, active_branch, find_leaf
from compactor.calibration import CalibratedCounter
from compactor.entries import Entry, Session
from compactor.errors import SessionError
from compactor.js_text import json_text, utf8
from compactor.plan import Skip
from compactor.planned import plan_branch
from compactor.session_file import read_session
from compactor.settings import CompactionSettings
from compactor.token_features import SENT, WRITTEN
from compactor.tokens import Counter, PiCounter, TokenizerCounter
from compactor.views.replay import (
    SUMMARY_TOKENS,
    Grid,
    Replay,
    ReplayOptions,
    compared,
    grid_settings,
    replay,
    replay_json,
)
from compactor.views.replay_run import Freed, Run
from compactor.views.replay_walk import Check, walk_branch

SHARED = Path(__file__).parents[2] / "shared" / "corpus"
SESSIONS = [path for path in sorted(SHARED.glob("*/*.jsonl")) if not path.name.startswith("events-")]
needs_corpus = pytest.mark.skipif(not SHARED.exists(), reason="skipped: no corpus")

WORDS = TokenizerCounter(name="words", count=lambda text: len(text.split()))
LEARNT = CalibratedCounter(count=lambda text: len(text), weights=(0.3,) * (len(SENT) + len(WRITTEN)), known={2: 70})
COUNTERS: tuple[Counter, ...] = (PiCounter(), WORDS, LEARNT)


def settings(window: int = 1000, reserve: int = 200, keep: int = 100) -> CompactionSettings:
    return CompactionSettings(context_window=window, reserve_tokens=reserve, keep_recent_tokens=keep)


def branch_of(session: Session) -> Branch:
    return active_branch(session, find_leaf(session, None))


def played(
    builder: SessionBuilder,
    chosen: CompactionSettings | None = None,
    *,
    summary: int | None = None,
    exact: bool = False,
    counter: Counter | None = None,
) -> Replay:
    session = builder.session(exact=exact)
    options = ReplayOptions(summary_tokens=summary, exact=exact)
    return replay(session, branch_of(session), counter or PiCounter(), chosen or settings(), options=options)


def run_of(builder: SessionBuilder, chosen: CompactionSettings | None = None, **how: Any) -> Run:
    (run,) = played(builder, chosen, **how).runs
    return run


def checks_of(builder: SessionBuilder) -> list[Check]:
    return walk_branch(branch_of(builder.session()), PiCounter()).checks


def reported_session(steps: int = 12, *, start: int = 400, growth: int = 200) -> SessionBuilder:
    """One prompt, then replies with a call each; the context starts at `start` and grows by `growth` a step."""
    made = SessionBuilder()
    made.user("Where are the cranes?")
    for n in range(steps):
        made.assistant("", tool_call(f"call_{n}", path="x" * 40), usage=usage(start + growth * n))
        made.result(f"call_{n}", "crane " * 20)
    return made


# Sizes at the checks


@given(sessions(), st.booleans(), st.sampled_from(COUNTERS))
def test_every_size_is_what_planning_says_of_the_branch_up_to_there(
    builder: SessionBuilder, exact: bool, counter: Counter
) -> None:
    session = builder.session(exact=exact)
    branch = branch_of(session)
    for check in walk_branch(branch, counter, exact=exact).checks:
        before = Branch(entries=branch.entries[: check.position + 1])
        context = plan_branch(session, before, counter, settings(), exact=exact).context
        assert (check.tokens, check.is_reported) == (context.tokens, bool(context.usage_tokens))


def test_a_check_comes_after_a_reply_and_all_its_results() -> None:
    builder = SessionBuilder()
    builder.system()
    builder.user()
    builder.assistant("I look.", tool_call("a"), tool_call("b"))
    builder.result("a")
    builder.model_change()
    builder.result("b")
    builder.custom_message()
    builder.assistant("Found.")
    builder.shell()
    builder.user()
    builder.assistant("I look again.", tool_call("c"))
    builder.result("c")
    assert [(check.index, check.turn) for check in checks_of(builder)] == [(5, 1), (7, 1), (11, 2)]


def test_a_reply_that_was_stopped_is_looked_at_too_as_before_the_next_prompt() -> None:
    builder = SessionBuilder()
    builder.user()
    builder.assistant("I l", tool_call("a"), stopReason="aborted")
    builder.user()
    assert [check.index for check in checks_of(builder)] == [1]


def test_an_edit_of_a_call_takes_its_results_out_and_a_later_one_brings_them_back() -> None:
    builder = SessionBuilder()
    builder.user("U" * 40)
    called = builder.assistant("", tool_call("a"))
    builder.result("a", "R" * 400)
    builder.edit(called)
    builder.assistant("A" * 40)
    builder.edit(called, [tool_call("a")])
    builder.assistant("B" * 40)
    sizes = [check.tokens for check in checks_of(builder)]
    assert sizes[1] == 20
    assert sizes[2] == sizes[0] + 20


def test_edits_of_system_messages_and_of_compactions_count() -> None:
    builder = SessionBuilder()
    system = builder.system("S" * 400)
    builder.user("U" * 40)
    builder.assistant("A" * 40)
    builder.edit(system)
    builder.assistant("B" * 40)
    old = builder.compaction(builder.leaf or "", "s" * 40)
    builder.assistant("C" * 40)
    new = builder.compaction(old, "t" * 80)
    builder.edit(old)
    builder.assistant("D" * 40)
    builder.edit(new)
    builder.assistant("E" * 40)
    sizes = [check.tokens for check in checks_of(builder)]
    assert sizes == [120, 30, 30, 40, 30]


# Firings


@given(sessions(compactions=False), st.integers(0, 900), st.integers(0, 400), st.booleans(), st.sampled_from(COUNTERS))
def test_the_first_firing_is_the_first_check_at_which_planning_triggers_and_its_cut_is_that_of_the_plan(
    builder: SessionBuilder, threshold: int, keep: int, exact: bool, counter: Counter
) -> None:
    session = builder.session(exact=exact)
    branch = branch_of(session)
    chosen = settings(1000, 1000 - threshold, keep)
    (run,) = replay(session, branch, counter, chosen, options=ReplayOptions(exact=exact)).runs
    for check in walk_branch(branch, counter, exact=exact).checks:
        planned = plan_branch(
            session, Branch(entries=branch.entries[: check.position + 1]), counter, chosen, exact=exact
        )
        if planned.triggers:
            firing = run.firings[0]
            assert (firing.check.index, firing.context_tokens) == (check.index, planned.context.tokens)
            if isinstance(planned.plan, Skip):
                assert firing.outcome == planned.plan
            else:
                assert isinstance(firing.outcome, Freed)
                assert firing.outcome.first_kept.index == planned.plan.first_kept.index
                assert firing.outcome.is_split_turn == planned.plan.is_split_turn
                assert firing.outcome.kept_tokens == planned.plan.kept_tokens
            return
    assert run.firings == []


@given(sessions(), st.integers(-100, 900), st.integers(0, 400), st.booleans())
def test_any_run_moves_forward_and_its_figures_add_up(
    builder: SessionBuilder, threshold: int, keep: int, exact: bool
) -> None:
    made = played(builder, settings(1000, 1000 - threshold, keep), exact=exact)
    (run,) = made.runs
    done = [firing for firing in run.firings if isinstance(firing.outcome, Freed)]
    over = [check.index for check, size in zip(made.walk.checks, run.sizes, strict=True) if size > threshold]
    assert run.count + run.vain_checks == len(over)
    assert all(firing.check.index in over for firing in run.firings)
    position = {entry.index: n for n, entry in enumerate(made.branch.entries)}
    kept = [position[f.outcome.first_kept.index] for f in done if isinstance(f.outcome, Freed)]
    assert kept == sorted(kept)
    assert all(at <= firing.check.position for at, firing in zip(kept, done, strict=True))
    found = json.loads(utf8(json_text(replay_json(made, []))))
    assert found["checks"] == len(found["series"]) == len(found["runs"][0]["series"])
    assert sum(f.get("freedTokens", 0) for f in found["runs"][0]["firings"]) == found["runs"][0]["freedTokens"]
    assert found["runs"][0]["maxContext"] == max([point["tokens"] for point in found["runs"][0]["series"]], default=0)


@given(sessions(compactions=False), st.integers(0, 400), st.booleans())
def test_without_a_firing_and_without_real_compactions_the_run_is_what_happened(
    builder: SessionBuilder, keep: int, exact: bool
) -> None:
    made = played(builder, settings(10**9, 0, keep), exact=exact)
    assert made.runs[0].sizes == [check.tokens for check in made.walk.checks]


def test_after_a_firing_reported_sizes_count_by_their_differences() -> None:
    """Of 1,200 reported tokens a firing leaves what is hidden, the summary, and the growth of the kept tail."""
    builder = reported_session(steps=12, start=400, growth=200)
    run = run_of(builder, settings(1400, 200, 60), summary=50)
    walk = walk_branch(branch_of(builder.session()), PiCounter())
    hidden = 400 - 6 - 14  # the first size, less the text of the prompt and of the first reply
    assert walk.overhead[-1] == hidden
    first = run.firings[0]
    assert isinstance(first.outcome, Freed)
    assert (first.check.index, first.context_tokens, first.outcome.first_kept.index) == (10, 1230, 9)
    # The kept reply added 200 - 30 to the size of 1,030 after the result before it, and its own result 30.
    assert first.outcome.tokens_after == hidden + 50 + 200
    assert run.sizes[5:7] == [830, 1030]


def test_what_the_file_does_not_show_is_never_freed() -> None:
    run = run_of(reported_session(start=5000, growth=200), settings(5800, 0, 60), summary=50)
    assert run.count > 1
    assert all(f.outcome.tokens_after > 4900 for f in run.firings if isinstance(f.outcome, Freed))


def test_a_first_size_below_the_estimate_corrects_the_messages_and_hides_nothing() -> None:
    builder = SessionBuilder()
    builder.user("U" * 4000)
    builder.assistant("A" * 40, usage=usage(600))
    walk = walk_branch(branch_of(builder.session()), PiCounter())
    assert (walk.overhead[-1], walk.level(1)) == (0, 600)


def test_system_messages_stay_whole_after_a_firing() -> None:
    builder = SessionBuilder()
    builder.system("S" * 2000)
    for n in range(6):
        builder.user(f"{n}" * 400)
        builder.assistant("A" * 400)
    builder.system("T" * 400)
    builder.user("U" * 40)
    builder.assistant("A" * 40)
    run = run_of(builder, settings(1500, 0, 100), summary=10)
    outcome = run.firings[0].outcome
    assert isinstance(outcome, Freed)
    assert outcome.tokens_after == 500 + 10 + outcome.kept_tokens
    later = run.sizes[-1]
    assert later == 500 + 10 + outcome.kept_tokens + 100 + 10 + 10 + 200 * (len(run.sizes) - 2 - 5)


def test_an_edit_of_what_a_firing_summarized_frees_nothing_more() -> None:
    builder = SessionBuilder()
    first = builder.user("U" * 4000)
    builder.assistant("A" * 400)
    kept = builder.user("V" * 400)
    builder.assistant("B" * 400)
    builder.edit(first)
    builder.assistant("C" * 400)
    builder.edit(kept, "W" * 40)
    builder.assistant("D" * 400)
    run = run_of(builder, settings(1200, 50, 150), summary=20)
    outcome = run.firings[0].outcome
    assert isinstance(outcome, Freed)
    assert (run.firings[0].check.index, outcome.first_kept.id, outcome.tokens_after) == (3, kept, 220)
    assert run.sizes[2:] == [320, 330]


def test_an_edit_before_a_firing_counts_once_in_the_kept_tail() -> None:
    builder = SessionBuilder()
    first = builder.user("U" * 4000)
    builder.assistant("A" * 400)
    builder.user("V" * 400)
    builder.edit(first, "W" * 3600)
    builder.assistant("B" * 400)
    run = run_of(builder, settings(1150, 0, 150), summary=20)
    assert [firing.context_tokens for firing in run.firings] == [1200]
    outcome = run.firings[0].outcome
    assert isinstance(outcome, Freed)
    assert (outcome.kept_tokens, outcome.tokens_after) == (200, 220)


def test_a_kept_tail_whose_reported_size_shrank_counts_as_estimated() -> None:
    builder = SessionBuilder()
    builder.user("U" * 4000)
    builder.assistant("A" * 400, usage=usage(9000))
    builder.user("V" * 400)
    builder.assistant("B" * 400, usage=usage(2000))
    run = run_of(builder, settings(10_000, 8500, 150), summary=20)
    last = run.firings[-1].outcome
    assert isinstance(last, Freed)
    assert last.tokens_after == 9000 - 1100 + 20 + last.kept_tokens


# Firings in vain


def test_a_firing_with_nothing_to_compact_is_recorded_once_with_how_long_it_lasts() -> None:
    builder = SessionBuilder()
    builder.user("U" * 8000)
    for _ in range(5):
        builder.assistant("A" * 40)
    run = run_of(builder, settings(1000, 0, 100))
    (firing,) = run.firings
    assert isinstance(firing.outcome, Skip)
    assert (firing.outcome.reason, firing.checks, run.count, run.vain_checks) == ("nothing_to_compact", 5, 0, 5)


def test_what_was_in_vain_is_tried_again_as_soon_as_the_cut_can_move() -> None:
    builder = SessionBuilder()
    builder.user("U" * 8000)
    for _ in range(9):
        builder.assistant("A" * 400)
    run = run_of(builder, settings(1500, 0, 250), summary=20)
    assert [(type(f.outcome), f.check.index, f.checks) for f in run.firings] == [(Skip, 1, 2), (Freed, 3, 1)]


def test_a_reply_larger_than_the_threshold_is_in_vain_until_it_leaves_the_kept_tail() -> None:
    builder = SessionBuilder()
    builder.user("U" * 400)
    builder.assistant("A" * 400)
    builder.user("B" * 8000)
    for _ in range(9):
        builder.assistant("C" * 400)
    run = run_of(builder, settings(1500, 0, 250), summary=20)
    reasons = [f.outcome.reason if isinstance(f.outcome, Skip) else "freed" for f in run.firings]
    assert reasons == ["kept_tail_over_limit", "freed"]
    assert run.firings[0].checks == 2


@given(sessions(max_steps=24, compactions=False), st.integers(1, 600), st.integers(0, 400), st.booleans())
def test_as_long_as_a_run_is_in_vain_planning_has_nothing_to_compact_either(
    builder: SessionBuilder, threshold: int, keep: int, exact: bool
) -> None:
    """What comes next is judged without a plan; edits and pairs, which only planning sees, may cost some checks."""
    if any(row["type"] == "context_edit" for row in builder.rows):
        return
    session = builder.session(exact=exact)
    branch = branch_of(session)
    chosen = settings(1000, 1000 - threshold, keep)
    (run,) = replay(session, branch, PiCounter(), chosen, options=ReplayOptions(exact=exact)).runs
    if not run.firings or not isinstance(run.firings[0].outcome, Skip):
        return
    over = [check for check in walk_branch(branch, PiCounter(), exact=exact).checks if check.tokens > threshold]
    for check in over[: run.firings[0].checks]:
        before = Branch(entries=branch.entries[: check.position + 1])
        plan = plan_branch(session, before, PiCounter(), chosen, exact=exact).plan
        assert isinstance(plan, Skip) or plan.cut.moved_for_pairs


def test_plans_are_few_although_every_check_is_over_the_threshold() -> None:
    """The work is bounded: a counter sees each text once, however many checks and cells there are."""
    seen: list[str] = []

    def count(text: str) -> int:
        seen.append(text)
        return 10

    builder = SessionBuilder()
    for n in range(300):
        builder.user(f"prompt {n}")
        builder.assistant(f"reply {n}")
    session = builder.session()
    counter = TokenizerCounter(name="ten", count=count)
    grid = Grid(windows=(100, 1000, 5000), reserves=(50,), keeps=(60, 500))
    made = replay(session, branch_of(session), counter, settings(), grid=grid)
    assert len(seen) == len(set(seen)) <= 601
    assert {run.count > 0 for run in made.runs} == {True, False}


def late_result_session(replies: int) -> SessionBuilder:
    """Pairs that reach from the first call to the newest result, so that no cut parts none."""
    builder = SessionBuilder()
    builder.assistant("", *(tool_call(f"c{n}") for n in range(replies)))
    for n in range(replies):
        builder.assistant("A" * 400)
        builder.result(f"c{n}", "R" * 40)
    return builder


def test_what_fails_against_the_prospect_is_tried_ever_more_seldom_and_recorded_once() -> None:
    run = run_of(late_result_session(40), settings(800, 0, 150))
    (firing,) = run.firings
    assert isinstance(firing.outcome, Skip)
    assert firing.checks == run.vain_checks > 20


# The session's own compactions


def compacted_session() -> SessionBuilder:
    """Six replies at 400 to 1,400 tokens, a compaction, and six more."""
    builder = reported_session(steps=6)
    kept = builder.rows[-2]["id"]
    builder.compaction(kept, "s" * 400, tokensBefore=1431)
    for n in range(6, 12):
        builder.assistant("", tool_call(f"call_{n}", path="x" * 40), usage=usage(600 + 200 * (n - 6)))
        builder.result(f"call_{n}", "crane " * 20)
    return builder


def test_a_run_goes_on_as_if_the_sessions_own_compaction_had_not_been() -> None:
    made = played(compacted_session(), settings(10**6, 0, 100))
    sizes = made.runs[0].sizes
    assert sizes == sorted(sizes)
    assert sizes[5] == made.walk.checks[5].tokens
    assert made.walk.checks[6].tokens < sizes[6]
    # Across the compaction the text counts, then the reported differences do.
    assert [b - a for a, b in itertools.pairwise(sizes[5:])] == [44, 200, 200, 200, 200, 200]


def test_a_real_compaction_is_listed_with_its_sizes() -> None:
    made = played(compacted_session())
    (real,) = made.walk.real
    assert (real.entry.index, real.tokens_before, real.context_tokens) == (13, 1431, 1430)
    assert (real.summary_tokens, real.kept_tokens, real.reason) == (100, 44, None)


@pytest.mark.parametrize(
    ("threshold", "timing", "due", "late"),
    [(2000, "early", None, 0), (1430, "early", None, 0), (1429, "on_time", 12, 0), (900, "late", 8, 2)],
)
def test_a_real_compaction_is_early_on_time_or_late(threshold: int, timing: str, due: int | None, late: int) -> None:
    made = played(compacted_session())
    (found,) = compared(made.walk, settings(threshold, 0))
    assert (found.timing, found.due.index if found.due else None, found.checks_late) == (timing, due, late)
    assert (found.threshold_from, found.threshold_to) == (1230, 1430)


def test_each_compaction_is_judged_by_the_checks_since_the_one_before() -> None:
    builder = compacted_session()
    builder.compaction(builder.leaf or "", "again")
    builder.compaction(builder.leaf or "", "and again", tokensBefore=-1)
    found = compared(played(builder).walk, settings(1000, 0))
    assert [(each.timing, each.due.index if each.due else None) for each in found] == [
        ("late", 8),
        ("late", 19),
        ("early", None),
    ]
    assert (found[2].threshold_from, found[2].threshold_to, found[2].real.tokens_before) == (None, None, None)


def test_a_context_that_had_been_larger_before_implies_no_threshold() -> None:
    builder = reported_session(steps=2, start=900)
    builder.assistant("Done.", usage=usage(300))
    builder.compaction(builder.leaf or "", "s")
    made = played(builder)
    (found,) = compared(made.walk, settings())
    assert (found.threshold_from, found.threshold_to) == (None, None)
    assert replay_json(made, [])["real"][0]["impliedThreshold"] is None


def test_a_compaction_before_any_message_belongs_to_every_run() -> None:
    builder = SessionBuilder()
    builder.compaction("gone", "s" * 4000)
    builder.user("U" * 400)
    builder.assistant("A" * 400)
    made = played(builder, settings(1100, 0, 50))
    assert made.walk.real == []
    assert made.runs[0].sizes == [1200]
    outcome = made.runs[0].firings[0].outcome
    assert isinstance(outcome, Freed)
    assert outcome.first_kept.role == "assistant"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, None),
        ({"fromHook": True}, "extension"),
        ({"fromHook": True, "details": {"source": "claude-code"}}, None),
        ({"fromHook": True, "details": {"source": "claude-code", "trigger": "auto"}}, "auto"),
        ({"details": {"trigger": "manual"}}, "manual"),
        ({"details": {"trigger": ["auto"]}}, None),
        ({"details": "auto"}, None),
    ],
)
def test_the_reason_of_a_real_compaction_is_what_the_file_notes(fields: dict[str, Any], reason: str | None) -> None:
    builder = reported_session(steps=2)
    builder.compaction(builder.leaf or "", "s", **fields)
    assert played(builder).walk.real[0].reason == reason


def test_a_compaction_that_answers_a_refused_request_is_told_from_others() -> None:
    builder = reported_session(steps=2)
    failed = builder.assistant("", stopReason="error", errorMessage="prompt is too long: 9000 tokens > 8000 maximum")
    builder.edit(failed)
    builder.compaction(builder.leaf or "", "s")
    assert played(builder).walk.real[0].reason == "overflow"


def test_a_compaction_far_from_any_message_has_no_reason() -> None:
    builder = reported_session(steps=2)
    for _ in range(25):
        builder.model_change()
    builder.compaction(builder.leaf or "", "s")
    assert played(builder).walk.real[0].reason is None


# Summaries


def test_a_firing_takes_the_summary_of_the_real_compaction_at_the_same_place_else_the_median() -> None:
    builder = compacted_session()
    builder.compaction(builder.leaf or "", "s" * 1200)
    run = run_of(builder, settings(1429, 0, 60))
    sizes = [f.outcome.summary_tokens for f in run.firings if isinstance(f.outcome, Freed)]
    assert run.firings[0].check.index == 12
    assert sizes[0] == 100
    assert set(sizes[1:]) <= {200, 300}


def test_without_a_real_compaction_a_summary_has_the_usual_size_and_a_given_one_comes_first() -> None:
    for given_size, expected in ((None, SUMMARY_TOKENS), (0, 0), (77, 77)):
        run = run_of(reported_session(), settings(1000, 0, 60), summary=given_size)
        outcome = run.firings[0].outcome
        assert isinstance(outcome, Freed)
        assert outcome.summary_tokens == expected


# Grids


def cells(grid: Grid, builder: SessionBuilder | None = None) -> list[tuple[int, int, int]]:
    walk = walk_branch(branch_of((builder or reported_session()).session()), PiCounter())
    made = grid_settings(walk, settings(), grid)
    return [(c.context_window, c.reserve_tokens, c.keep_recent_tokens) for c in made]


def test_a_grid_is_every_combination_once_in_order() -> None:
    given_grid = Grid(windows=(200, 100, 200), reserves=(10,), keeps=(7, 300))
    assert cells(given_grid) == [(100, 10, 7), (100, 10, 300), (200, 10, 7), (200, 10, 300)]


def test_of_the_usual_windows_the_first_that_is_never_filled_is_the_last() -> None:
    assert {window for window, _, _ in cells(Grid())} == {32_000, 64_000}
    large = reported_session(steps=3, start=150_000)
    assert {window for window, _, _ in cells(Grid(), large)} == {32_000, 64_000, 128_000, 200_000}
    huge = reported_session(steps=3, start=3_000_000)
    assert max(window for window, _, _ in cells(Grid(), huge)) == 1_000_000


def test_usual_values_that_leave_no_room_are_left_out_but_not_all() -> None:
    assert (32_000, 32_768, 5000) not in cells(Grid())
    assert (64_000, 32_768, 40_000) not in cells(Grid())
    assert len(cells(Grid(windows=(4000,)))) == 9


def test_an_empty_session_has_no_checks_and_never_compacts() -> None:
    session = SessionBuilder().session()
    made = replay(session, branch_of(session), PiCounter(), settings(), grid=Grid())
    assert made.walk.checks == []
    assert {(run.count, run.max_tokens) for run in made.runs} == {(0, 0)}
    assert replay_json(made, [])["leaf"] is None


# JSON


def test_json_has_exactly_the_documented_fields() -> None:
    found = replay_json(played(compacted_session(), settings(1000, 100, 60)), [])
    assert list(found) == [
        "session", "leaf", "branchEntries", "settings", "threshold", "counter", "checks", "real", "runs", "series",
        "warnings",
    ]  # fmt: skip
    assert list(found["settings"]) == ["contextWindow", "reserveTokens", "keepRecentTokens", "sources"]
    assert list(found["real"][0]) == [
        "index", "entryId", "tokensBefore", "contextTokens", "summaryTokens", "keptTokens", "reason",
        "impliedThreshold", "timing", "due", "checksLate",
    ]  # fmt: skip
    assert list(found["real"][0]["impliedThreshold"]) == ["from", "below"]
    assert list(found["real"][0]["due"]) == ["index", "entryId", "contextTokens"]
    assert list(found["series"][0]) == ["index", "tokens", "reported"]
    (run,) = found["runs"]
    assert list(run) == [
        "contextWindow", "reserveTokens", "keepRecentTokens", "threshold", "firings", "count", "vainChecks",
        "maxContext", "freedTokens", "series",
    ]  # fmt: skip
    assert list(run["firings"][0]) == [
        "index", "entryId", "turn", "contextTokens", "isSplitTurn", "firstKept", "firstKeptEntryId", "keptTokens",
        "freedTokens", "summaryTokens", "tokensAfter",
    ]  # fmt: skip


def test_json_of_a_firing_in_vain_has_the_reason_and_of_a_sweep_no_series() -> None:
    builder = SessionBuilder()
    builder.user("U" * 8000)
    builder.assistant("A")
    session = builder.session()
    made = replay(session, branch_of(session), PiCounter(), settings(), grid=Grid(windows=(1000,)))
    run = replay_json(made, [])["runs"][0]
    assert "series" not in run
    assert list(run["firings"][0]) == ["index", "entryId", "turn", "contextTokens", "checks", "skip"]
    assert list(run["firings"][0]["skip"]) == ["reason", "detail"]


def test_long_sessions_of_text_only_fire_again_and_again() -> None:
    run = run_of(long_session(40), settings(1500, 100, 300), summary=100)
    assert run.count > 4
    assert run.vain_checks == 0
    assert run.max_tokens < 1500 + 200


# Recorded sessions


@needs_corpus
def test_it_fires_where_pi_itself_fired_in_a_recorded_run() -> None:
    """Pi compacted before the reply #25; its next attempt, which failed, was after #40 (events-sumfail.jsonl)."""
    session = read_session(str(SHARED / "pi-1.6-lab" / "session.jsonl"))
    made = replay(session, branch_of(session), PiCounter(), settings(24_000, 4500, 5000))
    (run,) = made.runs
    first = run.firings[0]
    assert isinstance(first.outcome, Freed)
    (real, late) = compared(made.walk, made.settings)
    assert (first.check.index, first.context_tokens) == (23, real.real.tokens_before)
    body = real.real.entry.body
    assert first.outcome.first_kept.id == body.first_kept_entry_id
    assert first.outcome.kept_tokens == real.real.kept_tokens
    assert (real.timing, late.timing) == ("on_time", "late")
    assert late.due is not None
    assert late.due.index == 40
    assert run.firings[1].check.index == 40
    # After the firing the simulated context is as large as the one that Pi's own compaction left.
    after = [check.index for check in made.walk.checks].index(26)
    assert run.sizes[after] == pytest.approx(made.walk.checks[after].tokens, rel=0.02)


def entries_until(session: Session, position: int) -> list[Entry]:
    return branch_of(session).entries[: position + 1]


@needs_corpus
@pytest.mark.parametrize("path", SESSIONS[::7], ids=lambda path: path.name)
def test_recorded_sessions_of_every_agent_agree_with_planning_at_some_checks(path: Path) -> None:
    try:
        session = read_session(str(path))
    except SessionError:
        return
    checks = walk_branch(branch_of(session), PiCounter()).checks
    for check in checks[:: max(1, len(checks) // 5)]:
        before = Branch(entries=entries_until(session, check.position))
        assert check.tokens == plan_branch(session, before, PiCounter(), settings()).context.tokens
