"""The transaction index as Arrow, compared with the listings of the servers' own readers."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from binx.errors import UnsupportedError
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.index.transactions import index_batch, index_schema
from binx.log.scan import Scan
from tests.conftest import TESTDATA
from tests.log.index.index_files import index_table
from tests.log.searching import Bytes, listed_transactions

SMALL = sorted(TESTDATA.glob("*/small/*.binlog"))
SHOP = sorted(TESTDATA.glob("*/shop/mysql-bin.0*"))
COMPRESSED = TESTDATA / "mysql-9.7/small/compressed.binlog"

COLUMNS = [
    "commit_version", "transaction", "gtid", "xid", "server_id", "epoch", "seqno", "kind", "how", "file",
    "start", "end", "bytes", "uncompressed_bytes", "commit_timestamp", "commit_time_source",
    "original_commit_timestamp", "begin_timestamp", "last_committed", "sequence_number", "thread_id",
    "events", "rows", "statements", "tables",
]  # fmt: skip
"""The columns of the data set's ``transactions``, as the documentation of the layout lists them."""


def name_of(path: Path) -> str:
    return str(path.relative_to(TESTDATA))


def index_of(path: Path, level: Level, *, epoch: int = 0, first_seqno: int = 0) -> pa.Table:
    with BinlogFile.open(str(path)) as file:
        return index_table(file, Scan(file, level), epoch=epoch, first_seqno=first_seqno)


def rows_of(path: Path, level: Level, *, epoch: int = 0, first_seqno: int = 0) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = index_of(path, level, epoch=epoch, first_seqno=first_seqno).to_pylist()
    return rows


def query(sql: str, index: pa.Table) -> list[tuple[Any, ...]]:
    """What DuckDB makes of the index."""
    with duckdb.connect() as connection:
        connection.register("index_table", index)
        return connection.execute(sql).fetchall()


def moment(microseconds: int) -> datetime:
    return datetime.fromtimestamp(microseconds // 1_000_000, UTC).replace(
        microsecond=microseconds % 1_000_000
    )


def test_the_columns_are_those_of_the_data_set_in_its_order() -> None:
    assert index_schema().names == COLUMNS
    types = {field.name: str(field.type) for field in index_schema()}
    assert types["commit_version"] == "int64"
    assert types["xid"] == "uint64"
    assert types["commit_timestamp"] == "timestamp[us, tz=UTC]"
    counts = "struct<db: string, table: string, inserts: int64, updates: int64, deletes: int64>"
    assert types["tables"] in {f"list<item: {counts}>", f"list<element: {counts}>"}


@pytest.mark.parametrize(
    ("path", "level"),
    [*((path, Level.LEVEL_TABLES) for path in [*SMALL, *SHOP]), *((SHOP[0], level) for level in Level)],
)
def test_every_table_is_valid_arrow(path: Path, level: Level) -> None:
    table = index_of(path, level)
    table.validate(full=True)
    assert table.schema == index_schema()


@pytest.mark.parametrize("path", SMALL, ids=name_of)
def test_gtids_clocks_times_and_lengths_are_those_of_the_listing(path: Path) -> None:
    rows = rows_of(path, Level.LEVEL_EVENTS)
    listed = listed_transactions(path.with_suffix(".txt"))
    assert len(rows) == len(listed)
    for row, one in zip(rows, listed, strict=True):
        assert (row["start"], row["server_id"], row["gtid"]) == (one.start, one.server_id, one.gtid)
        assert row["end"] - row["start"] == row["bytes"]
        assert (row["last_committed"], row["sequence_number"]) == (one.last_committed, one.sequence_number)
        if one.immediate is None:
            assert row["commit_time_source"] == "terminal_event"
            assert row["original_commit_timestamp"] is None
        else:
            assert row["commit_time_source"] == "gtid_event"
            assert row["commit_timestamp"] == moment(one.immediate)
            assert row["original_commit_timestamp"] == moment(one.original or 0)
            assert (row["bytes"], row["how"]) == (one.length, "length")


@pytest.mark.parametrize("path", SMALL, ids=name_of)
def test_xids_and_threads_are_those_of_the_listing(path: Path) -> None:
    rows = rows_of(path, Level.LEVEL_TABLES)
    listed = listed_transactions(path.with_suffix(".txt"))
    assert [row["xid"] for row in rows] == [one.xid for one in listed]
    assert [row["thread_id"] for row in rows] == [one.thread_id for one in listed]


@pytest.mark.parametrize("path", SHOP, ids=name_of)
def test_tables_add_up_to_what_the_servers_own_reader_prints(path: Path) -> None:
    expected = json.loads((path.parent / "expected" / "files.json").read_text())["files"][path.name]
    index = index_of(path, Level.LEVEL_TABLES)
    found = query(
        """
        SELECT t.db || '.' || t."table" AS name,
               sum(t.inserts)::BIGINT, sum(t.updates)::BIGINT, sum(t.deletes)::BIGINT
        FROM (SELECT unnest(tables) AS t FROM index_table) GROUP BY name
        """,
        index,
    )
    assert {name: tuple(counts) for name, *counts in found} == {
        name: (count["inserts"], count["updates"], count["deletes"])
        for name, count in expected["tables"].items()
    }
    (total,) = query("SELECT sum(rows)::BIGINT FROM index_table", index)
    assert total == (sum(sum(count.values()) for count in expected["tables"].values()),)


def test_the_demos_transaction_is_as_the_server_said(testdata: Path) -> None:
    demos = sorted(testdata.glob("*/shop/demo.json"))
    assert len(demos) == 2
    for demo in demos:
        wanted = json.loads(demo.read_text())
        rows = rows_of(demo.parent / wanted["file"], Level.LEVEL_TABLES)
        (row,) = [row for row in rows if row["gtid"] == wanted["gtid"]]
        assert (row["start"], row["end"]) == (wanted["start"], wanted["end"])
        assert row["kind"] == "dml"
        assert row["commit_version"] == 3 * 2**32 + wanted["start"]
        counts = {f"{t['db']}.{t['table']}": t for t in row["tables"]}
        assert counts.keys() == wanted["tables"].keys()
        for name, count in wanted["tables"].items():
            assert {key: counts[name][key] for key in count} == count


def test_what_a_level_does_not_know_is_null() -> None:
    path = TESTDATA / "mysql-9.7/shop/mysql-bin.000001"
    unknown = {
        level: {name for name in COLUMNS if index_of(path, level)[name].null_count == 374} for level in Level
    }
    assert unknown[Level.LEVEL_TABLES] == {"uncompressed_bytes"}
    assert unknown[Level.LEVEL_EVENTS] == {"uncompressed_bytes", "rows", "tables"}
    assert {"uncompressed_bytes", "rows", "tables"} <= unknown[Level.LEVEL_INDEX]
    assert unknown[Level.LEVEL_INDEX] <= {"uncompressed_bytes", "rows", "tables", "events", "statements"}


def test_all_that_a_lower_level_says_is_what_a_higher_one_says() -> None:
    for path in [*SMALL, *SHOP]:
        by_level = [rows_of(path, level) for level in Level]
        for rows in zip(*by_level, strict=True):
            full = rows[-1]
            for row in rows:
                assert all(
                    value is None or value == full[name] for name, value in row.items() if name != "kind"
                )


def test_a_compressed_transaction_has_both_its_sizes() -> None:
    for row in rows_of(COMPRESSED, Level.LEVEL_EVENTS):
        if row["uncompressed_bytes"] is not None:
            assert row["uncompressed_bytes"] > 0
            assert (row["events"], row["statements"], row["rows"], row["tables"]) == (None,) * 4
    counted = rows_of(COMPRESSED, Level.LEVEL_TABLES)
    compressed = [row for row in counted if row["uncompressed_bytes"] is not None]
    assert compressed
    assert any(row["rows"] for row in compressed)
    listing = COMPRESSED.with_suffix(".txt").read_text(errors="replace")
    sizes = [int(size) for size in re.findall(r"uncompressed_size=(\d+)", listing)]
    assert [row["uncompressed_bytes"] for row in compressed] == sizes


def test_epoch_and_seqno_come_from_the_chain() -> None:
    rows = rows_of(SHOP[0], Level.LEVEL_INDEX, epoch=4, first_seqno=1000)
    assert {row["epoch"] for row in rows} == {4}
    assert [row["seqno"] for row in rows] == list(range(1000, 1000 + len(rows)))


def test_batches_of_a_scan_count_on(monkeypatch: pytest.MonkeyPatch) -> None:
    path = TESTDATA / "mysql-9.7/small/all_types.binlog"
    whole = rows_of(path, Level.LEVEL_TABLES, first_seqno=5)
    monkeypatch.setattr("binx.log.scan.WINDOW_BYTES", 500)
    with BinlogFile.open(str(path)) as file:
        scan = Scan(file, Level.LEVEL_TABLES)
        tables = list(scan)
        assert len(tables) > 3
        assert index_table(file, scan, tables, first_seqno=5).to_pylist() == whole


def test_a_log_without_transactions_is_an_empty_table() -> None:
    data = (TESTDATA / "mysql-9.7/small/ddl.binlog").read_bytes()
    file = BinlogFile(Bytes(data[:127]))
    table = index_table(file, Scan(file, Level.LEVEL_TABLES))
    assert table.num_rows == 0
    assert table.schema == index_schema()


def test_a_start_beyond_4_gib_is_refused_and_not_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    with BinlogFile.open(str(SHOP[0])) as file:
        scan = Scan(file, Level.LEVEL_INDEX)
        (table,) = scan
        last = table.value("start", len(table) - 1)

        def commit_version(start: int) -> int:
            if start == last:
                raise UnsupportedError("after the first 4 GiB")
            return start

        monkeypatch.setattr(file, "commit_version", commit_version)
        with pytest.raises(UnsupportedError):
            index_batch(file, scan, table)
