"""AMD's scalar instructions, for amd_instructions.py."""
import re

import numpy as np

from amd_arithmetic import COMPARE, TYPES, VECTOR, F, Fault, I, Q, U, W, bits, top
from amd_operand import LOADS, Operand

# name, by the operands' size: function of the two; whether scc is "not zero" (z), a carry (c), or stays
SCALAR = {"and": (lambda a, b: a & b, "z"), "or": (lambda a, b: a | b, "z"), "xor": (lambda a, b: a ^ b, "z"),
          "andn2": (lambda a, b: a & ~b, "z"), "orn2": (lambda a, b: a | ~b, "z"), "nand": (lambda a, b: ~(a & b), "z"),
          "nor": (lambda a, b: ~(a | b), "z"), "xnor": (lambda a, b: ~(a ^ b), "z"), "not": (lambda a: ~a, "z"),
          "mov": (lambda a: a, ""), "mul": (lambda a, b: a * b, ""), "brev": (lambda a: VECTOR["bfrev_b32"][1](a), "")}


def scalar(line, lanes):
    n, o = line.name[2:], line.operands
    m = re.fullmatch(r"load_(\w+)", n)
    if m:
        words = LOADS[m[1]] // 4

        def load(x):
            at = o[1].scalar(x, 2) + o[2].scalar(x).astype(Q) + Q(int(line.more.get("offset", "0"), 0))
            raw = x.bytes_at(at, 4 * words, line).view("<u4")
            for i in range(words):
                x.s[o[0].number + i][x.w] = raw[:, i]

        return load
    m = re.fullmatch(r"cmp_(\w\w)_([iu])(32|64)", n)
    if m:
        kind, words = TYPES[m[2]] if m[3] == "32" else Q, int(m[3]) // 32

        def compare(x):
            x.scc[x.w] = COMPARE[m[1]](o[0].scalar(x, words).astype(kind), o[1].scalar(x, words).astype(kind))

        return compare
    m = re.fullmatch(r"(and|or|xor|and_not1|andn2)_saveexec_b(32|64)", n)
    if m:
        words, f = int(m[2]) // 32, {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}.get(
            m[1], lambda a, b: a & ~b)
        mask = Operand("exec_lo", lanes)

        def save(x):
            old, new = mask.scalar(x, words), o[1].scalar(x, words)
            new = f(new, old)
            o[0].put_scalar(x, old, words)
            mask.put_scalar(x, new, words)
            x.scc[x.w] = new != 0

        return save
    m = re.fullmatch(r"cmpk_(\w\w)_([iu])32", n)
    if m:
        signed = m[2] == "i"

        def compare_short(x):
            short = o[1].scalar(x).astype(np.int16 if signed else np.uint16)
            x.scc[x.w] = COMPARE[m[1]](o[0].scalar(x).astype(I if signed else U), short)

        return compare_short
    n = n.replace("addk_co", "addk")
    if n in ("addk_i32", "mulk_i32"):
        def short_form(x):
            a, b = o[0].scalar(x), o[1].scalar(x).astype(np.int16).astype(I).view(U)
            r = a + b if n == "addk_i32" else a * b
            if n == "addk_i32":
                x.scc[x.w] = (a >> U(31) == b >> U(31)) & (r >> U(31) != a >> U(31))
            o[0].put_scalar(x, r)

        return short_form
    m = re.fullmatch(r"bit(set|cmp)([01])_b32", n)
    if m:
        def bit(x):
            if m[1] == "cmp":
                x.scc[x.w] = o[0].scalar(x) >> (o[1].scalar(x) & U(31)) & U(1) == int(m[2])
            else:
                one = U(1) << (o[1].scalar(x) & U(31))
                o[0].put_scalar(x, o[0].scalar(x) | one if m[2] == "1" else o[0].scalar(x) & ~one)

        return bit
    if n == "movk_i32":
        return lambda x: o[0].put_scalar(x, o[1].scalar(x).astype(np.int16).astype(U))
    if n == "getpc_b64":
        return lambda x: o[0].put_scalar(x, np.zeros(x.w_count(), Q), 2)
    m = re.fullmatch(r"(\w+?)(?:_([biuf](?:32|64)))?", n)
    word, kind = m[1].replace("_not1", "n2").replace("_co", "").replace("_nc", "").replace("add_ci", "addc"), m[2]
    words = 2 if kind and kind.endswith("64") else 1
    simple = {"mul_hi": lambda a, b: top(a.astype(Q) * b, 32) if kind == "u32" else top(a.view(I).astype(W) * b.view(I), 32),
              "mul": lambda a, b: a * b, "mov": lambda a: a, "cselect": None}
    if kind == "f32" or word.startswith("cvt"):
        types, f = VECTOR[n if n.startswith("cvt") else word + "_f32"]
        to, *kinds = types.replace(" ", "")
        return lambda x: o[0].put_scalar(x, np.ascontiguousarray(f(*(
            np.ascontiguousarray(p.scalar(x)).view(TYPES[k]) for p, k in zip(o[1:], kinds))), TYPES[to]).view(U))

    def go(x):
        v = [p.scalar(x, words) for p in o[1:]]
        size = Q(64) if words > 1 else Q(32)
        scc = None
        if word == "cselect":
            r = np.where(x.scc[x.w], v[0], v[1])
        elif word in ("mul_hi", "mul", "mov"):
            r = simple[word](*v)
        elif word in ("add", "addc", "sub", "subb") and words == 1:
            a, b = v[0].astype(W), v[1].astype(W)
            old = x.scc[x.w] if word in ("addc", "subb") else 0
            r = a + b + old if word.startswith("add") else a - b - old
            low = (r & 0xFFFFFFFF).astype(U)
            if kind == "i32":  # overflow of signed numbers
                p, q, s = v[0] >> U(31), v[1] >> U(31), low >> U(31)
                scc = ((p == q) if word == "add" else (p != q)) & (s != p)
            else:
                scc = (r >> 32) != 0
            r = low
        elif word in ("add", "sub"):  # 64 bits: no carry
            r = v[0] + v[1] if word == "add" else v[0] - v[1]
        elif word in ("lshl", "lshr", "ashr"):
            by = o[2].scalar(x) & U(63 if words > 1 else 31)
            base = np.ascontiguousarray(v[0])
            if word == "ashr":
                base = base.view(W if words > 1 else I)
            by = by.astype(base.dtype)
            r = base << by if word == "lshl" else base >> by
            r = r.view(Q if words > 1 else U)
            scc = r != 0
        elif word in ("min", "max"):
            a, b = (np.ascontiguousarray(y).view(I if kind == "i32" else U) for y in v)
            r = (np.minimum if word == "min" else np.maximum)(a, b)
            scc = r == a
            r = r.view(U)
        elif word == "abs":
            r = np.abs(np.ascontiguousarray(v[0]).view(I)).view(U)
            scc = r != 0
        elif word == "bfe":
            at, count = v[1] & U(31), v[1] >> U(16) & U(127)
            if words > 1:
                raise Fault("instruction " + line.text)
            r = bits(at, count, v[0])
            if kind == "i32":
                away = (U(32) - count).astype(I)
                r = ((r.view(I) << away) >> away).view(U)
            scc = r != 0
        elif word == "sext_i32_i16":
            r = v[0].astype(np.int16).astype(I).view(U)
        elif re.fullmatch(r"lshl[1234]_add", word):
            r = (v[0] << U(int(word[4]))) + v[1]
        elif word in SCALAR:
            f, how = SCALAR[word]
            r = f(*v)
            scc = r != 0 if how == "z" else None
        else:
            raise Fault("instruction " + line.text)
        o[0].put_scalar(x, r, words)
        if scc is not None:
            x.scc[x.w] = scc

    return go
