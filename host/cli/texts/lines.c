/*
 * lines.c - lists of texts: the lines of a file, or what is between commas.
 */
#include "base/file.h"
#include "base/utf8.h"
#include "cli/pictures/piped.h"
#include "texts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIMIT = 256 << 20, FIRST = 64 }; /* bytes of a file; texts */
enum { LONGEST = 16 << 20 };            /* bytes of a text, as of the library */

const char *text_wrong(const char *text, size_t size)
{
    return size > LONGEST         ? "has over 16 MB"
           : !vt_utf8(text, size) ? "is not UTF-8"
                                  : NULL;
}

void lines_free(text_list *l)
{
    for (size_t i = 0; l->item && i < l->count; i++)
        free(l->item[i]);
    free(l->item);
    *l = (text_list){NULL, 0};
}

/* There is room for a power of two of pointers, the last of which is NULL. */
static bool grow(text_list *l)
{
    const size_t n = l->count + 1;
    char **more;

    if (l->item && (n < FIRST || (n & (n - 1))))
        return true;
    more = realloc(l->item, (l->item ? 2 * n : FIRST) * sizeof *more);
    if (!more)
        return false;
    l->item = more;
    return true;
}

bool lines_add(text_list *l, const char *text, size_t size)
{
    char *copy = grow(l) ? malloc(size + 1) : NULL;

    if (!copy)
        return false;
    memcpy(copy, text, size);
    copy[size] = '\0';
    l->item[l->count++] = copy;
    l->item[l->count] = NULL;
    return true;
}

static bool is_white(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void trim(const char **text, size_t *n)
{
    while (*n && is_white(**text))
        ++*text, --*n;
    while (*n && is_white((*text)[*n - 1]))
        --*n;
}

/* ---- files ---- */

bool lines_piped(const char *path)
{
    return strcmp(path, "-") == 0 || piped_is_name(path);
}

const char *lines_name(const char *path)
{
    return lines_piped(path) ? "standard input" : path;
}

/* What is no file of a known size, such as a pipe. */
static int read_stream(vt_file *out, int fd, const char *name)
{
    char *text = NULL;
    size_t n = 0, room = 0;
    ssize_t got;

    guard_spent();
    do {
        if (n == room) {
            char *more = realloc(text, room = room ? 2 * room : 1 << 16);

            if (!more || room > LIMIT) {
                free(more ? more : text);
                return more ? fail("%s: has more than 256 MB", name)
                            : fail("out of memory");
            }
            text = more;
        }
        got = piped_get(fd, text + n, room - n);
        n += got > 0 ? (size_t)got : 0;
    } while (got > 0);
    if (got < 0) {
        free(text);
        return fail("%s: %s", name, strerror(errno));
    }
    *out = (vt_file){(uint8_t *)text, n};
    return EXIT_OK;
}

static int read_all(vt_file *out, const char *path)
{
    struct stat st;
    int fd, code;

    if (lines_piped(path))
        return read_stream(out, STDIN_FILENO, lines_name(path));
    if (stat(path, &st) != 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
        return code_of(vt_file_read(out, path, LIMIT));
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail("%s: %s", path, strerror(errno));
    code = read_stream(out, fd, path);
    close(fd);
    return code;
}

/* Of a text file; tidy: without blank lines. A lone CR ends a line, too; in a
 * text it may also be a character. */
static int parse(text_list *out, const vt_file *f, const char *name, bool tidy)
{
    static const char mark[] = "\xEF\xBB\xBF"; /* of Windows' UTF-8 */
    const char *at = (const char *)f->data, *end = at + f->size;
    const bool cr = tidy || !memchr(at, '\n', f->size);
    const char *wrong;
    size_t line = 0;

    if (memchr(at, '\0', f->size))
        return fail("%s: is not a text: it holds a NUL byte; a list of texts "
                    "is UTF-8",
                    name);
    if (f->size >= 3 && memcmp(at, mark, 3) == 0)
        at += 3;
    while (at < end) {
        const char *text = at;
        size_t n = 0;

        while (
            at + n < end && at[n] != '\n' &&
            !(at[n] == '\r' && (cr || at + n + 1 == end || at[n + 1] == '\n')))
            n++;
        at += n + 1;
        if (at < end && at[-1] == '\r' && *at == '\n')
            at++;
        line++;
        if (tidy)
            trim(&text, &n);
        if ((n || !tidy) && !lines_add(out, text, n))
            return fail("out of memory");
        if (tidy && (wrong = text_wrong(text, n)))
            return fail("%s, line %zu: %s", name, line, wrong);
    }
    return EXIT_OK;
}

static int read_file(text_list *out, const char *path, bool tidy)
{
    vt_file f = {0};
    int code;

    *out = (text_list){NULL, 0};
    TRY(read_all(&f, path));
    if (f.size)
        TRY(parse(out, &f, lines_name(path), tidy));
done:
    vt_file_close(&f);
    if (code != EXIT_OK)
        lines_free(out);
    return code;
}

int lines_read(text_list *out, const char *path)
{
    return read_file(out, path, false);
}

int lines_read_tidy(text_list *out, const char *path)
{
    return read_file(out, path, true);
}

int lines_split(text_list *out, const char *list)
{
    *out = (text_list){NULL, 0};
    while (*list) {
        size_t n = strcspn(list, ",");
        const char *text = list;

        list += n + (list[n] == ',');
        trim(&text, &n);
        if (n && !lines_add(out, text, n)) {
            lines_free(out);
            return fail("out of memory");
        }
    }
    return EXIT_OK;
}
