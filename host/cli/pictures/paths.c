/*
 * paths.c - iterates over the pictures that a command line names.
 *
 * A file that is named is always one of them; of files in folders those are
 * that were not named or found before. A list on stdin is read line by line, so
 * that it may be endless and another program may write it as it reads the
 * answers; a line is limited to the length of a path.
 */
#include "pictures.h"
#include "piped.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROOM = 1 << 16, WAIT_MS = 20 };

struct picture_paths {
    const words *operands;
    size_t at;
    int delimiter;
    const char *absent;
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
    vt_walk *folders;
    char *folder;   /* being walked, or NULL */
    uint64_t found; /* pictures in it */
    char *path;     /* returned last */
    char error[256];
    bool no_memory;
};

void paths_left(vt_left *out, const picture_paths *s)
{
    vt_walk_left(out, s->folders);
}

void paths_close(picture_paths *s)
{
    if (!s)
        return;
    vt_walk_free(s->folders);
    free(s->folder);
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
        s->absent = how->absent;
        s->input = malloc(ROOM);
    }
    if (s && (!s->input ||
              vt_walk_new(&s->folders, how->flat, how->follow) != VITCL_OK)) {
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

static const char *give(picture_paths *s, char *path, const char **error)
{
    free(s->path);
    s->path = path;
    *error = s->error[0] ? s->error : NULL;
    return path;
}

/* ---- folders ---- */

/* The next picture below the folder; NULL at its end. */
static const char *walk(picture_paths *s, const char **error)
{
    vt_walk_found f;
    char *path;

    do {
        if (vt_walk_next(&f, s->folders) != VITCL_OK) {
            s->no_memory = true;
            return NULL;
        }
        s->found += f.path != NULL;
    } while (f.path && f.again);
    if (f.path && (path = copy(s, f.path))) {
        if (f.error)
            snprintf(s->error, sizeof s->error, "%s", f.error);
        return give(s, path, error);
    }
    path = s->folder, s->folder = NULL;
    if (s->found || s->no_memory) {
        free(path);
        return NULL;
    }
    snprintf(s->error, sizeof s->error, "no pictures in this folder");
    return give(s, path, error);
}

bool is_address(const char *name)
{
    const char *end = strstr(name, "://");

    return end && end - name > 1 &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789+-.") == (size_t)(end - name);
}

static const char *named(picture_paths *s, const char *name, const char **error)
{
    struct stat st;
    char *path = copy(s, name);

    if (!path)
        return NULL;
    if (stat(name, &st) != 0) {
        if (is_address(name))
            snprintf(s->error, sizeof s->error,
                     "addresses are not opened; download it, for instance "
                     "curl -sL ADDRESS | vitcl %s -",
                     command_name);
        else if (s->absent && !s->listing)
            snprintf(s->error, sizeof s->error, "%s; %s", strerror(errno),
                     s->absent);
        return give(s, path, error);
    }
    if (!S_ISDIR(st.st_mode)) {
        if (!s->listing && S_ISREG(st.st_mode) &&
            vt_walk_read(s->folders, &st) != VITCL_OK)
            s->no_memory = true;
        return give(s, path, error);
    }
    s->found = 0;
    s->folder = path;
    s->no_memory = vt_walk_begin(s->folders, name, 0) != VITCL_OK;
    return s->no_memory ? NULL : walk(s, error);
}

/* ---- a list on stdin ---- */

static void blame_line(picture_paths *s, const char *why)
{
    snprintf(s->error, sizeof s->error, "standard input, %s %llu: %s",
             s->delimiter ? "line" : "name", (unsigned long long)s->lines, why);
}

/* Ends the list with an error. */
static bool spoilt(picture_paths *s, const char *why)
{
    s->spoilt = true;
    blame_line(s, why);
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
    n = piped_get(STDIN_FILENO, s->input + s->to, ROOM - s->to);
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

/* Is this the start of stdin, of an archive or a compressed one? */
static bool at_archive(const picture_paths *s)
{
    const char *head = s->input + s->from;
    const size_t n = s->to - s->from;

    return s->lines == 0 &&
           ((n >= 262 && memcmp(head + 257, "ustar", 5) == 0) ||
            (n >= 2 && memcmp(head, "\x1f\x8b", 2) == 0) ||
            (n >= 4 && memcmp(head, "\x28\xb5\x2f\xfd", 4) == 0) ||
            (n >= 4 && memcmp(head, "PK\3\4", 4) == 0) ||
            (n >= 10 && memcmp(head + 4, "1AY&SY", 6) == 0) ||
            (n >= 6 && memcmp(head, "\3757zXZ", 6) == 0));
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
    static const char mark[] = "\xEF\xBB\xBF"; /* of Windows' UTF-8 */
    size_t n = 0;
    int c;

    if (at_archive(s)) {
        s->lines++;
        return spoilt(s, "is an archive, not a list of paths (--tar reads "
                         "archives)");
    }
    s->lines++;
    while ((c = next_byte(s)) != EOF && c != s->delimiter) {
        s->line[n] = '\0';
        if (c == '\0' && s->lines == 1 && n >= 2 &&
            (memcmp(s->line, "\xFF\xFE", 2) == 0 ||
             memcmp(s->line, "\xFE\xFF", 2) == 0))
            return spoilt(s, "is UTF-16; write the list as UTF-8");
        if (c == '\0')
            return spoilt(s, "holds a NUL byte; for paths that end with NUL "
                             "use -0");
        if (n + 1 == sizeof s->line)
            return spoilt(s, "is longer than a path can be");
        s->line[n++] = (char)c;
    }
    if (s->lines == 1 && n >= 3 && memcmp(s->line, mark, 3) == 0)
        memmove(s->line, s->line + 3, n -= 3);
    s->line[n] = '\0';
    if (s->delimiter && n && s->line[n - 1] == '\r' &&
        access(s->line, F_OK) != 0)
        s->line[--n] = '\0'; /* a list of Windows */
    if (s->error[0] || (c == EOF && n == 0))
        return false;
    if (n == 0 && s->delimiter == '\0')
        return spoilt(s, "is empty");
    if (strcmp(s->line, "-") == 0)
        strcpy(s->line, "./-"); /* - is the list itself */
    return true;
}

/* Is this the end of the list, but for empty lines? Who wrote one may wait for
 * an answer, so it is no end before input ends. */
static bool blank_to_end(picture_paths *s)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

    for (;;) {
        size_t at = s->from;

        while (at < s->to && (s->input[at] == '\n' || s->input[at] == '\r'))
            at++;
        if (at < s->to || s->failure || at - s->from == ROOM)
            return false;
        if (s->ended) {
            s->from = s->to;
            return true;
        }
        if (poll(&input, 1, WAIT_MS) <= 0)
            return false;
        refill(s);
    }
}

/* Does the next path come from the list? */
static bool at_list(const picture_paths *s)
{
    return !s->folder && !s->no_memory &&
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
    if (s->folder && (path = walk(s, error)))
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
        if (!name[0]) {
            if (blank_to_end(s))
                continue;
            blame_line(s, "is empty");
            path = give(s, copy(s, "-"), error);
        } else {
            path = named(s, name, error);
        }
        if (path)
            return path;
    }
    *error = "out of memory";
    return NULL;
}

const char *paths_option(const picture_options *p)
{
    return p->nul      ? "--null"
           : p->flat   ? "--no-recursive"
           : p->deep   ? "--recursive"
           : p->follow ? "--follow"
                       : NULL;
}
