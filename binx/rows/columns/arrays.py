"""Build Arrow arrays from the row kernel's buffers.

Most columns use the kernel's memory as it is. Character sets, names of ENUM and SET
members, and structs are handled here, for a whole column at once.

``pyarrow.compute`` is imported lazily: few tables need it, and loading it is slow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, cached_property, partial
from socket import AF_INET, AF_INET6, inet_ntop
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

import pyarrow as pa

from binx.errors import DamagedError, UnsupportedError
from binx.event.charset import PIECE_BYTES, Charset
from binx.event.charset import charset as charset_of_name
from binx.rows.columns.types import ArrowOptions, Kind, LogicalType, arrow_type

FLOAT_SIZE = 4

_OFFSET_BYTES = 4
_MOST_TEXT = 0x7FFFFFFF
"""Maximum bytes of a column in a batch, as offsets have 32 bits."""

_SEPARATORS = (b"\x01", b"\x02", b"\x03", b"\x1e", b"\x1f", b"\0")
"""Bytes that texts rarely have, and that no character of several bytes has."""

UNMAPPED_CHARSETS = frozenset({"utf8mb4", "utf8mb3", "ascii"})
"""Character sets whose text is UTF-8 already."""


class ColumnBuffers(NamedTuple):
    """The buffers of a column.

    Attributes:
        values: values, offsets, or indexes of words; None if all values are null.
        data: the bytes of strings, or of words.
        words: the offsets of the words; None if the values are not indexes of words.
        validity: a bitmap; None if no value is null, or all are.
        nulls: number of nulls.
        srids: SRIDs of geometries.
    """

    values: Any
    data: Any = None
    words: Any = None
    validity: Any = None
    nulls: int = 0
    srids: Any = None

    @property
    def bitmap(self) -> pa.Buffer | None:
        """The validity bitmap as an Arrow buffer."""
        return None if self.validity is None else pa.py_buffer(self.validity)

    def array(self, data_type: pa.DataType, rows: int) -> pa.Array:
        """Return the buffers as an array of a type with this layout."""
        if self.values is None:
            return pa.nulls(rows, data_type)
        if isinstance(data_type, pa.BaseExtensionType):
            return pa.ExtensionArray.from_storage(data_type, self.array(data_type.storage_type, rows))
        buffers = [self.bitmap, pa.py_buffer(self.values)]
        if self.words is not None:
            codes = pa.Array.from_buffers(data_type.index_type, rows, buffers, self.nulls)
            words = [None, pa.py_buffer(self.words), pa.py_buffer(self.data)]
            count = len(memoryview(self.words).cast("B")) // _OFFSET_BYTES - 1
            return pa.DictionaryArray.from_arrays(
                codes, pa.Array.from_buffers(data_type.value_type, count, words, 0)
            )
        if self.data is not None:
            buffers.append(pa.py_buffer(self.data))
        return pa.Array.from_buffers(data_type, rows, buffers, self.nulls)


Column: TypeAlias = "ColumnBuffers | pa.Array"
"""A column's values."""


class ColumnArrays:
    r"""Converts one column's buffers to Arrow values, batch by batch.

    Attributes:
        undecodable: number of values with bytes that are invalid in their character set and became ``\xNN``.
    """

    def __init__(self, logical: LogicalType, options: ArrowOptions, *, compressed: bool = False) -> None:
        self.logical = logical
        self.type: pa.DataType = arrow_type(logical, options)
        self.undecodable = 0
        self._compressed = compressed
        self._charset = None if logical.charset is None else charset_of_name(logical.charset)
        self._convert = _CONVERTERS.get(logical.kind)

    def of_another_table(self) -> ColumnArrays:
        """Return a copy for another table with the same columns; itself if no value can be undecodable."""
        if self._convert is not _CONVERTERS[Kind.TEXT]:
            return self
        # Like copy.copy, which would first look up how to pickle it.
        copied = object.__new__(ColumnArrays)
        copied.__dict__.update(self.__dict__, undecodable=0)
        return copied

    def column(self, buffers: ColumnBuffers, rows: int) -> Column:
        """Convert the buffers from the kernel to the column's values.

        Raises:
            DamagedError: a value is not of the column's type.
            UnsupportedError: the text is larger than an array can hold.
        """
        return buffers if self._convert is None else self._convert(self, buffers, rows)

    def _bytes_array(self, buffers: ColumnBuffers, rows: int) -> pa.Array:
        """Return the buffers as a binary array, with MariaDB's compressed values decompressed."""
        array = buffers.array(pa.binary(), rows)
        return _map_distinct(array, pa.binary(), _uncompressed) if self._compressed else array

    def _binary(self, buffers: ColumnBuffers, rows: int) -> Column:
        return self._bytes_array(buffers, rows) if self._compressed else buffers

    def _text(self, buffers: ColumnBuffers, rows: int) -> Column:
        if pa.types.is_binary(self.type):
            return self._binary(buffers, rows)
        if self._compressed:
            array = self._bytes_array(buffers, rows)
            validity, offsets, data = array.buffers()
            buffers = ColumnBuffers(_bytes_of(offsets), _bytes_of(data), None, validity, array.null_count)
        charset = self._charset
        is_mapped = charset is not None and charset.name not in UNMAPPED_CHARSETS
        if _is_ascii(buffers.data):
            is_utf8 = not is_mapped or (charset is not None and keeps_ascii(charset))
        else:
            is_utf8 = not is_mapped and _is_utf8(buffers.array(pa.string(), rows))
        if is_utf8:
            return buffers
        return self._converted(buffers.array(pa.binary(), rows), charset or _UTF8MB4)

    def _converted(self, array: pa.Array, charset: Charset) -> pa.Array:
        """Convert text in a character set other than UTF-8, or with invalid UTF-8."""
        text = decoded(array, charset, partial(self._decoded_singly, charset=charset))
        if text is None:
            raise UnsupportedError(
                "expected less than 2 GiB of text in UTF-8, found more: each byte that is no"
                f" {charset.name} becomes \\xNN; give a dump in which the column has a binary type (--schema)"
                " to avoid that"
            )
        return text

    def _decoded_singly(self, array: pa.Array, charset: Charset) -> pa.Array:
        texts: list[bytes | None] = []
        for value in array.to_pylist():
            if value is None:
                texts.append(None)
                continue
            texts.append(charset.to_utf8(value))
            # Valid UTF-8 stays unchanged.
            is_utf8 = charset.codec == "utf_8"
            is_exact = texts[-1] == value if is_utf8 else charset.decode_strictly(value) is not None
            self.undecodable += not is_exact
        return pa.array(texts, pa.string())

    def _bool(self, buffers: ColumnBuffers, rows: int) -> Column:
        import pyarrow.compute as pc

        return pc.not_equal(buffers.array(pa.uint8(), rows), pa.scalar(0, pa.uint8()))

    def _enum(self, buffers: ColumnBuffers, rows: int) -> Column:
        """Convert an ENUM; its numbers are dictionary indexes: 0 is the empty error value, members follow."""
        if self.logical.members is None:
            return buffers
        if pa.types.is_integer(self.type):
            return buffers.array(pa.int32(), rows).cast(self.type)
        if not self.logical.has_equal_members:
            return buffers._replace(data=self._member_words[0], words=self._member_words[1])
        names = ["", *self.logical.members]
        distinct = list(dict.fromkeys(names))
        indexes = pa.array([distinct.index(name) for name in names], pa.int32())
        codes = indexes.take(buffers.array(pa.int32(), rows))
        return pa.DictionaryArray.from_arrays(codes, pa.array(distinct, pa.string()))

    @cached_property
    def _member_words(self) -> tuple[Any, Any]:
        """The bytes and offsets of the empty string and an ENUM's members."""
        _, offsets, data = pa.array(["", *(self.logical.members or ())], pa.string()).buffers()
        return data, offsets

    def _set(self, buffers: ColumnBuffers, rows: int) -> Column:
        if pa.types.is_integer(self.type):
            return buffers
        return _map_distinct(buffers.array(pa.uint64(), rows), pa.string(), self.logical.set_text)

    def _geometry(self, buffers: ColumnBuffers, rows: int) -> Column:
        srid = pa.Array.from_buffers(pa.uint32(), rows, [None, pa.py_buffer(buffers.srids)], 0)
        wkb = buffers._replace(validity=None, nulls=0).array(pa.binary(), rows)
        return pa.Array.from_buffers(self.type, rows, [buffers.bitmap], buffers.nulls, children=[srid, wkb])

    def _vector(self, buffers: ColumnBuffers, rows: int) -> Column:
        import pyarrow.compute as pc

        offsets = pa.Array.from_buffers(pa.int32(), rows + 1, [None, pa.py_buffer(buffers.values)], 0)
        if pc.any(pc.not_equal(pc.bit_wise_and(offsets, _integer(FLOAT_SIZE - 1)), _integer(0))).as_py():
            raise DamagedError("expected a VECTOR of whole 4-byte floats, found another length")
        elements = pc.shift_right(offsets, _integer(2))
        count = elements[-1].as_py()
        floats = pa.Array.from_buffers(pa.float32(), count, [None, pa.py_buffer(buffers.data)], 0)
        arrow_buffers = [buffers.bitmap, elements.buffers()[1]]
        return pa.Array.from_buffers(self.type, rows, arrow_buffers, buffers.nulls, children=[floats])

    def _address(self, buffers: ColumnBuffers, rows: int) -> Column:
        """Convert INET4, INET6 and UUID, logged as bytes whose trailing zeros may be stripped."""
        size, text = _ADDRESSES[self.logical.kind]
        return _map_distinct(
            buffers.array(pa.binary(), rows),
            pa.string(),
            lambda value: text(value.ljust(size, b"\0")[:size]),
        )


_Converter = Callable[[ColumnArrays, ColumnBuffers, int], Column]

_UTF8MB4 = Charset("utf8mb4", "utf_8", None, 4)


@cache
def keeps_ascii(charset: Charset) -> bool:
    """Whether ASCII bytes are the same characters in a character set."""
    ascii_bytes = bytes(range(128))
    return charset.decode_strictly(ascii_bytes) == ascii_bytes.decode("ascii")


def _is_utf8(array: pa.Array) -> bool:
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _is_ascii(data: Any) -> bool:
    import numpy as np

    return bool(np.frombuffer(data, np.int8).min(initial=0) == 0)


def decoded(
    array: pa.Array, charset: Charset, otherwise: Callable[[pa.Array], pa.Array] | None = None
) -> pa.Array | None:
    """Decode text.

    Args:
        otherwise: decodes values some of which have bytes that are no characters of the set.

    Returns:
        None if there are such values and nothing decodes them, or if the text is 2 GiB or more.
    """
    parts, size = [], 0
    try:
        for run in _runs(array):
            part = _decoded_together(run, charset)
            if part is None and otherwise is not None:
                part = otherwise(run)
            if part is None or (size := size + part.nbytes) > _MOST_TEXT:
                return None
            parts.append(part)
    except pa.ArrowCapacityError:
        return None
    return pa.chunked_array(parts, pa.string()).combine_chunks()


def _runs(array: pa.Array) -> Iterator[pa.Array]:
    """Cut an array where its values become much data; a long value is alone."""
    import numpy as np

    if not len(array):
        return
    bounds = np.frombuffer(array.buffers()[1], np.int32)[array.offset : array.offset + len(array) + 1]
    start = 0
    while start < len(array):
        fitting = int(np.searchsorted(bounds, int(bounds[start]) + PIECE_BYTES, "right")) - 1
        end = max(fitting, start + 1)
        yield array[start:end]
        start = end


def _decoded_together(array: pa.Array, charset: Charset) -> pa.Array | None:
    """Decode values as one text, separated by a character; None if that is no text of the character set.

    A separator is one byte, and never part of a longer character. UCS-2, UTF-16 and UTF-32 have none.
    """
    import pyarrow.compute as pc

    values = array.fill_null(pa.scalar(b"", pa.binary()))
    separator: bytes | None = None
    if len(array) == 1:
        joined = values[0].as_py()
    else:
        lists = pa.ListArray.from_arrays(pa.array([0, len(array)], pa.int32()), values)
        for separator in _SEPARATORS:
            joined = pc.binary_join(lists, pa.scalar(separator, pa.binary()))[0].as_py()
            if joined.count(separator) == len(array) - 1:
                break
        else:
            return None
        if charset.decode_strictly(separator) != separator.decode():
            return None
    text = charset.decode_strictly(joined)
    if text is None:
        return None
    texts = pa.array([text], pa.string())
    if separator is not None:
        texts = pc.split_pattern(texts, separator.decode()).values
    return pc.if_else(array.is_valid(), texts, pa.scalar(None, pa.string())) if array.null_count else texts


def _bytes_of(buffer: pa.Buffer | None) -> memoryview:
    return memoryview(buffer or b"").cast("B")


def _integer(value: int) -> pa.Scalar:
    return pa.scalar(value, pa.int32())


def _map_distinct(array: pa.Array, data_type: pa.DataType, convert: Callable[[Any], Any]) -> pa.Array:
    """Convert each distinct value once, in Python."""
    encoded = array.dictionary_encode()
    values = pa.array([convert(value.as_py()) for value in encoded.dictionary], data_type)
    # If all values are distinct and not null, they are in order, and may be too large to be in memory twice.
    return values if len(values) == len(array) else values.take(encoded.indices)


def _uncompressed(value: bytes) -> bytes:
    """Decompress a value of MariaDB's COMPRESSED columns (``Field_varstring_compressed``, sql/field.cc).

    The first byte is 0 for an uncompressed value. Otherwise its upper half is 8 for zlib, bit 3 is set if
    the stream has no header, and the lowest three bits are the number of bytes of the uncompressed length,
    big-endian, that follow.
    """
    import zlib

    if not value or value[0] == 0:
        return value[1:]
    width = value[0] & 7
    if value[0] >> 4 != _ZLIB or not 1 <= width <= 4 or len(value) <= 1 + width:
        raise DamagedError(f"expected a compressed value, found one that begins with {value[:2].hex()}")
    size = int.from_bytes(value[1 : 1 + width], "big")
    if size > len(value) * _MOST_EXPANSION:
        raise DamagedError(f"expected a compressed value, found one of {len(value)} bytes that claims {size}")
    raw = bool(value[0] & _WITHOUT_HEADER)
    try:
        text = zlib.decompressobj(-15 if raw else 15).decompress(value[1 + width :], size + 1)
    except zlib.error as error:
        raise DamagedError(f"expected a compressed value: {error}") from error
    if len(text) != size:
        raise DamagedError(f"expected {size} bytes of a compressed value, found {len(text)}")
    return text


_ZLIB = 8
_WITHOUT_HEADER = 8
_MOST_EXPANSION = 1032
"""zlib's maximum compression ratio."""

_ADDRESSES: dict[Kind, tuple[int, Callable[[bytes], str]]] = {
    Kind.INET4: (4, lambda value: inet_ntop(AF_INET, value)),
    Kind.INET6: (16, lambda value: inet_ntop(AF_INET6, value)),
    Kind.UUID: (16, lambda value: str(UUID(bytes=value))),
}

_CONVERTERS: dict[Kind, _Converter] = {
    Kind.TEXT: ColumnArrays._text,
    Kind.BINARY: ColumnArrays._binary,
    Kind.BOOL: ColumnArrays._bool,
    Kind.ENUM: ColumnArrays._enum,
    Kind.SET: ColumnArrays._set,
    Kind.GEOMETRY: ColumnArrays._geometry,
    Kind.VECTOR: ColumnArrays._vector,
    Kind.INET4: ColumnArrays._address,
    Kind.INET6: ColumnArrays._address,
    Kind.UUID: ColumnArrays._address,
}
