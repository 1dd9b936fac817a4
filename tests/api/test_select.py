"""The library: opened logs, and of them what the servers' readers and the commands select too."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import feather

import binx
from binx.errors import AbsentError, DamagedError, EncryptedError, RefusedError, SourceError, UsageError
from tests.cli.process import binx as run_binx
from tests.conftest import TESTDATA
from tests.stats.mysqlbinlog import count_listing, find_reader, print_log

LOGS = sorted((TESTDATA / "mysql-9.7" / "shop").glob("mysql-bin.0*"))
MARIADB_LOGS = sorted((TESTDATA / "mariadb-10.11" / "shop").glob("mysql-bin.0*"))
SERVER = "bf1c133d-e590-11f1-8de0-02fc00000001"
TAGGED = TESTDATA / "mysql-9.7" / "small" / "tagged_gtids.binlog"

_GTID_NEXT = re.compile(rb"GTID_NEXT= '([^':]+(?::[a-z_]\w*)?:\d+)'")
_SECOND = datetime(2026, 11, 21, 9, 48, 53, tzinfo=UTC)


def printed(path: Path, folder: Path, *options: str) -> tuple[list[str], dict[str, tuple[int, int, int]]]:
    """GTIDs, and row changes by table, that the server's reader prints of what its options select."""
    reader = find_reader(path)
    if reader is None:
        pytest.skip("the server's reader is not on this machine")
    text, complaint = print_log(reader, path, folder, *options)
    assert complaint == ""
    return [gtid.decode() for gtid in _GTID_NEXT.findall(text)], count_listing(text).rows


def changed(selected: binx.Transactions) -> dict[str, tuple[int, int, int]]:
    """Inserts, updates and deletes of each table, as its changes have them."""
    counts = {}
    for db, name in selected.tables():
        kinds = Counter(selected.changes(f"{db}.{name}").read_all()["_change_type"].to_pylist())
        assert kinds["update_preimage"] == kinds["update_postimage"]
        counts[f"{db}.{name}"] = (kinds["insert"], kinds["update_preimage"], kinds["delete"])
    return counts


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ({"gtid": f"{SERVER}:380-420:500"}, [f"--include-gtids={SERVER}:380-420:500"]),
        ({"gtid": [f"{SERVER}:400", f"{SERVER}:402"]}, [f"--include-gtids={SERVER}:400:402"]),
        ({"exclude_gtid": f"{SERVER}:400-800"}, [f"--exclude-gtids={SERVER}:400-800"]),
        ({"since": "2026-11-21T09:48:53Z"}, ["--start-datetime=2026-11-21 09:48:53"]),
        ({"until": _SECOND}, ["--stop-datetime=2026-11-21 09:48:53"]),
        ({"start_position": 63824}, ["--start-position=63824"]),
        ({"stop_position": "mysql-bin.000002:63824"}, ["--stop-position=63824"]),
        (
            {"gtid": f"{SERVER}:400-700", "until": "2026-11-21 09:48:53", "server_id": 97},
            [f"--include-gtids={SERVER}:400-700", "--stop-datetime=2026-11-21 09:48:53", "--server-id=97"],
        ),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else "",
)
def test_what_is_selected_is_what_mysqlbinlog_selects(
    arguments: dict[str, Any], options: list[str], tmp_path: Path
) -> None:
    gtids, rows = printed(LOGS[1], tmp_path, *options)
    assert 0 < len(gtids) < 446
    with binx.open(LOGS[1]) as log:
        selected = log.select(**arguments)
        assert [record.gtid for record in selected.transactions()] == gtids
        assert selected.index()["gtid"].to_pylist() == gtids
        assert changed(selected) == rows


def test_tagged_gtids_are_selected_as_mysqlbinlog_selects_them(tmp_path: Path) -> None:
    with binx.open(TAGGED) as log:
        tagged = next(gtid for record in log.transactions() if (gtid := record.gtid) and gtid.count(":") == 2)
        gtids, _ = printed(TAGGED, tmp_path, f"--include-gtids={tagged}")
        assert [record.gtid for record in log.select(gtid=tagged).transactions()] == gtids == [tagged]


def test_positions_in_a_log_of_mariadb_are_those_of_its_reader(tmp_path: Path) -> None:
    with binx.open(MARIADB_LOGS[2]) as log:
        starts = [record.start for record in log.transactions()][100:200:99]
        options = (f"--start-position={starts[0]}", f"--stop-position={starts[1]}")
        _, rows = printed(MARIADB_LOGS[2], tmp_path, *options)
        selected = log.select(start_position=starts[0], stop_position=starts[1])
        assert changed(selected) == rows
        assert len(list(selected.transactions())) == 99


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ({"gtid": f"{SERVER}:1-5,{SERVER}:900"}, ["--gtid", f"{SERVER}:1-5:900"]),
        ({"db": "sh*", "limit": 7}, ["--db", "sh*", "--limit", "7"]),
        ({"table": ["shop.orders", "*.visits"]}, ["--table", "shop.orders", "--table", "*.visits"]),
        ({"exclude_table": "shop.order*"}, ["--exclude-table", "shop.order*"]),
        ({"thread_id": [38, 39]}, ["--thread-id", "38", "--thread-id", "39"]),
        ({"min_bytes": "2K"}, ["--min-bytes", "2048"]),
        (
            {"min_bytes": 2048, "exclude_gtid": f"{SERVER}:1-900"},
            ["--min-bytes", "2K", "--exclude-gtid", f"{SERVER}:1-900"],
        ),
        ({"xid": 1612}, ["--xid", "1612"]),
        (
            {"start_position": "mysql-bin.000002:63830", "stop_position": "mysql-bin.000003:50000"},
            ["--start-position", "mysql-bin.000002:63830", "--stop-position", "mysql-bin.000003:50000"],
        ),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else "",
)
def test_the_options_of_a_command_mean_the_same(arguments: dict[str, Any], options: list[str]) -> None:
    listing = run_binx("ls", "--json", "--quiet", *options, *LOGS)
    expected = [json.loads(line) for line in listing.lines]
    with binx.open(*LOGS) as logs:
        selected = logs.select(**arguments)
        index = selected.index().to_pylist()
        records = list(selected.transactions())
    assert len(expected) < 1629
    for name in (
        "transaction",
        "epoch",
        "seqno",
        "kind",
        "file",
        "start",
        "end",
        "thread_id",
        "rows",
        "tables",
    ):
        assert [row[name] for row in index] == [row[name] for row in expected], name
    assert [(record.gtid, record.start, record.rows) for record in records] == [
        (row["gtid"], row["start"], row["rows"]) for row in expected
    ]


def test_a_time_without_a_zone_is_in_utc_and_one_with_a_zone_is_that_moment() -> None:
    berlin = _SECOND.astimezone(timezone(timedelta(hours=1)))
    with binx.open(LOGS[1]) as log:
        expected = log.select(since="2026-11-21T09:48:53Z").index()
        assert 0 < expected.num_rows < log.index().num_rows
        for moment in (_SECOND, _SECOND.replace(tzinfo=None), berlin, "2026-11-21T10:48:53+01:00"):
            assert log.select(since=moment).index().equals(expected)


def test_a_condition_takes_the_changes_that_fulfil_it_before_or_after() -> None:
    with binx.open(*LOGS) as logs:
        orders = logs.changes("shop.orders").read_all()
        expected = duckdb.execute(
            "select _commit_version, _row, _change_type from orders semi join"
            " (from orders where status = 'paid' and total > 100) as paid using (_commit_version, _row)"
            " order by _commit_version, _row, _change_type desc"
        ).fetchall()
        selected = logs.select(table="shop.orders", where="status = 'paid' and total > 100")
        changes = selected.changes("shop.orders").read_all()
        columns = [changes[name].to_pylist() for name in ("_commit_version", "_row", "_change_type")]
        assert list(zip(*columns, strict=True)) == expected
        versions = sorted({version for version, _, _ in expected})
        assert [record.commit_version for record in selected.transactions()] == versions
        assert selected.index()["commit_version"].to_pylist() == versions
        assert 0 < len(changes) < len(orders)


def test_a_condition_on_columns_that_no_table_has_is_reported() -> None:
    with binx.open(LOGS[0]) as log:
        selected = log.select(where="colour = 'red'")
        for ask in (selected.index, selected.tables, lambda: selected.changes("shop.orders")):
            with pytest.raises(AbsentError, match="no table has colour"):
                ask()
        with pytest.raises(AbsentError, match="no table has colour"):
            next(selected.transactions())


def test_a_table_of_which_a_condition_cannot_be_asked_is_warned_of() -> None:
    """The column is a text in one table, a number in others."""
    with binx.open(TESTDATA / "mysql-9.7" / "small" / "row_image_noblob.binlog") as log:
        selected = log.select(where="c <> 'zz'")
        for ask in (selected.index, selected.tables, lambda: list(selected.transactions())):
            with pytest.warns(
                binx.BinxWarning, match=r"_key: rows to which.*were skipped: .*found 'zz'"
            ) as warned:
                ask()
            assert {Path(warning.filename).name for warning in warned} == {Path(__file__).name}


def test_a_log_that_is_missing_between_others_is_warned_of() -> None:
    said = r"mysql-bin\.000001, .*mysql-bin\.000003: expected mysql-bin\.000002 to follow"
    with pytest.warns(binx.BinxWarning, match=said) as warned, binx.open(*LOGS[:3:2]):
        pass
    assert {Path(warning.filename).name for warning in warned} == {Path(__file__).name}


def test_definitions_before_the_selected_transactions_name_their_columns() -> None:
    with binx.open(*MARIADB_LOGS) as logs:
        selected = logs.select(start_position="mysql-bin.000003:4")
        assert "seen_at" in selected.changes("shop.visits").schema.names
        assert {record.path for record in selected.transactions()} == {str(log) for log in MARIADB_LOGS[2:]}


def test_changes_have_the_rows_of_the_selected_transactions_alone_in_batches() -> None:
    with binx.open(*LOGS) as logs:
        versions = {record.commit_version for record in logs.select(thread_id=38).transactions()}
        reader = logs.select(thread_id=38).changes("shop.visits", batch_rows=1)
        batches = list(reader)
        everything = logs.changes("shop.visits").read_all()
        expected = everything.filter(pc.is_in(everything["_commit_version"], pa.array(sorted(versions))))
        assert len(batches) > 1
        assert 0 < len(expected) < len(everything)
        assert pa.Table.from_batches(batches, reader.schema).to_pylist() == expected.to_pylist()


def test_rows_that_were_rolled_back_are_no_changes() -> None:
    with binx.open(TESTDATA / "mariadb-10.11" / "small" / "savepoints_rows.binlog") as log:
        undone = next(record for record in log.transactions() if record.kind == "rollback")
        assert undone.rows == 3
        selected = log.select(start_position=undone.start, stop_position=undone.end)
        assert list(selected.transactions()) == [undone]
        assert [table.table for table in undone.tables] == ["t"]
        assert selected.tables() == []
        with pytest.raises(AbsentError, match=r"no row changes of small\.t"):
            selected.changes("small.t")
        assert undone.commit_version not in log.changes("small.t").read_all()["_commit_version"].to_pylist()


def test_the_gtids_that_the_logs_do_not_have_are_reported() -> None:
    with binx.open(*LOGS) as logs:
        selected = logs.select(gtid=f"{SERVER}:1600-1700", min_bytes="1G")
        assert list(selected.transactions()) == []
        assert selected.missing_gtids() == f"{SERVER}:1630-1700"
        assert logs.select(gtid=f"{SERVER}:7").missing_gtids() == ""
        assert logs.select(since="2026-01-01").missing_gtids() == ""
        later = logs.select(gtid=f"{SERVER}:1-400", start_position="mysql-bin.000002:4")
        assert later.missing_gtids() == f"{SERVER}:1-374"


def test_logs_that_cannot_have_the_gtids_are_not_read_and_leave_the_number_in_the_chain_unknown() -> None:
    with binx.open(*LOGS) as logs:
        assert logs.select(gtid=f"{SERVER}:1006").index()["seqno"].to_pylist() == [None]
        assert logs.select(gtid=f"{SERVER}:3").index()["seqno"].to_pylist() == [3]


def test_nothing_selected_is_an_empty_index_and_no_table() -> None:
    with binx.open(*LOGS) as logs:
        selected = logs.select(server_id=[4711, 4712])
        assert selected.index().schema == logs.index().schema
        assert selected.index().num_rows == 0
        assert list(selected.transactions()) == []
        assert selected.tables() == []
        with pytest.raises(AbsentError, match=r"no row changes of shop\.orders"):
            selected.changes("shop.orders")


def test_damage_is_reported_when_it_is_reached_and_not_before(tmp_path: Path) -> None:
    data = bytearray(LOGS[0].read_bytes())
    data[200_000] ^= 0xFF
    (tmp_path / LOGS[0].name).write_bytes(data)
    with binx.open(tmp_path / LOGS[0].name) as log:
        assert len(list(log.select(limit=10).transactions())) == 10
        selected = log.select(min_bytes=1)
        for ask in (lambda: list(selected.transactions()), selected.index, selected.tables):
            with pytest.raises(DamagedError):
                ask()
        with pytest.raises(DamagedError):
            selected.changes("shop.orders").read_all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"gtid": ""}, "expected a GTID set, found an empty text"),
        ({"gtid": ["nonsense"]}, "nonsense"),
        ({"since": "tomorrow"}, "expected a time such as"),
        ({"since": "2026-02-02", "until": _SECOND.replace(year=2025)}, "expected a time span"),
        ({"start_position": -1}, "expected a position such as"),
        ({"start_position": 4}, "expected FILE:POS for 5 files"),
        ({"table": "orders"}, "DB.TABLE"),
        ({"server_id": -1}, "expected a whole number of at most 64 bits, found -1"),
        ({"xid": [1, 1 << 64]}, "expected a whole number of at most 64 bits, found 18446744073709551616"),
        ({"thread_id": ["38x"]}, "expected a whole number of at most 64 bits, found 38x"),
        ({"thread_id": 3.5}, "expected a text or a whole number, found 3.5"),
        ({"since": [1, 2]}, "expected one value of since, found [1, 2]"),
        ({"kind": "dll"}, "expected kinds such as"),
        ({"min_bytes": "much"}, "expected a number of bytes"),
        ({"limit": 0}, "expected a limit of at least 1 transaction"),
        ({"where": "status = "}, "expected a condition"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_cannot_be_understood_is_refused_at_once(arguments: dict[str, Any], message: str) -> None:
    with binx.open(*LOGS) as logs, pytest.raises(UsageError, match=re.escape(message)):
        logs.select(**arguments)


def test_a_position_in_another_log_is_refused_at_once() -> None:
    with binx.open(*LOGS) as logs, pytest.raises(AbsentError, match="is not among the files given"):
        logs.select(stop_position="mysql-bin.000099:4")


def test_a_position_beyond_the_end_of_its_log_is_warned_of() -> None:
    with binx.open(LOGS[0]) as log, pytest.warns(binx.BinxWarning, match="has no position 999999999"):
        log.select(stop_position=999_999_999)


SHOP = TESTDATA / "mysql-9.7" / "shop"
OPENED = sorted(SHOP.glob("mysql-bin.0*"))
ENUM_CHANGED = TESTDATA / "mysql-9.7" / "small" / "enum_changed.binlog"
ENCRYPTED = TESTDATA / "mysql-9.7" / "encrypted"
KEYRINGS = [ENCRYPTED / "keyring-before.json", ENCRYPTED / "keyring.json"]
NAMELESS = TESTDATA / "mariadb-10.11" / "shop" / "mysql-bin.000002"
"""A log without names of columns; they are in statements of the log before."""
DUMP = "CREATE TABLE visits (id BIGINT PRIMARY KEY, page VARCHAR(40) NOT NULL, seen_at DATETIME NOT NULL);"


def test_a_folder_and_its_index_are_the_logs_in_it() -> None:
    with binx.open(SHOP) as folder, binx.open(SHOP / "mysql-bin.index") as index:
        assert [file.name for file in folder.files] == [log.name for log in OPENED]
        assert [file.name for file in index.files] == [log.name for log in OPENED]


def test_logs_come_in_the_order_of_their_chain_however_they_are_named() -> None:
    with binx.open(*OPENED) as ordered, binx.open(*OPENED[::-1]) as turned:
        assert turned.index().equals(ordered.index())
        assert turned.changes("shop.orders").schema == ordered.changes("shop.orders").schema


def test_transactions_index_and_changes_say_the_same() -> None:
    with binx.open(*OPENED) as logs:
        records = list(logs.transactions())
        index = logs.index()
        assert index["transaction"].to_pylist() == [record.transaction for record in records]
        assert index["commit_timestamp"].to_pylist() == [record.commit_timestamp for record in records]
        assert index["end"].to_pylist() == [record.start + record.bytes for record in records]
        counts: Counter[tuple[str, str]] = Counter()
        for record in records:
            for table in record.tables:
                counts[table.db, table.table] += table.inserts + 2 * table.updates + table.deletes
        assert list(counts) == logs.tables()
        for db, name in logs.tables():
            assert logs.changes(f"{db}.{name}").read_all().num_rows == counts[db, name]


def test_batches_are_handed_over_at_a_number_of_rows() -> None:
    with binx.open(*OPENED) as logs:
        everything = logs.changes("shop.payments").read_all()
        sizes = [batch.num_rows for batch in logs.changes("shop.payments", batch_rows=10)]
        assert max(sizes) < len(everything) == sum(sizes)
        for number in (0, -1):
            with pytest.raises(UsageError, match=f"expected batches of at least 1 row, found {number}"):
                logs.changes("shop.payments", batch_rows=number)


def test_a_table_that_has_no_changes_is_reported() -> None:
    with binx.open(OPENED[0]) as logs:
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
        binx.open(OPENED[0], schema=str(tmp_path / "dump.sql"))
    with pytest.raises(SourceError, match="cannot be read"):
        binx.open(OPENED[0], schema=tmp_path / "dump.sql")
    with binx.open(OPENED[0], schema=DUMP) as logs:
        assert logs.tables()


def test_logs_of_before_and_after_a_rotation_take_both_keyrings() -> None:
    logs = sorted(ENCRYPTED.glob("mysql-bin.0*"))
    missing = pytest.warns(binx.BinxWarning, match=r"expected mysql-bin\.000002 to follow")
    with missing, binx.open(*logs, keyring=KEYRINGS) as opened:
        assert opened.index().num_rows > 0
    with binx.open(logs[1], keyring=KEYRINGS) as opened:
        assert opened.verify().ok
    with pytest.raises(EncryptedError):
        binx.open(*logs, keyring=KEYRINGS[0])


def test_what_cannot_be_opened_is_reported() -> None:
    with pytest.raises(UsageError, match="expected at least one binary log to open, found none"):
        binx.open()
    with pytest.raises(SourceError, match="nowhere: cannot be opened: No such file") as caught:
        binx.open("nowhere")
    assert caught.value.path == "nowhere"


@pytest.mark.parametrize(
    ("paths", "table", "column", "is_dictionary"),
    [
        (OPENED, "shop.orders", "status", True),
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


def test_the_package_lists_what_it_offers_and_results_say_what_they_are() -> None:
    assert {"open", "diff", "read_changes", "BinxError"} <= set(dir(binx))
    with binx.open(LOGS) as logs:
        assert repr(logs) == "<binlogs mysql-bin.000001, mysql-bin.000002, mysql-bin.000003 and 2 more>"
        assert repr(logs.select(kind="ddl")).endswith(" and 2 more: kind='ddl'>")
        assert repr(logs.verify()) == "<VerifyReport ok: 5 logs, 1,629 transactions>"
    assert repr(logs).startswith("<closed binlogs ")
    for ask in (logs.index, logs.tables, logs.select, logs.stats, logs.verify):
        with pytest.raises(UsageError, match="the logs are closed"):
            ask()


def test_selected_transactions_are_selected_again() -> None:
    with binx.open(LOGS) as logs:
        one = logs.select(table=("shop", "orders"), kind="dml", where="status = 'paid'")
        again = logs.select(table="shop.orders").select(kind="dml").select(where="status = 'paid'")
        assert again.index().equals(one.index())
        both = one.select(where="total > 100").index()
        assert both.equals(logs.select(table="shop.orders", where="status = 'paid' and total > 100").index())
        with pytest.raises(UsageError, match="table is selected already"):
            again.select(table="shop.customers")
        with pytest.raises(UsageError, match="limit is selected already"):
            logs.select(limit=3).select(kind="ddl")


def test_gtids_begin_and_end_a_selection_and_may_be_short() -> None:
    with binx.open(LOGS) as logs:
        chosen = logs.select(from_gtid=f"{SERVER[:4]}:903", until_gtid=f"{SERVER}:905")
        assert chosen.index()["gtid"].to_pylist() == [f"{SERVER}:{number}" for number in (903, 904, 905)]
        assert logs.select(since=_SECOND.date()).index().num_rows == logs.index().num_rows


def test_changes_have_the_columns_and_rows_asked_for() -> None:
    with binx.open(LOGS) as logs:
        everything = logs.changes("shop.payments").read_all()
        chosen = logs.changes(("shop", "payments"), columns=["id", "amount"]).read_all()
        assert chosen.equals(everything.select(["id", "amount"]))
        large = logs.changes("shop.payments", where="amount > 12 and id < 100").read_all()
        assert large.num_rows == len(
            duckdb.execute("from everything where amount > 12 and id < 100").fetchall()
        )
        with pytest.raises(AbsentError, match="has no column amuont; did you mean amount"):
            logs.changes("shop.payments", columns=["amuont"])


def test_transactions_are_a_stream_of_arrow() -> None:
    with binx.open(LOGS) as logs:
        chosen = logs.select(limit=3)
        assert pa.table(chosen).equals(chosen.index())


def test_stats_verify_why_and_diff_are_those_of_the_commands() -> None:
    with binx.open(LOGS) as logs:
        figures = logs.stats(by="table")
        assert figures["transactions"] == logs.index().num_rows
        assert figures["breakdown"] is not None
        assert logs.verify().ok
        changes = list(logs.why("shop.orders", 9007199254740992))
        assert [change.row["type"] for change in changes[:2]] == ["create", "insert"]
    assert binx.diff(LOGS, LOGS[0].parent).equal


def test_files_and_data_sets_are_written_as_by_the_commands(tmp_path: Path) -> None:
    with binx.open(LOGS) as logs:
        chosen = logs.select(table="shop.visits", kind="dml")
        report = chosen.extract(tmp_path / "visits.json", "json", rows=True, only_matching=True)
        assert report.transactions > 0
        with pytest.raises(RefusedError, match="exists; overwrite it with --force"):
            chosen.extract(tmp_path / "visits.json", "json")
        chosen.extract(tmp_path / "visits.json", "json", force=True)
        reports = chosen.to_parquet(tmp_path / "lake")
        assert re.fullmatch(r"<SourceReport mysql-bin\.000001\.\w{8}: written, .* rows?>", repr(reports[0]))
        expected = chosen.changes("shop.visits").read_all().num_rows
        assert sum(report.rows for report in reports) == expected
        read = binx.read_changes(str(tmp_path / "lake"), "shop.visits").read_all()
        assert read.num_rows == expected
        with pytest.warns(binx.BinxWarning, match="no table shop.ordrs in the logs of the data set"):
            logs.select(table="shop.ordrs").to_parquet(tmp_path / "empty")


@pytest.mark.sweep
def test_a_type_checker_follows_the_package(tmp_path: Path) -> None:
    """Also where it is an editable install; one that Python finds by a hook is to be made again."""
    program = tmp_path / "program.py"
    program.write_text(
        "import binx\n"
        "with binx.open('x') as log:\n"
        "    report: binx.VerifyReport = log.verify()\n"
        "    figures: binx.Figures = log.stats()\n"
        "    changes: list[binx.RowChange] = list(log.why('shop.orders', 1))\n"
        "    found: binx.LogDiff = binx.diff('x', 'y')\n"
        "    wrong: int = report.ok and log.extract('z')\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), program.name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    *_, error, count = done.stdout.splitlines()
    assert error.startswith(
        'program.py:7: error: Incompatible types in assignment (expression has type "Literal'
    ), done.stdout
    assert count.startswith("Found 1 error in 1 file")


def test_everything_public_is_listed_and_there() -> None:
    assert dir(binx) == sorted(binx.__all__)
    assert all(getattr(binx, name) is not None for name in dir(binx))
