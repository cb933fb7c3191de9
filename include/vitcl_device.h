/*
 * vitcl_device.h - statuses, devices, the log, and what happens in the process
 * of the program that uses the library.
 *
 * vitcl.h includes this, and has the contract of all functions.
 */
#ifndef VITCL_DEVICE_H
#define VITCL_DEVICE_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* ---- status, types ------------------------------------------------- */

#define VITCL_STATUS_MAP(X)                                                    \
    X(OK, 0, "success")                                                        \
    X(EINVAL, -1, "invalid argument")                                          \
    X(ENOMEM, -2, "out of memory")                                             \
    X(EIO, -3, "file cannot be read or written")                               \
    X(ECORRUPT, -4, "file is damaged or hostile")                              \
    X(EUNSUPPORTED, -5, "valid, but not supported by this build or device")    \
    X(ENODEVICE, -6, "no such OpenCL device")                                  \
    X(EDEVICE, -7, "an OpenCL call failed")                                    \
    X(ESTOPPED, -8, "stopped by the caller")                                   \
    X(EBUSY, -9, "in use by another call")
#define X(name, value, text) VITCL_##name = value,
typedef enum { VITCL_STATUS_MAP(X) VITCL_STATUS_END_ = 1 } vitcl_status;
#undef X
/* A vitcl_status; the compiler warns if it is ignored. */
#ifdef __GNUC__
#define VITCL_STATUS __attribute__((__warn_unused_result__)) vitcl_status
#else
#define VITCL_STATUS vitcl_status
#endif

typedef struct vitcl_device vitcl_device;   /* a device and compiled kernels */
typedef struct vitcl_model vitcl_model;     /* weights; immutable */
typedef struct vitcl_session vitcl_session; /* a plan and its activations */
typedef struct vitcl_loader vitcl_loader;   /* decodes pictures in advance */

/* The number format of the multiplications. */
typedef enum {
    VITCL_F32, /* default */
    VITCL_BF16,
    VITCL_F16,
    VITCL_HALF, /* the faster of bf16 and f16 on this device */
    VITCL_INT8
} vitcl_precision;

const char *vitcl_version(void); /* such as "0.3.0" */
/* The calling thread's last error, in one line without a line end. Valid until
 * the thread's next error. */
const char *vitcl_last_error(void);
/* What a status means, as in VITCL_STATUS_MAP. */
const char *vitcl_status_text(vitcl_status status);

/* Called repeatedly during a long call, on the thread that made the call: it
 * has done `done` of `total`. A return value other than 0 ends the call with
 * VITCL_ESTOPPED. */
typedef int (*vitcl_progress)(void *context, uint64_t done, uint64_t total);

/* ---- devices ---------------------------------------------------------- */

typedef struct {
    size_t size;
    char id[16]; /* "platform:device", for instance "0:0" */
    char name[256], vendor[256], platform[256];
    char driver[256], version[256], opencl_c[256];
    char type[12];   /* "cpu", "gpu", "accelerator", "custom" */
    char gemm[12];   /* a session's default provider */
    char error[160]; /* not empty: the driver failed; the rest may be empty */
    uint32_t compute_units, clock_mhz;
    uint64_t memory_bytes, local_bytes, max_alloc_bytes;
    int fp16, fp64, subgroups, integer_dot, unified_memory;
    uint32_t tuned;    /* the user's tuned entries in use (`vitcl tune`) */
    char warning[256]; /* not empty: which user entries are ignored, and why */
    char products[64]; /* for how many products each provider was the fastest,
                        * "native 4, clblast 2", when it was opened; "": none
                        * was timed */
    uint32_t timed;    /* products timed since then */
} vitcl_device_info;

/* Describes device `index`, from 0. VITCL_ENODEVICE: there is no such device;
 * the last one has a smaller index. */
VITCL_STATUS vitcl_device_at(vitcl_device_info *out, uint32_t index);
/* Opens a device. select: "0:1", part of a name, "cpu", "gpu" or "any". NULL:
 * what the environment variable VITCL_DEVICE selects; without it, the first
 * GPU, else the first device. VITCL_ENODEVICE: no device matches, or a name
 * matches several. */
VITCL_STATUS vitcl_device_open(vitcl_device **out, const char *select);
VITCL_STATUS vitcl_device_describe(vitcl_device_info *out,
                                   const vitcl_device *device);
/* Called while kernels are compiled for a device. That happens once for each
 * device, driver and kind of model, since compiled programs are kept on disk.
 * `done` of `total` are compiled. It is called before the first, after each one
 * or after several that were compiled together, and with done == total after
 * the last; from threads that compile, but one call at a time. It must not call
 * the library. */
typedef void (*vitcl_compiling)(void *context, uint32_t done, uint32_t total);
/* Sets this callback; NULL: none. Call it before the device is used in any
 * other way. */
VITCL_STATUS vitcl_device_watch(vitcl_device *device, vitcl_compiling compiling,
                                void *context);
void vitcl_device_free(vitcl_device *device);

/* ---- log -------------------------------------------------------------- */

/* Reports what the library does and decides, one line a call: device, caches,
 * forms that were tried, used and rejected, times, and a driver's compiler
 * output for a kernel that it rejects. The lines are for people, and may
 * change. It is called from any thread, one call at a time, and must not call
 * vitcl. */
typedef void (*vitcl_log)(void *context, const char *line);
/* Sets the process' one log; NULL: none. When this returns, the old one is not
 * called any more. */
void vitcl_log_set(vitcl_log log, void *context);

/* ---- what happens in the host's process ------------------------------- */

/*
 * Shared state  All sessions of a process share what was measured, the log, and
 *            CLBlast, which takes one call at a time. Trials and timings of
 *            devices of one kind wait for each other, and so do two threads
 *            that need one program of a device; no others do. A model is
 *            locked while a session is planned. With PoCL, a session's first
 *            run waits, launch by launch, for the other sessions of the
 *            process, which wait for it.
 * Trials     Some drivers' compilers crash on certain instructions. So the
 *            library first tries them in the separate program vitcl-try, never
 *            in the host process: whether a CPU's dot-product instructions
 *            (bf16, f16, int8) and a GPU's matrix units work, whether the
 *            former are faster, and which half precision is faster.
 *            vitcl_session_new(), vitcl_text_new() and vitcl_train() start one
 *            process for each trial that is needed and has no result yet.
 *            A trial fails if it crashes, exceeds its time limit
 *            (VITCL_TRY_SECONDS; 60) or computes wrong numbers; multiply-adds
 *            are used instead. The result is stored with the compiled
 *            programs, for each device, driver and version, so later processes
 *            need no trial; with VITCL_CACHE=off every process repeats it. If
 *            vitcl-try is missing or cannot be started, nothing is tried, used
 *            or stored; the log says so.
 *            The program is searched for as vitcl-decode is, with the variable
 *            VITCL_TRY.
 *            It is started without fork(). It inherits the environment, since
 *            its driver must be the same, but no descriptors. Its standard
 *            streams are /dev/null, signals are at their defaults, it dumps
 *            no core, and it ends with the host. The host receives SIGCHLD,
 *            and its waitpid(-1) may return this child; a host that ignores
 *            SIGCHLD or reaps the child does no harm. A form that passed is
 *            then compiled in the host process like any other kernel.
 * CLBlast    "clblast", the default on GPUs, sets CLBlast's parameters of Xgemm
 *            and of GemmRoutine in single precision for that device in the
 *            whole process. The host's own use of CLBlast on the device gets
 *            them, too, which may change its speed. Up to CLBlast 1.6.0, whose
 *            cache is not thread-safe, it must not run at the same time as a
 *            session.
 * Variables  The library reads these, unless the program has more rights than
 *            its user (set-user-id):
 *              VITCL_DEVICE        see vitcl_device_open()
 *              VITCL_CACHE=off     do not store compiled programs
 *              XDG_CACHE_HOME, XDG_CONFIG_HOME, or else HOME
 *                                  where programs and tuned parameters are
 *              HF_HUB_CACHE, HF_HOME, or else the two above
 *                                  where the cache of Hugging Face is
 *              POCL_WORK_GROUP_SPECIALIZATION=0, POCL_KERNEL_CACHE=0
 *                                  with one of them programs of PoCL are
 *                                  stored, too; else PoCL stores them
 *              VITCL_DOT=off       do not use dot-product instructions
 *              VITCL_MMA           off: do not use a GPU's matrix units;
 *                                  emulate: their kernels on any device, to
 *                                  test them
 *              VITCL_ARENA=own     buffers for values, not parts of one, to
 *                                  measure what parts cost a driver
 *              VITCL_CL_DIR        read kernels from this folder
 *              VITCL_DEVICE_CLASS  cpu or gpu: use the kernels for such
 *                                  devices, to test them; unknown-cpu: also
 *                                  time products as on a processor that vitcl
 *                                  does not know
 *              VITCL_BUILD_FORK=1  PoCL may compile in forked processes; only
 *                                  for programs without other threads
 *              VITCL_THREADS       threads for pictures and searches; without
 *                                  it, one for each core that the process may
 *                                  use. A driver has its own variables
 *              VITCL_DECODE, VITCL_DECODE_*   see vitcl_image_decode()
 *              VITCL_TRY, VITCL_TRY_SECONDS   see Trials
 *              OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE, PMI_RANK, PMI_SIZE
 *                                  set by mpirun, for training that ranks share
 *              VITCL_OPENMPI, VITCL_MPICH
 *                                  their modules, searched for as vitcl-decode
 *              OCL_ICD_VENDORS     to explain why there is no device
 *              CUDA_CACHE_PATH, CUDA_CACHE_DISABLE
 *                                  to log where NVIDIA's driver keeps nothing
 *            Drivers' variables that affect compilation are also read; they
 *            are part of a stored program's key.
 */

#ifdef __cplusplus
}
#endif
#endif
