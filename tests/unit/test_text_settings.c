/*
 * test_text_settings.c - small tokenizers with one key or a few changed: ids
 * and attention masks are those of transformers (tools/fuzz_tokenizers.py
 * --cases); what is not understood is refused by its name.
 */
#include "base/json_print.h"
#include "base/words.h"
#include "support/paths.h"
#include "support/pictures.h"
#include "text/text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static vt_json *load(void)
{
    char path[4096];
    vt_json *root = NULL;

    snprintf(path, sizeof path, "%s/text/settings.json", VT_DATA);
    cr_assert_eq(vt_json_load(&root, path, 4U << 20, 32), VITCL_OK, "%s",
                 vt_message());
    return root;
}

static void put(FILE *f, const vt_json *v, bool *first)
{
    fputs(*first ? "" : ",", f);
    *first = false;
    vt_json_print_string(f, vt_json_key(v));
    fputc(':', f);
    vt_json_print(f, v);
}

/* A file of the base, with other values for some keys. */
static void write_file(const char *folder, const char *name,
                       const vt_json *base, const vt_json *edits)
{
    char *path = vt_test_path(folder, name);
    FILE *f = fopen(path, "wb");
    const char *text;
    bool first = true;

    cr_assert(f, "%s", path);
    if (vt_json_string(&text, base)) {
        fputs(text, f);
    } else {
        fputc('{', f);
        for (const vt_json *v = vt_json_first(base); v; v = vt_json_next(v))
            if (!vt_json_get(edits, vt_json_key(v)))
                put(f, v, &first);
        for (const vt_json *v = vt_json_first(edits); v; v = vt_json_next(v))
            if (!vt_json_is_null(v) ||
                !vt_one_of("padding_side|model_input_names", vt_json_key(v)))
                put(f, v, &first);
        fputc('}', f);
    }
    cr_assert_eq(fclose(f), 0);
}

static void link_spm(const char *folder)
{
    char from[4096];

    snprintf(from, sizeof from, "%s/text/siglip/spiece.model", VT_DATA);
    cr_assert_eq(symlink(from, vt_test_path(folder, "spiece.model")), 0);
}

static void write_folder(const char *folder, const vt_json *base,
                         const vt_json *edits)
{
    for (const vt_json *v = vt_json_first(base); v; v = vt_json_next(v)) {
        const char *name = vt_json_key(v);

        if (vt_json_is_null(v))
            link_spm(folder);
        else if (!vt_json_is_null(vt_json_get(edits, name)))
            write_file(folder, name, v, vt_json_get(edits, name));
    }
    for (const vt_json *v = vt_json_first(edits); v; v = vt_json_next(v))
        if (!vt_json_get(base, vt_json_key(v)))
            write_file(folder, vt_json_key(v), NULL, v);
}

static void encode(char *out, size_t size, const vt_tokenizer *t,
                   uint32_t context, const char *text)
{
    int32_t ids[64];
    uint32_t count = 0;
    int n = 0;

    if (vt_tokenizer_context(t) && vt_tokenizer_context(t) < context)
        context = vt_tokenizer_context(t);
    cr_assert_eq(
        vt_tokenizer_encode(ids, &count, t, context, text, strlen(text)),
        VITCL_OK, "%s", vt_message());
    for (uint32_t i = 0; i < context; i++)
        n += snprintf(out + n, size - (size_t)n, i ? " %d" : "%d", ids[i]);
    n += snprintf(out + n, size - (size_t)n, "|");
    for (uint32_t i = 0; i < context; i++)
        n += snprintf(out + n, size - (size_t)n, "%d",
                      vt_tokenizer_sees(t, i, count, context));
}

Test(text_settings, as_transformers, .timeout = 60)
{
    vt_json *root = load();
    const vt_json *bases = vt_json_get(root, "bases"), *first = NULL;
    const vt_json *texts = vt_json_get(root, "texts");
    size_t count = 0;
    uint64_t context = 0;

    cr_assert(vt_json_uint(&context, vt_json_get(root, "context")));
    cr_assert_leq(context, 64);
    for (const vt_json *c = vt_json_first(vt_json_get(root, "cases")); c;
         c = vt_json_next(c), count++) {
        const vt_json *edits = vt_json_get(c, "edits");
        const vt_json *want = vt_json_get(c, "ids");
        const char *folder = vt_test_folder(), *base = "";
        vt_tokenizer *t = NULL;

        vt_json_string(&base, vt_json_get(c, "base"));
        if (!vt_json_first(edits))
            first = want;
        write_folder(folder, vt_json_get(bases, base), edits);
        cr_expect_eq(vt_tokenizer_open(&t, folder, false, false), VITCL_OK,
                     "case %zu, %s: %s", count, base, vt_message());
        for (const vt_json *v = t ? vt_json_first(texts) : NULL,
                           *w = vt_json_first(want ? want : first);
             v && w; v = vt_json_next(v), w = vt_json_next(w)) {
            const char *text = "", *line = "";
            char got[1024];

            vt_json_string(&text, v);
            vt_json_string(&line, w);
            encode(got, sizeof got, t, (uint32_t)context, text);
            cr_expect_str_eq(got, line, "case %zu, %s, \"%s\":\n%s, not\n%s",
                             count, base, text, got, line);
        }
        vt_tokenizer_free(t);
        vt_test_remove(folder);
    }
    cr_expect_gt(count, 250);
    vt_json_free(root);
}
