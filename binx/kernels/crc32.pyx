# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The CRC32 checksum of binary log events, fast on small events.

Events are many and short, so the cost of a call matters as much as the
speed on long buffers; zlib's headers may be missing where binx is compiled,
and a call into Python for each event costs more than the checksum itself.
There are two implementations; the first is chosen at import if the compiler and
the processor support it:

``pclmul``
    carry-less multiplication on x86-64: four lanes of 128 bits folded over the
    data, then Barrett reduction (V. Gopal and others, "Fast CRC Computation for
    Generic Polynomials Using PCLMULQDQ Instruction", Intel, 2009).
``tables``
    sixteen tables of 256 entries, sixteen bytes a step; runs anywhere.

The tables are computed at import; the constants of carry-less multiplication are literals.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t

cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>
    #include <string.h>

    #define BINX_CRC_POLYNOMIAL 0xEDB88320u /* 0x04C11DB7, bit 0 standing for x^31 */

    typedef uint32_t (*binx_crc_function)(uint32_t, const uint8_t *, int64_t);

    static uint32_t binx_crc_table[16][256];

    static uint32_t binx_crc_little32(const uint8_t *p)
    {
        return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    }

    /* Table k holds the sum of a byte that k zero bytes follow. */
    static void binx_crc_make_tables(void)
    {
        int i, k;
        for (i = 0; i < 256; i++) {
            uint32_t value = (uint32_t)i;
            for (k = 0; k < 8; k++)
                value = value >> 1 ^ (value & 1 ? BINX_CRC_POLYNOMIAL : 0);
            binx_crc_table[0][i] = value;
        }
        for (k = 1; k < 16; k++)
            for (i = 0; i < 256; i++) {
                uint32_t value = binx_crc_table[k - 1][i];
                binx_crc_table[k][i] = value >> 8 ^ binx_crc_table[0][value & 255];
            }
    }

    /* Four bytes' share of the sum, `after` bytes of the step following them. */
    static uint32_t binx_crc_four(uint32_t word, int after)
    {
        return binx_crc_table[after + 3][word & 255] ^ binx_crc_table[after + 2][word >> 8 & 255]
               ^ binx_crc_table[after + 1][word >> 16 & 255] ^ binx_crc_table[after][word >> 24];
    }

    static uint32_t binx_crc_tables(uint32_t seed, const uint8_t *p, int64_t size)
    {
        uint32_t sum = ~seed;
        for (; size >= 16; p += 16, size -= 16) {
            uint32_t a = binx_crc_little32(p) ^ sum;
            uint32_t b = binx_crc_little32(p + 4);
            uint32_t c = binx_crc_little32(p + 8);
            uint32_t d = binx_crc_little32(p + 12);
            sum = binx_crc_four(a, 12) ^ binx_crc_four(b, 8) ^ binx_crc_four(c, 4) ^ binx_crc_four(d, 0);
        }
        for (; size >= 4; p += 4, size -= 4) {
            uint32_t a = binx_crc_little32(p) ^ sum;
            sum = binx_crc_four(a, 0);
        }
        for (; size > 0; p++, size--)
            sum = sum >> 8 ^ binx_crc_table[0][(sum ^ *p) & 255];
        return ~sum;
    }

    #if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
    #define BINX_CRC_PCLMUL 1
    #include <immintrin.h>
    #define BINX_CRC_TARGET __attribute__((target("pclmul,sse4.1")))

    /* A product of two bit-reflected 64-bit polynomials comes out multiplied by x, so the factor for a
       distance of n bits is x^(n-1) mod P. Of each pair, the first moves a block's earlier half (n + 64), the
       second its later half. */
    static const uint64_t binx_crc_over_128[2] = {0x65673b4600000000, 0x9ba54c6f00000000};
    static const uint64_t binx_crc_over_256[2] = {0x9570d49500000000, 0x01b5fd1d00000000};
    static const uint64_t binx_crc_over_384[2] = {0x69ccfc0d00000000, 0x2a28386200000000};
    static const uint64_t binx_crc_over_512[2] = {0x653d982200000000, 0xcad38e8f00000000};
    /* x^95 mod P, and P; then the quotient of x^95 by P. */
    static const uint64_t binx_crc_reduce[2] = {0x00000000ccaa009e, 0x00000001db710641};
    static const uint64_t binx_crc_quotient = 0xb4e5b025f7011641;
    /* A sliding byte shuffle: nothing, sixteen bytes as they are, nothing. */
    static const int8_t binx_crc_window[48] = {
        -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
        12, 13, 14, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
    };

    BINX_CRC_TARGET static inline __m128i binx_crc_load(const void *p)
    {
        return _mm_loadu_si128((const __m128i *)p);
    }

    BINX_CRC_TARGET static inline __m128i binx_crc_moved(__m128i block, __m128i pair)
    {
        return _mm_xor_si128(_mm_clmulepi64_si128(block, pair, 0x00),
                             _mm_clmulepi64_si128(block, pair, 0x11));
    }

    /* Takes what follows `sum` in steps of 16 bytes, then the last 1 to 15, and reduces to 32 bits. At least
       16 bytes must lie before `end`. */
    BINX_CRC_TARGET static inline uint32_t binx_crc_finish(__m128i sum, const uint8_t *p, const uint8_t *end)
    {
        __m128i over_128 = binx_crc_load(binx_crc_over_128), low;
        for (; end - p >= 16; p += 16)
            sum = _mm_xor_si128(binx_crc_moved(sum, over_128), binx_crc_load(p));
        if (end > p) {
            /* A last block of the sum's later bytes and the rest; before it one of the sum's first bytes. */
            ptrdiff_t left = end - p;
            __m128i to_front = binx_crc_load(binx_crc_window + 16 + left);
            __m128i first = _mm_shuffle_epi8(sum, binx_crc_load(binx_crc_window + left));
            __m128i last = _mm_shuffle_epi8(sum, to_front);
            last = _mm_blendv_epi8(last, binx_crc_load(end - 16), to_front);
            sum = _mm_xor_si128(binx_crc_moved(first, over_128), last);
        }
        /* 128 bits to 96, then Barrett: the remainder is the sum less the quotient times P. */
        low = binx_crc_load(binx_crc_reduce);
        sum = _mm_xor_si128(_mm_clmulepi64_si128(sum, low, 0x00), _mm_srli_si128(sum, 8));
        low = _mm_clmulepi64_si128(
            _mm_clmulepi64_si128(sum, _mm_cvtsi64_si128((long long)binx_crc_quotient), 0x00), low, 0x10);
        return ~(uint32_t)_mm_extract_epi32(_mm_xor_si128(sum, low), 2);
    }

    BINX_CRC_TARGET static uint32_t binx_crc_pclmul(uint32_t seed, const uint8_t *p, int64_t size)
    {
        const uint8_t *end = p + size;
        __m128i sum;
        if (size < 16)
            return binx_crc_tables(seed, p, size);
        sum = _mm_xor_si128(binx_crc_load(p), _mm_cvtsi32_si128((int)~seed));
        p += 16;
        if (size >= 64) {
            __m128i over = binx_crc_load(binx_crc_over_512);
            __m128i b = binx_crc_load(p), c = binx_crc_load(p + 16), d = binx_crc_load(p + 32);
            for (p += 48; end - p >= 64; p += 64) {
                sum = _mm_xor_si128(binx_crc_moved(sum, over), binx_crc_load(p));
                b = _mm_xor_si128(binx_crc_moved(b, over), binx_crc_load(p + 16));
                c = _mm_xor_si128(binx_crc_moved(c, over), binx_crc_load(p + 32));
                d = _mm_xor_si128(binx_crc_moved(d, over), binx_crc_load(p + 48));
            }
            sum = _mm_xor_si128(binx_crc_moved(sum, binx_crc_load(binx_crc_over_384)),
                                binx_crc_moved(b, binx_crc_load(binx_crc_over_256)));
            c = binx_crc_moved(c, binx_crc_load(binx_crc_over_128));
            sum = _mm_xor_si128(_mm_xor_si128(sum, c), d);
        }
        return binx_crc_finish(sum, p, end);
    }

    #endif

    static binx_crc_function binx_crc = binx_crc_tables;

    static void binx_crc_prepare(void)
    {
        binx_crc_make_tables();
    #if defined(BINX_CRC_PCLMUL)
        if (__builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1"))
            binx_crc = binx_crc_pclmul;
    #endif
    }
    """
    ctypedef uint32_t (*CrcFunction "binx_crc_function")(uint32_t, const uint8_t *, int64_t) noexcept nogil
    CrcFunction chosen "binx_crc"
    uint32_t by_tables "binx_crc_tables"(uint32_t seed, const uint8_t *data, int64_t size) noexcept nogil
    void prepare "binx_crc_prepare"() noexcept nogil


prepare()


cdef uint32_t crc32(uint32_t seed, const uint8_t *data, int64_t size) noexcept nogil:
    """The CRC32 of ``size`` bytes that follow bytes whose CRC32 is ``seed`` (0 at the start)."""
    return chosen(seed, data, size)


def checksum(const uint8_t[::1] data not None, uint32_t seed=0) -> int:
    cdef uint32_t result
    with nogil:
        result = crc32(seed, &data[0], data.shape[0])
    return result


def checksum_by_tables(const uint8_t[::1] data not None, uint32_t seed=0) -> int:
    return by_tables(seed, &data[0], data.shape[0])


def backend() -> str:
    return "tables" if chosen == by_tables else "pclmul"
