/*
 * units.h - what is known of a device's instructions, kept with it. For dots.c
 * and matrix.c; product/device.c makes it.
 */
#ifndef VT_UNITS_UNITS_H
#define VT_UNITS_UNITS_H
#include "ocl/precision.h"
#include "units/ask.h"
#include "units/matrix.h"

enum { VT_REFUSALS = 4 };
typedef struct vt_units {
    vt_known dot[VT_TYPES];                   /* dots.c */
    vt_known matrix[VT_MMA_TRIALS][VT_TYPES]; /* matrix.c */
    char refused[VT_REFUSALS][352]; /* sentences for vt_mma_refused(); */
    int refusals, said;             /* how many there are, and were given */
} vt_units;

/* vt_question.lost of matrix units. */
void vt_mma_lost(const vt_dev *dev, const vt_question *q, const vt_known *k);

/* Attaches one to a device that was just opened. */
vitcl_status vt_units_open(vt_dev *dev);
vt_units *vt_units_of(const vt_dev *dev);

#endif
