/*
 * test_figure.c - figures hold what they are given, and nothing beyond the
 * page.
 *
 * An SVG is text: letters are <use> elements with their places, lines are
 * paths. Without Cairo these tests are skipped.
 */
#include "base/file.h"
#include "base/utf8.h"
#include "plot/figure.h"
#include "support/pictures.h"
#include "support/skip.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096 };

typedef struct page {
    double width, height;
    size_t letters;
    double x[MOST], y[MOST]; /* of the letters */
    char *text;
} page;

static double number(const char *element, const char *name)
{
    const char *at = strstr(element, name);

    cr_assert_not_null(at, "no %s", name);
    return strtod(at + strlen(name), NULL);
}

/* One of the two. */
static page *draw_either(const vt_figure *f, const vt_matrix *m)
{
    const char *folder = vt_test_folder();
    const char *path = vt_test_path(folder, "figure.svg");
    page *p = calloc(1, sizeof *p);
    vt_file file = {0};

    cr_assert_not_null(p);
    if (vt_figure_ready() == VITCL_EUNSUPPORTED)
        vt_skip("built without Cairo");
    cr_assert_eq(f ? vt_figure_write(f, path) : vt_matrix_write(m, path),
                 VITCL_OK, "%s", vt_message());
    cr_assert_eq(vt_file_read(&file, path, 1 << 24), VITCL_OK);
    p->text = calloc(1, file.size + 1);
    cr_assert_not_null(p->text);
    memcpy(p->text, file.data, file.size);
    vt_file_close(&file);
    vt_test_remove(folder);
    p->width = number(p->text, " width=\"");
    p->height = number(p->text, " height=\"");
    for (const char *s = p->text; (s = strstr(s, "<use ")); s++) {
        cr_assert_lt(p->letters, MOST);
        p->x[p->letters] = number(s, " x=\"");
        p->y[p->letters++] = number(s, " y=\"");
    }
    return p;
}

static page *draw(const vt_figure *f)
{
    return draw_either(f, NULL);
}

static void done(page *p)
{
    free(p->text);
    free(p);
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;

    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

/* Letters on the page; a text's letters are at least 2 pixels from the edge. */
static void expect_within(const page *p)
{
    for (size_t i = 0; i < p->letters; i++)
        cr_expect(p->x[i] > 2 && p->x[i] < p->width - 2 && p->y[i] > 2 &&
                      p->y[i] < p->height - 2,
                  "a letter at %g, %g of %g x %g", p->x[i], p->y[i], p->width,
                  p->height);
}

/* Texts that overlap have letters at nearly the same places. */
static void expect_apart(const page *p)
{
    for (size_t i = 0; i < p->letters; i++)
        for (size_t k = i + 1; k < p->letters; k++)
            cr_expect(fabs(p->x[i] - p->x[k]) > 2 ||
                          fabs(p->y[i] - p->y[k]) > 2,
                      "two letters at %g, %g", p->x[i], p->y[i]);
}

static const double steps[] = {1, 2, 3, 4, 5, 6};
static const double falls[] = {6, 5, 4, 3, 2, 1};

Test(figure, long_texts)
{
    char words[600];
    vt_series series[12];
    vt_figure f = {.series = series};
    page *p;

    for (size_t i = 0; i + 1 < sizeof words; i++)
        words[i] = i % 7 ? 'm' : ' ';
    words[sizeof words - 1] = '\0';
    f.x.label = f.left.label = f.right.label = f.below.label = words;
    for (f.count = 0; f.count < 12; f.count++)
        series[f.count] = (vt_series){.name = f.count % 3 ? "a name" : words,
                                      .x = steps,
                                      .y = falls,
                                      .count = 6,
                                      .right = f.count % 2,
                                      .below = f.count == 11};
    p = draw(&f);
    expect_within(p);
    expect_apart(p);
    /* Cairo leaves out what is beyond the page: 4 long names, 8 short ones, a
     * label below and two beside the plot, ticks */
    cr_expect_gt(p->letters, 4 * 50 + 8 * 5 + 45 + 2 * 25 + 6, "%zu",
                 p->letters);
    done(p);
}

Test(figure, huge_and_tiny_numbers)
{
    static const double size[] = {1e-100, 1e-9, 1e-3, 1, 1e5, 1e9, 3e38};
    double x[6], y[6];

    for (size_t k = 0; k < sizeof size / sizeof *size; k++) {
        vt_series s = {"a", x, y, 6, k % 2, true, k % 3 == 2};
        vt_figure f = {{"x", NAN, NAN, false},
                       {"y", NAN, NAN, false},
                       {"z", NAN, NAN, false},
                       &s,
                       1,
                       {"w", NAN, NAN, false}};
        page *p;

        for (size_t i = 0; i < 6; i++)
            x[i] = size[k] * steps[i], y[i] = -size[k] * falls[i];
        p = draw(&f);
        expect_within(p);
        expect_apart(p);
        done(p);
    }
}

/* What is not finite is a gap, and a series of gaps does not appear. */
Test(figure, gaps)
{
    static const double full[] = {1, 3, 2, 5, 1, 4};
    static const double gap[] = {NAN, 3, 2, NAN, 1, INFINITY};
    static const double none[] = {NAN, NAN, INFINITY, -INFINITY, NAN, NAN};
    vt_series s[] = {{"gap", steps, full, 6, false, false, false},
                     {"none", steps, none, 6, true, false, false},
                     {"empty", NULL, NULL, 0, true, true, true}};
    vt_figure f = {
        {"x", 1, 6, false}, {"y", 0, 5, false}, {"z", 0, 0, false}, s, 1,
        {"w", 0, 0, false}};
    page *whole = draw(&f), *gaps, *all, *empty;

    s[0].y = gap;
    gaps = draw(&f);
    cr_expect_eq(count(whole->text, " L ") - count(gaps->text, " L "), 4);
    cr_expect_eq(count(gaps->text, "<path") - count(whole->text, "<path"), 1,
                 "no dot for a point between gaps");
    cr_expect(!strstr(gaps->text, "nan") && !strstr(gaps->text, "inf"));
    f.count = 3;
    all = draw(&f);
    cr_expect_eq(all->letters, gaps->letters);
    cr_expect_eq(count(all->text, "<path"), count(gaps->text, "<path"));
    f.count = 0;
    empty = draw(&f);
    expect_within(empty);
    done(whole);
    done(gaps);
    done(all);
    done(empty);
}

/* Cells of 36, 7 and 3 pixels: names keep their size, so that every name, every
 * second or every fourth is shown, and counts only in the largest cells. */
Test(figure, names_of_many_classes)
{
    static const struct {
        size_t classes, names, counts;
    } cases[] = {{20, 20, 20}, {100, 50, 0}, {200, 50, 0}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t n = cases[i].classes;
        const char **name = calloc(n, sizeof *name);
        unsigned *count = calloc(n * n, sizeof *count);
        const vt_matrix m = {"row", "column", name, name, n, n, count};
        page *p;

        cr_assert(name && count);
        for (size_t k = 0; k < n; k++)
            name[k] = "x", count[k * n + k] = 7;
        p = draw_either(NULL, &m);
        cr_expect_eq(p->letters,
                     strlen("row"
                            "column") +
                         2 * cases[i].names + cases[i].counts,
                     "%zu letters of %zu classes", p->letters, n);
        done(p);
        free(name);
        free(count);
    }
}

Test(figure, endings)
{
    static const char *const names[] = {"x.pdf", "x", ".png", "x.PNG"};
    const vt_figure f = {.x.label = "x"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        cr_expect_eq(vt_figure_write(&f, names[i]), VITCL_EINVAL);
    if (vt_figure_ready() == VITCL_EUNSUPPORTED)
        vt_skip("built without Cairo");
    cr_expect_eq(vt_figure_write(&f, "/nowhere/x.png"), VITCL_EIO);
}

/* Names come from files; Cairo ends a figure at bytes that are not UTF-8. */
Test(figure, hostile_names)
{
#define UNKNOWN "\xEF\xBF\xBD"
    static const struct {
        const char *name, *clean;
    } cases[] = {
        {"caf\xc3\xa9 \xf0\x9f\x90\x88", "caf\xc3\xa9 \xf0\x9f\x90\x88"},
        {"\xff\xfe", UNKNOWN UNKNOWN},
        {"\x1b[31mred", UNKNOWN "[31mred"},
        {"a\tb\nc\x7f", "a" UNKNOWN "b" UNKNOWN "c" UNKNOWN},
        {"\xc2\x9b[2J", UNKNOWN "[2J"},       /* C1 */
        {"\xe2\x80\xaetxet", UNKNOWN "txet"}, /* right to left */
        {"\xe2\x81\xa6\xe2\x80\xa8", UNKNOWN UNKNOWN},
        {"\xd8\x9c\xe2\x80\x8f\xe2\x80\x8e", UNKNOWN UNKNOWN UNKNOWN},
        {"a\xf3\xa0\x81\xa1\xf3\xa0\x80\x80", "a" UNKNOWN UNKNOWN}, /* tags */
        {"\xf3\xa0\x82\x80\xd8\x9d", "\xf3\xa0\x82\x80\xd8\x9d"},
        {"\xe2\x80\xa6\xe2\x82\xac", "\xe2\x80\xa6\xe2\x82\xac"},
        {"\xc0\x80", UNKNOWN UNKNOWN},             /* overlong */
        {"\xed\xa0\x80", UNKNOWN UNKNOWN UNKNOWN}, /* half of a pair */
        {"\xf4\x90\x80\x80", UNKNOWN UNKNOWN UNKNOWN UNKNOWN},
        {"cut\xe4\xb8", "cut" UNKNOWN UNKNOWN},
        {"", ""},
        {NULL, ""},
    };
    static const double x[] = {0, 1}, y[] = {0, 1};
    char text[64];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const vt_series series = {
            .name = cases[i].name, .x = x, .y = y, .count = 2};
        const vt_figure figure = {.x = {.label = cases[i].name},
                                  .left = {.label = cases[i].name},
                                  .series = &series,
                                  .count = 1};

        cr_expect(vt_utf8_clean(text, sizeof text, cases[i].name), "%zu", i);
        cr_expect_str_eq(text, cases[i].clean, "%zu: %s", i, text);
        done(draw(&figure));
    }
    cr_expect(vt_path_ends("a.svg", ".svg") && !vt_path_ends(".svg", ".svg"));
    cr_expect(!vt_path_ends("a.svg", ".png") && !vt_path_ends("", ".png"));
    /* Cut between characters, within the room. */
    for (size_t room = 1; room < 12; room++) {
        memset(text, 'x', sizeof text);
        cr_expect(!vt_utf8_clean(text, room,
                                 "\xe4\xb8\xad\xff\xc3\xa9"
                                 "abcdef"));
        cr_expect_lt(strlen(text), room);
        cr_expect_eq(text[room], 'x');
        for (const char *s = text; *s; s += vt_utf8_character(s))
            cr_assert_neq(vt_utf8_character(s), 0);
    }
}
