"""Read the selected transactions of logs: rows and statements, DDL alone, or only whether they decode.

Many transactions share a batch of rows, and a batch may be written before a later event
of one of them turns out to be damaged. Callers that need whole transactions decode twice: first to check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from binx.errors import BinxError, DamagedError, UnsupportedError
from binx.event.charset import DEFAULT_CHARSET
from binx.event.rows_events import unmapped_rows
from binx.kernels.transactions.table import TransactionTable
from binx.log.binlog_file import BinlogFile
from binx.rows.columns.schema import Provenance
from binx.rows.columns.types import Kind
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import ChangeDecoder, DecoderOptions
from binx.source.wording import listed

if TYPE_CHECKING:
    from binx.event.payload import PayloadCache
    from binx.rows.batches import ChangeBatch, TableChanges
    from binx.rows.logged_statements import Statement


def every_table(_: str, __: str) -> bool:
    """Accept every table."""
    return True


def no_table(_: str, __: str) -> bool:
    """Accept no table."""
    return False


class Reading:
    """Decodes selected transactions of logs, one log after another, with the catalog that their DDL makes.

    Args:
        catalog: the tables known before the first log; updated by the DDL in the logs.
        wanted: whether to decode a table's rows, by database and name.
        resolve_only: whether to resolve only names and schemas of tables, and decode no rows.
        unreadable: see :class:`~binx.rows.decoder.ChangeDecoder`.
        keeps: whether to keep the decoders of all logs, for their tables and warnings; else only the last.

    Attributes:
        decoders: those of the logs read so far, as far as they are kept; the last is the current one.
    """

    def __init__(
        self,
        catalog: Catalog,
        wanted: Callable[[str, str], bool] = every_table,
        options: DecoderOptions | None = None,
        *,
        resolve_only: bool = False,
        unreadable: set[tuple[str, str]] | None = None,
        keeps: bool = False,
    ) -> None:
        self.decoders: list[ChangeDecoder] = []
        self._catalog = catalog
        self._wanted = wanted
        self._options = options
        self._resolve_only = resolve_only
        self._unreadable = unreadable
        self._keeps = keeps
        self._unmapped = 0

    def of(self, file: BinlogFile, payloads: PayloadCache | None = None) -> ChangeDecoder:
        """Return the decoder of a log, with which reading goes on.

        Args:
            payloads: compressed transactions that a scan has decompressed.
        """
        if not self.decoders or self.decoders[-1].file is not file:
            decoder = ChangeDecoder(file, self._catalog, self._wanted, self._options)
            decoder.resolve_only = self._resolve_only
            decoder.unreadable = self._unreadable
            if not self._keeps:
                self._unmapped = self.unmapped
                self.decoders.clear()
            self.decoders.append(decoder)
        if payloads is not None:
            self.decoders[-1].payloads = payloads
        return self.decoders[-1]

    def items(
        self,
        file: BinlogFile,
        table: TransactionTable,
        mask: bytearray,
        *,
        after_damage: bool = False,
        payloads: PayloadCache | None = None,
    ) -> Iterator[ChangeBatch | Statement]:
        """Yield the marked transactions of a log; rows of a table may come later than statements after them.

        Args:
            mask: a mark for each transaction, such as :data:`~binx.rows.decoder.TAKE`; 0 to skip it.
            after_damage: whether damage before them may have had DDL, so that known tables are forgotten.
            payloads: compressed transactions that the scan has decompressed.

        Raises:
            DamagedError, UnsupportedError: a transaction cannot be decoded.
        """
        decoder = self.of(file, payloads)
        if after_damage:
            decoder.forget_tables()
        return decoder.decode(table, mask)

    def flush(self) -> Iterator[ChangeBatch]:
        """Yield the rows that are still buffered, table by table."""
        return self.decoders[-1].flush() if self.decoders else iter(())

    def follow(
        self,
        file: BinlogFile,
        table: TransactionTable,
        unreadable: Callable[[TransactionTable, bytearray], Iterable[int]] = lambda table, mask: (),
    ) -> None:
        """Apply the DDL of a log's transactions to the catalog.

        Args:
            table: the transactions, scanned at ``LEVEL_EVENTS`` or higher.
            unreadable: returns the marked transactions that cannot be decoded; they are skipped.
        """
        mask = bytearray(len(table))
        table.mark_statements(mask)
        for index in unreadable(table, mask):
            mask[index] = 0
        if any(mask):
            for _ in self.of(file).decode(table, mask):
                pass

    @property
    def tables(self) -> Iterator[TableChanges]:
        """The tables and schema versions seen by the decoders that are kept, each once."""
        return iter(dict.fromkeys(table for decoder in self.decoders for table in decoder.tables))

    @property
    def unmapped(self) -> int:
        """How many rows events had no table map (:func:`~binx.event.rows_events.unmapped_rows`)."""
        return self._unmapped + sum(decoder.unmapped for decoder in self.decoders)

    @property
    def warnings(self) -> list[str]:
        """Warnings about names and types, without duplicates."""
        sentences = [warning for decoder in self.decoders for warning in decoder.report.warnings]
        return list(dict.fromkeys([*sentences, *guesses(self.tables), *unmapped_rows(self.unmapped)]))


_TABLES_NAMED = 10
"""Maximum number of tables that a warning names: a server may have thousands."""


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
        wanted: Callable[[str, str], bool] = every_table,
        options: DecoderOptions | None = None,
    ) -> None:
        self.payloads: PayloadCache | None = None
        """The scan's cache of decompressed transactions; None without a cache."""
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
        decoder = Reading(self._catalog, self._wanted, self._options).of(self._file)
        decoder.payloads = self.payloads
        try:
            for _ in decoder.decode(table, mask):
                pass
            for _ in decoder.finish():
                pass
        except (DamagedError, UnsupportedError) as error:
            return error
        return None
