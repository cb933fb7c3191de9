/*
 * arena.c - give each value a place in the arena, from its lifetime.
 *
 * The arena is one buffer, or several where a device limits the size of one,
 * often to a quarter of its memory: a value goes into the first with room.
 *
 * Greedy by size: the largest value first, each at the lowest offset that is
 * free during its whole lifetime. For a chain of blocks the arena ends at or
 * near the largest sum of values that live at once (memory.largest_step).
 */
#include "base/memory.h"
#include "plan/plan_private.h"

#include <stdlib.h>
#include <string.h>

typedef struct place {
    vt_val v;
    int first, last;
    unsigned segment;
    size_t offset, bytes;
} place;

static int by_size(const void *a, const void *b)
{
    const place *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->v < y->v ? -1 : 1; /* the same layout in every run */
}

static int by_offset(const void *a, const void *b)
{
    const place *const *x = a, *const *y = b;

    return (*x)->offset < (*y)->offset   ? -1
           : (*x)->offset > (*y)->offset ? 1
                                         : 0;
}

static size_t lowest_gap(place **live, size_t n, size_t bytes)
{
    size_t at = 0;

    qsort(live, n, sizeof *live, by_offset);
    for (size_t i = 0; i < n; i++) {
        if (live[i]->offset >= at && live[i]->offset - at >= bytes)
            break;
        at = VT_MAX(at, live[i]->offset + live[i]->bytes);
    }
    return at;
}

size_t vt_arena_next(const vt_plan *p, size_t at)
{
    const size_t least = 128;
    const size_t to = p->o.dev ? VT_MAX(vt_dev_align(p->o.dev), least) : least;

    return (at + to - 1) / to * to;
}

size_t vt_arena_limit(const vt_plan *p)
{
    const uint64_t most = p->o.segment ? p->o.segment
                          : p->o.dev   ? vt_dev_info(p->o.dev)->max_alloc_bytes
                                       : 0;

    return most && most < SIZE_MAX ? (size_t)most : SIZE_MAX;
}

/* Finds the place of all[i] among those before it. In the last segment, and
 * where it is alone, a value may exceed the limit: others see to that. */
static void settle(place *all, size_t i, place **live, size_t limit)
{
    place *own = &all[i];

    for (own->segment = 0;; own->segment++) {
        size_t count = 0;

        for (size_t j = 0; j < i; j++)
            if (all[j].segment == own->segment && all[j].first <= own->last &&
                own->first <= all[j].last)
                live[count++] = &all[j];
        own->offset = lowest_gap(live, count, own->bytes);
        if ((own->offset <= limit && own->bytes <= limit - own->offset) ||
            own->segment == VT_SEGMENTS - 1 ||
            (own->bytes > limit && count == 0))
            return;
    }
}

static size_t collect(vt_plan *p, place *all)
{
    size_t n = 0;

    for (size_t i = 0; i < p->values; i++) {
        vt_value *v = p->value[i];
        bool input = v->kind == VT_INPUT;

        if (v->kind != VT_RESULT && !input)
            continue;
        if (v->kind == VT_RESULT && v->first < 0)
            continue; /* made in a shape(), but no step's output */
        all[n] = (place){(vt_val)i, v->first, v->last,
                         0,         0,        vt_arena_next(p, v->bytes)};
        if (input) /* runs may be repeated without a new write */
            all[n].first = 0, all[n].last = (int)p->steps;
        else
            all[n].first -= p->step[v->first]->early;
        if (v->keep)
            all[n].last = (int)p->steps;
        n++;
    }
    return n;
}

vitcl_status vt_arena_place(vt_plan *p)
{
    vitcl_status st = VITCL_OK;
    place *all = NULL, **live = NULL;
    size_t n, limit = vt_arena_limit(p), *load = NULL;

    VT_TRY(VT_NEW(&all, p->values));
    VT_TRY(VT_NEW(&live, p->values));
    VT_TRY(VT_NEW(&load, p->steps + 2));
    n = collect(p, all);
    qsort(all, n, sizeof *all, by_size);
    p->memory.arena = p->memory.segment = p->memory.kept = 0;
    p->memory.largest_value = n ? all[0].bytes : 0;
    memset(p->segment_bytes, 0, sizeof p->segment_bytes);
    for (size_t i = 0; i < n; i++) {
        size_t *bytes;

        settle(all, i, live, limit);
        p->value[all[i].v]->segment = all[i].segment;
        p->value[all[i].v]->offset = all[i].offset;
        bytes = &p->segment_bytes[all[i].segment];
        *bytes = VT_MAX(*bytes, all[i].offset + all[i].bytes);
        if (p->loss_step > 0 && p->value[all[i].v]->kind == VT_RESULT &&
            all[i].first <= p->loss_step && all[i].last > p->loss_step)
            p->memory.kept += all[i].bytes;
        for (int s = all[i].first; s <= all[i].last; s++)
            load[s] += all[i].bytes;
    }
    for (size_t i = 0; i < VT_SEGMENTS; i++) {
        p->memory.arena += p->segment_bytes[i];
        p->memory.segment = VT_MAX(p->memory.segment, p->segment_bytes[i]);
    }
    p->memory.largest_step = 0;
    for (size_t s = 0; s <= p->steps; s++)
        p->memory.largest_step = VT_MAX(p->memory.largest_step, load[s]);
done:
    free(all);
    free(live);
    free(load);
    return st;
}
