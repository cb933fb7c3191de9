/*
 * test_json.c - valid and invalid JSON, and the getters.
 */
#include "base/json.h"
#include "base/utf8.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static vitcl_status parse(vt_json **out, const char *text)
{
    /* An exact copy without a NUL, so that ASan sees reads past the end. */
    size_t n = strlen(text);
    char *copy = malloc(n ? n : 1);
    memcpy(copy, text, n);
    vitcl_status st = vt_json_parse(out, copy, n, 4, "t.json");
    free(copy);
    return st;
}

Test(json, reads_values)
{
    vt_json *r = NULL;
    const char *s;
    double d;
    uint64_t u;
    bool b;

    cr_assert_eq(parse(&r, " {\"a\": [1, -2, 3.5, 1e3, 9007199254740991, "
                           "9007199254740992], \"s\": \"x\\u00e9\\n"
                           "\\ud83d\\ude00\", \"t\": true, \"n\": null,"
                           " \"o\": {}, \"e\": []} \n"),
                 VITCL_OK, "%s", vt_message());
    const vt_json *a = vt_json_get(r, "a");
    cr_expect_eq(vt_json_count(r), 6);
    cr_expect_eq(vt_json_count(a), 6);
    cr_expect(vt_json_uint(&u, vt_json_at(a, 0)) && u == 1);
    cr_expect_not(vt_json_uint(&u, vt_json_at(a, 1)));
    cr_expect_not(vt_json_uint(&u, vt_json_at(a, 2)));
    cr_expect_not(vt_json_uint(&u, vt_json_at(a, 3)));
    cr_expect(vt_json_uint(&u, vt_json_at(a, 4)) && u == 9007199254740991u);
    cr_expect_not(vt_json_uint(&u, vt_json_at(a, 5)));
    cr_expect(vt_json_number(&d, vt_json_at(a, 1)) && d == -2);
    cr_expect(vt_json_number(&d, vt_json_at(a, 2)) && d == 3.5);
    cr_expect(vt_json_number(&d, vt_json_at(a, 3)) && d == 1000);
    cr_expect_null(vt_json_at(a, 6));
    cr_expect(vt_json_string(&s, vt_json_get(r, "s")));
    cr_expect_str_eq(s, "x\xc3\xa9\n\xf0\x9f\x98\x80");
    cr_expect(vt_json_bool(&b, vt_json_get(r, "t")) && b);
    cr_expect(vt_json_is_null(vt_json_get(r, "n")));
    cr_expect(vt_json_is_object(vt_json_get(r, "o")));
    cr_expect(vt_json_is_array(vt_json_get(r, "e")));
    cr_expect_null(vt_json_first(vt_json_get(r, "e")));
    cr_expect_str_eq(vt_json_key(vt_json_first(r)), "a");
    cr_expect_str_eq(vt_json_key(vt_json_next(vt_json_first(r))), "s");
    cr_expect_null(vt_json_key(NULL));
    cr_expect_not(vt_json_is_null(NULL));
    cr_expect_not(vt_json_is_null(a));
    /* NULL and wrong types count as missing. */
    cr_expect_null(vt_json_get(r, "A"));
    cr_expect_null(vt_json_get(a, "a"));
    cr_expect_null(vt_json_get(NULL, "a"));
    cr_expect_null(vt_json_at(r, 0));
    cr_expect_not(vt_json_string(&s, a));
    cr_expect_not(vt_json_uint(&u, vt_json_get(r, "s")));
    cr_expect_not(vt_json_number(&d, NULL));
    vt_json_free(r);
    vt_json_free(NULL);
}

/* What RFC 8259 allows beside what is usual: white space, letters of either
 * case, characters beyond the surrogates. */
Test(json, reads_spellings)
{
    vt_json *r = NULL;
    const char *s;
    double d;

    cr_assert_eq(parse(&r, "\t\r\n[\r1E2\t,\n1e+2 , 1E-2,\"\\u00E9\\uE000\\"
                           "uFFFF\\ud7ff\\uDBFF\\uDFFF\"]\r\n\t"),
                 VITCL_OK, "%s", vt_message());
    cr_expect(vt_json_number(&d, vt_json_at(r, 0)) && d == 100);
    cr_expect(vt_json_number(&d, vt_json_at(r, 1)) && d == 100);
    cr_expect(vt_json_number(&d, vt_json_at(r, 2)) && d == 0.01);
    cr_assert(vt_json_string(&s, vt_json_at(r, 3)));
    cr_expect_str_eq(s, "\xc3\xa9\xee\x80\x80\xef\xbf\xbf\xed\x9f\xbf"
                        "\xf4\x8f\xbf\xbf");
    vt_json_free(r);
}

/* The first and last character of each UTF-8 length, and the neighbours of the
 * surrogates. */
Test(json, reads_utf8)
{
    static const char *const all[] = {"\x01",
                                      "\x7f",
                                      "\xc2\x80",
                                      "\xdf\xbf",
                                      "\xe0\xa0\x80",
                                      "\xed\x9f\xbf",
                                      "\xee\x80\x80",
                                      "\xef\xbf\xbf",
                                      "\xf0\x90\x80\x80",
                                      "\xf4\x8f\xbf\xbf"};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cr_expect(vt_utf8(all[i], strlen(all[i])), "character %zu", i);
}

Test(json, refuses)
{
    static const char *const wrong[] = {
        "",
        " ",
        "{",
        "[1,]",
        "[1 2]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{'a':1}",
        "nul",
        "truee",
        "NaN",
        "[Infinity]",
        "01",
        "-",
        "1.",
        ".5",
        "+1",
        "1e",
        "1e+",
        "0x10",
        "\"abc",
        "\"abc\\",
        "\"\\u00:0\"",
        "\"\\u00g0\"",
        "\"\\u00G0\"",
        "\"\\u00",
        "\"\\ud800\\ue000\"",
        "\"a\tb\"",
        "\"a\\x\"",
        "\"\\u12g4\"",
        "\"\\u0000\"",
        "\"\\ud800\"",
        "\"\\ud800\\u0041\"",
        "\"\\udc00\"",
        "\"\\ud800\\",
        "\"\xff\"",
        "\"\xc0\x80\"",
        "\"\xc1\xbf\"",
        "\"\xc1\x80\"",
        "\"\xe0\x9f\xbf\"",
        "\"\xf0\x8f\xbf\xbf\"",
        "\"\xed\xbf\xbf\"",
        "\"\xf8\x88\x80\x80\x80\"",
        "\"\x80\"",
        "\"\xed\xa0\x80\"",
        "\"\xf4\x90\x80\x80\"",
        "\"\xe2\x82",
        "1 1",
        "{} x",
        "\v1",
        "[[[[[]]]]]",
        "{\"a\":1,\"a\":2}",
        "{\"a\":1,\"\\u0061\":2}",
        "{\"o\":{\"k\":0,\"x\":1,\"k\":0}}",
        "1111111111111111111111111111111111111111111111111111111111111111",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        vt_json *r = NULL;
        cr_expect_eq(parse(&r, wrong[i]), VITCL_ECORRUPT, "accepted: %s",
                     wrong[i]);
        cr_expect_null(r);
        cr_expect(strncmp(vt_message(), "t.json: ", 8) == 0, "%s",
                  vt_message());
        cr_expect_null(strchr(vt_message(), '\n'));
        vt_json_free(r);
    }
    vt_json *r = NULL;
    cr_expect_eq(vt_json_parse(&r, "\"a\0b\"", 5, 4, "t"), VITCL_ECORRUPT);
    cr_expect_eq(vt_json_parse(&r, "1\0", 2, 4, "t"), VITCL_ECORRUPT);
    cr_assert_eq(parse(&r, "[[[[1]]],1e999]"), VITCL_OK);
    double d;
    cr_expect_not(vt_json_number(&d, vt_json_at(r, 1)));
    vt_json_free(r);
}

/* Large and hostile texts need linear time and bounded memory. */
Test(json, large)
{
    const size_t n = 100000;
    char *text = malloc(n * 16 + 16);
    char *p = text;
    vt_json *r = NULL;
    uint64_t u, sum = 0;

    *p++ = '{';
    for (size_t i = 0; i < n; i++)
        p += sprintf(p, "%s\"k%zu\":%zu", i ? "," : "", n - i, i % 10);
    *p++ = '}';
    cr_assert_eq(vt_json_parse(&r, text, (size_t)(p - text), 4, "t"), VITCL_OK);
    cr_expect_eq(vt_json_count(r), n);
    for (const vt_json *m = vt_json_first(r); m; m = vt_json_next(m)) {
        cr_assert(vt_json_uint(&u, m));
        sum += u;
    }
    cr_expect_eq(sum, 450000);
    vt_json_free(r), r = NULL;

    memset(text, '[', n * 16);
    cr_expect_eq(vt_json_parse(&r, text, n * 16, 1000000, "t"), VITCL_ECORRUPT);
    free(text);

    const size_t many = (size_t)5 << 20;
    text = malloc(many);
    for (size_t i = 0; i < many; i++)
        text[i] = i % 2 ? ',' : '0';
    text[0] = '[', text[1] = '0', text[many - 1] = ']';
    text[2] = ',', text[3] = '0';
    for (size_t i = 4; i < many - 1; i++)
        text[i] = i % 2 ? '0' : ',';
    cr_expect_eq(vt_json_parse(&r, text, many, 4, "t"), VITCL_ECORRUPT);
    cr_expect_not_null(strstr(vt_message(), "too many values"), "%s",
                       vt_message());
    free(text);
}

Test(json, loads_files, .fini = vt_test_tidy)
{
    char path[400];
    vt_json *r = NULL;
    FILE *f;

    snprintf(path, sizeof path, "%s/x", vt_test_folder());
    f = fopen(path, "w");
    fputs("\xef\xbb\xbf{\"a\": 7}\n", f);
    fclose(f);
    cr_assert_eq(vt_json_load(&r, path, 100, 4), VITCL_OK, "%s", vt_message());
    uint64_t u = 0;
    cr_expect(vt_json_uint(&u, vt_json_get(r, "a")) && u == 7);
    vt_json_free(r), r = NULL;
    cr_expect_eq(vt_json_load(&r, path, 10, 4), VITCL_ECORRUPT);
    remove(path);
    cr_expect_eq(vt_json_load(&r, path, 10, 4), VITCL_EIO);
    cr_expect(vt_utf8("\xe2\x82\xac", 3) && !vt_utf8("\xe2\x82", 2));
}
