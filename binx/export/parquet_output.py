"""One Parquet file on its way: row groups are encoded in a lane of its own, then it is closed and listed."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from binx.errors import OutputError
from binx.export.dataset import Transaction, WrittenFile
from binx.export.file_columns import TEXTS
from binx.export.hashed_stream import HashedStream, Room
from binx.export.manifest import file_entry
from binx.export.output import output_errors
from binx.export.parquet_format.arrow_schema import ArrowColumns, arrow_columns
from binx.export.parquet_format.arrow_writer import ArrowWriter
from binx.export.parquet_format.columns import Values, array_values, null_values
from binx.export.parquet_format.file import Begun
from binx.export.workers import Lane
from binx.rows.batches import ChangeBatch
from binx.rows.column_buffers import ColumnBuffers

if TYPE_CHECKING:
    from typing_extensions import Buffer

_COPIED_AT_ONCE = 512 * 1024
"""So much stays in the processor's cache until it is hashed and written."""


class OutputKind(NamedTuple):
    """What all files of a kind have in common.

    Attributes:
        key: tells a source's files apart.
        kind: what the manifest calls files like it.
        schema: of the rows.
        statistics: columns whose least and largest values are kept.
        facts: what the manifest says of the file beside its rows and bytes.
    """

    key: tuple[object, ...]
    kind: str
    schema: pa.Schema
    statistics: Collection[str]
    facts: dict[str, Any]


class Counts:
    """What the manifest says of a file's rows.

    Attributes:
        rows: how many.
        partial: how many of them lack columns.
        first: their first commit version, None where that is not told.
        last: the last one.
    """

    def __init__(self) -> None:
        self.rows = 0
        self.partial = 0
        self.first: int | None = None
        self.last: int | None = None

    def saw(self, first: int, last: int) -> None:
        """Take in which commit versions rows have."""
        self.first = first if self.first is None else min(self.first, first)
        self.last = last if self.last is None else max(self.last, last)

    def add(self, other: Counts) -> None:
        """Take in the rows of another one."""
        self.rows += other.rows
        self.partial += other.partial
        if other.first is not None and other.last is not None:
            self.saw(other.first, other.last)


class Fragment(NamedTuple):
    """Row groups that another process has written, to be put into the file that they belong to.

    Attributes:
        kind: of the file.
        path: where they are.
        begun: their bytes, and what the footer says of them.
        counts: of their rows.
    """

    kind: OutputKind
    path: str
    begun: Begun
    counts: Counts


class ParquetOutput:
    """A Parquet file of a source.

    It takes no file descriptor, and next to no memory but of the room, while it rests.

    Args:
        transaction: the source's files.
        name: the file's path below the data set's folder.
        kind: what files like it have in common.
        compression: how pages are compressed, and the level.
        lane: where the rows are encoded and written.
        room: where the bytes of files that rest may wait.
        columns: what :func:`columns_written` gives for the kind's schema, if it was asked.
        is_fragment: whether its row groups are all that is wanted.

    Attributes:
        kind: what files like it have in common.
        counts: of its rows.
        is_closed: whether nothing more is added.
    """

    # A log of thousands of tables has as many files.
    __slots__ = (
        "_begun",
        "_columns",
        "_compression",
        "_digest",
        "_lane",
        "_name",
        "_path",
        "_shown",
        "_stream",
        "_transaction",
        "_writer",
        "_written",
        "counts",
        "is_closed",
        "kind",
    )

    def __init__(
        self,
        transaction: Transaction,
        name: str,
        kind: OutputKind,
        compression: tuple[str, int | None],
        lane: Lane,
        room: Room,
        *,
        columns: ArrowColumns | None = None,
        is_fragment: bool = False,
    ) -> None:
        self.kind = kind
        self.counts = Counts()
        self.is_closed = False
        self._transaction = transaction
        self._name = name
        self._compression = compression
        self._lane = lane
        self._written: WrittenFile | None = None
        self._shown = transaction.shown(name)
        self._path = transaction.path(name)
        self._begun = Begun() if is_fragment else None
        self._digest = None if is_fragment else hashlib.sha256()
        self._stream = HashedStream(self._path, self._digest, room)
        self._columns = columns
        self._writer: ArrowWriter | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        """Add a batch as a row group.

        Raises:
            OutputError: it, or one before, cannot be written.
        """
        self.counts.rows += batch.num_rows
        self._submit(lambda writer: writer.write_batch(batch), batch.get_total_buffer_size)

    def write_changes(self, batch: ChangeBatch) -> None:
        """Add row changes as a row group.

        Raises:
            OutputError: they, or what was added before, cannot be written.
        """
        self.counts.rows += batch.rows
        self.counts.partial += batch.partial_rows
        self.counts.saw(*batch.versions)
        self._submit(lambda writer: writer.write_rows(batch.rows, _values(batch)), lambda: _size(batch))

    def write_rows(self, rows: int, values: Sequence[Values]) -> None:
        """Add a row group whose values are at hand.

        Raises:
            OutputError: it, or one before, cannot be written.
        """

        def size() -> int:
            return sum(_bytes(data) for one in values for data in (one.values, one.data))

        self.counts.rows += rows
        self._submit(lambda writer: writer.write_rows(rows, values), size)

    def append(self, fragment: Fragment) -> None:
        """Add the row groups of a fragment, whose file is of no use any more.

        Raises:
            OutputError: it, or something before, cannot be written.
        """
        self.counts.add(fragment.counts)
        self._lane.submit(lambda: self._copy(fragment))

    def rest(self) -> None:
        """Let go of all but what is needed to write on.

        How row groups are encoded is then found out anew.

        Raises:
            OutputError: what was added before cannot be written.
        """
        self._lane.submit(self._rest)

    def close(self) -> None:
        """Have the file closed behind what was added.

        Raises:
            OutputError: what was added before cannot be written.
        """
        self.is_closed = True
        self._lane.submit(self._finish)

    def result(self) -> tuple[WrittenFile, dict[str, Any]]:
        """Wait for the closed file: what is to be listed, and its line in the manifest.

        Raises:
            OutputError: it cannot be written.
        """
        self._lane.join()
        if self._written is None:
            raise ValueError(f"{self._name} is not closed")
        counts = self.counts
        facts = {**self.kind.facts, "rows": counts.rows}
        if self.kind.kind == "changes":
            facts["partial_rows"] = counts.partial
        if counts.first is not None:
            facts |= {"first_commit_version": counts.first, "last_commit_version": counts.last}
        return self._written, file_entry(self._written, self.kind.kind, **facts)

    def fragment(self) -> Fragment:
        """Wait for what was added; nothing more is.

        Raises:
            OutputError: it cannot be written.
        """
        self._lane.submit(self._close_stream)
        self._lane.join()
        return Fragment(self.kind, self._path, self._begun or Begun(), self.counts)

    def abandon(self) -> None:
        """Close it as it is; it is of no use."""
        self._lane.drop()
        with suppress(OutputError):
            self._close_stream()

    def _open(self) -> ArrowWriter:
        if self._writer is None:
            schema = self.kind.schema
            self._columns = self._columns or columns_written(schema)
            self._writer = ArrowWriter(
                self._stream,
                schema,
                compression=self._compression[0],
                level=self._compression[1],
                statistics=self.kind.statistics,
                begun=self._begun,
                columns=self._columns,
            )
            self._begun = self._writer.begun
        return self._writer

    def _submit(self, write: Callable[[ArrowWriter], None], size: Callable[[], int]) -> None:
        def written() -> None:
            with output_errors(self._shown):
                write(self._open())

        self._lane.submit(written, size() if self._lane.has_thread else 0)

    def _copy(self, fragment: Fragment) -> None:
        with output_errors(self._shown):
            writer = self._open()
            with Path(fragment.path).open("rb", buffering=0) as file:
                writer.append(_pieces(file, fragment.begun.position), fragment.begun)
            Path(fragment.path).unlink()

    def _rest(self) -> None:
        self._writer = None
        with output_errors(self._shown):
            self._stream.rest()

    def _close_stream(self) -> None:
        self._writer = None
        with output_errors(self._shown):
            self._stream.close(is_whole=False)

    def _finish(self) -> None:
        with output_errors(self._shown):
            self._open().close()
            self._writer = None
            self._stream.close(is_whole=True)
        # A log has thousands of files: what each was written with goes before the manifest.
        self._begun = None
        if self._digest is not None:
            self._written = self._transaction.written(self._name, self._digest.hexdigest())


def columns_written(schema: pa.Schema) -> ArrowColumns:
    """The columns of files of a schema."""
    return arrow_columns(schema, [text for text in TEXTS if schema.get_field_index(text) >= 0])


def _values(batch: ChangeBatch) -> Iterator[Values | ColumnBuffers]:
    """The values of all leaves of row changes, in their order."""
    for place, column in enumerate(batch.columns):
        if not isinstance(column, ColumnBuffers):
            yield from array_values(column, batch.table.schema.field(place).nullable, batch.rows)
        elif column.values is None:
            yield from null_values(batch.table.alike.types[place], batch.rows)
        else:
            yield column


def _size(batch: ChangeBatch) -> int:
    """The bytes that row changes hold."""
    return sum(
        _bytes(column.values) + _bytes(column.data)
        if isinstance(column, ColumnBuffers)
        else column.get_total_buffer_size()
        for column in batch.columns
    )


def _bytes(data: Buffer | None) -> int:
    return 0 if data is None else memoryview(data).nbytes


def _pieces(file: io.FileIO, size: int) -> Iterator[memoryview]:
    """The bytes of a file; each piece is of use until the next one is asked for."""
    with memoryview(bytearray(min(size, _COPIED_AT_ONCE))) as buffer:
        while count := file.readinto(buffer):
            yield buffer[:count]


__all__ = ["Counts", "Fragment", "OutputKind", "ParquetOutput", "columns_written"]
