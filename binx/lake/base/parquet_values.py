"""Convert Parquet values to a server column's values, exactly or not at all."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from binx.errors import UnsupportedError
from binx.rows.columns.types import (
    DECIMAL128_DIGITS,
    INTEGER_NAMES,
    INTEGER_RANGES,
    ArrowOptions,
    Kind,
    LogicalType,
    arrow_type,
    mysql_name,
)

_EXACT_DOUBLE = 1 << 53
_DAY = 86_400_000_000
_SECOND = 1_000_000
_DAYS = range(-719_162, 2_932_897)
"""0001-01-01 to 9999-12-31, in days since 1970."""

_YEARS = {0, *range(1901, 2156)}
_STAMPS = range(_SECOND, (1 << 32) * _SECOND)
_TIMES = range(-(839 * 3600 * _SECOND) + 1, 839 * 3600 * _SECOND)
_SCALE_MAXIMUM = 30
_BINARY_MAXIMUM = 255

_SQL: dict[str, str] = {
    **{f"{'u' * unsigned}int{bits}": name + " unsigned" * unsigned
       for name, bits in (("tinyint", 8), ("smallint", 16), ("int", 32), ("bigint", 64))
       for unsigned in (False, True)},
    "float": "float", "double": "double", "bool": "bit(1)", "date32[day]": "date",
    **dict.fromkeys(("string", "large_string", "string_view"), "longtext"),
    **dict.fromkeys(("binary", "large_binary", "binary_view"), "longblob"),
}  # fmt: skip


def sql_type(kind: pa.DataType) -> str:
    """Return the column type that holds all values of an Arrow type, with no wider range if possible.

    Raises:
        UnsupportedError: no column type holds them.
    """
    if isinstance(kind, pa.JsonType):
        return "json"
    if pa.types.is_dictionary(kind):
        return sql_type(kind.value_type)
    if pa.types.is_timestamp(kind):
        return "datetime(6)" if kind.tz is None else "timestamp(6)"
    if pa.types.is_time(kind) or pa.types.is_duration(kind):
        return "time(6)"
    if pa.types.is_decimal(kind) and 0 <= kind.scale <= min(_SCALE_MAXIMUM, kind.precision):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_fixed_size_binary(kind) and kind.byte_width <= _BINARY_MAXIMUM:
        return f"binary({kind.byte_width})"
    if kind == arrow_type(LogicalType(Kind.GEOMETRY, "geometry")):
        return "geometry"
    if str(kind) not in _SQL:
        raise UnsupportedError(
            f"expected a type that a column of the server can have, found {kind}: give the table's CREATE"
            " TABLE with --schema, or write the column as text"
        )
    return _SQL[str(kind)]


def exact_values(
    values: pa.Array, logical: LogicalType, options: ArrowOptions, *, is_own: bool = False
) -> pa.Array:
    """Convert values to the form that rows decoded from logs have.

    Args:
        is_own: whether binx wrote them, with TIME as a number of microseconds.

    Raises:
        UnsupportedError: a value is not of the column's type.
    """
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if isinstance(values.type, pa.UuidType):
        values = _uuids(values, logical.kind)
    elif isinstance(values.type, pa.BaseExtensionType):
        values = values.storage
    target = arrow_type(logical, options)
    if pa.types.is_null(values.type):
        return pa.nulls(len(values), target)
    try:
        if is_own and logical.kind is Kind.TIME and pa.types.is_int64(values.type):
            values = values.cast(pa.duration("us"))
        made = _MAKERS.get(logical.kind, _text)(values, logical, target)
        if isinstance(target, pa.BaseExtensionType):
            return pa.ExtensionArray.from_storage(target, made)
        return made.cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise _refused(values, logical, str(error).splitlines()[0]) from error


def _refused(values: pa.Array, logical: LogicalType, why: str) -> UnsupportedError:
    return UnsupportedError(f"expected values of {mysql_name(logical)}, found {values.type}: {why}")


def _within(values: pa.Array, allowed: range, logical: LogicalType) -> pa.Array:
    """Return the values, after checking that they are in the allowed range."""
    bounds = pc.min_max(values).as_py()
    for value in (bounds["min"], bounds["max"]):
        if value is not None and not allowed.start <= value < allowed.stop:
            raise _refused(values, logical, f"{value} is out of its range")
    return values


def _integers(values: pa.Array, logical: LogicalType, target: pa.DataType) -> pa.Array:
    del target
    allowed = range(1 << (logical.length or 1)) if logical.kind in (Kind.BITS, Kind.BOOL) else range(2156)
    allowed = INTEGER_RANGES.get(logical.kind, allowed)
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int8())
    elif pa.types.is_floating(values.type):
        # Larger floats may represent several integers.
        bound = pa.scalar(float(_EXACT_DOUBLE), pa.float64())
        if pc.any(pc.greater(pc.abs(values.cast(pa.float64())), bound)).as_py():
            raise _refused(values, logical, "write them as integers, of which these may have lost digits")
        values = values.cast(pa.int64())
    elif pa.types.is_decimal(values.type):
        values = values.cast(pa.uint64() if allowed.start >= 0 else pa.int64())
    elif not pa.types.is_integer(values.type):
        raise _refused(values, logical, "write them as integers")
    values = _within(values, allowed, logical)
    if logical.kind is Kind.YEAR and not _YEARS.issuperset(pc.unique(values.drop_null()).to_pylist()):
        raise _refused(values, logical, "years are 0 and 1901 to 2155")
    if logical.kind is Kind.UINT64:
        return values.cast(pa.uint64())
    return values.cast(pa.uint64()).cast(pa.bool_()) if logical.kind is Kind.BOOL else values


def _floats(values: pa.Array, logical: LogicalType, target: pa.DataType) -> pa.Array:
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        raise _refused(values, logical, f"write them as {target}")
    made = values.cast(target)
    wide = made.cast(pa.float64())
    if pc.all(pc.is_finite(wide)).as_py() is False:
        raise _refused(values, logical, "servers have no NaN and no infinity: write NULL")
    if not wide.equals(values.cast(pa.float64())):
        raise _refused(values, logical, f"some have digits that the column has not: write them as {target}")
    return made


def _decimals(values: pa.Array, logical: LogicalType, target: pa.DataType) -> pa.Array:
    if pa.types.is_integer(values.type):
        values = values.cast(pa.decimal128(DECIMAL128_DIGITS, 0))
    elif pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        if not pa.types.is_string(target):
            return values.cast(target)
        digits = rf"^-?\d{{1,{logical.precision}}}" + (rf"\.\d{{{logical.scale}}}$" if logical.scale else "$")
        if pc.all(pc.match_substring_regex(values, digits)).as_py() is False:
            raise _refused(values, logical, "some are not written with the digits of the column")
        return values.cast(target)
    elif not pa.types.is_decimal(values.type):
        raise _refused(values, logical, "write them as decimals")
    if not pa.types.is_string(target):
        return values.cast(target)
    # Arrow formats small decimals with an exponent.
    exact = values.cast(pa.decimal256(logical.precision, logical.scale)).to_pylist()
    return pa.array([None if value is None else format(value, "f") for value in exact], target)


def _dates(values: pa.Array, logical: LogicalType, target: pa.DataType) -> pa.Array:
    if not (pa.types.is_date(values.type) or _is_local(values.type)):
        raise _refused(values, logical, "write them as dates")
    made = values.cast(target)
    if not made.cast(values.type).equals(values):
        raise _refused(values, logical, "some have a time: write them as dates")
    _within(made.cast(pa.int32()), _DAYS, logical)
    return made


def _is_local(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind)) and kind.tz is None


def _moments(values: pa.Array, logical: LogicalType, target: pa.DataType) -> pa.Array:
    is_stamp = logical.kind is Kind.TIMESTAMP
    if is_stamp and not (pa.types.is_timestamp(values.type) and values.type.tz):
        raise _refused(values, logical, "write them as instants, with a time zone")
    if not is_stamp and not (_is_local(values.type) or pa.types.is_date(values.type)):
        raise _refused(values, logical, "write them as timestamps without time zone")
    made = values.cast(target)
    allowed = _STAMPS if is_stamp else range(_DAYS.start * _DAY, _DAYS.stop * _DAY)
    _fraction(_within(made.cast(pa.int64()), allowed, logical), logical)
    return made


def _times(values: pa.Array, logical: LogicalType, target: pa.DataType) -> pa.Array:
    if pa.types.is_time(values.type):
        values = values.cast(pa.time64("us")).cast(pa.int64()).cast(target)
    elif not pa.types.is_duration(values.type):
        raise _refused(values, logical, "write them as durations or times")
    made = values.cast(target)
    _fraction(_within(made.cast(pa.int64()), _TIMES, logical), logical)
    return made


def _fraction(microseconds: pa.Array, logical: LogicalType) -> None:
    """Raise an error if values have more fractional digits than the column."""
    unit = 10 ** (6 - logical.fraction)
    if unit > 1:
        rest = pc.subtract(microseconds, pc.multiply(pc.divide(microseconds, unit), unit))
        if pc.any(pc.not_equal(rest, 0)).as_py():
            raise _refused(
                microseconds, logical, f"some have more than {logical.fraction} digits of a second"
            )


def _text(values: pa.Array, logical: LogicalType, target: pa.DataType) -> pa.Array:
    del target
    if values.type not in (pa.string(), pa.large_string(), pa.string_view()):
        raise _refused(values, logical, "write them as text")
    return values.cast(pa.string())


def _members(values: pa.Array, logical: LogicalType, target: pa.DataType) -> pa.Array:
    """Convert ENUM and SET values: texts as the server prints them, or numbers if members are unknown."""
    if logical.members is None:
        if not pa.types.is_integer(values.type):
            raise _refused(values, logical, "its members are not known")
        return values.cast(target)
    texts = _text(values, logical, target)
    for text in pc.unique(texts.drop_null()).to_pylist():
        listed = [text] if logical.kind is Kind.ENUM else text.split(",")
        indexes = [logical.members.index(member) if member in logical.members else -1 for member in listed]
        if text and (-1 in indexes or sorted(set(indexes)) != indexes):
            raise _refused(values, logical, f"{text!r} is not how the server prints one")
    return texts


def _bytes(values: pa.Array, logical: LogicalType, target: pa.DataType) -> pa.Array:
    kind = values.type
    if not (pa.types.is_fixed_size_binary(kind) or str(kind) in ("binary", "large_binary", "binary_view")):
        raise _refused(values, logical, "write them as bytes")
    made = values.cast(target)
    length = logical.padded_length
    if length is not None and pc.any(pc.not_equal(pc.binary_length(made), length)).as_py():
        raise _refused(values, logical, "some have another length")
    return made


def _nested(values: pa.Array, logical: LogicalType, target: pa.DataType) -> pa.Array:
    kind = values.type
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    if not (is_list and pa.types.is_float32(kind.value_type) and pa.types.is_list(target)) and kind != target:
        raise _refused(values, logical, f"write them as {target}")
    return values.cast(target)


def _uuids(values: pa.Array, kind: Kind) -> pa.Array:
    if kind is Kind.BINARY:
        return values.storage
    texts = [None if raw is None else str(uuid.UUID(bytes=raw)) for raw in values.storage.to_pylist()]
    return pa.array(texts, pa.string())


_MAKERS: dict[Kind, Callable[[pa.Array, LogicalType, pa.DataType], Any]] = {
    **dict.fromkeys((*INTEGER_NAMES, Kind.YEAR, Kind.BOOL, Kind.BITS), _integers),
    **dict.fromkeys((Kind.FLOAT32, Kind.FLOAT64), _floats),
    **dict.fromkeys((Kind.DATETIME, Kind.TIMESTAMP), _moments),
    **dict.fromkeys((Kind.ENUM, Kind.SET), _members),
    **dict.fromkeys((Kind.GEOMETRY, Kind.VECTOR), _nested),
    Kind.DECIMAL: _decimals,
    Kind.DATE: _dates,
    Kind.TIME: _times,
    Kind.BINARY: _bytes,
}
