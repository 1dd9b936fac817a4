"""What statements did to tables, as ``statements/`` records it, and temporary tables."""

from __future__ import annotations

from typing import Any

import pytest

from binx.rows.columns.schema import NO_AUTO_VALUE_ON_ZERO, StatementContext
from binx.rows.ddl.catalog import Catalog
from binx.rows.ddl.catalog_record import catalog_record, recorded_catalog
from binx.rows.ddl.effects import Effect, statement_effects

TABLE = (
    "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(10) CHARACTER SET latin1, b INT, c INT, d ENUM('x','y'),"
    " FOREIGN KEY (b) REFERENCES p (id) ON DELETE CASCADE, FOREIGN KEY (c) REFERENCES q (id) ON UPDATE"
    " CASCADE, FOREIGN KEY (c) REFERENCES r (id))"
)


def effects(*statements: str, context: StatementContext | None = None) -> list[Effect]:
    """Those of the last statement."""
    catalog, context = Catalog(), context or StatementContext()
    result: list[Effect] = []
    for sql in statements:
        result = statement_effects(catalog.follow(sql, "shop", context), sql, "shop", context)
    return result


def said(value: Any) -> dict[str, Any]:
    """The fields that have other values than their defaults."""
    return {
        name: field for name, field in value._asdict().items() if field != value._field_defaults.get(name)
    }


def test_a_table_that_is_created_has_columns_a_key_and_parents() -> None:
    [effect] = effects(TABLE)
    assert (effect.action, effect.db, effect.table, effect.key) == ("created", "shop", "t", ("id",))
    assert [(item.name, item.mysql_type, item.arrow_type, item.charset) for item in effect.columns or ()] == [
        ("id", "int", "int32", None),
        ("a", "varchar(10)", "string", "latin1"),
        ("b", "int", "int32", None),
        ("c", "int", "int32", None),
        ("d", "enum('x','y')", "dictionary<values=string, indices=int32, ordered=0>", None),
    ]
    # Of foreign keys those count that delete or change rows by themselves.
    assert effect.parents == (("shop", "p", True, ()), ("shop", "q", False, ("id",)))


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("TRUNCATE `t` -- all of it", {"action": "truncated", "db": "shop", "table": "t"}),
        ("/* nightly */ truncate table T", {"action": "truncated", "db": "shop", "table": "T"}),
        ("DROP TABLE IF EXISTS other.t", {"action": "dropped", "db": "other", "table": "t"}),
        ("DROP DATABASE shop", {"action": "dropped", "db": "shop"}),
        ("CREATE OR REPLACE DATABASE shop", {"action": "dropped", "db": "shop"}),
        (
            "ALTER TABLE t RENAME AS other.u",
            {"action": "renamed", "db": "shop", "table": "t", "new_db": "other", "new_table": "u"},
        ),
        ("CREATE DATABASE d", {"action": "created", "db": "d"}),
        ("XA PREPARE X'61',X'',1", {"action": "prepared", "xid": "X'61',X'',1"}),
        ("xa commit x'61', x'',1", {"action": "committed", "xid": "X'61',X'',1"}),
        ("XA ROLLBACK X'61',X'',1", {"action": "rolled_back", "xid": "X'61',X'',1"}),
    ],
)
def test_what_was_done_to_a_table_as_a_whole(sql: str, expected: dict[str, Any]) -> None:
    assert said(effects(TABLE, sql)[-1]) == expected


def test_statements_that_do_nothing_to_tables_have_no_effects() -> None:
    for sql in (
        "XA COMMIT X'61',X'',1 ONE PHASE", "INSERT INTO t VALUES (1)", "CREATE USER u", "DROP VIEW t",
        "CREATE TABLE IF NOT EXISTS t (z INT)", "CREATE TEMPORARY TABLE t (z INT)", "BEGIN",
        "CREATE DATABASE IF NOT EXISTS d",
    ):  # fmt: skip
        assert effects(TABLE, sql) == [], sql


def test_renames_stand_in_their_order() -> None:
    renames = effects(TABLE, "RENAME TABLE t TO u, other.v TO t")
    assert [(effect.db, effect.table, effect.new_db, effect.new_table) for effect in renames] == [
        ("shop", "t", "shop", "u"),
        ("other", "v", "shop", "t"),
    ]


@pytest.mark.parametrize(
    ("clause", "target"),
    [
        ("DROP PARTITION p0", None),
        ("IMPORT PARTITION p0 TABLESPACE", None),
        ("TRUNCATE PARTITION p0, p1", None),
        ("EXCHANGE PARTITION p0 WITH TABLE w", ("shop", "w")),
        ("CONVERT PARTITION p0 TO TABLE x.w", ("x", "w")),
        ("CONVERT TABLE w TO PARTITION p0 VALUES LESS THAN (9)", ("shop", "w")),
    ],
)
def test_partitions_that_come_or_go_are_reported(clause: str, target: tuple[str, str] | None) -> None:
    all_found = effects(TABLE, f"ALTER TABLE t {clause}")
    effect = next(effect for effect in all_found if effect.action == "partitions")
    assert effect.table == "t"
    assert (None if effect.new_table is None else (effect.new_db, effect.new_table)) == target


@pytest.mark.parametrize(
    ("statement", "cause"),
    [
        ("ALTER IGNORE TABLE t ADD UNIQUE (a)", "IGNORE"),
        ("ALTER IGNORE TABLE t ADD COLUMN e INT UNIQUE", "IGNORE"),
        ("ALTER IGNORE TABLE t MODIFY a VARCHAR(2)", "IGNORE"),
        ("ALTER IGNORE TABLE t CONVERT TO CHARACTER SET latin1", "IGNORE"),
        ("ALTER IGNORE TABLE t ADD CHECK (a > 1)", "IGNORE"),
        ("ALTER TABLE t ENGINE=BLACKHOLE", "BLACKHOLE"),
        ("CREATE OR REPLACE TABLE t (id INT PRIMARY KEY) ENGINE=BLACKHOLE", "BLACKHOLE"),
        ("ALTER TABLE t ADD COLUMN e INT, ENGINE 'blackhole' COMMENT 'x'", "BLACKHOLE"),
        ("ALTER TABLE t DISCARD TABLESPACE", "DISCARD"),
        ("ALTER TABLE t IMPORT TABLESPACE", "IMPORT"),
    ],
)
def test_rows_that_come_or_go_without_events_are_reported_with_the_reason(statement: str, cause: str) -> None:
    found = effects(TABLE, statement)
    assert "partitions" not in [effect.action for effect in found]
    [effect] = [effect for effect in found if effect.action == "rows_unlogged"]
    assert (effect.db, effect.table) == ("shop", "t")
    assert effect.reason is not None
    assert cause in effect.reason


@pytest.mark.parametrize(
    "statement",
    ["ALTER TABLE t ADD UNIQUE (a)", "ALTER IGNORE TABLE t ADD KEY (a)", "ALTER TABLE t ENGINE=InnoDB"],
)
def test_statements_that_keep_all_rows_are_no_loss(statement: str) -> None:
    assert "rows_unlogged" not in [effect.action for effect in effects(TABLE, statement)]


def test_a_partition_that_becomes_a_table_makes_it_with_its_rows_and_back() -> None:
    made, taken = "CONVERT PARTITION p0 TO TABLE w", "CONVERT TABLE w TO PARTITION p0 VALUES LESS THAN (9)"
    effect = effects(TABLE, f"ALTER TABLE t {made}")[-1]
    assert (effect.action, effect.table, effect.from_query, effect.key) == ("created", "w", True, ("id",))
    assert [column.name for column in effect.columns or ()] == ["id", "a", "b", "c", "d"]
    effect = effects(TABLE, f"ALTER TABLE t {made}", f"ALTER TABLE t {taken}")[-1]
    assert (effect.action, effect.table) == ("dropped", "w")


def changes(sql: str, *, table: str = TABLE) -> list[dict[str, Any]]:
    [effect] = effects(table, sql)
    assert effect.action == "altered"
    return [said(change) for change in effect.changes]


def test_columns_that_are_renamed_or_dropped_are_named_by_their_names_before_and_after() -> None:
    changed = changes("ALTER TABLE t RENAME COLUMN b TO c, RENAME COLUMN c TO b, DROP a, DROP IF EXISTS zz")
    assert changed == [
        {"action": "renamed", "name": "c", "former": "b"},
        {"action": "renamed", "name": "b", "former": "c"},
        {"action": "dropped", "name": "a"},
    ]


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ("ADD c INT NOT NULL DEFAULT 1, MODIFY c BIGINT NOT NULL DEFAULT 3", [("added", "c", "3")]),
        (
            "DROP a, ADD a INT DEFAULT 5, MODIFY a BIGINT DEFAULT 6",
            [("dropped", "a", None), ("added", "a", "6")],
        ),
        ("ADD IF NOT EXISTS c INT DEFAULT 1, ADD IF NOT EXISTS c INT DEFAULT 2", [("added", "c", "1")]),
        ("CHANGE a c INT, ADD IF NOT EXISTS c INT DEFAULT 7", [("retyped", "c", None)]),
        ("DROP a, DROP IF EXISTS a", [("dropped", "a", None)]),
    ],
)
def test_a_column_that_clauses_name_twice_has_what_the_server_made_of_it(
    clauses: str, expected: list[tuple[str, str, str | None]]
) -> None:
    table = "CREATE TABLE t (id INT PRIMARY KEY, a INT)"
    [effect] = effects(table, f"ALTER TABLE t {clauses}", context=StatementContext(mariadb=True))
    assert [(change.action, change.name, change.value) for change in effect.changes] == expected


def test_a_column_that_is_redefined_has_its_new_type() -> None:
    assert changes("ALTER TABLE t CHANGE a aa BIGINT NOT NULL") == [
        {
            "action": "retyped", "name": "aa", "former": "a", "mysql_type": "bigint", "arrow_type": "int64",
            "nullable": False,
        }
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("clause", "mode", "expected"),
    [
        ("MODIFY a INT AUTO_INCREMENT UNIQUE", 0, (False, "0")),
        ("MODIFY a INT AUTO_INCREMENT UNIQUE", NO_AUTO_VALUE_ON_ZERO, (None, None)),
        ("MODIFY id BIGINT AUTO_INCREMENT", 0, (None, None)),
    ],
)
def test_a_column_that_becomes_auto_increment_numbers_the_rows_with_0_or_null(
    clause: str, mode: int, expected: tuple[bool | None, str | None]
) -> None:
    table = "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT)"
    [effect] = effects(table, f"ALTER TABLE t {clause}", context=StatementContext(sql_mode=mode))
    [change] = effect.changes
    assert (change.known, change.value) == expected


@pytest.mark.parametrize(
    ("column", "known", "value", "misfit"),
    [
        ("n INT DEFAULT 7", True, "7", None),
        ("n INT", True, None, None),
        ("n INT NOT NULL", True, "0", None),
        ("n DATE NOT NULL", True, None, "0000-00-00"),
        ("n DATETIME DEFAULT NOW()", False, None, None),
    ],
)
@pytest.mark.parametrize("table", [TABLE, "SELECT 1"])
def test_an_added_column_says_what_rows_hold_that_were_there(
    column: str, known: bool, value: str | None, misfit: str | None, table: str
) -> None:
    """Also where the table's definition is not known."""
    [effect] = effects(table, f"ALTER TABLE t ADD COLUMN {column}")
    [added] = effect.changes
    assert (added.action, added.known, added.value, added.misfit) == ("added", known, value, misfit)
    assert (effect.columns is None) == (table != TABLE)


def test_a_column_that_is_converted_without_being_named_is_retyped() -> None:
    changed = effects(TABLE, "ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4")[0].changes
    assert [(column.action, column.name, column.charset) for column in changed] == [
        ("retyped", "a", "utf8mb4"),
        ("retyped", "d", "utf8mb4"),
    ]


GENERATED = (
    "CREATE TABLE t (a SMALLINT, b VARCHAR(9) CHARACTER SET latin1, g INT AS (a + 1), h INT AS (g * 2)"
    " STORED, l INT AS (LENGTH(`b`)), p INT)"
)


@pytest.mark.parametrize(
    ("clauses", "computed"),
    [
        ("MODIFY g INT AS ( A+1 )", []),
        ("MODIFY g BIGINT AS (a + 1), MODIFY a INT, MODIFY b VARCHAR(20) CHARACTER SET latin1", []),
        ("MODIFY g INT AS (a + 2)", ["g", "h"]),
        ("CHANGE g gg INT AS (a + 2), MODIFY h INT AS (gg * 2) STORED", ["gg", "h"]),
        ("MODIFY p INT AS (a) STORED", ["p"]),
        ("MODIFY h INT", []),
        ("MODIFY a DECIMAL(5,1)", ["g", "h"]),
        ("CONVERT TO CHARACTER SET utf8mb4", ["l"]),
    ],
)
def test_generated_columns_that_are_computed_anew_have_values_that_are_not_known(
    clauses: str, computed: list[str]
) -> None:
    [effect] = effects(GENERATED, f"ALTER TABLE t {clauses}")
    assert [change.name for change in effect.changes if change.known is False] == computed
    [effect] = effects("ALTER TABLE t MODIFY g INT AS (a + 1)")
    assert [(change.name, change.known) for change in effect.changes] == [("g", False)]


def test_a_table_made_of_a_query_or_like_another_says_what_is_known() -> None:
    [effect] = effects(TABLE, "CREATE TABLE u LIKE t")
    assert [column.name for column in effect.columns or ()] == ["id", "a", "b", "c", "d"]
    [effect] = effects(TABLE, "CREATE TABLE u AS SELECT * FROM t")
    assert (effect.columns, effect.from_query) == (None, True)


def test_what_was_not_understood_is_reported_with_its_table() -> None:
    [effect] = effects(TABLE, "ALTER TABLE t SPLIT INTO 2")
    assert (effect.action, effect.db, effect.table) == ("not_understood", "shop", "t")
    assert effect.reason


def test_types_by_definition_are_those_of_rows() -> None:
    """Against the types that the decoder gives columns which were logged."""
    columns = {
        "TINYINT UNSIGNED": "int16", "BIGINT UNSIGNED": "uint64", "DECIMAL(10,2)": "decimal128(10, 2)",
        "DECIMAL(50,2)": "string", "BIT(1)": "bool", "BIT(8)": "int64", "BIT(64)": "uint64", "YEAR": "int16",
        "DATETIME(3)": "timestamp[us]", "TIMESTAMP": "timestamp[us, tz=UTC]", "TIME": "duration[us]",
        "DATE": "date32[day]", "CHAR(3)": "string", "MEDIUMTEXT": "string", "VARBINARY(9)": "binary",
        "BLOB": "binary", "SET('a')": "string", "FLOAT": "float", "DOUBLE": "double",
        "POINT": "struct<srid: uint32, wkb: binary>", "UUID": "string",
        "VARCHAR(9) CHARACTER SET binary": "binary",
    }  # fmt: skip
    listed = ", ".join(f"c{number} {kind}" for number, kind in enumerate(columns))
    [effect] = effects(f"CREATE TABLE types ({listed})")
    assert [column.arrow_type for column in effect.columns or ()] == list(columns.values())


MYSQL = StatementContext(connection=(1, 7), uses_temporary=True)
MARIADB = MYSQL._replace(mariadb=True, version=101100)


def columns(catalog: Catalog, table: str) -> list[str] | None:
    definition = catalog.lookup("shop", table)
    return None if definition is None else [column.name for column in definition.columns]


@pytest.fixture
def catalog() -> Catalog:
    """One connection has a temporary table in the place of another."""
    made = Catalog()
    made.apply("CREATE TABLE t (id INT, a INT)", "shop")
    made.apply("CREATE TEMPORARY TABLE t (id INT, x INT)", "shop", MYSQL)
    return made


def test_a_temporary_table_leaves_the_one_in_whose_place_it_stands(catalog: Catalog) -> None:
    assert columns(catalog, "t") == ["id", "a"]


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE t ADD COLUMN y INT",
        "ALTER TABLE t RENAME TO u",
        "CREATE UNIQUE INDEX i ON t (x)",
        "DROP TABLE t",
        "DROP TEMPORARY TABLE t",
        "DROP /*!40005 TEMPORARY */ TABLE IF EXISTS `t`",
        "CREATE TEMPORARY TABLE t (id QUANTUM)",
    ],
)
def test_what_is_done_to_it_is_done_to_no_other_table(catalog: Catalog, statement: str) -> None:
    before = catalog.lookup("shop", "t")
    assert catalog.apply(statement, "shop", MYSQL) == []
    assert catalog.lookup("shop", "t") is before
    assert [(table.db, table.name) for table in catalog] == [("shop", "t")]


def test_a_table_made_like_one_has_its_columns_as_they_are_then(catalog: Catalog) -> None:
    catalog.apply("ALTER TABLE t ADD COLUMN y INT FIRST", "shop", MYSQL)
    catalog.apply("CREATE TABLE u LIKE t", "shop", MYSQL)
    catalog.apply("CREATE TEMPORARY TABLE v LIKE t", "shop", MYSQL)
    catalog.apply("CREATE TABLE w LIKE v", "shop", MYSQL)
    assert columns(catalog, "u") == columns(catalog, "w") == ["y", "id", "x"]
    assert columns(catalog, "v") is None


def test_another_connection_does_not_see_it(catalog: Catalog) -> None:
    other_connection = MYSQL._replace(connection=(1, 8), uses_temporary=False)
    catalog.apply("ALTER TABLE t ADD COLUMN y INT", "shop", other_connection)
    catalog.apply("CREATE TABLE u LIKE t", "shop", other_connection)
    assert columns(catalog, "t") == columns(catalog, "u") == ["id", "a", "y"]


def test_once_it_is_gone_its_name_is_the_other_tables_again(catalog: Catalog) -> None:
    catalog.apply("DROP TEMPORARY TABLE t", "shop", MYSQL)
    catalog.apply("CREATE TABLE u LIKE t", "shop", MYSQL)
    assert columns(catalog, "u") == ["id", "a"]
    assert catalog.temporary == {}


def test_only_mariadb_renames_them_by_rename_table_which_it_does_not_mark(catalog: Catalog) -> None:
    mysql = catalog.copy()
    statement = "RENAME TABLE t TO v, v TO u"
    catalog.apply(statement, "shop", MARIADB._replace(uses_temporary=False))
    assert columns(catalog, "t") == ["id", "a"]
    catalog.apply("CREATE TABLE like_u LIKE u", "shop", MARIADB)
    assert columns(catalog, "like_u") == ["id", "x"]
    mysql.apply(statement, "shop", MYSQL._replace(uses_temporary=False))
    assert columns(mysql, "u") == ["id", "a"]


def test_copies_and_records_of_a_catalog_have_them_and_move_on_by_themselves(catalog: Catalog) -> None:
    for copied in (catalog.copy(), recorded_catalog(catalog_record(catalog))):
        copied.apply("ALTER TABLE t ADD COLUMN y INT", "shop", MYSQL)
        copied.apply("CREATE TABLE u LIKE t", "shop", MYSQL)
        assert columns(copied, "u") == ["id", "x", "y"]
    catalog.apply("CREATE TABLE u LIKE t", "shop", MYSQL)
    assert columns(catalog, "u") == ["id", "x"]
