/*
 * vitcl.h - Vision Transformers on any OpenCL device.
 *
 * Errors     Functions that can fail return vitcl_status: 0 is success, errors
 *            are negative. vitcl_last_error() gives the calling thread's last
 *            error message.
 * Outputs    are the first parameters and are written only on success.
 * Ownership  The caller owns what it receives through `out` and releases it
 *            with the type's _free(), which accepts NULL. Handles may be freed
 *            in any order. A returned pointer is borrowed from the handle that
 *            was passed.
 * Threads    Devices and models may be shared between threads. A session,
 *            loader or vitcl_rows is for one call at a time: a second one, of
 *            another thread or of a callback, changes nothing and returns
 *            VITCL_EBUSY, and so does changing a dataset that is evaluated.
 *            vitcl_session_stop() and functions that only describe a handle
 *            are always allowed. Running and reading are two calls: if another
 *            thread runs the session between them, there is nothing to read
 *            (VITCL_EINVAL). A tuner is for one thread.
 *            All sessions of a process share what was measured, the log and
 *            CLBlast, which takes one call at a time. Trials and timings of
 *            devices of one kind wait for each other, and so do two threads
 *            that need one program of a device; no others do. A model is
 *            locked while a session is planned. With PoCL, a session's first
 *            run waits, launch by launch, for the other sessions of the
 *            process, which wait for it.
 * fork()     OpenCL drivers do not survive a fork(). In the child of a process
 *            that has opened a device, calls that need a device or a loader
 *            fail; freeing handles is safe and does not affect the parent.
 * Trials     Some drivers' compilers crash on certain instructions. So the
 *            library first tries them in the separate program vitcl-try, never
 *            in the host process: whether a CPU's dot-product instructions
 *            (bf16, f16, int8) work and are faster, and which half precision is
 *            faster. vitcl_session_new(), the vitcl_train*() calls,
 *            vitcl_device_peak() and vitcl_tuner_new() start one process for
 *            each trial that is needed and has no result yet;
 *            vitcl_device_try() and vitcl_candidate_measure() always may.
 *            A trial fails if it crashes, exceeds its time limit
 *            (VITCL_TRY_SECONDS; 60) or computes wrong numbers; multiply-adds
 *            are used instead. The result is stored with the compiled
 *            programs, for each device, driver and version, so later processes
 *            need no trial; with VITCL_CACHE=off every process repeats it. If
 *            vitcl-try is missing or cannot be started, nothing is tried, used
 *            or stored; the log and vitcl_device_form() (vitcl_tune.h) say so.
 *            The program is searched for as vitcl-decode is (see
 *            vitcl_image_decode()), with the variable VITCL_TRY.
 *            It is started without fork(). It inherits the environment, since
 *            its driver must be the same, but no descriptors; its standard
 *            streams are /dev/null, signals are at their defaults, it leaves
 *            no core, and it ends with the host. The host receives SIGCHLD,
 *            and its waitpid(-1) may return this child; a host that ignores
 *            SIGCHLD or reaps the child does no harm. A form that passed is
 *            then compiled in the host process like any other kernel.
 * CLBlast    Using "clblast" (the default on GPUs) sets CLBlast's parameters
 *            of Xgemm and of GemmRoutine in single precision for that device
 *            in the whole process. The host's own use of CLBlast on the device
 *            gets them, too, which may change its speed. Up to CLBlast 1.6.0,
 *            whose cache is not thread-safe, it must not run at the same time
 *            as a session.
 * Process    The library does not change the locale, the umask, signals or the
 *            environment.
 * Variables  that the library reads, unless the program has more rights than
 *            its user (set-user-id):
 *              VITCL_DEVICE        see vitcl_device_open()
 *              VITCL_CACHE=off     do not store compiled programs
 *              XDG_CACHE_HOME, XDG_CONFIG_HOME, or else HOME
 *                                  where programs and tuned parameters are
 *              POCL_WORK_GROUP_SPECIALIZATION=0, POCL_KERNEL_CACHE=0
 *                                  with one of them programs of PoCL are
 *                                  stored, too; else PoCL stores them
 *              VITCL_DOT=off       do not use dot-product instructions
 *              VITCL_MMA           off: do not use a GPU's matrix units;
 *                                  emulate: their kernels on any device, to
 *                                  test them
 *              VITCL_CL_DIR        read kernels from this folder
 *              VITCL_DEVICE_CLASS  cpu or gpu: use the kernels for such
 *                                  devices, to test them
 *              VITCL_BUILD_FORK=1  PoCL may compile in forked processes; only
 *                                  for programs without other threads
 *              VITCL_THREADS       threads for pictures and searches; without
 *                                  it, one for each core that the process may
 *                                  use. A driver has its own variables
 *              VITCL_DECODE, VITCL_DECODE_*   see vitcl_image_decode()
 *              VITCL_TRY, VITCL_TRY_SECONDS   see Trials
 *              OCL_ICD_VENDORS     to explain why there is no device
 *            Drivers' variables that affect compilation are also read; they
 *            are part of a stored program's key.
 * Structs    Options and info structs begin with their size. Set it before the
 *            call and all other members to zero, as {.size = sizeof x} does.
 *            An option that is zero has its default; NULL for the whole struct
 *            means all defaults.
 * Versions   A later library may add members at the end of these structs.
 *            Members beyond your size have their defaults and are not written.
 *            Bytes beyond the library's size must be zero in options and are
 *            set to zero in infos. So a program built against any version from
 *            0.2 on runs with every later one of the same SONAME. Structs
 *            without a size do not change; new negative status codes may be
 *            added.
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
 *             const char *name = vitcl_class_name(model, top[i].label);
 *             if (!name)
 *                 name = vitcl_class_label(model, top[i].label);
 *             printf("%.3f %s\n", top[i].probability, name ? name : "?");
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

/* The header's version; vitcl_version() returns the library's. */
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
    X(ESTOPPED, -8, "stopped by the caller")                                   \
    X(EBUSY, -9, "in use by another call")
#define X(name, value, text) VITCL_##name = value,
typedef enum { VITCL_STATUS_MAP(X) VITCL_STATUS_END_ = 1 } vitcl_status;
#undef X
/* A vitcl_status; the compiler warns if it is ignored. */
#ifdef __GNUC__
#define VITCL_STATUS __attribute__((__warn_unused_result__)) vitcl_status
#else
#define VITCL_STATUS vitcl_status
#endif

typedef struct vitcl_device vitcl_device;   /* a device and compiled kernels */
typedef struct vitcl_model vitcl_model;     /* weights; immutable */
typedef struct vitcl_session vitcl_session; /* a plan and its activations */
typedef struct vitcl_loader vitcl_loader;   /* decodes pictures in advance */

const char *vitcl_version(void);
const char *vitcl_last_error(void); /* one line; valid until the next failure */
const char *vitcl_status_text(vitcl_status status);

/* Called repeatedly during a long call, on the thread that made the call. A
 * return value other than 0 ends the call with VITCL_ESTOPPED. */
typedef int (*vitcl_progress)(void *context, uint64_t done, uint64_t total);

/* ---- devices ---------------------------------------------------------- */

typedef struct {
    size_t size;
    char id[16]; /* "platform:device", for instance "0:0" */
    char name[256], vendor[256], platform[256];
    char driver[256], version[256], opencl_c[256];
    char type[12];   /* "cpu", "gpu", "accelerator", "custom" */
    char gemm[12];   /* a session's default provider */
    char error[160]; /* not empty: the driver failed; the rest may be empty */
    uint32_t compute_units, clock_mhz;
    uint64_t memory_bytes, local_bytes, max_alloc_bytes;
    int fp16, fp64, subgroups, integer_dot, unified_memory;
    uint32_t tuned;    /* the user's tuned entries in use (vitcl_tune.h) */
    char warning[256]; /* not empty: which user entries are ignored, and why */
    char products[64]; /* a GPU: for how many products each provider was the
                        * fastest, "native 4, clblast 2", when it was opened */
    uint32_t timed;    /* products timed since then (vitcl_tune.h) */
} vitcl_device_info;

/* Describes device `index`, from 0; VITCL_ENODEVICE after the last. */
VITCL_STATUS vitcl_device_list(vitcl_device_info *out, uint32_t index);
/* select: "0:1", part of a name, "cpu", "gpu" or "any". NULL: the environment
 * variable VITCL_DEVICE, else the first GPU, else the first device; which is
 * the fastest, vitcl_device_choose() (vitcl_tune.h) finds.
 * VITCL_ENODEVICE: no device matches, or a name matches several. */
VITCL_STATUS vitcl_device_open(vitcl_device **out, const char *select);
VITCL_STATUS vitcl_device_describe(vitcl_device_info *out,
                                   const vitcl_device *device);
/* Called while programs are compiled for a device, which happens once for a
 * device, driver and kind of model: the programs are kept on disk. `done` of
 * `total` are compiled; called before the first, after each or after several
 * that were compiled together, and with done == total after the last. On a
 * thread that compiles, by one at a time. It must not call the library. */
typedef void (*vitcl_compiling)(void *context, uint32_t done, uint32_t total);
/* NULL: nobody watches. Call it before the device is used otherwise. */
VITCL_STATUS vitcl_device_watch(vitcl_device *device, vitcl_compiling compiling,
                                void *context);
/* Writes what the sessions and trainings of this device so far compile: a
 * kernel's source as KERNEL-N.cl, and the compiler's options as
 * KERNEL-N.options, N from 1. The folder is made if it is not there; its files
 * are replaced. */
VITCL_STATUS vitcl_device_save_kernels(vitcl_device *device,
                                       const char *folder);
void vitcl_device_free(vitcl_device *device);

/* ---- models ----------------------------------------------------------- */

typedef struct {
    size_t size;
    char family[32], name[128];
    uint32_t layers, width, heads, mlp, classes; /* classes 0: no classifier */
    uint32_t height, width_px, patch; /* trained picture and patch, in pixels */
    uint32_t input_height, input_width; /* default picture size: the trained one
                                           unless the config gives another */
    uint32_t tokens; /* per picture in a block, with the class token */
    uint64_t parameters;
    double gmac; /* 1e9 multiply-accumulates per picture */
    uint64_t weights_bytes, activation_bytes; /* on the device, as f32 */
    uint64_t tensor_bytes; /* of the largest activation, which needs one
                              buffer */
} vitcl_model_info;

/* Instead of a path: the built-in model, a small hybrid ViT for CIFAR-10's ten
 * classes, trained with vitcl_train(). */
#define VITCL_MODEL_BUILTIN "builtin:cifar10"
/* Loads a checkpoint. path: its folder, or its weight file with the config in
 * the same folder. VITCL_EIO: a file is missing; VITCL_ECORRUPT: a file is
 * damaged; VITCL_EUNSUPPORTED: the model family or a feature is not supported.
 * device may be NULL if the model is only described and its labels are read. */
VITCL_STATUS vitcl_model_load(vitcl_model **out, vitcl_device *device,
                              const char *path);
/* A checkpoint in memory: the contents of its files. */
typedef struct {
    size_t size;
    const char *name; /* for messages; NULL: "model" */
    /* One file with all tensors: safetensors, .npz or a PyTorch zip file. Not
     * copied: the bytes must stay unchanged until the model and its sessions
     * are freed. */
    const void *weights;
    size_t weights_bytes;
    const char *config; /* config.json; NULL: none, for .npz weights */
    size_t config_bytes;
    const char *preprocessor; /* preprocessor_config.json, or
                                 processor_config.json if it has the image part;
                                 may be NULL. Ignored if the config is timm's */
    size_t preprocessor_bytes;
} vitcl_model_files;
/* As vitcl_model_load(). Sharded checkpoints are VITCL_EUNSUPPORTED. */
VITCL_STATUS vitcl_model_load_memory(vitcl_model **out, vitcl_device *device,
                                     const vitcl_model_files *files);
/* A preset such as "vit-b/16" with random weights; size: pixels a side, 0: 224.
 * Each size takes patches of 1 to 64 pixels: "vit-ti/4". Its answers mean
 * nothing: for plans, counts and benchmarks. */
VITCL_STATUS vitcl_model_new(vitcl_model **out, vitcl_device *device,
                             const char *preset, uint32_t size);
/* The name of preset `index`, NULL after the last. */
const char *vitcl_preset_list(uint32_t index);
/* height or width 0: the model's own; batch 0: 1. Also works for a model that
 * was loaded with device NULL. */
VITCL_STATUS vitcl_model_describe(vitcl_model_info *out,
                                  const vitcl_model *model, uint32_t height,
                                  uint32_t width, uint32_t batch);
/* The short label and the longer name of a class; NULL if the file has none. */
const char *vitcl_class_label(const vitcl_model *model, uint32_t label);
const char *vitcl_class_name(const vitcl_model *model, uint32_t label);
/* What a training found with held-out pictures. Logits divided by the
 * temperature have honest probabilities; vitcl_classify() does that, and
 * vitcl_class_choose() does not. Answers with a probability below the threshold
 * should not be relied on. A model that has neither, as published ones: 1 and
 * 0. */
float vitcl_model_temperature(const vitcl_model *model);
float vitcl_model_threshold(const vitcl_model *model);
/* Whether a picture is of the kind that the model was trained with, which the
 * same training found: 1 if it has finer detail than those, -1 if less, 0 if it
 * is like them or the model does not know. rgb: prepared, as for
 * vitcl_session_run_rgb(). Answers to pictures of another kind should not be
 * relied on, whatever their probability. */
int vitcl_session_detail(const vitcl_session *session, const uint8_t *rgb);
/* What a classifier's logits mean: problem_type of Hugging Face. A model of one
 * class has VITCL_ANY_CLASSES, unless it is a regression. */
typedef enum {
    VITCL_ONE_CLASS,   /* one class a picture; softmax */
    VITCL_ANY_CLASSES, /* any number of classes a picture; sigmoid of each */
    VITCL_NUMBERS      /* regression: no probability, the logit is the answer */
} vitcl_answer;
vitcl_answer vitcl_model_answer(const vitcl_model *model);
/* Whose resize the model's pictures get, bit for bit: "pillow", or
 * "torchvision" for its resize of 8-bit tensors, which transformers 5 uses. */
const char *vitcl_model_pixels(const vitcl_model *model);
/* Chooses it against what the model's files say. To be called before the model
 * is used in any other way. */
VITCL_STATUS vitcl_model_set_pixels(vitcl_model *model, const char *library);
/* Two texts of 64 hexadecimal digits: model_id is equal for the same config and
 * weights (of large tensors a part is compared), pictures_id for the same
 * preprocessing and size (0: the model's own). Vectors may be compared if both
 * are equal. */
VITCL_STATUS vitcl_model_identity(char model_id[65], char pictures_id[65],
                                  const vitcl_model *model, uint32_t height,
                                  uint32_t width);
void vitcl_model_free(vitcl_model *model);

/* ---- sessions --------------------------------------------------------- */

typedef enum {
    VITCL_F32, /* default */
    VITCL_BF16,
    VITCL_F16,
    VITCL_HALF, /* the faster of bf16 and f16 on this device */
    VITCL_INT8
} vitcl_precision;
/* Measures the device's peak speed: multiplications plus additions in
 * registers, in 1e9 a second. Takes some tenths of a second. Uses f16
 * arithmetic if the device has it; for bf16 and int8 dot-product instructions
 * if the device uses them (may start a trial, see Trials); else f32. */
VITCL_STATUS vitcl_device_peak(double *gflops, vitcl_device *device,
                               vitcl_precision precision);

/* A tensor of a session. */
typedef struct {
    size_t size;
    char name[112];
    uint32_t rank, shape[4]; /* shape[0]: the session's batch */
} vitcl_tensor_info;
/* A weight by timm's name, such as "patch_embed.proj.weight" or "pos_embed", in
 * the shape that the model's own picture size needs: a patch is one row of 3 *
 * height * width numbers. data: NULL, or room for all its elements, `count`.
 * VITCL_EINVAL: the model has no such weight. */
VITCL_STATUS vitcl_model_weight(vitcl_tensor_info *out, float *data,
                                size_t count, const vitcl_model *model,
                                const char *name);
/* Called during a run, after the step that writes a tensor selected by `watch`:
 * its elements as f32 for the whole batch, valid until the return. Its memory
 * is reused after that, so the attention of a deep model can be looked at one
 * layer at a time. A return value other than 0 ends the run with
 * VITCL_ESTOPPED. */
typedef int (*vitcl_watcher)(void *context, const vitcl_tensor_info *tensor,
                             const float *data);

typedef struct {
    size_t size;
    uint32_t batch;         /* pictures a run; 0: 1 */
    uint32_t height, width; /* pixels, multiples of the patch; 0: the model's
                               own */
    const char *gemm; /* "clblast", "native", "plain"; NULL: automatic. One that
                         does not support the precision is VITCL_EUNSUPPORTED;
                         the message names those that do */
    vitcl_precision precision;
    const char *const *keep; /* NULL-ended patterns of tensors to keep */
    int profile;             /* time each step (slower) */
    int once; /* for one run: if a CPU supports it, weights are read and packed
                 during each multiplication and not kept. Same results, each run
                 slightly slower */
    /* NULL, or called during vitcl_session_new() (total: steps of preparation)
     * and after each batch of vitcl_classify() and vitcl_embed() (total:
     * pictures). */
    vitcl_progress progress;
    void *progress_context;
    const char *const *watch; /* NULL-ended patterns of tensors to show to
                                 `watcher` */
    vitcl_watcher watcher;
    void *watcher_context;
    int gradients; /* for vitcl_session_run_gradient(): activations are kept for
                      it, and multiplications are those of training, whose
                      results may differ in the last bits. VITCL_EUNSUPPORTED: a
                      model without classes, or that cannot be trained */
} vitcl_session_options;

/* Allocates all device memory for `batch` pictures, once; if it does not fit,
 * VITCL_ENOMEM and the message gives a batch that would. The first session of a
 * kind on a device compiles kernels, which can take minutes; another batch
 * needs no others. See vitcl_device_watch(). */
VITCL_STATUS vitcl_session_new(vitcl_session **out, vitcl_model *model,
                               const vitcl_session_options *options);
void vitcl_session_free(vitcl_session *session);
/* May be called from any thread or a signal handler. The next run of this
 * session that would start, in a current or a later call, fails once with
 * VITCL_ESTOPPED. A run that has started finishes. */
void vitcl_session_stop(vitcl_session *session);
const vitcl_model *vitcl_session_model(const vitcl_session *session);
uint32_t vitcl_session_batch(const vitcl_session *session);
uint32_t vitcl_session_classes(const vitcl_session *session);  /* 0: none */
uint32_t vitcl_session_features(const vitcl_session *session); /* 0: none */
void vitcl_session_size(uint32_t *height, uint32_t *width,
                        const vitcl_session *session);

typedef struct {
    uint32_t width, height;
    uint8_t *rgb; /* height * width * 3 bytes, rows from the top */
} vitcl_image;
typedef struct {
    uint32_t label;
    float probability; /* with VITCL_NUMBERS: the number */
} vitcl_class;

/* Decodes a picture to 8-bit RGB, upright; `name` is for messages.
 *
 * Pictures are decoded in processes of the program vitcl-decode, which may only
 * read, write and exit; WebP, GIF, TIFF, AVIF, HEIC and RAW in those of
 * vitcl-decode-all, which may also start threads of its own. These two calls
 * start one and end it; a loader and calls on datasets of files keep their own.
 * No other call starts one. The host is not forked and the library waits only
 * for its own child, but the host receives SIGCHLD, and its waitpid(-1) may
 * return this child.
 * The programs are searched for at VITCL_DECODE and VITCL_DECODE_ALL (paths),
 * next to the running program or library, in ../libexec and ../../libexec from
 * there, and where they were installed; in a set-user-id program only at the
 * last.
 * Limits: VITCL_DECODE_MEMORY (MiB for all decoders together; a quarter of the
 * machine's memory), VITCL_DECODE_SECONDS (processor time a picture; 30) and
 * VITCL_DECODE_PIXELS (millions a picture; 179).
 * VITCL_ECORRUPT: damaged, or over a limit; VITCL_EUNSUPPORTED: unknown format.
 */
VITCL_STATUS vitcl_image_decode(vitcl_image *out, const void *bytes,
                                size_t size, const char *name);
VITCL_STATUS vitcl_image_load(vitcl_image *out, const char *path);
/* NULL, or a one-line warning about what this process has decoded: without the
 * filter of system calls, by a decoder whose pixels are not quite Pillow's, or
 * grey of more than 8 bits that became white. Valid until the thread's next
 * call. */
const char *vitcl_image_note(void);
typedef enum { /* order of a pixel's bytes in memory; X: ignored */
               VITCL_RGB,
               VITCL_BGR,
               VITCL_RGBX,
               VITCL_BGRX,
               VITCL_GREY
} vitcl_layout;
/* Makes a picture from decoded pixels, which are copied. stride_bytes: from the
 * start of one row to the next, at least a row's size; 0: exactly that. */
VITCL_STATUS vitcl_image_new(vitcl_image *out, const void *pixels,
                             uint32_t width, uint32_t height,
                             size_t stride_bytes, vitcl_layout layout);
/* Resizes and crops as the model's preprocessing says; out is the session's
 * height x width. */
VITCL_STATUS vitcl_image_prepare(vitcl_image *out, const vitcl_session *session,
                                 const vitcl_image *image);
void vitcl_image_free(vitcl_image *image);

/* top[n * k]: the k best classes of each of n images, best first; k <= classes.
 * VITCL_EUNSUPPORTED for a model without a classifier. Images are prepared
 * first; n may exceed the session's batch. An image whose logits are not all
 * finite gets the label UINT32_MAX; the other images are answered, and the call
 * returns an error that explains the first such image. */
VITCL_STATUS vitcl_classify(vitcl_class *top, uint32_t k,
                            vitcl_session *session, const vitcl_image *images,
                            uint32_t n);
/* out[n * vitcl_session_features()]: pooled features of each image. If some are
 * not finite, all images are still written and the call returns an error. */
VITCL_STATUS vitcl_embed(float *out, vitcl_session *session,
                         const vitcl_image *images, uint32_t n);
/* Chooses the k best of logits[classes], best first, with the probabilities
 * that `answer` says: vitcl_model_answer(). k <= classes. */
void vitcl_class_choose(vitcl_class *top, uint32_t k, const float *logits,
                        uint32_t classes, vitcl_answer answer);

/* One forward pass over n <= batch prepared pictures: 8-bit [n, height, width,
 * 3], top row first; normalised as the model's preprocessing says. */
VITCL_STATUS vitcl_session_run_rgb(vitcl_session *session, const uint8_t *rgb,
                                   uint32_t n);
/* The same from pixel_values, f32 [n, 3, height, width], used unchanged. */
VITCL_STATUS vitcl_session_run_pixels(vitcl_session *session,
                                      const float *pixels, uint32_t n);

/* vitcl_session_run_rgb() in two parts, so that a GPU receives the next
 * pictures while it computes: send a batch, run it, send the next one, read the
 * answers, run that one. rgb must not change until vitcl_session_run_sent() has
 * returned. On GPUs it returns when the device has its work; reading the
 * answers waits, and returns an error of the run. On CPUs, where `overlaps` of
 * vitcl_session_info is 0, nothing is sent in advance and
 * vitcl_session_run_sent() does all the work. */
VITCL_STATUS vitcl_session_send_rgb(vitcl_session *session, const uint8_t *rgb,
                                    uint32_t n);
/* Runs what was sent last; VITCL_EINVAL if there is nothing. */
VITCL_STATUS vitcl_session_run_sent(vitcl_session *session);

/* Many batches, each of which is sent while the one before is computed. */
typedef struct {
    const uint8_t *rgb; /* as for vitcl_session_run_rgb() */
    uint32_t n;         /* its pictures; 0: there is nothing to compute */
    float *out;         /* receives their numbers */
    void *own;          /* the caller's; NULL: there is no batch */
} vitcl_batch;
/* Fills in the next batch, whose rgb must not change until the next call. If
 * wait is 0 and the next batch is not at hand, it leaves own NULL and is asked
 * again with wait 1; NULL is then the end. */
typedef vitcl_status (*vitcl_source)(void *context, vitcl_batch *batch,
                                     int wait);
/* Takes the answers of a batch, in the order of the batches. It may call
 * vitcl_session_check() about them. */
typedef vitcl_status (*vitcl_sink)(void *context, const vitcl_batch *batch);
/* Runs all batches and reads the tensor `name`, of `each` numbers a picture,
 * as vitcl_session_read() does. On GPUs a batch is asked for and sent while the
 * one before is computed, which is taken while this one is; on CPUs they come
 * one by one. The first error, also of next or take, ends it and is returned.
 */
VITCL_STATUS vitcl_session_run_batches(vitcl_session *session, const char *name,
                                       size_t each, vitcl_source next,
                                       vitcl_sink take, void *context);

/* After a run of n pictures, a backward pass from one class' logit for each,
 * for sessions with the option gradients. During it the watcher sees
 * "relevance.<i>" for each layer i, from the last to the first: attention's
 * probabilities times the logit's gradient in them, [batch, heads, tokens,
 * tokens], if `watch` selects them. */
VITCL_STATUS vitcl_session_run_gradient(vitcl_session *session,
                                        const uint32_t *labels, uint32_t n);
/* Describes tensor `index` of those that can be read after a run: the model's
 * outputs and the tensors selected by `keep`; VITCL_EINVAL after the last. */
VITCL_STATUS vitcl_session_tensor(vitcl_tensor_info *out,
                                  const vitcl_session *session, uint32_t index);
/* Reads the first n pictures' part of a tensor as f32. "logits" and "features"
 * (the classifier's input) always work if the model has them. count: elements
 * that fit in out; VITCL_EINVAL if too few. An error if the last run failed. */
VITCL_STATUS vitcl_session_read(float *out, size_t count,
                                vitcl_session *session, const char *name,
                                uint32_t n);

/* Checks that a tensor is finite for picture `index` of the last run. If it is
 * not, the error names the first weight, or else the first tensor, with NaN or
 * infinity; finding it repeats the run. */
VITCL_STATUS vitcl_session_check(vitcl_session *session, const char *name,
                                 uint32_t index);

/* ---- looking at the plan ---------------------------------------------- */

typedef struct {
    size_t size;
    char name[112], op[24], kernel[96], shape[64];
    double gflop;          /* a run */
    double time_ms;        /* in the last run; needs `profile` */
    uint64_t memory_bytes; /* of its outputs */
} vitcl_step_info;
/* Describes step `index`; VITCL_EINVAL after the last. */
VITCL_STATUS vitcl_session_step(vitcl_step_info *out,
                                const vitcl_session *session, uint32_t index);
typedef struct {
    size_t size;
    uint64_t activation_bytes, weights_bytes, arena_bytes;
    uint64_t kernels_built, buffers_made, lookups; /* in this process so far */
    char gemm[40]; /* providers in use, most used first: "native, clblast" */
    char precision[24];
    uint32_t
        launches; /* of kernels in a run; a call of CLBlast counts as one */
    uint32_t overlaps; /* 1: pictures are sent during a run,
                          vitcl_session_send_rgb() */
} vitcl_session_info;
VITCL_STATUS vitcl_session_describe(vitcl_session_info *out,
                                    const vitcl_session *session);

/* ---- pictures in advance ---------------------------------------------- */

/* Decodes and prepares pictures for `session` in `workers` processes that may
 * only read, write and exit; workers 0: one a core. Results come in the order
 * of the pushes. */
VITCL_STATUS vitcl_loader_new(vitcl_loader **out, const vitcl_session *session,
                              uint32_t workers);
/* The loader also makes a thumbnail of each picture: the whole picture, with at
 * most `side` (1 to 1024) pixels on its longer side. session NULL: only
 * thumbnails, and vitcl_loader_next() takes NULL. */
VITCL_STATUS vitcl_loader_new_thumbnails(vitcl_loader **out,
                                         const vitcl_session *session,
                                         uint32_t workers, uint32_t side);
VITCL_STATUS vitcl_loader_push(vitcl_loader *loader, const char *path);
/* Pushes a picture file's bytes, which are copied; name: for messages, NULL:
 * "picture". */
VITCL_STATUS vitcl_loader_push_bytes(vitcl_loader *loader, const void *bytes,
                                     size_t size, const char *name);
/* The number of pushed pictures that have not been taken yet. */
uint32_t vitcl_loader_pending(const vitcl_loader *loader);
/* Waits for the next picture and copies its height * width * 3 bytes to rgb. If
 * it cannot be decoded, returns that error; the next call continues with the
 * next picture. */
VITCL_STATUS vitcl_loader_next(uint8_t *rgb, vitcl_loader *loader);
/* Size and time of change (ns since 1970) of the file that vitcl_loader_next()
 * has just returned, as they were when it was opened: what its path names may
 * have been replaced since. VITCL_EINVAL if it was not read from a file. */
VITCL_STATUS vitcl_loader_stamp(int64_t *size, int64_t *changed_ns,
                                const vitcl_loader *loader);
/* The thumbnail of the picture that vitcl_loader_next() has just returned; to
 * be freed by vitcl_image_free(). */
VITCL_STATUS vitcl_loader_thumbnail(vitcl_image *out,
                                    const vitcl_loader *loader);
void vitcl_loader_free(vitcl_loader *loader);

/* ---- other people's formats ------------------------------------------- */

/* Writes the checkpoint at `path` to a folder with the names and configs of
 * `to`: "timm" or "hf". dtype: "f32", "f16", "bf16", or NULL for the stored
 * one. The same checkpoint always gives the same bytes. VITCL_EUNSUPPORTED: the
 * other library cannot express the model; nothing is written. */
VITCL_STATUS vitcl_convert(const char *folder, const char *path, const char *to,
                           const char *dtype);

/* ---- tensors on disk -------------------------------------------------- */

typedef struct vitcl_tensors vitcl_tensors; /* an open safetensors file */
typedef struct {
    const char *name;
    uint32_t rank;
    uint64_t shape[8];
} vitcl_shape;
VITCL_STATUS vitcl_tensors_open(vitcl_tensors **out, const char *path);
/* The shape of a tensor; VITCL_EINVAL if the file has no such tensor. */
VITCL_STATUS vitcl_tensors_shape(vitcl_shape *out, const vitcl_tensors *t,
                                 const char *name);
/* Reads any float type as f32; `count` must be the tensor's number of elements.
 */
VITCL_STATUS vitcl_tensors_read(float *out, const vitcl_tensors *t,
                                const char *name, uint64_t count);
void vitcl_tensors_free(vitcl_tensors *t);
/* Writes n f32 tensors. The file is complete or does not appear at all. */
VITCL_STATUS vitcl_tensors_write(const char *path, const vitcl_shape *shapes,
                                 const float *const *data, uint32_t n);

/* Writes one f32 tensor [rows, row->shape...] named row->name, a few rows at a
 * time; their number need not be known. The file appears at _finish(),
 * complete, or never. If the path ends in .npy the format is NumPy's, else
 * safetensors. After _finish() or an error there is nothing left to do but
 * _free(), or after an error _keep(): the others return VITCL_EINVAL.
 *
 * _keep() is called instead of _finish(), or after its error or that of _add(),
 * as on a full disk: the whole rows so far get the first of the names
 * x.partial.npy, x.partial2.npy .. that no file has, for a path x.npy. It
 * writes the name to name[size] and their number to *count. 0: no file. */
typedef struct vitcl_rows vitcl_rows;
VITCL_STATUS vitcl_rows_open(vitcl_rows **out, const char *path,
                             const vitcl_shape *row);
VITCL_STATUS vitcl_rows_add(vitcl_rows *rows, const float *data, uint32_t n);
VITCL_STATUS vitcl_rows_finish(vitcl_rows *rows);
VITCL_STATUS vitcl_rows_keep(char *name, size_t size, uint64_t *count,
                             vitcl_rows *rows);
void vitcl_rows_free(vitcl_rows *rows);

/* ---- log -------------------------------------------------------------- */

/* Reports what the library does and decides, one line a call: device, caches,
 * forms that were tried, used and rejected, times, and a driver's compiler
 * output for a kernel that it rejects. For people: the texts may change. One
 * callback for the process, called from any thread, one call at a time; it must
 * not call vitcl. NULL: no callback; after the call returns, the old one is not
 * called any more. */
typedef void (*vitcl_log)(void *context, const char *line);
void vitcl_log_set(vitcl_log log, void *context);

#ifdef __cplusplus
}
#endif
#endif
