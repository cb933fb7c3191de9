/*
 * opt_rules.c - which options need others or exclude them: checked, and shown
 * by --help.
 */
#include "options.h"

#include <string.h>

enum { LIST = 512 };

const opt *opt_find(const command *c, const char *name, size_t n)
{
    for (const opt *o = c->options; o->name; o++)
        if (strlen(o->name) == n && strncmp(o->name, name, n) == 0)
            return o;
    return NULL;
}

/* The next of "a|b" that the command has; NULL: none is left. */
static const opt *next(const char **names, const command *c)
{
    const opt *o = NULL;

    while (!o && *names && **names) {
        const size_t n = strcspn(*names, "|");

        o = opt_find(c, *names, n);
        *names += n + ((*names)[n] == '|');
    }
    return o;
}

static const opt *first_given(const char *names, const command *c,
                              const bool *given)
{
    const opt *o;

    while ((o = next(&names, c)) && !given[o - c->options])
        ;
    return o;
}

/* "--val PATH, --hold-out N or --resume"; not whole: "val, hold-out or resume",
 * because no line of --help may begin with another option. */
static void list(char out[LIST], const char *names, const command *c,
                 bool whole)
{
    size_t n = 0;
    const opt *o = next(&names, c), *after;

    out[0] = '\0';
    for (bool first = true; o && n < LIST; o = after, first = false) {
        after = next(&names, c);
        n += (size_t)snprintf(out + n, LIST - n, "%s%s%s%s%s",
                              first   ? ""
                              : after ? ", "
                                      : " or ",
                              whole ? "--" : "", o->name,
                              whole && o->value ? " " : "",
                              whole && o->value ? o->value : "");
    }
}

/* As it is usually written: "-m", "--recursive". */
static const char *short_of(char out[LIST], const opt *o)
{
    if (o->letter && o->value)
        snprintf(out, LIST, "-%c", o->letter);
    else
        snprintf(out, LIST, "--%s", o->name);
    return out;
}

/* All that is missing, in one line. */
static int check_required(const command *c, const bool given[OPT_MOST])
{
    char missing[LIST] = "";
    size_t n = 0, at = 0;

    for (const opt *o = c->options; o->name; o++)
        if (o->unless && !given[o - c->options] &&
            !first_given(o->unless, c, given) && at < sizeof missing) {
            at +=
                (size_t)snprintf(missing + at, sizeof missing - at, "%s--%s %s",
                                 n ? ", " : "", o->name, o->value);
            n++;
        }
    return n ? usage("%s %s required", missing, n == 1 ? "is" : "are")
             : EXIT_OK;
}

int opt_check(const command *c, const bool given[OPT_MOST])
{
    char one[LIST], other[LIST];

    for (const opt *o = c->options, *rival; o->name; o++) {
        if (!given[o - c->options])
            continue;
        list(other, o->needs, c, true);
        if (other[0] && !first_given(o->needs, c, given))
            return usage("%s needs %s", short_of(one, o), other);
        if ((rival = first_given(o->not_with, c, given)))
            return usage("%s and %s cannot be used together", short_of(one, o),
                         short_of(other, rival));
    }
    return check_required(c, given);
}

static void put_help(const opt *o, const command *c, int at, int columns)
{
    char text[5 * LIST], needs[LIST], not_with[LIST], unless[LIST];

    list(needs, o->needs, c, false);
    list(not_with, o->not_with, c, false);
    list(unless, o->unless, c, false);
    snprintf(text, sizeof text, "%s%s%s%s%s%s%s%s", o->help,
             needs[0] ? "; needs " : "", needs,
             not_with[0] ? "; not with " : "", not_with,
             o->unless ? "; required" : "", unless[0] ? " without " : "",
             unless);
    put_wrapped(text, at, at, columns);
}

void command_help(const command *c)
{
    enum { LEFT = 24, RIGHT = 27 };
    const int columns = text_columns();
    const char *const values = c->operands[0] ? " [options] " : " [options]";

    printf("usage: vitcl %s%s%s\n\n%s.\n", c->name, values, c->operands,
           c->summary);
    if (c->more) {
        putchar('\n');
        put_wrapped(c->more, 0, 0, columns);
    }
    printf("\noptions:\n");
    for (const opt *o = c->options; o->name; o++) {
        char left[64], letter[] = "-x, ";
        int n;

        letter[1] = o->letter;
        n = snprintf(left, sizeof left, "%s--%s%s%s",
                     o->letter ? letter : "    ", o->name, o->value ? " " : "",
                     o->value ? o->value : "");
        printf("  %-*s", LEFT, left);
        if (n > LEFT)
            printf("\n%*s", RIGHT - 1, "");
        putchar(' ');
        put_help(o, c, RIGHT, columns);
    }
    printf("  %-*s %s\n", LEFT, "-h, --help", "this text");
}
