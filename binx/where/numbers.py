"""Compare numbers, and texts beside numbers, as servers do, or reject what servers disagree on."""

from __future__ import annotations

import re
from decimal import ROUND_FLOOR, Decimal, InvalidOperation
from math import isfinite

import pyarrow as pa
import pyarrow.compute as pc

from binx.rows.columns.types import Kind, LogicalType
from binx.where.operands import COMPARISONS, Compare, IncomparableError, Literal, Operand

NUMBERED = frozenset({Kind.TEXT, Kind.BINARY, Kind.ENUM, Kind.SET})
"""Types whose values are converted to numbers when compared with a number."""

_LEADING = re.compile(r"\s*([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)", re.ASCII)


def leading_number(text: str) -> str:
    """Return the leading number of a text, or 0."""
    match = _LEADING.match(text)
    return "0" if match is None else match[1]


def numbers_of(operand: Operand, name: str) -> pa.Array:
    """Convert a column's texts or members to numbers, float64.

    Raises:
        IncomparableError: members have the same text and a number each.
    """
    values, logical = operand.values, operand.type
    if logical.has_equal_members:
        raise IncomparableError(
            f"{name} is {logical.base} with an empty member or equal ones, whose numbers are unknown here"
        )
    if pa.types.is_integer(values.type):
        return values.cast(pa.float64())
    encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    numbers = [_number_of(value, logical) for value in encoded.dictionary.to_pylist()]
    return pa.array(numbers, pa.float64()).take(encoded.indices)


def _number_of(value: str | bytes, logical: LogicalType) -> float:
    text = value.decode("latin-1") if isinstance(value, bytes) else value
    members = logical.members
    if members is None:
        return float(leading_number(text))
    if logical.kind is Kind.ENUM:
        return float(members.index(text) + 1 if text in members else 0)
    return float(sum(1 << members.index(member) for member in text.split(",") if member in members))


_BEYOND = Decimal(10**20)
"""Larger than any integer in a column."""
_HALF = Decimal("0.5")
_EXACT = 2**53
"""Not every integer beyond this is a DOUBLE."""


def compare_as_number(operand: Operand, sign: str, literal: Literal, name: str) -> pa.BooleanArray:
    """Compare texts or members with a number.

    Raises:
        IncomparableError: the number is beyond a DOUBLE's digits, or see :func:`numbers_of`.
    """
    number, numbers = number_of(literal, name), numbers_of(operand, name)
    if abs(number) > _EXACT and pc.any(pc.equal(numbers, float(number))).as_py():
        raise _inexact(literal, name)
    return COMPARISONS[sign](numbers, pa.scalar(float(number)))


def compare_number(operand: Operand, sign: str, literal: Literal, name: str) -> pa.BooleanArray:
    """Compare integers or DECIMAL values with a literal.

    Raises:
        IncomparableError: it is no number, or servers may compare as DOUBLE, which is another answer.
    """
    kind, values = operand.type.kind, operand.values
    values = values.cast(pa.int8()) if kind is Kind.BOOL else values
    mask = _compare_exactly(values, sign, literal, name)
    if _may_be_real(literal, kind):
        _check_as_real(values, sign, literal, name, mask)
    return mask


def number_of(literal: Literal, name: str) -> Decimal:
    """Return a literal as a number.

    Raises:
        IncomparableError: it is none.
    """
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


def _may_be_real(literal: Literal, kind: Kind) -> bool:
    """Whether a server compares integers or DECIMAL with a literal as DOUBLE; which one does depends."""
    if literal.real or not isinstance(literal.value, str):
        return literal.real
    if literal.number:
        return "e" in literal.value.lower()
    if kind is Kind.DECIMAL:
        return literal.listed
    return kind is Kind.BITS or not literal.value.strip().lstrip("+-").isdecimal()


def _check_as_real(values: pa.Array, sign: str, literal: Literal, name: str, exact: pa.BooleanArray) -> None:
    """Check that values compare alike exactly and as DOUBLE, and with the literal rounded to a DOUBLE."""
    number = float(number_of(literal, name))
    as_real = COMPARISONS[sign](values.cast(pa.float64(), safe=False), pa.scalar(number))
    rounded = Literal(repr(number) if isfinite(number) else literal.value, number=True)
    if exact != as_real or exact != _compare_exactly(values, sign, rounded, name):
        raise _inexact(literal, name)


def _inexact(literal: Literal, name: str) -> IncomparableError:
    return IncomparableError(
        f"{name} has values that servers find equal to {literal.value!r} or not depending on how it is"
        " written, as a DOUBLE has 15 digits: compare a text with a text in quotes, and a number with one"
        " without quotes and exponent, by = < and >"
    )


def _compare_exactly(values: pa.Array, sign: str, literal: Literal, name: str) -> pa.BooleanArray:
    if pa.types.is_integer(values.type):
        return _compare_integers(values, COMPARISONS[sign], literal, name)
    return _compare_decimals(values, COMPARISONS[sign], sign, literal, name)


def _compare_integers(values: pa.Array, compare: Compare, literal: Literal, name: str) -> pa.BooleanArray:
    """Compare integers with any number; one that the type lacks is replaced by one that compares alike."""
    number = min(max(number_of(literal, name), -_BEYOND), _BEYOND)
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
    values: pa.Array, compare: Compare, sign: str, literal: Literal, name: str
) -> pa.BooleanArray:
    number = number_of(literal, name)
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
