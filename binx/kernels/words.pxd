# cython: language_level=3
"""The distinct strings of a column: how many there are, nearly, and which number each has."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from binx.kernels.bytearrays cimport Strings, string_at
from binx.kernels.hashing cimport mix
from binx.kernels.output cimport Output, append, no_memory, release, reserve

cdef enum:
    # Bits of the sketch; a chunk has half as many rows or fewer, as row groups are meant to be.
    SKETCH_BITS = 262144
    SKETCH_WORDS = SKETCH_BITS // 64
    FIRST_TABLE = 1024

cdef struct Words:
    # places: of the first value of each word, in the offsets; table: the upper half of a word's hash, and its
    # number plus 1.
    Output places
    uint64_t *table
    int64_t table_size
    int64_t count
    int64_t bytes


cdef extern from *:
    """
    #ifndef BINX_WORDS
    #define BINX_WORDS
    #if defined(__GNUC__) || defined(__clang__)
    #define BINX_WORDS_MAYBE_UNUSED __attribute__((unused))
    #else
    #define BINX_WORDS_MAYBE_UNUSED
    #endif
    #include <stdint.h>
    #include <string.h>

    BINX_WORDS_MAYBE_UNUSED static inline uint64_t binx_load8(const uint8_t *data)
    {
        uint64_t word;
        memcpy(&word, data, 8);
        return word;
    }

    BINX_WORDS_MAYBE_UNUSED static inline uint64_t binx_load4(const uint8_t *data)
    {
        uint32_t word;
        memcpy(&word, data, 4);
        return word;
    }

    /* At most eight bytes, each of which counts. */
    BINX_WORDS_MAYBE_UNUSED static inline uint64_t binx_load_short(const uint8_t *data, int64_t size)
    {
        if (size >= 4)
            return binx_load4(data) << 32 | binx_load4(data + size - 4);
        if (size > 0)
            return (uint64_t)data[0] << 16 | (uint64_t)data[size >> 1] << 8 | data[size - 1];
        return 0;
    }

    BINX_WORDS_MAYBE_UNUSED static inline uint64_t binx_fold(uint64_t one, uint64_t other)
    {
    #ifdef __SIZEOF_INT128__
        unsigned __int128 product = (unsigned __int128)one * other;
        return (uint64_t)product ^ (uint64_t)(product >> 64);
    #else
        one = (one ^ one >> 32) * 0x9FB21C651E98DF25u + other;
        other = (other ^ other >> 29) * 0xD6E8FEB86659FD93u;
        one = (one ^ other ^ other >> 32) * 0xBF58476D1CE4E5B9u;
        return one ^ one >> 32;
    #endif
    }

    /* A hash of a string; long ones in lanes that do not wait for each other. */
    BINX_WORDS_MAYBE_UNUSED static inline uint64_t binx_hash(const uint8_t *data, int64_t size)
    {
        const uint64_t k0 = 0x9FB21C651E98DF25u, k1 = 0xD6E8FEB86659FD93u, k2 = 0xBF58476D1CE4E5B9u;
        uint64_t a = (uint64_t)size ^ 0x94D049BB133111EBu, b = k1, c = k2;
        int64_t left = size;
        if (size <= 8)
            return binx_fold(binx_load_short(data, size) ^ k0, a);
        for (; left > 48; left -= 48, data += 48) {
            a = binx_fold(binx_load8(data) ^ k0, binx_load8(data + 8) ^ a);
            b = binx_fold(binx_load8(data + 16) ^ k1, binx_load8(data + 24) ^ b);
            c = binx_fold(binx_load8(data + 32) ^ k2, binx_load8(data + 40) ^ c);
        }
        a ^= b ^ c;
        for (; left > 16; left -= 16, data += 16)
            a = binx_fold(binx_load8(data) ^ k0, binx_load8(data + 8) ^ a);
        /* What is left, with bytes before it where it is short. */
        if (left < 8)
            return binx_fold(binx_load8(data + left - 8) ^ k1, a);
        return binx_fold(binx_load8(data) ^ k1, binx_load8(data + left - 8) ^ a);
    }

    BINX_WORDS_MAYBE_UNUSED static inline int binx_same(const uint8_t *one, const uint8_t *other, int64_t size)
    {
        int64_t at;
        if (size <= 8)
            return binx_load_short(one, size) == binx_load_short(other, size);
        for (at = 0; at + 8 < size; at += 8)
            if (binx_load8(one + at) != binx_load8(other + at))
                return 0;
        return binx_load8(one + size - 8) == binx_load8(other + size - 8);
    }
    #endif
    """
    uint64_t word_at "binx_load8"(const uint8_t *data) noexcept nogil
    uint64_t hash_of "binx_hash"(const uint8_t *data, int64_t size) noexcept nogil
    bint are_same "binx_same"(const uint8_t *one, const uint8_t *other, int64_t size) noexcept nogil


cdef inline uint64_t remainder_of(const uint8_t *data, int64_t size) noexcept nogil:
    """Fewer than eight bytes as a number."""
    cdef uint64_t word = 0
    memcpy(&word, data, size)
    return word


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


cdef inline bint seem_distinct(const Strings *strings, int64_t count, int64_t limit) except -1 nogil:
    """Whether more than ``limit`` of so many values are distinct, nearly: no more are looked at than tell it."""
    cdef uint64_t *sketch = <uint64_t *> calloc(SKETCH_WORDS, 8)
    cdef int64_t found = 0
    cdef int64_t i
    cdef int64_t place
    cdef uint64_t bit
    if sketch == NULL:
        no_memory(SKETCH_WORDS * 8)
    for i in range(count):
        if found > limit:
            break
        place = string_at(strings, i)
        bit = sketch_of(
            strings.data + strings.offsets[place], strings.offsets[place + 1] - strings.offsets[place]
        ) % SKETCH_BITS
        found += not (sketch[bit >> 6] >> (bit & 63) & 1)
        sketch[bit >> 6] |= <uint64_t> 1 << (bit & 63)
    free(sketch)
    return found > limit


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
                and are_same(strings.data + strings.offsets[known], data, size)
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
                and are_same(strings.data + offsets[place], strings.data + offsets[before], size)
            ):
                numbers[i] = numbers[i - 1]
                before = place
                continue
        before = place
        numbers[i] = <uint32_t> word_of(words, strings, place)
        if words.count > words_limit or words.bytes > bytes_limit:
            return False
    return True
