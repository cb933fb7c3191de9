/*
 * trials.h - what may crash: for vitcl-try only (and for tests of it).
 */
#ifndef VT_TRIALS_TRIALS_H
#define VT_TRIALS_TRIALS_H
#include "units/matrix.h"

/* Is a CPU's instruction "wrong", "slower" or "faster" than multiply-adds? The
 * device is then for trials. */
vitcl_status vt_trial_dot(const char **verdict, vt_dev *dev,
                          const char *instruction);
/* Is a matrix unit's product "right" or "wrong"? timed: "slower", too, if it
 * takes longer than that of the same size in f32. The device is for trials. */
vitcl_status vt_trial_unit(const char **verdict, vt_dev *dev,
                           const char *instruction, vt_dtype type, bool timed);
/* The same of large tiles by wgmma. */
vitcl_status vt_trial_groups(const char **verdict, vt_dev *dev, vt_mma_choice c,
                             vt_dtype type);
/* The same of a training's three products in bf16. */
vitcl_status vt_trial_training(const char **verdict, vt_dev *dev,
                               vt_mma_choice c);
/* The same of attention; timed: "slower", too, if it is not faster by a seventh
 * than attention without matrix units. */
vitcl_status vt_trial_attention(const char **verdict, vt_dev *dev,
                                vt_mma_choice c, vt_dtype type, bool timed);
/* The same of attention's gradients. */
vitcl_status vt_trial_gradient(const char **verdict, vt_dev *dev,
                               vt_mma_choice c, bool timed);
/* Times a product of a ViT's size in bf16 or f16 with this provider, in ms. */
vitcl_status vt_trial_half(double *ms, vt_dev *dev, const char *provider,
                           vt_dtype type);
/* Checks a candidate's products and times them, relative to native's built-in
 * ones. */
vitcl_status vt_trial_candidate(double *ratio, const char *select,
                                const char *candidate);
/* Times CLBlast's Xgemm with this entry of parameters: vt_clblast_time(). The
 * device is then for trials. */
vitcl_status vt_trial_xgemm(double *ms, vt_dev *dev, const char *entry);

#endif
