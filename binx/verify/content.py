"""Verify one file from its first byte to its last."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from binx.errors import BinxError, DamagedError, UnsupportedError
from binx.event.column import ColumnType
from binx.event.format import MAGIC_SIZE, ChecksumAlgorithm, Flavour
from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import GtidSource
from binx.event.header import HEADER_SIZE, EventType, parse_header
from binx.event.parsers import parse_event
from binx.event.payload import PayloadCache
from binx.event.replication import Incident
from binx.event.rows_events import unmapped_rows
from binx.event.table_map import parse_map_body
from binx.kernels.rows.layouts import unknown_column
from binx.kernels.transactions.summaries import clock_faults, flagged
from binx.kernels.transactions.table import FLAG_BY_LENGTH, FLAG_LENGTH_WRONG, Kind, TransactionTable
from binx.kernels.walk.scan import Level
from binx.log.chain.chain import ChainLog
from binx.log.damage import Cause, Damage
from binx.log.identifiers import marked_gtids
from binx.log.scan import Scan
from binx.log.scanning import OnDamage
from binx.source.wording import counted
from binx.verify.problems import FileReport, LogProblemKind, Problem

if TYPE_CHECKING:
    from binx.rows.reading import DecodingCheck

_KINDS = {
    Cause.CHECKSUM: LogProblemKind.CHECKSUM,
    Cause.CUT: LogProblemKind.CUT,
    Cause.STRUCTURE: LogProblemKind.STRUCTURE,
    Cause.UNKNOWN: LogProblemKind.UNKNOWN_EVENT,
}
_FAULTS = {
    LogProblemKind.LENGTH: "the transaction length in the GTID event is wrong",
    LogProblemKind.CLOCK: "sequence numbers do not ascend, or a transaction depends on a later one",
    LogProblemKind.INCIDENT: "the server recorded that changes are missing from its log",
}
"""Problems of transactions that are whole."""

_ZERO_POSITIONS_SINCE = (11, 4, 0)
_ENDS = (EventType.ROTATE, EventType.STOP)
_PAYLOADS_BYTES = 64 << 20
"""Bytes of decompressed transactions that are kept until their rows are decoded."""
_CHECKED_VALUES = frozenset(
    {
        ColumnType.JSON,
        ColumnType.DECIMAL,
        ColumnType.NEWDECIMAL,
        ColumnType.GEOMETRY,
        ColumnType.MARIADB_BLOB_COMPRESSED,
        ColumnType.MARIADB_VARCHAR_COMPRESSED,
    }
)
"""Types of values that can be damaged within the size that their column gives them."""


class ContentCheck:
    """All checks of one file."""

    def __init__(self, ends: ChainLog, *, checksums: bool) -> None:
        self.gtids = GtidSet()
        self.problems: list[Problem] = []
        self.notes: list[str] = []
        self._ends = ends
        self._file = ends.file
        self._scan = Scan(ends.file, Level.LEVEL_TABLES, verify=checksums, on_damage=OnDamage.SALVAGE)
        self._scan.scanner.show_events(self._parse)
        self._rows: DecodingCheck | None = None
        self._checked: dict[tuple[str, str], bool] = {}
        """Tables whose values could be damaged, and whether they can be decoded."""
        self._maps = 0
        self._unparsed: dict[str, tuple[int, str, int]] = {}
        """For each event type: how many cannot be parsed, why the first cannot, and where it is."""
        self._checksums = checksums
        self._transactions = self._bytes = self._by_length = 0
        self._last_sequence = 0
        self._faults: dict[LogProblemKind, tuple[int, int, str | None]] = {}
        self._repeated = GtidSet()
        self._error: BinxError | None = None

    def run(self, progress: Callable[[int], None]) -> FileReport:
        """Read and check the file."""
        try:
            for table in self._scan:
                self._check_table(table)
                progress(self._scan.position)
        except (DamagedError, UnsupportedError) as error:
            self._error = error
        self.problems.extend(self._all_problems())
        self.notes += [f"{self._file.path}: {note}" for note in self._file_notes()]
        return self._report()

    def _check_table(self, table: TransactionTable) -> None:
        """Check a table of whole transactions."""
        self._transactions += len(table)
        self._by_length += flagged(table, FLAG_BY_LENGTH)[0]
        sizes = memoryview(table.column("bytes")).cast("q")
        self._bytes += sum(sizes)
        self._add_fault(LogProblemKind.LENGTH, table, *flagged(table, FLAG_LENGTH_WRONG))
        faults, first, self._last_sequence = clock_faults(table, self._last_sequence)
        self._add_fault(LogProblemKind.CLOCK, table, faults, first)
        incidents = table.mask()
        table.keep_values(incidents, "kind", [Kind.KIND_INCIDENT])
        self._add_fault(LogProblemKind.INCIDENT, table, incidents.count(1), incidents.find(1))
        self._check_table_maps()
        self._check_rows(table)
        intervals = marked_gtids(table, table.mask())
        if intervals:
            gtids = GtidSet(intervals)
            if gtids.count != sum(last - first + 1 for _, first, last in intervals):
                self._repeated |= _repeated_in(intervals)
            if not gtids.isdisjoint(self.gtids):
                self._repeated |= gtids & self.gtids
            self.gtids |= gtids

    def _parse(self, event: bytes, position: int) -> None:
        """Parse an event as its readers do."""
        header = parse_header(event, position, origin=position)
        try:
            parsed = parse_event(memoryview(event)[HEADER_SIZE:], header, self._scan.format)
        except (DamagedError, UnsupportedError) as error:
            self._note_unparsed(header.name, error.message, position)
            return
        if isinstance(parsed, Incident) and not parsed.is_known:
            expected = "expected number 1 (LOST_EVENTS), the only one that servers write, found another"
            self._note_unparsed(header.name, expected, position)

    def _note_unparsed(self, event: str, message: str, position: int) -> None:
        count, message, position = self._unparsed.get(event, (0, message, position))
        self._unparsed[event] = count + 1, message, position

    def _check_rows(self, table: TransactionTable) -> None:
        """Decode the rows whose values could be damaged, as their readers do."""
        if not any(self._checked.values()):
            return
        names = map(self._scan.table_name, range(self._scan.table_count))
        wanted = bytearray(self._checked.get(name, False) for name in names)
        mask = table.mask()
        table.keep_tables(mask, wanted)
        errors = self._decoding().undecodable(table, mask)
        if self._scan.payloads is not None:
            self._scan.payloads.clear()
        for index, error in errors.items():
            start = error.offset if error.offset is not None else table.value("start", index)
            message = f"rows cannot be decoded: {error.message}"
            self.problems.append(
                self._problem(LogProblemKind.STRUCTURE, message, start, gtid=table.gtid(index))
            )

    def _decoding(self) -> DecodingCheck:
        """Return what decodes rows; without any to decode, verifying needs no pyarrow."""
        if self._rows is None:
            from binx.rows.ddl.catalog import Catalog
            from binx.rows.reading import DecodingCheck

            self._rows = DecodingCheck(self._file, Catalog(), lambda *table: self._checked.get(table, False))
            self._rows.payloads = self._scan.payloads = PayloadCache(_PAYLOADS_BYTES)
        return self._rows

    def _add_fault(self, kind: LogProblemKind, table: TransactionTable, count: int, first: int) -> None:
        if count:
            earlier, start, gtid = self._faults.get(kind, (0, table.value("start", first), table.gtid(first)))
            self._faults[kind] = (earlier + count, start, gtid)

    def _all_problems(self) -> Iterator[Problem]:
        if self._error is not None:
            yield self._unreadable(self._error)
        for damage in self._scan.damage:
            yield _damaged(self._file.path, damage)
        for kind, (count, start, gtid) in self._faults.items():
            yield self._problem(kind, _FAULTS[kind] + _and_more(count, "transaction"), start, gtid=gtid)
        for event, (count, reason, start) in self._unparsed.items():
            message = f"{event}: {reason}{_and_more(count, 'event')}"
            yield self._problem(LogProblemKind.STRUCTURE, message, start)
        if not self._is_relay_log:
            yield from self._position_problems()
            yield from self._end_problems()
        repeated = self._repeated | (self.gtids & (self._ends.facts.previous_gtids or GtidSet()))
        if repeated:
            yield self._problem(
                LogProblemKind.DUPLICATE_GTID,
                f"expected each GTID once, found {counted(repeated.count, 'GTID')} that the file has"
                " twice, or lists as logged before it",
                gtid=str(repeated),
            )

    def _problem(
        self,
        kind: LogProblemKind,
        message: str,
        start: int | None = None,
        end: int | None = None,
        gtid: str | None = None,
    ) -> Problem:
        return Problem(kind, self._file.path, message, start, end, gtid)

    def _unreadable(self, error: BinxError) -> Problem:
        """Return the problem of an error after which even salvage cannot continue."""
        kind = LogProblemKind.ENCRYPTED if isinstance(error, UnsupportedError) else LogProblemKind.FORMAT
        start = self._scan.accounted if kind is LogProblemKind.ENCRYPTED else MAGIC_SIZE
        return self._problem(kind, error.message, start, self._file.size)

    def _check_table_maps(self) -> None:
        """Parse the new table maps whole: their optional metadata has column names, among others."""
        maps = self._scan.scanner.maps
        for number in range(self._maps, maps.count):
            if maps.table_of(number) < 0:
                continue  # A map that the scan rejected, already reported as damage.
            name = self._scan.table_name(maps.table_of(number))
            shown, body = ".".join(name), maps.body(number)
            try:
                unknown = unknown_column(body)
                parsed = None if unknown is not None else parse_map_body(body, self._file.format)
            except (DamagedError, UnsupportedError) as error:
                message = f"a table map of {shown} cannot be read completely: {error.message}"
                self.problems.append(self._problem(LogProblemKind.STRUCTURE, message))
                continue
            if unknown is not None:
                message = (
                    f"column {unknown[0]} of {shown} has the type {unknown[1]}, which is unknown to binx"
                )
                message += ": its rows were not checked"
                self.problems.append(self._problem(LogProblemKind.UNKNOWN_EVENT, message))
                self._checked[name] = False
            elif parsed is not None and any(column.type in _CHECKED_VALUES for column in parsed.columns):
                self._checked.setdefault(name, True)
        self._maps = maps.count

    def _position_problems(self) -> Iterator[Problem]:
        scanner, description = self._scan.scanner, self._file.format
        if scanner.misplaced:
            count = counted(scanner.misplaced, "event")
            message = f"the position in the header is not the event's end in {count}"
            yield self._problem(LogProblemKind.POSITION, message, scanner.first_misplaced)
        zeros = description.flavour is Flavour.MARIADB and description.version >= _ZERO_POSITIONS_SINCE
        if scanner.unplaced and not zeros:
            count = counted(scanner.unplaced, "event")
            yield self._problem(LogProblemKind.POSITION, f"the position in the header is 0 in {count}")

    def _end_problems(self) -> Iterator[Problem]:
        size = self._file.size
        for number, position, length in self._scan.control_events:
            end = position + length
            if number in _ENDS and end < size:
                message = (
                    f"expected {EventType(number).name} as the last event, found {size - end} bytes after it"
                )
                yield self._problem(LogProblemKind.BEHIND_THE_END, message, end, size)
                return

    def _file_notes(self) -> Iterator[str]:
        """Yield notes on what is normal but looks odd."""
        file, scan = self._file, self._scan
        if self._is_relay_log:
            yield "a relay log; its positions are those of the source and are not checked"
        if scan.ending is not None and file.format.in_use:
            tail = (
                f"; its last {scan.unfinished:,} bytes are an incomplete transaction"
                if scan.unfinished
                else ""
            )
            yield (
                "marked as being written, or its server crashed: verified up to its last complete"
                f" transaction{tail}"
            )
        elif scan.ending is not None and self._ending == "open":
            yield (
                "no ROTATE or STOP at its end: it is an excerpt, was copied while it was written, or its"
                " server crashed"
            )
        if self._checksums and file.format.checksum is ChecksumAlgorithm.OFF:
            yield "its events have no checksums, so changed values go unnoticed"
        yield from unmapped_rows(scan.unmapped_events)
        walked = self._transactions - self._by_length
        if self._by_length and walked:
            yield f"{counted(walked, 'transaction')} without a recorded length, delimited by their events"

    @property
    def _is_relay_log(self) -> bool:
        """Whether a replica wrote it; old relay logs have a second format description, the source's."""
        return self._file.is_relay_log or self._scan.totals().events.get(EventType.FORMAT_DESCRIPTION, 0) > 1

    @property
    def _ending(self) -> str:
        """How the file ends; a relay log continued in the next one counts as closed."""
        file, ending = self._file, self._scan.ending
        is_continued = file.own_size < file.size or (
            file.resumption is not None and file.resumption.position >= file.size
        )
        if is_continued and self._ends.facts.next_log is not None:
            return "closed"
        return "damaged" if ending is None else ending.value

    def _report(self) -> FileReport:
        file, scan, description = self._file, self._scan, self._file.format
        totals = scan.totals()
        previous = self._ends.facts.previous_gtids
        damaged = sum(damage.bytes for damage in scan.damage)
        unfinished = scan.unfinished
        size = file.own_size
        # Each relay log has its own part of a transaction that spans several.
        transaction_bytes = self._bytes - (file.size - size)
        if file.resumption is not None:
            transaction_bytes += file.resumption.position - MAGIC_SIZE
        if self._error is not None:
            damaged += file.size - scan.accounted
        return FileReport(
            path=file.path,
            file=file.name,
            bytes=size,
            server_version=description.server_version,
            server_id=description.server_id,
            checksum_algorithm=ChecksumAlgorithm(description.checksum).name,
            relay_log=self._is_relay_log,
            in_use=description.in_use,
            ending=self._ending,
            next_file=self._ends.facts.next_log,
            transactions=self._transactions,
            by_length=self._by_length,
            events=sum(totals.events.values()) + sum(totals.inner.values()),
            gtid_set=str(self.gtids),
            previous_gtids=None if previous is None else str(previous),
            header_bytes=size - transaction_bytes - damaged - unfinished,
            transaction_bytes=transaction_bytes,
            damaged_bytes=damaged,
            unfinished_bytes=unfinished,
        )


def _and_more(count: int, noun: str) -> str:
    return f" ({counted(count, noun)}, this is the first)" if count > 1 else ""


def _damaged(path: str, damage: Damage) -> Problem:
    lost = damage.transactions
    message = f"{damage.message} (at {damage.offset:,})"
    if lost:
        losses = f"{counted(lost, 'transaction')} lost"
        message += f"; {losses}, its end is missing" if damage.cut and lost == 1 else f"; {losses}"
    gtids = str(damage.lost) if damage.lost else damage.gtid
    return Problem(_KINDS[damage.cause], path, message, damage.start, damage.end, gtids, lost)


def _repeated_in(intervals: Sequence[tuple[GtidSource, int, int]]) -> GtidSet:
    """Return the GTIDs that are in several of the intervals."""
    seen, repeated = GtidSet(), GtidSet()
    for interval in intervals:
        gtids = GtidSet([interval])
        repeated |= seen & gtids
        seen |= gtids
    return repeated
