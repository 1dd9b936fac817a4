"""A dump: the events of the offered logs, from where the replica is to the end of the offer.

The first event of each log is preceded by a ROTATE that is in no log, as servers send it. Of the transactions
between start and end those are left out that the replica has.

Sources: MySQL's sql/rpl_binlog_sender.cc, MariaDB's sql/sql_repl.cc (``mysql_binlog_send``,
``send_event_to_slave``, ``is_until_reached``).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from time import monotonic

from binx.errors import BinxError, ChecksumError
from binx.event.format import CHECKSUM_SIZE, MAGIC_SIZE, ChecksumAlgorithm
from binx.event.gtid.domains import last_of_domains
from binx.event.gtid.encode import encode_packed
from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import DomainSource
from binx.event.header import HEADER, HEADER_SIZE, EventFlag, EventType, parse_header
from binx.kernels.crc32 import checksum
from binx.kernels.packets import wrap_events
from binx.kernels.transactions.table import TransactionTable
from binx.log.backup_position import BackupPosition
from binx.log.binlog_file import BinlogFile
from binx.log.held import HeldTransactions
from binx.log.identifiers import marked_gtids
from binx.log.scan import Scan
from binx.pull.requests import ENDS_AT_THE_END, HEARTBEATS_WITH_FIELDS, DumpRequest
from binx.serve.channel import PACKET_MAXIMUM, Channel
from binx.serve.offer import Offer, StreamPosition
from binx.serve.start import FatalError
from binx.source import READ_BYTES

_PACKETS_BYTES = 1 << 20
_WAIT_SECONDS = 0.5
_EVENT = b"\0"
_NEXT_POSITION = slice(13, 17)
_FLAGS_OFFSET = 17
_CREATED = slice(HEADER_SIZE + 2 + 50, HEADER_SIZE + 2 + 50 + 4)
_POSITION = struct.Struct("<Q")
_UNTIL_REACHED = 1 << 28
"""Flag of MariaDB's GTID_LIST: the replica has what it asked for, and stops."""
_NAME_FIELD, _POSITION_FIELD, _END_FIELD = 1, 2, 0
_UINT32 = 1 << 32


class Dump:
    """The dump of one replica.

    Args:
        start: the first event to send.
        held: the GTIDs that the replica has; None if the position alone decides.
        until: of MariaDB, the GTIDs at which the replica wants to stop; None for no such wish.
        has_checksums: whether the replica takes events with a CRC32 before the first log says so.
        heartbeat: seconds without an event after which it wants a heartbeat; 0 for none.
        ends: whether the dump ends at the end of the offer, in place of going on with heartbeats.
        applies: whether the client has registered as a replica, which passes over events of its id.

    Attributes:
        is_complete: whether all up to the end was sent.
    """

    def __init__(
        self,
        offer: Offer,
        channel: Channel,
        request: DumpRequest,
        start: StreamPosition,
        *,
        held: GtidSet | None,
        until: GtidSet | None,
        has_checksums: bool,
        heartbeat: float,
        ends: bool,
        applies: bool,
    ) -> None:
        self.is_complete = False
        self._offer = offer
        self._channel = channel
        self._request = request
        self._start = start
        self._held = None if held is None else HeldTransactions(BackupPosition(gtids=held), None)
        listed = offer.logs[start.log].gtids_before or GtidSet()
        self._unmet = {
            domain: (number, server)
            for domain, (number, server) in last_of_domains(held or GtidSet()).items()
            if not listed.contains(DomainSource(domain, server), number)
        }
        self._until = None if until is None else _remaining(until, held or GtidSet())
        self._checksums = has_checksums
        self._heartbeat = heartbeat
        self._ends = ends or bool(request.flags & ENDS_AT_THE_END)
        # One with the id that the service names has stopped, unless it is told to take its own events.
        is_own = applies and request.server_id != offer.description.server_id
        self._own_id = request.server_id if is_own else None
        self._packets = memoryview(bytearray(_PACKETS_BYTES))

    def run(self, is_stopped: Callable[[], bool]) -> None:
        """Send all up to the end; then heartbeats, until the replica has gone.

        Raises:
            FatalError: the replica must stop; it has not been told so yet.
            ConnectionLostError: it has gone before it had everything.
            DamagedError: a log is damaged.
        """
        offset = self._start.offset
        for index in range(self._start.log, len(self._offer.logs)):
            log = self._offer.logs[index]
            stop = self._offer.end.offset if index == self._offer.end.log else log.size
            with BinlogFile.open(log.path) as file:
                try:
                    self._send_rotate(log.name, offset)
                    self._send_format(file, offset)
                    if self._send_log(file, offset, stop):
                        self._stay(is_stopped)
                        return
                except BinxError as error:
                    raise error.at(path=log.path) from error.__cause__
            offset = MAGIC_SIZE
        self.is_complete = True
        if self._ends:
            self._channel.send_end()
        self._stay(is_stopped)

    def _send_log(self, file: BinlogFile, start: int, stop: int) -> bool:
        """Send a log from an event on; return whether the replica has reached what it asked for."""
        position = max(start, file.first_position)
        if self._until is not None and not self._until:
            self._send_reached(position)
            return True
        scan = Scan(file, verify=False)
        for table in scan:
            unwanted = self._held_by_replica(table)
            reached = self._pass_until(table, unwanted)
            limit = min(scan.accounted, stop) if reached is None else reached
            for first, last in self._kept(table, unwanted, position, limit):
                self._send_range(file, first, last)
            position = max(position, limit)
            if reached is not None:
                self._send_reached(position)
                return True
            if position >= stop:
                return False
        self._send_range(file, position, min(scan.accounted, stop))
        return False

    def _kept(
        self, table: TransactionTable, unwanted: bytearray, position: int, limit: int
    ) -> Iterator[tuple[int, int]]:
        """Yield the ranges between a position and a limit without the unwanted transactions."""
        if self._own_id is not None:
            passed = bytearray(1 - byte for byte in unwanted)
            table.keep_range(passed, "start", position, limit - 1)
            table.keep_values(passed, "server_id", [self._own_id])
            if any(passed):
                first: int = table.value("start", passed.index(1))
                raise FatalError(
                    f"The replica would pass over transactions that have its own server id {self._own_id},"
                    f" the first at {first}; give it a server_id that is not in the logs"
                )
        for index in table.marked(unwanted):
            begin: int = table.value("start", index)
            if begin >= limit:
                break
            if position < begin:
                yield position, begin
            position = table.value("end", index)
        if position < limit:
            yield position, limit

    def _held_by_replica(self, table: TransactionTable) -> bytearray:
        """Mark the transactions that the replica has.

        Raises:
            FatalError: a transaction has no GTID, so that it is not known; or the replica has diverged.
        """
        if self._held is None:
            return bytearray(len(table))
        if not table.all_have_gtids():
            raise FatalError("Cannot replicate anonymous transaction when AUTO_POSITION = 1")
        mask = self._held.mask(table, 0) if self._held.by_gtid else None
        if mask is None:
            return bytearray(len(table))
        if self._unmet:
            self._meet(GtidSet(marked_gtids(table, table.mask())), table, mask)
        return mask

    def _meet(self, gtids: GtidSet, table: TransactionTable, held: bytearray) -> None:
        """Check that the replica's GTID of each domain comes before those that it has not."""
        after = {
            source.domain
            for source, _, _ in marked_gtids(table, bytearray(1 - byte for byte in held))
            if isinstance(source, DomainSource)
        }
        for domain, (number, server) in list(self._unmet.items()):
            if gtids.contains(DomainSource(domain, server), number):
                del self._unmet[domain]
            elif domain in after:
                raise FatalError(
                    f"Error: connecting slave requested to start from GTID {domain}-{server}-{number}, which"
                    " is not in the master's binlog. Since the master's binlog contains GTIDs with higher"
                    " sequence numbers, it probably means that the slave has diverged due to executing extra"
                    " erroneous transactions"
                )

    def _pass_until(self, table: TransactionTable, unwanted: bytearray) -> int | None:
        """Mark what is not wanted because of the replica's UNTIL; return where that is reached, if it is."""
        if self._until is None:
            return None
        for index in range(len(table)):
            domain, server, number = map(int, (table.gtid(index) or "").split("-"))
            wanted = self._until.get(domain)
            if wanted is None:
                unwanted[index] = 1
            elif server == wanted[1] and number >= wanted[0]:
                del self._until[domain]
                unwanted[index] |= number > wanted[0]
                if not self._until:
                    end: int = table.value("end", index)
                    return end
        return None

    def _send_range(self, file: BinlogFile, start: int, stop: int) -> None:
        """Send the events of a part of a log."""
        verify = bool(file.format.checksum_size)
        while start < stop:
            window = file.source.window(start, min(start + READ_BYTES, stop))
            used, written, self._channel.sequence = wrap_events(
                window, self._packets, self._channel.sequence, verify, start
            )
            self._channel.send_packets(self._packets[:written])
            if not used:
                used = parse_header(window, start, origin=start).size
                self._send_large(file, start, min(start + used, stop))
            start += used

    def _send_large(self, file: BinlogFile, start: int, stop: int) -> None:
        """Send one event piece by piece, as it may be larger than memory."""
        size = file.format.checksum_size
        if size:
            self._verify_large(file, start, stop - size)
        left, position, prefix = stop - start + len(_EVENT), start, _EVENT
        while left >= 0:
            length = min(left, PACKET_MAXIMUM)
            self._channel.send_packets(self._channel.packet_header(length) + prefix)
            end = position + length - len(prefix)
            for part in range(position, end, READ_BYTES):
                self._channel.send_packets(file.source.window(part, min(part + READ_BYTES, end)))
            position, prefix = end, b""
            left -= length
            if length < PACKET_MAXIMUM:
                return

    @staticmethod
    def _verify_large(file: BinlogFile, start: int, stop: int) -> None:
        actual = 0
        for part in range(start, stop, READ_BYTES):
            actual = checksum(file.source.window(part, min(part + READ_BYTES, stop)), actual)
        stored = int.from_bytes(file.source.window(stop, stop + CHECKSUM_SIZE), "little")
        if stored != actual:
            raise ChecksumError(
                f"expected the CRC32 {stored:08x} that the event carries, found {actual:08x}",
                path=file.path,
                offset=start,
            )

    def _send_rotate(self, name: str, position: int) -> None:
        body = _POSITION.pack(position) + name.encode("utf-8", "surrogateescape")
        self._send_made(EventType.ROTATE, body, 0, EventFlag.ARTIFICIAL)

    def _send_format(self, file: BinlogFile, offset: int) -> None:
        """Send a log's first event; to one that begins in its middle without its time and its place."""
        event = bytearray(file.source.window(MAGIC_SIZE, file.first_position))
        event[_FLAGS_OFFSET] &= ~EventFlag.IN_USE & 0xFF
        if offset > MAGIC_SIZE:
            event[_NEXT_POSITION] = event[_CREATED] = bytes(4)
        if file.format.has_checksum_field:
            event[-CHECKSUM_SIZE:] = checksum(memoryview(event)[:-CHECKSUM_SIZE]).to_bytes(
                CHECKSUM_SIZE, "little"
            )
        self._channel.send(_EVENT + event)
        self._checksums = file.format.checksum is ChecksumAlgorithm.CRC32

    def _send_reached(self, position: int) -> None:
        """Tell a MariaDB that it has all up to its UNTIL."""
        self.is_complete = True
        body = _UNTIL_REACHED.to_bytes(4, "little")
        self._send_made(EventType.MARIADB_GTID_LIST, body, position, EventFlag.ARTIFICIAL)
        self._channel.send_end()

    def _send_heartbeat(self) -> None:
        reached, offset = self._offer.reached
        name = reached.encode("utf-8", "surrogateescape")
        if not self._offer.is_mariadb and self._request.flags & HEARTBEATS_WITH_FIELDS:
            place = encode_packed(offset)
            fields = ((_NAME_FIELD, name), (_POSITION_FIELD, place))
            body = b"".join(bytes([field]) + encode_packed(len(value)) + value for field, value in fields)
            self._send_made(EventType.HEARTBEAT_V2, body + bytes([_END_FIELD]), 0, EventFlag(0))
        else:
            self._send_made(EventType.HEARTBEAT, name, offset % _UINT32, EventFlag(0))

    def _send_made(self, number: EventType, body: bytes, position: int, flags: EventFlag) -> None:
        """Send an event that is in no log."""
        size = HEADER_SIZE + len(body) + (CHECKSUM_SIZE if self._checksums else 0)
        event = HEADER.pack(0, number, self._offer.description.server_id, size, position, flags) + body
        if self._checksums:
            event += checksum(event).to_bytes(CHECKSUM_SIZE, "little")
        self._channel.send(_EVENT + event)

    def _stay(self, is_stopped: Callable[[], bool]) -> None:
        last = monotonic()
        while not is_stopped() and not self._channel.wait(_WAIT_SECONDS):
            if self._heartbeat and not self._ends and monotonic() - last >= self._heartbeat:
                self._send_heartbeat()
                last = monotonic()


def _remaining(until: GtidSet, held: GtidSet) -> dict[int, tuple[int, int]]:
    """Return of each domain the GTID at which a replica wants to stop, without those that it has reached."""
    reached = last_of_domains(held)
    return {
        domain: (number, server)
        for domain, (number, server) in last_of_domains(until).items()
        if number > reached.get(domain, (0, 0))[0]
    }
