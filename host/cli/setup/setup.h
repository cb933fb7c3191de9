/*
 * setup.h - what a command needs before it works: drivers, threads, the device,
 * the model, a session, places for its files.
 */
#ifndef VT_CLI_SETUP_H
#define VT_CLI_SETUP_H
#include "model_names.h"
#include "options.h"

/* ---- models ---- */

typedef struct model_options {
    const char *model, *preset, *device, *devices, *gemm, *precision, *pixels;
    frame_size size;
    uint32_t batch, threads, patches;
    bool once; /* there is only one batch */
    bool any_batch;
    bool patches_of_index; /* they are an index's, not named by the user */
} model_options;
#define OPT_MODEL(T)                                                           \
    OPT_RULED(T, 'm', "model", OPT_TEXT, "DIR",                                \
              "checkpoint: a folder, a file or a name (vitcl models); else "   \
              "VITCL_MODEL, else the built-in one",                            \
              common.model, .not_with = "preset"),                             \
        OPT_ROW(T, 0, "preset", OPT_TEXT, "NAME",                              \
                "an architecture with random weights, such as vit-b/16",       \
                common.preset)
/* For commands whose pictures several devices share. */
#define OPT_DEVICES(T)                                                         \
    OPT_ROW(T, 0, "devices", OPT_TEXT, "all|DEV,...",                          \
            "several devices, such as 0:0,0:1, which share the pictures",      \
            common.devices)
#define OPT_DEVICE(T)                                                          \
    OPT_RULED(T, 'd', "device", OPT_TEXT, "DEV",                               \
              "0:1, part of a name, cpu, gpu or any; else VITCL_DEVICE",       \
              common.device, .not_with = "devices"),                           \
        OPT_THREADS(T, common.threads)
/* In the order of vitcl_precision; the public header has no names. */
#define PRECISIONS "f32|bf16|f16|half|int8"
#define OPT_GEMM(T, names)                                                     \
    OPT_ROW(T, 0, "gemm", OPT_CHOICE, names,                                   \
            "matrix multiplication (default: the fastest here)", common.gemm), \
        OPT_ROW(T, 0, "precision", OPT_CHOICE, PRECISIONS,                     \
                "number format of the multiplications (default f32); half: "   \
                "bf16 or f16, whichever is faster",                            \
                common.precision)
#define OPT_RUN(T) OPT_GEMM(T, "clblast|native|plain")
#define OPT_BATCH(T, help)                                                     \
    OPT_ROW(T, 0, "batch", OPT_COUNT, "N", help, common.batch)
#define OPT_ANY_BATCH(T)                                                       \
    OPT_ROW(T, 0, "any-batch", OPT_FLAG, NULL,                                 \
            "the same bits with any --batch; matters on NVIDIA's sm_90 in "    \
            "16 bits, and is slower there",                                    \
            common.any_batch)
#define OPT_SIDES(T)                                                           \
    OPT_RULED(T, 0, "size", OPT_SIZE, "N|HxW",                                 \
              "pixels, if not those that the model was trained with",          \
              common.size, .not_with = "max-num-patches")
#define OPT_PATCHES(T)                                                         \
    OPT_ROW(T, 0, "max-num-patches", OPT_COUNT, "N",                           \
            "for a NaFlex model, whose pictures keep their aspect ratio: the " \
            "most patches per picture (default: the model's own)",             \
            common.patches)
#define PIXELS_HELP                                                            \
    "resize pictures bit for bit as this library does; without it, as the "    \
    "model's files say"
#define OPT_PIXELS(T)                                                          \
    OPT_ROW(T, 0, "pixels", OPT_CHOICE, "pillow|torchvision", PIXELS_HELP,     \
            common.pixels)
#define OPT_CLASSES_BY(T)                                                      \
    OPT_ROW(T, 0, "classes-by", OPT_CHOICE, "name|number",                     \
            "match classes by name (default) or number", by)

/* The value of -m or VITCL_MODEL, a path or a name; NULL: neither. */
const char *model_word(const model_options *o);
/* Opens a device; prints which tuning settings are ignored there. */
int open_device(vitcl_device **device, const char *select);
/* Tests the instructions of this precision, unless they were tested before, and
 * prints which failed or cannot be tested. */
void try_first(vitcl_device *device, vitcl_precision precision);
/* Prints which matrix units have lost their trials since then. */
void tell_refused(vitcl_device *device);
/* Opens the device (unless device is NULL) and the model. Prints why not. */
int open_model(vitcl_device **device, vitcl_model **model,
               const model_options *o);
/* The value of --precision; NULL: f32. */
vitcl_precision precision_of(const char *word);
/* Is --classes-by "number"? Prints a note if it is. */
bool classes_by_number(const char *word);
/* Of o's batch, size, gemm and precision. */
vitcl_session_options session_options(const model_options *o);
/* NaFlex: pictures of one size, the model's own unless options have another. */
int one_size(vitcl_session_options *options, const vitcl_model *model);
/* Tries what the precision needs, then opens a session. Prints why not. */
int start_session(vitcl_session **out, vitcl_device *device, vitcl_model *model,
                  const vitcl_session_options *options);
/* The same without a word. */
VITCL_STATUS try_session(vitcl_session **out, vitcl_device *device,
                         vitcl_model *model,
                         const vitcl_session_options *options);
/* Both, with keep and profile, for pictures of one size. */
int open_session(vitcl_session **out, vitcl_device *device, vitcl_model *model,
                 const model_options *o, const char *const *keep, int profile);
/* The name to show: the preset, or the model's path without slashes. */
const char *model_name(const model_options *o);
/* Neither -m, VITCL_MODEL nor --preset: the built-in model. */
bool uses_builtin(const model_options *o);
/* Prints a line on stderr if this is the built-in model, or has random weights,
 * whose results are meaningless. Called when the first results are out, so that
 * they come first, and an error comes alone. */
void say_model(const model_options *o);

/* ---- tensors to keep ---- */

/* The patterns of --keep with timm's names as those of vitcl. */
int keep_open(words *out, const words *given);
void keep_close(words *w);
/* EXIT_FAILED, and prints why, if a pattern matches no tensor. */
int keep_check(const words *names, const words *given,
               const vitcl_session *session);

/* ---- places for files ---- */

/* EXIT_FAILED if no file can be written at `path`. made: a folder that
 * the command itself creates, or NULL. */
int place_ready(const char *path, const char *made);
/* The same of a folder, and of files in one that is there. */
int place_folder(const char *path);

/* ---- threads ---- */

/* Before a driver is loaded. --threads: that many in the drivers of processors
 * and for the library's own work. */
int limit_threads(uint32_t n);
/* Without it: VITCL_THREADS, else OMP_NUM_THREADS, else as many as the cores
 * that the process may run on. */
int usual_threads(void);

/* ---- drivers ---- */

/* main()'s arguments, for a restart. */
void guard_arguments(char *const *argv);
/* From here to the end of the first run (or of the command) the program
 * restarts if a driver crashes. */
void guard_begin(void);
void guard_end(void);
void guard_spent(void); /* input was read that cannot be read again */
/* guard_tell(): the first part of the results has been printed, though a driver
 * may still crash. guard_told(): was it printed before the restart? */
void guard_tell(void);
bool guard_told(void);

#endif
