/*
 * state.h - what host/product keeps with a device.
 */
#ifndef VT_PRODUCT_STATE_H
#define VT_PRODUCT_STATE_H
#include "gemm/form.h"

#include <pthread.h>
#include <stdatomic.h>

/* Which form was the fastest of a product; NULL: none finished. */
typedef struct vt_fastest_known {
    char *question;
    const vt_form *form;
} vt_fastest_known;

typedef struct vt_product_state {
    pthread_mutex_t lock;         /* for usable[] */
    signed char usable[VT_FORMS]; /* 0: unknown, 1: yes, -1: no */
    vt_fastest_known *fastest;    /* fastest.c */
    size_t fastests, cap;
    atomic_uint timed; /* products, in this process */
    struct {
        char provider[16];
        vitcl_precision precision;
    } half[4]; /* half_choice.c */
    int halves;
    int parts, units; /* of vt_told, for tests; 0: by the device */
} vt_product_state;

/* Attaches one to a device that was just opened. */
vitcl_status vt_product_state_open(vt_dev *dev);
vt_product_state *vt_product_state_of(const vt_dev *dev);

#endif
