/*
 * vitcl.h - classify pictures with Vision Transformers on any OpenCL device.
 *
 * Five calls name what a picture shows. Save this as name.c and compile it:
 *     cc name.c -o name $(pkg-config --cflags --libs vitcl)
 *
 * Example: name_picture
 *     #include <stdio.h>
 *     #include <vitcl.h>
 *
 *     int main(int argc, char **argv) // ./name photo.jpg
 *     {
 *         vitcl_device *device = NULL;
 *         vitcl_model *model = NULL;
 *         vitcl_session *session = NULL;
 *         vitcl_image image = {0, 0, NULL};
 *         vitcl_class best; // the class's number, and its probability
 *         int failed =      // NULL: a GPU if there is one; default options
 *             vitcl_device_open(&device, NULL) ||
 *             vitcl_model_load(&model, device, "builtin:cifar10") || // or PATH
 *             vitcl_session_new(&session, model, NULL) ||
 *             vitcl_image_load(&image, argc > 1 ? argv[1] : "photo.jpg") ||
 *             vitcl_classify(&best, 1, session, &image, 1);
 *
 *         if (failed) {
 *             fprintf(stderr, "%s\n", vitcl_last_error());
 *         } else {
 *             const char *name = vitcl_class_name(model, best.label);
 *             if (!name) // the file has no long name, or no name at all
 *                 name = vitcl_class_label(model, best.label);
 *             printf("%s %.3f\n", name ? name : "?", best.probability);
 *         }
 *         vitcl_image_free(&image); // each accepts what was never made
 *         vitcl_session_free(session);
 *         vitcl_model_free(model);
 *         vitcl_device_free(device);
 *         return failed;
 *     }
 * End
 *
 * The contract of all functions:
 *
 * Errors     A function that can fail returns a vitcl_status: 0 is success,
 *            errors are negative. vitcl_last_error() has the message. An
 *            argument that is NULL, or out of range, is VITCL_EINVAL unless
 *            stated otherwise.
 * Outputs    are the first parameters. They are written only on success, unless
 *            stated otherwise.
 * Ownership  What a function gives through `out` is the caller's, who frees it
 *            with the _free() of its type, which accepts NULL. Handles may be
 *            freed in any order. A pointer that is returned belongs to the
 *            handle that was passed, and is valid as long as that handle. The
 *            library keeps callbacks with their contexts, and no other pointer
 *            that it is given, unless stated otherwise.
 * Threads    Threads may share devices and models. A session, a loader or a
 *            vitcl_rows takes one call at a time: a second one, from another
 *            thread or from a callback, changes nothing and returns
 *            VITCL_EBUSY. A call that would change a dataset while it is
 *            evaluated does so, too. vitcl_session_stop(), and functions that
 *            only describe a handle, are always allowed. Running a session and
 *            reading from it are two calls: threads that share a session need
 *            one lock around both. Without it, a read may give the answers of
 *            another thread's run, although most such reads are noticed and
 *            return VITCL_EINVAL. See "Shared state" in vitcl_device.h.
 * fork()     OpenCL drivers do not survive it. In a child of a process that
 *            has opened a device, calls that need a device or a loader fail.
 *            Handles can be freed there, which does not affect the parent.
 * Structs    Options and infos begin with their size. Set it before the call,
 *            and all other members to zero, as {.size = sizeof x} does. An
 *            option that is zero has its default. NULL for a whole struct of
 *            options means all defaults.
 * Versions   A later library may add members at the end of these structs.
 *            Members beyond your size have their defaults and are not written.
 *            Bytes beyond the library's size must be zero in options and are
 *            set to zero in infos. So a program that was built with any
 *            version from 0.3 on runs with every later one of the same SONAME.
 *            Structs without a size do not change. New negative status codes
 *            may be added.
 * Process    The library does not print, end the process, or change its
 *            locale, umask, signals or environment. It starts processes to
 *            decode pictures (vitcl_image_decode()) and to try instructions
 *            ("Trials" in vitcl_device.h), and reads the environment variables
 *            that are listed there.
 *
 * Pixels are 8-bit RGB, rows from the top, without gaps between rows, unless
 * another layout is named. Texts are UTF-8 and end in NUL.
 */
#ifndef VITCL_H
#define VITCL_H
#include "vitcl_device.h"
#ifdef __cplusplus
extern "C" {
#endif

/* The header's version; vitcl_version() returns the library's. */
#define VITCL_VERSION_MAJOR 0
#define VITCL_VERSION_MINOR 3
#define VITCL_VERSION_PATCH 0

/* ---- models ----------------------------------------------------------- */

/* Instead of a path: the built-in model, a small hybrid ViT for CIFAR-10's ten
 * classes, trained with vitcl_train(). */
#define VITCL_MODEL_BUILTIN "builtin:cifar10"
/* Loads a checkpoint. path: its folder, or its weight file with the config in
 * the same folder, or a name for vitcl_model_find(). device may be NULL for a
 * model that is only described and whose classes are read. VITCL_EIO: a file is
 * missing; VITCL_ECORRUPT: a file is damaged; VITCL_EUNSUPPORTED: the family or
 * a feature of the model is not supported. */
VITCL_STATUS vitcl_model_load(vitcl_model **out, vitcl_device *device,
                              const char *path);
/* Finds a checkpoint on this machine: out receives its path, with the final NUL
 * at most `size` bytes; 4096 are enough. name: a path or VITCL_MODEL_BUILTIN,
 * which stay as they are; or a model in the cache of Hugging Face:
 * OWNER/NAME[@REVISION], also behind "hf-hub:" or "https://huggingface.co/"; or
 * as people write it: vit_base_patch16_224 (timm's default tag), ViT-B-32
 * (OpenCLIP's), ViT-B/32 (OpenAI's). Nothing is downloaded. VITCL_EIO: it is
 * not there; the message says how to get it. */
VITCL_STATUS vitcl_model_find(char *out, size_t size, const char *name);
/* A checkpoint in memory: the contents of its files. */
typedef struct {
    size_t size;
    const char *name; /* for messages; NULL: "model" */
    /* One file with all tensors: safetensors, .npz or a PyTorch zip file. It is
     * not copied: the bytes must stay unchanged until the model and its
     * sessions are freed. */
    const void *weights;
    size_t weights_bytes;
    const char *config; /* config.json; NULL: none, for .npz weights */
    size_t config_bytes;
    const char *preprocessor; /* preprocessor_config.json, or
                                 processor_config.json if it has the image part;
                                 may be NULL. Ignored if the config is timm's */
    size_t preprocessor_bytes;
} vitcl_model_files;
/* Loads a checkpoint from memory, as vitcl_model_load() does from files.
 * VITCL_EUNSUPPORTED: also for a checkpoint of several weight files. */
VITCL_STATUS vitcl_model_load_memory(vitcl_model **out, vitcl_device *device,
                                     const vitcl_model_files *files);
/* Makes a model of a preset such as "vit-b/16" with random weights, whose
 * answers mean nothing: for plans, counts and benchmarks. size: pixels a side;
 * 0: 224. A preset takes patches of 1 to 64 pixels: "vit-ti/4". VITCL_EINVAL:
 * the preset is unknown. */
VITCL_STATUS vitcl_model_new(vitcl_model **out, vitcl_device *device,
                             const char *preset, uint32_t size);
void vitcl_model_free(vitcl_model *model);

typedef struct {
    size_t size;
    char family[32], name[128];
    uint32_t layers, width, heads, mlp, classes; /* classes 0: no classifier */
    uint32_t trained_height, trained_width, patch; /* in pixels */
    uint32_t input_height, input_width; /* default picture size: the trained one
                                           unless the config gives another */
    uint32_t tokens; /* per picture in a block, with the class token */
    uint64_t parameters;
    double gmac; /* 1e9 multiply-accumulates per picture */
    uint64_t weights_bytes, activation_bytes; /* on the device, as f32 */
    uint64_t tensor_bytes;  /* of the largest activation, which needs one
                              buffer */
    uint32_t rows, columns; /* of the grid of patches, whose tokens are the last
                               in a block, row by row; 0: there are no tokens */
    uint32_t read_first, read_count; /* the tokens that the head reads: the
                                        class token, or else those that it
                                        pools; count 0: there are no tokens */
    uint32_t
        channels; /* that it reads: 3, or 1, which is red's in RGB pixels */
    int on_white; /* it puts transparent pictures on white */
} vitcl_model_info;
/* Describes the model for pictures of height x width pixels (0: its own) in a
 * batch (0: 1). */
VITCL_STATUS vitcl_model_describe(vitcl_model_info *out,
                                  const vitcl_model *model, uint32_t height,
                                  uint32_t width, uint32_t batch);
/* What a classifier's logits mean: problem_type of Hugging Face. A model of one
 * class has VITCL_ANY_CLASSES, unless it is a regression. */
typedef enum {
    VITCL_ONE_CLASS,   /* one class per picture; softmax */
    VITCL_ANY_CLASSES, /* any number of classes per picture; sigmoid of each */
    VITCL_NUMBERS      /* regression: no probability, the logit is the answer */
} vitcl_answer;
vitcl_answer vitcl_model_answer(const vitcl_model *model);
/* What training found with held-out pictures. Logits divided by the temperature
 * give calibrated probabilities: vitcl_classify() does that, and
 * vitcl_class_choose() does not. Answers with a probability below the threshold
 * should not be relied on. A model that has neither, such as a published one: 1
 * and 0. */
float vitcl_model_temperature(const vitcl_model *model);
float vitcl_model_threshold(const vitcl_model *model);

/* A tensor of a session or a model. */
typedef struct {
    size_t size;
    char name[112];
    uint32_t rank, shape[4]; /* of a session: shape[0] is its batch */
} vitcl_tensor_info;

/* ---- classes ---------------------------------------------------------- */

typedef struct {
    uint32_t label;    /* the class's number, from 0 */
    float probability; /* with VITCL_NUMBERS: the number */
} vitcl_class;

/* The long and the short text for a class, such as "tench, Tinca tinca" and
 * "n01440764". A file may have both, one or none: NULL. */
const char *vitcl_class_name(const vitcl_model *model, uint32_t label);
const char *vitcl_class_label(const vitcl_model *model, uint32_t label);
/* Chooses the k best of logits[classes], best first, with the probabilities
 * that `answer` says: vitcl_model_answer(). Nothing is written if k is 0 or
 * more than classes. */
void vitcl_class_choose(vitcl_class *top, uint32_t k, const float *logits,
                        uint32_t classes, vitcl_answer answer);

/* ---- pictures --------------------------------------------------------- */

typedef struct {
    uint32_t width, height;
    uint8_t *rgb; /* [height, width, 3] */
} vitcl_image;

/* Decodes a picture to upright RGB: from a file, or from bytes in memory with a
 * name for messages. VITCL_EIO: no such file; VITCL_ECORRUPT: damaged, or over
 * a limit; VITCL_EUNSUPPORTED: unknown format.
 *
 * Pictures are decoded in processes of the program vitcl-decode, which may only
 * read, write and exit; WebP, GIF, TIFF, AVIF, HEIC and RAW in those of
 * vitcl-decode-all, which may also start threads of its own. These two calls
 * start one and end it. A loader, and calls on datasets of files, keep their
 * own. No other call starts one. The host is not forked. The library waits only
 * for its own child, but the host receives SIGCHLD, and its waitpid(-1) may
 * return this child.
 * The programs are searched for at VITCL_DECODE and VITCL_DECODE_ALL (paths),
 * next to the running program or library, in ../libexec and ../../libexec from
 * there, and where they were installed; in a set-user-id program only at the
 * last of these.
 * Limits: VITCL_DECODE_MEMORY (MiB for all decoders together; a quarter of the
 * machine's memory), VITCL_DECODE_SECONDS (processor time per picture; 30) and
 * VITCL_DECODE_PIXELS (millions per picture; 179).
 * Both drop opacity, since they do not know the model. Some models (CLIP,
 * SigLIP, DINOv2) put transparent pictures on white instead:
 * vitcl_model_image() does that, a loader for its session, and the program
 * vitcl. Folders of open_clip resize a picture in the mode of its file: only a
 * loader does that. */
VITCL_STATUS vitcl_image_load(vitcl_image *out, const char *path);
VITCL_STATUS vitcl_image_decode(vitcl_image *out, const void *bytes,
                                size_t size, const char *name);
/* The same for a model: transparent pictures are put on white if it does that.
 * bytes NULL: from the file `name`. */
VITCL_STATUS vitcl_model_image(vitcl_image *out, const vitcl_model *model,
                               const void *bytes, size_t size,
                               const char *name);
/* NULL, or a one-line warning about what this process has decoded: without the
 * filter of system calls; with a decoder whose pixels are not quite Pillow's;
 * or grey of more than 8 bits that became white. Valid until the thread's next
 * call. */
const char *vitcl_image_note(void);
typedef enum { /* order of a pixel's bytes in memory; X: ignored; A: opacity,
                * and the picture is put on white (vitcl_model_info) */
               VITCL_RGB,
               VITCL_BGR,
               VITCL_RGBX,
               VITCL_BGRX,
               VITCL_GREY,
               VITCL_RGBA,
               VITCL_BGRA
} vitcl_layout;
/* Makes a picture from decoded pixels, which are copied. stride_bytes: from the
 * start of one row to the next, at least a row's size; 0: exactly that. */
VITCL_STATUS vitcl_image_new(vitcl_image *out, const void *pixels,
                             uint32_t width, uint32_t height,
                             size_t stride_bytes, vitcl_layout layout);
/* Resizes and crops a picture as the model's preprocessing says, to the
 * session's height x width. */
VITCL_STATUS vitcl_image_prepare(vitcl_image *out, const vitcl_session *session,
                                 const vitcl_image *image);
/* Frees the pixels, but not the struct. */
void vitcl_image_free(vitcl_image *image);

/* ---- sessions --------------------------------------------------------- */

/* Called during a run, after the step that writes a tensor that `watch`
 * selects: its elements as f32 for the whole batch, valid until the return. Its
 * memory is reused after that, so the attention of a deep model can be looked
 * at one layer at a time. A return value other than 0 ends the run with
 * VITCL_ESTOPPED. */
typedef int (*vitcl_watcher)(void *context, const vitcl_tensor_info *tensor,
                             const float *data);

typedef struct {
    size_t size;
    uint32_t batch;         /* pictures a run; 0: 1 */
    uint32_t height, width; /* pixels, multiples of the patch; 0: the model's
                               own, with NaFlex each picture's: then no tensor
                               can be kept or watched */
    const char *gemm; /* "clblast", "native", "plain"; NULL: automatic. One that
                         does not support the precision is VITCL_EUNSUPPORTED;
                         the message names those that do */
    vitcl_precision precision;
    const char *const *keep; /* NULL-ended patterns of tensors to keep */
    int once; /* meant for one run: if a CPU supports it, weights are read and
                 packed during each multiplication and not kept. Same results,
                 each run slightly slower */
    /* NULL, or called during vitcl_session_new() (total: steps of preparation)
     * and after each batch of vitcl_classify() and vitcl_embed() (total:
     * pictures); vitcl_pictures has one for a call. */
    vitcl_progress progress;
    void *progress_context;
    const char *const *watch; /* NULL-ended patterns of tensors to show to
                                 `watcher` */
    vitcl_watcher watcher;
    void *watcher_context;
    int profile, gradients; /* 0: only the program vitcl can read the results */
    int any_batch; /* a picture's answer has the same bits in sessions of any
                      batch. Without it that does not hold in f16 and bf16 on
                      NVIDIA's sm_90, where other, faster instructions multiply
                      large batches; everywhere else it changes nothing */
} vitcl_session_options;

/* Plans a model for batches of pictures of one size, and allocates all device
 * memory, once. The first session of a kind on a device compiles kernels, which
 * can take minutes (vitcl_device_watch()); another batch size needs no other
 * kernels. VITCL_ENOMEM: it does not fit; the message gives a batch that
 * would. */
VITCL_STATUS vitcl_session_new(vitcl_session **out, vitcl_model *model,
                               const vitcl_session_options *options);
void vitcl_session_free(vitcl_session *session);
/* The next run of this session that would start, in a current or a later call,
 * fails once with VITCL_ESTOPPED. A run that has started finishes. May be
 * called from any thread, and from a signal handler. */
void vitcl_session_stop(vitcl_session *session);
/* Classes, and numbers of a feature vector; 0: none. */
uint32_t vitcl_session_classes(const vitcl_session *session);
uint32_t vitcl_session_features(const vitcl_session *session);
/* The size of prepared pictures, in pixels; either may be NULL. With NaFlex and
 * no size chosen, each picture has its own; then this is the size of a buffer
 * that holds any of them, as vitcl_image_prepare() and vitcl_loader_next() fill
 * it. */
void vitcl_session_size(uint32_t *height, uint32_t *width,
                        const vitcl_session *session);

/* ---- answers about pictures ------------------------------------------- */

/* Classifies n images: top[n * k] receives the k best classes of each, best
 * first; k <= classes. Images of any size are prepared first, and n may exceed
 * the session's batch. VITCL_EUNSUPPORTED: the model has no classifier. An
 * image whose logits are not all finite gets the label UINT32_MAX; the others
 * are answered, and the call returns an error that explains the first such
 * image. After any other error, the first images may have been answered. */
VITCL_STATUS vitcl_classify(vitcl_class *top, uint32_t k,
                            vitcl_session *session, const vitcl_image *images,
                            uint32_t n);
/* Computes a vector for each of n images, the pooled features: out[n *
 * vitcl_session_features()]. If some are not finite, all images are still
 * written, and the call returns an error. After any other error, the first
 * images may have been written. */
VITCL_STATUS vitcl_embed(float *out, vitcl_session *session,
                         const vitcl_image *images, uint32_t n);
/* Pictures that one call answers, in any number: one of images, rgb and values,
 * and NULL for the other two. */
typedef struct {
    size_t size;
    uint32_t n;
    const vitcl_image *images; /* of any size; they are prepared first */
    const uint8_t *rgb;        /* prepared, as for vitcl_session_run_rgb() */
    const float *values;       /* as for vitcl_session_run_values() */
    /* NULL: the session's. Called after each batch, with pictures. */
    vitcl_progress progress;
    void *context;
} vitcl_pictures;
/* vitcl_classify() of them: the probabilities are the model's, with its
 * temperature, whichever form the pictures have. */
VITCL_STATUS vitcl_session_classify(vitcl_class *top, uint32_t k,
                                    vitcl_session *session,
                                    const vitcl_pictures *pictures);
/* vitcl_embed() of them, and of any tensor that vitcl_session_read() reads:
 * `name`, of `each` numbers a picture, such as "logits": out[n * each]. */
VITCL_STATUS vitcl_session_compute(float *out, size_t each,
                                   vitcl_session *session, const char *name,
                                   const vitcl_pictures *pictures);
/* Whether a prepared picture is of the kind that the model was trained with: 0
 * if it is, or if the model does not know; 1 if it has finer detail, -1 if
 * less. Answers to pictures of another kind should not be relied on, whatever
 * their probability. rgb: [height, width, 3]. */
int vitcl_session_detail(const vitcl_session *session, const uint8_t *rgb);

/* ---- runs of prepared pictures ---------------------------------------- */

/* Runs the model once over n <= batch prepared pictures, rgb: [n, height,
 * width, 3], which are normalised as the model's preprocessing says. */
VITCL_STATUS vitcl_session_run_rgb(vitcl_session *session, const uint8_t *rgb,
                                   uint32_t n);
/* Runs it over pixel_values, f32 [n, 3, height, width], as they are. */
VITCL_STATUS vitcl_session_run_values(vitcl_session *session,
                                      const float *values, uint32_t n);

/* Reads the first n pictures' part of a tensor of the last run as f32. "logits"
 * and "features" (the classifier's input) always work if the model has them.
 * count: elements that fit in out. VITCL_EINVAL: too few, or nothing to read.
 * An error if the last run failed. */
VITCL_STATUS vitcl_session_read(float *out, size_t count,
                                vitcl_session *session, const char *name,
                                uint32_t n);
/* Describes tensor `index`, from 0, of those that can be read after a run: the
 * model's outputs and what `keep` selects. VITCL_EINVAL after the last. */
VITCL_STATUS vitcl_session_tensor(vitcl_tensor_info *out,
                                  const vitcl_session *session, uint32_t index);

/* One of many batches. */
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
/* Takes the answers of a batch, in the order of the batches. */
typedef vitcl_status (*vitcl_sink)(void *context, const vitcl_batch *batch);
/* Runs all batches and reads the tensor `name`, of `each` numbers a picture, as
 * vitcl_session_read() does. On GPUs, the next batch is asked for and sent
 * while one is computed, and the answers of the one before are taken; on CPUs
 * they come one by one. The first error, also of next or take, ends it and is
 * returned. */
VITCL_STATUS vitcl_session_run_batches(vitcl_session *session, const char *name,
                                       size_t each, vitcl_source next,
                                       vitcl_sink take, void *context);

/* ---- pictures in advance ---------------------------------------------- */

/* Makes a loader, which decodes and prepares pictures for `session` in
 * `workers` processes (0: one a core) that may only read, write and exit.
 * Pictures come in the order in which they were pushed. */
VITCL_STATUS vitcl_loader_new(vitcl_loader **out, const vitcl_session *session,
                              uint32_t workers);
/* Pushes a picture: a file, or a file's bytes, which are copied, with a name
 * for messages (NULL: "picture"). */
VITCL_STATUS vitcl_loader_push(vitcl_loader *loader, const char *path);
VITCL_STATUS vitcl_loader_push_bytes(vitcl_loader *loader, const void *bytes,
                                     size_t size, const char *name);
/* The number of pushed pictures that have not been taken yet. */
uint32_t vitcl_loader_pending(const vitcl_loader *loader);
/* Waits for the next picture and copies its height * width * 3 bytes to rgb. If
 * it cannot be decoded, that error is returned, and the next call continues
 * with the next picture. VITCL_ENOMEM: that is not the picture's fault; there
 * is too little memory, or room for its pixels. */
VITCL_STATUS vitcl_loader_next(uint8_t *rgb, vitcl_loader *loader);
void vitcl_loader_free(vitcl_loader *loader);

/* ---- other libraries' checkpoints ------------------------------------- */

/* Writes the checkpoint at `path` to a folder with the names and configs of
 * `to`: "timm" or "hf". dtype: "f32", "f16", "bf16", or NULL for the stored
 * one, which is f32 in place of 64 bits. The same checkpoint always gives the
 * same bytes. Only "hf" of a model that has that form keeps a text tower, with
 * its tokenizer's files. Such files of an earlier model in the folder are then
 * removed, and in all cases its preprocessor_config.json and
 * processor_config.json. VITCL_EUNSUPPORTED: the other library cannot express
 * the model, or a finite number is too large for its new type; nothing is
 * written. */
VITCL_STATUS vitcl_convert(const char *folder, const char *path, const char *to,
                           const char *dtype);

/* ---- tensors on disk -------------------------------------------------- */

typedef struct {
    const char *name;
    uint32_t rank;
    uint64_t shape[8];
} vitcl_shape;

/* Writes one f32 tensor [rows, row->shape...] named row->name, a few rows at a
 * time; their number need not be known. The file appears at _finish(),
 * complete, or never. If the path ends in .npy the format is NumPy's, else
 * safetensors. After _finish() or an error there is nothing left to do but
 * _free(): the other calls return VITCL_EINVAL. */
typedef struct vitcl_rows vitcl_rows;
VITCL_STATUS vitcl_rows_new(vitcl_rows **out, const char *path,
                            const vitcl_shape *row);
VITCL_STATUS vitcl_rows_add(vitcl_rows *rows, const float *data, uint32_t n);
VITCL_STATUS vitcl_rows_finish(vitcl_rows *rows);
void vitcl_rows_free(vitcl_rows *rows);

#ifdef __cplusplus
}
#endif
#endif
