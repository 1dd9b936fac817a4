"""Decode a file's selected transactions into batches of row changes and statements, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from binx.errors import BinxError, DamagedError
from binx.event.header import HEADER_SIZE, EventHeader, parse_header
from binx.event.partial_rows import RowsPieces
from binx.event.payload import PayloadCache, errors_at_event, in_event, whole_events
from binx.event.rows_events import plain_rows_event
from binx.kernels.rows.images import Need, RowBuilder, RowDecoder
from binx.kernels.transactions.table import GtidKind, TransactionTable
from binx.log.binlog_file import BinlogFile
from binx.log.identifiers import id_at, transaction_ids
from binx.log.stored_events import stored_payload
from binx.rows.columns.names import ResolvedTable
from binx.rows.columns.types import DEFAULT_ARROW_OPTIONS, ArrowOptions
from binx.rows.ddl.catalog import Catalog
from binx.rows.logged_statements import ROWS, Statement, StatementReader
from binx.rows.resolving import TableResolver
from binx.rows.savepoints import undone_rows
from binx.source import WINDOW_BYTES

if TYPE_CHECKING:
    from binx.rows.batches import ChangeBatch, TableChanges

ROW_GROUP_ROWS = 131_072
"""Rows per batch, unless the memory limit is reached first."""

MEMORY_BYTES = 40 * 1024 * 1024
"""Bytes that all buffered rows may take before the largest tables are flushed."""

TAKE = 1
"""Mark of a transaction whose rows and statements are wanted."""

STATEMENTS_ONLY = 2
"""Mark of a transaction that is read only for DDL statements."""

WITHOUT_ROWS = 3
"""Mark of a transaction whose statements are wanted, but not its rows: they were rolled back."""

LOST = 4
"""Mark of a wanted transaction that cannot be decoded; it is never passed to a decoder."""

_SHARE = 8
"""A flush at the memory limit frees at least the limit divided by this."""

_FLUSHES = (Need.NEED_FLUSH, Need.NEED_MEMORY)


class DecoderOptions(NamedTuple):
    """How rows are batched and typed.

    Attributes:
        row_group_rows: rows per batch.
        memory: bytes that all decoded rows may take together.
        markers: whether to yield SAVEPOINT, ROLLBACK TO, XA START and XA END as statements.
        texts: whether to yield the statements logged with rows (ROWS_QUERY, ANNOTATE_ROWS) as statements of
            kind ``rows``, before their rows.
        undone: whether to yield rows that their own transaction undid by ROLLBACK TO SAVEPOINT.
        as_stored: whether to use only the mandatory part of table maps and ignore all other metadata: numbers
            are signed, text is UTF-8, ENUM and SET are numbers, and names are c1 … cN.
        tables: maximum number of tables to buffer, as each takes memory of its own; 0 for no limit.
    """

    row_group_rows: int = ROW_GROUP_ROWS
    memory: int = MEMORY_BYTES
    arrow: ArrowOptions = DEFAULT_ARROW_OPTIONS
    markers: bool = False
    texts: bool = False
    undone: bool = False
    as_stored: bool = False
    tables: int = 0

    @property
    def payload_bytes(self) -> int:
        """Bytes of decompressed transactions to cache between the scan and the decoding."""
        # A transaction that fills the memory for rows takes a little more in the log's format.
        return self.memory * 3 // 2


class DecoderReport:
    """What a decoder reports besides rows.

    Attributes:
        warnings: warnings about names and types, each once.
        filtered: number of row images of tables that were not wanted, by (db, table).
        undone: numbers of inserts, updates and deletes that are omitted because a ROLLBACK TO SAVEPOINT undid
            them, by (db, table).
        recounted: rows events that a scan cannot count, as only the table definition gives the columns'
            sizes: their number, and their inserts, updates and deletes, by (db, table).
    """

    def __init__(self) -> None:
        self.recounted: dict[tuple[str, str], tuple[int, list[int]]] = {}
        self.warnings: dict[str, None] = {}
        self.filtered: dict[tuple[str, str], int] = {}
        self.undone: dict[tuple[str, str], tuple[int, int, int]] = {}


class ChangeDecoder:
    """Decodes one file; the catalog is carried over to the next file.

    Args:
        catalog: the known tables; updated by the DDL statements in the file.
        wanted: whether to decode a table's rows, by database and name.

    Attributes:
        payloads: the scan's cache of decompressed transactions; None without a cache.
        unreadable: collects tables with a column of an unknown type as (db, table); their rows
            are skipped. If None, such rows are an error.
    """

    def __init__(
        self,
        file: BinlogFile,
        catalog: Catalog,
        wanted: Callable[[str, str], bool] = lambda db, table: True,
        options: DecoderOptions | None = None,
    ) -> None:
        self.file = file
        self.wanted = wanted
        self.options = options or DecoderOptions()
        self.payloads: PayloadCache | None = None
        self.unreadable: set[tuple[str, str]] | None = None
        self.report = DecoderReport()
        self._decoder = RowDecoder(
            file.file_number, self.options.row_group_rows, self.options.memory // 2, self.options.memory
        )
        self._decoder.with_markers = self.options.markers
        self._decoder.with_texts = self.options.texts
        self._decoder.table_limit = self.options.tables
        self.resolve_only = False
        self._statements = StatementReader(file)
        self._pieces = RowsPieces()
        self._ids = (b"", b"")
        self._builders: dict[TableChanges, RowBuilder] = {}
        self._resolver = TableResolver(
            file,
            self._decoder.maps,
            catalog,
            self.options.arrow,
            self.options.as_stored,
            self.report.warnings,
        )

    def decode(
        self, table: TransactionTable, mask: bytearray, ids: tuple[bytes, bytes] | None = None
    ) -> Iterator[ChangeBatch | Statement]:
        """Yield the marked transactions of a table, in file order.

        Rows are buffered until a batch is full; :meth:`finish` yields the rest. If ids are given, the
        scan that produced the table may continue in another thread.

        Args:
            mask: a mark for each transaction, such as :data:`TAKE`; 0 to skip it.
            ids: the table's :func:`~binx.log.identifiers.transaction_ids`, if already computed.

        Raises:
            DamagedError, UnsupportedError: a transaction cannot be decoded; only rows of whole events
                were yielded before. If any transaction begins after 4 GiB, none of the table is decoded.
        """
        decoder, source = self._decoder, self.file.source
        if not len(table):
            return
        # Rows are ordered by the commit version, which must be able to hold their offset.
        self.file.commit_version(table.value("start", len(table) - 1))
        decoder.set_format(table.format.checksum_size, table.format.post_header_lengths)
        undone = b"" if self.options.undone else undone_rows(self.file, table, mask)
        self._ids = transaction_ids(self.file, table) if ids is None else ids
        decoder.begin(table, mask, *self._ids, undone)
        origin, stop = table.value("start", 0), table.value("end", len(table) - 1)
        window, released = self.file.events_window(origin, stop), origin
        try:
            while (need := decoder.run(window, origin)) != Need.NEED_NOTHING:
                if need in _FLUSHES and origin + len(window) == decoder.position < stop:
                    # Free the bytes of a large event before its rows are written.
                    del window
                    yield from self._hand_over(need)
                    origin = decoder.position
                    window = self.file.events_window(origin, stop)
                    continue
                if need != Need.NEED_WINDOW:
                    yield from self._serve(need, window, origin, table)
                    continue
                if decoder.position == origin and len(window):
                    raise _truncated(decoder.position)
                origin = decoder.position
                if origin >= released + WINDOW_BYTES:
                    source.release(released, origin)
                    released = origin
                window = self.file.events_window(origin, stop)
        except BinxError as error:
            if decoder.take_inner() is not None:
                in_event(error, decoder.position)
            raise error.at(path=self.file.path, gtid=self._gtid(table)) from error.__cause__
        source.release(released, stop)

    @property
    def unmapped(self) -> int:
        """How many rows events had no table map; see :func:`binx.event.rows_events.unmapped_rows`."""
        return self._decoder.unmapped

    def finish(self) -> Iterator[ChangeBatch]:
        """Yield the buffered rows, table by table in the order of their first row."""
        yield from self.flush()
        for number, counts in self._decoder.passed_over().items():
            filtered, inserts, updates, deletes, events, *recounted = counts
            name = self._resolver.name(number)
            if filtered:
                self.report.filtered[name] = filtered
            if inserts or updates or deletes:
                self.report.undone[name] = (inserts, updates, deletes)
            if events:
                self.report.recounted[name] = (events, recounted)

    def flush(self) -> Iterator[ChangeBatch]:
        """Yield all buffered rows, table by table.

        Between two items of :meth:`decode`, these are all rows after the last flush and before the next item,
        so a caller that flushes at each item gets the log's order in pieces of bounded size.
        """
        for changes, builder in list(self._builders.items()):
            if builder.rows:
                yield from self._flush(changes)

    def forget_tables(self) -> None:
        """Forget all table definitions, as after damage that may have contained DDL.

        Columns named in the log itself keep their names; those of other tables are numbered until a
        statement defines the table again.
        """
        for number in self._resolver.forget():
            self._decoder.forget(number)

    @property
    def resolve_only(self) -> bool:
        """Whether to resolve only names and schemas, and neither decode nor count rows."""
        return self._decoder.resolves_only

    @resolve_only.setter
    def resolve_only(self, only: bool) -> None:
        self._decoder.resolves_only = only

    @property
    def index(self) -> int:
        """The current transaction's index in its table; -1 before the first."""
        return self._decoder.index

    @property
    def row_number(self) -> int:
        """Number of row changes of the current transaction so far."""
        return self._decoder.row_number

    @property
    def tables(self) -> list[TableChanges]:
        """Every table and schema version seen so far."""
        return list(self._resolver.tables)

    @property
    def widths(self) -> Mapping[bytes, list[int | None]]:
        """See :class:`~binx.rows.resolving.TableResolver`."""
        return self._resolver.widths

    def resolved_at(self, version: int, db: str, name: str) -> ResolvedTable | None:
        """See :class:`~binx.rows.resolving.TableResolver`."""
        return self._resolver.resolved_at(version, db, name)

    def _gtid(self, table: TransactionTable) -> str | None:
        """Return the current transaction's GTID, or None."""
        index = self._decoder.index
        if not 0 <= index < len(table):
            return None
        kinds = (GtidKind.GTID_MYSQL, GtidKind.GTID_MARIADB)
        return id_at(self._ids, index) if table.value("gtid_kind", index) in kinds else None

    def _serve(
        self, need: int, window: memoryview, origin: int, table: TransactionTable
    ) -> Iterator[ChangeBatch | Statement]:
        """Handle the need for which the kernel returned."""
        decoder = self._decoder
        inner = decoder.take_inner()
        if inner is None and need == Need.NEED_BUILDER:
            self._set_builder(table)
            return
        if inner is None and need in _FLUSHES:
            yield from self._hand_over(need)
            return
        if need == Need.NEED_PAYLOAD and self.payloads is not None:
            opened = self.payloads.opened(decoder.position)
            if opened is not None:
                decoder.open_payloads(opened)
                return
        header = parse_header(window, decoder.position, origin=origin)
        start, checksum = decoder.position - origin, table.format.checksum_size
        event = window[start : start + header.size]
        body = event[HEADER_SIZE : header.size - checksum]
        if inner is not None:
            yield from self._feed(inner[0], header, table, inner[1], need)
        elif need == Need.NEED_PAYLOAD:
            if header.end > table.value("end", decoder.index):
                raise _truncated(header.position)
            payload = partial(stored_payload, self.file.source, header, window, origin, table.format)
            cache = self.payloads
            pieces = whole_events(payload()) if cache is None else cache.again(header.position, payload)
            for events in pieces:
                yield from self._feed(events, header, table)
        elif need == Need.NEED_STATEMENT:
            yield from self._take_statement(body, header, table)
        elif need == Need.NEED_PIECE:
            joined = self._pieces.take(body, header, table.format)
            if joined is not None:
                yield from self._feed(joined.plain(table.format), header, table)
        else:
            yield from self._feed(memoryview(plain_rows_event(body, header, table.format)), header, table)
        decoder.pass_bytes(header.size)

    def _feed(
        self,
        events: memoryview,
        outer: EventHeader,
        table: TransactionTable,
        offset: int = 0,
        need: int = Need.NEED_NOTHING,
    ) -> Iterator[ChangeBatch | Statement]:
        """Decode the decompressed events of the current event; they must be whole.

        Args:
            offset: where the kernel returned in them.
            need: why it returned.
        """
        decoder = self._decoder
        while True:
            if need == Need.NEED_BUILDER:
                self._set_builder(table)
            elif need == Need.NEED_STATEMENT:
                event = events[offset - decoder.event_size : offset]
                header = parse_header(event, outer.position, origin=outer.position)
                with errors_at_event(outer.position, outer.name):
                    yield from self._take_statement(event[HEADER_SIZE:], header, table)
            elif need in _FLUSHES:
                yield from self._hand_over(need)
            elif need != Need.NEED_NOTHING:
                raise DamagedError(
                    "expected no compressed event within a compressed payload, found one",
                    offset=decoder.position,
                )
            if offset >= len(events):
                return
            with errors_at_event(outer.position, outer.name):
                need, consumed = decoder.run_inner(events[offset:])
            offset += consumed

    def _take_statement(
        self, body: memoryview, header: EventHeader, table: TransactionTable
    ) -> Iterator[ChangeBatch | Statement]:
        decoder = self._decoder
        statement = self._statements.take(
            body, header, table, decoder.index, self._ids, decoder.next_statement
        )
        if statement is None:
            return
        # Statements that are logged as rows are counted at the end of their rows.
        decoder.next_statement += statement.kind != ROWS
        for code in statement.unknown_variables:
            self.report.warnings[
                f"statements have the status variable {code}, which is unknown to binx: session"
                " variables after it are not read"
            ] = None
        if statement.context is not None:
            numbers, followed = self._resolver.apply(statement.sql, statement.db, statement.context)
            statement = statement._replace(followed=followed)
            for number in numbers:
                decoder.forget(number)
        if not decoder.statements_only:
            yield statement

    def _set_builder(self, table: TransactionTable) -> None:
        """Resolve the table map's columns, and open a builder for its rows."""
        decoder = self._decoder
        number = decoder.pending_map
        db, name = self._resolver.name(decoder.maps.table_of(number))
        unreadable = self.unreadable or ()
        if not self.wanted(db, name) or (db, name) in unreadable:
            decoder.set_builder(number, None)
            return
        if decoder.maps.unknown(number) is not None:
            if self.unreadable is None:
                raise decoder.maps.refusal(number, decoder.position)
            self.unreadable.add((db, name))
            decoder.set_builder(number, None)
            return
        changes = self._resolver.resolve(number, decoder.position, table, decoder.index)
        if self.resolve_only:
            decoder.set_builder(number, None)
            return
        builder = self._builders.get(changes)
        if builder is None:
            plan = changes.shared.plan(decoder.maps, number)
            builder = RowBuilder(plan, changes)
            self._builders[changes] = builder
        decoder.set_builder(number, builder)

    def _hand_over(self, need: int) -> Iterator[ChangeBatch]:
        """Flush the table that reached its limit or, at the memory limit, the largest tables.

        At the memory limit, at least 1/_SHARE of it is freed: flushing one table at a time would sort
        thousands of builders for each.
        """
        full = self._decoder.full
        if need == Need.NEED_FLUSH and full is not None:
            yield from self._flush(full.key)
            return
        freed = 0
        for builder in sorted(self._builders.values(), key=attrgetter("bytes"), reverse=True):
            freed += builder.bytes
            yield from self._flush(builder.key)
            if freed >= self.options.memory // _SHARE:
                return

    def _flush(self, changes: TableChanges) -> Iterator[ChangeBatch]:
        buffers = self._decoder.take(self._builders[changes])
        if buffers["rows"]:
            try:
                batch = changes.batch(buffers)
            except BinxError as error:
                raise error.at(path=self.file.path) from error.__cause__
            # Free the bytes of converted text before the caller writes the batch.
            del buffers
            yield batch


def _truncated(offset: int) -> DamagedError:
    return DamagedError("expected whole events in the transaction, found a truncated one", offset=offset)
