/*
 * sorting.c - copies pictures, or makes links to them, in a folder for each
 * class.
 *
 * Nothing is overwritten: a name that is taken gets " (2)" before its ending,
 * and so on. A file that is there already, with the same bytes, or a link to
 * the same picture, is left as it is, so that a second run adds only what is
 * new. A copy has its name only when it is complete. Labels come from a model's
 * file, so that they may hold anything: what a file's name cannot or should not
 * have becomes "_".
 */
#define _GNU_SOURCE /* asprintf */
#include "sorting.h"
#include "base/file.h"
#include "base/utf8.h"

#include "parts/partition.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNSURE "not sure"
#define PLACE "{label}"
enum { LONGEST = 100, NUMBER = 20, TRIES = 10000, PIECE = 1 << 16 };

/* ---- names of folders ---- */

/* The first n bytes of a name without what some file system or shell takes for
 * more than a letter; at most LONGEST bytes. */
static void clean(char out[LONGEST + 1], const char *name, size_t n)
{
    while (n && name[n - 1] == ' ')
        n--;
    if (n > LONGEST)
        n = vt_utf8_cut(name, LONGEST);
    memcpy(out, name, n);
    out[n] = '\0';
    make_text(out);
    for (char *s = out; *s; s++)
        if ((unsigned char)*s < ' ' || *s == 127 || strchr("/\\:*?\"<>|", *s))
            *s = '_';
    if (out[0] && strchr(".-~ ", out[0]))
        out[0] = '_';
    n = strlen(out);
    if (n && strchr(". ", out[n - 1]))
        out[n - 1] = '_';
}

/* Also for file systems to which "Crane" and "crane" are one name. */
static int by_name(const void *a, const void *b)
{
    return strcasecmp(*(char *const *)a, *(char *const *)b);
}

/* The sorted names that only one class has; their number. */
static size_t single(char **out, const sorting *s)
{
    size_t n = 0, same;

    memcpy(out, s->folder, s->classes * sizeof *out);
    qsort(out, s->classes, sizeof *out, by_name);
    for (size_t i = 0; i < s->classes; i += same) {
        for (same = 1;
             i + same < s->classes && by_name(&out[i], &out[i + same]) == 0;)
            same++;
        if (same == 1 && out[i][0] && strcasecmp(out[i], UNSURE) != 0)
            out[n++] = out[i];
    }
    return n;
}

/* Classes of one name, as ImageNet's cranes, get their numbers, once more where
 * another class has that name, too. Numbers differ, so that these names do. */
static bool tell_apart(sorting *s)
{
    char **own = calloc((size_t)s->classes + 1, sizeof *own);
    const size_t n = own ? single(own, s) : 0;
    bool *keeps = calloc((size_t)s->classes + 1, sizeof *keeps);

    for (uint32_t i = 0; own && keeps && i < s->classes; i++) {
        char **found = bsearch(&s->folder[i], own, n, sizeof *own, by_name);

        keeps[i] = found && *found == s->folder[i];
    }
    for (uint32_t i = 0; own && keeps && i < s->classes; i++) {
        char *name = s->folder[i];

        while (!keeps[i]) {
            snprintf(name + strlen(name), NUMBER, "%s%u",
                     name[0] ? " " : "class ", i);
            if (!bsearch(&name, own, n, sizeof *own, by_name))
                break;
        }
    }
    free(keeps);
    free(own);
    return own && keeps;
}

static bool name_folders(sorting *s, const naming *n)
{
    char room[CLASS_ROOM];
    const char *name;

    s->folder = calloc(n->classes, sizeof *s->folder);
    if (!s->folder)
        return false;
    s->classes = n->classes;
    for (uint32_t i = 0; i < s->classes; i++) {
        s->folder[i] = calloc(1, LONGEST + 2 * NUMBER);
        if (!s->folder[i])
            return false;
        name = naming_class(n, i, room);
        clean(s->folder[i], name, naming_first(n, name));
    }
    return tell_apart(s);
}

/* mkdir -p; false with errno set. */
static bool make_folders(const char *path)
{
    char *copy = strdup(path);
    bool fine = copy != NULL;

    for (char *s = copy; fine && *s; s++)
        if (s > copy && *s == '/' && s[-1] != '/') {
            *s = '\0';
            fine = mkdir(copy, 0777) == 0 || errno == EEXIST;
            *s = '/';
        }
    fine = fine && (!*copy || mkdir(copy, 0777) == 0 || errno == EEXIST);
    free(copy);
    return fine;
}

bool sorting_there(const char *into)
{
    const char *place = strstr(into, PLACE);
    char parent[PATH_MAX], *slash;

    snprintf(parent, sizeof parent, "%.*s",
             (int)(place ? (size_t)(place - into) : strlen(into)), into);
    slash = place ? strrchr(parent, '/') : NULL;
    if (place)
        *(slash ? slash : parent) = '\0';
    return !parent[0] || vt_path_is_folder(parent);
}

int sorting_open(sorting *s, const char *into, bool links, const naming *n)
{
    const char *place = strstr(into, PLACE);
    size_t first = place ? (size_t)(place - into) : strlen(into);
    char *parent;

    *s = (sorting){.links = links};
    if (place ? strstr(place + 1, PLACE) != NULL
              : strchr(into, '{') && strchr(strchr(into, '{'), '}'))
        return usage("%s: the place of the class is written " PLACE ", once",
                     into);
    s->before = calloc(1, first + 2);
    s->after = strdup(place ? place + strlen(PLACE) : "");
    if (!s->before || !s->after || !name_folders(s, n))
        return fail("out of memory");
    memcpy(s->before, into, first);
    if (!place && s->before[first - 1] != '/')
        s->before[first] = '/';
    parent = strdup(s->before);
    if (!parent)
        return fail("out of memory");
    if (strrchr(parent, '/'))
        strrchr(parent, '/')[0] = '\0';
    else
        parent[0] = '\0';
    if (!make_folders(parent))
        fail("%s: %s", parent, strerror(errno)), s->failures++;
    free(parent);
    return s->failures ? EXIT_FAILED : EXIT_OK;
}

void sorting_close(sorting *s)
{
    for (uint32_t i = 0; s->folder && i < s->classes; i++)
        free(s->folder[i]);
    free(s->folder);
    free(s->before);
    free(s->after);
}

/* ---- files ---- */

/* Are both the same regular file, or two of the same bytes? */
static bool same_bytes(int from, const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat a, b;
    static char x[PIECE], y[PIECE];
    bool same = fd >= 0 && fstat(from, &a) == 0 && fstat(fd, &b) == 0 &&
                S_ISREG(b.st_mode) && a.st_size == b.st_size;

    for (off_t at = 0; same && at < a.st_size;) {
        const ssize_t n = pread(from, x, PIECE, at);

        same = n > 0 && pread(fd, y, (size_t)n, at) == n &&
               memcmp(x, y, (size_t)n) == 0;
        at += n > 0 ? n : 0;
    }
    if (fd >= 0)
        close(fd);
    return same;
}

static bool copy_bytes(int to, int from)
{
    static char piece[PIECE];
    ssize_t n;

    while ((n = read(from, piece, PIECE)) > 0)
        for (ssize_t at = 0, m; at < n; at += m)
            if ((m = write(to, piece + at, (size_t)(n - at))) <= 0)
                return false;
    return n == 0;
}

/* Makes a complete copy. false: errno; EEXIST: the name is taken. */
static bool copy_as(int from, const char *to)
{
    vt_part *part = NULL;
    bool done = false, taken = false;
    struct stat st;
    int out;

    if (fstat(from, &st) != 0 || lseek(from, 0, SEEK_SET) < 0 ||
        vt_part_open(&part, to) != VITCL_OK)
        return false;
    out = fileno(vt_part_stream(part));
    if (copy_bytes(out, from)) {
        if (fchmod(out, st.st_mode & 0777) == 0) /* not on every system */
            (void)futimens(out, (struct timespec[2]){st.st_atim, st.st_mtim});
        done = vt_part_commit_new(&taken, part) == VITCL_OK && !taken;
    }
    vt_part_free(part);
    if (taken)
        errno = EEXIST;
    return done;
}

/* The name of try `i`: "a.jpg", "a (2).jpg", .. */
static char *name_of(const char *folder, const char *name, int i)
{
    const char *dot = strrchr(name, '.');
    const size_t stem =
        dot && dot != name ? (size_t)(dot - name) : strlen(name);
    char *out = NULL, number[16] = "";

    if (i > 1)
        snprintf(number, sizeof number, " (%d)", i);
    if (asprintf(&out, "%s/%.*s%s%s", folder, (int)stem, name, number,
                 name + stem) < 0)
        return NULL;
    return out;
}

/* false: errno. */
static bool copy_in(const char *path, const char *folder, const char *name)
{
    const int from = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    bool done = false;
    int why;

    if (from < 0)
        return false;
    errno = EINVAL;
    for (int i = 1;
         fstat(from, &st) == 0 && S_ISREG(st.st_mode) && !done && i < TRIES;
         i++) {
        char *to = name_of(folder, name, i);

        if (!to)
            break;
        done = same_bytes(from, to);
        if (!done && faccessat(AT_FDCWD, to, F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
            done = copy_as(from, to);
            if (!done && errno != EEXIST)
                i = TRIES;
        }
        free(to);
    }
    why = errno;
    close(from);
    errno = why;
    return done;
}

static bool link_in(const char *path, const char *folder, const char *name)
{
    char *target = realpath(path, NULL), *to, old[PATH_MAX];
    bool done = false;

    for (int i = 1; target && !done && i < TRIES; i++) {
        ssize_t n;

        to = name_of(folder, name, i);
        if (!to)
            break;
        done = symlink(target, to) == 0;
        if (!done && errno != EEXIST)
            i = TRIES;
        else if (!done) {
            n = readlink(to, old, sizeof old);
            done = n == (ssize_t)strlen(target) &&
                   memcmp(old, target, (size_t)n) == 0;
            errno = EEXIST;
        }
        free(to);
    }
    free(target);
    return done;
}

void sorting_put(sorting *s, const answer *a, const naming *n)
{
    const char *path = a->path, *name = vt_path_name(path);
    char *folder = NULL;

    if (s->full)
        return;
    if (a->piped) {
        s->failures++;
        fail("%s: cannot be %s: it came on standard input and is no file; name "
             "a file",
             path, s->links ? "linked to" : "copied");
        return;
    }
    if (asprintf(&folder, "%s%s%s", s->before,
                 naming_sure(n) ? s->folder[n->top[0].label] : UNSURE,
                 s->after) < 0)
        folder = NULL;
    if (!folder || !make_folders(folder) ||
        !(s->links ? link_in : copy_in)(path, folder, name)) {
        s->failures++;
        s->full = errno == ENOSPC || errno == EDQUOT;
        fail("%s: cannot be %s %s: %s%s", path,
             s->links ? "linked to in" : "copied to", folder ? folder : "",
             strerror(errno), s->full ? "; nor are the pictures after it" : "");
    }
    free(folder);
}
