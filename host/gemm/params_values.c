/*
 * params_values.c - the values that a device uses: the user's, or built-in
 * ones.
 */
#include "base/memory.h"
#include "gemm/device.h"
#include "gemm/params.h"

#include <string.h>

const vt_params *vt_params_for(const vt_dev *dev, vt_params_kind kind,
                               vt_dtype type)
{
    const vt_params *t =
        &vt_gemm_device_of(dev)->params[kind][vt_type_number(type)];

    return t->set ? t : NULL;
}

/* Rows and vectors of a register block: accumulators, one row of weights and a
 * broadcast value fill 16 registers (SSE, NEON, AVX2) or 32 (AVX-512). terms
 * and rows keep a chunk of A (at most 240 KiB) and the active part of a group
 * of panels in an L2 of 512 KiB. */
vt_rows_shape vt_params_rows(const vt_dev *dev, vt_params_kind kind,
                             vt_dtype type, int lanes)
{
    const vt_params *t = vt_params_for(dev, kind, type);

    if (t)
        return vt_params_shape(kind, t->v, lanes);
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
    size_t row = 0;

    if (kind == VT_PARAMS_TILE) {
        v[0] = 128, v[1] = 8;
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
    (void)vt_params_change(v, kind, clblast[row].parameters);
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

void vt_params_entry(char out[VT_ENTRY], const vt_dev *dev, vt_params_kind kind,
                     vt_dtype type)
{
    unsigned short v[VT_PARAMS_NUMBERS];

    vt_params_values(v, dev, kind, type);
    vt_params_format(out, kind, vt_type_number(type), v);
}

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
