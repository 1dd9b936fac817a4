"""MySQL's binary DECIMAL in row images against its published examples and Python's decimal."""

import decimal
import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.errors import BinxError, DamagedError
from binx.kernels.walk.scan import Level
from binx.log.file import BinlogFile
from binx.rows.batches import ChangeBatch
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import ChangeDecoder
from tests.log import building
from tests.log.memory import Bytes

_TABLE_ID = bytes([9, 0, 0, 0, 0, 0]) + struct.pack("<H", 1)
_LOG = building.NO_CHECKSUM.read_bytes()[: BinlogFile.open(str(building.NO_CHECKSUM)).first_position]

LEFT_OVER = (0, 1, 1, 2, 2, 3, 3, 4, 4)
shapes = st.integers(1, 65).flatmap(
    lambda precision: st.tuples(st.just(precision), st.integers(0, min(precision, 38)))
)


def encoded(digits: str, scale: int, negative: bool) -> bytes:
    """The bytes of a number given by all its digits, as the comment above decimal2bin describes them."""
    whole, fraction = digits[: len(digits) - scale], digits[len(digits) - scale :]
    first = len(whole) % 9
    groups = [whole[:first], *(whole[i : i + 9] for i in range(first, len(whole), 9))]
    groups += [fraction[i : i + 9] for i in range(0, len(fraction), 9)]
    data = bytearray(
        b"".join(int(g).to_bytes(4 if len(g) == 9 else LEFT_OVER[len(g)], "big") for g in groups if g)
    )
    data[0] ^= 0x80
    return bytes(byte ^ 0xFF for byte in data) if negative else bytes(data)


def decoded(stored: bytes, precision: int, scale: int) -> decimal.Decimal | str:
    """What the one value of a column is read as: text from 39 digits on."""
    described = _TABLE_ID + b"\x04shop\0\x06orders\0\x01\xf6\x02" + bytes([precision, scale]) + b"\x01"
    inserted = _TABLE_ID + struct.pack("<H", 2) + b"\x01\x01" + b"\x00" + stored
    events = (building.BEGIN, building.event(19, described), building.event(30, inserted), building.xid())
    file = BinlogFile(Bytes(_LOG + b"".join(events)))
    decoder = ChangeDecoder(file, Catalog())
    (table,) = file.scan(Level.LEVEL_TABLES, verify=False)
    batches = [*decoder.decode(table, table.mask()), *decoder.finish()]
    (batch,) = (item.batch for item in batches if isinstance(item, ChangeBatch))
    value: decimal.Decimal | str = batch.columns[-1][0].as_py()
    return value


@pytest.mark.parametrize(
    ("data", "text"), [("810DFB38D204D2", "1234567890.1234"), ("7EF204C72DFB2D", "-1234567890.1234")]
)
def test_the_examples_in_the_server_s_source_read_as_it_says(data: str, text: str) -> None:
    assert decoded(bytes.fromhex(data), 14, 4) == decimal.Decimal(text)


@given(st.data(), shapes, st.booleans())
def test_a_value_is_that_of_its_digits(data: st.DataObject, shape: tuple[int, int], negative: bool) -> None:
    precision, scale = shape
    digits = data.draw(st.text("0123456789", min_size=precision, max_size=precision))
    negative = negative and int(digits) != 0
    stored = encoded(digits, scale, negative)
    with decimal.localcontext(prec=70):
        value = decimal.Decimal(f"{'-' if negative else ''}{digits}e-{scale}")
        text = format(value, f".{scale}f")
        assert decoded(stored, precision, scale) == (value if precision <= 38 else text)


def test_mariadb_s_fractions_of_38_digits_are_read() -> None:
    """MySQL's have 30 at most (MariaDB's sql/sql_const.h, DECIMAL_MAX_SCALE)."""
    digits = "12345" + "678900000" * 3 + "1" * 33
    assert decoded(encoded(digits, 38, True), 65, 38) == f"-{digits[:27]}.{digits[27:]}"


@pytest.mark.parametrize(("precision", "scale"), [(1, 0), (9, 0), (9, 9), (10, 5), (38, 10), (65, 30)])
def test_too_few_bytes_are_damage(precision: int, scale: int) -> None:
    for size in range(len(encoded("0" * precision, scale, False))):
        with pytest.raises(DamagedError, match="more bytes"):
            decoded(b"\x80" * size, precision, scale)


@pytest.mark.parametrize(("precision", "scale"), [(0, 0), (5, 6), (82, 0), (255, 255)])
def test_a_precision_or_scale_that_cannot_be_is_damage(precision: int, scale: int) -> None:
    with pytest.raises(DamagedError, match="DECIMAL"):
        decoded(bytes(200), precision, scale)


@pytest.mark.parametrize(
    ("data", "precision"), [(b"\xbb\x9a\xca\x00", 9), (b"\xff\xff\xff\xff", 9), (b"\x8a", 1), (b"\xe4", 2)]
)
def test_a_group_of_more_digits_than_it_can_have_is_damage(data: bytes, precision: int) -> None:
    with pytest.raises(DamagedError, match="decimal digits"):
        decoded(data, precision, 0)


@given(st.binary(max_size=40), st.integers(0, 90), st.integers(0, 90))
def test_any_bytes_give_a_number_or_an_error(data: bytes, precision: int, scale: int) -> None:
    with suppress(BinxError):
        decoded(data, precision, scale)
