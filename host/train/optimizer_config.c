/*
 * optimizer_config.c - optimiser settings from JSON, in torch's words.
 */
#include "base/memory.h"
#include "train/trainer.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    vt_optimizer optimizer;
} optimizers[] = {{"adamw", VT_ADAMW}, {"adam", VT_ADAM}, {"sgd", VT_SGD}};

/* The largest limit below 1 that a float still distinguishes from 1; 1 itself
 * would stop all updates or divide by zero. */
#define BELOW_ONE 0.999999

vitcl_status vt_optimizer_config_keys(const vt_json *settings,
                                      const char *const *more, const char *name)
{
    static const char *const keys[] = {
        "optimizer", "betas",        "eps",
        "momentum",  "weight_decay", "clip_grad_norm",
        "dropout",   "drop_path",    "label_smoothing",
        "ema",       "lora_alpha"};

    if (!vt_json_is_object(settings))
        return vt_fail(VITCL_ECORRUPT, "%s: the settings must be a JSON object",
                       name);
    for (const vt_json *m = vt_json_first(settings); m; m = vt_json_next(m)) {
        const char *const *other = more;
        size_t i = 0;

        while (i < VT_COUNT(keys) && strcmp(vt_json_key(m), keys[i]) != 0)
            i++;
        while (*other && strcmp(vt_json_key(m), *other) != 0)
            other++;
        if (i == VT_COUNT(keys) && !*other)
            return vt_fail(VITCL_ECORRUPT,
                           "%s: unknown setting \"%.80s\"; vitcl(1) lists "
                           "all settings",
                           name, vt_json_key(m));
    }
    return VITCL_OK;
}

vitcl_status vt_optimizer_config_word(const char **out, const vt_json *settings,
                                      const char *key, const char *name)
{
    const vt_json *v = vt_json_get(settings, key);

    if (v && !vt_json_string(out, v))
        return vt_fail(VITCL_ECORRUPT, "%s: \"%s\" must be a string", name,
                       key);
    return VITCL_OK;
}

vitcl_status vt_optimizer_config_change(vt_optimizer_config *out,
                                        const vt_json *settings,
                                        const char *name)
{
    vt_optimizer_config r = *out;
    const vt_json *betas = vt_json_get(settings, "betas");
    const char *word = "";
    size_t i = 0;

    for (; i < VT_COUNT(optimizers); i++)
        if (optimizers[i].optimizer == r.optimizer)
            word = optimizers[i].name;
    i = 0;
    VT_RET(vt_optimizer_config_word(&word, settings, "optimizer", name));
    while (i < VT_COUNT(optimizers) && strcmp(word, optimizers[i].name) != 0)
        i++;
    if (i == VT_COUNT(optimizers))
        return vt_fail(VITCL_ECORRUPT,
                       "%s: optimizer \"%s\" is none of adamw, adam, sgd", name,
                       word);
    r.optimizer = optimizers[i].optimizer;
    if (betas && (!vt_json_is_array(betas) || vt_json_count(betas) != 2))
        return vt_fail(VITCL_ECORRUPT, "%s: \"betas\" must be two numbers",
                       name);
#define FIELD(member, json, key, low, high)                                    \
    VT_RET(vt_json_within(&r.member, json, key, low, high, name))
    FIELD(momentum, vt_json_get(settings, "momentum"), "momentum", 0, 1);
    FIELD(beta1, vt_json_at(betas, 0), "betas", 0, BELOW_ONE);
    FIELD(beta2, vt_json_at(betas, 1), "betas", 0, BELOW_ONE);
    FIELD(eps, vt_json_get(settings, "eps"), "eps", 0, 1);
    FIELD(weight_decay, vt_json_get(settings, "weight_decay"), "weight_decay",
          0, 1e3);
    FIELD(clip_norm, vt_json_get(settings, "clip_grad_norm"), "clip_grad_norm",
          0, 1e9);
    FIELD(label_smoothing, vt_json_get(settings, "label_smoothing"),
          "label_smoothing", 0, 1);
    FIELD(dropout, vt_json_get(settings, "dropout"), "dropout", 0, 0.99);
    FIELD(drop_path, vt_json_get(settings, "drop_path"), "drop_path", 0, 0.99);
    FIELD(lora_alpha, vt_json_get(settings, "lora_alpha"), "lora_alpha", 0,
          1e6);
    FIELD(ema, vt_json_get(settings, "ema"), "ema", 0, BELOW_ONE);
#undef FIELD
    *out = r;
    return VITCL_OK;
}

vitcl_status vt_optimizer_config_used(const vt_optimizer_config *c,
                                      const vt_json *settings, const char *name)
{
    static const char *const keys[] = {"betas", "eps", "momentum"};

    for (size_t i = 0; i < VT_COUNT(keys); i++) {
        const bool sgd = strcmp(keys[i], "momentum") == 0;

        if (vt_json_get(settings, keys[i]) && sgd != (c->optimizer == VT_SGD))
            return vt_fail(VITCL_ECORRUPT, "%s: \"%s\" needs \"optimizer\": %s",
                           name, keys[i],
                           sgd ? "\"sgd\"" : "\"adamw\" or \"adam\"");
    }
    if (vt_json_get(settings, "lora_alpha") && !c->lora &&
        !vt_json_get(settings, "lora")) /* of `vitcl step` */
        return vt_fail(VITCL_ECORRUPT, "%s: \"lora_alpha\" needs lora", name);
    return VITCL_OK;
}

double vt_optimizer_config_lora(const vt_optimizer_config *c)
{
    return c->lora && c->lora_alpha > 0 ? c->lora_alpha / c->lora : 1;
}

vitcl_status vt_optimizer_config_read(vt_optimizer_config *out,
                                      const vt_json *settings, const char *name)
{
    vt_optimizer_config r = {.optimizer = VT_ADAMW,
                             .momentum = 0.9,
                             .beta1 = 0.9,
                             .beta2 = 0.999,
                             .eps = 1e-8};

    VT_RET(vt_optimizer_config_change(&r, settings, name));
    VT_RET(vt_optimizer_config_used(&r, settings, name));
    *out = r;
    return VITCL_OK;
}
