"""The cases of tools/ptx_run: products, attention and their gradients, at an odd size and a large one.

A case gets a driver and a size. It returns a function that launches (of 0 or 1: into which of two outputs), the
outputs, an array like them, a function that gives the reference, NumPy's in double, the largest error of each number,
and how many operations there are. The references round the factors as the kernels do, so that little is left but the
order of sums. Where the driver lacks the instruction it returns None.
"""
import ctypes as c

import numpy as np

# M, N, K. "odd" has rows that begin anywhere, "even" those that are read 16 bytes at a time; with 14 strips, and 4 to a
# part, the buffers of cl/gemm_mma_*.cl come round several times. "tiny" is for the tests, and
# what a loop executes is the difference of "long" and "short".
SIZES = dict(odd=(197, 323, 437), even=(130, 136, 440), tiny=(33, 71, 236), large=(64 * 197, 3072, 768),
             short=(128, 128, 512), long=(128, 128, 1024))
HEADS = dict(odd=(2, 3, 150), tiny=(1, 2, 81), large=(64, 12, 197),  # pictures, heads, tokens
             short=(1, 1, 256), long=(1, 1, 512))
UNIT = {"bf16": 2**-8, "f16": 2**-11}  # of one rounding
# Rows and columns of an instruction's product and lanes, by KIND of cl/common_units.cl.
DOT2 = 10  # dot products of two halves, on AMD
SHAPES = {1: (16, 8, 32), 2: (16, 8, 32), 3: (16, 16, 32), 4: (16, 16, 32), 5: (32, 32, 64), 6: (32, 32, 64),
          DOT2: (64, 64, 256)}


def up(a, b):
    return -(-a // b) * b


def normal(*shape):
    return np.random.default_rng(7).standard_normal(shape, dtype=np.float32)


def to_bf16(x):
    """Rounded to nearest even, in f32."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)).view(np.float32)


def rounded(x, word):
    return to_bf16(x) if word == "bf16" else x.astype(np.float16).astype(np.float32)


def stored(x, word):
    """As numbers of 16 bits are in memory."""
    return (to_bf16(x).view(np.uint32) >> 16).astype(np.uint16) if word == "bf16" else x.astype(np.float16)


def numbers(x):
    """The same back: 16 whole bits are bf16."""
    return (x.astype(np.uint32) << 16).view(np.float32) if x.dtype == np.uint16 else x


def gelu(x):
    from math import erf
    return 0.5 * x * (1 + np.vectorize(erf)(x / 2**0.5))


def steps(x):
    """What int8 makes of rows: whole numbers, and the step of each; in f32, as the kernel."""
    step = np.abs(x).max(1, keepdims=True) / np.float32(127)
    return np.rint(x / step), step


def outputs(d, out):
    return [d.put(out), d.put(out)]


def product(size):
    m, n, k = SIZES[size]
    return m, n, k, normal(m, k), normal(n, k)[::-1].copy(), normal(n)


# ---- f32 ----


def tile(d, size):
    m, n, k, a, b, bias = product(size)
    wide = [] if k % 4 else ["-DWIDE_A", "-DWIDE_B"]
    f = d.load("gemm_tile", "gemm_tile", ["-DTM=128", "-DTN=128", "-DTK=8", "-DPANEL=0", "-DACT=0", "-DBIAS"] + wide)
    out = np.zeros((m, n), np.float32)
    to, x, y, z = outputs(d, out), d.put(a), d.put(b), d.put(bias)
    run = lambda i: d.launch(f, [to[i], x, y, z, d.none, d.none, m, n, k, k, k, n],
                             (256 * up(m, 128) // 128, up(n, 128) // 128), (256, 1))
    want = lambda: a.astype(float) @ b.T.astype(float) + bias
    return run, to, out, want, 2e-6 * k, 2.0 * m * n * k  # sums grow like a walk, and so do their errors


def parts(d, size):
    """As `tile`, for one picture: K in parts with their own work-groups, and their sum."""
    m, n, k = (197, 768, 768) if size == "large" else SIZES[size]
    terms = 256 if size == "large" else 64
    a, b, bias = normal(m, k), normal(n, k)[::-1].copy(), normal(n)
    wide = [] if k % 4 else ["-DWIDE_A", "-DWIDE_B"]
    options = ["-DTM=64", "-DTN=64", "-DTK=8", "-DPANEL=0", "-DACT=0", "-DBIAS", "-DTERMS=%d" % terms, "-DSPLIT"] + wide
    f, g = d.load("gemm_tile", "gemm_tile", options), d.load("gemm_sum", "gemm_sum", ["-DTYPE=0", "-DACT=0", "-DBIAS"])
    out, count = np.zeros((m, n), np.float32), up(k, terms) // terms
    to, x, y, z, sums = outputs(d, out), d.put(a), d.put(b), d.put(bias), d.put(np.zeros((count, m, n), np.float32))

    def run(i):
        d.launch(f, [to[i], x, y, z, d.none, d.none, m, n, k, k, k, n, sums, 0],
                 (256 * up(m, 64) // 64, up(n, 64) // 64, count), (256, 1, 1))
        d.launch(g, [to[i], sums, y, z, d.none, d.none, m, n, count, 0, n, 0, 0, sums], (up(m * n, 64),), (64,))

    want = lambda: a.astype(float) @ b.T.astype(float) + bias
    return run, to, out, want, 2e-6 * k, 2.0 * m * n * k


# ---- products on matrix units ----


def unit(d, form, kind):
    """The options of the tile, and its rows, columns and work-items. Forms: "" large, "parts" small, "turn" the tile of
    parts in turn, "groups" by wgmma."""
    if form == "groups":
        options = ["-DKIND=1", "-DWGMMA", "-DWM=4", "-DWN=1", "-DFM=1", "-DFN=16"]
        return options + ["-DEMULATE"] * d.emulated, 64, 128, 128
    if kind == DOT2:
        defines, small, turn = "-DKIND=%d -DWM=1 -DWN=1 -DFM=2 -DFN=2" % kind, "-DFM=1 -DFN=1", "-DFN=1"
    else:
        defines, _, small, turn = next(u for u in d.gpus.UNITS if "-DKIND=%d " % kind in u[0])
    options = d.gpus.with_tile(defines, {"parts": small, "turn": turn}.get(form, ""))
    if d.emulated:  # in small tiles
        small = ["-DWM=1", "-DWN=1", "-DFM=1", "-DFN=1"] if kind == DOT2 else ["-DWM=1", "-DWN=2", "-DFM=2", "-DFN=2"]
        options = options[:1] + small + ["-DEMULATE"]
    size = dict(x[2:].split("=") for x in options if "=" in x)
    wm, wn, fm, fn = (int(size[x]) for x in ("WM", "WN", "FM", "FN"))
    rows, columns, lanes = SHAPES[kind]
    return options, wm * fm * rows, wn * fn * columns, wm * wn * lanes


def multiply(d, form, kinds, to, a, packed, epilogue, sizes, strips, part, at=0, temp=None, kind=None):
    """Launches a kernel of cl/gemm_mma_*.cl, and where its sums are in parts, their sum. `a` is the buffer of A, lda and WIDE_A. A
    residual of None is C itself, to which the product is added."""
    m, n, k, columns = sizes
    options, tm, tn, items = unit(d, form, kind or d.kind)
    (x, lda, wide), (bias, residual) = a, epilogue
    if form in ("parts", "turn"):
        options = options + ["-DPART=%d" % part] + ["-DSPLIT"] * (form == "parts")
    stored = n % 8 == 0 and form != "parts" and "-DTIMES" not in kinds and (kind or d.kind) <= 2
    way = d.gpus.way(options[0])
    f = d.load(way, way, options + kinds + ["-DWIDE_A"] * wide + ["-DWIDE_C"] * stored)
    count = up(strips, part) // part if form == "parts" else 1
    arguments = [m, n, k, lda, n, columns]
    if form == "parts":
        g = d.load("gemm_sum", "gemm_sum", [x for x in kinds if not x.startswith(("-DAT", "-DSAME"))] + ["-DQUICK"])
        arguments += [temp, at]

    def run(i):
        added = to[i] if residual is None else residual
        d.launch(f, [to[i], x, packed, bias, d.none, added] + arguments, (items * up(m, tm) // tm, up(n, tn) // tn, count), (items, 1, 1))
        if form == "parts":
            d.launch(g, [to[i], temp, packed, bias, d.none, added, m, n, count, strips, n, columns, at, temp],
                     (up(m * n, 64),), (64,))

    return run


def units(word, form="", halves=False, kind=None):
    """y = x w^T + bias, with `halves` of activations in 16 bits, GELU and a residual."""
    half = "bf16" if word == "int8" else word

    def make(d, size):
        m, n, k, a, b, bias = product(size)
        split = form == "parts"
        if split and size == "large":
            m, n = 197, 768
            a, b, bias = a[:m].copy(), b[:n].copy(), bias[:n].copy()
        if d.kind == 2 and word == "bf16" or kind == DOT2 and d.kind <= 2:
            return None
        if form == "groups" and not d.emulated and d.arch != "sm_90":
            return None
        terms = 64 if word == "int8" else 32
        columns, strips, part = up(n, 128), up(k, terms) // terms, 8 if size == "large" else 4
        kinds = ["-DTYPE=%d" % d.gpus.TYPES[word]]
        packed, weights = d.put(np.zeros(columns * (strips * 64 + 4), np.uint8)), d.put(b)
        if word == "int8":
            d.launch(d.load("gemm_mma_pack", "gemm_mma_scale", kinds), [packed, weights, n, k, k, columns], (columns,), (1,))
        d.launch(d.load("gemm_mma_pack", "gemm_mma_pack", kinds), [packed, weights, n, k, k, columns],
                 (4 * strips, columns), (4, 32))
        x = d.put(stored(a, half) if halves else a)
        at, temp, count = 0, None, up(strips, part) // part
        if word == "int8":
            rows = d.put(np.zeros(m * (strips * 64 + 4), np.uint8))
            d.launch(d.load("gemm_mma_pack", "gemm_mma_rows", kinds + ["-DAT=" + (half if halves else "f32")]), [rows, x, m, k, k], (64 * m,), (64,))
            x = rows
        if split:  # in one piece of memory, the sums behind what int8 has there
            at = m * (strips * 16 + 1) if word == "int8" else 0
            sums = np.zeros(at + count * m * n, np.float32)
            if word == "int8":
                sums[:at] = d.get(rows, sums[:at])
            temp = d.put(sums)
            x = temp if word == "int8" else x
        residual, number = normal(m + 1, n)[1:], np.float32
        if halves:
            kinds += ["-DACT=1", "-DBIAS", "-DAT=" + half, "-DCT=" + half, "-DRESIDUAL", "-DRST=" + half]
            kinds += ["-DSAME_A"] * (word != "int8")
            number = np.float16 if half == "f16" else np.uint16
        else:
            kinds += ["-DACT=0", "-DBIAS"]
        out = np.zeros((m, n), number)
        to = outputs(d, out)
        run = multiply(d, form, kinds, to, (x, k, k % (8 if halves else 4) == 0 and word != "int8"), packed,
                       (d.put(bias), d.put(stored(residual, half)) if halves else d.none), (m, n, k, columns), strips, part,
                       at, temp, kind)

        def want():
            if word == "int8":
                (p, s), (q, t) = steps(rounded(a, half) if halves else a), steps(b)
                y = (p.astype(float) @ q.T) * (s.astype(float) * t.T) + bias
            else:
                y = rounded(a, word).astype(float) @ rounded(b, word).T.astype(float) + bias
            return gelu(y) + rounded(residual, half) if halves else y

        least = 1e-5 * k**0.5 if word == "int8" else 5e-6 * k
        bound = (lambda y: least + UNIT[half] * np.abs(y)) if halves else least
        return run, to, out, want, bound, 2.0 * m * n * k

    return make


def int8_rows(d, size):
    """Activations of 16 bits become bytes, and the step of each row; every byte is known."""
    m, _, k, a, _, _ = product(size)
    a, strips = a.astype(np.float16), up(k, 64) // 64
    out = np.zeros(m * (strips * 64 + 4), np.uint8)
    to, x = outputs(d, out), d.put(a)
    f = d.load("gemm_mma_pack", "gemm_mma_rows", ["-DTYPE=3", "-DAT=f16"])
    run = lambda i: d.launch(f, [to[i], x, m, k, k], (64 * m,), (64,))

    def want():
        whole, step = steps(a.astype(np.float32))
        packed = np.zeros((m, strips * 64), np.int8)
        packed[:, :k] = whole
        return np.frombuffer(packed.tobytes() + step.tobytes(), np.uint8).astype(float)

    def off(y):
        """AMD's quotients are off by some bits, as OpenCL allows: a step by its last, and the byte of a number that is
        near to half a step by 1."""
        x, step = np.pad(a.astype(float), ((0, 0), (0, strips * 64 - k))), steps(a.astype(np.float32))[1]
        near = np.abs(np.abs(x / step) % 1 - 0.5) < 1e-4
        return (d.kind > 2) * np.concatenate([near.ravel(), np.arange(y.size - near.size) % 4 == 0])

    return run, to, out, want, off, 1.0 * m * k


def turned(d, x, rows, a):
    """x[K,N] packed with its columns as rows: B, or with `a`, A."""
    k, n = x.shape
    strips = up(k, 32) // 32
    out = d.put(np.zeros(rows * strips * 64, np.uint8))
    d.launch(d.load("gemm_mma_turn", "gemm_mma_turn", ["-DDPAS=0"] + ["-DROWS"] * a), [out, d.put(x), n, k, n, rows],
             (128 * up(k, 64) // 64, up(rows, 32) // 32), (128, 1))
    return out


def input_gradient(d, size):
    """dx = dy w, times the slope of an activation."""
    if d.kind == 2:
        return None
    m, n, k, dy, _, _ = product(size)
    w, slope = normal(k + 1, n)[1:].copy(), normal(m, n)
    columns, strips = up(n, 128), up(k, 32) // 32
    packed, out = turned(d, w, columns, False), np.zeros((m, n), np.float32)
    to = outputs(d, out)
    run = multiply(d, "", ["-DTYPE=1", "-DACT=0", "-DTIMES"], to, (d.put(dy), k, k % 4 == 0), packed, (d.none, d.put(slope)),
                   (m, n, k, columns), strips, 0)
    want = lambda: to_bf16(dy).astype(float) @ to_bf16(w).astype(float) * slope
    return run, to, out, want, lambda y: 5e-6 * k * (1 + np.abs(slope)), 2.0 * m * n * k


def weight_gradient(form=""):
    """dw += dy^T x, whose terms are the rows of both."""
    def make(d, size):
        if d.kind == 2:
            return None
        m, n, k = SIZES[size] if size != "large" else (768, 3072, 64 * 197)
        dy, x, old = normal(k, m), normal(k + 1, n)[1:].copy(), normal(m, n)
        columns, strips, part = up(n, 128), up(k, 32) // 32, 64 if size == "large" else 4
        a, packed = turned(d, dy, m, True), turned(d, x, columns, False)
        to, temp = outputs(d, old), d.put(np.zeros((up(strips, part) // part, m, n), np.float32)) if form == "parts" else None
        run = multiply(d, form, ["-DTYPE=1", "-DACT=0", "-DRESIDUAL", "-DAT=bf16", "-DSAME_A"], to, (a, 32 * strips, True), packed,
                       (d.none, None), (m, n, k, columns), strips, part, 0, temp)
        want = lambda: old + to_bf16(dy).T.astype(float) @ to_bf16(x).astype(float)
        return run, to, old, want, 5e-6 * k, 2.0 * m * n * k

    return make


# ---- attention ----


class Heads:
    """Queries, keys and values, and what attention makes of them in double. `more`: the define of a bias of all pictures
    (BIAS=1) or of each (2), or of the columns of a grid as pictures (LINES=n); `cross`: fewer queries than keys."""

    def __init__(self, size, wide, word, more="", cross=False):
        self.pictures, self.heads, self.t = HEADS[size]
        self.more, self.word, self.wide, self.lines = more, word, wide, int(more[8:]) if "LINES" in more else 1
        if self.lines > 1:  # of two grids
            self.pictures, self.t = 2 * self.lines, self.t // 2
        self.tq, w = self.t * 2 // 3 if cross else self.t, self.heads * wide
        self.scale, self.cross, self.ld = wide**-0.5, cross, 3 * w
        x = normal(self.pictures, self.t + self.tq, 3 * w)
        if word != "f32":
            x = rounded(x, word)
        self.kv, self.q = x[:, :self.t].copy(), (x[:, self.t:] if cross else x[:, :self.t]).copy()
        self.bias = normal(self.pictures if "2" in more else 1, self.heads, self.tq, self.t) if "BIAS" in more else None

    def grid(self, x):
        """As it is in memory: the columns of a grid are neighbours in its rows."""
        if self.lines == 1:
            return np.ascontiguousarray(x)
        return np.ascontiguousarray(x.reshape(2, self.lines, *x.shape[1:]).swapaxes(1, 2)).reshape(x.shape)

    def put(self, d, x):
        return d.put(self.grid(stored(x, self.word) if self.word != "f32" else x))

    def buffers(self, d):
        kv = self.put(d, self.kv)
        return self.put(d, self.q) if self.cross else kv, kv, d.none if self.bias is None else d.put(self.bias)

    def sizes(self):
        w, ld = self.heads * self.wide, self.ld * self.lines
        return [self.pictures, self.heads, self.tq, self.t, self.tq * ld, ld, ld, w, 2 * w, c.c_float(self.scale)]

    def part(self, x, i):
        w = self.heads * self.wide
        return x[..., i * w:(i + 1) * w].reshape(self.pictures, -1, self.heads, self.wide).astype(float)

    def tensors(self):
        return self.part(self.q, 0), self.part(self.kv, 1), self.part(self.kv, 2)

    def probabilities(self):
        q, k, _ = self.tensors()
        s = np.einsum("bihd,bjhd->bhij", q, k) * self.scale + (0 if self.bias is None else self.bias)
        s = np.exp(s - s.max(-1, keepdims=True))
        return s / s.sum(-1, keepdims=True)

    def answer(self):
        return self.flat(np.einsum("bhij,bjhd->bihd", self.probabilities(), self.tensors()[2]))

    def flat(self, x):
        return x.reshape(self.pictures, x.shape[1], self.heads * self.wide)

    def work(self, products):
        return 2.0 * products * self.pictures * self.heads * self.tq * self.t * self.wide

    def options(self, d, word, keys, fragments):
        """On matrix units; the size of a group, and how many there are for `rows` rows."""
        rows, columns, lanes = SHAPES[d.kind]
        own = [int(x[5:]) for x in self.more.split() if x.startswith("-DWM=")]
        subgroups = own[0] if own else (64 if d.emulated else 128) // lanes
        group, rows = lanes * subgroups, (rows if d.kind <= 2 else columns) * fragments * subgroups
        return (["-DKIND=%d" % d.kind, "-DTYPE=%d" % d.gpus.TYPES[word], "-DD=%d" % self.wide, "-DWM=%d" % subgroups,
                 "-DFQ=%d" % fragments, "-DKEYS=%d" % keys] + self.more.split() + ["-DEMULATE"] * d.emulated,
                group, lambda n: (up(n, rows) // rows * group * self.heads * self.pictures, 1, 1))


def attention(d, size):
    h = Heads(size, 64, "f32")
    out = np.zeros((h.pictures, h.t, h.heads * 64), np.float32)
    to, (q, kv, _) = outputs(d, out), h.buffers(d)
    f = d.load("attention", "attention__tiled", ["-DD=64", "-DWG=64", "-DKT=32"])
    run = lambda i: d.launch(f, [to[i], q, kv, d.none] + h.sizes(), (up(h.t, 64), h.heads, h.pictures), (64, 1, 1))
    return run, to, out, h.answer, 1e-5, h.work(2)


def attention_units(word, wide, more="", cross=False, one=False, rows=None, result=None):
    """`one`: a fragment of queries where there would be two. `rows`, `result`: as these are in memory, if not of the type."""
    def make(d, size):
        if d.kind == 2 and word == "bf16":
            return None
        h = Heads(size, wide, word, more, cross)
        h.word = rows or word  # numbers are of `word` all the same
        fragments = 2 if d.kind == 1 and 64 <= wide <= 96 and "BIAS" not in more and not one and not rows else 1
        options, group, items = h.options(d, word, 64 if wide <= 64 and not rows else 32, fragments)
        to_word = result or rows or word
        out = np.zeros((h.pictures, h.tq, h.heads * wide), {"f16": np.float16, "bf16": np.uint16, "f32": np.float32}[to_word])
        to, (q, kv, z) = outputs(d, out), h.buffers(d)
        f = d.load("attention_mma", "attention_mma", options + ["-DQT=" + (rows or word), "-DKVT=" + (rows or word), "-DYT=" + to_word] +
                   ["-DWIDE_Y"] * (d.kind <= 2 and to_word == word))
        run = lambda i: d.launch(f, [to[i], q, kv, z] + h.sizes(), items(h.tq), (group, 1, 1))
        # each probability is rounded once: at most that share of the largest value; and so is each result
        least = 1e-5 + (2**-16 if rows else UNIT[word]) * np.abs(h.kv).max()
        bound = (lambda y: least + UNIT[word] * np.abs(y)) if to_word == word else least
        return run, to, out, lambda: h.grid(h.answer()), bound, h.work(2)

    return make


def attention_gradient(of_keys, wide, more="", cross=False):
    """dq, or dk and dv behind each other in a row of keys and values."""
    def make(d, size):
        if d.kind == 2 or d.kind in (3, 4) and wide > 64:
            return None
        h = Heads(size, wide, "f32", more, cross)
        h.q, h.kv = to_bf16(h.q), to_bf16(h.kv)
        out, dout = h.answer().astype(np.float32), to_bf16(normal(h.pictures, h.tq, h.heads * wide)[::-1])
        options, group, items = h.options(d, "bf16", 64 if wide <= 32 else 32 if wide <= 64 or d.kind > 1 else 16, 1)
        q, kv, z = h.buffers(d)
        slopes, answers = h.put(d, dout), h.put(d, out)
        none = np.zeros((h.pictures, h.tq, h.ld), np.float32)
        to, stat = outputs(d, none), d.put(np.zeros((h.pictures, h.heads, h.tq, 2), np.float32))
        f = d.load("attention_grad_mma__q", "attention_grad_mma__q", options)
        of_q = lambda i: d.launch(f, [to[i], stat, slopes, answers, q, kv, z] + h.sizes(), items(h.tq), (group, 1, 1))
        run = of_q
        if of_keys:
            of_q(0)
            none = np.zeros((h.pictures, h.t, h.ld), np.float32)
            to = outputs(d, none)
            g = d.load("attention_grad_mma__kv", "attention_grad_mma__kv", options)
            run = lambda i: d.launch(g, [to[i], slopes, stat, q, kv, z] + h.sizes(), items(h.t), (group, 1, 1))

        def terms(f):
            """The gradients, with f of each term of a sum."""
            (q, k, v), p = h.tensors(), h.probabilities()
            g = dout.reshape(h.pictures, h.tq, h.heads, wide).astype(float)
            dp = np.einsum("bihd,bjhd->bhij", g, v)
            dx = p * (dp - (p * dp).sum(-1, keepdims=True))
            full = np.zeros(none.shape)
            w = h.heads * wide
            if of_keys:
                full[..., w:2 * w] = h.flat(np.einsum("bhij,bihd->bjhd", f(dx), f(q))) * h.scale
                full[..., 2 * w:] = h.flat(np.einsum("bhij,bihd->bjhd", f(p), f(g)))
            else:
                full[..., :w] = h.flat(np.einsum("bhij,bjhd->bihd", f(dx), f(k))) * h.scale
            return h.grid(full)

        # p and dx are rounded once: each error is that share of a term at most
        return (run, to, none, lambda: terms(lambda x: x), lambda _: 1e-5 + UNIT["bf16"] * terms(np.abs),
                h.work(4 if of_keys else 3))

    return make


CASES = {
    "tile": tile, "parts": parts, "f16": units("f16"), "f16_parts": units("f16", "parts"), "f16_turn": units("f16", "turn"),
    "f16_stored": units("f16", "", True), "f16_groups": units("f16", "groups", True),
    "bf16_groups": units("bf16", "groups"), "int8_groups": units("int8", "groups"), "bf16": units("bf16"), "int8": units("int8"),
    "int8_stored": units("int8", "", True), "int8_groups_stored": units("int8", "groups", True), "int8_parts": units("int8", "parts"),
    "dot2": units("f16", "", False, DOT2), "dot2_parts": units("f16", "parts", False, DOT2), "int8_rows": int8_rows, "dx": input_gradient, "dw": weight_gradient(), "dw_parts": weight_gradient("parts"),
    "attention": attention, "attention_f16": attention_units("f16", 64),
    "attention_f16_bias": attention_units("f16", 64, "-DBIAS=1", True), "attention_f16_40": attention_units("f16", 40, result="f32"),
    "attention_f16_72": attention_units("f16", 72, "", True), "attention_bf16_80": attention_units("bf16", 80),
    "attention_f16_96": attention_units("f16", 96),
    "attention_training": attention_units("bf16", 64, rows="f32"),
    "attention_training_bias": attention_units("bf16", 72, "-DBIAS=1", True, rows="f32"), "attention_dq": attention_gradient(False, 64),
    "attention_dkv": attention_gradient(True, 64), "attention_dq_bias": attention_gradient(False, 72, "-DBIAS=1", True),
    "attention_dkv_bias": attention_gradient(True, 72, "-DBIAS=1", True),
    "attention_dq_96": attention_gradient(False, 96), "attention_dkv_96": attention_gradient(True, 96)}
# Those that read their rows in another way where they are even.
EVEN = ("tile", "parts", "f16", "f16_parts", "f16_turn", "f16_stored", "f16_groups", "bf16", "bf16_groups", "int8_stored",
        "int8_groups_stored", "dx")


def more_cases(gpus):
    """All heads that tools/compile_gpus compiles."""
    out = {}
    for word, heads in (("f16", gpus.HEADS), ("bf16", gpus.HEADS[:1])):
        for wide, more in heads:
            name = "attention_%s_%d%s" % (word, wide, more.replace(" -D", "_").lower().replace("=", ""))
            out[name] = attention_units(word, wide, more.strip())
            if 64 <= wide <= 96 and "BIAS" not in more:
                out[name + "_one"] = attention_units(word, wide, more.strip(), False, True)
    for wide, more in gpus.GRADS:
        name = "attention_training_%d%s" % (wide, more.replace(" -D", "_").lower().replace("=", ""))
        out[name] = attention_units("bf16", wide, more.strip(), rows="f32")
        for of_keys in (False, True):
            name = "attention_%s_%d%s" % ("dkv" if of_keys else "dq", wide, more.replace(" -D", "_").lower().replace("=", ""))
            out[name] = attention_gradient(of_keys, wide, more.strip())
    return out
