/*
 * test_update.c - vitcl_index_update() against the program's embed --update:
 * the same calls leave the same bytes.
 */
#include "support/paths.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vitcl_index.h>

static vitcl_device *device;
static vitcl_model *model;
static vitcl_session *session;

static void need(vitcl_status st)
{
    cr_assert_eq(st, VITCL_OK, "%s", vitcl_last_error());
}

static int shell(const char *command)
{
    const int code = system(command);

    cr_assert(WIFEXITED(code), "%s", command);
    return WEXITSTATUS(code);
}

static void setup(void)
{
    const vitcl_session_options o = {.size = sizeof o, .batch = 2};

    need(vitcl_device_open(&device, getenv("VITCL_TEST_DEVICE")));
    need(vitcl_model_load(&model, device, VITCL_MODEL_BUILTIN));
    need(vitcl_session_new(&session, model, &o));
    cr_assert_eq(chdir(vt_test_folder()), 0);
    cr_assert_eq(shell("mkdir -p pics/sub more"
                       " && cp " VT_DATA "/sample.jpg pics/a.jpg"
                       " && cp " VT_DATA "/small.png pics/b.png"
                       " && cp " VT_DATA "/preprocess/in/rgba.png pics/sub"
                       " && cp " VT_DATA "/preprocess/in/cmyk.jpg pics/sub"
                       " && cp " VT_DATA "/preprocess/in/gray.jpg more"
                       " && ln more/gray.jpg more/same.jpg"
                       " && echo no picture >pics/c.jpg"
                       " && echo a text >pics/d.txt && sleep 0.02"),
                 0);
}

static void teardown(void)
{
    cr_assert_eq(chdir("/"), 0);
    vitcl_session_free(session);
    vitcl_model_free(model);
    vitcl_device_free(device);
    vt_test_tidy();
}

TestSuite(update, .init = setup, .fini = teardown);

static int lines;

static void count_lines(void *context, const char *line)
{
    (void)context;
    cr_expect(strstr(line, "c.jpg") || strstr(line, "no"), "%s", line);
    lines++;
}

/* The program does the same in w.safetensors. */
static void check_same(int code, const char *arguments)
{
    char command[512];

    snprintf(command, sizeof command,
             "\"$VITCL\" embed -q -m " VITCL_MODEL_BUILTIN
             " --batch 2 -u -o w.safetensors %s 2>err",
             arguments);
    cr_expect_eq(shell(command), code, "%s", command);
    cr_expect_eq(shell("cmp i.safetensors w.safetensors"), 0, "%s", arguments);
}

static vitcl_update_info update(const vitcl_index_options *more,
                                const char *first, const char *second)
{
    const char *const pictures[] = {first, second, NULL};
    vitcl_update_info info = {.size = sizeof info};
    vitcl_index_options o = {.size = sizeof o};

    if (more)
        o = *more;
    o.report = count_lines;
    lines = 0;
    need(vitcl_index_update(&info, "i.safetensors", session, pictures, &o));
    return info;
}

Test(update, as_the_program)
{
    const vitcl_index_options prune = {.size = sizeof prune, .prune = 1};
    vitcl_update_info info = update(NULL, "pics", NULL);

    cr_expect_eq(info.rows, 5);
    cr_expect_eq(info.embedded, 4);
    cr_expect_eq(info.failed, 1);
    cr_expect_eq(lines, 1);
    check_same(1, "pics");

    /* nothing is new but the broken one; another folder; a file that is not
     * there */
    info = update(NULL, "pics", NULL);
    cr_expect_eq(info.embedded, 0);
    check_same(1, "pics");
    info = update(NULL, "more", "pics/none.jpg");
    cr_expect_eq(info.rows, 6);
    cr_expect_eq(info.embedded, 1);
    cr_expect_eq(lines, 1);
    check_same(1, "more pics/none.jpg");

    /* changed, renamed, gone, mended */
    cr_assert_eq(shell("cp " VT_DATA "/sample.jpg pics/b.png; rm pics/a.jpg;"
                       " mv pics/sub/cmyk.jpg pics/x.jpg;"
                       " mv pics/sub/rgba.png pics/y.png;"
                       " cp " VT_DATA "/small.png pics/c.jpg; sleep 0.02"),
                 0);
    info = update(NULL, "pics", "more");
    cr_expect_eq(info.rows, 5);
    cr_expect_eq(info.embedded, 2);
    cr_expect_eq(info.renamed, 2);
    cr_expect_eq(info.gone, 1);
    cr_expect_eq(info.failed, 0);
    check_same(0, "pics more");
    info = update(&prune, "more", NULL);
    cr_expect_eq(info.rows, 1);
    cr_expect_eq(info.pruned, 4);
    check_same(0, "--prune more");
    info = update(&prune, "nowhere", NULL);
    cr_expect_eq(info.rows, 1);
    cr_expect_eq(info.spared, 1);
}

Test(update, in_16_bits_and_of_length_1)
{
    const vitcl_index_options o = {.size = sizeof o, .f16 = 1, .normalize = 1};

    update(&o, "pics", NULL);
    check_same(1, "--store f16 --normalize pics");
    update(NULL, "more", NULL); /* as the index is */
    check_same(0, "more");
}

static int stop(void *context, uint64_t done, uint64_t total)
{
    (void)context;
    cr_expect_eq(total, 5);
    return done >= 2;
}

Test(update, what_is_done_is_kept)
{
    const char *const pictures[] = {"pics", NULL};
    const vitcl_index_options o = {.size = sizeof o, .progress = stop};
    vitcl_index *index = NULL;
    vitcl_index_info info = {.size = sizeof info};

    cr_expect_eq(
        vitcl_index_update(NULL, "i.safetensors", session, pictures, &o),
        VITCL_ESTOPPED);
    need(vitcl_index_open(&index, "i.safetensors"));
    need(vitcl_index_describe(&info, index));
    cr_expect_eq(info.rows, 2);
    cr_expect_str_eq(info.model, VITCL_MODEL_BUILTIN);
    need(vitcl_index_check(index, model));
    vitcl_index_free(index);
    update(NULL, "pics", NULL);
    check_same(1, "pics");
}

Test(update, refuses)
{
    const vitcl_session_options o = {.size = sizeof o};
    const char *const pictures[] = {"pics", NULL};
    vitcl_model *other = NULL;
    vitcl_session *s = NULL;

    update(NULL, "pics", NULL);
    need(vitcl_model_load(&other, device, VT_DATA "/models/timm_vit"));
    need(vitcl_session_new(&s, other, &o));
    cr_expect_eq(vitcl_index_update(NULL, "i.safetensors", s, pictures, NULL),
                 VITCL_EINVAL);
    cr_expect(strstr(vitcl_last_error(), "another model"));
    cr_expect_eq(vitcl_index_update(NULL, "i.npy", session, pictures, NULL),
                 VITCL_EINVAL);
    cr_expect_eq(
        vitcl_index_update(NULL, "no/i.safetensors", session, pictures, NULL),
        VITCL_EIO);
    check_same(1, "pics"); /* nothing was changed */
    vitcl_session_free(s);
    vitcl_model_free(other);
}
