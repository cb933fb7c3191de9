/*
 * sharding.h - one worker's part of a run: --shard, and its output.
 */
#ifndef VT_CLI_SHARDING_H
#define VT_CLI_SHARDING_H
#include "answering.h"
#include "parts/partition.h"

typedef struct sharding {
    vt_shard shard;           /* n 0: the whole */
    char *path;               /* of the output; NULL: standard output */
    bool finished;            /* by an earlier run: nothing is left to do */
    vt_manifest about, found; /* of this run; of the earlier one */
    vt_part *part;            /* that standard output goes to */
    int stdout_fd;            /* standard output meanwhile */
} sharding;

/* How the rows are made: printed into the manifest. */
typedef struct row_settings {
    const char *command;
    char text[VT_SETTINGS];
} row_settings;

/* EXIT_USAGE: {shard} is in a file's name (NULL: none), but there are none, or
 * it is there twice or in other letters; or several workers would replace each
 * other's file, because it is not there. */
int sharding_named(const char *file, const picture_options *how);
/* Parses --shard; finds the output's name, and whether it is finished, which it
 * is for the same pictures only. Without --shard, `path` is a copy of output.
 * operands NULL: the caller compares the pictures. */
int sharding_open(sharding *s, const picture_options *how, const char *output,
                  const words *operands, const model_options *model,
                  const row_settings *settings);
/* Is the finished part of such an input? Prints why not, or that it is
 * finished. */
int sharding_same(const sharding *s, const vt_manifest *asked);
/* Standard output goes to the part from here to sharding_end(). */
int sharding_redirect(sharding *s);
/* After the run: makes the part appear if code is EXIT_OK, and the manifest of
 * the worker's part; else the answers so far are kept in another file. Returns
 * the exit status. */
int sharding_end(sharding *s, int code, const answering *w);
/* The same for a part without a session's pictures. */
int sharding_commit(sharding *s, int code);
/* What computed the rows, into the manifest. */
void sharding_computed(sharding *s, const device_pool *by);
void sharding_close(sharding *s);
/* " precision=.." and the like, which every command's rows depend on: options
 * and what the environment says of kernels. */
enum { SHARDING_COMMON = 256 };
void sharding_common(char *text, size_t room, const model_options *o);

#endif
