/* Exact scans over packed binary codes by Hamming distance: plain C, no Python.
 *
 * A set of codes is n rows of `width` bytes, one after another, at any address. All orders are by (distance, row).
 */
#ifndef DRLH_KERNEL_H
#define DRLH_KERNEL_H

#include <stddef.h>
#include <stdint.h>

/* What the processor offers; a higher one is faster. */
enum level { PLAIN, NEON, AVX2, AVX512, N_LEVELS };

enum {
    MAX_WIDTH = 4096,  /* bytes a code: distances and places within a block fit 16 bits each */
    MAX_ROW_BITS = 40, /* of a row's number: it is kept in 64 bits together with its distance */
};

typedef struct {
    const uint8_t *bytes;
    size_t n;
    size_t width;
} codes;

/* Whether this build and this processor can run `level`. */
int level_available(enum level level);

/* The k nearest of `database` for each query: `distances` and `rows` (queries.n, k); 1 <= k <= database.n.
 *
 * With `query_details` and `details` (NULL otherwise) the order is (distance, distance of details, row), and
 * `detail_distances` (queries.n, k) is filled too. Returns 0, or -1 where memory ran out. */
int nearest(enum level level, codes queries, codes database, const codes *query_details, const codes *details, size_t k,
            int64_t *distances, int64_t *detail_distances, int64_t *rows);

/* Distinct codes, each with the ascending list of its numbers: that of code i is numbers[ends[i - 1]] to numbers[ends[i]],
 * and codes come in the order of their first numbers. */
typedef struct {
    codes distinct;
    const int64_t *ends;
    const void *numbers;
    size_t n_numbers, number_bytes; /* 4 (unsigned) or 8 (signed) bytes each */
} lists;

/* `nearest` by (distance, number): `numbers` (queries.n, k), 1 <= k <= n_numbers.
 * Returns 1 where ends or the number of numbers are wrong. */
int nearest_in_lists(enum level level, codes queries, lists database, size_t k, int64_t *distances, int64_t *numbers);

/* Codes of at most 48 bits, in the order of their first 16, without these: bucket b, which holds the codes that begin
 * with the 16-bit number b, is rows starts[b] to starts[b + 1]. */
enum { N_BUCKETS = 1 << 16 };

typedef struct {
    codes rest;              /* the other 32 bits: n rows of 4 bytes */
    const int64_t *starts;   /* N_BUCKETS + 1, ascending from 0 to n */
    const uint32_t *numbers; /* of each row: ties go by these; all different */
} buckets;

/* `nearest` by (distance, number) for queries of 8 bytes, in every `step`-th run of buckets from `first`: `numbers` (queries.n, k).
 * A bucket whose 16 bits alone are too far away is not read. Where there are less than k, `numbers` ends in -1. */
int nearest_in_buckets(enum level level, codes queries, buckets database, size_t first, size_t step, size_t k,
                       int64_t *distances, int64_t *numbers);

/* One code within a radius of one query. */
typedef struct {
    int64_t row;
    int32_t query;
    int32_t distance;
} hit;

/* All codes within `radius`, by (query, row). `*hits` is to be freed by the caller.
 * Returns 0, -1 where memory ran out, or 1 where there are more than `max_hits`. */
int within(enum level level, codes queries, codes database, unsigned radius, size_t max_hits, hit **hits, size_t *n_hits);

/* How marks of two items become a grade: class numbers are equal or not; bit masks share a number of bits. */
enum marks { EQUAL, SHARED };

/* Adds to `counts` (queries.n, n_grades, n_levels) how many codes lie at each distance, by grade.
 *
 * Marks are `mark_words` numbers of 64 bits an item. A grade above n_grades - 1 counts as that.
 * Returns 0, -1 where memory ran out, or 1 where a distance is not below n_levels. */
int count_levels(enum level level, codes queries, codes database, enum marks marks, size_t mark_words,
                 const uint64_t *query_marks, const uint64_t *database_marks, size_t n_grades, size_t n_levels,
                 int64_t *counts);

#endif
