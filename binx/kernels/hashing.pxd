# cython: language_level=3
"""A hash table for kernels without the GIL: it numbers distinct byte strings from 0 in order of first appearance.

Open addressing, a power-of-two size, at most half full. The hash is seeded by the system, so that nobody can craft a
log whose keys all collide, which would make every lookup linear.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset

from binx.kernels.output cimport Output, append, no_memory, release

cdef extern from *:
    """
    #ifndef BINX_SEED
    #define BINX_SEED
    #include <stdint.h>
    #include <unistd.h>
    #ifdef __APPLE__
    #include <sys/random.h>
    #endif
    #if defined(__GNUC__) || defined(__clang__)
    __attribute__((unused))
    #endif
    static uint64_t binx_seed(const void *memory)
    {
        uint64_t seed;
        /* Where the system has none, the address of the memory is one: it differs from process to process. */
        return getentropy(&seed, sizeof(seed)) == 0 ? seed : (uint64_t) (uintptr_t) memory;
    }
    #endif
    """
    uint64_t random_seed "binx_seed"(const void *memory) noexcept nogil

cdef struct Entry:
    uint64_t hash
    int64_t start
    int64_t size

cdef struct Slots:
    Output bytes
    Output entries
    int32_t *table
    int64_t table_size
    uint64_t seed
    int32_t count
    # The slot that was looked up last.
    int32_t latest


cdef inline uint64_t mix(uint64_t value) noexcept nogil:
    """The finalizer of splitmix64 (public domain, S. Vigna)."""
    value = (value ^ (value >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    value = (value ^ (value >> 27)) * <uint64_t> 0x94D049BB133111EB
    return value ^ (value >> 31)


cdef inline uint64_t word_at(const uint8_t *data) noexcept nogil:
    cdef uint64_t word
    memcpy(&word, data, 8)
    return word


cdef inline uint64_t last_word(const uint8_t *data, int64_t size) noexcept nogil:
    """Return 0 to 8 bytes as a word, another one for other bytes of that size.

    It reads parts of fixed sizes, which may overlap: a copy of any other size is a call that takes longer than the hash.
    """
    cdef uint32_t low, high
    if size == 8:
        return word_at(data)
    if size >= 4:
        memcpy(&low, data, 4)
        memcpy(&high, data + size - 4, 4)
        return <uint64_t> high << 32 | low
    if size == 0:
        return 0
    return <uint64_t> data[size - 1] << 16 | <uint64_t> data[size >> 1] << 8 | data[0]


cdef inline uint64_t hash_bytes(const uint8_t *data, int64_t size, uint64_t seed) noexcept nogil:
    """Each word is mixed whole: of a lesser step it is known which differences it undoes, whatever the seed is."""
    cdef uint64_t value = seed ^ (<uint64_t> size * <uint64_t> 0x9E3779B97F4A7C15)
    while size > 8:
        value = mix(value ^ word_at(data))
        data += 8
        size -= 8
    return mix(value ^ last_word(data, size))


cdef inline Entry *slot_entry(Slots *slots, int32_t slot) noexcept nogil:
    return (<Entry *> slots.entries.data) + slot


cdef inline const uint8_t *slot_bytes(Slots *slots, int32_t slot) noexcept nogil:
    return slots.bytes.data + slot_entry(slots, slot).start


cdef inline int slots_grow(Slots *slots) except -1 nogil:
    cdef int64_t size = slots.table_size * 2 if slots.table_size else 64
    cdef int32_t *table = <int32_t *> calloc(size, sizeof(int32_t))
    cdef int64_t bucket
    cdef int32_t slot
    if table == NULL:
        no_memory(size * sizeof(int32_t))
    if slots.table_size == 0:
        slots.seed = random_seed(table)
    for slot in range(slots.count):
        bucket = slot_entry(slots, slot).hash & (size - 1)
        while table[bucket]:
            bucket = (bucket + 1) & (size - 1)
        table[bucket] = slot + 1
    free(slots.table)
    slots.table = table
    slots.table_size = size
    return 0


cdef inline int32_t known_slot(Slots *slots, const uint8_t *data, int64_t size) noexcept nogil:
    """The number of a byte string, mostly the one before; -1 of one that was not seen."""
    cdef Entry *entry
    cdef uint64_t hash
    cdef int64_t bucket
    if slots.count == 0:
        return -1
    entry = slot_entry(slots, slots.latest)
    if entry.size == size and memcmp(slots.bytes.data + entry.start, data, size) == 0:
        return slots.latest
    hash = hash_bytes(data, size, slots.seed)
    bucket = hash & (slots.table_size - 1)
    while slots.table[bucket]:
        entry = slot_entry(slots, slots.table[bucket] - 1)
        if entry.hash == hash and entry.size == size and memcmp(slots.bytes.data + entry.start, data, size) == 0:
            slots.latest = slots.table[bucket] - 1
            return slots.latest
        bucket = (bucket + 1) & (slots.table_size - 1)
    return -1


cdef inline int32_t slot_of(Slots *slots, const uint8_t *data, int64_t size) except -1 nogil:
    """The number of a byte string; one that was not seen before gets the next number."""
    cdef int32_t slot = known_slot(slots, data, size)
    cdef int64_t bucket
    cdef Entry fresh
    if slot >= 0:
        return slot
    if slots.count * 2 >= slots.table_size:
        slots_grow(slots)
    fresh.hash = hash_bytes(data, size, slots.seed)
    fresh.start = slots.bytes.size
    fresh.size = size
    append(&slots.bytes, data, size)
    append(&slots.entries, &fresh, sizeof(Entry))
    bucket = fresh.hash & (slots.table_size - 1)
    while slots.table[bucket]:
        bucket = (bucket + 1) & (slots.table_size - 1)
    slots.table[bucket] = slots.count + 1
    slots.latest = slots.count
    slots.count += 1
    return slots.latest


cdef inline void slots_release(Slots *slots) noexcept nogil:
    release(&slots.bytes)
    release(&slots.entries)
    free(slots.table)
    memset(slots, 0, sizeof(Slots))
