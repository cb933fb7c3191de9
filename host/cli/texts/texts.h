/*
 * texts.h - texts on the command line, and what a model's text tower makes of
 * them: classify --labels, search --text, embed --text, eval.
 */
#ifndef VT_CLI_TEXTS_H
#define VT_CLI_TEXTS_H
#include "cli/setup/setup.h"

#include <vitcl_text.h>

typedef struct text_options {
    words prompts;
    bool lower;
} text_options;
/* T has a text_options `texts`. */
#define OPT_PROMPT(T, needed)                                                  \
    OPT_RULED(                                                                 \
        T, 0, "prompt", OPT_LIST, "TEXT|FILE",                                 \
        "such as \"a photo of a {}\", where {} stands for the label; may "     \
        "be repeated; FILE: one per line",                                     \
        texts.prompts, .needs = needed)
#define OPT_LOWER(T, needed)                                                   \
    OPT_RULED(T, 0, "lower-case", OPT_FLAG, NULL,                              \
              "make texts lower case first, like those that SigLIP 2 was "     \
              "trained on",                                                    \
              texts.lower, .needs = needed)

/* ---- lists of texts (lines.c) ---- */

/* What a text tower would refuse: "is not UTF-8"; NULL: nothing. */
const char *text_wrong(const char *text, size_t size);

typedef struct text_list { /* NULL-ended */
    char **item;
    size_t count;
} text_list;
/* The lines of a file or a pipe, or of standard input if path is "-". Prints
 * why not. */
int lines_read(text_list *out, const char *path);
/* The same without blank lines and the white space around each line, and
 * without lines that a text tower would refuse. */
int lines_read_tidy(text_list *out, const char *path);
/* Of such a file, for messages: its path, or "standard input". */
const char *lines_name(const char *path);
/* Is it standard input? */
bool lines_piped(const char *path);
/* The texts between commas, likewise. */
int lines_split(text_list *out, const char *list);
/* Appends a copy; false: out of memory. */
bool lines_add(text_list *l, const char *text, size_t size);
void lines_free(text_list *l);

/* ---- the tower (tower.c) ---- */

/* EXIT_USAGE if no model that could have one is named. */
int tower_named(const model_options *o, const char *what);
/* Opens the text tower of a model. what: the option that asks for it, for
 * messages. texts: how many there are, 0: not known. */
int tower_open(vitcl_text **out, vitcl_device *device, const model_options *o,
               const text_options *how, const char *what, size_t texts);
/* Says how many texts were longer than the model's context; false: none. */
bool tower_say_cut(const vitcl_text *text);
/* Does the model that has no classifier have one? */
bool tower_is_there(vitcl_device *device, const model_options *o);

#endif
