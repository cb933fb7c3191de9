/*
 * module.h - parts of the program that are linked with large libraries and are
 * loaded when they are needed: vitcl-plot.so and others.
 *
 * A module exports one constant struct of functions, whose first member is a
 * string: the version of vitcl that it was built with.
 */
#ifndef VT_BASE_MODULE_H
#define VT_BASE_MODULE_H
#include "base/status.h"

typedef struct vt_module {
    const char *file;     /* found as a helper is: base/helper.h */
    const char *variable; /* names another */
    const char *symbol;   /* its struct */
    const char *purpose;  /* for messages: "draws figures", and */
    const char *fails;    /* "figures cannot be drawn" */
    const char *absent;   /* the message if this build has none; else NULL */
    const void *loaded;   /* the struct; NULL: not yet */
} vt_module;

/* Loads the module, unless it is loaded. It stays so. */
vitcl_status vt_module_load(vt_module *m);

#endif
