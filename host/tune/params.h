/*
 * params.h - device-dependent parameters of the multiplications, for the forms
 * of providers that have some, and for the tuner.
 */
#ifndef VT_TUNE_PARAMS_H
#define VT_TUNE_PARAMS_H
#include "base/kept.h"
#include "gemm/form.h"
#include "ocl/precision.h"

typedef enum {
    VT_PARAMS_ROWS,    /* cl/gemm_rows.cl */
    VT_PARAMS_DOT,     /* cl/gemm_dot.cl */
    VT_PARAMS_TILE,    /* cl/gemm_tile.cl */
    VT_PARAMS_CLBLAST, /* CLBlast's Xgemm */
    VT_PARAMS_KINDS
} vt_params_kind;

/* The contents of an entry; numbers in the order of vt_params_name(). */
typedef struct vt_params {
    bool set;
    unsigned short v[VT_NUMBERS];
} vt_params;
typedef vt_params vt_params_table[VT_PARAMS_KINDS][VT_TYPES];

/* ---- params.c: as words ---- */

/* The name of number `index`; NULL after the last. */
const char *vt_params_name(vt_params_kind kind, int index);
/* Does this kernel ("rows") have parameters in this type, by its number? */
bool vt_params_find(vt_params_kind *out, const char *kernel, int type);
/* Parses "rows f32 lanes 8 ..." into a checked entry; the message gives the
 * error. */
vitcl_status vt_params_parse(vt_params_kind *kind, int *type, vt_params *out,
                             const char *entry);
#define VT_ENTRY 256
void vt_params_format(char out[VT_ENTRY], vt_params_kind kind, int type,
                      const unsigned short *v);
/* Sets those numbers that the words name ("lanes 8 block 4"). False if the
 * result is invalid. */
bool vt_params_change(unsigned short *v, vt_params_kind kind,
                      const char *words);

/* Of the numbers of VT_PARAMS_ROWS, or of VT_PARAMS_DOT with the instruction's
 * lanes. */
vt_rows_shape vt_params_shape(vt_params_kind kind, const unsigned short *v,
                              int lanes);

/* ---- params_values.c: in use on a device ---- */

/* Attaches the user's entries to a device that was just opened, and completes
 * its description. */
vitcl_status vt_params_open(vt_dev *dev, vitcl_device_info *info);
/* The user's entry for products of this type; NULL: none. */
const vt_params *vt_params_for(const vt_dev *dev, vt_params_kind kind,
                               vt_dtype type);
/* The values in use, from an entry or built in. */
void vt_params_values(unsigned short v[VT_NUMBERS], const vt_dev *dev,
                      vt_params_kind kind, vt_dtype type);
/* The built-in values for this device's vendor; false: the kernel has none. */
bool vt_params_vendor(unsigned short v[VT_NUMBERS], vt_params_kind kind,
                      const vitcl_device_info *info);
/* The values in use in f32, with their names. */
void vt_params_numbers(vt_number number[VT_NUMBERS], const vt_dev *dev,
                       vt_params_kind kind);
/* The values in use as one line of words. */
void vt_params_entry(char out[VT_ENTRY], const vt_dev *dev, vt_params_kind kind,
                     vt_dtype type);
/* VT_PARAMS_ROWS, or VT_PARAMS_DOT with the instruction's lanes. */
vt_rows_shape vt_params_rows(const vt_dev *dev, vt_params_kind kind,
                             vt_dtype type, int lanes);
/* Uses an entry from now on (NULL: all built-in values). Call before the
 * device's first multiplication. The device is then for trials: it keeps no
 * programs. */
vitcl_status vt_params_use(vt_dev *dev, const char *entry);

/* ---- params_file.c: the user's file ---- */

/* Loads the entries for info's device and driver from the user's file, into
 * table, info->tuned and info->warning. */
void vt_params_load(vt_params_table *table, vitcl_device_info *info);
/* The same from the lines of that file; table must be zero. */
void vt_params_read(vt_params_table *table, vitcl_device_info *info,
                    vt_lines *l);
/* Saves it in the user's file, replacing an earlier entry for this device,
 * driver, kernel and precision. */
vitcl_status vt_params_save(const vt_dev *dev, const char *entry);

/* ---- params_moves.c: for the tuner ---- */

/* The entry with change number `index`; "" if the result is invalid; false
 * after the last. */
bool vt_params_move(char out[VT_ENTRY], const vt_dev *dev, const char *entry,
                    unsigned index);

#endif
