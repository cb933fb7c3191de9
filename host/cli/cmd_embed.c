/*
 * cmd_embed.c - like classify, but writes features, batch by batch, so that the
 * number of pictures does not matter for memory.
 */
#include "cmd.h"

#include <math.h>
#include <string.h>

typedef struct embed {
    model_options common;
    const char *output, *what;
    picture_options pictures;
    bool normalize;
} embed;

static const opt options[] = {
    OPT_MODEL(embed),
    {'o', "output", OPT_FILE, "FILE.npy|FILE.safetensors",
     "write a file; without it, JSON lines on stdout", offsetof(embed, output)},
    {0, "features", OPT_CHOICE, "pooled|class|tokens",
     "which (default pooled: what the classifier reads)",
     offsetof(embed, what)},
    {0, "normalize", OPT_FLAG, NULL, "divide each vector by its length",
     offsetof(embed, normalize)},
    OPT_DEVICE(embed),
    OPT_BATCH(embed, "pictures at a time (default: 8 on a CPU, 32 on a GPU, "
                     "fewer for few)"),
    OPT_SIDES(embed),
    OPT_RUN(embed),
    OPT_PICTURES(embed),
    OPT_DONE};

typedef struct work {
    answering on;
    const embed *o;
    uint32_t given, width; /* tokens that are written (0: rank 1), of width */
} work;

/* ---- which tensor ---- */

/* All tokens after the final norm, under this family's name for them. */
static int find_tokens(work *w)
{
    static const char *const names[] = {"norm", "last_hidden_state"};
    vitcl_tensor_info t = {.size = sizeof t};

    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        for (uint32_t i = 0;
             vitcl_session_tensor(&t, w->on.session, i) == VITCL_OK; i++)
            if (strcmp(t.name, names[n]) == 0 && t.rank == 3) {
                w->on.tensor = names[n];
                w->width = t.shape[2];
                w->given = strcmp(w->o->what, "tokens") == 0 ? t.shape[1] : 0;
                w->on.share = (size_t)t.shape[1] * w->width;
                return EXIT_OK;
            }
    return fail("this model has no normalised tokens; use --features pooled");
}

static bool inner(const embed *o)
{
    return o->what && strcmp(o->what, "pooled") != 0;
}

static int choose(work *w)
{
    if (inner(w->o))
        return find_tokens(w);
    w->on.tensor = "features";
    w->on.share = w->width = vitcl_session_features(w->on.session);
    return w->width ? EXIT_OK : fail("this model yields no features");
}

/* ---- printing ---- */

static void unit(float *v, uint32_t n)
{
    double sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += (double)v[i] * (double)v[i];
    for (uint32_t i = 0; i < n && sum > 0; i++)
        v[i] = (float)((double)v[i] / sqrt(sum));
}

static void print_json(const work *w, const answer *a, const float *v)
{
    printf("{\"picture\":");
    json_string(a->path);
    if (a->error) {
        printf(",\"error\":");
        json_string(a->error);
        printf("}\n");
        return;
    }
    printf(",\"features\":");
    if (w->given)
        printf("[");
    for (size_t i = 0; i < w->on.used; i++) {
        printf("%s", i % w->width ? "," : i ? "],[" : "[");
        json_number((double)v[i]);
    }
    printf(w->given ? "]]}\n" : "]}\n");
}

static void print(void *context, const answer *a, float *v)
{
    const work *w = context;

    for (size_t i = 0; w->o->normalize && !a->error && i < w->on.used;
         i += w->width)
        unit(v + i, w->width);
    if (!w->on.rows)
        print_json(w, a, v);
}

/* ---- running ---- */

static int prepare(work *w)
{
    static const char *const keep[] = {"norm", "last_hidden_state", NULL};
    vitcl_shape row = {.name = "features"};
    int code = answering_open(&w->on, inner(w->o) ? keep : NULL);

    if (code == EXIT_OK)
        code = choose(w);
    if (code != EXIT_OK)
        return code;
    w->on.used = (size_t)(w->given ? w->given : 1) * w->width;
    if (w->given)
        row.shape[row.rank++] = w->given;
    row.shape[row.rank++] = w->width;
    return answering_start(&w->on, w->o->output, &row);
}

static int run(void *into, const words *operands)
{
    const embed *o = into;
    work w = {.o = o};
    int code;

    if (!operands->count)
        return usage("no pictures given; name files or folders, or - for a "
                     "list on standard input");
    w.on = (answering){.common = &o->common,
                       .operands = operands,
                       .pictures = &o->pictures,
                       .done = "embedded",
                       .print = print,
                       .context = &w};
    code = prepare(&w);
    if (code == EXIT_OK)
        code = answering_run(&w.on);
    answering_close(&w.on);
    return code;
}

const command cmd_embed = {
    "embed",
    "PICTURE|FOLDER|-...",
    "Write the features of pictures",
    "Tensor `features` has one row for each picture, in input order; the row "
    "of a picture\nthat cannot be read is NaN (in JSON lines it has an "
    "`error`), and the exit\nstatus is 1. class is the class token, tokens "
    "are all tokens, both after the final\nnorm.",
    options,
    sizeof(embed),
    run};
