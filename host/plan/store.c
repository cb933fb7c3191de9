/*
 * store.c - parameters on the device, shared by all sessions of a model.
 *
 * A parameter is uploaded when a plan first binds it, in the layout that the
 * plan requests: f32 rows (biases, scales) or packed by a GEMM provider. All
 * parameters are read into the same staging buffer, which stays in the
 * processor's cache: this costs no more than mapping the file, and there is
 * never a second copy of the weights. Where kernels read host
 * memory they pack directly from the buffer.
 */
#include "plan/store.h"

#include "base/memory.h"

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
    vt_read_param read_param;
    void *context;
    vt_slot *slot; /* the staging buffer: a slot if the device has them, */
    float *plain;  /* else plain memory */
    float *stage;  /* where the host has it */
    uint64_t stage_count;
    entry *entry;
    size_t entries, cap, bytes;
    size_t on_large_pages; /* this many of the first entries */
};

vitcl_status vt_store_new(vt_store **out, vt_dev *dev, vt_read_param read_param,
                          void *context)
{
    vitcl_status st = VITCL_OK;
    vt_store *s = NULL;

    VT_TRY(VT_NEW(&s, 1));
    pthread_mutex_init(&s->lock, NULL);
    s->references = 1;
    s->dev = vt_dev_ref(dev);
    s->read_param = read_param;
    s->context = context;
    VT_TRY(vt_queue_new(&s->queue, dev, VT_TIMES_NONE));
    *out = s, s = NULL;
done:
    vt_store_free(s);
    return st;
}

static void drop_stage(vt_store *s)
{
    vt_slot_free(s->slot);
    free(s->plain);
    s->slot = NULL;
    s->plain = s->stage = NULL;
    s->stage_count = 0;
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
    drop_stage(s);
    vt_queue_free(s->queue);
    vt_dev_free(s->dev);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

void vt_store_large_pages(vt_store *s)
{
    pthread_mutex_lock(&s->lock);
    for (; s->on_large_pages < s->entries; s->on_large_pages++)
        vt_buf_large_pages(s->entry[s->on_large_pages].buf);
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

static vt_buf *find(const vt_store *s, const char *name, const char *layout)
{
    for (size_t i = 0; i < s->entries; i++)
        if (strcmp(s->entry[i].name, name) == 0 &&
            strcmp(s->entry[i].layout, layout) == 0)
            return s->entry[i].buf;
    return NULL;
}

static vitcl_status make_stage(vt_store *s, const char *name, uint64_t count)
{
    size_t bytes = 0;

    drop_stage(s);
    if (count > SIZE_MAX || !vt_mul(&bytes, (size_t)count, sizeof(float)) ||
        (!vt_slot_new(&s->slot, s->queue, bytes) &&
         !(s->plain = malloc(bytes))))
        return vt_fail(VITCL_ENOMEM, "out of memory for %s", name);
    s->stage_count = count;
    return VITCL_OK;
}

/* Read a parameter's rows into s->stage. */
static vitcl_status read_rows(vt_store *s, const char *name, uint64_t count)
{
    void *rows;

    if (count > s->stage_count)
        VT_RET(make_stage(s, name, count));
    rows = s->plain;
    if (s->slot)
        VT_RET(vt_slot_fill(&rows, s->slot));
    s->stage = rows;
    return s->read_param(s->stage, s->context, name, count);
}

static vitcl_status copy_stage(vt_buf **out, vt_store *s, size_t bytes)
{
    vitcl_status st = VITCL_OK;
    vt_buf *b = NULL;

    VT_TRY(vt_buf_new(&b, s->dev, bytes));
    VT_TRY(vt_buf_write(s->queue, b, 0, s->stage, bytes));
    /* Intel's driver for CPUs may return before other queues see it. */
    VT_TRY(vt_queue_finish(s->queue));
    *out = b, b = NULL;
done:
    vt_buf_free(b);
    return st;
}

/* Rows that are valid until the next parameter is read: those in the slot if
 * there is one, else a copy. */
static vitcl_status passing(vt_buf **out, vt_store *s, const char *name,
                            uint64_t count)
{
    VT_RET(read_rows(s, name, count));
    if (!s->slot)
        return copy_stage(out, s, (size_t)count * sizeof *s->stage);
    VT_RET(vt_slot_give(s->slot));
    *out = vt_buf_ref(vt_slot_buf(s->slot));
    return VITCL_OK;
}

void vt_store_rest(vt_store *s)
{
    pthread_mutex_lock(&s->lock);
    drop_stage(s);
    pthread_mutex_unlock(&s->lock);
}

vitcl_status vt_store_read(float *out, vt_store *s, const char *name,
                           uint64_t count)
{
    return s->read_param(out, s->context, name, count);
}

/* Takes ownership of b, also on failure. */
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

vitcl_status vt_store_raw(vt_buf **out, vt_store *s, const char *name,
                          uint64_t count)
{
    vitcl_status st = VITCL_OK;
    vt_buf *b;

    pthread_mutex_lock(&s->lock);
    b = find(s, name, "");
    if (!b) {
        VT_TRY(read_rows(s, name, count));
        VT_TRY(copy_stage(&b, s, (size_t)count * sizeof *s->stage));
        VT_TRY(add(s, name, "", b));
    }
    *out = vt_buf_ref(b);
done:
    pthread_mutex_unlock(&s->lock);
    return st;
}

vitcl_status vt_store_packed(vt_buf **out, vt_store *s, const char *name,
                             const vt_product *product)
{
    const vt_gemm_desc *d = &product->told.d;
    vitcl_status st = VITCL_OK, finished;
    char layout[64];
    uint64_t count = (uint64_t)d->N * (uint64_t)d->K;
    vt_buf *b, *rows = NULL, *packed = NULL;

    if (!product->layout[0])
        return vt_store_raw(out, s, name, count);
    snprintf(layout, sizeof layout, "%s %s %s", product->form->provider,
             product->layout, vt_dtype_name(d->type));
    pthread_mutex_lock(&s->lock);
    b = find(s, name, layout);
    if (!b) {
        VT_TRY(passing(&rows, s, name, count));
        VT_TRY(vt_buf_new(&packed, s->dev, product->packed_bytes));
        st = vt_product_pack(s->queue, product, packed, rows);
        /* after a failure too: its first kernel may still read the rows */
        finished = vt_queue_finish(s->queue);
        VT_TRY(st);
        VT_TRY(finished);
        b = packed, packed = NULL;
        VT_TRY(add(s, name, layout, b));
    }
    *out = vt_buf_ref(b);
done:
    vt_buf_free(rows);
    pthread_mutex_unlock(&s->lock);
    vt_buf_free(packed);
    return st;
}
