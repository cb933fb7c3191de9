/*
 * join.c - several programs with the same defines, compiled as one.
 *
 * Before PoCL compiles a program's first line, it reads OpenCL's header and
 * links its own library of kernels: 90 ms for each program, however small,
 * which was half of a first start. So the programs of a plan that have the same
 * defines are compiled together where that pays (build_parallel.c). The text is
 * the common one and then one part for each file, with its static functions
 * renamed and its macros undefined at its end, so that files need not know of
 * each other. Each kernel's own text is what it is alone, and so are its bits.
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

/* ---- text ---- */

static size_t word(const char *s)
{
    return strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                     "0123456789_");
}

/* Is the macro set in the build options? */
static bool is_set(const char *defines, const char *name, size_t n)
{
    for (const char *p = defines; (p = strstr(p, "-D")); p += 2)
        if (strncmp(p + 2, name, n) == 0 && word(p + 2) == n)
            return true;
    return false;
}

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

/* The name in "static inline TYPE NAME(", the definition of a function. */
static const char *function_name(size_t *n, const char *definition)
{
    const char *open = strchr(definition, '(');

    while (open && strncmp(open, "((", 2) == 0) /* __attribute__((...)) */
        open =
            strchr(strstr(open, "))") ? strstr(open, "))") + 2 : open + 2, '(');
    if (!open)
        return NULL;
    *n = 0;
    while (open > definition && word(open - 1) > 0)
        open--, (*n)++;
    return *n > 0 && *n < NAME ? open : NULL;
}

/* Gives each static function of the text a name of its own; `after` undoes it.
 */
static vitcl_status rename_functions(char **before, char **after,
                                     const char *text, unsigned part)
{
    char suffix[NAME * 2];
    vitcl_status st = VITCL_OK;

    for (const char *p = text; (p = strstr(p, "\nstatic inline ")); p++) {
        size_t n;
        const char *const name = function_name(&n, p + 1);

        if (!name)
            continue;
        snprintf(suffix, sizeof suffix, " %.*s_part%u\n", (int)n, name, part);
        VT_TRY(append(before, "#define ", name, n, suffix));
        VT_TRY(append(after, "#undef ", name, n, "\n"));
    }
done:
    return st;
}

static vitcl_status undefine_macros(char **after, const char *text,
                                    const char *defines)
{
    static const char define[] = "\n#define ";
    vitcl_status st = VITCL_OK;

    for (const char *p = text; (p = strstr(p, define)); p++) {
        const char *const name = p + strlen(define);
        const size_t n = word(name);

        if (!is_set(defines, name, n))
            VT_TRY(append(after, "#undef ", name, n, "\n"));
    }
done:
    return st;
}

/* Appends a file with the kernels that the list's programs want of it. */
static vitcl_status append_file(char **out, vt_program *const *list, unsigned n,
                                unsigned at)
{
    const char *names[VT_JOINED];
    char *text = NULL, *before = NULL, *after = NULL, *joined = NULL;
    unsigned wanted = 0;
    vitcl_status st;

    for (unsigned i = 0; i < n; i++)
        if (strcmp(list[i]->file, list[at]->file) == 0)
            names[wanted++] = list[i]->name;
    VT_TRY(vt_source_read(&text, list[at]->file));
    vt_source_keep(text, names, wanted);
    VT_TRY(rename_functions(&before, &after, text, at));
    VT_TRY(undefine_macros(&after, text, list[at]->defines));
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

static vitcl_status joint_inputs(vt_inputs *r, const vt_dev *dev,
                                 vt_program *const *list, unsigned n)
{
    vitcl_status st;

    *r = (vt_inputs){.options = NULL};
    VT_TRY(vt_source_common(&r->text[0]));
    for (unsigned i = 0; i < n; i++) {
        bool seen = false;

        for (unsigned k = 0; k < i && !seen; k++)
            seen = strcmp(list[k]->file, list[i]->file) == 0;
        if (!seen)
            VT_TRY(append_file(&r->text[1], list, n, i));
    }
    VT_TRY(vt_format(&r->options, "%s %s", dev->flags, list[0]->defines));
    r->key = vt_cache_key_of(dev, r->text[0], r->text[1], r->options);
done:
    return st;
}

/* ---- build ---- */

/* Can both be in one program? */
static bool fits(const vt_program *a, const vt_program *b)
{
    return strcmp(a->defines, b->defines) == 0 && strcmp(a->name, b->name) != 0;
}

unsigned vt_programs_group(vt_program **list, unsigned n, unsigned most)
{
    unsigned size = 1;

    most = VT_MIN(most, (unsigned)VT_JOINED);
    for (unsigned i = 1; i < n && size < most; i++) {
        bool all = true;

        for (unsigned k = 0; k < size && all; k++)
            all = fits(list[k], list[i]);
        if (all) {
            vt_program *const p = list[i];

            memmove(list + size + 1, list + size, (i - size) * sizeof *list);
            list[size++] = p;
        }
    }
    return size;
}

static cl_program compile(vt_dev *dev, const vt_inputs *r)
{
    cl_int e;
    cl_program program = clCreateProgramWithSource(
        dev->context, 2, (const char *[]){r->text[0], r->text[1]}, NULL, &e);

    if (program && clBuildProgram(program, 1, &dev->id, r->options, NULL,
                                  NULL) != CL_SUCCESS) {
        clReleaseProgram(program);
        program = NULL;
    }
    return program;
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
                cl_program program, const vt_cache_key *joint)
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

static void log_built(vt_program *const *list, unsigned n, double ms)
{
    char names[512] = "";
    size_t at = 0;

    for (unsigned i = 0; i < n && at < sizeof names; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s",
                               i ? ", " : "", list[i]->name);
    vt_log("kernels %s [%s]: built together in %.0f ms", names,
           list[0]->defines, ms);
}

bool vt_programs_join(vt_dev *dev, vt_program *const *wanted, unsigned n)
{
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
         (program = compile(dev, &r)))) {
        vt_cache_save(dev, &r.key, program);
        for (unsigned i = 0; i < n; i++) {
            if (vt_inputs_of(&one, dev, list[i]) == VITCL_OK)
                vt_cache_refer(dev, &one.key, &r.key);
            vt_inputs_free(&one);
        }
        atomic_fetch_add(&dev->programs_built, n);
        log_built(list, n, vt_now_ms() - from);
    }
    put(dev, list, n, program, &r.key);
    vt_inputs_free(&r);
    if (program)
        clReleaseProgram(program);
    return program != NULL;
}

/* ---- load ---- */

/* The joint program, if another of its programs has been loaded. */
static cl_program loaded(vt_dev *dev, const vt_cache_key *joint)
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
    vt_cache_key joint;

    if (!vt_cache_referred(&joint, &r->key))
        return false;
    if (!(*out = loaded(dev, &joint)) &&
        !vt_cache_load(out, dev, &joint, r->options))
        return false;
    p->joint = joint; /* read by others only after p->program is set */
    p->joined = true;
    return true;
}
