/*
 * vitcl.h - Vision Transformers on any OpenCL device.
 *
 * Errors     What can fail returns vitcl_status: 0 is success, an error is
 *            negative, and vitcl_last_error() tells this thread the reason.
 * Outputs    come first and are written only on success.
 * Ownership  What is received through `out` is yours until its _free(), which
 *            takes NULL; handles may be freed in any order. A pointer that is
 *            returned is borrowed from the handle it was asked of.
 * Threads    Devices and models may be shared; a session or loader may not.
 * Processes  No driver of OpenCL lives through a fork(). In the child of a
 *            process that has opened a device, calls that need one or a loader
 *            fail, and freeing leaves the parent's things alone.
 * Trials     Drivers' compilers crash on instructions that they do not expect.
 *            So what nobody has tried on a device, driver and version is tried
 *            by processes of the program vitcl-try, never in the host's:
 *            whether a CPU's dot-product instructions (bf16, int8) work and are
 *            faster, and which half precision is. vitcl_session_new(), the
 *            vitcl_train*() calls, vitcl_device_peak() and vitcl_tuner_new()
 *            start one for each, in turn, when they need to know;
 *            vitcl_device_try() and vitcl_candidate_measure() always may. It
 *            crashes, hangs (VITCL_TRY_SECONDS; 60) or is wrong: that form has
 *            failed, and multiply-adds take its place. The answer is kept with
 *            the programs on disk, so that later processes start none; with
 *            VITCL_CACHE=off each asks again. Where the program is missing or
 *            cannot be started, nothing is tried, used or kept: a line of the
 *            log and vitcl_device_form() (vitcl_tune.h) say so. It is looked
 *            for as vitcl-decode is (see vitcl_image_decode()), by VITCL_TRY.
 * It is not forked; it gets the host's environment, as its driver is the same,
 * /dev/null and no descriptor of the host's, default signals and no core, and
 * dies with the host. SIGCHLD comes, and a waitpid(-1) may meet it; a host that
 * ignores SIGCHLD or reaps it loses nothing. Kernels of a form that stood its
 * trial are compiled in the host for its own sizes, as all others are. Shared
 * by all of a process, each behind a lock: which half precision a device does
 * faster, trials of its dot-product instructions, the log, and CLBlast. A
 * device is locked while it builds a program, a model while a session's plan is
 * written. Using "clblast" (the default on GPUs) sets CLBlast's parameters of
 * Xgemm and of GemmRoutine in single precision for that device. They are the
 *            process's: a host's own products with CLBlast on that device take
 *            them too, which may change how fast they are, and in CLBlast up to
 *            1.6.0, whose cache is not thread-safe, may not run while a session
 *            of ours does.
 *            The locale, the umask, signals and the environment stay as they
 *            are.
 * Variables  that the library reads, unless the program has more rights than
 *            its user: VITCL_DEVICE (see vitcl_device_open()), VITCL_CACHE=off
 *            (no programs on disk), XDG_CACHE_HOME and XDG_CONFIG_HOME, or HOME
 *            (where they and tuned parameters are), VITCL_DOT=off (no
 *            dot-product instructions), VITCL_CL_DIR (kernels from a folder),
 *            VITCL_BUILD_FORK=1 (PoCL may compile in forked processes: for a
 *            program that has no other threads), VITCL_DECODE and what begins
 *            with it (see vitcl_image_decode()), VITCL_TRY and
 *            VITCL_TRY_SECONDS (see Trials), OCL_ICD_VENDORS (to say why
 *            there is no device). Drivers' variables that change what their
 *            compilers make are read too, to tell programs on disk apart.
 * Structs    Those of options and infos begin with their size: set it before a
 *            call, and the rest to zero, as {.size = sizeof x} does. Options
 *            that are zero, or NULL for all of them, mean the defaults.
 * Versions   A later library may have more members at a struct's end. What lies
 *            beyond your size has its default, or is not told; what lies beyond
 *            the library's must be zero in options and becomes zero in infos.
 *            So a program that was built against any version from 0.2 on runs
 *            with every later one of the same SONAME. Structs without a size
 *            stay as they are; new status codes, all negative, may come.
 *
 * Example: classify_from_memory
 *     #include <stdio.h>
 *     #include <vitcl.h>
 *
 *     // Prints the three best classes of a picture that is in memory.
 *     int print_best(const char *model_path, const void *bytes, size_t size)
 *     {
 *         vitcl_device *device = NULL;
 *         vitcl_model *model = NULL;
 *         vitcl_session *session = NULL;
 *         vitcl_image image = {0, 0, NULL};
 *         vitcl_class top[3];
 *         int failed = vitcl_device_open(&device, NULL) ||
 *                      vitcl_model_load(&model, device, model_path) ||
 *                      vitcl_session_new(&session, model, NULL) ||
 *                      vitcl_image_decode(&image, bytes, size, "photo") ||
 *                      vitcl_classify(top, 3, session, &image, 1);
 *
 *         for (int i = 0; !failed && i < 3; i++) {
 *             const char *label = vitcl_model_label(model, top[i].label);
 *             printf("%.3f %s\n", top[i].probability, label ? label : "?");
 *         }
 *         if (failed)
 *             fprintf(stderr, "%s\n", vitcl_last_error());
 *         vitcl_image_free(&image);
 *         vitcl_session_free(session);
 *         vitcl_model_free(model);
 *         vitcl_device_free(device);
 *         return failed;
 *     }
 * End
 */
#ifndef VITCL_H
#define VITCL_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* Of this header; vitcl_version() is the library's. */
#define VITCL_VERSION_MAJOR 0
#define VITCL_VERSION_MINOR 2
#define VITCL_VERSION_PATCH 0

#define VITCL_STATUS_MAP(X)                                                    \
    X(OK, 0, "success")                                                        \
    X(EINVAL, -1, "invalid argument")                                          \
    X(ENOMEM, -2, "out of memory")                                             \
    X(EIO, -3, "file cannot be read or written")                               \
    X(ECORRUPT, -4, "file is damaged or hostile")                              \
    X(EUNSUPPORTED, -5, "valid, but not supported by this build or device")    \
    X(ENODEVICE, -6, "no such OpenCL device")                                  \
    X(EDEVICE, -7, "an OpenCL call failed")                                    \
    X(ESTOPPED, -8, "stopped by the caller")
#define X(name, value, text) VITCL_##name = value,
typedef enum { VITCL_STATUS_MAP(X) VITCL_STATUS_END_ = 1 } vitcl_status;
#undef X
/* A status that a compiler warns of when nobody looks at it. */
#ifdef __GNUC__
#define VITCL_STATUS __attribute__((__warn_unused_result__)) vitcl_status
#else
#define VITCL_STATUS vitcl_status
#endif

typedef struct vitcl_device vitcl_device;   /* a device and compiled kernels */
typedef struct vitcl_model vitcl_model;     /* weights; never change */
typedef struct vitcl_session vitcl_session; /* a plan and its activations */
typedef struct vitcl_loader vitcl_loader;   /* decodes pictures ahead */

const char *vitcl_version(void);
const char *vitcl_last_error(void); /* one line; valid until the next failure */
const char *vitcl_status_text(vitcl_status status);

/* Called now and then by the thread that is in a long call; what it returns
 * other than 0 ends that call with VITCL_ESTOPPED. */
typedef int (*vitcl_progress)(void *context, uint64_t done, uint64_t total);

/* ---- devices ---------------------------------------------------------- */

typedef struct {
    size_t size;
    char id[16]; /* "platform:device", for instance "0:0" */
    char name[256], vendor[256], platform[256];
    char driver[256], version[256], opencl_c[256];
    char type[12];   /* "cpu", "gpu", "accelerator", "custom" */
    char gemm[12];   /* provider that a session takes by default */
    char error[160]; /* not empty: the driver failed; the rest may be empty */
    uint32_t compute_units, clock_mhz;
    uint64_t memory_bytes, local_bytes, max_alloc_bytes;
    int fp16, fp64, subgroups, integer_dot, unified_memory;
    uint32_t tuned;    /* entries of the user's that are used (vitcl_tune.h) */
    char warning[256]; /* not empty: what of the user's is ignored, and why */
} vitcl_device_info;

/* The index-th device, from 0; VITCL_ENODEVICE after the last. */
VITCL_STATUS vitcl_device_list(vitcl_device_info *out, uint32_t index);
/* select: "0:1", part of a name, "cpu", "gpu", "any"; NULL: the environment's
 * VITCL_DEVICE, else the first GPU, else the first device. VITCL_ENODEVICE:
 * there is none, or a name fits several. */
VITCL_STATUS vitcl_device_open(vitcl_device **out, const char *select);
VITCL_STATUS vitcl_device_describe(vitcl_device_info *out,
                                   const vitcl_device *device);
void vitcl_device_free(vitcl_device *device);

/* ---- models ----------------------------------------------------------- */

typedef struct {
    size_t size;
    char family[32], name[128];
    uint32_t layers, width, heads, mlp, classes; /* classes 0: no classifier */
    uint32_t height, width_px, patch;            /* trained picture, pixels */
    uint32_t input_height, input_width; /* of pictures, if not said: as trained
                                         * but where the config has another */
    uint32_t tokens;                    /* in a block, with class */
    uint64_t parameters;
    double gmac; /* 1e9 multiply-accumulates a picture */
    uint64_t weights_bytes, activation_bytes; /* on the device, f32 */
} vitcl_model_info;

/* In place of a path: the model that the library carries, a small hybrid ViT
 * for CIFAR-10's ten classes, trained with vitcl_train(). */
#define VITCL_MODEL_BUILTIN "builtin:cifar10"
/* path: a checkpoint's folder, or its weight file with the config beside it.
 * VITCL_EIO: a file is missing; VITCL_ECORRUPT, VITCL_EUNSUPPORTED: what is
 * wrong with it, or of no family that is known here. */
VITCL_STATUS vitcl_model_load(vitcl_model **out, vitcl_device *device,
                              const char *path);
/* A checkpoint in memory: what the files of its folder hold. */
typedef struct {
    size_t size;
    const char *name; /* for messages; NULL: "model" */
    /* All tensors in one: safetensors, .npz or a PyTorch zip file. Not copied:
     * they stay as they are until the model and its sessions are freed. */
    const void *weights;
    size_t weights_bytes;
    const char *config; /* config.json; NULL where .npz weights have none */
    size_t config_bytes;
    const char *preprocessor; /* preprocessor_config.json or, with the picture's
                               * part in it, processor_config.json; or NULL.
                               * Not looked at beside a config of timm's */
    size_t preprocessor_bytes;
} vitcl_model_files;
/* As vitcl_model_load(). An index of shards is VITCL_EUNSUPPORTED. */
VITCL_STATUS vitcl_model_from_memory(vitcl_model **out, vitcl_device *device,
                                     const vitcl_model_files *files);
/* A preset such as "vit-b/16" with random weights; size 0: 224. Its answers
 * mean nothing: for plans, counts and benchmarks. */
VITCL_STATUS vitcl_model_preset(vitcl_model **out, vitcl_device *device,
                                const char *preset, uint32_t size);
/* The index-th preset's name, NULL after the last. */
const char *vitcl_preset_name(uint32_t index);
/* height, width 0: the model's own; batch 0: 1. device may be NULL at loading
 * when nothing but this and its labels is asked of a model. */
VITCL_STATUS vitcl_model_describe(vitcl_model_info *out,
                                  const vitcl_model *model, uint32_t height,
                                  uint32_t width, uint32_t batch);
/* A class's short label and longer name; NULL where the file has none. */
const char *vitcl_model_label(const vitcl_model *model, uint32_t label);
const char *vitcl_model_name(const vitcl_model *model, uint32_t label);
void vitcl_model_free(vitcl_model *model);

/* ---- sessions --------------------------------------------------------- */

typedef enum {
    VITCL_F32, /* default */
    VITCL_BF16,
    VITCL_F16,
    VITCL_HALF, /* whichever of bf16 and f16 this device does faster */
    VITCL_INT8
} vitcl_precision;
/* What this device can do at most: multiplications and additions in registers,
 * 1e9 a second, measured now for some tenths of a second. In f16 where the
 * device has such arithmetic, in bf16 and int8 by dot-product instructions
 * where it multiplies by them (which may be tried for it, see Trials), else in
 * f32. */
VITCL_STATUS vitcl_device_peak(double *gflops, vitcl_device *device,
                               vitcl_precision precision);

typedef struct {
    size_t size;
    uint32_t batch;         /* pictures at a time; 0: 1 */
    uint32_t height, width; /* pixels; 0: the model's own */
    const char *gemm;       /* "clblast", "native", "plain"; NULL: choose. One
                               that does not multiply in this precision is
                               VITCL_EUNSUPPORTED, which says who does */
    vitcl_precision precision;
    const char *const *keep; /* NULL-ended patterns of tensors to keep */
    int profile;             /* measure each step (slower) */
    int once; /* for one run: where a CPU can, weights are read and packed as
                 they are multiplied, not beforehand, and not kept. The same
                 numbers; each run is a little slower */
    /* NULL, or called while vitcl_session_new() prepares kernels and weights
     * (total: steps of that work) and after each batch of vitcl_classify() and
     * vitcl_embed() (total: their pictures). */
    vitcl_progress progress;
    void *progress_context;
} vitcl_session_options;

/* All device memory for `batch` images at a time is claimed here, once;
 * VITCL_ENOMEM says which batch would fit. The first session of a kind on a
 * device compiles kernels, which can take minutes. */
VITCL_STATUS vitcl_session_new(vitcl_session **out, vitcl_model *model,
                               const vitcl_session_options *options);
void vitcl_session_free(vitcl_session *session);
/* From any thread, or a signal handler: the next run of this session that would
 * begin, in a call that goes on or in a later one, fails once with
 * VITCL_ESTOPPED. The device finishes what it has begun. */
void vitcl_session_stop(vitcl_session *session);
const vitcl_model *vitcl_session_model(const vitcl_session *session);
uint32_t vitcl_session_batch(const vitcl_session *session);
uint32_t vitcl_session_classes(const vitcl_session *session);  /* 0: none */
uint32_t vitcl_session_features(const vitcl_session *session); /* 0: none */
void vitcl_session_size(const vitcl_session *session, uint32_t *height,
                        uint32_t *width);

typedef struct {
    uint32_t width, height;
    uint8_t *rgb; /* height * width * 3 bytes, rows from the top */
} vitcl_image;
typedef struct {
    uint32_t label;
    float probability;
} vitcl_class;

/* Decode a picture (upright, 8-bit RGB); `name` is for messages.
 *
 * Pictures are decoded by processes of the program vitcl-decode, which may
 * only read, write and exit: these two start one, and end it; a loader keeps
 * its own, and so does work on data sets of files. No other call starts it. The
 * caller is not forked, and the process is never confused with one of its own,
 * but SIGCHLD comes, and a waitpid(-1) may meet it. The program is looked for
 * as VITCL_DECODE (a path) says, beside the program or library that runs, in
 * ../libexec and ../../libexec from there, and where it was installed; in a
 * set-user-id program there alone.
 * VITCL_DECODE_MEMORY (MiB for all decoders together; a quarter of the
 * machine's), VITCL_DECODE_SECONDS (of processor time a picture; 30) and
 * VITCL_DECODE_PIXELS (millions a picture; 179) limit what a picture costs.
 * VITCL_ECORRUPT: damaged, or too costly; VITCL_EUNSUPPORTED: no format that is
 * known here. */
VITCL_STATUS vitcl_image_decode(vitcl_image *out, const void *bytes,
                                size_t size, const char *name);
VITCL_STATUS vitcl_image_load(vitcl_image *out, const char *path);
/* NULL, or one line to warn of: a decoder of this process had to work without
 * its filter of system calls. */
const char *vitcl_decode_note(void);
typedef enum { /* bytes of a pixel in memory; X: one that is not looked at */
               VITCL_RGB,
               VITCL_BGR,
               VITCL_RGBX,
               VITCL_BGRX,
               VITCL_GREY
} vitcl_layout;
/* A picture of pixels that are decoded already, copied. stride_bytes: from the
 * start of one row to the next, at least the row's own bytes; 0: just those. */
VITCL_STATUS vitcl_image_pixels(vitcl_image *out, const void *pixels,
                                uint32_t width, uint32_t height,
                                size_t stride_bytes, vitcl_layout layout);
/* Resize and crop as the model's preprocessing says; out->rgb is the
 * session's height * width * 3. */
VITCL_STATUS vitcl_image_prepare(vitcl_image *out, const vitcl_session *session,
                                 const vitcl_image *image);
void vitcl_image_free(vitcl_image *image);

/* top[n * k]: the k <= classes best of each of the n images, best first;
 * VITCL_EUNSUPPORTED for a model without a classifier.
 * Images are prepared first; n may be more than the session's batch. An image
 * whose logits are not all finite gets the label UINT32_MAX; the others are
 * answered, and the error says what was wrong with the first such image. */
VITCL_STATUS vitcl_classify(vitcl_class *top, uint32_t k,
                            vitcl_session *session, const vitcl_image *images,
                            uint32_t n);
/* out[n * vitcl_session_features()]: pooled features of each image; an error
 * behind the last where some are not finite. */
VITCL_STATUS vitcl_embed(float *out, vitcl_session *session,
                         const vitcl_image *images, uint32_t n);
/* k <= classes best of the logits with softmax probabilities, best first. */
void vitcl_top(vitcl_class *top, uint32_t k, const float *logits,
               uint32_t classes);

/* One forward pass over n <= batch prepared pictures, rows from the top, 8-bit
 * [n, height, width, 3]; normalised as the model's preprocessing says. */
VITCL_STATUS vitcl_run_rgb(vitcl_session *session, const uint8_t *rgb,
                           uint32_t n);
/* The same from pixel_values, f32 [n, 3, height, width], used as they are. */
VITCL_STATUS vitcl_run_pixels(vitcl_session *session, const float *pixels,
                              uint32_t n);

typedef struct {
    size_t size;
    char name[112];
    uint32_t rank, shape[4]; /* shape[0]: the session's batch */
} vitcl_tensor_info;
/* The index-th tensor that can be read after a run: the model's outputs and
 * what `keep` asked for; VITCL_EINVAL after the last. */
VITCL_STATUS vitcl_session_tensor(vitcl_tensor_info *out,
                                  const vitcl_session *session, uint32_t index);
/* First n pictures' share of a tensor, f32; "logits" and "features" (what the
 * classifier reads) always have an answer where the model has them. count: how
 * many elements there is room for at out; too few are VITCL_EINVAL. An error
 * where the last run failed. */
VITCL_STATUS vitcl_session_read(float *out, size_t count,
                                vitcl_session *session, const char *name,
                                uint32_t n);

/* Whether that tensor is finite for picture `index` of the last run; if not,
 * the error names the weight, or else the tensor, where NaN or infinity begins,
 * for which a run is repeated. */
VITCL_STATUS vitcl_session_check(vitcl_session *session, const char *name,
                                 uint32_t index);

/* ---- looking at the plan ---------------------------------------------- */

typedef struct {
    size_t size;
    char name[112], op[24], kernel[96], shape[64];
    double gflop;          /* in one run */
    double time_ms;        /* of the last run; needs `profile` */
    uint64_t memory_bytes; /* of its outputs */
} vitcl_step_info;
/* The index-th step; VITCL_EINVAL after the last. */
VITCL_STATUS vitcl_session_step(vitcl_step_info *out,
                                const vitcl_session *session, uint32_t index);
typedef struct {
    size_t size;
    uint64_t activation_bytes, weights_bytes, arena_bytes;
    uint64_t kernels_built, buffers_made, lookups; /* by this process so far */
    char gemm[40]; /* who multiplies, most first: "native, clblast" */
    char precision[24];
} vitcl_session_info;
VITCL_STATUS vitcl_session_describe(vitcl_session_info *out,
                                    const vitcl_session *session);

/* ---- pictures ahead of the device ------------------------------------- */

/* Pictures are decoded and prepared for `session` in `workers` processes that
 * may only read, write and exit; 0: one a core. Answers come in the order of
 * the pushes. */
VITCL_STATUS vitcl_loader_new(vitcl_loader **out, const vitcl_session *session,
                              uint32_t workers);
VITCL_STATUS vitcl_loader_push(vitcl_loader *loader, const char *path);
/* A picture file's bytes, copied; name: for messages, NULL: "picture". */
VITCL_STATUS vitcl_loader_push_bytes(vitcl_loader *loader, const void *bytes,
                                     size_t size, const char *name);
/* How many pushed pictures have not been taken yet. */
uint32_t vitcl_loader_pending(const vitcl_loader *loader);
/* Waits for the next picture and copies its height * width * 3 bytes to rgb.
 * A picture that cannot be decoded gives its status; go on with the next. */
VITCL_STATUS vitcl_loader_next(uint8_t *rgb, vitcl_loader *loader);
void vitcl_loader_free(vitcl_loader *loader);

/* ---- other people's formats ------------------------------------------- */

/* Write the checkpoint at `path` as a folder with the names and configs of
 * `to`: "timm" or "hf". dtype: "f32", "f16", "bf16", or NULL to keep the stored
 * one. The same checkpoint gives the same bytes. */
VITCL_STATUS vitcl_convert(const char *folder, const char *path, const char *to,
                           const char *dtype);

/* ---- tensors on disk -------------------------------------------------- */

typedef struct vitcl_tensors vitcl_tensors; /* a safetensors file, read */
typedef struct {
    const char *name;
    uint32_t rank;
    uint64_t shape[8];
} vitcl_shape;
VITCL_STATUS vitcl_tensors_open(vitcl_tensors **out, const char *path);
/* The shape of a tensor; VITCL_EINVAL if the file has none of that name. */
VITCL_STATUS vitcl_tensors_shape(vitcl_shape *out, const vitcl_tensors *t,
                                 const char *name);
/* Any float type as f32; `count` elements must be what the shape says. */
VITCL_STATUS vitcl_tensors_read(float *out, const vitcl_tensors *t,
                                const char *name, uint64_t count);
void vitcl_tensors_free(vitcl_tensors *t);
/* Write n f32 tensors; the file appears whole or not at all. */
VITCL_STATUS vitcl_tensors_write(const char *path, const vitcl_shape *shapes,
                                 const float *const *data, uint32_t n);

/* One f32 tensor [rows, row->shape...] named row->name, written a few rows at
 * a time, as many as come. The file appears at _finish(), whole, or never. A
 * path that ends in .npy gives NumPy's format, any other safetensors. */
typedef struct vitcl_rows vitcl_rows;
VITCL_STATUS vitcl_rows_open(vitcl_rows **out, const char *path,
                             const vitcl_shape *row);
VITCL_STATUS vitcl_rows_add(vitcl_rows *rows, const float *data, uint32_t n);
VITCL_STATUS vitcl_rows_finish(vitcl_rows *rows);
void vitcl_rows_free(vitcl_rows *rows);

/* ---- log -------------------------------------------------------------- */

/* What the library does and decides, a line at a time: device, caches, forms
 * that were tried, taken and left, times, and all that a driver's compiler says
 * of a kernel it refuses. For people: the texts may change. For the whole
 * process, called by any thread, one at a time; it may call nothing of vitcl's.
 * NULL: nobody listens, and none is called any more. */
typedef void (*vitcl_log)(void *context, const char *line);
void vitcl_set_log(vitcl_log log, void *context);

#ifdef __cplusplus
}
#endif
#endif
