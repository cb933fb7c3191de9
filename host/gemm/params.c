/*
 * params.c - parameters of the multiplications: their names, built-in values,
 * valid ranges, and the candidates of the tuner.
 *
 * An entry is a line of words: a kernel, a precision, then each parameter's
 * name and value in any order, for example
 *
 *   rows f32 lanes 8 vectors 2 block 6 terms 1024 rows 60 panels 4 groups 16
 *
 * Every entry that passes check() gives correct results (the bits of the native
 * kernels do not depend on it at all); only the speed differs.
 */
#include "gemm/params.h"
#include "gemm/precision.h"

#include "base/memory.h"
#include "gemm/device.h"
#include "gemm/rows.h"

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
    number numbers[VT_PARAMS_NUMBERS + 1];
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

static const vitcl_precision types[VT_PARAMS_TYPES] = {VITCL_F32, VITCL_BF16,
                                                       VITCL_F16, VITCL_INT8};

int vt_type_number(vt_dtype t)
{
    return t == VT_BF16 ? 1 : t == VT_F16 ? 2 : t == VT_I8 ? 3 : 0;
}

const char *vt_params_name(vt_params_kind kind, int index)
{
    return index < VT_PARAMS_NUMBERS ? kinds[kind].numbers[index].name : NULL;
}

const vt_params *vt_params_for(const vt_dev *dev, vt_params_kind kind,
                               vt_dtype type)
{
    const vt_params *t =
        &vt_gemm_device_of(dev)->params[kind][vt_type_number(type)];

    return t->set ? t : NULL;
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

static vt_rows_shape shape_of(vt_params_kind kind, const unsigned short *v,
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
        return check_rows(shape_of(kind, v, 16));
    case VT_PARAMS_TILE:
        return v[0] % 16 ? "size must be a multiple of 16"
               : v[1] * (2 * v[0] + 2) * 4 > 32 << 10
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
    while (t < VT_PARAMS_TYPES &&
           strcmp(vt_precision_name(types[t]), word) != 0)
        t++;
    if (t == VT_PARAMS_TYPES || (t && k >= VT_PARAMS_TILE))
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
    vitcl_status st;

    VT_TRY(parse_head(kind, type, &entry));
    VT_TRY(assign(t.v, &seen, *kind, entry));
    for (int i = 0; (name = vt_params_name(*kind, i)); i++)
        if (!(seen >> i & 1))
            return vt_fail(VITCL_ECORRUPT, "%s is missing", name);
    wrong = check(*kind, t.v);
    if (wrong)
        return vt_fail(VITCL_ECORRUPT, "%s", wrong);
    *out = t;
done:
    return st;
}

static void format(char out[VT_ENTRY], vt_params_kind kind, int type,
                   const unsigned short *v)
{
    size_t n = (size_t)snprintf(out, VT_ENTRY, "%s %s", kinds[kind].name,
                                vt_precision_name(types[type]));
    const char *name;

    for (int i = 0; (name = vt_params_name(kind, i)) && n < VT_ENTRY; i++)
        n += (size_t)snprintf(out + n, VT_ENTRY - n, " %s %u", name, v[i]);
}

/* ---- built-in values ---- */

/* Rows and vectors of a register block: accumulators, one row of weights and a
 * broadcast value fill 16 registers (SSE, NEON, AVX2) or 32 (AVX-512). terms
 * and rows keep a chunk of A (at most 240 KiB) and the active part of a group
 * of panels in an L2 of 512 KiB. */
vt_rows_shape vt_params_rows(const vt_dev *dev, vt_params_kind kind,
                             vt_dtype type, int lanes)
{
    const vt_params *t = vt_params_for(dev, kind, type);

    if (t)
        return shape_of(kind, t->v, lanes);
    return (vt_rows_shape){.lanes = lanes,
                           .vectors = VT_ROWS_VECTORS,
                           .block = vt_rows_block(lanes),
                           .terms = 1024,
                           .rows = 60,
                           .panels = 4,
                           .groups = 16};
}

/* The first row whose pattern is the type or a part of the name of the device.
 * CPU row: the best of some 350 from CLBlast's own tuner on PoCL and AVX-512.
 * GPU row: the most frequent winner in CLBlast's database. */
static const struct {
    const char *pattern, *parameters;
} clblast[] = {
    {"cpu", "GEMMK 0 KREG 1 KWG 32 KWI 2 MDIMA 8 MDIMC 8 MWG 64 NDIMB 8 "
            "NDIMC 8 NWG 128 SA 0 SB 0 STRM 0 STRN 0 VWM 8 VWN 4"},
    {"", "GEMMK 0 KREG 1 KWG 32 KWI 2 MDIMA 16 MDIMC 16 MWG 64 NDIMB 8 "
         "NDIMC 8 NWG 64 SA 1 SB 1 STRM 0 STRN 0 VWM 4 VWN 4"},
};

static void built_in(unsigned short *v, const vt_dev *dev, vt_params_kind kind,
                     vt_dtype type)
{
    const vt_rows_shape s = vt_params_rows(dev, kind, type, vt_dev_vector(dev));
    const int rows[] = {s.lanes, s.vectors, s.block, s.terms,
                        s.rows,  s.panels,  s.groups};
    const int from = kind == VT_PARAMS_DOT ? 2 : 0;
    unsigned seen = 0;
    size_t row = 0;

    if (kind == VT_PARAMS_TILE) {
        v[0] = 64, v[1] = 16;
        return;
    }
    if (kind != VT_PARAMS_CLBLAST) {
        for (int i = from; i < 7; i++)
            v[i - from] = (unsigned short)rows[i];
        return;
    }
    while (clblast[row].pattern[0] &&
           strcmp(clblast[row].pattern, vt_dev_info(dev)->type) != 0 &&
           !strstr(vt_dev_info(dev)->name, clblast[row].pattern))
        row++;
    assign(v, &seen, kind, clblast[row].parameters);
}

void vt_params_values(unsigned short v[VT_PARAMS_NUMBERS], const vt_dev *dev,
                      vt_params_kind kind, vt_dtype type)
{
    const vt_params *t = vt_params_for(dev, kind, type);

    memset(v, 0, VT_PARAMS_NUMBERS * sizeof *v);
    if (t)
        memcpy(v, t->v, sizeof t->v);
    else
        built_in(v, dev, kind, type);
}

/* ---- for the tuner (ocl.h) ---- */

vitcl_status vt_params_use(vt_dev *dev, const char *entry)
{
    vt_gemm_device *g = vt_gemm_device_of(dev);
    vt_params_kind kind;
    vt_params t;
    int type;
    vitcl_status st = VITCL_OK;

    vt_dev_keep_no_programs(dev);
    if (!entry) {
        memset(g->params, 0, sizeof g->params);
        return VITCL_OK;
    }
    VT_TRY(vt_params_parse(&kind, &type, &t, entry));
    g->params[kind][type] = t;
done:
    return st;
}

vitcl_status vt_params_entry(char out[VT_ENTRY], vt_dev *dev,
                             const char *provider, const vt_gemm_desc *d)
{
    unsigned short v[VT_PARAMS_NUMBERS];
    vt_params_kind kind = VT_PARAMS_ROWS;

    if (strcmp(provider, "clblast") == 0 && d->type == VT_F32)
        kind = VT_PARAMS_CLBLAST;
    else if (strcmp(provider, "native") != 0)
        return vt_fail(
            VITCL_EUNSUPPORTED,
            "%s cannot be tuned in %s; use native or clblast (clblast "
            "only in f32)",
            provider, vt_dtype_name(d->type));
    else if (d->device_class == VT_CLASS_GPU && d->type == VT_F32)
        kind = VT_PARAMS_TILE;
    else if (d->device_class == VT_CLASS_GPU)
        return vt_fail(VITCL_EUNSUPPORTED,
                       "the native multiplication cannot be tuned in %s "
                       "on %.60s",
                       vt_dtype_name(d->type), vt_dev_info(dev)->name);
    else if (vt_dot_for(dev, d))
        kind = VT_PARAMS_DOT;
    vt_params_values(v, dev, kind, d->type);
    format(out, kind, vt_type_number(d->type), v);
    return VITCL_OK;
}

/* Changes to try for each kernel. The first ones of rows are for 4, 8 and 16
 * lanes. */
static const char *const moves[VT_PARAMS_KINDS][48] = {
    [VT_PARAMS_ROWS] = {"lanes 4 vectors 2 block 6",
                        "lanes 4 vectors 3 block 4",
                        "lanes 8 vectors 3 block 4",
                        "lanes 8 vectors 2 block 5",
                        "lanes 8 vectors 4 block 3",
                        "lanes 8 vectors 2 block 6",
                        "lanes 8 vectors 1 block 12",
                        "lanes 16 vectors 2 block 12",
                        "lanes 16 vectors 3 block 8",
                        "lanes 16 vectors 4 block 6",
                        "lanes 16 vectors 2 block 14",
                        "lanes 16 vectors 2 block 13",
                        "lanes 16 vectors 1 block 24",
                        "terms 512",
                        "terms 768",
                        "terms 1536",
                        "terms 384",
                        "terms 1024",
                        "terms 3072",
                        "terms 256",
                        "rows 24",
                        "rows 36",
                        "rows 96",
                        "rows 60",
                        "rows 200",
                        "panels 2",
                        "panels 8",
                        "panels 1",
                        "panels 4",
                        "groups 8",
                        "groups 32",
                        "groups 4",
                        "groups 16",
                        "groups 64"},
    [VT_PARAMS_DOT] = {"block 5",    "block 4",   "block 7",   "block 6",
                       "block 12",   "block 13",  "block 14",  "block 10",
                       "terms 512",  "terms 384", "terms 768", "terms 1536",
                       "terms 1024", "rows 24",   "rows 36",   "rows 96",
                       "rows 60",    "rows 200",  "panels 2",  "panels 8",
                       "panels 1",   "panels 4",  "groups 8",  "groups 32",
                       "groups 4",   "groups 16", "groups 64"},
    [VT_PARAMS_TILE] = {"size 32", "size 48", "size 80", "size 96", "size 128",
                        "size 64", "terms 8", "terms 32", "terms 16"},
    [VT_PARAMS_CLBLAST] = {"MWG 64 NWG 64",
                           "MWG 128 NWG 64",
                           "MWG 128 NWG 128",
                           "MWG 32 NWG 64",
                           "MWG 64 NWG 32 NDIMC 8 NDIMB 8 VWN 4",
                           "MWG 64 NWG 128",
                           "MDIMC 4 NDIMC 4 MDIMA 4 NDIMB 4",
                           "MDIMC 8 NDIMC 4 MDIMA 8 NDIMB 4",
                           "MDIMC 8 NDIMC 8 MDIMA 8 NDIMB 8",
                           "MDIMC 16 NDIMC 8 MDIMA 16 NDIMB 8",
                           "MDIMC 16 NDIMC 16 MDIMA 16 NDIMB 16",
                           "MDIMC 32 NDIMC 8 MDIMA 32 NDIMB 8",
                           "VWM 4",
                           "VWM 2",
                           "VWM 8",
                           "VWM 1",
                           "VWN 2",
                           "VWN 8",
                           "VWN 1",
                           "VWN 4",
                           "KWG 16",
                           "KWG 64",
                           "KWG 32",
                           "KWI 4",
                           "KWI 8",
                           "KWI 2",
                           "SA 1 SB 1",
                           "SA 1 SB 0",
                           "SA 0 SB 1",
                           "SA 0 SB 0",
                           "STRM 1",
                           "STRN 1",
                           "STRM 0 STRN 0"},
};

/* Changes for this number of lanes, or for any, come first. */
static bool early(const char *move, int lanes)
{
    int wanted;

    return sscanf(move, "lanes %d", &wanted) != 1 || wanted == lanes;
}

bool vt_params_move(char out[VT_ENTRY], const vt_dev *dev, const char *entry,
                    unsigned index)
{
    vt_params_kind kind;
    vt_params t;
    unsigned seen = 0;
    int type;

    if (vt_params_parse(&kind, &type, &t, entry) != VITCL_OK)
        return false;
    for (int late = 0; late < 2; late++)
        for (const char *const *m = moves[kind];
             m < moves[kind] + VT_COUNT(moves[kind]) && *m; m++) {
            if (early(*m, vt_dev_vector(dev)) == (late != 0) || index-- > 0)
                continue;
            out[0] = '\0';
            if (assign(t.v, &seen, kind, *m) == VITCL_OK && !check(kind, t.v))
                format(out, kind, type, t.v);
            return true;
        }
    return false;
}
