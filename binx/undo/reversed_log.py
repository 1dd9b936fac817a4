"""``extract --format binlog --reverse``: a binary log that undoes transactions.

Apply it with ``mysqlbinlog --skip-gtids | mysql`` or ``mariadb-binlog | mariadb``.

It works like ``mariadb-binlog --flashback``, for the logs of both servers: row images are swapped, inserts
become deletes and deletes inserts, and the order is reversed. Servers apply such events without column names,
without triggers, and with the logged values of generated columns, if there are any. The events have no GTIDs:
each transaction gets a new one when it is applied.

Only row images with all columns can be swapped, but for generated ones. Where only the images before have
them, as with MariaDB's ``binlog_row_image=FULL_NODUP``, those after get what they lack from there; any other
selected change is refused before the first byte is written.

Table maps have the names that tables and columns have at the end of the logs. Servers find columns by their
place, so changes of a table whose columns have moved since are refused, too.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from binx.errors import AbsentError, BinxError, RefusedError
from binx.event.format import MAGIC, Flavour, FormatDescription
from binx.event.header import HEADER, HEADER_SIZE, EventType
from binx.event.query_event import QUERY_HEAD, Query
from binx.event.rows_events import UNFOLLOWED, UNMAPPED_ROWS, RowsFlag, RowsHeader, RowsKind, plain_rows_event
from binx.event.table_map import TableMap
from binx.kernels.rows.layouts import RowCounter
from binx.kernels.transactions.table import Kind, TransactionTable
from binx.log.binlog_file import BinlogFile
from binx.log.scanning import KIND_NAMES
from binx.log.transaction_events import RawEvent, raw_events
from binx.rows.columns.generated import COMPUTED
from binx.rows.ddl.catalog import Catalog
from binx.rows.ddl.table_statements import restored_by
from binx.rows.reading import every_table
from binx.slices.changes import ordered_changes, reading_in_pieces
from binx.slices.event_rows import counted_rows
from binx.slices.items import Begin
from binx.slices.renamed_binlog import rename_table_map
from binx.slices.renaming import SAME_NAMES, DatabaseNames
from binx.slices.search import Search
from binx.slices.slice_plan import FileRanges, SlicePlan
from binx.slices.slice_writer import SliceWriter
from binx.sql.tables import TableWarnings
from binx.storage.output import Sink
from binx.undo.names_today import NamesToday, TableToday
from binx.undo.obstacles import Obstacles
from binx.undo.spool import ReverseSpool

if TYPE_CHECKING:
    from binx.rows.columns.names import ResolvedTable

_TYPE_OFFSET = 4
_SHORT_POST_HEADER, _POST_HEADER = 6, 8
_REVERSED = {
    EventType.WRITE_ROWS_V0: EventType.DELETE_ROWS_V0,
    EventType.UPDATE_ROWS_V0: EventType.UPDATE_ROWS_V0,
    EventType.WRITE_ROWS_V1: EventType.DELETE_ROWS_V1,
    EventType.UPDATE_ROWS_V1: EventType.UPDATE_ROWS_V1,
    EventType.WRITE_ROWS: EventType.DELETE_ROWS,
    EventType.UPDATE_ROWS: EventType.UPDATE_ROWS,
}
_REVERSED |= {after: before for before, after in _REVERSED.items()}
_PASSED_OVER = (b"BEGIN", b"COMMIT")
_SAVEPOINTS = (b"SAVEPOINT ", b"RELEASE SAVEPOINT ")


class ReverseReport(NamedTuple):
    """The result of writing a reversed binary log.

    Attributes:
        warnings: about sequences, which are not undone.
        lost: sentences on rows that are not undone, as their table was dropped since.
        unlogged: whether it has updates or deletes that foreign keys may have followed without their being
            logged; see :func:`~binx.undo.passes.lost_rows`.
    """

    undone: int
    nothing: int
    unlogged: bool
    warnings: list[str]
    lost: list[str]


class ReversePart(NamedTuple):
    """A part of the transactions to undo.

    Attributes:
        widths: see :class:`~binx.rows.resolving.TableResolver`.
        resolved_at: returns a table as its rows were read at a commit version, by version, database and name;
            None if definitions are not needed.
    """

    file: BinlogFile
    table: TransactionTable
    indexes: Iterable[int]
    widths: Mapping[bytes, list[int | None]]
    resolved_at: Callable[[int, str, str], ResolvedTable | None] | None = None


def parts_of(search: Search, tables: Catalog, today: NamesToday) -> Iterator[ReversePart]:
    """Yield the transactions that a search finds.

    Only definitions tell the lengths of MariaDB's old temporal types, which of its tables are sequences and
    which columns are generated; and of any server, where statements have moved columns since. Such logs are
    read as for SQL. Others need no definitions, and logs before the selected transactions are skipped.

    Raises:
        DamagedError, UnsupportedError: a file cannot be read.
    """
    if not search.of_mariadb and not today.moved_after(0):
        for run in search.runs():
            yield ReversePart(run.file, run.table, run.table.marked(run.mask), {})
        return
    reading = reading_in_pieces(tables, undone=True, resolve_only=True)
    for item in ordered_changes(search.selected(), reading, lambda batch, file: [], facts=("gtid",)):
        if isinstance(item, Begin):
            decoder = reading.of(item.file)
            yield ReversePart(item.file, item.table, (item.index,), decoder.widths, decoder.resolved_at)


def write_reversed(
    parts: Iterable[ReversePart],
    output: Sink,
    databases: DatabaseNames = SAME_NAMES,
    refuse_deletes: Callable[[Obstacles], None] | None = None,
    takes_table: Callable[[str, str], bool] = every_table,
    logs: Sequence[str] = (),
    today: NamesToday | None = None,
) -> ReverseReport:
    """Write a binary log that undoes transactions, newest first.

    Args:
        refuse_deletes: records what makes it wrong to delete inserted rows, if some are.
        takes_table: whether the rows of a table are undone.
        logs: the paths of all logs that are known.
        today: the names of tables and columns at their end; None for those of then.

    Raises:
        AbsentError: the parts have no transaction with row changes.
        RefusedError: something cannot be undone; the message lists everything, and nothing was written.
        DamagedError, UnsupportedError: a transaction cannot be decoded.
        OutputError: the output or the temporary folder cannot be written.
    """
    with ReverseSpool() as events:
        reversing = _Reversing(events, databases, takes_table, logs, today or NamesToday((), Catalog()))
        for part in parts:
            try:
                reversing.take(part)
            except BinxError as error:
                raise error.at(path=part.file.path) from error.__cause__
        if refuse_deletes is not None and reversing.deletes:
            refuse_deletes(reversing.obstacles)
        return reversing.write(output)


class _Reversing:
    def __init__(
        self,
        events: ReverseSpool,
        databases: DatabaseNames,
        takes_table: Callable[[str, str], bool],
        logs: Sequence[str],
        today: NamesToday,
    ) -> None:
        self._logs = logs
        self._today = today
        self._events = events
        self._databases = databases
        self._takes_table = takes_table
        self._unlogged = False
        self.deletes = False
        self.obstacles = Obstacles()
        self._warnings = TableWarnings()
        self._like: FileRanges | None = None
        self._undone = 0
        self._nothing = 0

    def take(self, part: ReversePart) -> None:
        description = part.table.format or part.file.format
        if self._like is None:
            self._like = FileRanges(part.file, description)
        if _of_server(self._like.description) != _of_server(description):
            raise RefusedError(
                "the logs are of different formats or versions; undo them one by one, the newest first"
            )
        for index in part.indexes:
            self._take_transaction(part, index, description)

    def _take_transaction(self, part: ReversePart, index: int, description: FormatDescription) -> None:
        file, table = part.file, part.table
        start, end = table.value("start", index), table.value("end", index)
        name = table.gtid(index) or f"{file.name}:{start}"
        version = file.commit_version(start)
        kind = KIND_NAMES[Kind(table.value("kind", index))]
        events = raw_events(file, start, end, description)
        if kind not in {"dml", "empty"}:
            commands = _commands(events, self._logs, file.name, start) if kind == "ddl" else ()
            self.obstacles.add(f"transactions of kind {kind}", [name], commands=commands)
            return
        counter = RowCounter(description.flavour is Flavour.MARIADB, part.widths.get)
        transaction = _ReversedTransaction(self._events, name, description, counter, self._databases)
        for raw in events:
            event = raw.event
            known: ResolvedTable | None = None
            today: TableToday | None = None
            if isinstance(event, TableMap):
                if not self._takes_table(event.database, event.table):
                    transaction.left_out.add(event.table_id)
                    continue
                if part.resolved_at is not None:
                    known = part.resolved_at(version, event.database, event.table)
                    today = None if known is None else self._today.table(known, version)
                    if self._leaves_out(known, today):
                        transaction.left_out.add(event.table_id)
                        continue
            obstacle = transaction.take(raw, known, today)
            if obstacle is not None:
                self.obstacles.add(obstacle, [name])
        transaction.end()
        self._unlogged |= transaction.unlogged
        self.deletes |= transaction.deletes
        self._undone += transaction.has_rows
        self._nothing += not transaction.has_rows

    def _leaves_out(self, known: ResolvedTable | None, today: TableToday | None) -> bool:
        """Whether a table map goes: without rows, of a sequence, or of a table that was dropped since."""
        if known is None or today is None:
            return True
        if known.is_sequence:
            self._warnings.take_sequence(f"{known.db}.{known.name}")
        elif today.table is None:
            self._today.lose(known)
        else:
            return False
        return True

    def write(self, output: Sink) -> ReverseReport:
        self.obstacles.refuse()
        if not self._undone or self._like is None:
            lost = "".join(f"; {sentence}" for sentence in self._today.losses)
            raise AbsentError(f"none of the requested transactions has row changes to undo{lost}")
        _ReverseWriter(self._like, output).write_events(self._events)
        return ReverseReport(
            self._undone, self._nothing, self._unlogged, self._warnings.sentences(), self._today.losses
        )


def _of_server(description: FormatDescription) -> tuple[Flavour, tuple[int, int, int], bytes]:
    return description.flavour, description.version, description.post_header_lengths


def _commands(
    events: Iterable[RawEvent], logs: Sequence[str], file: str, start: int
) -> Iterator[tuple[str, str, str]]:
    """Yield the commands that restore tables dropped or emptied by a schema statement."""
    for raw in events:
        if isinstance(raw.event, Query):
            followed = Catalog().follow(raw.event.text, raw.event.database)
            yield from restored_by(followed, raw.event.database, logs, file, start)


class _ReversedTransaction:
    """Reverses the events of one transaction, statement by statement.

    Events are added to a file that is read in reverse: first the transaction's end, then the rows of each
    statement before its table maps.
    """

    def __init__(
        self,
        events: ReverseSpool,
        name: str,
        description: FormatDescription,
        counter: RowCounter,
        databases: DatabaseNames,
    ) -> None:
        self._events = events
        self._name = name
        self._description = description
        self._counter = counter
        self._databases = databases
        self._tables: dict[int, TableMap] = {}
        self._maps: dict[int, bytes] = {}
        self._generated: dict[int, int] = {}
        self._moved: set[int] = set()
        self._like = b""
        self._ends, self._followers = True, 0
        self._deleted: set[int] = set()
        self.left_out: set[int] = set()
        self.has_rows = False
        self.unlogged = False
        self.deletes = False

    def take(self, raw: RawEvent, known: ResolvedTable | None, today: TableToday | None) -> str | None:
        """Add an event; return why it cannot be undone, or None.

        Args:
            raw: the event.
            known: the columns of a table map's table, if definitions were read.
            today: the same table at the end of the logs.
        """
        event = raw.event
        if isinstance(event, TableMap):
            counted_rows(self._counter, raw, self._description)
            self._tables[event.table_id] = event
            columns = () if known is None else known.columns
            self._generated[event.table_id] = sum(
                1 << index for index, column in enumerate(columns) if column.generated in COMPUTED
            )
            content = bytearray(raw.data[:HEADER_SIZE]) + raw.body
            named = None if today is None or today.table is known else today.table
            if today is not None and not today.in_place:
                self._moved.add(event.table_id)
            rename_table_map(content, self._databases, self._description, named)
            self._maps[event.table_id] = bytes(content)
        elif isinstance(event, RowsHeader):
            obstacle = None
            if event.table_id in self._tables:
                obstacle = self._take_rows(raw, event)
            elif event.flags & UNFOLLOWED == UNFOLLOWED and event.table_id not in self.left_out:
                obstacle = UNMAPPED_ROWS
            if event.flags & RowsFlag.STATEMENT_END and not self._ends:
                self._end_statement()
            return obstacle
        elif isinstance(event, Query):
            sql = event.sql.upper()
            if sql not in _PASSED_OVER and not sql.startswith(_SAVEPOINTS):
                return "changes logged as statements, and ROLLBACK TO SAVEPOINT"
        return None

    def _take_rows(self, raw: RawEvent, rows: RowsHeader) -> str | None:
        # Servers compute generated columns again, and new MariaDBs log them with inserts only.
        full = (1 << rows.column_count) - 1 & ~self._generated[rows.table_id]
        lacks = int.from_bytes(rows.columns_before, "little") & full != full
        name = self._tables[rows.table_id].name
        if rows.partial:
            return f"updates in {name} that may have parts of JSON documents only (binlog_row_value_options)"
        if lacks:
            return f"changes in {name} whose images lack columns (binlog_row_image was not FULL)"
        if rows.table_id in self._moved:
            return (
                f"changes in {name}, whose columns statements have moved or made others since, and servers"
                " find the columns of a binary log by their place (--format sql writes the names of today)"
            )
        if not self.has_rows:
            self.has_rows = True
            self._like = bytes(raw.data[:HEADER_SIZE])
            self._put(_new_event(self._like, EventType.XID, bytes(8)))
        # MySQL logs rows that followed a foreign key, unchecked, before the row that they followed. They go
        # back first again, or the key would take them along a second time.
        followers = rows.flags & UNFOLLOWED == UNFOLLOWED
        flags = rows.flags & ~RowsFlag.STATEMENT_END
        if rows.kind is RowsKind.DELETE:
            self._deleted.add(rows.table_id)
        elif rows.table_id in self._deleted and rows.flags & RowsFlag.USE_SQL_FOREIGN_KEY:
            # REPLACE logs nothing of rows that refer to the new row as they did to the old one.
            flags |= RowsFlag.NO_FOREIGN_KEY_CHECKS
        self._events.add([self._reversed(raw, rows, flags)], 0, before=0 if followers else self._followers)
        self._followers = self._followers + 1 if followers else 0
        self.deletes |= rows.kind is RowsKind.INSERT
        self.unlogged |= rows.kind is not RowsKind.INSERT and not rows.flags & UNFOLLOWED
        self._ends = False
        return None

    def _reversed(self, raw: RawEvent, rows: RowsHeader, flags: int) -> bytes:
        event = bytes(raw.data[:HEADER_SIZE]) + bytes(raw.body)
        if rows.compressed:
            event = plain_rows_event(raw.body, raw.header, self._description)
        number = EventType(event[_TYPE_OFFSET])
        body = memoryview(event)[HEADER_SIZE:]
        length = self._description.post_header_length(number, _POST_HEADER)
        position = raw.header.position + HEADER_SIZE
        if rows.columns_after != rows.columns_before:
            # What an after image lacks was not changed, as with MariaDB's FULL_NODUP.
            body = memoryview(self._counter.whole(body, number, length, position))
        ends = array("q", self._counter.ends(body, number, length, position))
        images = [body[start:stop] for start, stop in pairwise(ends)]
        head = bytearray(body[: ends[0]])
        flags_at = _flags_at(self._description, number)
        head[flags_at : flags_at + 2] = flags.to_bytes(2, "little")
        # Reversing all images also swaps the two images of each update.
        return _new_event(event[:HEADER_SIZE], _REVERSED[number], bytes(head) + b"".join(reversed(images)))

    def _end_statement(self) -> None:
        for event in reversed(self._maps.values()):
            self._put(event)
        self._maps, self._ends, self._followers, self._deleted = {}, True, 0, set()

    def end(self) -> None:
        if self.has_rows:
            if not self._ends:
                self._end_statement()
            body = QUERY_HEAD.pack(0, 0, 0, 0, 0) + b"\0BEGIN"
            self._put(_new_event(self._like, EventType.QUERY, body))

    def _put(self, event: bytes) -> None:
        self._events.add([event], 0)


def _flags_at(description: FormatDescription, number: int) -> int:
    """Return the offset of the flags in the body of a rows event."""
    return 4 if description.post_header_length(EventType(number), _POST_HEADER) == _SHORT_POST_HEADER else 6


def _new_event(like: bytes, number: EventType, body: bytes) -> bytes:
    """Return a new event with the timestamp and server ID of another."""
    timestamp, _, server, _, _, flags = HEADER.unpack_from(like)
    return HEADER.pack(timestamp, number, server, 0, 0, flags) + body


class _ReverseWriter(SliceWriter):
    buffer_bytes = 64 * 1024 * 1024

    def __init__(self, ranges: FileRanges, output: Sink) -> None:
        self._first = ranges
        plan = SlicePlan((ranges,), ranges.description, False)
        super().__init__(plan, output, verbatim=False, verify=False)

    def write_events(self, events: ReverseSpool) -> None:
        self._rewriter.put_bytes(MAGIC)
        self._write_head(self._first.file, self._first.description)
        last = bytearray()
        for _, _, _, chunks in events.backwards():
            event = bytearray(b"".join(chunks))
            if last and last[_TYPE_OFFSET] in _REVERSED and event[_TYPE_OFFSET] not in _REVERSED:
                flags_at = HEADER_SIZE + _flags_at(self._first.description, last[_TYPE_OFFSET])
                last[flags_at] |= RowsFlag.STATEMENT_END
            self._put(last)
            last = event
        self._put(last)
        self._drain()

    def _put(self, event: bytearray) -> None:
        if event:
            self.put_event(event, "--reverse --format binlog", "use --format sql")
