/*
 * test_text_bounds.c - no tokenizer makes much of a short text, whatever its
 * files say; texts end when asked; errors name the byte of the file.
 */
#include "base/stop.h"
#include "support/paths.h"
#include "support/pictures.h"
#include "text/text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MODEL                                                                  \
    "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},"        \
    "\"merges\":[\"a b\"]}}"
enum { CONTEXT = 8 };

static vitcl_status open_json(vt_tokenizer **out, const char *text)
{
    const char *folder = vt_test_folder();
    vitcl_status st;

    vt_test_text(folder, "tokenizer.json", text);
    st = vt_tokenizer_open(out, folder, true, false);
    vt_test_remove(folder);
    return st;
}

static vitcl_status encode(const vt_tokenizer *t, const char *text, size_t n)
{
    int32_t ids[CONTEXT];
    uint32_t count;

    return vt_tokenizer_encode(ids, &count, t, CONTEXT, text, n);
}

static long most_kb(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;
}

/* `steps` is written into the file behind the normalizers or pre-tokenizers. */
static vt_tokenizer *open_steps(const char *steps)
{
    const size_t room = strlen(steps) + sizeof MODEL + 8;
    char *text = malloc(room);
    vt_tokenizer *t = NULL;

    cr_assert(text);
    snprintf(text, room, "{%s," MODEL, steps);
    cr_assert_eq(open_json(&t, text), VITCL_OK, "%s", vt_message());
    free(text);
    return t;
}

#define REPLACE                                                                \
    "{\"type\":\"Replace\",\"pattern\":{\"String\":\"%c\"},\"content\":"       \
    "\"%s\"}"

/* Three rows, each of which makes a letter a thousand of the next. */
static char *three_rows(void)
{
    enum { MADE = 1000 };
    char made[3][MADE + 1] = {{0}}, *out = malloc(8192);

    for (int i = 0; i < 3; i++)
        memset(made[i], 'b' + i, MADE);
    cr_assert(out);
    snprintf(out, 8192,
             "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[" REPLACE
             "," REPLACE "," REPLACE "]}",
             'a', made[0], 'b', made[1], 'c', made[2]);
    return out;
}

static void refused(const vt_tokenizer *t, const char *text, size_t n)
{
    const long before = most_kb();

    cr_expect_eq(encode(t, text, n), VITCL_EUNSUPPORTED, "%.20s", text);
    cr_expect(strstr(vt_message(), "makes a text too long"), "%s",
              vt_message());
    cr_expect(most_kb() - before < 100 << 10, "%ld kB", most_kb() - before);
}

Test(text_bounds, normalizers)
{
    char *rows = three_rows();
    vt_tokenizer *t = open_steps(rows);

    refused(t, "a dog", 5);
    cr_expect_eq(encode(t, "dog", 3), VITCL_OK, "%s", vt_message());
    free(rows);
    vt_tokenizer_free(t);
}

Test(text_bounds, pre_tokenizers)
{
#define BYTES                                                                  \
    "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}"
#define FOUR BYTES "," BYTES "," BYTES "," BYTES
    vt_tokenizer *t =
        open_steps("\"pre_tokenizer\":{\"type\":\"Sequence\","
                   "\"pretokenizers\":[" FOUR "," FOUR "," FOUR "," FOUR "]}");

    refused(t, "\xc3\xa9", 2);
    cr_expect_eq(encode(t, "ab", 2), VITCL_OK, "%s", vt_message());
    vt_tokenizer_free(t);
}

/* What is made of each piece between two added tokens counts together, also
 * where a later row makes it short again. */
Test(text_bounds, pieces)
{
    enum { PIECES = 20000, MADE = 2000 };
    static char text[2 * PIECES], made[MADE + 1], steps[2 * MADE];
    vt_tokenizer *t;

    memset(made, 'c', MADE);
    for (int i = 0; i < PIECES; i++)
        memcpy(text + 2 * i, "ab", 2);
    snprintf(steps, sizeof steps,
             "\"added_tokens\":[{\"id\":0,\"content\":\"a\",\"normalized\":"
             "false}],\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":"
             "[" REPLACE "," REPLACE "]}",
             'b', made, 'c', "");
    t = open_steps(steps);
    refused(t, text, sizeof text);
    cr_expect_eq(encode(t, text, 20), VITCL_OK, "%s", vt_message());
    vt_tokenizer_free(t);
}

Test(text_bounds, added_tokens)
{
    char *rows = three_rows(), text[10000];
    vt_tokenizer *t = NULL;

    snprintf(text, sizeof text,
             "{\"added_tokens\":[{\"id\":0,\"content\":\"xa\"}],%s," MODEL,
             rows);
    cr_expect_eq(open_json(&t, text), VITCL_EUNSUPPORTED);
    cr_expect(strstr(vt_message(), "an added token: the tokenizer makes"), "%s",
              vt_message());
    free(rows);
    vt_tokenizer_free(t);
}

/* To sort many marks takes the square of their number. */
Test(text_bounds, marks)
{
    enum { MARKS = 300000 };
    static char text[2 * MARKS + 1] = "a";
    vt_tokenizer *t = open_steps("\"normalizer\":{\"type\":\"NFC\"}");

    for (int i = 0; i < MARKS; i++) /* U+0301, U+0316: in the other order */
        memcpy(text + 1 + 2 * i, i % 2 ? "\xcc\x96" : "\xcc\x81", 2);
    cr_expect_eq(encode(t, text, sizeof text), VITCL_EUNSUPPORTED);
    cr_expect(strstr(vt_message(), "combining marks"), "%s", vt_message());
    cr_expect_eq(encode(t, text, 2001), VITCL_OK, "%s", vt_message());
    for (int i = 0; i < MARKS; i++) /* nothing to sort */
        memcpy(text + 1 + 2 * i, i < MARKS / 2 ? "\xcc\x96" : "\xcc\x81", 2);
    cr_expect_eq(encode(t, text, sizeof text), VITCL_OK, "%s", vt_message());
    vt_tokenizer_free(t);
}

/* A long text is normalised in parts, which change nothing. */
Test(text_bounds, parts)
{
    enum { N = 70000 };
    static char text[2 * N], twice[2 * N];
    vt_tokenizer *t = open_steps("\"normalizer\":{\"type\":\"NFC\"}");
    int32_t ids[2][2 * N];
    uint32_t count[2];

    for (int i = 0; i < N; i++)
        memcpy(text + 2 * i, "ab", 2);
    memcpy(twice, text, sizeof text);
    memcpy(text + 100, "\xc3\xa9", 2);
    memcpy(twice + 100, "\xc3\xa9", 2);
    memcpy(text + N + 98, "e\xcc\x81q", 4);
    memcpy(twice + N + 98, "\xc3\xa9qq", 4);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(vt_tokenizer_encode(ids[i], &count[i], t, 2 * N,
                                         i ? twice : text, sizeof text),
                     VITCL_OK);
    cr_expect_arr_eq(ids[0], ids[1], sizeof ids[0]);
    vt_tokenizer_free(t);
}

Test(text_bounds, stop)
{
    vt_tokenizer *t = open_steps("\"normalizer\":null");

    vt_stop_asked = 1;
    cr_expect_eq(encode(t, "ab", 2), VITCL_ESTOPPED);
    vt_tokenizer_free(t);
    t = NULL;
    cr_expect_eq(open_json(&t, "{" MODEL), VITCL_ESTOPPED);
}

/* The vocabulary and the merges are cut out before the rest is read. */
Test(text_bounds, bytes_of_errors)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"{" MODEL "x", "invalid JSON at byte 70: "},
        {"{\"a\":x," MODEL, "invalid JSON at byte 5: "},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},x\"merges\":[]}}",
         "invalid JSON at byte 39: "},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{},\"merges\":[]},x}",
         "invalid JSON at byte 47: "},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,x},\"merges\":[]}}",
         "the vocabulary is damaged at byte 38"},
        {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":[],\"vocab\":{\"a\":0}}}",
         "duplicate key \"vocab\" at byte 38"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vt_tokenizer *t = NULL;

        cr_expect_eq(open_json(&t, cases[i].text), VITCL_ECORRUPT);
        cr_expect(strstr(vt_message(), cases[i].says), "case %zu: %s", i,
                  vt_message());
        vt_tokenizer_free(t);
    }
}

/* transformers makes another tokenizer of a SentencePiece model, but for
 * SiglipTokenizer. */
Test(text_bounds, sentencepiece_of_other_classes)
{
    static const struct {
        const char *config; /* NULL: none; SentencePiece's own ids */
        vitcl_status st;
    } cases[] = {
        {"{\"tokenizer_class\":\"GemmaTokenizer\"}", VITCL_EUNSUPPORTED},
        {"{\"tokenizer_class\":\"T5Tokenizer\"}", VITCL_EUNSUPPORTED},
        {"{\"tokenizer_class\":\"PreTrainedTokenizerFast\"}",
         VITCL_EUNSUPPORTED},
        {"{\"tokenizer_class\":\"SiglipTokenizer\"}", VITCL_OK},
        {NULL, VITCL_OK}};
    char from[4096], to[4096];

    snprintf(from, sizeof from, "%s/text/unigram/spiece.model", VT_DATA);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *folder = vt_test_folder();
        vt_tokenizer *t = NULL;
        vitcl_status st;

        snprintf(to, sizeof to, "%s/spiece.model", folder);
        cr_assert_eq(symlink(from, to), 0);
        if (cases[i].config)
            vt_test_text(folder, "tokenizer_config.json", cases[i].config);
        st = vt_tokenizer_open(&t, folder, true, false);
        cr_expect_eq(st, cases[i].st, "case %zu: %s", i, vt_message());
        if (cases[i].st != VITCL_OK)
            cr_expect(strstr(vt_message(), "tokenizer.json is missing"), "%s",
                      vt_message());
        vt_tokenizer_free(t);
        vt_test_remove(folder);
    }
}
