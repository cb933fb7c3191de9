/*
 * config_read.c - strings and numbers of a config, names and shapes of tensors.
 */
#include "models/config.h"
#include "models/family.h"
#include "models/fields.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *vt_config_text(const vt_json *o, const char *key)
{
    const char *s = "";

    return vt_json_string(&s, vt_json_get(o, key)) ? s : "";
}

static bool integer(int *out, const vt_json *o, const char *key, int least,
                    int most, const char **bad)
{
    const vt_json *v = vt_json_get(o, key);
    uint64_t n = 0;

    if (!v || vt_json_is_null(v))
        return false;
    if (!vt_json_uint(&n, v) || n < (uint64_t)least || n > (uint64_t)most) {
        *bad = key;
        return false;
    }
    *out = (int)n;
    return true;
}

bool vt_config_number(int *out, const vt_json *o, const char *key, int most,
                      const char **bad)
{
    return integer(out, o, key, 1, most, bad);
}

bool vt_config_count(int *out, const vt_json *o, const char *key, int most,
                     const char **bad)
{
    return integer(out, o, key, 0, most, bad);
}

bool vt_config_pair(int *h, int *w, const vt_json *o, const char *key,
                    const char **bad)
{
    const vt_json *v = vt_json_get(o, key);
    size_t n = vt_json_count(v);
    uint64_t a = 0, b = 0;

    if (!v || vt_json_is_null(v))
        return false;
    if (!vt_json_is_array(v)) {
        if (!vt_config_number(h, o, key, VT_MOST_PIXELS, bad))
            return false;
        *w = *h;
        return true;
    }
    if (n != 2 + (strcmp(key, "input_size") == 0) ||
        !vt_json_uint(&a, vt_json_at(v, n - 2)) ||
        !vt_json_uint(&b, vt_json_at(v, n - 1)) || a < 1 || b < 1 ||
        a > VT_MOST_PIXELS || b > VT_MOST_PIXELS) {
        *bad = key;
        return false;
    }
    *h = (int)a;
    *w = (int)b;
    return true;
}

/* The name in Hugging Face and in timm, which are written, and others that are
 * read. NULL: the library has none. */
static const struct {
    const char *hf, *timm, *more;
} acts[VT_ACTS] = {
    [VT_ACT_NONE] = {"linear", "identity", ""},
    [VT_ACT_GELU] = {"gelu", "gelu", "gelu_python"},
    [VT_ACT_GELU_TANH] = {"gelu_pytorch_tanh", "gelu_tanh",
                          "gelu_new|gelu_fast|gelu_accurate|gelu_python_tanh"},
    [VT_ACT_GELU_QUICK] = {"quick_gelu", "quick_gelu", "quickgelu"},
    [VT_ACT_TANH] = {"tanh", "tanh", ""},
    [VT_ACT_RELU] = {"relu", "relu", ""},
    [VT_ACT_SILU] = {"silu", "silu", "swish"},
    [VT_ACT_SIGMOID] = {"sigmoid", "sigmoid", ""},
    [VT_ACT_RELU6] = {"relu6", "relu6", ""},
    [VT_ACT_RELU2] = {"relu2", NULL, ""},
    [VT_ACT_RELU_LEAKY] = {"leaky_relu", "leaky_relu", ""},
    [VT_ACT_ELU] = {NULL, "elu", "celu"},
    [VT_ACT_SELU] = {NULL, "selu", ""},
    [VT_ACT_MISH] = {"mish", "mish", ""},
    [VT_ACT_SIGMOID_HARD] = {NULL, "hard_sigmoid", "hardsigmoid"},
    [VT_ACT_SWISH_HARD] = {"hardswish", "hard_swish", ""},
    [VT_ACT_MISH_HARD] = {NULL, "hard_mish", ""},
    [VT_ACT_GELU_10] = {"gelu_10", NULL, ""},
    [VT_ACT_LAPLACE] = {"laplace", NULL, ""},
};

const char *vt_act_hf(vt_act act)
{
    return acts[act].hf;
}

const char *vt_act_timm(vt_act act)
{
    return acts[act].timm;
}

bool vt_act_parse(vt_act *out, const char *word)
{
    for (int i = 0; word[0] && i < VT_ACTS; i++)
        if ((acts[i].hf && strcmp(acts[i].hf, word) == 0) ||
            (acts[i].timm && strcmp(acts[i].timm, word) == 0) ||
            vt_one_of(acts[i].more, word)) {
            *out = (vt_act)i;
            return true;
        }
    return false;
}

bool vt_name_has(const char *name, const char *const *any)
{
    for (; *any; any++)
        if (strstr(name, *any))
            return true;
    return false;
}

const char *vt_config_timm(const vt_json *config)
{
    return vt_config_text(config, "architecture");
}

const char *vt_config_hf(const vt_json *config)
{
    return vt_config_timm(config)[0] ? ""
                                     : vt_config_text(config, "model_type");
}

const vt_json *vt_config_vision(const vt_family *f, const vt_json *config)
{
    const char *type = vt_config_hf(config);
    const vt_hf_class *k = f ? vt_hf_class_of(f, type) : NULL;
    const bool both = k && k->towers && !strstr(type, "_model");
    const vt_json *v = vt_json_get(config, "vision_config_dict");

    if (vt_json_is_object(v) && both && k->dict)
        return v;
    v = vt_json_get(config, "vision_config");
    if (vt_json_is_object(v) && (both || strstr(type, "_vision_model")))
        return v;
    return both ? NULL : config;
}

const vt_json *vt_config_own(const vt_family *f, const vt_json *config)
{
    return vt_config_timm(config)[0] ? vt_json_get(config, "model_args")
                                     : vt_config_vision(f, config);
}

const vt_keys *vt_config_class(const vt_family *f, const vt_json *config)
{
    const vt_hf_class *k = vt_hf_class_of(f, vt_config_hf(config));

    return k ? k->keys : vt_config_timm(config)[0] ? f->args : NULL;
}

bool vt_weight_has(const vt_weights *w, const char *format, ...)
{
    char name[160];
    va_list args;

    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    return w && vt_weights_get(w, name) != NULL;
}

int vt_weight_dim(const vt_weights *w, const char *name, int axis)
{
    const vt_weight *t = vt_weights_get(w, name);

    if (!t)
        return 0;
    if (axis < 0)
        axis += (int)t->rank;
    if (axis < 0 || axis >= (int)t->rank || t->shape[axis] > INT32_MAX)
        return 0;
    return (int)t->shape[axis];
}

vitcl_status vt_bad_number(const char *path, const char *key)
{
    return vt_fail(VITCL_ECORRUPT, "%s: the config's %s is not a usable number",
                   path, key);
}
