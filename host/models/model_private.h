/*
 * model_private.h - the members of a model; for this folder only.
 */
#ifndef VT_MODELS_MODEL_PRIVATE_H
#define VT_MODELS_MODEL_PRIVATE_H
#include "image/image.h"
#include "models/model.h"

struct vt_model {
    vt_config config;
    vt_weights *weights; /* NULL: a preset */
    vt_json *json, *processor_file;
    const vt_json *preprocessor; /* part of it */
    const char *processor_name;  /* its file's; NULL: none */
    char *path;
    const char *type;
    const char **label, **longname; /* borrowed from json */
    uint32_t labels;
    vt_certainty certainty; /* temperature 0: none */
    const char *problem;    /* borrowed from json; NULL: none */
    bool pixels_chosen;     /* else as the files say */
    vt_pixels pixels;
    uint32_t patches; /* chosen; 0: as the files say */
    uint64_t parameters;
    float *positions; /* of a text tower: [context,width] */
};

/* "the file looks like a <looks>" */
const char *vt_model_looks(const vt_model *m);
/* Checks the file against the plan and counts parameters. */
vitcl_status vt_model_check(vt_model *m);
/* As vt_preset_read(); false: no preset. */
bool vt_preset_shape(vt_shape *out, char timm[96], const char *name);

#endif
