/*
 * test_sized.c - structs that begin with their size, as passed by programs
 * built against an earlier or a later header. tests/install/versions.sh
 * compiles such programs.
 */
#include "api/program.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vitcl_train.h>

static vitcl_device *device;
static vitcl_model *model;

static void need(vitcl_status st)
{
    cr_assert_eq(st, VITCL_OK, "%s", vitcl_last_error());
}

static void setup(void)
{
    need(vitcl_device_open(&device, getenv("VITCL_TEST_DEVICE")));
    need(vitcl_model_new(&model, device, "vit-ti/16", 32));
}

static void teardown(void)
{
    vitcl_model_free(model);
    vitcl_device_free(device);
}

TestSuite(sized, .init = setup, .fini = teardown);

Test(sized, the_header_has_the_librarys_version)
{
    char text[32];

    snprintf(text, sizeof text, "%d.%d.%d", VITCL_VERSION_MAJOR,
             VITCL_VERSION_MINOR, VITCL_VERSION_PATCH);
    cr_expect_str_eq(text, vitcl_version());
}

/* Options of an older header: no member after width. */
typedef struct older {
    size_t size;
    uint32_t batch, height, width;
} older;
/* Options of a later header: one more member. */
typedef struct later {
    vitcl_session_options now;
    uint64_t more;
} later;

static vitcl_status try_new(uint32_t *batch, const void *options)
{
    vitcl_session *s = NULL;
    const vitcl_status st = vitcl_session_new(&s, model, options);

    cr_expect_eq(s == NULL, st != VITCL_OK);
    *batch = s ? vt_session_batch(s) : 0;
    vitcl_session_free(s);
    return st;
}

Test(sized, options_of_another_size)
{
    struct {
        older o;
        unsigned char behind[256]; /* never read */
    } before = {{sizeof(older), 3, 32, 32}, {0}};
    later after = {{.size = sizeof after, .batch = 2}, 0};
    uint32_t batch;

    memset(before.behind, 0xa5, sizeof before.behind);
    need(try_new(&batch, &before));
    cr_expect_eq(batch, 3);
    need(try_new(&batch, &after));
    cr_expect_eq(batch, 2);
    after.more = (uint64_t)1 << 63; /* its last byte alone */
    cr_expect_eq(try_new(&batch, &after), VITCL_EUNSUPPORTED);
    cr_expect(strstr(vitcl_last_error(), "vitcl_session_options") != NULL, "%s",
              vitcl_last_error());
}

Test(sized, options_without_a_size_are_refused)
{
    static const size_t none[] = {0, 1, sizeof(size_t) - 1, 65536, SIZE_MAX};
    vitcl_session_options o = {.batch = 2};
    vitcl_train_options t = {.output = "/no/such/folder"};
    vitcl_train_event e = {.size = sizeof e};
    vt_tuner *tuner = NULL;
    uint32_t batch;

    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        o.size = t.size = none[i];
        cr_expect_eq(try_new(&batch, &o), VITCL_EINVAL);
        cr_expect(strstr(vitcl_last_error(), "size") != NULL);
        cr_expect_eq(vt_tuner_for(&tuner, model, &o), VITCL_EINVAL);
        cr_expect_eq(vitcl_train(&e, device, &t, NULL, NULL), VITCL_EINVAL);
        cr_expect(strstr(vitcl_last_error(), "vitcl_train_options") != NULL,
                  "%s", vitcl_last_error());
    }
    cr_expect_null(tuner);
}

Test(sized, a_training_takes_options_of_a_later_version)
{
    char *root = vt_test_folder();
    struct {
        vitcl_train_options now;
        uint64_t more;
    } o = {{.size = sizeof o,
            .config = vt_test_config(root, ""),
            .data = root,
            .output = vt_test_path(root, "out"),
            .batch = 8},
           0};
    struct {
        vitcl_train_event now;
        uint64_t more;
    } e = {{.size = sizeof e}, 7};

    vt_test_cifar(root, 16, 3);
    need(vitcl_train(&e.now, device, &o.now, NULL, NULL));
    cr_expect_eq(e.now.step, 2);
    cr_expect_eq(e.now.size, sizeof e);
    cr_expect_eq(e.more, 0);
    o.more = 1;
    o.now.output = vt_test_path(root, "other");
    cr_expect_eq(vitcl_train(&e.now, device, &o.now, NULL, NULL),
                 VITCL_EUNSUPPORTED);
    vt_test_remove(root);
}

/* ---- infos ---- */

static vitcl_session *session;

static vitcl_status list_device(void *out)
{
    return vitcl_device_at(out, 0);
}

static vitcl_status describe_device(void *out)
{
    return vitcl_device_describe(out, device);
}

static vitcl_status describe_model(void *out)
{
    return vitcl_model_describe(out, model, 0, 0, 1);
}

static vitcl_status describe_tensor(void *out)
{
    return vitcl_session_tensor(out, session, 0);
}

static const struct {
    const char *type;
    size_t size;
    vitcl_status (*ask)(void *out);
} infos[] = {{"vitcl_device_info", sizeof(vitcl_device_info), list_device},
             {"vitcl_device_info", sizeof(vitcl_device_info), describe_device},
             {"vitcl_model_info", sizeof(vitcl_model_info), describe_model},
             {"vitcl_tensor_info", sizeof(vitcl_tensor_info), describe_tensor}};

enum { ROOM = 8192, CANARY = 0xa5 };

/* Asks with a struct of `size` bytes; the bytes after it must not change. */
static vitcl_status ask(unsigned char *out, size_t i, size_t size)
{
    vitcl_status st;

    memset(out, CANARY, ROOM);
    memcpy(out, &size, sizeof size);
    st = infos[i].ask(out);
    cr_expect(memcmp(out, &size, sizeof size) == 0, "%s: the size changed",
              infos[i].type);
    for (size_t at = st == VITCL_OK ? size : sizeof size; at < ROOM; at++)
        if (out[at] != CANARY) {
            cr_expect(0, "%s of %zu bytes: byte %zu was written", infos[i].type,
                      size, at);
            break;
        }
    return st;
}

Test(sized, infos_of_another_size)
{
    static unsigned char now[ROOM], other[ROOM];
    const size_t head = sizeof(size_t);

    need(vitcl_session_new(&session, model, NULL));
    for (size_t i = 0; i < sizeof infos / sizeof *infos; i++) {
        const size_t size = infos[i].size;
        const size_t shorter[] = {head, head + 4, size / 2, size - 4};

        need(ask(now, i, size));
        for (size_t k = 0; k < sizeof shorter / sizeof *shorter; k++) {
            need(ask(other, i, shorter[k]));
            cr_expect(memcmp(now + head, other + head, shorter[k] - head) == 0,
                      "%s of %zu bytes", infos[i].type, shorter[k]);
        }
        need(ask(other, i, size + 24));
        cr_expect(memcmp(now + head, other + head, size - head) == 0, "%s",
                  infos[i].type);
        for (size_t at = size; at < size + 24; at++)
            cr_expect_eq(other[at], 0);
        cr_expect_eq(ask(other, i, 0), VITCL_EINVAL);
        cr_expect(strstr(vitcl_last_error(), infos[i].type) != NULL, "%s",
                  vitcl_last_error());
    }
    vitcl_session_free(session);
}
