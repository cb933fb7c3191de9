/*
 * resolution.c - section 3.2: a model that was trained on pictures of half the
 * side is fine-tuned at the whole side. Its positions are interpolated in two
 * dimensions, or in one, drawn anew, or there are none.
 */
#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"
#include "study/study.h"
#include "weights/weights.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CONFIG_MOST = 1 << 20, TENSORS_MOST = 4096 };
static const double rates[] = {0.01, 0.03, 0.1};
enum { RATES = sizeof rates / sizeof *rates };
static const double first_rate = 1.5e-3;

/* ---- other positions for a checkpoint ---- */

/* Row `at` of n in total, between rows of `from`, which has `rows`. */
static void between(float *out, const float *from, size_t rows, size_t at,
                    size_t n, size_t width)
{
    const double x = ((double)at + 0.5) * (double)rows / (double)n - 0.5;
    const double low = fmin(fmax(floor(x), 0), (double)(rows - 1));
    const size_t a = (size_t)low, b = a + 1 < rows ? a + 1 : a;
    const double part = fmin(fmax(x - low, 0), 1);

    for (size_t i = 0; i < width; i++)
        out[i] = (float)((1 - part) * from[a * width + i] +
                         part * from[b * width + i]);
}

/* The class token's row stays; the patches' become four times as many. */
static void new_positions(float *out, const float *old, size_t rows,
                          size_t width, const vt_run *run)
{
    const bool drawn = strstr(run->arm, "redrawn") != NULL;
    vt_random random = vt_random_new(run->state, 0x705, 0);

    memcpy(out, old, width * sizeof *out);
    for (size_t k = 0; k < 4 * rows; k++) {
        float *row = out + (k + 1) * width;

        if (!drawn) {
            between(row, old + width, rows, k, 4 * rows, width);
            continue;
        }
        for (size_t i = 0; i < width; i++)
            row[i] = (float)(0.02 * vt_random_normal(&random));
    }
}

static vitcl_status change(vt_tensor *t, uint8_t **bytes, const vt_run *run)
{
    vitcl_status st = VITCL_OK;
    float *old = NULL, *changed = NULL;
    const size_t rows = t->shape[1] - 1, width = t->shape[2];

    VT_TRY(VT_NEW(&old, t->count));
    VT_TRY(VT_NEW(&changed, (4 * rows + 1) * width));
    VT_TRY(vt_tensor_f32(old, t));
    new_positions(changed, old, rows, width, run);
    t->shape[1] = 4 * rows + 1;
    t->count = t->shape[1] * width;
    t->dtype = VT_FILE_F32;
    t->size = t->count * sizeof(float);
    *bytes = (uint8_t *)changed;
    changed = NULL;
done:
    free(old);
    free(changed);
    return st;
}

static vitcl_status write_weights(const char *to, const char *from,
                                  const vt_run *run)
{
    vitcl_status st;
    vt_tensors *file = NULL;
    vt_tensor *all = NULL;
    uint8_t **bytes = NULL;
    char *path = NULL;
    size_t n = 0;

    VT_TRY(vt_tensors_open(&file, from));
    n = VT_MIN(vt_tensors_count(file), (size_t)TENSORS_MOST);
    VT_TRY(VT_NEW(&all, n + 1));
    VT_TRY(VT_NEW(&bytes, n + 1));
    for (size_t i = 0; i < n; i++) {
        all[i] = *vt_tensors_at(file, i);
        if (strcmp(all[i].name, "pos_embed") == 0 && all[i].rank == 3 &&
            all[i].shape[1] > 1) {
            VT_TRY(change(&all[i], &bytes[i], run));
        } else {
            VT_TRY(VT_NEW(&bytes[i], all[i].size));
            VT_TRY(vt_tensor_bytes(bytes[i], &all[i], 0, all[i].size));
        }
        all[i].data = bytes[i];
    }
    VT_TRY(vt_format(&path, "%s/model.safetensors", to));
    VT_TRY(vt_safetensors_write(path, all, n, NULL));
done:
    for (size_t i = 0; bytes && i < n; i++)
        free(bytes[i]);
    free(bytes);
    free(all);
    free(path);
    vt_tensors_free(file);
    return st;
}

/* The config with twice the sides: "[16, 16]" and "[3, 16, 16]". */
static vitcl_status write_config(const char *to, const char *from,
                                 const vt_run *run)
{
    vitcl_status st;
    vt_file f = {0};
    vt_newfile out = {0};
    char *path = NULL, old[32];
    const char *at, *end;
    const uint32_t half = run->size / 2;
    const size_t size =
        (size_t)snprintf(old, sizeof old, "%u, %u]", half, half);

    VT_TRY(vt_format(&path, "%s/config.json", from));
    VT_TRY(vt_file_read(&f, path, CONFIG_MOST));
    free(path), path = NULL;
    VT_TRY(vt_format(&path, "%s/config.json", to));
    VT_TRY(vt_newfile_open(&out, path));
    at = (const char *)f.data, end = at + f.size;
    while (at < end) {
        if ((size_t)(end - at) >= size && memcmp(at, old, size) == 0) {
            fprintf(out.f, "%u, %u]", run->size, run->size);
            at += size;
        } else {
            fputc(*at++, out.f);
        }
    }
    VT_TRY(vt_newfile_commit(&out));
done:
    vt_newfile_discard(&out);
    vt_file_close(&f);
    free(path);
    return st;
}

static vitcl_status prepare(const char *to, const char *from, const vt_run *run)
{
    VT_RET(write_config(to, from, run));
    return write_weights(to, from, run);
}

/* ---- runs ---- */

typedef struct arm {
    const char *name, *from;
    bool changed;
} arm;
static const arm arms[] = {{"2-d", "small", false},
                           {"1-d", "small", true},
                           {"redrawn", "small", true},
                           {"none", "small-none", false}};
enum { ARMS = sizeof arms / sizeof *arms };

/* Sides that are a multiple of 8: half of them has whole patches of 4. */
static uint32_t whole_side(const vt_experiment *e)
{
    return (vt_study_side(e) + 7) / 8 * 8;
}

static const char *positions(const char *from)
{
    return strcmp(from, "small") == 0 ? "" : ", \"pos_embed\": \"none\"";
}

static void add_small(vt_experiment *e, const char *name)
{
    vt_run r = {.score = VT_SCORE_TEST, .size = whole_side(e) / 2};

    vt_run_vit(&r, e, positions(name));
    vt_run_arm(&r, name);
    vt_study_repeat(e, &r, first_rate);
}

static vt_run large(const vt_experiment *e, const arm *a, uint32_t state)
{
    vt_run r = {.score = VT_SCORE_TEST,
                .size = whole_side(e),
                .epochs = vt_study_epochs(e) > 4 ? vt_study_epochs(e) / 4 : 1,
                .prepare = a->changed ? prepare : NULL};

    vt_run_vit(&r, e, positions(a->from));
    vt_run_arm(&r, a->name);
    snprintf(r.from, sizeof r.from, "%s-%u", a->from, state);
    r.state = state;
    return r;
}

static void list(vt_experiment *e)
{
    add_small(e, "small");
    add_small(e, "small-none");
    for (int i = 0; i < ARMS; i++) {
        const vt_run first = large(e, &arms[i], 1);
        const double rate = vt_study_sweep(e, &first, rates, RATES);

        for (uint32_t k = 1; k <= vt_study_tries(e); k++) {
            vt_run r = large(e, &arms[i], k);

            snprintf(r.name, sizeof r.name, "%.40s-%u", r.arm, k);
            r.lr = rate;
            vt_run_add(e, &r);
        }
    }
}

static void read(vt_experiment *e)
{
    vt_study_result r[ARMS], small;
    const double side = whole_side(e);
    int better = 0;

    small = vt_study_add_arm(e, "small", side / 2, (double)NAN);
    vt_study_add_arm(e, "small-none", side / 2, (double)NAN);
    for (int i = 0; i < ARMS; i++) {
        r[i] = vt_study_add_arm(e, arms[i].name, side, (double)NAN);
        vt_study_add_sweep(e, arms[i].name);
        better += i > 0 && vt_study_above(&r[0], &r[i]);
    }
    vt_study_say(e,
                 better == ARMS - 1
                     ? "Reproduced: positions that are interpolated "
                       "in two dimensions are better than all others"
                     : "Not reproduced at this size: positions that "
                       "are interpolated in two dimensions are better "
                       "than %d of %d others",
                 better, ARMS - 1);
    vt_study_say(
        e, " (2-D %.1f %%, 1-D %.1f %%, drawn anew %.1f %%, none %.1f %%). ",
        100 * r[0].mean, 100 * r[1].mean, 100 * r[2].mean, 100 * r[3].mean);
    vt_study_say(
        e, "Before, at %.0f pixels, it is %.1f %%: the higher resolution %s.",
        side / 2, 100 * small.mean,
        vt_study_above(&r[0], &small)   ? "helps"
        : vt_study_above(&small, &r[0]) ? "does not help in so few epochs"
                                        : "makes no difference beyond chance");
}

const vt_study vt_study_resolution = {
    .name = "resolution",
    .paper = "section 3.2",
    .what = "fine-tuning at twice the side: positions interpolated in 2-D, in "
            "1-D, drawn anew, none",
    .list = list,
    .read = read,
    .x = "pixels a side",
    .y = "test accuracy",
    .note = "The paper fine-tunes at a higher resolution and interpolates the "
            "positions in two dimensions. It has no figures for others.",
};
