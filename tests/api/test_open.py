"""``binx.open``: what a notebook or a program gets of logs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import feather

import binx
from binx.errors import AbsentError, EncryptedError, SourceError, UsageError
from tests.conftest import TESTDATA

SHOP = TESTDATA / "mysql-9.7" / "shop"
LOGS = sorted(SHOP.glob("mysql-bin.0*"))
ENUM_CHANGED = TESTDATA / "mysql-9.7" / "small" / "enum_changed.binlog"
ENCRYPTED = TESTDATA / "mysql-9.7" / "encrypted"
KEYRINGS = [ENCRYPTED / "keyring-before.json", ENCRYPTED / "keyring.json"]
NAMELESS = TESTDATA / "mariadb-10.11" / "shop" / "mysql-bin.000002"
"""A log without names of columns; they are in statements of the log before."""
DUMP = "CREATE TABLE visits (id BIGINT PRIMARY KEY, page VARCHAR(40) NOT NULL, seen_at DATETIME NOT NULL);"


def test_a_folder_and_its_index_are_the_logs_in_it() -> None:
    with binx.open(SHOP) as folder, binx.open(SHOP / "mysql-bin.index") as index:
        assert [file.name for file in folder.files] == [log.name for log in LOGS]
        assert [file.name for file in index.files] == [log.name for log in LOGS]


def test_logs_come_in_the_order_of_their_chain_however_they_are_named() -> None:
    with binx.open(*LOGS) as ordered, binx.open(*LOGS[::-1]) as turned:
        assert turned.index().equals(ordered.index())
        assert turned.changes("shop.orders").schema == ordered.changes("shop.orders").schema


def test_transactions_index_and_changes_tell_the_same() -> None:
    with binx.open(*LOGS) as logs:
        records = list(logs.transactions())
        index = logs.index()
        assert index["transaction"].to_pylist() == [one.transaction for one in records]
        assert index["commit_timestamp"].to_pylist() == [one.commit_time for one in records]
        assert index["end"].to_pylist() == [one.start + one.bytes for one in records]
        counts: Counter[tuple[str, str]] = Counter()
        for record in records:
            for table in record.tables:
                counts[table.db, table.table] += table.inserts + 2 * table.updates + table.deletes
        assert list(counts) == logs.tables()
        for db, name in logs.tables():
            assert logs.changes(f"{db}.{name}").read_all().num_rows == counts[db, name]


def test_batches_are_handed_over_at_a_number_of_rows() -> None:
    with binx.open(*LOGS) as logs:
        whole = logs.changes("shop.payments").read_all()
        parts = [batch.num_rows for batch in logs.changes("shop.payments", batch_rows=10)]
        assert max(parts) < len(whole) == sum(parts)
        for number in (0, -1):
            with pytest.raises(UsageError, match=f"expected batches of at least 1 row, found {number}"):
                logs.changes("shop.payments", batch_rows=number)


def test_a_table_that_has_no_changes_is_told() -> None:
    with binx.open(LOGS[0]) as logs:
        with pytest.raises(
            AbsentError, match=r"no row changes of shop\.nowhere in .*mysql-bin.000001; tables\(\) lists"
        ):
            logs.changes("shop.nowhere")
        for name in ("orders", "shop.", ".orders"):
            with pytest.raises(UsageError, match=r"expected DB\.TABLE"):
                logs.changes(name)


def test_columns_are_named_by_a_text_or_a_file_of_sql(tmp_path: Path) -> None:
    (tmp_path / "dump.sql").write_text(DUMP, "utf-8")
    expected: dict[str | Path | None, list[str]] = {None: ["c1", "c2", "c3"], DUMP: ["id", "page", "seen_at"]}
    expected |= {tmp_path / "dump.sql": expected[DUMP]}
    for schema, names in expected.items():
        with binx.open(NAMELESS, schema=schema) as logs:
            assert logs.changes("shop.visits").schema.names[-3:] == names


def test_a_schema_that_defines_no_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"give the path of a file as pathlib\.Path"):
        binx.open(LOGS[0], schema=str(tmp_path / "dump.sql"))
    with pytest.raises(SourceError, match="cannot be read"):
        binx.open(LOGS[0], schema=tmp_path / "dump.sql")
    with binx.open(LOGS[0], schema=DUMP) as logs:
        assert logs.tables()


def test_logs_of_before_and_after_a_rotation_take_both_keyrings() -> None:
    logs = sorted(ENCRYPTED.glob("mysql-bin.0*"))
    with binx.open(*logs, keyring=KEYRINGS) as opened:
        assert opened.index().num_rows > 0
    with pytest.raises(EncryptedError):
        binx.open(*logs, keyring=KEYRINGS[0])


def test_what_cannot_be_opened_is_told() -> None:
    with pytest.raises(UsageError, match="expected at least one binary log to open, found none"):
        binx.open()
    with pytest.raises(SourceError, match="nowhere: cannot be opened: No such file") as caught:
        binx.open("nowhere")
    assert caught.value.path == "nowhere"


@pytest.mark.parametrize(
    ("paths", "table", "column", "is_dictionary"),
    [
        (LOGS, "shop.orders", "status", True),
        ([ENUM_CHANGED], "small.t", "e", False),
        ([ENUM_CHANGED], "small.t", "f", True),
    ],
    ids=["members stay", "members change", "members stay beside them"],
)
def test_arrow_writes_the_batches_of_a_table_to_files(
    paths: list[Path], table: str, column: str, is_dictionary: bool, tmp_path: Path
) -> None:
    """They have one dictionary a column; an ENUM whose members changed is text."""
    path = tmp_path / "changes"
    with binx.open(*paths) as logs:
        reader = logs.changes(table, batch_rows=1)
        assert pa.types.is_dictionary(reader.schema.field(column).type) is is_dictionary
        with pa.ipc.new_file(str(path), reader.schema) as writer:
            for batch in reader:
                writer.write(batch)
        whole = logs.changes(table, batch_rows=1).read_all()
    assert whole[column].num_chunks > 1
    with pa.ipc.open_file(str(path)) as written:
        assert written.read_all() == whole
    feather.write_feather(whole, str(path))
    assert feather.read_table(str(path)) == whole
