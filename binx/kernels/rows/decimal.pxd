# cython: language_level=3
"""Decode MySQL's binary DECIMAL, for row images and JSON.

``decimal2bin`` (strings/decimal.cc) writes groups of nine decimal digits as
four big-endian bytes each, and the remaining digits in as few bytes as
they need: those of the integer part first, those of the fraction last. The
first bit is inverted so that the bytes sort as the numbers do, and a negative
number has every bit inverted.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from binx.kernels.cursor cimport big
from binx.kernels.output cimport Output, reserve

cdef enum:
    MAX_PRECISION = 81  # nine groups: a column has at most 65 digits, but JSON counts whole groups
    MAX_BYTES = 40
    GROUP = 9  # digits in four bytes


cdef inline int bytes_of_digits(int digits) noexcept nogil:
    """Return the bytes of a group of 0 to 9 digits: 0, 1, 1, 2, 2, 3, 3, 4, 4, 4."""
    return 4 if digits == GROUP else (digits + 1) >> 1


cdef inline int decimal_size(int precision, int scale) noexcept nogil:
    """Return the bytes that a DECIMAL(precision, scale) takes (``decimal_bin_size``)."""
    cdef int whole = precision - scale
    cdef int full_groups = whole // GROUP + scale // GROUP
    return full_groups * 4 + bytes_of_digits(whole % GROUP) + bytes_of_digits(scale % GROUP)


cdef inline int check_decimal(int precision, int scale) except -1 nogil:
    """Raise DamagedError for a precision and scale that no DECIMAL has; they may come from the file."""
    if precision < 1 or precision > MAX_PRECISION or scale < 0 or scale > precision:
        bad_precision(precision, scale)
    return 0


cdef inline int bad_precision(int precision, int scale) except -1 with gil:
    from binx.errors import DamagedError

    raise DamagedError(
        f"expected a DECIMAL of 1 to {MAX_PRECISION} digits and a scale within them,"
        f" found DECIMAL({precision},{scale})"
    )


cdef inline int bad_group(uint64_t group, int digits) except -1 with gil:
    from binx.errors import DamagedError

    raise DamagedError(f"expected {digits} decimal digits in a DECIMAL's bytes, found the number {group}")


cdef inline bint plain_bytes(const uint8_t *data, int size, uint8_t *plain) noexcept nogil:
    """Undo the inversions; returns whether the number is negative."""
    cdef bint negative = (data[0] & 0x80) == 0
    cdef uint8_t inverted = 0xFF if negative else 0
    cdef int i
    for i in range(size if size < MAX_BYTES else MAX_BYTES):
        plain[i] = data[i] ^ inverted
    plain[0] ^= 0x80
    return negative


cdef inline int digits_before(int precision, int scale, int done) noexcept nogil:
    """Return the digits in the group after the first ``done`` digits, 0 at the end."""
    cdef int left = precision - done
    if left > scale:
        left = (left - scale) % GROUP
        return left if left else GROUP
    return GROUP if left > GROUP else left


cdef inline int take_group(const uint8_t **plain, int digits, uint64_t *group) except -1 nogil:
    """Parse the next group's number, which must have at most ``digits`` digits."""
    cdef int size = bytes_of_digits(digits)
    group[0] = big(plain[0], size)
    plain[0] += size
    if group[0] >= power_of_ten(digits):
        bad_group(group[0], digits)
    return 0


cdef extern from *:
    """
    static const uint64_t binx_powers_of_ten[10] = {
        1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000
    };
    """
    const uint64_t binx_powers_of_ten[10]


cdef inline uint64_t power_of_ten(int exponent) noexcept nogil:
    """Return 10^exponent; the exponent is at most a group's digits, 0 to 9."""
    return binx_powers_of_ten[exponent]


cdef inline int render_decimal(const uint8_t *data, int precision, int scale, Output *out) except -1 nogil:
    """Append the text of a DECIMAL, such as ``-12.3400``, as the server prints it.

    ``data`` holds ``decimal_size(precision, scale)`` bytes. The fraction has
    ``scale`` digits; the integer part has at least one, and no leading zeros.
    """
    cdef uint8_t plain[MAX_BYTES]
    cdef uint8_t text[MAX_PRECISION]
    cdef const uint8_t *next_group = plain
    cdef uint8_t *target
    cdef uint64_t group = 0
    cdef int done = 0, digits, first = 0, i
    check_decimal(precision, scale)
    reserve(out, precision + 3)
    target = out.data + out.size
    if plain_bytes(data, decimal_size(precision, scale), plain):
        target[0] = c"-"
        target += 1
    while done < precision:
        digits = digits_before(precision, scale, done)
        take_group(&next_group, digits, &group)
        for i in range(done + digits - 1, done - 1, -1):
            text[i] = <uint8_t> (c"0" + group % 10)
            group //= 10
        done += digits
    while first < precision - scale and text[first] == c"0":
        first += 1
    if first == precision - scale:
        target[0] = c"0"
        target += 1
    for i in range(first, precision):
        if i == precision - scale:
            target[0] = c"."
            target += 1
        target[0] = text[i]
        target += 1
    out.size = target - out.data
    return 0


cdef inline int decimal_to_int128(
    const uint8_t *data, int precision, int scale, uint8_t *out16
) except -1 nogil:
    """Write a DECIMAL of at most 38 digits as Arrow's decimal128: the number times 10^scale.

    ``out16`` takes 16 bytes, little-endian, two's complement.
    """
    cdef uint8_t plain[MAX_BYTES]
    cdef uint32_t words[4]
    cdef const uint8_t *next_group = plain
    cdef uint64_t group = 0, factor
    cdef int done = 0, digits, i
    cdef bint negative
    check_decimal(precision, scale)
    if precision > 38:
        bad_precision(precision, scale)
    negative = plain_bytes(data, decimal_size(precision, scale), plain)
    for i in range(4):
        words[i] = 0
    while done < precision:
        digits = digits_before(precision, scale, done)
        factor = power_of_ten(digits)
        take_group(&next_group, digits, &group)
        for i in range(4):
            group += words[i] * factor
            words[i] = <uint32_t> group
            group >>= 32
        done += digits
    group = negative
    for i in range(4):
        group += <uint32_t> (~words[i] if negative else words[i])
        out16[4 * i] = group & 0xFF
        out16[4 * i + 1] = (group >> 8) & 0xFF
        out16[4 * i + 2] = (group >> 16) & 0xFF
        out16[4 * i + 3] = (group >> 24) & 0xFF
        group >>= 32
    return 0
