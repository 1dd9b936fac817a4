"""Events that accompany statements: variables and seeds they used, their text under row logging, XID and XA.

Sources: MySQL's libs/mysql/binlog/event/statement_events.cpp,
control_events.cpp and rows_event.cpp, strings/decimal.cc (``bin2decimal``),
MariaDB's sql/log_event.cc (``Annotate_rows_log_event``).
"""

from __future__ import annotations

import math
from decimal import Decimal
from enum import IntEnum
from typing import NamedTuple

from binx.event.charset import BINARY_COLLATION, collation_to_charset
from binx.event.collation import collation_name
from binx.event.format import FormatDescription
from binx.event.header import EventHeader, EventType
from binx.event.reader import Reader, body_reader


class IntvarType(IntEnum):
    """The variable that an INTVAR event sets."""

    LAST_INSERT_ID = 1
    INSERT_ID = 2


class Intvar(NamedTuple):
    """A value of AUTO_INCREMENT or LAST_INSERT_ID() for the statement that follows.

    Attributes:
        type: the variable; a number if unknown.
    """

    type: int
    value: int

    @property
    def name(self) -> str:
        """The variable's name in SET."""
        return IntvarType(self.type).name.lower() if self.type in set(IntvarType) else f"variable {self.type}"


class Rand(NamedTuple):
    """The seeds of RAND() for the statement that follows."""

    seed1: int
    seed2: int


class RowsQuery(NamedTuple):
    """The statement whose row changes follow (ROWS_QUERY, MariaDB's ANNOTATE_ROWS).

    Attributes:
        sql: the statement's bytes, in utf8 for MySQL, in the client's character set for MariaDB.
    """

    sql: bytes

    @property
    def text(self) -> str:
        r"""The statement decoded as UTF-8; invalid bytes become ``\xNN``."""
        return self.sql.decode("utf-8", "backslashreplace")


class Xid(NamedTuple):
    """The end of a transaction that was committed in a transactional engine.

    Attributes:
        xid: the transaction's number on its server, which restarts with the server.
    """

    xid: int


class XaXid(NamedTuple):
    """The identifier that the coordinator gave an XA transaction.

    Attributes:
        format_id: the coordinator's format of identifiers; 1 by default.
    """

    format_id: int
    gtrid: bytes
    bqual: bytes

    def __str__(self) -> str:
        return f"X'{self.gtrid.hex()}',X'{self.bqual.hex()}',{self.format_id}"


class XaPrepare(NamedTuple):
    """The end of an XA transaction's first phase.

    Attributes:
        one_phase: whether it was committed at once (XA COMMIT … ONE PHASE).
    """

    one_phase: bool
    xid: XaXid


_MAX_XID_PART = 64


def parse_intvar(body: memoryview, header: EventHeader, description: FormatDescription) -> Intvar:
    """Read INTVAR."""
    reader = _reader_after_post_header(body, header, description)
    return Intvar(reader.u8(), reader.u64())


def parse_rand(body: memoryview, header: EventHeader, description: FormatDescription) -> Rand:
    """Read RAND."""
    reader = _reader_after_post_header(body, header, description)
    return Rand(reader.u64(), reader.u64())


def parse_rows_query(body: memoryview, header: EventHeader, description: FormatDescription) -> RowsQuery:
    """Read ANNOTATE_ROWS, or ROWS_QUERY, whose first byte, the length modulo 256, is not used."""
    reader = _reader_after_post_header(body, header, description)
    if header.type == EventType.ROWS_QUERY:
        reader.take(1)
    return RowsQuery(bytes(reader.rest()))


def parse_xid(body: memoryview, header: EventHeader, description: FormatDescription) -> Xid:
    """Read XID."""
    return Xid(_reader_after_post_header(body, header, description).u64())


def parse_xa_prepare(body: memoryview, header: EventHeader, description: FormatDescription) -> XaPrepare:
    """Read XA_PREPARE."""
    reader = _reader_after_post_header(body, header, description)
    one_phase = reader.u8() != 0
    format_id, gtrid_size, bqual_size = reader.i32(), reader.u32(), reader.u32()
    return XaPrepare(one_phase, read_xa_xid(reader, format_id, gtrid_size, bqual_size))


def read_xa_xid(reader: Reader, format_id: int, gtrid_size: int, bqual_size: int) -> XaXid:
    """Read the two parts of an XA transaction's identifier."""
    if gtrid_size > _MAX_XID_PART or bqual_size > _MAX_XID_PART:
        raise reader.damaged(
            f"expected at most {_MAX_XID_PART} bytes in each part of an XA name, "
            f"found {gtrid_size} and {bqual_size}"
        )
    return XaXid(format_id, reader.raw(gtrid_size), reader.raw(bqual_size))


def _reader_after_post_header(
    body: memoryview, header: EventHeader, description: FormatDescription
) -> Reader:
    """Skip the post-header, which these events do not have, but which newer servers may add."""
    reader = body_reader(body, header)
    reader.take(description.post_header_length(header.type, 0))
    return reader


_UNSIGNED = 1
_DIGITS_BYTES = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
"""Bytes by number of decimal digits."""
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
    """

    name: str
    type: ValueType
    value: bytes | float | int | Decimal | None
    collation: int
    unsigned: bool

    def literal(self, *, mariadb: bool = False) -> str:
        """Return the value as an SQL literal that every server of its flavour evaluates to the same value."""
        if self.value is None:
            return "NULL"
        if isinstance(self.value, bytes):
            return self._string_literal(self.value, mariadb)
        if isinstance(self.value, float):
            return f"{self.value!r}e0" if "e" not in repr(self.value) else repr(self.value)
        # An exponent would make the literal a DOUBLE.
        return f"{self.value:f}" if isinstance(self.value, Decimal) else str(self.value)

    def _string_literal(self, value: bytes, mariadb: bool) -> str:
        charset = collation_to_charset(self.collation)
        name = collation_name(self.collation, mariadb=mariadb)
        if charset is None or name is None or self.collation == BINARY_COLLATION:
            return f"X'{value.hex()}'"
        return f"_{charset.name} X'{value.hex()}' COLLATE {name}"


def parse_user_var(body: memoryview, header: EventHeader, description: FormatDescription) -> UserVar:
    """Read USER_VAR."""
    reader = _reader_after_post_header(body, header, description)
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
        value = reader.double()
        if not math.isfinite(value):
            raise reader.damaged(f"expected a number, found {value}")
        return value
    if kind is ValueType.INTEGER:
        return reader.u64() if unsigned else reader.i64()
    return _read_decimal(reader)


def _read_decimal(reader: Reader) -> Decimal:
    """Read precision and scale, then the digits in groups of nine, big-endian, so that bytes sort as numbers.

    The first bit is set unless the number is negative; all bits of negative numbers are inverted.
    """
    precision, scale = reader.u8(), reader.u8()
    if not 0 < precision <= _MAX_PRECISION or scale > min(precision, _MAX_SCALE):
        raise reader.damaged(f"expected the precision and scale of a DECIMAL, found {precision} and {scale}")
    before_point = precision - scale
    # Digits outside groups of nine come first in the integer part, and last in the fraction.
    groups = before_point // _DIGITS_PER_WORD + scale // _DIGITS_PER_WORD
    digits = [before_point % _DIGITS_PER_WORD, *[_DIGITS_PER_WORD] * groups, scale % _DIGITS_PER_WORD]
    packed = bytearray(reader.take(sum(_DIGITS_BYTES[count] for count in digits)))
    negative = not packed[0] & 0x80
    packed[0] ^= 0x80
    if negative:
        packed = bytearray(byte ^ 0xFF for byte in packed)
    text, start = "", 0
    for count in digits:
        stop = start + _DIGITS_BYTES[count]
        text += f"{int.from_bytes(packed[start:stop], 'big'):0{count}d}" if count else ""
        start = stop
    if len(text) != precision:
        raise reader.damaged(f"expected {precision} decimal digits, found {text}")
    # The constructor keeps all digits; arithmetic would round to the context's precision.
    point = f".{text[before_point:]}" if scale else ""
    return Decimal(f"{'-' if negative else ''}{text[:before_point] or '0'}{point}")
