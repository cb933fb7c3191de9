/*
 * write.c - vectors and their paths, row by row, in four formats.
 *
 * Space for the head of a binary file is reserved at its start, padded with
 * blanks as both formats allow, and filled in at the end.
 */
#include "base/checksum.h"
#include "base/file.h"
#include "base/half.h"
#include "base/json_print.h"
#include "base/memory.h"
#include "base/number.h"
#include "index/index.h"
#include "index/sums.h"
#include "plot/text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { HEAD = 32768, NPY_HEAD = 512 };

typedef enum { SAFETENSORS, NPY, JSONL, CSV, FORMATS } format;

struct vt_vectors {
    vt_newfile file, names; /* names: the .paths file beside .npy */
    format format;
    vt_about about;
    uint32_t given, width;
    size_t count; /* numbers a row */
    bool half;
    uint64_t rows, unfit;
    uint16_t *narrow; /* a row as f16 */
    float *nan;
    vt_stamp *stamps; /* and paths, until the end of a safetensors file */
    char *paths;
    size_t stamp_cap, path_cap, path_bytes;
    vt_summing *summing; /* the block of rows that is not complete */
    uint64_t *sums, block;
    size_t sum_cap, sum_count;
};

static const char *const endings[FORMATS] = {".safetensors", ".npy", ".jsonl",
                                             ".csv"};

static vitcl_status write_error(const vt_newfile *f)
{
    return vt_fail(VITCL_EIO, "%s: cannot be written: %s", f->path,
                   strerror(errno));
}

static vitcl_status put(vt_newfile *f, const void *data, size_t size, size_t n)
{
    if (n == 0) /* data may be NULL */
        return VITCL_OK;
    return fwrite(data, size, n, f->f) == n ? VITCL_OK : write_error(f);
}

/* ---- text ---- */

/* A path on a line of its own: tab, newline and backslash are escaped. */
static void put_line(FILE *f, const char *s)
{
    for (; *s; s++)
        if (*s == '\t' || *s == '\n' || *s == '\\')
            fprintf(f, "\\%c", *s == '\t' ? 't' : *s == '\n' ? 'n' : '\\');
        else
            fputc(*s, f);
    fputc('\n', f);
}

static void put_numbers(const vt_vectors *v, const float *x)
{
    FILE *f = v->file.f;

    fputs(v->given ? "[[" : "[", f);
    for (size_t i = 0; i < v->count; i++) {
        if (i)
            fputs(i % v->width ? "," : "],[", f);
        vt_print(f, "%.9g", (double)x[i]);
    }
    fputs(v->given ? "]]" : "]", f);
}

static void put_jsonl(const vt_vectors *v, const vt_vectors_row *row)
{
    FILE *f = v->file.f;

    fputc('{', f);
    if (row->sharded)
        fprintf(f, "\"position\":%" PRIu64 ",", row->position);
    vt_text_json_path(f, "picture", "path_bytes", row->path);
    if (row->error) {
        fputs(",\"error\":", f);
        vt_text_json(f, row->error);
    } else {
        fputs(",\"features\":", f);
        put_numbers(v, row->numbers);
    }
    fputs("}\n", f);
}

/* The fields of a failure are empty. */
static void put_csv(const vt_vectors *v, const vt_vectors_row *row)
{
    FILE *f = v->file.f;

    vt_text_csv(f, row->path, VT_CSV_PATH, false);
    for (size_t i = 0; i < v->count; i++) {
        fputc(',', f);
        if (!row->error)
            vt_print(f, "%.9g", (double)row->numbers[i]);
    }
    fputc('\n', f);
}

static void put_csv_head(const vt_vectors *v)
{
    fputs("picture", v->file.f);
    for (size_t i = 0; i < v->count; i++)
        fprintf(v->file.f, ",f%zu", i);
    fputc('\n', v->file.f);
}

/* ---- opening ---- */

/* The names of x.npy are in x.paths. */
static vitcl_status names_beside(char **out, const char *path)
{
    return vt_format(out, "%.*s.paths", (int)(strlen(path) - 4), path);
}

static vitcl_status open_names(vt_vectors *v, const char *path)
{
    vitcl_status st;
    char *beside = NULL;

    VT_TRY(names_beside(&beside, path));
    VT_TRY(vt_newfile_open(&v->names, beside));
done:
    free(beside);
    return st;
}

static vitcl_status begin(vt_vectors *v, const char *path)
{
    static const char blank[HEAD];
    vitcl_status st = VITCL_OK;

    VT_TRY(vt_newfile_open(&v->file, path));
    if (v->format == SAFETENSORS)
        VT_TRY(put(&v->file, blank, 1, HEAD));
    if (v->format == NPY) {
        VT_TRY(put(&v->file, blank, 1, NPY_HEAD));
        VT_TRY(open_names(v, path));
    }
    if (v->format == CSV)
        put_csv_head(v);
done:
    return st;
}

vitcl_status vt_vectors_open(vt_vectors **out, const char *path,
                             const vt_about *about, uint32_t given,
                             uint32_t width, bool half)
{
    vitcl_status st;
    vt_vectors *v = NULL;

    VT_TRY(VT_NEW(&v, 1));
    v->about = *about;
    v->given = given, v->width = width, v->half = half;
    while (v->format < FORMATS && !vt_text_ends(path, endings[v->format]))
        v->format++;
    if (v->format == FORMATS || !width ||
        !vt_mul(&v->count, given ? given : 1, width))
        VT_TRY(vt_fail(VITCL_EINVAL, "%s: no format for vectors", path));
    VT_TRY(VT_NEW(&v->narrow, v->count));
    VT_TRY(VT_NEW(&v->nan, v->count));
    for (size_t i = 0; i < v->count; i++)
        v->nan[i] = NAN;
    v->block = vt_sums_block(v->count);
    VT_TRY(vt_summing_new(&v->summing));
    VT_TRY(begin(v, path));
    *out = v, v = NULL;
done:
    vt_vectors_free(v);
    return st;
}

/* ---- rows ---- */

static vitcl_status add_sum(vt_vectors *v, uint64_t sum)
{
    vitcl_status st;

    VT_TRY(vt_grow(&v->sums, &v->sum_cap, v->sum_count + 1, sizeof *v->sums));
    v->sums[v->sum_count++] = sum;
done:
    return st;
}

/* bytes: of a row */
static vitcl_status put_bytes(vt_vectors *v, const void *bytes)
{
    const size_t each = v->half ? 2 : 4;
    vitcl_status st;

    VT_TRY(put(&v->file, bytes, each, v->count));
    vt_summing_add(v->summing, bytes, each * v->count);
    if ((v->rows + 1) % v->block == 0)
        VT_TRY(add_sum(v, vt_summing_take(v->summing)));
done:
    return st;
}

static vitcl_status put_binary(vt_vectors *v, const float *x)
{
    enum { INFINITE = 0x7c00, MAGNITUDE = 0x7fff };
    bool infinite = false, before = false, after = false;

    if (!v->half)
        return put_bytes(v, x);
    for (size_t i = 0; i < v->count; i++) {
        v->narrow[i] = vt_f32_to_f16(x[i]);
        infinite |= (v->narrow[i] & MAGNITUDE) == INFINITE && isfinite(x[i]);
        before |= x[i] != 0;
        after |= (v->narrow[i] & MAGNITUDE) != 0;
    }
    v->unfit += infinite || (before && !after);
    return put_bytes(v, v->narrow);
}

/* Keeps what is written after the features. */
static vitcl_status keep(vt_vectors *v, const vt_vectors_row *row)
{
    const size_t n = strlen(row->path) + 1;
    vitcl_status st;

    VT_TRY(vt_grow(&v->stamps, &v->stamp_cap, v->rows + 1, sizeof *v->stamps));
    VT_TRY(vt_grow(&v->paths, &v->path_cap, v->path_bytes + n, 1));
    v->stamps[v->rows] = row->stamp;
    memcpy(v->paths + v->path_bytes, row->path, n);
    v->path_bytes += n;
done:
    return st;
}

vitcl_status vt_vectors_add(vt_vectors *v, const vt_vectors_row *row)
{
    vitcl_status st = VITCL_OK;

    if (v->format == JSONL)
        put_jsonl(v, row);
    else if (v->format == CSV)
        put_csv(v, row);
    else if (row->stored)
        VT_TRY(put_bytes(v, row->stored));
    else
        VT_TRY(put_binary(v, row->error ? v->nan : row->numbers));
    if (v->format == SAFETENSORS)
        VT_TRY(keep(v, row));
    if (v->format == NPY)
        put_line(v->names.f, row->path);
    if (ferror(v->file.f))
        return write_error(&v->file);
    v->rows++;
done:
    return st;
}

/* ---- heads ---- */

static void put_about(FILE *f, const vt_vectors *v)
{
    const vt_about *a = &v->about;

    fputs("{\"__metadata__\":{\"format\":\"vitcl index 1\",\"folder\":", f);
    vt_json_print_string(f, a->folder);
    fputs(",\"model\":", f);
    vt_json_print_string(f, a->model);
    fprintf(f,
            ",\"model_id\":\"%s\",\"pictures_id\":\"%s\",\"feature\":\"%s\","
            "\"size\":\"%" PRIu32 "x%" PRIu32 "\",\"normalized\":\"%s\","
            "\"pixels\":\"%s\",\"block\":\"%" PRIu64 "\"}",
            a->model_id, a->pictures_id, a->feature, a->height, a->width,
            a->normalized ? "true" : "false",
            a->pixels[0] ? a->pixels : "pillow", v->block);
}

static void put_shape(FILE *f, const vt_vectors *v)
{
    fprintf(f, "%" PRIu64, v->rows);
    if (v->given)
        fprintf(f, ",%" PRIu32, v->given);
    fprintf(f, ",%" PRIu32, v->width);
}

static void put_tensors(FILE *f, const vt_vectors *v)
{
    const uint64_t sums = v->sum_count + 1, /* and that of the head */
        a = v->rows * v->count * (v->half ? 2 : 4),
                   b = a + v->rows * sizeof(vt_stamp),
                   c = b + sums * sizeof *v->sums, d = c + v->path_bytes;

    put_about(f, v);
    fprintf(f, ",\"features\":{\"dtype\":\"%s\",\"shape\":[",
            v->half ? "F16" : "F32");
    put_shape(f, v);
    fprintf(f,
            "],\"data_offsets\":[0,%" PRIu64 "]},"
            "\"stamps\":{\"dtype\":\"I64\",\"shape\":[%" PRIu64
            ",2],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]},"
            "\"checksums\":{\"dtype\":\"I64\",\"shape\":[%" PRIu64
            "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]},"
            "\"paths\":{\"dtype\":\"U8\",\"shape\":[%zu],"
            "\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}}",
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
    const size_t start = v->format == NPY ? 10 : 8, from = start - 8;
    const uint64_t length = size - start;
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);

    if (f)
        (v->format == NPY ? put_npy : put_tensors)(f, v);
    if (!f || fclose(f) != 0 || !text || n > size - start) {
        free(text);
        return vt_fail(VITCL_ENOMEM, "%s: the head of the file is too large",
                       v->file.path);
    }
    memset(head, ' ', size);
    if (v->format == NPY)
        memcpy(head, "\x93NUMPY\x01", 8); /* the minor version is 0 */
    for (size_t i = v->format == NPY ? 8 : 0; i < start; i++)
        head[i] = (char)(length >> 8 * (i - (from ? 8 : 0)) & 255);
    memcpy(head + start, text, n);
    head[size - 1] = v->format == NPY ? '\n' : ' ';
    free(text);
    return VITCL_OK;
}

/* All but that of the head. */
static vitcl_status end_sums(vt_vectors *v)
{
    vitcl_status st = VITCL_OK;

    if (v->rows % v->block != 0)
        VT_TRY(add_sum(v, vt_summing_take(v->summing)));
    VT_TRY(add_sum(v, vt_checksum(v->stamps, v->rows * sizeof *v->stamps)));
    VT_TRY(add_sum(v, vt_checksum(v->paths, v->path_bytes)));
done:
    return st;
}

static vitcl_status finish_binary(vt_vectors *v)
{
    const size_t size = v->format == NPY ? NPY_HEAD : HEAD;
    vitcl_status st;
    char *head = NULL;

    VT_TRY(VT_NEW(&head, size));
    if (v->format == SAFETENSORS)
        VT_TRY(end_sums(v));
    VT_TRY(make_head(head, size, v));
    if (v->format == SAFETENSORS) {
        VT_TRY(add_sum(v, vt_checksum(head + 8, size - 8)));
        VT_TRY(put(&v->file, v->stamps, sizeof *v->stamps, v->rows));
        VT_TRY(put(&v->file, v->sums, sizeof *v->sums, v->sum_count));
        VT_TRY(put(&v->file, v->paths, 1, v->path_bytes));
    }
    if (fseeko(v->file.f, 0, SEEK_SET) != 0)
        VT_TRY(write_error(&v->file));
    VT_TRY(put(&v->file, head, 1, size));
done:
    free(head);
    return st;
}

vitcl_status vt_vectors_finish(vt_vectors *v)
{
    vitcl_status st = VITCL_OK;

    if (v->format == SAFETENSORS || v->format == NPY)
        VT_TRY(finish_binary(v));
    VT_TRY(v->names.path ? vt_newfile_commit_both(&v->names, &v->file)
                         : vt_newfile_commit(&v->file));
done:
    return st;
}

uint64_t vt_vectors_unfit(const vt_vectors *v)
{
    return v->unfit;
}

vitcl_status vt_vectors_keep(vt_vectors *v, const char *name)
{
    vitcl_status st = VITCL_OK;
    char *beside = NULL;

    if (v->format == SAFETENSORS || v->format == NPY)
        VT_TRY(finish_binary(v));
    if (v->names.path) {
        VT_TRY(names_beside(&beside, name));
        VT_TRY(vt_newfile_keep(&v->names, beside));
    }
    VT_TRY(vt_newfile_keep(&v->file, name));
done:
    free(beside);
    return st;
}

void vt_vectors_free(vt_vectors *v)
{
    if (!v)
        return;
    if (v->file.path)
        vt_newfile_discard(&v->file);
    if (v->names.path)
        vt_newfile_discard(&v->names);
    vt_summing_free(v->summing);
    free(v->sums);
    free(v->narrow);
    free(v->nan);
    free(v->stamps);
    free(v->paths);
    free(v);
}
