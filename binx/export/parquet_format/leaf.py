"""The chunks of one leaf: its pages, compressed where that is worth it, and what the footer says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from binx.export.parquet_format.bounds import text_bounds
from binx.export.parquet_format.columns import Values
from binx.export.parquet_format.compression import Compress, Worth
from binx.export.parquet_format.metadata import (
    Chunk,
    Codec,
    Statistics,
    data_page_header,
    dictionary_page_header,
)
from binx.export.parquet_format.schema import Leaf
from binx.kernels.numbers import Form
from binx.kernels.pages import PageEncoder

if TYPE_CHECKING:
    from typing_extensions import Buffer

_UNSIGNED = frozenset({Form.FORM_UINT16, Form.FORM_UINT32, Form.FORM_UINT64, Form.FORM_BYTES})


class Target(Protocol):
    """A file that takes pages."""

    @property
    def position(self) -> int:
        """Bytes written."""

    def write(self, data: Buffer) -> None:
        """Take some bytes."""


class LeafWriter:
    """Writes the chunks of one leaf.

    Args:
        path: its place in the schema.
        leaf: what it is.
        codec: how its pages are compressed.
        compress: what does that; None where nothing does.
        has_statistics: whether its least and largest values are kept.
    """

    def __init__(
        self,
        path: tuple[str, ...],
        leaf: Leaf,
        codec: Codec,
        compress: Compress | None,
        *,
        has_statistics: bool,
    ) -> None:
        self._path = path
        self._leaf = leaf
        self._codec = codec
        self._compress = compress
        self._has_statistics = has_statistics
        self._worth = Worth()

    def write(self, file: Target, encoder: PageEncoder, rows: int, values: Values) -> Chunk:
        """Write a chunk.

        Raises:
            OSError: the file does not take it.
        """
        leaf = self._leaf
        encoder.begin(
            leaf.form,
            leaf.width,
            rows,
            values.first,
            values.values,
            values.data,
            values.words,
            values.validity,
            leaf.optional,
            leaf.has_dictionary,
            values.levels,
            self._has_statistics,
        )
        begun = file.position
        pages = _Pages(self, file, encoder)
        dictionary = begun if pages.write_dictionary() else None
        first_page = file.position
        count = pages.write_values()
        chunk = Chunk(
            physical=leaf.physical,
            path=self._path,
            encoding=encoder.encoding,
            codec=Codec.UNCOMPRESSED if pages.compress is None else self._codec,
            values=encoder.entries,
            size=pages.size,
            compressed=file.position - begun,
            first_page=first_page,
            dictionary_page=dictionary,
            pages=count,
            statistics=self._statistics(encoder),
        )
        encoder.end()
        if dictionary is not None and pages.compress is not None:
            self._worth.saw(chunk.encoding, chunk.size, chunk.compressed)
        return chunk

    def compression(self, encoder: PageEncoder) -> Compress | None:
        """What compresses the next chunk; None where it was of no use, or can be of none."""
        # One run of one word leaves nothing to compress.
        if self._compress is None or encoder.dictionary_words == 1 or not self._worth.begin():
            return None
        return self._compress

    def is_worth(self, encoder: PageEncoder, compressed: int) -> bool:
        """Whether a page, and so its chunk, is worth being compressed."""
        return self._worth.saw(encoder.encoding, len(encoder), compressed)

    def _statistics(self, encoder: PageEncoder) -> Statistics | None:
        if not self._has_statistics:
            return None
        form = self._leaf.form
        least, largest = encoder.least_and_largest() or (None, None)
        exact = True, True
        if form is Form.FORM_BYTES and least is not None and largest is not None:
            least, largest, exact = text_bounds(least, largest, is_text=self._leaf.meaning is not None)
        nulls = encoder.entries - encoder.values
        return Statistics(nulls, least, largest, exact, legacy=form not in _UNSIGNED)


class _Pages:
    """The pages of one chunk on their way into the file."""

    def __init__(self, leaf: LeafWriter, file: Target, encoder: PageEncoder) -> None:
        self.size = 0
        self.compress = leaf.compression(encoder)
        self._leaf = leaf
        self._file = file
        self._encoder = encoder
        self._has_dictionary = False

    def write_dictionary(self) -> bool:
        """Write the dictionary's page; False where there is none."""
        encoder = self._encoder
        self._has_dictionary = encoder.dictionary_page()
        if self._has_dictionary:
            page = encoder if self.compress is None else self.compress(encoder)
            self._put(dictionary_page_header(encoder.page_entries, len(encoder), len(page)), page)
        return self._has_dictionary

    def write_values(self) -> int:
        """Write the pages of values; returns how many."""
        encoder = self._encoder
        # Of a chunk without a dictionary, the first page tells whether it is compressed.
        is_tried = self.compress is not None and not self._has_dictionary
        count = 0
        while encoder.data_page():
            page = encoder if self.compress is None else self.compress(encoder, encoder.long_bytes)
            if is_tried and not self._leaf.is_worth(encoder, len(page)):
                self.compress, page = None, encoder
            is_tried = False
            head = data_page_header(encoder.page_entries, encoder.encoding, len(encoder), len(page))
            self._put(head, page)
            count += 1
        return count

    def _put(self, head: bytes, page: PageEncoder | bytes | bytearray) -> None:
        self.size += len(head) + len(self._encoder)
        self._file.write(head)
        long_bytes = self._encoder.long_bytes
        if page is self._encoder and long_bytes is not None:
            self._file.write(memoryview(page))
            self._file.write(long_bytes)
        else:
            self._file.write(page)


__all__ = ["LeafWriter"]
