/*
 * store.h - where parameters come from, and their copies on the device.
 *
 * Shared by the sessions of a model, locked inside.
 */
#ifndef VT_PLAN_STORE_H
#define VT_PLAN_STORE_H
#include "gemm/gemm.h"

typedef struct vt_store vt_store;

/* out: the parameter's elements, f32, canonical layout. */
typedef vitcl_status (*vt_read_param)(float *out, void *context,
                                      const char *name, uint64_t count);
vitcl_status vt_store_new(vt_store **out, vt_dev *dev, vt_read_param read_param,
                          void *context);
vt_store *vt_store_ref(vt_store *s);
void vt_store_free(vt_store *s);
/* f32 rows as they are. */
vitcl_status vt_store_raw(vt_buf **out, vt_store *s, const char *name,
                          uint64_t count);
/* The f32 rows into host memory, read anew each time; takes no lock. */
vitcl_status vt_store_read(float *out, vt_store *s, const char *name,
                           uint64_t count);
/* No parameter will be asked for soon. */
void vt_store_rest(vt_store *s);
/* Packed for a provider; the f32 rows go again at once. */
vitcl_status vt_store_packed(vt_buf **out, vt_store *s, const char *name,
                             const char *provider, const vt_gemm_desc *d);
/* More than one run reads them: large pages, once. */
void vt_store_large_pages(vt_store *s);
size_t vt_store_bytes(vt_store *s);

#endif
