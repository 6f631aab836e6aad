/* The Python face of the kernel, within CPython's stable ABI: one build serves every Python from 3.11 on.
 *
 * Arrays come as C-contiguous buffers, read-only or mapped ones too; sizes are checked here, so that no call from Python can
 * make the kernel read or write out of bounds. The lock of the interpreter is released while it works.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <stdlib.h>

#include "kernel.h"

static const char *const NAMES[N_LEVELS] = {"plain", "neon", "avx2", "avx512"};

static int check_level(int level) {
    if (level >= 0 && level < N_LEVELS && level_available((enum level)level)) return 0;
    PyErr_Format(PyExc_ValueError, "this processor has no level %d", level);
    return -1;
}

/* `buffer` as codes of `width` bytes. */
static int as_codes(const Py_buffer *buffer, Py_ssize_t width, codes *result) {
    if (width < 1 || width > MAX_WIDTH || buffer->len % width || (uint64_t)(buffer->len / width) >> MAX_ROW_BITS) {
        PyErr_Format(PyExc_ValueError, "%zd bytes are no codes of %zd bytes each", buffer->len, width);
        return -1;
    }
    *result = (codes){buffer->buf, (size_t)(buffer->len / width), (size_t)width};
    return 0;
}

/* Whether `buffer` holds (n, of_each) numbers of 8 bytes; the product may be more than a number can hold. */
static int check_length(const Py_buffer *buffer, size_t n, size_t of_each, const char *what) {
    size_t bytes;
    if (!__builtin_mul_overflow(n, of_each, &bytes) && !__builtin_mul_overflow(bytes, (size_t)8, &bytes) &&
        (size_t)buffer->len == bytes && (uintptr_t)buffer->buf % 8 == 0)
        return 0;
    PyErr_Format(PyExc_ValueError, "%s must be %zu times %zu aligned numbers of 8 bytes: got %zd bytes", what, n,
                 of_each, buffer->len);
    return -1;
}

static int as_buckets(const Py_buffer *rest, const Py_buffer *starts, const Py_buffer *numbers, buckets *result) {
    if (as_codes(rest, 4, &result->rest) || check_length(starts, N_BUCKETS + 1, 1, "starts")) return -1;
    int64_t n = (int64_t)result->rest.n;
    result->starts = starts->buf;
    result->numbers = numbers->buf;
    int wrong = numbers->len != 4 * n || (uintptr_t)numbers->buf % 4 != 0;
    wrong |= result->starts[0] != 0 || result->starts[N_BUCKETS] != n;
    for (size_t bucket = 0; bucket < N_BUCKETS; bucket++)
        wrong |= result->starts[bucket] < 0 || result->starts[bucket] > result->starts[bucket + 1];
    if (!wrong) return 0;
    PyErr_Format(PyExc_ValueError, "wanted ascending starts from 0 to %zu and a number of 4 bytes for each code",
                 result->rest.n);
    return -1;
}

static PyObject *done(int status) {
    if (status < 0) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyObject *py_levels(PyObject *self, PyObject *unused) {
    (void)self;
    (void)unused;
    PyObject *found = PyDict_New();
    for (int level = 0; found && level < N_LEVELS; level++) {
        if (!level_available((enum level)level)) continue;
        PyObject *number = PyLong_FromLong(level);
        if (!number || PyDict_SetItemString(found, NAMES[level], number)) Py_CLEAR(found);
        Py_XDECREF(number);
    }
    return found;
}

static PyObject *py_nearest(PyObject *self, PyObject *args) {
    Py_buffer queries, database, distances, rows;
    Py_ssize_t width, k;
    int level, status = 0, wrong;
    codes q, c;
    (void)self;
    if (!PyArg_ParseTuple(args, "iy*y*nnw*w*", &level, &queries, &database, &width, &k, &distances, &rows)) return NULL;
    wrong = check_level(level) || as_codes(&queries, width, &q) || as_codes(&database, width, &c);
    if (!wrong && (k < 1 || (size_t)k > c.n)) {
        PyErr_Format(PyExc_ValueError, "k must be from 1 to %zu: got %zd", c.n, k);
        wrong = 1;
    }
    wrong = wrong || check_length(&distances, q.n, (size_t)k, "distances") ||
            check_length(&rows, q.n, (size_t)k, "rows");
    if (!wrong) {
        Py_BEGIN_ALLOW_THREADS
        status = nearest((enum level)level, q, c, NULL, NULL, (size_t)k, distances.buf, NULL, rows.buf);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&queries);
    PyBuffer_Release(&database);
    PyBuffer_Release(&distances);
    PyBuffer_Release(&rows);
    return wrong ? NULL : done(status);
}

static PyObject *py_nearest_by_two(PyObject *self, PyObject *args) {
    Py_buffer queries, database, query_details, details, distances, detail_distances, rows;
    Py_ssize_t width, detail_width, k;
    int level, status = 0, wrong;
    codes q, c, qd, cd;
    (void)self;
    if (!PyArg_ParseTuple(args, "iy*y*ny*y*nnw*w*w*", &level, &queries, &database, &width, &query_details, &details,
                          &detail_width, &k, &distances, &detail_distances, &rows))
        return NULL;
    wrong = check_level(level) || as_codes(&queries, width, &q) || as_codes(&database, width, &c) ||
            as_codes(&query_details, detail_width, &qd) || as_codes(&details, detail_width, &cd);
    if (!wrong && (k < 1 || (size_t)k > c.n || qd.n != q.n || cd.n != c.n)) {
        PyErr_Format(PyExc_ValueError, "every code needs a detail code, and k must be from 1 to %zu: got %zd", c.n, k);
        wrong = 1;
    }
    if (!wrong && (8 * width + 1) * (8 * detail_width + 1) >= 1 << 24) {
        PyErr_Format(PyExc_ValueError, "codes of %zd and %zd bytes are too long together", width, detail_width);
        wrong = 1;
    }
    wrong = wrong || check_length(&distances, q.n, (size_t)k, "distances") ||
            check_length(&detail_distances, q.n, (size_t)k, "detail distances") ||
            check_length(&rows, q.n, (size_t)k, "rows");
    if (!wrong) {
        Py_BEGIN_ALLOW_THREADS
        status = nearest((enum level)level, q, c, &qd, &cd, (size_t)k, distances.buf, detail_distances.buf, rows.buf);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&queries);
    PyBuffer_Release(&database);
    PyBuffer_Release(&query_details);
    PyBuffer_Release(&details);
    PyBuffer_Release(&distances);
    PyBuffer_Release(&detail_distances);
    PyBuffer_Release(&rows);
    return wrong ? NULL : done(status);
}

static PyObject *py_nearest_in_lists(PyObject *self, PyObject *args) {
    Py_buffer queries, distinct, ends, numbers, distances, found;
    Py_ssize_t width, number_bytes, k;
    int level, status = 0, wrong;
    codes q, c;
    (void)self;
    if (!PyArg_ParseTuple(args, "iy*y*ny*y*nnw*w*", &level, &queries, &distinct, &width, &ends, &numbers, &number_bytes,
                          &k, &distances, &found))
        return NULL;
    wrong = check_level(level) || as_codes(&queries, width, &q) || as_codes(&distinct, width, &c) ||
            check_length(&ends, c.n, 1, "ends");
    if (!wrong && ((number_bytes != 4 && number_bytes != 8) || numbers.len % number_bytes ||
                   (uintptr_t)numbers.buf % (uintptr_t)number_bytes || k < 1 || k > numbers.len / number_bytes)) {
        PyErr_Format(PyExc_ValueError, "wanted aligned numbers of 4 or 8 bytes, and at least k of them: got k = %zd", k);
        wrong = 1;
    }
    wrong = wrong || check_length(&distances, q.n, (size_t)k, "distances") || check_length(&found, q.n, (size_t)k, "rows");
    if (!wrong) {
        lists database = {c, ends.buf, numbers.buf, (size_t)(numbers.len / number_bytes), (size_t)number_bytes};
        Py_BEGIN_ALLOW_THREADS
        status = nearest_in_lists((enum level)level, q, database, (size_t)k, distances.buf, found.buf);
        Py_END_ALLOW_THREADS
        if (status > 0) {
            PyErr_SetString(PyExc_ValueError, "ends must ascend to the number of numbers");
            wrong = 1;
        }
    }
    PyBuffer_Release(&queries);
    PyBuffer_Release(&distinct);
    PyBuffer_Release(&ends);
    PyBuffer_Release(&numbers);
    PyBuffer_Release(&distances);
    PyBuffer_Release(&found);
    return wrong ? NULL : done(status);
}

static PyObject *py_nearest_in_buckets(PyObject *self, PyObject *args) {
    Py_buffer queries, rest, starts, numbers, distances, found;
    Py_ssize_t first, step, k;
    int level, status = 0, wrong;
    codes q;
    buckets b;
    (void)self;
    if (!PyArg_ParseTuple(args, "iy*y*y*y*nnnw*w*", &level, &queries, &rest, &starts, &numbers, &first, &step, &k,
                          &distances, &found))
        return NULL;
    wrong = check_level(level) || as_codes(&queries, 8, &q) || as_buckets(&rest, &starts, &numbers, &b);
    if (!wrong && (k < 1 || (size_t)k > b.rest.n || first < 0 || step < 1)) {
        PyErr_Format(PyExc_ValueError, "k must be from 1 to %zu: got %zd", b.rest.n, k);
        wrong = 1;
    }
    wrong = wrong || check_length(&distances, q.n, (size_t)k, "distances") || check_length(&found, q.n, (size_t)k, "rows");
    if (!wrong) {
        Py_BEGIN_ALLOW_THREADS
        status = nearest_in_buckets((enum level)level, q, b, (size_t)first, (size_t)step, (size_t)k, distances.buf,
                                    found.buf);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&queries);
    PyBuffer_Release(&rest);
    PyBuffer_Release(&starts);
    PyBuffer_Release(&numbers);
    PyBuffer_Release(&distances);
    PyBuffer_Release(&found);
    return wrong ? NULL : done(status);
}

static PyObject *py_within(PyObject *self, PyObject *args) {
    Py_buffer queries, database;
    Py_ssize_t width, max_hits;
    unsigned radius;
    int level, status = 0, wrong;
    codes q, c;
    hit *hits = NULL;
    size_t n_hits = 0;
    PyObject *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "iy*y*nIn", &level, &queries, &database, &width, &radius, &max_hits)) return NULL;
    wrong = check_level(level) || as_codes(&queries, width, &q) || as_codes(&database, width, &c);
    if (!wrong && (q.n > INT32_MAX || max_hits < 0 || radius > 8 * MAX_WIDTH)) {
        PyErr_SetString(PyExc_ValueError, "too many queries, a negative number of hits or too large a radius");
        wrong = 1;
    }
    if (!wrong) {
        Py_BEGIN_ALLOW_THREADS
        status = within((enum level)level, q, c, radius, (size_t)max_hits, &hits, &n_hits);
        Py_END_ALLOW_THREADS
        if (status < 0) PyErr_NoMemory();
        else if (status > 0) result = Py_NewRef(Py_None);
        else result = PyBytes_FromStringAndSize((const char *)hits, (Py_ssize_t)(n_hits * sizeof(hit)));
    }
    free(hits);
    PyBuffer_Release(&queries);
    PyBuffer_Release(&database);
    return result;
}

static PyObject *py_count_levels(PyObject *self, PyObject *args) {
    Py_buffer queries, database, query_marks, marks, counts;
    Py_ssize_t width, mark_words, n_grades, n_levels;
    int level, shared, status = 0, wrong;
    codes q, c;
    (void)self;
    if (!PyArg_ParseTuple(args, "iy*y*niny*y*nnw*", &level, &queries, &database, &width, &shared, &mark_words,
                          &query_marks, &marks, &n_grades, &n_levels, &counts))
        return NULL;
    wrong = check_level(level) || as_codes(&queries, width, &q) || as_codes(&database, width, &c);
    if (!wrong && (mark_words < 1 || (!shared && mark_words > 1) || n_grades < 2 || n_grades > UINT16_MAX ||
                   n_levels < 1 || n_levels > 8 * MAX_WIDTH + 1)) {
        PyErr_SetString(PyExc_ValueError, "wanted at least one word of marks, two grades and one level");
        wrong = 1;
    }
    wrong = wrong || check_length(&query_marks, q.n, (size_t)mark_words, "marks of queries") ||
            check_length(&marks, c.n, (size_t)mark_words, "marks") ||
            check_length(&counts, q.n, (size_t)n_grades * (size_t)n_levels, "counts");
    if (!wrong) {
        Py_BEGIN_ALLOW_THREADS
        status = count_levels((enum level)level, q, c, shared ? SHARED : EQUAL, (size_t)mark_words, query_marks.buf,
                              marks.buf, (size_t)n_grades, (size_t)n_levels, counts.buf);
        Py_END_ALLOW_THREADS
        if (status > 0) {
            PyErr_Format(PyExc_ValueError, "codes have bits set past bit %zd", n_levels - 2);
            wrong = 1;
        }
    }
    PyBuffer_Release(&queries);
    PyBuffer_Release(&database);
    PyBuffer_Release(&query_marks);
    PyBuffer_Release(&marks);
    PyBuffer_Release(&counts);
    return wrong ? NULL : done(status);
}

static PyMethodDef methods[] = {
    {"levels", py_levels, METH_NOARGS, "Number of each level that this processor has, slowest first."},
    {"nearest", py_nearest, METH_VARARGS, "(level, queries, codes, width, k, distances, rows): fills the last two."},
    {"nearest_by_two", py_nearest_by_two, METH_VARARGS,
     "(level, queries, codes, width, query details, details, width, k, distances, detail distances, rows)"},
    {"nearest_in_lists", py_nearest_in_lists, METH_VARARGS,
     "(level, queries, distinct codes, width, ends, numbers, bytes a number, k, distances, found): fills the last two."},
    {"nearest_in_buckets", py_nearest_in_buckets, METH_VARARGS,
     "(level, queries, rest, starts, numbers, first, step, k, distances, rows): fills the last two."},
    {"within", py_within, METH_VARARGS,
     "(level, queries, codes, width, radius, max hits): hits as bytes, or None if there are more."},
    {"count_levels", py_count_levels, METH_VARARGS,
     "(level, queries, codes, width, shared, words, query marks, marks, grades, levels, counts): adds to the last."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_kernel", "Exact scans over packed codes.", 0, methods,
                                    NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__kernel(void) { return PyModuleDef_Init(&module); }
