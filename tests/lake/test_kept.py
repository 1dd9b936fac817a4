"""Rows that stay after a delete, values of other types, and what is reported of both."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from binx.cli.run import run as run_command
from binx.lake.arrow.column_types import can_misfit
from binx.lake.arrow.conversions import converted
from binx.lake.dataset.files import ChangesFile, FileColumn, Version
from binx.lake.dataset.loaded_chains import ChangePosition
from binx.lake.published.views import ViewPart
from binx.lake.table_name import TableName
from binx.lake.tables.lives import ColumnChange, FileSpan, SchemaSpan, TableColumn
from binx.rows.columns import types
from binx.rows.ddl.catalog import Catalog
from binx.spark import load_run as run
from tests.lake.conftest import Load, Loaded, files_of
from tests.lake.dataset import Server, renumbered
from tests.lake.test_history import history
from tests.lake.test_state import FIELDS, ORDERS, insert, orders


def kept(output: Path, columns: str = "id, name, _deleted") -> list[tuple[Any, ...]]:
    connection = duckdb.connect()
    connection.execute((output / "views.sql").read_text())
    return connection.execute(f"SELECT {columns} FROM shop.orders ORDER BY id").fetchall()


@pytest.mark.parametrize(
    ("image", "scd2", "at_once"),
    [("FULL", True, False), ("FULL", False, True), ("MINIMAL", True, True), ("MINIMAL", False, False)],
)
def test_deleted_rows_stay_with_their_last_values(
    tmp_path: Path, load: Load, image: str, scd2: bool, at_once: bool
) -> None:
    server = orders(image=image)
    more = ["--soft-deletes", *(["--scd2"] if scd2 else [])]

    def export() -> None:
        server.export(tmp_path / "in", server.logs[-1], whole=True)
        server.rotate()
        if not at_once:
            # It is remembered.
            assert load(tmp_path / "in", tmp_path / "out", *(more if len(server.logs) == 2 else ()))[0] == 0

    server.transaction(insert(1, "a"), insert(2, "b"), insert(3, "c"), insert(4, "d"))
    export()
    server.transaction(("update", ORDERS, (2,), {"name": "bb"}), ("delete", ORDERS, (2,)))
    server.transaction(("delete", ORDERS, (3,)), ("update", ORDERS, (4,), {"id": 5}))
    export()
    server.transaction(insert(3, "again"), ("update", ORDERS, (1,), {"name": "aa"}))
    server.alter(ORDERS, "ALTER TABLE orders ADD more INT", [*FIELDS, ("more", pa.int32())])
    export()
    _, summary = load(tmp_path / "in", tmp_path / "out", *(more if at_once else ()))
    assert kept(tmp_path / "out") == [
        (1, "aa", False), (2, "bb", True), (3, "again", False), (4, "d", True), (5, "d", False),
    ]  # fmt: skip
    [table] = summary["tables"] if at_once else [{"current": 3}]
    assert table["current"] == 3
    if scd2:
        versions = f"read_parquet({files_of(tmp_path / 'out', ORDERS, 'scd2')})"
        found = duckdb.execute(f"SELECT id, is_current, count(*) FROM {versions} GROUP BY ALL ORDER BY ALL")
        assert found.fetchall() == [
            (1, False, 1), (1, True, 1), (2, False, 1), (3, False, 1), (3, True, 1),
            (4, False, 1), (5, True, 1),
        ]  # fmt: skip


def test_rows_that_are_kept_can_be_erased_and_a_table_can_begin_to_keep_them(
    tmp_path: Path, load: Load, loaded: Loaded
) -> None:
    server = orders()
    server.transaction(insert(1, "a"), insert(2, "b"), ("delete", ORDERS, (2,)))
    loaded(server)
    assert kept(tmp_path / "out", "id") == [(1,)]
    load(tmp_path / "in", tmp_path / "out", "--soft-deletes")
    assert kept(tmp_path / "out") == [(1, "a", False), (2, "b", True)]
    words = ["erase", str(tmp_path / "out"), "--table", "shop.orders", "--where", "id = 2", "--quiet"]
    assert run_command(words) == 0
    assert kept(tmp_path / "out") == [(1, "a", False)]


class Later(datetime):
    """A day later than those of the test's logs."""

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return datetime(2026, 11, 23, tzinfo=UTC)


@pytest.fixture
def two_days(tmp_path: Path, load: Load, monkeypatch: pytest.MonkeyPatch) -> Server:
    """Rows of the 20th and the 21st, of which the first day's history has been removed."""
    monkeypatch.setattr(run, "datetime", Later)
    server = orders()
    for number in range(20):
        server.transaction(insert(number, f"n{number}"))
    server.export(tmp_path / "in", server.logs[0], whole=True)
    server.rotate()
    for more in ([], ["--keep-history", "2"]):
        code, summary = load(tmp_path / "in", tmp_path / "out", *more)
        assert (code, summary["changed"]) == (0, True)
    return server


def test_history_of_earlier_days_goes_and_loads_go_on(two_days: Server, tmp_path: Path, load: Load) -> None:
    out = tmp_path / "out"
    days = {str(day) for (day,) in history(out, "_commit_timestamp::DATE")}
    assert days == {"2026-11-21"}
    [gone] = json.loads((out / "_state.json").read_text())["garbage"]
    assert "commit_date=2026-11-20" in gone
    two_days.transaction(("update", ORDERS, (0,), {"name": "later"}), ("delete", ORDERS, (1,)))
    two_days.export(tmp_path / "in", two_days.logs[-1], whole=True)
    code, summary = load(tmp_path / "in", out, "--compact")
    assert (code, summary["tables"][0]["current"]) == (0, 19)
    # Views of the load before may still be read: what it gave up stays for one more load.
    assert (out / gone).exists()
    assert kept(out, "id, name")[:2] == [(0, "later"), (2, "n2")]
    assert load(tmp_path / "in", out)[1]["changed"] is False
    two_days.rotate()
    two_days.transaction(("update", ORDERS, (0,), {"name": "last"}))
    two_days.export(tmp_path / "in", two_days.logs[-1], whole=True)
    assert load(tmp_path / "in", out)[0] == 0
    assert not (out / gone).exists()
    assert run_command(["erase", str(out), "--table", "shop.orders", "--where", "id = 2", "--quiet"]) == 0
    assert kept(out, "id, name")[:2] == [(0, "last"), (3, "n3")]


@pytest.mark.parametrize("option", [("--rebuild", "shop.orders"), ("--scd2",), ("--soft-deletes",)])
def test_a_table_that_would_lose_rows_is_not_made_anew(
    two_days: Server, tmp_path: Path, load: Load, option: tuple[str, ...]
) -> None:
    code, summary = load(tmp_path / "in", tmp_path / "out", *option)
    assert (code, "--keep-history" in summary["tables"][0]["error"]) == (1, True)
    assert len(kept(tmp_path / "out", "id")) == 20
    assert load(tmp_path / "in", tmp_path / "out")[0] == 0


@pytest.mark.parametrize("is_new", [True, False])
def test_what_a_replica_repeats_of_removed_history_is_not_taken_twice(
    two_days: Server, tmp_path: Path, load: Load, is_new: bool
) -> None:
    logs = two_days.logs[:1]
    if is_new:
        two_days.transaction(insert(99, "new"))
        logs = two_days.logs[1:]
    replica = Server(98)
    replica.logs, replica.versions = [renumbered(log, 7) for log in logs], two_days.versions
    replica.logs[0].versions = [(ORDERS, two_days.versions[ORDERS])]
    replica.export_all(tmp_path / "replica", identity="99999999", base="replica-bin", whole=True)
    code, summary = load([tmp_path / "in", tmp_path / "replica"], tmp_path / "out")
    if is_new:
        assert (code, summary["tables"][0]["current"]) == (0, 21)
    else:
        assert (code, "--keep-history" in summary["tables"][0]["error"]) == (1, True)
    assert len(kept(tmp_path / "out", "id")) == 20 + is_new


def test_history_is_divided_by_hours_once_that_is_asked_for(tmp_path: Path, loaded: Loaded) -> None:
    server = orders()
    for number, options in enumerate([[], ["--hourly-history"], []]):
        for one in range(20):
            server.transaction(insert(100 * number + one))
        assert loaded(server, *options)[0] == 0
        server.rotate()
    out = tmp_path / "out"
    files = [Path(file) for file in files_of(out, ORDERS, "history")]
    hours = {file.parent.name for file in files}
    assert {"commit_date=2026-11-20"} < hours
    assert {"commit_hour=02", "commit_hour=05"} <= hours
    for file in files:
        if file.parent.name.startswith("commit_hour="):
            name = f"{file.parent.parent.name.partition('=')[2]} {file.parent.name.partition('=')[2]}"
            times = duckdb.execute(
                "SELECT DISTINCT strftime(_commit_timestamp AT TIME ZONE 'UTC', '%Y-%m-%d %H')"
                f" FROM read_parquet('{file}')"
            ).fetchall()
            assert times == [(name,)]
    assert len(history(out, "id")) == 60
    assert loaded(server, "--compact")[0] == 0
    assert len(history(out, "id")) == 60


@pytest.mark.parametrize("cause", ["rebuild", "late", "truncate"])
def test_what_was_asked_for_once_is_there_where_a_table_is_made_anew(
    tmp_path: Path, load: Load, cause: str
) -> None:
    server = orders()
    server.transaction(insert(1), insert(2))
    server.rotate()
    server.transaction(insert(3), ("delete", ORDERS, (3,)))
    server.rotate()
    server.transaction(insert(4))
    if cause == "truncate":
        server.truncate(ORDERS)
        server.transaction(insert(5), ("delete", ORDERS, (5,)))
    first = (
        server.logs if cause == "rebuild" else server.logs[:2] if cause == "truncate" else server.logs[::2]
    )
    for log in first:
        server.export(tmp_path / "in", log, whole=True)
    load(tmp_path / "in", tmp_path / "out", "--scd2", "--soft-deletes", "--accept-losses")
    server.export_all(tmp_path / "in", whole=True)
    more = ["--rebuild", "shop.orders"] if cause == "rebuild" else []
    assert load(tmp_path / "in", tmp_path / "out", *more)[0] == 0
    expected = {"truncate": [(5, True)]}.get(cause, [(1, False), (2, False), (3, True), (4, False)])
    assert kept(tmp_path / "out", "id, _deleted") == expected
    assert files_of(tmp_path / "out", ORDERS, "scd2")


UNKNOWN = object()
ARROW = {
    "int": "int32", "int unsigned": "int64", "bigint": "int64", "tinyint": "int8", "double": "double",
    "decimal(10,2)": "decimal128(10, 2)", "decimal(4,1)": "decimal128(4, 1)", "date": "date32[day]",
    "datetime": "timestamp[us]", "datetime(6)": "timestamp[us]", "datetime(2)": "timestamp[us]",
    "timestamp": "timestamp[us, tz=UTC]", "time(3)": "duration[us]", "varbinary(9)": "binary",
    "binary(4)": "binary",
    "json": "extension<arrow.json>", "year": "int16",
}  # fmt: skip
MOMENT = datetime(2024, 5, 5, 10, 11, 12, 987654)

CASES: list[tuple[str, str, Any, Any]] = [
    ("int", "bigint", -5, -5),
    ("int", "tinyint", 127, 127),
    ("int", "tinyint", 128, UNKNOWN),
    ("int", "int unsigned", -1, UNKNOWN),
    ("int", "decimal(10,2)", 7, Decimal("7.00")),
    ("int", "decimal(4,1)", 1000, UNKNOWN),
    ("int", "varchar(20)", -7, "-7"),
    ("int", "varchar(1)", -7, UNKNOWN),
    ("int", "double", 7, 7.0),
    ("bigint", "double", 2**53 + 1, UNKNOWN),
    ("tinyint", "double", 7, 7.0),
    ("tinyint", "enum('0','1')", 1, UNKNOWN),
    ("decimal(4,1)", "decimal(10,2)", Decimal("1.2"), Decimal("1.20")),
    ("decimal(10,2)", "decimal(4,1)", Decimal("1.20"), UNKNOWN),
    ("decimal(10,2)", "int", Decimal("2.00"), UNKNOWN),
    ("varchar(20)", "int", "42", UNKNOWN),
    ("varchar(20)", "text", "a ", "a "),
    ("varchar(20)", "char(20)", "a", "a"),
    ("varchar(20)", "char(20)", "a ", UNKNOWN),
    ("char(2)", "varchar(20)", "ab", "ab"),
    ("char(2)", "varchar(20)", "a", UNKNOWN),
    ("varchar(20)", "varchar(2)", "ab", "ab"),
    ("varchar(20)", "varchar(2)", "abc", UNKNOWN),
    ("varchar(20)", "varbinary(9)", "e", UNKNOWN),
    ("varbinary(9)", "binary(4)", b"abcd", b"abcd"),
    ("varbinary(9)", "binary(4)", b"ab", UNKNOWN),
    ("varbinary(9)", "varchar(20)", b"ab", UNKNOWN),
    ("varchar(20)", "enum('a','b')", "b", UNKNOWN),
    ("enum('a','b')", "int", "b", UNKNOWN),
    ("enum('a','b')", "varchar(20)", "b", "b"),
    ("enum('a','b')", "enum('a','b','c')", "b", "b"),
    ("enum('a','b')", "enum('a','b','c')", "", UNKNOWN),
    ("enum('a','b')", "enum('b','a','c')", "b", UNKNOWN),
    ("set('a','b')", "set('a','b','c')", "a,b", "a,b"),
    ("set('a','b')", "set('b','a')", "a,b", UNKNOWN),
    ("datetime(2)", "datetime(6)", MOMENT.replace(microsecond=980000), MOMENT.replace(microsecond=980000)),
    ("datetime(6)", "datetime(2)", MOMENT, UNKNOWN),
    ("datetime", "date", datetime(2024, 5, 5), UNKNOWN),
    ("datetime", "timestamp", datetime(2024, 5, 5), UNKNOWN),
    ("date", "datetime", date(2024, 5, 5), datetime(2024, 5, 5)),
    ("json", "varchar(20)", '{"a": 1}', '{"a": 1}'),
    ("varchar(20)", "json", "{}", UNKNOWN),
    ("int", "varchar(20)", None, None),
    # Of what was hashed it must be known that its text stays.
    ("hash(varchar(20))", "hash(varchar(40))", "5e1f", "5e1f"),
    ("hash(varchar(20))", "hash(text)", "5e1f", "5e1f"),
    ("hash(varchar(20))", "hash(varchar(10))", "5e1f", UNKNOWN),
    ("hash(varchar(20))", "hash(char(40))", "5e1f", UNKNOWN),
    ("hash(int)", "hash(bigint)", "5e1f", "5e1f"),
    ("hash(bigint)", "hash(int)", "5e1f", UNKNOWN),
    ("hash(decimal(10,2))", "hash(decimal(12,2))", "5e1f", "5e1f"),
    ("hash(decimal(10,2))", "hash(decimal(12,4))", "5e1f", UNKNOWN),
    ("hash(int)", "hash(varchar(20))", "5e1f", UNKNOWN),
    ("varchar(64)", "hash(varchar(64))", "in clear", UNKNOWN),
    ("hash(varchar(64))", "varchar(64)", "5e1f", UNKNOWN),
]


def column(kind: str, number: int = 1) -> TableColumn:
    return TableColumn(number, "c", ARROW.get(kind, "string"), kind, "utf8mb4")


def after(old: str, new: str, values: pa.Array) -> dict[str, Any]:
    before, after = column(old), column(new)
    epoch = SchemaSpan(None, (after,), (), (ColumnChange(1, before),))
    rows, _ = converted(pa.table({"v1": values}), SchemaSpan(None, (before,), ()), epoch)
    found: dict[str, Any] = rows.to_pylist()[0]
    return found


@pytest.mark.parametrize(("old", "new", "value", "expected"), CASES)
def test_a_value_becomes_what_the_server_makes_of_it(old: str, new: str, value: Any, expected: Any) -> None:
    kind = {"json": pa.string()}.get(old)
    found = after(old, new, pa.array([value], kind or (pa.string() if value is None else None)))
    if expected is UNKNOWN:
        assert (found["v1"], found["p1"]) == (None, False)
    else:
        assert (found["v1"], found.get("p1", True)) == (expected, True)


def test_null_is_not_known_where_it_is_no_longer_allowed() -> None:
    before, after = column("int"), replace(column("int"), nullable=False)
    epoch = SchemaSpan(None, (after,), (), (ColumnChange(1, before),))
    rows, lost = converted(
        pa.table({"v1": pa.array([None, 5], pa.int32())}), SchemaSpan(None, (before,), ()), epoch
    )
    assert (rows.to_pylist(), lost) == ([{"v1": None, "p1": False}, {"v1": 5, "p1": True}], {"c"})


def test_the_text_of_a_date_that_there_is_not_is_unknown_in_another_type() -> None:
    before, after = column("date"), column("datetime")
    rows = pa.table({"v1": pa.array([None, None], pa.date32()), "m1": ["2024-02-31", None]})
    found, _ = converted(
        rows, SchemaSpan(None, (before,), ()), SchemaSpan(None, (after,), (), (ColumnChange(1, before),))
    )
    assert found.to_pylist() == [{"v1": None, "p1": False}, {"v1": None, "p1": True}]


HISTORY = ChangesFile("", TableName(*ORDERS), "", "", "", "", 0, 0, 0, 0)


@pytest.mark.parametrize(
    "kind",
    ["DATE", "DATETIME(3)", "TIMESTAMP", "ENUM('a')", "SET('a')", "VARCHAR(9)", "INT", "JSON", "BIT(64)"],
)
def test_columns_with_misfits_are_those_of_the_exporter(kind: str) -> None:
    catalog = Catalog()
    catalog.apply(f"CREATE TABLE t (c {kind})", "shop")
    definition = catalog.lookup("shop", "t")
    assert definition is not None
    logical = types.declared_type(definition.columns[0])
    column = FileColumn("c", "c", str(types.arrow_type(logical)), types.mysql_name(logical))
    unit = FileSpan(HISTORY, Version("", (column,)), ChangePosition(0, 0), 0, 0, 0, (1,))
    has_misfits = "_misfits" in ViewPart((unit,), True, ()).system_columns
    assert can_misfit(column) == has_misfits == types.can_misfit(logical)
