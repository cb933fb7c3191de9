/*
 * fastest.h - which of several providers multiplies a product fastest on a
 * device: timed once, and kept in the user's file of choices.
 */
#ifndef VT_GEMM_FASTEST_H
#define VT_GEMM_FASTEST_H
#include "gemm/choices.h"
#include "gemm/provider.h"

#include <stdatomic.h>

enum { VT_RIVALS = 8 }; /* at most */

typedef struct vt_rivals {
    vt_dev *dev;
    const vt_gemm_desc *d;
    const char *const *names; /* of forms */
    int n;
} vt_rivals;
/* Times n rivals, in ms; 0: this one failed. */
typedef void (*vt_race)(double *ms, void *context);

/* The index of the fastest of n names (words without spaces): by the answer
 * that is kept, or else by race(), whose result is kept. -1: none finished, or
 * nothing can be kept; in the second case nothing is timed. answer: "tile 0.42
 * ms, clblast 0.61 ms", the fastest first. race NULL: only by a kept answer. */
int vt_fastest(char answer[VT_CHOICE], bool *timed, const char *question,
               const char *const *names, int n, vt_race race, void *context);

/* May products be timed on devices of this class? Not on CPUs, whose order is
 * fixed; not with VITCL_CACHE=off, or where no answer can be kept. */
bool vt_fastest_possible(vt_class class);
/* Of n rows that take d, the fastest; NULL: unknown. Times them if `time`. */
const vt_provider *vt_fastest_row(vt_dev *dev, const vt_gemm_desc *d,
                                  const vt_provider *const *rows, int n,
                                  bool time);
/* For how many products each provider is the fastest, by what is kept for this
 * device and driver: "native 4, clblast 2"; "" if nothing is. provider(): that
 * of a form; NULL: none. */
void vt_fastest_tell(char *out, size_t size, const vitcl_device_info *info,
                     const char *(*provider)(const char *form));

/* What a device remembers of it; zero at first. */
typedef struct vt_fastest_memory {
    struct vt_fastest_known *known;
    size_t count, cap;
    atomic_uint timed; /* products, in this process */
} vt_fastest_memory;
void vt_fastest_forget(vt_fastest_memory *m);

#endif
