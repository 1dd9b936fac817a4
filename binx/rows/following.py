"""Run decoders for purposes other than rows: apply DDL, find transactions that cannot be decoded, warn.

Many transactions share a batch of rows, and a batch may be written before a later event
of one of them turns out to be damaged. Callers that need whole transactions decode twice: first to check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from binx.errors import BinxError, DamagedError, UnsupportedError
from binx.event.charset import DEFAULT_CHARSET
from binx.kernels.transactions.table import TransactionTable
from binx.log.file import BinlogFile
from binx.rows.columns.schema import Provenance
from binx.rows.columns.types import Kind
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import ChangeDecoder, DecoderOptions
from binx.source.wording import listed

if TYPE_CHECKING:
    from binx.rows.batches import TableChanges


def follow_statements(
    decoder: ChangeDecoder,
    table: TransactionTable,
    unreadable: Callable[[TransactionTable, bytearray], Iterable[int]] = lambda table, mask: (),
) -> None:
    """Apply the DDL statements of transactions to a decoder's catalog.

    Args:
        table: the transactions, scanned at ``LEVEL_EVENTS`` or higher.
        unreadable: returns the marked transactions that cannot be decoded; they are skipped.
    """
    mask = bytearray(len(table))
    table.mark_statements(mask)
    for index in unreadable(table, mask):
        mask[index] = 0
    if any(mask):
        for _ in decoder.decode(table, mask):
            pass


_TABLES_NAMED = 10
"""Maximum number of tables that a warning names: a server may have thousands."""


def decoder_warnings(decoders: Sequence[ChangeDecoder]) -> list[str]:
    """Return the decoders' warnings about names and types, without duplicates."""
    sentences = [warning for decoder in decoders for warning in decoder.report.warnings]
    guessed = guesses(table for decoder in decoders for table in decoder.tables)
    return list(dict.fromkeys([*sentences, *guessed]))


def guesses(tables: Iterable[TableChanges]) -> Iterator[str]:
    """Yield warnings about tables of whose columns no log tells the names or the character sets.

    A definition that does not fit has its own warning.
    """
    unnamed: dict[str, None] = {}
    guessed: dict[str, None] = {}
    for table in tables:
        name, columns = f"{table.db}.{table.name}", table.resolved.columns
        if table.resolved.unfit is not None:
            continue
        if any(column.provenance.name is Provenance.NONE for column in columns):
            unnamed[name] = None
        elif any(
            column.type.kind is Kind.TEXT and column.provenance.charset is Provenance.NONE
            for column in columns
        ):
            guessed[name] = None
    if unnamed:
        yield (
            f"the logs do not contain the column names of {listed(unnamed, _TABLES_NAMED)}; give them with"
            " --schema"
        )
    if guessed:
        yield (
            f"the logs do not contain the character sets of text in {listed(guessed, _TABLES_NAMED)}: it is"
            f" read as {DEFAULT_CHARSET}; if it is in others, give the definitions with --schema"
        )


class DecodingCheck:
    """Decodes the transactions of one file and keeps nothing but the errors.

    Args:
        catalog: the tables known before the file; moved on by the schema statements met.
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
        """Forget all table definitions, see :meth:`ChangeDecoder.forget_tables`."""
        self._catalog.clear()

    def undecodable(self, table: TransactionTable, mask: bytearray) -> dict[int, BinxError]:
        """Return the indexes of the marked transactions that cannot be decoded, with the first error of each.

        Raises:
            SourceError: the file cannot be read.
        """
        before = self._catalog.copy()
        if self._error(table, mask) is None:
            return {}
        # The error may not tell which of them it is: rows are handed over long after they are read.
        self._catalog.become(before)
        errors = {}
        for index, mark in enumerate(mask):
            if mark:
                single = bytearray(len(mask))
                single[index] = mark
                error = self._error(table, single)
                if error is not None:
                    errors[index] = error
        return errors

    def _error(self, table: TransactionTable, mask: bytearray) -> BinxError | None:
        """Return why transactions cannot be decoded; None if they can."""
        if not any(mask):
            return None
        decoder = ChangeDecoder(self._file, self._catalog, self._wanted, self._options)
        try:
            for _ in decoder.decode(table, mask):
                pass
            for _ in decoder.finish():
                pass
        except (DamagedError, UnsupportedError) as error:
            return error
        return None
