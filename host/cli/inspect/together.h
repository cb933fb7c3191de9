/*
 * together.h - one basis for the patch tokens of several pictures, so that like
 * patches of different pictures have like colours: `vitcl inspect --together`.
 */
#ifndef VT_CLI_TOGETHER_H
#define VT_CLI_TOGETHER_H
#include "cli/pictures/pictures.h"
#include "inspect.h"

typedef struct inspect_together {
    /* set before */
    vitcl_device *device;
    vitcl_model *model;
    const vitcl_model_info *info;
    const vt_patch_grid *grid;
    const char *block; /* the last block's tensor */
    /* by inspect_together_find() */
    double *axis, *mean; /* [INSPECT_COLOURS, width], [width] */
    double variance[INSPECT_COLOURS], spread[INSPECT_COLOURS];
    uint64_t pictures;
} inspect_together;

/* Can they be read twice? Prints why not. */
bool inspect_together_can(const words *operands);
/* Runs all pictures and keeps sums only, so memory does not grow with their
 * number. They are read a second time to be drawn: pictures that cannot be read
 * are left out here and reported then. */
int inspect_together_find(inspect_together *t, const model_options *common,
                          const words *operands,
                          const picture_options *pictures);
void inspect_together_close(inspect_together *t);

#endif
