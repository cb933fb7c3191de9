/*
 * vitcl_tune.h - find the fastest device, and the fastest multiplications.
 *
 * The contract is that of vitcl.h. Three kinds of results are kept in the
 * user's files, and every session uses them:
 *
 *   tried    Whether a CPU's dot-product instructions (bf16, f16, int8) and a
 *            GPU's matrix units work, whether the former are faster than
 *            multiply-adds, and which of bf16 and f16 is faster. Kept for each
 *            device, driver and version, with the compiled programs. A session
 *            runs a missing trial itself; vitcl_device_try() runs that of a
 *            CPU's instructions in advance.
 *   tuned    Parameters of the multiplications, in $XDG_CONFIG_HOME/vitcl/tuned
 *            (or ~/.config/vitcl/tuned), one line for each device and driver
 *            version. A tuner proposes candidates. The caller measures each
 *            with vitcl_candidate_measure(), passes the result to
 *            vitcl_tuner_tell(), and saves the best.
 *   choices  Which of several devices is the fastest, for a precision and about
 *            as much work, in $XDG_CONFIG_HOME/vitcl/choices. On a GPU, and on
 *            a processor other than x86-64 with AVX2, also which provider
 *            multiplies a product the fastest: a session without `gemm` times
 *            what is missing, in this process.
 *
 * Trials and measurements may crash the driver, so they run in processes of
 * vitcl-try: see "Trials" in vitcl.h.
 */
#ifndef VITCL_TUNE_H
#define VITCL_TUNE_H
#include <vitcl.h>
#ifdef __cplusplus
extern "C" {
#endif

/* ---- trials ----------------------------------------------------------- */

/* 1: a session, or training, in this precision would start a trial of a CPU's
 * dot-product instructions, on the device or on the model's device; else 0. The
 * trials of a GPU's matrix units do not count. */
int vitcl_device_untried(const vitcl_device *device, vitcl_precision precision);
int vitcl_model_untried(const vitcl_model *model, vitcl_precision precision);
/* Writes the instruction that a CPU uses for bf16, f16 or int8, as far as it
 * was tried: its name, "fma" or "untried". A suffix names an instruction that
 * failed, as in "fma; vpdpbusd failed its trial", or that had no trial because
 * vitcl-try is missing or cannot be started, as in "fma; vpdpbusd cannot be
 * tried". The text is cut to `size` bytes with the final NUL. */
VITCL_STATUS vitcl_device_form(char *out, size_t size,
                               const vitcl_device *device,
                               vitcl_precision precision);
/* Runs the trial unless its result is known, and keeps the result. It succeeds
 * even if the instruction fails its trial: vitcl_device_form() says so. */
VITCL_STATUS vitcl_device_try(vitcl_device *device, vitcl_precision precision);

/* ---- the fastest device ----------------------------------------------- */

/* Which of several devices runs a model fastest. */
typedef struct {
    size_t size;
    char id[16];     /* for vitcl_device_open(); "": nothing to choose */
    char plans[64];  /* which it is for: "f32, 1 to 10 GMAC a run" */
    char times[128]; /* "0:0 2.13 ms, 1:0 5.31 ms", the fastest first */
    int measured;    /* just now, and not found in the user's files */
} vitcl_device_choice;
/* 1: there are several usable devices of different names, and VITCL_DEVICE is
 * not set; else 0. */
int vitcl_device_choosable(void);
/* Chooses the device for sessions of this model with these options. The model
 * may be loaded without one. If the user's choices have no answer for such
 * plans, each device is opened in this process, and compiles and runs the
 * model, with fewer pictures than the batch if they would take long. A device
 * that fails is left out, which the log says. id is "" if there is nothing to
 * choose, or if no answer can be kept. */
VITCL_STATUS vitcl_device_choose(vitcl_device_choice *out,
                                 const vitcl_model *model,
                                 const vitcl_session_options *options);
/* The kept choice `index`, from 0, for the devices of this machine.
 * VITCL_EINVAL after the last. */
VITCL_STATUS vitcl_choice_list(vitcl_device_choice *out, uint32_t index);

/* ---- the fastest multiplications -------------------------------------- */

typedef struct vitcl_tuner vitcl_tuner;
/* Makes a tuner for the products of this model with these options (batch,
 * height, width, gemm, precision) on its device. VITCL_EIO: nothing can be
 * added to the user's file, because it is ignored or its folder cannot be
 * written. */
VITCL_STATUS vitcl_tuner_new(vitcl_tuner **out, vitcl_model *model,
                             const vitcl_session_options *options);
/* The next candidate to measure, a text without line breaks, valid until the
 * next call. NULL: all neighbours of the best one have been measured. */
const char *vitcl_tuner_next(vitcl_tuner *tuner);
/* Tells the tuner what vitcl_candidate_measure() gave for the last candidate;
 * 0: it failed. */
void vitcl_tuner_tell(vitcl_tuner *tuner, double ratio);
/* The best parameters so far, without the products they are measured on. */
const char *vitcl_tuner_best(const vitcl_tuner *tuner);
/* How many times as fast the best is as the parameters in use at the start: 1
 * or more. */
double vitcl_tuner_gain(const vitcl_tuner *tuner);
/* Saves the best to the user's file. *path: that file. */
VITCL_STATUS vitcl_tuner_save(const char **path, vitcl_tuner *tuner);
void vitcl_tuner_free(vitcl_tuner *tuner);

/* Checks every element of the candidate's products and times them against the
 * built-in native multiplication, in a process of vitcl-try. *ratio: their time
 * relative to it, for vitcl_tuner_tell(). select: as for vitcl_device_open().
 * seconds: the time limit; 0: that of a trial. progress: NULL, or called
 * repeatedly, with seconds. VITCL_EDEVICE: a product is wrong, or the process
 * crashed or took too long. */
VITCL_STATUS vitcl_candidate_measure(double *ratio, const char *select,
                                     const char *candidate, double seconds,
                                     vitcl_progress progress, void *context);

/* Writes what the user's file has for CLBlast on this device to `path`, in the
 * JSON of CLBlast's own tuners, which its database reads
 * (scripts/database/database.py) from files such as clblast_xgemm_2_32.json.
 * Times a product of 1024 x 1024 x 1024 with these parameters and with those
 * built in, each in a process of vitcl-try: *tuned and *built_in, in ms, equal
 * if the parameters are. progress: as for vitcl_candidate_measure().
 * VITCL_EINVAL: the file has nothing for it. */
VITCL_STATUS vitcl_tuned_export(double *tuned, double *built_in,
                                const vitcl_device *device, const char *path,
                                vitcl_progress progress, void *context);

#ifdef __cplusplus
}
#endif
#endif
