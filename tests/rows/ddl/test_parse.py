"""Schema statements, dumps of schemas, and that tables are those which servers made of them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binx.errors import UsageError
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.scan import Scan
from binx.rows.batches import ChangeBatch
from binx.rows.columns.schema import READ_BY, StatementContext
from binx.rows.ddl.catalog import Catalog
from binx.rows.ddl.catalog_record import catalog_record, recorded_catalog
from binx.rows.ddl.dump_moment import END, START, UNKNOWN, DumpMoment, parse_moment, recorded_moment
from binx.rows.ddl.parse import is_schema_statement, parse
from binx.rows.ddl.parsed_statements import AlterTable, CreateTable, NamedTable, NotUnderstood, SetOption
from binx.rows.ddl.schema_dump import dump_of, read_dump
from binx.rows.decoder import ChangeDecoder
from tests.conftest import TESTDATA
from tests.rows.ddl.cases import CASES
from tests.rows.described import binx_says, server_says


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE t (a INT)",
        "  \n\talter table t add b int",
        "/* from the application */ DROP TABLE t",
        "/*!40000 DROP DATABASE IF EXISTS d */",
        "/*!99999 not for this server */ ALTER TABLE t ADD b INT",
        "/* one *//** two **/ -- three\n # four\n DROP TABLE t",
        "-- a line\nRENAME TABLE a TO b",
        "# a line\nCREATE TABLE t (a INT)",
        "SET STATEMENT max_statement_time=5 FOR ALTER TABLE t ADD b INT",
    ],
)
def test_schema_statements_are_seen_at_a_glance(sql: str) -> None:
    assert is_schema_statement(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "BEGIN",
        "COMMIT",
        "",
        "INSERT INTO t VALUES ('CREATE TABLE')",
        "created",
        "SET @a = 1",
        "/* x */ SELECT 1",
    ],
)
def test_all_others_are_not(sql: str) -> None:
    assert not is_schema_statement(sql)


def test_every_statement_of_the_cases_that_changes_columns_is_a_schema_statement() -> None:
    for case in CASES:
        mariadb = case.server == "mariadb"
        if (
            parse(case.sql, StatementContext(mariadb=mariadb, version=101100 if mariadb else 90700))
            is not None
        ):
            assert is_schema_statement(case.sql)


def test_executable_comments_count_by_the_version_of_the_server() -> None:
    sql = "CREATE TABLE t (a INT /*!80023 INVISIBLE */)"
    old, new = (parse(sql, StatementContext(version=version)) for version in (50744, 80036))
    assert isinstance(old, CreateTable)
    assert isinstance(new, CreateTable)
    assert [old.columns[0].invisible, new.columns[0].invisible] == [False, True]


def test_deep_nesting_does_not_exhaust_the_stack() -> None:
    depth = 50_000
    sql = f"CREATE TABLE t (a INT DEFAULT {'(' * depth}1{')' * depth})"
    parsed = parse(sql)
    assert isinstance(parsed, CreateTable)


def test_many_openings_of_comments_and_quotes_take_linear_time() -> None:
    for text in ("/*", "/*!", "'", "`", "(", "/*!1 ", "''", "\\'"):
        assert isinstance(parse("CREATE TABLE t (a " + text * 100_000), NotUnderstood)


WORDS = st.sampled_from(
    sorted({word for case in CASES for word in case.sql.replace("(", " ( ").replace(",", " , ").split()})
)


@given(st.lists(WORDS | st.text(max_size=5), max_size=30).map(" ".join), st.booleans(), st.integers(0, 2**32))
def test_no_text_raises_anything(text: str, mariadb: bool, sql_mode: int) -> None:
    context = StatementContext(mariadb=mariadb, sql_mode=sql_mode)
    catalog = Catalog()
    catalog.apply("CREATE TABLE al (a INT, b INT, PRIMARY KEY (a))", "ddl_a")
    for first in (
        "",
        "CREATE TABLE al ",
        "CREATE TABLE t (",
        "ALTER TABLE al ",
        "DROP TABLE ",
        "RENAME TABLE al ",
    ):
        catalog.copy().apply(first + text, "ddl_a", context)
    catalog.load_dump(text)


@given(st.sampled_from([case.sql for case in CASES]), st.data())
def test_no_statement_cut_or_changed_anywhere_raises_anything(sql: str, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(sql)))
    insert = data.draw(st.text(max_size=2))
    drop = data.draw(st.integers(0, 3))
    parse(sql[:offset] + insert + sql[offset + drop :])
    parse(sql[:offset])


TYPES = st.sampled_from(["INT", "BIGINT UNSIGNED", "VARCHAR(20)", "TEXT", "DECIMAL(10,2)", "DATETIME(3)"])


@dataclass
class Model:
    """A table as a plain list of names and types, changed one clause at a time."""

    columns: list[tuple[str, str]] = field(default_factory=lambda: [("a", "int"), ("b", "text")])
    next_name: int = 0

    def fresh(self) -> str:
        self.next_name += 1
        return f"n{self.next_name}"

    def place(self, data: st.DataObject, column: tuple[str, str]) -> str:
        where = data.draw(st.sampled_from(["", "FIRST", *(f"AFTER `{name}`" for name, _ in self.columns)]))
        if not where:
            self.columns.append(column)
        elif where == "FIRST":
            self.columns.insert(0, column)
        else:
            names = [f"AFTER `{name}`" for name, _ in self.columns]
            self.columns.insert(names.index(where) + 1, column)
        return where

    def clause(self, data: st.DataObject) -> str:
        """Change the model, and say how in SQL."""
        kinds = ["ADD", "MODIFY", "MOVE", "CHANGE", "RENAME"] + (["DROP"] if len(self.columns) > 1 else [])
        kind = data.draw(st.sampled_from(kinds))
        declared = data.draw(TYPES)
        mysql_type = declared.lower()
        if kind == "ADD":
            name = self.fresh()
            return f"ADD COLUMN {name} {declared} {self.place(data, (name, mysql_type))}"
        index = data.draw(st.integers(0, len(self.columns) - 1))
        name, old_type = self.columns[index]
        if kind == "DROP":
            del self.columns[index]
            return f"DROP {name}"
        if kind == "RENAME":
            new = self.fresh()
            self.columns[index] = (new, old_type)
            return f"RENAME COLUMN {name} TO {new}"
        if kind == "CHANGE":
            new = self.fresh()
            self.columns[index] = (new, mysql_type)
            return f"CHANGE {name} {new} {declared} COMMENT 'DROP {name}, (' NOT NULL"
        self.columns[index] = (name, mysql_type)
        if kind == "MODIFY" or len(self.columns) == 1:
            return f"MODIFY COLUMN `{name}` {declared} NOT NULL"
        del self.columns[index]
        where = self.place(data, (name, mysql_type))
        if not where:
            # MODIFY without a place stays where it is, so the model asks for the end by name.
            where = f"AFTER `{self.columns[-2][0]}`"
        return f"MODIFY {name} {declared} {where}"


@settings(max_examples=60)
@given(st.data(), st.integers(1, 12))
def test_alterations_one_after_another_agree_with_a_list_of_columns(data: st.DataObject, count: int) -> None:
    catalog, model = Catalog(), Model()
    catalog.apply("CREATE TABLE t (a INT, b TEXT)", "d")
    for _ in range(count):
        sql = f"ALTER TABLE t {model.clause(data)}"
        catalog.apply(sql, "d")
        definition = catalog.lookup("d", "t")
        assert definition is not None
        assert [(column.name, column.mysql_type) for column in definition.columns] == model.columns, sql


@settings(max_examples=40)
@given(st.data(), st.integers(2, 5))
def test_several_additions_in_one_statement_are_done_in_their_order(data: st.DataObject, count: int) -> None:
    catalog, model = Catalog(), Model()
    catalog.apply("CREATE TABLE t (a INT, b TEXT)", "d")
    clauses = []
    for _ in range(count):
        name = model.fresh()
        clauses.append(f"ADD {name} INT {model.place(data, (name, 'int'))}")
    catalog.apply(f"ALTER TABLE t {', '.join(clauses)}", "d")
    definition = catalog.lookup("d", "t")
    assert definition is not None
    assert [column.name for column in definition.columns] == [name for name, _ in model.columns]


def test_a_sequence_since_mariadb_11_5_may_have_values_of_another_type() -> None:
    """MariaDB manual, CREATE SEQUENCE: AS takes any integer type; what is no value stays as it was."""
    parsed = parse("CREATE SEQUENCE d.s AS SMALLINT UNSIGNED START WITH 5", StatementContext(mariadb=True))
    assert isinstance(parsed, CreateTable)
    assert parsed.table == NamedTable("d", "s")
    assert [(column.name, column.base, column.unsigned) for column in parsed.columns] == [
        ("next_not_cached_value", "smallint", True),
        ("minimum_value", "smallint", True),
        ("maximum_value", "smallint", True),
        ("start_value", "smallint", True),
        ("increment", "bigint", False),
        ("cache_size", "bigint", True),
        ("cycle_option", "tinyint", True),
        ("cycle_count", "bigint", False),
    ]
    restarted = parse("ALTER SEQUENCE s RESTART 5", StatementContext(mariadb=True))
    assert restarted == AlterTable(NamedTable(None, "s"), (SetOption("RESTART", "5"),))


LOG = TESTDATA / "mysql-9.7" / "small" / "reordered.binlog"
"""``w`` (id, b, c) becomes (id, c, b) in transaction 4 and (id, c, d) in 7; ``still`` is never changed."""

_NEXT = re.search(r"GTID_NEXT= '([0-9a-f-]+):1'", LOG.with_suffix(".txt").read_text())
UUID = "" if _NEXT is None else _NEXT[1]

AT_START = (
    "USE small; CREATE TABLE w (id INT PRIMARY KEY, b INT, c INT); CREATE TABLE still (id INT, b INT, c INT)"
)
BETWEEN = AT_START.replace("b INT, c INT)", "c INT, b INT)", 1)
AT_END = AT_START.replace("b INT, c INT)", "c INT, d INT)", 1)

MYSQL_HEAD = f"""-- MySQL dump 10.13  Distrib 9.7.4, for Linux (x86_64)
SET @@SESSION.SQL_LOG_BIN= 0;
SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ '{UUID}:1-5';
-- CHANGE REPLICATION SOURCE TO SOURCE_LOG_FILE='mysql-bin.000002', SOURCE_LOG_POS=7625;
"""
MARIADB_HEAD = """-- MariaDB dump 10.19  Distrib 10.11.19-MariaDB, for debian-linux-gnu (x86_64)
-- CHANGE MASTER TO MASTER_USE_GTID=slave_pos;
-- CHANGE MASTER TO MASTER_LOG_FILE='mysql-bin.000002', MASTER_LOG_POS=385;
-- SET GLOBAL gtid_slave_pos='0-10-10';
"""


def named(
    dump: str, moment: DumpMoment | None, log: Path = LOG, *, recorded: bool = False
) -> dict[str, list[str]]:
    """How the columns of each image of ``w`` are called, as one word, and those of ``still``."""
    with BinlogFile.open(str(log)) as file:
        catalog = dump_of(dump, "dump.sql", moment).known_in([file])
        if recorded:
            catalog = recorded_catalog(catalog_record(catalog))
        decoder = ChangeDecoder(file, catalog)
        batches = [
            item
            for table in Scan(file, Level.LEVEL_TABLES)
            for item in (*decoder.decode(table, table.mask()), *decoder.finish())
            if isinstance(item, ChangeBatch)
        ]
    words: dict[str, list[str]] = {}
    for batch in sorted(batches, key=lambda batch: batch.versions):
        columns = "".join(column.name for column in batch.table.resolved.columns).removeprefix("id")
        words.setdefault(batch.table.name, []).append(columns)
    return words


UNNAMED = "c1c2c3"


@pytest.mark.parametrize(
    ("dump", "moment", "expected"),
    [
        (AT_START, START, ["bc", "cb", "cd"]),
        (AT_END, END, [UNNAMED, UNNAMED, "cd"]),
        (AT_END, UNKNOWN, [UNNAMED, UNNAMED, UNNAMED]),
        (AT_END, None, [UNNAMED, UNNAMED, UNNAMED]),
        (BETWEEN, parse_moment(f"{UUID}:5"), [UNNAMED, "cb", "cd"]),
        (BETWEEN, parse_moment(f"{UUID}:1-6"), [UNNAMED, "cb", "cd"]),
        (AT_START, parse_moment(f"{UUID}:3"), ["bc", "cb", "cd"]),
        (AT_END, parse_moment("2100-01-01"), [UNNAMED, UNNAMED, "cd"]),
        (AT_START, parse_moment("2001-01-01"), ["bc", "cb", "cd"]),
        (AT_END, parse_moment("0-1-7"), [UNNAMED, UNNAMED, UNNAMED]),
        (BETWEEN, DumpMoment("", "reordered.binlog", 1239), [UNNAMED, "cb", "cd"]),
        (AT_START, DumpMoment("", "reordered.binlog", 4), ["bc", "cb", "cd"]),
        (MYSQL_HEAD + BETWEEN, None, [UNNAMED, "cb", "cd"]),
    ],
    ids=lambda value: value.text if isinstance(value, DumpMoment) else None,
)
def test_a_definition_is_taken_for_a_row_only_where_no_statement_on_its_table_stands_between(
    dump: str, moment: DumpMoment | None, expected: Sequence[str]
) -> None:
    words = named(dump, moment)
    assert [word for word, _ in groupby(words["w"])] == [word for word, _ in groupby(expected)]
    assert set(words["still"]) == {"bc"}
    assert named(dump, moment, recorded=True) == words


def test_why_a_definition_is_not_taken_is_said() -> None:
    with BinlogFile.open(str(LOG)) as file:
        for moment, reason in (
            (END, "as of the end of the logs, after “ALTER"),
            (UNKNOWN, "does not say as of when"),
        ):
            catalog = dump_of(AT_END, "dump.sql", moment).known_in([file])
            definition = catalog.lookup("small", "w")
            assert definition is not None
            assert reason in str(definition.unknown)
            assert "reordered.binlog, offset" in str(definition.unknown)


def test_the_moment_is_after_the_files_name_or_in_the_dumps_comments(tmp_path: Path) -> None:
    path = tmp_path / "a@b.sql"
    path.write_text(AT_START, "utf-8-sig")
    assert {table.db for table in read_dump(str(path)).tables} == {"small"}
    assert read_dump(str(path)).moment == UNKNOWN
    assert read_dump(f"{path}@start").moment == START
    assert read_dump(f"{path}@END").moment == END
    assert read_dump(f"{path}@start").path == str(path)
    with pytest.raises(UsageError, match="expected start, end, a GTID or a time"):
        read_dump(f"{path}@then")
    mysql, mariadb = recorded_moment(MYSQL_HEAD), recorded_moment(MARIADB_HEAD)
    assert (mysql.file, mysql.position, str(mysql.gtids)) == ("mysql-bin.000002", 7625, f"{UUID}:1-5")
    assert (mariadb.file, mariadb.position, str(mariadb.gtids)) == ("mysql-bin.000002", 385, "0-10-1..10")
    assert recorded_moment(AT_START) == UNKNOWN


def test_without_logs_all_tables_are_known() -> None:
    catalog = dump_of(AT_END).known_in([])
    assert isinstance(catalog, Catalog)
    assert catalog.lookup("small", "w") is not None


SQL_MODES = {
    "": 0,
    "REAL_AS_FLOAT": 0x1,
    "ANSI_QUOTES": 0x4,
    "ORACLE": 0x200 | 0x4 | 0x2,
    "MAXDB": 0x1000 | 0x4 | 0x2,
    "NO_BACKSLASH_ESCAPES": 0x100000,
    "NO_ENGINE_SUBSTITUTION": 0x40000000,
    "IGNORE_BAD_TABLE_OPTIONS": 0x40000000 << 1,
}


def expectations(server: str) -> dict[str, Any]:
    path = Path(__file__).with_name(f"expected_{server}.json")
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def context_of(expected: dict[str, Any], sql_mode: str) -> StatementContext:
    major, minor, patch = (int(digits) for digits in re.findall(r"\d+", expected["server"]["version"])[:3])
    return StatementContext(
        sql_mode=SQL_MODES[sql_mode],
        server_collation=expected["server"]["collation"],
        mariadb="MariaDB" in expected["server"]["version"],
        version=major * 10000 + minor * 100 + patch,
    )


@pytest.mark.parametrize("server", ["mysql", "mariadb"])
def test_the_catalog_has_the_columns_that_the_server_has_after_each_statement(server: str) -> None:
    expected = expectations(server)
    catalog = Catalog()
    known: dict[str, list[Any]] = {}
    cases = (case for case in CASES if case.is_for(server))
    for case, record in zip(cases, expected["statements"], strict=True):
        sql = record["sql"]
        assert sql == case.sql
        if "error" in record:
            continue
        changes = catalog.apply(sql, "ddl_a", context_of(expected, case.sql_mode))
        assert [change.reason for change in changes if change.reason] == [], sql
        for name, columns in record.get("tables", {}).items():
            db, table = name.split(".", 1)
            definition = catalog.lookup(db, table)
            if columns is None:
                known.pop(name, None)
                assert definition is None, sql
                continue
            known[name] = columns
            assert definition is not None, sql
            if definition.unknown is not None:
                assert "_ctas" in table, (sql, definition.unknown)
                continue
            assert binx_says(definition, columns) == server_says(columns), sql
        assert sorted(known) == sorted(f"{table.db}.{table.name}" for table in catalog), sql


def test_a_mode_of_set_statement_is_not_the_one_that_the_text_was_read_by() -> None:
    """The log has the mode of the statement alone; a server makes a DOUBLE and an ENUM with one backslash."""
    sql = "SET STATEMENT sql_mode='REAL_AS_FLOAT' FOR CREATE TABLE t (a REAL, b ENUM(\"x\", '\\\\'))"
    parsed = parse(sql, StatementContext(sql_mode=READ_BY, mariadb=True))
    assert isinstance(parsed, CreateTable)
    assert [column.base for column in parsed.columns] == ["double", "enum"]
    assert parsed.columns[1].members == ("x", "\\")
