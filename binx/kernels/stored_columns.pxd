# cython: language_level=3
"""What each column of an index file's block holds of a transaction's record, and of its counts per table.

Some columns hold what differs from the rule: a transaction begins where the one before ended, its length is
what its GTID event claims, its times are close to each other.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from binx.kernels.transactions cimport *

cdef enum Column:
    COLUMN_GAP
    COLUMN_BYTES
    COLUMN_CLAIM
    COLUMN_UNCOMPRESSED_BYTES
    COLUMN_COMMIT
    COLUMN_ORIGINAL
    COLUMN_BEGIN
    COLUMN_SEQUENCE_NUMBER
    COLUMN_DEPENDENCY
    COLUMN_NUMBER
    COLUMN_XID
    COLUMN_ROWS
    COLUMN_EVENTS
    COLUMN_STATEMENTS
    COLUMN_COUNTS
    COLUMN_SOURCE
    COLUMN_SERVER_ID
    COLUMN_THREAD_ID
    COLUMN_KIND
    COLUMN_GTID_KIND
    COLUMN_FLAGS
    COLUMN_UNDOES_PART
    COLUMNS

cdef enum CountColumn:
    COUNT_TABLE
    COUNT_INSERTS
    COUNT_UPDATES
    COUNT_DELETES
    COUNT_BYTES
    COUNT_COLUMNS

cdef enum:
    MICROSECONDS = 1000000
    KINDS = KIND_INCIDENT + 1
    GTID_KINDS = GTID_ANONYMOUS + 1
    # What a block may hold: a window of 16 MiB has fewer transactions of the smallest size.
    RECORDS_LIMIT = 1048576
    COUNTS_LIMIT = 4194304


cdef inline void put_values(const Transaction *record, int64_t before, int64_t *values, int64_t stride) noexcept nogil:
    """Write what each column holds of a record, a stride apart; ``before`` is where the transaction before it ended."""
    values[COLUMN_GAP * stride] = record.start - before
    values[COLUMN_BYTES * stride] = record.end - record.start
    values[COLUMN_CLAIM * stride] = 0 if record.flags & BY_LENGTH else record.claimed_length
    values[COLUMN_UNCOMPRESSED_BYTES * stride] = record.uncompressed_bytes
    values[COLUMN_COMMIT * stride] = record.commit_timestamp
    values[COLUMN_ORIGINAL * stride] = <int64_t> (<uint64_t> record.original_commit_timestamp - <uint64_t> record.commit_timestamp)
    values[COLUMN_BEGIN * stride] = <int64_t> (<uint64_t> record.begin_timestamp - <uint64_t> (record.commit_timestamp // MICROSECONDS))
    values[COLUMN_SEQUENCE_NUMBER * stride] = record.sequence_number
    values[COLUMN_DEPENDENCY * stride] = <int64_t> (<uint64_t> record.last_committed - <uint64_t> record.sequence_number)
    values[COLUMN_NUMBER * stride] = <int64_t> record.number
    values[COLUMN_XID * stride] = <int64_t> record.xid
    values[COLUMN_ROWS * stride] = record.rows
    values[COLUMN_EVENTS * stride] = record.events
    values[COLUMN_STATEMENTS * stride] = record.statements
    values[COLUMN_COUNTS * stride] = record.counts
    values[COLUMN_SOURCE * stride] = record.source
    values[COLUMN_SERVER_ID * stride] = record.server_id
    values[COLUMN_THREAD_ID * stride] = record.thread_id
    values[COLUMN_KIND * stride] = record.kind
    values[COLUMN_GTID_KIND * stride] = record.gtid_kind
    values[COLUMN_FLAGS * stride] = record.flags
    values[COLUMN_UNDOES_PART * stride] = record.undoes_part


cdef inline int set_value(Transaction *record, int column, int64_t value) noexcept nogil:
    """Give a record what a column holds of it; columns come in order. False: no record has that."""
    if column == COLUMN_GAP:
        record.start = value
    elif column == COLUMN_BYTES:
        record.end = value
    elif column == COLUMN_CLAIM:
        record.claimed_length = value
    elif column == COLUMN_UNCOMPRESSED_BYTES:
        record.uncompressed_bytes = value
    elif column == COLUMN_COMMIT:
        record.commit_timestamp = value
    elif column == COLUMN_ORIGINAL:
        record.original_commit_timestamp = <int64_t> (<uint64_t> record.commit_timestamp + <uint64_t> value)
    elif column == COLUMN_BEGIN:
        record.begin_timestamp = <int64_t> (<uint64_t> (record.commit_timestamp // MICROSECONDS) + <uint64_t> value)
    elif column == COLUMN_SEQUENCE_NUMBER:
        record.sequence_number = value
    elif column == COLUMN_DEPENDENCY:
        record.last_committed = <int64_t> (<uint64_t> record.sequence_number + <uint64_t> value)
    elif column == COLUMN_NUMBER:
        record.number = <uint64_t> value
    elif column == COLUMN_XID:
        record.xid = <uint64_t> value
    elif column == COLUMN_ROWS:
        record.rows = value
    elif column == COLUMN_EVENTS:
        record.events = value
    elif column == COLUMN_STATEMENTS:
        record.statements = value
    elif column == COLUMN_COUNTS:
        record.counts = <int32_t> value
        return 0 <= value <= COUNTS_LIMIT
    elif column == COLUMN_SOURCE:
        record.source = <int32_t> value
        return record.source == value
    elif column == COLUMN_SERVER_ID:
        record.server_id = <uint32_t> value
        return record.server_id == <uint64_t> value
    elif column == COLUMN_THREAD_ID:
        record.thread_id = <uint32_t> value
        return record.thread_id == <uint64_t> value
    elif column == COLUMN_KIND:
        record.kind = <uint8_t> value
        return 0 <= value < KINDS
    elif column == COLUMN_GTID_KIND:
        record.gtid_kind = <uint8_t> value
        return 0 <= value < GTID_KINDS
    elif column == COLUMN_FLAGS:
        record.flags = <uint8_t> value
        return record.flags == <uint64_t> value
    else:
        record.undoes_part = <uint8_t> value
        return record.undoes_part == <uint64_t> value
    return True


cdef inline int64_t *count_field(TableCount *count, int column) noexcept nogil:
    """The field of a count that a column other than that of the tables holds."""
    if column == COUNT_INSERTS:
        return &count.inserts
    if column == COUNT_UPDATES:
        return &count.updates
    if column == COUNT_DELETES:
        return &count.deletes
    return &count.bytes
