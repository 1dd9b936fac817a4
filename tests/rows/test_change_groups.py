"""Row images: layouts, columns that are absent, and decimals."""

from __future__ import annotations

import decimal
import struct
from contextlib import suppress
from typing import NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.errors import BinxError, DamagedError
from binx.event.column import ColumnType
from binx.kernels.rows.layouts import unknown_column
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.scan import Scan
from binx.rows.batches import ChangeBatch
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import ChangeDecoder
from tests.log import building
from tests.log.searching import Bytes

_TABLE_ID = (9).to_bytes(6, "little")


class Column(NamedTuple):
    """A column of a table map; its values take ``width`` bytes, or up to so many after a size."""

    defined: str
    number: ColumnType
    metadata: bytes
    width: int
    prefix: int = 0


def _decimal_width(precision: int, scale: int) -> int:
    sizes = (0, 1, 1, 2, 2, 3, 3, 4, 4)
    before_point = precision - scale
    return before_point // 9 * 4 + sizes[before_point % 9] + scale // 9 * 4 + sizes[scale % 9]


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
    """What rows of the column and an INT after it hold, or what is wrong with them."""
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
            for table in Scan(file, Level.LEVEL_TABLES):
                items += decoder.decode(table, table.mask())
            items += decoder.finish()
    except BinxError as error:
        return error.message
    batches = [item.batch for item in items if isinstance(item, ChangeBatch)]
    values: list[object] = []
    for name in ("v", "_misfits"):
        values += [_bits(batch.column(name)) for batch in batches if name in batch.schema.names]
    return values


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


_DECIMALS_ID = bytes([9, 0, 0, 0, 0, 0]) + struct.pack("<H", 1)
_LOG = building.NO_CHECKSUM.read_bytes()[: BinlogFile.open(str(building.NO_CHECKSUM)).first_position]

LEFT_OVER = (0, 1, 1, 2, 2, 3, 3, 4, 4)
shapes = st.integers(1, 65).flatmap(
    lambda precision: st.tuples(st.just(precision), st.integers(0, min(precision, 38)))
)


def encoded(digits: str, scale: int, negative: bool) -> bytes:
    """The bytes of a number given by all its digits, as the comment above decimal2bin describes them."""
    integer, fraction = digits[: len(digits) - scale], digits[len(digits) - scale :]
    first = len(integer) % 9
    groups = [integer[:first], *(integer[i : i + 9] for i in range(first, len(integer), 9))]
    groups += [fraction[i : i + 9] for i in range(0, len(fraction), 9)]
    data = bytearray(
        b"".join(int(g).to_bytes(4 if len(g) == 9 else LEFT_OVER[len(g)], "big") for g in groups if g)
    )
    data[0] ^= 0x80
    return bytes(byte ^ 0xFF for byte in data) if negative else bytes(data)


def decoded_decimals(stored: bytes, precision: int, scale: int) -> decimal.Decimal | str:
    """What the one value of a column is read as: text from 39 digits on."""
    described = _DECIMALS_ID + b"\x04shop\0\x06orders\0\x01\xf6\x02" + bytes([precision, scale]) + b"\x01"
    inserted = _DECIMALS_ID + struct.pack("<H", 2) + b"\x01\x01" + b"\x00" + stored
    events = (building.BEGIN, building.event(19, described), building.event(30, inserted), building.xid())
    file = BinlogFile(Bytes(_LOG + b"".join(events)))
    decoder = ChangeDecoder(file, Catalog())
    (table,) = Scan(file, Level.LEVEL_TABLES, verify=False)
    batches = [*decoder.decode(table, table.mask()), *decoder.finish()]
    (batch,) = (item.batch for item in batches if isinstance(item, ChangeBatch))
    value: decimal.Decimal | str = batch.columns[-1][0].as_py()
    return value


@pytest.mark.parametrize(
    ("data", "text"), [("810DFB38D204D2", "1234567890.1234"), ("7EF204C72DFB2D", "-1234567890.1234")]
)
def test_the_examples_in_the_server_s_source_read_as_it_says(data: str, text: str) -> None:
    assert decoded_decimals(bytes.fromhex(data), 14, 4) == decimal.Decimal(text)


@given(st.data(), shapes, st.booleans())
def test_a_value_is_that_of_its_digits(data: st.DataObject, shape: tuple[int, int], negative: bool) -> None:
    precision, scale = shape
    digits = data.draw(st.text("0123456789", min_size=precision, max_size=precision))
    negative = negative and int(digits) != 0
    stored = encoded(digits, scale, negative)
    with decimal.localcontext(prec=70):
        value = decimal.Decimal(f"{'-' if negative else ''}{digits}e-{scale}")
        text = format(value, f".{scale}f")
        assert decoded_decimals(stored, precision, scale) == (value if precision <= 38 else text)


def test_mariadb_s_fractions_of_38_digits_are_read() -> None:
    """MySQL's have 30 at most (MariaDB's sql/sql_const.h, DECIMAL_MAX_SCALE)."""
    digits = "12345" + "678900000" * 3 + "1" * 33
    assert decoded_decimals(encoded(digits, 38, True), 65, 38) == f"-{digits[:27]}.{digits[27:]}"


@pytest.mark.parametrize(("precision", "scale"), [(1, 0), (9, 0), (9, 9), (10, 5), (38, 10), (65, 30)])
def test_too_few_bytes_are_damage(precision: int, scale: int) -> None:
    for size in range(len(encoded("0" * precision, scale, False))):
        with pytest.raises(DamagedError, match="more bytes"):
            decoded_decimals(b"\x80" * size, precision, scale)


@pytest.mark.parametrize(("precision", "scale"), [(0, 0), (5, 6), (82, 0), (255, 255)])
def test_a_precision_or_scale_that_cannot_be_is_damage(precision: int, scale: int) -> None:
    with pytest.raises(DamagedError, match="DECIMAL"):
        decoded_decimals(bytes(200), precision, scale)


@pytest.mark.parametrize(
    ("data", "precision"), [(b"\xbb\x9a\xca\x00", 9), (b"\xff\xff\xff\xff", 9), (b"\x8a", 1), (b"\xe4", 2)]
)
def test_a_group_of_more_digits_than_it_can_have_is_damage(data: bytes, precision: int) -> None:
    with pytest.raises(DamagedError, match="decimal digits"):
        decoded_decimals(data, precision, 0)


@given(st.binary(max_size=40), st.integers(0, 90), st.integers(0, 90))
def test_any_bytes_give_a_number_or_an_error(data: bytes, precision: int, scale: int) -> None:
    with suppress(BinxError):
        decoded_decimals(data, precision, scale)


STRING, ENUM, SET = 254, 247, 248


def body(kind: int, *metadata: int) -> bytes:
    """A table map's body of ``shop.t`` with one column, after table id and flags."""
    return b"\x04shop\0\x01t\0" + bytes([1, kind, len(metadata), *metadata]) + b"\0"


@pytest.mark.parametrize("column", [(STRING, ENUM, 1), (STRING, ENUM, 2), (STRING, SET, 8), (ENUM, ENUM, 2)])
def test_members_have_the_bytes_that_servers_give_them(column: tuple[int, ...]) -> None:
    assert unknown_column(body(*column)) is None


@pytest.mark.parametrize(
    "column",
    [(STRING, ENUM, 0), (STRING, ENUM, 3), (STRING, SET, 9), (ENUM, ENUM, 3), (ENUM, ENUM, 8), (SET, SET, 0)],
)
def test_other_widths_of_members_are_damage(column: tuple[int, ...]) -> None:
    with pytest.raises(DamagedError, match="expected an ENUM of 1 or 2 or a SET of 1 to 8 bytes"):
        unknown_column(body(*column))
