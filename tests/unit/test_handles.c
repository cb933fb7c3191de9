/*
 * test_handles.c - invalid use of handles: NULL, and after a fork.
 */
#include "api/program.h"
#include "support/pictures.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vitcl_train.h>

static void need(vitcl_status st)
{
    cr_assert_eq(st, VITCL_OK, "%s", vitcl_last_error());
}

Test(handles, no_dataset)
{
    cr_expect_eq(vitcl_dataset_pictures(NULL), 0);
    cr_expect_eq(vitcl_dataset_classes(NULL), 0);
    cr_expect_null(vitcl_dataset_class(NULL, 0));
    cr_expect_eq(vitcl_dataset_open(NULL, "x", NULL), VITCL_EINVAL);
    vitcl_dataset_free(NULL);
}

enum { SIDE = 32, PICTURE = SIDE * SIDE * 3, HEAD = 512 };

typedef struct things {
    vitcl_device *device;
    vitcl_model *model;
    vitcl_session *session;
    vitcl_loader *loader;
    vitcl_rows *rows;
    vitcl_image image;
} things;

static void free_things(things *t)
{
    vitcl_image_free(&t->image);
    vitcl_rows_free(t->rows);
    vitcl_loader_free(t->loader);
    vitcl_session_free(t->session);
    vitcl_model_free(t->model);
    vitcl_device_free(t->device);
}

/* Calls a child makes with its parent's handles: returns the number of the
 * first call that did not fail with the expected status, 0 if all did. */
static int in_child(things *t)
{
    static uint8_t rgb[PICTURE];
    static float x[1000];
    vitcl_device_info info = {.size = sizeof info};
    vitcl_train_event e = {.size = sizeof e};
    const vitcl_train_options o = {.size = sizeof o,
                                   .preset = "vit-ti/16",
                                   .data = "/no/such",
                                   .output = "/no/such/folder"};
    vitcl_device *device = NULL;
    vitcl_session *session = NULL;
    vitcl_loader *loader = NULL;
    vt_tuner *tuner = NULL;
    vitcl_class top;
    double peak;
    int n = 0;

    alarm(60); /* if the driver is called after all, it never returns */
#define REFUSED(st, call)                                                      \
    if (++n && ((call) != (st) || !vitcl_last_error()[0]))                     \
    return n
    REFUSED(VITCL_EDEVICE,
            vitcl_session_read(x, 1000, t->session, "logits", 1));
    REFUSED(VITCL_EDEVICE, vitcl_session_run_rgb(t->session, rgb, 1));
    REFUSED(VITCL_EDEVICE, vitcl_classify(&top, 1, t->session, &t->image, 1));
    REFUSED(VITCL_EDEVICE, vitcl_session_new(&session, t->model, NULL));
    REFUSED(VITCL_EDEVICE, vitcl_device_open(&device, NULL));
    REFUSED(VITCL_EDEVICE, vitcl_device_at(&info, 0));
    REFUSED(VITCL_EDEVICE, vt_device_peak(&peak, t->device, VITCL_F32));
    REFUSED(VITCL_EDEVICE, vt_device_try(t->device, VITCL_INT8));
    REFUSED(VITCL_EDEVICE, vt_tuner_for(&tuner, t->model, NULL));
    REFUSED(VITCL_EDEVICE, vitcl_train(&e, t->device, &o, NULL, NULL));
    REFUSED(VITCL_EDEVICE, vitcl_loader_new(&loader, t->session, 1));
    REFUSED(VITCL_EDEVICE, vt_loader_new_thumbnails(&loader, NULL, 1, 8));
    REFUSED(VITCL_EINVAL, vitcl_loader_push(t->loader, "x.jpg"));
    REFUSED(VITCL_EINVAL, vitcl_loader_next(rgb, t->loader));
    REFUSED(VITCL_EINVAL, vitcl_rows_add(t->rows, x, 1));
#undef REFUSED
    if (!strstr(vitcl_last_error(), "fork"))
        return 100;
    free_things(t);
    return 0;
}

Test(handles, a_forked_child_is_refused)
{
    static uint8_t rgb[PICTURE], answer[PICTURE];
    static float before[1000], after[1000];
    things t = {.image = {SIDE, SIDE, malloc(PICTURE)}};
    const vitcl_shape row = {.name = "x", .rank = 1, .shape = {1000}};
    char *const rows = vt_test_path(vt_test_folder(), "x.npy");
    char name[4096];
    uint64_t count = 0;
    struct stat file;
    int status = -1;
    pid_t pid;

    need(vitcl_device_open(&t.device, getenv("VITCL_TEST_DEVICE")));
    need(vitcl_model_new(&t.model, t.device, "vit-ti/16", SIDE));
    need(vitcl_session_new(&t.session, t.model, NULL));
    need(vitcl_loader_new(&t.loader, t.session, 1));
    need(vitcl_loader_push(t.loader, VT_DATA "/sample.jpg"));
    memset(t.image.rgb, 7, PICTURE);
    need(vitcl_session_run_rgb(t.session, rgb, 1));
    need(vitcl_session_read(before, 1000, t.session, "logits", 1));
    need(vitcl_rows_new(&t.rows, rows, &row));
    need(vitcl_rows_add(t.rows, before, 1));
    pid = fork();
    if (pid == 0)
        _exit(in_child(&t));
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_expect_eq(status, 0, "the child ended with status %#x", status);
    /* The parent's handles still work. */
    need(vitcl_session_run_rgb(t.session, rgb, 1));
    need(vitcl_session_read(after, 1000, t.session, "logits", 1));
    cr_expect(memcmp(before, after, sizeof before) == 0);
    need(vitcl_loader_next(answer, t.loader));
    /* rows that cannot be finished can be kept */
    cr_assert_eq(mkdir(rows, 0777), 0);
    cr_expect_eq(vitcl_rows_finish(t.rows), VITCL_EIO);
    cr_expect_eq(vt_rows_keep(name, strlen(rows) + 4, &count, t.rows),
                 VITCL_EINVAL, "a name that is cut");
    need(vt_rows_keep(name, sizeof name, &count, t.rows));
    cr_expect_eq(count, 1);
    cr_expect(stat(name, &file) == 0 &&
              file.st_size == HEAD + (off_t)sizeof before);
    free_things(&t);
    vt_test_tidy();
}

Test(handles, a_child_forked_before_may_open_devices)
{
    int status = -1;
    const pid_t pid = fork();

    if (pid == 0) {
        vitcl_device *device = NULL;
        const int failed =
            vitcl_device_open(&device, getenv("VITCL_TEST_DEVICE"));

        vitcl_device_free(device);
        _exit(failed != 0);
    }
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_expect_eq(status, 0, "the child ended with status %#x", status);
}
