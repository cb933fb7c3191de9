/*
 * curve.h - the curve of a training: losses, accuracies and the learning rate
 * over its epochs.
 */
#ifndef VT_CLI_CURVE_H
#define VT_CLI_CURVE_H
#include <stdbool.h>
#include <vitcl_train.h>

typedef struct curve curve;
curve *curve_new(void); /* NULL: out of memory */
/* Before the rest: how many steps an epoch has. */
void curve_epochs(curve *c, const vitcl_train_event *e);
/* Before the first event of a resumed training: adds the steps before this one,
 * as a log has them. False: there is no log. */
bool curve_read(curve *c, const char *log, uint64_t before);
bool curve_any(const curve *c); /* has it any steps? */
void curve_add(curve *c, const vitcl_train_event *e);
/* path: a .png or .svg file. Returns the exit status; say: prints why it could
 * not be written. Before the first step there is nothing to write. */
int curve_write(const curve *c, const char *path, bool say);
void curve_free(curve *c);

#endif
