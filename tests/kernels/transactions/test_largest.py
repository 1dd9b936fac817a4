"""Rankings against sorting with Python's own means."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binx.kernels.transactions.selection import Measure, rank
from binx.kernels.transactions.table import TransactionTable
from tests.kernels.transactions.test_sums import statements, table_of
from tests.stats.logs import Statement


@given(st.lists(statements, max_size=60), st.integers(0, 70), st.booleans(), st.none() | st.integers(0, 400))
@settings(deadline=None)
def test_ranking_gives_what_sorting_gives(
    made: list[Statement], limit: int, smallest: bool, floor: int | None
) -> None:
    table = table_of(made) if made else TransactionTable()
    sizes = memoryview(table.column("bytes")).cast("q").tolist()
    pairs = [
        (size, index)
        for index, size in enumerate(sizes)
        if floor is None or (size < floor if smallest else size > floor)
    ]
    pairs.sort(key=lambda pair: (pair[0] if smallest else -pair[0], pair[1]))
    assert rank(table, None, Measure.MEASURE_BYTES, smallest, limit, floor) == pairs[:limit]


def test_ranking_takes_marked_transactions_only() -> None:
    table = table_of([Statement(seconds=second) for second in (5, 9, 7)])
    assert rank(table, b"\1\0\1", Measure.MEASURE_COMMIT_TIME, False, 5) == [(7_000_000, 2), (5_000_000, 0)]
    with pytest.raises(ValueError, match="a mask of 2"):
        rank(table, b"\1\0", Measure.MEASURE_BYTES, False, 5)
