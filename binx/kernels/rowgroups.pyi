"""Row groups: the chunks of all columns one behind the other, and what the footer says of them."""

import builtins
from collections.abc import Callable, Iterable
from typing import Protocol

from typing_extensions import Buffer

from binx.kernels.leaves import Leaves, Worth
from binx.kernels.levels import Levels
from binx.kernels.pages import PageEncoder

class RowGroup:
    """A row group as the footer tells of it, but for where in the file it is, so that it can be moved.

    Args:
        text: its Thrift, without offsets in the file and without what comes behind its compressed size.
        splices: offsets, and where in the text they belong: pairs of 64-bit integers.
        rows: how many it has.
        size: its bytes in the file.

    Attributes:
        rows: how many it has.
        bytes: of it in the file.
    """

    def __init__(self, text: builtins.bytes, splices: builtins.bytes, rows: int, size: int) -> None: ...
    @property
    def rows(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    def move(self, distance: int) -> None:
        """It stands so many bytes further behind."""

    def encoded(self, ordinal: int) -> builtins.bytes:
        """As Thrift, as the file's so many-th."""

class Shortened(Protocol):
    """What statistics tell of long texts, as :func:`binx.export.parquet_format.bounds.text_bounds` does."""

    def __call__(
        self, least: bytes, largest: bytes, *, is_text: bool
    ) -> tuple[bytes, bytes | None, tuple[bool, bool]]: ...

class RowGroupEncoder(PageEncoder):
    """Encodes row groups, whichever files they are of: it keeps the memory that all need.

    Args:
        shortened: gives the statistics of texts of more than 256 bytes.
    """

    def __init__(self, shortened: Shortened) -> None: ...
    def write(
        self,
        sink: Callable[[Buffer], object],
        leaves: Leaves,
        worth: Worth,
        codec: int,
        compressors: tuple[Callable[[PageEncoder], bytes], Callable[[PageEncoder, memoryview], Buffer]]
        | None,
        position: int,
        rows: int,
        values: Iterable[
            tuple[int, Buffer, Buffer | None, Buffer | None, Buffer | None, Levels | None]
            | tuple[Buffer, Buffer | None, Buffer | None, Buffer | None, int]
        ],
    ) -> RowGroup:
        """Write a row group.

        Args:
            sink: takes its bytes, piece by piece; each is of use only during the call.
            leaves: of the file's columns.
            worth: what is known of the file's chunks; it is moved on.
            codec: the number of the codec.
            compressors: compress a page; the second one takes those with one long string, whose bytes it is
                given too. None where nothing is compressed.
            position: bytes of the file so far.
            rows: how many rows; at least one.
            values: of each leaf, as :meth:`~binx.kernels.chunks.Chunk.begin` takes them: the place of the
                first one, values, data, words, validity and levels; or values, data, words, validity and how
                many are null of a flat column whose buffers begin with its first value.

        Raises:
            ValueError: a buffer is shorter than what it shall hold, or there are not as many as leaves.
        """
