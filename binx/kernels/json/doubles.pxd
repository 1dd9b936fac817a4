# cython: language_level=3
"""Format doubles as MySQL does in JSON. C++: the shortest digits come from ``std::to_chars`` (libstdc++ 11 and later)."""

from libc.math cimport signbit
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy, memset

from binx.kernels.digits cimport lay_signed, lay_unsigned
from binx.kernels.output cimport Output, reserve

cdef extern from * nogil:
    """
    #include <charconv>

    /* The shortest decimal that reads back as the same number: d[.ddd]e[+-]dd. Returns its end. */
    static inline char *binx_shortest(char *text, char *stop, double value) {
        return std::to_chars(text, stop, value, std::chars_format::scientific).ptr;
    }
    """
    char *shortest "binx_shortest"(char *text, char *stop, double value) noexcept

cdef enum:
    # A sign, 17 digits, a point, and up to 14 zeros or an exponent.
    DOUBLE_MAXIMUM = 40
    DIGITS_MAXIMUM = 32
    # Whole numbers below this are written out, with at most 15 digits.
    WHOLE_MAXIMUM = 1000000000000000


cdef inline uint8_t *lay_digits(uint8_t *target, const char *digits, int count, int point) noexcept nogil:
    """Write 0.DIGITS times 10^point as ``my_gcvt`` (strings/dtoa.cc) does; there are always 17 bytes to copy.

    JSON adds ``.0`` to numbers that look like integers. A number with at most 15 digits
    before the point, or 14 zeros after it, is written out, and so is a larger one with a
    fraction; all others have an exponent, without plus sign.
    """
    if point < -14 or (point > 15 and count <= point):
        target[0] = digits[0]
        target += 1
        if count > 1:
            target[0] = c"."
            memcpy(target + 1, digits + 1, 16)
            target += count
        target[0] = c"e"
        return lay_signed(target + 1, point - 1)
    if point <= 0:
        memset(target, c"0", 16)
        target[1] = c"."
        memcpy(target + 2 - point, digits, 17)
        return target + 2 - point + count
    memset(target, c"0", 16)
    memcpy(target, digits, 17 if count > point else count)
    if count > point:
        memcpy(target + point + 1, digits + point, 17)
        target[point] = c"."
        return target + count + 1
    target[point] = c"."
    target[point + 1] = c"0"
    return target + point + 2


cdef inline int append_double(Output *out, double value) except -1 nogil:
    """Append the shortest decimal that reads back as the same finite number, formatted as by the server."""
    cdef char text[DIGITS_MAXIMUM]
    cdef char digits[2 * DIGITS_MAXIMUM]
    cdef char *end
    cdef uint8_t *target
    cdef int64_t whole
    cdef int size, exponent
    reserve(out, DOUBLE_MAXIMUM)
    target = out.data + out.size
    if signbit(value):
        target[0] = c"-"
        target += 1
        value = -value
    if value < WHOLE_MAXIMUM:
        whole = <int64_t> value
        if value == <double> whole:
            target = lay_unsigned(target, whole)
            target[0] = c"."
            target[1] = c"0"
            out.size = target + 2 - out.data
            return 0
    end = shortest(text, text + DIGITS_MAXIMUM, value)
    # The exponent has two or three digits.
    size = <int> (end - text) - (4 if end[-4] == c"e" else 5)
    exponent = 10 * (end[-2] - c"0") + (end[-1] - c"0")
    if end[-4] != c"e":
        exponent += 100 * (end[-3] - c"0")
    if text[size + 1] == c"-":
        exponent = -exponent
    digits[0] = text[0]
    memcpy(digits + 1, text + 2, DIGITS_MAXIMUM - 2)
    out.size = lay_digits(target, digits, size - 1 if size > 1 else 1, exponent + 1) - out.data
    return 0
