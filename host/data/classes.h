/*
 * classes.h - where two sets of classes meet: which class of one is which of
 * the other. Every place that compares pictures with a model or with other
 * pictures asks here, so that none counts positions on its own.
 *
 * By name a class is the other set's class of that label, else the one of that
 * longer name; whatever the other set lacks, or has twice, is an error that
 * names it. The other set may have more classes.
 *
 * By number, which has to be asked for, class 7 is class 7: in a set whose
 * names are all decimal numbers (as "0007") the number that the name says, else
 * the place in the set; places need two sets of one size.
 */
#ifndef VT_DATA_CLASSES_H
#define VT_DATA_CLASSES_H
#include "data/dataset.h"
#include "models/model.h"

typedef struct vt_classes {
    uint32_t count;
    const char *whose; /* in messages: "the model" */
    const void *of;
    const char *(*label)(const void *of, uint32_t index); /* NULL: none */
    const char *(*name)(const void *of, uint32_t index);  /* may be NULL */
} vt_classes;

vt_classes vt_classes_of_model(const vt_model *m, uint32_t count);
vt_classes vt_classes_of_data(const vt_dataset *d, const char *whose);

/* out[these->count]: the class of `those` that each of these is. */
vitcl_status vt_classes_match(uint32_t *out, const vt_classes *these,
                              const vt_classes *those, bool by_number);
/* VITCL_EINVAL unless they have the same names in the same order. */
vitcl_status vt_classes_same(const vt_classes *these, const vt_classes *those);

#endif
