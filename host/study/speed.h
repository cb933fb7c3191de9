/*
 * speed.h - appendix D.5: pictures a second, and the largest batch, over the
 * resolution.
 */
#ifndef VT_STUDY_SPEED_H
#define VT_STUDY_SPEED_H
#include "study/private.h"

enum { VT_SPEED_MODELS = 3, VT_SPEED_SIZES = 6, VT_SPEED_DEVICE = 256 };
extern const char *const vt_speed_models[VT_SPEED_MODELS]; /* presets */
extern const unsigned vt_speed_sizes[VT_SPEED_SIZES];

typedef struct vt_speed {
    double gmac;
    double rate;  /* pictures a second, one at a time; 0: not measured yet */
    double load;  /* seconds before */
    double batch; /* the largest that the device's memory can hold */
} vt_speed;

typedef struct vt_speeds {
    vt_speed of[VT_SPEED_MODELS][VT_SPEED_SIZES];
    double memory, buffer; /* of the device, in bytes: all, and at once */
    char device[VT_SPEED_DEVICE]; /* its name */
} vt_speeds;

/* What is known without a measurement, and from those that have been made on
 * this device. */
vitcl_status vt_speeds_known(vt_speeds *out, const vt_experiment *e);
/* Measures a model, unless it was measured before on this device. */
vitcl_status vt_speed_measure(vt_speed *s, const vt_experiment *e,
                              const char *device, size_t model, size_t size);
/* The slope of log10 y over log10 of the size: 2 if y grows with the number of
 * pixels. */
double vt_speed_slope(const double y[VT_SPEED_SIZES]);

#endif
