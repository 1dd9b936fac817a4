# cython: language_level=3
"""The Gregorian calendar, and the units in which kernels count time."""

from libc.stdint cimport int64_t

cdef enum:
    # In µs.
    SECOND = 1000000
    DAY_SECONDS = 86400


cdef inline int64_t days_of(int64_t year, int month, int day) noexcept nogil:
    """Return the days since 1970-01-01 of a proleptic Gregorian date (H. Hinnant, days_from_civil)."""
    cdef int64_t era
    cdef int64_t year_of_era
    cdef int64_t day_of_year
    year -= month <= 2
    era = year // 400
    year_of_era = year - era * 400
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719468


cdef inline bint is_leap(int year) noexcept nogil:
    return (year & 3) == 0 and (year % 100 != 0 or year % 400 == 0)


cdef inline bint real_date(int year, int month, int day) noexcept nogil:
    """Whether a date exists: years 1 to 9999, no zero parts, no 30 February."""
    cdef int last = 31
    if month == 4 or month == 6 or month == 9 or month == 11:
        last = 30
    elif month == 2:
        last = 29 if is_leap(year) else 28
    return 1 <= year <= 9999 and 1 <= month <= 12 and 1 <= day <= last
