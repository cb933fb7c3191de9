/*
 * cache.c - built programs in $XDG_CACHE_HOME/vitcl (or ~/.cache/vitcl).
 *
 * A file's name is the SHA-256 of everything that affects the build. The file
 * holds that hash again, then the length and the SHA-256 of the driver's
 * binary; or only the hash of a file that has this program and others (join.c).
 * It is written atomically (temporary name, rename), so processes need no
 * locks. If anything is wrong with it, the program is silently built from
 * source.
 *
 * The folder's size is limited (evict.c): a load marks a file as used, and the
 * first save of a process removes files that are no longer used.
 *
 * A binary is code that will run: the folder must belong to the user, must not
 * be a symbolic link, and nobody else may write to it or to the file. All paths
 * are opened relative to the folder that was checked.
 *
 * VITCL_CACHE=off disables the cache. In a host of the library PoCL's own cache
 * has what is needed (driver_keeps()).
 */
#include "ocl/cache.h"

#include "base/environment.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/user_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT "vitcl program 1\n" /* 16 bytes */
#define REFERS "vitcl refers 1 \n" /* to another file, see join.c */
#define LIMIT ((size_t)64 << 20)
#define MOST_BYTES ((uint64_t)256 << 20) /* of all files together */

typedef struct header {
    char format[16];
    uint8_t key[32], digest[32];
    uint8_t size[8]; /* little-endian */
} header;

typedef struct reference {
    char format[16];
    uint8_t key[32], joint[32];
} reference;

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
    vt_sha256_text(&s, FORMAT);
    vt_sha256_text(&s, common);
    return s;
}

vt_cache_key vt_cache_key_end(vt_sha256_state s, const vt_dev *dev,
                              const char *text, const char *options)
{
    vt_cache_key key;

    vt_sha256_text(&s, text);
    vt_sha256_text(&s, options);
    vt_sha256_text(&s, dev->identity);
    add_environment(&s);
    vt_sha256_end(&s, key.hash);
    return key;
}

/* ---- files ---- */

vitcl_status vt_cache_setting(void)
{
    const char *word = vt_getenv("VITCL_CACHE");

    return !word || !*word || strcmp(word, "off") == 0
               ? VITCL_OK
               : vt_fail(VITCL_EINVAL,
                         "VITCL_CACHE is \"%.40s\"; it can be off", word);
}

void vt_cache_tell(void)
{
    const char *off = vt_getenv("VITCL_CACHE");
    char path[4096] = "";
    int folder;

    if (!vt_logs())
        return;
    folder = vt_user_cache();
    (void)vt_user_path(path, sizeof path, VT_USER_CACHE);
    if (folder >= 0)
        vt_log("cache: %s", path);
    else if (off && strcmp(off, "off") == 0)
        vt_log("cache: disabled by VITCL_CACHE=off");
    else
        vt_log("cache: none; %s%s", path[0] ? path : "HOME is not set",
               path[0] ? " cannot be used" : "");
    if (folder >= 0)
        close(folder);
}

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

static void name_of(char out[80], const vt_cache_key *key)
{
    char hex[65];

    vt_sha256_hex(hex, key->hash);
    snprintf(out, 80, "%s.bin", hex);
}

static size_t size_of(const header *h)
{
    uint64_t n = 0;

    for (int i = 7; i >= 0; i--)
        n = n << 8 | h->size[i];
    return n > LIMIT ? SIZE_MAX : (size_t)n;
}

/* The binary in a file, or NULL if the file is not intact. */
static unsigned char *read_binary(size_t *size, int fd, const vt_cache_key *key)
{
    unsigned char *binary = NULL;
    uint8_t digest[32];
    struct stat st;
    header h;

    if (!vt_user_file(fd) || fstat(fd, &st) != 0 ||
        !vt_user_read(fd, &h, sizeof h) ||
        memcmp(h.format, FORMAT, sizeof h.format) != 0 ||
        memcmp(h.key, key->hash, sizeof h.key) != 0)
        return NULL;
    *size = size_of(&h);
    if (*size == 0 || *size == SIZE_MAX ||
        (uintmax_t)st.st_size != *size + sizeof h ||
        vt_new(&binary, *size, 1) != VITCL_OK)
        return NULL;
    if (vt_user_read(fd, binary, *size)) {
        vt_sha256(binary, *size, digest);
        if (memcmp(digest, h.digest, sizeof digest) == 0)
            return binary;
    }
    free(binary);
    return NULL;
}

bool vt_cache_load(cl_program *out, vt_dev *dev, const vt_cache_key *key,
                   const char *options)
{
    const int folder = vt_user_cache();
    const unsigned char *binary = NULL;
    unsigned char *mine = NULL;
    cl_program program = NULL;
    cl_int e = CL_SUCCESS, status = CL_SUCCESS;
    size_t size = 0;
    char name[80];
    int fd;

    if (folder < 0)
        return false;
    name_of(name, key);
    fd = vt_user_open(folder, name);
    if (fd >= 0) {
        binary = mine = read_binary(&size, fd, key);
        if (mine)
            vt_user_used(fd);
        close(fd);
    }
    if (mine)
        program = clCreateProgramWithBinary(dev->context, 1, &dev->id, &size,
                                            &binary, &status, &e);
    if (program && (e != CL_SUCCESS || status != CL_SUCCESS ||
                    clBuildProgram(program, 1, &dev->id, options, NULL, NULL) !=
                        CL_SUCCESS)) {
        clReleaseProgram(program);
        program = NULL;
    }
    if (fd >= 0 && !program)
        unlinkat(folder, name, 0);
    close(folder);
    free(mine);
    if (program)
        *out = program;
    return program != NULL;
}

static bool has(int folder, const vt_cache_key *key)
{
    struct stat st;
    char name[80];

    name_of(name, key);
    return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(st.st_mode);
}

bool vt_cache_has(const vt_cache_key *key)
{
    const int folder = vt_user_cache();
    const bool found = folder >= 0 && has(folder, key);

    if (folder >= 0)
        close(folder);
    return found;
}

bool vt_cache_on(void)
{
    const int folder = vt_user_cache();

    if (folder >= 0)
        close(folder);
    return folder >= 0;
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
void vt_cache_save(vt_dev *dev, const vt_cache_key *key, cl_program program)
{
    static pthread_mutex_t saving = PTHREAD_MUTEX_INITIALIZER;
    static bool swept, failed;
    const int folder = vt_user_cache();
    unsigned char *binary = NULL;
    header h = {.format = FORMAT};
    char name[80];
    size_t size;

    if (folder < 0 || dev->fleeting || driver_keeps(dev))
        goto done;
    pthread_mutex_lock(&saving);
    if (!failed && !has(folder, key) &&
        (binary = vt_program_binary(&size, program)) != NULL) {
        memcpy(h.key, key->hash, sizeof h.key);
        vt_sha256(binary, size, h.digest);
        for (size_t i = 0; i < 8; i++)
            h.size[i] = (uint8_t)((uint64_t)size >> (8 * i));
        name_of(name, key);
        failed = !vt_user_write(folder, name, &h, sizeof h, binary, size);
        if (!swept)
            vt_cache_evict(folder, MOST_BYTES, time(NULL));
        swept = true;
    }
    pthread_mutex_unlock(&saving);
done:
    if (folder >= 0)
        close(folder);
    free(binary);
}

/* ---- references ---- */

void vt_cache_refer(vt_dev *dev, const vt_cache_key *key,
                    const vt_cache_key *joint)
{
    const int folder = vt_user_cache();
    reference r = {.format = REFERS};
    char name[80];

    if (folder < 0)
        return;
    memcpy(r.key, key->hash, sizeof r.key);
    memcpy(r.joint, joint->hash, sizeof r.joint);
    name_of(name, key);
    if (!dev->fleeting && has(folder, joint)) /* vt_cache_save() wrote it */
        vt_user_write(folder, name, &r, sizeof r.format,
                      (const char *)&r + sizeof r.format,
                      sizeof r - sizeof r.format);
    close(folder);
}

bool vt_cache_referred(vt_cache_key *joint, const vt_cache_key *key)
{
    const int folder = vt_user_cache();
    reference r;
    char name[80];
    bool good;
    int fd;

    if (folder < 0)
        return false;
    name_of(name, key);
    fd = vt_user_open(folder, name);
    close(folder);
    if (fd < 0)
        return false;
    good = vt_user_file(fd) && vt_user_read(fd, &r, sizeof r) &&
           memcmp(r.format, REFERS, sizeof r.format) == 0 &&
           memcmp(r.key, key->hash, sizeof r.key) == 0;
    if (good) {
        memcpy(joint->hash, r.joint, sizeof r.joint);
        vt_user_used(fd);
    }
    close(fd);
    return good;
}
