# cython: language_level=3
"""Running sums over the records of transactions."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from binx.kernels.hashing cimport Numbers
from binx.kernels.output cimport Output
from binx.kernels.transactions.table cimport TableCount, Transaction

cdef enum:
    KINDS = 16
    SIZE_CLASSES = 65
    BUCKETS_MAXIMUM = 240
    GROUPS_MAXIMUM = 65536

cdef struct Sums:
    int64_t transactions
    int64_t bytes
    int64_t rows

cdef struct Group:
    uint64_t key
    Sums sums

cdef struct TableSums:
    int64_t transactions
    int64_t inserts
    int64_t updates
    int64_t deletes
    int64_t bytes

cdef struct Groups:
    Numbers places
    Output groups

cdef struct Steps:
    int64_t count
    int64_t largest


cdef class Tally:
    cdef Sums total
    cdef Sums kind_sums[KINDS]
    cdef Sums size_sums[SIZE_CLASSES]
    cdef Sums buckets[BUCKETS_MAXIMUM]
    cdef int64_t bucket_seconds
    cdef int64_t first_bucket
    cdef int64_t bucket_count
    cdef Groups server_groups
    cdef Groups thread_groups
    cdef readonly bint servers_forgotten
    cdef readonly bint threads_forgotten
    cdef Output table_sums
    cdef Sums compressed_sums
    cdef int64_t uncompressed
    cdef Sums by_length_sums
    cdef Sums text_sums
    cdef readonly int64_t statements
    cdef int64_t earliest
    cdef int64_t latest
    cdef int64_t last_clock
    cdef Steps steps
    cdef int64_t last_event_second
    cdef Steps event_steps
    cdef int add_record(self, const Transaction *record) except -1 nogil
    cdef int add_counts(self, const TableCount *count, int64_t length) except -1 nogil
    cdef int add_moment(self, int64_t moment, const Transaction *record) except -1 nogil
    cdef int widen(self) except -1 nogil
    cdef int forget(self, Groups *groups) except -1 with gil
