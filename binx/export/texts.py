"""Columns of values as columns of text, whole columns at a time: what SQL and JSON have in common.

All texts are ``large_binary`` in UTF-8: a value of 1 GiB doubles in hexadecimal, and offsets of 32 bits end
at 2 GiB.
"""

from __future__ import annotations

from binascii import hexlify
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from binx.kernels.texts import Texts, integer_texts, joined_texts, moment_texts, quoted_texts

TEXT = pa.large_binary()
EMPTY = pa.scalar(b"", TEXT)

_DAY_SECONDS = 86_400
_MICROSECONDS = 1_000_000
_WITHOUT_FRACTION = 19
_DATE_TIME_SEPARATOR = 10
_BEYOND = 1 << 40
_OFFSET_SIZE = 8
_CODES: dict[int, Any] = {
    kind.id: code
    for kind, code in (
        *((pa.int8(), "b"), (pa.int16(), "h"), (pa.int32(), "i"), (pa.int64(), "q")),
        *((pa.uint8(), "B"), (pa.uint16(), "H"), (pa.uint32(), "I"), (pa.uint64(), "Q")),
    )
}


def constant(text: str | bytes) -> pa.Scalar:
    """A text that stands beside every value."""
    return pa.scalar(text.encode("utf-8", "backslashreplace") if isinstance(text, str) else text, TEXT)


def joined(*parts: Any) -> pa.Array:
    """Arrays and constants put behind one another, row by row; null where one is null."""
    columns = [part for part in parts if isinstance(part, pa.Array)]
    if not columns or any(column.type != TEXT or column.null_count for column in columns):
        return pc.binary_join_element_wise(*parts, EMPTY)
    pieces = [_spans(part) if isinstance(part, pa.Array) else part.as_py() for part in parts]
    return _column(joined_texts(pieces, len(columns[0])))


def _spans(array: pa.Array) -> tuple[memoryview, memoryview]:
    """A column of text as kernels take it."""
    _, offsets, data = array.buffers()
    if offsets is None:
        return memoryview(bytes(_OFFSET_SIZE)).cast("q"), memoryview(b"")
    return memoryview(offsets).cast("q")[array.offset :], memoryview(data or b"").cast("B")


def _column(texts: Texts, like: pa.Array | None = None) -> pa.Array:
    """A column of text that kernels have written, with the nulls of another."""
    rows = len(texts.offsets) // _OFFSET_SIZE - 1
    array = pa.Array.from_buffers(
        TEXT, rows, [None, pa.py_buffer(texts.offsets), pa.py_buffer(texts.data)], null_count=0
    )
    if like is None or not like.null_count:
        return array
    return pc.if_else(like.is_valid(), array, pa.scalar(None, TEXT))


def string_literals(array: pa.Array) -> pa.Array:
    """Texts, ``large_binary`` in UTF-8, as string literals of SQL that mean the same in every mode."""
    return _column(quoted_texts(*_spans(array), len(array)), array)


def as_text(array: pa.Array) -> pa.Array:
    """Numbers as digits, text as it is."""
    if pa.types.is_large_binary(array.type):
        return array
    if pa.types.is_integer(array.type):
        return _column(integer_texts(_numbers(array)), array)
    return array.cast(pa.large_string()).cast(TEXT)


def _numbers(array: pa.Array) -> memoryview:
    """The values of a column of integers; those in the places of nulls are any."""
    code = _CODES[array.type.id]
    data = array.buffers()[1]
    if data is None:
        data = pa.py_buffer(b"")
    numbers: memoryview = memoryview(data).cast(code)[array.offset :][: len(array)]
    return numbers


def quoted(array: pa.Array, quote: str) -> pa.Array:
    """Texts that need no escaping, between quotes."""
    return joined(constant(quote), array, constant(quote))


def replaced(array: pa.Array, which: pa.Array, by: pa.Array) -> pa.Array:
    """The array with other values at the marked places, as many as are marked."""
    return pc.replace_with_mask(array, which, by)


def behind(array: pa.Array, size: int) -> pa.Array:
    """The texts without their first bytes."""
    # Without a stop, pyarrow 26 fails on texts that are shorter than the step.
    return pc.binary_slice(array, size, _BEYOND)


def decimals(array: pa.Array) -> pa.Array:
    """All digits of DECIMAL values, never with an exponent, which would make them floating-point."""
    texts = array.cast(pa.string())
    scientific = pc.fill_null(pc.match_substring(texts, "E"), False)
    if pc.any(scientific).as_py():
        plain = [format(value, "f") for value in array.filter(scientific).to_pylist()]
        texts = pc.replace_with_mask(texts, scientific, pa.array(plain, pa.string()))
    return as_text(texts)


def moments(array: pa.Array, fraction: int) -> pa.Array:
    """DATETIME and TIMESTAMP as ``YYYY-MM-DD HH:MM:SS`` with the fraction's digits; TIMESTAMP in UTC."""
    if array.type.unit == "us":
        texts = moment_texts(_numbers(array.view(pa.int64())), fraction)
        if texts is not None:
            return _column(texts, array)
    plain = array.cast(pa.timestamp("us")) if array.type.tz else array
    texts = as_text(plain.cast(pa.string()))
    return pc.binary_slice(texts, 0, _WITHOUT_FRACTION + (fraction + 1 if fraction else 0))


def instants(array: pa.Array, fraction: int) -> pa.Array:
    """TIMESTAMP as RFC 3339 has it."""
    texts = moments(array, fraction)
    date = pc.binary_slice(texts, 0, _DATE_TIME_SEPARATOR)
    return joined(date, constant("T"), behind(texts, _DATE_TIME_SEPARATOR + 1), constant("Z"))


def times(array: pa.Array, fraction: int) -> pa.Array:
    """TIME as ``-838:59:59.999999``."""
    value = array.cast(pa.int64())
    size = pc.abs(value)
    seconds = pc.divide(size, _MICROSECONDS)
    minutes = pc.divide(seconds, 60)
    hours = pc.divide(minutes, 60)
    parts = [
        pc.if_else(pc.less(value, 0), constant("-"), EMPTY),
        _digits(hours, 2),
        constant(":"),
        _digits(pc.subtract(minutes, pc.multiply(hours, 60)), 2),
        constant(":"),
        _digits(pc.subtract(seconds, pc.multiply(minutes, 60)), 2),
    ]
    if fraction:
        rest = _digits(pc.subtract(size, pc.multiply(seconds, _MICROSECONDS)), 6)
        parts += [constant("."), pc.binary_slice(rest, 0, fraction)]
    return joined(*parts)


def _digits(numbers: pa.Array, width: int) -> pa.Array:
    return as_text(pc.utf8_lpad(numbers.cast(pa.string()), width, "0"))


def hexadecimal(array: pa.Array) -> pa.Array:
    """Bytes in hexadecimal; what is null is empty."""
    whole = array.cast(TEXT)
    offsets = pa.Array.from_buffers(
        pa.int64(), len(whole) + 1, [None, whole.buffers()[1]], offset=whole.offset
    )
    return _hexadecimal(whole.buffers()[2], offsets, 1)


def vector_hexadecimal(array: pa.Array) -> pa.Array:
    """The bytes of a VECTOR's floats in hexadecimal; what is null is empty."""
    offsets = pa.Array.from_buffers(
        pa.int32(), len(array) + 1, [None, array.buffers()[1]], offset=array.offset
    )
    return _hexadecimal(array.values.buffers()[1], offsets.cast(pa.int64()), 4)


def geometry_hexadecimal(array: pa.Array) -> pa.Array:
    """A geometry as servers keep it: the reference system in four bytes, little-endian, then WKB."""
    srid, wkb = array.flatten()
    srid = pc.fill_null(srid, 0)
    numbers = memoryview(srid.buffers()[1]).cast("I")[srid.offset : srid.offset + len(srid)]
    prefixes = pa.array([number.to_bytes(4, "little").hex().encode() for number in numbers], TEXT)
    return joined(prefixes, hexadecimal(wkb))


def _hexadecimal(data: pa.Buffer | None, offsets: pa.Array, width: int) -> pa.Array:
    """All values are turned at once, as two digits a byte keep the offsets' proportions."""
    first, last = offsets[0].as_py(), offsets[-1].as_py()
    digits = hexlify(memoryview(data or b"")[first * width : last * width])
    places = pc.multiply(pc.subtract(offsets, first), 2 * width)
    return pa.Array.from_buffers(TEXT, len(offsets) - 1, [None, places.buffers()[1], pa.py_buffer(digits)])


def per_distinct(array: pa.Array, convert: Any) -> pa.Array:
    """Convert each distinct value once, in Python."""
    encoded = array.dictionary_encode()
    values = pa.array([convert(value) for value in encoded.dictionary.to_pylist()], TEXT)
    return values.take(encoded.indices)
