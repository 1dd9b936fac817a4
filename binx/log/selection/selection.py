"""Filters for transactions, combined with AND, and the search that applies them.

The scan's records are filtered directly, without Arrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import methodcaller
from typing import TYPE_CHECKING, NamedTuple

from binx.errors import UsageError
from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import GtidSource, number_range
from binx.kernels.transactions.table import FLAG_HAS_THREAD, FLAG_HAS_XID, Kind, TextMatch, TransactionTable
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile, TransactionScan
from binx.log.identifiers import kernel_intervals, marked_gtids
from binx.log.selection.times import Position, format_time, index_of_file

if TYPE_CHECKING:
    from binx.log.selection.table_filter import SoughtNames, TableFilter, XaEnds

_LAST = 2**63 - 1
_COMPRESSED_KINDS = {Kind.KIND_DML, Kind.KIND_XA_PREPARE, Kind.KIND_ROLLBACK}
"""Kinds that a payload's last event tells apart."""


class Selection(NamedTuple):
    """Conditions on transactions; None or empty means no condition.

    Attributes:
        exclude_gtids: it has none of these; transactions without GTID pass.
        since: its commit time, in µs since 1970, is this or later.
        until: its commit time is before this.
        start: it begins here or later; a position inside a transaction means the transaction's start.
        stop: it ends here or before; a position inside a transaction means the transaction's start.
        databases: patterns; it touches a table in a matching database, or ends an XA transaction that does.
        tables: patterns; it touches a matching table, in a matching database if those are given too, or ends
            an XA transaction that does.
        exclude_tables: patterns; it touches another table, or none, and rows of these are left out.
        server_ids: it originates from one of these servers.
        texts: the text of one of its statements contains one of these, ignoring case.
        limit: it is among the first that many that pass all other filters.
    """

    gtids: GtidSet | None = None
    exclude_gtids: GtidSet | None = None
    since: int | None = None
    until: int | None = None
    start: Position | None = None
    stop: Position | None = None
    databases: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    exclude_tables: tuple[str, ...] = ()
    server_ids: tuple[int, ...] = ()
    thread_ids: tuple[int, ...] = ()
    xids: tuple[int, ...] = ()
    kinds: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()
    min_bytes: int | None = None
    limit: int | None = None

    def check(self) -> None:
        """Raise UsageError if nothing can ever pass."""
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise UsageError(
                f"expected a time span, found one that ends at {format_time(self.until)}"
                f" and begins at {format_time(self.since)}"
            )
        if self.limit is not None and self.limit < 1:
            raise UsageError(f"expected a limit of at least 1 transaction, found {self.limit}")

    @property
    def is_everything(self) -> bool:
        """Whether every transaction passes."""
        return self == Selection()

    @property
    def times_text(self) -> str:
        """How its times were understood; empty without any."""
        if self.since is None and self.until is None:
            return ""
        first = "" if self.since is None else f" from {format_time(self.since)}"
        last = "" if self.until is None else f"{' to' if first else ''} before {format_time(self.until)}"
        return f"transactions committed{first}{last} (UTC)"

    def facts(self) -> dict[str, object]:
        """Return the conditions as plain JSON values, without empty ones."""
        filters: dict[str, object] = {}
        for name, value in self._asdict().items():
            if value is not None and value != ():
                filters[name] = value if isinstance(value, int) else _plain(value)
        return filters


def wanted_gtids(text: str) -> GtidSet:
    """Parse a GTID set that is not empty."""
    gtids = GtidSet.parse(text)
    if gtids.is_empty:
        raise UsageError("expected a GTID set, found an empty text")
    return gtids


def _plain(value: GtidSet | Position | tuple[object, ...]) -> object:
    return str(value) if isinstance(value, GtidSet | Position) else list(value)


_PERHAPS = (TextMatch.TEXT_UNKNOWN, TextMatch.TEXT_POSSIBLE, TextMatch.TEXT_FOUND)


def required_level(selection: Selection) -> Level:
    """Return the scan level that the selection needs.

    Thread ids, XIDs and the ends of compressed transactions are within their payloads, which only
    ``LEVEL_TABLES`` decompresses.
    """
    names = selection.databases or selection.tables or selection.exclude_tables
    if names or selection.texts or selection.thread_ids or selection.xids:
        return Level.LEVEL_TABLES
    if not _COMPRESSED_KINDS.isdisjoint(selection.kinds):
        return Level.LEVEL_TABLES
    return Level.LEVEL_INDEX


class Selector:
    """A search for a selection's transactions through the files of a chain, in order.

    Attributes:
        names: the names of databases and tables that no file has had so far.
    """

    def __init__(self, selection: Selection, files: Sequence[str] = (), *, in_parts: bool = False) -> None:
        """Begin a search.

        Args:
            files: names of all files in search order; needed if the selection has positions.
            in_parts: whether the result is put together from parts of the files, as a data set is. Then all
                ends of XA transactions pass table patterns, otherwise only those whose transaction passes;
                statements that make or alter the tables' databases pass, too.
        """
        selection.check()
        self.selection = selection
        self._notes: list[str] = []
        self._wanted = None if selection.gtids is None else kernel_intervals(selection.gtids)
        self._excluded = kernel_intervals(selection.exclude_gtids or GtidSet())
        self._found = GtidSet()
        self._passed = 0
        self._past_stop = False
        self._files = list(files)
        self._start_rank = self._rank_of(selection.start)
        self._stop_rank = self._rank_of(selection.stop)
        self._filter = _table_filter(selection, makes=in_parts)
        self._xa_ends: XaEnds | None = None
        self.names: SoughtNames | None = None
        if self._filter is not None:
            from binx.log.selection.table_filter import SoughtNames, XaEnds

            self._xa_ends = XaEnds(all_pass=in_parts)
            self.names = (
                None
                if in_parts
                else SoughtNames(selection.databases, (*selection.tables, *selection.exclude_tables))
            )
        self._takes_table = bytearray()
        self._takes_table_of: TransactionScan | None = None

    @property
    def notes(self) -> list[str]:
        """How the selection was interpreted, for the user: positions that were moved, names of no table."""
        sought = () if self.names is None or self._is_full else self.names.sentences("the files read")
        return [*self._notes, *sought]

    def note(self, *sentences: str) -> None:
        """Add sentences to the notes."""
        self._notes += sentences

    @property
    def complete(self) -> bool:
        """Whether no later transaction can pass: all GTIDs found, or limit or stop position reached."""
        return self._is_full or self._past_stop or (self.selection.gtids is not None and self.unmet.is_empty)

    @property
    def _is_full(self) -> bool:
        return self.selection.limit is not None and self._passed >= self.selection.limit

    def takes_table(self, database: str, table: str) -> bool:
        """Return whether a table's rows are selected; the statements of a passing transaction always are."""
        return self._filter is None or self._filter.takes(database, table)

    @property
    def sought(self) -> dict[bytes, bytes] | None:
        """The wanted GTIDs if other transactions can be ignored, else None."""
        return self._wanted if self.selection.start is None and self.selection.stop is None else None

    def missing(self) -> GtidSet:
        """The wanted GTIDs not found yet between the positions, regardless of the other filters.

        Empty if the limit was reached: what follows was not searched.
        """
        if self._is_full:
            return GtidSet()
        return GtidSet(interval for interval in self.unmet if not self._ends_open(*interval))

    def _ends_open(self, source: GtidSource, first: int, last: int) -> bool:
        """Return whether an interval is the rest of an open-ended range, part of which was found."""
        if last != number_range(source)[1] or self.selection.gtids is None:
            return False
        start = next(begin for begin, end in self.selection.gtids.intervals(source) if end == last)
        return any(end >= start for _, end in self._found.intervals(source))

    @property
    def unmet(self) -> GtidSet:
        """The wanted GTIDs not found yet, those of open-ended ranges included."""
        return (self.selection.gtids or GtidSet()) - self._found

    @property
    def found(self) -> GtidSet:
        """The wanted GTIDs that were found."""
        return self._found

    @property
    def passed(self) -> int:
        """Number of transactions that passed."""
        return self._passed

    def take_passed(self, count: int) -> None:
        """Count the transactions that another search passed in earlier logs, up to the limit."""
        limit = self.selection.limit
        self._passed = self._passed + count if limit is None else min(limit, self._passed + count)

    def take_found(self, gtids: GtidSet) -> None:
        """Add the GTIDs that another search for the same selection found."""
        self._found |= gtids

    def rules_out(self, file: BinlogFile, previous_gtids: GtidSet | None) -> bool:
        """Return whether no transaction of a file can pass, judging by its head and name.

        Args:
            previous_gtids: the GTIDs of all files before it, from its PREVIOUS_GTIDS; None if unknown.
        """
        if not self.offsets(file):
            return True
        if self.selection.gtids is None or previous_gtids is None:
            return False
        return self.unmet.issubset(previous_gtids)

    def mask(self, file: BinlogFile, scan: TransactionScan, table: TransactionTable) -> bytearray:
        """Mark the transactions that pass: one byte each, 1 or 0.

        Tables must come in the order of the files and of the scan, whose level must be at least that of
        :func:`required_level`.
        """
        selection = self.selection
        mask = table.mask()
        self._keep_positions(mask, file, table)
        if self._wanted is not None:
            table.keep_gtids(mask, self._wanted, True)
            self._found |= GtidSet(marked_gtids(table, mask))
        if self._excluded:
            table.keep_gtids(mask, self._excluded, False)
        if selection.since is not None or selection.until is not None:
            until = _LAST if selection.until is None else selection.until - 1
            table.keep_range(mask, "commit_timestamp", selection.since or 0, until)
        if selection.server_ids:
            table.keep_values(mask, "server_id", selection.server_ids)
        if selection.thread_ids:
            table.keep_values(mask, "thread_id", selection.thread_ids, FLAG_HAS_THREAD)
        if selection.xids:
            table.keep_values(mask, "xid", map(_as_signed, selection.xids), FLAG_HAS_XID)
        if selection.kinds:
            table.keep_values(mask, "kind", selection.kinds)
        if selection.min_bytes is not None:
            table.keep_range(mask, "bytes", selection.min_bytes, _LAST)
        if self._filter is not None and self._xa_ends is not None:
            steps = self._xa_ends.steps(table, mask)
            self._keep_tables(mask, self._filter, file, scan, table)
            for index in steps:
                mask[index] = self._xa_ends.passes(file, table, index, bool(mask[index]))
        if selection.texts:
            _keep_texts(mask, file, table, selection.texts)
        self._keep_limit(mask, table)
        return mask

    def _keep_limit(self, mask: bytearray, table: TransactionTable) -> None:
        passed = mask.count(1)
        if self.selection.limit is not None and passed > self.selection.limit - self._passed:
            for index in table.marked(mask)[self.selection.limit - self._passed :]:
                mask[index] = 0
            passed = self.selection.limit - self._passed
        self._passed += passed

    def _rank_of(self, position: Position | None) -> int | None:
        return None if position is None else index_of_file(position, self._files)

    def offsets(self, file: BinlogFile) -> range:
        """Return the offsets of a file that are not before the start and not after the stop position."""
        start, stop = 0, _LAST
        rank = self._files.index(file.name) if file.name in self._files else 0
        if self.selection.start is not None and self._start_rank is not None:
            start = self.selection.start.offset if rank == self._start_rank else 0
            start = _LAST if rank < self._start_rank else start
        if self.selection.stop is not None and self._stop_rank is not None:
            stop = self.selection.stop.offset if rank == self._stop_rank else _LAST
            stop = 0 if rank > self._stop_rank else stop
        return range(start, stop)

    def _keep_positions(self, mask: bytearray, file: BinlogFile, table: TransactionTable) -> None:
        if self.selection.start is None and self.selection.stop is None:
            return
        offsets = self.offsets(file)
        start = self._snapped(offsets.start, "start", file, table)
        stop = self._snapped(offsets.stop, "stop", file, table)
        table.keep_range(mask, "start", start, _LAST)
        table.keep_range(mask, "end", 0, stop)
        if len(table) and table.value("end", len(table) - 1) >= offsets.stop:
            self._past_stop = True

    def _snapped(self, offset: int, name: str, file: BinlogFile, table: TransactionTable) -> int:
        """Return the offset, or the start of the transaction that contains it."""
        around = table.mask()
        table.keep_overlap(around, offset, offset + 1 if offset < _LAST else offset)
        for index in table.marked(around):
            begin = table.value("start", index)
            if begin < offset:
                note = "the selection starts there" if name == "start" else "the selection ends before it"
                self.note(
                    f"{file.path}: the {name} position {offset} is inside the transaction at {begin}; {note}"
                )
                return begin
        return offset

    def _keep_tables(
        self,
        mask: bytearray,
        tables: TableFilter,
        file: BinlogFile,
        scan: TransactionScan,
        table: TransactionTable,
    ) -> None:
        if self._takes_table_of is not scan:
            self._takes_table_of, self._takes_table = scan, bytearray()
        for number in range(len(self._takes_table), scan.table_count):
            name = scan.table_name(number)
            self._takes_table.append(tables.takes(*name))
            if self.names is not None:
                self.names.see(*name)
        without_tables = bytearray(mask) if tables.takes_without_tables else bytearray(len(mask))
        table.keep_range(without_tables, "counts", 0, 0)
        table.keep_range(without_tables, "statements", 0, 0)
        with_statements = bytearray(mask)
        table.keep_range(with_statements, "statements", 1, _LAST)
        table.keep_tables(mask, self._takes_table)
        for index in table.marked(with_statements):
            if not mask[index]:
                start, end = table.value("start", index), table.value("end", index)
                mask[index] = tables.takes_statements(file, start, end, table.format)
                if mask[index] and self.names is not None and not tables.takes_without_tables:
                    taken_by = methodcaller("takes_statements", file, start, end, table.format)
                    self.names.see_statements(taken_by)
        for index in table.marked(without_tables):
            mask[index] = 1


def _table_filter(selection: Selection, *, makes: bool) -> TableFilter | None:
    if not selection.databases and not selection.tables and not selection.exclude_tables:
        return None
    # Imported here: a search by GTID needs no statement parsers.
    from binx.log.selection.table_filter import TableFilter

    return TableFilter(selection.databases, selection.tables, selection.exclude_tables, makes=makes)


def _keep_texts(mask: bytearray, file: BinlogFile, table: TransactionTable, texts: Sequence[str]) -> None:
    """Unmark the transactions whose statements have none of the texts; what the scan left open is read."""
    table.keep_values(mask, "text", _PERHAPS)
    for index in table.marked(mask):
        if table.value("text", index) != TextMatch.TEXT_FOUND:
            mask[index] = _has_text(file, table, index, texts)


def _has_text(file: BinlogFile, table: TransactionTable, index: int, texts: Sequence[str]) -> bool:
    """Return whether a statement of a transaction, or one logged with its rows, contains one of the texts."""
    from binx.log.transaction_events import statement_texts

    start, end = table.value("start", index), table.value("end", index)
    searched = [text.casefold() for text in texts]
    statements = (statement.casefold() for statement in statement_texts(file, start, end, table.format))
    return any(text in statement for statement in statements for text in searched)


def _as_signed(number: int) -> int:
    """Return an unsigned 64-bit number as the signed integer stored in records."""
    return number - 2**64 if number > _LAST else number
