#include "kernel.h"

#include <stdlib.h>

#include "levels.h"

enum {
    BLOCK_BYTES = 16 << 10,      /* of codes: they stay in the first cache while all queries of a batch pass over them */
    FIRST_BLOCK = 256,           /* codes: a short one gives the first bound */
    QUERIES = 64,                /* that pass over a block together */
    FEW_QUERIES = 4,             /* wait for memory rather than compute */
    MANY_QUERIES = 16,           /* compute while the next codes come */
    LARGE = 8 << 20,             /* bytes of codes: more than a core's own caches hold */
    STREAMS = 8,
    STREAM_BYTES = 1 << 10,      /* read in turn from each stream */
    RUN_CODES = 2048,            /* at least, in buckets that are filtered together */
    CHUNK = 1 << 14,             /* codes counted at once: a query's table is added up once for each */
    LANES = 4,                   /* tables a query counts in, by turns: equal distances in a row do not wait for each other */
};
static const size_t COLLECTOR_BYTES = (size_t)64 << 20; /* for the queries of a batch together */

int level_available(enum level level) {
    switch (level) {
        case PLAIN: return 1;
#ifdef X86
        case AVX2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
        case AVX512:
            return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vpopcntdq");
#endif
#ifdef ARM
        case NEON: return 1;
#endif
        default: return 0;
    }
}

static size_t block_of(size_t width) {
    size_t n = BLOCK_BYTES / width;
    return n < 1 ? 1 : n;
}

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* --- the k nearest of one query ---
 *
 * A candidate is a key, which is a distance or two in one number, and a row, both in one word that sorts by (key, row).
 * Kept keys are counted by level; `edge` is the lowest level below which k of them lie, so what is at or beyond it is
 * never wanted again, and the limit only shrinks. Where rows come in ascending order, neither is one that ties with the
 * k-th. When the list is full, what lies beyond the first k is dropped. */
typedef struct {
    uint64_t *kept;
    size_t n_kept, capacity;
    uint32_t *histogram; /* of kept keys below `edge` */
    uint32_t edge;
    size_t below; /* number of kept keys below `edge` */
    size_t k;
    int ordered;    /* whether rows come in ascending order */
    uint64_t limit; /* candidates from here on are not wanted */
} collector;

static uint64_t word_of(uint32_t key, uint64_t row) { return (uint64_t)key << MAX_ROW_BITS | row; }

static uint32_t key_of(uint64_t word) { return (uint32_t)(word >> MAX_ROW_BITS); }

static void lower_limit(collector *c, uint64_t limit) {
    if (limit < c->limit) c->limit = limit;
}

static int ascending(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Leaves those below the last level and the first `wanted` at it, in the order in which they came. */
static void drop_later_ones(collector *c, uint32_t last, size_t wanted) {
    size_t n = 0;
    for (size_t at = 0; at < c->n_kept; at++) {
        uint32_t key = key_of(c->kept[at]);
        if (key > last || (key == last && !wanted)) continue;
        wanted -= key == last;
        c->kept[n++] = c->kept[at];
    }
}

/* The same where rows came in any order: only those at the last level, which are few, need to be sorted. */
static void drop_higher_rows(collector *c, uint32_t last) {
    size_t n = 0, n_last = 0;
    for (size_t at = 0; at < c->n_kept; at++) {
        uint64_t word = c->kept[at];
        if (key_of(word) > last) continue;
        if (key_of(word) == last) {
            c->kept[n + n_last++] = word;
        } else { /* the first at the last level makes room; where it goes has been read */
            c->kept[n + n_last] = c->kept[n];
            c->kept[n++] = word;
        }
    }
    qsort(c->kept + n, n_last, sizeof(uint64_t), ascending);
    lower_limit(c, c->kept[c->k - 1]);
}

/* Leaves the first k; at least k are there. */
static void drop_the_rest(collector *c) {
    uint32_t last = c->edge - 1; /* the level at which k are reached */
    size_t wanted = c->k - (c->below - c->histogram[last]);
    if (c->ordered) drop_later_ones(c, last, wanted);
    else drop_higher_rows(c, last);
    c->histogram[last] = (uint32_t)wanted;
    c->n_kept = c->below = c->k;
}

static void keep(collector *c, uint32_t key, uint64_t row) {
    c->kept[c->n_kept++] = word_of(key, row);
    c->histogram[key]++;
    c->below++;
    while (c->below - c->histogram[c->edge - 1] >= c->k) c->below -= c->histogram[--c->edge];
    lower_limit(c, word_of(c->edge - (c->ordered && c->below >= c->k), 0));
    if (c->n_kept == c->capacity) drop_the_rest(c);
}

/* The k kept rows by (key, row): a stable sort by counting, for rows that ascend. */
static void write_out(collector *c, uint32_t n_detail_levels, int64_t *distances, int64_t *detail_distances,
                      int64_t *rows) {
    drop_the_rest(c);
    if (!c->ordered) qsort(c->kept, c->k, sizeof(uint64_t), ascending);
    uint32_t start = 0;
    for (uint32_t level = 0; level < c->edge; level++) {
        uint32_t n = c->histogram[level];
        c->histogram[level] = start;
        start += n;
    }
    for (size_t at = 0; at < c->k; at++) {
        uint32_t key = key_of(c->kept[at]);
        size_t place = c->histogram[key]++;
        distances[place] = key / n_detail_levels;
        if (detail_distances) detail_distances[place] = key % n_detail_levels;
        rows[place] = (int64_t)(c->kept[at] & (((uint64_t)1 << MAX_ROW_BITS) - 1));
    }
}

typedef struct {
    filter_function *filter;
    distances_function *detail_distance;
    codes queries, database;
    const codes *query_details, *details;
    uint32_t n_detail_levels; /* 1 without details */
} scan;

/* One block of codes, from row `first`, for one query. */
static void collect(const scan *s, collector *c, size_t query, size_t first, size_t n, uint32_t *found) {
    if (!c->limit) return; /* k rows at distance 0: nothing can be nearer */
    const uint8_t *code = s->queries.bytes + query * s->queries.width;
    size_t n_found = s->filter(s->database.bytes + first * s->database.width, n, code, s->database.width,
                               key_of(c->limit - 1) / s->n_detail_levels + 1, found);
    for (size_t at = 0; at < n_found; at++) {
        uint32_t key = found[at] & 0xFFFF;
        size_t row = first + (found[at] >> 16);
        if (s->details) {
            uint16_t d;
            if (word_of(key * s->n_detail_levels, row) >= c->limit) continue;
            s->detail_distance(s->details->bytes + row * s->details->width, 1,
                               s->query_details->bytes + query * s->details->width, s->details->width, &d);
            key = key * s->n_detail_levels + d;
        }
        if (word_of(key, row) < c->limit) keep(c, key, row);
    }
}

/* Has bytes brought into the cache before they are needed. */
static void ask_for(const uint8_t *bytes, size_t n) {
    for (size_t line = 0; line < n; line += 64) __builtin_prefetch(bytes + line);
}

static void collect_in_order(const scan *s, collector *collectors, size_t first_query, size_t n_queries,
                             uint32_t *found) {
    size_t block = block_of(s->database.width), n = smaller(FIRST_BLOCK, block);
    for (size_t first = 0; first < s->database.n; first += n, n = smaller(2 * n, block)) {
        size_t here = smaller(n, s->database.n - first);
        const uint8_t *next = s->database.bytes + (first + here) * s->database.width;
        size_t share = smaller(2 * n, block) * s->database.width / n_queries;
        int more = n_queries >= MANY_QUERIES && s->database.n - first - here >= 2 * n;
        for (size_t at = 0; at < n_queries; at++) {
            if (more) ask_for(next + at * share, share); /* while this one is compared */
            collect(s, &collectors[at], first_query + at, first, here, found);
        }
    }
}

/* The same from several places at once: one core reads more from memory when it follows several streams. */
static void collect_in_streams(const scan *s, collector *collectors, size_t first_query, size_t n_queries,
                               uint32_t *found) {
    size_t step = STREAM_BYTES / s->database.width, length = (s->database.n + STREAMS - 1) / STREAMS;
    for (size_t offset = 0; offset < length; offset += step)
        for (size_t stream = 0; stream < STREAMS; stream++) {
            size_t first = stream * length + offset, end = smaller((stream + 1) * length, s->database.n);
            if (first + 2 * step <= end) ask_for(s->database.bytes + (first + step) * s->database.width, STREAM_BYTES);
            for (size_t at = 0; first < end && at < n_queries; at++)
                collect(s, &collectors[at], first_query + at, first, smaller(step, end - first), found);
        }
}

int nearest(enum level level, codes queries, codes database, const codes *query_details, const codes *details, size_t k,
            int64_t *distances, int64_t *detail_distances, int64_t *rows) {
    uint32_t n_detail_levels = details ? 8 * (uint32_t)details->width + 1 : 1;
    uint32_t n_levels = (8 * (uint32_t)database.width + 1) * n_detail_levels;
    scan s = {filter_of(level, database.width), details ? distances_of(level, details->width) : NULL,
              queries, database, query_details, details, n_detail_levels};
    int in_streams = queries.n <= FEW_QUERIES && database.n * database.width >= LARGE && database.width <= STREAM_BYTES;
    size_t capacity = 2 * k + 1024;
    size_t batch = COLLECTOR_BYTES / (8 * capacity + 4 * n_levels);
    batch = smaller(smaller(batch < 1 ? 1 : batch, QUERIES), queries.n);
    collector *collectors = malloc(batch * sizeof(collector));
    uint64_t *kept = malloc(batch * capacity * sizeof(uint64_t));
    uint32_t *histograms = malloc(batch * n_levels * sizeof(uint32_t));
    uint32_t *found = malloc(block_of(database.width) * sizeof(uint32_t));
    int failed = queries.n && (!collectors || !kept || !histograms || !found);
    for (size_t first = 0; first < queries.n && !failed; first += batch) {
        size_t n = smaller(batch, queries.n - first);
        memset(histograms, 0, n * n_levels * sizeof(uint32_t));
        for (size_t at = 0; at < n; at++)
            collectors[at] = (collector){kept + at * capacity, 0, capacity, histograms + at * n_levels, n_levels, 0, k,
                                         !in_streams, word_of(n_levels, 0)};
        (in_streams ? collect_in_streams : collect_in_order)(&s, collectors, first, n, found);
        for (size_t at = 0; at < n; at++) {
            size_t place = (first + at) * k;
            write_out(&collectors[at], n_detail_levels, distances + place,
                      detail_distances ? detail_distances + place : NULL, rows + place);
        }
    }
    free(collectors);
    free(kept);
    free(histograms);
    free(found);
    return failed ? -1 : 0;
}

/* --- the k nearest in lists ---
 *
 * The k nearest codes by (distance, first number) hold the answer: a number among the k lowest of its distance lies in a
 * list whose first number is at most it, and at most k - 1 lists of that distance can begin before that. */

static int64_t number_at(const lists *l, size_t place) {
    return l->number_bytes == 4 ? (int64_t)((const uint32_t *)l->numbers)[place] : ((const int64_t *)l->numbers)[place];
}

static int numbers_ascending(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* The `wanted` lowest numbers in the lists of codes at one distance into `numbers`, which has room for twice as many and
 * one; returns how many there are, or -1. */
static int64_t lowest_of_level(const lists *l, const int64_t *rows, size_t n_rows, size_t wanted, int64_t *numbers) {
    size_t n = 0;
    int64_t limit = INT64_MAX;
    for (size_t at = 0; at < n_rows; at++) {
        int64_t start = rows[at] ? l->ends[rows[at] - 1] : 0, end = l->ends[rows[at]];
        if (start < 0 || end < start || (size_t)end > l->n_numbers) return -1;
        if ((size_t)(end - start) > wanted) end = start + (int64_t)wanted;
        for (int64_t place = start; place < end; place++) {
            int64_t number = number_at(l, (size_t)place);
            if (number >= limit) break;
            numbers[n++] = number;
            if (n <= 2 * wanted) continue;
            qsort(numbers, n, sizeof(int64_t), numbers_ascending);
            n = wanted;
            limit = numbers[wanted - 1];
        }
    }
    if (n_rows > 1) qsort(numbers, n, sizeof(int64_t), numbers_ascending);
    return (int64_t)smaller(n, wanted);
}

/* From the nearest codes of one query to its k nearest numbers. */
static int gather(const lists *l, const int64_t *distances, const int64_t *rows, size_t n_rows, size_t k,
                  int64_t *room, int64_t *found_distances, int64_t *found) {
    size_t n = 0;
    for (size_t at = 0, next; at < n_rows && n < k; at = next) {
        for (next = at; next < n_rows && distances[next] == distances[at];) next++;
        int64_t more = lowest_of_level(l, rows + at, next - at, k - n, room);
        if (more < 0) return 1;
        for (int64_t place = 0; place < more; place++, n++) {
            found[n] = room[place];
            found_distances[n] = distances[at];
        }
    }
    return n < k;
}

int nearest_in_lists(enum level level, codes queries, lists database, size_t k, int64_t *distances, int64_t *numbers) {
    size_t n_rows = smaller(k, database.distinct.n), batch = smaller(QUERIES, queries.n);
    int64_t *near = malloc(batch * n_rows * sizeof(int64_t)), *rows = malloc(batch * n_rows * sizeof(int64_t));
    int64_t *room = malloc((2 * k + 1) * sizeof(int64_t));
    int failed = queries.n && (!near || !rows || !room) ? -1 : 0;
    for (size_t start = 0; start < queries.n && !failed; start += batch) {
        codes some = {queries.bytes + start * queries.width, smaller(batch, queries.n - start), queries.width};
        failed = nearest(level, some, database.distinct, NULL, NULL, n_rows, near, NULL, rows);
        for (size_t at = 0; at < some.n && !failed; at++)
            failed = gather(&database, near + at * n_rows, rows + at * n_rows, n_rows, k, room,
                            distances + (start + at) * k, numbers + (start + at) * k);
    }
    free(near);
    free(rows);
    free(room);
    return failed;
}

/* --- the k nearest in buckets ---
 *
 * Buckets that differ in their last bits alone lie side by side, and a run of them is filtered in one go, as if these bits
 * agreed; what passes is compared again with the bits of its own bucket. So short buckets are not slower than long ones. */

typedef struct {
    collector collector;
    uint32_t bucket; /* that it would be in */
    uint8_t rest[4];
} bucket_query;

typedef struct {
    filter_function *filter;
    buckets database;
    uint32_t run;    /* buckets that are filtered together, a power of 2 */
    uint32_t *found; /* room for a block */
} bucket_scan;

static uint32_t run_length(size_t n) {
    uint32_t run = 1;
    while (run < N_BUCKETS && n * run / N_BUCKETS < RUN_CODES) run *= 2;
    return run;
}

/* The ones of a bucket's number; this file is compiled for processors that may have no instruction for it. */
static unsigned ones_of(uint32_t bucket) {
    bucket -= bucket >> 1 & 0x5555;
    bucket = (bucket & 0x3333) + (bucket >> 2 & 0x3333);
    bucket = (bucket + (bucket >> 4)) & 0x0F0F;
    return (bucket + (bucket >> 8)) & 0x1F;
}

static size_t start_of(const bucket_scan *s, uint32_t bucket) { return (size_t)s->database.starts[bucket]; }

/* The highest key that is still wanted, or -1. */
static int64_t highest_key(const collector *c) { return c->limit ? (int64_t)key_of(c->limit - 1) : -1; }

/* Rows `first` to `end` of the run that begins with `bucket`, `away` bits from the query's. */
static void collect_run(const bucket_scan *s, bucket_query *q, uint32_t bucket, unsigned away, size_t first, size_t end) {
    collector *c = &q->collector;
    if (highest_key(c) < (int64_t)away) return;
    size_t n_found = s->filter(s->database.rest.bytes + 4 * first, end - first, q->rest, 4,
                               (unsigned)(highest_key(c) - away) + 1, s->found);
    for (size_t at = 0; at < n_found; at++) {
        size_t row = first + (s->found[at] >> 16);
        while (start_of(s, bucket + 1) <= row) bucket++;
        uint32_t key = ones_of(bucket ^ q->bucket) + (s->found[at] & 0xFFFF);
        if (word_of(key, s->database.numbers[row]) < c->limit) keep(c, key, s->database.numbers[row]);
    }
}

/* The runs' first buckets, as seen from bucket 0, by distance. */
static size_t sort_runs(uint32_t run, uint32_t *sorted) {
    uint32_t starts[18] = {0};
    for (uint32_t bucket = 0; bucket < N_BUCKETS; bucket += run) starts[ones_of(bucket) + 1]++;
    for (int ones = 0; ones <= 16; ones++) starts[ones + 1] += starts[ones];
    for (uint32_t bucket = 0; bucket < N_BUCKETS; bucket += run) sorted[starts[ones_of(bucket)]++] = bucket;
    return N_BUCKETS / run;
}

/* One query alone goes to the nearest runs first, and stops where they are too far away. */
static void collect_nearest_first(const bucket_scan *s, bucket_query *q, const uint32_t *sorted, size_t n_runs,
                                  size_t first_run, size_t step) {
    uint32_t own = q->bucket & ~(s->run - 1);
    for (size_t place = first_run; place < n_runs; place += step) {
        unsigned away = ones_of(sorted[place]);
        if (highest_key(&q->collector) < (int64_t)away) return;
        uint32_t bucket = own ^ sorted[place], later = place + step < n_runs ? own ^ sorted[place + step] : bucket;
        size_t end = start_of(s, bucket + s->run), n_later = 4 * (start_of(s, later + s->run) - start_of(s, later));
        const uint8_t *next = s->database.rest.bytes + 4 * start_of(s, later);
        for (size_t first = start_of(s, bucket), done = 0; first < end; first += STREAM_BYTES / 4, done += STREAM_BYTES) {
            if (done < n_later) ask_for(next + done, smaller(STREAM_BYTES, n_later - done));
            collect_run(s, q, bucket, away, first, smaller(end, first + STREAM_BYTES / 4));
        }
    }
}

/* Many go through all of them together, so that a block is read once. */
static void collect_together(const bucket_scan *s, bucket_query *queries, size_t n, size_t first_run, size_t step) {
    size_t block = block_of(4);
    for (uint32_t bucket = (uint32_t)first_run * s->run; bucket < N_BUCKETS; bucket += (uint32_t)step * s->run) {
        size_t end = start_of(s, bucket + s->run);
        for (size_t first = start_of(s, bucket); first < end; first += block)
            for (size_t at = 0; at < n; at++) {
                uint32_t differing = (bucket ^ queries[at].bucket) & ~(s->run - 1);
                collect_run(s, &queries[at], bucket, ones_of(differing), first,
                            smaller(end, first + block));
            }
    }
}

int nearest_in_buckets(enum level level, codes queries, buckets database, size_t first, size_t step, size_t k,
                       int64_t *distances, int64_t *numbers) {
    enum { LEVELS = 49 };
    size_t capacity = 2 * k + 1024, batch = COLLECTOR_BYTES / (8 * capacity);
    batch = smaller(smaller(batch < 1 ? 1 : batch, QUERIES), queries.n);
    bucket_scan s = {filter_of(level, 4), database, run_length(database.rest.n), malloc(block_of(4) * sizeof(uint32_t))};
    bucket_query *together = malloc(batch * sizeof(bucket_query));
    uint64_t *kept = malloc(batch * capacity * sizeof(uint64_t));
    uint32_t *histograms = malloc(batch * LEVELS * sizeof(uint32_t));
    uint32_t *sorted = malloc(N_BUCKETS / s.run * sizeof(uint32_t));
    int failed = queries.n && (!s.found || !together || !kept || !histograms || !sorted);
    size_t n_runs = failed ? 0 : sort_runs(s.run, sorted);
    for (size_t start = 0; start < queries.n && !failed; start += batch) {
        size_t n = smaller(batch, queries.n - start);
        memset(histograms, 0, n * LEVELS * sizeof(uint32_t));
        for (size_t at = 0; at < n; at++) {
            const uint8_t *code = queries.bytes + (start + at) * 8;
            together[at].collector = (collector){kept + at * capacity, 0, capacity, histograms + at * LEVELS, LEVELS, 0,
                                                 k, 0, word_of(LEVELS, 0)};
            together[at].bucket = (uint32_t)(code[0] | code[1] << 8);
            memcpy(together[at].rest, code + 2, 4);
        }
        if (n <= FEW_QUERIES)
            for (size_t at = 0; at < n; at++)
                collect_nearest_first(&s, &together[at], sorted, n_runs, first, step);
        else
            collect_together(&s, together, n, first, step);
        for (size_t at = 0; at < n; at++) {
            collector *c = &together[at].collector;
            size_t place = (start + at) * k;
            size_t n_found = smaller(c->n_kept, k);
            for (size_t rest = n_found; rest < k; rest++) distances[place + rest] = numbers[place + rest] = -1;
            c->k = n_found;
            if (n_found) write_out(c, 1, distances + place, NULL, numbers + place);
        }
    }
    free(s.found);
    free(together);
    free(kept);
    free(histograms);
    free(sorted);
    return failed ? -1 : 0;
}

/* --- everything within a radius --- */

typedef struct {
    hit *hits;
    size_t n, capacity;
} hit_list;

static int make_room(hit_list *list, size_t n) {
    if (list->n + n <= list->capacity) return 0;
    size_t capacity = 2 * list->capacity + n + 64;
    hit *grown = realloc(list->hits, capacity * sizeof(hit));
    if (!grown) return -1;
    list->hits = grown;
    list->capacity = capacity;
    return 0;
}

/* Stable, so rows still ascend within a query. */
static int sort_by_query(hit_list *list, size_t n_queries) {
    hit *sorted = malloc((list->n + 1) * sizeof(hit));
    size_t *starts = calloc(n_queries + 1, sizeof(size_t));
    int failed = !sorted || !starts;
    if (!failed) {
        for (size_t at = 0; at < list->n; at++) starts[list->hits[at].query + 1]++;
        for (size_t query = 0; query < n_queries; query++) starts[query + 1] += starts[query];
        for (size_t at = 0; at < list->n; at++) sorted[starts[list->hits[at].query]++] = list->hits[at];
        free(list->hits);
        list->hits = sorted;
    } else {
        free(sorted);
    }
    free(starts);
    return failed ? -1 : 0;
}

int within(enum level level, codes queries, codes database, unsigned radius, size_t max_hits, hit **hits, size_t *n_hits) {
    filter_function *filter = filter_of(level, database.width);
    size_t block = block_of(database.width);
    uint32_t *found = malloc(block * sizeof(uint32_t));
    hit_list list = {NULL, 0, 0};
    int failed = found ? 0 : -1;
    for (size_t batch = 0; batch < queries.n && !failed; batch += QUERIES)
        for (size_t first = 0; first < database.n && !failed; first += block)
            for (size_t query = batch; query < smaller(batch + QUERIES, queries.n) && !failed; query++) {
                size_t n = filter(database.bytes + first * database.width, smaller(block, database.n - first),
                                  queries.bytes + query * queries.width, database.width, radius + 1, found);
                failed = n > max_hits - list.n ? 1 : make_room(&list, n);
                for (size_t at = 0; at < n && !failed; at++)
                    list.hits[list.n++] = (hit){(int64_t)(first + (found[at] >> 16)), (int32_t)query,
                                                (int32_t)(found[at] & 0xFFFF)};
            }
    free(found);
    if (!failed) failed = sort_by_query(&list, queries.n);
    if (failed) {
        free(list.hits);
        list = (hit_list){NULL, 0, 0};
    }
    *hits = list.hits;
    *n_hits = list.n;
    return failed;
}

/* --- counts by grade and distance --- */

/* Adds to keys[at] the grade of each item times `step`. */
#define DEFINE_GRADES(NAME, TARGET)                                                                                   \
    TARGET static void grades_##NAME(enum marks marks, size_t words, const uint64_t *restrict query,                  \
                                     const uint64_t *restrict items, size_t n, uint16_t most, uint16_t step,          \
                                     uint32_t *restrict keys, const uint16_t *restrict distances) {                   \
        if (marks == EQUAL) {                                                                                         \
            for (size_t at = 0; at < n; at++)                                                                         \
                keys[at] = (uint32_t)distances[at] + (uint32_t)step * (uint32_t)(items[at] == query[0]);              \
            return;                                                                                                   \
        }                                                                                                             \
        for (size_t at = 0; at < n; at++) {                                                                           \
            uint32_t shared = 0;                                                                                      \
            for (size_t word = 0; word < words; word++)                                                               \
                shared += (uint32_t)__builtin_popcountll(items[at * words + word] & query[word]);                     \
            keys[at] = (uint32_t)distances[at] + (uint32_t)step * (shared < most ? shared : most);                    \
        }                                                                                                             \
    }

DEFINE_GRADES(plain, )
#ifdef X86
DEFINE_GRADES(avx2, T256)
DEFINE_GRADES(avx512, T512)
#endif

typedef void grades_function(enum marks, size_t, const uint64_t *, const uint64_t *, size_t, uint16_t, uint16_t,
                             uint32_t *, const uint16_t *);

static grades_function *grades_of(enum level level) {
#ifdef X86
    if (level == AVX512) return grades_avx512;
    if (level == AVX2) return grades_avx2;
#endif
    (void)level;
    return grades_plain;
}

/* Adds the LANES tables of `tables` (LANES, n_grades, step) to `counts` (n_grades, n_levels) and clears them. */
static int add_up(uint32_t *tables, size_t n_grades, size_t step, size_t n_levels, int64_t *counts) {
    int beyond = 0;
    for (size_t grade = 0; grade < n_grades; grade++)
        for (size_t level = 0; level < step; level++) {
            uint32_t total = 0;
            for (size_t lane = 0; lane < LANES; lane++) total += tables[(lane * n_grades + grade) * step + level];
            if (level < n_levels) counts[grade * n_levels + level] += total;
            else beyond |= total != 0;
        }
    memset(tables, 0, LANES * n_grades * step * sizeof(uint32_t));
    return beyond;
}

static void count(const uint32_t *keys, size_t n, uint32_t *tables, size_t size) {
    size_t at = 0;
    for (; at + LANES <= n; at += LANES)
        for (size_t lane = 0; lane < LANES; lane++) tables[lane * size + keys[at + lane]]++;
    for (; at < n; at++) tables[keys[at]]++;
}

int count_levels(enum level level, codes queries, codes database, enum marks marks, size_t mark_words,
                 const uint64_t *query_marks, const uint64_t *database_marks, size_t n_grades, size_t n_levels,
                 int64_t *counts) {
    distances_function *distances_to = distances_of(level, database.width);
    grades_function *add_grades = grades_of(level);
    size_t step = 8 * database.width + 1, size = n_grades * step;
    uint32_t *tables = calloc(LANES * size, sizeof(uint32_t)), *keys = malloc(CHUNK * sizeof(uint32_t));
    uint16_t *distances = malloc(CHUNK * sizeof(uint16_t));
    int failed = !tables || !keys || !distances ? -1 : 0;
    for (size_t first = 0; first < database.n && failed >= 0; first += CHUNK) {
        size_t n = smaller(CHUNK, database.n - first);
        const uint8_t *bytes = database.bytes + first * database.width;
        for (size_t query = 0; query < queries.n; query++) {
            distances_to(bytes, n, queries.bytes + query * queries.width, database.width, distances);
            add_grades(marks, mark_words, query_marks + query * mark_words, database_marks + first * mark_words, n,
                       (uint16_t)(n_grades - 1), (uint16_t)step, keys, distances);
            count(keys, n, tables, size);
            failed |= add_up(tables, n_grades, step, n_levels, counts + query * n_grades * n_levels);
        }
    }
    free(tables);
    free(keys);
    free(distances);
    return failed;
}
