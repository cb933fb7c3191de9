/*
 * race.h - time a product with several providers.
 */
#ifndef VT_GEMM_RACE_H
#define VT_GEMM_RACE_H

/* A vt_race, which device.c hands to fastest.c; context: vt_rivals. */
void vt_race_run(double *ms, void *context);

#endif
