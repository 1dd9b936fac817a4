# cython: language_level=3
"""What the transaction index does not know of a transaction: values that are null."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from binx.kernels.transactions cimport *

cdef enum:
    # What a record may be without; a column of such values has these as nulls.
    KNOWN_GTID = 0
    KNOWN_XID = 1
    KNOWN_UNCOMPRESSED = 2
    KNOWN_ORIGINAL = 3
    KNOWN_CLOCK = 4
    KNOWN_THREAD = 5
    KNOWN_EVENTS = 6
    KNOWN_ROWS = 7


cdef inline uint32_t known_of(const Transaction *record) noexcept nogil:
    """What a record has, a bit each."""
    cdef uint32_t known = 0
    known |= <uint32_t> (record.gtid_kind == GTID_MYSQL or record.gtid_kind == GTID_MARIADB) << KNOWN_GTID
    known |= <uint32_t> (record.flags & HAS_XID != 0) << KNOWN_XID
    known |= <uint32_t> (record.flags & COMPRESSED != 0) << KNOWN_UNCOMPRESSED
    known |= <uint32_t> (record.original_commit_timestamp != 0) << KNOWN_ORIGINAL
    known |= <uint32_t> (record.flags & HAS_CLOCK != 0) << KNOWN_CLOCK
    known |= <uint32_t> (record.flags & HAS_THREAD != 0) << KNOWN_THREAD
    # A compressed transaction's own events are seen only by a scan that looks inside.
    known |= <uint32_t> (
        record.events > 0 and (record.flags & HAS_COUNTS != 0 or record.flags & COMPRESSED == 0)
    ) << KNOWN_EVENTS
    known |= <uint32_t> (record.flags & HAS_COUNTS != 0) << KNOWN_ROWS
    return known


cdef tuple validity(const uint8_t *known, int64_t count, int which, uint8_t always, uint8_t ever)
