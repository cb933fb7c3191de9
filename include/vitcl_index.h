/*
 * vitcl_index.h - vectors of many pictures in a file: searched, and compared
 * with each other.
 *
 * An index is a file of `vitcl embed -o FILE.safetensors`. Each of its rows is
 * a picture: a path and a vector. The measure is the cosine of two vectors,
 * whatever their lengths are, and all comparisons are exact. docs/search.md has
 * the format, and what cosines mean.
 *
 * The contract of vitcl.h applies. A vitcl_index does not change, so threads
 * may share it, in any number of calls at a time. It keeps its file open: who
 * writes an index replaces the file, and an open one stays as it was.
 */
#ifndef VITCL_INDEX_H
#define VITCL_INDEX_H
#include "vitcl.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct vitcl_index vitcl_index;

/* Opens an index, and checks all that it says about itself; its vectors are
 * checked when they are read. Relative paths start at the folder that the index
 * names, else at the current one, as it is now. VITCL_EIO: the file cannot be
 * read; VITCL_ECORRUPT: it is damaged, or no index; VITCL_EUNSUPPORTED: its
 * vectors are of texts. */
VITCL_STATUS vitcl_index_open(vitcl_index **out, const char *path);
void vitcl_index_free(vitcl_index *index);

/* Texts are "" where the index does not say. */
typedef struct {
    size_t size;
    uint64_t rows;
    uint32_t width; /* numbers of a row */
    /* Of a row: [width] is one vector. "tokens" have shape [tokens, width],
     * "patches" [rows, columns, width]; they can only be read. */
    uint32_t rank, shape[3];
    int f16;          /* the file has 16 bits for each number */
    int normalized;   /* the vectors have length 1 */
    char feature[16]; /* "pooled", "class", "tokens" or "patches" */
    /* Of the pictures as the model saw them, in pixels; 0: its own size. */
    uint32_t picture_height, picture_width;
    uint32_t most_patches; /* of a NaFlex model without that size; else 0 */
    char pixels[16];       /* whose resize: "pillow" or "torchvision" */
    /* 64 hexadecimal digits: of the model's config and weights; of how pictures
     * were prepared. */
    char model_id[65], pictures_id[65];
    char model[4096];  /* the model's path, or "preset:NAME" */
    char folder[4096]; /* where relative paths start */
} vitcl_index_info;
VITCL_STATUS vitcl_index_describe(vitcl_index_info *out,
                                  const vitcl_index *index);
/* VITCL_OK: vectors of this model may be compared with those of the index,
 * provided that its pictures have the same size and its feature is the same;
 * those of texts, with "pooled". VITCL_EINVAL: they may not; the message says
 * why, such as that the index has another model's. Reads part of the weights,
 * in some tenths of a second. */
VITCL_STATUS vitcl_index_check(const vitcl_index *index,
                               const vitcl_model *model);

typedef struct {
    size_t size;
    const char *name; /* the path in the index */
    const char *path; /* from the current folder; valid until the thread's next
                         call */
    /* Of the picture's file when it was embedded: bytes, and the time of its
     * change (ns since 1970). -1: not known. */
    int64_t bytes, changed_ns;
} vitcl_row_info;
/* Describes a row. path leads to where the picture should be or, if it is only
 * there, to the same place beside the index: both may have been moved. */
VITCL_STATUS vitcl_index_row(vitcl_row_info *out, const vitcl_index *index,
                             uint64_t row);
/* Reads n rows from `first` on: out[n * width]. The row of a picture that could
 * not be read is NaN. VITCL_ECORRUPT: a checksum is wrong; part of out may have
 * been written. */
VITCL_STATUS vitcl_index_vectors(float *out, const vitcl_index *index,
                                 uint64_t first, uint64_t n);

/* ---- search ----------------------------------------------------------- */

typedef struct {
    uint64_t row;
    float cosine;
} vitcl_hit;
/* Finds the k rows that are nearest to each of n vectors, queries[n * width],
 * if their cosines are at least `least`: hits[n * k], of which found[i] belong
 * to query i, nearest first, equally near ones by row. least: 1 also finds
 * vectors that are equal but for rounding, -1 finds all. Rows that are zero or
 * not finite are left out. One pass over the file, by one thread a core.
 * progress: rows; or NULL. VITCL_EINVAL: a query is zero or not finite;
 * VITCL_EUNSUPPORTED: rows have several vectors. */
VITCL_STATUS vitcl_index_search(vitcl_hit *hits, uint32_t *found,
                                const vitcl_index *index, const float *queries,
                                uint32_t n, uint32_t k, double least,
                                vitcl_progress progress, void *context);

/* ---- near-duplicates -------------------------------------------------- */

typedef enum {
    VITCL_ROW_COMPARED,
    VITCL_ROW_LOST,  /* compared, although its file is not where the index says:
                        no file of any row is */
    VITCL_ROW_AGAIN, /* left out: another row has the same file */
    VITCL_ROW_GONE,  /* left out: its file is gone */
    VITCL_ROW_EMPTY  /* left out: its vector is zero or not finite */
} vitcl_row_state;
typedef struct {
    uint64_t group; /* the first row of its group; itself, if nothing is near */
    uint64_t nearest; /* the other row with the largest cosine; itself: none */
    float cosine;     /* with that row; 0: there is none */
    vitcl_row_state state;
} vitcl_dupe;
/* The threshold of `vitcl dupes`. */
#define VITCL_DUPES_LEAST 0.85
/* Compares all pairs of rows: out[rows]. Two rows are in one group if their
 * cosine is at least `least`, -1 to 1, or if others connect them. Each file is
 * compared once, however many names it has, and files that are gone are left
 * out: who deletes one picture of a group does not delete the only copy.
 * progress: 0 of 0 while files are looked at, then tiles of pairs; or NULL. The
 * time grows with the square of the rows. VITCL_EUNSUPPORTED: rows have several
 * vectors. After an error, part of out may have been written. */
VITCL_STATUS vitcl_index_dupes(vitcl_dupe *out, const vitcl_index *index,
                               vitcl_device *device, double least,
                               vitcl_progress progress, void *context);

/* ---- embedding into an index ------------------------------------------ */

typedef struct {
    size_t size;
    int normalize; /* divide each vector by its length */
    int f16;       /* store 16 bits a number */
    int prune;     /* drop the rows of pictures that are not named */
    int follow;    /* read folders that links lead to, as
                      vitcl_dataset_options has it */
    /* NULL, or called with a line for each picture that has no vector. */
    vitcl_log report;
    vitcl_progress progress; /* NULL, or called with pictures to embed */
    void *context;           /* of both */
} vitcl_index_options;
typedef struct {
    size_t size;
    uint64_t rows;     /* that the index has now */
    uint64_t embedded; /* of them now */
    uint64_t failed;   /* pictures that could not be; their rows are NaN, or as
                          they were */
    uint64_t renamed;  /* rows that pictures of other names took over */
    uint64_t gone;     /* rows that were dropped: their files are gone; */
    uint64_t pruned;   /* they were not named */
    int spared; /* rows stayed because not all pictures could be listed */
} vitcl_update_info;
/* Makes or updates the index at `path`, as `vitcl embed --update` does.
 * pictures: files, and folders whose pictures are found; ended by NULL. Those
 * that are new, or whose size or time has changed, are embedded as pooled
 * features, with all cores decoding; other rows stay as long as their files
 * exist. An index that is there says whether it is normalized and in 16 bits,
 * as long as the options do not. The file is replaced when the new one is
 * complete. After VITCL_ESTOPPED or an error of the session it has been
 * replaced, too: it has the new rows so far, and the next call continues.
 * VITCL_EINVAL: the index has vectors of another model or kind; VITCL_EBUSY:
 * another process updates it. out: NULL, or what was done. */
VITCL_STATUS vitcl_index_update(vitcl_update_info *out, const char *path,
                                vitcl_session *session,
                                const char *const *pictures,
                                const vitcl_index_options *options);

#ifdef __cplusplus
}
#endif
#endif
