/*
 * kept_lines.c - the user's files of lines. What a file is rejected for also
 * keeps it from being written, since its lines would be lost.
 */
#include "base/file.h"
#include "base/kept.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT ((size_t)256 << 10) /* bytes of a file */
#define LINE ((size_t)1024)       /* and of a line */

static const struct {
    const char *name, *first, *note; /* the note: of a new file */
    bool drops;                      /* the older half of a full file */
} kinds[] = {
    [VT_LINES_CHOICES] = {"choices", "vitcl choices 1",
                          "# version, question, answer: delete a line to "
                          "measure again\n",
                          true},
    [VT_LINES_TUNED] = {"tuned", "vitcl tuned 1",
                        "# device, driver, parameters\n", false},
};

bool vt_lines_path(char *out, size_t size, vt_lines_kind kind)
{
    const size_t n = strlen(kinds[kind].name) + 2;

    if (size < n || !vt_user_path(out, size - n, VT_USER_CONFIG))
        return false;
    strcat(out, "/");
    strcat(out, kinds[kind].name);
    return true;
}

static char *reject(vt_lines *l, const char *why)
{
    snprintf(l->why, sizeof l->why, "%s", why);
    return NULL;
}

static char *read_text(vt_lines *l, int fd)
{
    struct stat st;
    char *text = NULL;

    if (!vt_user_file(fd) || fstat(fd, &st) != 0)
        return reject(l, "others can write to it, or it is not a regular file");
    if (st.st_size < 0 || (uintmax_t)st.st_size > LIMIT)
        return reject(l, "it is too large");
    if (VT_NEW(&text, (size_t)st.st_size + 1) != VITCL_OK ||
        vt_read_at(fd, text, (size_t)st.st_size, 0) != 0)
        reject(l, "it cannot be read");
    else if (strlen(text) != (size_t)st.st_size)
        reject(l, "it is not text");
    return text;
}

/* Reads the file anew, up to its first line. */
static void begin(vt_lines *l)
{
    const int fd = vt_user_open(l->folder, kinds[l->kind].name);
    const char *first;

    free(l->text);
    l->text = l->at = NULL;
    l->number = 0, l->why[0] = '\0';
    if (fd < 0 && errno != ENOENT)
        reject(l, errno == ELOOP ? "it is a symbolic link"
                                 : "it cannot be opened");
    if (fd < 0)
        return;
    l->text = read_text(l, fd);
    l->at = l->why[0] ? NULL : l->text;
    close(fd);
    first = l->why[0] ? kinds[l->kind].first : vt_lines_next(l);
    if (!first || strcmp(first, kinds[l->kind].first) != 0)
        snprintf(l->why, sizeof l->why, "its first line is not \"%s\"",
                 kinds[l->kind].first);
}

void vt_lines_open(vt_lines *l, vt_lines_kind kind)
{
    *l = (vt_lines){.kind = kind,
                    .folder = vt_user_folder(VT_USER_CONFIG, false)};
    if (l->folder >= 0)
        begin(l);
    if (l->why[0])
        l->at = NULL;
}

char *vt_lines_next(vt_lines *l)
{
    char *line = l->at;
    size_t n;

    if (!line || !*line)
        return NULL;
    n = strcspn(line, "\n");
    l->at = line + n + (line[n] != '\0');
    line[n] = '\0';
    l->number++;
    return line;
}

void vt_lines_close(vt_lines *l)
{
    if (l->folder >= 0)
        close(l->folder);
    free(l->text);
    *l = (vt_lines){.folder = -1};
}

/* ---- writing ---- */

static vitcl_status begin_change(vt_lines *l, const char *path)
{
    begin(l);
    if (l->at && !*l->text) /* an empty file is begun */
        l->why[0] = '\0';
    else if (l->at && !kinds[l->kind].drops && strlen(l->at) > LIMIT - 2 * LINE)
        reject(l, "it is too large");
    return l->why[0] ? vt_fail(VITCL_EIO,
                               "%s: %s, so nothing can be added; correct or "
                               "remove it",
                               path, l->why)
                     : VITCL_OK;
}

static vitcl_status open_change(vt_lines *l, vt_lines_kind kind, bool lock)
{
    char path[4096];

    *l = (vt_lines){.kind = kind, .folder = -1};
    if (!vt_lines_path(path, sizeof path, kind))
        return vt_fail(VITCL_EIO,
                       "there is no place to keep what is found: neither "
                       "XDG_CONFIG_HOME nor HOME is the path of a folder");
    l->folder = vt_user_folder(VT_USER_CONFIG, true);
    if (l->folder < 0)
        return vt_fail(VITCL_EIO, "%s: cannot write: %s", path,
                       errno ? strerror(errno)
                             : "the folder is another user's, or others can "
                               "write to it");
    if (faccessat(l->folder, ".", W_OK | X_OK, AT_EACCESS) != 0)
        return vt_fail(VITCL_EIO, "%s: cannot write: %s", path,
                       strerror(errno));
    if (lock)
        (void)flock(l->folder, LOCK_EX); /* until it is closed */
    return begin_change(l, path);
}

vitcl_status vt_lines_change(vt_lines *l, vt_lines_kind kind)
{
    return open_change(l, kind, true);
}

vitcl_status vt_lines_check(vt_lines_kind kind)
{
    vt_lines l;
    const vitcl_status st = open_change(&l, kind, false);

    vt_lines_close(&l);
    return st;
}

vitcl_status vt_lines_put(vt_lines *l, const char *start, const char *line)
{
    const char *first = kinds[l->kind].first, *note = kinds[l->kind].note;
    char *out = NULL, *to, path[4096];
    size_t size, from;
    vitcl_status st;

    vt_lines_path(path, sizeof path, l->kind);
    VT_TRY(begin_change(l, path)); /* vt_lines_next() has cut the text */
    size = l->at ? strlen(l->at) : 0;
    from = size > LIMIT - 2 * LINE ? size / 2 : 0;
    VT_TRY(
        VT_NEW(&out, size + strlen(first) + strlen(note) + strlen(line) + 4));
    to = stpcpy(stpcpy(out, first), "\n");
    if (!l->text || !*l->text)
        to = stpcpy(to, note);
    for (char *old, *all = l->at; (old = vt_lines_next(l));)
        if ((size_t)(old - all) >= from &&
            strncmp(old, start, strlen(start)) != 0)
            to = stpcpy(stpcpy(to, old), "\n");
    to = stpcpy(stpcpy(to, line), "\n");
    if (!vt_user_write(l->folder, kinds[l->kind].name,
                       &(vt_user_part){out, (size_t)(to - out)}, 1))
        st = vt_fail(VITCL_EIO, "%s: cannot write: %s", path, strerror(errno));
done:
    free(out);
    return st;
}
