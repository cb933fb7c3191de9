/*
 * fastest.h - which of several forms multiplies a product fastest on a device:
 * timed once, and kept in the user's file of choices.
 */
#ifndef VT_PRODUCT_FASTEST_H
#define VT_PRODUCT_FASTEST_H
#include "gemm/form.h"
#include "product/choices.h"

/* Times the rivals, in ms; 0: this one failed; VT_RACE_WRONG of race.h. */
typedef void (*vt_time_rivals)(double *ms, void *context);

/* The index of the fastest of n names (words without spaces), VT_FORMS at most:
 * by the answer that is kept, or else by time(), whose result is kept, unless
 * that fails. -1: none finished, or nothing can be kept; in the second case
 * nothing is timed. VT_FASTEST_WRONG: some finished, and none is right.
 * answer: "tile 0.42 ms, clblast 0.61 ms", the fastest first; those that were
 * wrong come last: "plain wrong". time NULL: only by a kept answer. */
#define VT_FASTEST_WRONG (-2)
int vt_fastest(char answer[VT_CHOICE], bool *timed, const char *question,
               const char *const *names, int n, vt_time_rivals time,
               void *context);

/* May products be timed on devices of this class? Not on a processor that is
 * known, whose order is fixed; not with VITCL_CACHE=off, or where no answer can
 * be kept. */
bool vt_fastest_possible(vt_class class);
/* Of n forms that take d, the fastest; NULL: unknown. Times them if `time`. The
 * plain one if none is right, also where it does not take d. */
const vt_form *vt_fastest_form(vt_dev *dev, const vt_gemm_desc *d,
                               const vt_form *const *forms, int n, bool time);
/* For how many products each provider is the fastest, by what is kept for this
 * device and driver: "native 4, clblast 2"; "" if nothing is. */
void vt_fastest_tell(char *out, size_t size, const vitcl_device_info *info);

#endif
