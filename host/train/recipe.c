/*
 * recipe.c - optimiser settings from JSON, in torch's words.
 */
#include "base/memory.h"
#include "train/trainer.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    vt_optimizer optimizer;
} optimizers[] = {{"adamw", VT_ADAMW}, {"adam", VT_ADAM}, {"sgd", VT_SGD}};

vitcl_status vt_recipe_change(vt_recipe *out, const vt_json *settings,
                              const char *name)
{
    vitcl_status st = VITCL_OK;
    vt_recipe r = *out;
    const vt_json *betas = vt_json_get(settings, "betas");
    const char *word = "";
    size_t i = 0;

    for (; i < VT_COUNT(optimizers); i++)
        if (optimizers[i].optimizer == r.optimizer)
            word = optimizers[i].name;
    i = 0;
    vt_json_string(&word, vt_json_get(settings, "optimizer"));
    while (i < VT_COUNT(optimizers) && strcmp(word, optimizers[i].name) != 0)
        i++;
    if (i == VT_COUNT(optimizers))
        return vt_fail(VITCL_ECORRUPT,
                       "%s: optimizer \"%s\" is none of adamw, adam, sgd", name,
                       word);
    r.optimizer = optimizers[i].optimizer;
#define FIELD(member, json, key, low, high)                                    \
    VT_TRY(vt_json_within(&r.member, json, key, low, high, name))
    FIELD(momentum, vt_json_get(settings, "momentum"), "momentum", 0, 1);
    FIELD(beta1, vt_json_at(betas, 0), "betas", 0, 1);
    FIELD(beta2, vt_json_at(betas, 1), "betas", 0, 1);
    FIELD(eps, vt_json_get(settings, "eps"), "eps", 0, 1);
    FIELD(weight_decay, vt_json_get(settings, "weight_decay"), "weight_decay",
          0, 1e3);
    FIELD(clip_norm, vt_json_get(settings, "clip_grad_norm"), "clip_grad_norm",
          0, 1e9);
    FIELD(label_smoothing, vt_json_get(settings, "label_smoothing"),
          "label_smoothing", 0, 1);
    FIELD(dropout, vt_json_get(settings, "dropout"), "dropout", 0, 0.99);
    FIELD(drop_path, vt_json_get(settings, "drop_path"), "drop_path", 0, 0.99);
    FIELD(ema, vt_json_get(settings, "ema"), "ema", 0, 1);
#undef FIELD
    *out = r;
done:
    return st;
}

vitcl_status vt_recipe_read(vt_recipe *out, const vt_json *settings,
                            const char *name)
{
    vitcl_status st;
    vt_recipe r = {.optimizer = VT_ADAMW,
                   .momentum = 0.9,
                   .beta1 = 0.9,
                   .beta2 = 0.999,
                   .eps = 1e-8};

    VT_TRY(vt_recipe_change(&r, settings, name));
    *out = r;
done:
    return st;
}
