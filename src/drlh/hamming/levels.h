/* The innermost loops, once for each level and width.
 *
 * A filter finds the codes nearer than a bound. Its vector part only asks whether any of a group of codes is; as bounds
 * shrink quickly that is rare, and then the group is compared one by one in plain C. So vectors need no order, and every
 * level and width shares the rest.
 */
#ifndef DRLH_LEVELS_H
#define DRLH_LEVELS_H

#include <string.h>

#include "kernel.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define X86 1
#include <immintrin.h>
#elif defined(__aarch64__)
#define ARM 1
#include <arm_neon.h>
#endif

#define INLINE static inline __attribute__((always_inline))

/* (place << 16 | distance) of the codes nearer than `bound`, in order, into `found`; returns how many. */
typedef size_t filter_function(const uint8_t *bytes, size_t n, const uint8_t *query, size_t width, unsigned bound,
                               uint32_t *found);
/* The distance of every code. */
typedef void distances_function(const uint8_t *bytes, size_t n, const uint8_t *query, size_t width, uint16_t *distances);

INLINE unsigned distance(const uint8_t *left, const uint8_t *right, size_t width) {
    unsigned total = 0;
    size_t at = 0;
    for (; at + 8 <= width; at += 8) {
        uint64_t a, b;
        memcpy(&a, left + at, 8);
        memcpy(&b, right + at, 8);
        total += (unsigned)__builtin_popcountll(a ^ b);
    }
    if (at < width) {
        uint64_t a = 0, b = 0;
        memcpy(&a, left + at, width - at);
        memcpy(&b, right + at, width - at);
        total += (unsigned)__builtin_popcountll(a ^ b);
    }
    return total;
}

/* The filter's plain part: places `at` to `end`. */
INLINE size_t compare(const uint8_t *bytes, size_t at, size_t end, const uint8_t *query, size_t width, unsigned bound,
                      uint32_t *found) {
    size_t n_found = 0;
    for (; at < end; at++) {
        unsigned d = distance(bytes + at * width, query, width);
        found[n_found] = (uint32_t)(at << 16 | d); /* written always, counted sometimes: no branch to guess */
        n_found += d < bound;
    }
    return n_found;
}

#define DEFINE_PLAIN(NAME, WIDTH, TARGET)                                                                             \
    TARGET static size_t filter_##NAME(const uint8_t *bytes, size_t n, const uint8_t *query, size_t width,            \
                                       unsigned bound, uint32_t *found) {                                             \
        (void)width;                                                                                                  \
        return compare(bytes, 0, n, query, WIDTH, bound, found);                                                      \
    }                                                                                                                 \
    DEFINE_DISTANCES(NAME, WIDTH, TARGET)

#define DEFINE_DISTANCES(NAME, WIDTH, TARGET)                                                                         \
    TARGET static void distances_##NAME(const uint8_t *restrict bytes, size_t n, const uint8_t *restrict query,       \
                                        size_t width, uint16_t *restrict distances) {                                 \
        (void)width;                                                                                                  \
        for (size_t at = 0; at < n; at++) distances[at] = (uint16_t)distance(bytes + at * (WIDTH), query, WIDTH);     \
    }

/* VECTOR any_NAME(codes, broadcast query, broadcast bound) looks at GROUP codes. */
#define DEFINE_FILTER(NAME, WIDTH, GROUP, TARGET, VECTOR, QUERY, BOUND)                                               \
    TARGET static size_t filter_##NAME(const uint8_t *bytes, size_t n, const uint8_t *query, size_t width,            \
                                       unsigned bound, uint32_t *found) {                                             \
        const VECTOR spread_query = QUERY(query), spread_bound = BOUND(bound);                                        \
        size_t n_found = 0, at = 0;                                                                                   \
        (void)width;                                                                                                  \
        for (; at + GROUP <= n; at += GROUP)                                                                          \
            if (__builtin_expect(any_##NAME(bytes + at * WIDTH, spread_query, spread_bound), 0))                      \
                n_found += compare(bytes, at, at + GROUP, query, WIDTH, bound, found + n_found);                      \
        return n_found + compare(bytes, at, n, query, WIDTH, bound, found + n_found);                                 \
    }                                                                                                                 \
    DEFINE_DISTANCES(NAME, WIDTH, TARGET)

DEFINE_PLAIN(plain_4, 4, )
DEFINE_PLAIN(plain_8, 8, )
DEFINE_PLAIN(plain_16, 16, )
DEFINE_PLAIN(plain_32, 32, )
DEFINE_PLAIN(plain_any, width, )

#ifdef X86

/* --- AVX-512 with VPOPCNTDQ: 64 bytes at once, counted by one instruction --- */

#define T512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vpopcntdq,popcnt")))
#define INLINE512 T512 INLINE

INLINE512 __m512i query512_4(const uint8_t *query) {
    int32_t word;
    memcpy(&word, query, 4);
    return _mm512_set1_epi32(word);
}
INLINE512 __m512i query512_8(const uint8_t *query) {
    int64_t word;
    memcpy(&word, query, 8);
    return _mm512_set1_epi64(word);
}
INLINE512 __m512i query512_16(const uint8_t *query) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)query));
}
INLINE512 __m512i query512_32(const uint8_t *query) {
    return _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i *)query));
}
INLINE512 __m512i bound512_32(unsigned bound) { return _mm512_set1_epi32((int)bound); }
INLINE512 __m512i bound512_64(unsigned bound) { return _mm512_set1_epi64((int64_t)bound); }

/* Ones in each word of the `place`-th 64 bytes. */
INLINE512 __m512i ones512_32(const uint8_t *bytes, int place, __m512i query) {
    return _mm512_popcnt_epi32(_mm512_xor_si512(_mm512_loadu_si512(bytes + 64 * place), query));
}
INLINE512 __m512i ones512_64(const uint8_t *bytes, int place, __m512i query) {
    return _mm512_popcnt_epi64(_mm512_xor_si512(_mm512_loadu_si512(bytes + 64 * place), query));
}
/* The minimum of 32-bit words will do for 64-bit ones whose upper halves are zero, and is the cheaper instruction. */
INLINE512 __m512i least512(__m512i a, __m512i b, __m512i c, __m512i d) {
    return _mm512_min_epu32(_mm512_min_epu32(a, b), _mm512_min_epu32(c, d));
}
/* Sums of neighbouring words of a and b: 8 codes of 16 bytes. */
INLINE512 __m512i paired512(__m512i a, __m512i b) {
    return _mm512_add_epi64(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}
INLINE512 __m512i sums512_16(const uint8_t *bytes, int place, __m512i query) {
    return paired512(ones512_64(bytes, place, query), ones512_64(bytes, place + 1, query));
}
INLINE512 __m512i sums512_32(const uint8_t *bytes, int place, __m512i query) {
    __m512i a = sums512_16(bytes, place, query), b = sums512_16(bytes, place + 2, query);
    return _mm512_add_epi64(_mm512_shuffle_i64x2(a, b, 0x88), _mm512_shuffle_i64x2(a, b, 0xDD));
}
INLINE512 int any_avx512_4(const uint8_t *bytes, __m512i query, __m512i bound) {
    __m512i least = least512(ones512_32(bytes, 0, query), ones512_32(bytes, 1, query), ones512_32(bytes, 2, query),
                             ones512_32(bytes, 3, query));
    return _mm512_cmplt_epu32_mask(least, bound) != 0;
}
INLINE512 int any_avx512_8(const uint8_t *bytes, __m512i query, __m512i bound) {
    __m512i first = least512(ones512_64(bytes, 0, query), ones512_64(bytes, 1, query), ones512_64(bytes, 2, query),
                             ones512_64(bytes, 3, query));
    __m512i second = least512(ones512_64(bytes, 4, query), ones512_64(bytes, 5, query), ones512_64(bytes, 6, query),
                              ones512_64(bytes, 7, query));
    return _mm512_cmplt_epu64_mask(_mm512_min_epu32(first, second), bound) != 0;
}
INLINE512 int any_avx512_16(const uint8_t *bytes, __m512i query, __m512i bound) {
    __m512i least = least512(sums512_16(bytes, 0, query), sums512_16(bytes, 2, query), sums512_16(bytes, 4, query),
                             sums512_16(bytes, 6, query));
    return _mm512_cmplt_epu64_mask(least, bound) != 0;
}
INLINE512 int any_avx512_32(const uint8_t *bytes, __m512i query, __m512i bound) {
    __m512i least = _mm512_min_epu32(sums512_32(bytes, 0, query), sums512_32(bytes, 4, query));
    return _mm512_cmplt_epu64_mask(least, bound) != 0;
}
/* Codes of 4 bytes lie in short buckets and pass often: which ones of sixteen do is read from the vector, and the last ones
 * of a bucket are masked. */
INLINE512 size_t list512_4(const uint8_t *bytes, size_t at, size_t n, __m512i query, __m512i bound, uint32_t *found) {
    __mmask16 mask = (__mmask16)(n < 16 ? (1u << n) - 1 : 0xFFFF);
    __m512i ones = _mm512_popcnt_epi32(_mm512_xor_si512(_mm512_maskz_loadu_epi32(mask, bytes + at * 4), query));
    __mmask16 nearer = _mm512_mask_cmplt_epu32_mask(mask, ones, bound);
    if (__builtin_expect(!nearer, 1)) return 0;
    uint32_t distances[16];
    _mm512_storeu_si512(distances, ones);
    size_t n_found = 0;
    for (unsigned left = nearer; left; left &= left - 1) {
        unsigned place = (unsigned)__builtin_ctz(left);
        found[n_found++] = (uint32_t)((at + place) << 16 | distances[place]);
    }
    return n_found;
}
T512 static size_t filter_avx512_4(const uint8_t *bytes, size_t n, const uint8_t *query, size_t width, unsigned bound,
                                   uint32_t *found) {
    const __m512i spread_query = query512_4(query), spread_bound = bound512_32(bound);
    size_t n_found = 0, at = 0;
    (void)width;
    for (; at + 64 <= n; at += 64)
        if (__builtin_expect(any_avx512_4(bytes + at * 4, spread_query, spread_bound), 0))
            for (size_t place = at; place < at + 64; place += 16)
                n_found += list512_4(bytes, place, 16, spread_query, spread_bound, found + n_found);
    for (; at < n; at += 16) n_found += list512_4(bytes, at, n - at, spread_query, spread_bound, found + n_found);
    return n_found;
}
DEFINE_DISTANCES(avx512_4, 4, T512)
DEFINE_FILTER(avx512_8, 8, 64, T512, __m512i, query512_8, bound512_64)
DEFINE_FILTER(avx512_16, 16, 32, T512, __m512i, query512_16, bound512_64)
DEFINE_FILTER(avx512_32, 32, 16, T512, __m512i, query512_32, bound512_64)
DEFINE_PLAIN(avx512_any, width, T512)

/* --- AVX2: 32 bytes at once, ones of half-bytes looked up in a register --- */

#define T256 __attribute__((target("avx2,popcnt")))
#define INLINE256 T256 INLINE

INLINE256 __m256i query256_4(const uint8_t *query) {
    int32_t word;
    memcpy(&word, query, 4);
    return _mm256_set1_epi32(word);
}
INLINE256 __m256i query256_8(const uint8_t *query) {
    int64_t word;
    memcpy(&word, query, 8);
    return _mm256_set1_epi64x(word);
}
INLINE256 __m256i query256_16(const uint8_t *query) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)query));
}
INLINE256 __m256i query256_32(const uint8_t *query) { return _mm256_loadu_si256((const __m256i *)query); }
INLINE256 __m256i bound256_32(unsigned bound) { return _mm256_set1_epi32((int)bound); }
INLINE256 __m256i bound256_64(unsigned bound) { return _mm256_set1_epi64x((int64_t)bound); }

/* Ones in each byte of the `place`-th 32 bytes. */
INLINE256 __m256i ones256(const uint8_t *bytes, int place, __m256i query) {
    const __m256i half = _mm256_set1_epi8(0x0F);
    const __m256i ones = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, /* of 0 to 15 */
                                          0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
    __m256i differing = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(bytes + 32 * place)), query);
    __m256i low = _mm256_and_si256(differing, half), high = _mm256_and_si256(_mm256_srli_epi16(differing, 4), half);
    return _mm256_add_epi8(_mm256_shuffle_epi8(ones, low), _mm256_shuffle_epi8(ones, high));
}
INLINE256 __m256i sums256_4(const uint8_t *bytes, int place, __m256i query) {
    __m256i pairs = _mm256_maddubs_epi16(ones256(bytes, place, query), _mm256_set1_epi8(1));
    return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}
INLINE256 __m256i sums256_8(const uint8_t *bytes, int place, __m256i query) {
    return _mm256_sad_epu8(ones256(bytes, place, query), _mm256_setzero_si256());
}
/* Sums of neighbouring words: 4 codes of 16 bytes. */
INLINE256 __m256i sums256_16(const uint8_t *bytes, int place, __m256i query) {
    __m256i a = sums256_8(bytes, place, query), b = sums256_8(bytes, place + 1, query);
    return _mm256_add_epi64(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
}
INLINE256 __m256i sums256_32(const uint8_t *bytes, int place, __m256i query) {
    __m256i a = sums256_16(bytes, place, query), b = sums256_16(bytes, place + 2, query);
    return _mm256_add_epi64(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31));
}
INLINE256 int below256(__m256i a, __m256i b, __m256i c, __m256i d, __m256i bound) {
    __m256i least = _mm256_min_epu32(_mm256_min_epu32(a, b), _mm256_min_epu32(c, d));
    __m256i nearer = _mm256_cmpgt_epi32(bound, least); /* false in the zero upper halves of 64-bit words */
    return !_mm256_testz_si256(nearer, nearer);
}
INLINE256 int any_avx2_4(const uint8_t *bytes, __m256i query, __m256i bound) {
    return below256(sums256_4(bytes, 0, query), sums256_4(bytes, 1, query), sums256_4(bytes, 2, query),
                    sums256_4(bytes, 3, query), bound);
}
INLINE256 int any_avx2_8(const uint8_t *bytes, __m256i query, __m256i bound) {
    return below256(sums256_8(bytes, 0, query), sums256_8(bytes, 1, query), sums256_8(bytes, 2, query),
                    sums256_8(bytes, 3, query), bound);
}
INLINE256 int any_avx2_16(const uint8_t *bytes, __m256i query, __m256i bound) {
    return below256(sums256_16(bytes, 0, query), sums256_16(bytes, 2, query), sums256_16(bytes, 4, query),
                    sums256_16(bytes, 6, query), bound);
}
INLINE256 int any_avx2_32(const uint8_t *bytes, __m256i query, __m256i bound) {
    __m256i a = sums256_32(bytes, 0, query), b = sums256_32(bytes, 4, query);
    return below256(a, b, a, b, bound);
}
DEFINE_FILTER(avx2_4, 4, 32, T256, __m256i, query256_4, bound256_32)
DEFINE_FILTER(avx2_8, 8, 16, T256, __m256i, query256_8, bound256_64)
DEFINE_FILTER(avx2_16, 16, 16, T256, __m256i, query256_16, bound256_64)
DEFINE_FILTER(avx2_32, 32, 8, T256, __m256i, query256_32, bound256_64)
DEFINE_PLAIN(avx2_any, width, T256)

#endif

#ifdef ARM

/* --- NEON: 16 bytes at once, ones of each byte by one instruction --- */

INLINE uint8x16_t query128_4(const uint8_t *query) {
    uint32_t word;
    memcpy(&word, query, 4);
    return vreinterpretq_u8_u32(vdupq_n_u32(word));
}
INLINE uint8x16_t query128_8(const uint8_t *query) { return vcombine_u8(vld1_u8(query), vld1_u8(query)); }
INLINE uint8x16_t query128_16(const uint8_t *query) { return vld1q_u8(query); }
INLINE uint8x16_t bound128(unsigned bound) { return vreinterpretq_u8_u32(vdupq_n_u32(bound)); }

INLINE uint8x16_t ones128(const uint8_t *bytes, int place, uint8x16_t query) {
    return vcntq_u8(veorq_u8(vld1q_u8(bytes + 16 * place), query));
}
/* Ones in each 32-bit word. */
INLINE uint32x4_t sums128_4(const uint8_t *bytes, int place, uint8x16_t query) {
    return vpaddlq_u16(vpaddlq_u8(ones128(bytes, place, query)));
}
/* 4 codes of 8 bytes, then 4 of 16. */
INLINE uint32x4_t sums128_8(const uint8_t *bytes, int place, uint8x16_t query) {
    return vpaddq_u32(sums128_4(bytes, place, query), sums128_4(bytes, place + 1, query));
}
INLINE uint32x4_t sums128_16(const uint8_t *bytes, int place, uint8x16_t query) {
    return vpaddq_u32(sums128_8(bytes, place, query), sums128_8(bytes, place + 2, query));
}
INLINE int below128(uint32x4_t a, uint32x4_t b, uint8x16_t bound) {
    return vmaxvq_u32(vcltq_u32(vminq_u32(a, b), vreinterpretq_u32_u8(bound))) != 0;
}
INLINE int any_neon_4(const uint8_t *bytes, uint8x16_t query, uint8x16_t bound) {
    return below128(vminq_u32(sums128_4(bytes, 0, query), sums128_4(bytes, 1, query)),
                    vminq_u32(sums128_4(bytes, 2, query), sums128_4(bytes, 3, query)), bound);
}
INLINE int any_neon_8(const uint8_t *bytes, uint8x16_t query, uint8x16_t bound) {
    return below128(vminq_u32(sums128_8(bytes, 0, query), sums128_8(bytes, 2, query)),
                    vminq_u32(sums128_8(bytes, 4, query), sums128_8(bytes, 6, query)), bound);
}
INLINE int any_neon_16(const uint8_t *bytes, uint8x16_t query, uint8x16_t bound) {
    return below128(sums128_16(bytes, 0, query), sums128_16(bytes, 4, query), bound);
}
DEFINE_FILTER(neon_4, 4, 16, , uint8x16_t, query128_4, bound128)
DEFINE_FILTER(neon_8, 8, 16, , uint8x16_t, query128_8, bound128)
DEFINE_FILTER(neon_16, 16, 8, , uint8x16_t, query128_16, bound128)

#endif

/* --- which of them runs --- */

INLINE int place_of_width(size_t width) { return width == 4 ? 0 : width == 8 ? 1 : width == 16 ? 2 : width == 32 ? 3 : 4; }

static filter_function *filter_of(enum level level, size_t width) {
    static filter_function *const filters[N_LEVELS][5] = {
        [PLAIN] = {filter_plain_4, filter_plain_8, filter_plain_16, filter_plain_32, filter_plain_any},
#ifdef X86
        [AVX2] = {filter_avx2_4, filter_avx2_8, filter_avx2_16, filter_avx2_32, filter_avx2_any},
        [AVX512] = {filter_avx512_4, filter_avx512_8, filter_avx512_16, filter_avx512_32, filter_avx512_any},
#endif
#ifdef ARM /* compilers make vectors of the plain loop over longer codes by themselves */
        [NEON] = {filter_neon_4, filter_neon_8, filter_neon_16, filter_plain_32, filter_plain_any},
#endif
    };
    return filters[level][place_of_width(width)];
}

static distances_function *distances_of(enum level level, size_t width) {
    static distances_function *const functions[N_LEVELS][5] = {
        [PLAIN] = {distances_plain_4, distances_plain_8, distances_plain_16, distances_plain_32, distances_plain_any},
#ifdef X86
        [AVX2] = {distances_avx2_4, distances_avx2_8, distances_avx2_16, distances_avx2_32, distances_avx2_any},
        [AVX512] = {distances_avx512_4, distances_avx512_8, distances_avx512_16, distances_avx512_32,
                    distances_avx512_any},
#endif
#ifdef ARM
        [NEON] = {distances_neon_4, distances_neon_8, distances_neon_16, distances_plain_32, distances_plain_any},
#endif
    };
    return functions[level][place_of_width(width)];
}

#endif
