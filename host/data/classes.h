/*
 * classes.h - map the classes of one set to those of another.
 *
 * Everything that compares pictures with a model or with other pictures uses
 * this file, so that all follow the same rules.
 *
 * By name: a class is the other set's class with that label, else the one with
 * that longer name. A class that the other set lacks, or has twice, is an error
 * that names it. The other set may have more classes.
 *
 * By number (only on request): class 7 is class 7. If all names of a set are
 * decimal numbers (such as "0007"), a class's number is its name; otherwise its
 * position in the set, and then both sets must have the same size.
 */
#ifndef VT_DATA_CLASSES_H
#define VT_DATA_CLASSES_H
#include "data/dataset.h"
#include "models/model.h"

typedef struct vt_classes {
    uint32_t count;
    const char *whose; /* for messages: "the model" */
    const void *of;
    const char *(*label)(const void *of, uint32_t index); /* NULL: none */
    const char *(*name)(const void *of, uint32_t index);  /* may be NULL */
} vt_classes;

vt_classes vt_classes_of_model(const vt_model *m, uint32_t count);
vt_classes vt_classes_of_data(const vt_dataset *d, const char *whose);

/* out[i]: the class of `those` that class i of `these` is; these->count of
 * them. */
vitcl_status vt_classes_match(uint32_t *out, const vt_classes *these,
                              const vt_classes *those, bool by_number);
/* The same, but where at least one is found, the others are UINT32_MAX. */
vitcl_status vt_classes_match_some(uint32_t *out, const vt_classes *these,
                                   const vt_classes *those, bool by_number);
/* VITCL_EINVAL unless both have the same names in the same order. */
vitcl_status vt_classes_same(const vt_classes *these, const vt_classes *those);

#endif
