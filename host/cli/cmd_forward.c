/*
 * cmd_forward.c - runs given pixel values and writes the requested tensors, to
 * compare vitcl with other libraries.
 */
#include "api/program.h"
#include "base/status.h"
#include "cli/setup/setup.h"

#include <stdlib.h>
#include <string.h>

typedef struct forward {
    model_options common;
    const char *input, *output;
    words keep;
} forward;

static const opt options[] = {
    OPT_MODEL(forward),
    OPT_RULED(forward, 'i', "input", OPT_TEXT, "FILE",
              "safetensors file with pixel_values [B,3,H,W]", input,
              .unless = ""),
    OPT_RULED(forward, 'o', "output", OPT_FILE, "FILE.safetensors",
              "file to write", output, .unless = ""),
    OPT_ROW(forward, 0, "keep", OPT_LIST, "PATTERN",
            "also write tensors whose names match, such as 'block.*'", keep),
    OPT_DEVICE(forward),
    OPT_BATCH(forward, "pictures at a time (default: all, at most 32)"),
    OPT_SIDES(forward),
    OPT_RUN(forward),
    OPT_ANY_BATCH(forward),
    OPT_DONE};

typedef struct work {
    vitcl_device *device;
    vitcl_model *model;
    vitcl_session *session;
    vt_tensors *in;
    uint32_t pictures;
    uint64_t elements; /* per picture */
    uint64_t plane;    /* of a channel */
    uint32_t channels;
    float *pixels;
    uint32_t tensors; /* read after each batch and concatenated */
    vitcl_shape *shape;
    vitcl_tensor_info *info;
    float **data;
} work;

static uint64_t share(const vitcl_tensor_info *t)
{
    uint64_t n = 1;

    for (uint32_t i = 1; i < t->rank; i++)
        n *= t->shape[i];
    return n;
}

/* Opens pixel_values; takes the session's size and batch from it. */
static int open_input(work *w, const forward *o, model_options *common)
{
    vitcl_shape s;

    RET(vt_tensors_open(&w->in, o->input));
    RET(vt_tensors_shape(&s, w->in, "pixel_values"));
    if (s.rank != 4 || s.shape[1] > 1 << 10 || !s.shape[0] || !s.shape[2] ||
        !s.shape[3] || s.shape[0] > 1 << 20 || s.shape[2] > 1 << 14 ||
        s.shape[3] > 1 << 14)
        return fail("%s: pixel_values is not [B,3,H,W]", o->input);
    if (common->size.height &&
        (common->size.height != s.shape[2] || common->size.width != s.shape[3]))
        return fail("%s: pixel_values is %ux%u, not %ux%u as --size says",
                    o->input, (unsigned)s.shape[2], (unsigned)s.shape[3],
                    common->size.height, common->size.width);
    common->size.height = (uint32_t)s.shape[2];
    common->size.width = (uint32_t)s.shape[3];
    w->pictures = (uint32_t)s.shape[0];
    w->plane = s.shape[2] * s.shape[3];
    w->elements = 3 * w->plane;
    w->channels = (uint32_t)s.shape[1];
    if (!common->batch)
        common->batch = w->pictures < 32 ? w->pictures : 32;
    return EXIT_OK;
}

/* Reads as many channels as the model does; one counts for three. */
static int read_input(work *w, const forward *o)
{
    vitcl_model_info info = {.size = sizeof info};
    const uint64_t count = w->elements * w->pictures;

    RET(vitcl_model_describe(&info, w->model, 0, 0, 0));
    if (w->channels != info.channels)
        return fail("%s: pixel_values is not [B,%u,H,W]", o->input,
                    info.channels);
    w->pixels = calloc(count, sizeof *w->pixels);
    if (!w->pixels)
        return fail("out of memory for %u picture%s", w->pictures,
                    vt_plural(w->pictures));
    RET(vt_tensors_read(w->pixels, w->in, "pixel_values",
                        w->plane * w->channels * w->pictures));
    for (uint64_t i = w->pictures; w->channels == 1 && i-- > 0;)
        for (uint64_t c = 3; c-- > 0;) /* from the end: in place */
            memmove(w->pixels + (3 * i + c) * w->plane,
                    w->pixels + i * w->plane, w->plane * sizeof *w->pixels);
    return EXIT_OK;
}

static int allocate(work *w)
{
    vitcl_tensor_info t = {.size = sizeof t};

    while (vitcl_session_tensor(&t, w->session, w->tensors) == VITCL_OK)
        w->tensors++;
    w->shape = calloc(w->tensors + 1u, sizeof *w->shape);
    w->info = calloc(w->tensors + 1u, sizeof *w->info);
    w->data = calloc(w->tensors + 1u, sizeof *w->data);
    if (!w->shape || !w->info || !w->data)
        return fail("out of memory");
    for (uint32_t i = 0; i < w->tensors; i++) {
        w->info[i].size = sizeof w->info[i];
        RET(vitcl_session_tensor(&w->info[i], w->session, i));
        w->shape[i].name = w->info[i].name;
        w->shape[i].rank = w->info[i].rank;
        w->shape[i].shape[0] = w->pictures;
        for (uint32_t d = 1; d < w->info[i].rank; d++)
            w->shape[i].shape[d] = w->info[i].shape[d];
        w->data[i] = calloc(share(&w->info[i]) * w->pictures, sizeof(float));
        if (!w->data[i])
            return fail("out of memory for %s", w->info[i].name);
    }
    return EXIT_OK;
}

static int compute(work *w)
{
    const uint32_t batch = vt_session_batch(w->session);

    for (uint32_t at = 0, n; at < w->pictures; at += n) {
        n = w->pictures - at < batch ? w->pictures - at : batch;
        RET(vitcl_session_run_values(w->session, w->pixels + at * w->elements,
                                     n));
        for (uint32_t i = 0; i < w->tensors; i++)
            RET(vitcl_session_read(w->data[i] + at * share(&w->info[i]),
                                   n * share(&w->info[i]), w->session,
                                   w->info[i].name, n));
        guard_end();
    }
    return EXIT_OK;
}

static int run(void *into, const words *operands)
{
    const forward *o = into;
    model_options common = o->common;
    work w = {.tensors = 0};
    words keep = {NULL, 0};
    frame_size size;
    int code;

    (void)operands;
    TRY(open_input(&w, o, &common));
    size = common.size;
    if (common.preset) /* as trained; the session resizes */
        common.size = o->common.size;
    TRY(open_model(&w.device, &w.model, &common));
    common.size = size;
    TRY(read_input(&w, o));
    TRY(keep_open(&keep, &o->keep));
    TRY(open_session(&w.session, w.device, w.model, &common, keep.item, 0));
    TRY(keep_check(&keep, &o->keep, w.session));
    TRY(allocate(&w));
    TRY(compute(&w));
    TRY(vt_tensors_write(o->output, w.shape, (const float *const *)w.data,
                         w.tensors));
done:
    keep_close(&keep);
    for (uint32_t i = 0; w.data && i < w.tensors; i++)
        free(w.data[i]);
    free(w.data);
    free(w.shape);
    free(w.info);
    free(w.pixels);
    vt_tensors_free(w.in);
    vitcl_session_free(w.session);
    vitcl_model_free(w.model);
    vitcl_device_free(w.device);
    return code;
}

const command cmd_forward = {
    "forward",
    "",
    "Run pixel values through a model and write the tensors",
    "Writes the model's outputs, such as logits, and with --keep tensors from "
    "the inside: embed, block.<i>, attention.<i> (probabilities), norm, "
    "features; timm's blocks.<i> and blocks.<i>.attn mean the same.",
    options,
    sizeof(forward),
    run};
