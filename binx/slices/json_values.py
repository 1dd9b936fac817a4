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
from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from binx.event.charset import charset as charset_of_name
from binx.kernels.render.row_changes import Spelling
from binx.rows.columns.arrays import UNMAPPED_CHARSETS, whole_text
from binx.rows.columns.types import INTEGER_NAMES, Kind, LogicalType
from binx.slices.pieces import Spelled
from binx.slices.texts import (
    EMPTY,
    EXACT_DIGITS,
    TEXT,
    LongText,
    Writer,
    as_text,
    constant,
    decimals,
    is_long,
    per_distinct,
    quoted,
    quoted_times,
)

NULL = b"null"

_QUOTE = b'"'

_INTEGER = r"^-?[0-9]+$"


def json_values(array: pa.Array, logical: LogicalType) -> tuple[Spelled, ...]:
    """A column as JSON texts, ``null`` for nulls.

    Args:
        array: the column, of the type's Arrow type; JSON as its storage; text as text, or as bytes in its own
            character set.
        logical: its type.
    """
    return _WRITERS[logical.kind](array, logical)


_ENCODER = json.JSONEncoder(ensure_ascii=False)


def plain_json(value: object) -> str:
    """A plain value in one line."""
    return _ENCODER.encode(value)


def _integer(array: pa.Array, _: LogicalType) -> tuple[Spelled]:
    unsigned = pa.types.is_unsigned_integer(array.type)
    return (Spelled(Spelling.SPELL_UNSIGNED if unsigned else Spelling.SPELL_SIGNED, array, null=NULL),)


def real_texts(array: pa.Array) -> pa.Array:
    """Always with a point or an exponent, so that readers keep -0.0 and take no float for an integer.

    JSON has no numbers for NaN and infinity; no server stores them, so they are strings.
    """
    texts = as_text(array)
    pointed = pc.binary_join_element_wise(texts, constant(".0"), EMPTY)
    texts = pc.if_else(pc.match_substring_regex(texts, _INTEGER), pointed, texts)
    finite = pc.is_finite(array)
    return texts if pc.all(finite).as_py() else pc.if_else(finite, texts, quoted(texts, '"'))


def _real(array: pa.Array, _: LogicalType) -> tuple[Spelled]:
    return (Spelled(Spelling.SPELL_TEXT, real_texts(array), null=NULL),)


def _decimal(array: pa.Array, _: LogicalType) -> tuple[Spelled]:
    if pa.types.is_decimal(array.type) and array.type.precision <= EXACT_DIGITS:
        scale = array.type.scale
        return (Spelled(Spelling.SPELL_DECIMAL, array, b'"', b'"', NULL, parameter=scale),)
    texts = decimals(array) if pa.types.is_decimal(array.type) else array
    return (Spelled(Spelling.SPELL_TEXT, texts, b'"', b'"', NULL),)


def _bool(array: pa.Array, _: LogicalType) -> tuple[Spelled]:
    texts = pc.if_else(array, constant("true"), constant("false"))
    return (Spelled(Spelling.SPELL_TEXT, texts, null=NULL),)


def _timestamp(array: pa.Array, logical: LogicalType) -> tuple[Spelled]:
    return (Spelled(Spelling.SPELL_INSTANT, array, b'"', b'Z"', NULL, parameter=logical.fraction),)


def _string(array: pa.Array, _: LogicalType) -> tuple[Spelled]:
    return (Spelled(Spelling.SPELL_JSON, array, null=NULL),)


def _text(array: pa.Array, logical: LogicalType) -> tuple[Spelled]:
    return (text_values(array, logical, lambda text: plain_json(text)[1:-1]),)


def text_values(array: pa.Array, logical: LogicalType, escaped: Callable[[str], str]) -> Spelled:
    """A column of text as strings of JSON, whatever its character set."""
    charset = None if logical.charset is None else charset_of_name(logical.charset)
    if charset is None or charset.name in UNMAPPED_CHARSETS or not pa.types.is_binary(array.type):
        return Spelled(Spelling.SPELL_JSON, array, null=NULL)
    if not is_long(array):
        texts = whole_text(array, charset)
        if texts is None:
            texts = per_distinct(array, lambda value: charset.decode(value).encode())
        return Spelled(Spelling.SPELL_JSON, texts, null=NULL)
    long_text = LongText(array, charset)

    def string(row: int) -> Iterator[bytes]:
        for text in long_text.text(row):
            yield escaped(text).encode()

    return Spelled(Spelling.SPELL_ASKED, array, b'"', b'"', NULL, ask=string)


def _members(array: pa.Array, logical: LogicalType) -> tuple[Spelled]:
    return _integer(array, logical) if logical.members is None else _string(array, logical)


def _base64(array: pa.Array, _: LogicalType) -> tuple[Spelled]:
    return (Spelled(Spelling.SPELL_BASE64, array, b'"', b'"', NULL),)


def _json(array: pa.Array, logical: LogicalType) -> tuple[Spelled]:
    """MySQL's documents are rendered by us; MariaDB's are whatever text the column took."""
    texts = array if logical.base == "json" else per_distinct(as_text(array), _document)
    return (Spelled(Spelling.SPELL_TEXT, texts, null=NULL),)


def _document(text: bytes) -> bytes:
    """The text in one line where it is JSON; else as a string."""
    try:
        # As text: of bytes Python would also take UTF-16 and UTF-32, and a mark of their order.
        # Numbers are left alone: Python takes none of more than some thousand digits.
        json.loads(text.decode(), parse_constant=_refuse, parse_int=str)
    except (ValueError, RecursionError):
        return plain_json(text.decode()).encode()
    return b" ".join(text.splitlines()).replace(b"\r", b" ")


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _geometry(array: pa.Array, _: LogicalType) -> tuple[Spelled, Spelled]:
    srid, wkb = array.flatten()
    return (
        Spelled(Spelling.SPELL_UNSIGNED, srid, open=b'{"srid": ', null=NULL),
        Spelled(Spelling.SPELL_BASE64, wkb, open=b', "wkb": "', close=b'"}'),
    )


def _vector(array: pa.Array, _: LogicalType) -> tuple[Spelled]:
    return (vector_values(array, real_texts(array.values)),)


def vector_values(array: pa.Array, numbers: pa.Array) -> Spelled:
    """A column of lists of numbers as arrays of JSON, given all the numbers as texts."""
    offsets = pa.Array.from_buffers(
        pa.int32(), len(array) + 1, [None, array.buffers()[1]], offset=array.offset
    )
    lists = pa.LargeListArray.from_arrays(offsets.cast(pa.int64()), numbers)
    texts = pc.binary_join(lists, constant(", "))
    if array.null_count:
        texts = pc.if_else(array.is_valid(), texts, pa.scalar(None, TEXT))
    return Spelled(Spelling.SPELL_TEXT, texts, b"[", b"]", NULL)


_WRITERS: dict[Kind, Writer] = {
    **dict.fromkeys(INTEGER_NAMES, _integer),
    Kind.FLOAT32: _real,
    Kind.FLOAT64: _real,
    Kind.DECIMAL: _decimal,
    Kind.BOOL: _bool,
    Kind.BITS: _integer,
    Kind.DATE: quoted_times(Spelling.SPELL_DATE, _QUOTE, NULL),
    Kind.DATETIME: quoted_times(Spelling.SPELL_MOMENT, _QUOTE, NULL),
    Kind.TIMESTAMP: _timestamp,
    Kind.TIME: quoted_times(Spelling.SPELL_TIME, _QUOTE, NULL),
    Kind.YEAR: _integer,
    Kind.TEXT: _text,
    Kind.BINARY: _base64,
    Kind.ENUM: _members,
    Kind.SET: _members,
    Kind.JSON: _json,
    Kind.GEOMETRY: _geometry,
    Kind.VECTOR: _vector,
    Kind.INET4: _string,
    Kind.INET6: _string,
    Kind.UUID: _string,
}
