"""Schema statements: which they are, and that no text breaks the parser."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binx.rows.columns.schema import StatementContext
from binx.rows.ddl.catalog import Catalog
from binx.rows.ddl.parse import is_schema_statement, parse
from binx.rows.ddl.statements import CreateTable, NotUnderstood, TableName
from tests.rows.ddl.cases import CASES


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
    place = data.draw(st.integers(0, len(sql)))
    insert = data.draw(st.text(max_size=2))
    drop = data.draw(st.integers(0, 3))
    parse(sql[:place] + insert + sql[place + drop :])
    parse(sql[:place])


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
    assert parsed.table == TableName("d", "s")
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
