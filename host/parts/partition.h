/*
 * partition.h - one worker's part of an output, and the manifest beside it that
 * says how it was made. A part is finished when its manifest is there.
 */
#ifndef VT_PARTS_PARTITION_H
#define VT_PARTS_PARTITION_H
#include "base/file.h"
#include "parts/shard.h"

#include <stddef.h>

#define VT_MANIFEST ".manifest"

enum { VT_SETTINGS = 512 };
typedef struct vt_manifest {
    char version[16]; /* of vitcl */
    char command[16];
    vt_shard shard;
    char model_id[65], pictures_id[65]; /* vt_model_identity() */
    char settings[VT_SETTINGS];         /* what changes the rows: "top=5 .." */
    char sorted[VT_SETTINGS];           /* where its pictures were copied; "" */
    char device[128];
    char gemm[64]; /* the session's providers: "native, clblast" */
    uint64_t rows, failed;
    uint64_t input, names; /* of the whole input: pictures, a hash of names */
    uint64_t sample;       /* of this worker's pictures, if it is */
    bool sampled;          /* known */
    uint64_t bytes;        /* of the part */
    uint64_t sum, paths;   /* checksums of the part, and of its .paths file; */
    bool summed;           /* false: an older version wrote it, without them */
    char file[256];        /* its name, without the folder */
} vt_manifest;

/* `path` with "{shard}" as 00002-of-00007; the caller frees it. */
vitcl_status vt_partition_path(char **out, const char *path, vt_shard s);
/* Creates the folder of `path`, but not those above. */
vitcl_status vt_partition_folder(const char *path);
/* Is the part at `path` finished, and as its manifest `found` says? It must
 * then be as `wanted`: of this shard, command, model and settings. */
vitcl_status vt_partition_finished(bool *out, vt_manifest *found,
                                   const char *path, const vt_manifest *wanted);
/* VITCL_EINVAL if a finished part is of another input than `asked` has. */
vitcl_status vt_partition_same_input(const vt_manifest *found, const char *path,
                                     const vt_manifest *asked);
/* Adds a picture, or an archive, to a sample: its size and its last bytes, as
 * copies on other machines have them, too. */
void vt_manifest_sample(uint64_t *sample, const char *path);
/* A file that the rows depend on, by its content: workers may have it in other
 * places. */
vitcl_status vt_manifest_identify(char id[65], const char *path);
/* Writes the manifest of the part at `path`, which is complete; sets `bytes`
 * and `file`. */
vitcl_status vt_partition_finish(vt_manifest *m, const char *path);
vitcl_status vt_manifest_load(vt_manifest *out, const char *path);
/* VITCL_EINVAL, with the reason, if a part of `b` does not belong to those of
 * `a`. */
vitcl_status vt_manifest_agrees(const vt_manifest *a, const vt_manifest *b,
                                const char *path);

/* ---- a part that is written as text ---- */

typedef struct vt_part vt_part;
vitcl_status vt_part_open(vt_part **out, const char *path);
FILE *vt_part_stream(vt_part *p);
vitcl_status vt_part_commit(vt_part *p);
/* Instead: its whole lines, as vt_partial_keep() has it. *name NULL: there is
 * none. */
vitcl_status vt_part_keep(char **name, uint64_t *lines, vt_part *p,
                          bool replace);
/* As vt_newfile_commit_new(). */
vitcl_status vt_part_commit_new(bool *taken, vt_part *p);
void vt_part_free(vt_part *p); /* uncommitted: removes it */

/* ---- joining (join.c) ---- */

typedef struct vt_parts {
    vt_manifest *part; /* [of], by shard */
    char **path;       /* of the parts */
    uint32_t count, of;
    uint64_t rows, failed;
    const char *ending; /* ".jsonl" */
    char missing[256];  /* shards that are not there: "2, 5"; empty: none */
} vt_parts;
/* The finished parts in a folder, which must be of one run. */
vitcl_status vt_parts_open(vt_parts *out, const char *folder);
/* Joins them, all of which must be there, in the order of the input. */
vitcl_status vt_parts_join(const vt_parts *p, const char *path);
void vt_parts_close(vt_parts *p);

#endif
