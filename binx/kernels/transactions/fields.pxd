# cython: language_level=3
"""One field of a transaction's record, chosen when the question is asked."""

from libc.stdint cimport int64_t

from binx.kernels.transactions.table cimport Transaction

cdef enum Field:
    FIELD_START
    FIELD_END
    FIELD_CLAIMED_LENGTH
    FIELD_UNCOMPRESSED_BYTES
    FIELD_COMMIT_TIMESTAMP
    FIELD_ORIGINAL_COMMIT_TIMESTAMP
    FIELD_BEGIN_TIMESTAMP
    FIELD_LAST_COMMITTED
    FIELD_SEQUENCE_NUMBER
    FIELD_NUMBER
    FIELD_XID
    FIELD_ROWS
    FIELD_EVENTS
    FIELD_STATEMENTS
    FIELD_FIRST_COUNT
    FIELD_COUNTS
    FIELD_SOURCE
    FIELD_SERVER_ID
    FIELD_THREAD_ID
    FIELD_KIND
    FIELD_GTID_KIND
    FIELD_FLAGS
    FIELD_UNDOES_PART
    FIELD_BYTES


cdef inline int64_t field_of(const Transaction *record, int field) noexcept nogil:
    if field == FIELD_START:
        return record.start
    if field == FIELD_END:
        return record.end
    if field == FIELD_CLAIMED_LENGTH:
        return record.claimed_length
    if field == FIELD_UNCOMPRESSED_BYTES:
        return record.uncompressed_bytes
    if field == FIELD_COMMIT_TIMESTAMP:
        return record.commit_timestamp
    if field == FIELD_ORIGINAL_COMMIT_TIMESTAMP:
        return record.original_commit_timestamp
    if field == FIELD_BEGIN_TIMESTAMP:
        return record.begin_timestamp
    if field == FIELD_LAST_COMMITTED:
        return record.last_committed
    if field == FIELD_SEQUENCE_NUMBER:
        return record.sequence_number
    if field == FIELD_NUMBER:
        return <int64_t> record.number
    if field == FIELD_XID:
        return <int64_t> record.xid
    if field == FIELD_ROWS:
        return record.rows
    if field == FIELD_EVENTS:
        return record.events
    if field == FIELD_STATEMENTS:
        return record.statements
    if field == FIELD_FIRST_COUNT:
        return record.first_count
    if field == FIELD_COUNTS:
        return record.counts
    if field == FIELD_SOURCE:
        return record.source
    if field == FIELD_SERVER_ID:
        return record.server_id
    if field == FIELD_THREAD_ID:
        return record.thread_id
    if field == FIELD_KIND:
        return record.kind
    if field == FIELD_GTID_KIND:
        return record.gtid_kind
    if field == FIELD_UNDOES_PART:
        return record.undoes_part
    if field == FIELD_BYTES:
        return record.end - record.start
    return record.flags
