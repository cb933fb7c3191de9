/*
 * dot_choice.c - which dot-product instruction a CPU multiplies with, decided
 * once per device, driver and version.
 *
 * An instruction is used if three things hold: this processor has it
 * (dot_cpu.c), the driver's compiler accepts it, and the result is correct.
 * Then both ways are timed: on one CPU, bf16 dot products are twice as fast as
 * f32, on another half as fast, and both advertise them. The dot product must
 * be faster by a sixth. Sums in 16 bits, of f16, count as a dot product.
 *
 * Compilers crash on such instructions, and cpuid is wrong under emulators and
 * hypervisors. So all trials run in the program vitcl-try, one process per
 * instruction: one that crashes, hangs or gives wrong results has failed its
 * trial. The result is kept on disk (decisions.c). If the program cannot be
 * started, nothing is tried and nothing is kept. VITCL_DOT=off: use FMAs
 * without a trial.
 */
#include "base/attempt.h"
#include "base/environment.h"
#include "base/log.h"
#include "gemm/decisions.h"
#include "gemm/device.h"
#include "gemm/dot.h"
#include "gemm/gemm.h"

#include <stdio.h>
#include <string.h>

const vt_dot_kind vt_dot_kinds[VT_DOT_KINDS] = {
    [VT_DOT_S8] = {"sdot", VT_I8},
    [VT_DOT_S8_PAIR] = {"smmla", VT_I8},
    [VT_DOT_BF16_ARM] = {"bfdot", VT_BF16},
    [VT_DOT_BF16_PAIR] = {"bfmmla", VT_BF16},
    [VT_DOT_S16] = {"vpmaddwd", VT_I8},
    [VT_DOT_U8] = {"vpdpbusd", VT_I8},
    [VT_DOT_BF16] = {"vdpbf16ps", VT_BF16},
    [VT_DOT_F16] = {"vfmadd231ph", VT_F16},
    [VT_DOT_U8_PAIRS] = {"vpmaddubsw", VT_I8},
    [VT_DOT_U8_VEX] = {"vpdpbusdvex", VT_I8},
    [VT_DOT_U8_TILES] = {"tdpbusd", VT_I8},
    [VT_DOT_BF16_TILES] = {"tdpbf16ps", VT_BF16},
};

static bool says(const char *word)
{
    const char *value = vt_getenv("VITCL_DOT");

    return value && strcmp(value, word) == 0;
}

/* It is faster than vpmaddwd, but keeps 8 bits in place of 13: on request. */
static bool pairs_wanted(void)
{
    return says(vt_dot_kinds[VT_DOT_U8_PAIRS].name);
}

static bool candidate(int kind, vt_dtype type)
{
    return vt_dot_kinds[kind].type == type && vt_dot_here(kind) &&
           (kind != VT_DOT_U8_PAIRS || pairs_wanted());
}

/* The first kind that would be tried, or VT_DOT_NONE. */
static int first_of(const vt_dev *dev, vt_dtype type)
{
    int kind = VT_DOT_KINDS - 1;

    if (vt_dev_class(dev) != VT_CLASS_CPU || !vt_dev_is_processor(dev) ||
        says("off"))
        return VT_DOT_NONE;
    while (kind > VT_DOT_NONE && !candidate(kind, type))
        kind--;
    return kind;
}

/* ---- stored results ---- */

static const char *question(vt_dtype type)
{
    return type == VT_BF16  ? "bf16 by"
           : type == VT_F16 ? "f16 by"
           : pairs_wanted() ? "int8 pairs by"
                            : "int8 by";
}

/* The question whose answer is the kind that failed its trial, or "none". */
static const char *failing(vt_dtype type)
{
    return type == VT_BF16  ? "bf16 failed"
           : type == VT_F16 ? "f16 failed"
           : pairs_wanted() ? "int8 pairs failed"
                            : "int8 failed";
}

static int by_name(const char *name, vt_dtype type)
{
    int kind = VT_DOT_KINDS - 1;

    while (kind > VT_DOT_NONE && (vt_dot_kinds[kind].type != type ||
                                  strcmp(vt_dot_kinds[kind].name, name) != 0))
        kind--;
    return kind;
}

/* False: there is no answer, or it is for another processor. */
static bool load(vt_dot_known *k, const vt_dev *dev, vt_dtype type)
{
    char word[VT_DECISION];

    *k = (vt_dot_known){.known = true};
    if (!vt_decision_load(word, dev, question(type)))
        return false;
    k->kind = by_name(word, type);
    if (k->kind ? !vt_dot_here(k->kind) : strcmp(word, "fma") != 0)
        return false;
    if (vt_decision_load(word, dev, failing(type)))
        k->failed = by_name(word, type);
    return true;
}

static void save(const vt_dev *dev, vt_dtype type, const vt_dot_known *k)
{
    vt_decision_save(dev, failing(type),
                     k->failed ? vt_dot_kinds[k->failed].name : "none");
    vt_decision_save(dev, question(type),
                     k->kind ? vt_dot_kinds[k->kind].name : "fma");
}

/* ---- trials ---- */

/* False: the result is unknown, and the message says why. */
static bool try_one(vt_dot_known *k, const vt_dev *dev, int kind)
{
    char answer[16] = "";
    const vitcl_device_info *info = vt_dev_info(dev);
    const vt_attempt a = {.words = {"form", info->id, info->name, info->driver,
                                    vt_dot_kinds[kind].name}};
    const vitcl_status st = vt_attempt_run(answer, sizeof answer, &a);

    if (st != VITCL_OK && st != VITCL_EDEVICE)
        return false;
    if (st != VITCL_OK)
        vt_log("%s failed its trial: %s", vt_dot_kinds[kind].name,
               vt_message());
    if (strcmp(answer, "faster") == 0)
        k->kind = kind;
    else if (strcmp(answer, "slower") != 0)
        k->failed = kind;
    return true;
}

static void try_all(vt_dot_known *k, vt_dev *dev, vt_dtype type)
{
    *k = (vt_dot_known){.known = true};
    for (int kind = first_of(dev, type); kind > VT_DOT_NONE && !k->kind; kind--)
        if (candidate(kind, type) && !try_one(k, dev, kind)) {
            k->untried = kind;
            vt_log("%s cannot be tried and is not used: %s",
                   vt_dot_kinds[kind].name, vt_message());
            return; /* store nothing: a later process may try it */
        }
    save(dev, type, k);
}

/* Names the kind in use, and the one that failed or could not be tried. */
static void describe(char *out, size_t size, const vt_dot_known *k)
{
    const int named = k->untried ? k->untried : k->failed;

    snprintf(out, size, "%s%s%s%s",
             !k->known ? "untried"
             : k->kind ? vt_dot_kinds[k->kind].name
                       : "fma",
             named ? "; " : "", named ? vt_dot_kinds[named].name : "",
             k->untried  ? " cannot be tried"
             : k->failed ? " failed its trial"
                         : "");
}

static vt_dot_known *known_of(const vt_dev *dev, vt_dtype type)
{
    return &vt_gemm_device_of(dev)->dot[vt_type_number(type)];
}

int vt_dot_ask(vt_dev *dev, vt_dtype type)
{
    vt_dot_known *k = known_of(dev, type);
    char text[96];
    vt_turn turn;
    int kind;

    vt_decision_turn(&turn, dev, "dot");
    if (!k->known) {
        if (first_of(dev, type) == VT_DOT_NONE)
            *k = (vt_dot_known){.known = true};
        else if (!load(k, dev, type))
            try_all(k, dev, type);
        if (!vt_dot_permitted(k->kind))
            k->untried = k->kind, k->kind = VT_DOT_NONE;
        describe(text, sizeof text, k);
        vt_log("%s %s", question(type), text);
    }
    kind = k->kind;
    vt_turn_end(&turn);
    return kind;
}

void vt_dot_use(vt_dev *dev, vt_dtype type, int kind)
{
    vt_turn turn;

    vt_decision_turn(&turn, dev, "dot");
    *known_of(dev, type) = (vt_dot_known){.known = true, .kind = kind};
    vt_turn_end(&turn);
}

static bool has_kinds(vt_dtype type)
{
    return type == VT_BF16 || type == VT_F16 || type == VT_I8;
}

void vt_gemm_try(vt_dev *dev, vt_dtype type)
{
    if (vt_dev_class(dev) == VT_CLASS_CPU && has_kinds(type))
        (void)vt_dot_ask(dev, type);
}

/* What is known without a trial. */
static vt_dot_known look(const vt_dev *dev, vt_dtype type)
{
    vt_dot_known k = *known_of(dev, type);
    const int first = k.known ? VT_DOT_NONE : first_of(dev, type);

    if (k.known || first == VT_DOT_NONE)
        k.known = true;
    else if (!load(&k, dev, type))
        k = (vt_dot_known){.known = false};
    return k;
}

bool vt_gemm_untried(vt_dev *dev, vt_dtype type)
{
    vt_turn turn;
    bool yes;

    if (!has_kinds(type))
        return false;
    vt_decision_turn(&turn, dev, "dot");
    yes = !look(dev, type).known;
    vt_turn_end(&turn);
    return yes;
}

void vt_gemm_form(char *out, size_t size, vt_dev *dev, vt_dtype type)
{
    vt_dot_known k;
    vt_turn turn;

    vt_decision_turn(&turn, dev, "dot");
    k = look(dev, type);
    if (!k.known && vt_attempt_possible() != VITCL_OK)
        k = (vt_dot_known){.known = true, .untried = first_of(dev, type)};
    describe(out, size, &k);
    vt_turn_end(&turn);
}
