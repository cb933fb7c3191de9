/*
 * half_choice.c - measure which 16-bit precision is faster on a device.
 *
 * bf16 dot products are twice as fast as f32 on one CPU and half as fast on
 * another, and both advertise them. So neither names nor flags decide, but one
 * multiplication of a ViT's size, timed once for each device, driver and
 * version. The program vitcl-try does it, with one process for each precision.
 */
#include "product/half_choice.h"

#include "base/attempt.h"
#include "base/log.h"
#include "base/memory.h"
#include "ocl/precision.h"
#include "product/choices.h"
#include "product/product.h"
#include "product/state.h"
#include "units/verdicts.h"

#include <stdio.h>
#include <string.h>

static vitcl_status measure(double *ms, const vt_dev *dev, const char *gemm,
                            vitcl_precision precision)
{
    const vitcl_device_info *info = vt_dev_info(dev);
    const char *name = vt_precision_name(precision);
    char answer[32];
    const vt_attempt a = {
        .words = {"half", info->id, info->name, info->driver, gemm, name}};

    VT_RET(vt_attempt_run(answer, sizeof answer, &a));
    *ms = vt_attempt_number(answer);
    if (!(*ms > 0))
        return vt_fail(VITCL_EDEVICE, "the time measured for %s is zero", name);
    return VITCL_OK;
}

vt_gemm_desc vt_half_product(const vt_dev *dev, vt_dtype type)
{
    enum { M = 197, N = 768, K = 768 };

    return vt_timed_desc(dev, type, M, N, K);
}

/* Whether vitcl-try could not measure it. */
static bool unknown(vitcl_status st)
{
    return st == VITCL_EIO || st == VITCL_ENOMEM || st == VITCL_ESTOPPED;
}

static vitcl_status compare(vitcl_precision *out, vt_dev *dev, const char *gemm)
{
    /* of all forms that may be timed */
    static const char *const sources[] = {
        "gemm_rows",          "gemm_dot",        "gemm_dot_pack",
        "gemm_dot_rows",      "gemm_tile",       "gemm_mma_copies",
        "gemm_mma_registers", "gemm_mma_blocks", "gemm_mma_pack",
        "gemm_sum",           "gemm_plain",      NULL};
    double bf16 = 1e30, f16 = 1e30;
    char word[VT_VERDICT];
    vt_subject subject = {.sources = sources};
    vitcl_precision stored;
    vt_product p;
    vitcl_status a, b;

    snprintf(subject.question, sizeof subject.question, "half by %.16s", gemm);
    vt_choice_variables(subject.question, sizeof subject.question);
    if (vt_verdict_load(word, dev, &subject) &&
        vt_precision_parse(&stored, word) &&
        (stored == VITCL_F16 || stored == VITCL_BF16)) {
        *out = stored;
        return VITCL_OK;
    }
    for (int i = 0; i < 2; i++) { /* instructions are tried first */
        const vt_gemm_desc d = vt_half_product(dev, i ? VT_F16 : VT_BF16);

        (void)vt_product_of(&p, dev, gemm, &d);
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
    vt_verdict_save(dev, &subject, vt_precision_name(*out));
    return VITCL_OK;
}

/* What this process has measured, also where nothing is kept on disk. */
static bool recall(vitcl_precision *out, const vt_product_state *s,
                   const char *gemm)
{
    for (int i = 0; i < s->halves; i++)
        if (strcmp(s->half[i].provider, gemm) == 0) {
            *out = s->half[i].precision;
            return true;
        }
    return false;
}

static void remember(vt_product_state *s, const char *gemm,
                     vitcl_precision which)
{
    if ((size_t)s->halves < VT_COUNT(s->half)) {
        snprintf(s->half[s->halves].provider, sizeof s->half[0].provider, "%s",
                 gemm);
        s->half[s->halves++].precision = which;
    }
}

vitcl_status vt_half_choose(vitcl_precision *out, vt_dev *dev,
                            const char *wanted)
{
    vt_product_state *s = vt_product_state_of(dev);
    const char *gemm = NULL;
    vitcl_status st;
    vt_turn turn;

    VT_TRY(vt_product_provider(&gemm, dev, wanted));
    vt_verdict_turn(&turn, dev, "half");
    if (!recall(out, s, gemm)) {
        st = compare(out, dev, gemm);
        if (st == VITCL_OK)
            remember(s, gemm, *out);
    }
    vt_turn_end(&turn);
done:
    return st;
}
