# cython: language_level=3
"""GTIDs as text: ``uuid:number``, ``uuid:tag:number``, ``domain-server-number``."""

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

from binx.kernels.digits cimport lay_hexadecimal, lay_unsigned
from binx.kernels.hashing cimport Slots, slot_bytes, slot_entry
from binx.kernels.output cimport Output, reserve
from binx.kernels.transactions.table cimport GTID_MARIADB, UUID_SIZE, Transaction, has_gtid

cdef enum:
    # UUID, tag and number with their separators; MariaDB's three numbers are shorter.
    GTID_TEXT_MAXIMUM = 128


cdef inline uint8_t *lay_uuid(uint8_t *target, const uint8_t *uuid) noexcept nogil:
    """Write a UUID in its five groups of digits; returns where it ends."""
    cdef int i
    for i in range(0, UUID_SIZE, 2):
        if i == 4 or i == 6 or i == 8 or i == 10:
            target[0] = c"-"
            target += 1
        target = lay_hexadecimal(target, uuid + i, 2)
    return target


cdef inline int render_gtid(const Transaction *record, Slots *sources, Output *out) except -1 nogil:
    """Append a GTID as the server writes it: ``uuid:number``, ``uuid:tag:number``, ``domain-server-number``."""
    cdef const uint8_t *source
    cdef uint8_t *target
    cdef uint32_t[2] numbers
    cdef int64_t size
    if not has_gtid(record):
        return 0
    source = slot_bytes(sources, record.source)
    size = slot_entry(sources, record.source).size
    reserve(out, GTID_TEXT_MAXIMUM)
    target = out.data + out.size
    if record.gtid_kind == GTID_MARIADB:
        # Keys lie one behind the other, whatever their sizes.
        memcpy(numbers, source, sizeof(numbers))
        target = lay_unsigned(target, numbers[0])
        target[0] = b"-"
        target = lay_unsigned(target + 1, numbers[1])
        target[0] = b"-"
    else:
        target = lay_uuid(target, source)
        if size > UUID_SIZE:
            target[0] = b":"
            memcpy(target + 1, source + UUID_SIZE, size - UUID_SIZE)
            target += 1 + size - UUID_SIZE
        target[0] = b":"
    out.size = lay_unsigned(target + 1, record.number) - out.data
    return 0
