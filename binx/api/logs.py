"""Opened binary logs, and queries over all or some of their transactions."""

from __future__ import annotations

import warnings
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby, islice
from operator import attrgetter
from os import PathLike, fspath
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, Self

from binx.api.transaction_records import TransactionRecord, transaction_record
from binx.errors import AbsentError, BinxWarning, UsageError
from binx.kernels.walk.scan import Level
from binx.log.chain.chain import ChainLog, absent_positions, chain_problems
from binx.log.selection.options import BY_NAME, parsed, selection_of
from binx.log.selection.selection import Selection
from binx.log.selection.table_filter import quoted, table_name
from binx.log.selection.times import parse_zone
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import ROW_GROUP_ROWS, TAKE, DecoderOptions
from binx.rows.reading import Reading, no_table
from binx.slices.search import Search
from binx.source.wording import did_you_mean, listed

if TYPE_CHECKING:
    import pyarrow as pa

    from binx.api.figures import Figures
    from binx.dataset.predecessors import SourceReport
    from binx.inspect.row_history import RowChange
    from binx.lake.table_name import TableName
    from binx.rows.batches import ChangeBatch, TableChanges
    from binx.slices.extraction import ExtractReport
    from binx.source.keyring import ReplicationKeys
    from binx.verify import VerifyReport
    from binx.where.condition import Condition

Texts = str | Sequence[str]
Numbers = int | Sequence[int]

_SHOWN = 3
"""Logs named in a representation."""


@dataclass
class OpenedLogs:
    """Opened logs, shared by all selections of them.

    Attributes:
        chain: the logs in chain order, with their ends read.
        known: table definitions known beforehand, if any.
        keys: of encrypted logs; None for those in the environment.
    """

    chain: tuple[ChainLog, ...]
    known: Catalog | None = None
    keys: ReplicationKeys | None = None
    is_closed: bool = False


class Transactions:
    """Transactions of a chain of binary logs; each query reads the logs again.

    As a stream of Arrow (``polars.from_arrow(log)``, DuckDB's ``from log``) they are their :meth:`index`.

    Args:
        logs: the logs.
        selection: which transactions.
        where: a condition; selects transactions that change a matching row.
        chosen: the arguments that selected them.
    """

    def __init__(
        self,
        logs: OpenedLogs,
        selection: Selection,
        where: Condition | None = None,
        chosen: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self._logs = logs
        self._selection = selection
        self._where = where
        self._chosen = chosen

    def __repr__(self) -> str:
        chosen = ", ".join(f"{name}={value!r}" for name, value in self._chosen.items())
        state = "closed binlogs" if self._logs.is_closed else "binlogs"
        paths = listed([log.file.name for log in self._logs.chain], _SHOWN)
        return f"<{state} {paths}{f': {chosen}' if chosen else ''}>"

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the index as an Arrow stream."""
        return self.index().__arrow_c_stream__(requested_schema)

    @property
    def _chain(self) -> tuple[ChainLog, ...]:
        if self._logs.is_closed:
            raise UsageError("the logs are closed: open them again with binx.open()")
        return self._logs.chain

    @property
    def _known(self) -> Catalog | None:
        return self._logs.known

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

    def changes(
        self,
        table: str | tuple[str, str],
        *,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        batch_rows: int | None = None,
    ) -> pa.RecordBatchReader:
        """Return the row changes of one table, as a stream of record batches.

        Anything that accepts Arrow can use it: ``reader.read_pandas()``, ``polars.from_arrow(reader)``,
        ``duckdb.sql("select … from reader")``. If the table was
        altered, all batches have one schema that covers all versions. With a condition, only matching changes
        are returned.

        Args:
            table: ``db.table``, or both names.
            columns: the columns to return; by default all.
            where: a condition, as in :meth:`select`; only changes that match it too are returned.
            batch_rows: minimum number of rows in a batch; a batch may exceed it by the rows of one event.

        Raises:
            UsageError: ``table`` does not have that form, or ``batch_rows`` is less than 1.
            AbsentError: none of the transactions changes rows of the table, it has none of that column, or
                no table has the columns of the condition.
            DamagedError, TruncatedError, UnsupportedError: a file cannot be read as far as needed.
        """
        import pyarrow as pa

        if where is not None:
            return self.select(where=where).changes(table, columns=columns, batch_rows=batch_rows)
        name = table_name(table) if isinstance(table, str) else (table[0], table[1])
        table = ".".join(name)
        if batch_rows is not None and batch_rows < 1:
            raise UsageError(f"expected batches of at least 1 row, found {batch_rows}")
        schema = self._schemas(name.__eq__).get(name)
        if schema is None:
            near = did_you_mean(table, (".".join(name) for name in self.tables()))
            raise AbsentError(
                f"no row changes of {table} in {', '.join(ends.file.path for ends in self._chain)};"
                f" tables() lists the tables that have some{near}"
            )
        batches = self.batches(name, schema, batch_rows or ROW_GROUP_ROWS)
        if columns is not None:
            for column in columns:
                if column not in schema.names:
                    raise AbsentError(f"{table} has no column {column}{did_you_mean(column, schema.names)}")
            wanted = list(columns)
            batches = (batch.select(wanted) for batch in batches)
            schema = pa.schema([schema.field(column) for column in wanted])
        return pa.RecordBatchReader.from_batches(schema, batches)

    def schemas(self) -> dict[tuple[str, str], pa.Schema]:
        """Return the Arrow schema of each table's :meth:`changes`, by database and name, in log order.

        Raises:
            DamagedError, TruncatedError, UnsupportedError: a file cannot be read as far as needed.
            AbsentError: no table has the columns of the condition.
        """
        return self._schemas(lambda _: True)

    def batches(
        self, table: tuple[str, str], schema: pa.Schema, rows: int = ROW_GROUP_ROWS
    ) -> Iterator[pa.RecordBatch]:
        """Yield the row changes of a table as batches of one of :meth:`schemas`.

        Raises:
            DamagedError, TruncatedError, UnsupportedError: a file cannot be read as far as needed.
        """
        from binx.rows.columns.arrow_schema import cast_batch

        options = DecoderOptions(row_group_rows=rows)
        changes: Iterator[ChangeBatch] = self._decoded(table.__eq__, options)
        if self._where is not None:
            from binx.where.matching_transactions import RowFilter

            condition = RowFilter(self._where, self._catalog(), lambda db, name: True)
            changes = (condition.chosen(batch)[0] for batch in changes)
        for batch in changes:
            if batch.rows:
                yield cast_batch(batch.batch, schema)
        if self._where is not None:
            condition.check()

    def statements(self) -> pa.RecordBatchReader:
        """Return the statements in the logs: DDL, changes logged as statements, and texts logged with rows.

        The columns are those of the data set's ``statements``.

        Raises:
            DamagedError, TruncatedError, UnsupportedError: a file cannot be read as far as needed.
        """
        import pyarrow as pa

        from binx.dataset.options import StatementTexts
        from binx.dataset.statement_batches import STATEMENTS_BATCH, statements_batch, statements_schema
        from binx.rows.logged_statements import Statement

        def batches() -> Iterator[pa.RecordBatch]:
            search = self._search()
            reading = Reading(self._catalog(), no_table, DecoderOptions(texts=True))
            items = (
                item
                for part in search.selected()
                for item in reading.items(part.file, part.table, part.mask)
                if isinstance(item, Statement)
            )
            while some := list(islice(items, STATEMENTS_BATCH)):
                yield statements_batch(some, texts=StatementTexts.TEXT)
            _warn(search)

        return pa.RecordBatchReader.from_batches(statements_schema(), batches())

    def select(
        self,
        *,
        gtid: Texts | None = None,
        exclude_gtid: Texts | None = None,
        from_gtid: str | None = None,
        until_gtid: str | None = None,
        since: str | date | None = None,
        until: str | date | None = None,
        start_position: int | str | None = None,
        stop_position: int | str | None = None,
        db: Texts = (),
        table: Texts = (),
        exclude_table: Texts = (),
        server_id: Numbers = (),
        thread_id: Numbers = (),
        xid: Numbers = (),
        kind: Texts = (),
        grep: Texts = (),
        min_bytes: int | str | None = None,
        limit: int | None = None,
        where: str | None = None,
        tz: str = "UTC",
    ) -> SelectedTransactions:
        """Select transactions, with the same options as the commands; see ``binx extract --help``.

        All arguments must match; of several values of an argument, one must match. Nothing is read yet, but
        for abbreviated UUIDs, ``from_gtid`` and ``until_gtid``. With GTIDs, the search ends when all are
        found, and logs that cannot contain them are skipped. Of selected transactions, some can be selected
        again, by other arguments or by a further condition.

        Args:
            gtid: GTIDs to include: one or more sets in MySQL's or MariaDB's syntax.
            exclude_gtid: GTIDs to exclude; transactions without GTID are not excluded.
            from_gtid: from this transaction on, in the order of the logs.
            until_gtid: up to this transaction, itself included.
            since: committed at or after this time: also a date, or text such as ``2026-11-21T09:30:00Z`` or
                ``yesterday``.
            until: committed before this time.
            start_position: starting at or after this position: an offset in bytes, or ``FILE:POS`` with
                several logs. A position inside a transaction means the start of that transaction.
            stop_position: ending at or before this position; inside a transaction likewise.
            db: touching a table in this database; ``*`` and ``?`` match.
            table: touching this table, ``db.table``; ``*`` and ``?`` match. Two names as a tuple are one
                table.
            exclude_table: touching more than this table, and without its rows; ``*`` and ``?`` match.
            server_id: first executed on this server.
            thread_id: executed by this connection.
            xid: with this storage engine XID.
            kind: of this kind: ``ddl``, ``dml``, ``xa`` and so on.
            grep: with this text in a statement.
            min_bytes: at least this size in the file; also ``64K``, ``10M``.
            limit: only the first N that match.
            where: changing a row that matches this condition before or after: ``status = 'paid'``;
                :meth:`~Transactions.changes` returns only these changes. This requires decoding rows.
            tz: time zone of times given as text without one.

        Raises:
            UsageError: a value is invalid, or the conditions contradict each other.
            AbsentError: a position is in a log that is not open, or a GTID to begin or end with in none.

        Warns:
            BinxWarning: a position is beyond the end of its log.
        """
        given = {name: value for name, value in locals().items() if name in BY_NAME}
        given = {name: value for name, value in given.items() if value is not None and value != ()}
        if isinstance(table, tuple) and len(table) == 2 and "." not in "".join(table):
            given["table"] = ".".join(map(quoted, table))
        repeated = [name for name in given if name in self._chosen]
        if repeated or "limit" in self._chosen:
            raise UsageError(f"{(*repeated, 'limit')[0]} is selected already: give all conditions at once")
        chosen = {**self._chosen, **given}
        conditions = {name: value for name, value in chosen.items() if name in BY_NAME}
        selection = selection_of(parsed(conditions), [log.file.path for log in self._chain], parse_zone(tz))
        # Validate patterns and positions now instead of at the first query.
        Search(self._chain, selection, tells=False)
        for sentence in absent_positions(self._chain, selection.start, selection.stop):
            warnings.warn(sentence, BinxWarning, stacklevel=2)
        condition = self._where
        if where is not None:
            from binx.where.condition import Condition

            condition = Condition(where)
            if self._where is not None:
                condition = Condition(f"({self._where.text}) AND ({where})")
        if condition is not None:
            chosen["where"] = condition.text
        return SelectedTransactions(self._logs, selection, condition, chosen)

    def stats(self, *, by: Texts = (), top: int = 10, tz: str = "UTC", quick: bool = False) -> Figures:
        """Return what filled the logs, as ``binx stats --json`` does.

        Args:
            by: dimensions of the breakdown, such as ``table`` or ``hour,table``.
            top: how many of the largest and longest transactions are listed.
            tz: time zone of hours and days.
            quick: read no rows.

        Raises:
            UsageError: a dimension is unknown, or the transactions are selected by a condition on rows.
        """
        from binx.stats.dimensions import parse_dimensions
        from binx.stats.gather import gather

        self._refuse_condition("stats")
        texts = (by,) if isinstance(by, str) else by
        figures: Figures = gather(  # type: ignore[assignment]
            [log.file for log in self._chain],
            problems=chain_problems(self._chain),
            selection=self._selection,
            by=tuple(axis for text in texts for axis in parse_dimensions(text)),
            zone=parse_zone(tz),
            quick=quick,
            top=top,
        )
        return figures

    def extract(
        self,
        output: str | PathLike[str],
        format: str = "binlog",  # noqa: A002 - as the option is called
        *,
        reverse: bool = False,
        rows: bool = False,
        only_matching: bool = False,
        verbatim: bool = False,
        rewrite_db: Mapping[str, str] = MappingProxyType({}),
        local_load: str | PathLike[str] | None = None,
        force: bool = False,
    ) -> ExtractReport:
        """Write the transactions to a file, as ``binx extract`` does.

        Args:
            output: the file; it appears once it is complete.
            format: ``binlog``, ``sql``, ``json`` or ``thl``.
            reverse: write what undoes them, as SQL or a binary log.
            rows: for JSON, a line for each row change.
            only_matching: for SQL and JSON, only rows that match.
            verbatim: for a binary log, copy the bytes unchanged.
            rewrite_db: new names of databases, for SQL and binary logs.
            local_load: for SQL, the folder for the files that LOAD DATA statements read.
            force: overwrite an existing output.

        Raises:
            UsageError: there is no such format.
            AbsentError: no transaction is selected; nothing was written.
            RefusedError: the output exists, or would not be correct; nothing was written.
            DamagedError, UnsupportedError: a required part of a file cannot be read.
            OutputError: the output cannot be written.

        Warns:
            BinxWarning: GTIDs are missing, or something is not in the output.
        """
        from binx.slices.extraction import extract
        from binx.slices.options import ExtractOptions, SliceFormat
        from binx.undo.extract_undo import extract_undo

        if format not in [choice.value for choice in SliceFormat]:
            raise UsageError(f"expected the format binlog, sql, json or thl, found {format!r}")
        options = ExtractOptions(
            SliceFormat(format),
            rows=rows,
            verbatim=verbatim,
            local_load=None if local_load is None else fspath(local_load),
            only_matching=only_matching,
            databases=dict(rewrite_db),
            where=self._where,
            overwrites=force,
        )
        write = extract_undo if reverse else extract
        report = write(self._chain, self._selection, fspath(output), options, self._known)
        missing = [f"not in these files: {report.absent_gtids}"] if report.absent_gtids else []
        for sentence in (*missing, *report.warnings, *report.damage):
            warnings.warn(sentence, BinxWarning, stacklevel=2)
        return report

    def to_parquet(
        self,
        folder: str | PathLike[str],
        *,
        drop_columns: Texts = (),
        hash_columns: Texts = (),
        hash_key: str | PathLike[str] | None = None,
        statements: str = "none",
        compression: str = "zstd",
        jobs: int | None = None,
        force: bool = False,
        views: bool = False,
    ) -> list[SourceReport]:
        """Export row changes to a data set, as ``binx to-parquet`` does; return a report for each log.

        Args:
            folder: the data set: a folder, created if missing, or a URI.
            drop_columns: columns to leave out, ``db.table.column``; ``*`` and ``?`` match.
            hash_columns: columns of which hashes are written, with ``hash_key``.
            hash_key: the file of the key.
            statements: what to keep of logged statements: ``none``, ``digest`` or ``text``.
            compression: ``zstd``, ``snappy``, ``lz4`` or ``none``.
            jobs: number of threads, two for each log at a time.
            force: write logs again that were exported already.
            views: also write views for DuckDB and Spark.

        Raises:
            UsageError, RefusedError, OutputError: as :func:`binx.dataset.parquet.to_parquet`.
            UnmatchedRuleError: a rule about columns matches nothing.
            DamagedError, UnsupportedError: a log cannot be read completely.

        Warns:
            BinxWarning: GTIDs are missing, a log had losses, or a name matches nothing in the data set.
        """
        from binx.dataset.dataset import DataSet
        from binx.dataset.options import ParquetOptions, StatementTexts
        from binx.dataset.parquet import to_parquet
        from binx.dataset.personal.rules import parse_rule, personal_data
        from binx.dataset.personal.unmatched_rules import unmatched
        from binx.lake.table_changes import write_changes_views
        from binx.log.selection.selection import Selector

        rules = [
            tuple(map(parse_rule, (texts,) if isinstance(texts, str) else texts))
            for texts in (drop_columns, hash_columns)
        ]
        place, limit = fspath(folder), self._selection.limit
        options = ParquetOptions(
            compression=compression,
            jobs=jobs,
            force=force,
            where=self._where,
            where_limit=None if self._where is None else limit,
            personal=personal_data(rules[0], rules[1], None if hash_key is None else fspath(hash_key)),
            statements=StatementTexts(statements),
        )
        selection = self._selection._replace(limit=None if self._where is not None else limit)
        files = [log.file for log in self._chain]
        selector = Selector(selection, [file.name for file in files], in_parts=True)
        reports = list(to_parquet(files, place, selector, self._known, options))
        if views:
            write_changes_views(place)
        missing = selector.missing()
        sentences = [f"not in these files: {missing}"] if missing else []
        sentences += [f"{report.path}: {loss}" for report in reports for loss in report.losses]
        for sentence in (*sentences, *unmatched(DataSet(place), selection, options)):
            warnings.warn(sentence, BinxWarning, stacklevel=2)
        return reports

    def why(self, table: str | tuple[str, str], *pk: object, where: str | None = None) -> Iterator[RowChange]:
        """Yield the changes of one row, oldest first, as ``binx why`` does.

        Args:
            table: ``db.table``, or both names.
            pk: the primary key's values, in key order.
            where: a condition instead of a key.

        Raises:
            UsageError: neither or both of key and condition are given.
            AbsentError: the table has no changes.
        """
        from binx.inspect.row_history import RowLife
        from binx.where.condition import Condition

        name = table if isinstance(table, str) else ".".join(map(quoted, table))
        condition = None if where is None else Condition(where)
        key = [str(value) for value in pk]
        selection = self._selection._replace(tables=(name,))
        return iter(
            RowLife(
                self._chain,
                selection,
                key=key,
                condition=condition,
                catalog=self._known,
                definitions=True,
            )
        )

    def _refuse_condition(self, method: str) -> None:
        if self._where is not None:
            raise UsageError(f"{method}() cannot be used with a condition on rows")

    def _search(self, *, verify: bool = True) -> Search:
        return Search(
            self._chain,
            self._selection,
            verify=verify,
            where=self._where,
            tables=self._known,
            tells=False,
        )

    def _schemas(self, wanted: Callable[[tuple[str, str]], bool]) -> dict[tuple[str, str], pa.Schema]:
        """Return the schemas of tables that united all their versions; no rows are decoded."""
        from binx.rows.columns.arrow_schema import united_schema, with_one_dictionary

        versions: list[TableChanges] = []
        deque(self._decoded(wanted, DecoderOptions(), versions), maxlen=0)
        by_name: dict[tuple[str, str], list[TableChanges]] = defaultdict(list)
        for version in versions:
            by_name[version.db, version.name].append(version)
        return {
            name: with_one_dictionary(
                united_schema([version.schema for version in own]), [version.resolved for version in own]
            )
            for name, own in by_name.items()
        }

    def _decoded(
        self,
        wanted: Callable[[tuple[str, str]], bool],
        options: DecoderOptions,
        versions: list[TableChanges] | None = None,
    ) -> Iterator[ChangeBatch]:
        """Yield the rows of tables. With ``versions``, collect their versions instead and decode no rows."""
        from binx.rows.batches import ChangeBatch

        catalog = self._catalog()
        search = self._search(verify=versions is None)
        parts = search.selected(rolled_back=False)
        reading = Reading(
            catalog, lambda db, name: wanted((db, name)), options, resolve_only=versions is not None
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


def state_of(lake: str, table: TableName, at: str | None, key: Sequence[str], where: str | None) -> pa.Table:
    """Return a table of a data set at a moment, and warn if the data set does not have all of it."""
    from binx.lake.at_moment import table_at
    from binx.where.condition import Condition

    found = table_at(lake, str(table), at, key, None if where is None else Condition(where))
    for sentence in found.missing:
        warnings.warn(f"{table} is incomplete: {sentence}", BinxWarning, stacklevel=3)
    return found.rows


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
        keys: of encrypted logs; None for those in the environment.

    Attributes:
        files: the logs, each with its path, size and format.
    """

    def __init__(
        self, chain: Sequence[ChainLog], known: Catalog | None = None, keys: ReplicationKeys | None = None
    ) -> None:
        super().__init__(OpenedLogs(tuple(chain), known, keys), Selection())
        self.files = tuple(ends.file for ends in chain)

    @property
    def chain(self) -> tuple[ChainLog, ...]:
        """The logs in chain order, each with its ends.

        Raises:
            UsageError: they are closed.
        """
        return self._chain

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the files; queries are errors from then on."""
        self._logs.is_closed = True
        for file in self.files:
            file.close()

    def state(
        self,
        table: str | tuple[str, str],
        at: str | None = None,
        *,
        key: Sequence[str] = (),
        bases: Sequence[str | PathLike[str]] = (),
        where: str | None = None,
    ) -> pa.Table:
        """Return a table as it was at a moment, as ``binx state`` does.

        Args:
            table: ``db.table``, or both names, as the table was called then.
            at: a time, a GTID or ``FILE:POS``; by default the end of the logs.
            key: the key columns of a table that has no primary key.
            bases: backups with the rows that were there before the logs.
            where: a condition that the rows match.

        Raises:
            AbsentError: there was no such table.
            RefusedError: the table has no key.
            UsageError: ``at`` is no moment.

        Warns:
            BinxWarning: the logs do not have all of the table.
        """
        from binx.lake.from_logs import data_set_of_logs
        from binx.lake.table_name import TableName

        name = TableName.parse(table) if isinstance(table, str) else TableName(*table)
        files, paths = [log.file for log in self._chain], [fspath(base) for base in bases]
        with data_set_of_logs(files, [name], self._known, bases=paths) as folder:
            return state_of(folder, name, at, key, where)

    def verify(self, *, checksums: bool = True, rows: bool = False) -> VerifyReport:
        """Check the logs for damage and gaps, as ``binx verify`` does.

        Args:
            checksums: whether to verify checksums.
            rows: whether to compare each before image with the last image of its row, too.
        """
        from binx.verify import verify

        paths = [log.file.path for log in self._chain]
        return verify(paths, checksums=checksums, rows=rows, keys=self._logs.keys)
