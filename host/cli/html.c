/*
 * html.c - writes a page of pictures.
 */
#include "html.h"

#include "cmd.h"
#include "plot/include_text.h"
#include "plot/page.h"
#include "thumbnail.h"

#include <stdlib.h>
#include <string.h>

enum { SIDE = 200 };

VT_INCLUDE_TEXT(gallery_style, VT_CLI_DIR "/gallery.css");
VT_INCLUDE_TEXT(gallery_script, VT_CLI_DIR "/gallery.js");

struct html_page {
    vt_page *page;
    FILE *f;      /* its */
    char *folder; /* of the page, without links; NULL: unknown */
    bool section; /* one is open */
};

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
    vt_page_url(p->f, full + same);
    fputs("\">", p->f);
    free(full);
}

/* ---- the page ---- */

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
    static const char tools[] =
        "<form hidden><label>Show <select></select></label>"
        "<label>Path <input type=\"search\" aria-keyshortcuts=\"/\" "
        "placeholder=\"press / to search\"></label>"
        "<output aria-live=\"polite\"></output></form>";
    const vt_page_kind kind = {gallery_style, gallery_script, tools};
    html_page *p = calloc(1, sizeof *p);

    if (!p) {
        fail("out of memory");
        return NULL;
    }
    p->folder = folder_of(path);
    if (vt_page_open(&p->page, path, title, &kind) != VITCL_OK) {
        failed();
        html_discard(p);
        return NULL;
    }
    p->f = vt_page_file(p->page);
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
    vt_page_text(p->f, heading);
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
    vt_page_text(p->f, item->path);
    fputs("\" src=\"data:image/jpeg;base64,", p->f);
    vt_page_base64(p->f, t.jpeg, t.size);
    fputs(p->folder ? "\"></a>" : "\">", p->f);
    thumbnail_free(&t);
}

static void put_line(FILE *f, const char *tag, const char *text)
{
    if (!text)
        return;
    fprintf(f, "<%s>", tag);
    vt_page_text(f, text);
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
        vt_page_text(p->f, item->group);
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
    int code = EXIT_OK;

    end_section(p);
    if (vt_page_close(&p->page, summary) != VITCL_OK)
        code = failed();
    html_discard(p);
    return code;
}

void html_discard(html_page *p)
{
    if (!p)
        return;
    vt_page_discard(p->page);
    free(p->folder);
    free(p);
}
