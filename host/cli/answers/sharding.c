/*
 * sharding.c - while the run lasts, standard output is the part's file; the
 * manifest beside it, written last, says that the part is whole.
 */
#define _GNU_SOURCE /* strcasestr */
#include "sharding.h"

#include "api/program.h"
#include "base/file.h"
#include "cli/pictures/input.h"

#include <errno.h>
#include <limits.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void sharding_common(char *text, size_t room, const model_options *o)
{
    static const char *const names[] = {"VITCL_DOT", "VITCL_MMA",
                                        "VITCL_DEVICE_CLASS"};
    size_t n;

    snprintf(text, room, " size=%ux%u precision=%s gemm=%s%s", o->size.height,
             o->size.width, o->precision ? o->precision : "f32",
             o->gemm ? o->gemm : "auto", o->any_batch ? " any-batch" : "");
    n = strlen(text);
    if (o->pixels)
        snprintf(text + n, room - n, " pixels=%s", o->pixels);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);

        n = strlen(text);
        if (value && *value)
            snprintf(text + n, room - n, " %s=%s", names[i], value);
    }
}

/* Who writes the manifest, and whether that was done before. */
static int describe(sharding *s, const model_options *o,
                    const row_settings *settings)
{
    vt_manifest *m = &s->about;
    vitcl_model *model = NULL;
    int code;

    TRY(open_model(NULL, &model, o));
    m->shard = s->shard;
    snprintf(m->version, sizeof m->version, "%s", vitcl_version());
    snprintf(m->command, sizeof m->command, "%s", settings->command);
    snprintf(m->settings, sizeof m->settings, "%s", settings->text);
    TRY(vt_model_identity(m->model_id, m->pictures_id, model, o->size.height,
                          o->size.width));
    TRY(vt_partition_finished(&s->finished, &s->found, s->path, m));
done:
    vitcl_model_free(model);
    return code;
}

int sharding_same(const sharding *s, const vt_manifest *asked)
{
    if (vt_partition_same_input(&s->found, s->path, asked) != VITCL_OK)
        return failed();
    note("%s is finished; remove its %s file to write it anew", s->path,
         VT_MANIFEST);
    return EXIT_OK;
}

/* Goes through the names of the pictures. Of archives, the share of the last
 * worker of all is read: nearly nothing. */
static int compare_input(const sharding *s, const words *operands,
                         const picture_options *how)
{
    picture_options all = *how;
    vt_manifest asked = {.input = 0};
    input_picture p;
    char last[32];
    input *in;
    int code;

    snprintf(last, sizeof last, "%u/%u", VT_SHARDS_MAX, VT_SHARDS_MAX);
    all.shard = how->tar ? last : how->shard;
    in = input_open(operands, &all);
    if (!in)
        return EXIT_FAILED;
    do {
        p = input_next(in);
        free(p.bytes);
    } while (p.path);
    input_whole(&asked, in);
    code = p.error ? fail("%s", p.error) : sharding_same(s, &asked);
    input_close(in);
    return code;
}

int sharding_named(const char *file, const picture_options *how)
{
    const char *at = file ? strcasestr(file, "{shard}") : NULL;
    vt_shard s;

    if (at && !how->shard)
        return usage("%s: {shard} needs --shard K/N", file);
    if (at && (strstr(file, "{shard}") != at || strcasestr(at + 1, "{shard}")))
        return usage("%s: the place of the shard is written {shard}, once",
                     file);
    if (file && !at && how->shard &&
        vt_shard_parse(&s, how->shard) == VITCL_OK && s.n > 1)
        return usage("%s: every shard would write this file; put {shard} into "
                     "the name",
                     file);
    return EXIT_OK;
}

int sharding_open(sharding *s, const picture_options *how, const char *output,
                  const words *operands, const model_options *model,
                  const row_settings *settings)
{
    *s = (sharding){.stdout_fd = -1};
    if (how->shard && vt_shard_parse(&s->shard, how->shard) != VITCL_OK) {
        failed();
        return EXIT_USAGE;
    }
    if (sharding_named(output, how) != EXIT_OK)
        return EXIT_USAGE;
    if (!output)
        return EXIT_OK;
    RET(vt_partition_path(&s->path, output, s->shard));
    if (s->shard.n) {
        RET(vt_partition_folder(s->path));
        RET(describe(s, model, settings));
        if (s->finished && operands)
            RET(compare_input(s, operands, how));
    }
    return EXIT_OK;
}

int sharding_redirect(sharding *s)
{
    if (!s->path)
        return EXIT_OK;
    catch_stop(); /* from here on a stop must remove the file */
    if (vt_part_open(&s->part, s->path) != VITCL_OK)
        return failed();
    fflush(stdout);
    s->stdout_fd = dup(STDOUT_FILENO);
    if (s->stdout_fd < 0 ||
        dup2(fileno(vt_part_stream(s->part)), STDOUT_FILENO) < 0)
        return fail("%s: %s", s->path, strerror(errno));
    return EXIT_OK;
}

static int restore(sharding *s)
{
    const bool bad = fflush(stdout) != 0 || ferror(stdout);
    const int error = errno;

    if (s->stdout_fd >= 0) {
        dup2(s->stdout_fd, STDOUT_FILENO);
        close(s->stdout_fd);
        s->stdout_fd = -1;
    }
    if (bad) /* what is left of the answers is not for the other stream */
        __fpurge(stdout);
    clearerr(stdout);
    return bad ? fail("%s: cannot be written: %s", s->path, strerror(error))
               : EXIT_OK;
}

static void remove_partial(const sharding *s)
{
    char *name = NULL, beside[PATH_MAX];

    if (vt_partial_name(&name, s->path, 1) != VITCL_OK)
        return;
    unlink(name);
    if (vt_path_ends(name, ".npy") &&
        snprintf(beside, sizeof beside, "%.*s.paths", (int)strlen(name) - 4,
                 name) < PATH_MAX)
        unlink(beside);
    free(name);
}

int sharding_commit(sharding *s, int code)
{
    if (s->part && restore(s) != EXIT_OK)
        code = EXIT_FAILED;
    if (code != EXIT_OK || !s->path)
        return code;
    if ((s->part && vt_part_commit(s->part) != VITCL_OK) ||
        (s->shard.n && vt_partition_finish(&s->about, s->path) != VITCL_OK))
        return failed();
    if (s->shard.n)
        remove_partial(s);
    return EXIT_OK;
}

/* ---- what a run that failed or was stopped has done ---- */

/* A worker that is started again computes all rows of its part: one file for
 * what it had is enough. */
static void keep_part(sharding *s, int code)
{
    char *name = NULL;
    uint64_t lines;

    if (vt_part_keep(&name, &lines, s->part, s->shard.n > 0) != VITCL_OK)
        say_not_kept(code);
    else if (name)
        say_kept(code, lines, "answer", name);
    free(name);
}

void sharding_computed(sharding *s, const device_pool *by)
{
    pool_text(s->about.device, sizeof s->about.device, by);
    make_text(s->about.device);
    snprintf(s->about.gemm, sizeof s->about.gemm, "%s",
             vt_session_describe(by->item[0].session).gemm);
}

int sharding_end(sharding *s, int code, const answering *w)
{
    if (code == EXIT_OK && s->path && s->shard.n) {
        batches_whole(&s->about, w->batches);
        s->about.rows = w->count;
        s->about.failed = batches_failures(w->batches);
        sharding_computed(s, &w->devices);
    }
    if (s->part && restore(s) != EXIT_OK)
        code = EXIT_FAILED;
    if (code != EXIT_OK && s->part && w->count)
        keep_part(s, code);
    code = sharding_commit(s, code);
    /* only a worker's part says itself what failed */
    if (code == EXIT_OK && !s->shard.n && w->batches &&
        batches_failures(w->batches))
        code = EXIT_FAILED;
    return code;
}

void sharding_close(sharding *s)
{
    if (s->stdout_fd >= 0)
        (void)restore(s);
    vt_part_free(s->part);
    free(s->path);
    *s = (sharding){.stdout_fd = -1};
}
