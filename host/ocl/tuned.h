/*
 * tuned.h - the parameters of the multiplications that may differ from device
 * to device. For gemm_*.c and device.c; others see the vt_tuned_* of ocl.h.
 */
#ifndef VT_OCL_TUNED_H
#define VT_OCL_TUNED_H
#include "ocl/ocl.h"

typedef enum {
    VT_TUNED_ROWS,    /* cl/gemm_rows.cl */
    VT_TUNED_DOT,     /* cl/gemm_dot.cl */
    VT_TUNED_TILE,    /* cl/gemm_tile.cl */
    VT_TUNED_CLBLAST, /* CLBlast's Xgemm */
    VT_TUNED_KINDS
} vt_tuned_kind;
enum { VT_TUNED_TYPES = 4, VT_TUNED_NUMBERS = 16 };

/* What an entry says; the numbers in the order of vt_tuned_name(). */
typedef struct vt_tuned {
    bool set;
    unsigned short v[VT_TUNED_NUMBERS];
} vt_tuned;
typedef vt_tuned vt_tuned_table[VT_TUNED_KINDS][VT_TUNED_TYPES];

/* The user's entry for products of this type; NULL: none. */
const vt_tuned *vt_tuned_for(const vt_dev *dev, vt_tuned_kind kind,
                             vt_dtype type);
/* What is in use, be it an entry or built in. */
void vt_tuned_values(unsigned short v[VT_TUNED_NUMBERS], const vt_dev *dev,
                     vt_tuned_kind kind, vt_dtype type);
/* The index-th number's name, NULL after the last. */
const char *vt_tuned_name(vt_tuned_kind kind, int index);
/* "rows f32 lanes 8 ..." into a checked entry; the message says why not. */
vitcl_status vt_tuned_parse(vt_tuned_kind *kind, int *type, vt_tuned *out,
                            const char *entry);

/* Entries for info's device and driver in the user's file: into table,
 * info->tuned and info->warning. */
void vt_tuned_load(vt_tuned_table *table, vitcl_device_info *info);
/* The same from that file's text, which is cut up; table is zero at first. */
void vt_tuned_text(vt_tuned_table *table, vitcl_device_info *info, char *text);

/* ---- the table of what is built in, and where it is used ---- */

/* How the native rows divide a product: see gemm_rows.h, which uses it. */
typedef struct vt_rows_shape {
    int lanes, vectors; /* of a register block: across, */
    int block;          /* and at most so many rows */
    int terms;          /* of K at a time at most */
    int rows, panels;   /* of a work-group at most */
    int groups;         /* work-groups that a core should have at least */
} vt_rows_shape;
/* VT_TUNED_ROWS, or VT_TUNED_DOT with the instruction's lanes. */
vt_rows_shape vt_tuned_rows(const vt_dev *dev, vt_tuned_kind kind,
                            vt_dtype type, int lanes);

#endif
