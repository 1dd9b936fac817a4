# cython: language_level=3
"""The inner loops over numbers that Parquet's encodings consist of, compiled once for each set of instructions.

Blocks of 128 differences, packing 32 numbers in so many bits each, and the least and the largest of many
numbers: loops that compilers turn into vector instructions where they may use them. Which the processor has is
asked once. What comes out is the same everywhere.

Packed numbers are little-endian, from the lowest bit on, in DELTA_BINARY_PACKED and in the bit-packed runs of
RLE alike (Apache Parquet format, Encodings.md).
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

cdef extern from *:
    """
    #ifndef BINX_BLOCKS
    #define BINX_BLOCKS
    #include <stdint.h>
    #include <string.h>

    #if defined(__GNUC__) || defined(__clang__)
    #define BINX_ALWAYS_INLINE static inline __attribute__((always_inline))
    #define BINX_MAYBE_UNUSED __attribute__((unused))
    #define BINX_BITS(x) ((x) ? 64 - __builtin_clzll(x) : 0)
    #else
    #define BINX_ALWAYS_INLINE static inline
    #define BINX_MAYBE_UNUSED
    static int BINX_BITS(uint64_t x) { int n = 0; for (; x; x >>= 1) n++; return n; }
    #endif

    /* 32 numbers in `width` bits each: width * 4 bytes, which is a whole number of 4-byte words. A width
       that is known when this is compiled leaves shifts by constants and no branch. */
    #define BINX_PACK(NAME, UNSIGNED)                                                           \
    BINX_ALWAYS_INLINE void NAME(const UNSIGNED *values, uint8_t *out, const int width)         \
    {                                                                                           \
        uint64_t word = 0;                                                                      \
        int held = 0;                                                                           \
        int i;                                                                                  \
        for (i = 0; i < 32; i++) {                                                              \
            word |= (uint64_t)values[i] << held;                                                \
            held += width;                                                                      \
            if (held >= 64) {                                                                   \
                memcpy(out, &word, 8);                                                          \
                out += 8;                                                                       \
                held -= 64;                                                                     \
                word = held ? (uint64_t)values[i] >> (width - held) : 0;                        \
            }                                                                                   \
        }                                                                                       \
        if (held)                                                                               \
            memcpy(out, &word, 4);                                                              \
    }
    BINX_PACK(binx_pack32, uint32_t)
    BINX_PACK(binx_pack64, uint64_t)

    #define BINX_W(PACK, N) case N: PACK(values, out, N); break;
    #define BINX_W8(PACK, N) BINX_W(PACK, N) BINX_W(PACK, N + 1) BINX_W(PACK, N + 2) BINX_W(PACK, N + 3) \
        BINX_W(PACK, N + 4) BINX_W(PACK, N + 5) BINX_W(PACK, N + 6) BINX_W(PACK, N + 7)

    /* The same for a width that is known when it runs; nothing is written for 0. */
    #define BINX_PACK_ANY(NAME, UNSIGNED, PACK)                                                 \
    BINX_ALWAYS_INLINE void NAME(const UNSIGNED *values, uint8_t *out, int width)               \
    {                                                                                           \
        switch (width) {                                                                        \
        case 0: break;                                                                          \
        BINX_W8(PACK, 1) BINX_W8(PACK, 9) BINX_W8(PACK, 17)                                     \
        default: PACK(values, out, width);                                                      \
        }                                                                                       \
    }
    BINX_PACK_ANY(binx_pack32_any, uint32_t, binx_pack32)
    BINX_PACK_ANY(binx_pack64_any, uint64_t, binx_pack64)

    /* A block: its least difference, the widths of its four miniblocks, and these; the difference of the
       first value is to the one before it. The block's bytes are at most 10 + 4 + 128 * 8 + 8. */
    #define BINX_BLOCK(NAME, SIGNED, UNSIGNED, PACK)                                            \
    BINX_ALWAYS_INLINE uint8_t *NAME(const SIGNED *values, uint8_t *out)                        \
    {                                                                                           \
        UNSIGNED deltas[128];                                                                   \
        SIGNED least;                                                                           \
        uint64_t folded;                                                                        \
        uint8_t *widths;                                                                        \
        int i, m;                                                                               \
        for (i = 0; i < 128; i++)                                                               \
            deltas[i] = (UNSIGNED)values[i] - (UNSIGNED)values[i - 1];                          \
        least = (SIGNED)deltas[0];                                                              \
        for (i = 0; i < 128; i++)                                                               \
            least = (SIGNED)deltas[i] < least ? (SIGNED)deltas[i] : least;                      \
        for (i = 0; i < 128; i++)                                                               \
            deltas[i] -= (UNSIGNED)least;                                                       \
        folded = ((uint64_t)(int64_t)least << 1) ^ (uint64_t)((int64_t)least >> 63);            \
        for (; folded > 127; folded >>= 7)                                                      \
            *out++ = (uint8_t)(folded | 128);                                                   \
        *out++ = (uint8_t)folded;                                                               \
        widths = out;                                                                           \
        out += 4;                                                                               \
        for (m = 0; m < 4; m++) {                                                               \
            UNSIGNED all = 0;                                                                   \
            int width;                                                                          \
            for (i = 0; i < 32; i++)                                                            \
                all |= deltas[m * 32 + i];                                                      \
            width = BINX_BITS((uint64_t)all);                                                   \
            widths[m] = (uint8_t)width;                                                         \
            PACK(deltas + m * 32, out, width);                                                  \
            out += width * 4;                                                                   \
        }                                                                                       \
        return out;                                                                             \
    }

    /* The least and the largest of at least one value. */
    #define BINX_EXTENT(NAME, TYPE)                                                             \
    BINX_ALWAYS_INLINE void NAME(const TYPE *values, int64_t count, TYPE *least, TYPE *largest) \
    {                                                                                           \
        TYPE low = values[0], high = values[0];                                                 \
        int64_t i;                                                                              \
        for (i = 1; i < count; i++) {                                                           \
            low = values[i] < low ? values[i] : low;                                            \
            high = values[i] > high ? values[i] : high;                                         \
        }                                                                                       \
        *least = low;                                                                           \
        *largest = high;                                                                        \
    }
    BINX_BLOCK(binx_block32_body, int32_t, uint32_t, binx_pack32_any)
    BINX_BLOCK(binx_block64_body, int64_t, uint64_t, binx_pack64_any)
    BINX_EXTENT(binx_extent_i32_body, int32_t)
    BINX_EXTENT(binx_extent_u32_body, uint32_t)
    BINX_EXTENT(binx_extent_i64_body, int64_t)
    BINX_EXTENT(binx_extent_u64_body, uint64_t)

    #define BINX_COPIES(SUFFIX, TARGET)                                                                     \
    TARGET static uint8_t *binx_block32_##SUFFIX(const int32_t *v, uint8_t *out)                            \
    { return binx_block32_body(v, out); }                                                                   \
    TARGET static uint8_t *binx_block64_##SUFFIX(const int64_t *v, uint8_t *out)                            \
    { return binx_block64_body(v, out); }                                                                   \
    TARGET static void binx_pack_##SUFFIX(const uint32_t *v, uint8_t *out, int width)                       \
    { binx_pack32_any(v, out, width); }                                                                     \
    TARGET static void binx_extent_i32_##SUFFIX(const int32_t *v, int64_t n, int32_t *a, int32_t *b)        \
    { binx_extent_i32_body(v, n, a, b); }                                                                   \
    TARGET static void binx_extent_u32_##SUFFIX(const uint32_t *v, int64_t n, uint32_t *a, uint32_t *b)     \
    { binx_extent_u32_body(v, n, a, b); }                                                                   \
    TARGET static void binx_extent_i64_##SUFFIX(const int64_t *v, int64_t n, int64_t *a, int64_t *b)        \
    { binx_extent_i64_body(v, n, a, b); }                                                                   \
    TARGET static void binx_extent_u64_##SUFFIX(const uint64_t *v, int64_t n, uint64_t *a, uint64_t *b)     \
    { binx_extent_u64_body(v, n, a, b); }                                                                   \
    BINX_MAYBE_UNUSED static const binx_block_functions binx_blocks_##SUFFIX = {                            \
        binx_block32_##SUFFIX, binx_block64_##SUFFIX, binx_pack_##SUFFIX, binx_extent_i32_##SUFFIX,         \
        binx_extent_u32_##SUFFIX, binx_extent_i64_##SUFFIX, binx_extent_u64_##SUFFIX };

    typedef struct {
        uint8_t *(*block32)(const int32_t *, uint8_t *);
        uint8_t *(*block64)(const int64_t *, uint8_t *);
        void (*pack)(const uint32_t *, uint8_t *, int);
        void (*extent_i32)(const int32_t *, int64_t, int32_t *, int32_t *);
        void (*extent_u32)(const uint32_t *, int64_t, uint32_t *, uint32_t *);
        void (*extent_i64)(const int64_t *, int64_t, int64_t *, int64_t *);
        void (*extent_u64)(const uint64_t *, int64_t, uint64_t *, uint64_t *);
    } binx_block_functions;

    BINX_COPIES(plain, )
    #if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
    BINX_COPIES(avx2, __attribute__((target("avx2,bmi,bmi2"))))
    BINX_COPIES(avx512, __attribute__((target("avx2,bmi,bmi2,avx512f,avx512vl,avx512dq,avx512bw"))))
    #endif

    /* The fastest set that this processor has. */
    BINX_MAYBE_UNUSED static const binx_block_functions *binx_best_blocks(void)
    {
    #if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
        __builtin_cpu_init();
        if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")
            && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("bmi2"))
            return &binx_blocks_avx512;
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
            return &binx_blocks_avx2;
    #endif
        return &binx_blocks_plain;
    }
    #endif
    """
    ctypedef struct BlockFunctions "binx_block_functions":
        uint8_t *block32(const int32_t *values, uint8_t *out) noexcept nogil
        uint8_t *block64(const int64_t *values, uint8_t *out) noexcept nogil
        void pack(const uint32_t *values, uint8_t *out, int width) noexcept nogil
        void extent_i32(const int32_t *values, int64_t count, int32_t *least, int32_t *largest) noexcept nogil
        void extent_u32(const uint32_t *values, int64_t count, uint32_t *least, uint32_t *largest) noexcept nogil
        void extent_i64(const int64_t *values, int64_t count, int64_t *least, int64_t *largest) noexcept nogil
        void extent_u64(const uint64_t *values, int64_t count, uint64_t *least, uint64_t *largest) noexcept nogil
    const BlockFunctions *best_blocks "binx_best_blocks"() noexcept nogil
    int bits_of "BINX_BITS"(uint64_t value) noexcept nogil

cdef enum:
    # The most that a block takes, and the word that the last store may write beyond it.
    BLOCK_BYTES = 10 + 4 + 128 * 8 + 8
