# cython: language_level=3
"""Times of transactions as text, which mostly repeat the last second."""

from libc.stdint cimport int64_t, uint8_t

from binx.kernels.calendar cimport DAY_SECONDS
from binx.kernels.digits cimport ERA_DAYS, lay_out_clock, lay_out_date

cdef enum:
    SUFFIX_MAXIMUM = 16
    SECONDS_SIZE = 19
    # The time zone's offset is looked up once per minute: no zone has changed it within a minute since 1972.
    ZONE_SECONDS = 60
    # The last µs of the year 9999; later times are written as numbers.
    TIME_LAST = 253402300799999999

cdef struct Clock:
    # The last second written, and its text: transactions are in order of time, so most repeat it.
    int64_t second
    uint8_t text[SECONDS_SIZE]
    # The time for which the offset below is valid, in units of ZONE_SECONDS.
    int64_t slot
    int64_t offset
    uint8_t suffix[SUFFIX_MAXIMUM]
    int suffix_size


cdef inline void lay_out_second(int64_t second, uint8_t *text) noexcept nogil:
    """Write a second since 1970 as ``YYYY-MM-DDTHH:MM:SS``; the years 1 to 9999."""
    cdef int64_t day = (second + <int64_t> ERA_DAYS * DAY_SECONDS) // DAY_SECONDS - ERA_DAYS
    lay_out_date(day, text)
    text[10] = c"T"
    lay_out_clock(<int> (second - day * DAY_SECONDS), text + 11)


cdef inline Clock utc_clock() noexcept nogil:
    cdef Clock clock
    clock.second = clock.slot = -1
    clock.offset = 0
    clock.suffix[0] = c"Z"
    clock.suffix_size = 1
    return clock
