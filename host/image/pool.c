/*
 * pool.c - decodes in advance, in decoder processes (spawn.c, sandbox.c) and
 * returns the pictures in push order.
 *
 * Each worker has a socket and a shared memory area with a few slots. The
 * parent opens a picture and sends the open file with a slot number; the worker
 * leaves the finished pixels in the slot, from where they are copied once, to
 * the caller. Several orders wait in each socket, so the workers continue while
 * the caller is busy. When no slot is free, a picture waits as a path. Slots
 * become free in push order, so each worker's last one is for the first picture
 * alone: it may need another worker than at first.
 *
 * All workers share one memory budget. Half of it is divided evenly. A picture
 * that needs more than such a share goes to one more worker, which has the
 * other half and is started on first use.
 *
 * Workers begin as vitcl-decode, which starts quickly. A picture of a format
 * that it does not read makes its worker vitcl-decode-all.
 */
#include "image/pool.h"

#include "base/file.h"
#include "base/memory.h"
#include "image/formats.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    AHEAD = 32, /* orders in addition to two per worker */
    FIRST = 1   /* slot of each worker for the first picture alone */
};
/* larger slots are released after use */
#define RELEASED ((uint64_t)16 << 20)

/* side: of thumbnails; 0: none. */
static vitcl_status make(vt_decoder_pool **out, const vt_preprocess *how,
                         const vt_decode_limits *limits, uint32_t side)
{
    vt_decoder_pool *p = NULL;
    vitcl_status st;

    VT_TRY(VT_NEW(&p, 1));
    p->limits = *limits;
    p->whole = !how && !side;
    p->side = side;
    p->opened = (vt_opened){-1, -1};
    if (how)
        p->how = *how;
    p->count = limits->workers + (limits->large > 0);
    p->depth = FIRST; /* whole pictures come one by one */
    if (!p->whole)
        p->depth += (2 * p->count + AHEAD + p->count - 1) / p->count;
    p->thumb_at = how        ? (uint64_t)how->height * how->width * 3
                  : p->whole ? limits->pixels * 3
                             : 0;
    p->picture_bytes = p->thumb_at + (uint64_t)side * side * 3;
    if (p->picture_bytes == 0 || p->picture_bytes > SIZE_MAX / 2 / p->depth)
        VT_TRY(vt_fail(VITCL_EINVAL, "pictures of %ux%u pixels", p->how.width,
                       p->how.height));
    VT_TRY(VT_NEW(&p->workers, p->count));
    for (unsigned i = 0; i < p->count; i++) {
        p->workers[i].process = VT_DECODE_PROCESS_NONE;
        p->workers[i].slots = -1;
    }
    for (unsigned i = 0; i < p->count; i++) {
        vt_worker *w = &p->workers[i];

        w->slots = vt_memory_file("vitcl-pixels");
        if (w->slots < 0)
            VT_TRY(vt_fail(VITCL_ENOMEM,
                           "cannot create memory to share with a decoder: %s",
                           strerror(errno)));
        VT_TRY(VT_NEW(&w->taken, p->depth));
        if (!vt_pool_is_large(p, i))
            VT_TRY(vt_pool_start(p, i));
    }
    *out = p, p = NULL;
done:
    vt_pool_free(p);
    return st;
}

vitcl_status vt_pool_new_thumbs(vt_decoder_pool **out, const vt_preprocess *how,
                                unsigned workers, uint32_t side)
{
    vt_decode_limits limits;
    const vitcl_status st = vt_decode_limits_get(&limits, workers);

    return st == VITCL_OK ? make(out, how, &limits, side) : st;
}

vitcl_status vt_pool_new(vt_decoder_pool **out, const vt_preprocess *how,
                         unsigned workers)
{
    return vt_pool_new_thumbs(out, how, workers, 0);
}

vitcl_status vt_pool_new_one(vt_decoder_pool **out, bool on_white)
{
    const vitcl_status st = vt_pool_new(out, NULL, 1);

    if (st == VITCL_OK)
        (*out)->how.on_white = on_white;
    return st;
}

vitcl_status vt_pool_new_shared(vt_decoder_pool **out, unsigned sharers,
                                bool large)
{
    vt_decode_limits limits;

    /* one more, so that there is always a worker for large pictures */
    VT_RET(vt_decode_limits_get(&limits, VT_MAX(sharers, 2u)));
    if (large)
        limits.each = VT_MAX(limits.large, limits.each);
    else
        limits.each = limits.each * limits.workers / VT_MAX(sharers, 2u);
    limits.large = 0;
    limits.workers = 1;
    VT_RET(make(out, NULL, &limits, 0));
    (*out)->small = !large;
    return VITCL_OK;
}

/* The least loaded worker that can take the job; VT_NO_WORKER: none. */
static int free_worker(const vt_decoder_pool *p, const vt_decode_job *j,
                       uint32_t *slot)
{
    const uint32_t kept = j == vt_pool_job(p, 0) ? 0 : FIRST;
    int best = VT_NO_WORKER;

    for (unsigned i = 0; i < p->count; i++) {
        const vt_worker *w = &p->workers[i];
        uint32_t room = 0;

        if (w->process.os.pid <= 0 || vt_pool_is_large(p, i) != j->large ||
            (best != VT_NO_WORKER &&
             w->unfinished >= p->workers[best].unfinished))
            continue;
        for (uint32_t s = 0; s < p->depth; s++)
            if (!w->taken[s] && room++ == kept) {
                best = (int)i;
                *slot = s;
                break;
            }
    }
    return best;
}

static vitcl_status open_job(int *out, uint64_t *size, vt_decode_job *j)
{
    struct stat s;
    int fd = j->file >= 0
                 ? fcntl(j->file, F_DUPFD_CLOEXEC, 0)
                 : open(j->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return vt_fail(errno == EMFILE || errno == ENFILE || errno == ENOMEM
                           ? VITCL_ENOMEM /* not an error of the file */
                           : VITCL_EIO,
                       "%s: %s", vt_pool_name(j), strerror(errno));
    if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode)) {
        close(fd);
        return vt_fail(VITCL_EIO, "%s: not a regular file", vt_pool_name(j));
    }
    if (j->file < 0)
        j->opened = (vt_opened){(int64_t)s.st_size,
                                (int64_t)s.st_mtim.tv_sec * 1000000000 +
                                    (int64_t)s.st_mtim.tv_nsec};
    *out = fd;
    *size = (uint64_t)s.st_size;
    return VITCL_OK;
}

/* Do only the codecs of vitcl-decode-all read it? */
static bool is_extra(int file)
{
    uint8_t head[VT_FORMAT_BYTES];
    const ssize_t n = pread(file, head, sizeof head, 0);
    const vt_picture_format *format =
        n > 0 ? vt_picture_format_of(head, (size_t)n) : NULL;

    return format && vt_picture_format_is_extra(format);
}

/* Makes a worker one that has all codecs: a new process, once the old one has
 * nothing left to do. False: later, or never, if *st says so. */
static bool widen(vt_decoder_pool *p, unsigned index, vitcl_status *st)
{
    vt_worker *w = &p->workers[index];
    vt_decode_process old;

    if (w->all)
        return true;
    if (w->unfinished > 0)
        return false;
    old = w->process;
    w->all = true;
    *st = vt_pool_start(p, index);
    w->all = *st == VITCL_OK;
    if (w->all)
        (void)vt_decode_end(&old);
    return w->all;
}

/* Sends a job to a worker; false: no room now. */
static bool dispatch(vt_decoder_pool *p, vt_decode_job *j)
{
    vt_decode_order order = {.how = p->how, .whole = p->whole, .side = p->side};
    int file = -1, target, error;
    uint32_t slot = 0;
    vitcl_status st = VITCL_OK;

    if (j->large && p->workers[p->count - 1].process.os.pid <= 0)
        st = vt_pool_start(p, p->count - 1);
    target = free_worker(p, j, &slot);
    if (st == VITCL_OK && target == VT_NO_WORKER)
        return false;
    if (st == VITCL_OK)
        st = open_job(&file, &order.size, j);
    if (st == VITCL_OK && is_extra(file) && !widen(p, (unsigned)target, &st)) {
        close(file);
        if (st == VITCL_OK)
            return false;
    }
    if (st != VITCL_OK) {
        vt_pool_fail(p, j, st);
        return true;
    }
    order.offset = slot * p->picture_bytes;
    order.thumb_offset = order.offset + p->thumb_at;
    order.id = j->id = ++p->sends;
    snprintf(order.name, sizeof order.name, "%s", vt_pool_name(j));
    error = vt_decode_send(&p->workers[target].process, &order, file);
    close(file);
    if (error == EPIPE || error == ECONNRESET)
        return false; /* it died; poll() will report it */
    if (error != 0) {
        if (p->workers[target].unfinished > 0)
            return false; /* full: later */
        (void)vt_fail(VITCL_ENOMEM, "%s: cannot be sent to a decoder: %s",
                      vt_pool_name(j), strerror(error));
        vt_pool_fail(p, j, VITCL_ENOMEM);
        return true;
    }
    j->state = VT_DECODE_SENT;
    j->worker = target;
    j->slot = slot;
    p->workers[target].taken[slot] = true;
    if (p->workers[target].unfinished++ == 0)
        p->workers[target].silent = 0;
    return true;
}

static void dispatch_all(vt_decoder_pool *p)
{
    bool full[2] = {false, false};

    for (unsigned i = 0; i < vt_pool_window(p) && !full[0]; i++) {
        vt_decode_job *j = vt_pool_job(p, i);

        if (j->state == VT_DECODE_WAITING && !full[j->large])
            full[j->large] = !dispatch(p, j);
    }
}

static bool any_alive(vt_decoder_pool *p)
{
    bool alive = false;

    for (unsigned i = 0; i < p->count; i++)
        alive = alive ||
                (p->workers[i].process.os.pid > 0 && !vt_pool_is_large(p, i));
    return alive || vt_pool_start(p, 0) == VITCL_OK;
}

/* Takes ownership of `file`. */
static vitcl_status push(vt_decoder_pool *p, const char *path, int file)
{
    vitcl_status st = VITCL_OK;
    vt_decode_job *resized = NULL, *j;

    if (p->pending == p->capacity) {
        size_t capacity = p->capacity ? p->capacity * 2 : 64;

        VT_TRY(VT_NEW(&resized, capacity));
        for (unsigned i = 0; i < p->pending; i++)
            resized[i] = *vt_pool_job(p, i);
        free(p->jobs);
        p->jobs = resized, p->capacity = capacity, p->head = 0;
    }
    j = vt_pool_job(p, p->pending);
    *j = (vt_decode_job){
        .worker = VT_NO_WORKER, .file = file, .opened = {-1, -1}};
    VT_TRY(vt_strdup(&j->path, path));
    file = -1;
    p->pending++;
    if (p->pending <= p->count * p->depth) {
        vt_pool_listen(p, 0);
        dispatch_all(p);
    }
done:
    if (file >= 0)
        close(file);
    return st;
}

vitcl_status vt_pool_push(vt_decoder_pool *p, const char *path)
{
    return push(p, path, -1);
}

vitcl_status vt_pool_push_bytes(vt_decoder_pool *p, const void *bytes,
                                size_t size, const char *name)
{
    int file = vt_memory_file("vitcl-picture");

    if (file >= 0 && vt_write_at(file, bytes, size, 0) != 0) {
        close(file);
        file = -1;
    }
    if (file < 0)
        return vt_fail(VITCL_ENOMEM, "%s: out of memory for %zu bytes", name,
                       size);
    return push(p, name, file);
}

unsigned vt_pool_pending(const vt_decoder_pool *p)
{
    return p->pending;
}

static void drop_head(vt_decoder_pool *p)
{
    vt_decode_job *j = vt_pool_job(p, 0);

    if (j->worker != VT_NO_WORKER)
        p->workers[j->worker].taken[j->slot] = false;
    if (j->file >= 0)
        close(j->file);
    free(j->path);
    free(j->message);
    *j = (vt_decode_job){0};
    p->head = (p->head + 1) % p->capacity;
    p->pending--;
}

/* Waits until the first job is done. */
static vt_decode_job *await(vt_decoder_pool *p)
{
    vt_decode_job *j = vt_pool_job(p, 0);

    vt_pool_listen(p, 0);
    dispatch_all(p);
    while (j->state != VT_DECODE_DONE) {
        if (!any_alive(p)) {
            vt_pool_fail(p, j, VITCL_ENOMEM);
            break;
        }
        vt_pool_listen(p, 1000);
        dispatch_all(p);
    }
    return j;
}

/* at: in its slot. */
static vitcl_status copy_pixels(uint8_t *rgb, const vt_decoder_pool *p,
                                const vt_decode_job *j, uint64_t at,
                                size_t size)
{
    const int slots = p->workers[j->worker].slots;
    const uint64_t offset = j->slot * p->picture_bytes + at;

    if (vt_read_at(slots, rgb, size, offset) != 0)
        return vt_fail(VITCL_EIO, "%s: the decoder returned no pixels",
                       vt_pool_name(j));
    if (size > RELEASED && p->depth == 1)
        (void)!ftruncate(slots, 0);
    return VITCL_OK;
}

/* Removes the first job; its slot is free, so the workers can continue. Returns
 * st, with its message: the next ones may fail, too. */
static vitcl_status leave(vt_decoder_pool *p, vitcl_status st)
{
    char message[VT_MESSAGE_ROOM];

    snprintf(message, sizeof message, "%s", vt_message());
    drop_head(p);
    dispatch_all(p);
    return st == VITCL_OK ? st : vt_fail(st, "%s", message);
}

static vitcl_status failure_of(const vt_decode_job *j)
{
    return vt_fail(j->status, "%s", j->message ? j->message : "out of memory");
}

static vitcl_status copy_thumb(vt_decoder_pool *p, const vt_decode_job *j)
{
    vt_picture t = {j->thumb_width, j->thumb_height, NULL};
    const size_t pixels = (size_t)t.width * t.height;
    vitcl_status st;

    VT_TRY(vt_new(&t.rgb, pixels, 3));
    VT_TRY(copy_pixels(t.rgb, p, j, p->thumb_at, 3 * pixels));
    p->thumb = t, t = (vt_picture){0};
done:
    vt_picture_free(&t);
    return st;
}

vitcl_status vt_pool_thumb(vt_picture *out, const vt_decoder_pool *p)
{
    const vt_picture *t = &p->thumb;
    vt_picture copy = {t->width, t->height, NULL};

    if (!t->rgb)
        return vt_fail(VITCL_EINVAL, "there is no thumbnail: none was asked "
                                     "for, or no picture was taken");
    VT_RET(vt_new(&copy.rgb, (size_t)t->width * t->height, 3));
    memcpy(copy.rgb, t->rgb, (size_t)t->width * t->height * 3);
    *out = copy;
    return VITCL_OK;
}

vt_opened vt_pool_opened(const vt_decoder_pool *p)
{
    return p->opened;
}

vitcl_status vt_pool_next(uint8_t *rgb, vt_decoder_pool *p)
{
    vitcl_status st;
    const vt_decode_job *j;

    if (p->pending == 0 || p->whole)
        return vt_fail(VITCL_EINVAL, "no picture was pushed");
    vt_picture_free(&p->thumb);
    j = await(p);
    p->opened = j->opened;
    st = j->status == VITCL_OK ? VITCL_OK : failure_of(j);
    if (st == VITCL_OK && rgb)
        st = copy_pixels(rgb, p, j, 0, (size_t)p->thumb_at);
    if (st == VITCL_OK && p->side)
        st = copy_thumb(p, j);
    return leave(p, st);
}

vitcl_status vt_pool_whole(vt_picture *out, vt_decoder_pool *p)
{
    vitcl_status st = VITCL_OK;
    vt_picture picture = {0};
    const vt_decode_job *j;

    if (p->pending == 0 || !p->whole)
        return vt_fail(VITCL_EINVAL, "no picture was pushed");
    j = await(p);
    VT_TRY(j->status == VITCL_OK ? VITCL_OK : failure_of(j));
    picture = (vt_picture){j->width, j->height, NULL};
    VT_TRY(vt_new(&picture.rgb, (size_t)j->width * j->height, 3));
    VT_TRY(copy_pixels(picture.rgb, p, j, 0,
                       (size_t)picture.width * picture.height * 3));
    *out = picture, picture = (vt_picture){0};
done:
    vt_picture_free(&picture);
    return leave(p, st);
}

void vt_pool_free(vt_decoder_pool *p)
{
    if (!p)
        return;
    while (p->pending > 0)
        drop_head(p);
    for (unsigned i = 0; i < p->count && p->workers; i++) {
        (void)vt_decode_end(&p->workers[i].process);
        if (p->workers[i].slots >= 0)
            close(p->workers[i].slots);
        free(p->workers[i].taken);
    }
    vt_picture_free(&p->thumb);
    free(p->workers);
    free(p->jobs);
    free(p);
}
