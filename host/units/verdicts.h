/*
 * verdicts.h - the results of trials on a device, kept so that each trial runs
 * once.
 */
#ifndef VT_UNITS_VERDICTS_H
#define VT_UNITS_VERDICTS_H
#include "base/turn.h"
#include "ocl/ocl.h"

#define VT_VERDICT                                                             \
    48 /* words of lower case letters and digits, with one space */

/* What is asked about a device, and the kernels that the trial compiles: their
 * names in cl/, ended by NULL. A verdict is for their present text. */
typedef struct vt_subject {
    char question[80]; /* "int8 by" */
    const char *const *sources;
} vt_subject;

/* The kept verdict for this device and driver, if any. */
bool vt_verdict_load(char out[VT_VERDICT], const vt_dev *dev,
                     const vt_subject *s);
void vt_verdict_save(const vt_dev *dev, const vt_subject *s,
                     const char *verdict);

/* Only one thread at a time decides `what` for a kind of device, so that two
 * threads do not time at once, and the second has the first one's answer. Ends
 * with vt_turn_end(). */
void vt_verdict_turn(vt_turn *t, const vt_dev *dev, const char *what);

#endif
