/*
 * npz.c - reads numpy's .npz: a zip file of .npy arrays.
 *
 *     \x93NUMPY | version | header length | Python literal | elements
 *
 * The parser accepts exactly the literal that numpy writes: a dict of
 * 'descr', 'fortran_order' and 'shape'; nothing is evaluated. numpy has no
 * name for bfloat16, which is stored as raw two-byte elements, "|V2".
 */
#include "base/memory.h"
#include "weights/archive.h"
#include "weights/reader.h"

#include <string.h>

#define HEADER_MAX 65536

static const vt_element elements[] = {
    {"f4", 4, VT_FILE_F32},   {"f2", 2, VT_FILE_F16},
    {"V2", 2, VT_FILE_BF16},  {"f8", 8, VT_FILE_F64},
    {"i8", 8, VT_FILE_I64},   {"i4", 4, VT_FILE_I32},
    {"u1", 1, VT_FILE_U8},    {"b1", 1, VT_FILE_OTHER},
    {"i1", 1, VT_FILE_OTHER}, {"i2", 2, VT_FILE_OTHER},
    {"u2", 2, VT_FILE_OTHER}, {"u4", 4, VT_FILE_OTHER},
    {"u8", 8, VT_FILE_OTHER},
};

typedef struct npy {
    const vt_element *element;
    bool swapped; /* big-endian */
    bool fortran;
    uint32_t rank;
    uint64_t shape[VT_RANK_MAX];
    size_t data; /* where the elements start */
} npy;

/* ---- the literal ---- */

typedef struct text {
    const char *at, *end;
} text;

static int next(text *t)
{
    while (t->at < t->end && (*t->at == ' ' || *t->at == '\n'))
        t->at++;
    return t->at < t->end ? (unsigned char)*t->at : -1;
}

static bool take(text *t, char c)
{
    if (next(t) != c)
        return false;
    t->at++;
    return true;
}

static bool take_word(text *t, const char *word)
{
    size_t n = strlen(word);
    if (next(t) < 0 || (size_t)(t->end - t->at) < n ||
        memcmp(t->at, word, n) != 0)
        return false;
    t->at += n;
    return true;
}

/* A quoted string without escapes, of fewer than `size` bytes. */
static bool take_string(text *t, char *out, size_t size)
{
    int quote = next(t);
    size_t n = 0;

    if (quote != '\'' && quote != '"')
        return false;
    for (t->at++; t->at < t->end && *t->at != quote; t->at++) {
        if (n + 1 >= size || *t->at == '\\')
            return false;
        out[n++] = *t->at;
    }
    out[n] = '\0';
    return take(t, (char)quote);
}

static bool take_size(text *t, uint64_t *out)
{
    uint64_t v = 0;
    int c = next(t);

    if (c < '0' || c > '9')
        return false;
    for (; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++) {
        if (v > (UINT64_MAX - 9) / 10)
            return false;
        v = v * 10 + (uint64_t)(*t->at - '0');
    }
    if (t->at < t->end && *t->at == 'L') /* written by Python 2 */
        t->at++;
    *out = v;
    return true;
}

static bool take_shape(text *t, npy *a)
{
    if (!take(t, '('))
        return false;
    while (!take(t, ')')) {
        if (a->rank == VT_RANK_MAX || !take_size(t, &a->shape[a->rank++]))
            return false;
        if (!take(t, ',')) /* "(3)" is a number in Python; accept it */
            return take(t, ')');
    }
    return true;
}

static bool take_descr(text *t, npy *a)
{
    char s[8];

    if (!take_string(t, s, sizeof s) || !strchr("<>|=", s[0]) || !s[0])
        return false;
    for (size_t i = 0; i < VT_COUNT(elements); i++)
        if (strcmp(s + 1, elements[i].name) == 0)
            a->element = &elements[i];
    a->swapped = s[0] == '>';
    return a->element != NULL;
}

/* Returns NULL, or what is wrong. */
static const char *parse_literal(npy *a, text *t)
{
    bool descr = false, order = false, shape = false;
    char key[16];

    if (!take(t, '{'))
        return "header is not a dict";
    while (!take(t, '}')) {
        if (!take_string(t, key, sizeof key) || !take(t, ':'))
            return "header is not a dict of three keys";
        if (strcmp(key, "descr") == 0 && !descr) {
            if (!take_descr(t, a))
                return "element type is not float, int or bfloat16";
            descr = true;
        } else if (strcmp(key, "fortran_order") == 0 && !order) {
            a->fortran = take_word(t, "True");
            if (!a->fortran && !take_word(t, "False"))
                return "fortran_order is neither True nor False";
            order = true;
        } else if (strcmp(key, "shape") == 0 && !shape) {
            if (!take_shape(t, a))
                return "shape is not a tuple of at most 8 sizes";
            shape = true;
        } else {
            return "header has a duplicate or unknown key";
        }
        if (!take(t, ',') && next(t) != '}')
            return "header is not a dict of three keys";
    }
    if (!descr || !order || !shape)
        return "header lacks descr, fortran_order or shape";
    return next(t) < 0 ? NULL : "extra text after the dict in the header";
}

static const char *parse_header(npy *a, const uint8_t *b, size_t size)
{
    size_t n, start;
    text t;

    if (size < 12 || memcmp(b, "\x93NUMPY", 6) != 0)
        return "not a numpy array";
    if (b[6] < 1 || b[6] > 3 || b[7] != 0)
        return "unsupported numpy format version (not 1.0, 2.0 or 3.0)";
    start = b[6] == 1 ? 10 : 12;
    n = b[8] | (size_t)b[9] << 8;
    if (b[6] > 1)
        n |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    if (n > HEADER_MAX || n > size - start)
        return "header is longer than the array or 64 KiB";
    t = (text){(const char *)b + start, (const char *)b + start + n};
    a->data = start + n;
    return parse_literal(a, &t);
}

/* ---- the elements ---- */

static void swap_bytes(uint8_t *p, size_t n, size_t size)
{
    for (size_t i = 0; i < n; i++, p += size)
        for (size_t k = 0; k < size / 2; k++) {
            uint8_t c = p[k];
            p[k] = p[size - 1 - k];
            p[size - 1 - k] = c;
        }
}

/* Copies from Fortran order (first axis fastest) to C order (last axis
 * fastest). */
static void from_fortran(uint8_t *out, const uint8_t *in, const npy *a,
                         size_t count)
{
    uint64_t at[VT_RANK_MAX] = {0}, stride[VT_RANK_MAX], s = 1, from = 0;
    const size_t size = a->element->size;

    for (uint32_t d = 0; d < a->rank; d++) {
        stride[d] = s;
        s *= a->shape[d];
    }
    for (size_t i = 0; i < count; i++, out += size) {
        memcpy(out, in + from * size, size);
        for (uint32_t d = a->rank; d-- > 0;) {
            from += stride[d];
            if (++at[d] < a->shape[d])
                break;
            from -= stride[d] * a->shape[d];
            at[d] = 0;
        }
    }
}

/* *block holds the array; it is replaced if the order must change. */
static vitcl_status straighten(uint8_t **block, npy *a, size_t bytes)
{
    uint8_t *fresh = NULL;
    size_t count = bytes / a->element->size;

    if (a->swapped)
        swap_bytes(*block + a->data, count, a->element->size);
    if (a->fortran && a->rank > 1 && count) {
        VT_RET(VT_NEW(&fresh, bytes));
        from_fortran(fresh, *block + a->data, a, count);
        free(*block);
        *block = fresh;
        a->data = 0;
    }
    return VITCL_OK;
}

/* Does the number of elements match the shape? Checked before any reorder. */
static bool fits(const npy *a, size_t size)
{
    size_t bytes = a->element->size;

    for (uint32_t i = 0; i < a->rank; i++)
        if (!vt_mul(&bytes, bytes, (size_t)a->shape[i]))
            return false;
    return bytes == size - a->data;
}

static vitcl_status read_array(vt_tensors *t, vt_archive *zip, size_t index,
                               const char *file)
{
    vitcl_status st;
    char name[VT_NAME_MAX + 8];
    const char *entry = vt_archive_name(zip, index), *wrong;
    size_t n = strlen(entry), size = 0, bytes;
    uint8_t *block = NULL;
    npy a = {0};

    if (n < 5 || n > VT_NAME_MAX || strcmp(entry + n - 4, ".npy") != 0)
        return vt_fail(VITCL_ECORRUPT, "%s: %.100s is not a valid array name",
                       file, entry);
    memcpy(name, entry, n - 4);
    name[n - 4] = '\0';
    VT_TRY(vt_archive_read(&block, &size, zip, index));
    wrong = parse_header(&a, block, size);
    if (!wrong && !fits(&a, size))
        wrong = "data is longer or shorter than its shape says";
    if (wrong)
        VT_TRY(vt_fail(VITCL_ECORRUPT, "%s: %.100s: %s", file, name, wrong));
    bytes = size - a.data;
    VT_TRY(straighten(&block, &a, bytes));
    VT_TRY(vt_tensors_add(t, file, name, a.element, a.rank, a.shape,
                          block + a.data, bytes));
    st = vt_tensors_keep(t, block);
    block = NULL;
done:
    free(block);
    return st;
}

static bool sniff(const uint8_t *bytes, size_t size)
{
    return vt_zip_starts_with(bytes, size, ".npy");
}

static vitcl_status open_npz(vt_tensors *t, const vt_reader_input *in)
{
    const char *file = in->file;
    vitcl_status st;
    vt_archive *zip = NULL;

    VT_TRY(vt_archive_open(&zip, in));
    for (size_t i = 0; i < vt_archive_count(zip); i++)
        VT_TRY(read_array(t, zip, i, file));
done:
    vt_archive_free(zip);
    return st;
}

const vt_reader vt_read_npz = {"npz", sniff, open_npz};
