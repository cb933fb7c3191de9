/*
 * test_ranks.c - sums and agreement of ranks, which are threads here: a module
 * that copies between them takes MPI's place.
 */
#include "train/ranks.h"

#include "base/memory.h"
#include "base/random.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

enum { MOST = 8 };

static pthread_barrier_t all_here;
static const void *given[MOST];
static _Thread_local size_t me, ranks;

static void wait_for_all(void)
{
    pthread_barrier_wait(&all_here);
}

static const char *gather(void *all, const void *mine, size_t bytes)
{
    given[me] = mine;
    wait_for_all();
    for (size_t r = 0; r < ranks; r++)
        memcpy((char *)all + r * bytes, given[r], bytes);
    wait_for_all();
    return NULL;
}

static const char *exchange(void *mine, const void *all, size_t bytes)
{
    given[me] = all;
    wait_for_all();
    for (size_t r = 0; r < ranks; r++)
        memcpy((char *)mine + r * bytes, (const char *)given[r] + me * bytes,
               bytes);
    wait_for_all();
    return NULL;
}

static const vt_mpi fake = {.gather = gather, .exchange = exchange};

typedef struct one {
    vt_ranks r;
    float *x;
    size_t n;
    bool flag;
    uint32_t other;
    char theirs[VT_RANKS_TEXT];
    vitcl_status agreed, alike, summed;
} one;

static void *run(void *context)
{
    one *o = context;
    char text[VT_RANKS_TEXT] = "a device";

    me = o->r.rank, ranks = o->r.count;
    o->agreed = vt_ranks_agree(&o->r, &o->flag);
    if (o->r.rank == o->r.count - 1)
        text[0] = 'b';
    o->alike = vt_ranks_alike(&o->r, text, &o->other, o->theirs);
    o->summed = vt_ranks_sum(&o->r, o->x, o->n);
    return NULL;
}

/* The tree of the documentation. */
static float tree(const one *o, size_t i, size_t first, size_t count)
{
    return count == 1 ? o[first].x[i]
                      : tree(o, i, first, count / 2) +
                            tree(o, i, first + count / 2, count / 2);
}

static void check(uint32_t count, size_t n)
{
    vt_random random = vt_random_new(7, count, n);
    pthread_t thread[MOST];
    one o[MOST] = {{.n = 0}};
    float *want = NULL;

    cr_assert_eq(VT_NEW(&want, n), VITCL_OK);
    pthread_barrier_init(&all_here, NULL, count);
    for (uint32_t r = 0; r < count; r++) {
        o[r] = (one){.r = {.rank = r, .count = count, .mpi = &fake},
                     .n = n,
                     .flag = r == 0};
        cr_assert_eq(VT_NEW(&o[r].x, n), VITCL_OK);
        for (size_t i = 0; i < n; i++) /* of sizes that round differently */
            o[r].x[i] = (float)((double)(vt_random_next(&random) % 2000000) /
                                (r % 3 ? 1e6 : 7.0));
    }
    for (size_t i = 0; i < n; i++)
        want[i] = tree(o, i, 0, count);
    for (uint32_t r = 0; r < count; r++)
        pthread_create(&thread[r], NULL, run, &o[r]);
    for (uint32_t r = 0; r < count; r++)
        pthread_join(thread[r], NULL);
    for (uint32_t r = 0; r < count; r++) {
        cr_expect(o[r].agreed == VITCL_OK && o[r].flag, "as rank 0 says");
        cr_expect_eq(o[r].alike, VITCL_OK);
        cr_expect_eq(o[r].other, count - 1);
        cr_expect_str_eq(o[r].theirs, "b device");
        cr_expect_eq(o[r].summed, VITCL_OK);
        cr_expect_eq(memcmp(o[r].x, want, n * sizeof *want), 0,
                     "rank %u of %u, %zu numbers", r, count, n);
        free(o[r].x);
    }
    free(want);
    pthread_barrier_destroy(&all_here);
}

/* Fewer numbers than ranks, a rest, and more than a chunk of each rank. */
Test(ranks, add_up_by_one_tree)
{
    for (uint32_t count = 2; count <= MOST; count *= 2)
        for (size_t i = 0; i < 3; i++)
            check(count, (const size_t[]){1, 1001, 2500003}[i]);
}

Test(ranks, alone_change_nothing)
{
    const vt_ranks alone = {.count = 1};
    float x[3] = {1, 2, 3}, all[3] = {0};
    bool flag = true;

    cr_expect_eq(vt_ranks_sum(&alone, x, 3), VITCL_OK);
    cr_expect(x[0] == 1 && x[1] == 2 && x[2] == 3);
    cr_expect_eq(vt_ranks_gather(&alone, all, x, sizeof x), VITCL_OK);
    cr_expect_eq(memcmp(all, x, sizeof x), 0);
    cr_expect_eq(vt_ranks_agree(&alone, &flag), VITCL_OK);
    cr_expect(flag);
}
