/*
 * ranks.h - the processes of a training under mpirun: each has a rank, from 0.
 *
 * MPI is a module that is loaded where mpirun's variables say that there are
 * several processes, so that nothing else depends on it.
 */
#ifndef VT_TRAIN_RANKS_H
#define VT_TRAIN_RANKS_H
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The module's functions return NULL or what failed. */
typedef struct vt_mpi {
    const char *version; /* vitcl's */
    /* *threads: other threads may call the functions, one at a time */
    const char *(*begin)(int *rank, int *count, bool *threads);
    const char *(*end)(void);
    /* all[r * bytes]: rank r's `mine` */
    const char *(*gather)(void *all, const void *mine, size_t bytes);
    /* mine[r * bytes]: what rank r has in all[this rank * bytes] */
    const char *(*exchange)(void *mine, const void *all, size_t bytes);
} vt_mpi;
#define VT_MPI_SYMBOL "vt_mpi_module"

typedef struct vt_ranks {
    uint32_t rank, count; /* alone: 0, 1 */
    const vt_mpi *mpi;    /* NULL: alone */
    bool threads;         /* vt_ranks_sum() may run on any one thread */
} vt_ranks;

/* This process's rank and how many there are, by mpirun's variables; alone: 0
 * of 1. */
uint32_t vt_ranks_rank(uint32_t *count);
/* Joins the other processes. VITCL_EIO: there are others, but MPI cannot be
 * loaded, or this is not their MPI. */
vitcl_status vt_ranks_open(vt_ranks *out);
/* After all ranks have succeeded. A rank that fails must end its process
 * instead, upon which mpirun ends the others. */
vitcl_status vt_ranks_close(const vt_ranks *r);
/* All wait for all ranks. Alone, gather copies. */
vitcl_status vt_ranks_gather(const vt_ranks *r, void *all, const void *mine,
                             size_t bytes);
/* *flag becomes that of rank 0. */
vitcl_status vt_ranks_agree(const vt_ranks *r, bool *flag);
vitcl_status vt_ranks_wait(const vt_ranks *r);
enum { VT_RANKS_TEXT = 256 };
/* *other: the first rank whose text differs from rank 0's, and its text; 0: all
 * have the same. */
vitcl_status vt_ranks_alike(const vt_ranks *r, const char text[VT_RANKS_TEXT],
                            uint32_t *other, char theirs[VT_RANKS_TEXT]);
/* Of a failure that all ranks know of, rank 0 alone returns. Its process ends
 * then, upon which mpirun ends the others: one line says what is wrong. */
vitcl_status vt_ranks_leave(const vt_ranks *r);
/* x[n] becomes the sum over the ranks, added up by one balanced binary tree in
 * the order of ranks; the same bits everywhere. The count must be a power of
 * two. */
vitcl_status vt_ranks_sum(const vt_ranks *r, float *x, size_t n);

#endif
