/*
 * tensors.c - reading and writing of tensor files.
 *
 * Rows are written as they come. Space for the header is reserved at the start
 * of the file, padded with blanks as both formats allow, and filled in at the
 * end.
 */
#include "api/handles.h"
#include "api/program.h"
#include "base/file.h"
#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static vitcl_status find(const vt_tensor **out, const vt_tensors *t,
                         const char *name)
{
    *out = vt_tensors_get(t, name);
    return *out ? VITCL_OK
                : vt_fail(VITCL_EINVAL, "%s: no tensor named %s",
                          vt_tensors_path(t), name);
}

vitcl_status vt_tensors_shape(vitcl_shape *out, const vt_tensors *t,
                              const char *name)
{
    const vt_tensor *found;

    VT_RET(find(&found, t, name));
    *out = (vitcl_shape){.name = found->name, .rank = found->rank};
    for (uint32_t i = 0; i < found->rank; i++)
        out->shape[i] = found->shape[i];
    return VITCL_OK;
}

vitcl_status vt_tensors_read(float *out, const vt_tensors *t, const char *name,
                             uint64_t count)
{
    const vt_tensor *found;

    VT_RET(find(&found, t, name));
    if (found->count != count)
        return vt_fail(VITCL_EINVAL, "tensor %s has %llu elements, not %llu",
                       name, (unsigned long long)found->count,
                       (unsigned long long)count);
    return vt_tensor_f32(out, found);
}

static vitcl_status elements(size_t *out, const vitcl_shape *shape)
{
    size_t n = 1;

    if (!shape->name || shape->rank > 8)
        return vt_fail(VITCL_EINVAL, "a tensor has no name or a rank above 8");
    for (uint32_t i = 0; i < shape->rank; i++)
        if (!vt_mul(&n, n, (size_t)shape->shape[i]))
            return vt_fail(VITCL_EINVAL, "tensor %s: the shape is too large",
                           shape->name);
    *out = n;
    return VITCL_OK;
}

vitcl_status vt_tensors_write(const char *path, const vitcl_shape *shapes,
                              const float *const *data, uint32_t n)
{
    vitcl_status st = VITCL_OK;
    vt_tensor *list = NULL;
    size_t count = 0;

    VT_TRY(VT_NEW(&list, n));
    for (uint32_t i = 0; i < n; i++) {
        VT_TRY(elements(&count, &shapes[i]));
        list[i] = (vt_tensor){.name = shapes[i].name,
                              .dtype = VT_FILE_F32,
                              .rank = shapes[i].rank,
                              .count = count,
                              .data = (const uint8_t *)data[i]};
        if (!vt_mul(&list[i].size, count, sizeof(float)))
            VT_TRY(vt_fail(VITCL_EINVAL, "%s is too large", shapes[i].name));
        for (uint32_t d = 0; d < shapes[i].rank; d++)
            list[i].shape[d] = shapes[i].shape[d];
    }
    VT_TRY(vt_safetensors_write(path, list, n, NULL));
done:
    free(list);
    return st;
}

/* ---- rows ---- */

enum { HEAD = 512 }; /* bytes before the data, in both formats */

struct vitcl_rows {
    vt_newfile file;
    vitcl_shape row;
    char name[64];
    size_t count; /* elements a row */
    uint64_t rows;
    atomic_bool busy; /* a call uses it */
    pid_t owner;      /* the process that writes the file */
    bool npy, failed;
};

static bool plain_name(const char *s)
{
    return s[0] && strlen(s) < 64 && strcmp(s, "__metadata__") != 0 &&
           strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                     "0123456789._-/") == strlen(s);
}

static vitcl_status write_error(const vitcl_rows *rows)
{
    return vt_fail(VITCL_EIO, "%s: cannot be written: %s", rows->file.path,
                   strerror(errno));
}

static void fill_head(char head[HEAD], const vitcl_rows *r)
{
    char shape[256];
    size_t at = 0;
    unsigned start = r->npy ? 10 : 8;
    uint64_t length;

    at += (size_t)snprintf(shape, sizeof shape, "%llu",
                           (unsigned long long)r->rows);
    for (uint32_t i = 0; i < r->row.rank; i++)
        at += (size_t)snprintf(shape + at, sizeof shape - at, ",%llu",
                               (unsigned long long)r->row.shape[i]);
    memset(head, ' ', HEAD);
    if (r->npy) {
        memcpy(head, "\x93NUMPY\x01", 8); /* the minor version is 0 */
        at = (size_t)snprintf(
            head + start, HEAD - start,
            "{'descr': '<f4', 'fortran_order': False, 'shape': (%s%s), }",
            shape, r->row.rank ? "" : ",");
        head[HEAD - 1] = '\n';
    } else {
        at = (size_t)snprintf(
            head + start, HEAD - start,
            "{\"%s\":{\"dtype\":\"F32\",\"shape\":[%s],"
            "\"data_offsets\":[0,%llu]}}",
            r->name, shape,
            (unsigned long long)(r->rows * r->count * sizeof(float)));
    }
    head[start + at] = ' '; /* overwrites snprintf's NUL */
    length = HEAD - start;  /* little-endian: 2 bytes in .npy, else 8 */
    for (unsigned i = r->npy ? 8 : 0; i < start; i++)
        head[i] = (char)(length >> (8 * (i - (r->npy ? 8 : 0))) & 255);
}

vitcl_status vitcl_rows_new(vitcl_rows **out, const char *path,
                            const vitcl_shape *row)
{
    static const char blank[HEAD];
    vitcl_status st = VITCL_OK;
    vitcl_rows *r = NULL;
    size_t length;

    VT_GIVEN(out);
    VT_GIVEN(path);
    VT_GIVEN(row);
    VT_TRY(VT_NEW(&r, 1));
    r->row = *row;
    r->owner = getpid();
    VT_TRY(elements(&r->count, row));
    if (row->rank > 7 || !plain_name(row->name))
        VT_TRY(vt_fail(VITCL_EINVAL,
                       "%s: the rows have no name or an invalid shape",
                       row->name));
    snprintf(r->name, sizeof r->name, "%s", row->name);
    length = strlen(path);
    r->npy = length > 4 && strcmp(path + length - 4, ".npy") == 0;
    VT_TRY(vt_newfile_open(&r->file, path));
    if (fwrite(blank, 1, HEAD, r->file.f) != HEAD)
        VT_TRY(write_error(r));
    *out = r, r = NULL;
done:
    vitcl_rows_free(r);
    return st;
}

static vitcl_status ours(const vitcl_rows *rows)
{
    return rows->owner == getpid()
               ? VITCL_OK
               : vt_fail(VITCL_EINVAL, "the rows belong to the parent process "
                                       "and cannot be used after fork()");
}

/* After an error the file is no longer a whole number of rows. */
static vitcl_status open_still(const vitcl_rows *rows)
{
    if (ours(rows) != VITCL_OK)
        return VITCL_EINVAL;
    if (rows->failed)
        return vt_fail(VITCL_EINVAL, "the rows could not be written; free them "
                                     "and begin a new file");
    return rows->file.f ? VITCL_OK
                        : vt_fail(VITCL_EINVAL, "the rows are finished");
}

static vitcl_status add(vitcl_rows *rows, const float *data, uint32_t n)
{
    size_t count;

    VT_RET(open_still(rows));
    if (!vt_mul(&count, rows->count, n))
        return vt_fail(VITCL_EINVAL, "cannot add %u rows: too many", n);
    if (fwrite(data, sizeof *data, count, rows->file.f) != count) {
        rows->failed = true;
        return write_error(rows);
    }
    rows->rows += n;
    return VITCL_OK;
}

vitcl_status vitcl_rows_add(vitcl_rows *rows, const float *data, uint32_t n)
{
    VT_GIVEN(rows);
    VT_GIVEN(data);
    VT_RETURN_ALONE(rows, "vitcl_rows", add(rows, data, n));
}

static vitcl_status finish(vitcl_rows *rows)
{
    char head[HEAD];

    VT_RET(open_still(rows));
    fill_head(head, rows);
    rows->failed = true;
    if (fseek(rows->file.f, 0, SEEK_SET) != 0 ||
        fwrite(head, 1, HEAD, rows->file.f) != HEAD ||
        fflush(rows->file.f) != 0)
        return write_error(rows);
    VT_RET(vt_newfile_finish(&rows->file));
    rows->failed = false;
    return VITCL_OK;
}

vitcl_status vitcl_rows_finish(vitcl_rows *rows)
{
    VT_GIVEN(rows);
    VT_RETURN_ALONE(rows, "vitcl_rows", finish(rows));
}

/* On a full disk the last row may be in the file in part. */
static vitcl_status keep(char *name, size_t size, uint64_t *count,
                         vitcl_rows *rows)
{
    const size_t row = rows->count * sizeof(float);
    vitcl_status st;
    char head[HEAD], *path = NULL, *longest = NULL;
    uint64_t there;

    VT_TRY(ours(rows));
    if (!rows->file.f)
        return vt_fail(VITCL_EINVAL, "the rows are finished");
    VT_TRY(vt_partial_name(&longest, rows->file.path, VT_PARTIAL_MOST));
    if (strlen(longest) >= size)
        VT_TRY(vt_fail(VITCL_EINVAL,
                       "%s: the name of the rows that are kept may need %zu "
                       "bytes; there is room for %zu",
                       rows->file.path, strlen(longest) + 1, size));
    rows->failed = true;
    VT_TRY(vt_partial_size(&there, &rows->file));
    there = there < HEAD ? 0 : row ? (there - HEAD) / row : rows->rows;
    rows->rows = VT_MIN(rows->rows, there);
    name[0] = '\0';
    *count = rows->rows;
    if (!rows->rows)
        goto done;
    fill_head(head, rows);
    if (fseek(rows->file.f, 0, SEEK_SET) != 0 ||
        fwrite(head, 1, HEAD, rows->file.f) != HEAD)
        VT_TRY(write_error(rows));
    VT_TRY(vt_partial_keep(&path, &rows->file, HEAD + rows->rows * row, NULL, 0,
                           false));
    snprintf(name, size, "%s", path);
done:
    free(path);
    free(longest);
    return st;
}

vitcl_status vt_rows_keep(char *name, size_t size, uint64_t *count,
                          vitcl_rows *rows)
{
    VT_RETURN_ALONE(rows, "vitcl_rows", keep(name, size, count, rows));
}

void vitcl_rows_free(vitcl_rows *rows)
{
    if (!rows)
        return;
    if (rows->file.path && rows->owner != getpid())
        vt_newfile_forget(&rows->file);
    else if (rows->file.path)
        vt_newfile_discard(&rows->file);
    free(rows);
}
