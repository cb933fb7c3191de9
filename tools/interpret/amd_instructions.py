"""AMD's instructions, as clang -S writes them: a function of the machine for each line, for amd_machine.py."""
import re

import numpy as np

from amd_arithmetic import COMPARE, TYPES, VECTOR, D, F, Fault, I, Q, U, W
from amd_operand import LOADS, Operand
from amd_scalar import scalar

NOTHING = re.compile(
    r"s_(delay_alu|clause|wait\w*|nop|sendmsg|set_inst_prefetch_distance|setprio|sleep|code_end|barrier_signal)$|"
    r"global_(inv|wb)$")
ENDS = re.compile(r"s_(c?branch\w*|barrier|barrier_wait|endpgm)$")
# Rows and columns of the result; terms; terms that follow each other in a lane, before the same number in the lane that
# is as far away as there are rows; rows of the result that do. With 16 terms in a lane of gfx11, both lanes have them.
FRAGMENTS = {
    "gfx11 v_wmma_f32_16x16x16_f16": (16, 16, 16, 1), "gfx11 v_wmma_f32_16x16x16_bf16": (16, 16, 16, 1),
    "gfx11 v_wmma_i32_16x16x16_iu8": (16, 16, 16, 1), "gfx12 v_wmma_f32_16x16x16_f16": (16, 16, 4, 8),
    "gfx12 v_wmma_f32_16x16x16_bf16": (16, 16, 4, 8), "gfx12 v_wmma_i32_16x16x16_iu8": (16, 16, 8, 8),
    "gfx90 v_mfma_f32_32x32x8f16": (32, 8, 4, 4), "gfx90 v_mfma_f32_32x32x8bf16_1k": (32, 8, 4, 4),
    "gfx90 v_mfma_i32_32x32x8i8": (32, 8, 4, 4), "gfx94 v_mfma_f32_32x32x8_f16": (32, 8, 4, 4),
    "gfx94 v_mfma_f32_32x32x8_bf16": (32, 8, 4, 4), "gfx94 v_mfma_i32_32x32x16_i8": (32, 16, 8, 4)}



class Line:
    def __init__(self, text, number, lanes):
        self.text, self.number = text, number
        name, _, rest = text.partition(" ")
        self.more = dict(re.findall(r"(?:^|\s)([a-z]\w*):(\[[^\]]*\]|\S+)", rest))
        rest = re.sub(r"(?:^|\s)([a-z]\w*):(\[[^\]]*\]|\S+)|\s(glc|slc|dlc|nt|sc0|sc1|clamp)\b", "", rest)
        self.name = re.sub(r"_e(32|64)$", "", name)
        self.operands = [Operand(t.strip(), lanes) for t in re.split(r",(?![^\[]*\])", rest) if t.strip()]


def label_of(line):
    return line.rsplit(" ", 1)[1]


def compile_line(text, number, lanes, target):
    """A function of the machine; None: nothing is to be done."""
    name = text.split(" ")[0]
    if NOTHING.match(name) or ENDS.match(name):
        return None
    if "::" in text:  # both read before one writes
        pair = [vector(Line(t.strip().replace("v_dual_", "v_"), number, lanes), True) for t in text.split("::")]

        def both(m):
            ready = [(put, np.array(make(m))) for make, put in pair]
            for put, x in ready:
                put(m, x)

        return both
    line = Line(text, number, lanes)
    n = line.name
    if n.startswith("v_s_"):  # of gfx12, a float in a scalar register
        f, (to, of) = VECTOR[n[4:]][1], line.operands
        return lambda m: to.put_scalar(m, f(np.ascontiguousarray(of.scalar(m)).view(F)).view(U))
    if n.startswith("v_"):
        return special(line, lanes, target) or vector(line)
    if n.startswith("s_"):
        return scalar(line, lanes)
    if n.startswith("ds_"):
        return local(line, lanes)
    if n.startswith("global_"):
        return memory(line)
    raise Fault("instruction " + text)


def select(x, how):
    """A part of a word, as CDNA's SDWA names it."""
    kind, _, n = how.partition("_")
    if kind == "DWORD":
        return x
    size = 8 if kind == "BYTE" else 16
    return x >> U(size * int(n)) & U(2**size - 1)


def vector(line, split=False):
    n, o = line.name[2:], line.operands
    sdwa = n.endswith("_sdwa")
    n = n[:-5] if sdwa else n
    known = {"offset"} | ({"dst_sel", "dst_unused", "src0_sel", "src1_sel"} if sdwa else set())
    if set(line.more) - known:
        raise Fault("modifier in " + line.text)
    if n == "cndmask_b32":
        mask = o[3] if len(o) > 3 else Operand("vcc_lo", o[0].lanes)
        make, put = lambda m: np.where(mask.mask(m), o[2].read(m, kind), o[1].read(m, kind)), lambda m, x: o[0].put(m, x, kind)
        kind = "f" if any(x.negative or x.absolute for x in o[1:3]) else "u"
    elif n in ("fmac_f32", "mac_f32"):
        f = VECTOR["fma_f32" if n[0] == "f" else "mad_f32"][1]
        make = lambda m: f(o[1].read(m, "f"), o[2].read(m, "f"), o[0].read(m, "f"))
        put = lambda m, x: o[0].put(m, x, "f")
    elif n in ("dot2acc_f32_f16", "dot2c_f32_f16"):
        f = VECTOR["dot2_f32_f16"][1]
        make = lambda m: f(o[1].read(m, "u"), o[2].read(m, "u"), o[0].read(m, "f"))
        put = lambda m, x: o[0].put(m, x, "f")
    elif n in VECTOR:
        types, f = VECTOR[n]
        to, *kinds = types.replace(" ", "")
        if len(o) != 1 + len(kinds):
            raise Fault("operands of " + line.text)
        if sdwa:
            how = [line.more.get("src%d_sel" % i, "DWORD") for i in range(2)]
            if set(kinds) - set("uih") or line.more.get("dst_sel", "DWORD") != "DWORD":
                raise Fault("SDWA of " + line.text)
            make = lambda m: f(*(
                select(x.read(m, "u"), h).astype(np.uint16).view(np.float16).astype(F) if k == "h" else
                select(x.read(m, "u"), h).view(TYPES[k]) for x, k, h in zip(o[1:], kinds, how)))
        else:
            make = lambda m: f(*(x.read(m, k) for x, k in zip(o[1:], kinds)))
        put = lambda m, x: o[0].put(m, x, to)
    else:
        raise Fault("instruction " + line.text)
    return (make, put) if split else lambda m: put(m, make(m))


def packed(line):
    """v_pk_*_f32: two floats; op_sel says which word of an operand is for the first, op_sel_hi for the second."""
    o, name = line.operands, line.name[5:]
    pick = [[int(x) for x in line.more.get(key, "[%s]" % ",".join([default] * 3)).strip("[]").split(",")]
            for key, default in (("op_sel", "0"), ("op_sel_hi", "1"))]
    negative = [[int(x) for x in line.more.get(key, "[0,0,0]").strip("[]").split(",")] for key in ("neg_lo", "neg_hi")]
    f = {"mul_f32": lambda a, b: a * b, "add_f32": lambda a, b: a + b, "fma_f32": VECTOR["fma_f32"][1], "mov_b32": None}[name]

    def go(m):
        if not f:  # the second word is from the second operand
            x = [o[1].word(m, pick[0][0]), o[2].word(m, pick[1][1] if "op_sel_hi" in line.more else pick[0][1])]
        else:
            x = [f(*((-1 if negative[i][j] else 1) * p.word(m, pick[i][j]).view(F) for j, p in enumerate(o[1:]))) for i in (0, 1)]
            x = [np.ascontiguousarray(y, F).view(U) for y in x]
        x = [np.array(y) for y in x]
        for i in (0, 1):
            o[0].put_word(m, x[i], i)

    return go


def special(line, lanes, target):
    """Instructions that are more than a function of numbers; None: others."""
    n, o = line.name, line.operands
    if n.startswith(("v_wmma", "v_mfma")):
        return units(line, lanes, target)
    if n.startswith("v_pk_") and not (n == "v_pk_fma_f16" and not line.more):
        return packed(line)
    m = re.fullmatch(r"v_cmp(x?)_(\w+?)_([uif])(16|32|64)", n)
    if m:
        kind = m[3] if m[4] == "32" else {"u": "t", "i": "j"}[m[3]] if m[4] == "16" else {"u": "q", "i": "w"}[m[3]]
        to = Operand("exec_lo", lanes) if m[1] and len(o) == 2 else o[0]
        also = Operand("exec_lo", lanes) if m[1] and len(o) == 3 else None
        if m[2] not in COMPARE:
            raise Fault("instruction " + line.text)
        f, last = COMPARE[m[2]], "u" if m[2] == "class" else kind

        def compare(x):
            r = f(o[-2].read(x, kind), o[-1].read(x, last)) & x.on
            to.put_mask(x, r)
            if also:
                also.put_mask(x, r)

        return compare
    m = re.fullmatch(r"v_(add|sub)(c|b)?(rev)?_co(_ci)?_u32", n)
    if m:
        sign, chain = m[1] + (m[3] or ""), m[2] or m[4]

        def carry(x):
            a, b = (p.read(x, "u").astype(W) for p in o[2:4])
            c = o[4].mask(x).astype(W) if chain else 0
            a, b = (b, a) if sign == "subrev" else (a, b)
            r = a + b + c if sign == "add" else a - b - c
            o[0].put(x, (r & 0xFFFFFFFF).astype(U), "u")
            if o[1].text != "null":
                o[1].put_mask(x, ((r >> 32) != 0) & x.on)

        return carry
    if n == "v_div_scale_f32":  # of numbers that need no scale
        def unscaled(x):
            o[1].put_mask(x, np.zeros(x.on.shape, bool))
            o[0].put(x, o[2].read(x, "f"), "f")

        return unscaled
    if re.fullmatch(r"v_mad_(co_)?(u64_u32|i64_i32)", n):
        a, b = ("u", "q") if "u64" in n else ("i", "w")

        def mad(x):
            o[0].put(x, o[2].read(x, a).astype(TYPES[b]) * o[3].read(x, a).astype(TYPES[b]) + o[4].read(x, b), b)

        return mad
    if n == "v_readfirstlane_b32":
        def first(x):
            at = np.argmax(x.on, 1)
            o[0].put_scalar(x, np.broadcast_to(o[1].word(x), x.on.shape)[np.arange(len(at)), at])

        return first
    if n == "v_permlanex16_b32":
        if line.more.get("op_sel") != "[1,0]":
            raise Fault("modifier in " + line.text)
        lane = np.arange(lanes)

        def turn(x):
            by = np.where(lane % 16 < 8, o[2].word(x), o[3].word(x)) >> (lane % 8 * 4).astype(U) & U(15)
            value = np.broadcast_to(o[1].word(x), x.on.shape)
            o[0].put(x, np.take_along_axis(value, np.broadcast_to((lane // 16 ^ 1) * 16 + by, x.on.shape).astype(W), 1), "u")

        return turn
    return None


def place(number, run, apart, lanes):
    """Register element and lane's distance of the number-th row or term."""
    return number // (run * (lanes // apart)) * run + number % run, number // run % (lanes // apart) * apart


def elements(words, kind):
    """Numbers of the registers [register, wave, lane] as [element, wave, lane] in double."""
    size = {"f16": 16, "bf16": 16, "i8": 8}[kind]
    out = np.stack([words >> U(size * i) & U(2**size - 1) for i in range(32 // size)], 1).reshape(-1, *words.shape[1:])
    if kind == "f16":
        return out.astype(np.uint16).view(np.float16).astype(D)
    if kind == "bf16":
        return (out << U(16)).view(F).astype(D)
    return out.astype(np.uint8).view(np.int8).astype(D)


def units(line, lanes, target):
    """D = A B + C. A and B have the same fragments, with rows of A and columns of B."""
    if target[:5] + " " + line.name not in FRAGMENTS:
        raise Fault("instruction " + line.text)
    rows, terms, run, run_d = FRAGMENTS[target[:5] + " " + line.name]
    kind = "i8" if "i32" in line.name else "bf16" if "bf16" in line.name else "f16"
    more = {"neg_lo": "[1,1,0]"} if "iu8" in line.name else {}  # signed
    if line.more != more:
        raise Fault("modifier in " + line.text)
    element, away = place(np.arange(terms), run, rows, lanes)
    twice = target.startswith("gfx11")
    if twice:
        element, away = np.arange(terms), 0 * away
    registers = (terms if twice else terms * rows // lanes) * (8 if kind == "i8" else 16) // 32
    row_d, away_d = place(np.arange(rows), run_d, rows, lanes)
    d, a, b, c = line.operands

    def go(m):
        if not m.full:
            raise Fault("lanes are off at " + line.text)

        def fragment(x):
            bank = m.v if x.bank == "v" else m.a
            words = bank[x.number:x.number + registers][:, m.w]
            if twice and not (words[..., :16] == words[..., 16:]).all():
                raise Fault("the halves of the wave differ at " + line.text)
            return elements(words, kind)[element[None, :], :, np.arange(rows)[:, None] + away[None, :]].transpose(2, 0, 1)

        product = np.matmul(fragment(a), fragment(b).transpose(0, 2, 1))
        at = row_d[:, None], slice(None), away_d[:, None] + np.arange(rows)[None, :]
        count = rows * rows // lanes
        bank = m.v if d.bank == "v" else m.a
        out = np.empty((count, m.w_count(), lanes), U)
        if c.bank:
            old = (m.v if c.bank == "v" else m.a)[c.number:c.number + count][:, m.w]
        else:
            old = np.broadcast_to(c.literal("u"), out.shape)
        old = old[at].transpose(2, 0, 1)
        if kind == "i8":
            new = (product.astype(W) + np.ascontiguousarray(old).view(I)).astype(I).view(U)
        else:
            new = (product + np.ascontiguousarray(old).view(F)).astype(F).view(U)
        out[at] = new.transpose(1, 2, 0)
        bank[d.number:d.number + count][:, m.w] = out

    return go


def local(line, lanes):
    n, o = line.name[3:], line.operands
    if n == "bpermute_b32":
        def fetch(x):
            at = np.broadcast_to(o[1].word(x) >> U(2) & U(lanes - 1), x.on.shape).astype(W)
            o[0].put(x, np.take_along_axis(np.broadcast_to(o[2].word(x), x.on.shape), at, 1), "u")

        return fetch
    m = re.fullmatch(r"(load|read|store|write)(?:_?(2|2st64|2addr|2addr_stride64))?_([biu]\d+)(_d16_hi)?", n)
    if not m or m[3] not in LOADS:
        raise Fault("instruction " + line.text)
    size, write = LOADS[m[3]], m[1] in ("store", "write")
    words = max(1, abs(size) // 4)
    if m[2]:
        unit = abs(size) * (64 if "64" in m[2] else 1)
        offsets = [unit * int(line.more.get("offset%d" % i, 0)) for i in (0, 1)]
    else:
        offsets = [int(line.more.get("offset", 0))]

    def go(x):
        base = np.broadcast_to(o[0 if write else 1].word(x), x.on.shape).astype(W)
        ready = []
        for i, offset in enumerate(offsets):
            at = x.local_at(base + offset, abs(size), write, line)
            if write:
                put_bytes(x, x.local, at, o[1 + i], abs(size), bool(m[4]))
            else:
                ready.append(get_bytes(x, x.local, at, size))
        for i, value in enumerate(ready):
            for j in range(words):
                o[0].put_word(x, value[j], i * words + j)

    return go


def get_bytes(m, memory, at, size):
    """Words of each lane; those that are off have zeros."""
    n = abs(size)
    raw = memory[at[:, None] + np.arange(n)]
    out = np.zeros((max(1, n // 4), *m.on.shape), U)
    if n >= 4:
        raw = np.ascontiguousarray(raw).view("<u4")
        for i in range(n // 4):
            out[i][m.on] = raw[:, i]
    else:
        kind = {1: np.uint8, 2: "<u2", -1: np.int8, -2: "<i2"}[size]
        out[0][m.on] = np.ascontiguousarray(raw).view(kind)[:, 0].astype(I if size < 0 else U).view(U)
    return out


def put_bytes(m, memory, at, data, size, upper):
    words = [np.broadcast_to(data.word(m, i), m.on.shape)[m.on] for i in range(max(1, size // 4))]
    raw = np.stack(words, 1).astype("<u4")
    if upper:
        raw = raw >> U(16)
    memory[at[:, None] + np.arange(size)] = raw.view(np.uint8)[:, :size]


def memory(line):
    n, o = line.name[7:], line.operands
    m = re.fullmatch(r"(load|store)_(d16_hi_|d16_)?(\w+?)(_d16_hi|_d16)?", n)
    if not m or m[3] not in LOADS:
        raise Fault("instruction " + line.text)
    size, write, part = LOADS[m[3]], m[1] == "store", (m[2] or m[4] or "").strip("_")
    words, offset = max(1, abs(size) // 4), int(line.more.get("offset", 0))
    address, data = (o[0], o[1]) if write else (o[1], o[0])

    def go(x):
        if o[2].text == "off":
            at = address.read(x, "q")
        else:
            at = o[2].read(x, "q") + address.read(x, "u").astype(Q)
        at = np.broadcast_to(at, x.on.shape)[x.on].astype(W) + offset
        x.inside(at, abs(size), line)
        if write:
            put_bytes(x, x.memory.bytes, at, data, size, part == "d16_hi")
            return
        value = get_bytes(x, x.memory.bytes, at, size)
        if part:
            old = data.word(x)
            value = [value[0] << U(16) | old & U(0xFFFF) if part == "d16_hi" else old & U(0xFFFF0000) | value[0] & U(0xFFFF)]
        for i in range(words):
            data.put_word(x, value[i], i)

    return go
