/*
 * shard.h - which pictures of a common input one of several workers takes:
 * those at positions k-1, k-1+n, k-1+2n, .. of it. So no worker has to know how
 * many there are, and each has pictures of every folder.
 */
#ifndef VT_PARTS_SHARD_H
#define VT_PARTS_SHARD_H
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define VT_SHARDS_MAX 100000u

typedef struct vt_shard {
    uint32_t k, n; /* 1 <= k <= n; n 0: the input is not split */
} vt_shard;

/* "K/N"; "auto": from the environment of Slurm, Open MPI or another MPI;
 * "auto/N": also of an indexed job of Kubernetes, which does not tell N. */
vitcl_status vt_shard_parse(vt_shard *out, const char *word);
/* Is the picture at this position (from 0) the shard's? */
bool vt_shard_has(vt_shard s, uint64_t position);
/* How many of `count` pictures are. */
uint64_t vt_shard_share(vt_shard s, uint64_t count);

#endif
