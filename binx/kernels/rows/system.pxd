# cython: language_level=3
"""What every table's rows have besides its own columns: the change, its transaction and its event."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

from binx.kernels.output cimport Output
from binx.kernels.rows.counting cimport RowsEvent

cdef enum:
    CHANGE_TYPE = 0
    COMMIT_VERSION = 1
    COMMIT_TIMESTAMP = 2
    ROW_NUMBER = 3
    TRANSACTION = 4
    EVENT_TIMESTAMP = 5
    POSITION = 6
    STATEMENT = 7
    EVENT_FLAGS = 8
    SYSTEM_COLUMNS = 9

    # The types of a change.
    CHANGE_INSERT = 0
    CHANGE_UPDATE_PREIMAGE = 1
    CHANGE_DELETE = 3

cdef struct Origin:
    # What all rows of an event have in common. ordinal: their transaction's number.
    int64_t ordinal
    const uint8_t *identifier
    int64_t identifier_size
    int64_t version
    int64_t committed
    int64_t logged
    int64_t position
    int32_t statement


cdef inline int system_width(int column) noexcept nogil:
    """Bytes of a value."""
    if column == CHANGE_TYPE or column == EVENT_FLAGS:
        return 1
    return 4 if column == TRANSACTION or column == STATEMENT else 8


cdef inline void fill_system_columns(
    Output *system,
    int64_t first,
    int64_t count,
    const RowsEvent *event,
    const Origin *origin,
    int64_t number,
    int32_t transaction,
) noexcept nogil:
    """Fill the columns of some rows from ``first`` on; an update's two images share a number."""
    cdef uint8_t *changes = system[CHANGE_TYPE].data + first
    cdef int64_t *versions = (<int64_t *> system[COMMIT_VERSION].data) + first
    cdef int64_t *times = (<int64_t *> system[COMMIT_TIMESTAMP].data) + first
    cdef int64_t *numbers = (<int64_t *> system[ROW_NUMBER].data) + first
    cdef int32_t *transactions = (<int32_t *> system[TRANSACTION].data) + first
    cdef int64_t *logged = (<int64_t *> system[EVENT_TIMESTAMP].data) + first
    cdef int64_t *positions = (<int64_t *> system[POSITION].data) + first
    cdef int32_t *statements = (<int32_t *> system[STATEMENT].data) + first
    cdef int64_t i
    if event.operation == 1:
        for i in range(count):
            changes[i] = <uint8_t> (CHANGE_UPDATE_PREIMAGE + (i & 1))
            numbers[i] = number + (i >> 1)
    else:
        memset(changes, CHANGE_DELETE if event.operation == 2 else CHANGE_INSERT, count)
        for i in range(count):
            numbers[i] = number + i
    memset(system[EVENT_FLAGS].data + first, event.flags & 0xFF, count)
    for i in range(count):
        versions[i] = origin.version
        times[i] = origin.committed
        transactions[i] = transaction
        logged[i] = origin.logged
        positions[i] = origin.position
        statements[i] = origin.statement
