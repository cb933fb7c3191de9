/*
 * test_text_clean.c - texts become what open_clip makes of them (ftfy, HTML's
 * entities): tools/golden_clean.py.
 */
#include "base/json.h"
#include "support/paths.h"
#include "text/clean.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

Test(text_clean, open_clip)
{
    char path[4096];
    vt_json *root = NULL;
    size_t count = 0;

    snprintf(path, sizeof path, "%s/text/clean.json", VT_DATA);
    cr_assert_eq(vt_json_load(&root, path, 1 << 20, 4), VITCL_OK, "%s",
                 vt_message());
    for (const vt_json *m = vt_json_first(root); m; m = vt_json_next(m)) {
        vt_chars c = {0};
        const char *given, *want;

        cr_assert(vt_json_string(&given, vt_json_at(m, 0)) &&
                  vt_json_string(&want, vt_json_at(m, 1)));
        cr_assert_eq(vt_chars_add(&c, given, strlen(given)), VITCL_OK);
        cr_assert_eq(vt_clean(&c, VT_CLEAN_LOWER), VITCL_OK, "%s",
                     vt_message());
        cr_expect(c.n == strlen(want) && memcmp(c.s, want, c.n) == 0,
                  "\"%s\" becomes \"%.*s\", not \"%s\"", given, (int)c.n, c.s,
                  want);
        count++;
        free(c.s);
    }
    cr_expect(count > 200, "%zu", count);
    vt_json_free(root);
}

/* tokenizers knows an older Unicode: it does not sort U+0899 among marks, and
 * composes on both sides of it. */
Test(text_clean, newer_marks)
{
    static const char *const cases[][2] = {
        {"o\xe0\xa0\xa2\xe0\xa2\x99", "o\xe0\xa0\xa2\xe0\xa2\x99"},
        {"e\xcc\x81\xe0\xa2\x99u\xcc\x88", "\xc3\xa9\xe0\xa2\x99\xc3\xbc"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vt_chars c = {0};

        cr_assert_eq(vt_chars_add(&c, cases[i][0], strlen(cases[i][0])),
                     VITCL_OK);
        cr_assert_eq(vt_chars_normalise_older(&c, VT_NFC), VITCL_OK);
        cr_expect(c.n == strlen(cases[i][1]) &&
                      memcmp(c.s, cases[i][1], c.n) == 0,
                  "case %zu", i);
        free(c.s);
    }
}
