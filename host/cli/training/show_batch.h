/*
 * show_batch.h - a sheet of the pictures of a batch (train --show-batch).
 */
#ifndef VT_CLI_SHOW_BATCH_H
#define VT_CLI_SHOW_BATCH_H
#include <vitcl_train.h>

/* The first pictures, at most 60, each with its labels and their weights.
 * Returns the exit status; prints why it could not be written. */
int show_batch(const vitcl_train_batch *batch, const char *path);
/* RandAugment's operations (train --preview). */
int show_preview(const vitcl_train_batch *batch, const char *path);
/* Original, masked, the colours to predict and the predicted ones, of at most
 * eight pictures (train --show-predicted). */
int show_predicted(const vitcl_train_batch *batch, const char *path);

#endif
