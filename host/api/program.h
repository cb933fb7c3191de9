/*
 * program.h - what the program and the tests call beside include/. It is no
 * part of the promise: no versions, no sizes in structs, and pointers that must
 * not be NULL are not checked unless a description says so.
 */
#ifndef VT_API_PROGRAM_H
#define VT_API_PROGRAM_H
#include "eval/evaluate.h"
#include "index/index.h"
#include "models/hub.h"
#include "tune/candidate.h"
#include "tune/tuner.h"
#include "weights/weights.h"

#include <vitcl_text.h>

/* ---- devices ---------------------------------------------------------- */

/* Measures the device's peak speed: *gflops is multiplications plus additions
 * in registers, in 1e9 a second. Takes some tenths of a second. It computes
 * with dot-product instructions or matrix units if the device uses them in this
 * precision, which may start a trial; else in f16 for VITCL_F16 if the device
 * has that, and in f32 otherwise. */
VITCL_STATUS vt_device_peak(double *gflops, vitcl_device *device,
                            vitcl_precision precision);
/* Writes the kernels that this device's sessions and training runs have used so
 * far: sources as KERNEL-N.cl, the compiler's options as KERNEL-N.options, N
 * from 1. The folder is made if need be. Files of these names are replaced. */
VITCL_STATUS vt_device_save_kernels(vitcl_device *device, const char *folder);

/* Would a session, or training, in this precision start a trial of a CPU's
 * dot-product instructions? The trials of a GPU's matrix units do not count. */
bool vt_device_untried(const vitcl_device *device, vitcl_precision precision);
/* Writes the instruction that a CPU uses for bf16, f16 or int8, as far as it
 * was tried: its name, "fma" or "untried". A suffix names an instruction that
 * failed, as in "fma; vpdpbusd failed its trial", or that had no trial because
 * vitcl-try is missing or cannot be started, as in "fma; vpdpbusd cannot be
 * tried". The text is cut to `size` bytes with the final NUL. */
VITCL_STATUS vt_device_form(char *out, size_t size, const vitcl_device *device,
                            vitcl_precision precision);
/* vt_mma_refused(), of a GPU. */
bool vt_device_refused(char *out, size_t size, vitcl_device *device);
/* Runs the trial unless its result is known, and keeps the result. It succeeds
 * even if the instruction fails its trial: vt_device_form() says so. */
VITCL_STATUS vt_device_try(vitcl_device *device, vitcl_precision precision);

/* Which of several devices runs a model fastest. */
typedef struct vt_device_choice {
    char id[16];     /* for vitcl_device_open(); "": nothing to choose */
    char plans[64];  /* which it is for: "f32, 1 to 10 GMAC a run" */
    char times[128]; /* "0:0 2.13 ms, 1:0 5.31 ms", the fastest first */
    bool measured;   /* just now, and not found in the user's files */
} vt_device_choice;
/* Are there several usable devices of different names, and VITCL_DEVICE is not
 * set? */
bool vt_device_choosable(void);
/* Chooses the device for sessions of this model with these options. The model
 * may be loaded without one. If the user's choices have no answer for such
 * plans, each device is opened in this process, and compiles and runs the
 * model, with fewer pictures than the batch if they would take long. A device
 * that fails is left out, which the log says. id is "" if there is nothing to
 * choose, or if no answer can be kept. */
VITCL_STATUS vt_device_choose(vt_device_choice *out, const vitcl_model *model,
                              const vitcl_session_options *options);
/* The kept choice `index`, from 0, for the devices of this machine.
 * VITCL_EINVAL after the last. */
VITCL_STATUS vt_device_choice_at(vt_device_choice *out, uint32_t index);

/* ---- the fastest multiplications -------------------------------------- */

/* Makes a tuner (tune/tuner.h) for the products of this model with these
 * options (batch, height, width, gemm, precision) on its device. VITCL_EIO:
 * nothing can be added to the user's file, because it is ignored or its folder
 * cannot be written. */
VITCL_STATUS vt_tuner_for(vt_tuner **out, vitcl_model *model,
                          const vitcl_session_options *options);
/* vt_tuned_export() of a device. */
VITCL_STATUS vt_device_export_tuned(double *tuned, double *built_in,
                                    const vitcl_device *device,
                                    const char *path, vitcl_progress progress,
                                    void *context);

/* ---- models ----------------------------------------------------------- */

/* VITCL_OK: training can begin with this preset; VITCL_EINVAL: unknown. */
VITCL_STATUS vt_preset_check(const char *preset);
/* Whose resize the model's pictures get, bit for bit: "pillow", or
 * "torchvision" for its resize of 8-bit tensors, which transformers 5 uses. */
const char *vt_model_resize(const vitcl_model *model);
/* Chooses it, whatever the model's files say. Call it before the model is used
 * in any other way. */
VITCL_STATUS vt_model_set_resize(vitcl_model *model, const char *library);
/* NaFlex models (SigLIP 2's, timm's naflexvit) read pictures of any aspect
 * ratio. The most patches that a picture is resized to; 0: all pictures have
 * one size. */
uint32_t vt_model_most_patches(const vitcl_model *model);
/* Chooses it: 1 to 16384. Call it before the model is used in any other way.
 * VITCL_EUNSUPPORTED: it is no NaFlex model. */
VITCL_STATUS vt_model_set_most_patches(vitcl_model *model, uint32_t most);
/* Writes two texts of 64 hexadecimal digits. model_id is equal for the same
 * config and weights, of which large tensors are compared in part. pictures_id
 * is equal for the same preprocessing and size (0: the model's own). Vectors
 * may be compared if both are equal. */
VITCL_STATUS vt_model_identity(char model_id[65], char pictures_id[65],
                               const vitcl_model *model, uint32_t height,
                               uint32_t width);
/* What an index says of the model, and of its pictures at this size (0: the
 * model's own): both identities, size, patches and pixels. */
VITCL_STATUS vt_model_about(vt_about *out, const vitcl_model *model,
                            uint32_t height, uint32_t width);
/* Reads a weight by timm's name, such as "patch_embed.proj.weight" or
 * "pos_embed", in the shape that the model's own picture size needs: a patch is
 * one row of 3 * height * width numbers. data: NULL, or room for all its
 * elements; count: their number. VITCL_EINVAL: there is no such weight, or it
 * has another number of elements. After an error, part of data may have been
 * written. */
VITCL_STATUS vt_model_read_weight(vitcl_tensor_info *out, float *data,
                                  size_t count, const vitcl_model *model,
                                  const char *name);

/* ---- sessions --------------------------------------------------------- */

uint32_t vt_session_batch(const vitcl_session *session); /* pictures a run */
/* Checks that a tensor is finite for picture `index` of the last run. If it is
 * not, the error names the first weight, or else the first tensor, with NaN or
 * infinity; finding it repeats the run. A vitcl_sink may call it. */
VITCL_STATUS vt_session_check(vitcl_session *session, const char *name,
                              uint32_t index);
/* vitcl_session_run_rgb() in two parts, so that a GPU receives the next
 * pictures while it computes: send a batch, run it, send the next one, read the
 * answers, run that one. rgb must not change until vt_session_run_sent() has
 * returned. On GPUs that returns when the device has its work; reading the
 * answers waits, and returns an error of the run. On CPUs, where `overlaps` of
 * vt_session_info is false, nothing is sent in advance, and
 * vt_session_run_sent() does all the work. rgb NULL: nothing is sent, and the
 * pictures of the last run are computed again (VITCL_EINVAL if it had none);
 * the difference in time is what sending costs. */
VITCL_STATUS vt_session_send_rgb(vitcl_session *session, const uint8_t *rgb,
                                 uint32_t n);
/* Runs what was sent last. VITCL_EINVAL: nothing was. */
VITCL_STATUS vt_session_run_sent(vitcl_session *session);
/* After a run of n pictures: a backward pass from one class' logit for each,
 * labels[n]; once for each run. The session needs the option gradients, with
 * which activations are kept, and multiplications are those of training, whose
 * results may differ in the last bits (VITCL_EUNSUPPORTED: a model without
 * classes, or that cannot be trained). The watcher sees "relevance.<i>" for
 * each layer i, from the last to the first, if `watch` selects it: attention's
 * probabilities times the logit's gradient in them, [batch, heads, tokens,
 * tokens]. */
VITCL_STATUS vt_session_run_gradient(vitcl_session *session,
                                     const uint32_t *labels, uint32_t n);

/* The session option profile is 1: to time each step, alone (slower); 2: to
 * time the steps of whole runs. */
typedef struct vt_step_info {
    char name[112], op[24], kernel[96], shape[64];
    double gflop;          /* a run */
    double time_ms;        /* in the last run; needs `profile`; not to be read
                              while another thread runs the session */
    uint64_t memory_bytes; /* of its outputs */
    double from_ms, to_ms; /* `profile` 2: when its first kernel began, and its
                              last one ended, since the first of the run was
                              given to the driver */
} vt_step_info;
/* Describes step `index` of its plan, from 0; false after the last. */
bool vt_session_step(vt_step_info *out, const vitcl_session *session,
                     uint32_t index);
typedef struct vt_session_info {
    uint64_t activation_bytes, weights_bytes, arena_bytes;
    uint64_t kernels_built, buffers_made, lookups; /* in this process so far */
    char gemm[40]; /* providers in use, most used first: "native, clblast" */
    char precision[24];
    uint32_t launches; /* of kernels in a run; one of CLBlast counts as one */
    bool overlaps;     /* vt_session_send_rgb() sends during a run */
} vt_session_info;
vt_session_info vt_session_describe(const vitcl_session *session);

/* ---- pictures in advance ---------------------------------------------- */

/* Makes a loader that also makes thumbnails: each is the whole picture, with at
 * most `side` (1 to 1024) pixels on its longer side. session NULL: only
 * thumbnails, and vitcl_loader_next() takes NULL. */
VITCL_STATUS vt_loader_new_thumbnails(vitcl_loader **out,
                                      const vitcl_session *session,
                                      uint32_t workers, uint32_t side);
/* Size in bytes and time of change (ns since 1970) of the file that
 * vitcl_loader_next() has just returned, as they were when it was opened: its
 * path may name another file by now. VITCL_EINVAL: it was not read from a
 * file. */
VITCL_STATUS vt_loader_stamp(int64_t *size, int64_t *changed_ns,
                             const vitcl_loader *loader);
/* The thumbnail of the picture that vitcl_loader_next() has just returned; free
 * it with vitcl_image_free(). */
VITCL_STATUS vt_loader_thumbnail(vitcl_image *out, const vitcl_loader *loader);

/* ---- tensors on disk -------------------------------------------------- */

/* The shape of a tensor of vt_tensors_open(). VITCL_EINVAL: there is none. */
VITCL_STATUS vt_tensors_shape(vitcl_shape *out, const vt_tensors *t,
                              const char *name);
/* Reads a tensor of any float type as f32; `count` must be its number of
 * elements. VITCL_EUNSUPPORTED: a finite number is too large for f32. After an
 * error, part of out may have been written. */
VITCL_STATUS vt_tensors_read(float *out, const vt_tensors *t, const char *name,
                             uint64_t count);
/* Writes n f32 tensors. The file is complete or does not appear at all. */
VITCL_STATUS vt_tensors_write(const char *path, const vitcl_shape *shapes,
                              const float *const *data, uint32_t n);
/* Called instead of vitcl_rows_finish(), or after an error of it or of
 * vitcl_rows_add(), as on a full disk: the whole rows so far get the first of
 * the names x.partial.npy, x.partial2.npy .. that no file has, for a path
 * x.npy. It writes the name to name[size] and their number to *count. 0: no
 * file. VITCL_EINVAL: the longest of these names, x.partial1000.npy, does not
 * fit; nothing is done, so call it again with more room. */
VITCL_STATUS vt_rows_keep(char *name, size_t size, uint64_t *count,
                          vitcl_rows *rows);

/* ---- labelled pictures ------------------------------------------------ */

/* "folders", "table", "cifar10", "cifar100" or "mnist". */
const char *vt_dataset_format(const vitcl_dataset *dataset);
/* NULL, or a line for a user where something was left out: "photos: 17 pictures
 * in 2 classes, 2 skipped, 1 hidden". */
const char *vt_dataset_note(const vitcl_dataset *dataset);
/* Writes the format, the note or nothing, the number of classes and their
 * names, the number of pictures, and each one's label and path (nothing if it
 * is no file) to f, for the package vitcl.study: each ends with NUL. training:
 * the part to train on, else the part to test on. */
VITCL_STATUS vt_dataset_list(FILE *f, const char *path, bool training,
                             bool follow, const char *columns);
/* *out: how many pictures of `dataset` are in `other`, too, as the same file or
 * as one with the same bytes. *name: one of them, or NULL; valid as long as the
 * dataset. Bytes are compared if there are at most 20000 files to read.
 * Pictures that are not files are not counted. */
VITCL_STATUS vt_dataset_overlap(uint32_t *out, const char **name,
                                const vitcl_dataset *dataset,
                                const vitcl_dataset *other);
/* From now on, this dataset's classes are matched with others by number, and
 * not by name. If all names are numbers ("0007"), those are used; otherwise
 * positions, and both sides must have equally many classes. */
VITCL_STATUS vt_dataset_use_numbers(vitcl_dataset *dataset);
/* Says what happens from now on with pictures that cannot be decoded. strict
 * false: they are left out of scores, and `report`, if it is not NULL, gets a
 * line about each. strict: the first one ends the call with its error. */
VITCL_STATUS vt_dataset_set_strict(vitcl_dataset *dataset, bool strict,
                                   vitcl_log report, void *context);
/* Adds several correct classes per picture, as in ImageNet's ReaL labels (arXiv
 * 2006.07159). path: a JSON file. It is real.json's list of lists, in the order
 * of ILSVRC2012_val_00000001 .. (pictures must have such names; if they are not
 * files, in the order of the dataset), or an object {picture's name: list}. A
 * class is a number, which is the model's index, or a name, which is matched
 * with the model's names. An empty list: the picture is not scored; with
 * VITCL_ANY_CLASSES, it has none of the classes. With VITCL_NUMBERS a list has
 * the right numbers. VITCL_ECORRUPT: the file is something else; VITCL_EINVAL:
 * it and the dataset do not fit. */
VITCL_STATUS vt_dataset_add_labels(vitcl_dataset *dataset, const char *path);
/* Writes the model's class for each class of the dataset, as vitcl_evaluate()
 * matches them: out[vitcl_dataset_classes()]. */
VITCL_STATUS vt_dataset_match(uint32_t *out, const vitcl_dataset *dataset,
                              const vitcl_model *model);
/* Writes a text of 64 hexadecimal digits. It is equal for datasets of the same
 * names, sizes and labels in the same order, whose parts may be added up
 * (vt_evaluate_part()). The pictures are not read. */
VITCL_STATUS vt_dataset_identity(char out[65], const vitcl_dataset *dataset);

/* ---- evaluation ------------------------------------------------------- */

/* vitcl_evaluate() of a part of the dataset, from 1 to `parts`: the pictures
 * part - 1, part - 1 + parts and so on. The counts of all parts add up to those
 * of all pictures. Several threads may use one dataset, each with a session of
 * its own.
 * vectors: NULL, or of a model of pictures and texts, which needs no
 * classifier: for each class of the dataset one of length 1, such as
 * vitcl_text_labels() makes of its name: [vitcl_dataset_classes() *
 * vitcl_session_features()]. The answer is then the class whose vector has the
 * largest cosine with the picture's features; confusion: counts [classes,
 * classes]. Labels that were added are classes of the dataset. */
VITCL_STATUS vt_evaluate_part(vitcl_scores *out, uint32_t *confusion,
                              vitcl_session *session,
                              const vitcl_dataset *dataset,
                              const float *vectors, uint32_t part,
                              uint32_t parts, vitcl_progress progress,
                              void *context);
/* Scores features by few-shot linear evaluation, as in arXiv 2010.11929: ridge
 * regression (l2 1024) in closed form from frozen features of `shots` training
 * pictures per class to targets -1 and 1; then the accuracy on `test`. The
 * classes of `test` are matched with the training classes by name; all must
 * exist. scores[n]: set shots before the call; the others are filled in, for
 * some scores even if the call fails. n and tries: 1 to 1000. The choice of
 * pictures depends only on random_state and the number of the try. */
VITCL_STATUS vt_fewshot_run(vt_fewshot_score *scores, uint32_t n,
                            uint32_t tries, uint64_t random_state,
                            vitcl_session *session, const vitcl_dataset *train,
                            const vitcl_dataset *test, vitcl_progress progress,
                            void *context);

/* ---- training --------------------------------------------------------- */

/* The rank of this process under mpirun, from 0, of *ranks; without mpirun 0 of
 * 1. ranks may be NULL. */
uint32_t vt_train_rank(uint32_t *ranks);
/* The training counterpart of vitcl_session_run_values(): `steps` optimiser
 * steps on one batch. input: a safetensors file with pixel_values [B,3,H,W] and
 * labels [B]. settings: JSON with PyTorch's names (optimizer, betas, eps,
 * momentum, weight_decay, clip_grad_norm, label_smoothing, lr: a number, or a
 * list with one a step); unknown keys are an error. output: a safetensors file
 * with loss [1] and grad.<tensor> of the first step (before clipping), losses
 * [steps] before each step, time_ms [steps] of each step, and after.<tensor>.
 * In f32, convolutions are summed in double if the device supports it: near a
 * ReLU's kink a rounding error can change gradients by a percent. */
enum { VT_STEPS_MOST = 1000000 };
VITCL_STATUS vt_train_steps(const char *output, vitcl_device *device,
                            const char *model, const char *input,
                            const char *settings, uint32_t steps,
                            const char *gemm, vitcl_precision precision);

#endif
