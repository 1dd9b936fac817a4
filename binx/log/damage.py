"""Find the end of a damaged range, record what it cut off, and resume reading after it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

from binx.errors import BinxError, ChecksumError, TruncatedError, UnsupportedError
from binx.event.format import Flavour, FormatDescription
from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import DomainSource, GtidSource
from binx.event.header import HEADER_SIZE, EventHeader, EventType, parse_header
from binx.kernels.crc32 import checksum
from binx.kernels.transactions.table import TransactionTable
from binx.kernels.walk.framing import find_header, follow_headers
from binx.kernels.walk.scan import Scanner
from binx.log.identifiers import marked_gtids
from binx.source import READ_BYTES, Source

NO_GTIDS = GtidSet()

DAMAGES_MAXIMUM = 10_000
"""Damaged ranges recorded separately in one file; everything after that many is given up as one range."""

_NAMED_SINCE = {Flavour.MYSQL: (5, 7, 3), Flavour.MARIADB: (10, 0, 2)}
"""Versions from which every transaction begins with a GTID event, possibly an anonymous one."""

_ENCRYPTION = "START_ENCRYPTION"
_NAMING = (EventType.PREVIOUS_GTIDS, EventType.MARIADB_GTID_LIST)


class Cause(Enum):
    """Kind of error that damage begins with."""

    CHECKSUM = "checksum"
    """An event's bytes were changed."""
    CUT = "cut"
    """The file ends within an event or a transaction."""
    STRUCTURE = "structure"
    """Bytes that are not an event, or an event that is illegal in its place."""
    UNKNOWN = "unknown"
    """Something that binx cannot read, although it may be intact."""


class Damage(NamedTuple):
    """A range of a file in which no whole transaction could be read.

    Attributes:
        start: offset of its first byte: the event that cannot be read, or the beginning of the transaction
            whose end is lost.
        end: offset after its last byte: the next whole transaction, or the file's end.
        offset: offset of the first error.
        gtid: GTID of the transaction that begins at ``start``; None if none begins there or it has none.
        cut: whether a transaction begins at ``start``.
        ends: number of transaction ends in the range, including that of the transaction at ``start``.
        lost: GTIDs missing at this place, including that of the transaction at ``start``; known once the file
            was read to its end.
    """

    start: int
    end: int
    offset: int
    message: str
    cause: Cause
    gtid: str | None = None
    cut: bool = False
    ends: int = 0
    lost: GtidSet = NO_GTIDS

    @property
    def bytes(self) -> int:
        """Size in bytes."""
        return self.end - self.start

    @property
    def transactions(self) -> int:
        """Number of transactions lost in it, at least."""
        return max(self.ends or int(self.cut), self.lost.count)

    def __str__(self) -> str:
        cut = f", which cut the transaction {self.gtid or 'at its beginning'}" if self.cut else ""
        lost = f"; lost with them: {self.lost}" if self.lost.count > self.cut else ""
        return f"bytes {self.start:,} to {self.end:,} are damaged{cut}: {self.message}{lost}"


class Salvage:
    """Recovery from damage during one scan."""

    def __init__(self, source: Source, scanner: Scanner) -> None:
        self.damage: list[Damage] = []
        self._source = source
        self._scanner = scanner
        self._search = EventSearch(source)
        self._open: Damage | None = None
        self._ends_before = 0
        self._spans: list[GtidSet] = [NO_GTIDS]

    def take_head(self, end: int, error: BinxError) -> None:
        """Record the first event as damaged; that of another log replaces it."""
        message = f"{error.message}; read with the format description of another log (--format-from)"
        self.damage.append(Damage(0, end, 0, message, Cause.STRUCTURE))

    def take(self, table: TransactionTable) -> None:
        """Record the GTIDs of transactions found since the last damage."""
        while len(self._spans) <= len(self.damage):
            self._spans.append(NO_GTIDS)
        self._spans[-1] |= GtidSet(marked_gtids(table, table.mask()))

    def name_lost(self, before: GtidSet) -> None:
        """Determine the GTIDs lost in each damaged range, once the file was read to its end."""
        spans = [*self._spans, *[NO_GTIDS] * (len(self.damage) + 1 - len(self._spans))]
        spans[0] |= before
        all_found = GtidSet().union(*spans)
        # A transaction that damage cut off begins before it: GTIDs missing before that were lost elsewhere.
        cut = [GtidSet.parse(damage.gtid) - all_found if damage.gtid else NO_GTIDS for damage in self.damage]
        spans = [span | begun for span, begun in zip(spans, [*cut, NO_GTIDS], strict=True)]
        for number, lost in enumerate(gtids_lost_at(spans)):
            self.damage[number] = self.damage[number]._replace(lost=lost | cut[number])

    def recover(self, error: BinxError, description: FormatDescription) -> bool:
        """Move the scan's walk past the damage; return False if nothing readable follows.

        Raises:
            UnsupportedError: what follows is encrypted, not damaged.
        """
        if isinstance(error, UnsupportedError) and error.event == _ENCRYPTION:
            raise error
        scanner = self._scanner
        self.settle()
        begun = scanner.open_transaction
        if self._open is None:
            self._open = Damage(
                start=scanner.position if begun is None else begun,
                end=0,
                offset=scanner.position if error.offset is None else error.offset,
                message=error.message,
                cause=_cause(error),
                gtid=scanner.open_gtid(),
                cut=begun is not None,
            )
            self._ends_before = scanner.ends_passed
        # An event that cannot follow the previous ones may still begin the next transaction.
        after = scanner.position + (begun is None or begun == scanner.position)
        offset = None if len(self.damage) >= DAMAGES_MAXIMUM else self.next_event(after, description)
        if offset is None:
            self.close(self._source.size)
            return False
        scanner.seek(offset, self._is_named(description))
        return True

    def settle(self) -> None:
        """Record the end of the damage, if the walk has passed it."""
        if self._open is not None and not self._scanner.is_seeking:
            self.close(self._scanner.resumed)

    def close(self, end: int) -> None:
        """Record the open damaged range, if any, up to an offset."""
        if self._open is not None:
            ends = self._scanner.ends_passed - self._ends_before
            self.damage.append(self._open._replace(end=end, ends=ends))
            self._open = None

    def next_event(self, position: int, description: FormatDescription) -> int | None:
        """Return the offset of the next event at or after a position, or None."""
        return self._search.find(position, self._scanner.drift, description.checksum_size)

    def check_large_event(self, header: EventHeader, description: FormatDescription) -> None:
        """Check that an event is as large as its header says before allocating memory for it.

        Raises:
            ChecksumError: its position contradicts its size, and its checksum does not match.
        """
        drift = (header.next_position - header.end) & 0xFFFFFFFF
        if drift == self._scanner.drift or not description.checksum_size:
            return
        if not self._search.is_whole(header.position, header.size, description.checksum_size):
            raise ChecksumError(
                f"expected an event of {header.size} bytes, found that its position says otherwise, and that"
                " its checksum is not that of its bytes",
                offset=header.position,
            )

    def _is_named(self, description: FormatDescription) -> bool:
        """Return whether every transaction of the file begins with a GTID event."""
        since = _NAMED_SINCE[description.flavour]
        controls = {number for number, _, _ in self._scanner.control_events}
        return self._scanner.has_gtids or description.version >= since or not controls.isdisjoint(_NAMING)


def _cause(error: BinxError) -> Cause:
    if isinstance(error, ChecksumError):
        return Cause.CHECKSUM
    if isinstance(error, TruncatedError):
        return Cause.CUT
    return Cause.UNKNOWN if isinstance(error, UnsupportedError) else Cause.STRUCTURE


_WITNESSES = 3
_BUDGET_FACTOR = 32
_BUDGET_FLOOR = 1 << 24
_LOOK_COST = 4096
"""Cost of a read elsewhere in the file, in bytes of sequential reading."""
_SIZE_BITS = 0xFFFFFFFF


class EventSearch:
    """A search for the next event among a file's damaged bytes; it can be resumed anywhere.

    A candidate must be verified. An event *in its place* has the drift (see :mod:`binx.kernels.walk.framing`)
    of the events before the damage. Together with the checksum this cannot happen by chance, nor with events
    of another log stored in some row. Without checksums, three more events of the same drift must follow. An
    event that was *moved*, because bytes before it were removed or inserted, is accepted only if it may begin
    a transaction and the headers from it on lead exactly to the file's end. Time is linear in the file's
    size: reads and verifications are charged to a budget.
    """

    def __init__(self, source: Source) -> None:
        self.budget = _BUDGET_FACTOR * source.size + _BUDGET_FLOOR
        self._source = source

    def find(self, position: int, drift: int, checksum_size: int) -> int | None:
        """Return the offset of the first event at or after a position; None without one or without budget.

        Args:
            drift: of the events before the damage.
            checksum_size: bytes of the checksum at the end of each event: 4 or 0.
        """
        for expected in dict.fromkeys((drift, 0)):
            offset = self._find(position, checksum_size, expected, moved=False)
            if offset is not None:
                return offset
        return self._find(position, checksum_size, 0, moved=True)

    def _find(self, position: int, checksum_size: int, drift: int, *, moved: bool) -> int | None:
        source, size = self._source, self._source.size
        while position + HEADER_SIZE <= size:
            origin = position
            window = source.window(origin, min(origin + READ_BYTES, size))
            while self.budget > 0:
                offset = find_header(window, origin, position, size, checksum_size, drift, moved)
                if offset < 0:
                    break
                if self._is_proved(window, origin, offset, checksum_size, moved=moved):
                    return offset
                position = offset + 1
            position = origin + len(window) - HEADER_SIZE + 1
            self.budget -= len(window)
            if self.budget <= 0:
                return None
        return None

    def _is_proved(
        self, window: memoryview, origin: int, position: int, checksum_size: int, *, moved: bool
    ) -> bool:
        header = parse_header(window, position, origin=origin)
        drift = (header.next_position - header.end) & _SIZE_BITS
        if checksum_size and not self.is_whole(position, header.size, checksum_size):
            return False
        if moved or not checksum_size:
            return self._leads_on(
                header.end, drift, checksum_size, self._source.size if moved else _WITNESSES
            )
        return True

    def is_whole(self, position: int, size: int, checksum_size: int) -> bool:
        """Return whether an event's bytes match its checksum; they are read in pieces."""
        at, end, computed = position, position + size - checksum_size, 0
        self.budget -= size + _LOOK_COST
        while at < end:
            if self.budget <= 0:
                return False
            chunk = self._source.window(at, min(at + READ_BYTES, end))
            computed = checksum(chunk, computed)
            at += len(chunk)
        stored = self._source.window(end, end + checksum_size)
        return computed == int.from_bytes(stored, "little")

    def _leads_on(self, position: int, drift: int, checksum_size: int, events: int) -> bool:
        """Return whether that many more events of the same drift follow, or fewer and then the file's end."""
        source, size = self._source, self._source.size
        while events > 0 and position < size and self.budget > 0:
            window = source.window(position, min(position + READ_BYTES, size))
            self.budget -= len(window) + _LOOK_COST
            position, events = follow_headers(window, position, position, size, checksum_size, drift, events)
        return events == 0 or (events > 0 and position == size)


Runs = Iterable[tuple[GtidSource, int, int]]


class _Numbers(NamedTuple):
    """GTIDs of one span."""

    first: int
    last: int
    span: int
    source: GtidSource


def gtids_lost_at(spans: Sequence[Runs]) -> list[GtidSet]:
    """Return the GTIDs lost in each damaged range.

    Servers number the transactions of a source consecutively, MariaDB those of a domain. Numbers between one
    found before the damage and one found after it were lost there; other holes come from replicas that
    filter, or that commit out of order.

    Args:
        spans: the GTIDs before the first damaged range, between it and the second, and so on.

    Returns:
        A set for each damaged range, one fewer than spans. Numbers lost across several ranges with nothing
        found between them are in the set of the first.
    """
    lines: dict[Hashable, list[_Numbers]] = {}
    for span, runs in enumerate(spans):
        for source, first, last in runs:
            line = source.domain if isinstance(source, DomainSource) else source
            lines.setdefault(line, []).append(_Numbers(first, last, span, source))
    lost: list[list[tuple[GtidSource, int, int]]] = [[] for _ in spans[1:]]
    for numbers in lines.values():
        for before, after in pairwise(sorted(numbers, key=lambda entry: entry[:3])):
            if before.span < after.span and before.last + 1 < after.first:
                lost[before.span].append((after.source, before.last + 1, after.first - 1))
    return [GtidSet(runs) for runs in lost]
