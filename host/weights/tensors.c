/*
 * tensors.c - the tensors that a reader found: added one by one, checked, kept
 * with what holds their bytes, and read as numbers.
 */
#include "base/checksum.h"
#include "base/file.h"
#include "base/half.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "weights/reader.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

vitcl_status vt_tensors_keep(vt_tensors *t, void *block)
{
    vitcl_status st = vt_grow(&t->blocks, &t->block_cap, t->block_count + 1,
                              sizeof *t->blocks);
    if (st == VITCL_OK)
        t->blocks[t->block_count++] = block;
    else
        free(block);
    return st;
}

static vitcl_status check_name(const char *file, const char *name)
{
    size_t n = strlen(name);

    if (n == 0 || n > VT_NAME_MAX)
        return vt_fail(VITCL_ECORRUPT, "%s: a tensor's name has %zu bytes",
                       file, n);
    if (!vt_utf8(name, n))
        return vt_fail(VITCL_ECORRUPT, "%s: a tensor's name is not UTF-8",
                       file);
    return VITCL_OK;
}

vitcl_status vt_tensors_add(vt_tensors *t, const char *file, const char *name,
                            const vt_element *element, uint32_t rank,
                            const uint64_t *shape, const uint8_t *data,
                            size_t size)
{
    vt_tensor x = {.dtype = element->dtype, .rank = rank, .data = data};
    size_t count = 1, bytes = 0;
    char *copy = NULL;

    VT_RET(check_name(file, name));
    if (t->count == VT_TENSORS_MAX)
        return vt_fail(VITCL_ECORRUPT, "%s: more than %d tensors", file,
                       VT_TENSORS_MAX);
    if (rank > VT_RANK_MAX)
        return vt_fail(VITCL_ECORRUPT, "%s: %.100s: more than %d axes", file,
                       name, VT_RANK_MAX);
    for (uint32_t i = 0; i < rank; i++) {
        x.shape[i] = shape[i];
        if (shape[i] > SIZE_MAX || !vt_mul(&count, count, (size_t)shape[i]))
            return vt_fail(VITCL_ECORRUPT, "%s: %.100s: shape is too large",
                           file, name);
    }
    if (!vt_mul(&bytes, count, element->size) || bytes != size)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: %.100s: %zu elements of %s do not fit %zu bytes",
                       file, name, count, element->name, size);
    x.count = count;
    x.size = size;
    VT_RET(vt_grow(&t->items, &t->cap, t->count + 1, sizeof *t->items));
    VT_RET(vt_strdup(&copy, name));
    x.name = copy;
    t->items[t->count++] = x;
    return VITCL_OK;
}

vitcl_status vt_reader_input_read(void *out, const vt_reader_input *in,
                                  uint64_t at, size_t n)
{
    int error;

    if (!in->source) {
        if (n)
            memcpy(out, in->bytes + at, n);
        return VITCL_OK;
    }
    error = vt_read_at(in->source->fd, out, n, at);
    return error ? vt_fail(VITCL_EIO, "%s: %s", in->source->path,
                           error == VT_SHORT
                               ? "the file was truncated while in use"
                               : strerror(error))
                 : VITCL_OK;
}

vitcl_status vt_tensor_bytes(void *out, const vt_tensor *t, size_t first,
                             size_t n)
{
    const vt_reader_input in = {.bytes = t->data, .source = t->source};

    return vt_reader_input_read(out, &in, (t->source ? t->offset : 0) + first,
                                n);
}

vitcl_status vt_tensor_check(const vt_tensor *t, const void *bytes)
{
    if (!t->summed || vt_checksum(bytes, t->size) == t->sum)
        return VITCL_OK;
    return vt_fail(VITCL_ECORRUPT,
                   "%s: is damaged: the checksum of tensor %.100s differs",
                   t->source ? t->source->path : "a file in memory", t->name);
}

vitcl_status vt_tensors_check(const vt_tensors *t)
{
    return t->damaged
               ? vt_fail(VITCL_ECORRUPT,
                         "%s: is damaged: the checksum of its head differs",
                         t->path)
               : VITCL_OK;
}

static void close_source(vt_weight_file *s)
{
    if (!s)
        return;
    if (s->fd >= 0)
        close(s->fd);
    free(s->path);
    free(s);
}

/* Read on demand, never mapped: truncating a mapped file would kill us. */
vitcl_status vt_tensors_file(vt_reader_input *out, vt_tensors *t,
                             const char *path)
{
    vitcl_status st;
    vt_weight_file *s = NULL;
    size_t size = 0;

    VT_TRY(vt_grow(&t->sources, &t->source_cap, t->source_count + 1,
                   sizeof *t->sources));
    VT_TRY(VT_NEW(&s, 1));
    s->fd = -1;
    VT_TRY(vt_strdup(&s->path, path));
    VT_TRY(vt_file_open(&s->fd, &size, path));
    t->sources[t->source_count++] = s;
    *out = (vt_reader_input){.source = s, .size = size, .file = s->path};
    s = NULL;
done:
    close_source(s);
    return st;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const vt_tensor *)a)->name, ((const vt_tensor *)b)->name);
}

vitcl_status vt_tensors_sort(vt_tensors *t, const char *path)
{
    if (t->count)
        qsort(t->items, t->count, sizeof *t->items, by_name);
    for (size_t i = 1; i < t->count; i++)
        if (strcmp(t->items[i - 1].name, t->items[i].name) == 0)
            return vt_fail(VITCL_ECORRUPT, "%s: duplicate tensor %.100s", path,
                           t->items[i].name);
    return VITCL_OK;
}

void vt_tensors_free(vt_tensors *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->count; i++)
        free((char *)(uintptr_t)t->items[i].name);
    for (size_t i = 0; i < t->source_count; i++)
        close_source(t->sources[i]);
    for (size_t i = 0; i < t->block_count; i++)
        free(t->blocks[i]);
    free(t->items);
    free(t->sources);
    free(t->blocks);
    free(t->path);
    free(t);
}

size_t vt_tensors_count(const vt_tensors *t)
{
    return t->count;
}

const vt_tensor *vt_tensors_at(const vt_tensors *t, size_t index)
{
    return index < t->count ? &t->items[index] : NULL;
}

const vt_tensor *vt_tensors_get(const vt_tensors *t, const char *name)
{
    vt_tensor key = {.name = name};
    return t->count
               ? bsearch(&key, t->items, t->count, sizeof *t->items, by_name)
               : NULL;
}

const char *vt_tensors_format(const vt_tensors *t)
{
    return t->format;
}

const char *vt_tensors_path(const vt_tensors *t)
{
    return t->path;
}

static size_t size_of(vt_file_dtype t)
{
    return t == VT_FILE_F64 || t == VT_FILE_I64    ? 8
           : t == VT_FILE_F32 || t == VT_FILE_I32  ? 4
           : t == VT_FILE_F16 || t == VT_FILE_BF16 ? 2
                                                   : 1;
}

/* Elements may be misaligned: each one is copied from its bytes. */
#define CONVERT(type, expression)                                              \
    for (size_t i = 0; i < n; i++) {                                           \
        type v;                                                                \
        memcpy(&v, from + i * sizeof v, sizeof v);                             \
        out[i] = expression;                                                   \
    }                                                                          \
    break

static void convert(float *out, const uint8_t *from, size_t n, vt_file_dtype t)
{
    switch (t) {
    case VT_FILE_F16:
        vt_f16_row_to_f32(out, from, n);
        break;
    case VT_FILE_BF16:
        CONVERT(uint16_t, vt_bf16_to_f32(v));
    case VT_FILE_F64:
        CONVERT(double, (float)v);
    case VT_FILE_I64:
        CONVERT(int64_t, (float)v);
    case VT_FILE_I32:
        CONVERT(int32_t, (float)v);
    case VT_FILE_U8:
        CONVERT(uint8_t, (float)v);
    case VT_FILE_F32:
    case VT_FILE_OTHER:
        break;
    }
}

/* Finite numbers must not have become infinite. */
static vitcl_status check_doubles(const float *out, const uint8_t *from,
                                  size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        double v;

        memcpy(&v, from + i * sizeof v, sizeof v);
        if (isinf(out[i]) && !isinf(v))
            return vt_fail(VITCL_EUNSUPPORTED,
                           "%.100s: %g is too large for f32", name, v);
    }
    return VITCL_OK;
}

vitcl_status vt_tensor_f32(float *out, const vt_tensor *t)
{
    uint8_t piece[1 << 14];
    const size_t each = size_of(t->dtype);

    if (t->dtype == VT_FILE_OTHER)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%.100s: its element type cannot be read as numbers",
                       t->name);
    if (t->dtype == VT_FILE_F32)
        return vt_tensor_bytes(out, t, 0, (size_t)t->count * each);
    for (size_t at = 0, n; at < t->count; at += n) {
        n = VT_MIN(sizeof piece / each, (size_t)t->count - at);
        VT_RET(vt_tensor_bytes(piece, t, at * each, n * each));
        convert(out + at, piece, n, t->dtype);
        if (t->dtype == VT_FILE_F64)
            VT_RET(check_doubles(out + at, piece, n, t->name));
    }
    return VITCL_OK;
}
