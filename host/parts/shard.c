/*
 * shard.c - a worker's part, as it is given or as the engine that started the
 * worker tells it.
 */
#include "parts/shard.h"

#include "base/environment.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Digits alone; false: not that, or above two thousand million. */
static bool number(uint64_t *out, const char *s, size_t n)
{
    uint64_t v = 0;

    if (n == 0 || n > 10)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9')
            return false;
        v = 10 * v + (uint64_t)(s[i] - '0');
    }
    *out = v;
    return v <= INT32_MAX;
}

static vitcl_status check(vt_shard *out, uint64_t k, uint64_t n,
                          const char *from)
{
    if (n < 1 || n > VT_SHARDS_MAX)
        return vt_fail(VITCL_EINVAL,
                       "%s: the number of shards must be from 1 to %u", from,
                       VT_SHARDS_MAX);
    if (k < 1 || k > n)
        return vt_fail(VITCL_EINVAL,
                       "%s: shard %" PRIu64 " of %" PRIu64 ": shards are "
                       "numbered from 1 to %" PRIu64,
                       from, k, n, n);
    *out = (vt_shard){(uint32_t)k, (uint32_t)n};
    return VITCL_OK;
}

/* ---- engines ---- */

static vitcl_status variable(uint64_t *out, const char *name)
{
    const char *text = vt_getenv(name);

    if (!text || !*text)
        return vt_fail(VITCL_EINVAL,
                       "--shard auto: %s is missing; give --shard K/N", name);
    if (!number(out, text, strlen(text)))
        return vt_fail(VITCL_EINVAL,
                       "--shard auto: %s is not a whole number: '%.40s'", name,
                       text);
    return VITCL_OK;
}

static bool is_set(const char *name)
{
    const char *text = vt_getenv(name);

    return text && *text;
}

typedef struct engine {
    const char *place, *count; /* variables; places are from 0 */
} engine;
static const engine engines[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"SLURM_PROCID", "SLURM_NTASKS"}};

/* An array's tasks are MIN, MIN + STEP, .. */
static vitcl_status of_array(vt_shard *out)
{
    static const char id_name[] = "SLURM_ARRAY_TASK_ID";
    uint64_t id = 0, low = 0, count = 0, step = 1;

    VT_RET(variable(&id, id_name));
    VT_RET(variable(&low, "SLURM_ARRAY_TASK_MIN"));
    VT_RET(variable(&count, "SLURM_ARRAY_TASK_COUNT"));
    if (is_set("SLURM_ARRAY_TASK_STEP"))
        VT_RET(variable(&step, "SLURM_ARRAY_TASK_STEP"));
    if (step == 0 || id < low || (id - low) % step != 0)
        return vt_fail(VITCL_EINVAL,
                       "--shard auto: %s=%" PRIu64 " does not fit an array "
                       "from %" PRIu64 " in steps of %" PRIu64,
                       id_name, id, low, step);
    return check(out, (id - low) / step + 1, count, id_name);
}

/* Adds what one engine tells. One of a single worker splits nothing; two that
 * split must agree. */
static vitcl_status add(vt_shard *all, const char **from, vt_shard s,
                        const char *name)
{
    if (*from && all->n > 1 && s.n > 1 && (all->k != s.k || all->n != s.n))
        return vt_fail(VITCL_EINVAL,
                       "--shard auto: %s says %u/%u, but %s %u/%u; give "
                       "--shard K/N, or unset one of them",
                       *from, all->k, all->n, name, s.k, s.n);
    if (!*from || all->n == 1)
        *all = s, *from = name;
    return VITCL_OK;
}

static vitcl_status of_engines(vt_shard *out, uint64_t given)
{
    static const char array[] = "SLURM_ARRAY_TASK_ID",
                      job[] = "JOB_COMPLETION_INDEX";
    vt_shard all = {0, 0}, s = {0, 0};
    const char *from = NULL;
    uint64_t place = 0, count = 0;

    if (is_set(array)) {
        VT_RET(of_array(&s));
        VT_RET(add(&all, &from, s, array));
    }
    for (size_t i = 0; i < VT_COUNT(engines); i++) {
        const engine *e = &engines[i];

        /* The script of a Slurm array has a place, but no count. */
        if (!is_set(e->place) || (from && !is_set(e->count)))
            continue;
        VT_RET(variable(&place, e->place));
        VT_RET(variable(&count, e->count));
        VT_RET(check(&s, place + 1, count, e->place));
        VT_RET(add(&all, &from, s, e->place));
    }
    if (is_set(job)) {
        if (!given)
            return vt_fail(VITCL_EINVAL,
                           "--shard auto: %s does not tell the number of "
                           "workers; give --shard auto/N",
                           job);
        VT_RET(variable(&place, job));
        VT_RET(check(&s, place + 1, given, job));
        VT_RET(add(&all, &from, s, job));
    }
    if (!from)
        return vt_fail(VITCL_EINVAL,
                       "--shard auto: no variable of Slurm, MPI or Kubernetes "
                       "is set; give --shard K/N");
    if (given && given != all.n)
        return vt_fail(VITCL_EINVAL,
                       "--shard auto/%" PRIu64 ": %s says %u workers", given,
                       from, all.n);
    *out = all;
    return VITCL_OK;
}

/* ---- what is public ---- */

vitcl_status vt_shard_parse(vt_shard *out, const char *word)
{
    const size_t at = strcspn(word, "/");
    const char *rest = word + at + (word[at] == '/');
    const bool by_engine = at == 4 && strncmp(word, "auto", 4) == 0;
    uint64_t k = 0, n = 0;

    if (word[at] == '/' ? !number(&n, rest, strlen(rest)) : !by_engine)
        goto wrong;
    if (by_engine && (n || !word[at]))
        return of_engines(out, n);
    if (!number(&k, word, at))
        goto wrong;
    return check(out, k, n, "--shard");
wrong:
    return vt_fail(VITCL_EINVAL,
                   "--shard must be K/N, such as 2/7, or auto, or auto/N, not "
                   "'%.60s'",
                   word);
}

bool vt_shard_has(vt_shard s, uint64_t position)
{
    return s.n == 0 || position % s.n == s.k - 1;
}

uint64_t vt_shard_share(vt_shard s, uint64_t count)
{
    if (s.n == 0)
        return count;
    return count / s.n + (count % s.n >= s.k);
}
