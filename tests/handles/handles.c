/*
 * handles.c - every function of the public headers on every handle in every
 * state: none crashes, hangs, or returns an error without a message. calls.c,
 * which calls.py makes of the headers, has the calls.
 *
 * Each call is made on a handle of its own; then all others on the same one.
 * Calls from a callback of a call that uses the handle must be refused and must
 * not change its answer. Freed handles are not tried.
 */
#include "handles/handles.h"

#include "support/pictures.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODEL VT_HANDLES_MODEL

uint8_t vt_rgb[VT_SIDE * VT_SIDE * 3], vt_room[VT_SIDE * VT_SIDE * 3];
float vt_numbers[VT_SIDE * VT_SIDE * 3], vt_out[VT_ROOM];
vitcl_image vt_image = {VT_SIDE, VT_SIDE, vt_rgb};
vitcl_class vt_top[VT_CLASSES];
vitcl_hit vt_hits[VT_CLASSES];
vitcl_dupe vt_dupes[VT_CLASSES];
uint32_t vt_labels[VT_CLASSES], vt_words[VT_ROOM];
int32_t vt_ids[VT_ROOM];
char vt_text[100];
vitcl_session_options vt_session_options = {
    .size = sizeof vt_session_options, .batch = 2, .gradients = 1};
vitcl_pictures vt_pictures = {
    .size = sizeof vt_pictures, .n = 1, .rgb = vt_rgb};
vitcl_text_options vt_text_options = {.size = sizeof vt_text_options};
vitcl_train_options vt_train_options = {.size = sizeof vt_train_options,
                                        .preset = "vit-ti/16",
                                        .data = "/no/such",
                                        .output = "/no/such"};
vitcl_model_files vt_files = {.size = sizeof vt_files};

const char *vt_folder;
static char what[300];
static int failures, calls;
static vitcl_status last;
static things base; /* handles for the other parameters */

void vt_wrong(const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    failures++;
}

static void crashed(int number)
{
    char line[400];
    const int n = snprintf(line, sizeof line, "%s: signal %d\n", what, number);

    (void)!write(2, line, (size_t)n);
    _exit(1);
}

void vt_need(vitcl_status st)
{
    if (st == VITCL_OK)
        return;
    fprintf(stderr, "%s: not made: %s\n", what, vitcl_last_error());
    exit(1);
}

/* ---- what the calls pass ---- */

const char *vt_path(const char *function)
{
    static const struct {
        const char *function, *path;
    } paths[] = {{"vitcl_model_load", MODEL},
                 {"model", MODEL},
                 {"vitcl_loader_push", VT_DATA "/sample.jpg"},
                 {"vt_dataset_add_labels", "labels.json"},
                 {"vt_device_save_kernels", "kernels"}};

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (strcmp(paths[i].function, function) == 0)
            return paths[i].path[0] == '/'
                       ? paths[i].path
                       : vt_test_path(vt_folder, paths[i].path);
    return "/no/such";
}

int vt_progress(void *context, uint64_t done, uint64_t total)
{
    return context != NULL || done > total;
}

void vt_log_line(void *context, const char *line)
{
    (void)context;
    vt_read(line);
}

void vt_compiling(void *context, uint32_t done, uint32_t total)
{
    (void)context, (void)done, (void)total;
}

/* One batch. */
vitcl_status vt_source(void *context, vitcl_batch *batch, int wait)
{
    static bool more = true;

    (void)context, (void)wait;
    if (more)
        *batch = (vitcl_batch){vt_rgb, 1, vt_out, vt_rgb};
    more = !more;
    return VITCL_OK;
}

vitcl_status vt_sink(void *context, const vitcl_batch *batch)
{
    (void)context, (void)batch;
    return VITCL_OK;
}

void vt_took(const char *function, vitcl_status st)
{
    const char *message = vitcl_last_error();

    (void)function;
    last = st;
    if (strcmp(vitcl_status_text(st), "unknown status") == 0)
        vt_wrong("no status of the header");
    if (st != VITCL_OK && !message[0])
        vt_wrong("an error without a message");
}

void vt_read(const char *text)
{
    if (text && strlen(text) > 10000)
        vt_wrong("no text");
}

/* ---- all calls ---- */

static void free_new(things *t)
{
#define FREE(word)                                                             \
    if (t->word != base.word)                                                  \
    vitcl_##word##_free(t->word)
    FREE(index);
    FREE(text);
    FREE(rows);
    FREE(dataset);
    FREE(loader);
    FREE(session);
    FREE(model);
    FREE(device);
#undef FREE
}

static void make_call(const call *c, const things *t, int null)
{
    alarm(60);
    calls++;
    c->run(t, null);
}

static void in_state(const state *s)
{
    for (const call *c = vt_calls; c->name; c++) {
        things t = base;

        if (!(c->takes >> s->kind & 1))
            continue;
        snprintf(what, sizeof what, "%s", s->name);
        s->make(&t);
        snprintf(what, sizeof what, "%s, %s", s->name, c->name);
        make_call(c, &t, -1);
        for (const call *d = vt_calls; d->name; d++) {
            if (!(d->takes >> s->kind & 1) || d->slow)
                continue;
            snprintf(what, sizeof what, "%s, %s, then %s", s->name, c->name,
                     d->name);
            make_call(d, &t, -1);
        }
        snprintf(what, sizeof what, "%s, %s, freed", s->name, c->name);
        free_new(&t);
    }
}

static void without_pointers(void)
{
    for (const call *c = vt_calls; c->name; c++)
        for (int i = 0; i < c->parameters && !c->slow; i++) {
            snprintf(what, sizeof what, "%s, argument %d NULL", c->name, i + 1);
            make_call(c, &base, i);
        }
}

/* ---- calls from a callback ---- */

static struct inner {
    const call *call;
    const things *t;
    kind kind;
    int calls;
} inner;

static void call_inside(void)
{
    if (inner.calls++)
        return;
    snprintf(what, sizeof what, "%s, from a callback", inner.call->name);
    last = VITCL_EBUSY;
    make_call(inner.call, inner.t, -1);
    if ((inner.call->changes >> inner.kind & 1) && last != VITCL_EBUSY)
        vt_wrong("not refused");
}

static int watch(void *context, const vitcl_tensor_info *info, const float *x)
{
    (void)context, (void)info, (void)x;
    call_inside();
    return 0;
}

static int evaluating(void *context, uint64_t done, uint64_t total)
{
    (void)context, (void)done, (void)total;
    call_inside();
    return 0;
}

/* Runs and evaluates with the call inside; its stop is allowed. */
static void inside(const call *c, kind used, vitcl_session *watched,
                   const float want[VT_CLASSES])
{
    things t = base;
    vitcl_scores scores = {.size = sizeof scores};
    float got[VT_CLASSES];
    vitcl_status st;

    t.session = watched;
    inner = (struct inner){c, &t, used, 0};
    if (used == VT_SESSION) {
        st = vitcl_session_run_rgb(watched, vt_rgb, 1);
        if (st == VITCL_OK)
            st = vitcl_session_read(got, VT_CLASSES, watched, "logits", 1);
        if (st != VITCL_OK || memcmp(got, want, sizeof got) != 0)
            vt_wrong("it changed the answer");
        (void)!vitcl_session_run_rgb(watched, vt_rgb, 1); /* takes a stop */
    }
    inner.calls = 0;
    t.session = base.session;
    st = vitcl_evaluate(&scores, NULL, t.session, t.dataset, evaluating, NULL);
    if (st != VITCL_OK && st != VITCL_ESTOPPED)
        vt_wrong(vitcl_last_error());
    else if (!inner.calls)
        vt_wrong("not called");
    (void)!vitcl_session_run_rgb(t.session, vt_rgb, 1);
}

static void from_callbacks(void)
{
    static const char *const blocks[] = {"block.0", NULL};
    const vitcl_session_options o = {
        .size = sizeof o, .watch = blocks, .watcher = watch};
    vitcl_session *watched = NULL;
    float want[VT_CLASSES];

    vt_need(vitcl_session_new(&watched, base.model, &o));
    inner.calls = 1;
    vt_need(vitcl_session_run_rgb(watched, vt_rgb, 1));
    vt_need(vitcl_session_read(want, VT_CLASSES, watched, "logits", 1));
    for (const call *c = vt_calls; c->name; c++) {
        if (c->takes >> VT_SESSION & 1)
            inside(c, VT_SESSION, watched, want);
        else if (c->takes >> VT_DATASET & 1)
            inside(c, VT_DATASET, watched, want);
    }
    vitcl_session_free(watched);
}

/* ---- */

/* One picture a class, in folders with the numbers of the classes. */
static void make_data(void)
{
    char text[400];

    snprintf(text, sizeof text,
             "for i in 0 1 2 3 4; do mkdir -p %s/data/$i &&"
             " cp " VT_DATA "/sample.jpg %s/data/$i/$i.jpg || exit; done",
             vt_folder, vt_folder);
    if (system(text) != 0)
        exit(1);
    vt_test_text(vt_folder, "labels.json",
                 "{\"0.jpg\": [0], \"1.jpg\": [1], \"2.jpg\": [2], "
                 "\"3.jpg\": [3], \"4.jpg\": [4]}");
}

static void make_base(void)
{
    vt_files.weights =
        vt_test_bytes(&vt_files.weights_bytes, MODEL, "model.safetensors");
    vt_files.config = (const char *)vt_test_bytes(&vt_files.config_bytes, MODEL,
                                                  "config.json");
    for (size_t i = 0; i < sizeof vt_rgb; i++) {
        vt_rgb[i] = (uint8_t)(i * i % 251);
        vt_numbers[i] = (float)vt_rgb[i] / 100;
    }
    make_data();
    for (const state *x = vt_states; x->name; x++) /* the first of each kind */
        if (x == vt_states || x->kind != x[-1].kind)
            x->make(&base);
}

int main(void)
{
    things made;

    vt_folder = vt_test_folder();
    setenv("XDG_CONFIG_HOME", vt_folder, 1); /* tuners save there */
    signal(SIGSEGV, crashed);
    signal(SIGBUS, crashed);
    signal(SIGABRT, crashed);
    signal(SIGALRM, crashed);
    signal(SIGXFSZ, SIG_IGN);
    snprintf(what, sizeof what, "the handles to begin with");
    make_base();
    for (const state *s = vt_states; s->name; s++)
        in_state(s);
    without_pointers();
    from_callbacks();
    made = base, base = (things){0};
    free_new(&made);
    free((void *)(uintptr_t)vt_files.weights);
    free((void *)(uintptr_t)vt_files.config);
    vt_test_remove(vt_folder);
    printf("%d calls, %d wrong\n", calls, failures);
    return failures != 0;
}
