/*
 * test_log.c - the log callback gets one line a call until it is removed; a
 * long message keeps its start and its end.
 */
#include "base/log.h"
#include "base/utf8.h"
#include "ocl/cache.h"
#include "support/device.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct heard {
    unsigned lines;
    char text[8192];
} heard;

static void listen(void *context, const char *line)
{
    heard *h = context;
    const size_t n = strlen(h->text);

    cr_expect(line[0] && !strpbrk(line, "\n\r\t\033"), "\"%s\"", line);
    h->lines++;
    snprintf(h->text + n, sizeof h->text - n, "%s\n", line);
}

/* A callback that breaks the rules by calling vitcl must neither deadlock nor
 * recurse. */
static void meddle(void *context, const char *line)
{
    vitcl_device *device = NULL;

    (void)line;
    ++*(unsigned *)context;
    vitcl_log_set(NULL, NULL);
    cr_expect_eq(vitcl_device_open(&device, "no such device"), VITCL_ENODEVICE);
}

Test(log, lines)
{
    heard h = {.lines = 0};

    vt_log("nobody");
    cr_expect(!vt_logs());
    vitcl_log_set(listen, &h);
    cr_expect(vt_logs());
    vt_fail(VITCL_EINVAL, "kept");
    vt_log("one %d", 1);
    vt_log("two\nthree\tfour\033[1m\n\nfive\n");
    cr_expect_str_eq(vt_message(), "kept");
    cr_expect_str_eq(h.text, "one 1\ntwo\nthree four [1m\nfive\n");
    h.text[0] = '\0';
    vt_log("%5000d\n%d", 1, 2); /* longer than any buffer; nothing is cut */
    cr_expect_eq(strlen(h.text), 5003);
    cr_expect_str_eq(h.text + 4999, "1\n2\n");
    vitcl_log_set(NULL, NULL);
    vt_log("nobody");
    cr_expect_null(strstr(h.text, "nobody"));
}

Test(log, a_callback_that_calls_vitcl)
{
    unsigned calls = 0;

    vitcl_log_set(meddle, &calls);
    vt_log("once");
    vt_log("twice");
    cr_expect_eq(calls, 2);
    vitcl_log_set(NULL, NULL);
}

/* Paths of characters of three bytes, each of which is once cut in two. */
Test(log, a_long_message)
{
    for (int start = 0; start < 3; start++) {
        char path[4000] = "", *at = path;

        at += sprintf(path, "/%.*s", start, "aaa");
        while (at < path + sizeof path - 4)
            at += sprintf(at, "\u5199");
        vt_fail(VITCL_EIO, "%s: Permission denied", path);
        for (int in = 0; in < 2; in++) {
            const char *got = vt_message(), *end = strrchr(got, ':');

            cr_expect(vt_utf8(got, strlen(got)), "%s", got);
            cr_expect_gt(strlen(got), 500);
            cr_expect(strstr(got, "\u5199..."), "%s", got);
            cr_expect(end && strcmp(end, ": Permission denied") == 0, "%s",
                      got);
            vt_fail_in(VITCL_EIO, "in %s", path);
            cr_expect(strncmp(vt_message(), "in /", 4) == 0, "%s", got);
        }
    }
}

/* Opening a device logs its name; a rejected kernel logs the reason. */
Test(log, devices_and_compilers)
{
    vitcl_device_info info;
    heard h = {.lines = 0};
    vt_dev *dev = NULL;
    vt_kernel *k = NULL;

    vitcl_log_set(listen, &h);
    cr_assert_eq(vt_product_open(&dev, getenv("VITCL_TEST_DEVICE")), VITCL_OK,
                 "%s", vt_message());
    info = *vt_dev_info(dev);
    cr_expect(strstr(h.text, info.name), "%s", h.text);
    cr_expect(strstr(h.text, info.driver), "%s", h.text);
    h = (heard){.lines = 0};
    cr_expect_eq(
        vt_kernel_new(&k, dev, "layernorm", "layernorm", "-DPER=nonsense_here"),
        VITCL_EDEVICE);
    cr_expect(strstr(h.text, "nonsense_here"), "%s", h.text);
    cr_expect_gt(h.lines, 1u);
    vitcl_log_set(NULL, NULL);
    vt_dev_free(dev);
}

/* The folder of compiled programs, or why there is none. */
Test(log, where_the_cache_is, .fini = vt_test_tidy)
{
    const char *const folder = vt_test_folder();
    vt_kept_key key = {{0}};
    heard h = {.lines = 0};
    char want[400];

    unsetenv("VITCL_CACHE");
    setenv("XDG_CACHE_HOME", folder, 1);
    vt_kept_tell(); /* to nobody */
    vitcl_log_set(listen, &h);
    vt_kept_tell();
    snprintf(want, sizeof want, "cache: %s/vitcl\n", folder);
    cr_expect_str_eq(h.text, want);
    cr_expect(vt_kept_on() && !vt_cache_has(&key));

    h = (heard){.lines = 0};
    setenv("VITCL_CACHE", "off", 1);
    vt_kept_tell();
    cr_expect_str_eq(h.text, "cache: disabled by VITCL_CACHE=off\n");
    cr_expect(!vt_kept_on() && !vt_cache_has(&key));

    h = (heard){.lines = 0};
    unsetenv("VITCL_CACHE");
    setenv("XDG_CACHE_HOME", "/proc/none", 1);
    vt_kept_tell();
    cr_expect_str_eq(h.text, "cache: none; /proc/none/vitcl cannot be used\n");
    cr_expect(!vt_kept_on());

    h = (heard){.lines = 0};
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    vt_kept_tell();
    cr_expect_str_eq(h.text, "cache: none; HOME is not set\n");
    vitcl_log_set(NULL, NULL);
}
