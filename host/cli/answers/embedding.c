/*
 * embedding.c - finds the tensor that has the vector and its part of it, and
 * describes the model as an index stores it.
 */
#include "api/program.h"

#include "embedding.h"
#include "index/update.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool inner(const embedding *e)
{
    return e->what && strcmp(e->what, "pooled") != 0;
}

/* The grid of patch tokens, which follow the prefix tokens. */
static int take_grid(embedding *e, const vitcl_tensor_info *t)
{
    vitcl_model_info m = {.size = sizeof m};
    uint32_t height, width;

    vitcl_session_size(&height, &width, e->on.session);
    RET(vitcl_model_describe(&m, e->on.model, height, width, 1));
    if (!m.rows || t->shape[1] < (uint64_t)m.rows * m.columns)
        return fail("this model has no grid of patch tokens; use --features "
                    "pooled");
    e->shape = (vt_row_shape){m.rows, m.columns, t->shape[2]};
    e->on.skip = e->on.share - vt_row_count(e->shape);
    return EXIT_OK;
}

static bool has_class_token(const embedding *e)
{
    vitcl_tensor_info t = {.size = sizeof t};

    return vt_model_read_weight(&t, NULL, 0, e->on.model, "cls_token") ==
           VITCL_OK;
}

/* All tokens after the final norm, under this family's name for them. */
static int find_tokens(embedding *e)
{
    static const char *const names[] = {"norm", "last_hidden_state"};
    vitcl_tensor_info t = {.size = sizeof t};

    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        for (uint32_t i = 0;
             vitcl_session_tensor(&t, e->on.session, i) == VITCL_OK; i++)
            if (strcmp(t.name, names[n]) == 0 && t.rank == 3) {
                const bool all = strcmp(e->what, "tokens") == 0;

                if (strcmp(e->what, "class") == 0 && !has_class_token(e))
                    return fail("this model has no class token; use "
                                "--features pooled or patches");
                e->on.tensor = names[n];
                e->on.share = (size_t)t.shape[1] * t.shape[2];
                e->shape = (vt_row_shape){.columns = all ? t.shape[1] : 0,
                                          .width = t.shape[2]};
                return strcmp(e->what, "patches") == 0 ? take_grid(e, &t)
                                                       : EXIT_OK;
            }
    return fail("this model has no tokens; use --features pooled");
}

static int choose(embedding *e)
{
    if (inner(e))
        return find_tokens(e);
    e->on.tensor = "features";
    e->shape.width = vitcl_session_features(e->on.session);
    e->on.share = e->shape.width;
    return e->shape.width ? EXIT_OK : fail("this model yields no features");
}

int embedding_open(embedding *e)
{
    static const char *const keep[] = {"norm", "last_hidden_state", NULL};
    int code;

    TRY(answering_open(&e->on));
    TRY(answering_session(&e->on, inner(e) ? keep : NULL));
    TRY(choose(e));
done:
    e->on.used = vt_row_count(e->shape);
    return code;
}

static const char preset[] = "preset:";

int embedding_of_index(model_options *common, const vitcl_index_info *of,
                       const char *index)
{
    if (!common->size.height && !common->patches) {
        common->size = (frame_size){.height = of->picture_height,
                                    .width = of->picture_width};
        common->patches = of->most_patches;
        common->patches_of_index = true;
    }
    if (!common->pixels)
        common->pixels = of->pixels;
    if (common->model || common->preset)
        return EXIT_OK;
    if (strncmp(of->model, preset, sizeof preset - 1) == 0)
        common->preset = of->model + sizeof preset - 1;
    else if (!of->model[0])
        return fail("%s: it does not say where its model is; name it with -m",
                    index);
    else if (strcmp(of->model, VITCL_MODEL_BUILTIN) != 0 &&
             access(of->model, F_OK) != 0)
        return fail("%s: its model is no longer at %s; name its place with -m",
                    index, of->model);
    else
        common->model = of->model;
    return EXIT_OK;
}

/* A path that is found from another folder, too; "" if it is too long. */
static void place(char out[VT_INDEX_PATH], const model_options *o)
{
    const char *word = model_word(o), *path = NULL;
    char *whole;

    out[0] = '\0';
    if (o->preset) {
        snprintf(out, VT_INDEX_PATH, "%s%s", preset, o->preset);
        return;
    }
    word = word ? word : VITCL_MODEL_BUILTIN;
    if (find_model(&path, word) != EXIT_OK)
        return;
    whole = realpath(path, NULL);
    if (strlen(whole ? whole : path) < VT_INDEX_PATH)
        snprintf(out, VT_INDEX_PATH, "%s", whole ? whole : path);
    free(whole);
}

int embedding_about(vt_about *out, const embedding *e, const vitcl_model *model,
                    bool normalized)
{
    const model_options *o = e->on.common;

    *out = (vt_about){.normalized = normalized};
    snprintf(out->feature, sizeof out->feature, "%s",
             e->what ? e->what : "pooled");
    place(out->model, o);
    vt_place_here(out->folder);
    return code_of(vt_model_about(out, model ? model : e->on.model,
                                  o->size.height, o->size.width));
}

void embedding_normalize(const embedding *e, float *v)
{
    for (size_t at = 0; at < e->on.used; at += e->shape.width)
        vt_vector_unit(v + at, e->shape.width);
}

int embedding_probe(bool *has, const embedding *of, const char *path,
                    const float *vector, size_t n, bool normalized)
{
    const words name = {.item = &path, .count = 1};
    embedding e = *of;
    const answer *a = NULL;
    int code;

    *has = false;
    e.on.operands = &name;
    e.on.said = true;
    TRY(embedding_open(&e));
    if (e.on.used == n)
        TRY(answering_start(&e.on));
done:
    if (code == EXIT_OK && e.on.used == n)
        a = answering_next(&e.on);
    if (a && !a->error) {
        if (normalized)
            embedding_normalize(&e, a->numbers);
        *has = vt_update_same(a->numbers, vector, n);
    }
    progress_clear(&e.on.bar);
    answering_close(&e.on);
    return code;
}
