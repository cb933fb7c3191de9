/*
 * program.c - one kernel of cl/<file>.cl, built once.
 *
 * A device keeps its built programs until it is freed. Threads that need the
 * same program wait for the one that builds it; different programs build in
 * parallel. A registered program is built when it is needed, or together with
 * all others by vt_programs_build() (build_parallel.c), and then perhaps in one
 * program of the driver with others (join.c).
 */
#include "ocl/program.h"
#include "ocl/cache.h"
#include "ocl/objects.h"
#include "ocl/source.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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

static vitcl_status build(cl_program *out, vt_dev *dev, vt_program *p)
{
    const double from = vt_now_ms();
    cl_program program = NULL;
    const char *how = "from the cache";
    vt_inputs r;
    cl_int e;
    vitcl_status st;

    VT_TRY(vt_inputs_of(&r, dev, p));
    if (vt_joint_load(&program, dev, p, &r) ||
        vt_cache_load(&program, dev, &r.key, r.options))
        goto built;
    program = vt_inputs_program(&r, dev, &e);
    if (!program) {
        st = vt_cl_fail(dev, e, "cannot create a program from cl/%s.cl",
                        p->file);
        goto done;
    }
    vt_watch_one(dev, 1, 0);
    e = clBuildProgram(program, 1, &dev->id, r.options, NULL, NULL);
    if (e == CL_SUCCESS) {
        if (vt_program_hides(p->defines))
            st = vt_program_assemble(&program, dev);
        if (st == VITCL_OK) {
            atomic_fetch_add(&dev->programs_built, 1);
            vt_cache_save(dev, &r.key, program); /* may compile, too */
        }
    }
    vt_watch_one(dev, 0, 1);
    if (e != CL_SUCCESS) {
        st = build_error(dev, program, e, p->file, p->defines);
        goto done;
    }
    if (st != VITCL_OK)
        goto done;
    how = "built";
built:
    vt_log("kernel %s [%s]: %s in %.0f ms", p->name, p->defines, how,
           vt_now_ms() - from);
    *out = program, program = NULL;
done:
    if (program)
        clReleaseProgram(program);
    vt_inputs_free(&r);
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

    st = build(&program, dev, p);

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
        vt_inputs r;

        if (vt_inputs_of(&r, dev, list[i]) == VITCL_OK && !vt_cache_has(&r.key))
            list[kept++] = list[i];
        vt_inputs_free(&r);
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
    vt_inputs r;
    unsigned n = 1;
    vitcl_status st;

    for (const vt_program *q = p->next; q; q = q->next) /* asked for earlier */
        n += strcmp(q->name, p->name) == 0;
    VT_TRY(vt_inputs_of(&r, dev, p));
    VT_TRY(save_text(folder, p->name, n, "cl", r.common.text, r.text));
    VT_TRY(save_text(folder, p->name, n, "options", r.options, "\n"));
done:
    vt_inputs_free(&r);
    return st;
}

vitcl_status vt_dev_save_programs(vt_dev *dev, const char *folder)
{
    const vt_program *p;

    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return vt_fail(VITCL_EIO, "%s: cannot make the folder: %s", folder,
                       strerror(errno));
    /* Entries are added at the front and stay until the device is freed. */
    pthread_mutex_lock(&dev->lock);
    p = dev->programs;
    pthread_mutex_unlock(&dev->lock);
    for (; p; p = p->next)
        VT_RET(save_program(dev, p, folder));
    return VITCL_OK;
}

void vt_programs_free(vt_dev *dev)
{
    while (dev->programs) {
        vt_program *p = dev->programs;
        dev->programs = p->next;
        entry_free(p, !vt_dev_gone(dev));
    }
}
