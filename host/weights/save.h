/*
 * save.h - writes safetensors one tensor at a time: for host/weights only.
 */
#ifndef VT_WEIGHTS_SAVE_H
#define VT_WEIGHTS_SAVE_H
#include "weights/weights.h"

/* Writes the bytes of tensors[index] to out. */
typedef vitcl_status vt_fill(void *context, size_t index, uint8_t *out);
/* Like vt_safetensors_write(); calls fill for tensors whose data is NULL. */
vitcl_status vt_safetensors_fill(const char *path, const vt_tensor *tensors,
                                 size_t n, const char *const *metadata,
                                 vt_fill *fill, void *context);

#endif
