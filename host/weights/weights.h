/*
 * weights.h - named tensors from files of any supported format.
 *
 *   reader   one per file format (readers[] in weights.c): file -> named,
 *            shaped offsets in the file, or bytes, checked against the file
 *   dialect  foreign names -> canonical (timm) names; joins (q, k, v -> qkv)
 *            and layout changes (HWIO -> OIHW, [in,out] -> [out,in]) are
 *            recorded, and applied while a tensor is read
 */
#ifndef VT_WEIGHTS_WEIGHTS_H
#define VT_WEIGHTS_WEIGHTS_H
#include "base/json.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VT_RANK_MAX 8

typedef enum { /* what files hold */
               VT_FILE_F32,
               VT_FILE_F16,
               VT_FILE_BF16,
               VT_FILE_F64,
               VT_FILE_I64, /* and every other integer or bool type: never
                               weights, */
               VT_FILE_I32, /* but labels of a training batch, or buffers to
                               ignore  */
               VT_FILE_U8,
               VT_FILE_OTHER
} vt_file_dtype;

/* An open file; tensors are read on demand. */
typedef struct vt_weight_file vt_weight_file;

typedef struct vt_tensor {
    const char *name;
    vt_file_dtype dtype;
    uint32_t rank;
    uint64_t shape[VT_RANK_MAX];
    uint64_t count;      /* elements */
    const uint8_t *data; /* borrowed; little-endian, may be misaligned; NULL: */
    const vt_weight_file *source; /* in a file, */
    uint64_t offset;              /* at this offset */
    size_t size;
    bool summed; /* its file has a checksum of it: */
    uint64_t sum;
} vt_tensor;

/* ---- raw: as the file has them ---- */
typedef struct vt_tensors vt_tensors;
/* path: a weight file, or a folder with model.safetensors, its .index.json with
 * shards, an .npz or a PyTorch .bin. */
vitcl_status vt_tensors_open(vt_tensors **out, const char *path);
/* The same from bytes, which are borrowed; `name` is for messages. */
vitcl_status vt_tensors_open_memory(vt_tensors **out, const void *bytes,
                                    size_t size, const char *name);
size_t vt_tensors_count(const vt_tensors *t);
const vt_tensor *vt_tensors_at(const vt_tensors *t, size_t index);
const vt_tensor *vt_tensors_get(const vt_tensors *t, const char *name);
const char *vt_tensors_format(const vt_tensors *t); /* "safetensors", "npz" */
const char *vt_tensors_path(const vt_tensors *t);
/* Elements as f32, whether stored as f32, f16, bf16, f64, i64, i32 or u8.
 * VITCL_EUNSUPPORTED: a finite f64 is too large for f32. */
vitcl_status vt_tensor_f32(float *out, const vt_tensor *t);
/* Reads n bytes of it, starting at byte `first`. A file that was truncated
 * meanwhile is an error. */
vitcl_status vt_tensor_bytes(void *out, const vt_tensor *t, size_t first,
                             size_t n);
/* Are all its bytes, read before, as the file's checksum says? Without one they
 * are. Only what reads a file of vitcl's own asks: another program may have
 * changed a file, and kept its metadata. */
vitcl_status vt_tensor_check(const vt_tensor *t, const void *bytes);
/* The same of the names, shapes and types. */
vitcl_status vt_tensors_check(const vt_tensors *t);
void vt_tensors_free(vt_tensors *t);

/* ---- canonical: as models ask for them ---- */
typedef struct vt_weights vt_weights; /* owns the vt_tensors it came from */
typedef struct vt_weight {
    const char *name; /* canonical */
    uint32_t rank;
    uint64_t shape[VT_RANK_MAX]; /* after join and layout change */
    uint64_t count;
} vt_weight;
/* Renames by the dialect that the names match. config: for messages, or NULL;
 * families: what they add to the dialects, ended by NULL (dialects.h). Takes
 * ownership of `raw` on success. */
typedef struct vt_names vt_names;
vitcl_status vt_weights_new(vt_weights **out, vt_tensors *raw,
                            const vt_json *config,
                            const vt_names *const *families);
/* The same for the text tower in the file. */
vitcl_status vt_weights_new_text(vt_weights **out, vt_tensors *raw);
const vt_weight *vt_weights_get(const vt_weights *w, const char *name);
size_t vt_weights_count(const vt_weights *w);
const vt_weight *vt_weights_at(const vt_weights *w, size_t index);
const char *vt_weights_dialect(const vt_weights *w); /* "timm", "hf", "npz" */
const vt_tensors *vt_weights_raw(const vt_weights *w);
/* A raw tensor's name without those of wrappers and of modules that hold the
 * model; "": it is beside the model. */
const char *vt_weights_raw_name(const vt_weights *w, size_t index);
/* The type in the file (of its first part). */
vt_file_dtype vt_weight_dtype(const vt_weights *w, const vt_weight *t);
/* out: `count` elements, canonical layout. */
vitcl_status vt_weight_f32(float *out, const vt_weights *w, const vt_weight *t);
/* `rows` rows of a matrix that is in the file as it is here. */
vitcl_status vt_weight_rows(float *out, const vt_weight *t, uint64_t first,
                            uint64_t rows);
void vt_weights_free(vt_weights *w);

/* ---- writing ---- */
/* Writes one safetensors file of n tensors of any type but VT_FILE_OTHER,
 * atomically; the same tensors in any order give the same bytes. Each needs
 * name, dtype, rank, shape, count, size and data. metadata: pairs of strings,
 * ended by NULL, or NULL. */
vitcl_status vt_safetensors_write(const char *path, const vt_tensor *tensors,
                                  size_t n, const char *const *metadata);

#endif
