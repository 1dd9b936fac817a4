# cython: language_level=3
"""The distinct strings of a column: how many there are, nearly, and which number each has."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset

from binx.kernels.bytearrays cimport Strings, string_at
from binx.kernels.hashing cimport mix
from binx.kernels.output cimport Output, append, no_memory, release, reserve

cdef enum:
    # Bits of the sketch; a chunk has half as many rows or fewer, as row groups are meant to be.
    SKETCH_BITS = 262144
    SKETCH_WORDS = SKETCH_BITS // 64
    FIRST_TABLE = 1024
    LANES = 4

cdef struct Words:
    # places: of the first value of each word, in the offsets; table: the upper half of a word's hash, and its
    # number plus 1.
    Output places
    uint64_t *table
    int64_t table_size
    int64_t count
    int64_t bytes


cdef inline uint64_t word_at(const uint8_t *data) noexcept nogil:
    cdef uint64_t word
    memcpy(&word, data, 8)
    return word


cdef inline uint64_t remainder_of(const uint8_t *data, int64_t size) noexcept nogil:
    """Fewer than eight bytes as a number."""
    cdef uint64_t word = 0
    memcpy(&word, data, size)
    return word


cdef inline uint64_t hash_of(const uint8_t *data, int64_t size) noexcept nogil:
    """A hash of a string; long ones in four lanes that do not wait for each other."""
    cdef uint64_t a = <uint64_t> size * <uint64_t> 0x9E3779B97F4A7C15
    cdef uint64_t b = 0
    cdef uint64_t c = 0
    cdef uint64_t d = 0
    while size >= 8 * LANES:
        a = (a ^ word_at(data)) * <uint64_t> 0x9FB21C651E98DF25
        b = (b ^ word_at(data + 8)) * <uint64_t> 0xD6E8FEB86659FD93
        c = (c ^ word_at(data + 16)) * <uint64_t> 0xBF58476D1CE4E5B9
        d = (d ^ word_at(data + 24)) * <uint64_t> 0x94D049BB133111EB
        a ^= a >> 32
        b ^= b >> 32
        c ^= c >> 32
        d ^= d >> 32
        data += 8 * LANES
        size -= 8 * LANES
    while size >= 8:
        a = (a ^ word_at(data)) * <uint64_t> 0x9FB21C651E98DF25
        a ^= a >> 32
        data += 8
        size -= 8
    return mix(a ^ mix(b + remainder_of(data, size)) ^ mix(c + 1) ^ mix(d + 2))


cdef inline uint64_t sketch_of(const uint8_t *data, int64_t size) noexcept nogil:
    """A hash of a string's length and of some of its bytes."""
    if size < 8:
        return mix(remainder_of(data, size) + (<uint64_t> size << 56))
    return mix(
        (word_at(data) ^ <uint64_t> size) * <uint64_t> 0x9FB21C651E98DF25
        + word_at(data + (size - 8) // 3) * <uint64_t> 0xD6E8FEB86659FD93
        + word_at(data + (size - 8) * 2 // 3) * <uint64_t> 0xBF58476D1CE4E5B9
        + word_at(data + size - 8)
    )


cdef inline int64_t nearly_distinct(const Strings *strings, int64_t count) except -1 nogil:
    """How many of so many values are distinct, nearly: few fewer than there are, or more where they differ little."""
    cdef uint64_t *sketch = <uint64_t *> calloc(SKETCH_WORDS, 8)
    cdef int64_t found = 0
    cdef int64_t i
    cdef int64_t place
    cdef uint64_t bit
    if sketch == NULL:
        no_memory(SKETCH_WORDS * 8)
    for i in range(count):
        place = string_at(strings, i)
        bit = sketch_of(
            strings.data + strings.offsets[place], strings.offsets[place + 1] - strings.offsets[place]
        ) % SKETCH_BITS
        found += not (sketch[bit >> 6] >> (bit & 63) & 1)
        sketch[bit >> 6] |= <uint64_t> 1 << (bit & 63)
    free(sketch)
    return found


cdef inline int words_grow(Words *words) except -1 nogil:
    cdef int64_t size = words.table_size * 4 if words.table_size else FIRST_TABLE
    cdef uint64_t *table = <uint64_t *> calloc(size, 8)
    cdef uint64_t entry
    cdef int64_t at
    cdef int64_t i
    if table == NULL:
        no_memory(size * 8)
    for i in range(words.table_size):
        entry = words.table[i]
        if entry:
            at = (entry >> 32) & (size - 1)
            while table[at]:
                at = (at + 1) & (size - 1)
            table[at] = entry
    free(words.table)
    words.table = table
    words.table_size = size
    return 0


cdef inline int words_forget(Words *words) except -1 nogil:
    """Empty it, and keep its memory where that is small."""
    words.places.size = words.count = words.bytes = 0
    if words.table_size > FIRST_TABLE:
        free(words.table)
        words.table = NULL
        words.table_size = 0
    if words.table == NULL:
        return words_grow(words)
    memset(words.table, 0, words.table_size * 8)
    return 0


cdef inline void words_release(Words *words) noexcept nogil:
    release(&words.places)
    free(words.table)
    memset(words, 0, sizeof(Words))


cdef inline int64_t word_of(Words *words, const Strings *strings, int64_t place) except -1 nogil:
    """The number of the string at a place of the offsets; one that was not seen before gets the next."""
    cdef const uint8_t *data = strings.data + strings.offsets[place]
    cdef int64_t size = strings.offsets[place + 1] - strings.offsets[place]
    cdef uint64_t hashed = hash_of(data, size) >> 32
    cdef int64_t at
    cdef int32_t known
    cdef int32_t seen = <int32_t> place
    if words.count * 2 >= words.table_size:
        words_grow(words)
    at = hashed & (words.table_size - 1)
    while words.table[at]:
        if words.table[at] >> 32 == hashed:
            known = (<int32_t *> words.places.data)[<int64_t> <uint32_t> words.table[at] - 1]
            if (
                strings.offsets[known + 1] - strings.offsets[known] == size
                and memcmp(strings.data + strings.offsets[known], data, size) == 0
            ):
                return <int64_t> <uint32_t> words.table[at] - 1
        at = (at + 1) & (words.table_size - 1)
    append(&words.places, &seen, 4)
    words.count += 1
    words.bytes += size
    words.table[at] = hashed << 32 | <uint64_t> words.count
    return words.count - 1


cdef inline bint number_words(
    Words *words, uint32_t *numbers, const Strings *strings, int64_t count, int64_t words_limit, int64_t bytes_limit
) except -1 nogil:
    """Number so many values; False where there are more words, or they are longer together, than is allowed."""
    cdef int64_t i
    cdef int64_t place
    cdef int64_t before = -1
    cdef int64_t size
    cdef const int32_t *offsets = strings.offsets
    for i in range(count):
        place = string_at(strings, i)
        if before >= 0:
            # Of the two images of an update, one is as the other in most columns.
            size = offsets[place + 1] - offsets[place]
            if place == before or (
                size == offsets[before + 1] - offsets[before]
                and memcmp(strings.data + offsets[place], strings.data + offsets[before], size) == 0
            ):
                numbers[i] = numbers[i - 1]
                before = place
                continue
        before = place
        numbers[i] = <uint32_t> word_of(words, strings, place)
        if words.count > words_limit or words.bytes > bytes_limit:
            return False
    return True
