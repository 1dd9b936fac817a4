"""Classify what follows a file's last whole transaction: a transaction being written, or damage.

A server marks a file as in use, and clears the mark when it closes it; after a crash the mark stays. The
bytes after the last whole transaction are an incomplete one only if nothing contradicts it: all their events
except the last are intact, the last one's header is plausible, no event follows it, and no later log of the
chain shows that there was more.
"""

from __future__ import annotations

from collections.abc import Callable

from binx.errors import BinxError, ChecksumError, DamagedError, TruncatedError
from binx.event.format import FormatDescription
from binx.event.gtid.sets import GtidSet
from binx.event.header import HEADER_SIZE, EventHeader, EventType, parse_header
from binx.kernels.crc32 import checksum
from binx.log.binlog_file import BinlogFile
from binx.log.chain.ends import known_facts
from binx.log.damage import EventSearch
from binx.log.succession import differences, follows, list_gtids
from binx.source import READ_BYTES

_SIZE_BITS = 0xFFFFFFFF
_SIZE_AT = 9


class Tail:
    """The bytes after the last whole transaction of a file.

    Args:
        start: offset after its last whole transaction.
        drift: difference between the positions in headers and the actual event ends up to there.
        whole_gtids: reads the GTIDs of the whole transactions.
    """

    def __init__(
        self,
        file: BinlogFile,
        start: int,
        drift: int,
        description: FormatDescription,
        whole_gtids: Callable[[], GtidSet],
        *,
        verify: bool,
    ) -> None:
        self._file = file
        self._start = start
        self._drift = drift
        self._checksum_size = description.checksum_size
        self._whole_gtids = whole_gtids
        self._verify = verify
        self._search = EventSearch(file.source)

    def error(self) -> BinxError | None:
        """Return the error; None for a transaction being written, also when the server crashed."""
        try:
            self._check_events()
            self._check_later_log()
        except BinxError as error:
            return error
        if self._file.format.in_use:
            return None
        more = ", or it is a relay log and the next one has the rest" if self._file.is_relay_log else ""
        return TruncatedError(
            f"the file is truncated inside a transaction: the {self._file.size - self._start:,} bytes after"
            f" the last whole transaction are incomplete; it was cut, or copied while it was written{more}",
            offset=self._start,
        )

    def _check_events(self) -> None:
        """Check each event."""
        position, size = self._start, self._file.size
        while position + HEADER_SIZE <= size:
            header = self._header_at(position)
            if header.end > size:
                self._check_cut_event(header)
                return
            self._check_position(header)
            checks = self._verify and self._checksum_size
            if checks and not self._search.is_whole(position, header.size, self._checksum_size):
                raise ChecksumError("the checksum of the event is not that of its bytes", offset=position)
            position = header.end

    def _header_at(self, position: int) -> EventHeader:
        return parse_header(
            self._file.source.window(position, position + HEADER_SIZE), position, origin=position
        )

    def _check_position(self, header: EventHeader) -> None:
        drift = (header.next_position - header.end) & _SIZE_BITS
        # In relay logs some events have the source's positions, others their own.
        if header.next_position and drift != self._drift and not self._file.is_relay_log:
            raise DamagedError(
                f"expected an event of {header.size:,} bytes, found that its position says otherwise: its"
                " size was changed",
                offset=header.position,
                event=header.name,
            )

    def _check_cut_event(self, header: EventHeader) -> None:
        """Distinguish an event that is not fully written yet from one whose size is wrong."""
        self._check_position(header)
        position, size = header.position, self._file.size
        follows = self._search.find(position + 1, self._drift, self._checksum_size)
        if follows is None and not self._fills_the_rest(header):
            return
        proof = "that its bytes end with the file" if follows is None else f"another one at {follows:,}"
        raise DamagedError(
            f"expected an event of {header.size:,} bytes, which is {header.end - size:,} more than the file"
            f" has, found {proof}: its size was changed",
            offset=position,
            event=header.name,
        )

    def _fills_the_rest(self, header: EventHeader) -> bool:
        """Return whether the checksum at the file's end matches an event that fills the rest of the file."""
        rest = self._file.size - header.position
        if not self._checksum_size or rest < HEADER_SIZE + self._checksum_size or rest > READ_BYTES:
            return False
        event = bytearray(self._file.source.window(header.position, self._file.size))
        event[_SIZE_AT : _SIZE_AT + 4] = rest.to_bytes(4, "little")
        content = rest - self._checksum_size
        return checksum(memoryview(event)[:content]) == int.from_bytes(event[content:], "little")

    def _check_later_log(self) -> None:
        """Check that the next log of the chain lists no transaction that is missing from the whole ones."""
        before, after = known_facts(self._file), self._file.successor
        if after is None or not self._file.format.in_use:
            return
        unread = f"the {self._file.size - self._start:,} bytes after the last whole transaction"
        is_listed = follows(before, after) and list_gtids(before, after) and after.gtids_before
        if not is_listed or self._is_anonymous():
            raise TruncatedError(
                f"{unread} cannot be read, although {after.name} follows, so that nobody writes them any"
                " more: the server crashed, or the file was cut or copied too early",
                offset=self._start,
            )
        lost, _ = differences(before, self._whole_gtids(), after)
        if lost:
            raise TruncatedError(
                f"{unread} cannot be read, and hold {lost}, which {after.name} lists as logged before it",
                offset=self._start,
            )

    def _is_anonymous(self) -> bool:
        """Return whether the bytes may be a transaction without a GTID, which no later log lists.

        The event that closes a log belongs to no transaction.
        """
        if self._start + HEADER_SIZE > self._file.size:
            return False
        return self._header_at(self._start).type not in (
            EventType.GTID,
            EventType.GTID_TAGGED,
            EventType.MARIADB_GTID,
            EventType.ROTATE,
            EventType.STOP,
        )
