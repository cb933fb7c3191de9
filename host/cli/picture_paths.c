/*
 * picture_paths.c - iterates over the pictures that a command line names.
 *
 * Folders are walked depth first in byte order. Files in them are pictures if
 * their suffix says so and they are not hidden. Links to folders are followed,
 * but below one operand no folder is walked twice: a few dozen links can make
 * an endless tree. A list on stdin is read line by line, so that it may be
 * endless and another program may write it as it reads the answers; a line is
 * limited to the length of a path.
 */
#define _GNU_SOURCE /* tdestroy */
#include "cmd.h"

#include "scale/suffix.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEEPEST = 64, ROOM = 1 << 16 };

typedef struct folder {
    char *path;
    struct dirent **entry;
    int count, at;
} folder;

typedef struct folder_id { /* identifies a folder by device and inode */
    dev_t device;
    ino_t inode;
} folder_id;

struct picture_paths {
    const words *operands;
    size_t at;
    int delimiter;
    bool flat;           /* folders in folders are left out */
    bool listing;        /* reading stdin */
    bool spoilt;         /* it is not a list */
    uint64_t lines;      /* of the list */
    char line[PATH_MAX]; /* the last line */
    char *input;         /* ROOM bytes of the list; unread: [from, to) */
    size_t from, to;
    char *picture; /* what stdin was, if it was a picture */
    size_t picture_size;
    bool is_piped; /* the path returned last is that picture's name */
    bool ended;    /* the list was read to its end, or to `failure` */
    int failure;   /* errno */
    folder stack[DEEPEST];
    int depth;
    void *walked;     /* tree of the folders walked below this operand */
    uint64_t skipped; /* files in folders that are no pictures */
    uint64_t found;   /* pictures in the folder of an operand */
    char *path;       /* returned last */
    char error[256];
    bool no_memory;
};

static int visible(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void leave(picture_paths *s)
{
    folder *f = &s->stack[--s->depth];

    for (int i = 0; i < f->count; i++)
        free(f->entry[i]);
    free(f->entry);
    free(f->path);
}

uint64_t paths_skipped(const picture_paths *s)
{
    return s->skipped;
}

void paths_close(picture_paths *s)
{
    if (!s)
        return;
    while (s->depth)
        leave(s);
    tdestroy(s->walked, free);
    free(s->input);
    free(s->picture);
    free(s->path);
    free(s);
}

picture_paths *paths_open(const words *operands, const picture_options *how)
{
    picture_paths *s = calloc(1, sizeof *s);

    if (s) {
        s->operands = operands;
        s->delimiter = how->nul ? '\0' : '\n';
        s->flat = how->flat;
        s->input = malloc(ROOM);
    }
    if (s && !s->input) {
        paths_close(s);
        s = NULL;
    }
    return s;
}

static char *copy(picture_paths *s, const char *text)
{
    char *out = strdup(text);

    s->no_memory = s->no_memory || !out;
    return out;
}

static char *join(picture_paths *s, const char *a, const char *b)
{
    const size_t n = strlen(a), size = n + strlen(b) + 2;
    char *out = malloc(size);

    s->no_memory = s->no_memory || !out;
    if (out)
        snprintf(out, size, "%s%s%s", a, n && a[n - 1] == '/' ? "" : "/", b);
    return out;
}

static const char *give(picture_paths *s, char *path, const char **error)
{
    free(s->path);
    s->path = path;
    *error = s->error[0] ? s->error : NULL;
    return path;
}

/* ---- folders ---- */

static int by_id(const void *a, const void *b)
{
    const folder_id *x = a, *y = b;

    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return x->inode < y->inode ? -1 : x->inode > y->inode;
}

/* True if this folder is new below the operand. */
static bool is_new(picture_paths *s, const struct stat *st)
{
    folder_id *p = malloc(sizeof *p);
    void *node;

    if (p) {
        *p = (folder_id){st->st_dev, st->st_ino};
        node = tsearch(p, &s->walked, by_id);
        if (node && *(folder_id **)node == p)
            return true;
        free(p);
        if (node)
            return false;
    }
    s->no_memory = true;
    return false;
}

/* Pushes a folder on the stack; true if that worked. Takes ownership of path,
 * unless it is returned with the error that is set. */
static bool enter(picture_paths *s, char *path, const struct stat *st)
{
    folder f = {.path = path};

    if (!is_new(s, st)) {
        free(path);
        return false;
    }
    if (s->depth == DEEPEST) {
        snprintf(s->error, sizeof s->error, "folders nested more than %d deep",
                 DEEPEST);
    } else if ((f.count = scandir(path, &f.entry, visible, by_bytes)) < 0) {
        snprintf(s->error, sizeof s->error, "%s", strerror(errno));
    } else {
        s->stack[s->depth++] = f;
        return true;
    }
    return false;
}

/* The next picture below the top folder; NULL when the stack is empty. */
static const char *walk(picture_paths *s, const char **error)
{
    while (s->depth && !s->no_memory) {
        folder *f = &s->stack[s->depth - 1];
        struct stat st;
        char *path;

        if (f->at == f->count) {
            if (s->depth == 1 && !s->found) {
                path = f->path, f->path = NULL;
                leave(s);
                snprintf(s->error, sizeof s->error,
                         "no pictures in this folder");
                return give(s, path, error);
            }
            leave(s);
            continue;
        }
        path = join(s, f->path, f->entry[f->at++]->d_name);
        if (!path)
            break;
        if (stat(path, &st) != 0) {
            if (!vt_is_picture_name(path) &&
                (errno == ENOENT || errno == ELOOP)) {
                free(path); /* a broken link */
                continue;
            }
            snprintf(s->error, sizeof s->error, "%s", strerror(errno));
        } else if (S_ISDIR(st.st_mode) && s->flat) {
            free(path);
            continue;
        } else if (S_ISDIR(st.st_mode)) {
            if (enter(s, path, &st) || !s->error[0])
                continue;
        } else if (!S_ISREG(st.st_mode) || !vt_is_picture_name(path)) {
            s->skipped += S_ISREG(st.st_mode);
            free(path);
            continue;
        }
        s->found++;
        return give(s, path, error);
    }
    return NULL;
}

static const char *named(picture_paths *s, const char *name, const char **error)
{
    struct stat st;
    char *path = copy(s, name);

    if (!path || stat(name, &st) != 0 || !S_ISDIR(st.st_mode))
        return path ? give(s, path, error) : NULL;
    s->found = 0;
    tdestroy(s->walked, free);
    s->walked = NULL;
    if (!enter(s, path, &st))
        return s->error[0] ? give(s, path, error) : NULL;
    return walk(s, error);
}

/* ---- a list on stdin ---- */

/* Ends the list with an error. */
static bool spoilt(picture_paths *s, const char *why)
{
    s->spoilt = true;
    snprintf(s->error, sizeof s->error, "standard input, %s %llu: %s",
             s->delimiter ? "line" : "name", (unsigned long long)s->lines, why);
    return false;
}

/* Reads what is there, after waiting for it. Every name fits into the input. */
static void refill(picture_paths *s)
{
    ssize_t n;

    if (s->from) {
        memmove(s->input, s->input + s->from, s->to - s->from);
        s->to -= s->from;
        s->from = 0;
    }
    guard_spent();
    n = read(STDIN_FILENO, s->input + s->to, ROOM - s->to);
    if (n > 0)
        s->to += (size_t)n;
    else if (n == 0 || errno != EINTR || stopped())
        s->ended = true, s->failure = n < 0 && errno != EINTR ? errno : 0;
}

/* The next byte; EOF: the end, or s->error is set. */
static int next_byte(picture_paths *s)
{
    while (s->from == s->to && !s->ended && !stopped())
        refill(s);
    if (s->from < s->to)
        return (unsigned char)s->input[s->from++];
    if (s->failure)
        snprintf(s->error, sizeof s->error, "standard input: %s",
                 s->failure == EBADF ? "it is closed, so there is no list"
                                     : strerror(s->failure));
    s->failure = 0;
    return EOF;
}

/* Is there a whole name, or what cannot become one? */
static bool has_name(const picture_paths *s)
{
    return s->ended || s->to - s->from >= PATH_MAX ||
           (s->to > s->from &&
            memchr(s->input + s->from, s->delimiter, s->to - s->from));
}

/* Is this the start of stdin, of a picture, and not the name of a file? */
static bool at_picture(picture_paths *s)
{
    const char *end;

    if (s->lines > 0)
        return false;
    while (!has_name(s) && !stopped())
        refill(s);
    if (!piped_begins_picture(s->input + s->from, s->to - s->from))
        return false;
    end = memchr(s->input + s->from, s->delimiter, s->to - s->from);
    snprintf(s->line, sizeof s->line, "%.*s",
             (int)((end ? end : s->input + s->to) - s->input - (long)s->from),
             s->input + s->from);
    return access(s->line, F_OK) != 0;
}

/* Reads the picture that stdin is, up to its end. */
static void read_picture(picture_paths *s)
{
    const char *why = piped_read(&s->picture, &s->picture_size,
                                 s->input + s->from, s->to - s->from);

    s->from = s->to = 0;
    s->ended = true;
    s->is_piped = !why;
    if (why)
        snprintf(s->error, sizeof s->error, "standard input: %s", why);
}

const void *paths_picture(const picture_paths *s, size_t *size)
{
    *size = s->picture_size;
    return s->is_piped ? s->picture : NULL;
}

/* Reads into s->line; false at the end, or with s->error set if it is not a
 * list of paths. */
static bool listed(picture_paths *s)
{
    size_t n = 0;
    int c;

    s->lines++;
    while ((c = next_byte(s)) != EOF && c != s->delimiter) {
        s->line[n] = '\0';
        if (c == '\0')
            return spoilt(s, "holds a NUL byte; for paths that end with NUL "
                             "use -0");
        if (n + 1 == sizeof s->line)
            return spoilt(s, "is longer than a path can be");
        s->line[n++] = (char)c;
    }
    s->line[n] = '\0';
    if (s->error[0] || (c == EOF && n == 0))
        return false;
    if (n == 0 && s->delimiter == '\0')
        return spoilt(s, "is empty");
    return true;
}

/* Does the next path come from the list? */
static bool at_list(const picture_paths *s)
{
    return !s->depth && !s->no_memory &&
           (s->listing || (s->at < s->operands->count && !s->spoilt &&
                           strcmp(s->operands->item[s->at], "-") == 0));
}

bool paths_ready(picture_paths *s, int ms)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

    while (at_list(s) && !stopped() && !has_name(s)) {
        const int n = poll(&input, 1, ms);

        if (n == 0)
            return false;
        if (n > 0 || errno != EINTR)
            refill(s);
    }
    return true;
}

const char *paths_next(picture_paths *s, const char **error)
{
    const char *path = NULL;
    char *dash;

    s->error[0] = '\0';
    *error = NULL;
    s->is_piped = false;
    if (s->depth && (path = walk(s, error)))
        return path;
    while (!s->no_memory) {
        const char *name = s->line;

        if (s->listing && at_picture(s)) {
            read_picture(s);
            s->listing = false;
            if ((dash = copy(s, "-")))
                return give(s, dash, error);
            continue;
        }
        if (s->listing) {
            if (!listed(s)) {
                s->listing = false;
                if (s->error[0] && (dash = copy(s, "-")))
                    return give(s, dash, error);
                continue;
            }
        } else if (s->at == s->operands->count) {
            return NULL;
        } else {
            name = s->operands->item[s->at++];
            if (strcmp(name, "-") == 0) {
                s->listing = !s->spoilt;
                continue;
            }
        }
        if (!s->picture && piped_is_name(name)) {
            read_picture(s);
            if ((dash = copy(s, name)))
                return give(s, dash, error);
            continue;
        }
        if (name[0] || !s->listing)
            path = named(s, name, error);
        if (path)
            return path;
    }
    *error = "out of memory";
    return NULL;
}
