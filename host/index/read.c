/*
 * read.c - an index as a file holds it. Every number in it is checked.
 */
#include "base/checksum.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/words.h"
#include "index/index.h"
#include "index/sums.h"
#include "weights/weights.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Of a head with three tensors and their metadata. */
#define HEAD_MAX 1000000u
#define WIDTH_MAX 1000000u

struct vt_index {
    vt_tensors *raw;
    const vt_tensor *features;
    vt_about about;
    vt_sums sums;
    uint64_t block, head; /* rows of a block; checksum of the head */
    uint64_t rows;
    vt_row_shape shape;
    size_t count; /* numbers a row */
    bool half;
    char *names;
    const char **path;
    vt_stamp *stamp;
    uint64_t *order; /* rows by path */
};

/* ---- metadata ---- */

static bool is_id(const char *s)
{
    return strlen(s) == 64 && strspn(s, "0123456789abcdef") == 64;
}

static bool text(char *out, size_t size, const vt_json *m, const char *key)
{
    const char *s;

    if (!vt_json_string(&s, vt_json_get(m, key)) || strlen(s) >= size)
        return false;
    memcpy(out, s, strlen(s) + 1);
    return true;
}

/* Older indexes do not say it. */
static void read_folder(vt_about *a, const vt_json *m)
{
    if (!text(a->folder, sizeof a->folder, m, "folder") || a->folder[0] != '/')
        a->folder[0] = '\0';
}

/* Indexes without a word about it are of Pillow's time. */
static bool read_pixels(vt_about *a, const vt_json *m)
{
    if (!vt_json_get(m, "pixels")) {
        memcpy(a->pixels, "pillow", sizeof "pillow");
        return true;
    }
    return text(a->pixels, sizeof a->pixels, m, "pixels") &&
           (strcmp(a->pixels, "pillow") == 0 ||
            strcmp(a->pixels, "torchvision") == 0);
}

static bool read_patches(vt_about *a, const vt_json *m)
{
    char most[16];

    return !vt_json_get(m, "max_num_patches") ||
           (text(most, sizeof most, m, "max_num_patches") &&
            sscanf(most, "%5" SCNu32, &a->patches) == 1);
}

static bool read_about(vt_about *a, const vt_json *m)
{
    char size[32], flag[8], format[32];

    read_folder(a, m);
    return text(format, sizeof format, m, "format") &&
           strcmp(format, "vitcl index 1") == 0 &&
           text(a->model, sizeof a->model, m, "model") &&
           text(a->model_id, sizeof a->model_id, m, "model_id") &&
           is_id(a->model_id) &&
           text(a->pictures_id, sizeof a->pictures_id, m, "pictures_id") &&
           is_id(a->pictures_id) &&
           text(a->feature, sizeof a->feature, m, "feature") &&
           vt_one_of(VT_FEATURES "|" VT_FEATURE_TEXT, a->feature) &&
           text(size, sizeof size, m, "size") &&
           sscanf(size, "%5" SCNu32 "x%5" SCNu32, &a->height, &a->width) == 2 &&
           read_pixels(a, m) && read_patches(a, m) &&
           text(flag, sizeof flag, m, "normalized") &&
           ((a->normalized = strcmp(flag, "true") == 0) ||
            strcmp(flag, "false") == 0);
}

/* Of an older version's file: none. */
static bool read_block(uint64_t *out, const vt_json *m)
{
    char rows[16];

    return !vt_json_get(m, "block") ||
           (text(rows, sizeof rows, m, "block") &&
            sscanf(rows, "%7" SCNu64, out) == 1 && *out >= 1);
}

/* vt_tensors_open() has checked the head, but gives no metadata. */
static vitcl_status load_about(vt_index *x, const char *path)
{
    vitcl_status st;
    vt_json *root = NULL;
    char *head = NULL;
    uint8_t length[8];
    uint64_t n = 0;
    size_t size;
    int fd = -1;

    VT_TRY(vt_file_open(&fd, &size, path));
    if (size < 8 || vt_read_at(fd, length, 8, 0) != 0) {
        st = vt_fail(VITCL_EIO, "%s: cannot be read", path);
        goto done;
    }
    for (int i = 7; i >= 0; i--)
        n = n << 8 | length[i];
    if (n > HEAD_MAX || n > size - 8)
        VT_TRY(
            vt_fail(VITCL_ECORRUPT, "%s: not an index of vitcl embed", path));
    VT_TRY(VT_NEW(&head, (size_t)n + 1));
    if (vt_read_at(fd, head, (size_t)n, 8) != 0)
        VT_TRY(vt_fail(VITCL_EIO, "%s: cannot be read", path));
    VT_TRY(vt_json_parse(&root, head, (size_t)n, 4, path));
    x->head = vt_checksum(head, (size_t)n);
    if (!read_about(&x->about, vt_json_get(root, "__metadata__")) ||
        !read_block(&x->block, vt_json_get(root, "__metadata__")))
        VT_TRY(vt_fail(VITCL_ECORRUPT,
                       "%s: not an index: its metadata are missing or "
                       "invalid; write one with vitcl embed -o "
                       "FILE.safetensors",
                       path));
done:
    if (fd >= 0)
        close(fd);
    vt_json_free(root);
    free(head);
    return st;
}

/* ---- tensors ---- */

static vitcl_status wrong(const char *path, const char *what)
{
    return vt_fail(VITCL_ECORRUPT, "%s: not an index: %s", path, what);
}

static vitcl_status find_features(vt_index *x, const char *path)
{
    const vt_tensor *t = vt_tensors_get(x->raw, "features");

    if (!t || t->rank < 2 || t->rank > 4 ||
        (t->dtype != VT_FILE_F32 && t->dtype != VT_FILE_F16))
        return wrong(path, "no F32 or F16 tensor features of 2 to 4 axes");
    for (uint32_t i = 1; i < t->rank; i++)
        if (t->shape[i] < 1 || t->shape[i] > WIDTH_MAX)
            return wrong(path, "the shape of features is out of range");
    x->features = t;
    x->rows = t->shape[0];
    x->shape = (vt_row_shape){
        .rows = t->rank == 4 ? (uint32_t)t->shape[1] : 0,
        .columns = t->rank > 2 ? (uint32_t)t->shape[t->rank - 2] : 0,
        .width = (uint32_t)t->shape[t->rank - 1]};
    x->half = t->dtype == VT_FILE_F16;
    x->count = vt_row_count(x->shape);
    return x->count && x->count <= UINT32_MAX
               ? VITCL_OK
               : wrong(path, "the shape of features is out of range");
}

static vitcl_status load_paths(vt_index *x, const char *path)
{
    const vt_tensor *t = vt_tensors_get(x->raw, "paths");
    size_t at = 0;

    if (!t || t->rank != 1 || t->dtype != VT_FILE_U8)
        return wrong(path, "no U8 tensor paths");
    if (x->rows > t->size) /* each path has its NUL */
        return wrong(path, "there are fewer paths than features");
    VT_RET(VT_NEW(&x->names, t->size + 1));
    VT_RET(VT_NEW(&x->path, (size_t)x->rows + 1));
    VT_RET(vt_tensor_bytes(x->names, t, 0, t->size));
    VT_RET(
        vt_sums_part(&x->sums, VT_SUM_PATHS, vt_checksum(x->names, t->size)));
    for (uint64_t i = 0; i < x->rows; i++) {
        if (at >= t->size)
            VT_RET(wrong(path, "there are fewer paths than features"));
        x->path[i] = x->names + at;
        at += strlen(x->names + at) + 1;
    }
    if (at != t->size)
        VT_RET(wrong(path, "the paths are not those of the features"));
    return VITCL_OK;
}

static vitcl_status load_stamps(vt_index *x, const char *path)
{
    const vt_tensor *t = vt_tensors_get(x->raw, "stamps");

    if (!t || t->rank != 2 || t->dtype != VT_FILE_I64 ||
        t->shape[0] != x->rows || t->shape[1] != 2)
        return wrong(path, "no I64 tensor stamps [rows, 2]");
    VT_RET(VT_NEW(&x->stamp, (size_t)x->rows + 1));
    VT_RET(vt_tensor_bytes(x->stamp, t, 0, t->size));
    return vt_sums_part(&x->sums, VT_SUM_STAMPS,
                        vt_checksum(x->stamp, t->size));
}

/* A picture in the place of the index is a frequent mistake. */
static vitcl_status open_file(vt_tensors **out, const char *path)
{
    const vitcl_status st = vt_tensors_open(out, path);
    char why[512];

    if (st != VITCL_EUNSUPPORTED && st != VITCL_ECORRUPT)
        return st;
    snprintf(why, sizeof why, "%s", vt_message());
    return vt_fail(st,
                   "%s; an index is written by vitcl embed -o "
                   "FILE.safetensors",
                   why);
}

vitcl_status vt_index_open(vt_index **out, const char *path)
{
    vitcl_status st;
    vt_index *x = NULL;

    if (vt_path_is_folder(path))
        return vt_fail(VITCL_EIO,
                       "%s: a folder, not an index; write one with vitcl "
                       "embed -o FILE.safetensors",
                       path);
    VT_TRY(VT_NEW(&x, 1));
    VT_TRY(open_file(&x->raw, path));
    if (strcmp(vt_tensors_format(x->raw), "safetensors") != 0)
        VT_TRY(wrong(path, "the file is not a safetensors file"));
    VT_TRY(load_about(x, path));
    if (strcmp(x->about.feature, VT_FEATURE_TEXT) == 0)
        VT_TRY(vt_fail(VITCL_EUNSUPPORTED,
                       "%s: its vectors are of texts, not of pictures", path));
    VT_TRY(find_features(x, path));
    VT_TRY(vt_sums_load(&x->sums, x->raw, x->block, x->rows));
    VT_TRY(vt_sums_part(&x->sums, VT_SUM_HEAD, x->head));
    VT_TRY(load_paths(x, path));
    VT_TRY(load_stamps(x, path));
    *out = x, x = NULL;
done:
    vt_index_free(x);
    return st;
}

void vt_index_free(vt_index *x)
{
    if (!x)
        return;
    vt_tensors_free(x->raw);
    vt_sums_free(&x->sums);
    free(x->names);
    free(x->path);
    free(x->stamp);
    free(x->order);
    free(x);
}

/* ---- what it holds ---- */

uint64_t vt_index_count(const vt_index *x)
{
    return x->rows;
}

uint32_t vt_index_width(const vt_index *x)
{
    return (uint32_t)x->count;
}

vt_row_shape vt_index_shape(const vt_index *x)
{
    return x->shape;
}

const char *vt_index_file(const vt_index *x)
{
    return vt_tensors_path(x->raw);
}

bool vt_index_half(const vt_index *x)
{
    return x->half;
}

const vt_about *vt_index_about(const vt_index *x)
{
    return &x->about;
}

void vt_index_describe(vitcl_index_info *out, const vt_index *x)
{
    const vt_about *a = &x->about;
    const uint32_t axis[3] = {x->shape.rows, x->shape.columns, x->shape.width};

    *out = (vitcl_index_info){.size = sizeof *out,
                              .rows = x->rows,
                              .width = (uint32_t)x->count,
                              .f16 = x->half,
                              .normalized = a->normalized,
                              .picture_height = a->height,
                              .picture_width = a->width,
                              .most_patches = a->height ? 0 : a->patches};
    for (size_t i = 0; i < VT_COUNT(axis); i++)
        if (axis[i])
            out->shape[out->rank++] = axis[i];
    memcpy(out->feature, a->feature, sizeof out->feature);
    memcpy(out->pixels, a->pixels, sizeof out->pixels);
    memcpy(out->model_id, a->model_id, sizeof out->model_id);
    memcpy(out->pictures_id, a->pictures_id, sizeof out->pictures_id);
    memcpy(out->model, a->model, sizeof out->model);
    memcpy(out->folder, a->folder, sizeof out->folder);
}

const char *vt_index_path(const vt_index *x, uint64_t row)
{
    return x->path[row];
}

vt_stamp vt_index_stamp(const vt_index *x, uint64_t row)
{
    return x->stamp[row];
}

vitcl_status vt_index_stored(void *out, const vt_index *x, uint64_t first,
                             uint64_t n)
{
    const size_t row = x->count * (x->half ? 2 : 4);

    VT_RET(vt_tensor_bytes(out, x->features, (size_t)first * row,
                           (size_t)n * row));
    return vt_sums_rows(&x->sums, out, first, n);
}

vitcl_status vt_index_rows(float *out, uint16_t *scratch, const vt_index *x,
                           uint64_t first, uint64_t n)
{
    VT_RET(
        vt_index_stored(x->half ? (void *)scratch : (void *)out, x, first, n));
    if (x->half)
        vt_widen(out, scratch, (size_t)n * x->count);
    return VITCL_OK;
}

static int compare(const void *a, const void *b, void *context)
{
    const vt_index *x = context;
    const uint64_t i = *(const uint64_t *)a, j = *(const uint64_t *)b;
    const int c = strcmp(x->path[i], x->path[j]);

    return c ? c : (i > j) - (i < j);
}

/* Merge sort: qsort_r() is not in POSIX.1-2008. */
static void sort(uint64_t *v, uint64_t *spare, size_t n, vt_index *x)
{
    for (size_t run = 1; run < n; run *= 2) {
        for (size_t from = 0; from < n; from += 2 * run) {
            const size_t mid = VT_MIN(from + run, n),
                         to = VT_MIN(from + 2 * run, n);
            size_t a = from, b = mid;

            for (size_t i = from; i < to; i++)
                spare[i] = b >= to || (a < mid && compare(&v[a], &v[b], x) < 0)
                               ? v[a++]
                               : v[b++];
        }
        memcpy(v, spare, n * sizeof *v);
    }
}

vitcl_status vt_index_sort(vt_index *x)
{
    const size_t n = (size_t)x->rows;
    uint64_t *spare = NULL;
    vitcl_status st = VITCL_OK;

    if (x->order)
        return VITCL_OK;
    VT_TRY(VT_NEW(&spare, n + 1));
    VT_TRY(VT_NEW(&x->order, n + 1));
    for (size_t i = 0; i < n; i++)
        x->order[i] = i;
    sort(x->order, spare, n, x);
done:
    free(spare);
    return st;
}

uint64_t vt_index_find(const vt_index *x, const char *path)
{
    uint64_t low = 0, high = x->rows; /* the first that is larger */

    while (low < high) {
        const uint64_t mid = low + (high - low) / 2;

        if (strcmp(x->path[x->order[mid]], path) <= 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low && strcmp(x->path[x->order[low - 1]], path) == 0
               ? x->order[low - 1]
               : x->rows;
}

vitcl_status vt_index_agrees(const vt_index *x, const vt_about *about)
{
    const vt_about *a = &x->about;
    const char *path = vt_tensors_path(x->raw);

    if (strcmp(a->model_id, about->model_id) != 0)
        return vt_fail(VITCL_EINVAL,
                       "%s: its vectors are of another model (%s)", path,
                       a->model[0] ? a->model : "its path is not known");
    if (about->pixels[0] && strcmp(a->pixels, about->pixels) != 0)
        return vt_fail(VITCL_EINVAL,
                       "%s: its pictures were resized as by %s (--pixels %s)",
                       path, a->pixels, a->pixels);
    if (a->patches && about->patches && a->patches != about->patches)
        return vt_fail(VITCL_EINVAL,
                       "%s: its pictures have at most %u patches "
                       "(--max-num-patches %u)",
                       path, a->patches, a->patches);
    if (strcmp(a->pictures_id, about->pictures_id) != 0)
        return vt_fail(VITCL_EINVAL,
                       "%s: its pictures were prepared in another way, or "
                       "with another --size",
                       path);
    if (strcmp(a->feature, about->feature) != 0)
        return vt_fail(VITCL_EINVAL,
                       "%s: its vectors are --features %s, not %s", path,
                       a->feature, about->feature);
    if (a->normalized != about->normalized)
        return vt_fail(VITCL_EINVAL, "%s: its vectors are %snormalized", path,
                       a->normalized ? "" : "not ");
    return VITCL_OK;
}
