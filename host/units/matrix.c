/*
 * matrix.c - which matrix instruction a GPU multiplies with, decided once per
 * device, driver and version.
 *
 * No name decides: of the instructions whose extension the device reports,
 * those of matrix units before others, the first that its compiler accepts and
 * that multiplies right is used (ask.c).
 *
 * On sm_90 wgmma multiplies large tiles, after a trial of its own. AMD's are
 * tried on the GPUs that have them alone: with the int8 of another generation
 * its compiler crashes.
 *
 * VITCL_MMA=off: none. NAME: this one, without a trial. emulate, or
 * emulate-NAME: the same kernel with the instruction in plain OpenCL C, on any
 * device, to test it.
 */
#include "units/matrix.h"

#include "base/environment.h"
#include "base/memory.h"
#include "units/units.h"

#include <stdio.h>
#include <string.h>

#define EMULATE "emulate"
#define WGMMA "wgmma" /* in large tiles; others are mma16's */
#define NVIDIA "cl_nv_device_attribute_query"
#define AMD "cl_amd_device_attribute_query"
#define INTEL "cl_intel_subgroup_matrix_multiply_accumulate"
#define BLOCKS "cl_intel_subgroup_local_block_io"
#define DOT "cl_khr_integer_dot_product"

/* The faster ones of a vendor come first. Shapes: wm, wn, fm, fn. */
const vt_mma_kind vt_mma_kinds[VT_MMA_KINDS] = {
    [VT_MMA_NONE] =
        {.name = "none", .extension = "", .rows = 1, .columns = 1, .lanes = 1},
    /* 64 by 64 a sub-group read a third less of local memory than 64 by 32, and
     * two fragments of queries half of what one reads of keys and values */
    [VT_MMA_16] = {.name = "mma16",
                   .extension = NVIDIA,
                   .bf16 = true,
                   .rows = 16,
                   .columns = 8,
                   .lanes = 32,
                   .large = {2, 2, 4, 8},
                   .small = {2, 4, 2, 2},
                   .tiny = {1, 2, 2, 2},
                   .parts = {2, 4, 4, 4},
                   .groups = true,
                   .heads = 128,
                   .twice = 96,
                   .gradients = 96},
    [VT_MMA_8] = {.name = "mma8",
                  .extension = NVIDIA,
                  .rows = 16,
                  .columns = 8,
                  .lanes = 32,
                  .large = {2, 4, 4, 4},
                  .small = {2, 4, 2, 2},
                  .tiny = {2, 1, 1, 2},
                  .heads = 128},
    /* twice the sums of 128 by 128 would not fit into its registers */
    [VT_MMA_WMMA11] = {.name = "wmma11",
                       .extension = AMD,
                       .bf16 = true,
                       .rows = 16,
                       .columns = 16,
                       .lanes = 32,
                       .large = {2, 4, 4, 2},
                       .small = {2, 4, 2, 1},
                       .tiny = {2, 1, 1, 1},
                       .parts = {2, 4, 4, 1},
                       .heads = 128,
                       .gradients = 64},
    [VT_MMA_WMMA12] = {.name = "wmma12",
                       .extension = AMD,
                       .bf16 = true,
                       .rows = 16,
                       .columns = 16,
                       .lanes = 32,
                       .large = {2, 4, 4, 2},
                       .small = {2, 4, 2, 1},
                       .tiny = {1, 2, 1, 1},
                       .heads = 128,
                       .gradients = 64},
    [VT_MMA_MFMA90A] = {.name = "mfma90a",
                        .extension = AMD,
                        .bf16 = true,
                        .rows = 32,
                        .columns = 32,
                        .lanes = 64,
                        .large = {2, 2, 2, 2},
                        .small = {2, 2, 1, 1},
                        .tiny = {1, 1, 1, 1},
                        .heads = 128,
                        .gradients = 96},
    [VT_MMA_MFMA942] = {.name = "mfma942",
                        .extension = AMD,
                        .bf16 = true,
                        .rows = 32,
                        .columns = 32,
                        .lanes = 64,
                        .large = {2, 2, 2, 2},
                        .small = {2, 2, 1, 1},
                        .tiny = {1, 1, 1, 1},
                        .heads = 128,
                        .gradients = 96},
    /* the sums of wider heads would not fit into 256 registers */
    [VT_MMA_DPAS8] = {.name = "dpas8",
                      .extension = INTEL,
                      .bf16 = true,
                      .rows = 8,
                      .columns = 8,
                      .lanes = 8,
                      .large = {4, 4, 4, 4},
                      .small = {4, 4, 2, 2},
                      .tiny = {2, 1, 1, 2},
                      .parts = {4, 4, 2, 4},
                      .heads = 96,
                      .gradients = 80},
    [VT_MMA_DPAS16] = {.name = "dpas16",
                       .extension = INTEL,
                       .bf16 = true,
                       .rows = 8,
                       .columns = 16,
                       .lanes = 16,
                       .large = {4, 4, 4, 2},
                       .small = {4, 4, 2, 1},
                       .tiny = {2, 1, 1, 1},
                       .parts = {4, 4, 2, 2},
                       .heads = 96,
                       .gradients = 80},
    /* 8 by 4 sums a work-item: 8 by 8 would not fit into 128 registers */
    [VT_MMA_DOT8] = {.name = "dot8",
                     .extension = DOT,
                     .rows = 64,
                     .columns = 64,
                     .lanes = 256,
                     .large = {1, 1, 2, 1},
                     .small = {1, 1, 1, 1},
                     .tiny = {1, 1, 1, 1}},
    [VT_MMA_DOT2] = {.name = "dot2",
                     .extension = AMD,
                     .rows = 64,
                     .columns = 64,
                     .lanes = 256,
                     .large = {1, 1, 2, 2},
                     .small = {1, 1, 1, 1},
                     .tiny = {1, 1, 1, 1},
                     .parts = {1, 1, 2, 1}},
};

_Static_assert((int)VT_MMA_KINDS <= (int)VT_CANDIDATES, "room in vt_question");

const vt_mma_shape vt_mma_groups = {4, 1, 1, 16};

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
    return c.emulated ? " -DEMULATE"
           : c.plain  ? " -cl-intel-256-GRF-per-thread -DPLAIN_READS"
           : vt_mma_intel(c.kind) ? " -cl-intel-256-GRF-per-thread"
                                  : "";
}

bool vt_mma_nvidia(int kind)
{
    return kind == VT_MMA_16 || kind == VT_MMA_8;
}

bool vt_mma_intel(int kind)
{
    return kind >= VT_MMA_DPAS8 && kind < VT_MMA_DOT8;
}

bool vt_mma_is_unit(vt_mma_choice c)
{
    return c.kind > VT_MMA_NONE && c.kind < VT_MMA_DOT8 && !c.emulated;
}

const char *vt_mma_way(int kind)
{
    return kind == VT_MMA_16    ? "gemm_mma_copies"
           : vt_mma_intel(kind) ? "gemm_mma_blocks"
                                : "gemm_mma_registers";
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

static bool reads_plainly(const vt_dev *dev, vt_mma_choice c)
{
    return vt_mma_intel(c.kind) && !c.emulated && !vt_dev_reports(dev, BLOCKS);
}

/* Does VITCL_MMA decide? */
static bool forced(vt_mma_choice *out, const vt_dev *dev, vt_dtype type)
{
    const char *word = vt_getenv("VITCL_MMA");
    bool emulated;

    *out = (vt_mma_choice){.kind = VT_MMA_NONE};
    if (!word || !*word)
        return false;
    if (strcmp(word, EMULATE) == 0) {
        *out = (vt_mma_choice){.kind = VT_MMA_16, .emulated = true};
    } else {
        word = instruction(&emulated, word);
        out->groups = strcmp(word, WGMMA) == 0;
        out->kind = out->groups ? VT_MMA_16 : by_name(word, type);
        out->emulated = emulated && out->kind > 0;
    }
    out->plain = reads_plainly(dev, *out);
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
    if (vt_mma_named(instruction(&emulated, word)) != VT_MMA_NONE ||
        strcmp(instruction(&emulated, word), WGMMA) == 0)
        return VITCL_OK;
    for (int kind = 1; kind < VT_MMA_KINDS; kind++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s",
                 kind > 1 ? ", " : "", vt_mma_kinds[kind].name);
    return vt_fail(VITCL_EINVAL,
                   "VITCL_MMA is \"%.40s\"; it can be off, emulate, "
                   "emulate-NAME, or NAME: %s, " WGMMA,
                   word, names);
}

/* ---- questions ---- */

static const char *name(int kind)
{
    return vt_mma_kinds[kind].name;
}

#define WAYS "gemm_mma_copies", "gemm_mma_registers", "gemm_mma_blocks"

static const struct {
    const char *request; /* of vitcl-try */
    const char *question;
    const char *work; /* in words */
    const char *sources[7];
} trials[VT_MMA_TRIALS] = {
    [VT_MMA_PRODUCT] = {"unit",
                        "matrix unit",
                        "products",
                        {WAYS, "gemm_mma_pack", "gemm_sum"}},
    [VT_MMA_ATTENTION] = {"attention",
                          "attention",
                          "products of attention",
                          {"attention_mma", "attention"}},
    [VT_MMA_GRADIENT] = {"gradient",
                         "gradient",
                         "gradients of attention",
                         {"attention_grad_mma", "attention_grad_tiles",
                          "attention_mma", "attention"}},
    [VT_MMA_TRAINING] = {"training",
                         "training",
                         "products of training",
                         {WAYS, "gemm_mma_pack", "gemm_mma_turn", "gemm_sum"}},
    [VT_MMA_GROUPS] = {"groups",
                       WGMMA,
                       "large tiles of products",
                       {"gemm_mma_copies", "gemm_mma_pack", "gemm_sum"}},
};

static const char *word(vt_dtype type)
{
    return type == VT_I8 ? "int8" : vt_dtype_name(type);
}

vt_subject vt_mma_subject(vt_mma_trial trial, vt_dtype type)
{
    vt_subject s = {.sources = trials[trial].sources};

    snprintf(s.question, sizeof s.question, "%s %s", word(type),
             trials[trial].question);
    return s;
}

/* By the lanes of a sub-group, of which RDNA can have 32 or 64, and the
 * generation: CL_DEVICE_WAVEFRONT_WIDTH_AMD, CL_DEVICE_GFXIP_MAJOR_AMD and
 * _MINOR_AMD. A driver that does not know them has every unit tried. */
static bool amd_may_have(const vt_dev *dev, int kind)
{
    const unsigned lanes = vt_dev_number(dev, 0x4043),
                   major = vt_dev_number(dev, 0x404a),
                   minor = vt_dev_number(dev, 0x404b);

    if (kind < VT_MMA_WMMA11 || kind > VT_MMA_MFMA942)
        return true;
    if (lanes && lanes != (unsigned)vt_mma_kinds[kind].lanes)
        return false;
    if (!major)
        return true;
    switch (kind) {
    case VT_MMA_WMMA11:
        return major == 11;
    case VT_MMA_WMMA12:
        return major >= 12;
    case VT_MMA_MFMA90A:
        return major == 9 && minor == 0;
    default:
        return major == 9 && minor >= 4;
    }
}

/* mma16 is sm_80's, mma8 sm_75's: CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV and
 * _MINOR_NV. */
static bool nvidia_may_have(const vt_dev *dev, int kind)
{
    const unsigned sm =
        10 * vt_dev_number(dev, 0x4000) + vt_dev_number(dev, 0x4001);

    return !vt_mma_nvidia(kind) || !sm || sm >= (kind == VT_MMA_16 ? 80 : 75);
}

static bool candidate(const vt_dev *dev, int kind, vt_dtype type)
{
    return multiplies(kind, type) &&
           vt_dev_reports(dev, vt_mma_kinds[kind].extension) &&
           amd_may_have(dev, kind) && nvidia_may_have(dev, kind);
}

static int ask(vt_dev *dev, vt_mma_trial trial, vt_dtype type,
               const int *candidates, int n)
{
    vt_question q = {.subject = vt_mma_subject(trial, type),
                     .request = trials[trial].request,
                     .type = word(type),
                     .good = "right",
                     .slower = "slower",
                     .none = "none",
                     .name = name,
                     .work = trials[trial].work,
                     .lost = vt_mma_lost,
                     .n = n};

    memcpy(q.candidate, candidates, (size_t)n * sizeof *candidates);
    return vt_ask(&vt_units_of(dev)->matrix[trial][vt_type_number(type)], dev,
                  &q);
}

vt_mma_choice vt_mma_ask(vt_dev *dev, vt_dtype type)
{
    const vt_known *k =
        &vt_units_of(dev)->matrix[VT_MMA_PRODUCT][vt_type_number(type)];
    int all[VT_MMA_KINDS], n = 0;
    vt_mma_choice c;

    if (forced(&c, dev, type))
        return c;
    if (!vt_ask_known(&c.kind, k, dev)) {
        for (int kind = VT_MMA_NONE + 1; kind < VT_MMA_KINDS; kind++)
            if (candidate(dev, kind, type))
                all[n++] = kind;
        c.kind = ask(dev, VT_MMA_PRODUCT, type, all, n);
    }
    c.plain = reads_plainly(dev, c);
    return c;
}

/* The unit of the products, if it is good in another trial, too. */
static vt_mma_choice ask_more(vt_dev *dev, vt_mma_trial trial, vt_dtype type)
{
    vt_mma_choice c;

    if (forced(&c, dev, type))
        return c;
    c = vt_mma_ask(dev, type);
    c.kind = vt_mma_kinds[c.kind].heads ? ask(dev, trial, type, &c.kind, 1)
                                        : VT_MMA_NONE; /* none, or no unit */
    return c;
}

vt_mma_choice vt_mma_ask_attention(vt_dev *dev, vt_dtype type)
{
    return ask_more(dev, VT_MMA_ATTENTION, type);
}

vt_mma_choice vt_mma_ask_gradient(vt_dev *dev)
{
    return ask_more(dev, VT_MMA_GRADIENT, VT_BF16);
}

vt_mma_choice vt_mma_ask_training(vt_dev *dev)
{
    return ask_more(dev, VT_MMA_TRAINING, VT_BF16);
}

/* sm_90 alone: CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV and _MINOR_NV. */
static bool may_have_groups(const vt_dev *dev)
{
    return vt_dev_reports(dev, NVIDIA) && vt_dev_number(dev, 0x4000) == 9 &&
           vt_dev_number(dev, 0x4001) == 0;
}

vt_mma_choice vt_mma_ask_groups(vt_dev *dev, vt_mma_choice c, vt_dtype type)
{
    vt_mma_choice f;

    if (c.kind != VT_MMA_16 || c.emulated || forced(&f, dev, type))
        return c;
    c.groups = ask(dev, VT_MMA_GROUPS, type, &c.kind,
                   may_have_groups(dev) ? 1 : 0) != VT_MMA_NONE;
    return c;
}

void vt_mma_use(vt_dev *dev, vt_dtype type, int kind, bool groups)
{
    vt_units *u = vt_units_of(dev);
    const int t = vt_type_number(type);

    vt_ask_use(&u->matrix[VT_MMA_PRODUCT][t], dev, kind);
    vt_ask_use(&u->matrix[VT_MMA_GROUPS][t], dev, groups ? kind : VT_MMA_NONE);
    if (type == VT_BF16)
        vt_ask_use(&u->matrix[VT_MMA_TRAINING][t], dev, kind);
}
