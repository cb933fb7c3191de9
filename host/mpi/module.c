/*
 * module.c - the modules vitcl-openmpi.so and vitcl-mpich.so: what a training
 * needs of MPI (train/ranks.h). Built once with each.
 */
#include "train/ranks.h"

#include <limits.h>
#include <mpi.h>
#include <stdbool.h>
#include <vitcl.h>

static bool ours; /* MPI was begun here */

static const char *said(int code)
{
    static char text[MPI_MAX_ERROR_STRING];
    int n;

    if (code == MPI_SUCCESS)
        return NULL;
    if (MPI_Error_string(code, text, &n) != MPI_SUCCESS)
        return "unknown error";
    return text;
}

static const char *begin(int *rank, int *count)
{
    int begun = 0, ended = 0, level;
    const char *why = said(MPI_Initialized(&begun));

    if (!why)
        why = said(MPI_Finalized(&ended));
    if (!why && ended)
        return "it has ended; a process can join only one training";
    /* Other threads decode pictures; only one calls MPI. */
    if (!why && !begun)
        why = said(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level));
    ours = !begun;
    if (!why)
        why = said(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    if (!why)
        why = said(MPI_Comm_rank(MPI_COMM_WORLD, rank));
    if (!why)
        why = said(MPI_Comm_size(MPI_COMM_WORLD, count));
    return why;
}

static const char *end(void)
{
    return ours ? said(MPI_Finalize()) : NULL;
}

static const char *gather(void *all, const void *mine, size_t bytes)
{
    if (bytes > INT_MAX)
        return "too many bytes in one message";
    return said(MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes,
                              MPI_BYTE, MPI_COMM_WORLD));
}

static const char *exchange(void *mine, const void *all, size_t bytes)
{
    if (bytes > INT_MAX)
        return "too many bytes in one message";
    return said(MPI_Alltoall(all, (int)bytes, MPI_BYTE, mine, (int)bytes,
                             MPI_BYTE, MPI_COMM_WORLD));
}

extern __attribute__((visibility("default"))) const vt_mpi vt_mpi_module;

const vt_mpi vt_mpi_module = {.version = VITCL_VERSION,
                              .begin = begin,
                              .end = end,
                              .gather = gather,
                              .exchange = exchange};
