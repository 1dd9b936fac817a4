"""One Parquet file on its way: row groups are encoded in a lane of its own, then it is closed and listed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import IO, Any

import pyarrow as pa

from binx.export.dataset import Transaction, WrittenFile
from binx.export.file_columns import TEXTS
from binx.export.manifest import file_entry
from binx.export.output import output_errors
from binx.export.parquet_format.arrow_writer import ArrowWriter
from binx.export.parquet_format.columns import Values
from binx.export.workers import Lane


class ParquetOutput:
    """A Parquet file of a source.

    Args:
        transaction: the source's files.
        name: the file's path below the data set's folder.
        kind: what the manifest calls files like it.
        schema: of the rows.
        statistics: columns whose least and largest values are kept.
        compression: how pages are compressed, and the level.
        facts: what the manifest says of the file beside its rows and bytes.
        lane: where the rows are encoded and written.

    Attributes:
        first: the first commit version of its rows, None where it has none.
        last: the last one.

    Raises:
        OutputError: it cannot be opened.
    """

    def __init__(
        self,
        transaction: Transaction,
        name: str,
        kind: str,
        schema: pa.Schema,
        statistics: Collection[str],
        compression: tuple[str, int | None],
        facts: dict[str, Any],
        lane: Lane,
    ) -> None:
        self.first: int | None = None
        self.last: int | None = None
        self._transaction = transaction
        self._name = name
        self._kind = kind
        self._facts = facts
        self._lane = lane
        self._rows = 0
        self._partial = 0
        self._written: WrittenFile | None = None
        self._path = transaction.shown(name)
        texts = [text for text in TEXTS if text in schema.names]
        path = transaction.path(name)
        with output_errors(self._path):
            self._stream: IO[bytes] | None = path.open("wb")
            self._writer: ArrowWriter | None = ArrowWriter(
                self._stream,
                schema,
                compression=compression[0],
                level=compression[1],
                statistics=statistics,
                texts=texts,
            )

    def write(self, batch: pa.RecordBatch) -> None:
        """Add a batch as a row group.

        Raises:
            OutputError: it, or one before, cannot be written.
        """
        rows = batch.num_rows
        if rows:
            self._rows += rows
            if self._kind == "changes":
                self._partial += rows - batch.column("_present").null_count
            self._submit(lambda writer: writer.write_batch(batch), batch.nbytes)

    def write_rows(self, rows: int, values: Sequence[Values]) -> None:
        """Add a row group whose values are at hand.

        Raises:
            OutputError: it, or one before, cannot be written.
        """
        self._rows += rows
        size = sum(
            len(memoryview(data)) for one in values for data in (one.values, one.data) if data is not None
        )
        self._submit(lambda writer: writer.write_rows(rows, values), size)

    def saw(self, first: int, last: int) -> None:
        """Take in which commit versions rows have."""
        self.first = first if self.first is None else min(self.first, first)
        self.last = last if self.last is None else max(self.last, last)

    def close(self) -> None:
        """Have the file closed behind what was added.

        Raises:
            OutputError: what was added before cannot be written.
        """
        self._lane.submit(self._finish)

    def result(self) -> tuple[WrittenFile, dict[str, Any]]:
        """Wait for the closed file: what is to be listed, and its line in the manifest.

        Raises:
            OutputError: it cannot be written.
        """
        self._lane.join()
        if self._written is None:
            raise ValueError(f"{self._name} is not closed")
        facts = {**self._facts, "rows": self._rows}
        if self._kind == "changes":
            facts["partial_rows"] = self._partial
        if self.first is not None:
            facts |= {"first_commit_version": self.first, "last_commit_version": self.last}
        return self._written, file_entry(self._written, self._kind, **facts)

    def abandon(self) -> None:
        """Close it as it is; it is of no use."""
        self._lane.drop()
        if self._stream is not None:
            with suppress(OSError):
                self._stream.close()
            self._stream = self._writer = None

    def _submit(self, write: Callable[[ArrowWriter], None], size: int) -> None:
        def written() -> None:
            if self._writer is not None:
                with output_errors(self._path):
                    write(self._writer)

        self._lane.submit(written, size)

    def _finish(self) -> None:
        if self._stream is not None and self._writer is not None:
            with output_errors(self._path):
                self._writer.close()
                self._stream.close()
            # A log has thousands of files: what each was written with goes before the manifest.
            self._stream = self._writer = None
        self._written = self._transaction.written(self._name)
