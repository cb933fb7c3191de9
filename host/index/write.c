/*
 * write.c - vectors and their paths, row by row, in four formats.
 */
#include "base/csv.h"
#include "base/file.h"
#include "base/half.h"
#include "base/json_print.h"
#include "base/memory.h"
#include "base/number.h"
#include "index/sums.h"
#include "index/vectors.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *const endings[VT_FORMATS] = {".safetensors", ".npy",
                                                ".jsonl", ".csv"};

vitcl_status vt_vectors_error(const vt_newfile *f)
{
    return vt_fail(VITCL_EIO, "%s: cannot be written: %s", f->path,
                   strerror(errno));
}

vitcl_status vt_vectors_put(vt_newfile *f, const void *data, size_t size,
                            size_t n)
{
    if (n == 0) /* data may be NULL */
        return VITCL_OK;
    return fwrite(data, size, n, f->f) == n ? VITCL_OK : vt_vectors_error(f);
}

size_t vt_row_count(vt_row_shape s)
{
    size_t n = 0;

    return vt_mul(&n, s.rows ? s.rows : 1, s.columns ? s.columns : 1) &&
                   vt_mul(&n, n, s.width)
               ? n
               : 0;
}

bool vt_row_alike(vt_row_shape a, vt_row_shape b)
{
    return a.rows == b.rows && a.columns == b.columns && a.width == b.width;
}

const char *vt_row_mark(vt_row_shape s, size_t i)
{
    static const char *const marks[][3] = {
        {"[", "[[", "[[["}, {"]", "]]", "]]]"}, {"", "],[", "]],[["}};
    const int axes = (s.rows > 0) + (s.columns > 0);
    const size_t line = (size_t)s.width * s.columns;

    if (i == 0 || i == vt_row_count(s))
        return marks[i > 0][axes];
    if (i % s.width)
        return ",";
    return marks[2][s.rows && line && i % line == 0 ? 2 : 1];
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

    for (size_t i = 0; i < v->count; i++) {
        fputs(vt_row_mark(v->shape, i), f);
        vt_print(f, "%.9g", (double)x[i]);
    }
    fputs(vt_row_mark(v->shape, v->count), f);
}

static bool of_texts(const vt_vectors *v)
{
    return strcmp(v->about.feature, VT_FEATURE_TEXT) == 0;
}

static void put_jsonl(const vt_vectors *v, const vt_vectors_row *row)
{
    vt_json_writer w = {.f = v->file.f};

    vt_json_put(&w, "{");
    if (row->sharded)
        vt_json_put(&w, "position:%" PRIu64, row->position);
    if (of_texts(v))
        vt_json_put(&w, "text:%s", row->path);
    else
        vt_json_put_path(&w, "picture", "path_bytes", row->path);
    if (row->error) {
        vt_json_put(&w, "error:%s", row->error);
    } else {
        vt_json_put(&w, "features:");
        vt_json_raw(&w);
        put_numbers(v, row->numbers);
    }
    vt_json_put(&w, "}\n");
}

/* The fields of a failure are empty. */
static void put_csv(const vt_vectors *v, const vt_vectors_row *row)
{
    FILE *f = v->file.f;

    vt_csv_put(f, row->path, of_texts(v) ? VT_CSV_TEXT : VT_CSV_PATH, false);
    for (size_t i = 0; i < v->count; i++) {
        fputc(',', f);
        if (!row->error)
            vt_print(f, "%.9g", (double)row->numbers[i]);
    }
    fputc('\n', f);
}

static void put_csv_head(const vt_vectors *v)
{
    fputs(of_texts(v) ? "text" : "picture", v->file.f);
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
    static const char blank[VT_HEAD];

    VT_RET(vt_newfile_open(&v->file, path));
    if (v->format == VT_AS_SAFETENSORS)
        VT_RET(vt_vectors_put(&v->file, blank, 1, VT_HEAD));
    if (v->format == VT_AS_NPY) {
        VT_RET(vt_vectors_put(&v->file, blank, 1, VT_NPY_HEAD));
        VT_RET(open_names(v, path));
    }
    if (v->format == VT_AS_CSV)
        put_csv_head(v);
    return VITCL_OK;
}

vitcl_status vt_vectors_open(vt_vectors **out, const char *path,
                             const vt_about *about, vt_row_shape shape,
                             bool half)
{
    vitcl_status st;
    vt_vectors *v = NULL;

    VT_TRY(VT_NEW(&v, 1));
    v->about = *about;
    v->shape = shape, v->half = half;
    v->count = vt_row_count(shape);
    while (v->format < VT_FORMATS && !vt_path_ends(path, endings[v->format]))
        v->format++;
    if (v->format == VT_FORMATS || !v->count)
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

vitcl_status vt_vectors_add_sum(vt_vectors *v, uint64_t sum)
{
    VT_RET(vt_grow(&v->sums, &v->sum_cap, v->sum_count + 1, sizeof *v->sums));
    v->sums[v->sum_count++] = sum;
    return VITCL_OK;
}

/* bytes: of a row */
static vitcl_status put_bytes(vt_vectors *v, const void *bytes)
{
    const size_t each = v->half ? 2 : 4;

    VT_RET(vt_vectors_put(&v->file, bytes, each, v->count));
    vt_summing_add(v->summing, bytes, each * v->count);
    if ((v->rows + 1) % v->block == 0)
        VT_RET(vt_vectors_add_sum(v, vt_summing_take(v->summing)));
    return VITCL_OK;
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

    VT_RET(vt_grow(&v->stamps, &v->stamp_cap, v->rows + 1, sizeof *v->stamps));
    VT_RET(vt_grow(&v->paths, &v->path_cap, v->path_bytes + n, 1));
    v->stamps[v->rows] = row->stamp;
    memcpy(v->paths + v->path_bytes, row->path, n);
    v->path_bytes += n;
    return VITCL_OK;
}

vitcl_status vt_vectors_add(vt_vectors *v, const vt_vectors_row *row)
{
    if (v->format == VT_AS_JSONL)
        put_jsonl(v, row);
    else if (v->format == VT_AS_CSV)
        put_csv(v, row);
    else if (row->stored)
        VT_RET(put_bytes(v, row->stored));
    else
        VT_RET(put_binary(v, row->error ? v->nan : row->numbers));
    if (v->format == VT_AS_NPY)
        put_line(v->names.f, row->path);
    if (ferror(v->file.f))
        return vt_vectors_error(&v->file);
    if (v->format == VT_AS_SAFETENSORS)
        VT_RET(keep(v, row));
    v->rows++;
    return VITCL_OK;
}

uint64_t vt_vectors_count(const vt_vectors *v)
{
    return v->rows;
}

uint64_t vt_vectors_unfit(const vt_vectors *v)
{
    return v->unfit;
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

void vt_vector_unit(float *v, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)v[i] * (double)v[i];
    for (size_t i = 0; i < n && sum > 0; i++)
        v[i] = (float)((double)v[i] / sqrt(sum));
}
