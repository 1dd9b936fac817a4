# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Events into the packets in which a server sends its binary log, and out of them.

A packet is a length (3 bytes), a sequence number (1 byte) and a payload of that length: a status (0 for an event),
with semi-synchronous replication 0xef and whether an acknowledgement is requested, and an event. An event that
fills a packet of 16 MiB - 1 continues in the next packet, which has no status.

Sources: MySQL's "Client/Server Protocol" (basic packets), sql/rpl_binlog_sender.cc (``send_packet``) and
plugin/semisync/semisync.h; MariaDB's sql/sql_repl.cc and sql/semisync.h.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

from binx.kernels.crc32 cimport crc32
from binx.kernels.cursor cimport little
from binx.kernels.walk.events cimport *

cdef enum:
    PACKET_HEADER = 4
    PACKET_MAXIMUM = 0xFFFFFF
    SEMI_SYNC_MAGIC = 0xEF
    ARTIFICIAL_FLAG = 0x20

cpdef enum PacketStop:
    PACKET_MORE = 0
    PACKET_FULL = 1
    PACKET_SPECIAL = 2


cdef int bad_packet(const char *expected, int64_t wanted, int64_t found) except -1 with gil:
    from binx.errors import DamagedError

    raise DamagedError(f"expected {expected.decode()} {wanted}, found {found}: what arrived is not what the server sent")


cdef inline bint is_special(const Header *header) noexcept nogil:
    """Whether an event is no part of the file, or begins one."""
    return (
        header.flags & ARTIFICIAL_FLAG
        or header.type == FORMAT_DESCRIPTION_EVENT
        or header.type == HEARTBEAT_EVENT
        or header.type == HEARTBEAT_EVENT_V2
    )


cdef class PacketStream:
    cdef int64_t prefix
    cdef int64_t packet_left
    cdef int64_t event_left
    cdef bint continues
    cdef bint wants_acknowledgement
    cdef bint may_restart
    cdef uint8_t sequence
    cdef readonly int64_t made
    cdef public int64_t asked_at

    def __init__(self, bint semi_sync):
        self.prefix = 3 if semi_sync else 1
        self.sequence = 1
        self.asked_at = -1

    def unpack(self, const uint8_t[::1] received not None, uint8_t[::1] out not None):
        cdef int64_t offset = 0
        cdef int64_t written = 0
        cdef int stop = PACKET_MORE
        if received.shape[0] > 0 and out.shape[0] > 0:
            with nogil:
                stop = self.take_events(&received[0], received.shape[0], &out[0], out.shape[0], &offset, &written)
        return offset, written, stop

    def special(self, const uint8_t[::1] received not None):
        cdef int64_t size
        if received.shape[0] < PACKET_HEADER:
            return None
        size = <int64_t> little(&received[0], 3)
        if size == PACKET_MAXIMUM:
            bad_packet(b"a small packet of less than", PACKET_MAXIMUM, size)
        if received.shape[0] < PACKET_HEADER + size:
            return None
        self.check_number(received[3])
        return PyBytes_FromStringAndSize(<const char *> &received[0] + PACKET_HEADER, size)

    cdef int check_number(self, uint8_t number) except -1 nogil:
        """Check the packet's sequence number; it may restart after a request for an acknowledgement."""
        if number != self.sequence and not (self.may_restart and number == 1):
            bad_packet(b"the packet with the number", self.sequence, number)
        self.sequence = number + 1
        self.may_restart = False
        return 0

    cdef int take_events(
        self, const uint8_t *data, int64_t size, uint8_t *out, int64_t room, int64_t *consumed, int64_t *written
    ) except -1 nogil:
        cdef int64_t offset = 0
        cdef int64_t count
        cdef int64_t length
        cdef Header header
        while True:
            if self.packet_left == 0 and not self.continues:
                if size - offset < PACKET_HEADER + 1:
                    return PACKET_MORE
                length = <int64_t> little(data + offset, 3)
                if data[offset + PACKET_HEADER] != 0 or length < self.prefix + HEADER_SIZE:
                    return PACKET_SPECIAL
                if size - offset < PACKET_HEADER + self.prefix + HEADER_SIZE:
                    return PACKET_MORE
                if self.prefix > 1 and data[offset + PACKET_HEADER + 1] != SEMI_SYNC_MAGIC:
                    bad_packet(b"the mark of semi-synchronous replication", SEMI_SYNC_MAGIC, data[offset + PACKET_HEADER + 1])
                header = header_of(data + offset + PACKET_HEADER + self.prefix)
                if is_special(&header):
                    return PACKET_SPECIAL
                if header.size < length - self.prefix or (length < PACKET_MAXIMUM and header.size > length - self.prefix):
                    bad_packet(b"an event that fills its packet, of bytes:", length - self.prefix, header.size)
                self.check_number(data[offset + 3])
                self.wants_acknowledgement = self.prefix > 1 and data[offset + PACKET_HEADER + 2] != 0
                self.packet_left = length - self.prefix
                self.event_left = header.size
                self.continues = length == PACKET_MAXIMUM
                offset += PACKET_HEADER + self.prefix
            elif self.packet_left == 0:
                if size - offset < PACKET_HEADER:
                    return PACKET_MORE
                length = <int64_t> little(data + offset, 3)
                if length > self.event_left or (length < PACKET_MAXIMUM and length < self.event_left):
                    bad_packet(b"the rest of an event, of bytes:", self.event_left, length)
                self.check_number(data[offset + 3])
                self.packet_left = length
                self.continues = length == PACKET_MAXIMUM
                offset += PACKET_HEADER
            count = min(self.packet_left, min(size - offset, room - written[0]))
            memcpy(out + written[0], data + offset, count)
            offset += count
            written[0] += count
            self.made += count
            self.packet_left -= count
            self.event_left -= count
            consumed[0] = offset
            if self.packet_left:
                return PACKET_FULL if written[0] == room else PACKET_MORE
            if not self.continues and self.wants_acknowledgement:
                self.asked_at = self.made
                self.may_restart = True


cdef int bad_event(const char *expected, int64_t offset, int64_t wanted, int64_t found) except -1 with gil:
    from binx.errors import DamagedError

    raise DamagedError(f"expected {expected.decode()} {wanted:#x}, found {found:#x}", offset=offset)


def wrap_events(
    const uint8_t[::1] events not None,
    uint8_t[::1] out not None,
    uint8_t sequence,
    bint verify,
    int64_t origin,
):
    cdef int64_t offset = 0
    cdef int64_t written = 0
    if events.shape[0] > 0 and out.shape[0] > 0:
        with nogil:
            take_whole(
                &events[0], events.shape[0], &out[0], out.shape[0], &sequence, verify, origin, &offset, &written
            )
    return offset, written, sequence


cdef int take_whole(
    const uint8_t *data,
    int64_t size,
    uint8_t *out,
    int64_t room,
    uint8_t *sequence,
    bint verify,
    int64_t origin,
    int64_t *consumed,
    int64_t *written,
) except -1 nogil:
    """Wrap the events that are whole and fit: each into one packet."""
    cdef Header header
    cdef int64_t length
    cdef uint8_t *packet
    cdef uint32_t stored
    cdef uint32_t actual
    while size - consumed[0] >= HEADER_SIZE:
        header = header_of(data + consumed[0])
        if header.size < HEADER_SIZE + (CHECKSUM_SIZE if verify else 0):
            bad_event(b"an event's size of at least", origin + consumed[0], HEADER_SIZE, header.size)
        length = <int64_t> header.size + 1
        if length >= PACKET_MAXIMUM or size - consumed[0] < header.size or room - written[0] < PACKET_HEADER + length:
            return 0
        if verify:
            stored = <uint32_t> little(data + consumed[0] + header.size - CHECKSUM_SIZE, CHECKSUM_SIZE)
            actual = crc32(0, data + consumed[0], <int64_t> header.size - CHECKSUM_SIZE)
            if stored != actual:
                bad_event(b"the CRC32 that the event carries,", origin + consumed[0], stored, actual)
        packet = out + written[0]
        packet[0] = length & 0xFF
        packet[1] = (length >> 8) & 0xFF
        packet[2] = (length >> 16) & 0xFF
        packet[3] = sequence[0]
        packet[4] = 0
        memcpy(packet + PACKET_HEADER + 1, data + consumed[0], header.size)
        sequence[0] += 1
        written[0] += PACKET_HEADER + length
        consumed[0] += header.size
    return 0
