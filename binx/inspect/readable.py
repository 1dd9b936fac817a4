"""Row changes for people: bytes are told from text, and long values stay in the memory of their column."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from binx.event.charset import DEFAULT_CHARSET, Charset
from binx.event.charset import charset as charset_of_name
from binx.kernels.render.row_changes import Spelling
from binx.rows.columns.types import Kind, LogicalType
from binx.slices.json_values import NULL, json_values, plain_json
from binx.slices.pieces import Spelled
from binx.slices.texts import LONG_BYTES, LongText, chunks_of, is_long, value_of

_BYTES_OPEN, _BYTES_CLOSE = b'{"hex": "', b'"}'
_DOCUMENT_OPEN, _DOCUMENT_CLOSE = b'{"document": ', b"}"

LONG_KINDS = frozenset({Kind.TEXT, Kind.BINARY, Kind.JSON})
"""Kinds of columns that can have long values."""


class LongValue:
    """A value of 1 MiB or more, in the memory of its column."""

    def __init__(self, array: pa.Array, row: int, charset: Charset | None) -> None:
        self._array = array
        self._row = row
        self._charset = charset
        self._memory = value_of(array, row)
        self.size = len(self._memory)
        self.is_text = charset is not None

    def text(self) -> Iterator[str]:
        """The value as text, in pieces."""
        if self._charset is None:
            return (chunk.hex() for chunk in chunks_of(self._array, self._row))
        return LongText(self._array, self._charset).text(self._row)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LongValue) and self._memory == other._memory

    __hash__ = None  # type: ignore[assignment]


class ReadableRows:
    """Spells rows for people, and reads what was spelled.

    Bytes are ``{"hex": …}`` and documents ``{"document": …}`` with their text, so that they are told from
    text and from each other.
    """

    def __init__(self) -> None:
        # No file can hold it, so no document of a row is taken for a long value.
        self._key = f"long-{secrets.token_hex(16)}"
        self._long: dict[int, LongValue] = {}

    def values(self, array: pa.Array, logical: LogicalType) -> tuple[Spelled, ...]:
        """How a column is spelled."""
        if logical.kind in LONG_KINDS and is_long(array):
            return (self._with_long(array, logical),)
        if logical.kind is Kind.JSON:
            return (Spelled(Spelling.SPELL_JSON, array, _DOCUMENT_OPEN, _DOCUMENT_CLOSE, NULL),)
        if logical.kind is Kind.BINARY:
            return (Spelled(Spelling.SPELL_HEXADECIMAL, array, _BYTES_OPEN, _BYTES_CLOSE, NULL),)
        return json_values(array, logical)

    def document(self, text: Iterable[bytes]) -> dict[str, Any]:
        """A row change, given as text: its long values are each a :class:`LongValue`."""
        self._long.clear()
        document: dict[str, Any] = json.loads(b"".join(text), object_hook=self._found)
        return document

    def _found(self, document: dict[str, Any]) -> Any:
        return self._long[document[self._key]] if self._key in document else document

    def _with_long(self, array: pa.Array, logical: LogicalType) -> Spelled:
        """A column of which some values are long."""
        charset = charset_of(array, logical)

        def spelled(row: int) -> Iterator[bytes]:
            value = value_of(array, row)
            if len(value) >= LONG_BYTES:
                number = len(self._long)
                self._long[number] = LongValue(array, row, charset)
                yield f'{{"{self._key}": {number}}}'.encode()
            elif charset is None:
                yield b"%b%b%b" % (_BYTES_OPEN, value.hex().encode(), _BYTES_CLOSE)
            elif logical.kind is Kind.JSON:
                text = plain_json(charset.decode(value)).encode()
                yield b"%b%b%b" % (_DOCUMENT_OPEN, text, _DOCUMENT_CLOSE)
            else:
                yield plain_json(charset.decode(value)).encode()

        return Spelled(Spelling.SPELL_ASKED, array, null=NULL, ask=spelled)


_UTF8 = charset_of_name(DEFAULT_CHARSET)


def charset_of(array: pa.Array, logical: LogicalType) -> Charset | None:
    """The character set of a column's text as it is in memory; None for bytes."""
    if logical.kind is Kind.BINARY:
        return None
    own = None if logical.charset is None else charset_of_name(logical.charset)
    return own if own is not None and pa.types.is_binary(array.type) else _UTF8
