"""Compare a column's values with literals, depending on the column's type."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import ROUND_FLOOR, Decimal, InvalidOperation
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from binx.errors import UsageError
from binx.event.charset import DEFAULT_CHARSET, charset
from binx.log.selection.moments import parse_time
from binx.rows.columns.server_texts import moment_texts, server_texts
from binx.rows.columns.types import INTEGER_NAMES, Kind, LogicalType

NUMBERED = frozenset({Kind.TEXT, Kind.BINARY, Kind.ENUM, Kind.SET})
"""Types whose values are converted to numbers when compared with a number."""

_LEADING = re.compile(r"\s*([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)", re.ASCII)


def leading_number(text: str) -> float:
    """Return the leading number of a text, or 0."""
    match = _LEADING.match(text)
    return 0.0 if match is None else float(match[1])


def numbers_of(values: pa.Array, logical: LogicalType) -> pa.Array:
    """Convert a column's values to numbers, float64."""
    if pa.types.is_integer(values.type):
        return values.cast(pa.float64())
    encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    numbers = [_number_of(value, logical) for value in encoded.dictionary.to_pylist()]
    return pa.array(numbers, pa.float64()).take(encoded.indices)


def _number_of(value: str | bytes, logical: LogicalType) -> float:
    text = value.decode("latin-1") if isinstance(value, bytes) else value
    members = logical.members
    if members is None:
        return leading_number(text)
    if logical.kind is Kind.ENUM:
        return float(members.index(text) + 1 if text in members else 0)
    return float(sum(1 << members.index(member) for member in text.split(",") if member in members))


_Compare = Callable[[Any, Any], pa.BooleanArray]

COMPARISONS: dict[str, _Compare] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}

_INTEGERS = frozenset({*INTEGER_NAMES, Kind.BITS, Kind.YEAR, Kind.BOOL})
_REAL = frozenset({Kind.FLOAT32, Kind.FLOAT64})
_TEXTS = frozenset({Kind.TEXT, Kind.ENUM, Kind.SET, Kind.JSON, Kind.INET4, Kind.INET6, Kind.UUID})
_NUMBERS = frozenset({*_INTEGERS, *_REAL, Kind.DECIMAL})
_MOMENTS = frozenset({Kind.DATE, Kind.DATETIME, Kind.TIMESTAMP})
_TEMPORAL = _MOMENTS | {Kind.TIME}
_OFFSET = re.compile(r"[-+]\d\d:?\d\d\Z|[zZ]\Z")
_UNLIKE_TEXT = frozenset({Kind.BOOL, Kind.BITS, *_REAL, Kind.GEOMETRY, Kind.VECTOR})
_OPAQUE = frozenset({Kind.GEOMETRY, Kind.VECTOR})
_CLOCK = re.compile(r"(-?)(\d{1,3}):([0-5]?\d)(?::([0-5]?\d)(?:\.(\d{1,6}))?)?")
_STORABLE = re.compile(
    r"\d{4}-(?:0\d|1[0-2])-(?:[0-2]\d|3[01])(?:[ T](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?)?"
)
"""Dates and times that a server may have stored, zero and partial dates and days behind a month's end too."""
_MIDNIGHT = "0000-00-00 00:00:00.000000"
_EPOCH = datetime(1970, 1, 1)
_BEYOND = Decimal(10**20)
"""Larger than any integer in a column."""
_HALF = Decimal("0.5")


class IncomparableError(UsageError):
    """A column's type cannot be compared with a value; in another table, the type may differ."""


class Literal(NamedTuple):
    """A literal of a condition.

    Attributes:
        value: its text, or bytes; None for NULL.
        number: whether the text was written as a number.
        temporal: whether it was written as ``DATE '…'``, ``TIME '…'`` or ``TIMESTAMP '…'``.
        listed: whether it is in IN or BETWEEN.
    """

    value: str | bytes | None
    number: bool = False
    temporal: bool = False
    listed: bool = False


class Operand(NamedTuple):
    """A column's values.

    Attributes:
        values: one for each change.
        misfits: the server's text for values that the Arrow type cannot hold, null for all others; None if
            there are no such values.
    """

    values: pa.Array
    type: LogicalType
    misfits: pa.Array | None


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
    values = operand.values if operand.type.kind is Kind.BINARY else _texts(operand)
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
    if kinds <= _MOMENTS and (len(kinds) == 1 or Kind.TIMESTAMP not in kinds):
        left, right = _moments(operand), _moments(other)
    elif kinds & _TEMPORAL and kinds & _TEXTS:
        raise error
    elif operand.type.kind in NUMBERED and other.type.kind in _NUMBERS:
        left, right = numbers_of(left, operand.type), right.cast(pa.float64())
    elif other.type.kind in NUMBERED and operand.type.kind in _NUMBERS:
        left, right = left.cast(pa.float64()), numbers_of(right, other.type)
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
        return compare(numbers_of(values, operand.type), pa.scalar(float(_number(literal, name))))
    if kind in _TEXTS:
        if pa.types.is_integer(values.type):
            return _compare_integers(values, compare, literal, name)
        return compare(_texts(operand), pa.scalar(_text(literal, operand.type.charset)))
    if kind is Kind.BINARY:
        value = literal.value if isinstance(literal.value, bytes) else str(literal.value).encode()
        return compare(values, pa.scalar(value, values.type))
    if kind in _INTEGERS:
        if kind is Kind.YEAR:
            _check_year(literal, name)
        integers = values.cast(pa.int8()) if kind is Kind.BOOL else values
        return _compare_integers(integers, compare, literal, name)
    if kind is Kind.DECIMAL:
        return _compare_decimals(values, compare, sign, literal, name)
    if kind in _REAL:
        # Compare as DOUBLE, as servers do: a FLOAT of 0.1 is not equal to 0.1.
        return compare(values.cast(pa.float64()), pa.scalar(float(_number(literal, name))))
    if kind is Kind.TIME:
        return compare(values, pa.scalar(_span(literal, name), values.type))
    return compare(_moments(operand), pa.scalar(_moment(kind, literal, name)))


def _text(literal: Literal, charset_name: str | None = None) -> str:
    """Return a literal's text; bytes are decoded in the column's character set."""
    if not isinstance(literal.value, bytes):
        return str(literal.value)
    known = charset(charset_name or DEFAULT_CHARSET)
    return literal.value.decode("utf-8", "replace") if known is None else known.decode(literal.value)


def _number(literal: Literal, name: str) -> Decimal:
    if isinstance(literal.value, bytes):
        return Decimal(int.from_bytes(literal.value))
    error = IncomparableError(f"expected a number to compare {name} with, found {literal.value!r}")
    try:
        number = Decimal(str(literal.value).strip())
    except InvalidOperation:
        raise error from None
    if not number.is_finite():
        raise error
    return number


def _check_year(literal: Literal, name: str) -> None:
    """Reject fractions and two-digit years, which servers round or expand to this or the last century."""
    number = _number(literal, name)
    is_short = 0 < number < 100 or (number == 0 and (literal.listed or not literal.number))
    if number != number.to_integral_value() or is_short:
        raise IncomparableError(
            f"expected a year of four digits to compare {name} with, found {literal.value!r}"
        )


def _compare_integers(values: pa.Array, compare: _Compare, literal: Literal, name: str) -> pa.BooleanArray:
    """Compare integers with any number; one that the type lacks is replaced by one that compares alike."""
    number = min(max(_number(literal, name), -_BEYOND), _BEYOND)
    floor = number.to_integral_value(ROUND_FLOOR)
    if number == floor:
        try:
            return compare(values, pa.scalar(int(number), values.type))
        except (pa.ArrowInvalid, OverflowError):
            stand_in = number
    else:
        stand_in = floor + _HALF
    return compare(values.cast(pa.decimal128(20, 0)), pa.scalar(stand_in))


def _compare_decimals(
    values: pa.Array, compare: _Compare, sign: str, literal: Literal, name: str
) -> pa.BooleanArray:
    number = _number(literal, name)
    if pa.types.is_decimal(values.type):
        try:
            return compare(values, pa.scalar(number))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            pass
    holds = {
        "=": Decimal.__eq__, "<>": Decimal.__ne__, "<": Decimal.__lt__,
        "<=": Decimal.__le__, ">": Decimal.__gt__, ">=": Decimal.__ge__,
    }[sign]  # fmt: skip
    results = [None if value is None else holds(Decimal(value), number) for value in values.to_pylist()]
    return pa.array(results, pa.bool_())


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
        if kind is Kind.TIMESTAMP:
            moment = _EPOCH + timedelta(microseconds=parse_time(text))
        else:
            moment = datetime.fromisoformat(text)
    except (ValueError, UsageError):
        if _STORABLE.fullmatch(text):
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
