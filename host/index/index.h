/*
 * index.h - vectors of pictures in a file, with their paths: written row by
 * row, read, searched, compared in pairs.
 *
 * An index is a safetensors file:
 *
 *   features   F32 or F16 [rows, ...]; a row is NaN where there is no picture
 *   stamps     I64 [rows, 2]: size and time of change (ns) of each picture; -1:
 *              unknown
 *   checksums  I64: XXH3 of each block of rows, of stamps, of paths, and of the
 *              head without its length
 *   paths      U8: for each row its path, ended by NUL
 *
 * and __metadata__ with what the vectors depend on. Nothing is mapped: a file
 * that is truncated while it is read must give an error, not SIGBUS. Reading
 * pieces that fit the cache is as fast.
 */
#ifndef VT_INDEX_INDEX_H
#define VT_INDEX_INDEX_H
#include <vitcl_index.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VT_INDEX_PATH = 4096 };
/* Features of pictures: the words of --features. */
#define VT_FEATURES "pooled|class|tokens|patches"
/* The feature of texts, which are in place of the paths. */
#define VT_FEATURE_TEXT "text"
typedef struct vt_about {
    char model_id[65], pictures_id[65]; /* vt_model_identity() */
    char model[VT_INDEX_PATH];          /* its path, or "preset:NAME"; may be
                                         * empty */
    char folder[VT_INDEX_PATH]; /* that relative paths start from; may be
                                 * empty */
    char feature[16];           /* one of VT_FEATURES, or VT_FEATURE_TEXT */
    uint32_t height, width;     /* --size; 0: the model's own */
    uint32_t patches;           /* vt_model_most_patches(), without --size */
    bool normalized;
    char pixels[16]; /* vt_model_resize(); empty:
                      * "pillow" */
} vt_about;

typedef struct vt_stamp {
    int64_t size, changed; /* bytes, ns; -1: unknown */
} vt_stamp;

/* Of a row: rows x columns vectors of `width` numbers. rows 0: a list of
 * `columns`; columns 0, too: one vector. */
typedef struct vt_row_shape {
    uint32_t rows, columns, width;
} vt_row_shape;
/* Numbers in a row; 0: they do not fit memory. */
size_t vt_row_count(vt_row_shape s);
bool vt_row_alike(vt_row_shape a, vt_row_shape b);
/* What JSON has before number i, or after the last: brackets and commas. */
const char *vt_row_mark(vt_row_shape s, size_t i);

/* ---- writing (write.c, text.c) ---- */

/* The format is that of the path's ending: .safetensors, .npy (with the paths
 * in a file beside it that ends in .paths), .jsonl or .csv. The file appears at
 * _finish(), complete, or never. */
typedef struct vt_vectors vt_vectors;
typedef struct vt_vectors_row {
    const char *path, *error; /* error NULL: it has numbers */
    vt_stamp stamp;
    const float *numbers;
    const void *stored; /* instead: the bytes of a row of the same form */
    bool sharded;       /* .jsonl says the position */
    uint64_t position;  /* in the whole input, from 0 */
} vt_vectors_row;
vitcl_status vt_vectors_open(vt_vectors **out, const char *path,
                             const vt_about *about, vt_row_shape shape,
                             bool half);
vitcl_status vt_vectors_add(vt_vectors *v, const vt_vectors_row *row);
/* After a failure of it or of _add() there is still vt_vectors_keep(). */
vitcl_status vt_vectors_finish(vt_vectors *v);
uint64_t vt_vectors_count(const vt_vectors *v); /* rows so far */
/* Rows whose numbers are finite, but not in f16, or become zero there. */
uint64_t vt_vectors_unfit(const vt_vectors *v);
/* Instead: the rows so far, on a full disk as many as there is room for, as
 * vt_partial_keep() has it. *name NULL: there is none. */
vitcl_status vt_vectors_keep(char **name, uint64_t *rows, vt_vectors *v,
                             bool replace);
void vt_vectors_free(vt_vectors *v);

/* ---- merging (merge.c) ---- */

/* Joins n files of the same form, .safetensors or .npy: the first row of each,
 * the second of each, and so on. */
typedef struct vt_vectors_part {
    const char *path;
    bool summed; /* the checksums of an .npy file and of its paths are known */
    uint64_t sum, paths;
} vt_vectors_part;
vitcl_status vt_vectors_merge(const char *path, const vt_vectors_part *parts,
                              uint32_t n);

/* ---- reading (read.c) ---- */

typedef struct vt_index vt_index;
/* VITCL_EUNSUPPORTED: its vectors are of texts. */
vitcl_status vt_index_open(vt_index **out, const char *path);
uint64_t vt_index_count(const vt_index *x);
uint32_t vt_index_width(const vt_index *x); /* numbers a row */
vt_row_shape vt_index_shape(const vt_index *x);
bool vt_index_half(const vt_index *x);
const char *vt_index_file(const vt_index *x); /* its own path */
const vt_about *vt_index_about(const vt_index *x);
void vt_index_describe(vitcl_index_info *out, const vt_index *x);
const char *vt_index_path(const vt_index *x, uint64_t row);
vt_stamp vt_index_stamp(const vt_index *x, uint64_t row);
/* Rows first .. first + n - 1 as f32. scratch: n * width 16-bit words, if they
 * are stored as f16. May be called by several threads. */
vitcl_status vt_index_rows(float *out, uint16_t *scratch, const vt_index *x,
                           uint64_t first, uint64_t n);
/* The same rows' bytes, as they are stored. */
vitcl_status vt_index_stored(void *out, const vt_index *x, uint64_t first,
                             uint64_t n);
/* Before vt_index_find(). */
vitcl_status vt_index_sort(vt_index *x);
/* The last row with this path; vt_index_count(): none. */
uint64_t vt_index_find(const vt_index *x, const char *path);
/* VITCL_EINVAL, with the reason, if vectors of `about` may not be compared with
 * those of the index. */
vitcl_status vt_index_agrees(const vt_index *x, const vt_about *about);
void vt_index_free(vt_index *x);

/* ---- where the pictures are (place.c) ---- */

enum { VT_PLACE = 2 * VT_INDEX_PATH };
typedef struct vt_places {
    const vt_index *x;
    char base[VT_INDEX_PATH]; /* relative paths start here; "": from the
                               * current folder */
    bool known;               /* the index says where, and that exists */
    char own[VT_INDEX_PATH];  /* the index's folder */
    bool is_own;              /* the two are the same */
} vt_places;
void vt_places_open(vt_places *p, const vt_index *x);
/* The path of a row's picture from the current folder: out, or the index's.
 * *moved: it is not where its path says, but beside the index. */
const char *vt_place(char out[VT_PLACE], bool *moved, const vt_places *p,
                     uint64_t row);
/* The path from "/" on; itself where the current folder is not known. Where the
 * file's folder exists, a ".." is resolved: else the path would need the folder
 * before it. */
const char *vt_place_absolute(char out[VT_PLACE], const char *path);
/* The current folder; "" if it is no text, as a safetensors file needs it, or
 * so long that the head of the file could become too large. */
void vt_place_here(char out[VT_INDEX_PATH]);
bool vt_place_in_archive(const char *path); /* is a file of one meant? */
bool vt_same_folder(const char *a, const char *b);

/* ---- their files (files.c) ---- */

/* Which rows are of files that are gone, or of another row's: sets the states
 * out[rows]. The index is sorted. VITCL_ESTOPPED as after vitcl_progress, which
 * is called with 0 of 0; it may be NULL. */
vitcl_status vt_index_files(vitcl_dupe *out, const vt_places *p,
                            vitcl_progress progress, void *context);

/* ---- searching (nearest.c) ---- */

/* The at most k rows with the largest cosines, at least `least`, for each of n
 * queries: hits[n][k] in descending order, equal ones by row; found[n]. Rows
 * that are not finite, and zero, are left out. progress: rows; or NULL. */
vitcl_status vt_index_nearest(vitcl_hit *hits, uint32_t *found,
                              const vt_index *x, const float *queries,
                              uint32_t n, uint32_t k, float least,
                              vitcl_progress progress, void *context);

/* ---- pairs (pairs.c) ---- */

/* Compares all pairs of the rows that their states (out[rows]) do not leave
 * out, and writes the rest of `out`: with which rows pairs of at least `least`
 * connect them. pairs: NULL, or their number. */
struct vt_dev;
vitcl_status vt_index_pairs(vitcl_dupe *out, uint64_t *pairs, const vt_index *x,
                            struct vt_dev *dev, float least,
                            vitcl_progress progress, void *context);

/* The cosine of equal vectors is 1 but for rounding: the threshold to use for
 * one that a user gives. */
static inline float vt_cosine_threshold(double x)
{
    return (float)(x < 0.999999 ? x : 0.999999);
}

/* ---- products of vectors (dot.c) ---- */

float vt_dot(const float *a, const float *b, size_t n);
/* The length of v, which is first multiplied by a power of two if its squares
 * do not fit f32. 0: it is zero or not finite, and has no direction. */
float vt_length(float *v, size_t n);
/* The cosine of v and a vector of length 1, and the length of v as
 * vt_length() has it; 0: there is no cosine. */
float vt_cosine(float *length, float *v, const float *unit, size_t n);
/* The same, bit by bit, of a vector in 16 bits. wide: room for it as f32. */
float vt_cosine_f16(float *length, float *wide, const uint16_t *f16,
                    const float *unit, size_t n);
void vt_widen(float *out, const uint16_t *f16, size_t n); /* infinity: NaN */
/* Divides a vector by its length, unless that is zero. */
void vt_vector_unit(float *v, size_t n);

#endif
