"""Records made of an index file's columns: what a transaction cannot be is refused."""

from __future__ import annotations

from array import array

import pytest

from binx.errors import DamagedError
from binx.kernels.transactions.index_tables import (
    COLUMN_NAMES,
    COUNT_COLUMNS,
    IndexedTables,
    join,
    sources_of,
)
from binx.kernels.transactions.table import TransactionTable
from tests.log import building as b

LOG_BYTES = 1 << 20
COUNTS = [array("q")] * COUNT_COLUMNS
UUID = bytes(range(16))


def made(sources: tuple[bytes, ...] = (), /, **values: int) -> TransactionTable:
    """A table of one transaction of 100 bytes with these values."""
    columns = [array("q", [{"end": 100, **values}.get(name, 0)]) for name in COLUMN_NAMES]
    return IndexedTables(list(sources), 0).table(columns, COUNTS, 0, LOG_BYTES)


def test_a_table_comes_back_from_its_columns() -> None:
    table = b.transactions(b.CREATE)
    columns = [table.column(name) for name in COLUMN_NAMES]
    again = IndexedTables(sources_of(table), 0).table(
        [memoryview(column).cast("q") for column in columns], COUNTS, 0, LOG_BYTES
    )
    assert [again.column(name) for name in COLUMN_NAMES] == columns


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("start", -1),
        ("start", 100),
        ("end", LOG_BYTES + 1),
        ("commit_timestamp", 2**56),
        ("commit_timestamp", -1),
        ("original_commit_timestamp", 2**56),
        ("original_commit_timestamp", -1),
        ("begin_timestamp", 2**32),
        ("begin_timestamp", -1),
        ("counts", 1),
        ("counts", -1),
        ("source", 2**31),
        ("server_id", 2**32),
        ("thread_id", -1),
        ("kind", 9),
        ("gtid_kind", 4),
        ("flags", 256),
        ("undoes_part", 2),
        ("gtid_kind", 1),
    ],
)
def test_what_no_transaction_can_be_is_damage(name: str, value: int) -> None:
    with pytest.raises(DamagedError):
        made(**{name: value})


def test_the_last_times_of_all_are_read() -> None:
    table = made(commit_timestamp=2**56 - 1, original_commit_timestamp=2**56 - 1, begin_timestamp=2**32 - 1)
    assert table.value("commit_timestamp", 0) == table.value("original_commit_timestamp", 0) == 2**56 - 1
    assert table.value("begin_timestamp", 0) == 2**32 - 1


def test_a_gtid_needs_a_source_of_its_kind() -> None:
    assert made((UUID,), gtid_kind=1, number=7).gtid(0) == "00010203-0405-0607-0809-0a0b0c0d0e0f:7"
    with pytest.raises(DamagedError):
        made((UUID,), gtid_kind=2, number=7)


def test_a_source_that_stands_there_twice_is_damage() -> None:
    with pytest.raises(DamagedError):
        IndexedTables([UUID, UUID], 0)


def test_a_count_of_a_table_that_there_is_not_is_damage() -> None:
    columns = [array("q", [{"end": 100, "counts": 1}.get(name, 0)]) for name in COLUMN_NAMES]
    counts = [array("q", [1])] * COUNT_COLUMNS
    with pytest.raises(DamagedError):
        IndexedTables([], 1).table(columns, counts, 0, LOG_BYTES)
    assert IndexedTables([], 2).table(columns, counts, 0, LOG_BYTES).counts_of(0) == [(1, 1, 1, 1, 1)]


def test_transactions_overlap_nowhere() -> None:
    columns = [array("q", {"start": [0, 99], "end": [100, 200]}.get(name, [0, 0])) for name in COLUMN_NAMES]
    with pytest.raises(DamagedError):
        IndexedTables([], 0).table(columns, COUNTS, 0, LOG_BYTES)


def test_tables_of_two_scans_are_not_joined() -> None:
    with pytest.raises(ValueError, match="one scan"):
        join(made(), made())
