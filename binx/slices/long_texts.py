"""Texts that are too long to be turned into UTF-8 in one go: they are turned piece by piece."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from binx.event.charset import Charset
from binx.log.arrow import arrow_array

LONG_BYTES = 1024 * 1024
"""Bytes from which on a value is long."""

CHUNK_BYTES = 64 * 1024
"""How much of a long value is taken at a time."""

_OVERLAP = 8
"""More bytes than a character has in any set."""


def is_long(array: pa.Array) -> bool:
    """Whether a column, of bytes or text, has a long value."""
    if array.nbytes < LONG_BYTES:
        return False
    # Typing knows this function only by the name that pyarrow makes when it is loaded.
    compute: Any = pc
    return bool((compute.max(compute.binary_length(array)).as_py() or 0) >= LONG_BYTES)


class LongText:
    """The values of a column of bytes as text, in pieces."""

    def __init__(self, array: pa.Array, charset: Charset) -> None:
        self._array = array
        self._charset = charset

    def chunks(self, row: int) -> Iterator[memoryview]:
        """The bytes of a row's value."""
        return chunks_of(self._array, row)

    def strict(self, row: int) -> Iterator[str | None]:
        """The text of a row's value; None where it is no text in its character set, and then nothing more."""
        for piece in self._whole(row):
            text = self._charset.decode_strictly(piece)
            yield text
            if text is None:
                return

    def text(self, row: int) -> Iterator[str]:
        r"""The text of a row's value, with ``\xNN`` for bytes that are no character."""
        return map(self._charset.decode, self._whole(row))

    def _whole(self, row: int) -> Iterator[bytes]:
        """The bytes in pieces that end where a character ends, as far as they are characters."""
        begun = b""
        for chunk in self.chunks(row):
            begun += chunk
            whole = self._whole_size(begun)
            yield begun[:whole]
            begun = begun[whole:]
        if begun:
            yield begun

    def _whole_size(self, data: bytes) -> int:
        """How many of the first bytes are whole characters: a codec keeps back the beginning of one."""
        if self._charset.max_bytes == 1 or self._charset.codec is None:
            return len(data)
        decoder = codecs.getincrementaldecoder(self._charset.codec)("replace")
        decoder.decode(data)
        held, _ = decoder.getstate()
        return len(data) - min(len(held), _OVERLAP)


def value_of(array: pa.Array, row: int) -> memoryview:
    """The bytes of a value of a column of bytes or text, where they are: Arrow's scalars would be copies."""
    _, offsets, data = array.buffers()
    wide = pa.types.is_large_binary(array.type) or pa.types.is_large_string(array.type)
    places = memoryview(offsets).cast("q" if wide else "i")[array.offset + row :]
    return memoryview(data or b"").cast("B")[places[0] : places[1]]


def chunks_of(array: pa.Array, row: int) -> Iterator[memoryview]:
    """The bytes of a value of a column of bytes or text, in chunks."""
    value = value_of(array, row)
    for start in range(0, len(value), CHUNK_BYTES):
        yield value[start : start + CHUNK_BYTES]


def long_values_differ(array: pa.Array, rows: pa.Array, others: pa.Array) -> pa.BooleanArray:
    """Whether the values of some rows are others than those of other rows, without a copy of any."""
    valid = array.is_valid().to_pylist()

    def differ(one: int, other: int) -> bool:
        if not (valid[one] and valid[other]):
            return valid[one] is not valid[other]
        return value_of(array, one) != value_of(array, other)

    return arrow_array(list(map(differ, rows.to_pylist(), others.to_pylist())), pa.bool_())
