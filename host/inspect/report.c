/*
 * report.c - a page of an inspect.json and its figures.
 */
#include "inspect/report.h"

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "plot/page.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <vitcl.h>

enum { INDEX_MOST = 256 << 20, DEPTH = 16, FACTS = 9, CLASSES = 16 };
/* Of figures; those after it are only named, so that a phone can show it. */
enum { PAGE_MOST = 96 << 20 };

typedef struct report {
    const char *folder;
    const vt_json *index;
    vt_page *page;
    size_t bytes; /* of figures in the page */
} report;

static const char *text_of(const vt_json *object, const char *key)
{
    const char *s = NULL;

    return vt_json_string(&s, vt_json_get(object, key)) ? s : NULL;
}

static const char *or_empty(const char *s)
{
    return s ? s : "";
}

/* A path of the index: one below the folder. */
static const char *path_of(const vt_json *figure, const char *key)
{
    const char *s = text_of(figure, key);

    return s && *s && *s != '/' && strncmp(s, "../", 3) != 0 &&
                   !strstr(s, "/../")
               ? s
               : NULL;
}

__attribute__((format(printf, 2, 3))) static void put(vt_page *p,
                                                      const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    vt_page_line(p, text);
}

/* ---- figures ---- */

/* The smaller of the two. */
static vitcl_status choose(char **out, size_t *size, const report *r,
                           const vt_json *figure)
{
    static const char *const keys[] = {"svg", "png"};
    vitcl_status st = VITCL_OK;
    char *path = NULL;

    *out = NULL, *size = 0;
    for (size_t i = 0; i < VT_COUNT(keys); i++) {
        const char *name = path_of(figure, keys[i]);
        struct stat is;

        if (!name)
            continue;
        VT_TRY(vt_format(&path, "%s/%s", r->folder, name));
        if (stat(path, &is) == 0 && (!*out || (size_t)is.st_size < *size)) {
            free(*out);
            *out = path, path = NULL;
            *size = (size_t)is.st_size;
        }
        free(path), path = NULL;
    }
done:
    free(path);
    return st;
}

static vitcl_status add_figure(report *r, const vt_json *figure)
{
    static const char *const keys[] = {"png", "svg", "numbers", "tensors"};
    vitcl_status st = VITCL_OK;
    const char *file[VT_COUNT(keys)], *name;
    vt_page_image image = {.title = text_of(figure, "title"),
                           .alt = text_of(figure, "alt"),
                           .caption = text_of(figure, "caption"),
                           .file = file};
    char *path = NULL;
    size_t size = 0;

    for (size_t i = 0; i < VT_COUNT(keys); i++)
        if ((name = path_of(figure, keys[i])))
            file[image.files++] = name;
    VT_TRY(choose(&path, &size, r, figure));
    if (!path) {
        put(r->page, "%s: the figure's file cannot be read",
            or_empty(image.title));
        goto done;
    }
    if (size > PAGE_MOST - r->bytes) {
        put(r->page, "%s: this page is full; the figure is in %s",
            or_empty(image.title), image.files ? file[0] : r->folder);
        goto done;
    }
    r->bytes += size;
    image.path = path;
    VT_TRY(vt_page_figure(r->page, &image));
done:
    free(path);
    return st;
}

static vitcl_status add_figures(report *r, const vt_json *list)
{
    for (const vt_json *f = vt_json_first(list); f; f = vt_json_next(f))
        VT_RET(add_figure(r, f));
    return VITCL_OK;
}

/* ---- sections ---- */

static void add_classes(vt_page *p, const vt_json *list)
{
    const bool numbers = vt_json_get(vt_json_first(list), "number") != NULL;
    const char *const head[] = {"class", numbers ? "number" : "probability"};
    const char *cell[2 * CLASSES];
    char percent[CLASSES][16], number[CLASSES][24];
    size_t n = 0;

    for (const vt_json *c = vt_json_first(list); c && n < CLASSES;
         c = vt_json_next(c), n++) {
        const char *name = text_of(c, "name"), *label = text_of(c, "label");
        uint64_t at = 0;
        double v = 0;

        vt_json_uint(&at, vt_json_get(c, "index"));
        vt_json_number(&v, vt_json_get(c, head[1]));
        snprintf(number[n], sizeof number[n], "class %llu",
                 (unsigned long long)at);
        if (numbers)
            snprintf(percent[n], sizeof percent[n], "%.4g", v);
        else if (v < 0.0005)
            snprintf(percent[n], sizeof percent[n], "< 0.1 %%");
        else
            snprintf(percent[n], sizeof percent[n],
                     v < 0.0995 ? "%.1f %%" : "%.0f %%", 100 * v);
        cell[2 * n] = name ? name : label ? label : number[n];
        cell[2 * n + 1] = percent[n];
    }
    if (n)
        vt_page_table(p, &(vt_page_grid){.caption = "What the model answers",
                                         .rows = n,
                                         .columns = 2,
                                         .head = head,
                                         .cell = cell});
}

static vitcl_status add_picture(report *r, const vt_json *picture)
{
    const char *path = text_of(picture, "picture"),
               *folder = text_of(picture, "folder");

    vt_page_section(r->page, or_empty(folder));
    if (path && folder && strcmp(path, folder) != 0)
        vt_page_line(r->page, path);
    add_classes(r->page, vt_json_get(picture, "classes"));
    return add_figures(r, vt_json_get(picture, "figures"));
}

static void add_facts(vt_page *p, const vt_json *model)
{
    static const char *const head[] = {"", "value"};
    static const struct {
        const char *key, *name;
    } facts[FACTS] = {{"layers", "layers"},
                      {"heads", "heads a layer"},
                      {"patch", "pixels of a patch's side"},
                      {"picture_height", "height of a picture, in pixels"},
                      {"picture_width", "width of a picture, in pixels"},
                      {"tokens", "tokens"},
                      {"width", "numbers a token"},
                      {"rows", "rows of patches"},
                      {"columns", "columns of patches"}};
    const char *cell[2 * FACTS];
    char value[FACTS][24];
    size_t n = 0;

    for (size_t i = 0; i < FACTS; i++) {
        uint64_t v;

        if (!vt_json_uint(&v, vt_json_get(model, facts[i].key)))
            continue;
        snprintf(value[n], sizeof value[n], "%llu", (unsigned long long)v);
        cell[2 * n] = facts[i].name;
        cell[2 * n + 1] = value[n];
        n++;
    }
    vt_page_table(p, &(vt_page_grid){.caption = "The model's sizes",
                                     .rows = n,
                                     .columns = 2,
                                     .head = head,
                                     .cell = cell});
}

static vitcl_status add_model(report *r)
{
    const vt_json *left = vt_json_get(r->index, "left_out");

    vt_page_section(r->page, "The model");
    add_facts(r->page, vt_json_get(r->index, "model"));
    VT_RET(add_figures(r, vt_json_get(r->index, "figures")));
    for (const vt_json *l = vt_json_first(left); l; l = vt_json_next(l))
        put(r->page, "Left out: %s. %s", or_empty(text_of(l, "figure")),
            or_empty(text_of(l, "why")));
    return VITCL_OK;
}

/* ---- the page ---- */

/* Pictures in their order, then the model. */
static vitcl_status add_all(report *r)
{
    vitcl_status st = VITCL_OK;
    const vt_json *pictures = vt_json_get(r->index, "pictures");
    const char **heading = NULL;
    size_t n = 0;

    VT_TRY(VT_NEW(&heading, vt_json_count(pictures) + 1));
    for (const vt_json *p = vt_json_first(pictures); p; p = vt_json_next(p))
        heading[n++] = or_empty(text_of(p, "folder"));
    heading[n++] = "The model";
    vt_page_contents(r->page, n, heading);
    for (const vt_json *p = vt_json_first(pictures); p; p = vt_json_next(p))
        VT_TRY(add_picture(r, p));
    VT_TRY(add_model(r));
done:
    free(heading);
    return st;
}

vitcl_status vt_inspect_report(const char *folder)
{
    vitcl_status st = VITCL_OK;
    report r = {.folder = folder};
    vt_json *index = NULL;
    char *in = NULL, *out = NULL, *title = NULL;
    const vt_json *model;

    VT_TRY(vt_format(&in, "%s/inspect.json", folder));
    VT_TRY(vt_format(&out, "%s/report.html", folder));
    VT_TRY(vt_json_load(&index, in, INDEX_MOST, DEPTH));
    r.index = index;
    model = vt_json_get(index, "model");
    VT_TRY(
        vt_format(&title, "What %s looks at",
                  text_of(model, "name") ? text_of(model, "name") : "a model"));
    VT_TRY(vt_page_open(&r.page, out, title, NULL));
    VT_TRY(add_all(&r));
    VT_TRY(vt_page_close(&r.page, "Written by vitcl " VITCL_VERSION
                                  " inspect. The figures are in this page; "
                                  "the files are in its folder."));
done:
    vt_page_discard(r.page);
    vt_json_free(index);
    free(in);
    free(out);
    free(title);
    return st;
}
