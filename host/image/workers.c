/*
 * workers.c - handles the answers of a pool's decoder processes, and their
 * deaths.
 *
 * When a worker dies, the picture that it was decoding gets an error; its other
 * orders go to its replacement. A worker has its own slots only, so a picture
 * that takes it over can affect no other pixels than those decoded by the same
 * process.
 */
#include "image/pool.h"

#include "base/log.h"
#include "base/memory.h"
#include "image/decoders.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Seconds without an answer before a worker is killed; or twice the limit on
 * processor time per picture, if that is more. */
enum { PATIENCE = 60 };

static atomic_bool unlocked, approximate, clipped;

vt_pool_notes vt_pool_noted(void)
{
    return (vt_pool_notes){.unlocked = atomic_load(&unlocked),
                           .approximate = atomic_load(&approximate),
                           .clipped = atomic_load(&clipped)};
}

const char *vt_pool_name(const vt_decode_job *j)
{
    const size_t n = strlen(j->path);

    return j->path + (n < VT_NAME_ROOM ? 0 : n - VT_NAME_ROOM + 1);
}

bool vt_pool_is_large(const vt_decoder_pool *p, unsigned index)
{
    return p->limits.large && index == p->count - 1;
}

vitcl_status vt_pool_start(vt_decoder_pool *p, unsigned index)
{
    vt_worker *w = &p->workers[index];

    VT_RET(vt_decode_start(
        &w->process, w->all, w->slots, p->picture_bytes * p->depth,
        vt_pool_is_large(p, index) ? p->limits.large : p->limits.each,
        &p->limits));
    w->unfinished = 0;
    w->silent = 0;
    return VITCL_OK;
}

vt_decode_job *vt_pool_job(const vt_decoder_pool *p, unsigned i)
{
    return &p->jobs[(p->head + i) % p->capacity];
}

unsigned vt_pool_window(const vt_decoder_pool *p)
{
    return VT_MIN(p->pending, p->count * p->depth);
}

/* Marks a job as done: with pixels in its slot, or with a message. */
static void finish(vt_decoder_pool *p, vt_decode_job *j, vitcl_status status,
                   const char *message)
{
    if (j->worker != VT_NO_WORKER) {
        vt_worker *w = &p->workers[j->worker];

        w->unfinished -= w->unfinished > 0;
        if (status != VITCL_OK) {
            w->taken[j->slot] = false;
            j->worker = VT_NO_WORKER;
        }
    }
    j->state = VT_DECODE_DONE;
    j->status = status;
    if (status != VITCL_OK && vt_strdup(&j->message, message) != VITCL_OK)
        j->message = NULL; /* only the status remains */
}

void vt_pool_fail(vt_decoder_pool *p, vt_decode_job *j, vitcl_status status)
{
    char message[VT_MESSAGE_ROOM];

    snprintf(message, sizeof message, "%s", vt_message());
    finish(p, j, status, message);
}

/* The job that the worker is decoding: it handles orders in sending order. */
static vt_decode_job *first_sent(const vt_decoder_pool *p, int worker_index)
{
    vt_decode_job *first = NULL;

    for (unsigned i = 0; i < vt_pool_window(p); i++) {
        vt_decode_job *j = vt_pool_job(p, i);

        if (j->state == VT_DECODE_SENT && j->worker == worker_index &&
            (!first || j->id < first->id))
            first = j;
    }
    return first;
}

/* The worker died or must be killed: its picture fails, the other jobs wait
 * again. */
static void bury(vt_decoder_pool *p, int index, bool too_slow)
{
    vt_worker *w = &p->workers[index];
    vt_decode_job *guilty = first_sent(p, index);
    const char *why = "the decoder crashed";

    if (vt_decode_end(&w->process) || too_slow)
        why = "it took too long to decode";
    if (guilty) {
        (void)vt_fail(VITCL_ECORRUPT, "%s: %s", vt_pool_name(guilty), why);
        vt_pool_fail(p, guilty, VITCL_ECORRUPT);
    }
    for (unsigned i = 0; i < vt_pool_window(p); i++) {
        vt_decode_job *j = vt_pool_job(p, i);

        if (j->state == VT_DECODE_SENT && j->worker == index) {
            w->taken[j->slot] = false;
            j->worker = VT_NO_WORKER;
            j->state = VT_DECODE_WAITING;
        }
    }
    w->unfinished = 0;
    (void)vt_pool_start(p,
                        (unsigned)index); /* on failure, the others continue */
}

/* Takes one answer; false: the worker is dead or its reply is invalid. */
static bool take_reply(vt_decoder_pool *p, int index)
{
    vt_worker *w = &p->workers[index];
    vt_decode_reply reply;
    ssize_t n;
    vt_decode_job *j;
    bool large; /* too large for this worker */

    do {
        n = recv(w->process.socket, &reply, sizeof reply, MSG_DONTWAIT);
        /* a reset is reported once, before the remaining replies */
    } while (n < 0 && (errno == EINTR || errno == ECONNRESET));
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return true;
    j = first_sent(p, index);
    if (n != (ssize_t)sizeof reply || !j || reply.id != j->id ||
        reply.status > VITCL_OK || reply.status < VITCL_EDEVICE)
        return false;
    w->silent = 0;
    if (!reply.locked)
        atomic_store(&unlocked, true);
    if (reply.notes & VT_NOTE_APPROXIMATE)
        atomic_store(&approximate, true);
    if (reply.notes & VT_NOTE_CLIPPED) {
        atomic_store(&clipped, true);
        vt_log("%s: grey of more than 8 bits became white", vt_pool_name(j));
    }
    large = reply.status == VITCL_ENOMEM && !(reply.notes & VT_NOTE_NO_ROOM);
    j->width = reply.width, j->height = reply.height;
    j->thumb_width = reply.thumb_width, j->thumb_height = reply.thumb_height;
    if (reply.status == VITCL_OK) {
        if (p->side && (!j->thumb_width || !j->thumb_height ||
                        j->thumb_width > p->side || j->thumb_height > p->side))
            return false;
        if (p->whole && (!j->width || !j->height || j->width > VT_SIDE_MAX ||
                         j->height > VT_SIDE_MAX ||
                         (uint64_t)j->width * j->height > p->limits.pixels))
            return false;
        finish(p, j, VITCL_OK, NULL);
    } else if (large && p->limits.large && !j->large) {
        w->unfinished -= w->unfinished > 0;
        w->taken[j->slot] = false;
        j->worker = VT_NO_WORKER;
        j->state = VT_DECODE_WAITING;
        j->large = true;
    } else if (large && !p->small) {
        (void)vt_fail(
            VITCL_ECORRUPT,
            "%s: decoding needs more than %llu MiB of memory; "
            "set VITCL_DECODE_MEMORY to allow more",
            vt_pool_name(j),
            (unsigned long long)VT_MAX(p->limits.large, p->limits.each) >> 20);
        vt_pool_fail(p, j, VITCL_ECORRUPT);
    } else {
        reply.message[sizeof reply.message - 1] = 0;
        finish(p, j, (vitcl_status)reply.status, reply.message);
    }
    return true;
}

void vt_pool_listen(vt_decoder_pool *p, int ms)
{
    const unsigned patience = VT_MAX(PATIENCE, 2 * p->limits.seconds);
    struct pollfd fds[VT_WORKERS_MAX + 1]; /* and the one for large pictures */
    int n;

    for (unsigned i = 0; i < p->count; i++)
        fds[i] = (struct pollfd){p->workers[i].process.socket, POLLIN, 0};
    n = poll(fds, p->count, ms);
    for (unsigned i = 0; i < p->count && n >= 0; i++) {
        vt_worker *w = &p->workers[i];

        if (w->process.socket < 0)
            continue;
        if (fds[i].revents) {
            if (!take_reply(p, (int)i))
                bury(p, (int)i, false);
        } else if (n == 0 && ms >= 1000 && w->unfinished > 0 &&
                   ++w->silent > patience) {
            bury(p, (int)i, true);
        }
    }
}
