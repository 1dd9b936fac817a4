"""Tables as rows events have them."""

from __future__ import annotations

from pathlib import Path

import pytest

from binx.errors import DamagedError
from binx.event.collation import collation_name
from binx.event.column import Column, ColumnType
from binx.event.format import FormatDescription
from binx.event.parsers import parse_event
from binx.event.table_map import TableMap
from tests.event import samples
from tests.event.reading import MARIADB, MYSQL, events_of, read, split

MYSQL_COLUMNS = """
    y YEAR unsigned
    ti TINY unsigned
    si SHORT signed
    mi INT24 unsigned
    i LONG signed
    bi LONGLONG unsigned
    f FLOAT unsigned
    d DOUBLE signed
    de NEWDECIMAL unsigned
    b BIT
    c STRING latin1_swedish_ci
    vc VARCHAR utf8mb4_0900_ai_ci
    bin STRING binary
    vb VARCHAR binary
    t BLOB utf8mb3_general_ci
    bl BLOB binary
    e ENUM utf8mb4_0900_ai_ci
    s SET latin1_swedish_ci
    j JSON
    g GEOMETRY
    p GEOMETRY
    v VECTOR binary
    dt DATETIME2
    ts TIMESTAMP2
    tm TIME2
    da DATE
    hidden LONG unsigned
    longc STRING utf8mb4_0900_ai_ci
    tb BLOB binary
    mt BLOB utf8mb4_0900_ai_ci
    id LONG signed
    id2 VARCHAR utf8mb4_0900_ai_ci
"""
"""As mysqlbinlog --print-table-metadata says it (it leaves out YEAR's sign and VECTOR's collation)."""

MARIADB_COLUMNS = """
    y YEAR unsigned
    ti TINY unsigned
    si SHORT signed
    mi INT24 unsigned
    i LONG signed
    bi LONGLONG unsigned
    f FLOAT unsigned
    d DOUBLE signed
    de NEWDECIMAL unsigned
    b BIT
    c STRING latin1_swedish_ci
    vc VARCHAR latin1_swedish_ci
    bin STRING binary
    vb VARCHAR binary
    t BLOB utf8mb3_general_ci
    bl BLOB binary
    e ENUM latin1_swedish_ci
    s SET latin1_swedish_ci
    j BLOB utf8mb4_bin
    g GEOMETRY binary
    p GEOMETRY binary
    dt DATETIME2
    ts TIMESTAMP2
    tm TIME2
    da DATE
    hidden LONG unsigned
    longc STRING utf8mb4_general_ci
    tb BLOB binary
    mt BLOB latin1_swedish_ci
    i4 STRING binary
    i6 STRING binary
    u STRING binary
    cvc MARIADB_VARCHAR_COMPRESSED latin1_swedish_ci
    cb MARIADB_BLOB_COMPRESSED binary
    ct MARIADB_BLOB_COMPRESSED latin1_swedish_ci
    id LONG signed
    id2 VARCHAR latin1_swedish_ci
"""
"""As CREATE TABLE says it; mariadb-binlog forgets that YEAR has a sign and shows those after it wrong."""


def table(event: bytes, description: FormatDescription = MYSQL) -> TableMap:
    table_map = read(event, description)
    assert isinstance(table_map, TableMap)
    return table_map


def column(table_map: TableMap, name: str) -> Column:
    return next(column for column in table_map.columns if column.name == name)


def described(table_map: TableMap) -> list[str]:
    lines = []
    for item in table_map.columns:
        words = [str(item.name), item.type.name]
        if item.unsigned is not None:
            words.append("unsigned" if item.unsigned else "signed")
        if item.collation is not None:
            words.append(str(collation_name(item.collation)))
        lines.append(" ".join(words))
    return lines


def test_mysqls_columns_are_those_that_mysqlbinlog_prints() -> None:
    table_map = table(samples.TABLE_MAP_EVERYTHING)
    assert (table_map.name, table_map.table_id) == ("shop.everything", 163)
    assert described(table_map) == [line.strip() for line in MYSQL_COLUMNS.strip().splitlines()]
    assert table_map.has_metadata
    assert table_map.unknown_metadata == ()


def test_mariadbs_columns_are_those_that_were_created() -> None:
    table_map = table(samples.MARIADB_TABLE_MAP_EVERYTHING, MARIADB)
    assert described(table_map) == [line.strip() for line in MARIADB_COLUMNS.strip().splitlines()]


@pytest.mark.parametrize(
    ("event", "description"),
    [(samples.TABLE_MAP_EVERYTHING, MYSQL), (samples.MARIADB_TABLE_MAP_EVERYTHING, MARIADB)],
)
def test_keys_members_and_kinds_belong_to_their_columns(event: bytes, description: FormatDescription) -> None:
    """PRIMARY KEY (id2(10), id); ENUM('a', 'b', 'ç'); SET('x', 'y'); GEOMETRY; POINT."""
    table_map = table(event, description)
    assert table_map.has_primary_key
    keys = {item.name: item.primary_key for item in table_map.columns if item.primary_key is not None}
    assert keys == {"id2": 0, "id": 1}
    cedilla = "ç".encode("latin-1" if description is MARIADB else "utf-8")
    assert column(table_map, "e").members == (b"a", b"b", cedilla)
    assert column(table_map, "s").members == (b"x", b"y")
    assert column(table_map, "g").geometry_type == 0
    assert column(table_map, "p").geometry_type == 1
    assert [item.name for item in table_map.columns if not item.nullable] == ["id", "id2"]


@pytest.mark.parametrize(
    ("name", "metadata"),
    [
        ("f", 4),
        ("d", 8),
        ("de", 10 << 8 | 3),
        ("b", 11),
        ("c", 10),
        ("vc", 300 * 4),
        ("bin", 7),
        ("t", 2),
        ("bl", 4),
        ("mt", 3),
        ("tb", 1),
        ("e", 1),
        ("s", 1),
        ("j", 4),
        ("g", 4),
        ("v", 4),
        ("dt", 3),
        ("ts", 6),
        ("tm", 2),
        ("da", 0),
        ("longc", 255 * 4),
        ("id", 0),
    ],
)
def test_sizes_are_those_of_the_definition(name: str, metadata: int) -> None:
    assert column(table(samples.TABLE_MAP_EVERYTHING), name).metadata == metadata


def test_mysql_says_which_columns_are_hidden_and_how_long_vectors_are() -> None:
    table_map = table(samples.TABLE_MAP_EVERYTHING)
    assert [item.name for item in table_map.columns if not item.visible] == ["hidden"]
    assert column(table_map, "v").dimensionality == 3
    assert column(table(samples.MARIADB_TABLE_MAP_EVERYTHING, MARIADB), "hidden").visible is None


def test_a_vector_counts_among_the_character_columns() -> None:
    table_map = table(samples.TABLE_MAP_VECTOR)
    assert [collation_name(item.collation or 0) for item in table_map.columns] == [
        "binary",
        "latin1_swedish_ci",
        "utf8mb4_0900_ai_ci",
        "ascii_general_ci",
    ]


def test_long_types_have_their_real_type_and_size() -> None:
    table_map = table(samples.TABLE_MAP_LONG_TYPES)
    assert [(item.type, item.metadata) for item in table_map.columns] == [
        (ColumnType.ENUM, 1),
        (ColumnType.SET, 2),
        (ColumnType.STRING, 800),
        (ColumnType.BIT, 64),
        (ColumnType.BIT, 1),
        (ColumnType.NEWDECIMAL, 65 << 8 | 30),
    ]
    assert [len(item.members or ()) for item in table_map.columns[:2]] == [2, 9]
    assert table_map.column_types[:2] == bytes([ColumnType.STRING, ColumnType.STRING])


def test_an_unknown_metadata_field_is_kept() -> None:
    header, body = split(samples.TABLE_MAP_VECTOR)
    table_map = parse_event(memoryview(bytes(body) + b"\x63\x02hi"), header, MYSQL)
    assert isinstance(table_map, TableMap)
    assert table_map.unknown_metadata == ((99, b"hi"),)
    assert table_map.columns == table(samples.TABLE_MAP_VECTOR).columns


def test_a_type_that_does_not_exist_is_damage() -> None:
    event = samples.TABLE_MAP_LONG_TYPES.replace(
        bytes.fromhex("06fefefe1010f6"), bytes.fromhex("06fefefe1064f6")
    )
    with pytest.raises(DamagedError, match="expected the number of a column type, found 100"):
        table(event)


def test_more_columns_than_a_table_can_have_are_damage() -> None:
    header, body = split(samples.TABLE_MAP_VECTOR)
    start = bytes(body).index(b"kv\x00") + 3
    changed = bytes(body[:start]) + b"\xfc\x01\x10" + bytes(body[start + 1 :])
    with pytest.raises(DamagedError, match="at most 4096 columns, found 4097"):
        parse_event(memoryview(changed), header, MYSQL)


def test_a_key_outside_the_table_is_damage() -> None:
    header, body = split(samples.TABLE_MAP_VECTOR)
    with pytest.raises(DamagedError, match="expected a primary key within 4 columns, found column 9"):
        parse_event(memoryview(bytes(body) + b"\x08\x01\x09"), header, MYSQL)


def test_servers_before_5_1_18_say_no_sizes(corpus: Path) -> None:
    path = corpus / "5.1.17-beta-debug-log-0f9095.binlog"
    maps = [
        parse_event(body, header, description)
        for header, body, description in events_of(path)
        if header.name == "TABLE_MAP"
    ]
    first = maps[0]
    assert isinstance(first, TableMap)
    assert (first.name, first.column_types) == ("test.t1", bytes([3, 254]))
    assert not first.has_metadata
