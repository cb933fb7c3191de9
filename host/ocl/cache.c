/*
 * cache.c - built programs, kept for the next start (base/kept.h).
 *
 * The key is the SHA-256 of everything that affects the build. Kept is the
 * driver's binary; or only the key of the program that has this one and others
 * (join.c). If anything is wrong with it, the program is silently built from
 * source. A binary is code that will run: base/user_dir.h says what is trusted.
 *
 * In a host of the library PoCL's own cache has what is needed
 * (driver_keeps()).
 */
#include "ocl/cache.h"

#include "base/environment.h"
#include "base/log.h"
#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LIMIT ((size_t)64 << 20)

/* ---- keys ---- */

/* Environment variables that affect a driver's compiler. */
static void add_environment(vt_sha256_state *s)
{
    static const char *const names[] = {
        /* PoCL */
        "POCL_BINARY_SPECIALIZE_WG", "POCL_BITCODE_FINALIZER", "POCL_DEVICES",
        "POCL_DRIVER_VERSION_OVERRIDE", "POCL_ENABLE_UNINIT",
        "POCL_EXTRA_BUILD_FLAGS", "POCL_FORCE_PARALLEL_OUTER_LOOP",
        "POCL_FULL_REPLICATION_THRESHOLD", "POCL_IGNORE_CL_STD",
        "POCL_KERNELLIB_NAME", "POCL_LLVM_ALWAYS_INLINE", "POCL_LLVM_CPU_NAME",
        "POCL_MAX_WORK_GROUP_SIZE", "POCL_WILOOPS_MAX_UNROLL_COUNT",
        "POCL_WORK_GROUP_METHOD", "POCL_WORK_GROUP_SPECIALIZATION",
        /* Intel */
        "IGC_ExtraOCLOptions", "IGC_ExtraOCLInternalOptions",
        "IGC_ForceOCLSIMDWidth", "IGC_TotalGRFNum", "IGC_DisableLoopUnroll",
        "IGC_ShaderOverride", "NEO_L0_OptLevel",
        /* NVIDIA */
        "CUDA_FORCE_PTX_JIT", "CUDA_DISABLE_PTX_JIT", "CUDA_BINARY_LOADER",
        /* AMD */
        "AMD_OCL_BUILD_OPTIONS", "AMD_OCL_BUILD_OPTIONS_APPEND",
        "AMD_OCL_LINK_OPTIONS", "AMD_OCL_LINK_OPTIONS_APPEND",
        "GPU_MAX_WORKGROUP_SIZE", "GPU_ENABLE_WGP_MODE",
        "GPU_ENABLE_WAVE32_MODE",
        /* Mesa */
        "MESA_SHADER_READ_PATH", "RUSTICL_CL_VERSION", "RUSTICL_FEATURES",
        "RUSTICL_DEVICE_TYPE", "LP_NATIVE_VECTOR_WIDTH", "LP_PERF", "LP_CL",
        "GALLIVM_PERF"};

    for (size_t i = 0; i < VT_COUNT(names); i++) {
        const char *value = vt_getenv(names[i]);

        if (value) {
            vt_sha256_text(s, names[i]);
            vt_sha256_text(s, value);
        }
    }
}

vt_sha256_state vt_cache_key_begin(const char *common)
{
    vt_sha256_state s;

    vt_sha256_begin(&s);
    vt_sha256_text(&s, "vitcl program");
    vt_sha256_text(&s, common);
    return s;
}

vt_kept_key vt_cache_key_end(vt_sha256_state s, const vt_dev *dev,
                             const char *text, const char *options)
{
    vt_kept_key key;

    vt_sha256_text(&s, text);
    vt_sha256_text(&s, options);
    vt_sha256_text(&s, dev->identity);
    add_environment(&s);
    vt_sha256_end(&s, key.hash);
    return key;
}

/* ---- files ---- */

/* Can this folder be made, or be written to? Changes path. */
static bool writable(char *path)
{
    char *slash;

    while (access(path, F_OK) != 0 && errno == ENOENT &&
           (slash = strrchr(path, '/')) && slash != path)
        *slash = '\0';
    return access(path, W_OK) == 0;
}

void vt_cache_tell_nvidia(void)
{
    static atomic_bool told;
    const char *off = vt_getenv("CUDA_CACHE_DISABLE"),
               *own = vt_getenv("CUDA_CACHE_PATH"), *home = vt_getenv("HOME");
    char path[4096];

    snprintf(path, sizeof path, "%s%s",
             own    ? own
             : home ? home
                    : "",
             own ? "" : "/.nv/ComputeCache");
    if (((off && strcmp(off, "1") == 0) || !(own || home) || !writable(path)) &&
        !atomic_exchange(&told, true))
        vt_log("cache: none of NVIDIA's (~/.nv or CUDA_CACHE_PATH): each start "
               "assembles its PTX again");
}

bool vt_cache_load(cl_program *out, vt_dev *dev, const vt_kept_key *key,
                   const char *options)
{
    const unsigned char *binary;
    cl_program program = NULL;
    cl_int e = CL_SUCCESS, status = CL_SUCCESS;
    void *mine;
    size_t size;

    if (!vt_kept_get(&mine, &size, VT_KEPT_PROGRAM, key))
        return false;
    binary = mine;
    if (size)
        program = clCreateProgramWithBinary(dev->context, 1, &dev->id, &size,
                                            &binary, &status, &e);
    free(mine);
    if (program && e == CL_SUCCESS && status == CL_SUCCESS &&
        clBuildProgram(program, 1, &dev->id, options, NULL, NULL) ==
            CL_SUCCESS) {
        *out = program;
        return true;
    }
    if (program)
        clReleaseProgram(program);
    vt_kept_drop(VT_KEPT_PROGRAM, key);
    return false;
}

unsigned char *vt_program_binary(size_t *size, cl_program program)
{
    unsigned char *binary = NULL;

    if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof *size, size,
                         NULL) != CL_SUCCESS ||
        *size == 0 || *size > LIMIT ||
        vt_new(&binary, *size + 1, 1) != VITCL_OK)
        return NULL;
    if (clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary,
                         NULL) == CL_SUCCESS)
        return binary;
    free(binary);
    return NULL;
}

/* PoCL compiles a kernel for the size of its launch, and keeps that. Asked for
 * a binary, it compiles each once more, for any size, which no launch would
 * use: a quarter of a first start. Where launches do use it, as in vitcl
 * (main.c), the binary costs nothing. */
static bool driver_keeps(const vt_dev *dev)
{
    const char *sized = vt_getenv("POCL_WORK_GROUP_SPECIALIZATION");
    const char *kept = vt_getenv("POCL_KERNEL_CACHE");

    return dev->processor && vt_dev_pocl(dev) &&
           !(sized && strcmp(sized, "0") == 0) &&
           !(kept && strcmp(kept, "0") == 0);
}

/* A program is asked for its binary once per process, for all devices in it:
 * PoCL 3.1 aborts if a kernel of the same program, built for another device,
 * ends while it makes the binary. The lock and the file see to that: who comes
 * second finds the file. If no file can be written, nobody asks any more. */
void vt_cache_save(vt_dev *dev, const vt_kept_key *key, cl_program program)
{
    static pthread_mutex_t saving = PTHREAD_MUTEX_INITIALIZER;
    static bool failed;
    unsigned char *binary = NULL;
    size_t size;

    if (dev->fleeting || driver_keeps(dev) || !vt_kept_on())
        return;
    pthread_mutex_lock(&saving);
    if (!failed && !vt_kept_has(VT_KEPT_PROGRAM, key) &&
        (binary = vt_program_binary(&size, program)) != NULL)
        failed = !vt_kept_put(VT_KEPT_PROGRAM, key,
                              &(vt_user_part){binary, size}, 1);
    pthread_mutex_unlock(&saving);
    free(binary);
}

/* ---- references ---- */

void vt_cache_refer(vt_dev *dev, const vt_kept_key *key,
                    const vt_kept_key *joint)
{
    /* vt_cache_save() wrote it */
    if (!dev->fleeting && vt_kept_has(VT_KEPT_PROGRAM, joint))
        vt_kept_put(VT_KEPT_JOINT, key, &(vt_user_part){joint, sizeof *joint},
                    1);
}

bool vt_cache_referred(vt_kept_key *joint, const vt_kept_key *key)
{
    vt_kept_file f;

    return vt_kept_open(&f, VT_KEPT_JOINT, key) &&
           vt_kept_close(&f, vt_kept_read(&f, joint, sizeof *joint));
}

bool vt_cache_has(const vt_kept_key *key)
{
    vt_kept_key joint;

    return (vt_cache_referred(&joint, key) &&
            vt_kept_has(VT_KEPT_PROGRAM, &joint)) ||
           vt_kept_has(VT_KEPT_PROGRAM, key);
}
