/*
 * test_choices.c - the user's file of decisions: what is kept is found again,
 * other lines and other programs' files stay; and the choice of the fastest of
 * several, with times that the test gives.
 */
#include "product/fastest.h"
#include "product/race.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT "vitcl choices 1\n"
#define OWN VITCL_VERSION "\t"

static char folder[256], path[300];

static void begin(void)
{
    vt_test_user_folder(folder);
    snprintf(path, sizeof path, "%s/vitcl/choices", folder);
}

static void put(const char *text)
{
    vt_test_user_text(folder, "vitcl/choices", text);
}

static void whole(const char *want)
{
    size_t n = 0;
    char *text = (char *)vt_test_bytes(&n, folder, "vitcl/choices");

    cr_assert(text);
    cr_expect(n == strlen(want) && memcmp(text, want, n) == 0, "%.*s", (int)n,
              text);
    free(text);
}

static bool save(const char *question, const char *word, const char *rejected)
{
    char answer[VT_CHOICE];

    snprintf(answer, sizeof answer, "%s", word);
    return vt_choice_save(answer, question, rejected) &&
           strcmp(answer, word) == 0;
}

static void answers(const char *question, const char *want)
{
    char out[VT_CHOICE] = "";

    cr_expect_eq(vt_choice_load(out, question), want != NULL, "%s", question);
    cr_expect_str_eq(out, want ? want : "", "%s", question);
}

TestSuite(choices, .fini = vt_test_tidy);

Test(choices, kept)
{
    char other[VT_CHOICE] = "c";

    begin();
    answers("one", NULL);
    cr_assert(vt_choices_possible());
    cr_assert(save("one", "a", NULL));
    cr_assert(save("two", "b", NULL));
    answers("one", "a");
    answers("two", "b");
    answers("on", NULL);
    /* another process was first: its answer counts, unless it is rejected */
    cr_assert(vt_choice_save(other, "one", NULL));
    cr_expect_str_eq(other, "a");
    cr_assert(save("one", "d", "a"));
    answers("one", "d");
    cr_expect(!save("one", "e", "a"));
    answers("one", "d");
}

/* A killed process of the same number may have left its temporary file. */
Test(choices, left_by_another)
{
    char name[64];

    begin();
    snprintf(name, sizeof name, "vitcl/choices.%ld.0", (long)getpid());
    vt_test_user_text(folder, name, "half");
    cr_assert(save("one", "a", NULL));
    answers("one", "a");
    cr_expect_eq(access(vt_test_path(folder, name), F_OK), 0, "another's");
}

/* Lines of other versions, comments and lines of no form stay in place. */
Test(choices, other_lines)
{
    begin();
    put(FORMAT "# mine\n0.0.1\tone\told\n\n" OWN "one\n" OWN "two\tb\n"
               "9.9\tone\tnew\tmore\n");
    answers("one", NULL);
    answers("two", "b");
    cr_assert(save("one", "a", NULL));
    whole(FORMAT "# mine\n0.0.1\tone\told\n\n" OWN "one\n" OWN "two\tb\n"
                 "9.9\tone\tnew\tmore\n" OWN "one\ta\n");
}

Test(choices, no_last_newline)
{
    begin();
    put(FORMAT OWN "one\ta");
    answers("one", "a");
    cr_assert(save("two", "b", NULL));
    whole(FORMAT OWN "one\ta\n" OWN "two\tb\n");
    put(FORMAT);
    cr_assert(save("two", "b", NULL));
    whole(FORMAT OWN "two\tb\n");
}

static void stays(const char *text)
{
    put(text);
    cr_expect(!vt_choices_possible(), "%.40s", text);
    cr_expect(!save("one", "a", NULL), "%.40s", text);
    answers("one", NULL);
    whole(text);
}

Test(choices, other_formats)
{
    begin();
    stays("vitcl choices 2\n" OWN "one\tb\n");
    stays("something else\n");
    stays("vitcl choices 10");
}

/* A file that others could have written, or that is no file, is not used. */
Test(choices, unreadable)
{
    char folder_of[300];

    begin();
    put(FORMAT OWN "one\tb\n");
    cr_assert_eq(chmod(path, 0666), 0);
    cr_expect(!vt_choices_possible());
    cr_expect(!save("one", "a", NULL));
    answers("one", NULL);
    whole(FORMAT OWN "one\tb\n");
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(mkdir(path, 0700), 0);
    cr_expect(!vt_choices_possible());
    cr_expect(!save("one", "a", NULL));
    cr_assert_eq(rmdir(path), 0);
    cr_assert_eq(symlink("/dev/null", path), 0);
    cr_expect(!vt_choices_possible());
    cr_expect(!save("one", "a", NULL));
    cr_assert_eq(unlink(path), 0);
    snprintf(folder_of, sizeof folder_of, "%s/vitcl", folder);
    cr_assert_eq(chmod(folder_of, 0777), 0);
    cr_expect(!vt_choices_possible());
    cr_expect(!save("one", "a", NULL));
    setenv("XDG_CONFIG_HOME", "/proc/none", 1);
    cr_expect(!vt_choices_possible());
    cr_expect(!save("one", "a", NULL));
    answers("one", NULL);
}

/* Nearly full, the older half is dropped; a larger file is not ours. */
Test(choices, too_large)
{
    enum { LIMIT = 256 << 10, LINE = 64 };
    char *text = malloc(LIMIT + 2 * LINE), line[2 * LINE];
    size_t n, before;
    unsigned char *now;

    begin();
    cr_assert(text);
    strcpy(text, FORMAT);
    n = strlen(text);
    for (int i = 0; n + LINE < LIMIT; i++, n += LINE) {
        snprintf(line, sizeof line, OWN "question %04d\t%.*s\n", i,
                 (int)(LINE - strlen(OWN) - 15),
                 "an answer with so many words that its line has 64 bytes");
        cr_assert_eq(strlen(line), LINE);
        memcpy(text + n, line, LINE + 1);
    }
    before = n;
    put(text);
    cr_assert(save("one", "a", NULL));
    answers("one", "a");
    answers("question 0000", NULL);
    cr_expect(strstr(text, "question 4000"));
    now = vt_test_bytes(&n, folder, "vitcl/choices");
    cr_assert(now);
    cr_expect_gt(n, before / 3);
    cr_expect_lt(n, before / 2 + 200);
    cr_expect_eq(memcmp(now, FORMAT OWN, strlen(FORMAT OWN)), 0);
    free(now);
    strcat(text, line);
    memset(text + before + LINE - 1, '#', LINE);
    text[before + 2 * LINE - 1] = '\0';
    stays(text);
    free(text);
}

static void seen(void *context, const char *question, const char *answer)
{
    char *all = context;

    snprintf(all + strlen(all), 100 - strlen(all), "[%s=%s]", question, answer);
}

Test(choices, each)
{
    char all[100] = "";

    begin();
    put(FORMAT OWN "a one\t1\n0.0.1\ta two\t2\n" OWN "b three\t3\n" OWN
                   "a four\t4\n");
    vt_choices_each("a ", seen, all);
    cr_expect_str_eq(all, "[one=1][four=4]");
}

/* ---- the fastest ---- */

typedef struct fake {
    double ms[3];
    int calls;
    bool full; /* the disk, after the race */
} fake;

static void race(double *ms, void *context)
{
    fake *f = context;

    memcpy(ms, f->ms, sizeof f->ms);
    f->calls++;
    if (f->full)
        put("vitcl choices 2\n");
}

static int fastest(char answer[VT_CHOICE], fake *f)
{
    static const char *const names[] = {"mma", "tile", "clblast"};
    bool timed;
    const int before = f->calls,
              best = vt_fastest(answer, &timed, "product", names, 3, race, f);

    cr_expect_eq(timed, f->calls > before);
    return best;
}

/* Timed once: later times change nothing. */
Test(choices, fastest)
{
    char answer[VT_CHOICE];
    fake f = {.ms = {3, 2, 2.5}};

    begin();
    cr_expect_eq(fastest(answer, &f), 1);
    cr_expect_str_eq(answer, "tile 2.000 ms, clblast 2.500 ms, mma 3.000 ms");
    f.ms[2] = 1;
    cr_expect_eq(fastest(answer, &f), 1);
    cr_expect_eq(f.calls, 1);
    /* what is kept decides, if it is an answer of this version */
    put(FORMAT OWN "product\tclblast 9 ms, mma 1 ms\n");
    cr_expect_eq(fastest(answer, &f), 2);
    cr_expect_str_eq(answer, "clblast 9 ms, mma 1 ms");
    cr_expect_eq(f.calls, 1);
    put(FORMAT "0.0.1\tproduct\tmma 1 ms\n");
    cr_expect_eq(fastest(answer, &f), 2);
    cr_expect_eq(f.calls, 2);
}

Test(choices, fastest_rejects)
{
    static const char *const wrong[] = {"",           "rows 1 ms", "mma",
                                        "mma x",      "mma  ms",   "mmax 1 ms",
                                        "mma nan ms", "mma -1 ms"};
    char text[VT_CHOICE], answer[VT_CHOICE];
    fake f = {.ms = {3, 2, 0}};

    begin();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(text, sizeof text, FORMAT OWN "product\t%s\n", wrong[i]);
        put(text);
        cr_expect_eq(fastest(answer, &f), 1, "%s", wrong[i]);
        cr_expect_eq(f.calls, (int)i + 1, "%s", wrong[i]);
        cr_expect_eq(fastest(answer, &f), 1, "%s", wrong[i]);
        cr_expect_eq(f.calls, (int)i + 1, "%s", wrong[i]);
    }
    cr_expect_str_eq(answer, "tile 2.000 ms, mma 3.000 ms");
}

/* What was wrong is named behind the others, and never chosen. */
Test(choices, fastest_is_right)
{
    char answer[VT_CHOICE];
    fake f = {.ms = {VT_RACE_WRONG, 2, 1}},
         none = {.ms = {VT_RACE_WRONG, 0, VT_RACE_WRONG}};

    begin();
    cr_expect_eq(fastest(answer, &none), VT_FASTEST_WRONG);
    cr_expect_eq(fastest(answer, &f), 2);
    cr_expect_str_eq(answer, "clblast 1.000 ms, tile 2.000 ms, mma wrong");
    cr_expect_eq(fastest(answer, &none), 2);
    cr_expect_eq(f.calls + none.calls, 2);
}

/* Where the answer cannot be kept after all, it still counts. */
Test(choices, fastest_not_kept)
{
    char answer[VT_CHOICE];
    fake f = {.ms = {2, 1, VT_RACE_WRONG}, .full = true};

    begin();
    cr_expect_eq(fastest(answer, &f), 1);
    cr_expect_str_eq(answer, "tile 1.000 ms, mma 2.000 ms, clblast wrong");
    whole("vitcl choices 2\n");
}

/* None finished; or no answer can be kept, and then nothing is timed. */
Test(choices, fastest_unknown)
{
    char answer[VT_CHOICE];
    fake f = {.ms = {0, NAN, 0}}, none = {.ms = {1, 2, 3}};
    bool timed;

    begin();
    cr_expect_eq(fastest(answer, &f), -1);
    cr_expect_eq(fastest(answer, &f), -1);
    cr_expect_eq(f.calls, 2);
    put("vitcl choices 2\n");
    cr_expect_eq(fastest(answer, &none), -1);
    cr_expect_eq(none.calls, 0);
    whole("vitcl choices 2\n");
    cr_expect_eq(vt_fastest(answer, &timed, "product",
                            (const char *const[]){"mma"}, 1, NULL, NULL),
                 -1);
}
