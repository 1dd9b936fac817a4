# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Unwrap events from the packets in which a server sends its binary log.

A packet is a length (3 bytes), a sequence number (1 byte) and a payload of that length: a status (0 for an event),
with semi-synchronous replication 0xef and whether an acknowledgement is requested, and an event. An event that
fills a packet of 16 MiB - 1 continues in the next packet, which has no status.

Sources: MySQL's "Client/Server Protocol" (basic packets), sql/rpl_binlog_sender.cc (``send_packet``) and
plugin/semisync/semisync.h; MariaDB's sql/sql_repl.cc and sql/semisync.h.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

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
    cdef int64_t left
    cdef int64_t event_left
    cdef bint goes_on
    cdef bint asks
    cdef bint asked
    cdef uint8_t sequence
    cdef readonly int64_t made
    cdef public int64_t asked_at

    def __init__(self, bint semi_sync):
        self.prefix = 3 if semi_sync else 1
        self.sequence = 1
        self.asked_at = -1

    def unpack(self, const uint8_t[::1] received not None, uint8_t[::1] out not None):
        cdef int64_t at = 0
        cdef int64_t made = 0
        cdef int stop = PACKET_MORE
        if received.shape[0] > 0 and out.shape[0] > 0:
            with nogil:
                stop = self.take_events(&received[0], received.shape[0], &out[0], out.shape[0], &at, &made)
        return at, made, stop

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
        if number != self.sequence and not (self.asked and number == 1):
            bad_packet(b"the packet with the number", self.sequence, number)
        self.sequence = number + 1
        self.asked = False
        return 0

    cdef int take_events(
        self, const uint8_t *data, int64_t size, uint8_t *out, int64_t room, int64_t *used, int64_t *made
    ) except -1 nogil:
        cdef int64_t at = 0
        cdef int64_t count
        cdef int64_t length
        cdef Header header
        while True:
            if self.left == 0 and not self.goes_on:
                if size - at < PACKET_HEADER + 1:
                    return PACKET_MORE
                length = <int64_t> little(data + at, 3)
                if data[at + PACKET_HEADER] != 0 or length < self.prefix + HEADER_SIZE:
                    return PACKET_SPECIAL
                if size - at < PACKET_HEADER + self.prefix + HEADER_SIZE:
                    return PACKET_MORE
                if self.prefix > 1 and data[at + PACKET_HEADER + 1] != SEMI_SYNC_MAGIC:
                    bad_packet(b"the mark of semi-synchronous replication", SEMI_SYNC_MAGIC, data[at + PACKET_HEADER + 1])
                header = header_of(data + at + PACKET_HEADER + self.prefix)
                if is_special(&header):
                    return PACKET_SPECIAL
                if header.size < length - self.prefix or (length < PACKET_MAXIMUM and header.size > length - self.prefix):
                    bad_packet(b"an event that fills its packet, of bytes:", length - self.prefix, header.size)
                self.check_number(data[at + 3])
                self.asks = self.prefix > 1 and data[at + PACKET_HEADER + 2] != 0
                self.left = length - self.prefix
                self.event_left = header.size
                self.goes_on = length == PACKET_MAXIMUM
                at += PACKET_HEADER + self.prefix
            elif self.left == 0:
                if size - at < PACKET_HEADER:
                    return PACKET_MORE
                length = <int64_t> little(data + at, 3)
                if length > self.event_left or (length < PACKET_MAXIMUM and length < self.event_left):
                    bad_packet(b"the rest of an event, of bytes:", self.event_left, length)
                self.check_number(data[at + 3])
                self.left = length
                self.goes_on = length == PACKET_MAXIMUM
                at += PACKET_HEADER
            count = min(self.left, min(size - at, room - made[0]))
            memcpy(out + made[0], data + at, count)
            at += count
            made[0] += count
            self.made += count
            self.left -= count
            self.event_left -= count
            used[0] = at
            if self.left:
                return PACKET_FULL if made[0] == room else PACKET_MORE
            if not self.goes_on and self.asks:
                self.asked_at = self.made
                self.asked = True
