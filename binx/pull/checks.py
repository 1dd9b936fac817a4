"""Verify a log while it arrives: checksums, positions, transaction ends, and GTIDs."""

from __future__ import annotations

from typing import NamedTuple

from binx.errors import BinxError, DamagedError, RefusedError
from binx.event.format import CHECKSUM_SIZE, Flavour, FormatDescription
from binx.event.gtid.previous import parse_previous_gtids
from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import GtidSource
from binx.event.header import HEADER_SIZE, EventType, event_size, parse_header
from binx.event.mariadb import parse_mariadb_gtid_list
from binx.kernels.crc32 import checksum
from binx.kernels.walk.scan import Level, Scanner
from binx.log.boundary import compiled
from binx.log.identifiers import marked_gtids
from binx.log.succession import gtid_differences

LARGE_BYTES = 1 << 20
"""A larger event is not kept whole in memory."""

_NO_END = 2**63 - 1
_HEAD_BYTES = 128 * 1024
"""Bytes kept of a large event, enough to classify it: the session and the beginning of a statement."""

_COMPILED = compiled()
_LISTS = (EventType.PREVIOUS_GTIDS, EventType.MARIADB_GTID_LIST)


class LastTransaction(NamedTuple):
    """The last complete transaction of a log: its beginning, its GTID, its commit time in µs."""

    start: int
    gtid: str | None
    committed: int


class _LargeEvent:
    """State of an event that arrives in pieces: its beginning, its checksum, the CRC32 of its bytes."""

    def __init__(self, size: int, checksum_size: int) -> None:
        self.left = size
        self.head = bytearray()
        self.tail = b""
        self.sum = 0
        self.seen = 0
        self._covered = size - checksum_size

    def take(self, window: memoryview) -> int:
        """Add bytes; return how many bytes of the window belong to the event."""
        chunk = window[: self.left]
        summed = chunk[: max(self._covered - self.seen, 0)]
        self.sum = checksum(summed, self.sum)
        self.tail += bytes(chunk[len(summed) :])
        self.head += chunk[: max(_HEAD_BYTES - len(self.head), 0)]
        self.seen += len(chunk)
        self.left -= len(chunk)
        return len(chunk)


class LogChecks:
    """The checks of one log from an event on; nothing damaged passes.

    Args:
        log: the log's name.
        position: offset of the first event, which begins a transaction or is between two.

    Attributes:
        last: the last complete transaction.
        listed: the GTIDs before the log according to it; None before it listed them.
        lasts: the number of the last transaction of each source.
    """

    def __init__(self, log: str, description: FormatDescription, position: int) -> None:
        self.log = log
        self.description = description
        self.last: LastTransaction | None = None
        self.listed: GtidSet | None = None
        self.lasts: dict[GtidSource, int] = {}
        self._scanner = Scanner(Level.LEVEL_EVENTS, _NO_END, position, _COMPILED, True)
        self._scanner.set_format(description.checksum_size, description.post_header_lengths)
        self._intervals: list[tuple[GtidSource, int, int]] = []
        self._large: _LargeEvent | None = None

    @property
    def position(self) -> int:
        """Offset of the next event."""
        return self._scanner.position

    @property
    def whole_end(self) -> int:
        """Offset after the last whole transaction, or after the last event between transactions."""
        begun = self._scanner.open_transaction
        return self._scanner.position if begun is None else begun

    @property
    def is_closed(self) -> bool:
        """Whether the last event is the one with which a server closes a log."""
        controls = self._scanner.control_events
        if not controls or controls[-1][0] not in (EventType.ROTATE, EventType.STOP):
            return False
        return controls[-1][1] + controls[-1][2] == self.position

    @property
    def reached(self) -> int:
        """Offset of the next byte to check, which may be within a large event."""
        return self.position + (0 if self._large is None else self._large.seen)

    def take(self, window: memoryview) -> int:
        """Check bytes that arrived; a large event in pieces, the last of which shows whether it is damaged.

        Args:
            window: the log's bytes from :attr:`reached` on.

        Returns:
            The number of bytes checked; an incomplete event at the end is left.
        """
        if self._large is None:
            if len(window) < HEADER_SIZE or event_size(window) <= LARGE_BYTES:
                return self._feed(window)
            header = parse_header(window, self.position, origin=self.position)
            self._large = _LargeEvent(header.size, self.description.checksum_size)
        count = self._large.take(window)
        if not self._large.left:
            self._take_large(self._large)
            self._large = None
        return count

    def _take_large(self, large: _LargeEvent) -> None:
        """Accept a large event by its beginning."""
        stored = int.from_bytes(large.tail, "little") if len(large.tail) == CHECKSUM_SIZE else large.sum
        before = self.position
        self._scanner.vouch(stored, large.sum)
        if self._feed(memoryview(large.head)) == 0:
            raise DamagedError(
                "expected a whole event, found one that cannot be read", path=self.log, offset=before
            )

    def _feed(self, window: memoryview) -> int:
        """Check whole events; return their size."""
        scanner, origin = self._scanner, self._scanner.position
        controls = len(scanner.control_events)
        try:
            scanner.feed(window, origin, _NO_END)
            if scanner.misplaced:
                raise DamagedError(
                    "expected an event whose header tells its own position, found another",
                    offset=scanner.first_misplaced,
                )
            for number, position, size in scanner.control_events[controls:]:
                if number in _LISTS and self.listed is None and position >= origin:
                    self._read_list(window[position - origin : position - origin + size], position)
        except BinxError as error:
            raise error.at(path=self.log) from error.__cause__
        table = scanner.table
        if len(table):
            last = len(table) - 1
            self.last = LastTransaction(
                table.value("start", last), table.gtid(last), table.value("commit_timestamp", last)
            )
            runs = marked_gtids(table, table.mask())
            self._intervals += runs
            self.lasts.update((source, number) for source, _, number in runs)
            scanner.new_table()
        return scanner.position - origin

    def _read_list(self, event: memoryview, position: int) -> None:
        """Read the GTIDs that precede the log; for MariaDB the last of each source."""
        header = parse_header(event, position, origin=position)
        body = event[HEADER_SIZE : header.size - self.description.checksum_size]
        if header.type == EventType.PREVIOUS_GTIDS:
            self.listed = parse_previous_gtids(body, header, self.description).gtids
            return
        self.listed = parse_mariadb_gtid_list(body, header, self.description).gtids

    def gtids(self) -> GtidSet:
        """The GTIDs of the checked transactions; only MariaDB's numbers can be set back and come again."""
        gtids = GtidSet(self._intervals)
        if self.description.flavour is Flavour.MYSQL and gtids.count != sum(
            last - first + 1 for _, first, last in self._intervals
        ):
            raise DamagedError("expected each GTID once, found one that two transactions have", path=self.log)
        self._intervals = list(gtids)
        return gtids

    def follow(self, before: GtidSet, content: GtidSet) -> None:
        """Raise RefusedError if the log does not list all GTIDs that were pulled before it.

        Args:
            before: the list of the log before it.
            content: the GTIDs in that log.
        """
        if self.listed is None:
            return
        _, missing = gtid_differences(before, content, self.listed)
        if missing:
            raise RefusedError(
                f"expected a log after all that was pulled, found one whose list lacks {missing}; the server"
                " has lost or reset them: begin again with --new-chain",
                path=self.log,
            )
