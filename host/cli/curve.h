/*
 * curve.h - the curve of a training: losses and accuracies over its steps.
 */
#ifndef VT_CLI_CURVE_H
#define VT_CLI_CURVE_H
#include <stdbool.h>
#include <vitcl_train.h>

typedef struct curve curve;
curve *curve_new(void); /* NULL: out of memory */
void curve_add(curve *c, const vitcl_train_event *e);
/* path: a .png or .svg file. Returns the exit status; say: prints why it could
 * not be written. Before the first step there is nothing to write. */
int curve_write(const curve *c, const char *path, bool say);
void curve_free(curve *c);

#endif
