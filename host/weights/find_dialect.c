/*
 * find_dialect.c - which dialect the names of a file are in, behind what
 * wrappers and the modules that hold a model add.
 */
#include "base/memory.h"
#include "weights/dialects.h"

#include <string.h>

/* Is one of the words s[0..n)? */
static bool is_word(const char *const *words, const char *s, size_t n)
{
    for (; *words; words++)
        if (strlen(*words) == n && memcmp(*words, s, n) == 0)
            return true;
    return false;
}

/* Names without the components that torch.compile, DataParallel, FSDP, Fabric
 * and activation checkpointing put in front of any module's name. */
vitcl_status vt_names_unwrap(char ***out, const vt_tensors *raw)
{
    static const char *const wrappers[] = {"_orig_mod",
                                           "module",
                                           "_forward_module",
                                           "_fsdp_wrapped_module",
                                           "_checkpoint_wrapped_module",
                                           NULL};
    char **names = NULL;

    VT_RET(VT_NEW(&names, vt_tensors_count(raw) + 1));
    *out = names;
    for (size_t i = 0; i < vt_tensors_count(raw); i++) {
        char *to;

        VT_RET(vt_strdup(&names[i], vt_tensors_at(raw, i)->name));
        to = names[i];
        for (const char *from = to; *from;) {
            const size_t n = strcspn(from, ".");

            if (!from[n] || !is_word(wrappers, from, n)) {
                memmove(to, from, n + (from[n] != 0));
                to += n + (from[n] != 0);
            }
            from += n + (from[n] != 0);
        }
        *to = 0;
    }
    return VITCL_OK;
}

/* Modules that hold a model, such as Lightning's: "model.net.". */
static bool is_outer(const char *s, size_t n)
{
    static const char *const holders[] = {"model",   "timm_model", "net",
                                          "network", "backbone",   NULL};

    while (n > 0) {
        const char *dot = memchr(s, '.', n);

        if (!dot || !is_word(holders, s, (size_t)(dot - s)))
            return false;
        n -= (size_t)(dot + 1 - s);
        s = dot + 1;
    }
    return true;
}

/* The name with this mark, and how much of it is before the prefix. */
static const char *find_mark(size_t *outer, const char *const *names,
                             const char *prefix, const char *mark)
{
    const size_t p = strlen(prefix), m = strlen(mark);

    for (; *names; names++) {
        const char *name = *names;
        const size_t n = strlen(name);

        if (n < p + m || strcmp(name + n - m, mark) != 0 ||
            memcmp(name + n - m - p, prefix, p) != 0 ||
            !is_outer(name, n - m - p))
            continue;
        *outer = n - m - p;
        return name;
    }
    return NULL;
}

const vt_dialect *vt_dialect_find(const char **prefix, const char **head,
                                  size_t *outer, const vt_dialect *d,
                                  const char *const *names)
{
    for (; d->name; d++)
        for (const char *const *p = d->prefixes; *p; p++)
            for (const char *const *m = d->marks; *m; m++)
                if ((*head = find_mark(outer, names, *p, *m))) {
                    *prefix = *p;
                    return d;
                }
    return NULL;
}
