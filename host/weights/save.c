/*
 * save.c - writes safetensors; equal tensors give equal bytes.
 *
 * The order is the reference writer's: by descending element size, then by
 * name, so that data stays aligned. The header is padded to 8 bytes with
 * spaces. Callers that do not have all data at once pass a fill function, which
 * is called for one tensor after the other.
 */
#define _GNU_SOURCE /* memmem */
#include "weights/save.h"

#include "base/checksum.h"
#include "base/file.h"
#include "base/json_print.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "weights/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const struct {
    const char *name;
    size_t size;
} types[] = {
    [VT_FILE_F32] = {"F32", 4},   [VT_FILE_F16] = {"F16", 2},
    [VT_FILE_BF16] = {"BF16", 2}, [VT_FILE_F64] = {"F64", 8},
    [VT_FILE_I64] = {"I64", 8},   [VT_FILE_I32] = {"I32", 4},
    [VT_FILE_U8] = {"U8", 1},
};

static int by_size_and_name(const void *a, const void *b)
{
    const vt_tensor *x = *(const vt_tensor *const *)a;
    const vt_tensor *y = *(const vt_tensor *const *)b;
    size_t m = types[x->dtype].size, n = types[y->dtype].size;

    if (m != n)
        return m > n ? -1 : 1;
    if (x->dtype != y->dtype)
        return x->dtype < y->dtype ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* What goes into the header, in the order of the data. */
typedef struct layout {
    const vt_tensor **order;
    size_t n;
    const char *const *metadata;
    char *sums; /* digits, or NULL */
} layout;

static void put_header(FILE *f, const layout *l)
{
    vt_json_writer w = {.f = f};
    uint64_t at = 0;

    vt_json_put(&w, "{");
    if (l->sums || (l->metadata && l->metadata[0])) {
        vt_json_put(&w, "__metadata__:{");
        for (const char *const *p = l->metadata; p && p[0]; p += 2)
            vt_json_put(&w, "%s:%s", p[0], p[1]);
        if (l->sums)
            vt_json_put(&w, VT_SUMS ":%s", l->sums);
        vt_json_put(&w, "}");
    }
    for (size_t i = 0; i < l->n; i++) {
        const vt_tensor *t = l->order[i];

        vt_json_put(&w, "%s:{dtype:%s shape:[", t->name, types[t->dtype].name);
        for (uint32_t d = 0; d < t->rank; d++)
            vt_json_put(&w, "%" PRIu64, t->shape[d]);
        vt_json_put(&w, "] data_offsets:[%" PRIu64 " %" PRIu64 "]}", at,
                    at + t->size);
        at += t->size;
    }
    vt_json_put(&w, "}");
}

static vitcl_status check(const vt_tensor *t, const char *path)
{
    const size_t length = strlen(t->name);
    size_t count = 1;

    if (t->dtype == VT_FILE_OTHER || t->rank > VT_RANK_MAX)
        return vt_fail(VITCL_EINVAL, "%s: %.100s cannot be written", path,
                       t->name);
    for (uint32_t i = 0; i < t->rank; i++)
        if (!vt_mul(&count, count, (size_t)t->shape[i]))
            return vt_fail(VITCL_EINVAL, "%s: %.100s is too large", path,
                           t->name);
    if (count != t->count || !vt_mul(&count, count, types[t->dtype].size) ||
        count != t->size || length == 0 || length > VT_NAME_MAX ||
        !vt_utf8(t->name, length) || strcmp(t->name, "__metadata__") == 0)
        return vt_fail(VITCL_EINVAL,
                       "%s: %.100s: shape, size or name is invalid", path,
                       t->name);
    return VITCL_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static vitcl_status all_differ(const vt_tensor *tensors, size_t n,
                               const char *path)
{
    vitcl_status st;
    const char **names = NULL;

    VT_TRY(VT_NEW(&names, n + 1));
    for (size_t i = 0; i < n; i++)
        names[i] = tensors[i].name;
    qsort(names, n, sizeof *names, by_name);
    for (size_t i = 1; i < n; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            VT_TRY(vt_fail(VITCL_EINVAL, "%s: two tensors are called %.100s",
                           path, names[i]));
done:
    free(names);
    return st;
}

static vitcl_status sorted(const vt_tensor ***out, const vt_tensor *tensors,
                           size_t n, const char *path)
{
    vitcl_status st;
    const vt_tensor **order = NULL;

    VT_TRY(VT_NEW(&order, n));
    for (size_t i = 0; i < n; i++) {
        VT_TRY(check(&tensors[i], path));
        order[i] = &tensors[i];
    }
    VT_TRY(all_differ(tensors, n, path));
    qsort(order, n, sizeof *order, by_size_and_name);
    *out = order, order = NULL;
done:
    free(order);
    return st;
}

/* Of the header, whose own digits are still 0. */
static void sum_header(const layout *l, char *text, size_t size)
{
    char *at = memmem(text, size, l->sums, strlen(l->sums));

    if (at) /* it is there */
        vt_checksum_print(at, vt_checksum(text, size));
}

/* Builds the header in memory first: its length is written before it. */
static vitcl_status write_header(FILE *f, const layout *l, const char *path)
{
    vitcl_status st = VITCL_OK;
    char *text = NULL;
    size_t size = 0;
    uint8_t length[8];
    FILE *m = open_memstream(&text, &size);

    if (!m)
        return vt_fail(VITCL_ENOMEM, "%s: out of memory for the header", path);
    put_header(m, l);
    fflush(m);
    while (size % 8) {
        fputc(' ', m);
        fflush(m);
    }
    if (fclose(m) != 0 || !text)
        VT_TRY(vt_fail(VITCL_ENOMEM, "%s: out of memory for the header", path));
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)((uint64_t)size >> 8 * i);
    if (l->sums)
        sum_header(l, text, size);
    if (fwrite(length, 1, 8, f) != 8 || fwrite(text, 1, size, f) != size)
        st = vt_fail(VITCL_EIO, "%s: cannot write: %s", path, strerror(errno));
done:
    free(text);
    return st;
}

static vitcl_status new_sums(char **out, size_t n)
{
    char *sums = NULL;

    VT_RET(vt_new(&sums, (n + 1) * VT_CHECKSUM_DIGITS + 1, 1));
    memset(sums, '0', (n + 1) * VT_CHECKSUM_DIGITS);
    *out = sums;
    return VITCL_OK;
}

/* The tensors' bytes, one after the other. */
static vitcl_status write_data(FILE *f, const layout *l, const char *path,
                               const vt_tensor *tensors, uint8_t *buffer,
                               vt_fill *fill, void *context)
{
    for (size_t i = 0; i < l->n; i++) {
        const vt_tensor *t = l->order[i];
        const uint8_t *data = t->data;

        if (!data && t->size) {
            VT_RET(t->source ? vt_tensor_bytes(buffer, t, 0, t->size)
                             : fill(context, (size_t)(t - tensors), buffer));
            data = buffer;
        }
        if (l->sums)
            vt_checksum_print(l->sums + (i + 1) * VT_CHECKSUM_DIGITS,
                              vt_checksum(data, t->size));
        if (t->size && fwrite(data, 1, t->size, f) != t->size)
            return vt_fail(VITCL_EIO, "%s: cannot write: %s", path,
                           strerror(errno));
    }
    return VITCL_OK;
}

vitcl_status vt_safetensors_fill(const char *path, const vt_tensor *tensors,
                                 size_t n, const char *const *metadata,
                                 bool summed, vt_fill *fill, void *context)
{
    vitcl_status st;
    layout l = {.n = n, .metadata = metadata};
    uint8_t *buffer = NULL;
    size_t largest = 0;
    vt_newfile file = {0};

    VT_TRY(sorted(&l.order, tensors, n, path));
    for (size_t i = 0; i < n; i++)
        if (!tensors[i].data)
            largest = VT_MAX(largest, tensors[i].size);
    VT_TRY(VT_NEW(&buffer, largest));
    if (summed)
        VT_TRY(new_sums(&l.sums, n));
    VT_TRY(vt_newfile_open(&file, path));
    VT_TRY(write_header(file.f, &l, path));
    VT_TRY(write_data(file.f, &l, path, tensors, buffer, fill, context));
    if (summed) { /* again, with checksums */
        if (fseeko(file.f, 0, SEEK_SET) != 0)
            VT_TRY(vt_fail(VITCL_EIO, "%s: cannot write: %s", path,
                           strerror(errno)));
        VT_TRY(write_header(file.f, &l, path));
    }
    VT_TRY(vt_newfile_commit(&file));
done:
    vt_newfile_discard(&file);
    free(buffer);
    free(l.sums);
    free(l.order);
    return st;
}

static vitcl_status no_fill(void *context, size_t index, uint8_t *out)
{
    (void)context, (void)index, (void)out;
    return vt_fail(VITCL_EINVAL, "a tensor without data");
}

vitcl_status vt_safetensors_write(const char *path, const vt_tensor *tensors,
                                  size_t n, const char *const *metadata)
{
    return vt_safetensors_fill(path, tensors, n, metadata, false, no_fill,
                               NULL);
}
