"""What a Parquet file says of itself: the header of each page, and the footer.

Source: the Apache Parquet format, parquet.thrift.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

from binx.export.parquet_format.schema import FileSchema, Physical
from binx.export.parquet_format.thrift import STOP, Struct, zigzag
from binx.kernels.chunks import Encoding

MAGIC = b"PAR1"
"""What a file begins and ends with."""

_FORMAT_VERSION = 2
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2
_TYPE_ORDER = Struct().struct(1, STOP).end()


class Codec(IntEnum):
    """How pages are compressed."""

    UNCOMPRESSED = 0
    SNAPPY = 1
    ZSTD = 6
    LZ4_RAW = 7


def data_page_header(values: int, encoding: int, size: int, compressed: int) -> bytes:
    """The header of a page of values.

    Args:
        values: how many, nulls among them.
        encoding: how they are encoded.
        size: of the page's bytes.
        compressed: of these as they stand in the file.
    """
    # A file has many: what Struct would write, but for the numbers at once.
    sizes = b"\x15\x00\x15" + zigzag(size) + b"\x15" + zigzag(compressed)
    return sizes + b"\x2c\x15" + zigzag(values) + b"\x15" + zigzag(encoding) + b"\x15\x06\x15\x06\x00\x00"


def dictionary_page_header(words: int, size: int, compressed: int) -> bytes:
    """The header of a dictionary's page."""
    head = Struct().i32(1, words).i32(2, Encoding.ENCODING_PLAIN).end()
    return Struct().i32(1, _DICTIONARY_PAGE).i32(2, size).i32(3, compressed).struct(7, head).end()


@dataclass(frozen=True, slots=True)
class Statistics:
    """What is known of a chunk's values.

    Attributes:
        nulls: how many there are not.
        least: the least value, PLAIN; or one below it.
        largest: the largest value, or one above it.
        exact: whether the two are values of the chunk.
        legacy: whether older readers can take them: only where values are compared as signed ones.
    """

    nulls: int
    least: bytes | None
    largest: bytes | None
    exact: tuple[bool, bool]
    legacy: bool

    def encoded(self) -> bytes:
        """As Thrift."""
        has_extent = self.least is not None
        struct = Struct()
        if self.legacy:
            struct.binary(1, self.largest).binary(2, self.least)
        struct.i64(3, self.nulls).binary(5, self.largest).binary(6, self.least)
        if has_extent:
            struct.flag(7, self.exact[1]).flag(8, self.exact[0])
        return struct.end()


@dataclass(slots=True)
class Chunk:
    """One column of a row group, written.

    Attributes:
        physical: its type.
        path: its place in the schema.
        encoding: of its pages of values.
        codec: of all its pages.
        values: how many it has, nulls among them.
        size: of its pages and their headers, not compressed.
        compressed: of the same in the file.
        first_page: offset of the first page of values.
        dictionary_page: offset of the dictionary's, None where it has none.
        pages: how many pages of values.
        statistics: None where there are none.
    """

    physical: Physical
    path: tuple[str, ...]
    encoding: int
    codec: Codec
    values: int
    size: int
    compressed: int
    first_page: int
    dictionary_page: int | None
    pages: int
    statistics: Statistics | None

    def outlined(self) -> tuple[bytes, list[int]]:
        """As Thrift without the offsets of the first page and of the dictionary's; and where these belong."""
        has_dictionary = self.dictionary_page is not None
        facts = Struct(_chunk_head(self.physical, self.path, self.encoding, self.codec, has_dictionary), 4)
        facts.i64(5, self.values).i64(6, self.size).i64(7, self.compressed)
        places = [facts.i64_to_come(9)]
        if has_dictionary:
            places.append(facts.i64_to_come(11))
        facts.struct(12, None if self.statistics is None else self.statistics.encoded())
        facts.structs(13, _page_counts(self.encoding, self.pages, has_dictionary))
        chunk = Struct().i64(2, 0).struct(3, facts.end()).end()
        head = len(chunk) - len(facts.so_far()) - len(STOP)
        return chunk, [head + place for place in places]


@lru_cache(maxsize=4096)
def _chunk_head(
    physical: Physical, path: tuple[str, ...], encoding: int, codec: Codec, has_dictionary: bool
) -> bytes:
    """The fields of a chunk that are the same in most row groups."""
    used = {Encoding.ENCODING_RLE, encoding} | ({Encoding.ENCODING_PLAIN} if has_dictionary else set())
    return Struct().i32(1, physical).numbers(2, sorted(used)).texts(3, path).i32(4, codec).so_far()


@lru_cache(maxsize=256)
def _page_counts(encoding: int, pages: int, has_dictionary: bool) -> list[bytes]:
    """How many pages of which kind and encoding a chunk has."""
    counts: list[tuple[int, int, int]] = []
    if has_dictionary:
        counts.append((_DICTIONARY_PAGE, Encoding.ENCODING_PLAIN, 1))
    counts.append((_DATA_PAGE, encoding, pages))
    return [Struct().i32(1, kind).i32(2, one).i32(3, count).end() for kind, one, count in counts]


class RowGroup:
    """A row group as the footer tells of it, but for where in the file it is, so that it can be moved.

    Args:
        chunks: its columns.
        rows: how many it has.
    """

    __slots__ = ("_offsets", "_places", "_text", "rows")

    def __init__(self, chunks: Sequence[Chunk], rows: int) -> None:
        first = chunks[0]
        start = first.first_page if first.dictionary_page is None else first.dictionary_page
        outlined = [chunk.outlined() for chunk in chunks]
        group = Struct().structs(1, (text for text, _ in outlined))
        begin = len(group.so_far()) - sum(len(text) for text, _ in outlined)
        places, offsets = array("q"), array("q")
        for chunk, (text, within) in zip(chunks, outlined, strict=True):
            places.extend(begin + place for place in within)
            offsets.append(chunk.first_page)
            if chunk.dictionary_page is not None:
                offsets.append(chunk.dictionary_page)
            begin += len(text)
        group.i64(2, sum(chunk.size for chunk in chunks)).i64(3, rows)
        places.append(group.i64_to_come(5))
        offsets.append(start)
        group.i64(6, sum(chunk.compressed for chunk in chunks))
        self.rows = rows
        self._text = group.so_far()
        self._places = places
        self._offsets = offsets

    def move(self, distance: int) -> None:
        """It stands so many bytes further behind."""
        self._offsets = array("q", [offset + distance for offset in self._offsets])

    def encoded(self, ordinal: int) -> bytes:
        """As Thrift, as the file's so many-th."""
        out, done = bytearray(), 0
        for place, offset in zip(self._places, self._offsets, strict=True):
            out += self._text[done:place]
            out += zigzag(offset)
            done = place
        out += self._text[done:]
        return Struct(out, 6).i16(7, ordinal if ordinal <= _LAST_ORDINAL else None).end()


_LAST_ORDINAL = 0x7FFF


def footer(schema: FileSchema, groups: Sequence[RowGroup], facts: Mapping[str, str], writer: str) -> bytes:
    """A file's footer.

    Args:
        schema: its columns.
        groups: the row groups.
        facts: what else it says, by name.
        writer: what wrote it.
    """
    pairs = [
        Struct().binary(1, name.encode()).binary(2, value.encode()).end() for name, value in facts.items()
    ]
    document = Struct().i32(1, _FORMAT_VERSION).structs(2, schema.elements)
    document.i64(3, sum(group.rows for group in groups))
    document.structs(4, (group.encoded(ordinal) for ordinal, group in enumerate(groups)))
    document.structs(5, pairs or None).binary(6, writer.encode())
    return document.structs(7, [_TYPE_ORDER] * len(schema.leaves)).end()
