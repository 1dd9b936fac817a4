# cython: language_level=3
"""Access to one field of a transaction record, chosen at run time."""

from libc.stdint cimport INT32_MAX, UINT32_MAX, int32_t, int64_t, uint8_t, uint32_t

from binx.kernels.transactions.table cimport Transaction

cdef enum:
    # A field is its offset in the record, shifted by these bits, and how it is stored.
    STORAGE_BITS = 3
    STORAGE_INT64 = 0
    STORAGE_INT32 = 1
    STORAGE_UINT32 = 2
    STORAGE_BYTE = 3
    # No field of its own: what lies between start and end.
    STORAGE_BYTES_BETWEEN = 4


cdef inline int64_t field_of(const Transaction *record, int field) noexcept nogil:
    cdef const uint8_t *address = (<const uint8_t *> record) + (field >> STORAGE_BITS)
    cdef int storage = field & ((1 << STORAGE_BITS) - 1)
    if storage == STORAGE_INT64:
        return (<const int64_t *> address)[0]
    if storage == STORAGE_INT32:
        return (<const int32_t *> address)[0]
    if storage == STORAGE_UINT32:
        return (<const uint32_t *> address)[0]
    if storage == STORAGE_BYTE:
        return address[0]
    return record.end - record.start


cdef inline bint set_field(Transaction *record, int field, int64_t value) noexcept nogil:
    """Set a field. False: it cannot hold the value."""
    cdef uint8_t *address = (<uint8_t *> record) + (field >> STORAGE_BITS)
    cdef int storage = field & ((1 << STORAGE_BITS) - 1)
    if storage == STORAGE_INT64:
        (<int64_t *> address)[0] = value
        return True
    if storage == STORAGE_INT32:
        (<int32_t *> address)[0] = <int32_t> value
        return 0 <= value <= INT32_MAX
    if storage == STORAGE_UINT32:
        (<uint32_t *> address)[0] = <uint32_t> value
        return 0 <= value <= UINT32_MAX
    address[0] = <uint8_t> value
    return 0 <= value <= 255
