/*
 * dots.c - which dot-product instruction a CPU multiplies with, decided once
 * per device, driver and version.
 *
 * An instruction is used if three things hold: this processor has it
 * (dots_here.c), the driver's compiler accepts it, and the result is correct.
 * Then both ways are timed: on one CPU, bf16 dot products are twice as fast as
 * f32, on another half as fast, and both advertise them. The dot product must
 * be faster by a sixth. Sums in 16 bits, of f16, count as a dot product.
 *
 * cpuid is wrong under emulators and hypervisors, too. VITCL_DOT=off: use FMAs
 * without a trial.
 */
#include "units/dots.h"

#include "base/attempt.h"
#include "base/environment.h"
#include "units/units.h"

#include <stdio.h>
#include <string.h>

const vt_dot_kind vt_dot_kinds[VT_DOT_KINDS] = {
    [VT_DOT_S8] = {"sdot", VT_I8, 4, 4},
    [VT_DOT_S8_PAIR] = {"smmla", VT_I8, 4, 4},
    [VT_DOT_BF16_ARM] = {"bfdot", VT_BF16, 4, 2},
    [VT_DOT_BF16_PAIR] = {"bfmmla", VT_BF16, 4, 2},
    [VT_DOT_S16] = {"vpmaddwd", VT_I8, 8, 2},
    [VT_DOT_U8] = {"vpdpbusd", VT_I8, 16, 4},
    [VT_DOT_BF16] = {"vdpbf16ps", VT_BF16, 16, 2},
    [VT_DOT_F16] = {"vfmadd231ph", VT_F16, 16, 2},
    [VT_DOT_U8_PAIRS] = {"vpmaddubsw", VT_I8, 8, 4},
    [VT_DOT_U8_VEX] = {"vpdpbusdvex", VT_I8, 8, 4},
    [VT_DOT_U8_TILES] = {"tdpbusd", VT_I8, 16, 4},
    [VT_DOT_BF16_TILES] = {"tdpbf16ps", VT_BF16, 16, 2},
};

_Static_assert((int)VT_DOT_KINDS <= (int)VT_CANDIDATES, "room in vt_question");

static bool says(const char *word)
{
    const char *value = vt_getenv("VITCL_DOT");

    return value && strcmp(value, word) == 0;
}

/* On request int8 keeps 13 bits, by vpmaddwd alone, which is slower. */
static bool wide_wanted(void)
{
    return says(vt_dot_kinds[VT_DOT_S16].name);
}

vitcl_status vt_dot_setting(void)
{
    const char *word = vt_getenv("VITCL_DOT");

    if (!word || !*word || says("off") || says("vpmaddubsw") || wide_wanted())
        return VITCL_OK;
    return vt_fail(VITCL_EINVAL, "VITCL_DOT is \"%.40s\"; it can be off or %s",
                   word, vt_dot_kinds[VT_DOT_S16].name);
}

static bool candidate(int kind, vt_dtype type)
{
    return vt_dot_kinds[kind].type == type && vt_dot_here(kind) &&
           (kind == VT_DOT_S16 || type != VT_I8 || !wide_wanted());
}

static const char *name(int kind)
{
    return vt_dot_kinds[kind].name;
}

vt_subject vt_dot_subject(vt_dtype type)
{
    static const char *const sources[] = {"gemm_rows",     "gemm_dot",
                                          "gemm_dot_pack", "gemm_dot_rows",
                                          "gemm_outer",    NULL};

    vt_subject s = {.sources = sources};

    snprintf(s.question, sizeof s.question, "%s%s by",
             type == VT_I8 ? "int8" : vt_dtype_name(type),
             type == VT_I8 && wide_wanted() ? " wide" : "");
    return s;
}

static vt_question question(const vt_dev *dev, vt_dtype type)
{
    vt_question q = {.subject = vt_dot_subject(type),
                     .request = "form",
                     .good = "faster",
                     .slower = "slower",
                     .none = "fma",
                     .name = name,
                     .permitted = vt_dot_permitted};

    if (vt_dev_class(dev) == VT_CLASS_CPU && vt_dev_is_processor(dev) &&
        !says("off"))
        for (int kind = VT_DOT_KINDS - 1; kind > VT_DOT_NONE; kind--)
            if (candidate(kind, type))
                q.candidate[q.n++] = kind;
    return q;
}

static vt_known *known_of(const vt_dev *dev, vt_dtype type)
{
    return &vt_units_of(dev)->dot[vt_type_number(type)];
}

int vt_dot_ask(vt_dev *dev, vt_dtype type)
{
    vt_known *k = known_of(dev, type);
    vt_question q;
    int kind;

    if (vt_ask_known(&kind, k, dev))
        return kind;
    q = question(dev, type);
    return vt_ask(k, dev, &q);
}

void vt_dot_use(vt_dev *dev, vt_dtype type, int kind)
{
    vt_ask_use(known_of(dev, type), dev, kind);
}

bool vt_dot_untried(const vt_dev *dev, vt_dtype type)
{
    const vt_question q = question(dev, type);

    return (type == VT_BF16 || type == VT_F16 || type == VT_I8) &&
           !vt_ask_kept(known_of(dev, type), dev, &q).known;
}

void vt_dot_describe(char *out, size_t size, const vt_dev *dev, vt_dtype type)
{
    const vt_question q = question(dev, type);
    vt_known k = vt_ask_kept(known_of(dev, type), dev, &q);

    if (!k.known && vt_attempt_possible() != VITCL_OK)
        k = (vt_known){.known = true, .untried = q.candidate[0]};
    vt_known_describe(out, size, &k, &q);
}
