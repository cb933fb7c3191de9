/*
 * ranks.c - several processes that train one model.
 */
#include "train/ranks.h"

#include "base/environment.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/module.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK ((size_t)1 << 20) /* floats that a rank adds up at a time */

static vitcl_status told(const char *why)
{
    return why ? vt_fail(VITCL_EIO, "MPI: %s", why) : VITCL_OK;
}

static uint32_t number(const char *variable)
{
    const char *const text = vt_getenv(variable);

    return text ? (uint32_t)strtoul(text, NULL, 10) : 0;
}

static const struct kind {
    const char *count, *rank; /* variables that its mpirun sets */
    const char *module, *variable;
} kinds[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "vitcl-openmpi.so",
     "VITCL_OPENMPI"},
    {"PMI_SIZE", "PMI_RANK", "vitcl-mpich.so", "VITCL_MPICH"},
};

/* NULL: this process is alone. */
static const struct kind *find(void)
{
    for (size_t i = 0; i < VT_COUNT(kinds); i++)
        if (number(kinds[i].count) > 1)
            return &kinds[i];
    return NULL;
}

uint32_t vt_ranks_rank(uint32_t *count)
{
    const struct kind *const k = find();

    *count = k ? number(k->count) : 1;
    return k ? number(k->rank) : 0;
}

vitcl_status vt_ranks_open(vt_ranks *out)
{
    const struct kind *const k = find();
    const uint32_t started = k ? number(k->count) : 1;
    vt_ranks r = {.count = 1};
    vt_module module = {.symbol = VT_MPI_SYMBOL,
                        .purpose = "trains under mpirun",
                        .fails = "cannot train under mpirun"};
    int rank = 0, count = 1;

    *out = r;
    if (!k)
        return VITCL_OK;
    if (started & (started - 1))
        return vt_fail(VITCL_EINVAL,
                       "mpirun started %u processes; training can be shared by "
                       "2, 4, 8 or another power of two of them",
                       started);
    module.file = k->module;
    module.variable = k->variable;
    VT_RET(vt_module_load(&module));
    r.mpi = module.loaded;
    VT_RET(told(r.mpi->begin(&rank, &count, &r.threads)));
    if ((uint32_t)count != started || (uint32_t)rank != number(k->rank))
        return vt_fail(VITCL_EIO,
                       "mpirun started rank %u of %u, but MPI knows of rank %d "
                       "of %d: they are not of the same MPI",
                       number(k->rank), started, rank, count);
    r.rank = (uint32_t)rank;
    r.count = started;
    vt_log("rank %u of %u", r.rank, r.count);
    *out = r;
    return VITCL_OK;
}

vitcl_status vt_ranks_close(const vt_ranks *r)
{
    return r->mpi ? told(r->mpi->end()) : VITCL_OK;
}

vitcl_status vt_ranks_gather(const vt_ranks *r, void *all, const void *mine,
                             size_t bytes)
{
    if (r->mpi)
        return told(r->mpi->gather(all, mine, bytes));
    memcpy(all, mine, bytes);
    return VITCL_OK;
}

vitcl_status vt_ranks_agree(const vt_ranks *r, bool *flag)
{
    vitcl_status st = VITCL_OK;
    bool *all = NULL;

    VT_TRY(VT_NEW(&all, r->count));
    VT_TRY(vt_ranks_gather(r, all, flag, sizeof *flag));
    *flag = all[0];
done:
    free(all);
    return st;
}

vitcl_status vt_ranks_wait(const vt_ranks *r)
{
    bool here = true;

    return vt_ranks_agree(r, &here);
}

vitcl_status vt_ranks_alike(const vt_ranks *r, const char text[VT_RANKS_TEXT],
                            uint32_t *other, char theirs[VT_RANKS_TEXT])
{
    vitcl_status st = VITCL_OK;
    char(*all)[VT_RANKS_TEXT] = NULL;

    *other = 0;
    VT_TRY(VT_NEW(&all, r->count));
    VT_TRY(vt_ranks_gather(r, all, text, VT_RANKS_TEXT));
    for (uint32_t i = 1; i < r->count && !*other; i++)
        if (memcmp(all[i], all[0], VT_RANKS_TEXT) != 0) {
            memcpy(theirs, all[i], VT_RANKS_TEXT);
            *other = i;
        }
done:
    free(all);
    return st;
}

vitcl_status vt_ranks_leave(const vt_ranks *r)
{
    return r->rank > 0 ? vt_ranks_wait(r) : VITCL_OK;
}

/* parts[0] += parts[1..count), each of n floats, as the leaves of a tree. */
static void add_up(float *parts, size_t count, size_t n)
{
    for (size_t step = 1; step < count; step *= 2)
        for (size_t i = 0; i + step < count; i += 2 * step) {
            float *const a = parts + i * n;
            const float *const b = parts + (i + step) * n;

            for (size_t k = 0; k < n; k++)
                a[k] += b[k];
        }
}

/* Each rank adds up one chunk of every `count` and sends the sum to all: what a
 * rank sends and receives does not grow with the number of ranks. */
vitcl_status vt_ranks_sum(const vt_ranks *r, float *x, size_t n)
{
    vitcl_status st = VITCL_OK;
    const size_t count = r->count;
    const size_t each = VT_MIN((n + count - 1) / count, CHUNK);
    float *all = NULL, *parts = NULL;

    if (!r->mpi)
        return VITCL_OK;
    VT_TRY(vt_new(&all, count * each, sizeof *all));
    VT_TRY(vt_new(&parts, count * each, sizeof *parts));
    for (size_t at = 0; at < n; at += count * each) {
        const size_t used = VT_MIN(n - at, count * each);
        const size_t chunk = (used + count - 1) / count;

        memcpy(all, x + at, used * sizeof *x);
        memset(all + used, 0, (count * chunk - used) * sizeof *x);
        VT_TRY(told(r->mpi->exchange(parts, all, chunk * sizeof *x)));
        add_up(parts, count, chunk);
        VT_TRY(told(r->mpi->gather(all, parts, chunk * sizeof *x)));
        memcpy(x + at, all, used * sizeof *x);
    }
done:
    free(all);
    free(parts);
    return st;
}
