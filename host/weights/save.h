/*
 * save.h - writes safetensors one tensor at a time: for host/weights only.
 */
#ifndef VT_WEIGHTS_SAVE_H
#define VT_WEIGHTS_SAVE_H
#include "weights/weights.h"

/* Writes the bytes of tensors[index] to out. */
typedef vitcl_status vt_fill(void *context, size_t index, uint8_t *out);
/* Like vt_safetensors_write(); calls fill for tensors whose data is NULL.
 * summed: the metadata get checksums (VT_SUMS). */
vitcl_status vt_safetensors_fill(const char *path, const vt_tensor *tensors,
                                 size_t n, const char *const *metadata,
                                 bool summed, vt_fill *fill, void *context);

/* The key of checksums in the metadata. Their digits are those of the head, in
 * which they are 0, and of each tensor, in the order of the data. */
#define VT_SUMS "vitcl.xxh3"

#endif
