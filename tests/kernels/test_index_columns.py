"""Columns of the transaction index hold the records' own values, and say of which there are none."""

from __future__ import annotations

import struct
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from binx.kernels.index_columns import IndexColumns, extents
from binx.kernels.scan import Level
from binx.kernels.transactions import TransactionTable
from binx.log.file import BinlogFile
from tests.conftest import PROJECT

LOGS = sorted((PROJECT / "testdata").glob("*/small/*.binlog"))
SAME = ("start", "end", "bytes", "server_id", "commit_timestamp")
"""Columns that are fields of the records as they are, without nulls."""


def tables_of(path: Path) -> list[TransactionTable]:
    with BinlogFile.open(str(path)) as file:
        return list(file.scan(Level.LEVEL_TABLES))


def ids_of(table: TransactionTable) -> tuple[bytes, bytes]:
    """The numbers of a table's transactions, as text."""
    texts = [str(number).encode() for number in range(len(table))]
    return struct.pack(f"={len(texts) + 1}i", *accumulate(map(len, texts), initial=0)), b"".join(texts)


def columns_of(table: TransactionTable, mask: bytearray | None = None) -> Any:
    gathered = IndexColumns()
    gathered.add(table, mask, ids_of(table), 7 << 32, 100, 3)
    return gathered.finish([5] * 100, list(range(50, 150)))


def plain(columns: Any) -> Any:
    """The same with the memory's bytes."""
    made, ids, elements = columns
    named = {name: (bits, nulls, bytes(values)) for name, (bits, nulls, values) in made.items()}
    return named, tuple(map(bytes, ids)), tuple(map(bytes, elements))


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_columns_are_the_records_fields(path: Path) -> None:
    for table in tables_of(path):
        columns, ids, _ = columns_of(table)
        for name in SAME:
            bits, nulls, values = columns[name]
            assert (bits, nulls, bytes(values)) == (None, 0, table.column(name)), name
        numbers = range(len(table))
        assert memoryview(columns["commit_version"][2]).cast("q").tolist() == [
            7 << 32 | table.value("start", number) for number in numbers
        ]
        assert memoryview(columns["seqno"][2]).cast("q").tolist() == [100 + number for number in numbers]
        assert memoryview(columns["epoch"][2]).cast("i").tolist() == [3] * len(table)
        assert list(bytes(columns["kind"][2])) == [table.value("kind", number) for number in numbers]
        assert tuple(map(bytes, ids)) == ids_of(table)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_the_null_bits_are_counted(path: Path) -> None:
    for table in tables_of(path):
        for name, (bits, nulls, _) in columns_of(table)[0].items():
            if bits is None:
                assert nulls == 0, name
            else:
                valid = sum(byte.bit_count() for byte in bits)
                assert (nulls, len(bits)) == (len(table) - valid, (len(table) + 7) // 8), name
                assert nulls, name


def test_counts_go_by_the_numbers_given() -> None:
    tables = tables_of(PROJECT / "testdata/mysql-9.7/small/all_types.binlog")
    for table in tables:
        counts = [count for number in range(len(table)) for count in table.counts_of(number)]
        columns, _, (db, name, inserts, updates, deletes) = columns_of(table)
        assert struct.unpack(f"={len(counts)}i", db) == (5,) * len(counts)
        assert struct.unpack(f"={len(counts)}i", name) == tuple(50 + one[0] for one in counts)
        for made, place in ((inserts, 1), (updates, 2), (deletes, 3)):
            assert struct.unpack(f"={len(counts)}q", made) == tuple(one[place] for one in counts)
        ends = accumulate((len(table.counts_of(number)) for number in range(len(table))), initial=0)
        assert memoryview(columns["tables"][2]).cast("i").tolist() == list(ends)
        if counts:
            gathered = IndexColumns()
            gathered.add(table, None, ids_of(table), 0, 1, 0)
            with pytest.raises(IndexError):
                gathered.finish([], [])


def test_what_is_gathered_one_by_one_is_what_is_gathered_at_once() -> None:
    (table,) = tables_of(PROJECT / "testdata/mysql-9.7/small/all_types.binlog")
    gathered = IndexColumns()
    for _ in range(2):
        for number in range(len(table)):
            mask = bytearray(len(table))
            mask[number] = 1
            gathered.add(table, mask, ids_of(table), 7 << 32, 100, 3)
        assert len(gathered) == len(table)
        assert plain(gathered.finish([5] * 100, list(range(50, 150)))) == plain(columns_of(table))
    with pytest.raises(ValueError, match="mask"):
        gathered.add(table, bytearray(1), ids_of(table), 0, 0, 0)
    with pytest.raises(ValueError, match="ids"):
        gathered.add(table, None, (b"", b""), 0, 0, 0)
    with pytest.raises(ValueError, match="ids"):
        gathered.add(table, None, (ids_of(table)[0], b""), 0, 0, 0)


def test_extents_are_those_of_marked_transactions() -> None:
    (table,) = tables_of(PROJECT / "testdata/mysql-9.7/small/all_types.binlog")
    times = memoryview(table.column("commit_timestamp")).cast("q").tolist()
    mask = bytearray(len(table))
    assert extents(table, mask) is None
    for place in (2, 3, len(table) - 2):
        mask[place] = 1
    chosen = [time for time, mark in zip(times, mask, strict=True) if mark]
    first, last = table.value("start", 2), table.value("start", len(table) - 2)
    assert extents(table, mask) == (first, last, min(chosen), max(chosen))
    with pytest.raises(ValueError, match="mask"):
        extents(table, bytearray(1))
