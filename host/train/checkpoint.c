/*
 * checkpoint.c - write and read the state of a training.
 */
#include "train/checkpoint.h"

#include "base/memory.h"
#include "models/model.h"
#include "weights/save.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define KINDS 4

const char *const *vt_checkpoint_kinds(const vt_optimizer_config *r)
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
    int64_t *scalars; /* data of the first two tensors */
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

static vitcl_status add_scalar(writer *w, const char *name, int64_t *value)
{
    vt_tensor *t = &w->tensor[w->count];
    char *copy = NULL;
    vitcl_status st = vt_strdup(&copy, name);

    *t = (vt_tensor){.name = copy,
                     .dtype = VT_FILE_I64,
                     .rank = 1,
                     .shape = {1},
                     .count = 1,
                     .size = sizeof *value,
                     .data = (const uint8_t *)value};
    w->count += st == VITCL_OK;
    return st;
}

/* Tensor index: 2 + parameter * kinds + kind. */
static vitcl_status fill_state(void *context, size_t index, uint8_t *out)
{
    writer *w = context;
    const char *const *kinds = vt_checkpoint_kinds(w->c->optimizer);

    return vt_trainer_read((float *)(void *)out, w->c->trainer,
                           (index - 2) / w->kinds,
                           kinds[(index - 2) % w->kinds]);
}

static vitcl_status write_state(const vt_checkpoint *c, long step)
{
    static const char *const metadata[] = {"format", "vitcl-training", NULL};
    vitcl_status st = VITCL_OK;
    const char *const *kinds = vt_checkpoint_kinds(c->optimizer);
    const size_t n = vt_trainer_parameters(c->trainer);
    int64_t now = step, state = (int64_t)c->random_state;
    writer w = {.c = c};
    char *path = NULL;

    while (kinds[w.kinds])
        w.kinds++;
    VT_TRY(VT_NEW(&w.tensor, 2 + n * w.kinds));
    VT_TRY(add_scalar(&w, "step", &now));
    VT_TRY(add_scalar(&w, "random_state", &state));
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
    VT_TRY(vt_format(&path, "%s/training.safetensors", c->folder));
    VT_TRY(
        vt_safetensors_fill(path, w.tensor, w.count, metadata, fill_state, &w));
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

static vitcl_status fill_model(void *context, size_t index, uint8_t *out)
{
    const vt_checkpoint *c = context;
    const vt_weight *t = vt_weights_at(vt_model_weights(c->model), index);
    const size_t i = find(c->trainer, t->name);
    float *data = (float *)(void *)out;

    if (i == vt_trainer_parameters(c->trainer))
        return vt_weight_f32(data, vt_model_weights(c->model), t);
    return vt_trainer_read(data, c->trainer, i,
                           c->optimizer->ema > 0 ? "ema" : "");
}

static vitcl_status write_model(const vt_checkpoint *c)
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
    VT_TRY(vt_format(&path, "%s/model.safetensors", c->folder));
    VT_TRY(vt_safetensors_fill(path, tensor, n, metadata, fill_model, &copy));
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
    vitcl_status st;

    VT_TRY(write_state(c, step));
    VT_TRY(write_model(c));
    sync_folder(c->folder);
done:
    return st;
}

/* ---- reading ---- */

static vitcl_status read_scalar(int64_t *out, const vt_tensors *t,
                                const char *name)
{
    const vt_tensor *x = vt_tensors_get(t, name);

    if (!x || x->dtype != VT_FILE_I64 || x->count != 1)
        return vt_fail(VITCL_ECORRUPT,
                       "%s: %s is missing or not a 64-bit integer",
                       vt_tensors_path(t), name);
    return vt_tensor_bytes(out, x, 0, sizeof *out);
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
    if (!same) {
        st = vt_fail(VITCL_ECORRUPT, "%s: tensor %.200s %s",
                     vt_tensors_path(from), name,
                     x ? "has the wrong shape or type" : "is missing");
        goto done;
    }
    VT_TRY(vt_new(&data, count, sizeof *data));
    VT_TRY(vt_tensor_f32(data, x));
    VT_TRY(vt_trainer_write(t, index, kind, data));
done:
    free(data);
    free(name);
    return st;
}

vitcl_status vt_checkpoint_load(long *step, const vt_checkpoint *c)
{
    vitcl_status st = VITCL_OK;
    const char *const *kinds = vt_checkpoint_kinds(c->optimizer);
    int64_t done = 0, state = 0;
    vt_tensors *t = NULL;
    char *path = NULL;

    VT_TRY(vt_format(&path, "%s/training.safetensors", c->folder));
    VT_TRY(vt_tensors_open(&t, path));
    VT_TRY(read_scalar(&done, t, "step"));
    VT_TRY(read_scalar(&state, t, "random_state"));
    if (done < 0 || done > INT32_MAX || (uint64_t)state != c->random_state) {
        st = vt_fail(
            VITCL_ECORRUPT,
            "%s: its step or random state does not match training.json", path);
        goto done;
    }
    for (size_t i = 0; i < vt_trainer_parameters(c->trainer); i++)
        for (size_t k = 0; kinds[k]; k++)
            VT_TRY(read_parameter(c->trainer, i, kinds[k], t));
    *step = (long)done;
done:
    vt_tensors_free(t);
    free(path);
    return st;
}
