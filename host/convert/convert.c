/*
 * convert.c - write a checkpoint as a folder in the form of timm or HF.
 *
 * A checkpoint that is already in that form keeps its configs, byte for byte,
 * and its names, without those of wrappers; only the type of its floats may
 * change. Any other is opened as a model, so that the result is what this
 * library would run.
 */
#include "convert/convert.h"

#include "base/file.h"
#include "base/memory.h"
#include "convert/timm.h"
#include "convert/verify.h"
#include "models/preprocess.h"
#include "weights/sidecar.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const names[] = {
    "model.safetensors",     "config.json",      "preprocessor_config.json",
    "processor_config.json", VT_TOKENIZER_FILES,
};
enum { OF_PICTURES = 4 }; /* the first of them */

typedef struct job {
    const char *folder, *path;
    size_t count; /* of names[]: what belongs to the result */
    vt_model *model;
    vt_tensors *raw;
    vt_weights *weights;
    vt_target target;
    char *args; /* timm's model_args */
    vt_preprocess how;
    vt_file_dtype dtype;
} job;

static vitcl_status read_dtype(vt_file_dtype *out, const char *word)
{
    static const struct {
        const char *word;
        vt_file_dtype dtype;
    } words[] = {
        {"f32", VT_FILE_F32}, {"f16", VT_FILE_F16}, {"bf16", VT_FILE_BF16}};

    *out = VT_FILE_OTHER;
    for (size_t i = 0; word && i < VT_COUNT(words); i++)
        if (strcmp(word, words[i].word) == 0)
            *out = words[i].dtype;
    if (word && *out == VT_FILE_OTHER)
        return vt_fail(VITCL_EINVAL,
                       "type must be f32, f16 or bf16, not \"%s\"", word);
    return VITCL_OK;
}

/* Is there a model of this kind in the library? same: its names and its config
 * stay. */
static vitcl_status check(const job *j, bool timm, bool same)
{
    const vt_config *c = vt_model_config(j->model);
    const bool of_timm = c->source == VT_SOURCE_TIMM;
    const char *lacks = timm || of_timm ? vt_timm_lacks(j->model) : NULL;

    if (lacks && (timm || c->family->writing))
        return vt_fail(VITCL_EUNSUPPORTED, "%s: %s has no model with %s",
                       j->path, timm ? "timm" : "HF", lacks);
    if (!same && !c->family->writing)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "%s: models of this family (%s) keep their format%s",
                       j->path, c->family->looks,
                       timm == of_timm ||
                               vt_json_get(vt_model_json(j->model), "open_clip")
                           ? ""
                       : of_timm ? "; use --to timm"
                                 : "; use --to hf");
    return VITCL_OK;
}

static vitcl_status to_timm(job *j)
{
    const vt_config *c = vt_model_config(j->model);
    vt_target *t = &j->target;
    bool zero = false;

    if (c->pos_embed && c->pos_prefix && c->class_token)
        VT_RET(vt_weight_is_zero(&zero, j->weights, "pos_embed",
                                 (uint64_t)c->width));
    /* timm's models with registers have position embeddings for patches only;
     * the conversion to HF added a row of zeros. */
    t->no_embed_class =
        c->class_token && (c->pos_prefix == 0 || c->registers > 0 || zero);
    t->as = vt_writing_of(c, t->no_embed_class);
    return vt_timm_args_new(&j->args, c, t->no_embed_class, c->height,
                            c->width_px, j->path);
}

/* ---- writing ---- */

static vitcl_status write_json(const job *j, const char *name,
                               void (*put)(FILE *f, const job *j))
{
    vitcl_status st;
    char *path = NULL;
    vt_newfile file = {0};

    VT_TRY(vt_format(&path, "%s/%s", j->folder, name));
    VT_TRY(vt_newfile_open(&file, path));
    put(file.f, j);
    VT_TRY(vt_newfile_commit(&file));
done:
    vt_newfile_discard(&file);
    free(path);
    return st;
}

static const char *label_of(const void *model, uint32_t index)
{
    return vt_hf_label(model, index);
}

static const char *name_of(const void *model, uint32_t index)
{
    return vt_model_longname(model, index);
}

static void put_timm(FILE *f, const job *j)
{
    const vt_config *c = vt_model_config(j->model);
    const vt_target *t = &j->target;
    const int classes = c->classes ? c->classes : c->projection;

    vt_timm_config_write(
        f,
        &(vt_timm_config){
            .full = true,
            .architecture = t->as->timm,
            .pool = vt_timm_pool(c),
            .classes = (uint32_t)classes,
            .features = c->width,
            .args = j->args,
            .height = c->height,
            .width = c->width_px,
            .how = j->how,
            .classifier = c->dist_token ? "[\"head\", \"head_dist\"]" : NULL,
            .labels =
                c->classes && label_of(j->model, 0) ? (uint32_t)c->classes : 0,
            .label = label_of,
            .description = name_of,
            .of = j->model,
            .problem = vt_model_problem(j->model),
            .certainty = vt_model_certainty(j->model)});
}

static void put_hf(FILE *f, const job *j)
{
    vt_hf_config(f, j->model, &j->target);
}

static void put_preprocessor(FILE *f, const job *j)
{
    vt_hf_preprocessor(f, &j->how);
}

/* Writes the names of another library. */
static vitcl_status translate(job *j, bool timm, const char *file)
{
    static const char *const metadata[] = {"format", "pt", NULL};
    const vt_config *c = vt_model_config(j->model);
    vt_export how = {.dtype = j->dtype};
    const vt_weight *head = vt_weights_get(j->weights, "head.weight");
    const bool wide =
        head && head->rank == 2 && head->shape[1] == 2 * (uint64_t)c->width;

    VT_RET(vt_model_preprocess(&j->how, j->model, (uint32_t)c->height,
                               (uint32_t)c->width_px));
    VT_RET(timm ? to_timm(j) : vt_hf_target(&j->target, j->model, j->path));
    how.hf = !timm;
    how.names = timm ? j->target.as->timm_names : j->target.as->names;
    how.prefix = j->target.prefix;
    how.metadata = timm ? NULL : metadata;
    if (timm) {
        how.fold_positions = j->target.no_embed_class && c->pos_prefix > 0;
        how.narrow_head = wide && !c->dist_token;
        how.add_head_bias = c->projection > 0;
        if (!c->attn_pool) /* HF's SigLIP classifiers keep it, unused */
            how.drop = "attn_pool.";
    } else {
        how.pad_positions =
            c->pos_embed && c->class_token && c->pos_prefix == 0;
        how.widen_head = !wide && j->target.as->wide_head;
        how.drop_head_bias = j->target.as->embeds;
        how.mask_token = c->registers ? c->width : 0; /* it always has one */
    }
    VT_RET(vt_weights_export(file, j->weights, &how));
    VT_RET(write_json(j, "config.json", timm ? put_timm : put_hf));
    if (!timm)
        VT_RET(write_json(j, "preprocessor_config.json", put_preprocessor));
    return VITCL_OK;
}

static vitcl_status write_bytes(const job *j, const char *name,
                                const void *bytes, size_t size)
{
    vitcl_status st = VITCL_OK;
    char *to = NULL;
    vt_newfile out = {0};

    VT_TRY(vt_format(&to, "%s/%s", j->folder, name));
    VT_TRY(vt_newfile_open(&out, to));
    if (fwrite(bytes, 1, size, out.f) != size) {
        st = vt_fail(VITCL_EIO, "%s: %s", to, strerror(errno));
        goto done;
    }
    VT_TRY(vt_newfile_commit(&out));
done:
    vt_newfile_discard(&out);
    free(to);
    return st;
}

/* Copies a config file; if it does not exist, that is no error. */
static vitcl_status copy_config(const job *j, const char *name)
{
    vitcl_status st;
    vt_file in = {0};

    VT_TRY(vt_sidecar_read(&in, NULL, j->path, name));
    if (in.data)
        VT_TRY(write_bytes(j, name, in.data, in.size));
done:
    vt_file_close(&in);
    return st;
}

static vitcl_status keep_names(job *j, bool timm, const char *file)
{
    static const char *const metadata[] = {"format", "pt", NULL};

    VT_RET(vt_tensors_export(file, vt_weights_raw(j->weights), j->weights,
                             j->dtype, timm ? NULL : metadata));
    for (size_t i = 1; i < j->count; i++)
        VT_RET(copy_config(j, names[i]));
    return VITCL_OK;
}

/* ---- a folder beside the result, which is moved when all is right ---- */

/* What was not written is not there, and would be of another model if it lay in
 * the folder. */
static vitcl_status move_all(const char *folder, const char *part, size_t count)
{
    vitcl_status st = VITCL_OK;
    char *from = NULL, *to = NULL;

    for (size_t i = 0; i < count; i++) {
        free(from), from = NULL;
        free(to), to = NULL;
        VT_TRY(vt_format(&from, "%s/%s", part, names[i]));
        VT_TRY(vt_format(&to, "%s/%s", folder, names[i]));
        if (rename(from, to) != 0 &&
            (errno != ENOENT || (unlink(to) != 0 && errno != ENOENT)))
            VT_TRY(vt_fail(VITCL_EIO, "%s: %s", to, strerror(errno)));
    }
done:
    free(from);
    free(to);
    return st;
}

#define PART ".convert-XXXXXX" /* for mkdtemp() */

static bool is_part(const char *name)
{
    return strlen(name) == sizeof PART - 1 &&
           strncmp(name, PART, strcspn(PART, "X")) == 0;
}

/* Does a conversion write it? */
static bool is_written(const char *name)
{
    for (size_t i = 0; i < VT_COUNT(names); i++)
        if (strcmp(name, names[i]) == 0 || vt_newfile_is_part(name, names[i]))
            return true;
    return false;
}

/* Removes what a conversion writes: with other files it is another's folder. */
static void empty(int folder)
{
    const int again = fcntl(folder, F_DUPFD_CLOEXEC, 0);
    DIR *d = again >= 0 ? fdopendir(again) : NULL;

    for (const struct dirent *e; d && (e = readdir(d));)
        if (is_written(e->d_name))
            (void)unlinkat(folder, e->d_name, 0);
    if (d)
        closedir(d);
    else if (again >= 0)
        close(again);
}

/* Removes what was left by conversions that were killed: a living one has a
 * lock on its folder. */
static void remove_left(const char *folder)
{
    DIR *d = opendir(folder);

    for (const struct dirent *e; d && (e = readdir(d));) {
        struct stat st;
        int fd;

        if (!is_part(e->d_name))
            continue;
        fd = openat(dirfd(d), e->d_name,
                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
            continue;
        if (fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
            flock(fd, LOCK_EX | LOCK_NB) == 0) {
            empty(fd);
            (void)unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
        }
        close(fd);
    }
    if (d)
        closedir(d);
}

/* Creates and locks *part in the folder. -1: errno. */
static int make_part(char **part, const char *folder)
{
    int lock = -1;

    for (int tries = 0; lock < 0 && tries < 10; tries++) {
        free(*part), *part = NULL;
        errno = ENOMEM;
        if (vt_format(part, "%s/" PART, folder) != VITCL_OK || !mkdtemp(*part))
            break;
        lock = open(*part, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (lock < 0) {
            const int why = errno;

            (void)rmdir(*part);
            errno = why;
            break;
        }
        (void)flock(lock, LOCK_EX); /* not on every file system */
        /* another conversion may have taken it for one that was left */
        if (access(*part, F_OK) != 0) {
            close(lock);
            lock = -1;
        }
    }
    return lock;
}

static void remove_all(const char *part)
{
    char path[4096];

    for (size_t i = 0; i < VT_COUNT(names); i++) {
        snprintf(path, sizeof path, "%s/%s", part, names[i]);
        unlink(path);
    }
    rmdir(part);
}

/* The message of an error without the name of that folder. */
static vitcl_status fail_outside(vitcl_status st, const char *folder,
                                 const char *part)
{
    char text[512];
    const char *at;

    snprintf(text, sizeof text, "%s", vt_message());
    at = strstr(text, part);
    return at ? vt_fail(st, "%.*s%s%s", (int)(at - text), text, folder,
                        at + strlen(part))
              : st;
}

vitcl_status vitcl_convert(const char *folder, const char *path, const char *to,
                           const char *dtype)
{
    vitcl_status st;
    job j = {.path = path};
    char *file = NULL, *part = NULL;
    bool timm, same, made = false;
    int lock = -1;

    if (!folder || !path || !to)
        return vt_fail(VITCL_EINVAL, "%s: an argument is NULL", __func__);
    timm = strcmp(to, "timm") == 0;
    if (!timm && strcmp(to, "hf") != 0)
        return vt_fail(VITCL_EINVAL, "format must be timm or hf, not \"%s\"",
                       to);
    VT_TRY(read_dtype(&j.dtype, dtype));
    VT_TRY(vt_model_open(&j.model, path));
    VT_TRY(vt_tensors_open(&j.raw, path));
    VT_TRY(vt_weights_new(&j.weights, j.raw, NULL, vt_names_of_families));
    j.raw = NULL;
    if (vt_model_config(j.model)->grey)
        VT_TRY(vt_fail(VITCL_EUNSUPPORTED,
                       "%s: models that read one channel are not converted",
                       path));
    if (timm && vt_json_get(vt_model_json(j.model), "open_clip") &&
        strcmp(vt_weights_dialect(j.weights), "timm") == 0)
        VT_TRY(vt_fail(VITCL_EUNSUPPORTED,
                       "%s: timm's tower in an open_clip folder can only be "
                       "converted to Hugging Face's format",
                       path));
    made = mkdir(folder, 0777) == 0;
    if (!made && errno != EEXIST) {
        st = vt_fail(VITCL_EIO, "%s: %s", folder, strerror(errno));
        goto done;
    }
    remove_left(folder);
    lock = make_part(&part, folder);
    if (lock < 0) {
        st = vt_fail(VITCL_EIO, "%s/model.safetensors: cannot write: %s",
                     folder, strerror(errno));
        goto done;
    }
    j.folder = part;
    VT_TRY(vt_format(&file, "%s/model.safetensors", part));
    same = vt_model_json(j.model) &&
           vt_model_config(j.model)->source ==
               (timm ? VT_SOURCE_TIMM : VT_SOURCE_HF) &&
           strcmp(vt_weights_dialect(j.weights), to) == 0;
    j.count = same && !timm ? VT_COUNT(names) : OF_PICTURES;
    VT_TRY(check(&j, timm, same));
    VT_TRY(same ? keep_names(&j, timm, file) : translate(&j, timm, file));
    VT_TRY(vt_convert_verify(j.model, path, part, timm ? "timm" : "HF"));
    VT_TRY(move_all(folder, part, j.count));
done:
    if (st != VITCL_OK && lock >= 0)
        st = fail_outside(st, folder, part);
    if (lock >= 0) {
        remove_all(part);
        close(lock);
    }
    if (st != VITCL_OK && made)
        rmdir(folder); /* it stays if it is not empty */
    free(file);
    free(part);
    free(j.args);
    vt_weights_free(j.weights);
    vt_tensors_free(j.raw);
    vt_model_close(j.model);
    return st;
}
