"""Tool calls and their results: which cuts would part a result from its call.

Takes the measures of context entries; says for one cut, or for every cut, whether a result at or after it answers a
call before it. Of calls with the same id, a result answers the newest one before it.
"""

from collections.abc import Sequence

from compactor.entry_measure import EntryMeasure


def parts_pair(measures: Sequence[EntryMeasure], start: int, cut: int) -> bool:
    """True when a cut right before an entry parts a pair; a look at the kept tail is mostly enough to tell.

    Args:
        measures: of all context entries.
        start: calls before it don't count.
        cut: the first entry of the kept tail.
    """
    made: set[str] = set()
    waiting: set[str] = set()
    for measure in measures[cut:]:
        waiting.update(result for result in measure.results if result not in made)
        made.update(measure.calls)
    return bool(waiting) and any(not waiting.isdisjoint(measure.calls) for measure in measures[start:cut])


def parting_cuts(measures: Sequence[EntryMeasure], start: int) -> bytearray:
    """For each entry whether a cut right before it would part a pair; calls before `start` don't count."""
    made: dict[str, int] = {}
    delta = [0] * (len(measures) + 1)
    for n in range(start, len(measures)):
        for result in measures[n].results:
            if (call := made.get(result)) is not None:
                delta[call + 1] += 1
                delta[n + 1] -= 1
        for call_id in measures[n].calls:
            made[call_id] = n
    parts, open_pairs = bytearray(len(measures)), 0
    for n in range(len(measures)):
        open_pairs += delta[n]
        parts[n] = open_pairs > 0
    return parts
