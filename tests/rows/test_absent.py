"""Columns that images lack, savepoints, and the statements beside rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import binx
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.chain.inputs import open_chain
from binx.log.scan import Scan
from binx.log.selection.selection import Selection
from binx.rows.absent import Absent, absent_value
from binx.rows.columns.schema import ColumnDefinition, Default, DefaultKind, StatementContext
from binx.rows.columns.types import Kind, LogicalType
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import ChangeDecoder
from binx.rows.logged_statements import Statement
from binx.rows.savepoints import undone_runs
from binx.slices.extraction import extract
from binx.slices.options import ExtractOptions, SliceFormat
from tests.conftest import TESTDATA
from tests.log import building


def defined(text: str, mariadb: bool = False) -> ColumnDefinition:
    """The column that a definition makes."""
    catalog = Catalog()
    context = StatementContext(mariadb=mariadb)
    (change,) = catalog.apply(f"CREATE TABLE t (c {text})", "d", context)
    assert change.definition is not None, change.reason
    return change.definition.columns[0]


TEXT = LogicalType(Kind.TEXT, "varchar", charset="utf8mb4", characters=5)
INT = LogicalType(Kind.INT32, "int")
TINY = LogicalType(Kind.UINT8, "tinyint")
DECIMAL = LogicalType(Kind.DECIMAL, "decimal", precision=5, scale=2)
DATETIME = LogicalType(Kind.DATETIME, "datetime", fraction=3)
TIMESTAMP = LogicalType(Kind.TIMESTAMP, "timestamp")
TIME = LogicalType(Kind.TIME, "time", fraction=1)
ENUM = LogicalType(Kind.ENUM, "enum", members=("a", "b"))
SET = LogicalType(Kind.SET, "set", members=("a", "b", "c"))
BINARY = LogicalType(Kind.BINARY, "binary", length=3)
DOUBLE = LogicalType(Kind.FLOAT64, "double")
BITS = LogicalType(Kind.BITS, "bit", length=9)


@pytest.mark.parametrize(
    ("text", "logical", "value"),
    [
        ("INT DEFAULT 5", INT, "5"),
        ("INT DEFAULT -5", INT, "-5"),
        ("INT DEFAULT +5", INT, "5"),
        ("INT DEFAULT '5'", INT, "5"),
        ("INT DEFAULT 0x10", INT, "16"),
        ("INT DEFAULT TRUE", INT, "1"),
        ("INT DEFAULT 1.5", INT, "2"),
        ("INT DEFAULT (1 + 2)", INT, "3"),
        ("INT NOT NULL", INT, "0"),
        ("TINYINT UNSIGNED DEFAULT 255", TINY, "255"),
        ("DECIMAL(5,2) DEFAULT 1.5", DECIMAL, "1.50"),
        ("DECIMAL(5,2) DEFAULT '-0.005'", DECIMAL, "-0.01"),
        ("DECIMAL(5,2) DEFAULT -0", DECIMAL, "0.00"),
        ("BIT(9) DEFAULT b'100000001'", BITS, "257"),
        ("BIT(9) DEFAULT '5'", BITS, "53"),
        ("DOUBLE(7,3) DEFAULT '1.500'", DOUBLE, "1.5"),
        ("VARCHAR(5) DEFAULT 'a''\\\\b'", TEXT, "a'\\b"),
        ("VARCHAR(5) DEFAULT N'é'", TEXT, "é"),
        ("VARCHAR(5) DEFAULT x'c3a9'", TEXT, "é"),
        ("VARCHAR(5) NOT NULL", TEXT, ""),
        ("BINARY(3) DEFAULT 'a'", BINARY, "610000"),
        ("BINARY(3) NOT NULL", BINARY, "000000"),
        ("DATETIME(3) DEFAULT '2020-01-02 03:04:05.6'", DATETIME, "2020-01-02 03:04:05.600"),
        ("TIME(1) DEFAULT '-838:59:59'", TIME, "-3020399000000"),
        ("ENUM('a','b') DEFAULT 'B'", ENUM, "b"),
        ("ENUM('a','b') NOT NULL", ENUM, "a"),
        ("SET('a','b','c') DEFAULT 'c,a'", SET, "a,c"),
        ("SET('a','b','c') DEFAULT ''", SET, ""),
    ],
)
def test_a_constant_is_the_value(text: str, logical: LogicalType, value: str) -> None:
    known = defined(text)
    assert absent_value(known, logical, known.nullable) == Absent(value)


@pytest.mark.parametrize(
    ("text", "members", "mysql", "mariadb"),
    [
        ("ENUM('a','b','1') DEFAULT 1", ("a", "b", "1"), "1", "a"),
        ("ENUM('2','1','01') DEFAULT 01", ("2", "1", "01"), "1", "2"),
        ("ENUM('a','b','1.0') DEFAULT 1.0", ("a", "b", "1.0"), "1.0", None),
        ("SET('a','b','3') DEFAULT 3", ("a", "b", "3"), "3", "a,b"),
    ],
)
def test_a_number_is_the_text_of_a_member_in_mysql_and_its_number_in_mariadb(
    text: str, members: tuple[str, ...], mysql: str, mariadb: str | None
) -> None:
    base, _, default = text.partition("(")
    logical = LogicalType(Kind[base], base.lower(), members=members)
    for expected, of_mariadb in ((mysql, False), (mariadb, True)):
        value = None if expected is None else Absent(expected)
        assert absent_value(defined(text, of_mariadb), logical, True) == value
        catalog, context = Catalog(), StatementContext(mariadb=of_mariadb)
        catalog.apply(f"CREATE TABLE t (c {text.partition(' DEFAULT')[0]})", "d", context)
        sets = f"ALTER TABLE t ALTER c SET DEFAULT{default.partition('DEFAULT')[2]}"
        (change,) = catalog.apply(sets, "d", context)
        assert change.definition is not None
        assert absent_value(change.definition.columns[0], logical, True) == value


@pytest.mark.parametrize(("text", "logical"), [("INT", INT), ("INT DEFAULT NULL", INT), ("VARCHAR(5)", TEXT)])
def test_without_a_value_it_is_null(text: str, logical: LogicalType) -> None:
    assert absent_value(defined(text), logical, True) == Absent()


@pytest.mark.parametrize(
    ("text", "logical", "printed"),
    [
        ("DATETIME(3) NOT NULL", DATETIME, "0000-00-00 00:00:00.000"),
        ("DATETIME(3) DEFAULT '2020-00-01'", DATETIME, "2020-00-01 00:00:00.000"),
        ("TIMESTAMP DEFAULT '0000-00-00 00:00:00'", TIMESTAMP, "0000-00-00 00:00:00"),
        ("TIMESTAMP DEFAULT 0", TIMESTAMP, "0000-00-00 00:00:00"),
    ],
)
def test_what_no_calendar_has_is_what_the_server_prints(
    text: str, logical: LogicalType, printed: str
) -> None:
    assert absent_value(defined(text), logical, False) == Absent(misfit=printed)


@pytest.mark.parametrize(
    ("text", "logical"),
    [
        ("INT DEFAULT (1 + abs(2))", INT),
        ("INT DEFAULT abs(-3)", INT),
        ("INT DEFAULT 1.5e0", INT),
        ("DOUBLE(7,3) DEFAULT 1.23456", DOUBLE),
        ("DOUBLE(7,3) DEFAULT 1e-400", DOUBLE),
        ("BIT(9) DEFAULT 'é'", BITS),
        ("VARCHAR(5) DEFAULT -0.0", TEXT),
        ("INT DEFAULT 1e999999999", INT),
        pytest.param(f"INT DEFAULT {'9' * 100_000}", INT, id="a number of many digits"),
        pytest.param(f"INT DEFAULT 0x{'9' * 1_000_000}", INT, id="many bytes"),
        pytest.param(f"ENUM('a','b') DEFAULT {'9' * 100_000}", ENUM, id="a member of many digits"),
        pytest.param(f"SET('a','b') DEFAULT {'9' * 100_000}", SET, id="members of many digits"),
        ("TINYINT UNSIGNED DEFAULT 256", TINY),
        ("DECIMAL(5,2) DEFAULT 1e9", DECIMAL),
        ("DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3)", DATETIME),
        ("DATETIME(3) DEFAULT '2020010'", DATETIME),
        ("TIMESTAMP DEFAULT '2020-01-02 03:04:05'", TIMESTAMP),
        ("VARCHAR(5) DEFAULT 'longer than that'", TEXT),
        ("VARCHAR(5) DEFAULT 1e3", TEXT),
        ("VARCHAR(5) DEFAULT _latin1'é'", TEXT),
        ("VARCHAR(5) DEFAULT x'ff'", TEXT),
        ("ENUM('a','b') DEFAULT 'z'", ENUM),
        ("INT AS (1) VIRTUAL", INT),
        ("JSON NOT NULL", LogicalType(Kind.JSON, "json")),
    ],
)
def test_what_only_the_server_knows_is_unknown(text: str, logical: LogicalType) -> None:
    for mariadb in (False, True):
        assert absent_value(defined(text, mariadb), logical, False) is None


def test_a_column_without_definition_is_unknown() -> None:
    assert absent_value(None, INT, True) is None


def test_altering_a_default_makes_another_value() -> None:
    catalog = Catalog()
    catalog.apply("CREATE TABLE t (c INT DEFAULT 1)", "d")
    (change,) = catalog.apply("ALTER TABLE t ALTER c SET DEFAULT 2", "d")
    assert change.definition is not None
    assert change.definition.columns[0].default == Default("2", DefaultKind.NUMBER, "2")
    (change,) = catalog.apply("ALTER TABLE t ALTER c DROP DEFAULT", "d")
    assert change.definition is not None
    assert absent_value(change.definition.columns[0], INT, True) == Absent()


def test_a_date_literal_does_not_make_the_table_unknown() -> None:
    assert defined("DATE DEFAULT DATE'2020-01-02'", mariadb=True).default == Default(
        "DATE'2020-01-02'", DefaultKind.STRING, "2020-01-02"
    )


LOG = TESTDATA / "mariadb-10.11" / "small" / "savepoints_rows.binlog"

ROWS: tuple[bool, str | None] = (True, None)


def said(sql: str) -> tuple[bool, str | None]:
    return (False, sql)


@pytest.mark.parametrize(
    ("events", "undone"),
    [
        pytest.param([ROWS, said("SAVEPOINT `a`"), ROWS], [], id="a savepoint alone undoes nothing"),
        pytest.param(
            [ROWS, said("SAVEPOINT `a`"), ROWS, said("ROLLBACK TO `a`"), ROWS],
            [(1, 2)],
            id="what stands between savepoint and rollback is undone",
        ),
        pytest.param(
            [said("SAVEPOINT a"), ROWS, said("rollback work to savepoint A"), ROWS],
            [(0, 1)],
            id="names are equal whatever their case, and old servers log what the user wrote",
        ),
        pytest.param(
            [said('SAVEPOINT "a b"'), ROWS, said('SAVEPOINT "a ""c"""'), ROWS, said('ROLLBACK TO `a "c"`')],
            [(1, 2)],
            id="names stand between double quotes where the session has ANSI_QUOTES",
        ),
        pytest.param(
            [said("SAVEPOINT `a`"), ROWS, said("SAVEPOINT `a`"), ROWS, said("ROLLBACK TO `a`")],
            [(1, 2)],
            id="the same name again moves the savepoint",
        ),
        pytest.param(
            [
                said("SAVEPOINT `a`"),
                ROWS,
                said("SAVEPOINT `b`"),
                ROWS,
                said("ROLLBACK TO `b`"),
                ROWS,
                said("ROLLBACK TO `a`"),
            ],
            [(0, 3)],
            id="an outer rollback takes an inner one in",
        ),
        pytest.param(
            [said("SAVEPOINT `a`"), ROWS, said("RELEASE SAVEPOINT `a`"), said("ROLLBACK TO `a`")],
            [],
            id="a released savepoint is gone",
        ),
        pytest.param(
            [ROWS, said("SAVEPOINT `a`"), said("ROLLBACK TO `a`")], [], id="nothing between is no run"
        ),
    ],
)
def test_runs_of_undone_rows_events(
    events: list[tuple[bool, str | None]], undone: list[tuple[int, int]]
) -> None:
    assert list(undone_runs(events)) == undone


def test_changes_hold_only_rows_that_the_server_kept() -> None:
    expected = json.loads(LOG.with_suffix(".expected.json").read_text("utf-8"))["tables"]["small.t"]["rows"]
    changes = binx.open(LOG).changes("small.t").read_all()
    assert set(changes["_change_type"].to_pylist()) == {"insert"}
    assert [str(value) for value in changes["id"].to_pylist()] == [row[0] for row in expected]


def test_json_holds_only_rows_that_the_server_kept_and_sql_undoes_the_others(tmp_path: Path) -> None:
    written = {}
    for form in (SliceFormat.JSON, SliceFormat.SQL):
        target = tmp_path / form.value
        with open_chain([str(LOG)]) as chain:
            extract(chain, Selection(), str(target), ExtractOptions(format=form, rows=True))
        written[form] = target.read_text("utf-8")
    assert "'undone'" in written[SliceFormat.SQL]
    assert "ROLLBACK TO" in written[SliceFormat.SQL]
    assert "undone" not in written[SliceFormat.JSON]


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("INSERT INTO t VALUES (1)", "dml"),
        ("(SELECT f())", "dml"),
        ("INSERT`t` VALUES (1)", "dml"),
        ("/* ApplicationName=DBeaver */ UPDATE t SET a = 1", "dml"),
        ("/*Metabase*/ DELETE FROM t", "dml"),
        ("-- a line\n# another\nREPLACE INTO t VALUES (1)", "dml"),
        ("INSERT/**/INTO t VALUES (1)", "dml"),
        ("SET STATEMENT max_statement_time=5, sql_mode=' FOR ' FOR INSERT INTO t VALUES (1)", "dml"),
        ("SET STATEMENT max_statement_time=5 FOR ALTER TABLE t ADD b INT", "ddl"),
        ("SET STATEMENT max_statement_time=5", "ddl"),
        ("SET PASSWORD = 'it''s", "ddl"),
        ("/*!40000 ALTER TABLE t DISABLE KEYS */", "ddl"),
        ("/* from the application */ CREATE TABLE t (a INT)", "ddl"),
        ("updates", "ddl"),
        ("", "ddl"),
        ("XA COMMIT 'x'", "other"),
    ],
)
def test_what_a_statement_is_about_is_known_after_comments(sql: str, kind: str, tmp_path: Path) -> None:
    log = tmp_path / "log.000001"
    log.write_bytes(building.whole_log(building.gtid(), building.query(sql)))
    with BinlogFile.open(str(log)) as file:
        decoder = ChangeDecoder(file, Catalog())
        (statement,) = (
            item for table in Scan(file, Level.LEVEL_EVENTS) for item in decoder.decode(table, table.mask())
        )
    assert isinstance(statement, Statement)
    assert statement.kind == kind
