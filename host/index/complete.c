/*
 * complete.c - what is around the rows of vectors: heads, and the parts that
 * follow the rows of an index.
 *
 * Space for the head of a binary file is reserved at its start, padded with
 * blanks as both formats allow, and filled in at the end.
 */
#include "base/json_print.h"
#include "base/memory.h"
#include "index/sums.h"
#include "index/vectors.h"

#include <inttypes.h>
#include <string.h>

/* ---- heads ---- */

static void put_about(vt_json_writer *w, const vt_vectors *v)
{
    const vt_about *a = &v->about;

    vt_json_put(w,
                "{__metadata__:{format:'vitcl index 1' folder:%s model:%s "
                "model_id:%s pictures_id:%s feature:%s size:'%ux%u' "
                "normalized:%s pixels:%s block:'%" PRIu64 "'",
                a->folder, a->model, a->model_id, a->pictures_id, a->feature,
                a->height, a->width, a->normalized ? "true" : "false",
                a->pixels[0] ? a->pixels : "pillow", v->block);
    if (a->patches)
        vt_json_put(w, "max_num_patches:'%u'", a->patches);
    vt_json_put(w, "}");
}

static void put_shape(FILE *f, const vt_vectors *v)
{
    fprintf(f, "%" PRIu64, v->rows);
    if (v->shape.rows)
        fprintf(f, ",%" PRIu32, v->shape.rows);
    if (v->shape.columns)
        fprintf(f, ",%" PRIu32, v->shape.columns);
    fprintf(f, ",%" PRIu32, v->shape.width);
}

static void put_tensors(FILE *f, const vt_vectors *v)
{
    vt_json_writer w = {.f = f};
    const uint64_t sums = v->sum_count + 1, /* and that of the head */
        a = v->rows * v->count * (v->half ? 2 : 4),
                   b = a + v->rows * sizeof(vt_stamp),
                   c = b + sums * sizeof *v->sums, d = c + v->path_bytes;

    put_about(&w, v);
    vt_json_put(&w, "features:{dtype:%s shape:[", v->half ? "F16" : "F32");
    put_shape(vt_json_raw(&w), v);
    vt_json_put(&w,
                "] data_offsets:[0 %" PRIu64 "]}"
                "stamps:{dtype:'I64' shape:[%" PRIu64
                " 2] data_offsets:[%" PRIu64 " %" PRIu64 "]}"
                "checksums:{dtype:'I64' shape:[%" PRIu64
                "] data_offsets:[%" PRIu64 " %" PRIu64 "]}"
                "paths:{dtype:'U8' shape:[%zu] data_offsets:[%" PRIu64
                " %" PRIu64 "]}}",
                a, v->rows, a, b, sums, b, c, v->path_bytes, c, d);
}

static void put_npy(FILE *f, const vt_vectors *v)
{
    fprintf(f, "{'descr': '<f%d', 'fortran_order': False, 'shape': (",
            v->half ? 2 : 4);
    put_shape(f, v);
    fputs("), }", f);
}

/* Fills `size` bytes: the bytes before the text, the text, blanks. */
static vitcl_status make_head(char *head, size_t size, const vt_vectors *v)
{
    const size_t start = v->format == VT_AS_NPY ? 10 : 8, from = start - 8;
    const uint64_t length = size - start;
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);

    if (f)
        (v->format == VT_AS_NPY ? put_npy : put_tensors)(f, v);
    if (!f || fclose(f) != 0 || !text || n > size - start) {
        free(text);
        return vt_fail(VITCL_ENOMEM, "%s: the head of the file is too large",
                       v->file.path);
    }
    memset(head, ' ', size);
    if (v->format == VT_AS_NPY)
        memcpy(head, "\x93NUMPY\x01", 8); /* the minor version is 0 */
    for (size_t i = v->format == VT_AS_NPY ? 8 : 0; i < start; i++)
        head[i] = (char)(length >> 8 * (i - (from ? 8 : 0)) & 255);
    memcpy(head + start, text, n);
    head[size - 1] = v->format == VT_AS_NPY ? '\n' : ' ';
    free(text);
    return VITCL_OK;
}

/* All but that of the head. */
static vitcl_status end_sums(vt_vectors *v)
{
    if (v->rows % v->block != 0)
        VT_RET(vt_vectors_add_sum(v, vt_summing_take(v->summing)));
    VT_RET(vt_vectors_add_sum(
        v, vt_checksum(v->stamps, v->rows * sizeof *v->stamps)));
    return vt_vectors_add_sum(v, vt_checksum(v->paths, v->path_bytes));
}

static vitcl_status finish_binary(vt_vectors *v)
{
    const size_t size = v->format == VT_AS_NPY ? VT_NPY_HEAD : VT_HEAD;
    vitcl_status st;
    char *head = NULL;

    VT_TRY(VT_NEW(&head, size));
    if (v->format == VT_AS_SAFETENSORS)
        VT_TRY(end_sums(v));
    VT_TRY(make_head(head, size, v));
    if (v->format == VT_AS_SAFETENSORS) {
        VT_TRY(vt_vectors_add_sum(v, vt_checksum(head + 8, size - 8)));
        VT_TRY(vt_vectors_put(&v->file, v->stamps, sizeof *v->stamps, v->rows));
        VT_TRY(
            vt_vectors_put(&v->file, v->sums, sizeof *v->sums, v->sum_count));
        VT_TRY(vt_vectors_put(&v->file, v->paths, 1, v->path_bytes));
    }
    if (fseeko(v->file.f, 0, SEEK_SET) != 0)
        VT_TRY(vt_vectors_error(&v->file));
    VT_TRY(vt_vectors_put(&v->file, head, 1, size));
done:
    free(head);
    return st;
}

/* What follows the rows, and the head. */
static vitcl_status complete(vt_vectors *v)
{
    if (v->format == VT_AS_SAFETENSORS || v->format == VT_AS_NPY)
        VT_RET(finish_binary(v));
    if (fflush(v->file.f) != 0 || ferror(v->file.f))
        VT_RET(vt_vectors_error(&v->file));
    if (v->names.path && (fflush(v->names.f) != 0 || ferror(v->names.f)))
        VT_RET(vt_vectors_error(&v->names));
    return VITCL_OK;
}

vitcl_status vt_vectors_finish(vt_vectors *v)
{
    VT_RET(complete(v));
    return v->names.path ? vt_newfile_finish_both(&v->names, &v->file)
                         : vt_newfile_finish(&v->file);
}

/* ---- what there is after a failure ---- */

static size_t row_bytes(const vt_vectors *v)
{
    return v->count * (v->half ? 2 : 4);
}

/* The bytes of a safetensors file with `rows` rows and so many paths. */
static uint64_t whole_size(const vt_vectors *v, uint64_t rows, size_t paths)
{
    const uint64_t blocks = rows / v->block + (rows % v->block != 0);

    return VT_HEAD + rows * (row_bytes(v) + sizeof(vt_stamp)) +
           (blocks + VT_SUM_KINDS) * sizeof *v->sums + paths;
}

/* Goes back to `rows` rows, which may be as many as there are: their checksums,
 * and the place in the file where the rest follows. */
static vitcl_status go_back(vt_vectors *v, uint64_t rows, size_t paths)
{
    const size_t rest = (size_t)(rows % v->block) * row_bytes(v);
    const uint64_t end = VT_HEAD + rows * row_bytes(v);
    vitcl_status st;
    char *bytes = NULL;

    v->rows = rows;
    v->path_bytes = paths;
    v->sum_count = (size_t)(rows / v->block);
    VT_TRY(vt_new(&bytes, rest + 1, 1));
    if (vt_read_at(fileno(v->file.f), bytes, rest, end - rest) != 0 ||
        fseeko(v->file.f, (off_t)end, SEEK_SET) != 0)
        VT_TRY(vt_fail(VITCL_EIO, "%s: cannot be read", v->file.path));
    (void)vt_summing_take(v->summing);
    vt_summing_add(v->summing, bytes, rest);
done:
    free(bytes);
    return st;
}

/* The rows whose whole file has at most so many bytes, `there`. */
static vitcl_status shrink(vt_vectors *v, uint64_t there)
{
    const uint64_t most =
        there < VT_HEAD ? 0 : (there - VT_HEAD) / row_bytes(v);
    size_t paths = v->path_bytes;
    uint64_t rows = v->rows;

    while (rows && (rows > most || whole_size(v, rows, paths) > there)) {
        for (paths--; paths && v->paths[paths - 1];)
            paths--;
        rows--;
    }
    return go_back(v, rows, paths);
}

/* Where a full disk has no room for what follows the rows, the last ones make
 * some. */
static vitcl_status keep_index(uint64_t *size, vt_vectors *v)
{
    uint64_t there;

    VT_RET(vt_partial_size(&there, &v->file));
    if (there < VT_HEAD + v->rows * row_bytes(v) ||
        go_back(v, v->rows, v->path_bytes) != VITCL_OK ||
        complete(v) != VITCL_OK) {
        VT_RET(vt_partial_size(&there, &v->file));
        VT_RET(shrink(v, there));
        VT_RET(complete(v));
    }
    *size = whole_size(v, v->rows, v->path_bytes);
    return VITCL_OK;
}

/* The rows that are whole, and named in the other file. */
static vitcl_status keep_npy(uint64_t *size, uint64_t *names, vt_vectors *v)
{
    vt_partial_rows named;
    uint64_t there, most;

    VT_RET(vt_partial_size(&there, &v->file));
    most = there < VT_NPY_HEAD ? 0 : (there - VT_NPY_HEAD) / row_bytes(v);
    VT_RET(vt_partial_count(&named, &v->names, false, VT_MIN(most, v->rows)));
    v->rows = named.rows;
    *names = named.bytes;
    *size = VT_NPY_HEAD + v->rows * row_bytes(v);
    return complete(v);
}

static vitcl_status keep_text(uint64_t *size, vt_vectors *v)
{
    const bool csv = v->format == VT_AS_CSV;
    vt_partial_rows whole;

    VT_RET(vt_partial_count(&whole, &v->file, csv, UINT64_MAX));
    v->rows = whole.rows - (csv && whole.rows); /* the head */
    *size = whole.bytes;
    return VITCL_OK;
}

vitcl_status vt_vectors_keep(char **name, uint64_t *rows, vt_vectors *v,
                             bool replace)
{
    uint64_t size, names = 0;

    *name = NULL, *rows = 0;
    if (!v->file.f || (v->names.path && !v->names.f)) /* it failed at its end */
        return VITCL_OK;
    VT_RET(v->format == VT_AS_SAFETENSORS ? keep_index(&size, v)
           : v->format == VT_AS_NPY       ? keep_npy(&size, &names, v)
                                          : keep_text(&size, v));
    *rows = v->rows;
    if (v->rows)
        VT_RET(vt_partial_keep(name, &v->file, size,
                               v->names.path ? &v->names : NULL, names,
                               replace));
    return VITCL_OK;
}
