/*
 * choices.c - the options of `vitcl inspect` that say what is drawn of a
 * picture.
 */
#include "inspect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int inspect_number(uint32_t *out, const char *name, const char *text,
                   uint32_t end, uint32_t without)
{
    unsigned long v = without;
    char *rest = NULL, most[24] = "";

    if (text) {
        v = strtoul(text, &rest, 10);
        if (end < UINT32_MAX) /* else the model is not open yet */
            snprintf(most, sizeof most, " to %u", end - 1);
        if (*text < '0' || *text > '9' || *rest || v >= end)
            return usage("--%s %s: it has to be %sa whole number from 0%s",
                         name, text,
                         strcmp(name, "class") == 0 ? "top or " : "", most);
    }
    *out = (uint32_t)v;
    return EXIT_OK;
}

/* Without pictures: what would change nothing. */
static int check_given(const inspect_choices *c, const char *other)
{
    const struct {
        bool given;
        const char *name;
    } option[] = {
        {c->layer, "--layer"},          {c->head, "--head"},
        {c->query, "--query"},          {c->class, "--class"},
        {c->heads, "--heads"},          {c->residual != 0, "--residual"},
        {c->discard != 0, "--discard"}, {other, other}};

    for (size_t i = 0; i < sizeof option / sizeof *option; i++)
        if (option[i].given)
            return usage("%s is about pictures; name some", option[i].name);
    return EXIT_OK;
}

int inspect_check(const inspect_choices *c, const char *other,
                  const words *operands)
{
    uint32_t n;

    RET(operands->count ? EXIT_OK : check_given(c, other));
    RET(inspect_number(&n, "layer", c->layer, UINT32_MAX, 0));
    RET(inspect_number(&n, "head", c->head, UINT32_MAX, 0));
    if (c->class && strcmp(c->class, "top") != 0)
        RET(inspect_number(&n, "class", c->class, UINT32_MAX, 0));
    if (c->residual >= 1 || c->discard >= 1)
        return usage("--residual and --discard are shares, below 1");
    return EXIT_OK;
}

int inspect_query(int *patch, const char *text, const vitcl_model_info *m,
                  const vt_patch_grid *grid)
{
    unsigned x = 0, y = 0;
    int used = -1;

    if (sscanf(text, "%9u,%9u%n", &x, &y, &used) != 2 || used < 0 || text[used])
        return usage("--query %s: two whole numbers, as in 100,80", text);
    x /= m->patch, y /= m->patch;
    if (x >= m->columns || y >= m->rows)
        return usage("--query %s is not in the picture of %ux%u pixels (width "
                     "x height) that the model sees",
                     text, m->columns * m->patch, m->rows * m->patch);
    *patch = (int)y * grid->columns + (int)x;
    return EXIT_OK;
}
