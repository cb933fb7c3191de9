/*
 * assemble.c - instructions that a driver's compiler does not know, but its
 * assembler does.
 *
 * NVIDIA's driver compiles OpenCL C for sm_90, and takes PTX for sm_90a as a
 * program's binary: that target alone has wgmma. So a kernel has these
 * instructions as comments of PTX (cl/common_units_by_nvidia.cl), which the
 * compiler leaves where they stand, with the names of registers; here they
 * become instructions, and the driver assembles the text once more.
 */
#include "ocl/objects.h"
#include "ocl/program.h"

#include "base/memory.h"

#include <string.h>

#define HIDDEN "//90a "
#define TARGET ".target sm_90"

bool vt_program_hides(const char *defines)
{
    return strstr(defines, "-DWGMMA") != NULL &&
           strstr(defines, "-DEMULATE") == NULL;
}

/* PTX with what was hidden; *out is as long as text at most, and "a". */
static vitcl_status shown(char **out, const char *text)
{
    const char *target = strstr(text, TARGET), *from = text;
    const size_t n = strlen(HIDDEN);

    if (!target || target[strlen(TARGET)] == 'a')
        return vt_fail(VITCL_EUNSUPPORTED, "the driver's PTX is not of sm_90");
    VT_RET(vt_new(out, strlen(text) + 2, 1));
    for (char *to = *out; *from;) {
        if (strncmp(from, HIDDEN, n) == 0)
            from += n;
        *to++ = *from++;
        if (from == target + strlen(TARGET))
            *to++ = 'a';
        *to = '\0';
    }
    return VITCL_OK;
}

vitcl_status vt_program_assemble(cl_program *program, vt_dev *dev)
{
    char *full = NULL;
    const unsigned char *binary;
    cl_program made = NULL;
    cl_int e, status = CL_SUCCESS;
    size_t size;
    unsigned char *text = vt_program_binary(&size, *program);
    vitcl_status st;

    if (!text)
        return vt_fail(VITCL_EDEVICE, "the driver does not give its PTX");
    VT_TRY(shown(&full, (const char *)text));
    size = strlen(full) + 1;
    binary = (const unsigned char *)full;
    made = clCreateProgramWithBinary(dev->context, 1, &dev->id, &size, &binary,
                                     &status, &e);
    if (made && e == CL_SUCCESS)
        e = status != CL_SUCCESS
                ? status
                : clBuildProgram(made, 1, &dev->id, "", NULL, NULL);
    if (e != CL_SUCCESS)
        VT_TRY(vt_cl_fail(dev, e, "the driver does not assemble sm_90a"));
    clReleaseProgram(*program);
    *program = made, made = NULL;
done:
    if (made)
        clReleaseProgram(made);
    free(text);
    free(full);
    return st;
}
