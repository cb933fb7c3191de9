/*
 * source.c - the pictures that a command line names, one path after another.
 *
 * Folders are walked depth first in byte order; files in them count as
 * pictures by their suffix, hidden ones do not. Links to folders are followed,
 * except back into a folder that is being walked. A list on stdin is read as
 * it comes, so that it may be endless.
 */
#include "cmd.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { DEEPEST = 64 };

typedef struct folder {
    char *path;
    struct dirent **entry;
    int count, at;
    dev_t device;
    ino_t inode;
} folder;

struct source {
    const words *operands;
    size_t at;
    int delimiter;
    bool listing; /* reading stdin */
    char *line;
    size_t line_size;
    folder stack[DEEPEST];
    int depth;
    uint64_t found; /* in the folder that an operand named */
    char *path;     /* last given out */
    char error[256];
};

static bool is_picture(const char *name)
{
    /* also of formats that are answered with an error, not passed over */
    static const char *const suffixes[] = {
        "jpg", "jpeg", "jpe", "jfif", "png",  "bmp", "psd",  "ppm",  "pgm",
        "pnm", "gif",  "tga", "webp", "tiff", "tif", "heic", "avif", NULL};
    const char *dot = strrchr(name, '.');

    for (int i = 0; dot && dot != name && suffixes[i]; i++)
        if (strcasecmp(dot + 1, suffixes[i]) == 0)
            return true;
    return false;
}

static int visible(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

source *source_open(const words *operands, bool nul)
{
    source *s = calloc(1, sizeof *s);

    if (s) {
        s->operands = operands;
        s->delimiter = nul ? '\0' : '\n';
    }
    return s;
}

static void leave(source *s)
{
    folder *f = &s->stack[--s->depth];

    for (int i = 0; i < f->count; i++)
        free(f->entry[i]);
    free(f->entry);
    free(f->path);
}

void source_close(source *s)
{
    if (!s)
        return;
    while (s->depth)
        leave(s);
    free(s->line);
    free(s->path);
    free(s);
}

static char *join(const char *a, const char *b)
{
    size_t n = strlen(a), size = n + strlen(b) + 2;
    char *out = malloc(size);

    if (out)
        snprintf(out, size, "%s%s%s", a, n && a[n - 1] == '/' ? "" : "/", b);
    return out;
}

static const char *give(source *s, char *path, const char **error)
{
    free(s->path);
    s->path = path;
    *error = s->error[0] ? s->error : NULL;
    return path;
}

/* Takes path over. True if the folder is now on top of the stack. */
static bool enter(source *s, char *path, const struct stat *st)
{
    folder f = {.path = path, .device = st->st_dev, .inode = st->st_ino};

    for (int i = 0; i < s->depth; i++)
        if (s->stack[i].device == f.device && s->stack[i].inode == f.inode) {
            free(path);
            return false;
        }
    if (s->depth == DEEPEST) {
        snprintf(s->error, sizeof s->error, "folders nested above %d deep",
                 DEEPEST);
    } else if ((f.count = scandir(path, &f.entry, visible, by_bytes)) < 0) {
        snprintf(s->error, sizeof s->error, "%s", strerror(errno));
    } else {
        s->stack[s->depth++] = f;
        return true;
    }
    return false; /* the path is given out with the error */
}

/* The next picture below the folder on top; NULL when the stack is empty. */
static const char *walk(source *s, const char **error)
{
    while (s->depth) {
        folder *f = &s->stack[s->depth - 1];
        struct stat st;
        char *path;

        if (f->at == f->count) {
            if (s->depth == 1 && !s->found) {
                path = f->path, f->path = NULL;
                leave(s);
                snprintf(s->error, sizeof s->error, "no pictures in it");
                return give(s, path, error);
            }
            leave(s);
            continue;
        }
        path = join(f->path, f->entry[f->at]->d_name);
        f->at++;
        if (!path || stat(path, &st) != 0) {
            free(path); /* a dangling link is no picture */
        } else if (S_ISDIR(st.st_mode)) {
            if (!enter(s, path, &st) && s->error[0]) {
                s->found++;
                return give(s, path, error);
            }
        } else if (S_ISREG(st.st_mode) && is_picture(path)) {
            s->found++;
            return give(s, path, error);
        } else {
            free(path);
        }
    }
    return NULL;
}

static const char *named(source *s, const char *name, const char **error)
{
    struct stat st;
    char *path = join(name, "");

    if (!path)
        return NULL;
    path[strlen(name)] = '\0'; /* join's slash, if it added one */
    if (stat(name, &st) != 0 || !S_ISDIR(st.st_mode))
        return give(s, path, error);
    s->found = 0;
    if (!enter(s, path, &st))
        return s->error[0] ? give(s, path, error) : NULL;
    return walk(s, error);
}

static const char *listed(source *s)
{
    ssize_t n;

    while ((n = getdelim(&s->line, &s->line_size, s->delimiter, stdin)) > 0) {
        if (s->line[n - 1] == s->delimiter)
            s->line[--n] = '\0';
        if (n)
            return s->line;
    }
    return NULL;
}

const char *source_next(source *s, const char **error)
{
    const char *path = NULL, *name;

    s->error[0] = '\0';
    *error = NULL;
    if (s->depth && (path = walk(s, error)))
        return path;
    for (;;) {
        if (s->listing) {
            name = listed(s);
            if (!name)
                s->listing = false;
        } else if (s->at == s->operands->count) {
            return NULL;
        } else {
            name = s->operands->item[s->at++];
            if (strcmp(name, "-") == 0) {
                s->listing = true;
                continue;
            }
        }
        if (name && (path = named(s, name, error)))
            return path;
    }
}
