/*
 * families.h - the three families that the paper compares: ViT, ResNet with
 * group norm and standardised weights, and their hybrid.
 */
#ifndef VT_STUDY_FAMILIES_H
#define VT_STUDY_FAMILIES_H
#include "study/study.h"

enum { VT_FAMILIES = 3, VT_FAMILY_SIZES = 3 };
extern const char *const vt_family_names[VT_FAMILIES];
/* A model of that family, size 0 (small) to 2. Those of one size cost about the
 * same; the hybrid has fewer blocks than the ViT. */
void vt_run_family(vt_run *run, const vt_experiment *e, int family, int size);

#endif
