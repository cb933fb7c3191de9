/*
 * train.c - one run: its training, then its scores, each in a process of its
 * own. What was finished before is not repeated, and an interrupted training is
 * resumed.
 */
#define _GNU_SOURCE /* memmem */
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"
#include "plot/figure.h"
#include "study/private.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

enum { TRAIN, SCORE, FEWSHOT, STAGES, WORDS = 40, ROOM = 24 };
enum { SMALL_FILE = 1 << 16, LOG_FILE = 64 << 20 };

/* ---- the words of a command ---- */

typedef struct command_words {
    const char *word[WORDS];
    char number[WORDS][ROOM];
    int count, numbers;
} command_words;

static void put(command_words *c, const char *name, const char *value)
{
    c->word[c->count++] = name;
    if (value)
        c->word[c->count++] = value;
}

static void put_count(command_words *c, const char *name, uint32_t value)
{
    char *text = c->number[c->numbers++];

    vt_snprint(text, ROOM, "%u", value);
    put(c, name, text);
}

typedef struct paths {
    char folder[VT_STUDY_PATH], state[VT_STUDY_PATH], from[VT_STUDY_PATH],
        start[VT_STUDY_PATH], config[VT_STUDY_PATH], settings[VT_STUDY_PATH],
        log[VT_STUDY_PATH], messages[VT_STUDY_PATH], out[VT_STUDY_PATH],
        predicted[VT_STUDY_PATH];
} paths;

static vitcl_status find_paths(paths *p, const vt_experiment *e,
                               const vt_run *r, int stage)
{
    static const char *const outs[] = {"train.txt", "eval.json",
                                       "fewshot.jsonl", ""};
    const vt_run *from = r->from[0] ? vt_run_named(e, r->from) : NULL;

    VT_RET(vt_study_path(p->folder, e, "runs/%s", r->id));
    VT_RET(vt_study_path(p->state, e, "runs/%s/training.safetensors", r->id));
    if (r->model)
        snprintf(p->from, sizeof p->from, "%s", e->model.path);
    else
        VT_RET(vt_study_path(p->from, e, "runs/%s", from ? from->id : ""));
    VT_RET(vt_study_path(p->start, e, "files/%s.start", r->id));
    VT_RET(vt_study_path(p->config, e, "files/%s.config.json", r->id));
    VT_RET(vt_study_path(p->settings, e, "files/%s.settings.json", r->id));
    VT_RET(vt_study_path(p->log, e, "files/%s.log.jsonl", r->id));
    VT_RET(vt_study_path(p->messages, e, "files/%s.messages.txt", r->id));
    VT_RET(vt_study_path(p->predicted, e, "%s", VT_PREDICTED));
    return vt_study_path(p->out, e, "files/%s.%s", r->id, outs[stage]);
}

/* Held-out pictures: a fifth, at most a thousand. */
static uint32_t held_out(const vt_run *r)
{
    return VT_MIN(r->pictures / 5, 1000);
}

static vitcl_status words_train(command_words *c, paths *p,
                                const vt_experiment *e, const vt_run_job *j)
{
    const vt_run *r = j->run;
    char *rate = c->number[c->numbers++];

    put(c, r->from[0] || r->model ? "finetune" : "train", NULL);
    put(c, "-o", p->folder);
    put(c, "--log", p->log);
    if (e->options.device)
        put(c, "--device", e->options.device);
    /* also of a training that had ended; a build without Cairo draws nothing */
    if (r->objective && vt_figure_ready() == VITCL_OK)
        put(c, "--show-predicted", p->predicted);
    if (vt_path_exists(p->state)) {
        put(c, "--resume", NULL);
        return VITCL_OK;
    }
    /* what is left of an earlier one */
    VT_RET(vt_study_remove(p->folder));
    VT_RET(vt_study_remove(p->log));
    if (r->from[0] && r->prepare) {
        VT_RET(vt_study_folder(p->start));
        VT_RET(r->prepare(p->start, p->from, r));
        put(c, "-m", p->start);
    } else if (r->from[0] || r->model) {
        put(c, "-m", p->from);
    } else {
        VT_RET(vt_study_write(p->config, r->config));
        put(c, "--config", p->config);
    }
    put(c, "--data", j->data.path);
    put_count(c, "--epochs", r->epochs);
    put_count(c, "--batch", r->batch);
    vt_snprint(rate, ROOM, "%.9g", r->lr);
    put(c, "--lr", rate);
    put_count(c, "--random-state", r->state);
    put_count(c, "--save-every", 200);
    if (r->settings[0]) {
        VT_RET(vt_study_write(p->settings, r->settings));
        put(c, "--settings", p->settings);
    }
    if (r->freeze)
        put(c, "--freeze", r->freeze);
    if (r->augment)
        put(c, "--augment", r->augment);
    if (r->objective)
        put(c, "--objective", r->objective);
    if (r->size)
        put_count(c, "--size", r->size);
    if (r->score == VT_SCORE_HELD_OUT)
        put_count(c, "--hold-out", held_out(r));
    return VITCL_OK;
}

static void words_score(command_words *c, const paths *p,
                        const vt_experiment *e, const vt_run_job *j)
{
    const vt_run *r = j->run;

    put(c, j->stage == SCORE ? "eval" : "fewshot", NULL);
    put(c, "-m", r->untrained ? p->from : p->folder);
    put(c, "--data", j->data.path);
    put(c, "--json", NULL);
    put_count(c, "--batch", 64);
    if (e->options.device)
        put(c, "--device", e->options.device);
    if (j->stage == SCORE) {
        put(c, "--split", "test");
        return;
    }
    put_count(c, "--tries", e->tries);
    for (size_t i = 0; i < VT_SHOTS && r->shots[i]; i++)
        put_count(c, "--shots", r->shots[i]);
}

/* ---- results ---- */

/* The held-out accuracy of the last epoch. VITCL_ECORRUPT: a training that was
 * killed between a state and the log's line lacks a score. */
static vitcl_status read_held_out(double *out, const paths *p, const vt_run *r)
{
    static const char key[] = "\"held_out_accuracy\": ";
    vitcl_status st = VITCL_OK;
    vt_file f = {0};
    const char *at, *found = NULL, *end;
    char number[32] = "";
    uint32_t epochs = 0;

    VT_TRY(vt_file_read(&f, p->log, LOG_FILE));
    at = (const char *)f.data, end = at + f.size;
    while (at && at < end &&
           (at = memmem(at, (size_t)(end - at), key, sizeof key - 1)))
        at = found = at + sizeof key - 1, epochs++;
    if (epochs != r->epochs)
        VT_TRY(vt_fail(VITCL_ECORRUPT,
                       "%s: has the scores of %u epochs, not of %u; remove %s, "
                       "and it is trained again",
                       p->log, epochs, r->epochs, p->folder));
    if (found)
        snprintf(number, sizeof number, "%.*s",
                 (int)VT_MIN((size_t)(end - found), sizeof number - 1), found);
    *out = found ? strtod(number, NULL) : (double)NAN;
done:
    vt_file_close(&f);
    return st;
}

static vitcl_status read_score(double *out, const char *path)
{
    vitcl_status st = VITCL_OK;
    vt_json *json = NULL;

    VT_TRY(vt_json_load(&json, path, SMALL_FILE, 8));
    if (!vt_json_number(out, vt_json_get(json, "top1")))
        st = vt_fail(VITCL_ECORRUPT, "%s: has no top1", path);
done:
    vt_json_free(json);
    return st;
}

/* A line for each number of shots. */
static vitcl_status read_shots(vt_run *r, const char *path)
{
    vitcl_status st = VITCL_OK;
    vt_json *json = NULL;
    vt_file f = {0};
    const char *at, *end;

    VT_TRY(vt_file_read(&f, path, SMALL_FILE));
    at = (const char *)f.data, end = at + f.size;
    for (size_t i = 0; i < VT_SHOTS && r->shots[i]; i++) {
        const char *stop =
            at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;

        if (!stop)
            VT_TRY(vt_fail(VITCL_ECORRUPT, "%s: ends too early", path));
        VT_TRY(vt_json_parse(&json, at, (size_t)(stop - at), 8, path));
        if (!vt_json_number(&r->shot_mean[i], vt_json_get(json, "mean")) ||
            !vt_json_number(&r->shot_sd[i], vt_json_get(json, "sd")))
            VT_TRY(vt_fail(VITCL_ECORRUPT, "%s: has no mean", path));
        vt_json_free(json);
        json = NULL;
        at = stop + 1;
    }
done:
    vt_json_free(json);
    vt_file_close(&f);
    return st;
}

/* Not a number is null: a training that diverged. */
static int put_real(char *out, size_t room, double v)
{
    return isfinite(v) ? vt_snprint(out, room, "%.9g", v)
                       : vt_snprint(out, room, "null");
}

static vitcl_status write_result(const vt_run_job *j, const vt_experiment *e,
                                 bool diverged)
{
    vt_run r = *j->run;
    paths p;
    char path[VT_STUDY_PATH], text[1024];
    size_t n;

    r.accuracy = diverged ? 0 : (double)NAN;
    VT_RET(find_paths(&p, e, &r, TRAIN));
    if (!diverged && r.score == VT_SCORE_HELD_OUT)
        VT_RET(read_held_out(&r.accuracy, &p, &r));
    VT_RET(find_paths(&p, e, &r, SCORE));
    if (!diverged && r.score == VT_SCORE_TEST)
        VT_RET(read_score(&r.accuracy, p.out));
    VT_RET(find_paths(&p, e, &r, FEWSHOT));
    if (!diverged && r.shots[0])
        VT_RET(read_shots(&r, p.out));
    n = (size_t)vt_snprint(text, sizeof text, "{\"accuracy\": ");
#define PUT(...) n += (size_t)vt_snprint(text + n, sizeof text - n, __VA_ARGS__)
    n += (size_t)put_real(text + n, sizeof text - n, r.accuracy);
    PUT(", \"shot_mean\": [");
    for (size_t i = 0; i < VT_SHOTS; i++)
        PUT("%s%.9g", i ? ", " : "", r.shot_mean[i]);
    PUT("], \"shot_sd\": [");
    for (size_t i = 0; i < VT_SHOTS; i++)
        PUT("%s%.9g", i ? ", " : "", r.shot_sd[i]);
    PUT("], \"diverged\": %s, \"seconds\": %.1f}\n",
        diverged ? "true" : "false", (vt_now_ms() - j->began) / 1e3);
#undef PUT
    VT_RET(vt_study_result_path(path, e, &r));
    return vt_study_write(path, text);
}

/* Whether its training must begin again, since a score is missing; once. */
static bool begins_again(vt_run_job *j, const paths *p)
{
    double accuracy;

    if (j->stage != TRAIN || j->again || j->run->score != VT_SCORE_HELD_OUT ||
        read_held_out(&accuracy, p, j->run) != VITCL_ECORRUPT)
        return false;
    return j->again = true;
}

/* ---- the stages ---- */

static bool needed(const vt_run_job *j)
{
    return (j->stage == TRAIN && !j->run->untrained) ||
           (j->stage == SCORE && j->run->score == VT_SCORE_TEST) ||
           (j->stage == FEWSHOT && j->run->shots[0]);
}

/* The next stage that the run needs; after the last pid is 0. */
static vitcl_status start_stage(vt_run_job *j, const vt_experiment *e)
{
    vitcl_status st = VITCL_OK;
    command_words c = {.count = 0};
    struct stat messages;
    paths p;

    while (j->stage < STAGES && !needed(j))
        j->stage++;
    j->pid = 0;
    if (j->stage == STAGES)
        goto done;
    VT_TRY(find_paths(&p, e, j->run, j->stage));
    if (j->stage == TRAIN)
        VT_TRY(words_train(&c, &p, e, j));
    else
        words_score(&c, &p, e, j);
    j->said = stat(p.messages, &messages) == 0 ? (size_t)messages.st_size : 0;
    VT_TRY(vt_process_begin(&j->pid, e, c.word, p.out, p.messages));
done:
    return st;
}

vitcl_status vt_run_job_begin(vt_run_job *j, vt_experiment *e,
                              const vt_run *run)
{
    *j = (vt_run_job){.run = run, .began = vt_now_ms()};
    VT_RET(vt_subset_make(&j->data, e, run, run->pictures, e->tests));
    return start_stage(j, e);
}

/* A learning rate may be too large: that is a result of a sweep. An earlier
 * attempt's messages are in the same file. */
static bool diverged(const vt_run_job *j, const paths *p)
{
    vt_file f = {0};
    bool yes = false;

    if (j->stage != TRAIN || j->run->score != VT_SCORE_HELD_OUT ||
        vt_file_read(&f, p->messages, LOG_FILE) != VITCL_OK)
        return false;
    if (f.size > j->said)
        yes = memmem(f.data + j->said, f.size - j->said, "not finite", 10) !=
              NULL;
    vt_file_close(&f);
    return yes;
}

/* A picture that cannot be decoded is left out, as in training; eval and
 * fewshot then have status 1, after their result. */
static bool scored(const vt_run_job *j, const paths *p)
{
    vt_run r = *j->run;
    double top1;

    return j->stage == SCORE     ? read_score(&top1, p->out) == VITCL_OK
           : j->stage == FEWSHOT ? read_shots(&r, p->out) == VITCL_OK
                                 : false;
}

vitcl_status vt_run_job_poll(bool *done, vt_run_job *j, const vt_experiment *e)
{
    vitcl_status st;
    bool ended;
    int code;
    paths p;

    *done = false;
    VT_TRY(vt_process_poll(&ended, &code, j->pid));
    if (!ended)
        goto done;
    j->pid = 0;
    VT_TRY(find_paths(&p, e, j->run, j->stage));
    if (code != 0 && diverged(j, &p)) {
        *done = true;
        return write_result(j, e, true);
    }
    if (code != 0 && !(code == 1 && scored(j, &p))) {
        char line[512];

        vt_study_last_line(line, sizeof line, p.messages);
        st = vt_fail(VITCL_EIO,
                     "run %s failed (exit status %d): %s; all its "
                     "messages are in %s",
                     j->run->name, code, line, p.messages);
        goto done;
    }
    if (begins_again(j, &p))
        VT_TRY(vt_study_remove(p.state));
    else
        j->stage++;
    VT_TRY(start_stage(j, e));
    if (!j->pid) {
        *done = true;
        VT_TRY(write_result(j, e, false));
    }
done:
    return st;
}
