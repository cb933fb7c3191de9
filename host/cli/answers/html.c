/*
 * html.c - writes a page of pictures.
 *
 * A picture that was not decoded for an answer goes to the decoders, some
 * pictures ahead. What is waiting for its thumbnail is written in order.
 */
#include "html.h"

#include "api/program.h"
#include "base/base64.h"
#include "base/status.h"
#include "cli/pictures/pictures.h"
#include "cli/pictures/thumbnail.h"
#include "plot/include_text.h"
#include "plot/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A page of more thumbnails would have more than some 10 MB. */
enum { WAITING = 32, THUMBNAILS = 1000 };

VT_INCLUDE_TEXT(gallery_style, VT_CLI_DIR "/gallery.css");
VT_INCLUDE_TEXT(gallery_script, VT_CLI_DIR "/gallery.js");

/* An item with texts of its own; title only: a heading. */
typedef struct waiting {
    html_item item;
    thumbnail picture;    /* without a size: none */
    char *why;            /* there is none, or NULL */
    bool heading, pushed; /* pushed: its thumbnail comes from the loader */
} waiting;

struct html_page {
    vt_page *page;
    FILE *f;      /* its */
    char *folder; /* of the page, without links; NULL: unknown */
    bool section; /* one is open */
    waiting *ring[WAITING];
    size_t first, count;
    vitcl_loader *loader; /* NULL: none was needed so far */
    uint64_t shown, rest; /* pictures with a thumbnail, and after these */
    bool short_of_memory; /* an item is missing */
};

/* The address of a picture as seen from the page: both can be moved together.
 * Every byte that could mean something is escaped. False: it has none, such as
 * in an archive. */
static bool put_link(const html_page *p, const char *path)
{
    char *full = p->folder ? realpath(path, NULL) : NULL;
    size_t same = 0, i;

    if (!full)
        return false;
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
    return true;
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

static void put_heading(html_page *p, const char *heading)
{
    end_section(p);
    begin_section(p);
    fputs("<h2>", p->f);
    vt_page_text(p->f, heading);
    fputs("</h2>\n", p->f);
}

static void put_picture(html_page *p, const char *path, const thumbnail *t)
{
    bool link;

    if (!t->size) {
        fputs("<div class=\"none\" aria-hidden=\"true\">&#9888;</div>", p->f);
        return;
    }
    link = put_link(p, path);
    fprintf(p->f, "<img width=\"%u\" height=\"%u\" decoding=\"async\" alt=\"",
            t->width, t->height);
    vt_page_text(p->f, path);
    fputs("\" src=\"data:image/jpeg;base64,", p->f);
    vt_base64_put(p->f, t->jpeg, t->size);
    fputs(link ? "\"></a>" : "\">", p->f);
}

static void put_line(FILE *f, const char *tag, const char *text)
{
    if (!text)
        return;
    fprintf(f, "<%s>", tag);
    vt_page_text(f, text);
    fprintf(f, "</%s>", tag);
}

static void put_item(html_page *p, const html_item *item, const thumbnail *t,
                     const char *why)
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
    put_picture(p, item->path, t);
    fputs("<figcaption>", p->f);
    if (item->unsure)
        fputs("<i>not sure</i>", p->f);
    put_line(p->f, "b", item->error ? item->error : item->title);
    put_line(p->f, "small", item->more);
    if (why) {
        fputs("<small class=\"why\">no thumbnail: ", p->f);
        vt_page_text(p->f, why);
        fputs("</small>", p->f);
    }
    fputs("<bdi>", p->f);
    vt_page_path(p->f, item->path);
    fputs("</bdi></figcaption></figure>\n", p->f);
}

/* ---- what waits for its thumbnail ---- */

static void waiting_free(waiting *w)
{
    if (!w)
        return;
    free((char *)w->item.path);
    free((char *)w->item.error);
    free((char *)w->item.group);
    free((char *)w->item.title);
    free((char *)w->item.more);
    thumbnail_free(&w->picture);
    free(w->why);
    free(w);
}

static bool copy(const char **out, const char *text)
{
    *out = text ? strdup(text) : NULL;
    return !text || *out;
}

static waiting *waiting_new(const html_item *item)
{
    waiting *w = calloc(1, sizeof *w);

    if (!w)
        return NULL;
    w->item.unsure = item->unsure;
    if (copy(&w->item.path, item->path) && copy(&w->item.error, item->error) &&
        copy(&w->item.group, item->group) &&
        copy(&w->item.title, item->title) && copy(&w->item.more, item->more))
        return w;
    waiting_free(w);
    return NULL;
}

static void push(html_page *p, waiting *w)
{
    struct stat st;

    if (stat(w->item.path, &st) != 0) {
        w->why = strdup(errno == ENOTDIR  ? "the picture is in an archive"
                        : errno == ENOENT ? "the file is not there"
                                          : strerror(errno));
        return;
    }
    w->pushed =
        (p->loader || vt_loader_new_thumbnails(&p->loader, NULL, 0,
                                               HTML_SIDE) == VITCL_OK) &&
        vitcl_loader_push(p->loader, w->item.path) == VITCL_OK;
    if (!w->pushed)
        w->why = strdup(error_of(w->item.path));
}

static void take(html_page *p, waiting *w)
{
    vitcl_image small = {0, 0, NULL};

    if (vitcl_loader_next(NULL, p->loader) == VITCL_OK &&
        vt_loader_thumbnail(&small, p->loader) == VITCL_OK)
        thumbnail_make(&w->picture, &small);
    else
        w->why = strdup(error_of(w->item.path));
    vitcl_image_free(&small);
}

static void write_first(html_page *p)
{
    waiting *w = p->ring[p->first];

    p->ring[p->first] = NULL;
    p->first = (p->first + 1) % WAITING;
    p->count--;
    if (w->pushed)
        take(p, w);
    if (w->heading)
        put_heading(p, w->item.title);
    else
        put_item(p, &w->item, &w->picture, w->why);
    waiting_free(w);
}

static void add(html_page *p, const html_item *item, bool heading)
{
    waiting *w;

    if (p->count == WAITING)
        write_first(p);
    w = waiting_new(item);
    if (!w) {
        p->short_of_memory = true;
        return;
    }
    w->heading = heading;
    p->ring[(p->first + p->count++) % WAITING] = w;
    if (heading || item->error)
        return;
    if (p->shown == THUMBNAILS) {
        p->rest++;
        w->why = strdup("the page has thumbnails of its first 1000 pictures");
        return;
    }
    p->shown++;
    if (item->small && item->small->rgb)
        thumbnail_make(&w->picture, item->small);
    else
        push(p, w);
}

void html_section(html_page *p, const char *heading)
{
    add(p, &(html_item){.title = heading}, true);
}

void html_add(html_page *p, const html_item *item)
{
    add(p, item, false);
}

int html_close(html_page *p, const char *summary)
{
    int code = EXIT_OK;

    while (p->count)
        write_first(p);
    end_section(p);
    if (p->short_of_memory)
        code = fail("out of memory for a page");
    else if (vt_page_close(&p->page, summary) != VITCL_OK)
        code = failed();
    else if (p->rest)
        note("the page has no thumbnails of the last %llu picture%s, so that "
             "it does not become too large",
             (unsigned long long)p->rest, vt_plural(p->rest));
    html_discard(p);
    return code;
}

void html_discard(html_page *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < WAITING; i++)
        waiting_free(p->ring[i]);
    vitcl_loader_free(p->loader);
    vt_page_discard(p->page);
    free(p->folder);
    free(p);
}
