"""MySQL's binary DECIMAL against its published examples, Python's decimal and Arrow's."""

import decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.errors import DamagedError
from binx.kernels.rows.decimal import decimal_bytes, decimal_text, decimal_unscaled

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


@pytest.mark.parametrize(
    ("data", "text"), [("810DFB38D204D2", "1234567890.1234"), ("7EF204C72DFB2D", "-1234567890.1234")]
)
def test_the_examples_in_the_server_s_source_read_as_it_says(data: str, text: str) -> None:
    assert decimal_text(bytes.fromhex(data), 14, 4) == text


@given(st.data(), shapes, st.booleans())
def test_text_and_arrow_value_are_those_of_the_digits(
    data: st.DataObject, shape: tuple[int, int], negative: bool
) -> None:
    precision, scale = shape
    digits = data.draw(st.text("0123456789", min_size=precision, max_size=precision))
    stored = encoded(digits, scale, negative and int(digits) != 0)
    with decimal.localcontext(prec=70):
        value = decimal.Decimal(f"{'-' if negative and int(digits) else ''}{digits}e-{scale}")
        assert decimal_bytes(precision, scale) == len(stored)
        assert decimal_text(stored, precision, scale) == format(value, f".{scale}f")
    if precision <= 38:
        buffer = pa.py_buffer(decimal_unscaled(stored, precision, scale))
        array = pa.Array.from_buffers(pa.decimal128(precision, scale), 1, [None, buffer])
        assert array[0].as_py() == value


@pytest.mark.parametrize(("precision", "scale"), [(1, 0), (9, 0), (9, 9), (10, 5), (38, 10), (65, 30)])
def test_too_few_bytes_are_damage(precision: int, scale: int) -> None:
    for size in range(decimal_bytes(precision, scale)):
        with pytest.raises(DamagedError, match="more bytes"):
            decimal_text(b"\x80" * size, precision, scale)


@pytest.mark.parametrize(("precision", "scale"), [(0, 0), (-1, 0), (5, 6), (5, -1), (82, 0), (255, 255)])
def test_a_precision_or_scale_that_cannot_be_is_damage(precision: int, scale: int) -> None:
    with pytest.raises(DamagedError, match="DECIMAL"):
        decimal_text(bytes(200), precision, scale)
    with pytest.raises(DamagedError, match="DECIMAL"):
        decimal_unscaled(bytes(200), precision, scale)


def test_more_than_38_digits_are_no_decimal128() -> None:
    with pytest.raises(DamagedError, match=r"DECIMAL\(39,0\)"):
        decimal_unscaled(b"\x80" + bytes(40), 39, 0)


@pytest.mark.parametrize(
    ("data", "precision"), [(b"\xbb\x9a\xca\x00", 9), (b"\xff\xff\xff\xff", 9), (b"\x8a", 1), (b"\xe4", 2)]
)
def test_a_group_of_more_digits_than_it_can_have_is_damage(data: bytes, precision: int) -> None:
    for read in (decimal_text, decimal_unscaled):
        with pytest.raises(DamagedError, match="decimal digits"):
            read(data, precision, 0)


@given(st.binary(max_size=40), st.integers(-2, 90), st.integers(-2, 90))
def test_any_bytes_give_a_number_or_damage(data: bytes, precision: int, scale: int) -> None:
    for read in (decimal_text, decimal_unscaled):
        try:
            read(data, precision, scale)
        except DamagedError:
            continue
