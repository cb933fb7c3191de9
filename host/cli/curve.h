/*
 * curve.h - draws the loss and accuracy of a training.
 */
#ifndef VT_CLI_CURVE_H
#define VT_CLI_CURVE_H
#include <vitcl_train.h>

typedef struct curve curve;
curve *curve_new(void); /* NULL: out of memory */
void curve_add(curve *c, const vitcl_train_event *e);
/* An uncompressed PNG; 0: errno says why it could not be written. */
int curve_write(curve *c, const char *path);
void curve_free(curve *c);

#endif
