# cython: language_level=3
"""Numbers and moments as text, for the kernels that write lines: into room that was reserved before."""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from binx.kernels.output cimport Output

cdef enum:
    NUMBER_MAXIMUM = 20
    SUFFIX_MAXIMUM = 16
    SECONDS_SIZE = 19
    MICROSECONDS = 1000000
    DAY_SECONDS = 86400
    # The zone is asked anew for each minute: no zone has changed its offset within one since 1972.
    ZONE_SECONDS = 60
    ERA_DAYS = 719468
    # The last µs of the year 9999, behind which calendars end.
    MOMENT_LAST = 253402300799999999

cdef struct Clock:
    # The text of the last second that was written: transactions come in the order of time, and most ask again.
    int64_t second
    uint8_t text[SECONDS_SIZE]
    # Where in time the offset below holds, in units of ZONE_SECONDS.
    int64_t slot
    int64_t offset
    uint8_t suffix[SUFFIX_MAXIMUM]
    int suffix_size


cdef inline void put(Output *out, const void *data, int64_t size) noexcept nogil:
    """Add bytes for which there is room."""
    memcpy(out.data + out.size, data, size)
    out.size += size


cdef inline void put_byte(Output *out, uint8_t byte) noexcept nogil:
    out.data[out.size] = byte
    out.size += 1


cdef inline void put_unsigned(Output *out, uint64_t value) noexcept nogil:
    cdef uint8_t digits[NUMBER_MAXIMUM]
    cdef int first = NUMBER_MAXIMUM
    while True:
        first -= 1
        digits[first] = <uint8_t> (c"0" + value % 10)
        value //= 10
        if value == 0:
            break
    put(out, digits + first, NUMBER_MAXIMUM - first)


cdef inline void put_signed(Output *out, int64_t value) noexcept nogil:
    if value < 0:
        put_byte(out, c"-")
        put_unsigned(out, 0 - <uint64_t> value)
    else:
        put_unsigned(out, <uint64_t> value)


cdef inline void put_pair(uint8_t *text, int value) noexcept nogil:
    text[0] = <uint8_t> (c"0" + value // 10)
    text[1] = <uint8_t> (c"0" + value % 10)


cdef inline void lay_out_second(int64_t second, uint8_t *text) noexcept nogil:
    """``YYYY-MM-DDTHH:MM:SS`` of seconds since 1970; the years 1 to 9999 (H. Hinnant, civil_from_days)."""
    cdef int64_t day = (second + <int64_t> ERA_DAYS * DAY_SECONDS) // DAY_SECONDS
    cdef int rest = <int> (second + <int64_t> ERA_DAYS * DAY_SECONDS - day * DAY_SECONDS)
    cdef int64_t era = day // 146097
    cdef int day_of_era = <int> (day - era * 146097)
    cdef int year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    cdef int day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    cdef int month = (5 * day_of_year + 2) // 153
    cdef int year = <int> (year_of_era + era * 400)
    put_pair(text + 8, day_of_year - (153 * month + 2) // 5 + 1)
    month += 3 if month < 10 else -9
    year += month <= 2
    put_pair(text, year // 100)
    put_pair(text + 2, year % 100)
    text[4] = c"-"
    put_pair(text + 5, month)
    text[7] = c"-"
    text[10] = c"T"
    put_pair(text + 11, rest // 3600)
    text[13] = c":"
    put_pair(text + 14, rest // 60 % 60)
    text[16] = c":"
    put_pair(text + 17, rest % 60)


cdef inline void put_fraction(Output *out, int microsecond) noexcept nogil:
    cdef int place
    put_byte(out, c".")
    for place in range(5, -1, -1):
        out.data[out.size + place] = <uint8_t> (c"0" + microsecond % 10)
        microsecond //= 10
    out.size += 6
