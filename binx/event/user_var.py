"""USER_VAR: the value of a user variable for the statement that follows.

Sources: MySQL's libs/mysql/binlog/event/statement_events.cpp
(``User_var_event``), strings/decimal.cc (``bin2decimal``).
"""

from __future__ import annotations

import math
from decimal import Decimal
from enum import IntEnum
from typing import NamedTuple

from binx.event.charset import BINARY_COLLATION, collation_to_charset
from binx.event.collation import collation_name
from binx.event.format import FormatDescription
from binx.event.header import EventHeader
from binx.event.reader import Reader, body_reader

_UNSIGNED = 1
_DIGITS_BYTES = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
"""Bytes that so many decimal digits take."""
_DIGITS_PER_WORD = 9
_MAX_PRECISION = 65
_MAX_SCALE = 30


class ValueType(IntEnum):
    """The type of a user variable's value."""

    STRING = 0
    REAL = 1
    INTEGER = 2
    ROW = 3
    DECIMAL = 4


class UserVar(NamedTuple):
    """A user variable.

    Attributes:
        name: the variable's name without its ``@``.
        type: the type of its value; STRING for NULL.
        value: the value: bytes for STRING, float, int, Decimal, or None for NULL.
        collation: number of a string's collation.
        unsigned: whether an integer is unsigned.
    """

    name: str
    type: ValueType
    value: bytes | float | int | Decimal | None
    collation: int
    unsigned: bool

    def literal(self, *, mariadb: bool = False) -> str:
        """The value as an SQL literal that every server of its flavour reads as the same value."""
        if self.value is None:
            return "NULL"
        if isinstance(self.value, bytes):
            return self._string_literal(self.value, mariadb)
        if isinstance(self.value, float):
            return f"{self.value!r}e0" if "e" not in repr(self.value) else repr(self.value)
        # With an exponent a number would be a DOUBLE.
        return f"{self.value:f}" if isinstance(self.value, Decimal) else str(self.value)

    def _string_literal(self, value: bytes, mariadb: bool) -> str:
        charset = collation_to_charset(self.collation)
        name = collation_name(self.collation, mariadb=mariadb)
        if charset is None or name is None or self.collation == BINARY_COLLATION:
            return f"X'{value.hex()}'"
        return f"_{charset.name} X'{value.hex()}' COLLATE {name}"


def parse_user_var(body: memoryview, header: EventHeader, description: FormatDescription) -> UserVar:
    """Read USER_VAR.

    Raises:
        DamagedError: the body is cut, or its value is none of its type.
    """
    reader = body_reader(body, header)
    reader.skip(description.post_header_length(header.type, 0))
    name = reader.text(reader.count(reader.u32(), 1, "characters"))
    if reader.u8():
        return UserVar(name, ValueType.STRING, None, BINARY_COLLATION, unsigned=False)
    number = reader.u8()
    if number not in set(ValueType) or number == ValueType.ROW:
        raise reader.damaged(f"expected the type of a user variable, found {number}")
    kind = ValueType(number)
    collation = reader.u32()
    value = reader.slice(reader.u32())
    unsigned = bool(reader.remaining and reader.u8() & _UNSIGNED)
    return UserVar(name, kind, _read_value(value, kind, unsigned), collation, unsigned)


def _read_value(reader: Reader, kind: ValueType, unsigned: bool) -> bytes | float | int | Decimal:
    if kind is ValueType.STRING:
        return bytes(reader.rest())
    if kind is ValueType.REAL:
        return _finite(reader.double(), reader)
    if kind is ValueType.INTEGER:
        return reader.u64() if unsigned else reader.i64()
    return _read_decimal(reader)


def _finite(value: float, reader: Reader) -> float:
    if not math.isfinite(value):
        raise reader.damaged(f"expected a number, found {value}")
    return value


def _read_decimal(reader: Reader) -> Decimal:
    """Precision and scale, then the digits in groups of nine, big-endian, so that bytes sort as numbers do.

    The first bit is set for numbers from 0 on; all bits of negative numbers are inverted.
    """
    precision, scale = reader.u8(), reader.u8()
    if not 0 < precision <= _MAX_PRECISION or scale > min(precision, _MAX_SCALE):
        raise reader.damaged(f"expected the precision and scale of a DECIMAL, found {precision} and {scale}")
    whole, fraction = precision - scale, scale
    sizes = [
        _DIGITS_BYTES[whole % _DIGITS_PER_WORD],
        *[4] * (whole // _DIGITS_PER_WORD + fraction // _DIGITS_PER_WORD),
        _DIGITS_BYTES[fraction % _DIGITS_PER_WORD],
    ]
    digits = [whole % _DIGITS_PER_WORD, *[_DIGITS_PER_WORD] * (len(sizes) - 2), fraction % _DIGITS_PER_WORD]
    packed = bytearray(reader.take(sum(sizes)))
    negative = not packed[0] & 0x80
    packed[0] ^= 0x80
    if negative:
        packed = bytearray(byte ^ 0xFF for byte in packed)
    text, start = "", 0
    for size, count in zip(sizes, digits, strict=True):
        number = int.from_bytes(packed[start : start + size], "big")
        text += f"{number:0{count}d}" if count else ""
        start += size
    if len(text) != precision:
        raise reader.damaged(f"expected {precision} decimal digits, found {text}")
    # The constructor keeps all digits; arithmetic would round to those of the thread's context.
    point = f".{text[whole:]}" if scale else ""
    return Decimal(f"{'-' if negative else ''}{text[:whole] or '0'}{point}")
