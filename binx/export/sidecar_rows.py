"""The Parquet of an index file: a row a transaction, and room for a section of binx's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from binx import __version__
from binx.export.contract import CONTRACT
from binx.export.index_rows import GROUP_ROWS, INDEX_COLUMNS, INDEX_STATISTICS, gather, index_group
from binx.export.output import Sink
from binx.export.parquet_format.compression import compressor
from binx.export.parquet_format.file import ParquetFile
from binx.export.parquet_format.schema import FileSchema
from binx.kernels.index_columns import IndexColumns
from binx.kernels.transactions import TransactionTable
from binx.log.file import BinlogFile
from binx.log.scanning import TransactionScan


class RowGroups:
    """A Parquet file with one row a transaction, which takes some bytes of ours before its footer.

    Args:
        sink: where it goes.
        file: the log.
        scan: the scan that gives its transactions, at ``LEVEL_TABLES``.
    """

    def __init__(self, sink: Sink, file: BinlogFile, scan: TransactionScan) -> None:
        self._log = file
        self._scan = scan
        self._gathered = IndexColumns()
        self._file = ParquetFile(sink, FileSchema(INDEX_COLUMNS), *compressor("zstd"), INDEX_STATISTICS)

    def add(self, table: TransactionTable, seqno: int) -> None:
        """Take a table's transactions, the first of which has a number; they are written in row groups."""
        epoch = int(self._log.format.at_startup)
        gather(self._gathered, self._log, table, epoch=epoch, first_seqno=seqno)
        if len(self._gathered) >= GROUP_ROWS:
            self._write_group()

    def close(self, section: Callable[[int], Iterator[bytes]]) -> None:
        """End the file.

        Args:
            section: what shall stand between the last row group and the footer; it is told its offset.
        """
        if len(self._gathered):
            self._write_group()
        for piece in section(self._file.position):
            self._file.write(piece)
        self._file.close({"binx.contract": str(CONTRACT), "binx.version": __version__})

    def _write_group(self) -> None:
        self._file.write_rows(*index_group(self._log, self._scan, self._gathered))


__all__ = ["RowGroups"]
