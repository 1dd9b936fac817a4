"""Values as JSON, whole columns at a time.

========================================  ===========================================================
integers, BIT(2–64), YEAR                 numbers, all digits, also beyond 2^53
FLOAT, DOUBLE                             numbers, the shortest digits that give the same value
DECIMAL                                   strings, all digits
BIT(1)                                    ``true`` and ``false``
DATE, TIME, DATETIME                      strings as the server prints them: ``"2026-03-02 09:30:00.25"``
TIMESTAMP                                 RFC 3339 in UTC: ``"2026-03-02T09:30:00.25Z"``
text, ENUM, SET, INET4, INET6, UUID       strings, in SET with commas between
BINARY, VARBINARY, BLOB                   strings in base64, as Debezium and Maxwell have them
JSON                                      the document itself
GEOMETRY and kin                          ``{"srid": 4326, "wkb": "…base64…"}``
VECTOR                                    an array of numbers
========================================  ===========================================================

What a type cannot hold (zero and partial dates, say) is the text that the server prints. NULL is ``null``,
and so is a JSON document that is ``null``.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from binx.export.texts import (
    as_text,
    constant,
    decimals,
    instants,
    joined,
    moments,
    per_distinct,
    quoted,
    replaced,
    times,
)
from binx.rows.types import INTEGER_NAMES, Kind, LogicalType

NULL = constant("null")

_INTEGER = r"^-?[0-9]+$"
_UNSAFE = r'[\x00-\x1f"\\\x7f]'


def json_values(array: pa.Array, logical: LogicalType) -> pa.Array:
    """A column as JSON texts, ``null`` for nulls.

    Args:
        array: the column, of the type's Arrow type; JSON as its storage.
        logical: its type.
    """
    texts = _WRITERS[logical.kind](array, logical)
    if array.null_count == 0:
        return texts
    return pc.if_else(array.is_valid(), texts, NULL)


def json_text(value: object) -> str:
    """A plain value in one line."""
    return json.dumps(value, ensure_ascii=False)


def json_strings(array: pa.Array) -> pa.Array:
    """Texts, ``large_binary`` in UTF-8, as JSON strings."""
    strings = quoted(array, '"')
    unsafe = pc.fill_null(pc.match_substring_regex(array, _UNSAFE), False)
    if pc.any(unsafe).as_py():
        escaped = per_distinct(array.filter(unsafe), lambda value: json_text(value.decode()).encode())
        strings = replaced(strings, unsafe, escaped)
    return strings


def _number(array: pa.Array, _: LogicalType) -> pa.Array:
    return as_text(array)


def _real(array: pa.Array, _: LogicalType) -> pa.Array:
    """Always with a point or an exponent, so that readers keep -0.0 and take no float for an integer.

    JSON has no numbers for NaN and infinity; no server stores them, so they are strings.
    """
    texts = as_text(array)
    texts = pc.if_else(pc.match_substring_regex(texts, _INTEGER), joined(texts, constant(".0")), texts)
    finite = pc.is_finite(array)
    return texts if pc.all(finite).as_py() else pc.if_else(finite, texts, quoted(texts, '"'))


def _decimal(array: pa.Array, _: LogicalType) -> pa.Array:
    return quoted(decimals(array) if pa.types.is_decimal(array.type) else as_text(array), '"')


def _bool(array: pa.Array, _: LogicalType) -> pa.Array:
    return pc.if_else(array, constant("true"), constant("false"))


def _date(array: pa.Array, _: LogicalType) -> pa.Array:
    return quoted(as_text(array.cast(pa.string())), '"')


def _datetime(array: pa.Array, logical: LogicalType) -> pa.Array:
    return quoted(moments(array, logical.fraction), '"')


def _timestamp(array: pa.Array, logical: LogicalType) -> pa.Array:
    return quoted(instants(array, logical.fraction), '"')


def _time(array: pa.Array, logical: LogicalType) -> pa.Array:
    return quoted(times(array, logical.fraction), '"')


def _text(array: pa.Array, _: LogicalType) -> pa.Array:
    return json_strings(as_text(array))


def _members(array: pa.Array, logical: LogicalType) -> pa.Array:
    if logical.members is None:
        return as_text(array)
    if pa.types.is_dictionary(array.type):
        return json_strings(as_text(array.dictionary)).take(array.indices)
    return json_strings(as_text(array))


def _base64(array: pa.Array, _: LogicalType | None = None) -> pa.Array:
    return pa.array(
        [None if value is None else b'"%b"' % b64encode(value) for value in array.to_pylist()],
        pa.large_binary(),
    )


def _json(array: pa.Array, logical: LogicalType) -> pa.Array:
    """MySQL's documents are rendered by us; MariaDB's are whatever text the column took."""
    texts = as_text(array)
    return texts if logical.base == "json" else per_distinct(texts, _document)


def _document(text: bytes) -> bytes:
    """The text in one line where it is JSON; else as a string."""
    try:
        json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return json_text(text.decode()).encode()
    return b" ".join(text.splitlines()).replace(b"\r", b" ")


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _geometry(array: pa.Array, _: LogicalType) -> pa.Array:
    srid, wkb = array.flatten()
    return joined(constant('{"srid": '), as_text(srid), constant(', "wkb": '), _base64(wkb), constant("}"))


def _vector(array: pa.Array, logical: LogicalType) -> pa.Array:
    numbers = _real(array.values, logical)
    offsets = pa.Array.from_buffers(
        pa.int32(), len(array) + 1, [None, array.buffers()[1]], offset=array.offset
    )
    lists = pa.LargeListArray.from_arrays(offsets.cast(pa.int64()), numbers)
    return joined(constant("["), pc.binary_join(lists, constant(", ")), constant("]"))


_WRITERS: dict[Kind, Callable[[pa.Array, LogicalType], pa.Array]] = {
    **dict.fromkeys(INTEGER_NAMES, _number),
    Kind.FLOAT32: _real,
    Kind.FLOAT64: _real,
    Kind.DECIMAL: _decimal,
    Kind.BOOL: _bool,
    Kind.BITS: _number,
    Kind.DATE: _date,
    Kind.DATETIME: _datetime,
    Kind.TIMESTAMP: _timestamp,
    Kind.TIME: _time,
    Kind.YEAR: _number,
    Kind.TEXT: _text,
    Kind.BINARY: _base64,
    Kind.ENUM: _members,
    Kind.SET: _members,
    Kind.JSON: _json,
    Kind.GEOMETRY: _geometry,
    Kind.VECTOR: _vector,
    Kind.INET4: _text,
    Kind.INET6: _text,
    Kind.UUID: _text,
}
