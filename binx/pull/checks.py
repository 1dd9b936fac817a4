"""What is proved of a log while it arrives: each checksum and position, each transaction's end, the GTIDs."""

from __future__ import annotations

from typing import NamedTuple

from binx.errors import BinxError, DamagedError, RefusedError
from binx.event.format import CHECKSUM_SIZE, FormatDescription
from binx.event.gtid.previous import parse_previous_gtids
from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import DomainSource
from binx.event.header import HEADER_SIZE, EventType, event_size, parse_header
from binx.event.mariadb import parse_mariadb_gtid_list
from binx.kernels.crc32 import checksum
from binx.kernels.walk.scan import Level, Scanner
from binx.log.boundary import compiled
from binx.log.identifiers import marked_gtids

LARGE_BYTES = 1 << 20
"""An event of more bytes is not kept whole in memory."""

_NO_END = 2**63 - 1
_HEAD_BYTES = 128 * 1024
"""Of a large event so much is kept, which tells its class: a session and the beginning of a statement."""

_COMPILED = compiled()
_LISTS = (EventType.PREVIOUS_GTIDS, EventType.MARIADB_GTID_LIST)


class LastTransaction(NamedTuple):
    """The transaction of a log that ended last.

    Attributes:
        start: where it begins.
        gtid: its GTID; None where it has none.
        committed: when, in µs since 1970.
    """

    start: int
    gtid: str | None
    committed: int


class LogChecks:
    """The checks of one log from an event on, none of which lets anything pass that is damaged.

    Args:
        log: the log's name.
        description: its format.
        position: where the first event stands, the first of a transaction or one between two.
    """

    def __init__(self, log: str, description: FormatDescription, position: int) -> None:
        self.log = log
        self.description = description
        self.last: LastTransaction | None = None
        self._scanner = Scanner(Level.LEVEL_EVENTS, _NO_END, position, _COMPILED, True)
        self._scanner.set_format(description.checksum_size, description.post_header_lengths)
        self._runs: list[tuple[object, int, int]] = []
        self._large: LargeEvent | None = None
        self.listed: GtidSet | None = None
        """The GTIDs that the log says came before it; None where it did not say so yet."""

    @property
    def position(self) -> int:
        """Where the next event stands."""
        return self._scanner.position

    @property
    def whole(self) -> int:
        """Offset behind the last whole transaction, or the last event between transactions."""
        begun = self._scanner.open_transaction
        return self._scanner.position if begun is None else begun

    @property
    def is_closed(self) -> bool:
        """Whether the last event is the one that a server ends a log with."""
        controls = self._scanner.control_events
        if not controls or controls[-1][0] not in (EventType.ROTATE, EventType.STOP):
            return False
        return controls[-1][1] + controls[-1][2] == self.position

    @property
    def reached(self) -> int:
        """Where the next byte that is taken stands, which may be within a large event."""
        return self.position + (0 if self._large is None else self._large.seen)

    def take(self, window: memoryview) -> int:
        """Check what has arrived; a large event piece by piece, whose last piece tells whether it is damaged.

        Args:
            window: the log's bytes from :attr:`reached` on.

        Returns:
            How many of its bytes were taken; an event that it cuts is left.

        Raises:
            DamagedError, UnsupportedError: as :meth:`feed`.
        """
        if self._large is None and len(window) >= HEADER_SIZE and event_size(window) > LARGE_BYTES:
            self._large = LargeEvent(self)
        if self._large is None:
            return self.feed(window)
        count = self._large.take(window)
        if self._large.end():
            self._large = None
        return count

    def feed(self, window: memoryview) -> int:
        """Check whole events.

        Args:
            window: the log's bytes from :attr:`position` on; an event that it cuts is left.

        Returns:
            How many of its bytes are whole events without damage.

        Raises:
            DamagedError, UnsupportedError: an event is not what a server writes there.
        """
        scanner, origin = self._scanner, self._scanner.position
        controls = len(scanner.control_events)
        try:
            scanner.feed(window, origin, _NO_END)
            if scanner.misplaced:
                raise DamagedError(
                    "expected an event whose header tells its own place, found another position",
                    offset=scanner.first_misplaced,
                )
            for number, position, size in scanner.control_events[controls:]:
                if number in _LISTS and self.listed is None and position >= origin:
                    self._read_list(window[position - origin : position - origin + size], position)
        except BinxError as error:
            raise error.at(path=self.log) from error.__cause__
        self._note()
        return scanner.position - origin

    def _note(self) -> None:
        """Keep what is asked of transactions, and forget them."""
        table = self._scanner.table
        if not len(table):
            return
        last = len(table) - 1
        self.last = LastTransaction(
            table.value("start", last), table.gtid(last), table.value("commit_timestamp", last)
        )
        self._runs += marked_gtids(table, table.mask())
        self._scanner.new_table()

    def gtids(self) -> GtidSet:
        """The GTIDs of the transactions that were checked.

        Raises:
            DamagedError: one of them came twice.
        """
        gtids = GtidSet(self._runs)  # type: ignore[arg-type]
        if gtids.count != sum(last - first + 1 for _, first, last in self._runs):
            raise DamagedError("expected each GTID once, found one that two transactions have", path=self.log)
        self._runs = list(gtids)
        return gtids

    def _read_list(self, event: memoryview, position: int) -> None:
        """Take what the log says came before it: of MariaDB's all up to the last of each source."""
        header = parse_header(event, position, origin=position)
        body = event[HEADER_SIZE : header.size - self.description.checksum_size]
        if header.type == EventType.PREVIOUS_GTIDS:
            self.listed = parse_previous_gtids(body, header, self.description).gtids
            return
        found = parse_mariadb_gtid_list(body, header, self.description).positions
        self.listed = GtidSet(
            (DomainSource(one.domain, one.server_id), 1, one.sequence) for one in found if one.sequence
        )

    def follow(self, before: GtidSet) -> None:
        """Compare what the log says came before it with what did.

        Raises:
            RefusedError: it lacks transactions that were pulled.
        """
        lacking = GtidSet() if self.listed is None else before - self.listed
        if lacking:
            raise RefusedError(
                f"expected a log behind all that was pulled, found one whose list lacks {lacking}; the server"
                " has lost or reset them: begin anew with --new-chain",
                path=self.log,
            )

    def take_large(self, head: memoryview, stored: int, found: int) -> None:
        """Have a large event taken by its beginning.

        Raises:
            DamagedError, UnsupportedError: it is not what a server writes there.
        """
        before = self._scanner.position
        self._scanner.vouch(stored, found)
        if self.feed(head) == 0:
            raise DamagedError(
                "expected a whole event, found one that cannot be read", path=self.log, offset=before
            )


class LargeEvent:
    """An event that is larger than what is kept in memory.

    Args:
        checks: those of its log.
    """

    def __init__(self, checks: LogChecks) -> None:
        self._checks = checks
        self._head = bytearray()
        self._tail = b""
        self._sum = 0
        self._seen = 0
        self._size = 0

    def take(self, window: memoryview) -> int:
        """Take some of its bytes, the first of which hold its header; how many of the window they are."""
        if not self._size:
            self._size = parse_header(window, self._checks.position, origin=self._checks.position).size
        piece = window[: self._size - self._seen]
        covered = self._size - self._checks.description.checksum_size
        summed = piece[: max(covered - self._seen, 0)]
        self._sum = checksum(summed, self._sum)
        self._tail += bytes(piece[len(summed) :])
        self._head += piece[: max(_HEAD_BYTES - len(self._head), 0)]
        self._seen += len(piece)
        return len(piece)

    @property
    def seen(self) -> int:
        """How many of its bytes were taken."""
        return self._seen

    def end(self) -> bool:
        """Whether all of it was taken; then it was checked as every event is.

        Raises:
            DamagedError, UnsupportedError: as :meth:`LogChecks.feed`.
        """
        if self._seen < self._size:
            return False
        stored = int.from_bytes(self._tail, "little") if len(self._tail) == CHECKSUM_SIZE else self._sum
        self._checks.take_large(memoryview(self._head), stored, self._sum)
        return True


__all__ = ["LARGE_BYTES", "LargeEvent", "LastTransaction", "LogChecks"]
