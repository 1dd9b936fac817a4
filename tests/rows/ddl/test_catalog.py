"""The catalog: what is known of tables, what is not, and that it says so."""

from __future__ import annotations

import pytest

from binx.rows.columns.schema import ChangeKind, ForeignKey, Provenance, StatementContext, TableDefinition
from binx.rows.ddl.catalog import Catalog
from binx.rows.ddl.catalog_record import catalog_record, recorded_catalog

MARIADB = StatementContext(mariadb=True, version=101100)


def catalog_of(*statements: str, db: str = "shop", context: StatementContext | None = None) -> Catalog:
    catalog = Catalog()
    for statement in statements:
        catalog.apply(statement, db, context or StatementContext())
    return catalog


def known(catalog: Catalog, db: str, table: str) -> TableDefinition:
    """The definition of a table that is known, if only by name."""
    definition = catalog.lookup(db, table)
    assert definition is not None
    return definition


def names(definition: TableDefinition | None) -> list[str]:
    assert definition is not None
    return [column.name for column in definition.columns]


def test_a_table_is_known_from_the_statement_that_made_it() -> None:
    catalog = Catalog()
    statement = "CREATE TABLE orders (id INT PRIMARY KEY, note TEXT)"
    (change,) = catalog.apply(statement, "shop")
    definition = catalog.lookup("shop", "orders")
    assert change.kind is ChangeKind.CREATED
    assert change.definition is definition is not None
    assert definition.provenance is Provenance.DDL
    assert definition.ddl == statement
    assert definition.primary_key == ("id",)


def test_what_is_not_known_is_not_made_up() -> None:
    assert Catalog().lookup("shop", "orders") is None


def test_altering_an_unknown_table_is_reported_and_leaves_it_unknown() -> None:
    catalog = Catalog()
    (change,) = catalog.apply("ALTER TABLE orders ADD b INT", "shop")
    assert (change.kind, change.db, change.table) == (ChangeKind.ALTERED, "shop", "orders")
    assert change.definition is None
    assert catalog.lookup("shop", "orders") is None


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE orders DROP nowhere",
        "ALTER TABLE orders ADD b INT AFTER nowhere",
        "ALTER TABLE orders CHANGE nowhere b INT",
        "ALTER TABLE orders RENAME COLUMN nowhere TO b",
        "ALTER TABLE orders ADD id INT",
        "ALTER TABLE orders ADD PRIMARY KEY (nowhere)",
        "ALTER TABLE orders DROP id, DROP note",
    ],
)
def test_a_statement_that_contradicts_what_is_known_makes_the_table_unknown(statement: str) -> None:
    catalog = catalog_of("CREATE TABLE orders (id INT PRIMARY KEY, note TEXT)")
    (change,) = catalog.apply(statement, "shop")
    definition = catalog.lookup("shop", "orders")
    assert change.kind is ChangeKind.UNPARSED
    assert change.reason is not None
    assert definition is not None
    assert definition.unknown == change.reason
    assert definition.columns == ()


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE orders (id QUANTUM)",
        "CREATE OR REPLACE TABLE orders (id INT FANCY ATTRIBUTE)",
        "ALTER TABLE orders TELEPORT COLUMN id",
        "ALTER TABLE orders ADD b INT FANCY ATTRIBUTE",
        "ALTER TABLE `shop`.`orders` MODIFY id QUANTUM(3)",
        "RENAME TABLE orders INTO others",
        "ALTER TABLE orders ADD b ENUM('x",
    ],
)
def test_a_statement_that_is_not_understood_never_passes_in_silence(statement: str) -> None:
    catalog = catalog_of("CREATE TABLE orders (id INT)")
    changes = catalog.apply(statement, "shop")
    assert {change.kind for change in changes} == {ChangeKind.UNPARSED}
    assert all(change.reason for change in changes)


def test_a_table_of_a_statement_not_understood_is_unknown_until_it_is_made_again() -> None:
    catalog = catalog_of("CREATE TABLE orders (id INT)", "ALTER TABLE orders TELEPORT COLUMN id")
    definition = known(catalog, "shop", "orders")
    assert definition.unknown is not None
    catalog.apply("ALTER TABLE orders ADD b INT", "shop")
    definition = known(catalog, "shop", "orders")
    assert definition.unknown is not None
    catalog.apply("DROP TABLE orders", "shop")
    catalog.apply("CREATE TABLE orders (a INT)", "shop")
    assert names(catalog.lookup("shop", "orders")) == ["a"]


def test_columns_that_come_from_a_query_make_a_table_unknown() -> None:
    catalog = catalog_of("CREATE TABLE copy (a INT) SELECT * FROM orders")
    definition = known(catalog, "shop", "copy")
    assert definition.unknown is not None
    assert "query" in definition.unknown


@pytest.mark.parametrize(
    ("clauses", "columns"),
    [
        ("ADD IF NOT EXISTS b INT, MODIFY b BIGINT", ["id int", "a int", "b bigint"]),
        ("ADD b VARCHAR(5), MODIFY b INT FIRST", ["b int", "id int", "a int"]),
        ("ADD b VARCHAR(5), MODIFY IF EXISTS b INT FIRST", ["id int", "a int", "b varchar(5)"]),
        ("ADD IF NOT EXISTS a VARCHAR(5), MODIFY a BIGINT", ["id int", "a bigint"]),
    ],
)
def test_mariadb_redefines_columns_that_the_same_statement_adds(clauses: str, columns: list[str]) -> None:
    statements = ("CREATE TABLE orders (id INT, a INT)", f"ALTER IGNORE TABLE orders {clauses}")
    definition = known(catalog_of(*statements, context=MARIADB), "shop", "orders")
    assert [f"{column.name} {column.mysql_type}" for column in definition.columns] == columns


@pytest.mark.parametrize(
    ("statements", "members"),
    [
        (["CREATE TABLE t (e ENUM('é ', 'x') CHARACTER SET ucs2)"], ("\xc3\ua920", "x")),
        (["CREATE TABLE t (e SET('é0', 'Ж') CHARACTER SET gbk)"], ("茅0", "袞")),
        (["CREATE TABLE t (e ENUM(X'C3A9', 'é') CHARACTER SET latin1)"], ("Ã©", "Ã©")),
    ],
)
def test_texts_of_a_session_whose_collation_is_binary_are_bytes_of_the_column(
    statements: list[str], members: tuple[str, ...]
) -> None:
    """As MySQL 9.7 and MariaDB 10.11 show them after ``SET collation_connection = binary``."""
    context = StatementContext(literals="binary", client="utf8mb4")
    definition = known(catalog_of(*statements, context=context), "shop", "t")
    assert definition.columns[0].members == members


def test_members_that_no_set_of_characters_has_come_back_with_the_set_that_has_them() -> None:
    statements = ["CREATE TABLE t (e ENUM('z', 'é', 'A')) CHARSET utf8mb4"]
    statements += [f"ALTER TABLE t CONVERT TO CHARACTER SET {name}" for name in ("ucs2", "utf8mb4")]
    definition = known(catalog_of(*statements), "shop", "t")
    assert definition.columns[0].members == ("z", "é", "A")


def test_create_if_not_exists_says_what_a_table_is_only_where_it_made_it() -> None:
    """Servers log of statements that did something in which transaction of the engine it was."""
    statement = "CREATE TABLE IF NOT EXISTS orders (id INT, price INT)"
    catalog = catalog_of(statement)
    definition = known(catalog, "shop", "orders")
    assert (names(definition), definition.provenance) == (["id", "price"], Provenance.IF_NOT_EXISTS)
    catalog.apply("ALTER TABLE orders ADD qty INT", "shop")
    catalog.apply("CREATE TABLE copy LIKE orders", "shop")
    for name in ("orders", "copy"):
        definition = known(catalog, "shop", name)
        assert definition.provenance is Provenance.IF_NOT_EXISTS
    catalog.apply(statement, "shop")
    assert names(catalog.lookup("shop", "orders")) == ["id", "price", "qty"]
    catalog.apply(statement, "shop", StatementContext(committed=True))
    definition = known(catalog, "shop", "orders")
    assert (names(definition), definition.provenance) == (["id", "price"], Provenance.DDL)


def test_create_if_not_exists_does_not_overrule_a_dump_without_databases() -> None:
    catalog = Catalog()
    catalog.load_dump("CREATE TABLE orders (id INT, qty INT)")
    assert catalog.apply("CREATE TABLE IF NOT EXISTS orders (id INT, price INT)", "shop") == []
    assert names(catalog.lookup("shop", "orders")) == ["id", "qty"]


def test_a_create_select_as_row_format_logs_it_is_complete() -> None:
    catalog = catalog_of("CREATE TABLE `copy` (\n  `q` int NOT NULL DEFAULT '0'\n) START TRANSACTION")
    assert names(catalog.lookup("shop", "copy")) == ["q"]


def test_a_copy_of_an_unknown_table_is_unknown() -> None:
    definition = known(catalog_of("CREATE TABLE copy LIKE orders"), "shop", "copy")
    assert definition.unknown is not None
    assert "orders" in definition.unknown


def test_names_are_found_without_regard_to_case_where_only_one_fits() -> None:
    catalog = catalog_of("CREATE TABLE Orders (id INT)")
    assert names(catalog.lookup("shop", "orders")) == ["id"]
    assert names(catalog.lookup("SHOP", "ORDERS")) == ["id"]
    catalog.apply("CREATE TABLE orders (other INT)", "shop")
    assert names(catalog.lookup("shop", "Orders")) == ["id"]
    assert names(catalog.lookup("shop", "orders")) == ["other"]
    assert catalog.lookup("shop", "ORDERS") is None


def test_dropping_a_database_drops_its_tables() -> None:
    catalog = catalog_of("CREATE TABLE a (x INT)", "CREATE TABLE b (x INT)", "CREATE TABLE other.c (x INT)")
    changes = catalog.apply("DROP DATABASE shop", "")
    assert [change.table for change in changes] == [None, "a", "b"]
    assert [table.name for table in catalog] == ["c"]


def test_databases_whose_names_differ_in_case_alone_are_two() -> None:
    catalog = Catalog()
    for sql in (
        "CREATE DATABASE Shop CHARACTER SET latin1",
        "CREATE DATABASE shop CHARACTER SET utf8mb4",
        "CREATE TABLE Shop.t (a CHAR(3))",
        "CREATE TABLE shop.t (a CHAR(3))",
    ):
        catalog.apply(sql, "")
    assert [table.columns[0].charset for table in catalog] == ["latin1", "utf8mb4"]
    assert [change.table for change in catalog.apply("DROP DATABASE shop", "")] == [None, "t"]
    assert [table.db for table in catalog] == ["Shop"]
    # Servers with lower_case_table_names log names in varying case.
    assert [change.table for change in catalog.apply("DROP DATABASE SHOP", "")] == [None, "t"]


def test_renaming_moves_the_definition_and_replaces_what_was_stale() -> None:
    catalog = catalog_of("CREATE TABLE a (x INT)", "CREATE TABLE b (y INT)")
    catalog.apply("RENAME TABLE a TO b", "shop")
    assert names(catalog.lookup("shop", "b")) == ["x"]
    assert len(catalog) == 1


def test_a_table_that_was_renamed_from_an_unknown_one_is_unknown() -> None:
    catalog = catalog_of("CREATE TABLE b (y INT)")
    (change,) = catalog.apply("RENAME TABLE a TO b", "shop")
    assert change.definition is None
    assert catalog.lookup("shop", "b") is None


def test_a_copy_moves_on_by_itself() -> None:
    catalog = catalog_of("CREATE TABLE orders (id INT)", "CREATE DATABASE latin CHARACTER SET latin1")
    copy = catalog.copy()
    copy.apply("ALTER TABLE orders ADD b INT", "shop")
    copy.apply("DROP DATABASE latin", "shop")
    catalog.apply("CREATE TABLE latin.t (a TEXT)", "shop")
    copy.apply("CREATE TABLE latin.t (a TEXT)", "shop")
    assert names(catalog.lookup("shop", "orders")) == ["id"]
    assert names(copy.lookup("shop", "orders")) == ["id", "b"]
    charsets = [table.columns[0].charset for c in (catalog, copy) if (table := c.lookup("latin", "t"))]
    assert charsets == ["latin1", None]


def test_a_statement_that_failed_and_is_logged_has_dropped_the_table() -> None:
    """MariaDB logs a CREATE OR REPLACE that fails after its DROP, with its error."""
    catalog = catalog_of("CREATE TABLE t (a INT)", "CREATE TABLE other (a INT)")
    failed = MARIADB._replace(failed=True)
    changes = catalog.apply("CREATE OR REPLACE TABLE t (a BLOB, PRIMARY KEY (a))", "shop", failed)
    assert [change.kind for change in changes] == [ChangeKind.DROPPED]
    assert [table.name for table in catalog] == ["other"]


def test_members_of_a_binary_column_are_the_bytes_that_the_session_wrote() -> None:
    latin = StatementContext(literals="latin1")
    definition = known(
        catalog_of("CREATE TABLE t (a SET('é ','p ') CHARACTER SET binary)", context=latin), "shop", "t"
    )
    assert definition.columns[0].members == (r"\xe9 ", "p ")


def test_a_part_of_a_shape_is_no_key_of_rows() -> None:
    """As MariaDB 10.11's INFORMATION_SCHEMA says."""
    shape = "CREATE TABLE t (a GEOMETRY NOT NULL, b INT NOT NULL, UNIQUE (a(3)))"
    definition = known(catalog_of(shape, context=MARIADB), "shop", "t")
    assert definition.row_key == ()


def test_a_database_without_a_charset_takes_the_servers() -> None:
    context = StatementContext(server_collation="latin1_swedish_ci")
    catalog = catalog_of("CREATE DATABASE d", "CREATE TABLE d.t (a TEXT)", context=context)
    definition = known(catalog, "d", "t")
    assert definition.columns[0].charset == "latin1"


def test_a_charset_without_collation_has_the_default_of_the_session() -> None:
    """``default_collation_for_utf8mb4`` of MySQL, ``character_set_collations`` of MariaDB."""
    context = StatementContext(collations=(("utf8mb4", "utf8mb4_general_ci"),), server_collation="latin1_bin")
    catalog = catalog_of(
        "CREATE DATABASE d CHARACTER SET utf8mb4",
        "CREATE TABLE d.t (a TEXT, b TEXT CHARACTER SET utf8mb4, c TEXT COLLATE utf8mb4_bin)",
        "CREATE TABLE d.u (a TEXT) CHARACTER SET utf8mb4",
        "CREATE TABLE d.v (a TEXT) CHARACTER SET latin1",
        "ALTER TABLE d.v ADD b TEXT CHARACTER SET utf8mb4, ADD c TEXT",
        "CREATE TABLE d.w (a TEXT) CHARACTER SET latin1",
        "ALTER TABLE d.w CONVERT TO CHARACTER SET utf8mb4",
        context=context,
    )
    general = "utf8mb4_general_ci"
    collations = {
        table: [column.collation for column in known(catalog, "d", table).columns] for table in "tuvw"
    }
    assert collations == {
        "t": [general, general, "utf8mb4_bin"],
        "u": [general],
        "v": [None, general, None],
        "w": [general],
    }


@pytest.mark.parametrize("mariadb", [False, True])
def test_a_generated_timestamp_takes_null_in_mariadb_even_with_old_defaults(mariadb: bool) -> None:
    old = StatementContext(explicit_defaults_for_timestamp=False, mariadb=mariadb)
    definition = known(catalog_of("CREATE TABLE t (a INT, b TIMESTAMP AS (a + 1))", context=old), "shop", "t")
    assert definition.columns[1].nullable is mariadb


def test_a_charset_that_nothing_names_is_none() -> None:
    definition = known(catalog_of("CREATE TABLE t (a TEXT, b BLOB)"), "shop", "t")
    assert [column.charset for column in definition.columns] == [None, "binary"]


@pytest.mark.parametrize(
    ("columns", "clause", "changes"),
    [
        ("a INT", "", False),
        ("a INT, t TEXT CHARACTER SET cp1251", "", False),
        ("a INT, t TEXT", "", True),
        ("a INT", ", ENGINE=InnoDB", True),
        ("a INT", ", ADD b INT", True),
    ],
)
@pytest.mark.parametrize(
    ("version", "mariadb", "keeps"),
    [(50624, False, True), (50651, False, False), (100021, True, True), (100030, True, False)],
)
def test_a_conversion_that_changes_nothing_kept_a_tables_default_once(
    version: int, mariadb: bool, keeps: bool, columns: str, clause: str, changes: bool
) -> None:
    """As MySQL 5.6.24 has it."""
    statements = (
        f"CREATE TABLE t ({columns}) CHARSET utf8",
        f"ALTER TABLE t CONVERT TO CHARACTER SET cp1251{clause}",
        "ALTER TABLE t ADD new TEXT",
    )
    context = StatementContext(version=version, mariadb=mariadb)
    definition = known(catalog_of(*statements, context=context), "shop", "t")
    assert definition.columns[-1].charset == ("utf8mb3" if keeps and not changes else "cp1251")


def test_a_timestamp_is_not_null_where_the_session_had_old_defaults() -> None:
    old = StatementContext(explicit_defaults_for_timestamp=False)
    definition = known(
        catalog_of("CREATE TABLE t (a TIMESTAMP, b TIMESTAMP NULL, c INT)", context=old), "shop", "t"
    )
    assert [column.nullable for column in definition.columns] == [False, True, True]


@pytest.mark.parametrize(
    ("columns", "statement", "clocks"),
    [
        # As MySQL 9.7 shows it: what is shown in brackets is the DEFAULT.
        ("b TIMESTAMP NOT NULL, c TIMESTAMP NOT NULL", "ADD x INT", {"b": "[]", "c": None}),
        ("b TIMESTAMP NOT NULL", "ADD x TIMESTAMP NOT NULL", {"b": "[]", "x": None}),
        ("b TIMESTAMP NOT NULL", "ADD x TIMESTAMP NOT NULL FIRST", {"x": "[CURRENT_TIMESTAMP]", "b": None}),
        ("b TIMESTAMP NOT NULL", "ADD x TIMESTAMP NULL FIRST", {"x": None, "b": None}),
        ("b TIMESTAMP NULL, c TIMESTAMP NOT NULL", "FORCE", {"b": None, "c": None}),
        ("b TIMESTAMP NOT NULL, c TIMESTAMP NOT NULL", "DROP COLUMN b", {"c": "[]"}),
        ("b TIMESTAMP NOT NULL", "MODIFY b TIMESTAMP(3) NOT NULL", {"b": "[CURRENT_TIMESTAMP(3)]"}),
        ("b TIMESTAMP NOT NULL", "ALTER b SET DEFAULT '2020-01-01 00:00:00'", {"b": None}),
    ],
)
def test_the_first_timestamp_follows_the_clock_after_any_alter_of_old_defaults(
    columns: str, statement: str, clocks: dict[str, str | None]
) -> None:
    catalog = catalog_of(f"CREATE TABLE t (id INT PRIMARY KEY, n INT, {columns})")
    old = StatementContext(explicit_defaults_for_timestamp=False)
    catalog.apply(f"ALTER TABLE t {statement}", "shop", old)
    definition = known(catalog, "shop", "t")
    found = {
        column.name: f"[{column.default.text if column.default else ''}]" if column.on_update else None
        for column in definition.columns
        if column.base == "timestamp"
    }
    assert found == clocks


def test_system_versioning_keeps_hidden_columns_after_all_others() -> None:
    # As mariadb-binlog --print-table-metadata shows it.
    catalog = catalog_of(
        "CREATE TABLE t (a INT PRIMARY KEY, b INT) WITH SYSTEM VERSIONING",
        "ALTER TABLE t ADD COLUMN c INT",
        context=MARIADB,
    )
    definition = known(catalog, "shop", "t")
    assert names(definition) == ["a", "b", "c", "row_start", "row_end"]
    assert definition.primary_key == ("a", "row_end")
    catalog.apply("ALTER TABLE t DROP SYSTEM VERSIONING", "shop", MARIADB)
    definition = known(catalog, "shop", "t")
    assert names(definition) == ["a", "b", "c"]
    assert definition.primary_key == ("a",)


def test_dropping_a_key_that_is_not_known_ends_all_claims_about_keys() -> None:
    catalog = catalog_of("CREATE TABLE t (a INT NOT NULL UNIQUE)", "DROP INDEX made_by_a_foreign_key ON t")
    definition = known(catalog, "shop", "t")
    assert definition.row_key == ()


DUMP = """-- MySQL dump 10.13
/*!40101 SET NAMES utf8mb4 */;
-- it's a comment; with a quote and a semicolon
CREATE DATABASE /*!32312 IF NOT EXISTS*/ `shop` /*!40100 DEFAULT CHARACTER SET latin1 */;

USE `shop`;
DROP TABLE IF EXISTS `orders`;
/*!50503 SET character_set_client = utf8mb4 */;
CREATE TABLE `orders` (
  `id` int NOT NULL COMMENT 'a; b',
  `note` text,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci;
INSERT INTO `orders` VALUES (1,'); DROP TABLE `orders`; --');
DELIMITER ;;
/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`localhost`*/ /*!50003 TRIGGER t BEFORE INSERT ON orders
FOR EACH ROW BEGIN
  SET @a = 1; DROP TABLE orders;
END */;;
DELIMITER ;
--
-- Current Database: `other`
--
use other
;
create table t (a int)"""


def test_a_dump_is_taken_in_statement_by_statement() -> None:
    catalog = Catalog()
    changes = catalog.load_dump(DUMP)
    assert [change.reason for change in changes if change.reason] == []
    assert sorted(f"{table.db}.{table.name}" for table in catalog) == ["other.t", "shop.orders"]
    definition = known(catalog, "shop", "orders")
    assert definition.provenance is Provenance.SCHEMA
    assert definition.columns[1].charset == "utf8mb4"


def test_a_dump_that_names_no_database_holds_for_every_one() -> None:
    catalog = Catalog()
    catalog.load_dump("CREATE TABLE orders (id INT);")
    assert names(catalog.lookup("shop", "orders")) == ["id"]
    catalog.apply("ALTER TABLE orders ADD b INT", "shop")
    altered, untouched = catalog.lookup("shop", "orders"), catalog.lookup("store", "orders")
    assert names(altered) == ["id", "b"]
    assert names(untouched) == ["id"]
    assert altered is not None
    assert untouched is not None
    assert (altered.provenance, untouched.provenance) == (Provenance.DDL, Provenance.SCHEMA)


def test_a_record_of_a_catalog_has_its_foreign_keys() -> None:
    catalog = catalog_of(
        "CREATE TABLE p (id INT PRIMARY KEY)",
        "CREATE TABLE t (id INT, a INT, CONSTRAINT f FOREIGN KEY (a) REFERENCES p (id) ON DELETE CASCADE)",
    )
    restored = recorded_catalog(catalog_record(catalog))
    assert restored.lookup("shop", "t") == catalog.lookup("shop", "t")
    restored.apply("RENAME TABLE p TO q", "shop")
    renamed = restored.lookup("shop", "t")
    assert renamed is not None
    assert [key.table for key in renamed.foreign_keys] == ["q"]


def foreign_keys_of(*statements: str, context: StatementContext | None = None) -> list[ForeignKey]:
    table = known(catalog_of(*statements, context=context), "shop", "t")
    return [*table.foreign_keys]


MYSQL_8, MYSQL_9 = StatementContext(version=80400), StatementContext(version=90000)


@pytest.mark.parametrize(("context", "heeded"), [(MYSQL_8, False), (MYSQL_9, True), (MARIADB, True)])
def test_references_at_a_column_make_a_foreign_key_where_the_server_heeds_them(
    context: StatementContext, heeded: bool
) -> None:
    made = "CREATE TABLE t (id INT PRIMARY KEY, a INT REFERENCES p (id) ON DELETE CASCADE NOT NULL)"
    added = "ALTER TABLE t ADD b INT REFERENCES x.q ON UPDATE SET NULL ON DELETE NO ACTION"
    expected = [
        ForeignKey("t_ibfk_1", ("a",), "shop", "p", ("id",), "CASCADE", "RESTRICT", ("CASCADE", "")),
        ForeignKey("t_ibfk_2", ("b",), "x", "q", (), "RESTRICT", "SET NULL", ("NO ACTION", "SET NULL")),
    ]
    assert foreign_keys_of(made, added, context=context) == (expected if heeded else [])


def test_a_foreign_key_is_dropped_by_the_name_that_the_server_gave_it() -> None:
    made = (
        "CREATE TABLE s (a INT, b INT, FOREIGN KEY (a) REFERENCES p (id), FOREIGN KEY (b) REFERENCES p (id))"
    )
    renamed = "RENAME TABLE s TO t"
    keys = foreign_keys_of(made, renamed, "ALTER TABLE t DROP FOREIGN KEY t_ibfk_1")
    assert [(key.name, key.columns) for key in keys] == [("t_ibfk_2", ("b",))]


def test_a_number_that_no_server_gives_a_foreign_key_is_not_counted() -> None:
    named = f"CONSTRAINT t_ibfk_{'9' * 5000} FOREIGN KEY (a) REFERENCES p (id)"
    keys = foreign_keys_of(f"CREATE TABLE t (a INT, {named}, FOREIGN KEY (a) REFERENCES q (id))")
    assert keys[1].name == "t_ibfk_1"


def test_a_column_that_was_there_already_gets_its_foreign_key_too() -> None:
    made = "CREATE TABLE t (a INT)"
    added = "ALTER TABLE t ADD COLUMN IF NOT EXISTS a INT REFERENCES p (id)"
    assert [key.name for key in foreign_keys_of(made, added, context=MARIADB)] == ["t_ibfk_1"]


def test_a_foreign_key_that_was_there_already_is_not_added() -> None:
    made = "CREATE TABLE t (a INT, CONSTRAINT f FOREIGN KEY (a) REFERENCES p (id))"
    for added, number in (
        ("CONSTRAINT f FOREIGN KEY IF NOT EXISTS (a) REFERENCES q (id)", 1),
        ("FOREIGN KEY IF NOT EXISTS f (a) REFERENCES q (id)", 1),
        ("FOREIGN KEY IF NOT EXISTS (a) REFERENCES q (id)", 2),
    ):
        keys = foreign_keys_of(made, f"ALTER TABLE t ADD {added}", context=MARIADB)
        assert [key.table for key in keys] == ["p", "q"][:number]


def test_a_partition_that_becomes_a_table_has_its_columns() -> None:
    catalog = catalog_of(
        "CREATE TABLE t (id INT PRIMARY KEY, a INT)", "ALTER TABLE t CONVERT PARTITION p TO TABLE w"
    )
    assert names(catalog.lookup("shop", "w")) == ["id", "a"]
    catalog.apply("ALTER TABLE t CONVERT TABLE w TO PARTITION p VALUES LESS THAN (9)", "shop")
    assert catalog.lookup("shop", "w") is None


def test_mariadb_gives_a_column_the_default_that_the_same_statement_sets() -> None:
    altered = "ALTER TABLE t ALTER COLUMN b SET DEFAULT 3, ADD IF NOT EXISTS b INT"
    table = catalog_of("CREATE TABLE t (a INT)", altered, context=MARIADB).lookup("shop", "t")
    assert names(table) == ["a", "b"]
    assert table is not None
    assert table.columns[1].default == table.columns[1].added
    assert table.columns[1].added is not None
    assert table.columns[1].added.constant == "3"
