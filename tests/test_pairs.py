"""Which cuts part a tool result from its call, asked of one cut and of all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactor.entry_measure import EntryMeasure
from compactor.pairs import parting_cuts, parts_pair

CALL_A, CALL_B = EntryMeasure(calls=("a",)), EntryMeasure(calls=("b",))
RESULT_A, RESULT_B, NONE = EntryMeasure(results=("a",)), EntryMeasure(results=("b",)), EntryMeasure()


@pytest.mark.parametrize(
    ("measures", "parting"),
    [
        ([], []),
        ([CALL_A, RESULT_A], [0, 1]),
        ([CALL_A, NONE, RESULT_A, NONE], [0, 1, 1, 0]),
        ([RESULT_A, CALL_A], [0, 0]),
        ([CALL_A, CALL_B, RESULT_A, RESULT_B], [0, 1, 1, 1]),
        ([CALL_A, CALL_A, RESULT_A], [0, 0, 1]),
        ([CALL_A, RESULT_A, RESULT_A], [0, 1, 1]),
        ([EntryMeasure(calls=("a",), results=("a",)), NONE], [0, 0]),
    ],
)
def test_a_cut_between_a_call_and_its_result_parts_them(measures: list[EntryMeasure], parting: list[int]) -> None:
    assert list(parting_cuts(measures, 0)) == parting


def test_calls_before_the_start_do_not_count() -> None:
    assert list(parting_cuts([CALL_A, NONE, RESULT_A], 1)) == [0, 0, 0]
    assert not parts_pair([CALL_A, NONE, RESULT_A], 1, 2)


ids = st.lists(st.sampled_from("abc"), max_size=2).map(tuple)


@given(st.lists(st.builds(EntryMeasure, calls=ids, results=ids), max_size=12), st.data())
def test_asking_about_one_cut_gives_what_asking_about_all_gives(
    measures: list[EntryMeasure], data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(measures)))
    for cut in range(start, len(measures)):
        assert parts_pair(measures, start, cut) == bool(parting_cuts(measures, start)[cut])
