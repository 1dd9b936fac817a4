"""What the data source plans and what its tasks read, without Spark: slices, options, filters, streams."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from shutil import copy
from typing import Any

import pyarrow as pa
import pytest

import binx
from binx.dataset.statement_batches import statements_schema
from binx.errors import (
    AbsentError,
    BinxError,
    BinxWarning,
    EncryptedError,
    RefusedError,
    StaleError,
    UsageError,
)
from binx.log.index.transactions import index_schema
from binx.spark.source.read_plan import Slice, plan, table_schema
from binx.spark.source.request import ScanRequest, What, parse_request
from binx.spark.source.stream import Offset, Stream
from binx.spark.source.task_batches import fitted, read_slices
from tests.archive.places import archive, copy_logs
from tests.conftest import TESTDATA
from tests.source.ages import EXAMPLE_IDENTITY, EXAMPLE_RECIPIENT

MYSQL = TESTDATA / "mysql-9.7"
MARIADB = TESTDATA / "mariadb-10.11"
LOGS = sorted((MYSQL / "shop").glob("mysql-bin.00*"))
SERVERS = pytest.mark.parametrize("server", [MYSQL, MARIADB], ids=["mysql", "mariadb"])


def request(path: Path, **options: object) -> ScanRequest:
    return parse_request({"path": str(path), **{name: str(value) for name, value in options.items()}})


def schema_of(asked: ScanRequest) -> pa.Schema:
    if asked.what is What.TRANSACTIONS:
        return index_schema()
    return statements_schema() if asked.what is What.STATEMENTS else table_schema(asked)


def rows(asked: ScanRequest, tasks: Iterable[Iterable[Slice]] | None = None) -> pa.Table:
    """What the tasks read, each from what Spark would send to it."""
    schema = schema_of(asked)
    batches = [
        batch
        for slices in (plan(asked) if tasks is None else tasks)
        for batch in read_slices(asked, pickle.loads(pickle.dumps(slices)), schema)
    ]
    return pa.Table.from_batches(batches, schema=schema)


def in_order(changes: pa.Table) -> list[dict[str, Any]]:
    def place(row: dict[str, Any]) -> tuple[Any, ...]:
        return row["_commit_version"], row["_row"], row["_change_type"] == "update_postimage"

    return sorted(changes.to_pylist(), key=place)


def test_a_log_that_is_missing_between_others_is_warned_of(tmp_path: Path) -> None:
    for log in LOGS[:3:2]:
        (tmp_path / log.name).symlink_to(log)
    with pytest.warns(BinxWarning, match=r"expected mysql-bin\.000002 to follow"):
        plan(request(tmp_path, transactions=True))


@SERVERS
@pytest.mark.parametrize(("table", "split"), [("shop.orders", "77777"), ("shop.products", "1")])
def test_tables_have_the_rows_of_the_logs_however_they_are_split(
    server: Path, table: str, split: str
) -> None:
    # The logs of MariaDB name no columns here: each slice must know the statements before it.
    with binx.open(server / "shop") as logs:
        expected = logs.changes(table).read_all()
    found = rows(request(server / "shop", table=table, splitBytes=split))
    # The API has plain text where the dictionaries of batches differ.
    place = expected.schema.get_field_index("_transaction")
    assert expected.schema.field(place).type == pa.string()
    identifiers = pa.field("_transaction", pa.dictionary(pa.int32(), pa.string()))
    assert found.schema.equals(expected.schema.set(place, identifiers))
    assert in_order(found) == in_order(expected)


@SERVERS
@pytest.mark.parametrize(("folder", "split"), [("shop", "5000"), ("relay", "1")])
def test_transactions_are_numbered_through_all_slices(server: Path, folder: str, split: str) -> None:
    with binx.open(server / folder) as logs:
        expected = logs.index()
    assert rows(request(server / folder, transactions=True, splitBytes=split)).equals(expected)


@SERVERS
def test_statements_are_those_of_the_unsplit_logs(server: Path) -> None:
    whole = rows(request(server / "shop", statements=True))
    assert whole.num_rows > 20
    assert rows(request(server / "shop", statements=True, splitBytes=5000)).equals(whole)
    # What is not read is followed all the same: effects name columns by the statements before.
    for start in ("mysql-bin.000002:4", "mysql-bin.000003:4"):
        part = rows(request(server / "shop", statements=True, startPosition=start, splitBytes=20000))
        assert 0 < part.num_rows < whole.num_rows
        assert part.equals(whole.slice(whole.num_rows - part.num_rows))


def test_slices_are_whole_transactions_of_about_the_size_asked_for() -> None:
    with binx.open(*LOGS) as logs:
        ends = {(record.path, record.end) for record in logs.transactions()}
        largest = max(record.bytes for record in logs.transactions())
    slices = [
        part for task in plan(request(MYSQL / "shop", transactions=True, splitBytes=50000)) for part in task
    ]
    assert all((part.log.path, part.stop) in ends for part in slices)
    assert max(part.size for part in slices) <= 50_000 + largest
    assert len(slices) > 20


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({"limit": 7}, 7),
        ({"limit": 7, "db": "shop", "splitBytes": 1}, 7),
        ({"since": "2100-01-01"}, 0),
        ({"startPosition": "mysql-bin.000002:4", "stopPosition": "mysql-bin.000003:4"}, None),
    ],
)
def test_selections_are_those_of_extract(options: dict[str, object], count: int | None) -> None:
    found = rows(request(MYSQL / "shop", transactions=True, **options))
    if count is None:
        assert set(found["file"].to_pylist()) == {"mysql-bin.000002"}
    else:
        assert found.num_rows == count


def test_gtids_that_are_asked_for_are_all_that_is_planned_for() -> None:
    with binx.open(*LOGS) as logs:
        records = list(logs.transactions())
    chosen = records[len(records) // 2]
    asked = request(MYSQL / "shop", transactions=True, gtid=chosen.gtid)
    ((part,),) = plan(asked)
    assert (part.start, part.stop, part.transactions) == (chosen.start, chosen.end, 1)
    assert rows(asked)["gtid"].to_pylist() == [chosen.gtid]


def test_an_encrypted_log_is_read_with_its_keyring_on_every_machine() -> None:
    folder = MYSQL / "encrypted"
    found = rows(
        request(folder / "mysql-bin.000003", transactions=True, keyring=folder / "keyring.json", splitBytes=1)
    )
    with binx.open(folder / "mysql-bin.000003", keyring=folder / "keyring.json") as logs:
        assert found.equals(logs.index())


def test_an_encrypted_archive_is_read_with_an_identity_on_every_machine(tmp_path: Path) -> None:
    (tmp_path / "key.txt").write_text(EXAMPLE_IDENTITY)
    archive(copy_logs(tmp_path / "logs", 1), tmp_path / "archive", recipients=(EXAMPLE_RECIPIENT,))
    (log,) = (tmp_path / "archive").glob("*.zst.age")
    found = rows(request(log, transactions=True, identity=tmp_path / "key.txt", splitBytes=100_000))
    assert found.equals(
        rows(request(tmp_path / "logs" / "mysql-bin.000001", transactions=True, splitBytes=100_000))
    )
    with pytest.raises(EncryptedError, match="no identity"):
        plan(request(log, transactions=True))


def test_a_log_that_was_replaced_since_the_plan_is_not_read(tmp_path: Path) -> None:
    log = tmp_path / LOGS[0].name
    copy(LOGS[0], log)
    asked = request(log, transactions=True)
    tasks = plan(asked)
    copy(MARIADB / "shop" / "mysql-bin.000001", log)
    with pytest.raises(StaleError, match="replaced since the query was planned"):
        rows(asked, tasks)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "expected what to read"),
        ({"table": "orders"}, "expected DB.TABLE"),
        ({"transactions": "yes"}, "option transactions: expected true or false"),
        ({"transactions": True, "statements": True}, "cannot be combined"),
        ({"tabel": "a.b"}, "unknown option 'tabel'; did you mean table"),
        ({"table": "a.b", "since": "soon"}, "option since: expected a time"),
        ({"table": "a.b", "gtid": " "}, "option gtid: expected a GTID set, found an empty text"),
        ({"table": "a.b", "excludeGtid": ""}, "option excludeGtid: expected a GTID set"),
        ({"table": "a.b", "paths": "logs"}, "option paths: expected a list of paths in JSON, found 'logs'"),
        ({"table": "a.b", "paths": "[1]"}, "option paths: expected a list of paths in JSON"),
        ({"table": "a.b", "split-bytes": "0"}, "option splitBytes: expected at least 1 byte"),
        ({"table": "a.b", "batchRows": "0"}, "option batchRows: expected at least 1, found 0"),
        ({"table": "a.b", "thread_id": "1,x"}, "option threadId: expected a whole number"),
    ],
)
def test_options_that_cannot_be_understood_say_why(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        request(LOGS[0], **options)


def test_a_table_that_no_log_changes_is_reported_with_those_that_there_are() -> None:
    with pytest.raises(
        AbsentError, match=r"no row changes of shop\.order in .*; tables with row changes: shop\.\w+"
    ):
        table_schema(request(LOGS[0], table="shop.order"))


def test_a_value_that_a_type_cannot_hold_is_an_error() -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([300])], ["x"])
    with pytest.raises(BinxError, match="column x, which is int64, cannot be read as int8"):
        fitted(batch, pa.schema([("x", pa.int8())]))


def test_columns_that_came_after_a_stream_began_are_not_lost_in_silence() -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], ["id", "new"])
    schema = pa.schema([("id", pa.int64())])
    with pytest.raises(BinxError, match="columns that were added after the query started: new"):
        fitted(batch, schema, whole=True)
    assert fitted(batch, schema).column_names == ["id"]


def streamed(stream: Stream, start: Offset, end: Offset, asked: ScanRequest) -> list[pa.RecordBatch]:
    schema = schema_of(replace(asked, paths=(str(MYSQL / "shop"),)))
    slices = [part for task in stream.partitions(start, end) for part in task]
    return list(read_slices(asked, slices, schema))


@pytest.mark.parametrize(
    "options",
    [{"table": "shop.orders"}, {"transactions": True}, {"statements": True}],
    ids=["table", "transactions", "statements"],
)
@pytest.mark.parametrize("restarts", [False, True])
def test_a_stream_takes_each_transaction_once_as_logs_grow_and_go(
    tmp_path: Path, options: dict[str, object], restarts: bool
) -> None:
    asked = request(tmp_path, **options)
    stream, batches = Stream(asked), list[pa.RecordBatch]()
    offset: Offset = {}
    for number, log in enumerate(LOGS):
        content = log.read_bytes()
        for part in (200, len(content) // 3, len(content) // 3 + 1, len(content) - 7, len(content)):
            (tmp_path / log.name).write_bytes(content[:part])
            stream = Stream(asked) if restarts else stream
            # Of one log the batches are cut at a size.
            end = stream.latest(offset, 20_000 if number % 3 == 2 else None)
            batches += streamed(stream, offset, end, asked)
            offset = end
        if number:
            (tmp_path / LOGS[number - 1].name).unlink(missing_ok=number == 3)
    while (end := stream.latest(offset, 20_000)) != offset:
        batches += streamed(stream, offset, end, asked)
        offset = end
    whole = replace(asked, paths=(str(MYSQL / "shop"),))
    expected = rows(whole)
    found = pa.Table.from_batches(batches, schema=expected.schema)
    if asked.what is What.CHANGES:
        assert in_order(found) == in_order(expected)
        return
    if asked.what is What.STATEMENTS and restarts:
        # What statements in logs that are gone made of tables is not known to a process that starts again.
        untold = [not effects or effects[0]["columns"] is None for effects in found["effects"].to_pylist()]
        told = pa.array([not one for one in untold])
        assert found["effects"].filter(told).equals(expected["effects"].filter(told))
        found, expected = found.drop_columns(["effects"]), expected.drop_columns(["effects"])
    assert found.equals(expected)


def test_a_stream_says_where_logs_are_gone_that_it_has_not_read(tmp_path: Path) -> None:
    asked = request(tmp_path, transactions=True)
    copy(LOGS[0], tmp_path)
    stream = Stream(asked)
    offset = stream.latest({})
    (tmp_path / LOGS[0].name).unlink()
    copy(LOGS[2], tmp_path)
    with pytest.raises(AbsentError, match=r"neither that log nor mysql-bin\.000002 exists"):
        stream.latest(offset)


def test_a_stream_with_an_aim_stops_there(tmp_path: Path) -> None:
    asked = request(tmp_path, transactions=True)
    copy(LOGS[0], tmp_path)
    stream = Stream(asked)
    aim = stream.latest({})
    copy(LOGS[1], tmp_path)
    offset = stream.latest({}, 50_000, aim)
    while (following := stream.latest(offset, 50_000, aim)) != offset:
        offset = following
    assert offset == aim


@pytest.mark.parametrize("option", ["limit", "startPosition"])
def test_a_stream_refuses_what_only_a_read_that_ends_can_answer(option: str) -> None:
    with pytest.raises(RefusedError, match="a stream does not support limit"):
        Stream(request(LOGS[0], transactions=True, **{option: 4}))


def test_a_stream_refuses_relay_logs() -> None:
    with pytest.raises(RefusedError, match="does not read relay logs"):
        Stream(request(MYSQL / "relay", transactions=True)).latest({})
