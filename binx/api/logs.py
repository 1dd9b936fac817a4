"""Opened binary logs, and queries over all or some of their transactions."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from types import TracebackType
from typing import TYPE_CHECKING, Self

from binx.api.records import TransactionRecord, transaction_record
from binx.api.selecting import Numbers, Texts, gtids_of, moment_of, numbers_of, position_of, texts_of
from binx.errors import AbsentError, BinxWarning, UsageError
from binx.kernels.walk.scan import Level
from binx.log.chain.chain import ChainLog, absent_positions
from binx.log.selection.moments import parse_size
from binx.log.selection.selection import Selection
from binx.log.selection.table_filter import table_name
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import ROW_GROUP_ROWS, TAKE, DecoderOptions
from binx.rows.reading import Reading
from binx.slices.search import Search
from binx.source.wording import did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa

    from binx.rows.batches import ChangeBatch, TableChanges
    from binx.where.condition import Condition


class Transactions:
    """Transactions of a chain of binary logs; each query reads the logs again.

    Args:
        chain: the logs in chain order, with their ends read.
        known: table definitions known beforehand, if any.
        selection: which transactions.
        where: a condition; selects transactions that change a matching row.
    """

    def __init__(
        self,
        chain: Sequence[ChainLog],
        known: Catalog | None,
        selection: Selection,
        where: Condition | None = None,
    ) -> None:
        self._chain = tuple(chain)
        self._known = known
        self._selection = selection
        self._where = where

    def transactions(self) -> Iterator[TransactionRecord]:
        """Yield the transactions, in order.

        Raises:
            DamagedError, TruncatedError, UnsupportedError: a file cannot be read as far as needed.
            AbsentError: no table has the columns of the condition.
        """
        search = self._search()
        for part in search.walk(Level.LEVEL_TABLES):
            for index in part.table.marked(part.mask):
                yield transaction_record(part.scan, part.table, index)
        _warn(search)

    def index(self) -> pa.Table:
        """Return the transaction index: one row per transaction, with the columns of ``transactions``.

        ``seqno``, the number in the chain, is null after logs that the selection allows to skip.

        Raises:
            DamagedError, TruncatedError, UnsupportedError: a file cannot be read as far as needed.
            AbsentError: no table has the columns of the condition.
        """
        import pyarrow as pa

        from binx.log.index.transactions import index_batch, index_schema

        search = self._search()
        batches = []
        for part in search.walk(Level.LEVEL_TABLES):
            selected = part.table.marked(part.mask)
            if not selected:
                continue
            batch = index_batch(
                part.scan.file, part.scan, part.table, epoch=part.epoch, first_seqno=part.first_seqno
            )
            if not part.is_numbered:
                column = batch.schema.get_field_index("seqno")
                batch = batch.set_column(column, batch.schema.field(column), pa.nulls(len(batch), pa.int64()))
            batches.append(batch.take(pa.array(selected, pa.int64())))
        _warn(search)
        return pa.Table.from_batches(batches, schema=index_schema())

    def tables(self) -> list[tuple[str, str]]:
        """Return the database and name of every table with row changes, in log order.

        Changes that were rolled back do not count. Tables with columns of an unknown type, whose rows cannot
        be counted, come last, even if none of the selected transactions changes them.

        Raises:
            DamagedError, TruncatedError, UnsupportedError: a file cannot be read as far as needed.
            AbsentError: no table has the columns of the condition.
        """
        search = self._search()
        seen: dict[tuple[str, str], None] = {}
        uncounted: dict[tuple[str, str], None] = {}
        for part in search.walk(Level.LEVEL_TABLES):
            part.table.mark_work(part.mask)
            for mark, number, *_ in part.table.sum_counts(part.mask):
                if mark == TAKE:
                    seen[part.scan.table_name(number)] = None
            uncounted |= dict.fromkeys(part.scan.uncounted_tables())
        _warn(search)
        return list(seen | uncounted)

    def changes(self, table: str, *, batch_rows: int | None = None) -> pa.RecordBatchReader:
        """Return the row changes of one table, as a stream of record batches.

        Anything that accepts Arrow can use it: ``reader.read_pandas()``,
        ``polars.from_arrow(reader.read_all())``, ``duckdb.sql("select … from reader")``. If the table was
        altered, all batches have one schema that covers all versions. With a condition, only matching changes
        are returned.

        Args:
            table: ``db.table``.
            batch_rows: minimum number of rows in a batch; a batch may exceed it by the rows of one event.

        Raises:
            UsageError: ``table`` does not have that form, or ``batch_rows`` is less than 1.
            AbsentError: none of the transactions changes rows of the table, or no table has the columns of
                the condition.
            DamagedError, TruncatedError, UnsupportedError: a file cannot be read as far as needed.
        """
        import pyarrow as pa

        from binx.rows.columns.arrow_schema import united_schema, with_one_dictionary

        name = table_name(table)
        if batch_rows is not None and batch_rows < 1:
            raise UsageError(f"expected batches of at least 1 row, found {batch_rows}")
        versions = self._versions(name)
        if not versions:
            near = did_you_mean(table, (".".join(name) for name in self.tables()))
            raise AbsentError(
                f"no row changes of {table} in {', '.join(ends.file.path for ends in self._chain)};"
                f" tables() lists the tables that have some{near}"
            )
        united = united_schema([version.schema for version in versions])
        schema = with_one_dictionary(united, [version.resolved for version in versions])
        options = DecoderOptions(row_group_rows=batch_rows or ROW_GROUP_ROWS)
        return pa.RecordBatchReader.from_batches(schema, self._batches(name, schema, options))

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
        from binx.rows.columns.arrow_schema import cast_batch

        rows: Iterator[ChangeBatch] = self._decoded(wanted, options)
        if self._where is not None:
            from binx.where.rows import RowFilter

            condition = RowFilter(self._where, self._catalog(), lambda db, name: True)
            rows = (condition.chosen(batch)[0] for batch in rows)
        for batch in rows:
            if batch.rows:
                yield cast_batch(batch.batch, schema)
        if self._where is not None:
            condition.check()

    def _versions(self, wanted: tuple[str, str]) -> list[TableChanges]:
        """Return the versions of a table, in order. Rows are decoded only if there is a condition."""
        versions: list[TableChanges] = []
        deque(self._decoded(wanted, DecoderOptions(), versions), maxlen=0)
        return versions

    def _decoded(
        self, wanted: tuple[str, str], options: DecoderOptions, versions: list[TableChanges] | None = None
    ) -> Iterator[ChangeBatch]:
        """Yield the rows of a table. With ``versions``, collect its versions instead and decode no rows."""
        from binx.rows.batches import ChangeBatch

        catalog = self._catalog()
        search = self._search(verify=versions is None)
        parts = search.selected(rolled_back=False)
        reading = Reading(
            catalog, lambda db, name: (db, name) == wanted, options, resolve_only=versions is not None
        )
        for file, file_parts in groupby(parts, attrgetter("file")):
            decoder = reading.of(file)
            for part in file_parts:
                for item in decoder.decode(part.table, part.mask):
                    if isinstance(item, ChangeBatch):
                        yield item
            yield from decoder.finish()
            if versions is not None:
                versions += decoder.tables
        if versions is None:
            _warn(search)
        else:
            search.check_columns()

    def _catalog(self) -> Catalog:
        return Catalog() if self._known is None else self._known.copy()


def _warn(search: Search) -> None:
    """Warn about versions of tables to which the condition does not apply.

    Raises:
        AbsentError, UsageError: it applies to no table.
    """
    search.check_columns()
    for sentence in search.warnings:
        # Attribute the warning to the caller's line, past this function and the method.
        warnings.warn(sentence, BinxWarning, stacklevel=3)


class SelectedTransactions(Transactions):
    """Selected transactions of opened logs, from :meth:`Binlogs.select`."""

    def missing_gtids(self) -> str:
        """Return the requested GTIDs that are not in the logs between the positions; empty if there are none.

        The other conditions are not considered.

        Raises:
            DamagedError, TruncatedError, UnsupportedError: a file cannot be read as far as needed.
        """
        selection = self._selection
        if selection.gtids is None:
            return ""
        search = Search(
            self._chain,
            Selection(gtids=selection.gtids, start=selection.start, stop=selection.stop),
            tells=False,
        )
        for _ in search.runs():
            pass
        return str(search.selector.missing())


class Binlogs(Transactions):
    """One or more binary logs, in chain order.

    Close it when it is no longer needed, or use it as a context manager.

    Args:
        chain: the logs, with their ends read.
        known: table definitions known beforehand, if any.

    Attributes:
        files: the logs, each with its path, size and format.
    """

    def __init__(self, chain: Sequence[ChainLog], known: Catalog | None = None) -> None:
        super().__init__(chain, known, Selection())
        self.files = tuple(ends.file for ends in chain)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the files."""
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
        """Select transactions, with the same options as the commands.

        All arguments must match; of several values of an argument, one must match. Nothing is read yet. With
        GTIDs, the search ends when all are found, and logs that cannot contain them are skipped.

        Args:
            gtid: GTIDs to include: one or more sets in MySQL's or MariaDB's syntax.
            exclude_gtid: GTIDs to exclude; transactions without GTID are not excluded.
            since: committed at or after this time; also text such as ``2026-11-21T09:30:00Z``. In UTC if no
                zone is given.
            until: committed before this time.
            start_position: starting at or after this position: an offset in bytes, or ``FILE:POS`` with
                several logs. A position inside a transaction means the start of that transaction.
            stop_position: ending at or before this position; inside a transaction likewise.
            db: touching a table in this database; ``*`` and ``?`` match.
            table: touching this table, ``db.table``; ``*`` and ``?`` match.
            server_id: first executed on this server.
            thread_id: executed by this connection.
            xid: with this storage engine XID.
            min_bytes: at least this size in the file; also ``64K``, ``10M``.
            limit: only the first N that match.
            where: changing a row that matches this condition before or after: ``status = 'paid'``;
                :meth:`~Transactions.changes` returns only these changes. This requires decoding rows.

        Raises:
            UsageError: a value is invalid, or the conditions contradict each other.
            AbsentError: a position is in a log that is not open.

        Warns:
            BinxWarning: a position is behind the end of its log.
        """
        selection = Selection(
            gtids=gtids_of(gtid),
            exclude_gtids=gtids_of(exclude_gtid),
            since=moment_of(since),
            until=moment_of(until),
            start=position_of(start_position),
            stop=position_of(stop_position),
            databases=texts_of(db),
            tables=texts_of(table),
            server_ids=numbers_of(server_id),
            thread_ids=numbers_of(thread_id),
            xids=numbers_of(xid),
            min_bytes=None if min_bytes is None else parse_size(str(min_bytes)),
            limit=limit,
        )
        selection.check()
        # Validate patterns and positions now instead of at the first query.
        Search(self._chain, selection, tells=False)
        for sentence in absent_positions(self._chain, selection.start, selection.stop):
            warnings.warn(sentence, BinxWarning, stacklevel=2)
        condition = None
        if where is not None:
            from binx.where.condition import Condition

            condition = Condition(where)
        return SelectedTransactions(self._chain, self._known, selection, condition)
