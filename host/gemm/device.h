/*
 * device.h - what this folder keeps with a device: the usable providers and
 * instructions, and the user's parameters.
 */
#ifndef VT_GEMM_DEVICE_H
#define VT_GEMM_DEVICE_H
#include "gemm/fastest.h"
#include "gemm/params.h"

#include <pthread.h>

#define VT_PROVIDERS 8 /* rows of providers[] in gemm.c, at most */

/* The instruction that computes packed products of a type; 0: none. */
typedef struct vt_dot_known {
    bool known;
    int kind, failed, untried; /* untried: its trial could not run */
} vt_dot_known;

/* The matrix instruction for a type; 0: none. */
typedef struct vt_mma_known {
    bool known;
    int kind;
} vt_mma_known;

typedef struct vt_gemm_device {
    pthread_mutex_t lock;              /* for usable[] */
    signed char usable[VT_PROVIDERS];  /* 0: unknown, 1: yes, -1: no */
    vt_dot_known dot[VT_PARAMS_TYPES]; /* dot_choice.c */
    vt_mma_known mma[VT_PARAMS_TYPES]; /* mma_choice.c */
    vt_mma_known mma_attention[VT_PARAMS_TYPES];
    vt_mma_known mma_gradient, mma_training;
    vt_fastest_memory fastest; /* fastest.c */
    vt_race race;              /* race.c, which fastest.c must not call */
    int parts, units;          /* for tests of parts.c; 0: by the device */
    vt_params_table params;    /* the user's, read when the device is opened */
} vt_gemm_device;

/* For a device opened with vt_gemm_dev_open(). */
static inline vt_gemm_device *vt_gemm_device_of(const vt_dev *dev)
{
    return vt_dev_attached(dev);
}

#endif
