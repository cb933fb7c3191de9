/*
 * params.h - the parameters of the multiplications that may differ from device
 * to device, and what a tuner asks about them.
 */
#ifndef VT_GEMM_PARAMS_H
#define VT_GEMM_PARAMS_H
#include "gemm/gemm.h"

typedef enum {
    VT_PARAMS_ROWS,    /* cl/gemm_rows.cl */
    VT_PARAMS_DOT,     /* cl/gemm_dot.cl */
    VT_PARAMS_TILE,    /* cl/gemm_tile.cl */
    VT_PARAMS_CLBLAST, /* CLBlast's Xgemm */
    VT_PARAMS_KINDS
} vt_params_kind;
enum { VT_PARAMS_TYPES = 4, VT_PARAMS_NUMBERS = 16 };

/* What an entry says; the numbers in the order of vt_params_name(). */
typedef struct vt_params {
    bool set;
    unsigned short v[VT_PARAMS_NUMBERS];
} vt_params;
typedef vt_params vt_params_table[VT_PARAMS_KINDS][VT_PARAMS_TYPES];

/* The user's entry for products of this type; NULL: none. */
const vt_params *vt_params_for(const vt_dev *dev, vt_params_kind kind,
                               vt_dtype type);
/* What is in use, be it an entry or built in. */
void vt_params_values(unsigned short v[VT_PARAMS_NUMBERS], const vt_dev *dev,
                      vt_params_kind kind, vt_dtype type);
/* The index-th number's name, NULL after the last. */
const char *vt_params_name(vt_params_kind kind, int index);
/* "rows f32 lanes 8 ..." into a checked entry; the message says why not. */
vitcl_status vt_params_parse(vt_params_kind *kind, int *type, vt_params *out,
                             const char *entry);

/* Entries for info's device and driver in the user's file: into table,
 * info->tuned and info->warning. */
void vt_params_load(vt_params_table *table, vitcl_device_info *info);
/* The same from that file's text, which is cut up; table is zero at first. */
void vt_params_text(vt_params_table *table, vitcl_device_info *info,
                    char *text);

/* ---- for whoever tunes ---- */
#define VT_ENTRY 256
/* What the provider uses for d, as one line of words. */
vitcl_status vt_params_entry(char out[VT_ENTRY], vt_dev *dev,
                             const char *provider, const vt_gemm_desc *d);
/* Use it from now on (NULL: all that is built in); before the device's first
 * multiplication. The device is for trials then: it keeps no program. */
vitcl_status vt_params_use(vt_dev *dev, const char *entry);
/* The entry with the index-th change that is worth a try, "" where that makes
 * no sense; false after the last. */
bool vt_params_move(char out[VT_ENTRY], const vt_dev *dev, const char *entry,
                    unsigned index);
/* Into the user's file, in the place of an earlier one for this device, driver,
 * kernel and precision. */
vitcl_status vt_params_save(const vt_dev *dev, const char *entry);
bool vt_params_path(char *out, size_t size);

/* ---- the table of what is built in, and where it is used ---- */

/* How the native rows divide a product: see rows.h, which uses it. */
typedef struct vt_rows_shape {
    int lanes, vectors; /* of a register block: across, */
    int block;          /* and at most so many rows */
    int terms;          /* of K at a time at most */
    int rows, panels;   /* of a work-group at most */
    int groups;         /* work-groups that a core should have at least */
} vt_rows_shape;
/* VT_PARAMS_ROWS, or VT_PARAMS_DOT with the instruction's lanes. */
vt_rows_shape vt_params_rows(const vt_dev *dev, vt_params_kind kind,
                             vt_dtype type, int lanes);

#endif
