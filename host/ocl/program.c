/*
 * program.c - every cl/common*.cl and one kernel of cl/<file>.cl, built once.
 *
 * A program has one kernel: the others of its file are blanked out, because a
 * driver compiles all of its input, and PoCL compiles it again when it is asked
 * for the binary (with four kernels in a file, that was three quarters of the
 * first start). So a kernel's definition must start with "kernel" and end with
 * "}", each at the beginning of a line; a definition in another form is kept.
 *
 * A device keeps its built programs until it is freed. Threads that need the
 * same program wait for the one that builds it; different programs build in
 * parallel. A registered program is built when it is needed, or together with
 * all others by vt_programs_build() (build_parallel.c). VITCL_CL_DIR=cl reads
 * the sources from a folder instead of the embedded ones, so that a kernel can
 * be edited and run without a build.
 */
#include "ocl/cache.h"
#include "ocl/objects.h"
#include "ocl/source.h"

#include "base/clock.h"
#include "base/environment.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SOURCE_LIMIT ((size_t)1 << 20)

struct vt_program {
    vt_program *next;
    char *file, *name, *defines;
    bool building;
    cl_program program; /* NULL until it is built */
};

vitcl_status vt_source_read(char **out, const char *name)
{
    const char *folder = vt_getenv("VITCL_CL_DIR");
    const vt_cl_source *s = vt_cl_sources;
    vt_file file = {0};
    char *path = NULL;
    vitcl_status st;

    if (!folder || !*folder) {
        while (s->name && strcmp(s->name, name) != 0)
            s++;
        if (!s->name)
            return vt_fail(VITCL_EUNSUPPORTED, "there is no kernel cl/%s.cl",
                           name);
        return vt_format(out, "#line 1 \"cl/%s.cl\"\n%.*s\n", name,
                         (int)s->size, s->text);
    }
    VT_TRY(vt_format(&path, "%s/%s.cl", folder, name));
    VT_TRY(vt_file_read(&file, path, SOURCE_LIMIT));
    VT_TRY(vt_format(out, "#line 1 \"%s\"\n%.*s\n", path, (int)file.size,
                     (const char *)file.data));
done:
    vt_file_close(&file);
    free(path);
    return st;
}

/* What stands before every program: the sources whose names begin with common,
 * in the order of the names. */
static vitcl_status read_common(char **out)
{
    vitcl_status st = VITCL_OK;
    char *all = NULL, *part = NULL;

    for (const vt_cl_source *s = vt_cl_sources; s->name; s++) {
        char *joined;

        if (strncmp(s->name, "common", 6) != 0)
            continue;
        free(part), part = NULL;
        VT_TRY(vt_source_read(&part, s->name));
        VT_TRY(vt_format(&joined, "%s%s", all ? all : "", part));
        free(all), all = joined;
    }
    *out = all, all = NULL;
done:
    free(all);
    free(part);
    return st;
}

/* Does the start of a definition, up to its brace, name this kernel? */
static bool defines_kernel(const char *from, const char *to, const char *name)
{
    const size_t n = strlen(name);

    for (const char *p = from; (p = strstr(p, name)) && p < to; p += n)
        if (p > from && (p[-1] == ' ' || p[-1] == '\n') && p[n] == '(')
            return true;
    return false;
}

/* Blanks out all kernels but `name`, keeping the line numbers. */
static void keep_kernel(char *text, const char *name)
{
    char *from = text;

    while ((from = strstr(from, "\nkernel "))) {
        char *const brace = strchr(from, '{'), *end = strstr(from, "\n}\n");
        const char *const directive = strstr(from, "\n#");
        if (!brace || !end || brace > end)
            return;
        if (!defines_kernel(from, brace, name) &&
            (!directive || directive > brace))
            for (char *c = from; c < end + 2; c++)
                if (*c != '\n')
                    *c = ' ';
        from = end + 2;
    }
}

/* Finds the first line of a build log that reports an error. */
static vitcl_status build_error(vt_dev *dev, cl_program program, cl_int e,
                                const char *file, const char *defines)
{
    char *log = NULL, *line, *end;
    size_t n = 0;

    if (clGetProgramBuildInfo(program, dev->id, CL_PROGRAM_BUILD_LOG, 0, NULL,
                              &n) == CL_SUCCESS &&
        n > 1 && vt_new(&log, n + 1, 1) == VITCL_OK)
        clGetProgramBuildInfo(program, dev->id, CL_PROGRAM_BUILD_LOG, n, log,
                              NULL);
    if (log) {
        vt_log("cl/%s.cl [%s]: build log of the driver:\n%s", file, defines,
               log);
    }
    line = log ? strstr(log, "error") : NULL;
    while (line && line > log && line[-1] != '\n')
        line--;
    if (!line)
        line = log;
    while (line && (*line == '\n' || *line == ' '))
        line++;
    if (line && (end = strchr(line, '\n')))
        *end = '\0';
    vt_cl_fail(dev, e, "cannot build cl/%s.cl [%.60s]: %.160s", file, defines,
               line && *line ? line : "the driver gives no reason");
    free(log);
    return VITCL_EDEVICE;
}

/* The inputs of a build, and their cache key. */
typedef struct inputs {
    char *text[2], *options;
    vt_cache_key key;
} inputs;

static void inputs_free(inputs *r)
{
    free(r->text[0]);
    free(r->text[1]);
    free(r->options);
}

static vitcl_status inputs_of(inputs *r, const vt_dev *dev, const char *file,
                              const char *name, const char *defines)
{
    vitcl_status st;

    *r = (inputs){.options = NULL};
    VT_TRY(read_common(&r->text[0]));
    VT_TRY(vt_source_read(&r->text[1], file));
    keep_kernel(r->text[1], name);
    VT_TRY(vt_format(&r->options, "%s %s", dev->flags, defines));
    r->key = vt_cache_key_of(dev, r->text[0], r->text[1], r->options);
done:
    return st;
}

static vitcl_status build(cl_program *out, vt_dev *dev, const char *file,
                          const char *name, const char *defines)
{
    const double from = vt_now_ms();
    cl_program program = NULL;
    const char *how = "from the cache";
    inputs r;
    cl_int e;
    vitcl_status st;

    VT_TRY(inputs_of(&r, dev, file, name, defines));
    if (vt_cache_load(&program, dev, &r.key, r.options))
        goto built;
    program = clCreateProgramWithSource(dev->context, 2, (const char **)r.text,
                                        NULL, &e);
    if (!program) {
        st = vt_cl_fail(dev, e, "cannot create a program from cl/%s.cl", file);
        goto done;
    }
    vt_watch_one(dev, 1, 0);
    e = clBuildProgram(program, 1, &dev->id, r.options, NULL, NULL);
    if (e == CL_SUCCESS) {
        atomic_fetch_add(&dev->programs_built, 1);
        vt_cache_save(dev, &r.key, program); /* may compile, too */
    }
    vt_watch_one(dev, 0, 1);
    if (e != CL_SUCCESS) {
        st = build_error(dev, program, e, file, defines);
        goto done;
    }
    how = "built";
built:
    vt_log("kernel %s [%s]: %s in %.0f ms", name, defines, how,
           vt_now_ms() - from);
    *out = program, program = NULL;
done:
    if (program)
        clReleaseProgram(program);
    inputs_free(&r);
    return st;
}

static void entry_free(vt_program *p, bool release)
{
    if (p && p->program && release)
        clReleaseProgram(p->program);
    if (p) {
        free(p->file);
        free(p->name);
        free(p->defines);
    }
    free(p);
}

/* Call with dev->lock held: the entry, or NULL. */
static vt_program *find(const vt_dev *dev, const char *file, const char *name,
                        const char *defines)
{
    vt_program *p = dev->programs;

    while (p && (strcmp(p->file, file) != 0 || strcmp(p->name, name) != 0 ||
                 strcmp(p->defines, defines) != 0))
        p = p->next;
    return p;
}

vitcl_status vt_program_ask(vt_program **out, vt_dev *dev, const char *file,
                            const char *name, const char *defines)
{
    vt_program *p = NULL, *mine = NULL;
    vitcl_status st;

    VT_TRY(vt_dev_alive(dev));
    VT_TRY(VT_NEW(&mine, 1));
    VT_TRY(vt_strdup(&mine->file, file));
    VT_TRY(vt_strdup(&mine->name, name));
    VT_TRY(vt_strdup(&mine->defines, defines));
    pthread_mutex_lock(&dev->lock);
    atomic_fetch_add(&dev->lookups, 1);
    p = find(dev, file, name, defines);
    if (!p) {
        mine->next = dev->programs;
        dev->programs = p = mine, mine = NULL;
    }
    pthread_mutex_unlock(&dev->lock);
    *out = p;
done:
    entry_free(mine, false);
    return st;
}

vitcl_status vt_program_get(cl_program *out, vt_dev *dev, vt_program *p)
{
    cl_program program = NULL;
    vitcl_status st = VITCL_OK;

    pthread_mutex_lock(&dev->lock);
    while (p->building)
        pthread_cond_wait(&dev->built, &dev->lock);
    if (p->program) {
        *out = p->program;
        pthread_mutex_unlock(&dev->lock);
        return VITCL_OK;
    }
    p->building = true;
    pthread_mutex_unlock(&dev->lock);

    st = build(&program, dev, p->file, p->name, p->defines);

    pthread_mutex_lock(&dev->lock);
    p->building = false; /* after a failure, the next caller retries */
    if (st == VITCL_OK)
        *out = p->program = program;
    pthread_cond_broadcast(&dev->built);
    pthread_mutex_unlock(&dev->lock);
    return st;
}

const char *vt_program_file(const vt_program *p)
{
    return p->file;
}

unsigned vt_programs_missing(vt_program **list, unsigned size, vt_dev *dev)
{
    unsigned n = 0, kept = 0;

    pthread_mutex_lock(&dev->lock);
    for (vt_program *p = dev->programs; p && n < size; p = p->next)
        if (!p->program && !p->building)
            list[n++] = p;
    pthread_mutex_unlock(&dev->lock);
    for (unsigned i = 0; i < n; i++) {
        inputs r;
        vt_program *const p = list[i];

        if (inputs_of(&r, dev, p->file, p->name, p->defines) == VITCL_OK &&
            !vt_cache_has(&r.key))
            list[kept++] = p;
        inputs_free(&r);
    }
    return kept;
}

static vitcl_status save_text(const char *folder, const char *name, unsigned n,
                              const char *suffix, const char *a, const char *b)
{
    char *path = NULL;
    vt_newfile file = {0};
    vitcl_status st;

    VT_TRY(vt_format(&path, "%s/%s-%u.%s", folder, name, n, suffix));
    VT_TRY(vt_newfile_open(&file, path));
    fprintf(file.f, "%s%s", a, b); /* commit() finds errors */
    VT_TRY(vt_newfile_commit(&file));
done:
    vt_newfile_discard(&file);
    free(path);
    return st;
}

static vitcl_status save_program(vt_dev *dev, const vt_program *p,
                                 const char *folder)
{
    inputs r;
    unsigned n = 1;
    vitcl_status st;

    for (const vt_program *q = p->next; q; q = q->next) /* asked for earlier */
        n += strcmp(q->name, p->name) == 0;
    VT_TRY(inputs_of(&r, dev, p->file, p->name, p->defines));
    VT_TRY(save_text(folder, p->name, n, "cl", r.text[0], r.text[1]));
    VT_TRY(save_text(folder, p->name, n, "options", r.options, "\n"));
done:
    inputs_free(&r);
    return st;
}

vitcl_status vt_dev_save_programs(vt_dev *dev, const char *folder)
{
    vitcl_status st = VITCL_OK;
    const vt_program *p;

    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return vt_fail(VITCL_EIO, "%s: cannot make the folder: %s", folder,
                       strerror(errno));
    /* Entries are added at the front and stay until the device is freed. */
    pthread_mutex_lock(&dev->lock);
    p = dev->programs;
    pthread_mutex_unlock(&dev->lock);
    for (; p; p = p->next)
        VT_TRY(save_program(dev, p, folder));
done:
    return st;
}

void vt_programs_free(vt_dev *dev)
{
    while (dev->programs) {
        vt_program *p = dev->programs;
        dev->programs = p->next;
        entry_free(p, !vt_dev_gone(dev));
    }
}
