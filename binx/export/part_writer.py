"""Whole logs, and slices of logs, decoded and written in whichever process."""

from __future__ import annotations

from collections.abc import Sequence

from binx.export.dataset import DataSet
from binx.export.log_writer import DoneBytes, LogWriter, WrittenLog
from binx.export.parquet_files import ParquetOptions
from binx.export.sharing import Place
from binx.export.slices import Slice, SliceWriter, WrittenSlice
from binx.log.file import BinlogFile
from binx.log.selection import Selection

Part = Place | Slice
"""What one process decodes in one go: the log that has a place in the chain, or a slice."""

Written = WrittenLog | WrittenSlice
"""What comes of it."""


class PartWriter:
    """Decodes and writes logs and slices, in whichever process.

    Args:
        dataset: where to.
        files: the logs.
        selection: which transactions.
        options: how to write.

    Attributes:
        done: how far all logs are.
        logs: what writes whole logs.
        slices: what writes slices.
    """

    def __init__(
        self, dataset: DataSet, files: Sequence[BinlogFile], selection: Selection, options: ParquetOptions
    ) -> None:
        self.done = DoneBytes(len(files))
        self.logs = LogWriter(dataset, files, selection, options, self.done)
        self.slices = SliceWriter(dataset, files, selection, options)

    def __call__(self, number: int, part: Part) -> Written:
        """Decode and write a log, or a slice of it.

        Args:
            number: of the log, from 0.
            part: where it stands, or its slice.

        Raises:
            BinxError: as :func:`~binx.export.parquet.to_parquet`.
        """
        return self.logs.write(number, part) if isinstance(part, Place) else self.slices(number, part)


__all__ = ["Part", "PartWriter", "Written"]
