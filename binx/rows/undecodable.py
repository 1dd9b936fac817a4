"""Which transactions cannot be decoded, found out before anything of them is written.

Rows are handed over in batches that many transactions share, and a batch may be written before a later event
of one of them turns out to be damaged. Who wants whole transactions or none decodes twice: once to look.
"""

from __future__ import annotations

from collections.abc import Callable

from binx.errors import BinxError, DamagedError, UnsupportedError
from binx.kernels.transactions.table import TransactionTable
from binx.log.file import BinlogFile
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import ChangeDecoder, DecoderOptions


class DecodingCheck:
    """Decodes the transactions of one file and keeps nothing but the errors.

    Args:
        file: the file.
        catalog: the tables known before the file; moved on by the schema statements met.
        wanted: whether a table's rows are to be decoded.
        options: as they will be decoded.
    """

    def __init__(
        self,
        file: BinlogFile,
        catalog: Catalog,
        wanted: Callable[[str, str], bool] = lambda db, table: True,
        options: DecoderOptions | None = None,
    ) -> None:
        self._file = file
        self._catalog = catalog
        self._wanted = wanted
        self._options = options

    def forget_tables(self) -> None:
        """Know no table's definition any more, see :meth:`ChangeDecoder.forget_tables`."""
        self._catalog.clear()

    def undecodable(self, table: TransactionTable, marks: bytearray) -> dict[int, BinxError]:
        """The indexes of the marked transactions that cannot be decoded, with the first error of each.

        Raises:
            SourceError: the file cannot be read.
        """
        return self._check(table, bytearray(marks), self._catalog)

    def _check(self, table: TransactionTable, marks: bytearray, catalog: Catalog) -> dict[int, BinxError]:
        errors: dict[int, BinxError] = {}
        while any(marks):
            before = catalog.copy()
            decoder = ChangeDecoder(self._file, catalog, self._wanted, self._options)
            try:
                for _ in decoder.decode(table, marks):
                    pass
                for _ in decoder.finish():
                    pass
            except (DamagedError, UnsupportedError) as error:
                index = _transaction_of(error, decoder, table, marks)
                if index is None:
                    return errors | self._check_halves(table, marks, before)
                errors[index] = error
                errors |= self._check_rest(
                    decoder, table, bytes(marks[:index]).ljust(len(marks), b"\0"), before
                )
                marks[: index + 1] = bytes(index + 1)
            else:
                break
        return errors

    def _check_rest(
        self, decoder: ChangeDecoder, table: TransactionTable, marks: bytes, before: Catalog
    ) -> dict[int, BinxError]:
        """Look at what was decoded before an error and is still held back."""
        try:
            for _ in decoder.finish():
                pass
        except (DamagedError, UnsupportedError):
            return self._check(table, bytearray(marks), before)
        return {}

    def _check_halves(
        self, table: TransactionTable, marks: bytearray, catalog: Catalog
    ) -> dict[int, BinxError]:
        """Find the transactions of an error that a whole batch has."""
        marked = [index for index, mark in enumerate(marks) if mark]
        middle = marked[len(marked) // 2]
        first, second = bytearray(marks), bytearray(marks)
        first[middle:] = bytes(len(marks) - middle)
        second[:middle] = bytes(middle)
        return self._check(table, first, catalog) | self._check(table, second, catalog)


def _transaction_of(
    error: BinxError, decoder: ChangeDecoder, table: TransactionTable, marks: bytearray
) -> int | None:
    """The index of the transaction that an error is about; None where it may be any of those decoded."""
    if len(marks) - marks.count(0) == 1:
        return next(index for index, mark in enumerate(marks) if mark)
    index, offset = decoder.index, error.offset
    if not 0 <= index < len(marks) or not marks[index] or offset is None:
        return None
    return index if table.value("start", index) <= offset < table.value("end", index) else None


__all__ = ["DecodingCheck"]
