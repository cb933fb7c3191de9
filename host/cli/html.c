/*
 * html.c - writes a page of pictures.
 */
#include "html.h"

#include "cmd.h"
#include "thumbnail.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIDE = 200 };

/* The page's policy lets a browser apply this style and this script alone: it
 * names their hashes, which tests/cli/html.sh compares. */
#define STYLE_HASH "wfEuPq+BDv3xaBgYEcxocIeW/ZZ5Gj+JQ7g9Uvh62yA="
#define SCRIPT_HASH "Y+XanE5siZZ757Tq+ad0wc8qcmBN+MeqYQF0HkIi4HA="

#define INCLUDE_TEXT(symbol, file)                                             \
    __asm__(".section .rodata\n"                                               \
            ".global " #symbol "\n"                                            \
            ".hidden " #symbol "\n" #symbol ":\n"                              \
            ".incbin \"" VT_PAGE_DIR "/" file "\"\n"                           \
            ".byte 0\n"                                                        \
            ".text\n");                                                        \
    extern const char symbol[] __attribute__((visibility("hidden")))

INCLUDE_TEXT(page_style, "page.css");
INCLUDE_TEXT(page_script, "page.js");

struct html_page {
    FILE *f;
    char *path, *temporary;
    char *folder; /* of the page, without links; NULL: unknown */
    bool section; /* one is open */
};

/* ---- text ---- */

/* Text as the browser shows it, in an element or a quoted attribute. */
static void put_html(FILE *f, const char *text)
{
    for (size_t n; *text; text += n) {
        n = text_length(text);
        if (n == 0) /* not UTF-8, or a control character */
            n = 1, fputs("\xEF\xBF\xBD", f);
        else if (strchr("&<>\"'", *text))
            fprintf(f, "&#%d;", *text);
        else
            fwrite(text, 1, n, f);
    }
}

static void put_url(FILE *f, const char *path)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "abcdefghijklmnopqrstuvwxyz0123456789-._~/";

    for (; *path; path++)
        if (strchr(plain, *path))
            putc(*path, f);
        else
            fprintf(f, "%%%02X", (unsigned char)*path);
}

/* The address of a picture as seen from the page: both can be moved together.
 * Every byte that could mean something is escaped. */
static void put_link(const html_page *p, const char *path)
{
    char *full = p->folder ? realpath(path, NULL) : NULL;
    size_t same = 0, i;

    if (!full)
        return;
    for (i = 0; p->folder[i] && p->folder[i] == full[i]; i++)
        if (full[i] == '/')
            same = i + 1;
    if (!p->folder[i] && full[i] == '/')
        same = i + 1;
    fputs("<a href=\"./", p->f);
    if (p->folder[i] || full[i] != '/') {
        const size_t all = strlen(p->folder);

        for (size_t at = same; at < all; at++)
            if (at == same || p->folder[at] == '/')
                fputs("../", p->f);
    }
    put_url(p->f, full + same);
    fputs("\">", p->f);
    free(full);
}

/* ---- the page ---- */

static void put_head(FILE *f, const char *title)
{
    fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta "
          "charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" "
          "content=\"default-src 'none'; img-src data:; style-src "
          "'sha256-" STYLE_HASH "'; script-src 'sha256-" SCRIPT_HASH
          "'; base-uri 'none'; form-action 'none'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, "
          "initial-scale=1\">\n<meta name=\"referrer\" "
          "content=\"no-referrer\">\n<title>",
          f);
    put_html(f, title);
    fprintf(f, "</title>\n<style>%s</style>\n</head>\n<body>\n<header><h1>",
            page_style);
    put_html(f, title);
    fputs("</h1>\n<form hidden><label>Show <select></select></label>"
          "<label>Path <input type=\"search\" aria-keyshortcuts=\"/\" "
          "placeholder=\"press / to search\"></label>"
          "<output aria-live=\"polite\"></output></form></header>\n<main>\n",
          f);
}

static char *folder_of(const char *path)
{
    char *copy = strdup(path), *slash = copy ? strrchr(copy, '/') : NULL, *out;

    if (slash)
        slash[slash == copy] = '\0';
    out = copy ? realpath(slash ? copy : ".", NULL) : NULL;
    free(copy);
    return out;
}

html_page *html_open(const char *path, const char *title)
{
    html_page *p = calloc(1, sizeof *p);
    const size_t room = strlen(path) + 8;
    const mode_t mask = umask(0);
    int fd = -1;

    umask(mask);
    if (p) {
        p->path = strdup(path);
        p->temporary = malloc(room);
        p->folder = folder_of(path);
    }
    if (!p || !p->path || !p->temporary) {
        html_discard(p);
        fail("out of memory");
        return NULL;
    }
    snprintf(p->temporary, room, "%s.XXXXXX", path);
    fd = mkstemp(p->temporary);
    p->f = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!p->f) {
        fail("%s: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd), (void)unlink(p->temporary);
        html_discard(p);
        return NULL;
    }
    (void)fchmod(fd, 0666 & ~mask);
    put_head(p->f, title);
    return p;
}

static void end_section(html_page *p)
{
    if (p->section)
        fputs("</section>\n", p->f);
    p->section = false;
}

static void begin_section(html_page *p)
{
    if (!p->section)
        fputs("<section>\n", p->f);
    p->section = true;
}

void html_section(html_page *p, const char *heading)
{
    end_section(p);
    begin_section(p);
    fputs("<h2>", p->f);
    put_html(p->f, heading);
    fputs("</h2>\n", p->f);
}

static void put_picture(html_page *p, const html_item *item)
{
    thumbnail t = {.jpeg = NULL};

    if (item->error || thumbnail_make(&t, item->path, SIDE) != (int)VITCL_OK ||
        !t.size) {
        fputs("<div class=\"none\" aria-hidden=\"true\">&#9888;</div>", p->f);
        thumbnail_free(&t);
        return;
    }
    put_link(p, item->path);
    fprintf(p->f, "<img width=\"%u\" height=\"%u\" decoding=\"async\" alt=\"",
            t.width, t.height);
    put_html(p->f, item->path);
    fputs("\" src=\"data:image/jpeg;base64,", p->f);
    thumbnail_base64(p->f, &t);
    fputs(p->folder ? "\"></a>" : "\">", p->f);
    thumbnail_free(&t);
}

static void put_line(FILE *f, const char *tag, const char *text)
{
    if (!text)
        return;
    fprintf(f, "<%s>", tag);
    put_html(f, text);
    fprintf(f, "</%s>", tag);
}

void html_add(html_page *p, const html_item *item)
{
    begin_section(p);
    fputs("<figure", p->f);
    if (item->error || item->unsure)
        fprintf(p->f, " class=\"%s\"", item->error ? "e" : "u");
    if (item->group && !item->error) {
        fputs(" data-g=\"", p->f);
        put_html(p->f, item->group);
        fputs("\"", p->f);
    }
    fputs(">", p->f);
    put_picture(p, item);
    fputs("<figcaption>", p->f);
    if (item->unsure)
        fputs("<i>not sure</i>", p->f);
    put_line(p->f, "b", item->error ? item->error : item->title);
    put_line(p->f, "small", item->more);
    put_line(p->f, "bdi", item->path);
    fputs("</figcaption></figure>\n", p->f);
}

int html_close(html_page *p, const char *summary)
{
    bool good;

    end_section(p);
    fputs("</main>\n<footer><p>", p->f);
    put_html(p->f, summary);
    fprintf(p->f, "</p></footer>\n<script>%s</script>\n</body>\n</html>\n",
            page_script);
    good = fflush(p->f) == 0 && !ferror(p->f) && fsync(fileno(p->f)) == 0;
    good = fclose(p->f) == 0 && good;
    p->f = NULL;
    good = good && rename(p->temporary, p->path) == 0;
    if (!good) {
        fail("%s: %s", p->path, strerror(errno));
        (void)unlink(p->temporary);
    }
    html_discard(p);
    return good ? EXIT_OK : EXIT_FAILED;
}

void html_discard(html_page *p)
{
    if (!p)
        return;
    if (p->f) {
        fclose(p->f);
        (void)unlink(p->temporary);
    }
    free(p->path);
    free(p->temporary);
    free(p->folder);
    free(p);
}
