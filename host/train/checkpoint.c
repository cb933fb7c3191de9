/*
 * checkpoint.c - write and read the state of a training.
 */
#include "train/checkpoint.h"

#include "base/file.h"
#include "base/memory.h"
#include "models/model.h"
#include "train/lora.h"
#include "weights/save.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KINDS 4
#define CONFIG_MAX (16 << 20) /* bytes */
#define UNSCORED "unscored"
#define HEAD 3 /* tensors before those of parameters */
#define NOTES (sizeof(vt_notes) / sizeof(double))

/* The optimiser's tensors a parameter, NULL-ended; the first, "", is the
 * parameter itself. */
static const char *const *kinds_of(const vt_optimizer_config *r)
{
    static const char *const lists[2][2][KINDS + 1] = {
        {{"", "sgd.v", NULL}, {"", "sgd.v", "ema", NULL}},
        {{"", "adam.m", "adam.v", NULL}, {"", "adam.m", "adam.v", "ema", NULL}},
    };

    return lists[r->optimizer != VT_SGD][r->ema > 0];
}

/* ---- writing ---- */

typedef struct writer {
    const vt_checkpoint *c;
    vt_tensor *tensor;
    size_t count;
    size_t kinds;
} writer;

static void free_writer(writer *w)
{
    for (size_t i = 0; i < w->count; i++)
        free((void *)(uintptr_t)w->tensor[i].name);
    free(w->tensor);
}

static vitcl_status name_tensor(vt_tensor *t, const char *kind,
                                const char *name)
{
    char *full = NULL;
    vitcl_status st =
        vt_format(&full, "%s%s%s", kind[0] ? kind : "param", ".", name);

    t->name = full;
    return st;
}

/* n numbers of 8 bytes. */
static vitcl_status add_numbers(writer *w, const char *name, vt_file_dtype type,
                                const void *values, size_t n)
{
    vt_tensor *t = &w->tensor[w->count];
    char *copy = NULL;
    vitcl_status st = vt_strdup(&copy, name);

    *t = (vt_tensor){.name = copy,
                     .dtype = type,
                     .rank = 1,
                     .shape = {n},
                     .count = n,
                     .size = n * 8,
                     .data = values};
    w->count += st == VITCL_OK;
    return st;
}

/* Reads a parameter, or its average, for a file. */
static vitcl_status read_weight(float *out, const vt_checkpoint *c,
                                size_t index, const char *kind)
{
    const uint64_t n = vt_trainer_elements(c->trainer, index);
    uint64_t i = 0;

    VT_RET(vt_trainer_read(out, c->trainer, index, kind));
    while (i < n && isfinite(out[i]))
        i++;
    if (i < n)
        return vt_fail(
            VITCL_EINVAL,
            "%s: the parameter %.80s is not finite and is not saved; "
            "train with a lower learning rate",
            c->folder, vt_trainer_parameter(c->trainer, index)->name);
    return VITCL_OK;
}

/* Tensor index: HEAD + parameter * kinds + kind. */
static vitcl_status fill_state(void *context, size_t index, uint8_t *out)
{
    writer *w = context;
    const char *kind = kinds_of(w->c->optimizer)[(index - HEAD) % w->kinds];
    float *data = (float *)(void *)out;

    index = (index - HEAD) / w->kinds;
    return kind[0] ? vt_trainer_read(data, w->c->trainer, index, kind)
                   : read_weight(data, w->c, index, kind);
}

static vitcl_status write_state(const vt_checkpoint *c, long step)
{
    static const char *const metadata[] = {"format", "vitcl-training", NULL};
    vitcl_status st = VITCL_OK;
    const char *const *kinds = kinds_of(c->optimizer);
    const size_t n = vt_trainer_parameters(c->trainer);
    int64_t now = step, state = (int64_t)c->random_state;
    const double last[] = {c->unscored->loss, c->unscored->accuracy};
    writer w = {.c = c};
    char *path = NULL;

    while (kinds[w.kinds])
        w.kinds++;
    VT_TRY(VT_NEW(&w.tensor, HEAD + n * w.kinds + 1));
    VT_TRY(add_numbers(&w, "step", VT_FILE_I64, &now, 1));
    VT_TRY(add_numbers(&w, "random_state", VT_FILE_I64, &state, 1));
    VT_TRY(add_numbers(&w, "notes", VT_FILE_F64, c->notes, NOTES));
    for (size_t i = 0; i < n * w.kinds; i++) {
        const vt_value *v = vt_trainer_parameter(c->trainer, i / w.kinds);
        vt_tensor *t = &w.tensor[w.count];

        *t = (vt_tensor){.dtype = VT_FILE_F32, .rank = (uint32_t)v->rank};
        t->count = 1;
        for (int d = 0; d < v->rank; d++)
            t->count *= t->shape[d] = (uint64_t)v->dim[d];
        t->size = t->count * sizeof(float);
        VT_TRY(name_tensor(t, kinds[i % w.kinds], v->name));
        w.count++;
    }
    if (c->unscored->due)
        VT_TRY(add_numbers(&w, UNSCORED, VT_FILE_F64, last, 2));
    VT_TRY(vt_format(&path, "%s/training.safetensors", c->folder));
    VT_TRY(vt_safetensors_fill(path, w.tensor, w.count, metadata, true,
                               fill_state, &w));
done:
    free_writer(&w);
    free(path);
    return st;
}

static size_t find(const vt_trainer *t, const char *name)
{
    const size_t n = vt_trainer_parameters(t);
    size_t i = 0;

    while (i < n && strcmp(vt_trainer_parameter(t, i)->name, name) != 0)
        i++;
    return i;
}

/* Adds LoRA's product to the weight w of the file, if it has one. */
static vitcl_status merge(float *w, const vt_checkpoint *c, const char *name,
                          const char *kind)
{
    vitcl_status st = VITCL_OK;
    const size_t rank = (size_t)c->optimizer->lora;
    float *a = NULL, *b = NULL;
    char of[VT_NAME];
    size_t i, k, rows, columns;

    if (!rank || !vt_lora_name(of, name, 'A') ||
        (i = find(c->trainer, of)) == vt_trainer_parameters(c->trainer))
        return VITCL_OK;
    vt_lora_name(of, name, 'B');
    k = find(c->trainer, of);
    columns = vt_trainer_elements(c->trainer, i) / rank;
    rows = vt_trainer_elements(c->trainer, k) / rank;
    VT_TRY(vt_new(&a, rank * columns, sizeof *a));
    VT_TRY(vt_new(&b, rank * rows, sizeof *b));
    VT_TRY(read_weight(a, c, i, kind));
    VT_TRY(read_weight(b, c, k, kind));
    vt_lora_merge(w, a, b, rows, columns, rank,
                  vt_optimizer_config_lora(c->optimizer));
done:
    free(a);
    free(b);
    return st;
}

static vitcl_status fill_model(void *context, size_t index, uint8_t *out)
{
    const vt_checkpoint *c = context;
    const vt_weight *t = vt_weights_at(vt_model_weights(c->model), index);
    const size_t i = find(c->trainer, t->name);
    const char *kind = c->optimizer->ema > 0 ? "ema" : "";
    float *data = (float *)(void *)out;

    if (i < vt_trainer_parameters(c->trainer))
        return read_weight(data, c, i, kind);
    VT_RET(vt_weight_f32(data, vt_model_weights(c->model), t));
    return merge(data, c, t->name, kind);
}

static vitcl_status write_model(const vt_checkpoint *c, const char *folder)
{
    static const char *const metadata[] = {"format", "pt", NULL};
    vitcl_status st = VITCL_OK;
    const vt_weights *weights = vt_model_weights(c->model);
    const size_t n = vt_weights_count(weights);
    vt_checkpoint copy = *c;
    vt_tensor *tensor = NULL;
    char *path = NULL;

    VT_TRY(VT_NEW(&tensor, n));
    for (size_t i = 0; i < n; i++) {
        const vt_weight *t = vt_weights_at(weights, i);

        tensor[i] = (vt_tensor){.name = t->name,
                                .dtype = VT_FILE_F32,
                                .rank = t->rank,
                                .count = t->count,
                                .size = t->count * sizeof(float)};
        memcpy(tensor[i].shape, t->shape, sizeof t->shape);
    }
    VT_TRY(vt_format(&path, "%s/model.safetensors", folder));
    VT_TRY(vt_safetensors_fill(path, tensor, n, metadata, true, fill_model,
                               &copy));
done:
    free(tensor);
    free(path);
    return st;
}

/* Makes the renames survive a power failure. Errors are ignored: some file
 * systems cannot do it. */
static void sync_folder(const char *folder)
{
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
}

vitcl_status vt_checkpoint_save(const vt_checkpoint *c, long step)
{
    VT_RET(write_state(c, step));
    VT_RET(write_model(c, c->folder));
    sync_folder(c->folder);
    return VITCL_OK;
}

vitcl_status vt_checkpoint_model(const vt_checkpoint *c)
{
    return write_model(c, c->folder);
}

static vitcl_status copy_config(const char *to, const char *from)
{
    vitcl_status st = VITCL_OK;
    char *path[2] = {NULL, NULL};
    vt_newfile out = {0};
    vt_file in = {0};

    VT_TRY(vt_format(&path[0], "%s/config.json", from));
    VT_TRY(vt_format(&path[1], "%s/config.json", to));
    VT_TRY(vt_file_read(&in, path[0], CONFIG_MAX));
    VT_TRY(vt_newfile_open(&out, path[1]));
    fwrite(in.data, 1, in.size, out.f); /* the commit checks for errors */
    VT_TRY(vt_newfile_commit(&out));
done:
    vt_newfile_discard(&out);
    vt_file_close(&in);
    free(path[0]);
    free(path[1]);
    return st;
}

static void remove_part(const char *part)
{
    char *path = NULL;

    if (vt_format(&path, "%s/config.json", part) == VITCL_OK)
        unlink(path);
    free(path), path = NULL;
    if (vt_format(&path, "%s/model.safetensors", part) == VITCL_OK)
        unlink(path);
    free(path);
    rmdir(part);
}

/* The folder appears when it is complete; later only its weights change. */
vitcl_status vt_checkpoint_best(const vt_checkpoint *c)
{
    vitcl_status st = VITCL_OK;
    char *best = NULL, *part = NULL;

    VT_TRY(vt_format(&best, "%s/best", c->folder));
    if (vt_path_is_folder(best)) {
        VT_TRY(copy_config(best, c->folder)); /* with its certainty */
        VT_TRY(write_model(c, best));
        sync_folder(best);
        goto done;
    }
    VT_TRY(vt_format(&part, "%s/best.part", c->folder));
    if (mkdir(part, 0777) != 0 && errno != EEXIST)
        VT_TRY(vt_fail(VITCL_EIO, "%s: cannot create the folder: %s", part,
                       strerror(errno)));
    VT_TRY(copy_config(part, c->folder));
    VT_TRY(write_model(c, part));
    sync_folder(part);
    if (rename(part, best) != 0)
        st = vt_fail(VITCL_EIO, "%s: cannot write: %s", best, strerror(errno));
    sync_folder(c->folder);
done:
    if (st != VITCL_OK && part)
        remove_part(part);
    free(best);
    free(part);
    return st;
}

/* ---- reading ---- */

/* All bytes of a tensor. */
static vitcl_status read_bytes(void *out, const vt_tensor *x)
{
    VT_RET(vt_tensor_bytes(out, x, 0, x->size));
    return vt_tensor_check(x, out);
}

static vitcl_status read_scalar(int64_t *out, const vt_tensors *t,
                                const char *name)
{
    const vt_tensor *x = vt_tensors_get(t, name);

    if (!x || x->dtype != VT_FILE_I64 || x->count != 1)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: %s is missing or not a 64-bit integer",
                       vt_tensors_path(t), name);
    return read_bytes(out, x);
}

/* Of an older version's file: none. */
static vitcl_status read_notes(vt_notes *out, const vt_tensors *t)
{
    const vt_tensor *x = vt_tensors_get(t, "notes");
    vt_notes n = {0};

    if (x && (x->dtype != VT_FILE_F64 || x->count != NOTES))
        return vt_fail(VITCL_ECORRUPT, "%s: notes are not %zu 64-bit numbers",
                       vt_tensors_path(t), NOTES);
    if (x)
        VT_RET(read_bytes(&n, x));
    if (!(n.steps >= 0 && n.steps <= INT32_MAX && n.best_epoch >= 0 &&
          n.best_epoch <= INT32_MAX && n.best_epoch == floor(n.best_epoch)))
        return vt_fail(VITCL_ECORRUPT, "%s: notes are out of range",
                       vt_tensors_path(t));
    *out = n;
    return VITCL_OK;
}

static vitcl_status read_unscored(vt_unscored *out, const vt_tensors *t)
{
    const vt_tensor *x = vt_tensors_get(t, UNSCORED);
    double last[2] = {0};

    if (x && (x->dtype != VT_FILE_F64 || x->count != 2))
        return vt_fail(VITCL_ECORRUPT, "%s: %s is not two 64-bit numbers",
                       vt_tensors_path(t), UNSCORED);
    if (x)
        VT_RET(read_bytes(last, x));
    *out = (vt_unscored){x != NULL, last[0], last[1]};
    return VITCL_OK;
}

static vitcl_status read_parameter(vt_trainer *t, size_t index,
                                   const char *kind, const vt_tensors *from)
{
    vitcl_status st = VITCL_OK;
    const vt_value *v = vt_trainer_parameter(t, index);
    const vt_tensor *x;
    uint64_t count = 1;
    char *name = NULL;
    float *data = NULL;
    bool same;

    VT_TRY(vt_format(&name, "%s.%s", kind[0] ? kind : "param", v->name));
    x = vt_tensors_get(from, name);
    same = x && x->dtype == VT_FILE_F32 && x->rank == (uint32_t)v->rank;
    for (int d = 0; d < v->rank; d++) {
        count *= (uint64_t)v->dim[d];
        same = same && x->shape[d] == (uint64_t)v->dim[d];
    }
    if (!same)
        VT_TRY(vt_fail(VITCL_ECORRUPT, "%s: tensor %.200s %s",
                       vt_tensors_path(from), name,
                       x ? "has the wrong shape or type" : "is missing"));
    VT_TRY(vt_new(&data, count, sizeof *data));
    VT_TRY(read_bytes(data, x));
    VT_TRY(vt_trainer_write(t, index, kind, data));
done:
    free(data);
    free(name);
    return st;
}

vitcl_status vt_checkpoint_check_best(const char *folder)
{
    vitcl_status st = VITCL_OK;
    vt_tensors *t = NULL;
    uint8_t *bytes = NULL;
    char *path = NULL, why[512];
    size_t most = 0;

    VT_TRY(vt_format(&path, "%s/best/model.safetensors", folder));
    if (!vt_path_exists(path))
        goto done;
    VT_TRY(vt_tensors_open(&t, path));
    VT_TRY(vt_tensors_check(t));
    for (size_t i = 0; i < vt_tensors_count(t); i++)
        most = VT_MAX(most, vt_tensors_at(t, i)->size);
    VT_TRY(VT_NEW(&bytes, most));
    for (size_t i = 0; i < vt_tensors_count(t); i++)
        VT_TRY(read_bytes(bytes, vt_tensors_at(t, i)));
done:
    vt_tensors_free(t);
    free(bytes);
    free(path);
    if (st == VITCL_OK || st == VITCL_ENOMEM)
        return st;
    snprintf(why, sizeof why, "%s", vt_message());
    return vt_fail(st,
                   "%s; remove %s/best to go on, the next better epoch writes "
                   "it anew",
                   why, folder);
}

vitcl_status vt_checkpoint_load(long *step, const vt_checkpoint *c)
{
    vitcl_status st = VITCL_OK;
    const char *const *kinds = kinds_of(c->optimizer);
    int64_t done = 0, state = 0;
    vt_notes notes;
    vt_unscored unscored;
    vt_tensors *t = NULL;
    char *path = NULL;

    VT_TRY(vt_format(&path, "%s/training.safetensors", c->folder));
    VT_TRY(vt_tensors_open(&t, path));
    VT_TRY(vt_tensors_check(t));
    VT_TRY(read_scalar(&done, t, "step"));
    VT_TRY(read_scalar(&state, t, "random_state"));
    if (done < 0 || done > INT32_MAX || (uint64_t)state != c->random_state)
        VT_TRY(vt_fail(
            VITCL_ECORRUPT,
            "%s: its step or random state does not match training.json", path));
    for (size_t i = 0; i < vt_trainer_parameters(c->trainer); i++)
        for (size_t k = 0; kinds[k]; k++)
            VT_TRY(read_parameter(c->trainer, i, kinds[k], t));
    VT_TRY(read_notes(&notes, t));
    VT_TRY(read_unscored(&unscored, t));
    *c->notes = notes;
    *c->unscored = unscored;
    *step = (long)done;
done:
    vt_tensors_free(t);
    free(path);
    return st;
}
