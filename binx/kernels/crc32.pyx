# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The CRC32 that ends every event of a binary log, fast on small events.

Events are many and short, so what counts is the cost of a call, not only the
speed on long buffers; zlib's headers cannot be assumed where binx is compiled,
and a call into Python for each event costs more than the sum itself. Four
implementations stand here, and the fastest that compiler and processor have is
chosen at import:

``vpclmul``
    the next one's four lanes in one AVX-512 register; the data begins behind zeros, so that it ends with one.
``pclmul``
    carry-less multiplication on x86-64: four lanes of 128 bits folded over the
    data, then Barrett reduction (V. Gopal and others, "Fast CRC Computation for
    Generic Polynomials Using PCLMULQDQ Instruction", Intel, 2009).
``armv8``
    the CRC32 instructions of ARMv8, eight bytes a step.
``tables``
    sixteen tables of 256 entries, sixteen bytes a step; runs anywhere.

All tables and constants are computed at import from the polynomial alone.
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
       distance of n bits is x^(n-1) mod P. Of each pair, the first moves a block's earlier half, the second
       its later half. */
    static uint64_t binx_crc_over_128[2], binx_crc_over_512[2], binx_crc_over_2048[2];
    static uint64_t binx_crc_lanes[8];   /* over 384, 256, 128 bits and nothing: brings four lanes together */
    static uint64_t binx_crc_reduce[2];  /* x^95 mod P, P */
    static uint64_t binx_crc_quotient;   /* the quotient of x^95 by P */
    static uint8_t binx_crc_window[48];  /* -1 x 16, 0 1 .. 15, -1 x 16: a sliding byte shuffle */

    /* x^n mod P in 32 bits, bit 0 standing for x^31. */
    static uint32_t binx_crc_power(int n)
    {
        uint32_t value = 0x80000000u;
        for (; n > 0; n--)
            value = value >> 1 ^ (value & 1 ? BINX_CRC_POLYNOMIAL : 0);
        return value;
    }

    static void binx_crc_make_pair(uint64_t pair[2], int distance)
    {
        pair[0] = (uint64_t)binx_crc_power(distance + 63) << 32;
        pair[1] = (uint64_t)binx_crc_power(distance - 1) << 32;
    }

    static void binx_crc_make_pclmul(void)
    {
        uint32_t rest = 0x80000000u;
        int i;
        binx_crc_make_pair(binx_crc_over_128, 128);
        binx_crc_make_pair(binx_crc_over_512, 512);
        binx_crc_make_pair(binx_crc_over_2048, 2048);
        for (i = 0; i < 3; i++)
            binx_crc_make_pair(binx_crc_lanes + 2 * i, 384 - 128 * i);
        binx_crc_reduce[0] = binx_crc_power(95);
        binx_crc_reduce[1] = (uint64_t)BINX_CRC_POLYNOMIAL << 1 | 1;
        /* Long division of x^95: the quotient's bit for x^63 first, then each step's overflow. */
        binx_crc_quotient = 0;
        for (i = 1; i <= 95; i++) {
            if (i >= 32 && (rest & 1))
                binx_crc_quotient |= (uint64_t)1 << (i - 32);
            rest = rest >> 1 ^ (rest & 1 ? BINX_CRC_POLYNOMIAL : 0);
        }
        memset(binx_crc_window, 0x80, sizeof binx_crc_window);
        for (i = 0; i < 16; i++)
            binx_crc_window[16 + i] = (uint8_t)i;
    }

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
            sum = _mm_xor_si128(binx_crc_moved(sum, binx_crc_load(binx_crc_lanes)),
                                binx_crc_moved(b, binx_crc_load(binx_crc_lanes + 2)));
            c = binx_crc_moved(c, binx_crc_load(binx_crc_lanes + 4));
            sum = _mm_xor_si128(_mm_xor_si128(sum, c), d);
        }
        return binx_crc_finish(sum, p, end);
    }

    #if (defined(__clang__) && __clang_major__ >= 9) || (!defined(__clang__) && __GNUC__ >= 9)
    #define BINX_CRC_VPCLMUL 1
    #define BINX_CRC_WIDE_TARGET __attribute__((target("pclmul,sse4.1,avx512f,avx512vl,avx512bw,vpclmulqdq")))

    /* What the start of a sum of nothing before is added to: its bytes stand behind 64 zeros. */
    static uint8_t binx_crc_start[192];

    BINX_CRC_WIDE_TARGET static inline __m512i binx_crc_wide_moved(__m512i block, __m512i pair, __m512i next)
    {
        return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(block, pair, 0x00),
                                         _mm512_clmulepi64_epi128(block, pair, 0x11), next, 0x96);
    }

    /* The four lanes in one register, and four such registers where the data is long enough for them.

       Zeros before the data change nothing but where the start of the sum belongs, so the first register has the
       data's first bytes behind zeros, as many as leave whole registers: no steps for the last bytes, whose
       number no branch predictor knows. */
    BINX_CRC_WIDE_TARGET static uint32_t binx_crc_vpclmul(uint32_t seed, const uint8_t *p, int64_t size)
    {
        const uint8_t *start = binx_crc_start, *end = p + size;
        unsigned int odd = (unsigned int)size & 63;
        uint8_t seeded[192];
        __m512i sum, over_512;
        __m128i last;
        if (size < 16)
            return binx_crc_tables(seed, p, size);
        if (seed) {
            uint32_t begun = ~seed;
            memset(seeded, 0, sizeof seeded);
            memcpy(seeded + 64, &begun, sizeof begun);
            start = seeded;
        }
        /* Bytes before the data are masked, and so not read. */
        sum = _mm512_maskz_loadu_epi8(~(~(__mmask64)0 >> odd), (const void *)((uintptr_t)p + odd - 64));
        sum = _mm512_xor_si512(sum, _mm512_loadu_si512(start + odd));
        p += odd;
        over_512 = _mm512_broadcast_i32x4(binx_crc_load(binx_crc_over_512));
        if (size >= 64) {
            /* Of the start, what the first register had no room for. */
            __m512i next = _mm512_xor_si512(_mm512_loadu_si512(p), _mm512_loadu_si512(start + 64 + odd));
            sum = binx_crc_wide_moved(sum, over_512, next);
            p += 64;
        }
        if (size >= 512) {
            __m512i over = _mm512_broadcast_i32x4(binx_crc_load(binx_crc_over_2048));
            __m512i b = _mm512_loadu_si512(p);
            __m512i c = _mm512_loadu_si512(p + 64);
            __m512i d = _mm512_loadu_si512(p + 128);
            for (p += 192; end - p >= 256; p += 256) {
                sum = binx_crc_wide_moved(sum, over, _mm512_loadu_si512(p));
                b = binx_crc_wide_moved(b, over, _mm512_loadu_si512(p + 64));
                c = binx_crc_wide_moved(c, over, _mm512_loadu_si512(p + 128));
                d = binx_crc_wide_moved(d, over, _mm512_loadu_si512(p + 192));
            }
            b = binx_crc_wide_moved(sum, over_512, b);
            c = binx_crc_wide_moved(b, over_512, c);
            sum = binx_crc_wide_moved(c, over_512, d);
        }
        for (; end - p >= 64; p += 64)
            sum = binx_crc_wide_moved(sum, over_512, _mm512_loadu_si512(p));
        last = _mm512_extracti32x4_epi32(sum, 3);
        sum = binx_crc_wide_moved(sum, _mm512_loadu_si512(binx_crc_lanes), _mm512_setzero_si512());
        last = _mm_xor_si128(_mm_xor_si128(last, _mm512_castsi512_si128(sum)),
                             _mm_xor_si128(_mm512_extracti32x4_epi32(sum, 1),
                                           _mm512_extracti32x4_epi32(sum, 2)));
        return binx_crc_finish(last, end, end);
    }
    #endif
    #endif

    #if defined(__aarch64__) && !defined(__AARCH64EB__)
    #if defined(__ARM_FEATURE_CRC32)
    #define BINX_CRC_ARMV8 1
    #define BINX_CRC_ARM_TARGET
    #elif defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
    /* The first ARMv8 processors lack the instructions, and gcc leaves them out unless told otherwise. */
    #define BINX_CRC_ARMV8 1
    #define BINX_CRC_ARM_TARGET __attribute__((target("+crc")))
    #define BINX_CRC_ARM_ASKS 1
    #include <sys/auxv.h>
    #include <asm/hwcap.h>
    #endif
    #endif

    #if defined(BINX_CRC_ARMV8)
    #include <arm_acle.h>

    BINX_CRC_ARM_TARGET static uint32_t binx_crc_armv8(uint32_t seed, const uint8_t *p, int64_t size)
    {
        uint32_t sum = ~seed;
        uint64_t word;
        for (; size >= 8; p += 8, size -= 8) {
            memcpy(&word, p, 8);
            sum = __crc32d(sum, word);
        }
        for (; size > 0; p++, size--)
            sum = __crc32b(sum, *p);
        return ~sum;
    }
    #endif

    static binx_crc_function binx_crc = binx_crc_tables;

    static const struct binx_crc_backend {
        const char *name;
        binx_crc_function function;
    } binx_crc_backends[] = {
    #if defined(BINX_CRC_VPCLMUL)
        {"vpclmul", binx_crc_vpclmul},
    #endif
    #if defined(BINX_CRC_PCLMUL)
        {"pclmul", binx_crc_pclmul},
    #endif
    #if defined(BINX_CRC_ARMV8)
        {"armv8", binx_crc_armv8},
    #endif
        {"tables", binx_crc_tables},
    };

    static const int binx_crc_backend_count = sizeof binx_crc_backends / sizeof binx_crc_backends[0];

    static int binx_crc_runs_here(int i)
    {
    #if defined(BINX_CRC_VPCLMUL)
        if (binx_crc_backends[i].function == binx_crc_vpclmul)
            return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")
                   && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("vpclmulqdq");
    #endif
    #if defined(BINX_CRC_PCLMUL)
        if (binx_crc_backends[i].function == binx_crc_pclmul)
            return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
    #endif
    #if defined(BINX_CRC_ARM_ASKS)
        if (binx_crc_backends[i].function == binx_crc_armv8)
            return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
    #endif
        (void)i;
        return 1;
    }

    static void binx_crc_prepare(void)
    {
        int i = 0;
        binx_crc_make_tables();
    #if defined(BINX_CRC_PCLMUL)
        binx_crc_make_pclmul();
    #endif
    #if defined(BINX_CRC_VPCLMUL)
        memset(binx_crc_start + 64, 0xFF, 4);
    #endif
        while (!binx_crc_runs_here(i))
            i++;
        binx_crc = binx_crc_backends[i].function;
    }
    """
    ctypedef uint32_t (*CrcFunction "binx_crc_function")(uint32_t, const uint8_t *, int64_t) noexcept nogil
    ctypedef struct Backend "const struct binx_crc_backend":
        const char *name
        CrcFunction function
    CrcFunction chosen "binx_crc"
    Backend table_of_backends "binx_crc_backends"[]
    int backend_count "binx_crc_backend_count"
    bint runs_here "binx_crc_runs_here"(int i) noexcept nogil
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


def backend() -> str:
    return backends()[0]


def backends() -> tuple[str, ...]:
    return tuple([table_of_backends[i].name.decode("ascii") for i in range(backend_count) if runs_here(i)])


def checksum_by(str backend, const uint8_t[::1] data not None, uint32_t seed=0) -> int:
    cdef bytes name = backend.encode()
    cdef int i
    for i in range(backend_count):
        if runs_here(i) and table_of_backends[i].name == name:
            return table_of_backends[i].function(seed, &data[0], data.shape[0])
    raise ValueError(f"expected one of {', '.join(backends())}, found {backend!r}")
