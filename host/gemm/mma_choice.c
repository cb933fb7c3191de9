/*
 * mma_choice.c - which matrix instruction a GPU multiplies with, decided once
 * per device, driver and version.
 *
 * No name decides: of the instructions whose extension the device reports,
 * those of matrix units before others, the first that its compiler accepts and
 * that multiplies right is used. Compilers crash on such instructions, so each
 * is tried in a process of vitcl-try. The result is kept on disk (decisions.c).
 * If the program cannot be started, nothing is tried and nothing is kept.
 *
 * VITCL_MMA=off: none. NAME: this one, without a trial. emulate, or
 * emulate-NAME: the same kernel with the instruction in plain OpenCL C, on any
 * device, to test it.
 */
#include "base/attempt.h"
#include "base/environment.h"
#include "base/log.h"
#include "gemm/decisions.h"
#include "gemm/device.h"
#include "gemm/mma.h"

#include <stdio.h>
#include <string.h>

#define EMULATE "emulate"
#define NVIDIA "cl_nv_device_attribute_query"
#define AMD "cl_amd_device_attribute_query"
#define INTEL "cl_intel_subgroup_matrix_multiply_accumulate"
#define DOT "cl_khr_integer_dot_product"

/* The faster ones of a vendor come first. */
const vt_mma_kind vt_mma_kinds[VT_MMA_KINDS] = {
    {"none", "", false, 1, 1, 1, {0}, {0}, {0}, {0}, 0, 0, 0},
    /* 64 by 64 a sub-group read a third less of local memory than 64 by 32, and
     * two fragments of queries half of what one reads of keys and values */
    {"mma16",
     NVIDIA,
     true,
     16,
     8,
     32,
     {2, 2, 4, 8},
     {2, 4, 2, 2},
     {1, 2, 2, 2},
     {2, 4, 4, 4},
     128,
     96,
     96},
    {"mma8",
     NVIDIA,
     false,
     16,
     8,
     32,
     {2, 4, 4, 4},
     {2, 4, 2, 2},
     {2, 1, 1, 2},
     {0},
     128,
     0,
     0},
    /* twice the sums of 128 by 128 would not fit into its registers */
    {"wmma11",
     AMD,
     true,
     16,
     16,
     32,
     {2, 4, 4, 2},
     {2, 4, 2, 1},
     {2, 1, 1, 1},
     {2, 4, 4, 1},
     128,
     0,
     64},
    {"wmma12",
     AMD,
     true,
     16,
     16,
     32,
     {2, 4, 4, 2},
     {2, 4, 2, 1},
     {1, 2, 1, 1},
     {0},
     128,
     0,
     64},
    {"mfma90a",
     AMD,
     true,
     32,
     32,
     64,
     {2, 2, 2, 2},
     {2, 2, 1, 1},
     {1, 1, 1, 1},
     {0},
     128,
     0,
     96},
    {"mfma942",
     AMD,
     true,
     32,
     32,
     64,
     {2, 2, 2, 2},
     {2, 2, 1, 1},
     {1, 1, 1, 1},
     {0},
     128,
     0,
     96},
    /* the sums of wider heads would not fit into 256 registers */
    {"dpas8",
     INTEL,
     true,
     8,
     8,
     8,
     {4, 4, 4, 4},
     {4, 4, 2, 2},
     {2, 1, 1, 2},
     {4, 4, 2, 4},
     96,
     0,
     80},
    {"dpas16",
     INTEL,
     true,
     8,
     16,
     16,
     {4, 4, 4, 2},
     {4, 4, 2, 1},
     {2, 1, 1, 1},
     {4, 4, 2, 2},
     96,
     0,
     80},
    /* 8 by 4 sums a work-item: 8 by 8 would not fit into 128 registers */
    {"dot8",
     DOT,
     false,
     64,
     64,
     256,
     {1, 1, 2, 1},
     {1, 1, 1, 1},
     {1, 1, 1, 1},
     {0},
     0,
     0,
     0},
    {"dot2",
     AMD,
     false,
     64,
     64,
     256,
     {1, 1, 2, 2},
     {1, 1, 1, 1},
     {1, 1, 1, 1},
     {1, 1, 2, 1},
     0,
     0,
     0},
};

static bool multiplies(int kind, vt_dtype type)
{
    if (kind >= VT_MMA_DOT8)
        return type == (kind == VT_MMA_DOT8 ? VT_I8 : VT_F16);
    return vt_mma_kinds[kind].bf16 || type != VT_BF16;
}

int vt_mma_named(const char *instruction)
{
    int kind = VT_MMA_KINDS - 1;

    while (kind > VT_MMA_NONE &&
           strcmp(vt_mma_kinds[kind].name, instruction) != 0)
        kind--;
    return kind;
}

const char *vt_mma_flags(vt_mma_choice c)
{
    return c.emulated             ? " -DEMULATE"
           : vt_mma_intel(c.kind) ? " -cl-intel-256-GRF-per-thread"
                                  : "";
}

bool vt_mma_intel(int kind)
{
    return kind >= VT_MMA_INTEL && kind < VT_MMA_DOT8;
}

int vt_mma_together(vt_mma_choice c)
{
    return vt_mma_intel(c.kind) ? vt_mma_kinds[c.kind].columns : 0;
}

static int by_name(const char *name, vt_dtype type)
{
    const int kind = vt_mma_named(name);

    return multiplies(kind, type) ? kind : VT_MMA_NONE;
}

/* The instruction that a VITCL_MMA names. */
static const char *instruction(bool *emulated, const char *word)
{
    const size_t n = strlen(EMULATE "-");

    *emulated = strncmp(word, EMULATE "-", n) == 0;
    return *emulated ? word + n : word;
}

/* Does VITCL_MMA decide? */
static bool forced(vt_mma_choice *out, vt_dtype type)
{
    const char *word = vt_getenv("VITCL_MMA");
    bool emulated;

    *out = (vt_mma_choice){.kind = VT_MMA_NONE};
    if (!word || !*word)
        return false;
    if (strcmp(word, EMULATE) == 0) {
        *out = (vt_mma_choice){.kind = 1, .emulated = true};
    } else {
        out->kind = by_name(instruction(&emulated, word), type);
        out->emulated = emulated && out->kind > 0;
    }
    return true;
}

vitcl_status vt_mma_setting(void)
{
    const char *word = vt_getenv("VITCL_MMA");
    char names[128] = "";
    bool emulated;

    if (!word || !*word || strcmp(word, "off") == 0 ||
        strcmp(word, EMULATE) == 0)
        return VITCL_OK;
    if (vt_mma_named(instruction(&emulated, word)) != VT_MMA_NONE)
        return VITCL_OK;
    for (int kind = 1; kind < VT_MMA_KINDS; kind++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s",
                 kind > 1 ? ", " : "", vt_mma_kinds[kind].name);
    return vt_fail(VITCL_EINVAL,
                   "VITCL_MMA is \"%.40s\"; it can be off, emulate, "
                   "emulate-NAME, or NAME: %s",
                   word, names);
}

/* ---- trials ---- */

static const char *question(vt_dtype type)
{
    return type == VT_BF16  ? "bf16 matrix unit"
           : type == VT_F16 ? "f16 matrix unit"
                            : "int8 matrix unit";
}

static bool candidate(const vt_dev *dev, int kind, vt_dtype type)
{
    return multiplies(kind, type) && *vt_mma_kinds[kind].extension &&
           vt_dev_reports(dev, vt_mma_kinds[kind].extension);
}

/* False: the result is unknown, and the message says why. request: of
 * vitcl-try. */
static bool try_one(bool *right, const vt_dev *dev, int kind, vt_dtype type,
                    const char *request)
{
    char answer[16] = "";
    const vitcl_device_info *info = vt_dev_info(dev);
    const vt_attempt a = {
        .words = {request, info->id, info->name, info->driver,
                  vt_mma_kinds[kind].name,
                  type == VT_I8 ? "int8" : vt_dtype_name(type)}};
    const vitcl_status st = vt_attempt_run(answer, sizeof answer, &a);

    if (st != VITCL_OK && st != VITCL_EDEVICE)
        return false;
    *right = st == VITCL_OK && strcmp(answer, "right") == 0;
    if (!*right)
        vt_log("trial \"%s\" of %s in %s: %s", request, vt_mma_kinds[kind].name,
               vt_dtype_name(type), st == VITCL_OK ? answer : vt_message());
    return true;
}

static vt_mma_known find(vt_dev *dev, vt_dtype type)
{
    vt_mma_known k = {.known = true};
    char word[VT_DECISION];
    bool any = false, right = false;

    for (int kind = 1; kind < VT_MMA_KINDS; kind++)
        any = any || candidate(dev, kind, type);
    if (!any)
        return k;
    if (vt_decision_load(word, dev, question(type))) {
        k.kind = by_name(word, type);
        if (k.kind != VT_MMA_NONE || strcmp(word, "none") == 0)
            return k;
    }
    for (int kind = 1; kind < VT_MMA_KINDS && !right; kind++)
        if (candidate(dev, kind, type)) {
            if (!try_one(&right, dev, kind, type, "unit")) {
                vt_log("matrix units cannot be tried and are not used: %s",
                       vt_message());
                return k; /* store nothing: a later process may try them */
            }
            k.kind = right ? kind : VT_MMA_NONE;
        }
    vt_decision_save(dev, question(type), vt_mma_kinds[k.kind].name);
    return k;
}

vt_mma_choice vt_mma_ask(vt_dev *dev, vt_dtype type)
{
    vt_mma_known *k = &vt_gemm_device_of(dev)->mma[vt_type_number(type)];
    vt_mma_choice c;
    vt_turn turn;

    if (forced(&c, type))
        return c;
    vt_decision_turn(&turn, dev, "mma");
    if (!k->known) {
        *k = find(dev, type);
        vt_log("%s: %s", question(type), vt_mma_kinds[k->kind].name);
    }
    c.kind = k->kind;
    vt_turn_end(&turn);
    return c;
}

/* Is this unit right in the trial `request`, whose answer is stored under
 * `question`? */
static vt_mma_known find_more(vt_dev *dev, vt_dtype type, int kind,
                              const char *request, const char *question)
{
    const char *name = vt_mma_kinds[kind].name;
    vt_mma_known k = {.known = true};
    char word[VT_DECISION];
    bool right = false;

    if (vt_decision_load(word, dev, question) &&
        (strcmp(word, name) == 0 || strcmp(word, "none") == 0)) {
        k.kind = vt_mma_named(word);
        return k;
    }
    if (!try_one(&right, dev, kind, type, request)) {
        vt_log("%s on matrix units cannot be tried and is not used: %s",
               request, vt_message());
        return k;
    }
    k.kind = right ? kind : VT_MMA_NONE;
    vt_decision_save(dev, question, vt_mma_kinds[k.kind].name);
    return k;
}

static vt_mma_choice ask_more(vt_dev *dev, vt_dtype type, vt_mma_known *k,
                              const char *request, const char *question)
{
    vt_mma_choice c;
    vt_turn turn;

    if (forced(&c, type))
        return c;
    c = vt_mma_ask(dev, type);
    if (!vt_mma_kinds[c.kind].heads) /* none, or no unit */
        return (vt_mma_choice){.kind = VT_MMA_NONE};
    vt_decision_turn(&turn, dev, "mma");
    if (!k->known)
        *k = find_more(dev, type, c.kind, request, question);
    c.kind = k->kind;
    vt_turn_end(&turn);
    return c;
}

vt_mma_choice vt_mma_ask_attention(vt_dev *dev, vt_dtype type)
{
    return ask_more(
        dev, type, &vt_gemm_device_of(dev)->mma_attention[vt_type_number(type)],
        "attention", type == VT_BF16 ? "bf16 attention" : "f16 attention");
}

vt_mma_choice vt_mma_ask_gradient(vt_dev *dev)
{
    return ask_more(dev, VT_BF16, &vt_gemm_device_of(dev)->mma_gradient,
                    "gradient", "bf16 gradient");
}

vt_mma_choice vt_mma_ask_training(vt_dev *dev)
{
    return ask_more(dev, VT_BF16, &vt_gemm_device_of(dev)->mma_training,
                    "training", "bf16 training");
}

void vt_mma_use(vt_dev *dev, vt_dtype type, int kind)
{
    const vt_mma_known k = {.known = true, .kind = kind};
    vt_gemm_device *g = vt_gemm_device_of(dev);
    vt_turn turn;

    vt_decision_turn(&turn, dev, "mma");
    g->mma[vt_type_number(type)] = k;
    if (type == VT_BF16)
        g->mma_training = k;
    vt_turn_end(&turn);
}
