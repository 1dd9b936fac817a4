"""Values as the texts that servers print."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from binx.rows.columns.arrow_schema import time_text
from binx.rows.columns.types import Kind, LogicalType

_SECONDS = len("2024-01-02 03:04:05")
_YEAR_DIGITS = 4


def server_texts(values: pa.Array, logical: LogicalType) -> pa.Array:
    """Return values of a type other than BINARY as servers print them: a TIMESTAMP in UTC, text decoded."""
    digits = logical.fraction
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_decimal(values.type):
        return decimal_texts(values)
    match logical.kind:
        case Kind.TIME:
            times = values.cast(pa.int64()).to_pylist()
            return pa.array(
                [None if time is None else time_text(time, digits) for time in times], pa.string()
            )
        case Kind.DATETIME | Kind.TIMESTAMP:
            return pc.utf8_slice_codeunits(moment_texts(values), 0, _SECONDS + digits + (digits > 0))
        case Kind.YEAR:
            return pc.utf8_lpad(values.cast(pa.string()), _YEAR_DIGITS, "0")
        case Kind.BOOL:
            return values.cast(pa.int8()).cast(pa.string())
        case _:
            return values.cast(pa.string())


def decimal_texts(values: pa.Array) -> pa.Array:
    """Return DECIMAL values with all digits; an exponent would make them floating-point."""
    texts = values.cast(pa.string())
    scientific = pc.fill_null(pc.match_substring(texts, "E"), False)
    if pc.any(scientific).as_py():
        plain = [format(value, "f") for value in values.filter(scientific).to_pylist()]
        texts = pc.replace_with_mask(texts, scientific, pa.array(plain, pa.string()))
    return texts


def moment_texts(values: pa.Array) -> pa.Array:
    """Return DATE, DATETIME and TIMESTAMP values as texts with microseconds, which sort by time."""
    return values.cast(pa.timestamp("us")).cast(pa.string())
