"""The instructions of PTX that clang makes of cl/, for ptx_interpreter.py.

bind() gives an instruction's kind and a function of (where, lanes): the threads for
which it is executed, as NumPy's `where` and as numbers. Sections and tables named
here are those of the PTX ISA document.
"""
import re

import numpy as np

import ptx_bulk

WARP = 32
MANY = -2  # readers
UNWRITTEN = 0x7FFF7FFF  # what shared memory holds at first: NaN in f32, and twice in 16 bits
TYPES = {"u8": np.uint8, "s8": np.int8, "b8": np.uint8, "u16": np.uint16, "s16": np.int16, "b16": np.uint16,
         "u32": np.uint32, "s32": np.int32, "b32": np.uint32, "f32": np.float32, "f16": np.float16, "u64": np.uint64,
         "s64": np.int64, "b64": np.uint64, "f64": np.float64, "pred": np.bool_}
FLOATS = (np.float16, np.float32, np.float64)


def unknown(run, i):
    run.at = i
    run.fail("not known to this interpreter")


def source(run, text, dtype):
    """An operand: the numbers of a register, or one number."""
    dtype = np.dtype(dtype)
    if text in run.names:  # the address of a variable
        return dtype.type(run.names[text])
    if text.startswith("%") or run.kernel.declared(text):
        row = run.row(text, dtype) if text in run.special or run.kernel.width(text) == dtype.itemsize * 8 or (
            dtype == bool) else None
        if row is None:
            run.fail("%s does not have the width of the instruction" % text)
        return row
    if text[:2].lower() == "0f":
        return np.uint32(int(text[2:], 16)).view(np.float32).view(dtype)
    if text[:2].lower() == "0d":
        return np.uint64(int(text[2:], 16)).view(np.float64).view(dtype)
    number = int(text, 0)
    if dtype == bool:
        return bool(number)
    bits = dtype.itemsize * 8
    return np.array(number & (2**bits - 1), "u%d" % dtype.itemsize).view(dtype)[()]


def vector(text):
    return [x.strip() for x in text.strip("{}").split(",")] if text.startswith("{") else [text]


def address(run, text):
    """A function that gives the addresses of [register+number], or [variable+number]."""
    name, plus, offset = text.strip("[]").partition("+")
    offset = int(offset) if plus else 0
    if name in run.names:
        value = np.full(run.lanes, run.names[name] + offset, np.uint64)
        return lambda: value
    if run.kernel.width(name) == 64:
        row, offset = run.row(name, np.uint64), np.uint64(offset & (2**64 - 1))
        return lambda: row + offset
    row = run.row(name, np.uint32)
    return lambda: (row + np.uint32(offset & (2**32 - 1))).astype(np.uint64)


def put(run, register, dtype):
    """Into a register, which may be wider than its type: those of small integers are extended."""
    if register == "_":
        return lambda where, values: None
    width = run.kernel.width(register) // 8
    if width == np.dtype(dtype).itemsize or dtype == np.bool_:
        d = run.row(register, dtype)
        return lambda where, values: np.copyto(d, values, where=where)
    signed = np.dtype(dtype).kind == "i"
    d = run.row(register, "%s%d" % ("i" if signed else "u", width))
    kept = np.dtype("%s%d" % ("i" if signed else "u", np.dtype(dtype).itemsize))
    return lambda where, values: np.copyto(d, np.asarray(values).view(kept), where=where, casting="unsafe")


# ---- arithmetic ----


def fma(a, b, c):
    return (a.astype(np.float64) * b + c).astype(np.float32)


def shift(ufunc, a, n):
    """Amounts beyond the width are as the width: zeros, or signs."""
    bits = np.dtype(a.dtype).itemsize * 8
    if ufunc is np.right_shift and a.dtype.kind == "i":
        return np.right_shift(a, np.minimum(n, bits - 1).astype(a.dtype))
    shifted = ufunc(a, np.minimum(n, bits - 1).astype(a.dtype))
    return np.where(n >= bits, a.dtype.type(0), shifted)


def wide(a, b):
    kind, size = a.dtype.kind, a.dtype.itemsize
    if size < 8:
        return a.astype("%s%d" % (kind, 2 * size)) * b.astype("%s%d" % (kind, 2 * size))
    return np.array([int(x) * int(y) for x, y in np.broadcast(a, b)], object)


def high(a, b):
    size, dtype = a.dtype.itemsize, a.dtype
    product = wide(a, b)
    if size < 8:
        return (product >> product.dtype.type(8 * size)).astype(dtype)
    product >>= 64
    return product.astype(dtype)


def divide(a, b):
    """Towards zero."""
    if a.dtype.kind == "u":
        return a // np.where(b == 0, 1, b).astype(a.dtype)
    q = np.abs(a.astype(np.int64)) // np.maximum(np.abs(b.astype(np.int64)), 1)
    return np.where((a < 0) != (b < 0), -q, q).astype(a.dtype)


def exp2(x):
    """ex2.approx.ftz"""
    tiny = np.finfo(np.float32).tiny
    x = np.where(np.abs(x) < tiny, np.float32(0), x)
    y = np.exp2(x.astype(np.float64)).astype(np.float32)
    return np.where(y < tiny, np.float32(0), y)


def bf16(x):
    bits = x.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(x), np.uint32(0x7FFF), rounded)


def integer(x, dtype):
    """cvt.rzi and cvt.rni: saturated; NaN is 0."""
    info = np.iinfo(dtype)
    return np.clip(np.nan_to_num(x.astype(np.float64), nan=0.0, posinf=1e300, neginf=-1e300), info.min,
                   info.max).astype(dtype)


def inserted(a, b, at, n):
    """bfi.b32: n bits of a in b, from bit `at` on."""
    mask = ((np.uint64(1) << np.uint64(n)) - np.uint64(1)) << np.asarray(at, np.uint64)
    a, b = np.asarray(a, np.uint64) << np.asarray(at, np.uint64), np.asarray(b, np.uint64)
    return (a & mask | b & ~mask).astype(np.uint32)


def field(a, at, bits):
    """bfe.u32"""
    at, bits = np.minimum(at & 255, 32), np.minimum(bits & 255, 32)
    value = a.astype(np.uint64) >> at.astype(np.uint64)
    return (value & ((np.uint64(1) << bits.astype(np.uint64)) - np.uint64(1))).astype(np.uint32)


SIMPLE = {  # of two operands of the instruction's type
    "add": np.add, "sub": np.subtract, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
CONVERSIONS = {  # cvt with a rounding: destination and source, and how
    "rn.f16.f32": (np.float16, np.float32, lambda x: x.astype(np.float16)),
    "f32.f16": (np.float32, np.float16, lambda x: x.astype(np.float32)),
    "rn.f32.s32": (np.float32, np.int32, lambda x: x.astype(np.float32)),
    "rn.f32.u32": (np.float32, np.uint32, lambda x: x.astype(np.float32)),
    "rzi.s32.f32": (np.int32, np.float32, lambda x: integer(np.trunc(x), np.int32)),
    "rni.s32.f32": (np.int32, np.float32, lambda x: integer(np.rint(x), np.int32)),
    "rni.f32.f32": (np.float32, np.float32, np.rint),
    "rmi.f32.f32": (np.float32, np.float32, np.floor),
    "rzi.f32.f32": (np.float32, np.float32, np.trunc),
    "rn.bf16.f32": (np.uint16, np.float32, lambda x: bf16(x).astype(np.uint16))}
ORDERED = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
           "ge": np.greater_equal, "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal}
UNORDERED = {"equ": "ne", "ltu": "ge", "leu": "gt", "gtu": "le", "geu": "lt"}  # the opposite of each, without NaN


def compare(name, dtype):
    if dtype not in FLOATS:
        return ORDERED.get(name)
    if name == "ne":
        return lambda a, b: (a < b) | (a > b)
    if name == "neu":
        return np.not_equal
    if name in UNORDERED:
        opposite = compare(UNORDERED[name], dtype)
        return lambda a, b: ~opposite(a, b)
    if name in ("num", "nan"):
        return lambda a, b: (np.isnan(a) | np.isnan(b)) == (name == "nan")
    return ORDERED.get(name)


def arithmetic(run, i):
    """A function of the operands, their types, and that of the result; None: not arithmetic."""
    p, kind = i.parts, i.parts[-1]
    t = TYPES.get(kind)
    name, form = p[0], ".".join(p[1:-1])
    if t is None:
        return None
    whole = t not in FLOATS
    if name in SIMPLE and (not form and whole or name in ("add", "sub") and t is np.float32 and form in ("rn", "")):
        return SIMPLE[name], (t, t), t
    if name == "mul" and t is np.float32 and form in ("rn", ""):
        return np.multiply, (t, t), t
    if name == "mul" and form == "lo" and whole:
        return np.multiply, (t, t), t
    if name == "mul" and form == "hi" and whole:
        return high, (t, t), t
    if name == "mul" and form == "wide" and whole:
        return wide, (t, t), np.dtype("%s%d" % (np.dtype(t).kind, 2 * np.dtype(t).itemsize)).type
    if name == "mad" and form == "lo" and whole:
        return (lambda a, b, c: a * b + c), (t, t, t), t
    if i.name == "fma.rn.f32":
        return fma, (t, t, t), t
    if i.name == "div.rn.f32":
        return np.divide, (t, t), t
    if i.name == "rcp.rn.f32":
        return (lambda a: np.float32(1) / a), (t,), t
    if i.name == "sqrt.rn.f32":
        return np.sqrt, (t,), t
    if i.name == "ex2.approx.ftz.f32":
        return exp2, (t,), t
    if name in ("div", "rem") and not form and whole:
        if name == "div":
            return divide, (t, t), t
        return (lambda a, b: a - divide(a, b) * b), (t, t), t
    if name in ("min", "max") and not form:
        of_floats = (np.fmin, np.fmax)  # NaN only of two NaN
        f = (of_floats if not whole else (np.minimum, np.maximum))[name == "max"]
        return f, (t, t), t
    if name == "abs" and not form:
        return np.abs, (t,), t
    if name == "neg" and not form:
        return np.negative, (t,), t
    if name == "not" and not form:
        return (np.logical_not if t is np.bool_ else np.invert), (t,), t
    if name in ("shl", "shr") and not form and whole:
        f = np.left_shift if name == "shl" else np.right_shift
        return (lambda a, n: shift(f, a, n)), (t, np.uint32), t
    if i.name == "bfi.b32":
        return inserted, (np.uint32,) * 4, np.uint32
    if i.name == "bfe.u32":
        return field, (t, np.uint32, np.uint32), t
    if name == "selp" and not form:
        return (lambda a, b, c: np.where(c, a, b)), (t, t, np.bool_), t
    if name == "mov" and not form and not any(x.startswith("{") for x in i.operands):
        return (lambda a: a), (t,), t
    if name == "setp" and compare(form, t):
        return compare(form, t), (t, t), np.bool_
    if name == "cvt" and ".".join(p[1:]) in CONVERSIONS:
        to, of, f = CONVERSIONS[".".join(p[1:])]
        return f, (of,), to
    if name == "cvt" and len(p) == 3 and p[1] in TYPES and not {TYPES[p[1]], t} & set(FLOATS):
        to = TYPES[p[1]]
        return (lambda a: a.astype(to)), (t,), to
    return None


def halves(run, i):
    """cvt.rn.f16x2.f32 d, a, b: a is the upper half; fma.rn.f16x2, of both halves."""
    if i.name == "fma.rn.f16x2":
        row, a, b, c = (run.row(x, np.uint32) for x in i.operands)

        def add(where, lanes):
            x, y, z = (np.ascontiguousarray(v).view(np.float16).astype(np.float64) for v in (a, b, c))
            np.copyto(row, (x * y + z).astype(np.float16).view(np.uint32), where=where)

        return add
    if i.name == "cvt.rn.bf16x2.f32":
        bits = bf16
    elif i.name == "cvt.rn.f16x2.f32":
        bits = lambda x: np.asarray(x.astype(np.float16)).view(np.uint16).astype(np.uint32)
    else:
        return None
    a, b = (source(run, x, np.float32) for x in i.operands[1:])
    d = run.row(i.operands[0], np.uint32)
    return lambda where, lanes: np.copyto(d, bits(a) << np.uint32(16) | bits(b), where=where)


def packed(run, i):
    """mov of a vector to or from a register of its whole size."""
    t = TYPES[i.parts[1]]
    to, of = (vector(x) for x in i.operands)
    part = np.dtype("u%d" % (np.dtype(t).itemsize // max(len(to), len(of))))
    step = part.itemsize * 8
    if len(to) == 1:
        d, parts = run.row(to[0], t), [source(run, x, part) for x in of]

        def pack(where, lanes):
            value = np.zeros(run.lanes, t)
            for k, x in enumerate(parts):
                value |= np.asarray(x).astype(t) << t(k * step)
            np.copyto(d, value, where=where)
        return pack
    whole, parts = source(run, of[0], t), [put(run, x, part) for x in to]

    def unpack(where, lanes):
        value = whole.copy()  # a part may be of this very register
        for k, store in enumerate(parts):
            store(where, (value >> t(k * step)).astype(part))
    return unpack


# ---- memory ----


def load(run, i):
    """ld of param, global, const, shared."""
    p = [x for x in i.parts if x != "nc"]
    t, count = TYPES.get(p[-1]), {"v2": 2, "v4": 4}.get(p[2], 1)
    if t is None or len(p) != (4 if count > 1 else 3):
        unknown(run, i)
    into = [put(run, x, t) for x in vector(i.operands[0])]
    if len(into) != count:
        unknown(run, i)
    size = np.dtype(t).itemsize
    if p[1] == "param":
        value = run.values.get(i.operands[1].strip("[]"))
        if value is None:
            unknown(run, i)
        if isinstance(value, float):
            value = np.float32(value).view(np.uint32)
        value = np.array(int(value) & (2**(8 * size) - 1), "u%d" % size).view(t)
        return lambda where, lanes: into[0](where, value)
    places = address(run, i.operands[1])
    if p[1] in ("global", "const"):
        def from_global(where, lanes):
            at = run.memory.places(run, places()[lanes], size * count, lanes, "read")
            run.memory.touched(run, at, size, count, lanes, False, "nc" in i.parts)
            at //= size
            array = run.memory.bytes[:run.memory.bytes.size // 8 * 8].view(t)
            for k, store in enumerate(into):
                spread(run, store, where, lanes, array[at + k])
        return from_global
    if p[1] == "shared" and size == 4:
        def from_shared(where, lanes):
            at = run.shared.places(places()[lanes], 4 * count, lanes, "read")
            for k, store in enumerate(into):
                spread(run, store, where, lanes, run.shared.read(at + k, lanes).view(t))
        return from_shared
    unknown(run, i)


def spread(run, store, where, lanes, values):
    """The values of these lanes alone."""
    if where is not True:
        all_of_them = np.zeros(run.lanes, values.dtype)
        all_of_them[lanes] = values
        values = all_of_them
    store(where, values)


def store(run, i):
    p = i.parts
    t, count = TYPES.get(p[-1]), {"v2": 2, "v4": 4}.get(p[2], 1)
    if t is None or len(p) != (4 if count > 1 else 3):
        unknown(run, i)
    size = np.dtype(t).itemsize
    values = []
    for x in vector(i.operands[1]):
        if (x.startswith("%") or run.kernel.declared(x)) and run.kernel.width(x) != size * 8:
            wider = run.row(x, "u%d" % (run.kernel.width(x) // 8))
            values.append(lambda wider=wider: wider.astype("u%d" % size).view(t))
        else:
            value = source(run, x, t)
            values.append(lambda value=value: np.broadcast_to(value, run.lanes))
    places = address(run, i.operands[0])
    if p[1] == "global":
        def to_global(where, lanes):
            at = run.memory.places(run, places()[lanes], size * count, lanes, "write")
            run.memory.touched(run, at, size, count, lanes, True)
            at //= size
            array = run.memory.bytes[:run.memory.bytes.size // 8 * 8].view(t)
            for k, value in enumerate(values):
                array[at + k] = value()[lanes]
        return to_global
    if p[1] == "shared" and size == 4:
        def to_shared(where, lanes):
            at = run.shared.places(places()[lanes], 4 * count, lanes, "write")
            for k, value in enumerate(values):
                run.shared.write(at + k, lanes, value()[lanes].view(np.uint32))
        return to_shared
    unknown(run, i)


def copies(run, i):
    """cp.async: "Data Movement and Conversion Instructions: cp.async". Groups of copies are counted for each thread."""
    if i.name == "cp.async.cg.shared.global" and i.operands[2:3] == ["16"]:
        to, of = address(run, i.operands[0]), address(run, i.operands[1])
        given = source(run, i.operands[3], np.uint32) if i.operands[3:] else np.uint32(16)  # bytes that are read; then zeros

        def begin(where, lanes):
            at = run.shared.places(to()[lanes], 16, lanes, "copy")
            bytes_read, words = np.broadcast_to(given, run.lanes)[lanes], np.zeros((4, lanes.size), np.uint32)
            run.complain((bytes_read > 16) | (bytes_read % 2 > 0), lanes, "copy of %d bytes", bytes_read)
            from_there = of()[lanes]
            run.complain(from_there % np.uint64(16) != 0, lanes, "copy of global memory that is not aligned, address %#x", from_there)
            array = run.memory.bytes[:run.memory.bytes.size // 8 * 8].view(np.uint16)
            for k in range(8):
                some = bytes_read > 2 * k
                start = run.memory.places(run, from_there[some] + np.uint64(2 * k), 2, lanes[some], "copy")
                run.memory.touched(run, start, 2, 1, lanes[some], False)
                words[k // 2, some] |= array[start // 2].astype(np.uint32) << np.uint32(16 * (k % 2))
            run.shared.begin(at, lanes, words)
        return begin
    if i.name == "cp.async.commit_group":
        def commit(where, lanes):
            run.committed[lanes] += 1
        return commit
    if i.name == "cp.async.wait_group":  # N of the latest groups may still be on their way
        n = int(i.operands[0])
        return lambda where, lanes: run.shared.arrive(lanes, run.committed - n)
    if i.name == "cp.async.wait_all":
        def wait_all(where, lanes):
            run.committed[lanes] += 1
            run.shared.arrive(lanes, run.committed)
        return wait_all
    unknown(run, i)


# ---- of a warp ----

LANE = np.arange(WARP)
GROUP_ID, IN_GROUP = LANE >> 2, LANE % 4  # groupID, threadID_in_group


def halves_of_a(i, g, t, k):  # 16 bits, "Matrix Fragments for mma.m16n8k8" and "... mma.m16n8k16 with floating point type"
    if k == 8:
        return (g if i < 2 else g + 8), t * 2 + (i & 1)
    return (g if i < 2 or 4 <= i < 6 else g + 8), t * 2 + (i & 1) + (8 if i >= 4 else 0)


def halves_of_b(i, g, t, k):
    return t * 2 + (i & 1) + (8 if i >= 2 else 0), g


def bytes_of_a(i, g, t, k):  # "Matrix Fragments for mma.m16n8k32", .s8; "... mma.m8n8k16"
    if k == 16:
        return g, t * 4 + i
    return (g if i < 4 or 8 <= i < 12 else g + 8), t * 4 + (i & 3) + (16 if i >= 8 else 0)


def bytes_of_b(i, g, t, k):
    return t * 4 + (i & 3) + (16 if i >= 4 else 0), g


def of_c(i, g, t, k):
    return (g if i < 2 else g + 8), t * 2 + (i & 1)


def places(layout, registers, per_register, rows, columns, k):
    """For each element of the matrix, in rows, its place among those of [lane][register][part]; each has one."""
    of = np.full(rows * columns, -1)
    for i in range(registers * per_register):
        for lane in LANE:
            row, column = layout(i, GROUP_ID[lane], IN_GROUP[lane], k)
            assert of[row * columns + column] == -1
            of[row * columns + column] = lane * registers * per_register + i
    assert (of >= 0).all()
    return of


def half_numbers(words):
    return words.view(np.float16).astype(np.float64)


def bf16_numbers(words):
    return (words.view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)


def byte_numbers(words):
    return words.view(np.int8).astype(np.float64)


MMA = {  # shape, registers of A, B and C, layouts, numbers in a register, how they are read, type of C
    "m16n8k16.row.col.f32.f16.f16.f32": ((16, 8, 16), (4, 2, 4), (halves_of_a, halves_of_b), 2, half_numbers, np.float32),
    "m16n8k16.row.col.f32.bf16.bf16.f32": ((16, 8, 16), (4, 2, 4), (halves_of_a, halves_of_b), 2, bf16_numbers,
                                           np.float32),
    "m16n8k8.row.col.f32.f16.f16.f32": ((16, 8, 8), (2, 1, 4), (halves_of_a, halves_of_b), 2, half_numbers, np.float32),
    "m16n8k32.row.col.s32.s8.s8.s32": ((16, 8, 32), (4, 2, 4), (bytes_of_a, bytes_of_b), 4, byte_numbers, np.int32),
    "m8n8k16.row.col.s32.s8.s8.s32": ((8, 8, 16), (1, 1, 2), (bytes_of_a, bytes_of_b), 4, byte_numbers, np.int32)}
MADE = {}


def mma(run, i):
    """mma.sync.aligned: D = A B + C."""
    form = i.name.partition("mma.sync.aligned.")[2]
    if form not in MMA:
        unknown(run, i)
    (m, n, k), registers, layouts, per, numbers, of_sum = MMA[form]
    if form not in MADE:
        MADE[form] = (places(layouts[0], registers[0], per, m, k, k), places(layouts[1], registers[1], per, k, n, k),
                      places(of_c, registers[2], 1, m, n, k))
    at_a, at_b, at_c = MADE[form]
    back = np.argsort(at_c)
    d, a, b, c = (vector(x) for x in i.operands)
    if (len(a), len(b), len(c), len(d)) != registers + (registers[2],):
        unknown(run, i)
    a, b, c, d = ([run.row(x, t) for x in v] for v, t in zip((a, b, c, d), (np.uint32, np.uint32, of_sum, of_sum)))

    def matrix(rows, read, at, shape):
        elements = read(np.stack(rows, axis=1)).reshape(-1, WARP * len(rows) * (per if rows is not c else 1))
        return elements[:, at].reshape((-1,) + shape)

    def multiply(where, lanes):
        if of_sum is np.int32 and any((x[lanes] == UNWRITTEN).any() for x in a + b):
            run.fail("shared memory that nobody wrote")  # bytes have no NaN
        sums = matrix(a, numbers, at_a, (m, k)) @ matrix(b, numbers, at_b, (k, n)) + matrix(
            c, lambda x: x.astype(np.float64), at_c, (m, n))
        if of_sum is np.int32:
            sums = sums.astype(np.int64).astype(np.int32)
        result = sums.astype(of_sum).reshape(-1, m * n)[:, back].reshape(-1, len(d))
        for j, row in enumerate(d):
            np.copyto(row, result[:, j], where=where)
        run.counts["mma"] = run.counts.get("mma", 0) + len(lanes) // WARP
    return multiply


def ldmatrix(run, i):
    """"Warp-level matrix load instruction: ldmatrix": threads 8q to 8q+7 have the addresses of the rows of matrix q, of 16
    bytes each. Thread T gets, in register q, elements 2(T%4) and the next of row T/4; with .trans, of the transposed."""
    form = i.name.partition("ldmatrix.sync.aligned.m8n8.")[2]
    number = {"x1": 1, "x2": 2, "x4": 4}.get(form.partition(".")[0])
    if number is None or form.partition(".")[2] not in ("shared.b16", "trans.shared.b16"):
        unknown(run, i)
    trans = "trans" in form
    into, rows = [run.row(x, np.uint32) for x in vector(i.operands[0])], address(run, i.operands[1])
    if len(into) != number:
        unknown(run, i)

    def read(where, lanes):
        named = lanes[lanes % WARP < 8 * number]  # other addresses are not looked at
        at = run.shared.places(rows()[named], 16, named, "ldmatrix")
        groups = np.sort(at.reshape(-1, 8) // 4 % 8, axis=1)  # of 4 banks: 8 rows are read at once if all differ
        run.counts["bank conflicts"] = run.counts.get("bank conflicts", 0) + int((np.diff(groups) == 0).sum())
        words = np.empty((named.size, 4), np.uint32)
        for k in range(4):
            run.shared.looked_at(at + k, MANY, named)
            if run.order:
                run.order.reads[at + k, named % run.items] = run.steps
            words[:, k] = run.shared.words[at + k]
        matrices = words.view(np.uint16).reshape(-1, number, 8, 8)
        if trans:
            matrices = np.ascontiguousarray(matrices.swapaxes(2, 3))
        pairs = matrices.view(np.uint32)  # [warp][matrix][row][4]
        for q, row in enumerate(into):
            row[lanes] = pairs[:, q].reshape(-1)
        run.counts["ldmatrix"] = run.counts.get("ldmatrix", 0) + len(lanes) // WARP
    return read


WGMMA = {"f16": (half_numbers, 2, np.float32), "bf16": (bf16_numbers, 2, np.float32), "s8": (byte_numbers, 4, np.int32)}


def described(run, descriptor, rows, groups):
    """The places of the words of `rows` rows of 32 bytes, for each group of four warps: "Matrix Descriptor Format". Of a
    descriptor, bits 0-13 are the address and 32-45 the distance of eight rows to the next, in 16 bytes; 62-63 are 2 for a
    swizzle of 64 bytes: there bits 4 and 5 of an address are changed by its bits 7 and 8."""
    every = np.broadcast_to(descriptor, run.lanes).reshape(-1, 4 * WARP)[groups]
    first = groups * 4 * WARP
    run.complain((every != every[:, :1]).any(1), first, "wgmma whose threads have several descriptors")
    run.complain(every[:, 0] >> np.uint64(62) != 2, first, "wgmma with another layout than that of 64 bytes")
    d, r, w = every[:, :1, None].astype(np.int64), np.arange(rows)[None, :, None], np.arange(8)[None, None, :]
    at = ((d & 0x3fff) << 4) + (r // 8) * ((d >> 32 & 0x3fff) << 4) + r % 8 * 64 + w * 4
    at ^= at >> 3 & 0x30
    lanes = np.broadcast_to(first[:, None, None], at.shape).ravel()
    return run.shared.places(at.ravel().astype(np.uint32), 4, lanes, "wgmma").reshape(at.shape)


class Multiplication:
    """One wgmma of some groups of four warps, which is done when they wait for it: until then its words of shared memory
    are being read."""

    def __init__(self, run, groups, operands, finish):
        self.run, self.groups, self.operands, self.finish = run, groups, operands, finish
        self.batch = run.wgmma_committed[groups]
        self.look(groups >= 0)
        for at in operands:
            np.add.at(run.shared.multiplied, at.ravel(), 1)

    def look(self, some):
        for at in self.operands:
            lanes = np.broadcast_to((self.groups[some] * 4 * WARP)[:, None, None], at[some].shape).ravel()
            self.run.shared.by_async(at[some].ravel(), lanes, "wgmma reads")
            for warp in range(4 if self.run.order else 1):  # each knows by an mbarrier of its own waits
                self.run.shared.looked_at(at[some].ravel(), MANY, lanes + WARP * warp)

    def done(self, some):
        """Of these groups; returns whether of all."""
        if not some.any():
            return False
        for at in self.operands:
            np.add.at(self.run.shared.multiplied, at[some].ravel(), -1)
            if self.run.order:
                first = np.broadcast_to((self.groups[some] * 4 * WARP)[:, None, None], at[some].shape).ravel()
                self.run.order.multiplied(at[some].ravel(), first)
        self.look(some)
        self.finish(self.groups[some], *(self.run.shared.words[at[some]] for at in self.operands))
        self.groups, self.batch = self.groups[~some], self.batch[~some]
        self.operands = [at[~some] for at in self.operands]
        return not self.groups.size


def wgmma(run, i):
    """wgmma.mma_async: four warps multiply 64 rows, 16 of each, when they wait for it. That wgmma.fence stands where it must
    is not checked."""
    name, _, form = i.name.partition("wgmma.")[2].partition(".sync.aligned")

    def whole(lanes):
        groups = np.unique(lanes // (4 * WARP))
        if groups.size * 4 * WARP != len(lanes):
            run.fail("wgmma without all four warps")
        return groups

    if name == "fence":
        return lambda where, lanes: None
    if name == "commit_group":
        def commit(where, lanes):
            run.wgmma_committed[whole(lanes)] += 1
        return commit
    if name == "wait_group":  # N of the latest groups may still be computed
        n = int(i.operands[0])

        def wait(where, lanes):
            waits = np.zeros(len(run.wgmma_committed), bool)
            waits[whole(lanes)] = True
            run.multiplications = [m for m in run.multiplications
                                   if not m.done(waits[m.groups] & (m.batch < run.wgmma_committed[m.groups] - n))]
        return wait
    found = re.fullmatch(r"\.m64n(\d+)k(16\.f32|32\.s32)\.(f16|bf16|s8)\.\3", form)
    if name != "mma_async" or not found or (found[3] == "s8") != found[2].startswith("32"):
        unknown(run, i)
    columns, (numbers, per, of_sum) = int(found[1]), WGMMA[found[3]]
    sums, scale = [run.row(x, of_sum) for x in vector(i.operands[0])], i.operands[3]  # 0 or a false predicate: no sums before
    if i.operands[4:] != [["1", "1", "0", "0"], []][per == 4] or len(sums) != columns // 2 or columns % 8 or columns > 256:
        unknown(run, i)
    keep = None if scale in ("0", "1") else run.row(scale, bool)
    a, b = (source(run, x, np.uint64) for x in i.operands[1:3])
    warp, lane, e = np.arange(4)[:, None, None], LANE[None, :, None], np.arange(len(sums))[None, None, :]
    row, column = warp * 16 + lane // 4 + 8 * (e // 2 % 2), e // 4 * 8 + lane % 4 * 2 + e % 2

    def multiply(where, lanes):
        groups = whole(lanes)
        kept = np.full(run.lanes, scale != "0") if keep is None else keep.copy()

        def finish(some, *words):
            at = (some[:, None] * 4 * WARP + np.arange(4 * WARP)).ravel()
            x, y = (numbers(np.ascontiguousarray(w)).reshape(some.size, -1, 8 * per) for w in words)
            more = (x @ y.swapaxes(1, 2))[:, row, column].reshape(-1, len(sums))
            for j, s in enumerate(sums):
                total = np.where(kept[at], s[at].astype(np.float64), 0) + more[:, j]
                s[at] = total.astype(np.int64) if of_sum is np.int32 else total.astype(of_sum)

        run.multiplications.append(Multiplication(
            run, groups, [described(run, d, rows, groups) for d, rows in ((a, 64), (b, columns))], finish))
        run.counts["wgmma"] = run.counts.get("wgmma", 0) + groups.size
    return multiply


def proxy_fence(run, i):
    def fence(where, lanes):
        if "proxy" in i.parts:
            run.shared.fence_proxy(lanes)
        if run.order:
            run.order.fence(lanes)
    return fence


def shuffle(run, i):
    if i.name != "shfl.sync.bfly.b32" or i.operands[3:] != ["31", "-1"] or "|" in i.operands[0]:
        unknown(run, i)
    d, a, b = run.row(i.operands[0], np.uint32), source(run, i.operands[1], np.uint32), source(run, i.operands[2], np.uint32)

    def exchange(where, lanes):
        lane = np.arange(run.lanes)
        other = lane - lane % WARP + ((lane % WARP) ^ (np.broadcast_to(b, run.lanes).astype(np.int64) & 31))
        np.copyto(d, a[other], where=where)
    return exchange


# ---- all of them ----


def counted(run, name, work):
    def count(where, lanes):
        run.counts[name] = run.counts.get(name, 0) + len(lanes)
        work(where, lanes)
    return count


def branch(run, i):
    if i.guard is None:
        return lambda where, lanes: True
    guard, wanted = run.row(i.guard, np.bool_), not i.negated
    return lambda where, lanes: guard == wanted


def bind(run, i):
    """(kind, function): "plain", "warp" or "warps" (of whole ones, or of whole fours), "wait" (of an mbarrier), "bar", "ret" or "bra"."""
    run.at = i
    name = i.parts[0]
    if name == "bra":
        return "bra", branch(run, i)
    if name in ("ret", "exit") and len(i.parts) == 1 and i.guard is None:
        return "ret", None
    if i.name == "bar.sync" and i.operands == ["0"] and i.guard is None:
        return "bar", None
    if name in ("mma", "ldmatrix", "shfl", "wgmma"):
        if i.guard is not None:
            unknown(run, i)
        return "warps" if name == "wgmma" else "warp", {"mma": mma, "ldmatrix": ldmatrix, "shfl": shuffle, "wgmma": wgmma}[name](run, i)
    if name == "mbarrier" and "_wait" in i.parts[1]:
        return ptx_bulk.bind(run, i, address, source, put, unknown)
    work = None
    if i.name in ("fence.proxy.async", "fence.proxy.async.shared::cta", "fence.mbarrier_init.release.cluster"):
        work = proxy_fence(run, i)
    elif name == "mbarrier" or i.name.startswith("cp.async.bulk"):
        _, work = ptx_bulk.bind(run, i, address, source, put, unknown)
    elif name == "ld":
        work = load(run, i)
    elif name == "st":
        work = store(run, i)
    elif i.name.startswith("cp.async"):
        work = copies(run, i)
        if i.name.startswith("cp.async.cg"):
            work = counted(run, "cp.async", work)
    elif name == "mov" and len(i.parts) == 2 and any(x.startswith("{") for x in i.operands):
        work = packed(run, i)
    else:
        work = halves(run, i) or plain(run, i)
    if i.guard is not None:
        guard, wanted, inner = run.row(i.guard, np.bool_), not i.negated, work

        def work(where, lanes):
            mask = (guard == wanted) & where
            inner(mask, np.flatnonzero(mask))
    return "plain", work


def plain(run, i):
    found = arithmetic(run, i)
    if not found or len(found[1]) != len(i.operands) - 1:
        unknown(run, i)
    f, types, to = found
    if i.parts[0] == "cvt" and i.operands[1].startswith("%") and run.kernel.width(i.operands[1]) > np.dtype(
            types[0]).itemsize * 8:  # the lower bits
        inner, low, register = f, np.dtype(types[0]), i.operands[1]
        f = lambda a: inner(a.astype("u%d" % low.itemsize).view(low))
        types = ("u%d" % (run.kernel.width(register) // 8),)
    operands = [source(run, x, t) for x, t in zip(i.operands[1:], types)]
    store = put(run, i.operands[0], to)
    if isinstance(f, np.ufunc) and run.kernel.width(i.operands[0]) == (1 if to is np.bool_ else np.dtype(to).itemsize * 8):
        d = run.row(i.operands[0], to)
        return lambda where, lanes: f(*operands, out=d, where=where)
    return lambda where, lanes: store(where, f(*operands))
