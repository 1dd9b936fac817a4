"""A Parquet file on its way: row groups, then the footer."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Protocol

from binx import __version__
from binx.export.parquet_format.bounds import text_bounds
from binx.export.parquet_format.columns import Values
from binx.export.parquet_format.compression import Compress
from binx.export.parquet_format.metadata import MAGIC, Codec, footer
from binx.export.parquet_format.schema import FileSchema
from binx.kernels.leaves import Worth
from binx.kernels.rowgroups import RowGroup, RowGroupEncoder

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from binx.rows.column_buffers import ColumnBuffers

WRITER = f"binx version {__version__}"


_THREAD = threading.local()


def _encoder() -> RowGroupEncoder:
    """The thread's encoder: what it needs of memory does not grow with the files that are open."""
    if not hasattr(_THREAD, "encoder"):
        _THREAD.encoder = RowGroupEncoder(text_bounds)
    encoder: RowGroupEncoder = _THREAD.encoder
    return encoder


class Begun:
    """A file as far as it is written.

    Attributes:
        position: its bytes.
        groups: its row groups.
    """

    __slots__ = ("groups", "position")

    def __init__(self) -> None:
        self.position = 0
        self.groups: list[RowGroup] = []


class Sink(Protocol):
    """Where a file goes."""

    def write(self, data: Buffer, /) -> object:
        """Take some bytes."""


class ParquetFile:
    """Writes a Parquet file, row group by row group.

    How a chunk is encoded is told by its values, see :mod:`binx.kernels.pages`; whether it is compressed, by
    the column's chunks before.

    Args:
        sink: where to.
        schema: its columns.
        codec: how pages are compressed.
        compress: what compresses them; None where nothing does.
        statistics: columns whose least and largest values are kept; nested ones have none.
        begun: what of it stands before the sink's place; None for a new file, which begins with its magic.

    Attributes:
        begun: how far it is.

    Raises:
        OSError: the sink does not take it.
    """

    def __init__(
        self,
        sink: Sink,
        schema: FileSchema,
        codec: Codec = Codec.UNCOMPRESSED,
        compress: Compress | None = None,
        statistics: Collection[str] = (),
        begun: Begun | None = None,
    ) -> None:
        self._sink = sink
        self._schema = schema
        self._codec = codec
        self._compress = compress
        self._leaves = schema.written(statistics)
        self._worth = Worth(self._leaves)
        self.begun = begun or Begun()
        if begun is None:
            self.write(MAGIC)

    @property
    def position(self) -> int:
        """Bytes written."""
        return self.begun.position

    def write(self, data: Buffer) -> None:
        """Put bytes where the file has come to: readers pass over what no footer tells of.

        Raises:
            OSError: the sink does not take them.
        """
        self._sink.write(data)
        self.begun.position += len(data)  # type: ignore[arg-type]

    def write_rows(self, rows: int, values: Iterable[Values | ColumnBuffers]) -> None:
        """Add a row group.

        Args:
            rows: how many rows; at least one.
            values: of each leaf, in their order.

        Raises:
            OSError: the sink does not take it.
        """
        begun = self.begun
        group = _encoder().write(
            self._sink.write,
            self._leaves,
            self._worth,
            self._codec,
            None if self._compress is None else self._compress(),
            begun.position,
            rows,
            values,
        )
        begun.position += group.bytes
        begun.groups.append(group)

    def append(self, pieces: Iterable[Buffer], begun: Begun) -> None:
        """Add the row groups of another file of the same columns, which was begun without magic.

        Args:
            pieces: its bytes.
            begun: what is known of it; it is of no use afterwards.

        Raises:
            OSError: the sink does not take them.
        """
        for group in begun.groups:
            group.move(self.position)
        for piece in pieces:
            self.write(piece)
        self.begun.groups += begun.groups

    def close(self, facts: Mapping[str, str]) -> None:
        """Write the footer.

        Args:
            facts: what it says by name.

        Raises:
            OSError: the sink does not take it.
        """
        end = footer(self._schema, self.begun.groups, facts, WRITER)
        self.write(end + len(end).to_bytes(4, "little") + MAGIC)


__all__ = ["WRITER", "Begun", "ParquetFile", "Sink"]
