"""A table at a moment, from a data set alone: rows, what restores it, and what is not known."""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from binx.errors import AbsentError, RefusedError, SourceError, UsageError
from binx.lake.at_moment import table_at
from binx.lake.options import FILE_FORMATS
from binx.lake.state.loaded_state import NO_BEGINNING
from binx.lake.table_at_moment import write_table
from binx.storage.output import open_output
from tests.cli.process import binx
from tests.conftest import TESTDATA
from tests.exports import export
from tests.lake.conftest import Load
from tests.lake.dataset import Server, column_effect
from tests.lake.test_state import ORDERS, Rows
from tests.log import building

FIELDS = [("id", pa.int32()), ("name", pa.string()), ("amount", pa.int32())]
OWN = ("_commit_version", "_commit_timestamp", "_misfits", "_unknown")


def rows_at(lake: Path, at: str | None, table: str = "shop.orders") -> list[dict[str, Any]]:
    found = table_at(str(lake), table, at).rows
    return [{name: row[name] for name in row if name not in OWN} for row in found.to_pylist()]


@pytest.mark.parametrize("image", ["FULL", "MINIMAL"])
def test_a_table_is_what_it_was_after_each_transaction(
    tmp_path: Path, image: str, load: Load, rows: Rows
) -> None:
    server = Server(image=image)
    server.create(ORDERS, FIELDS, ["id"])
    moments = []

    def did() -> None:
        moments.append((server.clock, sorted(map(dict, server.rows(ORDERS)), key=lambda row: row["id"])))

    for step in range(12):
        if step == 6:
            server.rotate()
        if step == 8:
            fields = [("id", pa.int32()), ("title", pa.string()), ("amount", pa.int32())]
            server.alter(ORDERS, "ALTER TABLE orders RENAME COLUMN name TO title", fields, {"name": "title"})
            did()
        if step % 3 == 2:
            server.transaction(("update", ORDERS, (0,), {"amount": step}))
        elif step == 7:
            server.transaction(("delete", ORDERS, (3,)))
        else:
            server.transaction(("insert", ORDERS, {"id": step, "amount": 0}))
        did()
    server.drop(ORDERS)
    server.export_all(tmp_path / "lake")
    for time, expected in moments:
        assert rows_at(tmp_path / "lake", time.isoformat()) == expected
    for time, expected in (moments[10], moments[4]):
        # Later moments, and earlier ones, into one folder.
        code, summary = load(tmp_path / "lake", tmp_path / "out", "--at", time.isoformat())
        assert (code, [table["completeness"] for table in summary["tables"]]) == (0, ["yes"])
        assert rows(tmp_path / "out", ORDERS) == expected
    with pytest.raises(AbsentError, match=r"as of the end of the logs there is no table shop\.orders"):
        rows_at(tmp_path / "lake", None)


def without_time(event: bytes) -> bytes:
    event = bytes(4) + event[4:-4]
    return event + struct.pack("<I", zlib.crc32(event))


def test_logs_that_a_server_began_without_a_time_are_applied_in_their_place(tmp_path: Path) -> None:
    """A Galera node does that when it sends its state to another one: to BINLOG_CHECKPOINT, and ROTATE."""
    logs = sorted((TESTDATA / "mariadb-10.11" / "shop").glob("mysql-bin.0*"))
    export(tmp_path / "lake", logs)
    for number, log in enumerate(logs):
        events = building.split(log.read_bytes(), 4)
        for at in (0, 1, 2) if number % 2 else (-1,):
            events[at] = without_time(events[at])
        copy = tmp_path / log.name
        copy.write_bytes(log.read_bytes()[:4] + b"".join(events))
        export(tmp_path / "timeless", [copy])
    for table in ("shop.orders", "shop.customers"):
        expected, found = (table_at(str(tmp_path / lake), table, None) for lake in ("lake", "timeless"))
        assert (found.rows, found.missing) == (expected.rows, expected.missing)


def test_generated_columns_that_no_image_of_an_update_has_are_unknown_where_they_may_have_changed(
    tmp_path: Path,
) -> None:
    """MariaDB 11.8 logs them with inserts only, also with binlog_row_image=FULL."""
    log = TESTDATA / "mariadb-11.8" / "small" / "generated.binlog"
    (report,) = export(tmp_path / "lake", [log])
    # Its REPLACE, too, left nothing out.
    assert report.manifest["losses"] == []
    expected = json.loads(log.with_suffix(".expected.json").read_text())["tables"]
    changed = {
        "small.t": {1: ["stored", "virtual", "of_both"], 2: [], 40: ["of_the_key"]},
        "small.of_stored": {1: ["stored"], 2: ["stored"]},
    }
    for table, unknown in changed.items():
        found = table_at(str(tmp_path / "lake"), table, None).rows.to_pylist()
        assert {row["id"]: row["_unknown"] or [] for row in found} == unknown
        for row, answer in zip(found, expected[table]["rows"], strict=True):
            for column, value in zip(expected[table]["columns"], answer, strict=True):
                name = column["name"]
                assert row[name] is None if name in unknown[row["id"]] else str(row[name]) == value


def test_tables_at_a_moment_and_those_of_now_do_not_share_a_folder(tmp_path: Path, load: Load) -> None:
    server = Server()
    server.create(ORDERS, FIELDS, ["id"])
    server.transaction(("insert", ORDERS, {"id": 1}))
    moment = ("--at", server.clock.isoformat())
    server.export_all(tmp_path / "lake")
    assert load(tmp_path / "lake", tmp_path / "then", *moment)[0] == 0
    assert load(tmp_path / "lake", tmp_path / "now")[0] == 0
    refused = load(tmp_path / "lake", tmp_path / "then")
    assert refused[0] == 1
    assert f"has the tables as of {server.clock:%Y-%m-%d}" in refused[1]["error"]
    refused = load(tmp_path / "lake", tmp_path / "now", *moment)
    assert "has the tables as of the end of the logs" in refused[1]["error"]


def test_what_is_missing_after_the_moment_is_no_loss(tmp_path: Path, load: Load) -> None:
    server = Server()
    server.create(ORDERS, FIELDS, ["id"])
    for number in range(4):
        server.transaction(("insert", ORDERS, {"id": number}))
        server.rotate()
    for log in (*server.logs[:2], *server.logs[3:]):
        server.export(tmp_path / "lake", log)
    (manifest,) = (tmp_path / "lake" / "_manifest").glob("mysql-bin.000002.*.json")
    end = f"mysql-bin.000002:{json.loads(manifest.read_text())['source']['bytes']}"
    code, summary = load(tmp_path / "lake", tmp_path / "then", "--at", end)
    assert (code, summary["at"], summary["losses"]) == (0, end, [])
    assert load(tmp_path / "lake", tmp_path / "now")[0] == 3


def test_moments_that_are_none_are_reported(tmp_path: Path) -> None:
    server = Server()
    server.create(ORDERS, FIELDS, ["id"])
    server.transaction(("insert", ORDERS, {"id": 1}))
    server.export_all(tmp_path / "lake")
    for at, error, text in [
        ("yesterday evening", UsageError, "expected a moment"),
        ("4711", UsageError, "expected a moment: a time, a GTID or FILE:POS"),
        ("mysql-bin.000099:4", AbsentError, "no log of the data set is called"),
        ("3e11fa47-71ca-11e1-9e33-c80aa9429562:999", AbsentError, "have no transaction"),
    ]:
        with pytest.raises(error, match=text):
            rows_at(tmp_path / "lake", at)
    with pytest.raises(AbsentError, match=r"there is no table shop\.nothing"):
        rows_at(tmp_path / "lake", None, "shop.nothing")


@pytest.mark.parametrize("kind", ["changes", "statements", "transactions"])
@pytest.mark.parametrize("size", [0, 500, None])
def test_a_file_that_is_damaged_or_missing_is_named(tmp_path: Path, kind: str, size: int | None) -> None:
    server = Server()
    server.create(ORDERS, FIELDS, ["id"])
    server.transaction(("insert", ORDERS, {"id": 1}))
    server.export_all(tmp_path)
    [file] = (tmp_path / kind).rglob("*.parquet")
    content = file.read_bytes()
    file.unlink()
    if size is not None:
        file.write_bytes(content[:size])
    with pytest.raises(SourceError, match=file.name):
        table_at(str(tmp_path), "shop.orders", "2030-01-01")


def test_a_row_is_found_by_its_key(tmp_path: Path) -> None:
    server = Server()
    server.create(ORDERS, FIELDS, ["id"])
    server.transaction(*(("insert", ORDERS, {"id": one, "name": f"n{one}"}) for one in range(5)))
    server.export_all(tmp_path / "lake")
    found = table_at(str(tmp_path / "lake"), "shop.orders", None)
    assert found.with_keys([["3"]]).rows["name"].to_pylist() == ["n3"]
    assert not found.with_keys([["9"]]).rows.num_rows
    with pytest.raises(UsageError, match="key's column id"):
        found.with_keys([["three"]])
    with pytest.raises(UsageError, match="a value for each of id"):
        found.with_keys([["1", "2"]])


@pytest.mark.parametrize(
    ("name", "kind", "clause"),
    [("more", "int32", "ADD more INT"), ("title", "string", "RENAME COLUMN name TO title")],
)
def test_a_statement_that_two_servers_ran_and_logged_each_for_itself_changes_columns_once(
    tmp_path: Path, name: str, kind: str, clause: str
) -> None:
    """As Galera nodes do with wsrep_OSU_method=RSU."""
    server = Server()
    server.create(ORDERS, FIELDS, ["id"])
    change = column_effect(name, pa.type_for_alias(kind), action="added")
    fields = [*FIELDS, (name, pa.int32())]
    if name == "title":
        change |= {"action": "renamed", "former": "name"}
        fields = [(name if field == "name" else field, kind) for field, kind in FIELDS]
    server.alter(
        ORDERS, f"ALTER TABLE orders {clause}", fields, {"name": "title"} if name == "title" else None
    )
    server.transaction(("insert", ORDERS, {"id": 1, name: 7 if name == "more" else "a"}))
    effect = {
        "action": "altered",
        "db": "shop",
        "table": "orders",
        "columns": [column_effect(*field) for field in fields],
        "key": ["id"],
        "changes": [change],
    }
    server.ddl(f"ALTER TABLE orders {clause}", effect, db="shop")
    server.transaction(("update", ORDERS, (1,), {"amount": 2}))
    server.transaction(("insert", ORDERS, {"id": 2}))
    server.export_all(tmp_path / "lake")
    assert rows_at(tmp_path / "lake", None) == server.rows(ORDERS)
    (missing,) = table_at(str(tmp_path / "lake"), "shop.orders", None).missing
    assert "the second one is left out" in missing


def test_a_table_that_two_servers_created_each_for_itself_keeps_the_rows_of_both(tmp_path: Path) -> None:
    for number, server in enumerate((Server(97), Server(98, first_log=40))):
        server.clock += timedelta(hours=number)
        server.create(ORDERS, FIELDS, ["id"])
        server.transaction(("insert", ORDERS, {"id": number}))
        server.export_all(tmp_path / "lake")
    assert [row["id"] for row in rows_at(tmp_path / "lake", None)] == [0, 1]
    (missing,) = table_at(str(tmp_path / "lake"), "shop.orders", None).missing
    assert "two servers defined it" in missing


def test_what_the_logs_do_not_say_is_listed(tmp_path: Path) -> None:
    server = Server()
    server.create(ORDERS, FIELDS, ["id"])
    for number in range(4):
        server.transaction(("insert", ORDERS, {"id": number}))
        server.rotate()
    server.export_all(tmp_path / "whole")
    assert table_at(str(tmp_path / "whole"), "shop.orders", None).missing == []
    for log in (server.logs[0], *server.logs[2:]):
        server.export(tmp_path / "gap", log)
    (text,) = table_at(str(tmp_path / "gap"), "shop.orders", None).missing
    assert "between mysql-bin.000001 and mysql-bin.000003 were never exported" in text
    for log in server.logs[1:]:
        server.export(tmp_path / "late", log)
    (text,) = table_at(str(tmp_path / "late"), "shop.orders", None).missing
    assert text.startswith("rows that were there before the first log are missing")


@pytest.mark.parametrize(
    ("before", "is_new"),
    [
        (None, False),
        ({"action": "dropped", "db": "shop", "table": "orders"}, True),
        ({"action": "dropped", "db": "shop", "table": "sales"}, False),
        ({"action": "created", "db": "shop"}, True),
        ({"action": "dropped", "db": "shop"}, True),
    ],
)
def test_create_if_not_exists_is_a_beginning_only_of_what_was_not_there(
    tmp_path: Path, before: dict[str, str] | None, is_new: bool
) -> None:
    server = Server()
    if before is not None:
        server.ddl("before", before)
    server.create(ORDERS, FIELDS, ["id"], if_not_exists=True)
    server.transaction(("insert", ORDERS, {"id": 1, "name": "a", "amount": 0}))
    server.export_all(tmp_path / "lake")
    found = table_at(str(tmp_path / "lake"), "shop.orders", None)
    assert (found.rows.num_rows, found.missing) == (1, [] if is_new else [NO_BEGINNING])


@pytest.mark.parametrize(("other", "rows_left"), [("sales", 0), ("Sales", 1)])
def test_statements_spell_names_in_any_case_where_rows_have_them_in_lower_case(
    tmp_path: Path, other: str, rows_left: int
) -> None:
    server = Server()
    for table in (ORDERS, ("shop", other)):
        server.create(table, FIELDS, ["id"])
        server.transaction(("insert", table, {"id": 1, "name": "a", "amount": 0}))
    server.ddl("TRUNCATE TABLE Orders", {"action": "truncated", "db": "Shop", "table": "Orders"})
    server.export_all(tmp_path / "lake")
    found = table_at(str(tmp_path / "lake"), "shop.orders", None)
    assert (found.rows.num_rows, found.missing) == (rows_left, [])


@pytest.mark.parametrize(("name", "is_known"), [("c1", False), ("id", True)])
def test_a_table_made_like_one_that_no_log_defines_is_not_complete(
    tmp_path: Path, name: str, is_known: bool
) -> None:
    server = Server()
    server.create(ORDERS, [(name, pa.int32()), ("c2", pa.int32())], [])
    [*_, made] = server.logs[-1].statements
    [effect] = made.effects
    server.logs[-1].statements = [replace(made, effects=({**effect, "columns": None, "key": None},))]
    server.transaction(("insert", ORDERS, {name: 1, "c2": 2}))
    server.export_all(tmp_path / "lake")
    missing = table_at(str(tmp_path / "lake"), "shop.orders", None, [name]).missing
    assert [text for text in missing if "no log tells its columns" in text] == missing
    assert bool(missing) != is_known


@pytest.mark.parametrize(
    ("kind", "is_alike"), [("enum('a','')", True), ("set('','a')", True), ("enum('a','b')", False)]
)
def test_a_key_with_an_empty_member_may_stand_for_two_rows(tmp_path: Path, kind: str, is_alike: bool) -> None:
    server = Server()
    fields = [("id", pa.string()), ("amount", pa.int32())]
    server.create(ORDERS, fields, ["id"])
    columns = [column_effect("id", pa.string(), mysql_type=kind), column_effect("amount", pa.int32())]
    effect = {"action": "altered", "db": "shop", "table": "orders", "columns": columns, "key": ["id"]}
    server.ddl("ALTER TABLE orders MODIFY id", effect)
    server.transaction(("insert", ORDERS, {"id": "a", "amount": 0}))
    server.export_all(tmp_path / "lake")
    missing = table_at(str(tmp_path / "lake"), "shop.orders", None).missing
    assert [text for text in missing if "empty member" in text] == missing
    assert bool(missing) == is_alike


def test_sql_makes_the_table_with_what_it_was_then(tmp_path: Path) -> None:
    server = Server()
    server.create(ORDERS, FIELDS, ["id"])
    server.transaction(("insert", ORDERS, {"id": 1, "name": "O'Hara\n", "amount": None}))
    server.rename((ORDERS, ("shop", "sales")))
    server.export_all(tmp_path / "lake")
    found = table_at(str(tmp_path / "lake"), "shop.sales", None)
    for form in FILE_FORMATS:
        with open_output(str(tmp_path / form)) as out:
            write_table(found, out, form)
    text = (tmp_path / "sql").read_text()
    assert text.count("CREATE TABLE") == 1
    assert "RENAME" not in text
    assert "CREATE TABLE `shop`.`sales` (\n  `id` int NOT NULL,\n  `name` varchar" in text
    assert "INSERT INTO `shop`.`sales` (`id`, `name`, `amount`) VALUES\n(1, 'O''Hara\\n', NULL);\n" in text
    assert (tmp_path / "csv").read_text() == '"id","name","amount"\n"1","O\'Hara\n",\n'
    copied = found._replace(refused="its CREATE TABLE takes its columns from another table")
    with (
        pytest.raises(RefusedError, match="write its rows with --no-create"),
        open_output(str(tmp_path / "no")) as out,
    ):
        write_table(copied, out, "sql")
    with open_output(str(tmp_path / "rows")) as out:
        write_table(copied, out, "sql", create=False)
    assert (tmp_path / "rows").read_text() == text.replace(
        text[
            text.index("SET NAMES utf8mb4;\nSET SESSION sql_mode = 'PIPES") : text.index(
                "SET SESSION sql_mode = 'STRICT"
            )
        ],
        "",
    )


def test_a_definition_whose_text_was_left_out_is_not_written(tmp_path: Path) -> None:
    server = Server()
    server.create(ORDERS, FIELDS, ["id"])
    server.transaction(("insert", ORDERS, {"id": 1}))
    server.logs[0].statements = [replace(one, sql="") for one in server.logs[0].statements]
    server.export_all(tmp_path / "lake")
    assert table_at(str(tmp_path / "lake"), "shop.orders", None).refused.startswith("the text of a statement")


def test_what_was_found_is_reported_as_json(tmp_path: Path) -> None:
    server = Server()
    server.create(ORDERS, FIELDS, ["id"])
    server.rotate()
    server.transaction(("insert", ORDERS, {"id": 1}))
    server.export(tmp_path / "lake", server.logs[1])
    arguments = ("state", "lake", "--table", "shop.orders", "--json")
    ended = binx(*arguments, "-o", "orders.sql", cwd=tmp_path)
    found = json.loads(ended.out)
    (reason,) = found.pop("reasons")
    assert reason.startswith("rows that were there before the first log are missing")
    assert found == {
        "db": "shop", "table": "orders", "at": "the end of the logs", "rows": 1, "complete": False,
        "key": ["id"], "output": "orders.sql", "format": "sql", "exit_code": 3,
    }  # fmt: skip
    assert ended.code == 3
    assert binx(*arguments, cwd=tmp_path).code == 2


@pytest.mark.parametrize(
    ("name", "begins"),
    [("orders.CSV", b'"id",'), ("orders", b"PAR1"), ("orders.xlsx", None), ("orders.sql.gz", None)],
)
def test_the_output_is_named_after_a_format_that_is_written(
    tmp_path: Path, name: str, begins: bytes | None
) -> None:
    server = Server()
    server.create(ORDERS, FIELDS, ["id"])
    server.transaction(("insert", ORDERS, {"id": 1}))
    server.export_all(tmp_path / "lake")
    ended = binx("state", "lake", "--table", "shop.orders", "-o", name, cwd=tmp_path)
    if begins is not None:
        assert (tmp_path / name).read_bytes().startswith(begins), ended.err
        return
    assert ended.code == 2
    assert (
        f"ends in one of .csv, .parquet, .sql, found {Path(name).suffix}; or choose its --format" in ended.err
    )
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("is_exported", [True, False], ids=["a data set", "logs"])
def test_moments_are_written_as_in_selections(tmp_path: Path, is_exported: bool) -> None:
    logs = sorted((TESTDATA / "mysql-9.7" / "shop").glob("mysql-bin.00000[12]"))
    if is_exported:
        assert binx("to-parquet", "--quiet", *logs, "-o", tmp_path / "lake").code == 0
        logs = [tmp_path / "lake"]

    def rows(at: str) -> Any:
        return binx("state", *logs, "--table", "shop.orders", "--at", at, "--format", "csv", "-o", "-")

    uuid = "bf1c133d-e590-11f1-8de0-02fc00000001"
    assert rows(f"{uuid}:30").lines == rows("bf1c:30").lines == rows("bf1c133d…:30").lines
    assert rows(f"{uuid}:30").lines != rows("bf1c:40").lines
    unknown = rows("dead:30")
    assert unknown.code == 2
    assert "first digits of the UUID of one server in the logs, found 'dead'" in unknown.err
    size = (TESTDATA / "mysql-9.7" / "shop" / "mysql-bin.000002").stat().st_size
    assert rows(f"mysql-bin.000002:{size}").code == 0
    beyond = rows(f"mysql-bin.000002:{size + 1}")
    assert (beyond.code, beyond.out) == (4, "")
    assert f"mysql-bin.000002 has no position {size + 1}, but ends at {size}" in beyond.err
