/*
 * opt.c - parses a command's options by its table, and prints --help.
 *
 * Long options take "--name value" or "--name=value", letters "-k 5" or "-k5".
 * Options and operands may be mixed; "--" ends the options. A lone "-" is an
 * operand.
 */
#include "base/file.h"
#include "setup.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const command *const *commands;

/* Edit distance with transpositions (optimal string alignment). */
static size_t distance(const char *a, const char *b)
{
    enum { MOST = 40 };
    size_t d[MOST + 1][MOST + 1], n = strlen(a), m = strlen(b);

    if (n > MOST || m > MOST)
        return MOST;
    for (size_t i = 0; i <= n; i++)
        d[i][0] = i;
    for (size_t j = 0; j <= m; j++)
        d[0][j] = j;
    for (size_t i = 1; i <= n; i++)
        for (size_t j = 1; j <= m; j++) {
            size_t best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

            if (d[i - 1][j] + 1 < best)
                best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best)
                best = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
                a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    return d[n][m];
}

const char *nearest(const char *word, const char *const *names)
{
    const char *found = NULL;
    size_t best = strlen(word) / 3 + 2;

    for (; *names; names++) {
        bool begins =
            word[0] && word[1] && strncmp(*names, word, strlen(word)) == 0;
        size_t n = begins ? 1 : distance(word, *names);

        if (n < best)
            best = n, found = *names;
    }
    return found;
}

static int unknown(const command *c, const char *word)
{
    const char *names[OPT_MOST + 1], *guess;
    size_t n = 0;

    for (const opt *o = c->options; o->name && n < OPT_MOST - 1; o++)
        names[n++] = o->name;
    names[n++] = "help";
    names[n] = NULL;
    guess = word[1] == '-' ? nearest(word + 2, names) : NULL;
    return guess
               ? usage("unknown option %s; did you mean --%s?", word, guess)
               : usage("unknown option %s; see vitcl %s --help", word, c->name);
}

static bool digits(uint32_t *out, const char *s, char **end)
{
    unsigned long v;

    if (!isdigit((unsigned char)s[0]))
        return false;
    errno = 0;
    v = strtoul(s, end, 10);
    *out = (uint32_t)v;
    return errno == 0 && v <= INT32_MAX;
}

static bool parse_size(frame_size *out, const char *s)
{
    frame_size f;
    char *end;

    if (!digits(&f.height, s, &end))
        return false;
    f.width = f.height;
    if (*end == 'x' && !digits(&f.width, end + 1, &end))
        return false;
    *out = f;
    return !*end && f.height > 0 && f.width > 0 && f.height <= SIDE_MOST &&
           f.width <= SIDE_MOST;
}

/* The limits of numbers, which all commands share. */
static uint32_t most_of(const opt *o)
{
    static const struct {
        const char *name;
        uint32_t most;
    } limits[] = {
        {"batch", BATCH_MOST}, {"micro", BATCH_MOST}, {"slices", BATCH_MOST}};

    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        if (strcmp(o->name, limits[i].name) == 0)
            return limits[i].most;
    return INT32_MAX;
}

enum { WORDS = 8, LIST_ROOM = 64, TEXT_ROOM = 128 };

/* "a|b|c" -> names[], and text "a, b or c" */
static size_t split(const char *names[WORDS], char list[LIST_ROOM],
                    char text[TEXT_ROOM], const char *value)
{
    size_t n = 0, used = 0;

    snprintf(list, LIST_ROOM, "%s", value);
    for (char *s = list, *end; n < WORDS - 1; s = end + 1) {
        end = s + strcspn(s, "|");
        names[n++] = s;
        if (!*end)
            break;
        *end = '\0';
    }
    names[n] = NULL;
    for (size_t i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, TEXT_ROOM - used, "%s%s",
                                 !i          ? ""
                                 : i + 1 < n ? ", "
                                             : " or ",
                                 names[i]);
    return n;
}

/* Is the value one of "a|b|c"? */
static int choose(const opt *o, const char *value)
{
    char list[LIST_ROOM], text[TEXT_ROOM];
    const char *names[WORDS], *guess;
    const size_t n = split(names, list, text, o->value);

    for (size_t i = 0; i < n; i++)
        if (strcmp(value, names[i]) == 0)
            return EXIT_OK;
    guess = nearest(value, names);
    return usage("--%s must be %s, not '%s'%s%s%s", o->name, text, value,
                 guess ? "; did you mean " : "", guess ? guess : "",
                 guess ? "?" : "");
}

/* Does the value end like one of "FILE.a|FILE.b"? */
static int check_ending(const opt *o, const char *value)
{
    char list[LIST_ROOM], text[TEXT_ROOM];
    const char *names[WORDS];
    const size_t n = split(names, list, text, o->value);

    for (size_t i = 0; i < n; i++)
        if (vt_path_ends(value, names[i] + strcspn(names[i], ".")))
            return EXIT_OK;
    return usage("--%s must be %s, not '%s'", o->name, text, value);
}

static int store(const opt *o, void *into, const char *value)
{
    void *at = (char *)into + (o->at >= OPT_IS_QUIET ? 0 : o->at);
    words *list = at;
    cosine *x = at;
    uint32_t n;
    bool whole;
    char *end;

    if (o->at == OPT_IS_VERBOSE) {
        be_verbose();
        return EXIT_OK;
    }
    if (o->at == OPT_IS_QUIET) {
        be_quiet();
        return EXIT_OK;
    }
    switch (o->kind) {
    case OPT_FLAG:
        *(bool *)at = true;
        return EXIT_OK;
    case OPT_TEXT:
        *(const char **)at = value;
        return value[0] ? EXIT_OK : usage("--%s must not be empty", o->name);
    case OPT_COUNT:
    case OPT_NATURAL:
        whole = digits(&n, value, &end) && !*end;
        if ((whole && n > most_of(o)) ||
            (!whole && value[0] && !value[strspn(value, "0123456789")]))
            return usage("--%s must be at most %u, not '%s'", o->name,
                         most_of(o), value);
        if (!whole || (o->kind == OPT_COUNT && !n))
            return usage("--%s must be a whole number, at least %d, not '%s'",
                         o->name, o->kind == OPT_COUNT, value);
        if (o->kind == OPT_NATURAL)
            *(natural *)at = (natural){true, n};
        else
            *(uint32_t *)at = n;
        return EXIT_OK;
    case OPT_REAL:
        *(double *)at = strtod(value, &end);
        return end != value && !*end && isfinite(*(double *)at) &&
                       *(double *)at > 0
                   ? EXIT_OK
                   : usage("--%s must be a number above 0, not '%s'", o->name,
                           value);
    case OPT_COSINE:
        x->given = true;
        x->value = strtod(value, &end);
        return end != value && !*end && fabs(x->value) <= 1
                   ? EXIT_OK
                   : usage("--%s must be a cosine, from -1 to 1, not '%s'",
                           o->name, value);
    case OPT_CHOICE:
        *(const char **)at = value;
        return choose(o, value);
    case OPT_FILE:
        *(const char **)at = value;
        return check_ending(o, value);
    case OPT_SIZE:
        return parse_size(at, value)
                   ? EXIT_OK
                   : usage("--%s must be pixels such as 224 or 240x320 "
                           "(height x width), at most %d, not '%s'",
                           o->name, SIDE_MOST, value);
    case OPT_LIST:
        list->item[list->count++] = value;
        list->item[list->count] = NULL;
        return EXIT_OK;
    }
    return EXIT_USAGE;
}

static const opt *find_letter(const command *c, char letter)
{
    for (const opt *o = c->options; o->name; o++)
        if (o->letter == letter)
            return o;
    return NULL;
}

/* *value: the one in the same word, or NULL. */
static const opt *find_option(const char **value, const command *c,
                              const char *word)
{
    size_t n;

    if (word[1] != '-') {
        *value = word[2] ? word + 2 : NULL;
        return find_letter(c, word[1]);
    }
    n = strcspn(word + 2, "=");
    *value = word[2 + n] ? word + 3 + n : NULL;
    return opt_find(c, word + 2, n);
}

/* One option at argv[*i]; moves *i to its last word. */
static int parse_one(const command *c, void *into, bool *given, int argc,
                     char **argv, int *i)
{
    const char *word = argv[*i], *value = NULL;
    const opt *o = find_option(&value, c, word);
    char name[64];

    if (!o && word[1] == '-') {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
        return unknown(c, name);
    }
    if (!o)
        return unknown(c, word);
    if (o->kind == OPT_FLAG && value)
        return usage("--%s takes no value", o->name);
    if (o->kind != OPT_FLAG && !value) {
        if (*i + 1 >= argc)
            return usage("%s needs a value: %s", word, o->value);
        value = argv[++*i];
    }
    given[o - c->options] = true;
    return store(o, into, value);
}

/* Where a model is all that a command reads, a word alone was meant as one. */
static int unexpected(const command *c, const char *word)
{
    if (opt_find(c, "model", 5) && !opt_find(c, "data", 4) &&
        !opt_find(c, "input", 5))
        return usage("unexpected argument '%s'; name the model with -m DIR",
                     word);
    return usage("unexpected argument '%s'; see vitcl %s --help", word,
                 c->name);
}

static int parse(const command *c, void *into, words *operands, int argc,
                 char **argv)
{
    bool options = true, given[OPT_MOST] = {false};

    for (int i = 1; i < argc; i++) {
        if (!options || argv[i][0] != '-' || !argv[i][1]) {
            if (!c->operands[0])
                return unexpected(c, argv[i]);
            if (!argv[i][0])
                return usage("an argument is empty; see vitcl %s --help",
                             c->name);
            operands->item[operands->count++] = argv[i];
            continue;
        }
        if (strcmp(argv[i], "--") == 0) {
            options = false;
            continue;
        }
        RET(parse_one(c, into, given, argc, argv, &i));
    }
    return opt_check(c, given);
}

/* Behind an option that needs a value, --help is this value. */
static bool asks_help(const command *c, int argc, char **argv)
{
    const char *value;
    const opt *o;

    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
        o = argv[i][0] == '-' ? find_option(&value, c, argv[i]) : NULL;
        i += o && o->kind != OPT_FLAG && !value;
    }
    return false;
}

/* The options that are the same in all commands. */
static int shared_options(const command *c, const void *into)
{
    const opt *const threads = opt_find(c, "threads", 7);
    const char *const at = into;

    if (threads && *(const uint32_t *)(const void *)(at + threads->at))
        return limit_threads(
            *(const uint32_t *)(const void *)(at + threads->at));
    return EXIT_OK;
}

static const char *text_of(const opt *o, const void *into)
{
    return *(const char *const *)(const void *)((const char *)into + o->at);
}

/* Can the files that are named for results be written? The folders of parts are
 * made by those who write them. */
static int check_places(const command *c, const void *into)
{
    const opt *const output = opt_find(c, "output", 6);
    const opt *const shard = opt_find(c, "shard", 5);
    const bool parts = shard && text_of(shard, into);
    const char *made = NULL, *path;

    if (output && output->kind == OPT_TEXT)
        made = text_of(output, into);
    for (const opt *o = c->options; o->name; o++) {
        path = o->kind == OPT_FILE ? text_of(o, into) : NULL;
        if (path && !(parts && o == output) &&
            place_ready(path, made) != EXIT_OK)
            return EXIT_FAILED;
    }
    return EXIT_OK;
}

int command_run(const command *c, int argc, char **argv)
{
    words operands = {0};
    void *into = calloc(1, c->size ? c->size : 1);
    int code;

    set_command_name(c->name);
    if (asks_help(c, argc, argv)) {
        command_help(c);
        free(into);
        return EXIT_OK;
    }
    operands.item = calloc((size_t)argc + 1, sizeof *operands.item);
    TRY(into && operands.item ? EXIT_OK : fail("out of memory"));
    for (const opt *o = c->options; o->name; o++)
        if (o->kind == OPT_LIST) {
            words *list = (void *)((char *)into + o->at);

            list->item = calloc((size_t)argc + 1, sizeof *list->item);
            TRY(list->item ? EXIT_OK : fail("out of memory"));
        }
    TRY(parse(c, into, &operands, argc, argv));
    TRY(shared_options(c, into));
    TRY(check_places(c, into));
    code = c->run(into, &operands);
    guard_end();
done:
    for (const opt *o = c->options; into && o->name; o++)
        if (o->kind == OPT_LIST)
            free(((words *)(void *)((char *)into + o->at))->item);
    free(operands.item);
    free(into);
    return code;
}
