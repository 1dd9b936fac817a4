# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""What the transaction index does not know of a transaction: values that are null."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.string cimport memset

WITH_NULLS = {
    "gtid": KNOWN_GTID,
    "xid": KNOWN_XID,
    "uncompressed_bytes": KNOWN_UNCOMPRESSED,
    "original_commit_timestamp": KNOWN_ORIGINAL,
    "last_committed": KNOWN_CLOCK,
    "sequence_number": KNOWN_CLOCK,
    "thread_id": KNOWN_THREAD,
    "events": KNOWN_EVENTS,
    "statements": KNOWN_EVENTS,
    "rows": KNOWN_ROWS,
}


cdef tuple validity(const uint8_t *known, int64_t count, int which, uint8_t always, uint8_t ever):
    """A column's validity bits, None where all are set, and how many are not.

    ``always`` has the bits that all records have, ``ever`` those that any has: most columns are known of all or of none.
    """
    cdef bytes made
    cdef uint8_t *bits
    cdef int64_t nulls = 0
    cdef int64_t i
    cdef uint8_t bit
    if always >> which & 1:
        return None, 0
    made = PyBytes_FromStringAndSize(NULL, (count + 7) // 8)
    bits = <uint8_t *> PyBytes_AS_STRING(made)
    memset(bits, 0, (count + 7) // 8)
    if not ever >> which & 1:
        return made, count
    with nogil:
        for i in range(count):
            bit = known[i] >> which & 1
            bits[i >> 3] |= bit << (i & 7)
            nulls += 1 - bit
    return made, nulls
