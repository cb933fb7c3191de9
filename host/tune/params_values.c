/*
 * params_values.c - the values that a device uses: the user's, or built-in
 * ones.
 */
#include "base/memory.h"
#include "tune/params.h"

#include <string.h>

static vt_params_table *table_of(const vt_dev *dev)
{
    return vt_dev_attached(dev, VT_ATTACHED_PARAMS);
}

vitcl_status vt_params_open(vt_dev *dev, vitcl_device_info *info)
{
    vt_params_table *table = NULL;
    const vitcl_status st = VT_NEW(&table, 1);

    if (st == VITCL_OK) {
        vt_dev_attach(dev, VT_ATTACHED_PARAMS, table, free);
        vt_params_load(table, info);
    }
    return st;
}

const vt_params *vt_params_for(const vt_dev *dev, vt_params_kind kind,
                               vt_dtype type)
{
    const vt_params *t = &(*table_of(dev))[kind][vt_type_number(type)];

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

/* For each kernel the first row whose pattern is the type or a part of the
 * vendor or the name of the device.
 *
 * CLBlast: the CPU row is the best of some 350 from its own tuner on PoCL and
 * AVX-512. The others are what its database has for a vendor's unknown GPU; the
 * last is that of AMD, Intel and NVIDIA (SM6.1).
 *
 * Tiles: 128 by 128 are 8x8 sums a work-item, about as many as the database's
 * winners have on NVIDIA and Intel, and 64 by 64 are the 4x4 that they have on
 * Mali and Adreno, whose work-items have few registers. */
static const struct {
    const char *pattern;
    vt_params_kind kind;
    const char *parameters;
} rows[] = {
    {"cpu", VT_PARAMS_CLBLAST,
     "GEMMK 0 KREG 1 KWG 32 KWI 2 MDIMA 8 MDIMC 8 MWG 64 NDIMB 8 "
     "NDIMC 8 NWG 128 SA 0 SB 0 STRM 0 STRN 0 VWM 8 VWN 4"},
    {"ARM", VT_PARAMS_CLBLAST,
     "GEMMK 0 KREG 1 KWG 32 KWI 2 MDIMA 16 MDIMC 16 MWG 64 NDIMB 8 "
     "NDIMC 8 NWG 32 SA 1 SB 1 STRM 0 STRN 0 VWM 4 VWN 2"},
    {"QUALCOMM", VT_PARAMS_CLBLAST,
     "GEMMK 0 KREG 1 KWG 32 KWI 2 MDIMA 8 MDIMC 8 MWG 32 NDIMB 8 "
     "NDIMC 8 NWG 32 SA 1 SB 1 STRM 0 STRN 0 VWM 4 VWN 1"},
    {"", VT_PARAMS_CLBLAST,
     "GEMMK 0 KREG 1 KWG 32 KWI 2 MDIMA 16 MDIMC 16 MWG 64 NDIMB 8 "
     "NDIMC 8 NWG 64 SA 1 SB 1 STRM 0 STRN 0 VWM 4 VWN 4"},
    {"ARM", VT_PARAMS_TILE, "size 64 terms 8"},
    {"Mali", VT_PARAMS_TILE, "size 64 terms 8"},
    {"QUALCOMM", VT_PARAMS_TILE, "size 64 terms 8"},
    {"", VT_PARAMS_TILE, "size 128 terms 8"},
};

bool vt_params_vendor(unsigned short v[VT_NUMBERS], vt_params_kind kind,
                      const vitcl_device_info *info)
{
    size_t row = 0;

    while (row < VT_COUNT(rows) &&
           (rows[row].kind != kind ||
            (strcmp(rows[row].pattern, info->type) != 0 &&
             !strstr(info->vendor, rows[row].pattern) &&
             !strstr(info->name, rows[row].pattern))))
        row++;
    return row < VT_COUNT(rows) &&
           vt_params_change(v, kind, rows[row].parameters);
}

static void built_in(unsigned short *v, const vt_dev *dev, vt_params_kind kind,
                     vt_dtype type)
{
    const vt_rows_shape s = vt_params_rows(dev, kind, type, vt_dev_vector(dev));
    const int shape[] = {s.lanes, s.vectors, s.block, s.terms,
                         s.rows,  s.panels,  s.groups};
    const int from = kind == VT_PARAMS_DOT ? 2 : 0;

    if (vt_params_vendor(v, kind, vt_dev_info(dev)))
        return;
    for (int i = from; i < 7; i++)
        v[i - from] = (unsigned short)shape[i];
}

void vt_params_values(unsigned short v[VT_NUMBERS], const vt_dev *dev,
                      vt_params_kind kind, vt_dtype type)
{
    const vt_params *t = vt_params_for(dev, kind, type);

    memset(v, 0, VT_NUMBERS * sizeof *v);
    if (t)
        memcpy(v, t->v, sizeof t->v);
    else
        built_in(v, dev, kind, type);
}

void vt_params_numbers(vt_number number[VT_NUMBERS], const vt_dev *dev,
                       vt_params_kind kind)
{
    unsigned short v[VT_NUMBERS];

    vt_params_values(v, dev, kind, VT_F32);
    for (int i = 0; i < VT_NUMBERS; i++)
        number[i] = (vt_number){.name = vt_params_name(kind, i), .value = v[i]};
}

void vt_params_entry(char out[VT_ENTRY], const vt_dev *dev, vt_params_kind kind,
                     vt_dtype type)
{
    unsigned short v[VT_NUMBERS];

    vt_params_values(v, dev, kind, type);
    vt_params_format(out, kind, vt_type_number(type), v);
}

vitcl_status vt_params_use(vt_dev *dev, const char *entry)
{
    vt_params_table *table = table_of(dev);
    vt_params_kind kind;
    vt_params t;
    int type;

    vt_dev_keep_no_programs(dev);
    if (!entry) {
        memset(table, 0, sizeof *table);
        return VITCL_OK;
    }
    VT_RET(vt_params_parse(&kind, &type, &t, entry));
    (*table)[kind][type] = t;
    return VITCL_OK;
}
