"""What is done about damage: where it begins and ends, what it cut, and where reading goes on."""

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
from binx.kernels.walk.headers import find_header, follow_headers
from binx.kernels.walk.scan import Scanner
from binx.log.identifiers import marked_gtids
from binx.source import READ_BYTES, Source

NO_GTIDS = GtidSet()

DAMAGES_MAXIMUM = 10_000
"""Damaged places that are kept apart in one file; all behind so many is given up as one."""

_NAMED_SINCE = {Flavour.MYSQL: (5, 7, 3), Flavour.MARIADB: (10, 0, 2)}
"""Versions from which on every transaction begins with a GTID event, if an anonymous one."""

_ENCRYPTION = "START_ENCRYPTION"
_NAMING = (EventType.PREVIOUS_GTIDS, EventType.MARIADB_GTID_LIST)


class Cause(Enum):
    """What kind of error damage begins with."""

    CHECKSUM = "checksum"
    """An event's bytes were changed."""
    CUT = "cut"
    """The file ends within an event or a transaction."""
    STRUCTURE = "structure"
    """Bytes that are no event, or an event that cannot stand where it does."""
    UNKNOWN = "unknown"
    """Something that binx cannot read, though it may be whole."""


class Damage(NamedTuple):
    """A range of a file in which no whole transaction could be read.

    Attributes:
        start: offset of its first byte: where the event stands that cannot be read, or the transaction begins
            whose end is lost.
        end: offset behind its last byte: where the next whole transaction begins, or the file ends.
        offset: where the first error was met.
        gtid: of the transaction that begins at ``start``; None where none does or it has none.
        cut: whether a transaction begins at ``start``.
        ends: ends of transactions that were met on the way, that of the one at ``start`` included.
        lost: GTIDs that are missing just there, that of the one at ``start`` included; known when the file
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
        """Its size."""
        return self.end - self.start

    @property
    def transactions(self) -> int:
        """How many transactions are lost in it, at least."""
        return max(self.ends or int(self.cut), self.lost.count)

    def __str__(self) -> str:
        cut = f", which cut the transaction {self.gtid or 'at its beginning'}" if self.cut else ""
        lost = f"; lost with them: {self.lost}" if self.lost.count > self.cut else ""
        return f"bytes {self.start:,} to {self.end:,} are damaged{cut}: {self.message}{lost}"


class Salvage:
    """Finds the way on for one scan."""

    def __init__(self, source: Source, scanner: Scanner) -> None:
        self.damage: list[Damage] = []
        self._source = source
        self._scanner = scanner
        self._search = EventSearch(source)
        self._open: Damage | None = None
        self._ends_before = 0
        self._spans: list[GtidSet] = [NO_GTIDS]

    def take_head(self, end: int, error: BinxError) -> None:
        """Take down the first event, for which that of another log stands in."""
        message = f"{error.message}; read with the format description of another log (--format-from)"
        self.damage.append(Damage(0, end, 0, message, Cause.STRUCTURE))

    def take(self, table: TransactionTable) -> None:
        """Note the GTIDs of transactions that were found behind the damage so far."""
        while len(self._spans) <= len(self.damage):
            self._spans.append(NO_GTIDS)
        self._spans[-1] |= GtidSet(marked_gtids(table, table.mask()))

    def name_lost(self, before: GtidSet) -> None:
        """Tell which GTIDs each damage took, when the file was read to its end."""
        spans = [*self._spans, *[NO_GTIDS] * (len(self.damage) + 1 - len(self._spans))]
        spans[0] |= before
        whole = GtidSet().union(*spans)
        # A transaction that a damage cut begins in front of it: what is missing before was lost elsewhere.
        cut = [GtidSet.parse(one.gtid) - whole if one.gtid else NO_GTIDS for one in self.damage]
        spans = [span | begun for span, begun in zip(spans, [*cut, NO_GTIDS], strict=True)]
        for number, lost in enumerate(gtids_lost_at(spans)):
            self.damage[number] = self.damage[number]._replace(lost=lost | cut[number])

    def recover(self, error: BinxError, description: FormatDescription) -> bool:
        """Set the scan's walk behind the damage; False where nothing that can be read follows.

        Raises:
            UnsupportedError: what follows is encrypted, and no damage.
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
        # An event that cannot follow the ones before it may well begin the next transaction.
        after = scanner.position + (begun is None or begun == scanner.position)
        found = None if len(self.damage) >= DAMAGES_MAXIMUM else self.next_event(after, description)
        if found is None:
            self.close(self._source.size)
            return False
        scanner.seek(found, self._is_named(description))
        return True

    def settle(self) -> None:
        """Take down the end of the damage, if the walk has come behind it."""
        if self._open is not None and not self._scanner.is_seeking:
            self.close(self._scanner.resumed)

    def close(self, end: int) -> None:
        """Take down the damage at hand, if there is any, up to an offset."""
        if self._open is not None:
            ends = self._scanner.ends_passed - self._ends_before
            self.damage.append(self._open._replace(end=end, ends=ends))
            self._open = None

    def next_event(self, position: int, description: FormatDescription) -> int | None:
        """The offset of the next event at or behind a position, None where there is none."""
        return self._search.find(position, self._scanner.drift, description.checksum_size)

    def check_large_event(self, header: EventHeader, description: FormatDescription) -> None:
        """Find out whether an event is as large as it says before so much memory is taken.

        Raises:
            ChecksumError: its position contradicts its size, and its checksum is not that of its bytes.
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
        """Whether every transaction of the file begins with a GTID event."""
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
"""What a look elsewhere in the file costs, in bytes that are read one behind the other."""
_SIZE_BITS = 0xFFFFFFFF


class EventSearch:
    """A search for an event among damaged bytes of one file, resumable anywhere.

    What looks like an event must prove it. An event *in its place* has the drift (see
    :mod:`binx.kernels.walk.headers`) of the events before the damage. Together with the checksum this cannot
    happen by chance, nor with the events of another log that some row holds. Where events have no checksums,
    three more of the same drift must follow. An event that was *moved*, as bytes before it were cut out or
    put in, is believed only if it may begin a transaction and the headers from it on lead exactly to the
    file's end. Time is linear in the file's size: looks and proofs are drawn from a budget.
    """

    def __init__(self, source: Source) -> None:
        self.budget = _BUDGET_FACTOR * source.size + _BUDGET_FLOOR
        self._source = source

    def find(self, position: int, drift: int, checksum_size: int) -> int | None:
        """The offset of the first event at or behind a position; None where there is none, or no budget.

        Args:
            drift: of the events before the damage.
            checksum_size: bytes of the checksum that each event ends in: 4 or 0.
        """
        for expected in dict.fromkeys((drift, 0)):
            found = self._find(position, checksum_size, expected, moved=False)
            if found is not None:
                return found
        return self._find(position, checksum_size, 0, moved=True)

    def _find(self, position: int, checksum_size: int, drift: int, *, moved: bool) -> int | None:
        source, size = self._source, self._source.size
        while position + HEADER_SIZE <= size:
            origin = position
            window = source.window(origin, min(origin + READ_BYTES, size))
            while self.budget > 0:
                found = find_header(window, origin, position, size, checksum_size, drift, moved)
                if found < 0:
                    break
                if self._is_proved(window, origin, found, checksum_size, moved=moved):
                    return found
                position = found + 1
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
        """Whether an event's bytes are those that its checksum was made of; they are read piece by piece."""
        at, end, found = position, position + size - checksum_size, 0
        self.budget -= size + _LOOK_COST
        while at < end:
            if self.budget <= 0:
                return False
            piece = self._source.window(at, min(at + READ_BYTES, end))
            found = checksum(piece, found)
            at += len(piece)
        stored = self._source.window(end, end + checksum_size)
        return found == int.from_bytes(stored, "little")

    def _leads_on(self, position: int, drift: int, checksum_size: int, events: int) -> bool:
        """Whether so many more events of one drift follow, or fewer and then the file's end."""
        source, size = self._source, self._source.size
        while events > 0 and position < size and self.budget > 0:
            window = source.window(position, min(position + READ_BYTES, size))
            self.budget -= len(window) + _LOOK_COST
            position, events = follow_headers(window, position, position, size, checksum_size, drift, events)
        return events == 0 or (events > 0 and position == size)


Runs = Iterable[tuple[GtidSource, int, int]]


class _Numbers(NamedTuple):
    """GTIDs that stand in one span."""

    first: int
    last: int
    span: int
    source: GtidSource


def gtids_lost_at(spans: Sequence[Runs]) -> list[GtidSet]:
    """Tell which GTIDs each damage took.

    Servers number the transactions of a source one after another, MariaDB those of a domain. Numbers of which
    the one before is in front of damage and the one behind is behind it were lost there: other holes are of
    replicas that filter, or that commit out of order.

    Args:
        spans: the GTIDs in front of the first damage, between it and the second, and so on.

    Returns:
        A set for each damage, that is one less than there are spans. Numbers that were lost at several, as
        nothing between these tells where, are in the set of the first.
    """
    lines: dict[Hashable, list[_Numbers]] = {}
    for span, runs in enumerate(spans):
        for source, first, last in runs:
            line = source.domain if isinstance(source, DomainSource) else source
            lines.setdefault(line, []).append(_Numbers(first, last, span, source))
    lost: list[list[tuple[GtidSource, int, int]]] = [[] for _ in spans[1:]]
    for numbers in lines.values():
        for before, after in pairwise(sorted(numbers, key=lambda one: one[:3])):
            if before.span < after.span and before.last + 1 < after.first:
                lost[before.span].append((after.source, before.last + 1, after.first - 1))
    return [GtidSet(runs) for runs in lost]
