"""The Parquet of an index file: a row a transaction, and room for a section of binx's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from binx import __version__
from binx.export.contract import CONTRACT
from binx.export.index_rows import INDEX_COLUMNS, INDEX_STATISTICS, table_group
from binx.export.output import Sink
from binx.export.parquet_format.compression import compressor
from binx.export.parquet_format.file import ParquetFile
from binx.kernels.transactions import TransactionTable
from binx.log.file import BinlogFile
from binx.log.scanning import TransactionScan


class RowGroups:
    """A Parquet file with one row a transaction, which takes some bytes of ours before its footer.

    Args:
        sink: where it goes.
    """

    def __init__(self, sink: Sink) -> None:
        facts = {"binx.contract": str(CONTRACT), "binx.version": __version__}
        self._file = ParquetFile(sink, INDEX_COLUMNS, facts, *compressor("zstd"), INDEX_STATISTICS)

    def write_rows(
        self, file: BinlogFile, scan: TransactionScan, table: TransactionTable, seqno: int
    ) -> None:
        """Write a table's transactions as a row group."""
        epoch = int(file.format.at_startup)
        self._file.write_rows(*table_group(file, scan, table, epoch=epoch, first_seqno=seqno))

    def close(self, section: Callable[[int], Iterator[bytes]]) -> None:
        """End the file.

        Args:
            section: what shall stand between the last row group and the footer; it is told its offset.
        """
        for piece in section(self._file.position):
            self._file.write(piece)
        self._file.close()


__all__ = ["RowGroups"]
