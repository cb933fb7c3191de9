/*
 * identity.c - what a model's features depend on, as two short texts.
 *
 * Of large tensors a part is hashed, spread over the whole: training changes
 * all of a tensor, and reading all of a large checkpoint takes as long as
 * answering.
 */
#include "api/handles.h"
#include "api/program.h"
#include "base/json_print.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "models/preprocess.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PIECE = 1024, PIECES = 64 };

static vitcl_status add_tensor(vt_sha256_state *s, const vt_tensor *t)
{
    uint8_t piece[PIECE];
    char head[64];
    const size_t whole = (size_t)PIECE * PIECES;

    vt_sha256_text(s, t->name);
    snprintf(head, sizeof head, "%d %" PRIu64 " %zu", (int)t->dtype, t->count,
             t->size);
    vt_sha256_text(s, head);
    for (size_t i = 0; i < PIECES; i++) {
        const size_t from =
            t->size <= whole ? i * PIECE : (t->size - PIECE) / (PIECES - 1) * i;
        const size_t n =
            from < t->size ? VT_MIN((size_t)PIECE, t->size - from) : 0;

        if (!n)
            break;
        VT_RET(vt_tensor_bytes(piece, t, from, n));
        vt_sha256_add(s, piece, n);
    }
    return VITCL_OK;
}

/* In the order of the names, whatever that of the file. */
static int by_name(const void *a, const void *b)
{
    return strcmp((*(const vt_tensor *const *)a)->name,
                  (*(const vt_tensor *const *)b)->name);
}

static vitcl_status add_weights(vt_sha256_state *s, const vt_weights *w)
{
    const vt_tensors *raw = vt_weights_raw(w);
    const size_t n = vt_tensors_count(raw);
    const vt_tensor **order = NULL;
    vitcl_status st;

    VT_TRY(VT_NEW(&order, n));
    for (size_t i = 0; i < n; i++)
        order[i] = vt_tensors_at(raw, i);
    qsort(order, n, sizeof *order, by_name);
    for (size_t i = 0; i < n; i++)
        VT_TRY(add_tensor(s, order[i]));
done:
    free(order);
    return st;
}

static vitcl_status add_config(vt_sha256_state *s, const vt_model *m)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f;

    vt_sha256_text(s, vt_model_config(m)->name);
    if (!vt_model_json(m))
        return VITCL_OK;
    f = open_memstream(&text, &size);
    if (f)
        vt_json_print(f, vt_model_json(m));
    if (!f || fclose(f) != 0 || !text) {
        free(text);
        return vt_fail(VITCL_ENOMEM, "out of memory for a model's config");
    }
    vt_sha256_text(s, text);
    free(text);
    return VITCL_OK;
}

vitcl_status vt_identity_of(char out[65], const vt_model *m, const char *more)
{
    vt_sha256_state s;

    vt_sha256_begin(&s);
    VT_RET(add_config(&s, m));
    if (vt_model_weights(m))
        VT_RET(add_weights(&s, vt_model_weights(m)));
    if (more)
        vt_sha256_text(&s, more);
    vt_sha256_end_hex(&s, out);
    return VITCL_OK;
}

static vitcl_status of_pictures(char out[65], const vt_model *m,
                                uint32_t height, uint32_t width)
{
    vt_sha256_state s;
    vt_preprocess p;
    char text[256];

    VT_RET(vt_model_preprocess(&p, m, height, width));
    vt_sha256_begin(&s);
    snprintf(text, sizeof text,
             "%d %d %d %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32
             " %d %d %d %d %a",
             (int)p.fit, (int)p.filter, (int)p.crop, p.resize_height,
             p.resize_width, p.height, p.width, p.fill[0], p.fill[1], p.fill[2],
             (int)p.on_white, (double)p.scale);
    vt_sha256_text(&s, text);
    if (p.grey)
        vt_sha256_text(&s, "grey");
    if (p.own_mode)
        vt_sha256_text(&s, "own mode");
    if (p.pixels != VT_PIXELS_PILLOW) /* which has no word in earlier ones */
        vt_sha256_text(&s, vt_pixels_name(p.pixels));
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "%a %a", (double)p.mean[i],
                 (double)p.std[i]);
        vt_sha256_text(&s, text);
    }
    vt_sha256_end_hex(&s, out);
    return VITCL_OK;
}

vitcl_status vt_model_identity(char model_id[65], char pictures_id[65],
                               const vitcl_model *model, uint32_t height,
                               uint32_t width)
{
    uint32_t batch = 0;
    bool any;
    char of_model[65], of_size[65];

    any = !height && !width;
    VT_RET(vt_handle_size(&height, &width, &batch, model));
    if (any && vt_model_patches(model->model))
        height = width = 0;
    VT_RET(vt_identity_of(of_model, model->model, NULL));
    VT_RET(of_pictures(of_size, model->model, height, width));
    memcpy(model_id, of_model, sizeof of_model);
    memcpy(pictures_id, of_size, sizeof of_size);
    return VITCL_OK;
}

vitcl_status vt_model_about(vt_about *out, const vitcl_model *model,
                            uint32_t height, uint32_t width)
{
    out->height = height, out->width = width;
    out->patches = height ? 0 : vt_model_most_patches(model);
    snprintf(out->pixels, sizeof out->pixels, "%s", vt_model_resize(model));
    return vt_model_identity(out->model_id, out->pictures_id, model, height,
                             width);
}
