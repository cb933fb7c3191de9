/*
 * store.c - parameters on the device, once for all sessions of a model.
 *
 * A parameter is uploaded when a plan first binds it, in the layout that the
 * plan asks for: f32 rows (biases, scales) or packed by a GEMM provider. Where
 * the device reads host memory it packs straight from the file's pages; else
 * the f32 rows are gone again when packing is done. The file's pages are let go
 * after each parameter, so that there is never a second copy of the weights.
 */
#include "base/memory.h"
#include "plan/plan.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

typedef struct entry {
    char *name, *layout;
    vt_buf *buf;
} entry;

struct vt_store {
    pthread_mutex_t lock;
    int references;
    vt_dev *dev;
    vt_queue *queue;
    vt_fetch fetch;
    void (*forget)(void *context, const char *name);
    vt_borrow borrow; /* may be NULL */
    void *context;
    entry *entry;
    size_t entries, cap, bytes, grown; /* grown: the first entries */
};

vitcl_status vt_store_new(vt_store **out, vt_dev *dev, vt_fetch fetch,
                          void (*forget)(void *context, const char *name),
                          void *context)
{
    vitcl_status st = VITCL_OK;
    vt_store *s = NULL;

    VT_TRY(VT_NEW(&s, 1));
    pthread_mutex_init(&s->lock, NULL);
    s->references = 1;
    s->dev = vt_dev_ref(dev);
    s->fetch = fetch;
    s->forget = forget;
    s->context = context;
    VT_TRY(vt_queue_new(&s->queue, dev, false));
    *out = s, s = NULL;
done:
    vt_store_free(s);
    return st;
}

void vt_store_borrow(vt_store *s, vt_borrow borrow)
{
    s->borrow = borrow;
}

vt_store *vt_store_ref(vt_store *s)
{
    pthread_mutex_lock(&s->lock);
    s->references++;
    pthread_mutex_unlock(&s->lock);
    return s;
}

void vt_store_free(vt_store *s)
{
    int left;

    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    left = --s->references;
    pthread_mutex_unlock(&s->lock);
    if (left > 0)
        return;
    for (size_t i = 0; i < s->entries; i++) {
        free(s->entry[i].name);
        free(s->entry[i].layout);
        vt_buf_free(s->entry[i].buf);
    }
    free(s->entry);
    vt_queue_free(s->queue);
    vt_dev_free(s->dev);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

void vt_store_grow(vt_store *s)
{
    pthread_mutex_lock(&s->lock);
    for (; s->grown < s->entries; s->grown++)
        vt_buf_grow(s->entry[s->grown].buf);
    pthread_mutex_unlock(&s->lock);
}

size_t vt_store_bytes(vt_store *s)
{
    size_t bytes;

    pthread_mutex_lock(&s->lock);
    bytes = s->bytes;
    pthread_mutex_unlock(&s->lock);
    return bytes;
}

vitcl_status vt_store_fetch(float *out, vt_store *s, const char *name,
                            uint64_t count)
{
    vitcl_status st;

    pthread_mutex_lock(&s->lock);
    st = s->fetch(out, s->context, name, count);
    pthread_mutex_unlock(&s->lock);
    return st;
}

static vt_buf *find(const vt_store *s, const char *name, const char *layout)
{
    for (size_t i = 0; i < s->entries; i++)
        if (strcmp(s->entry[i].name, name) == 0 &&
            strcmp(s->entry[i].layout, layout) == 0)
            return s->entry[i].buf;
    return NULL;
}

static vitcl_status upload(vt_buf **out, vt_store *s, const char *name,
                           uint64_t count)
{
    vitcl_status st = VITCL_OK;
    float *host = NULL;
    vt_buf *b = NULL;

    VT_TRY(vt_new(&host, count, sizeof *host));
    VT_TRY(s->fetch(host, s->context, name, count));
    VT_TRY(vt_buf_new(&b, s->dev, count * sizeof *host));
    VT_TRY(vt_buf_write(s->queue, b, 0, host, count * sizeof *host));
    *out = b, b = NULL;
done:
    free(host);
    vt_buf_free(b);
    return st;
}

static void forget(vt_store *s, const char *name)
{
    if (s->forget)
        s->forget(s->context, name);
}

/* The f32 rows: the host's own, whose pages are not let go, or a copy. */
static vitcl_status rows_of(vt_buf **out, vt_store *s, const char *name,
                            uint64_t count, bool own)
{
    vitcl_status st = VITCL_OK;
    const float *host =
        own && s->borrow ? s->borrow(s->context, name, count) : NULL;

    if (host && vt_buf_over(out, s->dev, host, (size_t)count * sizeof *host))
        return VITCL_OK;
    VT_TRY(upload(out, s, name, count));
    forget(s, name);
done:
    return st;
}

/* Takes `b` over, also when it fails. */
static vitcl_status add(vt_store *s, const char *name, const char *layout,
                        vt_buf *b)
{
    vitcl_status st = VITCL_OK;
    entry e = {.buf = b};

    VT_TRY(vt_grow(&s->entry, &s->cap, s->entries + 1, sizeof *s->entry));
    VT_TRY(vt_strdup(&e.name, name));
    VT_TRY(vt_strdup(&e.layout, layout));
    s->entry[s->entries++] = e;
    s->bytes += vt_buf_size(b);
    e = (entry){0};
done:
    free(e.name);
    free(e.layout);
    vt_buf_free(e.buf);
    return st;
}

static vitcl_status rows(vt_buf **out, vt_store *s, const char *name,
                         uint64_t count, bool lent)
{
    vitcl_status st = VITCL_OK;
    const char *layout = lent ? "lent" : "";
    vt_buf *b;

    pthread_mutex_lock(&s->lock);
    b = find(s, name, layout);
    if (!b) {
        VT_TRY(rows_of(&b, s, name, count, lent));
        VT_TRY(add(s, name, layout, b));
    }
    *out = vt_buf_ref(b);
done:
    pthread_mutex_unlock(&s->lock);
    return st;
}

vitcl_status vt_store_raw(vt_buf **out, vt_store *s, const char *name,
                          uint64_t count)
{
    return rows(out, s, name, count, false);
}

vitcl_status vt_store_lent(vt_buf **out, vt_store *s, const char *name,
                           uint64_t count)
{
    return rows(out, s, name, count, true);
}

vitcl_status vt_store_packed(vt_buf **out, vt_store *s, const char *name,
                             const char *provider, const vt_gemm_desc *d)
{
    vitcl_status st = VITCL_OK;
    char layout[64];
    const char *word = vt_gemm_layout(s->dev, provider, d);
    uint64_t count = (uint64_t)d->N * (uint64_t)d->K;
    vt_buf *b, *rows = NULL, *packed = NULL;

    if (!word[0])
        return vt_store_raw(out, s, name, count);
    snprintf(layout, sizeof layout, "%s %s %s", provider, word,
             vt_dtype_name(d->type));
    pthread_mutex_lock(&s->lock);
    b = find(s, name, layout);
    if (!b) {
        VT_TRY(rows_of(&rows, s, name, count, true));
        VT_TRY(vt_buf_new(&packed, s->dev,
                          vt_gemm_packed_bytes(s->dev, provider, d)));
        VT_TRY(vt_gemm_pack(s->queue, provider, d, packed, rows));
        VT_TRY(vt_queue_finish(s->queue));
        forget(s, name);
        b = packed, packed = NULL;
        VT_TRY(add(s, name, layout, b));
    }
    *out = vt_buf_ref(b);
done:
    pthread_mutex_unlock(&s->lock);
    vt_buf_free(rows);
    vt_buf_free(packed);
    return st;
}
