/*
 * cmd_embed.c - like classify, but writes features, batch by batch, so that the
 * number of pictures does not matter for memory.
 */
#include "base/file.h"
#include "cli/answers/embedding.h"
#include "cli/answers/sharding.h"
#include "cli/answers/updating.h"
#include "cli/texts/text_rows.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct embed {
    model_options common;
    const char *output, *what, *store, *text;
    picture_options pictures;
    text_options texts;
    bool normalize, tokens, update, prune, replace;
} embed;

#define PATCHES "patches"

static const opt options[] = {
    OPT_MODEL(embed),
    OPT_ROW(embed, 'o', "output", OPT_FILE,
            "FILE.safetensors|FILE.npy|FILE.jsonl|FILE.csv",
            "write a file, with the paths; without it, JSON lines on stdout",
            output),
    OPT_RULED(
        embed, 0, "text", OPT_TEXT, "FILE|-",
        "instead of pictures: texts, one per line, for a model such as CLIP",
        text,
        .not_with = "tokens|features|update|devices|size|max-num-patches|"
                    "pixels|shard|tar|recursive|no-recursive|follow|null"),
    OPT_LOWER(embed, "text"),
    OPT_ROW(embed, 0, "tokens", OPT_FLAG, NULL,
            "the grid of patch tokens: rows x columns x width per picture",
            tokens),
    OPT_ROW(
        embed, 0, "features", OPT_CHOICE, VT_FEATURES,
        "which features (default pooled: what the classifier reads; patches is "
        "--tokens)",
        what),
    OPT_ROW(embed, 0, "normalize", OPT_FLAG, NULL,
            "divide each vector by its length", normalize),
    OPT_ROW(embed, 0, "store", OPT_CHOICE, "f32|f16",
            "numbers in .safetensors and .npy (default f32)", store),
    OPT_RULED(embed, 'u', "update", OPT_FLAG, NULL,
              "embed what is new or has changed since -o FILE.safetensors was "
              "written; "
              "other rows stay while their file exists",
              update, .not_with = "shard|tar"),
    OPT_RULED(embed, 0, "prune", OPT_FLAG, NULL,
              "with --update: drop the rows of pictures that are not named",
              prune, .needs = "update"),
    OPT_RULED(embed, 0, "replace", OPT_FLAG, NULL,
              "write -o FILE.safetensors anew if it is there already", replace,
              .not_with = "update"),
    OPT_DEVICE(embed),
    OPT_DEVICES(embed),
    OPT_BATCH(embed, "pictures at a time (default: 8 on a CPU, 32 on a GPU, "
                     "fewer for few)"),
    OPT_SIDES(embed),
    OPT_PATCHES(embed),
    OPT_PIXELS(embed),
    OPT_RUN(embed),
    OPT_ANY_BATCH(embed),
    OPT_PICTURES(embed),
    OPT_SHARD(embed),
    OPT_TAR(embed),
    OPT_DONE};

typedef struct work {
    embedding e;
    const embed *o;
    sharding part;
    updating kept; /* with --update */
    vitcl_index_info earlier;
    size_t named;   /* operands, with --update */
    vt_vectors *to; /* NULL: standard output */
    bool finished;  /* it was, or that failed */
    bool broken;    /* a row could not be added */
    bool complete;  /* it was */
    int64_t began;  /* ns */
} work;

/* ---- printing ---- */

static void print_json(const work *w, const answer *a)
{
    if (!json_picture(a))
        return;
    json_put("features:");
    for (size_t i = 0; i < w->e.on.used; i++) {
        printf("%s", vt_row_mark(w->e.shape, i));
        json_number((double)a->numbers[i]);
    }
    fputs(vt_row_mark(w->e.shape, w->e.on.used), vt_json_raw(&json_results));
    json_put("}\n");
}

/* Of the file that was decoded; its path may name another by now. In an
 * archive, the size alone says that the picture is below a file. */
static vt_stamp stamp(const work *w, const answer *a)
{
    vt_stamp s = {.size = -1, .changed = -1};

    if (!a->error)
        s = vt_update_stamp(a->file_size, a->file_changed, w->began);
    if (!a->error && s.changed < 0 && a->file_changed < 0 &&
        w->o->pictures.tar && vt_place_in_archive(a->path))
        s.size = (int64_t)a->size;
    return s;
}

static int add(work *w, const answer *a)
{
    vt_vectors_row row = {.path = a->path,
                          .error = a->error,
                          .numbers = a->numbers,
                          .sharded = a->sharded,
                          .position = a->position};

    if (w->o->update) {
        RET(vt_update_keep(&w->kept.rows, w->to, a->path));
        row.path = w->kept.rows.name;
        if (!row.path)
            return EXIT_OK;
    }
    row.stamp = stamp(w, a);
    return code_of(vt_vectors_add(w->to, &row));
}

static int print(work *w, answer *a)
{
    if (w->o->normalize && !a->error)
        embedding_normalize(&w->e, a->numbers);
    if (w->to)
        w->broken = add(w, a) != EXIT_OK;
    else
        print_json(w, a);
    return w->broken ? EXIT_FAILED : EXIT_OK;
}

/* ---- running ---- */

static void tell(const work *w)
{
    const vt_update *u = &w->kept.rows;
    const struct {
        uint64_t rows;
        const char *what;
    } other[] = {
        {u->stay, "kept"}, {u->gone, "without a file"}, {u->drop, "pruned"}};
    char text[128] = "", renamed[64] = "";

    if (u->renamed)
        snprintf(renamed, sizeof renamed, ", %llu renamed",
                 (unsigned long long)u->renamed);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (other[i].rows)
            snprintf(text + strlen(text), sizeof text - strlen(text),
                     "%s %llu %s", text[0] ? "," : "; other rows:",
                     (unsigned long long)other[i].rows, other[i].what);
    if (!is_quiet() && (u->old || u->todos != w->named))
        note("%zu of %zu pictures are new or have changed%s%s", u->todos,
             u->named, renamed, text);
    if (u->spared)
        note("%s, so no row is dropped",
             u->named ? "not all pictures could be listed"
                      : "no pictures are named");
}

static int open_file(work *w, const vitcl_model *model)
{
    const bool half = w->o->store && strcmp(w->o->store, "f16") == 0;
    const vt_index *old = w->kept.rows.old;
    vt_about about;

    RET(embedding_about(&about, &w->e, model, w->o->normalize));
    if (old && vt_index_agrees(old, &about) != VITCL_OK)
        return fail("%s; with --replace instead, the file is written anew",
                    vitcl_last_error());
    if (old && !model && !vt_row_alike(vt_index_shape(old), w->e.shape))
        return fail("%s: its vectors have another shape than this model's; "
                    "with --replace instead, the file is written anew",
                    w->o->output);
    if (w->o->update)
        tell(w);
    if (w->kept.rows.lost || w->kept.rows.places.base[0])
        memcpy(about.folder, vt_index_about(old)->folder, sizeof about.folder);
    if (model) /* no session: all rows are the earlier ones */
        w->e.shape = vt_index_shape(old);
    catch_stop(); /* from here on a stop must remove the file */
    return code_of(
        vt_vectors_open(&w->to, w->part.path, &about, w->e.shape,
                        w->o->store ? half : old && vt_index_half(old)));
}

static int finish(work *w)
{
    if (!w->to)
        return EXIT_OK;
    w->finished = true;
    if (w->o->update)
        RET(vt_update_keep(&w->kept.rows, w->to, NULL));
    if (vt_vectors_unfit(w->to))
        fail("%llu vector%s not fit f16 and cannot be searched; --store f32 "
             "can hold them",
             (unsigned long long)vt_vectors_unfit(w->to),
             vt_vectors_unfit(w->to) == 1 ? " does" : "s do");
    RET(vt_vectors_finish(w->to));
    w->complete = true;
    return EXIT_OK;
}

/* Nothing is new: rows may have vanished. */
static int rewrite(work *w)
{
    vitcl_model *model = NULL;
    int code;

    TRY(open_model(NULL, &model, &w->o->common));
    TRY(open_file(w, model));
    TRY(finish(w));
done:
    answering_summary(&w->e.on);
    vitcl_model_free(model);
    return code;
}

/* Are there answers in a file that is good so far? */
static bool has_answers(const work *w)
{
    return w->to && w->e.on.count && !w->broken && !w->finished;
}

static int answer_all(work *w)
{
    answer *a;
    int code = EXIT_OK;

    while (code == EXIT_OK && (a = answering_next(&w->e.on)))
        code = print(w, a);
    RET(answering_end(&w->e.on, code));
    RET(finish(w));
    return answering_failures(&w->e.on);
}

static int run_all(work *w)
{
    int code;

    TRY(embedding_open(&w->e));
    if (w->o->output)
        TRY(open_file(w, NULL));
    TRY(answering_start(&w->e.on));
    TRY(answer_all(w));
done:
    if (code != EXIT_OK && w->o->update && has_answers(w)) {
        if (finish(w) != EXIT_OK)
            code = EXIT_FAILED;
        else if (!is_quiet())
            note("%swhat is done is kept, and --update continues from there",
                 code == EXIT_STOPPED ? "stopped; " : "");
    }
    return code;
}

/* Renamed pictures keep their rows, if one that was embedded says so. */
static int take_over(work *w)
{
    const vt_update *u = &w->kept.rows;
    const vt_update_entry *e = vt_update_probe(u);
    bool has = false;

    if (!e)
        return EXIT_OK;
    RET(vt_index_rows(u->row, u->narrow, u->old, e->from, 1));
    RET(embedding_probe(&has, &w->e, e->path, u->row, vt_index_width(u->old),
                        w->o->normalize));
    if (has)
        RET(updating_take_over(&w->kept));
    return EXIT_OK;
}

static int embed_new(work *w, const words *operands)
{
    RET(updating_list(&w->kept, operands, &w->o->pictures, w->o->prune));
    RET(take_over(w));
    w->named = operands->count;
    w->e.on.operands = &w->kept.todo;
    w->e.on.listed = &w->kept.left;
    RET(w->kept.rows.old && !w->kept.todo.count ? rewrite(w) : run_all(w));
    return w->kept.cut ? EXIT_FAILED : EXIT_OK;
}

/* What is not given is as in the index that is updated. */
static int read_earlier(embed *o, work *w)
{
    const vitcl_index_info *a = &w->earlier;

    RET(updating_open(&w->kept, o->output));
    if (!w->kept.rows.old)
        return EXIT_OK;
    vt_index_describe(&w->earlier, w->kept.rows.old);
    o->what = w->e.what = o->what ? o->what : a->feature;
    o->normalize = o->normalize || a->normalized;
    return embedding_of_index(&o->common, a, o->output);
}

/* Rows that took hours are not replaced by a slip. */
static int check_replaced(const embed *o)
{
    const bool index = o->output && vt_path_ends(o->output, ".safetensors");
    vt_index *old = NULL;

    if (o->replace && !index)
        return usage("--replace needs -o FILE.safetensors");
    if (!index || o->replace || o->update || o->pictures.shard ||
        access(o->output, F_OK) != 0)
        return EXIT_OK;
    if (!o->text && vt_index_open(&old, o->output) == VITCL_OK)
        fail("%s has %llu row%s already; --update adds to them, --replace "
             "writes it anew",
             o->output, (unsigned long long)vt_index_count(old),
             vt_plural(vt_index_count(old)));
    else
        fail("%s is there already; --replace writes it anew", o->output);
    vt_index_free(old);
    return EXIT_FAILED;
}

static int check(const embed *o, const words *operands)
{
    const bool grid = o->tokens || (o->what && strcmp(o->what, PATCHES) == 0);

    if (o->text && operands->count)
        return usage("--text embeds texts, not pictures; leave %s out",
                     operands->item[0]);
    if (o->tokens && o->what && strcmp(o->what, PATCHES) != 0)
        return usage("--tokens is --features patches, not %s; leave one out",
                     o->what);
    if (grid && o->output && vt_path_ends(o->output, ".csv"))
        return usage("a table has no grids of tokens; name a .safetensors, "
                     ".npy or .jsonl file");
    if (!o->text && !operands->count)
        return usage("no pictures given; name files or folders, or - for a "
                     "list on standard input");
    if (o->update && (!o->output || !vt_path_ends(o->output, ".safetensors")))
        return usage("--update needs -o FILE.safetensors");
    if (o->pictures.shard && o->output && vt_path_ends(o->output, ".csv"))
        return usage("--shard writes .jsonl, .npy or .safetensors, not .csv");
    if (o->store && (!o->output || (!vt_path_ends(o->output, ".safetensors") &&
                                    !vt_path_ends(o->output, ".npy"))))
        return usage("--store needs -o FILE.safetensors or FILE.npy");
    return check_replaced(o);
}

static int open_part(work *w)
{
    const embed *o = w->o;
    row_settings rows = {.command = "embed"};
    char common[SHARDING_COMMON];

    sharding_common(common, sizeof common, &o->common);
    snprintf(rows.text, sizeof rows.text, "features=%s normalize=%d store=%s%s",
             o->what ? o->what : "pooled", o->normalize,
             o->store ? o->store : "f32", common);
    return sharding_open(&w->part, &o->pictures, o->output, w->e.on.operands,
                         &o->common, &rows);
}

/* With --update what is done is in the index, as a rule. */
static void keep_partial(work *w, int code)
{
    char *name = NULL;
    uint64_t rows;

    if (!w->to || w->complete || !w->e.on.count)
        return;
    if (vt_vectors_keep(&name, &rows, w->to, w->part.shard.n > 0) != VITCL_OK)
        say_not_kept(code);
    else if (name)
        say_kept(code, rows, w->o->update ? "row" : "answer", name);
    free(name);
}

static int embed_text(const embed *o)
{
    return text_rows_write(
        &(text_rows){.common = &o->common,
                     .how = &o->texts,
                     .file = o->text,
                     .output = o->output,
                     .normalize = o->normalize,
                     .half = o->store && strcmp(o->store, "f16") == 0,
                     .counted = o->pictures.summary});
}

static int run(void *into, const words *operands)
{
    embed *o = into;
    work w = {.o = o,
              .e.on = {.common = &o->common,
                       .operands = operands,
                       .pictures = &o->pictures,
                       .done = "embedded",
                       .start = now(),
                       .rows_tell = o->pictures.shard && o->output},
              .part.stdout_fd = -1,
              .began = vt_update_clock()};
    int code;

    TRY(check(o, operands));
    if (o->text)
        return embed_text(o);
    w.e.what = o->what = o->tokens ? PATCHES : o->what;
    TRY(open_part(&w));
    if (w.part.finished)
        goto done;
    if (o->update)
        code = read_earlier(o, &w);
    if (code == EXIT_OK)
        code = o->update ? embed_new(&w, operands) : run_all(&w);
    if (code != EXIT_OK)
        keep_partial(&w, code);
    code = sharding_end(&w.part, code, &w.e.on);
done:
    answering_close(&w.e.on);
    sharding_close(&w.part);
    vt_vectors_free(w.to);
    updating_close(&w.kept);
    return code;
}

const command cmd_embed = {
    "embed",
    "PICTURE|FOLDER|-...",
    "Write the features of pictures, or of texts",
    "One row for each picture, in input order; the row of a picture that "
    "cannot be read is NaN (in JSON lines it has an `error`, in CSV it is "
    "empty), and the exit status is 1. class is the class token, tokens are "
    "all tokens, and patches those of the grid, after the final norm; of "
    "Hugging Face's CLIP before the post norm, as in last_hidden_state. A "
    ".safetensors file is an index for search and dupes; the paths of a .npy "
    "file are in a file beside it that ends in .paths. With --text a row is a "
    "line of a file.",
    options,
    sizeof(embed),
    run};
