"""Opened binary logs, and the questions that they answer about all of their transactions or some."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from types import TracebackType
from typing import TYPE_CHECKING, Self

from binx.api.records import TransactionRecord, transaction_record
from binx.api.selecting import Numbers, Texts, selection_of
from binx.errors import AbsentError, UsageError
from binx.export.search import Search
from binx.kernels.scan import Level
from binx.log.ends import FileEnds
from binx.log.selection import Selection
from binx.rows.marks import TAKE

if TYPE_CHECKING:
    import pyarrow as pa

    from binx.export.where import Condition
    from binx.rows.batches import ChangeBatch
    from binx.rows.catalog import Catalog
    from binx.rows.decoder import DecoderOptions


class Transactions:
    """Transactions of a chain of binary logs; each question reads the logs anew.

    Args:
        chain: the logs in their order, with their ends read.
        known: tables known beforehand; None: the logs tell of all.
        selection: which transactions.
        where: a condition; only transactions are taken that change a row which fulfils it.
    """

    def __init__(
        self,
        chain: Sequence[FileEnds],
        known: Catalog | None,
        selection: Selection,
        where: Condition | None = None,
    ) -> None:
        self._chain = tuple(chain)
        self._known = known
        self._selection = selection
        self._where = where

    def transactions(self) -> Iterator[TransactionRecord]:
        """The transactions, in order.

        Raises:
            DamagedError, TruncatedError, UnsupportedError: a file cannot be read as far as it must be.
            AbsentError: no table has the columns of the condition.
        """
        search = self._search()
        for scan, table, mask in search.walk(Level.LEVEL_TABLES):
            for index in table.marked(mask):
                yield transaction_record(scan, table, index)
        search.check_columns()

    def index(self) -> pa.Table:
        """The transaction index: one row a transaction, with the columns of the data set's ``transactions``.

        ``seqno``, the number in the chain, is null behind logs that the selection rules out unread.

        Raises:
            DamagedError, TruncatedError, UnsupportedError: a file cannot be read as far as it must be.
            AbsentError: no table has the columns of the condition.
        """
        import pyarrow as pa

        from binx.log.index import index_batch, index_schema

        search = self._search()
        batches = []
        for part in search.numbered(Level.LEVEL_TABLES):
            wanted = part.table.marked(part.mask)
            if not wanted:
                continue
            batch = index_batch(
                part.scan.file, part.scan, part.table, epoch=part.epoch, first_seqno=part.first_seqno
            )
            if not part.is_numbered:
                place = batch.schema.get_field_index("seqno")
                batch = batch.set_column(place, batch.schema.field(place), pa.nulls(len(batch), pa.int64()))
            batches.append(batch.take(pa.array(wanted, pa.int64())))
        search.check_columns()
        return pa.Table.from_batches(batches, schema=index_schema())

    def tables(self) -> list[tuple[str, str]]:
        """Database and name of every table whose rows the transactions change, in the order of the logs.

        What was rolled back is no change.
        Of a table with a column of an unknown type nobody can count the rows: it comes last, whichever
        transactions have its events.

        Raises:
            DamagedError, TruncatedError, UnsupportedError: a file cannot be read as far as it must be.
            AbsentError: no table has the columns of the condition.
        """
        search = self._search()
        seen: dict[tuple[str, str], None] = {}
        uncounted: dict[tuple[str, str], None] = {}
        for scan, table, mask in search.walk(Level.LEVEL_TABLES):
            table.mark_work(mask)
            for mark, number, *_ in table.sum_counts(mask):
                if mark == TAKE:
                    seen[scan.table_name(number)] = None
            uncounted |= dict.fromkeys(scan.uncounted_tables())
        search.check_columns()
        return list(seen | uncounted)

    def changes(self, table: str, *, batch_rows: int | None = None) -> pa.RecordBatchReader:
        """The row changes of one table, as a stream of record batches.

        Whatever takes Arrow takes it as it is: ``reader.read_pandas()``,
        ``polars.from_arrow(reader.read_all())``, ``duckdb.sql("select … from reader")``. Where the table was
        altered in between, all batches have one schema that holds all versions. Under a condition they are
        the changes that fulfil it.

        Args:
            table: ``db.table``.
            batch_rows: a batch is handed over when it has so many rows, or those of one more event.

        Raises:
            UsageError: ``table`` is not of that form, or ``batch_rows`` is not at least 1.
            AbsentError: none of the transactions changes rows of the table, or no table has the columns of
                the condition.
            DamagedError, TruncatedError, UnsupportedError: a file cannot be read as far as it must be.
        """
        import pyarrow as pa

        from binx.rows.decoder import ROW_GROUP_ROWS, DecoderOptions
        from binx.rows.unify import united_schema

        db, dot, name = table.partition(".")
        if not dot or not db or not name:
            raise UsageError(f"expected DB.TABLE, found {table!r}")
        if batch_rows is not None and batch_rows < 1:
            raise UsageError(f"expected batches of at least 1 row, found {batch_rows}")
        schemas = self._schemas((db, name))
        if not schemas:
            raise AbsentError(
                f"expected changes of rows of {table}, found none in"
                f" {', '.join(ends.file.path for ends in self._chain)}; tables() names those that have some"
            )
        schema = united_schema(schemas)
        options = DecoderOptions(row_group_rows=batch_rows or ROW_GROUP_ROWS)
        return pa.RecordBatchReader.from_batches(schema, self._batches((db, name), schema, options))

    def _search(self, *, verify: bool = True) -> Search:
        return Search(
            self._chain,
            self._selection,
            verify=verify,
            where=self._where,
            tables=self._known,
            tells=False,
        )

    def _batches(
        self, wanted: tuple[str, str], schema: pa.Schema, options: DecoderOptions
    ) -> Iterator[pa.RecordBatch]:
        from binx.rows.unify import cast_batch

        rows: Iterator[ChangeBatch] = self._decoded(wanted, options)
        if self._where is not None:
            from binx.export.where_rows import RowFilter

            condition = RowFilter(self._where, self._catalog(), lambda db, name: True)
            rows = (condition.chosen(batch)[0] for batch in rows)
        for batch in rows:
            if batch.rows:
                yield cast_batch(batch.batch, schema)
        if self._where is not None:
            condition.check()

    def _schemas(self, wanted: tuple[str, str]) -> list[pa.Schema]:
        """The schema versions of a table, in order, by a pass that decodes rows only for a condition."""
        from binx.rows.decoder import DecoderOptions

        schemas: list[pa.Schema] = []
        deque(self._decoded(wanted, DecoderOptions(), schemas), maxlen=0)
        return schemas

    def _decoded(
        self, wanted: tuple[str, str], options: DecoderOptions, schemas: list[pa.Schema] | None = None
    ) -> Iterator[ChangeBatch]:
        """The rows of a table; where its schemas are asked for, they are found out and no row is decoded."""
        from binx.rows.batches import ChangeBatch
        from binx.rows.decoder import ChangeDecoder

        catalog = self._catalog()
        search = self._search(verify=schemas is None)
        parts = search.selected(decoded=schemas is None, rolled_back=False)
        for file, own in groupby(parts, attrgetter("file")):
            decoder = ChangeDecoder(file, catalog, lambda db, name: (db, name) == wanted, options)
            decoder.resolve_only = schemas is not None
            for part in own:
                for item in decoder.decode(part.table, part.mask):
                    if isinstance(item, ChangeBatch):
                        yield item
            yield from decoder.finish()
            if schemas is not None:
                schemas += [changes.schema for changes in decoder.tables]
        search.check_columns()

    def _catalog(self) -> Catalog:
        from binx.rows.catalog import Catalog

        return Catalog() if self._known is None else self._known.copy()


class SelectedTransactions(Transactions):
    """Some of the transactions of opened logs, as :meth:`Binlogs.select` gives them."""

    def missing_gtids(self) -> str:
        """Those of the GTIDs asked for that the logs do not have, between the positions; empty for none.

        Whether the other conditions let their transactions pass makes no difference.

        Raises:
            DamagedError, TruncatedError, UnsupportedError: a file cannot be read as far as it must be.
        """
        asked = self._selection
        if asked.gtids is None:
            return ""
        search = Search(
            self._chain, Selection(gtids=asked.gtids, start=asked.start, stop=asked.stop), tells=False
        )
        for _ in search.runs():
            pass
        return str(search.selector.missing())


class Binlogs(Transactions):
    """One or more binary logs, in the order of their chain.

    Close it, or use it as a context manager, when it is no longer needed.

    Args:
        chain: the logs, with their ends read.
        known: tables known beforehand; None: the logs tell of all.

    Attributes:
        files: the logs, each with its path, size and format.
    """

    def __init__(self, chain: Sequence[FileEnds], known: Catalog | None = None) -> None:
        super().__init__(chain, known, Selection())
        self.files = tuple(ends.file for ends in chain)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the files back."""
        for file in self.files:
            file.close()

    def select(
        self,
        *,
        gtid: Texts | None = None,
        exclude_gtid: Texts | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        start_position: int | str | None = None,
        stop_position: int | str | None = None,
        db: Texts = (),
        table: Texts = (),
        server_id: Numbers = (),
        thread_id: Numbers = (),
        xid: Numbers = (),
        min_bytes: int | str | None = None,
        limit: int | None = None,
        where: str | None = None,
    ) -> SelectedTransactions:
        """Some of the transactions, by what the commands' options of the same names ask.

        A transaction must pass all that is given, and one of the values where several are. Nothing is read
        yet. With GTIDs the search ends when all are found, and logs are passed over that cannot have them.

        Args:
            gtid: it is one of these: a set as MySQL or MariaDB writes it, or several.
            exclude_gtid: it is none of these; transactions without GTID are not.
            since: committed then or later: a time, or a text such as ``2026-11-21T09:30:00Z``; without a zone
                both are in UTC.
            until: committed before then.
            start_position: it begins there or behind: an offset in bytes, or ``FILE:POS``, which several logs
                need. Within a transaction it means where that begins.
            stop_position: it ends there or before; within a transaction the same.
            db: it touches a table of such a database; ``*`` and ``?`` match.
            table: it touches such a table: ``db.table``, and ``*`` and ``?`` match.
            server_id: the server that made it first.
            thread_id: the connection that made it.
            xid: the storage engine's number of the commit.
            min_bytes: it takes so many bytes in the file, or more; also ``64K``, ``10M``.
            limit: only so many, the first that pass.
            where: it changes a row that fulfils this condition, before or after: ``status = 'paid'``;
                :meth:`~Transactions.changes` gives these changes alone. To find out, rows are decoded.

        Raises:
            UsageError: a value cannot be understood, or nothing can ever pass.
            AbsentError: a position is in a log that is not among these.
        """
        selection = selection_of(
            gtid=gtid,
            exclude_gtid=exclude_gtid,
            since=since,
            until=until,
            start_position=start_position,
            stop_position=stop_position,
            db=db,
            table=table,
            server_id=server_id,
            thread_id=thread_id,
            xid=xid,
            min_bytes=min_bytes,
            limit=limit,
        )
        # Here and not at the first question: patterns and positions are looked at.
        Search(self._chain, selection, tells=False)
        condition = None
        if where is not None:
            from binx.export.where import Condition

            condition = Condition(where)
        return SelectedTransactions(self._chain, self._known, selection, condition)


__all__ = ["Binlogs", "SelectedTransactions", "Transactions"]
