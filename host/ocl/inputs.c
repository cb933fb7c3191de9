/*
 * inputs.c - what a program is compiled from: the common text, which is all
 * cl/common*.cl, its own, and its defines; and which of these change the common
 * text (its head).
 *
 * The embedded common text is put together once a process: made anew for each
 * program and each comparison it took 0.1 s of a first start. VITCL_CL_DIR's is
 * read each time, because its files may change.
 */
#include "ocl/program.h"
#include "ocl/source.h"

#include "base/environment.h"
#include "base/memory.h"

#include <string.h>

static vt_common embedded;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The lines of the preprocessor, each after a newline; without the lines that
 * continue them. */
static vitcl_status keep_directives(char **out, const char *text)
{
    char *to = NULL;
    const vitcl_status st = vt_new(&to, strlen(text) + 2, 1);

    if (st != VITCL_OK)
        return st;
    *out = to;
    while (*text) {
        const size_t n = strcspn(text, "\n");

        if (*text == '#') {
            *to++ = '\n';
            memcpy(to, text, n);
            to += n;
        }
        text += n + (text[n] == '\n');
    }
    return VITCL_OK;
}

size_t vt_word(const char *s)
{
    return strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                     "0123456789_");
}

static bool is_define_of(const char *line, const char *name, size_t n)
{
    return strncmp(line, "#define ", 8) == 0 &&
           strncmp(line + 8, name, n) == 0 && vt_word(line + 8) == n;
}

static bool defines_anywhere(const vt_common *c, const char *name, size_t n)
{
    for (const char *p = c->directives; (p = strchr(p, '\n'));)
        if (is_define_of(++p, name, n))
            return true;
    return false;
}

/* X of "#ifdef X", "#if defined(X)", "#if defined(X) && .."; or NULL. Names of
 * the compiler begin with "_". */
static const char *tested_name(size_t *n, const char *line)
{
    const size_t at = strncmp(line, "#ifdef ", 7) == 0         ? 7
                      : strncmp(line, "#if defined(", 12) == 0 ? 12
                                                               : 0;

    *n = vt_word(line + at);
    return at && line[at] != '_' && !memchr(line, '|', strcspn(line, "\n"))
               ? line + at
               : NULL;
}

static vitcl_status make(vt_common *c)
{
    size_t n = 0, cap = 0, m;
    char *part = NULL;
    vitcl_status st;

    *c = (vt_common){.text = NULL};
    for (const vt_cl_source *s = vt_cl_sources; s->name; s++) {
        if (strncmp(s->name, "common", 6) != 0)
            continue;
        free(part), part = NULL;
        VT_TRY(vt_source_read(&part, s->name));
        VT_TRY(vt_grow(&c->text, &cap, n + strlen(part) + 1, 1));
        memcpy(c->text + n, part, strlen(part) + 1);
        n += strlen(part);
    }
    VT_TRY(keep_directives(&c->directives, c->text));
    /* Of what the text itself may define, no test is decided by a program's
     * defines: its line becomes "#if?". */
    for (char *p = c->directives; (p = strchr(p, '\n'));) {
        const char *const name = tested_name(&m, ++p);

        if (name && defines_anywhere(c, name, m))
            p[3] = '?';
    }
    c->begun = vt_cache_key_begin(c->text);
done:
    free(part);
    if (st != VITCL_OK)
        vt_common_free(c);
    return st;
}

vitcl_status vt_common_get(vt_common *out)
{
    const char *folder = vt_getenv("VITCL_CL_DIR");
    vitcl_status st = VITCL_OK;

    if (folder && *folder)
        return make(out);
    pthread_mutex_lock(&lock);
    if (!embedded.kept) {
        st = make(&embedded);
        embedded.kept = st == VITCL_OK;
    }
    *out = embedded;
    pthread_mutex_unlock(&lock);
    return st;
}

void vt_common_free(vt_common *c)
{
    if (!c->kept) {
        free(c->text);
        free(c->directives);
    }
    *c = (vt_common){.text = NULL};
}

/* ---- defines ---- */

const char *vt_next_define(size_t *n, size_t *all, const char **at)
{
    const char *const p = strstr(*at, "-D");

    if (!p)
        return NULL;
    *n = vt_word(p + 2);
    *all = strcspn(p + 2, " ");
    *at = p + 2 + *all;
    return p + 2;
}

bool vt_is_set(const char *defines, const char *name, size_t n)
{
    size_t m, all;

    for (const char *p; (p = vt_next_define(&m, &all, &defines));)
        if (m == n && strncmp(p, name, n) == 0)
            return true;
    return false;
}

static bool has_name(const char *line, const char *name, size_t n)
{
    for (size_t i = 0; line[i] && line[i] != '\n';
         i += VT_MAX(vt_word(line + i), (size_t)1))
        if (vt_word(line + i) == n && strncmp(line + i, name, n) == 0)
            return true;
    return false;
}

/* Does the line test a define that is not set? */
static bool leaves_out(const char *line, const char *defines)
{
    size_t n;
    const char *const name = tested_name(&n, line);

    return name && !vt_is_set(defines, name, n);
}

/* Outside of what these defines leave out: is the name tested, or defined? */
static bool has_directive(const vt_common *c, const char *name, size_t n,
                          const char *defines, bool tested)
{
    unsigned depth = 0, off = 0; /* off: depth of what is left out */

    for (const char *p = c->directives; (p = strchr(p, '\n'));) {
        const char *const line = ++p;
        const bool opens = strncmp(line, "#if", 3) == 0,
                   ends = strncmp(line, "#endif", 6) == 0,
                   turns = strncmp(line, "#el", 3) == 0;

        depth += opens;
        if (opens && !off && leaves_out(line, defines))
            off = depth;
        else if ((turns || ends) && off == depth)
            off = 0;
        if (!off && (tested ? (opens || turns) && has_name(line, name, n)
                            : is_define_of(line, name, n)))
            return true;
        depth -= ends;
    }
    return false;
}

bool vt_common_tests(const vt_common *c, const char *name, size_t n,
                     const char *defines)
{
    return has_directive(c, name, n, defines, true);
}

bool vt_common_defines(const vt_common *c, const char *name, size_t n,
                       const char *defines)
{
    return has_directive(c, name, n, defines, false);
}

/* Does b have those defines of a that the common text tests? */
static bool has_head(const char *a, const char *b, const vt_common *c)
{
    const char *const all_of_a = a;
    size_t n, all, m, size;

    for (const char *name; (name = vt_next_define(&n, &all, &a));) {
        const char *other, *at = b;

        if (!vt_common_tests(c, name, n, all_of_a))
            continue;
        while ((other = vt_next_define(&m, &size, &at)))
            if (size == all && strncmp(other, name, all) == 0)
                break;
        if (!other)
            return false;
    }
    return true;
}

bool vt_same_head(const vt_common *c, const char *a, const char *b)
{
    return strcmp(a, b) == 0 || (has_head(a, b, c) && has_head(b, a, c));
}

/* ---- inputs ---- */

void vt_inputs_free(vt_inputs *r)
{
    vt_common_free(&r->common);
    free(r->text);
    free(r->options);
}

vitcl_status vt_inputs_of(vt_inputs *r, const vt_dev *dev, const vt_program *p)
{

    *r = (vt_inputs){.options = NULL};
    VT_RET(vt_common_get(&r->common));
    VT_RET(vt_source_read(&r->text, p->file));
    vt_source_keep(r->text, (const char *[]){p->name}, 1);
    VT_RET(vt_format(&r->options, "%s %s", dev->flags, p->defines));
    r->key = vt_cache_key_end(r->common.begun, dev, r->text, r->options);
    return VITCL_OK;
}

vitcl_status vt_dev_key(vt_kept_key *out, const vt_dev *dev,
                        const char *const *sources, const char *what)
{
    vt_common common = {.text = NULL};
    vt_kept_key key;
    char *text = NULL;
    vitcl_status st;

    VT_TRY(vt_common_get(&common));
    key = vt_cache_key_end(common.begun, dev, "", what);
    for (; *sources; sources++) {
        vt_sha256_state s;

        VT_TRY(vt_source_read(&text, *sources));
        vt_sha256_begin(&s);
        vt_sha256_add(&s, key.hash, sizeof key.hash);
        vt_sha256_add(&s, text, strlen(text));
        vt_sha256_end(&s, key.hash);
        free(text);
        text = NULL;
    }
    *out = key;
done:
    vt_common_free(&common);
    return st;
}

cl_program vt_inputs_program(const vt_inputs *r, const vt_dev *dev, cl_int *e)
{
    return clCreateProgramWithSource(
        dev->context, 2, (const char *[]){r->common.text, r->text}, NULL, e);
}
