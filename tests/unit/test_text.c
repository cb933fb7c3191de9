/*
 * test_text.c - ids of small tokenizers equal those of other libraries
 * (tools/check_tokenizers.py --small); what is damaged or unknown is refused.
 */
#include "support/paths.h"
#include "support/pictures.h"
#include "text/text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONTEXT 20

static vt_tokenizer *open_data(const char *name, bool lower)
{
    char folder[4096];
    vt_tokenizer *t = NULL;

    snprintf(folder, sizeof folder, "%s/text/%s", VT_DATA, name);
    cr_assert_eq(vt_tokenizer_open(&t, folder, true, lower), VITCL_OK, "%s: %s",
                 name, vt_message());
    return t;
}

static FILE *open_file(const char *folder, const char *name)
{
    char path[4096];
    FILE *f;

    snprintf(path, sizeof path, "%s/text/%s/%s", VT_DATA, folder, name);
    cr_assert((f = fopen(path, "rb")), "%s", path);
    return f;
}

static void compare(const char *name)
{
    vt_tokenizer *t = open_data(name, false);
    FILE *lines = open_file(".", "lines.txt");
    FILE *expected = open_file(name, "expected.txt");
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    int number = 0;

    for (; (n = getline(&line, &cap, lines)) > 0; number++) {
        int32_t ids[CONTEXT];
        uint32_t count = 0;

        cr_assert_eq(
            vt_tokenizer_encode(ids, &count, t, CONTEXT, line, (size_t)n - 1),
            VITCL_OK);
        cr_expect(count <= CONTEXT);
        for (int i = 0; i < CONTEXT; i++) {
            int want = -1;

            cr_assert_eq(fscanf(expected, "%d", &want), 1);
            cr_expect_eq(ids[i], want, "%s, line %d, %d: %d, not %d", name,
                         number + 1, i, ids[i], want);
        }
    }
    cr_expect_eq(number, 22);
    free(line);
    fclose(lines);
    fclose(expected);
    vt_tokenizer_free(t);
}

Test(text, clip)
{
    compare("clip_vocab");
    compare("clip_json");
}

Test(text, open_clip)
{
    compare("open_clip");
}

Test(text, sentencepiece)
{
    compare("unigram");
    compare("bpe");
}

Test(text, siglip)
{
    compare("siglip");
    compare("t5");
    compare("gemma");
}

Test(text, facts)
{
    vt_tokenizer *t = open_data("clip_vocab", false);
    vt_tokenizer *o = open_data("open_clip", false);
    vt_tokenizer *lower = open_data("gemma", true);
    vt_tokenizer *gemma = open_data("gemma", false);
    int32_t a[8], b[8];
    uint32_t count;
    char one[65], two[65];

    cr_expect_eq(vt_tokenizer_context(t), 77);
    cr_expect_eq(vt_tokenizer_context(o), 20);
    cr_expect_eq(vt_tokenizer_vocabulary(t), vt_tokenizer_vocabulary(o));
    cr_expect_eq(vt_tokenizer_end(t), vt_tokenizer_end(o));
    cr_expect_eq(vt_tokenizer_end(t), (int32_t)vt_tokenizer_vocabulary(t) - 1);
    vt_tokenizer_identity(one, t);
    vt_tokenizer_identity(two, o);
    cr_expect_eq(strlen(one), 64);
    cr_expect_str_neq(one, two);
    vt_tokenizer_identity(one, lower);
    vt_tokenizer_identity(two, gemma);
    cr_expect_str_neq(one, two, "lower case decides about ids");
    cr_expect_eq(vt_tokenizer_encode(a, &count, lower, 8, "A CAT", 5),
                 VITCL_OK);
    cr_expect_eq(vt_tokenizer_encode(b, &count, gemma, 8, "a cat", 5),
                 VITCL_OK);
    cr_expect_arr_eq(a, b, sizeof a);
    cr_expect_eq(vt_tokenizer_encode(b, &count, gemma, 8, "A CAT", 5),
                 VITCL_OK);
    cr_expect_arr_neq(a, b, sizeof a);
    vt_tokenizer_free(t);
    vt_tokenizer_free(o);
    vt_tokenizer_free(lower);
    vt_tokenizer_free(gemma);
}

/* Every context down to none keeps its bounds; cut texts keep their end. */
Test(text, contexts)
{
    static const char *const names[] = {"clip_vocab", "open_clip", "siglip",
                                        "gemma", "bpe"};
    static const char text[] = "a photo of a cat and two dogs";

    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        vt_tokenizer *t = open_data(names[k], false);

        for (uint32_t context = 0; context < 12; context++) {
            int32_t ids[16];
            uint32_t count = 99;

            for (int i = 0; i < 16; i++)
                ids[i] = -7;
            cr_expect_eq(vt_tokenizer_encode(ids, &count, t, context, text,
                                             sizeof text - 1),
                         VITCL_OK);
            cr_expect_eq(count, context);
            cr_expect_eq(ids[context], -7);
            if (context > 1)
                cr_expect_eq(ids[context - 1], vt_tokenizer_end(t), "%s, %u",
                             names[k], context);
        }
        vt_tokenizer_free(t);
    }
}

Test(text, not_utf8)
{
    vt_tokenizer *t = open_data("clip_vocab", false);
    static const char *const wrong[] = {"a\xff", "\xc0\x80", "\xed\xa0\x80",
                                        "\xe2\x96"};
    int32_t ids[8];
    uint32_t count;

    for (size_t i = 0; i < 4; i++)
        cr_expect_eq(
            vt_tokenizer_encode(ids, &count, t, 8, wrong[i], strlen(wrong[i])),
            VITCL_ECORRUPT);
    vt_tokenizer_free(t);
}

/* A folder with one file, of this text; more: NULL, or the text of its
 * tokenizer_config.json. */
static vitcl_status open_text(const char *name, const char *text,
                              const char *more)
{
    const char *folder = vt_test_folder();
    vt_tokenizer *t = NULL;
    vitcl_status st;

    vt_test_text(folder, name, text);
    if (more)
        vt_test_text(folder, "tokenizer_config.json", more);
    st = vt_tokenizer_open(&t, folder, true, false);
    vt_tokenizer_free(t);
    vt_test_remove(folder);
    return st;
}

#define MODEL                                                                  \
    "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},"        \
    "\"merges\":[\"a b\"]}"

Test(text, refused)
{
    static const struct {
        const char *file, *text;
        vitcl_status st;
        const char *says;
    } cases[] = {
        {"tokenizer.json", "{" MODEL "}", VITCL_OK, ""},
        {"tokenizer.json", "{" MODEL, VITCL_ECORRUPT, ""},
        {"other.json", "{}", VITCL_EIO, "no tokenizer"},
        {"tokenizer.json", "{\"model\":{\"type\":\"WordPiece\"}}",
         VITCL_EUNSUPPORTED, "WordPiece"},
        {"tokenizer.json",
         "{\"normalizer\":{\"type\":\"BertNormalizer\"}," MODEL "}",
         VITCL_EUNSUPPORTED, "BertNormalizer"},
        {"tokenizer.json",
         "{\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":"
         "\"(a+)+\"},\"behavior\":\"Isolated\",\"invert\":false}," MODEL "}",
         VITCL_EUNSUPPORTED, "Split"},
        {"tokenizer.json", "{\"post_processor\":{\"type\":\"Odd\"}," MODEL "}",
         VITCL_EUNSUPPORTED, "Odd"},
        {"tokenizer.json",
         "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"a "
         "b\"]}}",
         VITCL_ECORRUPT, "merge"},
        {"tokenizer.json",
         "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"a\":1},\"merges\":"
         "[]}}",
         VITCL_ECORRUPT, "the same"},
        {"tokenizer.json",
         "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":99999999},\"merges\":[]"
         "}}",
         VITCL_ECORRUPT, "damaged"},
        {"tokenizer.json",
         "{\"model\":{\"type\":\"Unigram\",\"unk_id\":4,\"vocab\":[[\"a\",0]]}"
         "}",
         VITCL_ECORRUPT, "unk_id"},
        {"tokenizer.json", "{\"odd\":1," MODEL "}", VITCL_EUNSUPPORTED, "odd"},
        {"tokenizer.json", "{\"added_tokens\":true," MODEL "}", VITCL_ECORRUPT,
         "added_tokens is not a list"},
        {"tokenizer.json",
         "{\"normalizer\":{\"type\":\"Strip\",\"strip_left\":1}," MODEL "}",
         VITCL_ECORRUPT, "strip_left"},
        {"vocab.json", "{}", VITCL_EUNSUPPORTED, "only CLIPTokenizer"},
        {"special_tokens_map.json", "{\"tokenizer_file\":null}",
         VITCL_EUNSUPPORTED, "tokenizer_file is not supported"},
        {"spiece.model", "no model", VITCL_ECORRUPT, "SentencePiece"},
        {"spiece.model", "", VITCL_ECORRUPT, "SentencePiece"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const vitcl_status st = open_text(cases[i].file, cases[i].text, NULL);

        cr_expect_eq(st, cases[i].st, "case %zu: %d, %s", i, st, vt_message());
        if (st != VITCL_OK)
            cr_expect(strstr(vt_message(), cases[i].says), "case %zu: %s", i,
                      vt_message());
    }
}

/* What would change the ids, and is not understood. */
Test(text, refused_settings)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"{\"tokenizer_class\":\"BertTokenizerFast\"}", "BertTokenizerFast"},
        {"{\"auto_map\":{\"AutoTokenizer\":[\"a.B\",null]}}", "auto_map"},
        {"{\"vocab\":{\"a\":0}}", "vocab is not supported"},
        {"{\"fast_tokenizer_files\":[\"tokenizer.4.json\"]}",
         "fast_tokenizer_files"},
        {"{\"sp_model_kwargs\":{\"enable_sampling\":true}}", "sp_model_kwargs"},
        {"{\"padding_side\":\"up\"}", "only \"left\"|\"right\""},
        {"{\"model_max_length\":9.5}", "9.5"},
        {"{\"bos_token\":{\"content\":\"a\"}}", "AddedToken"},
        {"{\"added_tokens_decoder\":{\"1\":{\"content\":\"a\",\"odd\":1}}}",
         "odd"},
        {"{\"tokenizer_class\":\"T5Tokenizer\"}", "of T5Tokenizer"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_expect_eq(open_text("tokenizer.json", "{" MODEL "}", cases[i].text),
                     VITCL_EUNSUPPORTED, "case %zu: %s", i, vt_message());
        cr_expect(strstr(vt_message(), cases[i].says), "case %zu: %s", i,
                  vt_message());
    }
}

/* Cut before the special tokens are added, as in transformers. */
Test(text, truncation_side)
{
    static const struct {
        const char *side;
        int32_t ids[4];
    } cases[] = {{"right", {2, 0, 0, 3}}, {"left", {2, 0, 1, 3}}};
    char config[256], identity[2][65];

    for (int i = 0; i < 2; i++) {
        const char *folder = vt_test_folder();
        vt_tokenizer *t = NULL;
        int32_t ids[4];
        uint32_t count = 0;

        vt_test_text(folder, "tokenizer.json",
                     "{\"model\":{\"type\":\"BPE\",\"merges\":[],\"vocab\":"
                     "{\"a\":0,\"b</w>\":1,\"<\":2,\">\":3}}}");
        snprintf(config, sizeof config,
                 "{\"tokenizer_class\":\"CLIPTokenizer\",\"bos_token\":\"<\","
                 "\"eos_token\":\">\",\"truncation_side\":\"%s\"}",
                 cases[i].side);
        vt_test_text(folder, "tokenizer_config.json", config);
        cr_assert_eq(vt_tokenizer_open(&t, folder, true, false), VITCL_OK, "%s",
                     vt_message());
        cr_expect_eq(vt_tokenizer_encode(ids, &count, t, 4, "aab", 3),
                     VITCL_OK);
        cr_expect_arr_eq(ids, cases[i].ids, sizeof ids, "%s: %d %d %d %d",
                         cases[i].side, ids[0], ids[1], ids[2], ids[3]);
        vt_tokenizer_identity(identity[i], t);
        vt_tokenizer_free(t);
        vt_test_remove(folder);
    }
    cr_expect_str_neq(identity[0], identity[1]);
}

/* zlib gives what there is of a file that was cut off. */
Test(text, cut_off)
{
    enum { SIZE = 1150 };
    static const char name[] = "bpe_simple_vocab_16e6.txt.gz";
    static char bytes[SIZE + 1];
    FILE *f = open_file("open_clip", name);

    cr_assert_eq(fread(bytes, 1, sizeof bytes, f), SIZE);
    fclose(f);
    for (size_t n = SIZE; n > SIZE / 4; n -= SIZE / 16) {
        const char *folder = vt_test_folder();
        char path[4096];
        vt_tokenizer *t = NULL;

        vt_test_text(folder, "open_clip_config.json",
                     "{\"model_cfg\":{\"text_cfg\":{}}}");
        snprintf(path, sizeof path, "%s/%s", folder, name);
        cr_assert((f = fopen(path, "wb")));
        fwrite(bytes, 1, n, f);
        cr_assert_eq(fclose(f), 0);
        cr_expect_eq(vt_tokenizer_open(&t, folder, true, false),
                     n == SIZE ? VITCL_OK : VITCL_ECORRUPT, "%zu: %s", n,
                     vt_message());
        vt_tokenizer_free(t);
        vt_test_remove(folder);
    }
}

/* Another type would be taken as missing, and give other tokens. */
Test(text, types_of_settings)
{
    static const struct {
        const char *text, *says; /* NULL: it opens */
    } cases[] = {
        {"{\"do_lower_case\":\"false\"}", "do_lower_case is not true or false"},
        {"{\"do_lower_case\":null}", NULL},
        {"{\"add_bos_token\":1}", "add_bos_token"},
        {"{\"add_eos_token\":1}", "add_eos_token"},
        {"{\"tokenizer_class\":5}", "tokenizer_class is not a string"},
        {"{\"padding_side\":true}", "padding_side"},
        {"{\"truncation_side\":1}", "truncation_side"},
        {"{\"model_max_length\":\"77\"}", "model_max_length"},
        {"{\"model_max_length\":1e30}", NULL},
        {"{\"eos_token\":7}", "eos_token is not a string or an object"},
        {"{\"eos_token\":{\"__type\":\"AddedToken\",\"content\":\"a\"}}", NULL},
        {"{\"added_tokens_decoder\":[]}", "added_tokens_decoder"},
        {"[]", "not an object"},
        {"\"x\"", "not an object"},
        {"{\"model_input_names\":\"input_ids\"}", "model_input_names"},
        {"{\"extra_ids\":-1}", "extra_ids"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const vitcl_status st =
            open_text("tokenizer.json", "{" MODEL "}", cases[i].text);

        cr_expect_eq(st, cases[i].says ? VITCL_ECORRUPT : VITCL_OK,
                     "case %zu: %d, %s", i, st, vt_message());
        if (cases[i].says)
            cr_expect(strstr(vt_message(), cases[i].says), "case %zu: %s", i,
                      vt_message());
    }
}
