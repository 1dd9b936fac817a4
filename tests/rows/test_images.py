"""Images of all columns are decoded in short ways, those that lack some value by value; both say the same."""

from __future__ import annotations

import struct
from typing import NamedTuple

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from binx.errors import BinxError
from binx.event.column import ColumnType
from binx.kernels.walk.scan import Level
from binx.log.file import BinlogFile
from binx.rows.batches import ChangeBatch
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import ChangeDecoder
from tests.log import building
from tests.log.memory import Bytes

_TABLE_ID = (9).to_bytes(6, "little")


class Column(NamedTuple):
    """A column of a table map; its values take ``width`` bytes, or up to so many behind a size."""

    defined: str
    number: ColumnType
    metadata: bytes
    width: int
    prefix: int = 0


def _decimal_width(precision: int, scale: int) -> int:
    sizes = (0, 1, 1, 2, 2, 3, 3, 4, 4)
    whole = precision - scale
    return whole // 9 * 4 + sizes[whole % 9] + scale // 9 * 4 + sizes[scale % 9]


COLUMNS = [
    *(
        Column(f"{name}{sign}", number, b"", width)
        for name, number, width in (
            ("TINYINT", ColumnType.TINY, 1),
            ("SMALLINT", ColumnType.SHORT, 2),
            ("MEDIUMINT", ColumnType.INT24, 3),
            ("INT", ColumnType.LONG, 4),
            ("BIGINT", ColumnType.LONGLONG, 8),
        )
        for sign in ("", " UNSIGNED")
    ),
    Column("FLOAT", ColumnType.FLOAT, b"\x04", 4),
    Column("DOUBLE", ColumnType.DOUBLE, b"\x08", 8),
    Column("YEAR", ColumnType.YEAR, b"", 1),
    Column("DATE", ColumnType.DATE, b"", 3),
    *(Column(f"DATETIME({n})", ColumnType.DATETIME2, bytes([n]), 5 + (n + 1) // 2) for n in range(7)),
    *(Column(f"TIMESTAMP({n})", ColumnType.TIMESTAMP2, bytes([n]), 4 + (n + 1) // 2) for n in range(7)),
    *(Column(f"TIME({n})", ColumnType.TIME2, bytes([n]), 3 + (n + 1) // 2) for n in range(7)),
    *(
        Column(f"DECIMAL({p},{s})", ColumnType.NEWDECIMAL, bytes([p, s]), _decimal_width(p, s))
        for p, s in (
            (1, 0),
            (1, 1),
            (5, 2),
            (9, 0),
            (9, 9),
            (10, 2),
            (12, 2),
            (14, 12),
            (18, 0),
            (18, 9),
            (18, 4),
            (38, 10),
            (65, 30),
        )
    ),
    Column("ENUM('a','b')", ColumnType.STRING, bytes([ColumnType.ENUM, 1]), 1),
    Column("SET('a','b','c')", ColumnType.STRING, bytes([ColumnType.SET, 1]), 1),
    Column("BIT(9)", ColumnType.BIT, b"\x01\x01", 2),
    Column("VARCHAR(50)", ColumnType.VARCHAR, struct.pack("<H", 200), 50, 1),
    Column("VARBINARY(400)", ColumnType.VARCHAR, struct.pack("<H", 400), 400, 2),
    Column("BLOB", ColumnType.BLOB, b"\x02", 300, 2),
]


@st.composite
def values(draw: st.DrawFn) -> tuple[Column, list[bytes]]:
    """A column, and values of it as they stand in a row image, such as no server writes too."""
    column = draw(st.sampled_from(COLUMNS))
    if not column.prefix:
        return column, draw(
            st.lists(st.binary(min_size=column.width, max_size=column.width), min_size=1, max_size=5)
        )
    texts = draw(st.lists(st.binary(max_size=column.width), min_size=1, max_size=5))
    return column, [len(text).to_bytes(column.prefix, "little") + text for text in texts]


def decoded(column: Column, written: list[bytes], *, lacks_one: bool) -> list[object] | str:
    """What rows of the column and an INT behind it hold, or what is wrong with them."""
    described = bytes([2, column.number, ColumnType.LONG, len(column.metadata)]) + column.metadata + b"\x03"
    table_map = building.event(19, _TABLE_ID + b"\0\0\x04shop\0\x06images\0" + described)
    filler = b"" if lacks_one else struct.pack("<i", 7)
    body = b"".join(b"\0" + value + filler for value in written)
    present = b"\x01" if lacks_one else b"\x03"
    rows = building.event(30, _TABLE_ID + struct.pack("<HH", 1, 2) + b"\x02" + present + body)
    create = building.query(f"CREATE TABLE images (v {column.defined}, filler INT)")
    log = building.whole_log(
        building.gtid(1), create, building.gtid(2), building.BEGIN, table_map, rows, building.xid()
    )
    try:
        with BinlogFile(Bytes(log)) as file:
            decoder = ChangeDecoder(file, Catalog())
            items: list[object] = []
            for table in file.scan(Level.LEVEL_TABLES):
                items += decoder.decode(table, table.mask())
            items += decoder.finish()
    except BinxError as error:
        return error.message
    batches = [item.batch for item in items if isinstance(item, ChangeBatch)]
    found: list[object] = []
    for name in ("v", "_misfits"):
        found += [_bits(batch.column(name)) for batch in batches if name in batch.schema.names]
    return found


def _bits(array: pa.Array) -> object:
    # As text: a value of FLOAT that is no number is not equal to itself.
    return (
        [repr(value) for value in array.to_pylist()]
        if pa.types.is_floating(array.type)
        else array.to_pylist()
    )


@given(values())
def test_an_image_of_all_columns_says_what_one_that_lacks_a_column_says(
    case: tuple[Column, list[bytes]],
) -> None:
    column, written = case
    assert decoded(column, written, lacks_one=False) == decoded(column, written, lacks_one=True)
