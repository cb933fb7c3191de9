/*
 * panels.h - B in panels: for rows.c in every type, for tile.c in int8. A
 * packed B is a constant weight; any other is packed into `temp` at each
 * launch.
 */
#ifndef VT_GEMM_PANELS_H
#define VT_GEMM_PANELS_H
#include "gemm/form.h"

/* g->state: views of temp. */
typedef struct vt_panels {
    vt_buf *b; /* B, if it is packed at each launch */
    vt_buf *a; /* rows.c: a transposed A */
} vt_panels;

/* As in vt_form; their widths are those of t->rows. */
const char *vt_panels_layout(vt_dev *dev, const vt_told *t);
size_t vt_panels_bytes(vt_dev *dev, const vt_told *t);
vitcl_status vt_panels_pack(vt_queue *q, const vt_told *t, vt_buf *packed,
                            vt_buf *b);
/* Of `temp`, from its beginning on. */
size_t vt_panels_temp_bytes(vt_dev *dev, const vt_told *t);
/* Makes g->state and, unless B is packed, the kernels that pack it: g->kernel[]
 * from *n on. Returns the panels, of which nothing is to be freed. */
vitcl_status vt_panels_bind(vt_buf **out, vt_gemm *g, unsigned *n);
void vt_panels_free(vt_gemm *g);

#endif
