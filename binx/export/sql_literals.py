"""Values as SQL literals that mean the same in every SQL mode.

A string that holds a backslash or a control character is written in hexadecimal, as the session's
``sql_mode`` decides whether a backslash is an escape (NO_BACKSLASH_ESCAPES); all others stand in single
quotes, with ``''`` for a quote. Numbers with an exponent are DOUBLE, those without are exact (MySQL manual,
"Numeric Literals").
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from binx.errors import RefusedError
from binx.event.charset import DEFAULT_CHARSET, Charset
from binx.event.charset import charset as charset_of_name
from binx.export.texts import (
    as_text,
    constant,
    decimals,
    geometry_hexadecimal,
    hexadecimal,
    joined,
    moments,
    quoted,
    replaced,
    string_literals,
    times,
    vector_hexadecimal,
)
from binx.rows.arrays import UNMAPPED_CHARSETS
from binx.rows.types import INTEGER_NAMES, Kind, LogicalType

NULL = constant("NULL")

FLOAT32_MAX = 3.4028234663852886e38
"""Its shortest digits, 3.4028235e38, lie above it, and servers refuse them as too large."""


def identifier(name: str) -> str:
    """A name in backticks."""
    return "`" + name.replace("`", "``") + "`"


def text_literal(text: str) -> str:
    """One string."""
    literal: bytes = string_literals(pa.array([text.encode("utf-8", "backslashreplace")], pa.large_binary()))[
        0
    ].as_py()
    return literal.decode()


def sql_literals(array: pa.Array, logical: LogicalType, *, exact: bool = False) -> pa.Array:
    """A column as literals, ``NULL`` for nulls.

    Args:
        array: the column, of the type's Arrow type; JSON as its storage; text as text, or as bytes in its own
            character set.
        logical: its type.
        exact: write what comparisons need: FLOAT with the digits of the DOUBLE that it is, text in utf8mb4.

    Raises:
        RefusedError: a number that SQL has no literal for.
    """
    if exact and logical.kind is Kind.FLOAT32:
        array = array.cast(pa.float64())
    if logical.kind is Kind.TEXT:
        literals = _character_literals(array, logical, exact)
    else:
        literals = _WRITERS[logical.kind](array, logical)
    if array.null_count == 0:
        return literals
    return pc.if_else(array.is_valid(), literals, NULL)


def _character_literals(array: pa.Array, logical: LogicalType, exact: bool) -> pa.Array:
    """Text as the characters it has; bytes that are none in its character set as they are."""
    if not pa.types.is_binary(array.type):
        return string_literals(as_text(array))
    charset = None if logical.charset is None else charset_of_name(logical.charset)
    if charset is None or charset.name in UNMAPPED_CHARSETS:
        try:
            return string_literals(as_text(array.cast(pa.string())))
        except pa.ArrowInvalid:
            charset = charset or charset_of_name(DEFAULT_CHARSET)
    assert charset is not None
    encoded = array.dictionary_encode()
    values = encoded.dictionary.to_pylist()
    texts = [_written_back(charset, value) for value in values]
    literals = string_literals(
        pa.array([None if text is None else text.encode() for text in texts], pa.large_binary())
    )
    astray = [value for value, text in zip(values, texts, strict=True) if text is None]
    if astray:
        form = "CONVERT(_{} x'{}' USING utf8mb4)" if exact else "_{} x'{}'"
        bare = [form.format(charset.name, value.hex()).encode() for value in astray]
        literals = replaced(literals, literals.is_null(), pa.array(bare, pa.large_binary()))
    return literals.take(encoded.indices)


def _written_back(charset: Charset, value: bytes) -> str | None:
    """A text of which a server makes the same bytes again; None where there is none."""
    text = charset.decode_strictly(value)
    return text if text is not None and charset.is_written_back(text) else None


def _text(array: pa.Array, _: LogicalType) -> pa.Array:
    return string_literals(as_text(array))


def _number(array: pa.Array, _: LogicalType) -> pa.Array:
    return as_text(array)


def _decimal(array: pa.Array, _: LogicalType) -> pa.Array:
    return decimals(array)


def _real(array: pa.Array, _: LogicalType) -> pa.Array:
    """Shortest digits that are read back as the same number, always with an exponent."""
    if not pc.all(pc.is_finite(array)).as_py() and array.null_count < len(array):
        raise RefusedError("expected finite numbers, found NaN or infinity, which SQL has no literal for")
    texts = as_text(array)
    if pa.types.is_float32(array.type):
        wide = array.cast(pa.float64())
        again = texts.cast(pa.large_string()).cast(pa.float64())
        astray = pc.or_(
            pc.not_equal(again.cast(pa.float32()), array), pc.equal(pc.abs(wide), pa.scalar(FLOAT32_MAX))
        )
        if pc.any(astray).as_py():
            texts = pc.if_else(astray, as_text(wide), texts)
    return pc.if_else(pc.match_substring(texts, "e"), texts, joined(texts, constant("e0")))


def _bool(array: pa.Array, _: LogicalType) -> pa.Array:
    return pc.if_else(array, constant("1"), constant("0"))


def _date(array: pa.Array, _: LogicalType) -> pa.Array:
    return quoted(as_text(array.cast(pa.string())), "'")


def _moment(array: pa.Array, logical: LogicalType) -> pa.Array:
    return quoted(moments(array, logical.fraction), "'")


def _time(array: pa.Array, logical: LogicalType) -> pa.Array:
    return quoted(times(array, logical.fraction), "'")


def _binary(array: pa.Array, _: LogicalType) -> pa.Array:
    return joined(constant("x'"), hexadecimal(array), constant("'"))


def _members(array: pa.Array, logical: LogicalType) -> pa.Array:
    """ENUM and SET by name; by number where the members are unknown."""
    if logical.members is None:
        return as_text(array)
    if pa.types.is_dictionary(array.type):
        return string_literals(as_text(array.dictionary)).take(array.indices)
    return string_literals(as_text(array))


def _geometry(array: pa.Array, _: LogicalType) -> pa.Array:
    return joined(constant("x'"), geometry_hexadecimal(array), constant("'"))


def _vector(array: pa.Array, _: LogicalType) -> pa.Array:
    return joined(constant("x'"), vector_hexadecimal(array), constant("'"))


_WRITERS: dict[Kind, Callable[[pa.Array, LogicalType], pa.Array]] = {
    **dict.fromkeys(INTEGER_NAMES, _number),
    Kind.FLOAT32: _real,
    Kind.FLOAT64: _real,
    Kind.DECIMAL: lambda array, logical: (
        _decimal(array, logical) if pa.types.is_decimal(array.type) else as_text(array)
    ),
    Kind.BOOL: _bool,
    Kind.BITS: _number,
    Kind.DATE: _date,
    Kind.DATETIME: _moment,
    Kind.TIMESTAMP: _moment,
    Kind.TIME: _time,
    Kind.YEAR: _number,
    Kind.TEXT: _text,
    Kind.BINARY: _binary,
    Kind.ENUM: _members,
    Kind.SET: _members,
    Kind.JSON: _text,
    Kind.GEOMETRY: _geometry,
    Kind.VECTOR: _vector,
    Kind.INET4: _text,
    Kind.INET6: _text,
    Kind.UUID: _text,
}
