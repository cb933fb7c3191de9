/*
 * keep.c - the patterns of --keep: timm's names, and patterns without a match.
 */
#include "setup.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* timm's blocks.5 is block.5; its blocks.5.attn is attention.5. */
static char *translate(const char *pattern)
{
    static const char blocks[] = "blocks.", attn[] = ".attn";
    const char *rest = pattern + sizeof blocks - 1, *dot;
    const size_t room = strlen(pattern) + sizeof "attention.";
    char *name = malloc(room);

    if (!name)
        return NULL;
    dot = strncmp(pattern, blocks, sizeof blocks - 1) == 0 ? strchr(rest, '.')
                                                           : pattern;
    if (!dot)
        snprintf(name, room, "block.%s", rest);
    else if (dot != pattern && strcmp(dot, attn) == 0)
        snprintf(name, room, "attention.%.*s", (int)(dot - rest), rest);
    else
        snprintf(name, room, "%s", pattern);
    return name;
}

int keep_open(words *out, const words *given)
{
    words w = {calloc(given->count + 1, sizeof *w.item), given->count};

    *out = (words){NULL, 0};
    if (!w.item)
        return fail("out of memory");
    for (size_t i = 0; i < w.count; i++)
        if (!(w.item[i] = translate(given->item[i]))) {
            keep_close(&w);
            return fail("out of memory");
        }
    *out = w;
    return EXIT_OK;
}

void keep_close(words *w)
{
    for (size_t i = 0; w->item && i < w->count; i++)
        free((void *)(uintptr_t)w->item[i]);
    free(w->item);
    *w = (words){NULL, 0};
}

int keep_check(const words *names, const words *given,
               const vitcl_session *session)
{
    vitcl_tensor_info t = {.size = sizeof t};

    for (size_t k = 0; k < names->count; k++) {
        bool used = false;

        for (uint32_t i = 0;
             !used && vitcl_session_tensor(&t, session, i) == VITCL_OK; i++)
            used = fnmatch(names->item[k], t.name, 0) == 0;
        if (!used)
            return fail("--keep %s: no tensor of this model has such a name; "
                        "there are attention.0 and so on, and those that "
                        "`vitcl plan` lists",
                        given->item[k]);
    }
    return EXIT_OK;
}
