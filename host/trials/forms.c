/*
 * forms.c - trials of attention on matrix units and of its gradients: what
 * both compute and time.
 */
#include "trials/forms.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "ops/attention_heads.h"
#include "ops/attention_tiles.h"

#include <stdio.h>

float vt_mma_element(int i)
{
    return (float)((unsigned)i * 2654435761u >> 26) / 16 - 2;
}

vitcl_status vt_mma_problem_new(vt_mma_problem *p, vt_dev *dev, int pictures,
                                int tokens, const size_t *bytes, int n, int out)
{
    const size_t all = (size_t)pictures * (size_t)tokens;

    *p = (vt_mma_problem){.pictures = pictures, .tokens = tokens};
    VT_RET(vt_queue_new(&p->q, dev, VT_TIMES_NONE));
    for (int i = 0; i < n; i++) {
        VT_RET(vt_buf_new(&p->b[i], dev, all * bytes[i]));
        /* NaN, or numbers in f32 and in 16 bits */
        VT_RET(
            vt_buf_fill(p->q, p->b[i], i == out ? 0x7fc00000u : 0x3e803e80u));
    }
    return VITCL_OK;
}

void vt_mma_problem_free(vt_mma_problem *p)
{
    for (size_t i = 0; i < VT_COUNT(p->b); i++)
        vt_buf_free(p->b[i]);
    vt_queue_free(p->q);
}

vitcl_status vt_mma_form_add(vt_kernel **out, vt_mma_form *f,
                             const vt_mma_problem *p, const char *file,
                             const char *name, const char *defines,
                             const int *args)
{
    const int t = p->tokens, v[] = {p->pictures, HEADS, t, t,    t * TOKEN,
                                    TOKEN,       TOKEN, C, 2 * C};
    vt_kernel **k = &f->k[f->n++];
    unsigned at = 0;

    f->best = 1e30;
    VT_RET(vt_kernel_new(k, vt_queue_dev(p->q), file, name, defines));
    for (; args[at] >= 0; at++)
        VT_RET(vt_kernel_buf(*k, at, p->b[args[at]]));
    VT_RET(vt_kernel_buf(*k, at++, NULL));
    for (size_t i = 0; i < VT_COUNT(v); i++)
        VT_RET(vt_kernel_int(*k, at++, v[i]));
    VT_RET(vt_kernel_float(*k, at, 0.125f));
    *out = *k;
    return VITCL_OK;
}

vitcl_status vt_mma_form_unit(vt_mma_form *f, const vt_mma_problem *p,
                              vt_mma_choice c, vt_dtype type, vt_dtype stored,
                              const int *args)
{
    const vt_mma_heads h = vt_mma_heads_of(vt_queue_dev(p->q), c, D, p->tokens,
                                           false, stored == VT_F32);
    char common[112], defines[160];
    vt_kernel *k;

    vt_mma_heads_define(common, sizeof common, &h, c, type, D);
    snprintf(defines, sizeof defines, "%s -DQT=%s -DKVT=%s", common,
             vt_dtype_name(stored), vt_dtype_name(stored));
    VT_RET(vt_mma_form_add(&k, f, p, "attention_mma", "attention_mma", defines,
                           args));
    vt_kernel_size(
        k, 1,
        (size_t[3]){vt_mma_heads_items(&h, p->tokens, HEADS * p->pictures)},
        (size_t[3]){h.items});
    return VITCL_OK;
}

vitcl_status vt_mma_form_tiles(vt_mma_form *f, const vt_mma_problem *p,
                               vt_dtype stored, const int *args)
{
    const vt_query_tiles t = vt_query_tiles_of(vt_queue_dev(p->q), D);
    const size_t groups = ((size_t)p->tokens + t.items - 1) / t.items;
    char defines[96];
    vt_kernel *k;

    snprintf(defines, sizeof defines, "%s -DQT=%s -DKVT=%s", t.defines,
             vt_dtype_name(stored), vt_dtype_name(stored));
    VT_RET(vt_mma_form_add(&k, f, p, "attention", "attention__tiled", defines,
                           args));
    vt_kernel_size(k, 3,
                   (size_t[3]){groups * t.items, HEADS, (size_t)p->pictures},
                   (size_t[3]){t.items, 1, 1});
    return VITCL_OK;
}

vitcl_status vt_mma_form_run(vt_mma_form *f, const vt_mma_problem *p)
{
    const double from = vt_now_ms();

    for (int i = 0; i < f->n; i++)
        VT_RET(vt_kernel_launch(p->q, f->k[i]));
    VT_RET(vt_queue_finish(p->q));
    f->best = VT_MIN(f->best, vt_now_ms() - from);
    return VITCL_OK;
}

void vt_mma_form_free(vt_mma_form *f)
{
    for (int i = 0; i < f->n; i++)
        vt_kernel_free(f->k[i]);
}

int vt_mma_race_pictures(vt_mma_choice c)
{
    return c.emulated ? 1 : VIT_PICTURES;
}

/* In turns, as a machine's speed drifts; the first round warms up. */
vitcl_status vt_mma_race(bool *faster, vt_mma_form *unit, vt_mma_form *tiles,
                         const vt_mma_problem *p, vt_mma_choice c,
                         const char *what)
{
    enum { ROUNDS = 8 };

    for (int i = 0; i < (c.emulated ? 2 : ROUNDS); i++) {
        VT_RET(vt_mma_form_run(unit, p));
        VT_RET(vt_mma_form_run(tiles, p));
    }
    vt_log("%s, %s: %.3f ms, without matrix units %.3f ms", what,
           vt_mma_kinds[c.kind].name, unit->best, tiles->best);
    *faster = unit->best * 7 < tiles->best * 6;
    return VITCL_OK;
}
