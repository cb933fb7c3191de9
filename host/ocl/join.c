/*
 * join.c - several programs, compiled as one.
 *
 * Before PoCL compiles a program's first line, it reads OpenCL's header and
 * links its own library of kernels: 90 ms for each program, however small,
 * which was half of a first start. So the programs of a plan are compiled
 * together where that pays (build_parallel.c). The text is the common one and
 * then one part for each file and its defines, with its functions and types
 * renamed and its macros undefined at its end, so that files need not know of
 * each other. Each kernel's own text is what it is alone, and so are its bits.
 * Only defines that the common text tests (its head) must be the same: it must
 * test what it uses itself, because not all programs have it.
 *
 * On disk, the joint program has a file like any other, and the file of each of
 * its programs only refers to it. A later plan therefore compiles only what is
 * missing. If a joint program cannot be compiled or its file is gone, each
 * program is compiled alone when it is needed.
 */
#include "ocl/program.h"
#include "ocl/source.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

#define NAME 64 /* longest name in cl/, and room for a suffix */
/* A kernel takes about as long to compile as its text is long, and every one as
 * long as so many characters. */
#define LEAST 1000

/* ---- text ---- */

static vitcl_status append(char **text, const char *more, const char *name,
                           size_t n, const char *tail)
{
    char *joined = NULL;
    const vitcl_status st = vt_format(&joined, "%s%s%.*s%s", *text ? *text : "",
                                      more, (int)n, name, tail);

    if (st == VITCL_OK) {
        free(*text);
        *text = joined;
    }
    return st;
}

/* The name in "static ... TYPE NAME(", the definition of a function. */
static const char *function_name(size_t *n, const char *definition)
{
    const char *open = strchr(definition, '(');

    while (open && strncmp(open, "((", 2) == 0) /* __attribute__((...)) */
        open =
            strchr(strstr(open, "))") ? strstr(open, "))") + 2 : open + 2, '(');
    if (!open)
        return NULL;
    *n = 0;
    while (open > definition && vt_word(open - 1) > 0)
        open--, (*n)++;
    return *n > 0 && *n < NAME ? open : NULL;
}

static bool is_address_space(const char *name)
{
    return strncmp(name, "global,", 7) == 0 ||
           strncmp(name, "local,", 6) == 0 || strncmp(name, "private,", 8) == 0;
}

/* The name that a line defines, other than a macro or a kernel: a function, a
 * type ("typedef T NAME;", "} NAME;"), or what a macro makes: "MACRO(NAME, ",
 * where NAME may also be an address space. */
static const char *defined_name(size_t *n, const char *line)
{
    const size_t end = strcspn(line, "\n"), macro = vt_word(line);

    if (strncmp(line, "static ", 7) == 0)
        return function_name(n, line);
    if ((strncmp(line, "typedef ", 8) == 0 || line[0] == '}') &&
        line[end - 1] == ';') {
        for (*n = 0; *n + 2 < end && vt_word(line + end - 2 - *n) > 0;)
            ++*n;
        return *n > 0 && *n < NAME ? line + end - 1 - *n : NULL;
    }
    if (macro > 0 && line[0] >= 'A' && line[0] <= 'Z' && line[macro] == '(') {
        const char *const name = line + macro + 1;

        *n = vt_word(name);
        return *n > 0 && *n < NAME && *name >= 'a' && *name <= 'z' &&
                       !is_address_space(name)
                   ? name
                   : NULL;
    }
    return NULL;
}

/* Gives each function and type of the text a name of its own; `after` undoes
 * it. */
static vitcl_status rename_all(char **before, char **after, const char *text,
                               unsigned part)
{
    char suffix[NAME * 2];

    for (const char *p = text; (p = strchr(p, '\n')) && p[1]; p++) {
        size_t n;
        const char *const name = defined_name(&n, p + 1);

        if (!name)
            continue;
        snprintf(suffix, sizeof suffix, " %.*s_part%u\n", (int)n, name, part);
        VT_RET(append(before, "#define ", name, n, suffix));
        VT_RET(append(after, "#undef ", name, n, "\n"));
    }
    return VITCL_OK;
}

/* The text's macros, except those that the head has. */
static vitcl_status undefine_macros(char **after, const char *text,
                                    const char *defines,
                                    const vt_common *common)
{
    static const char define[] = "\n#define ";

    for (const char *p = text; (p = strstr(p, define)); p++) {
        const char *const name = p + strlen(define);
        const size_t n = vt_word(name);

        if (!vt_common_defines(common, name, n, defines) &&
            !(vt_is_set(defines, name, n) &&
              vt_common_tests(common, name, n, defines)))
            VT_RET(append(after, "#undef ", name, n, "\n"));
    }
    return VITCL_OK;
}

/* The defines that are not the head's are set in the text. */
static vitcl_status define_macros(char **before, char **after,
                                  const char *defines, const vt_common *common)
{
    const char *at = defines;
    size_t n, all;

    for (const char *name; (name = vt_next_define(&n, &all, &at));) {
        if (vt_common_tests(common, name, n, defines))
            continue;
        VT_RET(append(before, "#define ", name, n, all > n ? " " : " 1"));
        VT_RET(append(before, "", name + n + (all > n), all - n - (all > n),
                      "\n"));
        VT_RET(append(after, "#undef ", name, n, "\n"));
    }
    return VITCL_OK;
}

static bool same_text(const vt_program *a, const vt_program *b)
{
    return strcmp(a->file, b->file) == 0 && strcmp(a->defines, b->defines) == 0;
}

/* Appends a file with the kernels that the list's programs want of it. */
static vitcl_status append_file(char **out, vt_program *const *list, unsigned n,
                                unsigned at, const vt_common *common)
{
    const char *names[VT_JOINED];
    char *text = NULL, *before = NULL, *after = NULL, *joined = NULL;
    unsigned wanted = 0;
    vitcl_status st;

    for (unsigned i = 0; i < n; i++)
        if (same_text(list[i], list[at]))
            names[wanted++] = list[i]->name;
    VT_TRY(vt_source_read(&text, list[at]->file));
    vt_source_keep(text, names, wanted);
    VT_TRY(define_macros(&before, &after, list[at]->defines, common));
    VT_TRY(rename_all(&before, &after, text, at));
    VT_TRY(undefine_macros(&after, text, list[at]->defines, common));
    VT_TRY(vt_format(&joined, "%s%s%s\n%s", *out ? *out : "",
                     before ? before : "", text, after ? after : ""));
    free(*out);
    *out = joined;
done:
    free(text);
    free(before);
    free(after);
    return st;
}

static vitcl_status append_head(char **options, const char *defines,
                                const vt_common *common)
{
    const char *at = defines;
    size_t n, all;

    for (const char *name; (name = vt_next_define(&n, &all, &at));)
        if (vt_common_tests(common, name, n, defines))
            VT_RET(append(options, " -D", name, all, ""));
    return VITCL_OK;
}

static vitcl_status joint_inputs(vt_inputs *r, const vt_dev *dev,
                                 vt_program *const *list, unsigned n)
{
    *r = (vt_inputs){.options = NULL};
    VT_RET(vt_common_get(&r->common));
    for (unsigned i = 0; i < n; i++) {
        bool seen = false;

        for (unsigned k = 0; k < i && !seen; k++)
            seen = same_text(list[k], list[i]);
        if (!seen)
            VT_RET(append_file(&r->text, list, n, i, &r->common));
    }
    VT_RET(vt_format(&r->options, "%s", dev->flags));
    VT_RET(append_head(&r->options, list[0]->defines, &r->common));
    r->key = vt_cache_key_end(r->common.begun, dev, r->text, r->options);
    return VITCL_OK;
}

/* ---- build ---- */

bool vt_program_fits(const vt_program *p, vt_program *const *group, unsigned n)
{
    vt_common common;
    bool yes;

    for (unsigned i = 0; i < n; i++)
        if (strcmp(p->name, group[i]->name) == 0)
            return false;
    if (n == VT_JOINED || vt_common_get(&common) != VITCL_OK)
        return false;
    yes = vt_same_head(&common, p->defines, group[0]->defines);
    vt_common_free(&common);
    return yes;
}

/* The length of a text without spaces, comments, and what #ifdef and #ifndef
 * leave out; of #if both sides count. */
static unsigned length_of(const char *text, const char *defines)
{
    enum { DEEPEST = 15 };
    bool decided[DEEPEST + 1] = {false};
    unsigned n = 0, depth = 0, off = 0; /* off: depth of what is left out */

    for (const char *c = text; *c; c++) {
        const char *const end = strncmp(c, "/*", 2) == 0 ? strstr(c, "*/") : 0;
        const bool is_if = strncmp(c, "\n#if", 4) == 0;
        const size_t name = strncmp(c, "\n#ifdef ", 8) == 0    ? 8
                            : strncmp(c, "\n#ifndef ", 9) == 0 ? 9
                                                               : 0;

        if (is_if && depth == DEEPEST)
            break;
        if (is_if) {
            decided[++depth] = name > 0;
            if (name > 0 && !off &&
                vt_is_set(defines, c + name, vt_word(c + name)) != (name == 8))
                off = depth;
        } else if (strncmp(c, "\n#else", 6) == 0 && decided[depth]) {
            off = off == depth ? 0 : off ? off : depth;
        } else if (strncmp(c, "\n#endif", 7) == 0 && depth > 0) {
            off = off == depth ? 0 : off;
            depth--;
        }
        n += !off && !end && *c > ' ';
        c = end ? end + 1 : c;
    }
    return n;
}

unsigned vt_program_weight(const vt_program *p)
{
    unsigned weight = LEAST;
    char *text = NULL;

    if (vt_source_read(&text, p->file) == VITCL_OK) {
        vt_source_keep(text, (const char *[]){p->name}, 1);
        weight += length_of(text, p->defines);
    }
    free(text);
    return weight;
}

static cl_program compile(vt_dev *dev, const vt_inputs *r)
{
    cl_int e;
    cl_program program = vt_inputs_program(r, dev, &e);

    if (program && clBuildProgram(program, 1, &dev->id, r->options, NULL,
                                  NULL) != CL_SUCCESS) {
        clReleaseProgram(program);
        program = NULL;
    }
    return program;
}

void vt_half_compile(vt_half *out, vt_dev *dev, vt_program *const *list,
                     unsigned n)
{
    vt_inputs r;
    const bool good = joint_inputs(&r, dev, list, n) == VITCL_OK &&
                      vt_half_make(out, dev, &r);

    vt_inputs_free(&r);
    vt_half_end(out, good);
}

/* Takes the programs that nobody builds; ends with them at the list's start. */
static unsigned take(vt_dev *dev, vt_program **list, unsigned n)
{
    unsigned taken = 0;

    pthread_mutex_lock(&dev->lock);
    for (unsigned i = 0; i < n; i++)
        if (!list[i]->program && !list[i]->building) {
            list[i]->building = true;
            list[taken++] = list[i];
        }
    pthread_mutex_unlock(&dev->lock);
    return taken;
}

static void put(vt_dev *dev, vt_program *const *list, unsigned n,
                cl_program program, const vt_kept_key *joint)
{
    pthread_mutex_lock(&dev->lock);
    for (unsigned i = 0; i < n; i++) {
        list[i]->building = false;
        if (program && clRetainProgram(program) == CL_SUCCESS) {
            list[i]->program = program;
            list[i]->joined = true;
            list[i]->joint = *joint;
        }
    }
    pthread_cond_broadcast(&dev->built);
    pthread_mutex_unlock(&dev->lock);
}

static void log_built(vt_program *const *list, unsigned n, const char *head,
                      double ms)
{
    char names[512] = "";
    size_t at = 0;

    for (unsigned i = 0; i < n && at < sizeof names; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s",
                               i ? ", " : "", list[i]->name);
    vt_log("kernels %s [%s]: built together in %.0f ms", names,
           head + strspn(head, " "), ms);
}

bool vt_programs_join(vt_dev *dev, vt_program *const *wanted, unsigned n,
                      vt_half *half)
{
    const unsigned all = n;
    const double from = vt_now_ms();
    vt_program *list[VT_JOINED];
    cl_program program = NULL;
    vt_inputs r, one;

    memcpy(list, wanted, n * sizeof *list);
    n = take(dev, list, n);
    if (n == 0)
        return true;
    if (joint_inputs(&r, dev, list, n) == VITCL_OK &&
        (vt_cache_load(&program, dev, &r.key, r.options) ||
         (half && n == all && (program = vt_half_link(dev, half))) ||
         (program = compile(dev, &r)))) {
        vt_cache_save(dev, &r.key, program);
        for (unsigned i = 0; i < n; i++) {
            if (vt_inputs_of(&one, dev, list[i]) == VITCL_OK)
                vt_cache_refer(dev, &one.key, &r.key);
            vt_inputs_free(&one);
        }
        atomic_fetch_add(&dev->programs_built, n);
        log_built(list, n, r.options + strlen(dev->flags), vt_now_ms() - from);
    }
    put(dev, list, n, program, &r.key);
    vt_inputs_free(&r);
    if (program)
        clReleaseProgram(program);
    return program != NULL;
}

/* ---- load ---- */

/* The joint program, if another of its programs has been loaded. */
static cl_program loaded(vt_dev *dev, const vt_kept_key *joint)
{
    cl_program program = NULL;

    pthread_mutex_lock(&dev->lock);
    for (const vt_program *p = dev->programs; p && !program; p = p->next)
        if (p->program && p->joined &&
            memcmp(&p->joint, joint, sizeof *joint) == 0 &&
            clRetainProgram(p->program) == CL_SUCCESS)
            program = p->program;
    pthread_mutex_unlock(&dev->lock);
    return program;
}

bool vt_joint_load(cl_program *out, vt_dev *dev, vt_program *p,
                   const vt_inputs *r)
{
    vt_kept_key joint;

    if (!vt_cache_referred(&joint, &r->key))
        return false;
    if (!(*out = loaded(dev, &joint)) &&
        !vt_cache_load(out, dev, &joint, r->options))
        return false;
    p->joint = joint; /* read by others only after p->program is set */
    p->joined = true;
    return true;
}
