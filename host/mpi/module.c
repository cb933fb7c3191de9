/*
 * module.c - the modules vitcl-openmpi.so and vitcl-mpich.so: what a training
 * needs of MPI (train/ranks.h). Built once with each.
 *
 * MPI's own waiting keeps a core busy, which other ranks and the device of this
 * one could use. So calls are begun, and then asked about with pauses between.
 */
#include "train/ranks.h"

#include <limits.h>
#include <mpi.h>
#include <stdbool.h>
#include <time.h>
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

static const char *begin(int *rank, int *count, bool *threads)
{
    int begun = 0, ended = 0, level = MPI_THREAD_SINGLE;
    const char *why = said(MPI_Initialized(&begun));

    if (!why)
        why = said(MPI_Finalized(&ended));
    if (!why && ended)
        return "it has ended; a process can join only one training run";
    if (!why && !begun)
        why = said(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level));
    ours = !begun;
    if (!why)
        why = said(MPI_Query_thread(&level));
    *threads = level >= MPI_THREAD_SERIALIZED;
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

/* Each pause is an eighth of the time waited so far, so that little is lost,
 * and at most a millisecond. */
static const char *finish(MPI_Request *request)
{
    const double from = MPI_Wtime();
    const char *why;
    int done = 0;

    while (!(why = said(MPI_Test(request, &done, MPI_STATUS_IGNORE))) &&
           !done) {
        const double pause = (MPI_Wtime() - from) / 8;

        nanosleep(&(struct timespec){.tv_nsec = pause < 1e-3
                                                    ? (long)(pause * 1e9)
                                                    : 1000000},
                  NULL);
    }
    return why;
}

static const char *gather(void *all, const void *mine, size_t bytes)
{
    MPI_Request request;
    const char *why;

    if (bytes > INT_MAX)
        return "too many bytes in one message";
    why = said(MPI_Iallgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes,
                              MPI_BYTE, MPI_COMM_WORLD, &request));
    return why ? why : finish(&request);
}

static const char *exchange(void *mine, const void *all, size_t bytes)
{
    MPI_Request request;
    const char *why;

    if (bytes > INT_MAX)
        return "too many bytes in one message";
    why = said(MPI_Ialltoall(all, (int)bytes, MPI_BYTE, mine, (int)bytes,
                             MPI_BYTE, MPI_COMM_WORLD, &request));
    return why ? why : finish(&request);
}

extern __attribute__((visibility("default"))) const vt_mpi vt_mpi_module;

const vt_mpi vt_mpi_module = {.version = VITCL_VERSION,
                              .begin = begin,
                              .end = end,
                              .gather = gather,
                              .exchange = exchange};
