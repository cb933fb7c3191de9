/*
 * workers.c - decoding ahead in worker processes (sandbox.c), answers in the
 * order of the questions.
 *
 * Each worker has a socket and a piece of shared memory with a few slots. The
 * parent opens a picture, sends the open file with a slot number, and the
 * worker leaves the finished pixels in the slot: they are copied once, to the
 * caller. Several orders wait in each socket, so the workers go on while the
 * caller is busy. What is beyond the slots waits as a path.
 *
 * When a worker dies, the picture that it was at costs an error; its other
 * orders go to the worker that takes its place. A worker maps its own slots
 * only, so what one picture does to it cannot reach another's pixels, except
 * those decoded by the same process.
 */
#include "image/image.h"

#include "base/memory.h"
#include "image/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    WORKERS_MAX = 256,
    AHEAD = 32,    /* orders beside two a worker */
    PATIENCE = 60, /* seconds of waiting for a worker that says nothing */
    NO_WORKER = -1
};

typedef enum { WAITING, SENT, DONE } job_state;

typedef struct job {
    char *path;
    uint64_t id; /* counts what was sent */
    job_state state;
    int worker; /* NO_WORKER: nothing holds its pixels */
    uint32_t slot;
    vitcl_status status;
    char *message; /* of a failure */
} job;

typedef struct worker {
    pid_t pid;  /* 0: none */
    int socket; /* -1: none */
    uint8_t *slots;
    bool *taken; /* a slot of a job that is sent or done */
    unsigned unfinished;
    unsigned silent; /* seconds that we have waited for it */
} worker;

struct vt_decoder_pool {
    vt_preprocess how;
    size_t picture_bytes, map_bytes;
    uint32_t depth; /* slots of a worker */
    unsigned count;
    worker *workers;
    job *jobs; /* a ring: `pending` of them from `head` on */
    size_t capacity, head;
    unsigned pending;
    uint64_t sends;
};

/* ---- workers ------------------------------------------------------------ */

static void stop_worker(worker *w)
{
    if (w->socket >= 0)
        close(w->socket);
    w->socket = -1;
    if (w->pid > 0) {
        kill(w->pid, SIGKILL);
        while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    w->pid = 0;
}

static vitcl_status start_worker(vt_decoder_pool *p, worker *w)
{
    int pair[2] = {-1, -1};
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return vt_fail(VITCL_EIO, "cannot start a decoder process: %s",
                       strerror(errno));
    pid = fork();
    if (pid == 0) {
        for (unsigned i = 0; i < p->count; i++)
            if (&p->workers[i] != w && p->workers[i].slots)
                munmap(p->workers[i].slots, p->map_bytes);
        vt_sandbox_work(pair[1], w->slots, &p->how);
    }
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return vt_fail(VITCL_EIO, "cannot start a decoder process: %s",
                       strerror(errno));
    }
    w->pid = pid;
    w->socket = pair[0];
    w->unfinished = 0;
    w->silent = 0;
    return VITCL_OK;
}

static unsigned cores(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n < 1 ? 1 : n > WORKERS_MAX ? WORKERS_MAX : (unsigned)n;
}

vitcl_status vt_pool_new(vt_decoder_pool **out, const vt_preprocess *how,
                         unsigned workers)
{
    vt_decoder_pool *p = NULL;
    vitcl_status st;

    VT_TRY(VT_NEW(&p, 1));
    p->how = *how;
    p->count = workers ? VT_MIN(workers, (unsigned)WORKERS_MAX) : cores();
    p->depth = (2 * p->count + AHEAD + p->count - 1) / p->count;
    if (!vt_mul(&p->picture_bytes, how->height, how->width) ||
        !vt_mul(&p->picture_bytes, p->picture_bytes, 3) ||
        !vt_mul(&p->map_bytes, p->picture_bytes, p->depth) ||
        p->map_bytes == 0) {
        st = vt_fail(VITCL_EINVAL, "pictures of %ux%u pixels", how->width,
                     how->height);
        goto done;
    }
    VT_TRY(VT_NEW(&p->workers, p->count));
    for (unsigned i = 0; i < p->count; i++)
        p->workers[i].socket = -1;
    for (unsigned i = 0; i < p->count; i++) {
        worker *w = &p->workers[i];
        void *map = mmap(NULL, p->map_bytes, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        if (map == MAP_FAILED) {
            st = vt_fail(VITCL_ENOMEM, "out of memory for %zu bytes of pixels",
                         p->map_bytes);
            goto done;
        }
        w->slots = map;
        VT_TRY(VT_NEW(&w->taken, p->depth));
        VT_TRY(start_worker(p, w));
    }
    *out = p, p = NULL;
done:
    vt_pool_free(p);
    return st;
}

/* ---- jobs --------------------------------------------------------------- */

static job *job_at(const vt_decoder_pool *p, unsigned i)
{
    return &p->jobs[(p->head + i) % p->capacity];
}

/* How many jobs from the head on may have left: as many as there are slots,
 * so that a million waiting paths cost nothing. */
static unsigned window(const vt_decoder_pool *p)
{
    return VT_MIN(p->pending, p->count * p->depth);
}

/* The job is answered: with pixels in its slot, or with a message. */
static void finish(vt_decoder_pool *p, job *j, vitcl_status status,
                   const char *message)
{
    if (j->worker != NO_WORKER) {
        worker *w = &p->workers[j->worker];

        w->unfinished -= w->unfinished > 0;
        if (status != VITCL_OK) {
            w->taken[j->slot] = false;
            j->worker = NO_WORKER;
        }
    }
    j->state = DONE;
    j->status = status;
    if (status != VITCL_OK && vt_strdup(&j->message, message) != VITCL_OK)
        j->message = NULL; /* the status alone remains */
}

static void finish_failed(vt_decoder_pool *p, job *j, vitcl_status status)
{
    char message[VT_MESSAGE_ROOM];

    snprintf(message, sizeof message, "%s", vt_message());
    finish(p, j, status, message);
}

/* A worker that can take an order, the least loaded; NO_WORKER: none. */
static int free_worker(const vt_decoder_pool *p, uint32_t *slot)
{
    int best = NO_WORKER;

    for (unsigned i = 0; i < p->count; i++) {
        const worker *w = &p->workers[i];

        if (w->pid <= 0 ||
            (best != NO_WORKER && w->unfinished >= p->workers[best].unfinished))
            continue;
        for (uint32_t s = 0; s < p->depth; s++)
            if (!w->taken[s]) {
                best = (int)i;
                *slot = s;
                break;
            }
    }
    return best;
}

/* Of a very long path, the end: it names the file and leaves a message room. */
static const char *name_of(const char *path)
{
    const size_t n = strlen(path);

    return path + (n < VT_NAME_ROOM ? 0 : n - VT_NAME_ROOM + 1);
}

static vitcl_status open_picture(int *out, uint64_t *size, const char *path)
{
    struct stat s;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return vt_fail(VITCL_EIO, "%s: %s", name_of(path), strerror(errno));
    if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode)) {
        close(fd);
        return vt_fail(VITCL_EIO, "%s: not a file", name_of(path));
    }
    *out = fd;
    *size = (uint64_t)s.st_size;
    return VITCL_OK;
}

/* Hand one job to a worker; false: no room now. */
static bool dispatch(vt_decoder_pool *p, job *j)
{
    vt_job_order order = {0};
    int file = -1, target, error;
    vitcl_status st;

    target = free_worker(p, &order.slot);
    if (target == NO_WORKER)
        return false;
    st = open_picture(&file, &order.size, j->path);
    if (st != VITCL_OK) {
        finish_failed(p, j, st);
        return true;
    }
    order.id = j->id = ++p->sends;
    snprintf(order.name, sizeof order.name, "%s", name_of(j->path));
    error = vt_sandbox_send(p->workers[target].socket, &order, file);
    close(file);
    if (error == EPIPE || error == ECONNRESET)
        return false; /* it died; poll() will tell */
    if (error != 0) {
        if (p->workers[target].unfinished > 0)
            return false; /* full: later */
        (void)vt_fail(VITCL_EIO, "%s: cannot be handed to a decoder: %s",
                      name_of(j->path), strerror(error));
        finish_failed(p, j, VITCL_EIO);
        return true;
    }
    j->state = SENT;
    j->worker = target;
    j->slot = order.slot;
    p->workers[target].taken[order.slot] = true;
    if (p->workers[target].unfinished++ == 0)
        p->workers[target].silent = 0;
    return true;
}

static void dispatch_all(vt_decoder_pool *p)
{
    for (unsigned i = 0; i < window(p); i++)
        if (job_at(p, i)->state == WAITING && !dispatch(p, job_at(p, i)))
            return;
}

/* ---- answers ------------------------------------------------------------ */

/* What the worker is at: orders are done in the order they were sent. */
static job *first_sent(const vt_decoder_pool *p, int worker_index)
{
    job *first = NULL;

    for (unsigned i = 0; i < window(p); i++) {
        job *j = job_at(p, i);

        if (j->state == SENT && j->worker == worker_index &&
            (!first || j->id < first->id))
            first = j;
    }
    return first;
}

/* The worker is gone or must go: its picture pays, the others wait again. */
static void bury(vt_decoder_pool *p, int index, bool too_slow)
{
    worker *w = &p->workers[index];
    job *guilty = first_sent(p, index);
    int status = 0;
    const char *why = "the decoder crashed";

    if (too_slow)
        kill(w->pid, SIGKILL);
    close(w->socket);
    w->socket = -1;
    if (w->pid > 0) {
        kill(w->pid, SIGKILL); /* it may have closed its socket and live */
        while (waitpid(w->pid, &status, 0) < 0)
            if (errno != EINTR) {
                status = 0;
                break;
            }
    }
    w->pid = 0;
    if (too_slow || (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF))
        why = "it took too long to decode";
    if (guilty) {
        (void)vt_fail(VITCL_ECORRUPT, "%s: %s", name_of(guilty->path), why);
        finish_failed(p, guilty, VITCL_ECORRUPT);
    }
    for (unsigned i = 0; i < window(p); i++) {
        job *j = job_at(p, i);

        if (j->state == SENT && j->worker == index) {
            w->taken[j->slot] = false;
            j->worker = NO_WORKER;
            j->state = WAITING;
        }
    }
    w->unfinished = 0;
    (void)start_worker(p, w); /* else the others go on without it */
}

/* Take one answer; false: the worker is dead or talks nonsense. */
static bool take_reply(vt_decoder_pool *p, int index)
{
    worker *w = &p->workers[index];
    vt_job_reply reply;
    ssize_t n;
    job *j;

    do {
        n = recv(w->socket, &reply, sizeof reply, MSG_DONTWAIT);
        /* a reset is told once, before the replies that are still there */
    } while (n < 0 && (errno == EINTR || errno == ECONNRESET));
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return true;
    j = first_sent(p, index);
    if (n != (ssize_t)sizeof reply || !j || reply.id != j->id ||
        reply.status > VITCL_OK || reply.status < VITCL_EDEVICE)
        return false;
    w->silent = 0;
    if (reply.status == VITCL_OK) {
        finish(p, j, VITCL_OK, NULL);
    } else {
        reply.message[sizeof reply.message - 1] = 0;
        finish(p, j, (vitcl_status)reply.status, reply.message);
    }
    return true;
}

/* Wait at most `ms` for answers and take all that are there. */
static void listen_to_workers(vt_decoder_pool *p, int ms)
{
    struct pollfd fds[WORKERS_MAX];
    int n;

    for (unsigned i = 0; i < p->count; i++)
        fds[i] = (struct pollfd){p->workers[i].socket, POLLIN, 0};
    n = poll(fds, p->count, ms);
    for (unsigned i = 0; i < p->count && n >= 0; i++) {
        worker *w = &p->workers[i];

        if (w->socket < 0)
            continue;
        if (fds[i].revents) {
            if (!take_reply(p, (int)i))
                bury(p, (int)i, false);
        } else if (n == 0 && ms >= 1000 && w->unfinished > 0 &&
                   ++w->silent > PATIENCE) {
            bury(p, (int)i, true);
        }
    }
}

static bool any_alive(vt_decoder_pool *p)
{
    bool alive = false;

    for (unsigned i = 0; i < p->count; i++)
        alive = alive || p->workers[i].pid > 0;
    return alive || start_worker(p, &p->workers[0]) == VITCL_OK;
}

vitcl_status vt_pool_push(vt_decoder_pool *p, const char *path)
{
    vitcl_status st = VITCL_OK;
    job *grown = NULL, *j;

    if (p->pending == p->capacity) {
        size_t capacity = p->capacity ? p->capacity * 2 : 64;

        VT_TRY(VT_NEW(&grown, capacity));
        for (unsigned i = 0; i < p->pending; i++)
            grown[i] = *job_at(p, i);
        free(p->jobs);
        p->jobs = grown, p->capacity = capacity, p->head = 0;
    }
    j = job_at(p, p->pending);
    *j = (job){.worker = NO_WORKER};
    VT_TRY(vt_strdup(&j->path, path));
    p->pending++;
    if (p->pending <= p->count * p->depth) {
        listen_to_workers(p, 0);
        dispatch_all(p);
    }
done:
    return st;
}

unsigned vt_pool_pending(const vt_decoder_pool *p)
{
    return p->pending;
}

static void drop_head(vt_decoder_pool *p)
{
    job *j = job_at(p, 0);

    if (j->worker != NO_WORKER)
        p->workers[j->worker].taken[j->slot] = false;
    free(j->path);
    free(j->message);
    *j = (job){0};
    p->head = (p->head + 1) % p->capacity;
    p->pending--;
}

vitcl_status vt_pool_next(uint8_t *rgb, vt_decoder_pool *p)
{
    vitcl_status st;
    job *j;

    if (p->pending == 0)
        return vt_fail(VITCL_EINVAL, "no picture was pushed");
    j = job_at(p, 0);
    listen_to_workers(p, 0);
    dispatch_all(p);
    while (j->state != DONE) {
        if (!any_alive(p)) {
            finish_failed(p, j, VITCL_EIO);
            break;
        }
        listen_to_workers(p, 1000);
        dispatch_all(p);
    }
    st = j->status;
    if (st == VITCL_OK)
        memcpy(rgb, p->workers[j->worker].slots + j->slot * p->picture_bytes,
               p->picture_bytes);
    else
        (void)vt_fail(st, "%s", j->message ? j->message : "out of memory");
    drop_head(p);
    dispatch_all(p); /* its slot is free: the workers go on meanwhile */
    return st;
}

void vt_pool_free(vt_decoder_pool *p)
{
    if (!p)
        return;
    while (p->pending > 0)
        drop_head(p);
    for (unsigned i = 0; i < p->count && p->workers; i++) {
        stop_worker(&p->workers[i]);
        if (p->workers[i].slots)
            munmap(p->workers[i].slots, p->map_bytes);
        free(p->workers[i].taken);
    }
    free(p->workers);
    free(p->jobs);
    free(p);
}
