"""Values as people read them, whole columns at a time.

They are as those of JSON (:mod:`binx.slices.json_values`) but for these: bytes are ``0x`` and digits, NULL
is ``NULL``, a document stands as the log has it, floating-point numbers have the exponent where Python has
it, and what is invisible in a text is escaped. Of a value of 1 MiB and more the start is shown, and its size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from binx.inspect.readable import LONG_KINDS, LongValue, charset_of
from binx.rows.columns.types import Kind, LogicalType
from binx.rows.parts import Spelled, Spelling
from binx.slices.json_values import json_values, plain_json, text_values, vector_values
from binx.slices.long_texts import LONG_BYTES, is_long, value_of
from binx.slices.texts import python_json_reals
from binx.source.wording import encoded
from binx.stats.text import ELLIPSIS, number_text, safe_text

NULL = b"NULL"

LONG_SHOWN = 1024
"""Characters that are shown of a value of 1 MiB and more."""


def shown_values(array: pa.Array, logical: LogicalType) -> tuple[Spelled, ...]:
    """A column as texts."""
    if logical.kind in LONG_KINDS and is_long(array):
        return (_with_long(array, logical),)
    special = _SPECIAL.get(logical.kind)
    spelled = json_values(array, logical) if special is None else (special(array, logical),)
    return tuple(_visible(one) for one in spelled)


def _visible(spelled: Spelled) -> Spelled:
    null = NULL if spelled.null else b""
    if spelled.spelling is Spelling.SPELL_JSON:
        return spelled._replace(spelling=Spelling.SPELL_SHOWN, null=null)
    return spelled._replace(null=null)


def _text(array: pa.Array, logical: LogicalType) -> Spelled:
    return text_values(array, logical, str)


def _binary(array: pa.Array, _: LogicalType) -> Spelled:
    return Spelled(Spelling.SPELL_HEXADECIMAL, array, b"0x", null=NULL)


def _json(array: pa.Array, _: LogicalType) -> Spelled:
    return Spelled(Spelling.SPELL_VISIBLE, array, null=NULL)


def _with_long(array: pa.Array, logical: LogicalType) -> Spelled:
    """A column of which some values are long."""
    charset = charset_of(array, logical)

    def shown(row: int) -> Iterator[bytes]:
        value = value_of(array, row)
        if len(value) >= LONG_BYTES:
            text = long_text(LongValue(array, row, charset))
        elif charset is None:
            text = f"0x{value.hex()}"
        else:
            decoded = charset.decode(value)
            text = safe_text(decoded if logical.kind is Kind.JSON else plain_json(decoded))
        yield encoded(text)

    return Spelled(Spelling.SPELL_ASKED, array, null=NULL, ask=shown)


def long_text(value: LongValue) -> str:
    """The start of a long value, and how many bytes it has."""
    start = next(value.text())[:LONG_SHOWN]
    opening = '"' if value.is_text else "0x"
    return f"{opening}{safe_text(start)}{ELLIPSIS} ({number_text(value.size)} bytes)"


def _real(array: pa.Array, _: LogicalType) -> Spelled:
    return Spelled(Spelling.SPELL_TEXT, python_json_reals(array), null=NULL)


def _vector(array: pa.Array, _: LogicalType) -> Spelled:
    return vector_values(array, python_json_reals(array.values))


_SPECIAL: dict[Kind, Callable[[pa.Array, LogicalType], Spelled]] = {
    Kind.FLOAT32: _real,
    Kind.FLOAT64: _real,
    Kind.TEXT: _text,
    Kind.BINARY: _binary,
    Kind.JSON: _json,
    Kind.VECTOR: _vector,
}
