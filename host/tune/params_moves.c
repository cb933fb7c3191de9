/*
 * params_moves.c - the changes of parameters that the tuner tries.
 */
#include "base/memory.h"
#include "tune/params.h"

#include <stdio.h>

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
    int type;

    if (vt_params_parse(&kind, &type, &t, entry) != VITCL_OK)
        return false;
    for (int late = 0; late < 2; late++)
        for (const char *const *m = moves[kind];
             m < moves[kind] + VT_COUNT(moves[kind]) && *m; m++) {
            if (early(*m, vt_dev_vector(dev)) == (late != 0) || index-- > 0)
                continue;
            out[0] = '\0';
            if (vt_params_change(t.v, kind, *m))
                vt_params_format(out, kind, type, t.v);
            return true;
        }
    return false;
}
