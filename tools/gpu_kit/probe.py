#!/usr/bin/env python3
"""What NVIDIA's OpenCL driver does with vitcl's kernels, and what it allows.

    probe.py quick|timed ROOT    tests in turn, each in a process of its own, because a driver may crash in it
    probe.py NAME ROOT           one test

ROOT is a folder with cl/. ANY=1 takes a device of any vendor, with the instruction of the matrix units emulated in small
tiles: that only tries the probe itself. KEEP names a folder for the PTX that the driver makes. CUDA_CACHE_DISABLE=1 should
be set, and SECONDS what a test may take (15). Exit status 3: no such device.
"""
import ctypes as c, glob, os, re, subprocess, sys, threading, time

QUICK = ["info", "options", "local_declared", "local_argument", "local_binary", "carve_out", "clusters", "units_large", "units_small",
         "attention", "bulk", "wgmma_source", "wgmma_ptx", "wgmma_cuda"]
TIMED = ["launches", "gaps", "transfers", "compile_threads"]
ROOT = sys.argv[2] if len(sys.argv) > 2 else "."
ANY = bool(os.environ.get("ANY"))
SECONDS = int(os.environ.get("SECONDS", 15))
HERE = os.path.dirname(os.path.abspath(__file__))


class CL:
    """A device with a context and a queue."""

    def __init__(self):
        self.l = c.CDLL("libOpenCL.so.1")
        for name in ("Context", "CommandQueue", "ProgramWithSource", "ProgramWithBinary", "Kernel", "Buffer", "SubBuffer"):
            getattr(self.l, "clCreate" + name).restype = c.c_void_p
        self.l.clEnqueueMapBuffer.restype = c.c_void_p
        count, platforms, code = c.c_uint(), (c.c_void_p * 16)(), c.c_int()
        self.l.clGetPlatformIDs(16, platforms, c.byref(count))
        self.d, names = None, []
        for p in map(c.c_void_p, platforms[:count.value]):
            d = c.c_void_p()
            names.append(self.text("clGetPlatformInfo", p, 0x0902))
            if not self.d and (ANY or "NVIDIA" in names[-1]):
                if self.l.clGetDeviceIDs(p, c.c_uint64(0xFFFFFFFF), 1, c.byref(d), None) == 0:
                    self.p, self.d = p, d
        if not self.d:
            print("no OpenCL device of NVIDIA; platforms:", ", ".join(names) or "none")
            sys.exit(3)
        self.x = c.c_void_p(self.l.clCreateContext(None, 1, c.byref(self.d), None, None, c.byref(code)))
        self.q = c.c_void_p(self.l.clCreateCommandQueue(self.x, self.d, c.c_uint64(0), c.byref(code)))

    def ok(self, name, *arguments):
        code = getattr(self.l, name)(*arguments)
        if code:
            raise RuntimeError("%s: %d" % (name, code))

    def text(self, call, of, what):
        n = c.c_size_t()
        if getattr(self.l, call)(of, what, c.c_size_t(0), None, c.byref(n)):
            return "?"
        b = c.create_string_buffer(n.value + 1)
        getattr(self.l, call)(of, what, n, b, None)
        return b.value.decode(errors="replace")

    def number(self, what):
        v = c.c_uint64()
        code = self.l.clGetDeviceInfo(self.d, what, c.c_size_t(8), c.byref(v), None)
        return "?" if code else v.value

    def build(self, text, options="", binary=False):
        """The program or None, the log, and seconds."""
        code, status, t = c.c_int(), c.c_int(), text.encode()
        if binary:
            size, at = c.c_size_t(len(t) + 1), c.c_char_p(t)
            p = self.l.clCreateProgramWithBinary(self.x, 1, c.byref(self.d), c.byref(size), c.byref(at), c.byref(status),
                                                 c.byref(code))
        else:
            p = self.l.clCreateProgramWithSource(self.x, 1, c.byref(c.c_char_p(t)), None, c.byref(code))
        if not p or code.value:
            return None, "clCreateProgram: %d, status %d" % (code.value, status.value), 0
        p, start = c.c_void_p(p), time.perf_counter()
        built = self.l.clBuildProgram(p, 1, c.byref(self.d), options.encode(), None, None)
        took, n = time.perf_counter() - start, c.c_size_t()
        self.l.clGetProgramBuildInfo(p, self.d, 0x1183, c.c_size_t(0), None, c.byref(n))
        b = c.create_string_buffer(n.value + 1)
        self.l.clGetProgramBuildInfo(p, self.d, 0x1183, n, b, None)
        log = b.value.decode(errors="replace")
        return (None, "clBuildProgram: %d\n%s" % (built, log), took) if built else (p, log, took)

    def binary(self, p):
        """PTX, of NVIDIA."""
        n = c.c_size_t()
        self.l.clGetProgramInfo(p, 0x1165, c.c_size_t(8), c.byref(n), None)
        b = c.create_string_buffer(n.value + 1)
        self.l.clGetProgramInfo(p, 0x1166, c.c_size_t(8), c.byref(c.c_void_p(c.addressof(b))), None)
        return b.raw[:n.value].decode(errors="replace")

    def kernel(self, p, name, *arguments):
        code = c.c_int()
        k = c.c_void_p(self.l.clCreateKernel(p, name.encode(), c.byref(code)))
        if code.value:
            raise RuntimeError("clCreateKernel: %d" % code.value)
        for i, a in enumerate(arguments):
            self.ok("clSetKernelArg", k, i, c.c_size_t(c.sizeof(a)), c.byref(a))
        return k

    def limit(self, k, what):
        v = c.c_uint64()
        self.l.clGetKernelWorkGroupInfo(k, self.d, what, c.c_size_t(8), c.byref(v), None)
        return v.value

    def buffer(self, n, flags=1):
        code = c.c_int()
        b = self.l.clCreateBuffer(self.x, c.c_uint64(flags), c.c_size_t(n), None, c.byref(code))
        if code.value:
            raise RuntimeError("clCreateBuffer: %d" % code.value)
        return c.c_void_p(b)

    def run(self, k, items=128, group=128):
        return self.l.clEnqueueNDRangeKernel(self.q, k, 1, None, (c.c_size_t * 1)(items), (c.c_size_t * 1)(group), 0, None,
                                             None)

    def finish(self):
        return self.l.clFinish(self.q)

    def read(self, b, n, kind=c.c_float):
        a = (kind * n)()
        self.ok("clEnqueueReadBuffer", self.q, b, 1, c.c_size_t(0), c.c_size_t(4 * n), a, 0, None, None)
        return list(a)


def source(name):
    parts = sorted(glob.glob(ROOT + "/cl/common*.cl")) + ["%s/cl/%s.cl" % (ROOT, name)]
    return "\n".join(open(p).read() for p in parts)


# As the library compiles: programs of ViT-B/16 on sm_80 and newer (host/units/matrix.c, host/gemm/mma.c).
BASE = "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt" + (" -DEMULATE" if ANY else " -cl-nv-verbose")
HALF = "-DTYPE=1 -DAT=bf16 -DCT=bf16 -DSAME_A -DWIDE_A -DACT=1 -DBIAS"
LARGE = "-DKIND=1 " + ("-DWM=1 -DWN=2 -DFM=2 -DFN=2 " if ANY else "-DWM=2 -DWN=2 -DFM=4 -DFN=8 ")
TURN = LARGE if ANY else "-DKIND=1 -DWM=2 -DWN=4 -DFM=4 -DFN=4 "
SMALL = LARGE if ANY else "-DKIND=1 -DWM=2 -DWN=4 -DFM=2 -DFN=2 "
# clang and ptxas make of them, for sm_90: 242, 227, 48 and 234 registers, 64, 32, 8 and 64 mma.sync, nothing spilled, no local
# depot; of ATTENTION 254 and 128. A depot or fewer mma.sync: the driver's compiler has not unrolled.
FORMS = {"large": LARGE + HALF, "turn": TURN + "-DPART=8 -DRESIDUAL -DRST=bf16 " + HALF,
         "small": SMALL + "-DPART=8 -DSPLIT " + HALF, "int8": LARGE + "-DTYPE=3 -DACT=1 -DBIAS"}
ATTENTION = "-DKIND=1 -DTYPE=1 -DD=64 -DWM=%d -DFQ=%d -DKEYS=64 -DQT=bf16 -DKVT=bf16 -DYT=bf16 -DWIDE_Y" % ((2, 1) if ANY else (4, 2))


def seen(log):
    """What a log says of registers and mistakes."""
    words = ("error", "registers", "spill", "warning", "clBuild", "clCreate")
    return " | ".join(line.strip() for line in log.splitlines() if any(w in line for w in words))[:1500]


def targets(ptx):
    return [line for line in ptx.splitlines() if line.startswith((".version", ".target"))]


def info():
    d = CL()
    for what, name in ((0x102B, "name"), (0x102D, "driver"), (0x102F, "version"), (0x103D, "OpenCL C"), (0x1030, "extensions")):
        print("%-22s %s" % (name, d.text("clGetDeviceInfo", d.d, what)))
    print("%-22s %s, %s" % ("platform", d.text("clGetPlatformInfo", d.p, 0x0902), d.text("clGetPlatformInfo", d.p, 0x0901)))
    for what, name in ((0x1002, "units"), (0x100C, "MHz"), (0x1023, "local bytes"), (0x1019, "alignment in bits"),
                       (0x1010, "bytes of a buffer"), (0x101F, "bytes of the device"), (0x1004, "work-items a group"),
                       (0x101B, "properties of floats"), (0x4000, "capability, major"), (0x4001, "capability, minor"),
                       (0x4002, "registers a group"), (0x4003, "lanes of a warp"),
                       (0x400B, "local bytes a processor, at most")):
        print("%-22s %s" % (name, d.number(what)))
    p, log, took = d.build("""kernel void k(global int *o) { o[0] = sizeof(size_t); o[1] = __OPENCL_VERSION__; o[2] = 0;
#ifdef __clang__
o[2] += 1;
#endif
#ifdef __NVPTX__
o[2] += 2;
#endif
#ifdef cl_khr_fp16
o[2] += 4;
#endif
}""", "-cl-std=CL1.2")
    print("a trivial program: %s %.3f s" % (seen(log) or "built", took))
    print("binary:", targets(d.binary(p)), len(d.binary(p)), "bytes")
    b = d.buffer(64)
    print("launch", d.run(d.kernel(p, "k", b), 1, 1), "finish", d.finish())
    print("bytes of a size_t, version, defines (1 __clang__, 2 __NVPTX__, 4 cl_khr_fp16):", d.read(b, 3, c.c_int))


def options():
    d = CL()
    for o in ("-cl-nv-verbose", "-cl-nv-arch sm_90a", "-cl-nv-arch sm_90", "-cl-nv-maxrregcount=128", "-cl-nv-opt-level=3"):
        p, log, _ = d.build("kernel void k(global float *o) { o[get_global_id(0)] = 1; }", o)
        print("%-26s %s %s" % (o, "accepted" if p else "refused", seen(log) or log[:200].strip()))
        if p:
            print("  ", targets(d.binary(p)))


def built(d, name, file, kernel, defines):
    """Builds as the library does and tells registers, what is in memory that should be in registers, and instructions."""
    p, log, took = d.build(source(file), BASE + " " + defines)
    if not p:
        print("%-10s %.2f s FAILED: %s" % (name, took, seen(log)))
        return
    ptx, k = d.binary(p), d.kernel(p, kernel)
    counts = ["%d %s" % (ptx.count(word), word) for word in ("mma.sync", "ldmatrix", "cp.async.c", "call.uni")]
    print("%-10s %.2f s; %s; local depot %s: %s" % (name, took, ", ".join(counts), "YES" if "__local_depot" in ptx else "no",
                                                    seen(log)))
    print("           room for %d work-items, %d bytes local, %d private" % tuple(
        d.limit(k, what) for what in (0x11B0, 0x11B2, 0x11B4)))
    if os.environ.get("KEEP"):
        with open("%s/driver_%s.ptx" % (os.environ["KEEP"], name), "w") as f:
            f.write(ptx)


def units_large():
    d = CL()
    for name in "large", "turn":
        built(d, name, "gemm_mma_copies", "gemm_mma_copies", FORMS[name])


def units_small():
    d = CL()
    for name in "small", "int8":
        built(d, name, "gemm_mma_copies", "gemm_mma_copies", FORMS[name])


def attention():
    d = CL()
    built(d, "attention", "attention_mma", "attention_mma", ATTENTION)
    built(d, "layernorm", "layernorm", "layernorm", "-DWG=128 -DV=4 -DXT=bf16 -DYT=bf16")


DECLARED = """kernel void k(global float *o) { local float t[%d]; t[get_local_id(0)] = get_local_id(0);
barrier(1); o[get_global_id(0)] = t[(get_local_id(0) + 1) %% 128]; }"""
ABOVE_48 = 47, 48, 49, 64, 96, 160, 227
# with a local argument, whose bytes the launch adds
ARGUMENT = """kernel void k(global float *o, int n, local float *t) {
for (int i = get_local_id(0); i < n; i += 128) t[i] = i;
barrier(1); o[get_global_id(0)] = t[n - 1 - get_local_id(0)]; }"""


def declared(d, p, log, name):
    """Runs a program of DECLARED."""
    if not p:
        print(name, seen(log) or log[:300])
        return
    b = d.buffer(4096)
    k = d.kernel(p, "k", b)
    code = d.run(k) or d.finish()
    print(name, d.limit(k, 0x11B2), "bytes,", "status %d" % code if code else
          "right" if d.read(b, 128) == [(i + 1) % 128 for i in range(128)] else "WRONG")


def argument(d, k, b, kb):
    """Runs a kernel of ARGUMENT."""
    code = d.l.clSetKernelArg(k, 2, c.c_size_t(kb * 1024), None) or d.run(k) or d.finish()
    print(kb, "KB as an argument:", "status %d" % code if code else "right" if d.read(b, 1)[0] == kb * 256 - 1 else "WRONG")


def local_declared():
    d = CL()
    for kb in ABOVE_48:
        p, log, _ = d.build(DECLARED % (kb * 256))
        declared(d, p, log, "%d KB declared:" % kb)


def local_argument():
    d = CL()
    p, log, _ = d.build(ARGUMENT)
    b = d.buffer(4096)
    for kb in 32, 48, 64, 96, 160, 200, 227:
        argument(d, d.kernel(p, "k", b, c.c_int(kb * 256)), b, kb)


def local_binary():
    """The driver's own PTX with a larger variable, as a program's binary."""
    d = CL()
    p, log, _ = d.build(DECLARED % (47 * 256))
    ptx = d.binary(p)
    for kb in ABOVE_48[2:]:
        p, log, _ = d.build(re.sub(r"(\.shared [^;]*\[)%d\]" % (47 * 1024), r"\g<1>%d]" % (kb * 1024), ptx), "", True)
        declared(d, p, log, "%d KB in a binary:" % kb)


def extension(d, name):
    get = d.l.clGetExtensionFunctionAddressForPlatform
    get.restype = c.c_void_p
    return get(d.p, name.encode())


def carve_out():
    """cl_nv_kernel_attribute: how much of a processor's memory is local. Attribute 0 is the preferred size."""
    d = CL()
    most = d.number(0x400B)
    write, read = (extension(d, "cl%sKernelAttributeNV" % w) for w in ("Set", "Get"))
    print("local bytes a processor, at most: %s; functions %s, %s" % (most, bool(write), bool(read)))
    if not write or most == "?":
        return
    kinds = c.c_void_p, c.c_void_p, c.c_uint, c.c_size_t, c.c_void_p
    write = c.CFUNCTYPE(c.c_int, *kinds)(write)
    p, log, _ = d.build(ARGUMENT)
    b, v = d.buffer(4096), c.c_uint64()
    for kb in 48, 64, 100, 160, 227:
        k = d.kernel(p, "k", b, c.c_int(kb * 256))
        if read:
            size = c.c_size_t()
            code = c.CFUNCTYPE(c.c_int, *kinds, c.c_void_p)(read)(k, d.d, 0, 8, c.addressof(v), c.addressof(size))
            print("before: status %d, %d" % (code, v.value), end="; ")
        for bytes_ in c.c_uint32(most), c.c_uint64(most):
            code = write(k, d.d, 0, c.sizeof(bytes_), c.addressof(bytes_))
            print("set with %d bytes: status %d" % (c.sizeof(bytes_), code), end="; ")
            if code == 0:
                break
        argument(d, k, b, kb)


def clusters():
    """Groups that share a cluster, which only the PTX can ask for."""
    d = CL()
    p, log, _ = d.build("""kernel __attribute__((reqd_work_group_size(128, 1, 1))) void k(global float *o)
{ uint n; __asm__ volatile("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(n)); o[get_global_id(0)] = n; }""")
    if not p:
        print("%cluster_nctaid.x as inline PTX:", seen(log))
        return
    ptx, b = d.binary(p), d.buffer(4096)
    for name, text in (("as it is", ptx),
                       ("2 asked for", re.sub(r"(\.entry [^{]*\))", r"\1\n.explicitcluster\n.reqnctapercluster 2, 1, 1", ptx, count=1))):
        p, log, _ = d.build(text, "", True)
        if not p:
            print(name, "refused:", seen(log) or log[:300])
            continue
        code = d.run(d.kernel(p, "k", b), 512) or d.finish()
        print(name, "status %d," % code, "groups in a cluster:", set(d.read(b, 512)) if not code else "?")


BULK = r"""kernel __attribute__((reqd_work_group_size(128, 1, 1))) void k(global float *o, global const float *x)
{
    local float t[1024] __attribute__((aligned(128)));
    local ulong bar;
    const uint b = (uint)(ulong)&bar, to = (uint)(ulong)t;
    if (get_local_id(0) == 0) {
        __asm__ volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(b) : "memory");
        __asm__ volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
        __asm__ volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 4096;" ::"r"(b) : "memory");
        __asm__ volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 4096, [%2];"
                         ::"r"(to), "l"(x), "r"(b) : "memory");
    }
    __asm__ volatile("{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; "
                     "@p bra DONE; bra AGAIN; DONE: }" ::"r"(b) : "memory");
    for (int i = get_local_id(0); i < 1024; i += 128)
        o[i] = t[i];
}"""


def bulk():
    d = CL()
    if ANY:
        print("PTX, which this device does not run")
        return
    p, log, _ = d.build(BULK, "-cl-std=CL1.2")
    print("cp.async.bulk and mbarrier as inline PTX:", "built" if p else seen(log))
    if not p:
        return
    x, o, numbers = d.buffer(4096), d.buffer(4096), (c.c_float * 1024)(*range(1024))
    d.ok("clEnqueueWriteBuffer", d.q, x, 1, c.c_size_t(0), c.c_size_t(4096), numbers, 0, None, None)
    code = d.run(d.kernel(p, "k", o, x)) or d.finish()
    print("status", code, "right" if not code and d.read(o, 1024) == list(range(1024)) else "WRONG")


def wgmma_source():
    """The first door: inline PTX, for the target that has wgmma."""
    d = CL()
    text = """kernel __attribute__((reqd_work_group_size(128, 1, 1))) void k(global float *o)
{ __asm__ volatile("wgmma.fence.sync.aligned;" ::: "memory"); o[get_global_id(0)] = 1; }"""
    for o in "", "-cl-nv-arch sm_90a":
        p, log, _ = d.build(text, o)
        print("wgmma.fence, options '%s': %s %s" % (o, "built" if p else "refused", seen(log)))


def wgmma():
    with open(HERE + "/wgmma.ptx") as f:
        return f.read()


def wgmma_ptx():
    """The second door: PTX as a program's binary."""
    d = CL()
    for target in ".target sm_90a", ".target sm_90a, texmode_independent":
        p, log, _ = d.build(wgmma().replace(".target sm_90a", target), "", True)
        print("PTX with '%s' as a binary: %s %s" % (target, "built" if p else "refused", seen(log) or log[:300]))
        if p:
            b = d.buffer(64 * 8 * 4)
            code = d.run(d.kernel(p, "k", b)) or d.finish()
            print("   status", code, "m64n8k16 of ones:", set(d.read(b, 512)), "(16 is right)")


def wgmma_cuda():
    """The third door: CUDA's driver."""
    l = c.CDLL("libcuda.so.1")
    device, context, module, k, b = c.c_int(), c.c_void_p(), c.c_void_p(), c.c_void_p(), c.c_uint64()

    def ok(name, *arguments):
        code = getattr(l, name)(*arguments)
        if code:
            raise RuntimeError("%s: %d" % (name, code))

    ok("cuInit", 0)
    ok("cuDeviceGet", c.byref(device), 0)
    ok("cuCtxCreate_v2", c.byref(context), 0, device)
    ok("cuModuleLoadData", c.byref(module), wgmma().encode() + b"\0")
    ok("cuModuleGetFunction", c.byref(k), module, b"k")
    ok("cuMemAlloc_v2", c.byref(b), c.c_size_t(2048))
    ok("cuLaunchKernel", k, 1, 1, 1, 128, 1, 1, 0, None, (c.c_void_p * 1)(c.cast(c.byref(b), c.c_void_p)), None)
    ok("cuCtxSynchronize")
    out = (c.c_float * 512)()
    ok("cuMemcpyDtoH_v2", out, b, c.c_size_t(2048))
    print("PTX through CUDA's driver: m64n8k16 of ones:", set(out), "(16 is right)")


def buffers(d, siblings, count):
    """Buffers for arguments: plain ones, or parts of one buffer that has `siblings` parts."""
    if not siblings:
        return [d.buffer(4096) for _ in range(count)]
    each, code = max(d.number(0x1019) // 8, 4096), c.c_int()
    root = d.buffer(each * siblings)
    region, parts = c.c_size_t * 2, []
    for i in range(siblings):
        parts.append(c.c_void_p(d.l.clCreateSubBuffer(root, c.c_uint64(1), 0x1220, region(i * each, 4096), c.byref(code))))
        if code.value:
            raise RuntimeError("clCreateSubBuffer: %d" % code.value)
    return [parts[i * siblings // count] for i in range(count)]


def launches():
    """What a launch costs the host, and the device until all are done."""
    d = CL()
    n = 1000
    for arguments in 1, 12:
        p, log, _ = d.build("kernel void k(%s) { if (get_global_id(0) == 12345678) %s; }" % (
            ", ".join("global float *a%d" % i for i in range(arguments)), "; ".join("a%d[0] = 1" % i for i in range(arguments))))
        for siblings in 0, 1, 100, 500:
            bound = buffers(d, siblings, arguments)
            for again in False, True:
                k, took = d.kernel(p, "k", *bound), []
                for _ in range(3):
                    start = time.perf_counter()
                    for i in range(n):
                        if again:
                            d.l.clSetKernelArg(k, 0, c.c_size_t(8), c.byref(bound[i % arguments]))
                        d.run(k)
                    mid = time.perf_counter()
                    d.finish()
                    took.append((time.perf_counter() - start, mid - start))
                done, enqueued = min(took)
                print("%2d arguments, %s%s: %.2f us each to enqueue (of which Python takes about 1), %.2f us until done" % (
                    arguments, "parts of a buffer with %d" % siblings if siblings else "plain buffers",
                    ", one set again" if again else "", enqueued / n * 1e6, done / n * 1e6))
    start = time.perf_counter()
    for _ in range(300):
        d.run(k)
        d.finish()
    print("launch and finish: %.1f us" % ((time.perf_counter() - start) / 300 * 1e6))


def gaps():
    """From the end of a kernel to the beginning of the next, which needs its result, by events."""
    d, code = CL(), c.c_int()
    q = c.c_void_p(d.l.clCreateCommandQueue(d.x, d.d, c.c_uint64(2), c.byref(code)))
    p, log, _ = d.build("kernel void k(global float *o, global const float *x) { float s = 0; "
                        "for (int i = 0; i < 64; i++) s += x[(get_global_id(0) + i * 128) & 1023]; o[get_global_id(0)] = s; }")
    for siblings in 0, 2, 500:
        a, b = buffers(d, siblings, 2)
        ks, events = (d.kernel(p, "k", a, b), d.kernel(p, "k", b, a)), [c.c_void_p() for _ in range(100)]
        for i, e in enumerate(events):
            d.ok("clEnqueueNDRangeKernel", q, ks[i % 2], 1, None, (c.c_size_t * 1)(1024),
                 (c.c_size_t * 1)(128), 0, None, c.byref(e))
        d.ok("clFinish", q)
        times = []
        for e in events:
            at = [c.c_uint64(), c.c_uint64()]
            for what, v in zip((0x1282, 0x1283), at):
                d.ok("clGetEventProfilingInfo", e, what, c.c_size_t(8), c.byref(v), None)
            times.append([v.value / 1e3 for v in at])
        between = sorted(n[0] - e[1] for e, n in zip(times, times[1:]))
        print("100 kernels, %s: median %.2f us each, gap %.2f us, longest %.2f" % (
            "parts of a buffer with %d" % siblings if siblings else "plain buffers", sorted(e[1] - e[0] for e in times)[50], between[49], between[-1]))


def transfers():
    d = CL()
    n, code = 64 << 20, c.c_int()
    b, pageable, pinned = d.buffer(n), (c.c_char * n)(), d.buffer(n, 1 | 16)  # CL_MEM_ALLOC_HOST_PTR
    mapped = c.c_void_p(d.l.clEnqueueMapBuffer(d.q, pinned, 1, c.c_uint64(3), c.c_size_t(0), c.c_size_t(n), 0, None, None,
                                               c.byref(code)))
    for name, at in ("pageable", pageable), ("pinned", mapped):
        c.memset(at, 1, n)
        for way in "Write", "Read":
            best = 1e9
            for _ in range(5):
                start = time.perf_counter()
                d.ok("clEnqueue%sBuffer" % way, d.q, b, 1, c.c_size_t(0), c.c_size_t(n), at, 0, None, None)
                best = min(best, time.perf_counter() - start)
            print("%-8s %-5s %.1f GB/s" % (name, way.lower(), n / best / 1e9))


def compile_threads():
    """Whether threads, or else processes, help where programs are built. NONCE keeps caches out."""
    d, text = CL(), source("gemm_mma_copies")
    start = time.perf_counter()
    for i in range(4):
        d.build(text, BASE + " -DNONCE=1%d %s" % (i, FORMS["large"]))
    one = time.perf_counter() - start
    threads = [threading.Thread(target=d.build, args=(text, BASE + " -DNONCE=2%d %s" % (i, FORMS["large"]))) for i in range(4)]
    start = time.perf_counter()
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print("4 builds of gemm_mma_copies: %.2f s in turn, %.2f s in 4 threads" % (one, time.perf_counter() - start))
    start = time.perf_counter()
    programs = [subprocess.Popen([sys.executable, __file__, "compile_one", ROOT, "3%d" % i]) for i in range(4)]
    for p in programs:
        p.wait()
    print("in 4 processes, with their start: %.2f s" % (time.perf_counter() - start))
    for name in "patch", "embed", "layernorm", "gemm_plain", "gemm_tile":
        print("%-10s %.2f s" % (name, d.build(source(name), BASE + " -DNONCE=4 -DWG=128 -DV=4 -DFLAT")[2]))


def compile_one():
    CL().build(source("gemm_mma_copies"), BASE + " -DNONCE=%s %s" % (sys.argv[3], FORMS["large"]))


def main():
    for name in {"quick": QUICK, "timed": TIMED}[sys.argv[1]]:
        print("\n== " + name, flush=True)
        try:
            code = subprocess.run([sys.executable, __file__, name, ROOT], timeout=SECONDS).returncode
        except subprocess.TimeoutExpired:
            print("%d s were not enough" % SECONDS)
            continue
        if code:
            print("status", code)
        if code == 3:
            sys.exit(3)


if sys.argv[1] in ("quick", "timed"):
    main()
else:
    try:
        globals()[sys.argv[1]]()
    except (OSError, RuntimeError) as e:
        print(e)
        sys.exit(1)
