/*
 * page.c - writes HTML pages that stand alone.
 */
#include "plot/page.h"

#include "base/base64.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "plot/include_text.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

VT_INCLUDE_TEXT(vt_page_style, VT_PLOT_DIR "/page.css");
VT_INCLUDE_TEXT(vt_report_style, VT_PLOT_DIR "/report.css");

struct vt_page {
    vt_newfile file;
    vt_page_kind kind;
    unsigned section; /* its number, from 1 */
    bool open;        /* it has not ended */
};

/* ---- text ---- */

static void put_text(FILE *f, const char *text, bool path)
{
    for (size_t n; *text; text += n) {
        n = vt_utf8_character(text);
        if (vt_utf8_steers(text, n))
            fputs("\xEF\xBF\xBD", f), n = n ? n : 1;
        else if (strchr("&<>\"'", *text))
            fprintf(f, "&#%d;", *text);
        else
            fwrite(text, 1, n, f);
        if (path && *text == '/' && text[n] && text[n] != '/')
            fputs("<wbr>", f);
    }
}

void vt_page_text(FILE *f, const char *text)
{
    put_text(f, text, false);
}

void vt_page_path(FILE *f, const char *path)
{
    put_text(f, path, true);
}

void vt_page_url(FILE *f, const char *path)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "abcdefghijklmnopqrstuvwxyz0123456789-._~/";

    for (; *path; path++)
        if (strchr(plain, *path))
            putc(*path, f);
        else
            fprintf(f, "%%%02X", (unsigned char)*path);
}

/* ---- head and end ---- */

/* The page's policy lets a browser apply this style and this script alone: it
 * names their hashes. */
static void put_hash(FILE *f, const char *a, const char *b)
{
    vt_sha256_state s;
    uint8_t hash[32];

    vt_sha256_begin(&s);
    vt_sha256_add(&s, a, strlen(a));
    vt_sha256_add(&s, b, strlen(b));
    vt_sha256_end(&s, hash);
    fputs("'sha256-", f);
    vt_base64_put(f, hash, sizeof hash);
    fputc('\'', f);
}

static void put_head(FILE *f, const char *title, const vt_page_kind *kind)
{
    fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta "
          "charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" "
          "content=\"default-src 'none'; img-src data:; style-src ",
          f);
    put_hash(f, vt_page_style, kind->style);
    if (kind->script) {
        fputs("; script-src ", f);
        put_hash(f, kind->script, "");
    }
    fputs("; base-uri 'none'; form-action 'none'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, "
          "initial-scale=1\">\n<meta name=\"referrer\" "
          "content=\"no-referrer\">\n<title>",
          f);
    vt_page_text(f, title);
    fprintf(f, "</title>\n<style>%s%s</style>\n</head>\n<body>\n",
            vt_page_style, kind->style);
    if (!kind->tools)
        fputs("<a class=\"skip\" href=\"#main\">Skip to the content</a>\n", f);
    fputs("<header><h1>", f);
    vt_page_text(f, title);
    fprintf(f, "</h1>\n%s</header>\n<main%s>\n", kind->tools ? kind->tools : "",
            kind->tools ? "" : " id=\"main\" tabindex=\"-1\"");
}

vitcl_status vt_page_open(vt_page **out, const char *path, const char *title,
                          const vt_page_kind *kind)
{
    vitcl_status st = VITCL_OK;
    vt_page *p = NULL;

    VT_TRY(VT_NEW(&p, 1));
    p->kind = kind ? *kind : (vt_page_kind){.style = vt_report_style};
    VT_TRY(vt_newfile_open(&p->file, path));
    put_head(p->file.f, title, &p->kind);
    *out = p, p = NULL;
done:
    vt_page_discard(p);
    return st;
}

static void end_section(vt_page *p)
{
    if (p->open)
        fputs("</section>\n", p->file.f);
    p->open = false;
}

vitcl_status vt_page_close(vt_page **p, const char *end)
{
    FILE *f = (*p)->file.f;
    const char *script = (*p)->kind.script;
    vitcl_status st;

    end_section(*p);
    fputs("</main>\n<footer><p>", f);
    vt_page_text(f, end);
    fputs("</p></footer>\n", f);
    if (script)
        fprintf(f, "<script>%s</script>\n", script);
    fputs("</body>\n</html>\n", f);
    st = vt_newfile_commit(&(*p)->file);
    vt_page_discard(*p);
    *p = NULL;
    return st;
}

void vt_page_discard(vt_page *p)
{
    if (!p)
        return;
    vt_newfile_discard(&p->file);
    free(p);
}

FILE *vt_page_file(vt_page *p)
{
    return p->file.f;
}

/* ---- content ---- */

static void put_line(FILE *f, const char *tag, const char *text)
{
    fprintf(f, "<%s>", tag);
    vt_page_text(f, text);
    fprintf(f, "</%s>\n", tag);
}

void vt_page_contents(vt_page *p, size_t count, const char *const *headings)
{
    FILE *f = p->file.f;

    fputs("<nav aria-label=\"Contents\"><ul>\n", f);
    for (size_t i = 0; i < count; i++) {
        fprintf(f, "<li><a href=\"#s%zu\">", i + 1);
        vt_page_text(f, headings[i]);
        fputs("</a></li>\n", f);
    }
    fputs("</ul></nav>\n", f);
}

void vt_page_section(vt_page *p, const char *heading)
{
    end_section(p);
    p->open = true;
    p->section++;
    fprintf(p->file.f,
            "<section id=\"s%u\" aria-labelledby=\"h%u\"><h2 "
            "id=\"h%u\">",
            p->section, p->section, p->section);
    vt_page_text(p->file.f, heading);
    fputs("</h2>\n", p->file.f);
}

void vt_page_line(vt_page *p, const char *text)
{
    put_line(p->file.f, "p", text);
}

/* A picture's type and its size in pixels, from its first bytes; 0: unknown. */
typedef struct picture {
    const char *type;
    unsigned width, height;
} picture;

static unsigned big_endian(const uint8_t *b)
{
    return (unsigned)b[0] << 24 | (unsigned)b[1] << 16 | (unsigned)b[2] << 8 |
           b[3];
}

static unsigned svg_side(const char *head, const char *name)
{
    const char *at = strstr(head, name);
    const double v = at ? strtod(at + strlen(name), NULL) : 0;

    return v >= 1 && v < 1e6 ? (unsigned)v : 0;
}

static picture look_at(const char *path, const uint8_t *data, size_t size)
{
    picture out = {.type = "image/jpeg"};
    char head[1024];
    const size_t n = size < sizeof head - 1 ? size : sizeof head - 1;

    memcpy(head, data, n);
    head[n] = '\0';
    if (vt_path_ends(path, ".png")) {
        out.type = "image/png";
        if (size >= 24)
            out.width = big_endian(data + 16),
            out.height = big_endian(data + 20);
    } else if (vt_path_ends(path, ".svg")) {
        out.type = "image/svg+xml";
        out.width = svg_side(head, " width=\"");
        out.height = svg_side(head, " height=\"");
    }
    return out;
}

static void put_image(FILE *f, const vt_page_image *image, const vt_file *file)
{
    const picture is = look_at(image->path, file->data, file->size);

    /* What is wider than a phone scrolls within this box, also by keys. */
    fputs("<div class=\"pic\" tabindex=\"0\" role=\"group\" aria-label=\"", f);
    vt_page_text(f, image->title ? image->title : "figure");
    fputs("\"><img", f);
    if (is.width && is.height)
        fprintf(f, " width=\"%u\" height=\"%u\"", is.width, is.height);
    fputs(" decoding=\"async\" alt=\"", f);
    vt_page_text(f, image->alt ? image->alt : "");
    fprintf(f, "\" src=\"data:%s;base64,", is.type);
    vt_base64_put(f, file->data, file->size);
    fputs("\"></div>\n", f);
}

vitcl_status vt_page_figure(vt_page *p, const vt_page_image *image)
{
    enum { MOST = 256 << 20 };
    vitcl_status st = VITCL_OK;
    FILE *f = p->file.f;
    vt_file file = {.data = NULL};

    VT_TRY(vt_file_read(&file, image->path, MOST));
    if (image->title)
        put_line(f, "h3", image->title);
    fputs("<figure>", f);
    put_image(f, image, &file);
    if (image->caption)
        put_line(f, "figcaption", image->caption);
    if (image->files)
        fputs("<p class=\"files\">Files:", f);
    for (size_t i = 0; i < image->files; i++) {
        fputs(" <a href=\"./", f);
        vt_page_url(f, image->file[i]);
        fputs("\">", f);
        vt_page_text(f, image->file[i]);
        fputs("</a>", f);
    }
    fputs(image->files ? "</p></figure>\n" : "</figure>\n", f);
done:
    vt_file_close(&file);
    return st;
}

static bool is_number(const char *text)
{
    return text && text[0] && strchr("0123456789+-.<", text[0]);
}

/* Is one of its cells? */
static bool has_numbers(const vt_page_grid *grid, size_t column)
{
    for (size_t r = 0; column > 0 && r < grid->rows; r++)
        if (is_number(grid->cell[r * grid->columns + column]))
            return true;
    return false;
}

static void put_cell(FILE *f, const char *text, bool names_row)
{
    fputs(names_row         ? "<th scope=\"row\">"
          : is_number(text) ? "<td class=\"n\">"
                            : "<td>",
          f);
    vt_page_text(f, text ? text : "");
    fputs(names_row ? "</th>" : "</td>", f);
}

void vt_page_table(vt_page *p, const vt_page_grid *grid)
{
    FILE *f = p->file.f;

    fputs("<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"", f);
    vt_page_text(f, grid->caption);
    fputs("\"><table><caption>", f);
    vt_page_text(f, grid->caption);
    fputs("</caption>\n<thead><tr>", f);
    for (size_t c = 0; c < grid->columns; c++) {
        fputs(has_numbers(grid, c) ? "<th scope=\"col\" class=\"n\">"
                                   : "<th scope=\"col\">",
              f);
        vt_page_text(f, grid->head[c]);
        fputs("</th>", f);
    }
    fputs("</tr></thead>\n<tbody>\n", f);
    for (size_t r = 0; r < grid->rows; r++) {
        fputs("<tr>", f);
        for (size_t c = 0; c < grid->columns; c++)
            put_cell(f, grid->cell[r * grid->columns + c], c == 0);
        fputs("</tr>\n", f);
    }
    fputs("</tbody></table></div>\n", f);
}
