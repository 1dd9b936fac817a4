"""Compare a column's values with literals, depending on the column's type."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from binx.errors import UsageError
from binx.event.charset import DEFAULT_CHARSET, charset
from binx.log.selection.times import parse_time
from binx.rows.columns.server_texts import moment_texts, server_texts
from binx.rows.columns.types import INTEGER_NAMES, Kind
from binx.where.numbers import NUMBERED, compare_as_number, compare_number, number_of, numbers_of
from binx.where.operands import COMPARISONS, IncomparableError, Literal, Operand

_INTEGERS = frozenset({*INTEGER_NAMES, Kind.BITS, Kind.YEAR, Kind.BOOL})
_REAL = frozenset({Kind.FLOAT32, Kind.FLOAT64})
_TEXTS = frozenset({Kind.TEXT, Kind.ENUM, Kind.SET, Kind.INET4, Kind.INET6, Kind.UUID})
_NUMBERS = frozenset({*_INTEGERS, *_REAL, Kind.DECIMAL})
_MOMENTS = frozenset({Kind.DATE, Kind.DATETIME, Kind.TIMESTAMP})
_TEMPORAL = _MOMENTS | {Kind.TIME}
_OFFSET = re.compile(r"[-+]\d\d:?\d\d\Z|[zZ]\Z")
_UNLIKE_TEXT = frozenset({Kind.BOOL, Kind.BITS, *_REAL, Kind.GEOMETRY, Kind.VECTOR})
_OPAQUE = frozenset({Kind.GEOMETRY, Kind.VECTOR, Kind.JSON})
_CLOCK = re.compile(r"(-?)(\d{1,3}):([0-5]?\d)(?::([0-5]?\d)(?:\.(\d{1,6}))?)?")
STORABLE = re.compile(
    r"\d{4}-(?:0\d|1[0-2])-(?:[0-2]\d|3[01])(?:[ T](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?)?"
)
"""Dates and times that a server may have stored, zero and partial dates and days after a month's end too."""
_MIDNIGHT = "0000-00-00 00:00:00.000000"
_EPOCH = datetime(1970, 1, 1)
_UNLIKE_SERVERS = re.compile(r"[wW,]|\.\d{7}")
"""What Python reads in a date or a time, and servers read in another way, or round."""


def is_null(operand: Operand) -> pa.BooleanArray:
    """Return a mask of NULL values; values that the Arrow type cannot hold are not NULL."""
    nulls = operand.values.is_null()
    return nulls if operand.misfits is None else pc.and_(nulls, operand.misfits.is_null())


def matched(operand: Operand, pattern: str, name: str, *, is_regex: bool) -> pa.BooleanArray:
    """Return a mask of the texts that match a LIKE pattern, or contain a match of a regular expression (RE2).

    Raises:
        IncomparableError: the column's type has no text form that servers would match too.
    """
    if operand.type.kind in _UNLIKE_TEXT:
        raise IncomparableError(f"{name} is {operand.type.base}, which does not support LIKE and REGEXP")
    if operand.zeros is None:
        raise IncomparableError(
            f"{name} may be ZEROFILL, which its CREATE TABLE tells: give that with --schema, or use = < and >"
        )
    values = operand.values if operand.type.kind is Kind.BINARY else _texts(operand)
    if operand.zeros:
        values = pc.utf8_lpad(values, operand.zeros, "0")
    return pc.match_substring_regex(values, pattern) if is_regex else pc.match_like(values, pattern)


def check_expression(pattern: str) -> None:
    """Check that a regular expression is valid.

    Raises:
        UsageError: it is not.
    """
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid as error:
        raise UsageError(f"expected a regular expression, found {pattern!r}: {error}") from error


def compared(operand: Operand, sign: str, other: Literal | Operand, name: str) -> pa.BooleanArray:
    """Compare a column with a literal or with another column.

    Raises:
        IncomparableError: the two cannot be compared.
    """
    if sign == "<=>":
        return _null_safe(operand, other, name)
    if isinstance(other, Operand):
        return _compare_columns(operand, sign, other, name)
    if other.value is None:
        return pa.nulls(len(operand.values), pa.bool_())
    kind = operand.type.kind
    if kind in _OPAQUE:
        raise IncomparableError(f"{name} is {operand.type.base}, which can only be compared with NULL")
    mask = _compare_literal(operand, sign, other, name)
    if operand.misfits is None or kind in _MOMENTS or sign not in {"=", "<>"}:
        return mask
    text = pa.scalar(str(other.value))
    return pc.if_else(operand.misfits.is_valid(), COMPARISONS[sign](operand.misfits, text), mask)


def _null_safe(operand: Operand, other: Literal | Operand, name: str) -> pa.BooleanArray:
    if isinstance(other, Literal) and other.value is None:
        return is_null(operand)
    equal = pc.fill_null(compared(operand, "=", other, name), False)
    if isinstance(other, Operand):
        return pc.or_(equal, pc.and_(is_null(operand), is_null(other)))
    return equal


def _compare_columns(operand: Operand, sign: str, other: Operand, name: str) -> pa.BooleanArray:
    left, right = operand.values, other.values
    kinds = {operand.type.kind, other.type.kind}
    error = IncomparableError(
        f"{name} is {operand.type.base}, which cannot be compared with {other.type.base}"
    )
    if Kind.JSON in kinds and (len(kinds) > 1 or sign not in {"=", "<>"}):
        raise error
    if kinds <= _MOMENTS and (len(kinds) == 1 or Kind.TIMESTAMP not in kinds):
        left, right = _moments(operand), _moments(other)
    elif kinds & _TEMPORAL and kinds & _TEXTS:
        raise error
    elif operand.type.kind in NUMBERED and other.type.kind in _NUMBERS:
        left, right = numbers_of(operand, name), right.cast(pa.float64())
    elif other.type.kind in NUMBERED and operand.type.kind in _NUMBERS:
        left, right = left.cast(pa.float64()), numbers_of(other, name)
    elif kinds & _TEXTS:
        left, right = _texts(operand), _texts(other)
    elif operand.type.kind is Kind.BOOL and other.type.kind is not Kind.BOOL:
        left = left.cast(pa.int8())
    try:
        return COMPARISONS[sign](left, right)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as reason:
        raise error from reason


def _texts(operand: Operand) -> pa.Array:
    """Return the values as text."""
    values = operand.values
    if operand.type.kind is Kind.BINARY:
        return pc.cast(values, pa.string(), safe=False)
    texts = server_texts(values, operand.type)
    return texts if operand.misfits is None else pc.coalesce(texts, operand.misfits)


def _moments(operand: Operand) -> pa.Array:
    """Return DATE, DATETIME and TIMESTAMP values as texts that sort by time, zero and partial dates too."""
    texts = moment_texts(operand.values)
    if operand.misfits is None:
        return texts
    misfits = [text and _in_full(text) for text in operand.misfits.to_pylist()]
    return pc.coalesce(texts, pa.array(misfits, pa.string()))


def _in_full(text: str) -> str:
    """Append what a date or a time lacks to microseconds."""
    return text + _MIDNIGHT[len(text) :]


def _compare_literal(operand: Operand, sign: str, literal: Literal, name: str) -> pa.BooleanArray:
    kind, values = operand.type.kind, operand.values
    compare = COMPARISONS[sign]
    if literal.temporal and kind not in _TEMPORAL:
        raise IncomparableError(
            f"{name} is {operand.type.base}, which cannot be compared with the date or time {literal.value!r}"
        )
    if literal.number and kind in NUMBERED:
        return compare_as_number(operand, sign, literal, name)
    if kind in _TEXTS:
        if pa.types.is_integer(values.type):
            return compare_number(operand, sign, literal, name)
        return compare(_texts(operand), pa.scalar(_text(literal, operand.type.charset)))
    if kind is Kind.BINARY:
        value = literal.value if isinstance(literal.value, bytes) else str(literal.value).encode()
        return compare(values, pa.scalar(value, values.type))
    if kind is Kind.YEAR:
        _check_year(literal, name)
    if kind in _INTEGERS or kind is Kind.DECIMAL:
        return compare_number(operand, sign, literal, name)
    if kind in _REAL:
        # Compare as DOUBLE, as servers do: a FLOAT of 0.1 is not equal to 0.1.
        return compare(values.cast(pa.float64()), pa.scalar(float(number_of(literal, name))))
    if kind is Kind.TIME:
        return compare(values, pa.scalar(_span(literal, name), values.type))
    return compare(_moments(operand), pa.scalar(_moment(kind, literal, name)))


def _text(literal: Literal, charset_name: str | None = None) -> str:
    """Return a literal's text; bytes are decoded in the column's character set."""
    if not isinstance(literal.value, bytes):
        return str(literal.value)
    known = charset(charset_name or DEFAULT_CHARSET)
    return literal.value.decode("utf-8", "replace") if known is None else known.decode(literal.value)


def _check_year(literal: Literal, name: str) -> None:
    """Reject bytes, fractions and two-digit years: servers round them, or take them to this century."""
    number = number_of(literal, name)
    is_short = 0 < number < 100 or (number == 0 and (literal.listed or not literal.number))
    if isinstance(literal.value, bytes) or number != number.to_integral_value() or is_short:
        raise IncomparableError(
            f"expected a year of four digits to compare {name} with, found {literal.value!r}"
        )


def _span(literal: Literal, name: str) -> timedelta:
    try:
        return clock(_text(literal).strip())
    except ValueError:
        raise _unlike(literal, name, "-12:34:56.5") from None


def _moment(kind: Kind, literal: Literal, name: str) -> str:
    """Return a literal as a text that :func:`_moments` can be compared with.

    A TIMESTAMP is in UTC; an offset in the literal is applied, as in MySQL ≥ 8.0.19. A DATETIME has no time
    zone, and how a server converts an offset depends on the session's time zone, so an offset is an error.
    """
    text = _text(literal).strip()
    if kind is Kind.TIMESTAMP and literal.listed and _OFFSET.search(text):
        raise IncomparableError(
            f"expected a time without an offset for {name} in IN or BETWEEN, where servers ignore offsets,"
            f" found {text!r}; use =, <= and >="
        )
    try:
        if _UNLIKE_SERVERS.search(text):
            raise ValueError(text)
        if kind is Kind.TIMESTAMP:
            moment = _EPOCH + timedelta(microseconds=parse_time(text))
        else:
            moment = datetime.fromisoformat(text)
    except (ValueError, UsageError):
        if STORABLE.fullmatch(text):
            return _in_full(text.replace("T", " "))
        example = "2026-11-21" if kind is Kind.DATE else "2026-11-21 09:30:00.25"
        raise _unlike(literal, name, example) from None
    if moment.tzinfo is not None:
        raise IncomparableError(
            f"{name} is a DATETIME, which has no time zone: expected a value without an offset, found"
            f" {text!r}"
        )
    return moment.isoformat(" ", "microseconds")


def _unlike(literal: Literal, name: str, example: str) -> IncomparableError:
    found = _text(literal).strip()
    return IncomparableError(f"expected a value such as '{example}' to compare {name} with, found {found!r}")


def clock(text: str) -> timedelta:
    """Parse a time of day or a duration such as ``-12:34:56.5``.

    Raises:
        ValueError: the text is neither.
    """
    match = _CLOCK.fullmatch(text)
    if match is None:
        raise ValueError(text)
    sign, hours, minutes, seconds, fraction = match.groups()
    span = timedelta(
        hours=int(hours),
        minutes=int(minutes),
        seconds=int(seconds or 0),
        microseconds=int((fraction or "0").ljust(6, "0")),
    )
    return -span if sign else span
