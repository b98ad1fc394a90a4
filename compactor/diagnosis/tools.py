"""Tool calls and results: which result answers which call, and what is left over.

Takes an `Examined` session; gives pairs and findings. Of calls with the same id on a branch a result answers the newest
before it, for some servers count their ids anew in every message.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from compactor.diagnosis.examined import Examined
from compactor.diagnosis.finding import Finding, Severity, finding
from compactor.wording import shown_id


@dataclass(slots=True)
class Pairs:
    """What belongs together; entries by index."""

    call_of: dict[int, int] = field(default_factory=dict)
    """Result -> the entry that made the call."""
    lonely: list[int] = field(default_factory=list)
    """Results without a call before them."""
    repeated: list[tuple[int, int]] = field(default_factory=list)
    """A result, and an earlier one of the same call on the same branch."""
    unanswered: list[tuple[int, str]] = field(default_factory=list)
    """Entries with the id of a call that no result answers on any branch."""


def pair(examined: Examined) -> Pairs:
    """Which results answer which calls."""
    pairs = Pairs()
    made: dict[str, list[int]] = defaultdict(list)
    answers: dict[tuple[int, str], int] = {}
    answered: set[tuple[int, str]] = set()
    for index, is_coming in examined.tree.steps():
        facts = examined.facts[index]
        if not is_coming:
            for call in facts.calls:
                made[call].pop()
            for call in facts.results:
                if answers.get(key := (pairs.call_of.get(index, -1), call)) == index:
                    del answers[key]
            continue
        for call in facts.results:
            if not made.get(call):
                pairs.lonely.append(index)
                continue
            key = made[call][-1], call
            pairs.call_of[index] = key[0]
            answered.add(key)
            if key in answers:
                pairs.repeated.append((index, answers[key]))
            else:
                answers[key] = index
        for call in facts.calls:
            made[call].append(index)
    pairs.unanswered = [
        (index, call)
        for index, facts in enumerate(examined.facts)
        for call in facts.calls
        if (index, call) not in answered
    ]
    return pairs


def tool_findings(examined: Examined, pairs: Pairs) -> Iterator[Finding]:
    """What is wrong with calls and results, whatever a compaction made of them."""
    yield from _unnamed(examined)
    yield from _lonely(examined, pairs)
    for later, earlier in pairs.repeated:
        entry, first = examined.entries[later], examined.entries[earlier]
        call = shown_id(examined.facts[later].results[0])
        text = f"the call {call} was already answered on line {first.line}; providers refuse a second result"
        yield finding("duplicate_result", text, line=entry.line, entry_id=entry.id)
    yield from _unanswered(examined, pairs)


def _unnamed(examined: Examined) -> Iterator[Finding]:
    for entry, facts in zip(examined.entries, examined.facts, strict=True):
        if facts.role == "toolResult" and not facts.results:
            text = "the tool result does not say which call it answers"
            yield finding("orphan_result", text, line=entry.line, entry_id=entry.id)


def _lonely(examined: Examined, pairs: Pairs) -> Iterator[Finding]:
    """Results without a call before them, by where the call is instead."""
    if not pairs.lonely:
        return
    tree = examined.tree
    wanted = {call for index in pairs.lonely for call in examined.facts[index].results}
    callers: dict[str, list[int]] = defaultdict(list)  # positions in the tree's order
    for position, index in enumerate(tree.order):
        for call in wanted.intersection(examined.facts[index].calls):
            callers[call].append(position)
    for index in pairs.lonely:
        entry, call = examined.entries[index], examined.facts[index].results[0]
        found = callers[call]
        after = bisect_right(found, tree.enter[index])
        if not found:
            code, text = "orphan_result", f"no call in the file has the id {shown_id(call)} that the result answers"
        elif after < len(found) and found[after] <= tree.leave[index]:
            line = examined.entries[tree.order[found[after]]].line
            code, text = (
                "result_before_call",
                f"the result stands before its call {shown_id(call)}, made on line {line}",
            )
        else:
            line = examined.entries[tree.order[found[0]]].line
            text = f"the call {shown_id(call)} that the result answers is on another branch, on line {line}"
            code = "result_on_other_branch"
        yield finding(code, text + "; providers refuse it", line=entry.line, entry_id=entry.id)


def _unanswered(examined: Examined, pairs: Pairs) -> Iterator[Finding]:
    """Calls without a result: normal where the turn was cut short or the session ends."""
    talks = _talk_below(examined)
    for index, call in pairs.unanswered:
        entry, facts = examined.entries[index], examined.facts[index]
        text = f"the call {shown_id(call)} has no result"
        if facts.is_cut_short:
            text += ": the reply was cut short"
        elif not talks[index]:
            text += ": the session ends here"
        else:
            text += " although the session goes on"
        is_normal = facts.is_cut_short or not talks[index]
        severity: Severity = "note" if is_normal else "warning"
        yield finding("dangling_call", text, line=entry.line, entry_id=entry.id, severity=severity)


_NO_TALK = frozenset({"", "toolResult"})


def _talk_below(examined: Examined) -> bytearray:
    """For each entry whether a message follows from it that is no tool result."""
    talks = bytearray(len(examined.entries))
    parents = examined.session.parents
    for index in reversed(examined.tree.order):
        parent = parents[index]
        if parent is not None and (talks[index] or examined.facts[index].role not in _NO_TALK):
            talks[parent] = 1
    return talks
