/*
 * states.c - handles in the states that callers can bring them to.
 */
#include "handles/handles.h"

#include "index/index.h"
#include "support/pictures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODEL VT_HANDLES_MODEL

/* A copy of the model that may be damaged. */
static void copy_model(void)
{
    static const char *const names[] = {"config.json", "model.safetensors"};

    mkdir(vt_test_path(vt_folder, "copy"), 0777);
    for (int i = 0; i < 2; i++) {
        size_t size = 0;
        unsigned char *bytes = vt_test_bytes(&size, MODEL, names[i]);
        FILE *f = fopen(vt_test_path(vt_test_path(vt_folder, "copy"), names[i]),
                        "wb");

        if (!bytes || !f || fwrite(bytes, 1, size, f) != size || fclose(f))
            exit(1);
        free(bytes);
    }
}

static void damage_model(void)
{
    if (truncate(vt_test_path(vt_folder, "copy/model.safetensors"), 8000) != 0)
        exit(1);
}

static void device_fresh(things *t)
{
    vt_need(vitcl_device_open(&t->device, getenv("VITCL_TEST_DEVICE")));
}

static void device_failed(things *t)
{
    const vitcl_session_options o = {
        .size = sizeof o, .height = 16384, .width = 16384};
    vitcl_model *m = NULL;
    vitcl_session *s = NULL;

    device_fresh(t);
    vt_need(vitcl_model_new(&m, t->device, "vit-b/16", 0));
    if (vitcl_session_new(&s, m, &o) == VITCL_OK)
        vt_wrong("as large a session fits");
    vitcl_session_free(s);
    vitcl_model_free(m);
}

static void model_fresh(things *t)
{
    vt_need(vitcl_model_load(&t->model, t->device, MODEL));
}

static void model_bare(things *t)
{
    vt_need(vitcl_model_load(&t->model, NULL, MODEL));
}

static void model_failed(things *t)
{
    vitcl_session *s = NULL;

    copy_model();
    vt_need(vitcl_model_load(&t->model, t->device,
                             vt_test_path(vt_folder, "copy")));
    damage_model();
    if (vitcl_session_new(&s, t->model, NULL) == VITCL_OK)
        vt_wrong("weights that are cut");
    vitcl_session_free(s);
}

static void session_fresh(things *t)
{
    vt_need(vitcl_session_new(&t->session, t->model, &vt_session_options));
}

static void session_used(things *t)
{
    session_fresh(t);
    vt_need(vitcl_session_run_rgb(t->session, vt_rgb, 1));
}

static void session_finished(things *t)
{
    session_fresh(t);
    vt_need(vitcl_session_run_batches(t->session, "logits", VT_CLASSES,
                                      vt_source, vt_sink, NULL));
}

static void session_failed(things *t)
{
    const vitcl_session_options o = {.size = sizeof o, .batch = 2, .once = 1};
    vitcl_model *m = NULL;

    copy_model();
    vt_need(vitcl_model_load(&m, t->device, vt_test_path(vt_folder, "copy")));
    vt_need(vitcl_session_new(&t->session, m, &o));
    damage_model();
    (void)!vitcl_session_run_rgb(t->session, vt_rgb,
                                 1); /* EIO where it reads them */
    vitcl_model_free(m);
}

static void session_stopping(things *t)
{
    session_used(t);
    vitcl_session_stop(t->session);
}

static void session_stopped(things *t)
{
    session_stopping(t);
    if (vitcl_session_run_rgb(t->session, vt_rgb, 1) != VITCL_ESTOPPED)
        vt_wrong("not stopped");
}

static void loader_fresh(things *t)
{
    vt_need(vitcl_loader_new(&t->loader, t->session, 1));
}

static void loader_used(things *t)
{
    loader_fresh(t);
    for (int i = 0; i < 2; i++)
        vt_need(vitcl_loader_push(t->loader, VT_DATA "/sample.jpg"));
}

static void loader_finished(things *t)
{
    loader_used(t);
    while (vitcl_loader_pending(t->loader))
        vt_need(vitcl_loader_next(vt_room, t->loader));
}

static void loader_failed(things *t)
{
    loader_fresh(t);
    vt_need(vitcl_loader_push_bytes(t->loader, "no picture", 10, NULL));
    if (vitcl_loader_next(vt_room, t->loader) == VITCL_OK)
        vt_wrong("that is no picture");
}

/* Of api/program.h, other names of which this test has, too. */
vitcl_status vt_dataset_use_numbers(vitcl_dataset *dataset);

static void dataset_fresh(things *t)
{
    vt_need(
        vitcl_dataset_open(&t->dataset, vt_test_path(vt_folder, "data"), NULL));
}

static void dataset_numbered(things *t)
{
    dataset_fresh(t);
    vt_need(vt_dataset_use_numbers(t->dataset));
}

static void rows_fresh(things *t)
{
    const vitcl_shape row = {"rows", 1, {VT_SIDE * VT_SIDE}};

    vt_need(
        vitcl_rows_new(&t->rows, vt_test_path(vt_folder, "rows.npy"), &row));
}

static void rows_used(things *t)
{
    rows_fresh(t);
    vt_need(vitcl_rows_add(t->rows, vt_numbers, 1));
}

static void rows_finished(things *t)
{
    rows_used(t);
    vt_need(vitcl_rows_finish(t->rows));
}

/* The file may not grow. */
static void rows_failed(things *t)
{
    struct rlimit old, small;
    vitcl_status st = VITCL_OK;

    rows_used(t);
    getrlimit(RLIMIT_FSIZE, &old);
    small = old, small.rlim_cur = 8192;
    setrlimit(RLIMIT_FSIZE, &small);
    for (int i = 0; i < 8 && st == VITCL_OK; i++)
        st = vitcl_rows_add(t->rows, vt_numbers, 2);
    setrlimit(RLIMIT_FSIZE, &old);
    if (st != VITCL_EIO)
        vt_wrong("a full disk");
    if (vitcl_rows_add(t->rows, vt_numbers, 1) == VITCL_OK ||
        vitcl_rows_finish(t->rows) == VITCL_OK)
        vt_wrong("a file that is cut is finished");
}

/* Its name is taken by a folder. */
static void rows_unfinished(things *t)
{
    const char *path = vt_test_path(vt_folder, "rows.npy");

    rows_used(t);
    remove(path);
    mkdir(path, 0777);
    if (vitcl_rows_finish(t->rows) != VITCL_EIO)
        vt_wrong("a folder was replaced");
    rmdir(path);
}

static void text_fresh(things *t)
{
    vt_need(vitcl_text_new(&t->text, t->device, VT_HANDLES_TEXT, NULL));
}

static void text_used(things *t)
{
    text_fresh(t);
    vt_need(vitcl_text_embed_tokens(vt_out, t->text, vt_ids, 1));
}

static void text_failed(things *t)
{
    text_fresh(t);
    vt_ids[0] = -1;
    if (vitcl_text_embed_tokens(vt_out, t->text, vt_ids, 1) == VITCL_OK)
        vt_wrong("a token below zero");
    vt_ids[0] = 0;
}

/* Of VT_CLASSES rows, each of VT_SIDE numbers. */
static void index_fresh(things *t)
{
    static const char id[] =
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    const char *path = vt_test_path(vt_folder, "index.safetensors");
    vt_about about = {.feature = "pooled", .pixels = "pillow"};
    vt_vectors *v = NULL;

    memcpy(about.model_id, id, sizeof id);
    memcpy(about.pictures_id, id, sizeof id);
    vt_need(vt_vectors_open(&v, path, &about, (vt_row_shape){.width = VT_SIDE},
                            false));
    for (int i = 0; i < VT_CLASSES; i++)
        vt_need(
            vt_vectors_add(v, &(vt_vectors_row){.path = VT_DATA "/sample.jpg",
                                                .numbers = vt_numbers + i}));
    vt_need(vt_vectors_finish(v));
    vt_vectors_free(v);
    vt_need(vitcl_index_open(&t->index, path));
}

static void index_used(things *t)
{
    index_fresh(t);
    vt_need(vitcl_index_vectors(vt_out, t->index, 0, VT_CLASSES));
}

static void index_failed(things *t)
{
    index_fresh(t);
    if (truncate(vt_test_path(vt_folder, "index.safetensors"), 4096) != 0)
        exit(1);
    if (vitcl_index_vectors(vt_out, t->index, 0, 1) == VITCL_OK)
        vt_wrong("a file that is cut was read");
}

static void unchanged(things *t)
{
    (void)t;
}

/* By kind; the first of a kind is also the one that other calls get. */
const state vt_states[] = {
    {VT_DEVICE, "a fresh device", device_fresh},
    {VT_DEVICE, "a used device", unchanged},
    {VT_DEVICE, "a device whose memory was too small", device_failed},
    {VT_MODEL, "a fresh model", model_fresh},
    {VT_MODEL, "a used model", unchanged},
    {VT_MODEL, "a model without a device", model_bare},
    {VT_MODEL, "a model that failed", model_failed},
    {VT_SESSION, "a fresh session", session_fresh},
    {VT_SESSION, "a used session", session_used},
    {VT_SESSION, "a finished session", session_finished},
    {VT_SESSION, "a session that failed", session_failed},
    {VT_SESSION, "a session to be stopped", session_stopping},
    {VT_SESSION, "a stopped session", session_stopped},
    {VT_LOADER, "a fresh loader", loader_fresh},
    {VT_LOADER, "a used loader", loader_used},
    {VT_LOADER, "a finished loader", loader_finished},
    {VT_LOADER, "a loader that failed", loader_failed},
    {VT_DATASET, "a dataset by number", dataset_numbered},
    {VT_DATASET, "a fresh dataset", dataset_fresh},
    {VT_DATASET, "a used dataset", unchanged},
    {VT_ROWS, "fresh rows", rows_fresh},
    {VT_ROWS, "used rows", rows_used},
    {VT_ROWS, "finished rows", rows_finished},
    {VT_ROWS, "rows that failed", rows_failed},
    {VT_ROWS, "rows that could not be finished", rows_unfinished},
    {VT_TEXT, "a fresh text", text_fresh},
    {VT_TEXT, "a used text", text_used},
    {VT_TEXT, "a text that failed", text_failed},
    {VT_INDEX, "a fresh index", index_fresh},
    {VT_INDEX, "a used index", index_used},
    {VT_INDEX, "an index whose file was cut", index_failed},
    {VT_KINDS, NULL, NULL},
};
