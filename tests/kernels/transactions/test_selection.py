"""Marked transactions as ranges of bytes: those that touch are one, those that take more stand apart."""

from __future__ import annotations

from array import array
from pathlib import Path

import pytest

from binx.kernels.transactions.selection import merged_ranges
from binx.log.file import BinlogFile


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
