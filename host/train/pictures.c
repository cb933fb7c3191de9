/*
 * pictures.c - leave out files that cannot be decoded, and judge the rest.
 *
 * The list has one name a line; control characters and backslashes are written
 * as \ooo, so that any name is one line.
 */
#include "train/pictures.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/utf8.h"
#include "data/check.h"
#include "data/form.h"
#include "data/shared.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAMED 10 /* files and classes that a message lists */
#define LIST_MAX ((size_t)1 << 30)

void vt_left_out_free(vt_left_out *l)
{
    for (size_t i = 0; l->name && i < l->count; i++)
        free(l->name[i]);
    free(l->name);
    *l = (vt_left_out){0};
}

__attribute__((format(printf, 3, 4))) static void
tell(const vitcl_train_options *o, void *context, const char *format, ...)
{
    char text[1024];
    va_list args;

    if (!o->note)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    o->note(context, text);
}

void vt_pictures_remark(const vt_dataset *d, const vitcl_train_options *o,
                        void *context)
{
    if (vt_dataset_remark(d))
        tell(o, context, "%s", vt_dataset_remark(d));
}

vitcl_status vt_pictures_shared(const vt_dataset *d, const vt_dataset *val,
                                const vitcl_train_options *o, void *context)
{
    vt_shared s;

    VT_RET(vt_dataset_shared(&s, d, val, UINT32_MAX));
    if (s.count)
        tell(o, context,
             "%u of the %u pictures to score %s among those to train, too, "
             "such as %s: the scores will be too good",
             s.count, vt_dataset_count(val), s.count == 1 ? "is" : "are",
             s.name);
    return VITCL_OK;
}

/* ---- a new training ---- */

vitcl_status vt_pictures_check(vt_left_out *out, vt_dataset *d,
                               const vitcl_train_options *o, void *context)
{
    vitcl_status st = VITCL_OK;
    vt_left_out l = {0};
    vt_broken b = {0};

    VT_TRY(vt_dataset_check(&b, d, o->checking, context));
    for (size_t i = 0; i < b.count && i < NAMED; i++)
        tell(o, context, "%s", b.why[i]);
    if (b.count > 0 && o->strict)
        VT_TRY(vt_fail(VITCL_ECORRUPT,
                       "%zu of %u files cannot be decoded%s; remove them, or "
                       "train without --strict, which leaves them out",
                       b.count, vt_dataset_count(d),
                       o->note ? b.count > NAMED
                                     ? " (the first are listed above)"
                                     : " (listed above)"
                               : ""));
    if (b.count == 0)
        goto done;
    if (b.count == vt_dataset_count(d))
        VT_TRY(vt_fail(VITCL_ECORRUPT,
                       "%s: none of the %zu files can be decoded", o->data,
                       b.count));
    VT_TRY(VT_NEW(&l.name, b.count));
    for (; l.count < b.count; l.count++)
        VT_TRY(vt_strdup(&l.name[l.count],
                         vt_dataset_name(d, b.picture[l.count])));
    vt_dataset_leave_out(d, b.picture, b.count);
    if (!out)
        tell(o, context,
             "%zu file%s to score cannot be decoded and %s left out", b.count,
             vt_plural(b.count), b.count == 1 ? "is" : "are");
    else
        tell(o, context,
             "%zu file%s cannot be decoded and %s left out; %s/" VT_LEFT_OUT
             " lists %s",
             b.count, vt_plural(b.count), b.count == 1 ? "is" : "are",
             o->output, b.count == 1 ? "it" : "them");
    if (out)
        *out = l, l = (vt_left_out){0};
done:
    vt_left_out_free(&l);
    vt_broken_free(&b);
    return st;
}

static void put_name(FILE *f, const char *name)
{
    for (const unsigned char *s = (const unsigned char *)name; *s; s++)
        if (*s < ' ' || *s == '\\' || *s == 127)
            fprintf(f, "\\%03o", *s);
        else
            fputc(*s, f);
    fputc('\n', f);
}

vitcl_status vt_left_out_save(const vt_left_out *l, const char *folder)
{
    vitcl_status st = VITCL_OK;
    vt_newfile file = {0};
    char *path = NULL;

    VT_TRY(vt_format(&path, "%s/" VT_LEFT_OUT, folder));
    if (l->count == 0) {
        if (unlink(path) != 0 && errno != ENOENT)
            st = vt_fail(VITCL_EIO, "%s: cannot remove: %s", path,
                         strerror(errno));
        goto done;
    }
    VT_TRY(vt_newfile_open(&file, path));
    for (size_t i = 0; i < l->count; i++)
        put_name(file.f, l->name[i]);
    VT_TRY(vt_newfile_commit(&file));
done:
    vt_newfile_discard(&file);
    free(path);
    return st;
}

/* ---- a resumed one ---- */

/* Reads a line's name, at most as long as the line, and moves *at behind it. */
static void get_name(char *out, const vt_file *f, size_t *at)
{
    const uint8_t *s = f->data;

    for (; *at < f->size && s[*at] != '\n'; (*at)++) {
        unsigned value = 0;
        size_t n = 0;

        while (s[*at] == '\\' && n < 3 && *at + n + 1 < f->size &&
               s[*at + n + 1] >= '0' && s[*at + n + 1] <= '7')
            value = value * 8 + (s[*at + ++n] - '0');
        *out++ = (char)(n == 3 ? value : s[*at]);
        *at += n == 3 ? 3 : 0;
    }
    (*at)++;
    *out = '\0';
}

vitcl_status vt_left_out_load(vt_left_out *out, const char *path)
{
    vitcl_status st = VITCL_OK;
    vt_left_out l = {0};
    vt_file f = {0};
    size_t lines = 0, at = 0;
    char *line = NULL;

    VT_TRY(vt_file_read(&f, path, LIST_MAX));
    for (size_t i = 0; i < f.size; i++)
        lines += f.data[i] == '\n';
    VT_TRY(VT_NEW(&l.name, lines + 1));
    VT_TRY(vt_new(&line, f.size + 1, 1));
    while (at < f.size) {
        get_name(line, &f, &at);
        VT_TRY(vt_strdup(&l.name[l.count], line));
        l.count++;
    }
    qsort(l.name, l.count, sizeof *l.name, vt_by_text);
    *out = l, l = (vt_left_out){0};
done:
    vt_left_out_free(&l);
    vt_file_close(&f);
    free(line);
    return st;
}

vitcl_status vt_pictures_again(vt_dataset *d, const char *folder)
{
    vitcl_status st = VITCL_OK;
    vt_left_out l = {0};
    char *path = NULL;
    uint32_t *picture = NULL;
    size_t n = 0;

    VT_TRY(vt_format(&path, "%s/" VT_LEFT_OUT, folder));
    if (!vt_path_exists(path))
        goto done;
    VT_TRY(vt_left_out_load(&l, path));
    VT_TRY(VT_NEW(&picture, vt_dataset_count(d)));
    for (uint32_t i = 0; i < vt_dataset_count(d); i++) {
        const char *name = vt_dataset_name(d, i);

        if (name && l.count > 0 &&
            bsearch(&name, l.name, l.count, sizeof *l.name, vt_by_text))
            picture[n++] = i;
    }
    vt_dataset_leave_out(d, picture, n);
done:
    vt_left_out_free(&l);
    free(path);
    free(picture);
    return st;
}

/* ---- what the rest is good for ---- */

static void tell_empty(const vt_dataset *d, const uint32_t *pictures,
                       const vitcl_train_options *o, void *context)
{
    char list[512] = "", more[32] = "";
    uint32_t n = 0;

    for (uint32_t c = 0; c < vt_dataset_classes(d); c++) {
        const size_t at = strlen(list);

        if (pictures[c] == 0 && n++ < NAMED)
            snprintf(list + at, sizeof list - at, "%s'%.*s'", at ? ", " : "",
                     (int)vt_utf8_cut(vt_dataset_class(d, c), 32),
                     vt_dataset_class(d, c));
    }
    if (n == 0)
        return;
    if (n > NAMED)
        snprintf(more, sizeof more, " and %u more", n - NAMED);
    tell(o, context,
         "class%s %s%s %s no pictures: the model learns nothing of %s; add "
         "pictures or remove the class",
         n == 1 ? "" : "es", list, more, n == 1 ? "has" : "have",
         n == 1 ? "it" : "them");
}

static bool has_labels(const vitcl_train_options *o)
{
    return !o->objective || strcmp(o->objective, "classes") == 0;
}

vitcl_status vt_pictures_judge(const vt_dataset *d,
                               const vitcl_train_options *o)
{
    const uint32_t n = vt_dataset_count(d);
    const char *name;

    for (uint32_t i = 1; i < n; i++)
        if (vt_dataset_label(d, i) != vt_dataset_label(d, 0))
            return VITCL_OK;
    if (!has_labels(o) || !vt_dataset_path(d, 0))
        return VITCL_OK;
    name = vt_dataset_class(d, vt_dataset_label(d, 0));
    return vt_fail(VITCL_EINVAL,
                   "%s: all pictures are of one class ('%.*s'), from which "
                   "nothing can be learnt; a classifier needs pictures of two "
                   "or more classes",
                   o->data, (int)vt_utf8_cut(name, 80), name);
}

vitcl_status vt_pictures_augment(const char **out, double *asymmetry,
                                 const vt_dataset *d)
{
    VT_RET(vt_dataset_asymmetry(asymmetry, d));
    *out = *asymmetry > VT_ASYMMETRIC ? "crop" : "light";
    return VITCL_OK;
}

vitcl_status vt_pictures_tell(const vt_dataset *d, const vitcl_train_options *o,
                              double asymmetry, void *context)
{
    vitcl_status st = VITCL_OK;
    const uint32_t n = vt_dataset_count(d), batch = o->batch ? o->batch : 64;
    const uint32_t train = n > o->hold_out ? n - o->hold_out : 0;
    uint32_t *pictures = NULL;

    VT_TRY(VT_NEW(&pictures, (size_t)vt_dataset_classes(d) + 1));
    for (uint32_t i = 0; i < n; i++)
        pictures[vt_dataset_label(d, i)]++;
    if (!isnan(asymmetry))
        tell(o, context,
             "augment %s: pictures and their mirror images are %s (%.3f)",
             o->augment,
             asymmetry > VT_ASYMMETRIC
                 ? "unlike each other, so that none is flipped"
                 : "alike, so that half are flipped",
             asymmetry > 0 ? asymmetry : 0);
    if (has_labels(o))
        tell_empty(d, pictures, o, context);
    if (train > 0 && batch > train)
        tell(o, context,
             "a batch of %u is more than the %u picture%s to train with, so "
             "that each step repeats pictures; --batch %u would not",
             batch, train, vt_plural(train), train);
done:
    free(pictures);
    return st;
}

void vt_pictures_changed(const char *what, const vitcl_train_options *o,
                         void *context)
{
    if (what)
        tell(o, context,
             "no longer the same training, from the last checkpoint on: %s",
             what);
}
