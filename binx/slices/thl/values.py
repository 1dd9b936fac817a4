"""Values as Tungsten's listing has them, whole columns at a time.

They are as those of JSON (:mod:`binx.slices.json_values`) but for these: text and times stand without quotes,
bytes in hexadecimal, BIT(1) is 1 or 0, NULL is ``NULL``, and large and small floating-point numbers have the
exponent where Python has it. A JSON document stands as the log has it.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from binx.rows.columns.types import Kind, LogicalType
from binx.rows.parts import Spelled, Spelling
from binx.slices.json_values import json_values, text_values, vector_values
from binx.slices.texts import constant, python_json_reals, python_reals

NULL = b"NULL"

_QUOTE = b'"'


def thl_values(array: pa.Array, logical: LogicalType) -> tuple[Spelled, ...]:
    """A column as texts."""
    special = _SPECIAL.get(logical.kind)
    if special is None:
        return tuple(map(_bare, json_values(array, logical)))
    return (special(array, logical)._replace(null=NULL),)


def _bare(spelled: Spelled) -> Spelled:
    """The same without the quotes of JSON."""
    null = NULL if spelled.null else b""
    if spelled.spelling is Spelling.SPELL_JSON:
        return spelled._replace(spelling=Spelling.SPELL_ESCAPED, null=null)
    if spelled.open != _QUOTE:
        return spelled._replace(null=null)
    return spelled._replace(open=b"", close=spelled.close.removesuffix(_QUOTE), null=null)


def _text(array: pa.Array, logical: LogicalType) -> Spelled:
    return _bare(text_values(array, logical, str))


def _binary(array: pa.Array, _: LogicalType) -> Spelled:
    return Spelled(Spelling.SPELL_HEXADECIMAL, array)


def _bool(array: pa.Array, _: LogicalType) -> Spelled:
    return Spelled(Spelling.SPELL_TEXT, pc.if_else(array, constant("1"), constant("0")))


def _real(array: pa.Array, _: LogicalType) -> Spelled:
    return Spelled(Spelling.SPELL_TEXT, python_reals(array))


def _vector(array: pa.Array, _: LogicalType) -> Spelled:
    return vector_values(array, python_json_reals(array.values))


def _json(array: pa.Array, logical: LogicalType) -> Spelled:
    return Spelled(Spelling.SPELL_TEXT if logical.base == "json" else Spelling.SPELL_ESCAPED, array)


_SPECIAL: dict[Kind, Callable[[pa.Array, LogicalType], Spelled]] = {
    Kind.BOOL: _bool,
    Kind.FLOAT32: _real,
    Kind.FLOAT64: _real,
    Kind.TEXT: _text,
    Kind.BINARY: _binary,
    Kind.JSON: _json,
    Kind.VECTOR: _vector,
}
