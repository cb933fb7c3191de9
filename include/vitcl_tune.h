/*
 * vitcl_tune.h - finding out how a device multiplies fastest. vitcl.h has the
 * rules of handles, errors and outputs.
 *
 * Two things are kept in files of the user's and used by every session:
 *
 *   tried  Whether a processor's dot-product instructions work and are faster
 *          than multiply-adds (bf16, int8), once a device, driver and version,
 *          in the cache folder. Which of bf16 and f16 is faster (half), too. A
 *          session has it tried when it needs to know; vitcl_device_try() does
 *          so beforehand.
 *   tuned  Parameters of the multiplications, in $XDG_CONFIG_HOME/vitcl/tuned
 *          (or ~/.config/vitcl/tuned), for one device and driver version a
 *          line. A tuner proposes candidates; whoever drives it has each of
 *          them measured by vitcl_candidate_measure(), tells what came out, and
 *          saves the best.
 *
 * What is tried or measured may crash its driver, so processes of vitcl-try do
 * it: see "Trials" in vitcl.h.
 */
#ifndef VITCL_TUNE_H
#define VITCL_TUNE_H
#include <vitcl.h>
#ifdef __cplusplus
extern "C" {
#endif

/* 1: a session of this precision, or a training, would have instructions tried
 * on the device, or on the model's. */
int vitcl_device_untried(const vitcl_device *device, vitcl_precision precision);
int vitcl_model_untried(const vitcl_model *model, vitcl_precision precision);
/* What a CPU multiplies bf16 or int8 by, as far as it has been tried: an
 * instruction's name, "fma" or "untried"; and what failed its trial, as in
 * "fma; vpdpbusd failed its trial", or has none, as vitcl-try is missing or
 * cannot be started: "fma; vpdpbusd cannot be tried". Cut to `size` bytes with
 * the final NUL. */
VITCL_STATUS vitcl_device_form(char *out, size_t size,
                               const vitcl_device *device,
                               vitcl_precision precision);
/* Has it tried, unless that is known, and keeps what came out. Success also
 * where it failed its trial: vitcl_device_form() says so. */
VITCL_STATUS vitcl_device_try(vitcl_device *device, vitcl_precision precision);

typedef struct vitcl_tuner vitcl_tuner;
/* For the products of this model with these options (batch, height, width,
 * gemm, precision) on its device. */
VITCL_STATUS vitcl_tuner_new(vitcl_tuner **out, vitcl_model *model,
                             const vitcl_session_options *options);
/* A candidate to be measured, a text without line breaks; NULL: all that is
 * near the best one has been. Valid until the next call. */
const char *vitcl_tuner_next(vitcl_tuner *tuner);
/* How long the last candidate took, as a multiple of what it was measured
 * beside; 0: it failed. */
void vitcl_tuner_tell(vitcl_tuner *tuner, double ratio);
/* The best so far, the parameters without what they are measured on. */
const char *vitcl_tuner_best(const vitcl_tuner *tuner);
/* How many times as fast as what was in use at first; 1 or more. */
double vitcl_tuner_gain(const vitcl_tuner *tuner);
/* Keeps the best in the user's file; path: of that file. */
VITCL_STATUS vitcl_tuner_save(const char **path, vitcl_tuner *tuner);
void vitcl_tuner_free(vitcl_tuner *tuner);

/* Checks every element of the candidate's products and times them beside those
 * of the native multiplication as it is built in, in a process of vitcl-try,
 * for `seconds` at most (0: as any trial). VITCL_EDEVICE: a product is wrong,
 * or the process crashed or took too long. select: as in vitcl_device_open();
 * progress: NULL, or asked now and then (of seconds). */
VITCL_STATUS vitcl_candidate_measure(double *ratio, const char *select,
                                     const char *candidate, double seconds,
                                     vitcl_progress progress, void *context);

#ifdef __cplusplus
}
#endif
#endif
