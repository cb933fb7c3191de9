/*
 * text_rows.c - vectors of texts, batch by batch, in the formats of embed.
 */
#include "text_rows.h"

#include "base/status.h"
#include "cli/answers/embedding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 64 }; /* texts at a time */

typedef struct work {
    const text_rows *r;
    embedding e; /* of which the model and the width are used */
    vitcl_text *text;
    text_list texts;
    vt_vectors *to; /* NULL: standard output */
    float *numbers; /* [GROUP, width] */
    uint64_t done, bad;
    double start;
    progress bar;
} work;

/* ---- rows ---- */

static void print_json(const work *w, const char *text, const char *error,
                       const float *numbers)
{
    json_put("{text:%s", text);
    if (error) {
        json_put("error:%s", error);
    } else {
        json_put("features:[");
        for (uint32_t i = 0; i < w->e.shape.width; i++)
            json_put("%.9g", (double)numbers[i]);
        json_put("]");
    }
    json_put("}\n");
}

static const char *wrong(const work *w, const float *numbers)
{
    for (uint32_t i = 0; i < w->e.shape.width; i++)
        if (!isfinite(numbers[i]))
            return "its numbers are not finite";
    return NULL;
}

static int put(work *w, const char *text, const char *error, float *numbers)
{
    const vt_vectors_row row = {.path = text,
                                .error = error,
                                .numbers = numbers,
                                .stamp = {.size = -1, .changed = -1}};

    w->done++;
    if (error) {
        w->bad++;
        progress_clear(&w->bar);
        fail("%s, line %llu: %s", lines_name(w->r->file),
             (unsigned long long)w->done, error);
    } else if (w->r->normalize) {
        embedding_normalize(&w->e, numbers);
    }
    if (!w->to)
        print_json(w, text, error, numbers);
    else if (vt_vectors_add(w->to, &row) != VITCL_OK)
        return failed();
    return EXIT_OK;
}

static int put_group(work *w, char *const *texts, size_t n)
{
    const char *error[GROUP], *good[GROUP];
    uint32_t count = 0, at = 0;

    for (size_t i = 0; i < n; i++)
        if (!(error[i] = text_wrong(texts[i], strlen(texts[i]))))
            good[count++] = texts[i];
    if (count)
        RET(vitcl_text_embed(w->numbers, w->text, good, count));
    guard_end(); /* do not restart after printing */
    for (size_t i = 0; i < n; i++) {
        float *numbers = NULL;

        if (!error[i]) {
            numbers = w->numbers + (size_t)at++ * w->e.shape.width;
            error[i] = wrong(w, numbers);
        }
        RET(put(w, texts[i], error[i], numbers));
    }
    return EXIT_OK;
}

static int put_all(work *w)
{
    for (size_t i = 0; i < w->texts.count; i += GROUP) {
        const size_t left = w->texts.count - i;

        if (stopped())
            return EXIT_STOPPED;
        RET(put_group(w, w->texts.item + i, left < GROUP ? left : GROUP));
        if (!w->to)
            RET(flush_results());
        progress_show(&w->bar, w->done, NULL);
    }
    return EXIT_OK;
}

/* ---- around them ---- */

static int open_tower(work *w)
{
    vitcl_text_info info = {.size = sizeof info};

    RET(tower_open(&w->text, w->e.on.device, w->r->common, w->r->how, "--text",
                   w->r->common->batch ? w->r->common->batch : w->texts.count));
    RET(vitcl_text_describe(&info, w->text));
    w->e.shape.width = info.features;
    w->e.on.used = info.features;
    w->numbers = malloc((size_t)GROUP * info.features * sizeof *w->numbers);
    if (!w->numbers)
        return fail("out of memory");
    return EXIT_OK;
}

static int open_file(work *w)
{
    vt_about about;

    RET(embedding_about(&about, &w->e, NULL, w->r->normalize));
    return code_of(
        vt_vectors_open(&w->to, w->r->output, &about, w->e.shape, w->r->half));
}

static int prepare(work *w)
{
    RET(tower_named(w->r->common, "--text"));
    RET(lines_read(&w->texts, w->r->file));
    if (!w->texts.count)
        return fail("%s: there are no texts in it", lines_name(w->r->file));
    RET(open_model(&w->e.on.device, &w->e.on.model, w->r->common));
    RET(open_tower(w));
    catch_stop(); /* from here on a stop must remove the file */
    if (w->r->output)
        RET(open_file(w));
    return EXIT_OK;
}

static void keep_partial(work *w, int code)
{
    char *name = NULL;
    uint64_t rows;

    if (vt_vectors_keep(&name, &rows, w->to, false) != VITCL_OK)
        say_not_kept(code);
    else if (name)
        say_kept(code, rows, "row", name);
    free(name);
}

static int finish(work *w, int code)
{
    if (code == EXIT_OK && w->to && vt_vectors_finish(w->to) != VITCL_OK)
        code = failed();
    if (code != EXIT_OK && w->to && w->done)
        keep_partial(w, code);
    tower_say_cut(w->text);
    if (code == EXIT_OK && w->to && vt_vectors_unfit(w->to))
        fail("%llu vector%s not fit f16; --store f32 can hold them",
             (unsigned long long)vt_vectors_unfit(w->to),
             vt_vectors_unfit(w->to) == 1 ? " does" : "s do");
    return code == EXIT_OK && w->bad ? EXIT_FAILED : code;
}

static void summarise(const work *w)
{
    char line[128];

    if (is_quiet() || !(w->r->counted || (w->done > 1 && is_terminal(stderr))))
        return;
    snprintf(line, sizeof line, "%llu text%s embedded; %.1f s",
             (unsigned long long)(w->done - w->bad),
             vt_plural(w->done - w->bad), now() - w->start);
    summary(line);
}

int text_rows_write(const text_rows *r)
{
    work w = {.r = r,
              .e = {.what = "text", .on = {.common = r->common}},
              .start = now()};
    int code;

    TRY(prepare(&w));
    progress_start(&w.bar, "texts", w.texts.count);
    code = put_all(&w);
    progress_clear(&w.bar);
    code = finish(&w, code);
    summarise(&w);
done:
    vt_vectors_free(w.to);
    vitcl_text_free(w.text);
    vitcl_model_free(w.e.on.model);
    vitcl_device_free(w.e.on.device);
    lines_free(&w.texts);
    free(w.numbers);
    return code;
}
