/*
 * source.c - the text of a program: every cl/common*.cl (inputs.c) and one
 * kernel of cl/<file>.cl.
 *
 * The file's other kernels are blanked out, and what follows the last wanted
 * one, because a driver compiles all of its input, and PoCL compiles it again
 * when it is asked for the binary (with four kernels in a file, that was three
 * quarters of the first start). So a kernel's definition must start with
 * "kernel" and end with "}", each at the beginning of a line; a definition in
 * another form is kept.
 *
 * VITCL_CL_DIR=cl reads the sources from a folder instead of the embedded ones,
 * so that a kernel can be edited and run without a build.
 */
#include "ocl/source.h"
#include "ocl/program.h"

#include "base/environment.h"
#include "base/file.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

#define SOURCE_LIMIT ((size_t)1 << 20)

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

/* Does the start of a definition, up to its brace, name this kernel? */
static bool defines_kernel(const char *from, const char *to, const char *name)
{
    const size_t n = strlen(name);

    for (const char *p = from; (p = strstr(p, name)) && p < to; p += n)
        if (p > from && (p[-1] == ' ' || p[-1] == '\n') && p[n] == '(')
            return true;
    return false;
}

static void blank(char *from, const char *to)
{
    for (; from < to; from++)
        if (*from != '\n')
            *from = ' ';
}

void vt_source_keep(char *text, const char *const *names, unsigned n)
{
    char *from = text, *rest = NULL; /* rest: after the last wanted one */

    while ((from = strstr(from, "\nkernel "))) {
        char *const brace = strchr(from, '{'), *end = strstr(from, "\n}\n");
        const char *const directive = strstr(from, "\n#");
        bool wanted = false;

        if (!brace || !end || brace > end)
            return;
        for (unsigned i = 0; i < n && !wanted; i++)
            wanted = defines_kernel(from, brace, names[i]);
        if (!wanted && (!directive || directive > brace))
            blank(from, end + 2);
        else
            rest = end + 2;
        from = end + 2;
    }
    for (char *end; rest && rest[1]; rest = end) {
        end = rest + 1 + strcspn(rest + 1, "\n");
        if (rest[1] != '#')
            blank(rest, end);
    }
}
