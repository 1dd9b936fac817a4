"""Temporary tables: each connection has its own, and what is done to them is done to no other table."""

from __future__ import annotations

import pytest

from binx.rows.columns.schema import StatementContext
from binx.rows.ddl.catalog import Catalog
from binx.rows.ddl.catalog_record import catalog_record, recorded_catalog

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
    other = MYSQL._replace(connection=(1, 8), uses_temporary=False)
    catalog.apply("ALTER TABLE t ADD COLUMN y INT", "shop", other)
    catalog.apply("CREATE TABLE u LIKE t", "shop", other)
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
    for other in (catalog.copy(), recorded_catalog(catalog_record(catalog))):
        other.apply("ALTER TABLE t ADD COLUMN y INT", "shop", MYSQL)
        other.apply("CREATE TABLE u LIKE t", "shop", MYSQL)
        assert columns(other, "u") == ["id", "x", "y"]
    catalog.apply("CREATE TABLE u LIKE t", "shop", MYSQL)
    assert columns(catalog, "u") == ["id", "x"]
