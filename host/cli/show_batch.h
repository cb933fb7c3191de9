/*
 * show_batch.h - a sheet of the pictures of a batch (train --show-batch).
 */
#ifndef VT_CLI_SHOW_BATCH_H
#define VT_CLI_SHOW_BATCH_H
#include <vitcl_train.h>

/* The first pictures, at most 60, each with its labels and their weights.
 * Returns the exit status; prints why it could not be written. */
int show_batch(const vitcl_train_batch *batch, const char *path);

#endif
