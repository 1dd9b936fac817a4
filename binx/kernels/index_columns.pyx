# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The columns of the transaction index, made of the records of one table of transactions after another."""

from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t

from binx.kernels.index_nulls cimport known_of, validity
from binx.kernels.memory cimport hand_over
from binx.kernels.output cimport Output, append, release, reserve, with_slack
from binx.kernels.transactions cimport *

from binx.kernels.index_nulls import WITH_NULLS

cdef enum:
    MICROSECONDS = 1000000

cdef enum:
    # The columns, the wide ones first.
    AT_COMMIT_VERSION
    AT_XID
    AT_SERVER_ID
    AT_SEQNO
    AT_START
    AT_END
    AT_BYTES
    AT_UNCOMPRESSED_BYTES
    AT_COMMIT_TIMESTAMP
    AT_ORIGINAL_COMMIT_TIMESTAMP
    AT_BEGIN_TIMESTAMP
    AT_LAST_COMMITTED
    AT_SEQUENCE_NUMBER
    AT_THREAD_ID
    AT_EVENTS
    AT_ROWS
    AT_STATEMENTS
    AT_EPOCH
    AT_TABLES
    AT_KIND
    AT_HOW
    AT_COMMIT_TIME_SOURCE
    COLUMNS
    # The first columns of four bytes and of one.
    FIRST_32 = AT_EPOCH
    FIRST_8 = AT_KIND

NAMES = (
    "commit_version", "xid", "server_id", "seqno", "start", "end", "bytes", "uncompressed_bytes", "commit_timestamp",
    "original_commit_timestamp", "begin_timestamp", "last_committed", "sequence_number", "thread_id", "events", "rows",
    "statements", "epoch", "tables", "kind", "how", "commit_time_source",
)


cdef inline int width_of(int column) noexcept nogil:
    """Bytes of a column's value."""
    return 8 if column < FIRST_32 else 4 if column < FIRST_8 else 1


cdef class IndexColumns:
    """The columns of transactions that are added, some at a time."""

    cdef Output columns[COLUMNS]
    # known: what each transaction has, a byte each; the others: of their ids, and of the lists of `tables`.
    cdef Output known
    cdef Output id_offsets
    cdef Output id_text
    cdef Output numbers
    cdef Output inserts
    cdef Output updates
    cdef Output deletes
    cdef int64_t rows
    # What was handed over last: rows, elements of all lists, bytes of ids.
    cdef int64_t rows_before
    cdef int64_t counts_before
    cdef int64_t text_before

    def __dealloc__(self):
        cdef int column
        for column in range(COLUMNS):
            release(&self.columns[column])
        release(&self.known)
        release(&self.id_offsets)
        release(&self.id_text)
        release(&self.numbers)
        release(&self.inserts)
        release(&self.updates)
        release(&self.deletes)

    def __len__(self):
        return self.rows

    def add(
        self,
        TransactionTable table not None,
        mask,
        ids,
        int64_t base,
        int64_t first_seqno,
        int32_t epoch,
    ):
        """Add the marked transactions of a table, or all where ``mask`` is None."""
        cdef bytes offsets
        cdef bytes text
        cdef const int32_t *ends
        cdef const char *texts
        cdef const uint8_t *marks = NULL
        cdef int64_t count = table.length()
        cdef int column
        offsets, text = ids
        if len(offsets) != 4 * (count + 1):
            raise ValueError("the ids are not of this table")
        if mask is not None:
            table.check(mask)
            marks = <const uint8_t *> PyByteArray_AS_STRING(mask)
        self.make_room(count)
        ends, texts = <const int32_t *> PyBytes_AS_STRING(offsets), PyBytes_AS_STRING(text)
        if ends[count] != len(text):
            raise ValueError("the ids are not of this table")
        with nogil:
            self.fill(table, marks, ends, texts, base, first_seqno, epoch)

    cdef int make_room(self, int64_t more) except -1 nogil:
        """Make room for more rows; at first for as many as there were before, so that nothing is copied as it grows."""
        cdef int64_t rows = more if self.rows else max(more, with_slack(self.rows_before))
        cdef int column
        if self.rows == 0:
            reserve(&self.id_text, with_slack(self.text_before))
            reserve(&self.numbers, with_slack(self.counts_before * 4))
            reserve(&self.inserts, with_slack(self.counts_before * 8))
            reserve(&self.updates, with_slack(self.counts_before * 8))
            reserve(&self.deletes, with_slack(self.counts_before * 8))
        for column in range(COLUMNS):
            # There is one offset more than lists.
            reserve(&self.columns[column], (rows + 1) * width_of(column))
        reserve(&self.known, rows)
        return reserve(&self.id_offsets, (rows + 1) * 4)

    cdef int64_t *longs(self, int column) noexcept nogil:
        return <int64_t *> self.columns[column].data

    cdef int fill(
        self,
        TransactionTable table,
        const uint8_t *marks,
        const int32_t *ids,
        const char *text,
        int64_t base,
        int64_t first_seqno,
        int32_t epoch,
    ) except -1 nogil:
        cdef int64_t *commit_version = self.longs(AT_COMMIT_VERSION)
        cdef int64_t *xid = self.longs(AT_XID)
        cdef int64_t *server_id = self.longs(AT_SERVER_ID)
        cdef int64_t *seqno = self.longs(AT_SEQNO)
        cdef int64_t *start = self.longs(AT_START)
        cdef int64_t *end = self.longs(AT_END)
        cdef int64_t *size = self.longs(AT_BYTES)
        cdef int64_t *uncompressed = self.longs(AT_UNCOMPRESSED_BYTES)
        cdef int64_t *commit = self.longs(AT_COMMIT_TIMESTAMP)
        cdef int64_t *original = self.longs(AT_ORIGINAL_COMMIT_TIMESTAMP)
        cdef int64_t *begin = self.longs(AT_BEGIN_TIMESTAMP)
        cdef int64_t *last_committed = self.longs(AT_LAST_COMMITTED)
        cdef int64_t *sequence_number = self.longs(AT_SEQUENCE_NUMBER)
        cdef int64_t *thread_id = self.longs(AT_THREAD_ID)
        cdef int64_t *events = self.longs(AT_EVENTS)
        cdef int64_t *rows = self.longs(AT_ROWS)
        cdef int64_t *statements = self.longs(AT_STATEMENTS)
        cdef int32_t *epochs = <int32_t *> self.columns[AT_EPOCH].data
        cdef int32_t *lists = <int32_t *> self.columns[AT_TABLES].data
        cdef int8_t *kind = <int8_t *> self.columns[AT_KIND].data
        cdef int8_t *how = <int8_t *> self.columns[AT_HOW].data
        cdef int8_t *time_source = <int8_t *> self.columns[AT_COMMIT_TIME_SOURCE].data
        cdef int32_t *ends = <int32_t *> self.id_offsets.data
        cdef const Transaction *record
        cdef int64_t row = self.rows
        cdef int64_t i
        cdef int column
        for i in range(table.length()):
            if marks != NULL and not marks[i]:
                continue
            record = table.record(i)
            commit_version[row] = base + record.start
            xid[row] = <int64_t> record.xid
            server_id[row] = record.server_id
            seqno[row] = first_seqno + i
            start[row] = record.start
            end[row] = record.end
            size[row] = record.end - record.start
            uncompressed[row] = record.uncompressed_bytes
            commit[row] = record.commit_timestamp
            original[row] = record.original_commit_timestamp
            begin[row] = record.begin_timestamp * MICROSECONDS
            last_committed[row] = record.last_committed
            sequence_number[row] = record.sequence_number
            thread_id[row] = record.thread_id
            events[row] = record.events
            rows[row] = record.rows
            statements[row] = record.statements
            kind[row] = <int8_t> record.kind
            how[row] = record.flags & BY_LENGTH != 0
            time_source[row] = record.flags & COMMIT_TIME_FROM_GTID != 0
            epochs[row] = epoch
            lists[row] = <int32_t> (self.numbers.size // 4)
            self.known.data[row] = <uint8_t> known_of(record)
            if marks == NULL:
                ends[row] = <int32_t> (self.id_text.size + ids[i])
            else:
                ends[row] = <int32_t> self.id_text.size
                append(&self.id_text, text + ids[i], ids[i + 1] - ids[i])
            self.add_counts(table, record)
            row += 1
        if marks == NULL:
            append(&self.id_text, text, ids[table.length()])
        lists[row] = <int32_t> (self.numbers.size // 4)
        ends[row] = <int32_t> self.id_text.size
        self.rows = row
        for column in range(COLUMNS):
            self.columns[column].size = row * width_of(column)
        self.known.size = row
        self.id_offsets.size = row * 4
        return 0

    cdef int add_counts(self, TransactionTable table, const Transaction *record) except -1 nogil:
        cdef const TableCount *counts = <const TableCount *> table.counts.data + record.first_count
        cdef int32_t i
        if record.counts and (
            record.first_count < 0 or (record.first_count + record.counts) * <int64_t> sizeof(TableCount) > table.counts.size
        ):
            no_such_counts()
        if record.counts <= 0:
            return 0
        reserve(&self.numbers, record.counts * 4)
        reserve(&self.inserts, record.counts * 8)
        reserve(&self.updates, record.counts * 8)
        reserve(&self.deletes, record.counts * 8)
        for i in range(record.counts):
            (<int32_t *> (self.numbers.data + self.numbers.size))[i] = counts[i].table
            (<int64_t *> (self.inserts.data + self.inserts.size))[i] = counts[i].inserts
            (<int64_t *> (self.updates.data + self.updates.size))[i] = counts[i].updates
            (<int64_t *> (self.deletes.data + self.deletes.size))[i] = counts[i].deletes
        self.numbers.size += record.counts * 4
        self.inserts.size += record.counts * 8
        self.updates.size += record.counts * 8
        self.deletes.size += record.counts * 8
        return 0

    def tables(self, int64_t known):
        """The numbers of the tables in all lists, in the order of their first use; ``known`` is above all of them."""
        cdef int64_t count = self.numbers.size // 4
        cdef const int32_t *tables = <const int32_t *> self.numbers.data
        cdef bytearray marks = bytearray(known)
        cdef uint8_t *seen = <uint8_t *> PyByteArray_AS_STRING(marks)
        cdef list used = []
        cdef int64_t i
        with nogil:
            for i in range(count):
                if not 0 <= tables[i] < known:
                    no_such_table(tables[i])
                if not seen[tables[i]]:
                    seen[tables[i]] = 1
                    note_table(used, tables[i])
        return used

    def finish(self, list databases, list names):
        """Hand the columns over, and start anew.

        Args:
            databases: by table number, the number that its database goes by.
            names: by table number, the number that its name goes by.

        Returns the columns by name, each as its validity bits (None where nothing is null), the number of nulls, and
        the values; the ids' offsets and text; of all lists' elements the numbers of databases and of names, inserts,
        updates and deletes.
        """
        cdef int64_t rows = self.rows
        cdef int64_t counts = self.numbers.size // 4
        cdef int column
        cdef int64_t row
        cdef uint8_t always = 0xFF
        cdef uint8_t ever = 0
        nulls = {}
        made = {}
        with nogil:
            for row in range(rows):
                always &= self.known.data[row]
                ever |= self.known.data[row]
        for name, which in WITH_NULLS.items():
            nulls[name] = validity(self.known.data, rows, which, always, ever)
        for column in range(COLUMNS):
            # There is one offset more than lists.
            values = hand_over(&self.columns[column], (rows + (column == AT_TABLES)) * width_of(column))
            made[NAMES[column]] = (*nulls.get(NAMES[column], (None, 0)), values)
        made["gtid"] = (*nulls["gtid"], b"")
        self.rows_before, self.counts_before, self.text_before = rows, counts, self.id_text.size
        ids = hand_over(&self.id_offsets, (rows + 1) * 4), hand_over(&self.id_text, self.id_text.size)
        elements = (
            self.renamed(databases),
            self.renamed(names),
            hand_over(&self.inserts, counts * 8),
            hand_over(&self.updates, counts * 8),
            hand_over(&self.deletes, counts * 8),
        )
        self.rows = self.known.size = self.numbers.size = 0
        return made, ids, elements

    cdef bytes renamed(self, list numbers):
        """The table numbers of all lists' elements, each as another number."""
        cdef int64_t count = self.numbers.size // 4
        cdef int64_t known = len(numbers)
        cdef bytes by_table = PyBytes_FromStringAndSize(NULL, 4 * known)
        cdef bytes made = PyBytes_FromStringAndSize(NULL, 4 * count)
        cdef int32_t *wanted = <int32_t *> PyBytes_AS_STRING(by_table)
        cdef int32_t *out = <int32_t *> PyBytes_AS_STRING(made)
        cdef const int32_t *tables = <const int32_t *> self.numbers.data
        cdef int64_t i
        for i in range(known):
            wanted[i] = numbers[i]
        with nogil:
            for i in range(count):
                if not 0 <= tables[i] < known:
                    no_such_table(tables[i])
                out[i] = wanted[tables[i]]
        return made


cdef int no_such_table(int32_t table) except -1 with gil:
    raise IndexError(table)


cdef int note_table(list used, int32_t table) except -1 with gil:
    used.append(table)
    return 0


cdef int no_such_counts() except -1 with gil:
    raise IndexError("a transaction's counts are not in its table")


def extents(TransactionTable table not None, bytearray mask not None):
    """Starts of the first and the last marked transaction, least and greatest commit time; None without any."""
    cdef const uint8_t *marks = <const uint8_t *> PyByteArray_AS_STRING(mask)
    cdef const Transaction *record
    cdef int64_t first = -1
    cdef int64_t last = -1
    cdef int64_t least = 0
    cdef int64_t most = 0
    cdef int64_t i
    table.check(mask)
    with nogil:
        for i in range(table.length()):
            if marks[i]:
                record = table.record(i)
                least = record.commit_timestamp if first < 0 else min(least, record.commit_timestamp)
                most = record.commit_timestamp if first < 0 else max(most, record.commit_timestamp)
                first = record.start if first < 0 else first
                last = record.start
    return None if first < 0 else (first, last, least, most)
