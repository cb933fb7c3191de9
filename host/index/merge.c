/*
 * merge.c - join files of vectors row by row, the first of each file, then the
 * second of each, without a change to their numbers.
 */
#include "base/checksum.h"
#include "base/memory.h"
#include "base/status.h"
#include "index/index.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { HEAD_MAX = 65536 };

/* ---- .safetensors ---- */

static vitcl_status agree(const vt_index *a, const vt_index *b,
                          const char *path)
{
    VT_RET(vt_index_agrees(a, vt_index_about(b)));
    if (!vt_row_alike(vt_index_shape(a), vt_index_shape(b)) ||
        vt_index_half(a) != vt_index_half(b))
        return vt_fail(VITCL_EINVAL, "%s: its vectors have another form", path);
    return VITCL_OK;
}

static vitcl_status add_row(vt_vectors *to, void *bytes, const vt_index *x,
                            uint64_t row)
{
    const vt_vectors_row r = {.path = vt_index_path(x, row),
                              .stamp = vt_index_stamp(x, row),
                              .stored = bytes};

    VT_RET(vt_index_stored(bytes, x, row, 1));
    return vt_vectors_add(to, &r);
}

static vitcl_status interleave(vt_vectors *to, vt_index *const *x, uint32_t n)
{
    vitcl_status st = VITCL_OK;
    char *bytes = NULL;
    bool more = true;

    VT_TRY(vt_new(&bytes, vt_index_width(x[0]), sizeof(float)));
    for (uint64_t row = 0; more; row++) {
        more = false;
        for (uint32_t i = 0; i < n; i++)
            if (row < vt_index_count(x[i])) {
                VT_TRY(add_row(to, bytes, x[i], row));
                more = true;
            }
    }
done:
    free(bytes);
    return st;
}

static vitcl_status merge_indexes(const char *path,
                                  const vt_vectors_part *parts, uint32_t n)
{
    vitcl_status st;
    vt_index **x = NULL;
    vt_vectors *to = NULL;
    vt_about about = {.height = 0};

    VT_TRY(VT_NEW(&x, n));
    for (uint32_t i = 0; i < n; i++) {
        VT_TRY(vt_index_open(&x[i], parts[i].path));
        VT_TRY(agree(x[0], x[i], parts[i].path));
        if (i == 0)
            about = *vt_index_about(x[0]);
        else if (strcmp(about.folder, vt_index_about(x[i])->folder) != 0)
            about.folder[0] = '\0'; /* other machines have it elsewhere */
    }
    VT_TRY(vt_vectors_open(&to, path, &about, vt_index_shape(x[0]),
                           vt_index_half(x[0])));
    VT_TRY(interleave(to, x, n));
    VT_TRY(vt_vectors_finish(to));
done:
    for (uint32_t i = 0; x && i < n; i++)
        vt_index_free(x[i]);
    free(x);
    vt_vectors_free(to);
    return st;
}

/* ---- .npy ---- */

typedef struct npy {
    const char *path;
    char *beside; /* the file of its names */
    FILE *f, *names;
    uint64_t rows;
    vt_row_shape shape;
    bool half;
} npy;

static vitcl_status bad(const char *path, const char *what)
{
    return vt_fail(VITCL_ECORRUPT, "%s: %s", path, what);
}

/* The head as vitcl writes it. */
static bool read_head(npy *x)
{
    static const char begin[] =
        "{'descr': '<f%d', 'fortran_order': False, "
        "'shape': (%" SCNu64 ",%" SCNu32 ",%" SCNu32 ",%" SCNu32 "%n";
    unsigned char start[10];
    char text[HEAD_MAX];
    uint32_t axis[3];
    size_t size;
    int bytes = 0, end = 0, got;

    if (fread(start, 1, 10, x->f) != 10 ||
        memcmp(start, "\x93NUMPY\x01", 7) != 0)
        return false;
    size = (size_t)start[8] | (size_t)start[9] << 8;
    if (size >= sizeof text || fread(text, 1, size, x->f) != size)
        return false;
    text[size] = '\0';
    got = sscanf(text, begin, &bytes, &x->rows, &axis[0], &axis[1], &axis[2],
                 &end);
    x->half = bytes == 2;
    if (got < 3 || (bytes != 2 && bytes != 4))
        return false;
    for (int i = 0; i < got - 2; i++)
        if (axis[i] < 1 || axis[i] > 1000000)
            return false;
    x->shape = (vt_row_shape){.rows = got == 5 ? axis[0] : 0,
                              .columns = got > 3 ? axis[got - 4] : 0,
                              .width = axis[got - 3]};
    return vt_row_count(x->shape) > 0;
}

static vitcl_status open_npy(npy *x, const vt_vectors_part *part)
{
    const char *path = part->path;

    x->path = path;
    VT_RET(vt_format(&x->beside, "%.*s.paths", (int)strlen(path) - 4, path));
    VT_RET(vt_checksum_open(&x->f, path, part->summed ? &part->sum : NULL));
    if (!read_head(x)) {
        VT_RET(vt_checksum_end(x->f, path));
        VT_RET(bad(path, "cannot be read, or is not a file of vitcl"));
    }
    return vt_checksum_open(&x->names, x->beside,
                            part->summed ? &part->paths : NULL);
}

/* Have both files, which must be read, their checksums? */
static vitcl_status end_npy(const npy *x)
{
    VT_RET(vt_checksum_end(x->f, x->path));
    return vt_checksum_end(x->names, x->beside);
}

static void close_npy(npy *x)
{
    if (x->f)
        fclose(x->f);
    if (x->names)
        fclose(x->names);
    free(x->beside);
}

/* Undoes how the names of a .paths file are written; false: the end. */
static bool read_name(char *out, size_t room, FILE *f)
{
    size_t n = 0;
    int c;

    while ((c = fgetc(f)) != EOF && c != '\n' && n + 1 < room) {
        if (c == '\\') {
            c = fgetc(f);
            c = c == 't' ? '\t' : c == 'n' ? '\n' : c;
        }
        out[n++] = (char)c;
    }
    out[n] = '\0';
    return c == '\n';
}

static vitcl_status add_npy(vt_vectors *to, char *bytes, size_t size, npy *x)
{
    char name[VT_INDEX_PATH * 2];

    if (fread(bytes, 1, size, x->f) != size ||
        !read_name(name, sizeof name, x->names)) {
        VT_RET(end_npy(x)); /* the usual cause */
        VT_RET(bad(x->path, "is cut, or its names are"));
    }
    return vt_vectors_add(to, &(vt_vectors_row){.path = name, .stored = bytes});
}

static vitcl_status merge_npys(const char *path, const vt_vectors_part *parts,
                               uint32_t n)
{
    static const vt_about about;
    vitcl_status st;
    vt_vectors *to = NULL;
    npy *x = NULL;
    char *bytes = NULL;
    size_t size = 0;
    uint64_t most = 0;

    VT_TRY(VT_NEW(&x, n));
    for (uint32_t i = 0; i < n; i++) {
        VT_TRY(open_npy(&x[i], &parts[i]));
        if (!vt_row_alike(x[i].shape, x[0].shape) || x[i].half != x[0].half)
            VT_TRY(bad(parts[i].path, "its vectors have another form"));
        most = VT_MAX(most, x[i].rows);
    }
    VT_TRY(vt_vectors_open(&to, path, &about, x[0].shape, x[0].half));
    size = vt_row_count(x[0].shape) * (x[0].half ? 2 : 4);
    VT_TRY(vt_new(&bytes, size, 1));
    for (uint64_t row = 0; row < most; row++)
        for (uint32_t i = 0; i < n; i++)
            if (row < x[i].rows)
                VT_TRY(add_npy(to, bytes, size, &x[i]));
    for (uint32_t i = 0; i < n; i++)
        VT_TRY(end_npy(&x[i]));
    VT_TRY(vt_vectors_finish(to));
done:
    for (uint32_t i = 0; x && i < n; i++)
        close_npy(&x[i]);
    free(x);
    free(bytes);
    vt_vectors_free(to);
    return st;
}

vitcl_status vt_vectors_merge(const char *path, const vt_vectors_part *parts,
                              uint32_t n)
{
    const size_t end = strlen(path);

    return end > 4 && strcmp(path + end - 4, ".npy") == 0
               ? merge_npys(path, parts, n)
               : merge_indexes(path, parts, n);
}
