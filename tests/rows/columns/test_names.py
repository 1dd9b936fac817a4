"""Names and character sets of columns, from the log or from definitions."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from binx.errors import UnsupportedError
from binx.event.charset import Charset, charset
from binx.event.column import Column, ColumnType
from binx.event.format import Flavour
from binx.event.table_map import TableMap
from binx.rows.columns.arrays import ColumnArrays, ColumnBuffers, keeps_ascii
from binx.rows.columns.names import ResolvedTable, output_names, resolve_columns
from binx.rows.columns.schema import Provenance, StatementContext, TableDefinition
from binx.rows.columns.schema_records import ColumnRecords
from binx.rows.columns.types import DEFAULT_ARROW_OPTIONS, Kind, LogicalType
from binx.rows.ddl.catalog import Catalog

LATIN1, UTF8MB4, BINARY = 8, 255, 63


def table_map(*columns: Column, key: bool = False) -> TableMap:
    return TableMap(
        table_id=1,
        flags=0,
        database="shop",
        table="orders",
        column_types=bytes(column.type for column in columns),
        columns=columns,
        has_metadata=any(column.name is not None for column in columns),
        has_primary_key=key,
        unknown_metadata=(),
    )


def column(kind: ColumnType, metadata: int = 0, **facts: Any) -> Column:
    return Column(type=kind, metadata=metadata, nullable=facts.pop("nullable", True), **facts)


def defined(sql: str, mariadb: bool = False, provenance: Provenance = Provenance.DDL) -> TableDefinition:
    catalog = Catalog()
    catalog.apply(sql, "shop", StatementContext(mariadb=mariadb), provenance)
    definition = catalog.lookup("shop", "orders")
    assert definition is not None
    return definition


def names(resolved: ResolvedTable) -> list[str]:
    return [column.name for column in resolved.columns]


LONG = column(ColumnType.LONG)
VARCHAR_80 = column(ColumnType.VARCHAR, 80)


def test_without_metadata_and_ddl_columns_are_numbered_and_nothing_is_claimed() -> None:
    resolved = resolve_columns(table_map(LONG, VARCHAR_80), None)
    assert names(resolved) == ["c1", "c2"]
    assert resolved.warnings == ()
    number, text = resolved.columns
    assert number.provenance.name is Provenance.NONE
    assert (number.type.kind, number.provenance.signedness) == (Kind.INT32, Provenance.NONE)
    assert (text.type.kind, text.type.charset, text.provenance.charset) == (
        Kind.TEXT,
        "utf8mb4",
        Provenance.NONE,
    )
    assert text.mysql_type == "varchar"


@pytest.mark.parametrize("provenance", [Provenance.DDL, Provenance.SCHEMA])
def test_a_definition_gives_names_signs_charsets_members_and_key(provenance: Provenance) -> None:
    definition = defined(
        "CREATE TABLE orders (id INT UNSIGNED PRIMARY KEY, note VARCHAR(80) CHARACTER SET latin1,"
        " state ENUM('new','paid'))",
        provenance=provenance,
    )
    resolved = resolve_columns(table_map(LONG, VARCHAR_80, column(ColumnType.ENUM, 1)), definition)
    number, note, state = resolved.columns
    assert names(resolved) == ["id", "note", "state"]
    assert resolved.primary_key == ("id",)
    assert resolved.definition is definition
    assert (number.type.kind, note.type.charset, state.type.members) == (
        Kind.UINT32,
        "latin1",
        ("new", "paid"),
    )
    assert number.mysql_type == "int unsigned"
    assert {
        number.provenance.name,
        number.provenance.signedness,
        note.provenance.charset,
        state.provenance.members,
        number.provenance.key,
    } == {provenance}


def test_metadata_goes_before_ddl_fact_by_fact() -> None:
    definition = defined("CREATE TABLE orders (id INT UNSIGNED, note VARCHAR(80) CHARACTER SET latin1)")
    stored = table_map(LONG._replace(unsigned=True), VARCHAR_80._replace(collation=LATIN1))
    resolved = resolve_columns(stored, definition)
    number, note = resolved.columns
    assert number.provenance.name is Provenance.DDL
    assert number.provenance.signedness is Provenance.METADATA
    assert note.provenance.charset is Provenance.METADATA


def test_full_metadata_needs_no_ddl() -> None:
    stored = table_map(
        column(ColumnType.LONGLONG, name="id", unsigned=True, primary_key=0, nullable=False, visible=False),
        column(ColumnType.VARCHAR, 80, name="note", collation=UTF8MB4, visible=True),
        column(ColumnType.STRING, 16, name="hash", collation=BINARY),
        column(ColumnType.ENUM, 1, name="état", collation=LATIN1, members=(b"pay\xe9",)),
        key=True,
    )
    resolved = resolve_columns(stored, None)
    number, note, fixed, state = resolved.columns
    assert names(resolved) == ["id", "note", "hash", "état"]
    assert resolved.primary_key == ("id",)
    assert number.invisible
    assert (number.mysql_type, note.mysql_type, fixed.mysql_type) == (
        "bigint unsigned",
        "varchar(20)",
        "binary(16)",
    )
    assert fixed.type.padded_length == 16
    assert state.type.members == ("payé",)
    assert state.provenance.members is Provenance.METADATA


def test_full_metadata_without_a_key_says_that_there_is_none() -> None:
    definition = defined("CREATE TABLE orders (id INT PRIMARY KEY)")
    resolved = resolve_columns(table_map(LONG._replace(name="id", unsigned=False)), definition)
    assert resolved.primary_key == ()
    assert resolved.columns[0].provenance.key is Provenance.METADATA


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("CREATE TABLE orders (id INT)", "1 columns, its rows have 2"),
        ("CREATE TABLE orders (id INT, note VARCHAR(20), more INT)", "3 columns, its rows have 2"),
        ("CREATE TABLE orders (id BIGINT, note VARCHAR(20))", "column 1 is defined as id bigint"),
        ("CREATE TABLE orders (note VARCHAR(20), id INT)", "column 1 is defined as note varchar"),
        (
            "CREATE TABLE orders (id INT, note VARCHAR(30) CHARACTER SET latin1)",
            "column 2 is defined as note",
        ),
        ("CREATE TABLE orders (id INT) SELECT 1 AS note", "come from a query"),
    ],
)
def test_a_definition_that_does_not_fit_the_rows_is_not_used_and_a_warning_says_why(
    sql: str, reason: str
) -> None:
    resolved = resolve_columns(table_map(LONG, VARCHAR_80), defined(sql))
    assert names(resolved) == ["c1", "c2"]
    assert resolved.definition is None
    (warning,) = resolved.warnings
    assert reason in warning
    assert "shop.orders" in warning


@pytest.mark.parametrize(
    ("stored", "sql_type", "fits"),
    [
        (column(ColumnType.NEWDECIMAL, 10 << 8 | 2), "DECIMAL(10,2)", True),
        (column(ColumnType.NEWDECIMAL, 10 << 8 | 3), "DECIMAL(10,2)", False),
        (column(ColumnType.DATETIME2, 3), "DATETIME(3)", True),
        (column(ColumnType.DATETIME2, 0), "DATETIME(3)", False),
        (column(ColumnType.DATETIME), "DATETIME", True),
        (column(ColumnType.BIT, 12), "BIT(12)", True),
        (column(ColumnType.BIT, 12), "BIT(13)", False),
        (column(ColumnType.BLOB, 3), "MEDIUMTEXT CHARACTER SET latin1", True),
        (column(ColumnType.BLOB, 3), "TEXT CHARACTER SET latin1", False),
        (column(ColumnType.BLOB, 2), "VARCHAR(10)", False),
        (column(ColumnType.STRING, 40), "CHAR(10) CHARACTER SET utf8mb4", True),
        (column(ColumnType.STRING, 30), "CHAR(10) CHARACTER SET utf8mb4", False),
        (column(ColumnType.STRING, 30), "CHAR(10)", True),
        (column(ColumnType.ENUM, 1), "ENUM('a')", True),
        (column(ColumnType.ENUM, 2), "ENUM('a')", False),
        (column(ColumnType.SET, 8), f"SET({','.join(repr(str(n)) for n in range(40))})", True),
        (column(ColumnType.SET, 1), f"SET({','.join(repr(str(n)) for n in range(40))})", False),
        (column(ColumnType.LONG, unsigned=True), "INT", False),
        (column(ColumnType.GEOMETRY, 4), "POINT", True),
        (column(ColumnType.JSON, 4), "JSON", True),
        (column(ColumnType.VECTOR, 4, dimensionality=3), "VECTOR(3)", True),
        (column(ColumnType.YEAR), "YEAR", True),
        (column(ColumnType.FLOAT, 4), "FLOAT(30)", False),
        (column(ColumnType.DOUBLE, 8), "FLOAT(30)", True),
    ],
)
def test_a_definition_fits_by_type_size_and_sign(stored: Column, sql_type: str, fits: bool) -> None:
    resolved = resolve_columns(table_map(stored), defined(f"CREATE TABLE orders (a {sql_type})"))
    assert (names(resolved) == ["a"]) is fits


def test_mariadb_types_are_known_from_ddl_alone() -> None:
    definition = defined("CREATE TABLE orders (a UUID, b INET6, c INET4)", mariadb=True)
    stored = table_map(
        column(ColumnType.STRING, 16), column(ColumnType.STRING, 16), column(ColumnType.STRING, 4)
    )
    resolved = resolve_columns(stored, definition, Flavour.MARIADB)
    assert [column.type.kind for column in resolved.columns] == [Kind.UUID, Kind.INET6, Kind.INET4]


def test_the_hidden_hashes_of_mariadbs_long_unique_keys_are_not_taken_for_a_mismatch() -> None:
    # mariadb-binlog --print-table-metadata: `a` BLOB, `b` INT, `DB_ROW_HASH_1` BIGINT UNSIGNED.
    definition = defined("CREATE TABLE orders (a BLOB UNIQUE, b INT)", mariadb=True)
    stored = table_map(column(ColumnType.BLOB, 2), LONG, column(ColumnType.LONGLONG))
    resolved = resolve_columns(stored, definition, Flavour.MARIADB)
    assert names(resolved) == ["a", "b", "DB_ROW_HASH_1"]
    assert "hidden hash columns" in resolved.warnings[0]
    assert names(resolve_columns(stored, definition, Flavour.MYSQL)) == ["c1", "c2", "c3"]


def test_fractions_that_mariadbs_table_map_does_not_name_are_known_from_ddl() -> None:
    definition = defined("CREATE TABLE orders (a INT, b TIMESTAMP(2))", mariadb=True)
    stored = table_map(LONG, column(ColumnType.TIMESTAMP))
    assert resolve_columns(stored, definition, Flavour.MARIADB).columns[1].type.fraction == 2


def test_a_type_that_no_row_holds_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match=r"INVALID \(243\)"):
        resolve_columns(table_map(column(ColumnType.INVALID)), None)


def test_names_like_system_columns_and_names_equal_up_to_case_are_changed() -> None:
    names = ["id", "_row", "_row_count", "_ROW", "ID", "Id", "_rows_", "row"]
    assert output_names(names) == ["id", "_row_", "_row_count_", "_ROW__2", "ID_2", "Id_3", "_rows__", "row"]


def test_a_schema_record_holds_every_fact_and_where_it_is_from() -> None:
    definition = defined("CREATE TABLE orders (`_row` INT UNSIGNED PRIMARY KEY, state ENUM('new'))")
    resolved = resolve_columns(table_map(LONG, column(ColumnType.ENUM, 1)), definition)
    records = ColumnRecords(resolved.columns, DEFAULT_ARROW_OPTIONS)
    record = json.loads(records.schema_record(resolved, 4294967300))
    assert record["valid_from"] == 4294967300
    assert record["ddl"] == definition.ddl
    assert record["primary_key"] == ["_row_"]
    number, state = record["columns"]
    assert (number["name"], number["source_name"]) == ("_row_", "_row")
    assert (number["mysql_type"], number["arrow_type"], number["unsigned"]) == ("int unsigned", "int64", True)
    assert state["members"] == ["new"]
    assert state["unsigned"] is None
    assert state["provenance"] == {
        "name": "ddl",
        "signedness": None,
        "charset": "none",
        "members": "ddl",
        "key": "ddl",
    }


def test_an_avro_schema_has_names_that_avro_allows_and_keeps_the_real_ones() -> None:
    definition = defined("CREATE TABLE orders (`größe €` INT, `1st` POINT)")
    resolved = resolve_columns(table_map(LONG, column(ColumnType.GEOMETRY, 4)), definition)
    records = ColumnRecords(resolved.columns, DEFAULT_ARROW_OPTIONS)
    size, geometry = json.loads(records.avro_schema(resolved))["fields"]
    assert size["name"] == "gr_xf6__xdf_e_x20__x20ac_"
    assert size["mysql_name"] == "größe €"
    assert size["type"] == ["null", "int"]
    assert geometry["name"] == "_1st"
    assert geometry["type"][1]["name"] == "_1st_geometry"


@pytest.mark.parametrize(
    ("logged", "differing"),
    [
        (("id", "note"), None),
        (("ID", "note"), None),
        (("my_row_id", "id", "note"), None),
        (("id", "note", "DB_ROW_HASH_1"), None),
        (("id", "note", "added"), "added"),
        (("id",), "note"),
        (("id", "renamed"), "note, renamed"),
    ],
)
def test_rows_with_other_columns_than_their_definition_are_warned_of(
    logged: tuple[str, ...], differing: str | None
) -> None:
    definition = defined("CREATE TABLE orders (id INT, note INT)")
    columns = (column(ColumnType.LONG, name=name) for name in logged)
    warnings = resolve_columns(table_map(*columns), definition).warnings
    assert len(warnings) == (differing is not None)
    assert all(f"only one has {differing})" in warning for warning in warnings)


def test_metadata_of_an_unknown_type_is_warned_of_once() -> None:
    known = table_map(LONG)._replace(unknown_metadata=((99, b"a"), (99, b"b")))
    (warning,) = resolve_columns(known, None).warnings
    assert "metadata of type 99" in warning


SETS = (
    "armscii8", "ascii", "big5", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866", "cp932",
    "dec8", "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "geostd8", "greek", "hebrew", "hp8", "koi8r",
    "koi8u", "latin1", "latin2", "latin5", "latin7", "macce", "macroman", "sjis", "swe7", "tis620", "ucs2",
    "ujis", "utf16", "utf16le", "utf32", "utf8mb3", "utf8mb4",
)  # fmt: skip
DICE = random.Random(19)


def known(name: str) -> Charset:
    named = charset(name)
    assert named is not None
    return named


def view(buffer: Any) -> memoryview:
    return memoryview(buffer).cast("B")


def text_column(name: str, values: Sequence[bytes | None]) -> tuple[list[str | None], int]:
    """The values as a column of the set has them, and how many have bytes that are no text."""
    made = ColumnArrays(LogicalType(Kind.TEXT, "varchar", charset=name), DEFAULT_ARROW_OPTIONS)
    array = pa.array(values, pa.binary())
    validity, offsets, data = array.buffers()
    column = made.column(
        ColumnBuffers(view(offsets), view(data or b""), None, validity, array.null_count), len(array)
    )
    text = column if isinstance(column, pa.Array) else column.array(pa.string(), len(array))
    text.validate(full=True)
    return text.to_pylist(), made.undecodable


def expected(name: str, values: Sequence[bytes | None]) -> tuple[list[str | None], int]:
    charset = known(name)
    undecodable = sum(value is not None and charset.decode_strictly(value) is None for value in values)
    return [None if value is None else charset.decode(value) for value in values], undecodable


def texts(name: str) -> list[bytes]:
    """Values of all that a set has, each as the set writes it."""
    charset = known(name)
    characters = [chr(number) for number in range(1, 0x3100) if charset.storable(chr(number)) == chr(number)]
    return [charset.encode("".join(DICE.choices(characters, k=DICE.randrange(30)))) for _ in range(300)]


@pytest.mark.parametrize("name", SETS)
def test_text_is_what_each_value_is(name: str) -> None:
    values: list[bytes | None] = [*texts(name), b"", None, known(name).encode("plain"), None]
    assert text_column(name, values) == expected(name, values)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("alone", [True, False])
def test_bytes_that_are_no_text_are_escaped_and_counted(name: str, alone: bool) -> None:
    values: list[bytes | None] = [DICE.randbytes(DICE.randrange(12)) for _ in range(200)]
    if not alone:
        values += texts(name)
        DICE.shuffle(values)
    assert text_column(name, values) == expected(name, values)


@pytest.mark.parametrize(
    "values",
    [
        (b"a\0b", b"\0", b"", b"\0\0", b"c"),
        (b"\0a\0", b"\0c", b"\0\0d", b"\0"),
        (b"abc\x88", b"def", b"\xb0", b"\xa1\xa1", b"x"),
    ],
    ids=["zeros", "halves of characters", "lead bytes at the end"],
)
def test_no_value_changes_those_after_it(values: tuple[bytes, ...]) -> None:
    for name in SETS:
        assert text_column(name, values) == expected(name, values), name


@pytest.mark.parametrize("name", ["cp1250", "gbk", "ujis", "utf16", "utf8mb4"])
def test_a_column_of_many_megabytes_is_what_each_value_is(name: str) -> None:
    some: list[bytes | None] = [*texts(name), None, b"\x01", b""]
    long = known(name).encode("long " * 300_000)
    values = [*some * 120, long, None, b"\x81", long, *some * 30]
    assert sum(map(len, filter(None, values))) > 3_000_000
    assert text_column(name, values) == expected(name, values)


def test_every_byte_of_a_set_of_single_bytes() -> None:
    for name in SETS:
        if known(name).max_bytes == 1:
            values: list[bytes | None] = [bytes((byte,)) for byte in range(256)]
            assert text_column(name, values) == expected(name, values), name


def test_ascii_is_the_same_in_most_sets() -> None:
    without_ascii = {name for name in SETS if not keeps_ascii(known(name))}
    assert without_ascii == {"swe7", "ucs2", "utf16", "utf16le", "utf32"}
