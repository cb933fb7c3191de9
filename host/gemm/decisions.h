/*
 * decisions.h - results of trials on a device, kept on disk so that each trial
 * runs once.
 */
#ifndef VT_GEMM_DECISIONS_H
#define VT_GEMM_DECISIONS_H
#include "base/turn.h"
#include "ocl/ocl.h"

#define VT_DECISION 32 /* lower case letters and digits */
/* The stored answer for this device and driver, if any. */
bool vt_decision_load(char out[VT_DECISION], const vt_dev *dev,
                      const char *question);
void vt_decision_save(const vt_dev *dev, const char *question,
                      const char *answer);

/* Only one thread at a time decides `what` for a kind of device, so that two
 * threads do not time at once, and the second has the first one's answer. Ends
 * with vt_turn_end(). */
void vt_decision_turn(vt_turn *t, const vt_dev *dev, const char *what);

#endif
