"""Marked transactions as ranges of bytes, and the few that have most of something."""

from __future__ import annotations

from array import array
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binx.kernels.transactions.selection import Measure, merged_ranges, rank
from binx.kernels.transactions.table import TransactionTable
from binx.log.file import BinlogFile
from tests.kernels.transactions.test_sums import statements, table_of
from tests.stats.logs import Statement


def test_transactions_that_touch_are_one_range(testdata: Path) -> None:
    with BinlogFile.open(str(testdata / "mysql-9.7" / "shop" / "mysql-bin.000001")) as file:
        (table,) = file.scan()
        last = len(table) - 1
        whole = array("q", merged_ranges(table, None, False))
        assert whole.tolist() == [table.value("start", 0), table.value("end", last), len(table)]
        mask = bytearray(len(table))
        mask[3] = mask[4] = mask[9] = 1
        found = array("q", merged_ranges(table, mask, False)).tolist()
        first, second = (table.value("start", 3), table.value("end", 4), 2), (9,)
        assert found[:3] == list(first)
        assert found[3:] == [table.value("start", second[0]), table.value("end", 9), 1]


def test_tagged_transactions_stand_apart(testdata: Path) -> None:
    with BinlogFile.open(str(testdata / "mysql-9.7" / "small" / "tagged_gtids.binlog")) as file:
        (table,) = file.scan()
        counts = array("q", merged_ranges(table, None, False))[2::3]
        tagged = sum((table.gtid(i) or "").count(":") == 2 for i in range(len(table)))
        assert counts.tolist().count(-1) == tagged > 0


def test_a_mask_of_another_length_is_a_mistake_of_the_caller(testdata: Path) -> None:
    with BinlogFile.open(str(testdata / "mysql-9.7" / "shop" / "mysql-bin.000001")) as file:
        (table,) = file.scan()
        with pytest.raises(ValueError, match="mask"):
            merged_ranges(table, b"\1", False)


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
