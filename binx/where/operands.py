"""What a condition compares: a column's values and literals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from binx.errors import UsageError
from binx.rows.columns.types import LogicalType
from binx.rows.ddl.column_definitions import written_type

Compare = Callable[[Any, Any], pa.BooleanArray]

COMPARISONS: dict[str, Compare] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


class IncomparableError(UsageError):
    """A column's type cannot be compared with a value; in another table, the type may differ."""


class Literal(NamedTuple):
    """A literal of a condition.

    Attributes:
        value: its text, or bytes; None for NULL.
        number: whether the text was written as a number.
        temporal: whether it was written as ``DATE '…'``, ``TIME '…'`` or ``TIMESTAMP '…'``.
        listed: whether it is in IN or BETWEEN.
        real: whether it is in a BETWEEN whose other bound lets servers compare as DOUBLE.
    """

    value: str | bytes | None
    number: bool = False
    temporal: bool = False
    listed: bool = False
    real: bool = False


class Operand(NamedTuple):
    """A column's values.

    Attributes:
        values: one for each change.
        misfits: the server's text for values that the Arrow type cannot hold, null for all others; None if
            there are no such values.
        zeros: the digits to which ZEROFILL pads values, 0 without it; None if unknown.
    """

    values: pa.Array
    type: LogicalType
    misfits: pa.Array | None
    zeros: int | None = 0


def zerofill_digits(mysql_type: str) -> int:
    """Return the characters to which a server pads values of a type as in COLUMN_TYPE; 0 if it does not."""
    kind = written_type(mysql_type)
    if kind is None or not kind.zerofill or not kind.arguments:
        return 0
    digits, *scale = kind.arguments
    return digits + any(scale)
