/*
 * half_choice.c - measure which 16-bit precision is faster on a device.
 *
 * bf16 dot products are twice as fast as f32 on one CPU and half as fast on
 * another, and both advertise them. So neither names nor flags decide, but one
 * multiplication of a ViT's size, timed once for each device, driver and
 * version. The program vitcl-try does it, with one process for each precision.
 * The result is kept on disk, and in the process if the disk cache is off.
 */
#include "gemm/half_choice.h"

#include "base/attempt.h"
#include "base/log.h"
#include "base/memory.h"
#include "gemm/decisions.h"
#include "gemm/measure.h"
#include "gemm/precision.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { M = 197, N = 768, K = 768, KNOWN = 16 };

static struct known {
    char id[16], gemm[16];
    vitcl_precision precision;
} known[KNOWN];
static int known_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of these two */

vitcl_status vt_half_measure(double *ms, vt_dev *dev, const char *provider,
                             vt_dtype type)
{
    const vt_gemm_desc d = vt_timed_desc(dev, type, M, N, K);
    static const vt_rounds rounds = {.least = 6}; /* the first one warms up */
    vt_timed t = {.q = NULL};
    vitcl_status st;

    VT_TRY(vt_timed_new(&t, dev, provider, &d, NULL, NULL));
    VT_TRY(vt_measure((vt_timed *[]){&t}, 1, &rounds));
    *ms = t.best;
done:
    vt_timed_free(&t);
    return st;
}

static vitcl_status measure(double *ms, const vt_dev *dev, const char *gemm,
                            vitcl_precision precision)
{
    const vitcl_device_info *info = vt_dev_info(dev);
    const char *name = vt_precision_name(precision);
    char answer[32];
    const vt_attempt a = {
        .words = {"half", info->id, info->name, info->driver, gemm, name}};
    vitcl_status st;

    VT_TRY(vt_attempt_run(answer, sizeof answer, &a));
    *ms = vt_attempt_number(answer);
    if (!(*ms > 0))
        st = vt_fail(VITCL_EDEVICE, "the time measured for %s is zero", name);
done:
    return st;
}

/* Whether vitcl-try could not measure it. */
static bool unknown(vitcl_status st)
{
    return st == VITCL_EIO || st == VITCL_ENOMEM || st == VITCL_ESTOPPED;
}

static vitcl_status compare(vitcl_precision *out, vt_dev *dev, const char *gemm)
{
    double bf16 = 1e30, f16 = 1e30;
    char question[32], word[VT_DECISION];
    vitcl_precision stored;
    vt_gemm_desc d;
    vitcl_status a, b;

    snprintf(question, sizeof question, "half by %.16s", gemm);
    if (vt_decision_load(word, dev, question) &&
        vt_precision_parse(&stored, word) &&
        (stored == VITCL_F16 || stored == VITCL_BF16)) {
        *out = stored;
        return VITCL_OK;
    }
    for (int i = 0; i < 2; i++) { /* instructions are tried first */
        d = vt_timed_desc(dev, i ? VT_F16 : VT_BF16, M, N, K);
        (void)vt_gemm_layout(dev, gemm, &d);
    }
    a = measure(&bf16, dev, gemm, VITCL_BF16);
    b = unknown(a) ? a : measure(&f16, dev, gemm, VITCL_F16);
    if (unknown(b)) {
        vt_log("half by %s: bf16, untimed: %s", gemm, vt_message());
        *out = VITCL_BF16;
        return VITCL_OK;
    }
    if (a != VITCL_OK && b != VITCL_OK)
        return b; /* with its error message */
    /* On a tie bf16, which does not overflow. */
    *out = b == VITCL_OK && (a != VITCL_OK || f16 < 0.97 * bf16) ? VITCL_F16
                                                                 : VITCL_BF16;
    vt_log("half by %s: bf16 %.3f ms, f16 %.3f ms", gemm,
           a == VITCL_OK ? bf16 : 0, b == VITCL_OK ? f16 : 0);
    vt_decision_save(dev, question, vt_precision_name(*out));
    return VITCL_OK;
}

/* A measurement of this process. */
static bool recall(vitcl_precision *out, const char *id, const char *gemm)
{
    bool found = false;

    pthread_mutex_lock(&lock);
    for (int i = 0; i < known_count && !found; i++)
        if (strcmp(known[i].id, id) == 0 && strcmp(known[i].gemm, gemm) == 0) {
            *out = known[i].precision;
            found = true;
        }
    pthread_mutex_unlock(&lock);
    return found;
}

static void remember(const char *id, const char *gemm, vitcl_precision which)
{
    pthread_mutex_lock(&lock);
    if (known_count < KNOWN) {
        struct known *k = &known[known_count++];

        snprintf(k->id, sizeof k->id, "%s", id);
        snprintf(k->gemm, sizeof k->gemm, "%s", gemm);
        k->precision = which;
    }
    pthread_mutex_unlock(&lock);
}

vitcl_status vt_half_choose(vitcl_precision *out, vt_dev *dev,
                            const char *wanted)
{
    const char *id = vt_dev_info(dev)->id, *gemm = NULL;
    vitcl_status st;
    vt_turn turn;

    VT_TRY(vt_gemm_provider(&gemm, dev, wanted));
    vt_decision_turn(&turn, dev, "half");
    if (!recall(out, id, gemm)) {
        st = compare(out, dev, gemm);
        if (st == VITCL_OK)
            remember(id, gemm, *out);
    }
    vt_turn_end(&turn);
done:
    return st;
}
