/*
 * save.h - writing safetensors one tensor at a time: for host/weights alone.
 */
#ifndef VT_WEIGHTS_SAVE_H
#define VT_WEIGHTS_SAVE_H
#include "weights/weights.h"

/* Put the bytes of tensors[index] to out. */
typedef vitcl_status vt_fill(void *context, size_t index, uint8_t *out);
/* As vt_safetensors_write(); tensors whose data is NULL are asked of fill. */
vitcl_status vt_safetensors_fill(const char *path, const vt_tensor *tensors,
                                 size_t n, const char *const *metadata,
                                 vt_fill *fill, void *context);

#endif
