/*
 * store.h - the parameters of a model on the device.
 *
 * A store is shared by the sessions of a model and has its own lock.
 */
#ifndef VT_PLAN_STORE_H
#define VT_PLAN_STORE_H
#include "product/product.h"

typedef struct vt_store vt_store;

/* Reads a parameter's elements into out: f32, canonical layout. */
typedef vitcl_status (*vt_read_param)(float *out, void *context,
                                      const char *name, uint64_t count);
vitcl_status vt_store_new(vt_store **out, vt_dev *dev, vt_read_param read_param,
                          void *context);
vt_store *vt_store_ref(vt_store *s);
void vt_store_free(vt_store *s);
/* f32 rows, not packed. */
vitcl_status vt_store_raw(vt_buf **out, vt_store *s, const char *name,
                          uint64_t count);
/* Read the f32 rows into host memory, each time anew; takes no lock. */
vitcl_status vt_store_read(float *out, vt_store *s, const char *name,
                           uint64_t count);
/* Free the staging buffer: no parameter is needed soon. */
void vt_store_rest(vt_store *s);
/* Packed for a product; the f32 rows are not kept. */
vitcl_status vt_store_packed(vt_buf **out, vt_store *s, const char *name,
                             const vt_product *product);
/* For more than one run: put the parameters on large pages, each once. */
void vt_store_large_pages(vt_store *s);
size_t vt_store_bytes(vt_store *s);

#endif
