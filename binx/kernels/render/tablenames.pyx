# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Texts about tables, asked for once for each number of a table: most transactions are about the same few."""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from cpython.bytes cimport PyBytes_AS_STRING

from binx.kernels.output cimport Output, append, release


cdef class TableTexts:
    """What is asked of Python once for each table, and kept."""

    def __cinit__(self):
        memset(&self.data, 0, sizeof(Output))
        memset(&self.known, 0, sizeof(Output))

    def __dealloc__(self):
        release(&self.data)
        release(&self.known)

    cdef int begin(self, object ask) except -1:
        """Forget all, and ask for texts by number from now on."""
        self.ask = ask
        self.data.size = 0
        self.known.size = 0
        return 0

    cdef int find(self, int32_t number, TableText *text) except -1 nogil:
        """Where in ``data`` a table's text stands."""
        if number >= self.known.size // <int64_t> sizeof(TableText):
            self.learn(number)
        text[0] = (<TableText *> self.known.data)[number]
        return 0

    cdef int learn(self, int32_t last) except -1 with gil:
        """Ask for the texts of the tables up to this one."""
        cdef TableText place
        cdef bytes text
        cdef int32_t number
        for number in range(<int32_t> (self.known.size // <int64_t> sizeof(TableText)), last + 1):
            text = self.ask(number)
            place.start = self.data.size
            place.size = len(text)
            append(&self.data, PyBytes_AS_STRING(text), len(text))
            append(&self.known, &place, sizeof(TableText))
        return 0
