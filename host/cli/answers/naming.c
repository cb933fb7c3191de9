/*
 * naming.c - a picture's classes as JSON, CSV, lines of fields, and text for a
 * terminal.
 */
#include "naming.h"

#include "base/csv.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

int naming_open(naming *n, const vitcl_model *model, uint32_t classes,
                uint32_t k, double threshold)
{
    *n = (naming){.model = model,
                  .classes = classes,
                  .k = k < classes ? k : classes,
                  .answer = vitcl_model_answer(model),
                  .temperature = vitcl_model_temperature(model),
                  .threshold = threshold > 0 ? (float)threshold
                                             : vitcl_model_threshold(model)};
    if (n->answer == VITCL_NUMBERS && threshold > 0)
        return usage("--threshold is a probability, but this model answers "
                     "with numbers (regression); leave it out");
    n->top = calloc(n->k, sizeof *n->top);
    n->scaled = calloc(classes, sizeof *n->scaled);
    return n->top && n->scaled ? EXIT_OK : fail("out of memory");
}

void naming_words(naming *n, const char *const *texts, vitcl_answer kind)
{
    n->words = texts;
    n->answer = kind;
}

void naming_close(naming *n)
{
    free(n->top);
    free(n->scaled);
}

void naming_judge(naming *n, const float *logits, const vitcl_session *session,
                  const uint8_t *rgb)
{
    n->detail = vitcl_session_detail(session, rgb);
    for (uint32_t c = 0; c < n->classes; c++)
        n->scaled[c] = logits[c] / n->temperature;
    vitcl_class_choose(n->top, n->k, n->scaled, n->classes, n->answer);
}

/* Can answers be unsure? */
static bool doubts(const naming *n)
{
    return n->threshold > 0;
}

bool naming_sure(const naming *n)
{
    return !doubts(n) ||
           (n->detail == 0 && n->top[0].probability >= n->threshold);
}

bool naming_holds(const naming *n, uint32_t i)
{
    return n->answer == VITCL_ANY_CLASSES
               ? n->detail == 0 && n->top[i].probability >= n->threshold
               : naming_sure(n);
}

bool naming_shown(const naming *n, uint32_t i)
{
    return i == 0 || n->answer == VITCL_NUMBERS ||
           n->top[i].probability >= 0.001f;
}

static const char *label_of(const naming *n, uint32_t label)
{
    return n->words ? n->words[label] : vitcl_class_label(n->model, label);
}

static const char *name_of(const naming *n, uint32_t label)
{
    return n->words ? NULL : vitcl_class_name(n->model, label);
}

size_t naming_first(const naming *n, const char *name)
{
    return n->words ? strlen(name) : strcspn(name, ",");
}

const char *naming_class(const naming *n, uint32_t label, char room[CLASS_ROOM])
{
    const char *name = name_of(n, label);

    if (!name)
        name = label_of(n, label);
    if (!name) {
        snprintf(room, CLASS_ROOM, "class %u", label);
        name = room;
    }
    return name;
}

/* ---- JSON ---- */

void naming_json(const naming *n, const answer *a)
{
    if (!json_picture(a))
        return;
    if (doubts(n))
        json_put("sure:%i", naming_sure(n));
    if (doubts(n) && n->detail)
        json_put("detail:%s", n->detail > 0 ? "finer" : "coarser");
    if (n->answer != VITCL_ONE_CLASS)
        json_put("function:%s",
                 n->answer == VITCL_NUMBERS ? "none" : "sigmoid");
    json_put("top:[");
    for (uint32_t i = 0; i < n->k; i++) {
        const uint32_t label = n->top[i].label;

        json_put("{index:%u label:%s name:%s %s:%.9g", label,
                 label_of(n, label), name_of(n, label),
                 n->answer == VITCL_NUMBERS ? "number" : "probability",
                 (double)n->top[i].probability);
        if (doubts(n) && n->answer == VITCL_ANY_CLASSES)
            json_put("sure:%i", naming_holds(n, i));
        json_put("}");
    }
    json_put("]}\n");
}

/* ---- fields ---- */

static void put_answer(const naming *n, uint32_t i)
{
    printf(n->answer == VITCL_NUMBERS ? "%.7g" : "%.6f",
           (double)n->top[i].probability);
}

void naming_tsv(const naming *n, const answer *a)
{
    for (uint32_t i = 0; i < n->k; i++) {
        const char *label = label_of(n, n->top[i].label);

        tsv_text(a->path);
        printf("\t%u\t", i + 1);
        if (label)
            tsv_text(label);
        else
            printf("%u", n->top[i].label);
        printf("\t");
        tsv_text(name_of(n, n->top[i].label));
        printf("\t");
        put_answer(n, i);
        printf("%s\n", naming_holds(n, i) ? "" : "\tnot sure");
    }
}

void naming_csv_head(const naming *n)
{
    const char *what = n->answer == VITCL_NUMBERS ? "number" : "probability";

    printf("path,class,%s,sure,error", what);
    for (uint32_t i = 1; i < n->k; i++)
        printf(",class %u,%s %u", i + 1, what, i + 1);
    printf("\r\n");
}

void naming_csv(const naming *n, const answer *a)
{
    char room[CLASS_ROOM];

    vt_csv_put(stdout, a->path, VT_CSV_PATH, is_terminal(stdout));
    if (a->error) {
        printf(",,,,");
        vt_csv_put(stdout, a->error, VT_CSV_TEXT, is_terminal(stdout));
        for (uint32_t i = 1; i < n->k; i++)
            printf(",,");
        printf("\r\n");
        return;
    }
    for (uint32_t i = 0; i < n->k; i++) {
        const char *name = naming_class(n, n->top[i].label, room);

        printf(",");
        vt_csv_put(stdout, name, VT_CSV_TEXT, is_terminal(stdout));
        printf(",");
        put_answer(n, i);
        if (i == 0)
            printf(",%s,", !doubts(n) ? "" : naming_sure(n) ? "yes" : "no");
    }
    printf("\r\n");
}

/* ---- a terminal ---- */

/* " 94 %"; `space` before the sign. A regression's number is " 5.61". */
static void say_answer(char out[32], const naming *n, const vitcl_class *c,
                       const char *space)
{
    if (n->answer == VITCL_NUMBERS)
        snprintf(out, 32, " %.4g", (double)c->probability);
    else
        snprintf(out, 32, " %.*f%s%%", c->probability < 0.0095f ? 1 : 0,
                 100 * (double)c->probability, space);
}

/* Before the first class of a line that is not sure; those behind it are less
 * likely. The very first has a line of its own. */
static const char *mark(const naming *n, uint32_t i)
{
    const bool begins = i == 0 || naming_holds(n, i - 1) ||
                        (i == 1 && n->answer == VITCL_ANY_CLASSES);

    return begins && !naming_holds(n, i) ? "not sure: " : "";
}

/* How wide class i is, behind the first in brief, with its mark. */
static int class_columns(const naming *n, uint32_t i)
{
    char room[CLASS_ROOM], text[32];
    const char *name = naming_class(n, n->top[i].label, room);

    say_answer(text, n, &n->top[i], " ");
    return (int)strlen(mark(n, i)) +
           width_of(name, i ? naming_first(n, name) : strlen(name)) +
           (int)strlen(text);
}

static void print_class(const naming *n, uint32_t i)
{
    char room[CLASS_ROOM], text[32];
    const char *name = naming_class(n, n->top[i].label, room);

    fputs(mark(n, i), stdout);
    put_text(name, i ? naming_first(n, name) : SIZE_MAX);
    say_answer(text, n, &n->top[i], " ");
    fputs(text, stdout);
}

enum { SHOWN = 200 }; /* bytes of a class's name on a page */

/* Appends; of a long name, the characters that fit, and three dots. */
static void add_class(char *out, size_t size, const naming *n,
                      const vitcl_class *c, bool brief)
{
    char room[CLASS_ROOM], text[32];
    const char *name = naming_class(n, c->label, room);
    const size_t used = strlen(out), all = strlen(name);
    size_t length = brief ? naming_first(n, name) : all;
    const bool cut = length > SHOWN;

    length = cut ? vt_utf8_cut(name, SHOWN) : length;
    say_answer(text, n, c, "\u00a0");
    snprintf(out + used, size - used, "%.*s%s%s", (int)length, name,
             cut ? "\u2026" : "", text);
}

void naming_texts(char *title, char *more, size_t size, const naming *n)
{
    title[0] = more[0] = '\0';
    add_class(title, size, n, &n->top[0], false);
    for (uint32_t i = 1; i < n->k && naming_shown(n, i); i++) {
        const size_t used = strlen(more);

        if (size - used < SHOWN + 64) {
            snprintf(more + used, size - used, ", \u2026");
            break;
        }
        snprintf(more + used, size - used, "%s%s",
                 i > 1                          ? ", "
                 : n->answer == VITCL_ONE_CLASS ? "or "
                                                : "",
                 mark(n, i));
        add_class(more, size, n, &n->top[i], true);
    }
}

/* The best class on one line, or on the next if the path leaves no room; the
 * other relevant ones on the next, or on as many as they need. */
void naming_pretty(const naming *n, const answer *a)
{
    const int indent = n->answer == VITCL_ONE_CLASS ? 7 : 4;
    int at = indent;

    tsv_title(a->path);
    printf("%s", width_of(a->path, strlen(a->path)) + 2 + class_columns(n, 0) >
                         terminal_columns()
                     ? "\n    "
                     : "  ");
    print_class(n, 0);
    for (uint32_t i = 1; i < n->k && naming_shown(n, i); i++) {
        const int wide = class_columns(n, i);

        if (i == 1) {
            printf(n->answer == VITCL_ONE_CLASS ? "\n    or " : "\n    ");
        } else if (2 + wide + 1 > terminal_columns() - at) { /* a comma */
            printf(",\n%*s", indent, "");
            at = indent;
        } else {
            printf(", ");
            at += 2;
        }
        print_class(n, i);
        at += wide;
    }
    printf("\n");
}
