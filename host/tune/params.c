/*
 * params.c - parameters of the multiplications as words: their names and valid
 * ranges.
 *
 * An entry is a line of words: a kernel, a precision, then each parameter's
 * name and value in any order, for example
 *
 *   rows f32 lanes 8 vectors 2 block 6 terms 1024 rows 60 panels 4 groups 16
 *
 * Every entry that passes check() gives correct results (the bits of the native
 * kernels do not depend on it at all); only the speed differs.
 */
#include "tune/params.h"
#include "ocl/precision.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

typedef struct number {
    const char *name;
    unsigned short least, most;
} number;

#define SHAPE                                                                  \
    {"block", 1, 24}, {"terms", 64, 16384}, {"rows", 1, 512},                  \
        {"panels", 1, 16},                                                     \
    {                                                                          \
        "groups", 1, 256                                                       \
    }

/* The first names are the members of vt_rows_shape, in order. */
static const struct {
    const char *name;
    number numbers[VT_NUMBERS + 1];
} kinds[VT_PARAMS_KINDS] = {
    [VT_PARAMS_ROWS] = {"rows", {{"lanes", 4, 16}, {"vectors", 1, 4}, SHAPE}},
    [VT_PARAMS_DOT] = {"dot", {SHAPE}},
    [VT_PARAMS_TILE] = {"tile", {{"size", 16, 128}, {"terms", 4, 64}}},
    [VT_PARAMS_CLBLAST] = {"clblast",
                           {{"GEMMK", 0, 0},
                            {"KREG", 1, 1},
                            {"KWG", 1, 64},
                            {"KWI", 1, 16},
                            {"MDIMA", 1, 32},
                            {"MDIMC", 1, 32},
                            {"MWG", 8, 256},
                            {"NDIMB", 1, 32},
                            {"NDIMC", 1, 32},
                            {"NWG", 8, 256},
                            {"SA", 0, 1},
                            {"SB", 0, 1},
                            {"STRM", 0, 1},
                            {"STRN", 0, 1},
                            {"VWM", 1, 8},
                            {"VWN", 1, 8}}},
};

static const vitcl_precision types[VT_TYPES] = {VITCL_F32, VITCL_BF16,
                                                VITCL_F16, VITCL_INT8};

const char *vt_params_name(vt_params_kind kind, int index)
{
    return index < VT_NUMBERS ? kinds[kind].numbers[index].name : NULL;
}

/* Tiles and CLBlast are tuned in f32 only. */
static bool has_type(vt_params_kind kind, int type)
{
    return type == 0 || kind < VT_PARAMS_TILE;
}

bool vt_params_find(vt_params_kind *out, const char *kernel, int type)
{
    for (int k = 0; k < VT_PARAMS_KINDS; k++)
        if (strcmp(kinds[k].name, kernel) == 0 &&
            has_type((vt_params_kind)k, type)) {
            *out = (vt_params_kind)k;
            return true;
        }
    return false;
}

/* ---- valid values ---- */

static bool power_of_two(int x)
{
    return (x & (x - 1)) == 0;
}

/* The blocks that are saved between two parts of K must fit on a stack. */
static const char *check_rows(vt_rows_shape s)
{
    const int saved = s.panels * ((s.rows + s.block - 1) / s.block);

    if (s.lanes < 4 || !power_of_two(s.lanes))
        return "lanes must be 4, 8 or 16";
    if (s.rows < s.block)
        return "rows must be at least block";
    if ((long)saved * s.block * s.vectors * s.lanes * 4 > 256 << 10)
        return "rows * panels * vectors is too large";
    return NULL;
}

static bool divides(int x, int by)
{
    return by > 0 && x % by == 0;
}

/* The constraints of CLBlast's own tuner. */
static const char *check_clblast(const unsigned short *v)
{
    const int kwg = v[2], kwi = v[3], mdima = v[4], mdimc = v[5], mwg = v[6],
              ndimb = v[7], ndimc = v[8], nwg = v[9], vwm = v[14], vwn = v[15];
    const int items = mdimc * ndimc;

    if (!divides(kwg, kwi) || !divides(mwg, mdimc * vwm) ||
        !divides(nwg, ndimc * vwn) || !divides(mwg, mdima * vwm) ||
        !divides(nwg, ndimb * vwn) || !divides(items, mdima) ||
        !divides(items, ndimb) || !divides(kwg, items / mdima) ||
        !divides(kwg, items / ndimb) || !power_of_two(vwm) ||
        !power_of_two(vwn))
        return "the sizes must divide each other";
    if (items > 256 || (v[10] * mwg + v[11] * nwg) * kwg > 8 << 10)
        return "the work-group is too large";
    return NULL;
}

vt_rows_shape vt_params_shape(vt_params_kind kind, const unsigned short *v,
                              int lanes)
{
    const bool rows = kind == VT_PARAMS_ROWS;
    const unsigned short *s = rows ? v + 2 : v;

    return (vt_rows_shape){.lanes = rows ? v[0] : lanes,
                           .vectors = rows ? v[1] : VT_ROWS_VECTORS,
                           .block = s[0],
                           .terms = s[1],
                           .rows = s[2],
                           .panels = s[3],
                           .groups = s[4]};
}

static const char *check(vt_params_kind kind, const unsigned short *v)
{
    switch (kind) {
    case VT_PARAMS_ROWS:
    case VT_PARAMS_DOT:
        return check_rows(vt_params_shape(kind, v, 16));
    case VT_PARAMS_TILE:
        return v[0] % 16  ? "size must be a multiple of 16"
               : v[1] % 4 ? "terms must be a multiple of 4"
               : 2 * v[1] * (2 * v[0] + 8) * 4 > 32 << 10
                   ? "the tile is larger than local memory"
                   : NULL;
    default:
        return check_clblast(v);
    }
}

/* ---- words ---- */

/* The next word of *at; NULL at the end, or if it is too long. */
static const char *next_word(char out[16], const char **at)
{
    size_t n;

    *at += strspn(*at, " ");
    n = strcspn(*at, " ");
    if (n == 0 || n > 15)
        return NULL;
    memcpy(out, *at, n);
    out[n] = '\0';
    *at += n;
    return out;
}

static int find_number(vt_params_kind kind, const char *word)
{
    const char *name;

    for (int i = 0; (name = vt_params_name(kind, i)); i++)
        if (strcmp(name, word) == 0)
            return i;
    return -1;
}

/* Parses names and values into v; *seen has a bit for each. */
static vitcl_status assign(unsigned short *v, unsigned *seen,
                           vt_params_kind kind, const char *at)
{
    const number *numbers = kinds[kind].numbers;
    char word[16], digits[16];

    while (next_word(word, &at)) {
        const int i = find_number(kind, word);
        unsigned x = 0;

        if (i < 0 || *seen >> i & 1)
            return vt_fail(VITCL_ECORRUPT, "\"%.15s\" is %s", word,
                           i < 0 ? "not a parameter" : "set twice");
        if (!next_word(digits, &at) || strlen(digits) > 5 ||
            digits[strspn(digits, "0123456789")] ||
            sscanf(digits, "%u", &x) != 1 || x < numbers[i].least ||
            x > numbers[i].most)
            return vt_fail(VITCL_ECORRUPT, "%.15s must be from %u to %u", word,
                           numbers[i].least, numbers[i].most);
        v[i] = (unsigned short)x;
        *seen |= 1u << i;
    }
    if (*at)
        return vt_fail(VITCL_ECORRUPT, "\"%.20s\" is not a parameter", at);
    return VITCL_OK;
}

/* Parses the kernel and the precision; *at then points after them. */
static vitcl_status parse_head(vt_params_kind *kind, int *type, const char **at)
{
    char word[16];
    int k = 0, t = 0;

    if (!next_word(word, at))
        return vt_fail(VITCL_ECORRUPT, "the kernel's name is missing");
    while (k < VT_PARAMS_KINDS && strcmp(kinds[k].name, word) != 0)
        k++;
    if (k == VT_PARAMS_KINDS)
        return vt_fail(VITCL_ECORRUPT, "unknown kernel \"%.15s\"", word);
    if (!next_word(word, at))
        return vt_fail(VITCL_ECORRUPT, "the precision is missing");
    while (t < VT_TYPES && strcmp(vt_precision_name(types[t]), word) != 0)
        t++;
    if (t == VT_TYPES || !has_type((vt_params_kind)k, t))
        return vt_fail(VITCL_ECORRUPT, "%s has no precision \"%.15s\"",
                       kinds[k].name, word);
    *kind = (vt_params_kind)k;
    *type = t;
    return VITCL_OK;
}

vitcl_status vt_params_parse(vt_params_kind *kind, int *type, vt_params *out,
                             const char *entry)
{
    vt_params t = {.set = true};
    unsigned seen = 0;
    const char *name, *wrong;

    VT_RET(parse_head(kind, type, &entry));
    VT_RET(assign(t.v, &seen, *kind, entry));
    for (int i = 0; (name = vt_params_name(*kind, i)); i++)
        if (!(seen >> i & 1))
            return vt_fail(VITCL_ECORRUPT, "%s is missing", name);
    wrong = check(*kind, t.v);
    if (wrong)
        return vt_fail(VITCL_ECORRUPT, "%s", wrong);
    *out = t;
    return VITCL_OK;
}

void vt_params_format(char out[VT_ENTRY], vt_params_kind kind, int type,
                      const unsigned short *v)
{
    size_t n = (size_t)snprintf(out, VT_ENTRY, "%s %s", kinds[kind].name,
                                vt_precision_name(types[type]));
    const char *name;

    for (int i = 0; (name = vt_params_name(kind, i)) && n < VT_ENTRY; i++)
        n += (size_t)snprintf(out + n, VT_ENTRY - n, " %s %u", name, v[i]);
}

bool vt_params_change(unsigned short *v, vt_params_kind kind, const char *words)
{
    unsigned seen = 0;

    return assign(v, &seen, kind, words) == VITCL_OK && !check(kind, v);
}
