"""What the vector instructions of AMD compute, for amd_instructions.py."""
import numpy as np

U, I, F, Q, W, D = np.uint32, np.int32, np.float32, np.uint64, np.int64, np.float64
TYPES = {"u": U, "i": I, "f": F, "q": Q, "w": W}


class Fault(Exception):
    pass


def top(x, n):
    return (x >> np.array(n, x.dtype)).astype(U)


def wide(f):
    """Of doubles, rounded to a float."""
    return lambda *x: f(*(v.astype(D) for v in x)).astype(F)


def to_int(kind):
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    return lambda x: np.nan_to_num(np.clip(np.trunc(x.astype(D)), low, high)).astype(kind)


def bits(low, n, x):
    return (x >> (low & 31)) & ((Q(1) << (n & 31).astype(Q)) - Q(1)).astype(U)


def median(a, b, c):
    return np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))


def perm(a, b, s):
    """Bytes of the two words, b's first, by number; 12: zero."""
    r = 0
    for i in range(4):
        n = (s >> U(8 * i)) & U(255)
        if ((n > 7) & (n != 12)).any():
            raise Fault("v_perm_b32 with a byte %d" % n.max())
        r = r | np.where(n == 12, U(0), (np.where(n > 3, a, b) >> ((n & U(3)) * U(8))) & U(255)) << U(8 * i)
    return r


def half(x):
    return x.astype(np.float16).view(np.uint16).astype(U)


def halves(word):
    """Of words, the lower and the upper half as doubles."""
    return (np.asarray(word >> U(n) & U(0xFFFF)).astype(np.uint16).view(np.float16).astype(D) for n in (0, 16))


def packed_fma(a, b, c):
    low, high = (half(x * y + z) for x, y, z in zip(halves(a), halves(b), halves(c)))
    return low | high << U(16)


def dot_of_halves(a, b, c):
    """Rounded once, where the hardware may round twice."""
    return (sum(x * y for x, y in zip(halves(a), halves(b))) + c.astype(D)).astype(F)


def mantissa(x):
    return np.frexp(x)[0].astype(F)


VECTOR = {
    "mov_b32": ("u u", lambda a: a), "not_b32": ("u u", lambda a: ~a), "mov_b64": ("q q", lambda a: a),
    "and_b32": ("u uu", lambda a, b: a & b), "or_b32": ("u uu", lambda a, b: a | b), "xor_b32": ("u uu", lambda a, b: a ^ b),
    "add_nc_u32": ("u uu", lambda a, b: a + b), "sub_nc_u32": ("u uu", lambda a, b: a - b),
    "subrev_nc_u32": ("u uu", lambda a, b: b - a), "lshlrev_b32": ("u uu", lambda a, b: b << (a & 31)),
    "lshrrev_b32": ("u uu", lambda a, b: b >> (a & 31)), "ashrrev_i32": ("i ui", lambda a, b: b >> (a & 31).astype(I)),
    "lshlrev_b64": ("q uq", lambda a, b: b << (a & 63).astype(Q)), "lshrrev_b64": ("q uq", lambda a, b: b >> (a & 63).astype(Q)),
    "ashrrev_i64": ("w uw", lambda a, b: b >> (a & 63).astype(W)), "bfrev_b32": ("u u", lambda a: np.array(
        [int("{:032b}".format(int(v))[::-1], 2) for v in a.ravel()], U).reshape(a.shape)),
    "min_i32": ("i ii", np.minimum), "max_i32": ("i ii", np.maximum), "min_u32": ("u uu", np.minimum),
    "max_u32": ("u uu", np.maximum), "med3_i32": ("i iii", median),
    "max3_u32": ("u uuu", lambda a, b, c: np.maximum(np.maximum(a, b), c)),
    "max3_i32": ("i iii", lambda a, b, c: np.maximum(np.maximum(a, b), c)),
    "min3_u32": ("u uuu", lambda a, b, c: np.minimum(np.minimum(a, b), c)),
    "min3_i32": ("i iii", lambda a, b, c: np.minimum(np.minimum(a, b), c)),
    "mul_lo_u32": ("u uu", lambda a, b: a * b), "mul_hi_u32": ("u uu", lambda a, b: top(a.astype(Q) * b, 32)),
    "mul_hi_i32": ("u ii", lambda a, b: top(a.astype(W) * b, 32)),
    "mul_u32_u24": ("u uu", lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF)),
    "mul_i32_i24": ("i ii", lambda a, b: (a << 8 >> 8) * (b << 8 >> 8)),
    "mad_u32_u24": ("u uuu", lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF) + c),
    "mad_i32_i24": ("i iii", lambda a, b, c: (a << 8 >> 8) * (b << 8 >> 8) + c),
    "lshl_add_u32": ("u uuu", lambda a, b, c: (a << (b & 31)) + c),
    "add_lshl_u32": ("u uuu", lambda a, b, c: (a + b) << (c & 31)),
    "lshl_or_b32": ("u uuu", lambda a, b, c: a << (b & 31) | c), "and_or_b32": ("u uuu", lambda a, b, c: a & b | c),
    "or3_b32": ("u uuu", lambda a, b, c: a | b | c), "add3_u32": ("u uuu", lambda a, b, c: a + b + c),
    "xad_u32": ("u uuu", lambda a, b, c: (a ^ b) + c), "xor3_b32": ("u uuu", lambda a, b, c: a ^ b ^ c),
    "bfi_b32": ("u uuu", lambda a, b, c: a & b | ~a & c), "bfe_u32": ("u uuu", lambda a, b, c: bits(b, c, a)),
    "bfe_i32": ("i iuu", lambda a, b, c: (a << (32 - b - c & 31).astype(I)) >> (32 - c & 31).astype(I)),
    "alignbit_b32": ("u uuu", lambda a, b, c: ((a.astype(Q) << Q(32) | b) >> (c & 31).astype(Q)).astype(U)),
    "bfm_b32": ("u uu", lambda a, b: ((U(1) << (a & 31)) - U(1)) << (b & 31)), "perm_b32": ("u uuu", perm),
    "lshl_add_u64": ("q quq", lambda a, b, c: (a << (b & 63).astype(Q)) + c),
    "add_f32": ("f ff", lambda a, b: a + b), "sub_f32": ("f ff", lambda a, b: a - b), "subrev_f32": ("f ff", lambda a, b: b - a),
    "mul_f32": ("f ff", lambda a, b: a * b), "max_f32": ("f ff", np.fmax), "min_f32": ("f ff", np.fmin),
    "max3_f32": ("f fff", lambda a, b, c: np.fmax(np.fmax(a, b), c)), "med3_f32": ("f fff", median),
    "fma_f32": ("f fff", wide(lambda a, b, c: a * b + c)), "fmaak_f32": ("f fff", wide(lambda a, b, c: a * b + c)),
    "fmamk_f32": ("f fff", wide(lambda a, b, c: a * b + c)),
    "exp_f32": ("f f", wide(np.exp2)), "log_f32": ("f f", wide(np.log2)), "rcp_f32": ("f f", wide(lambda a: 1 / a)),
    "rcp_iflag_f32": ("f f", wide(lambda a: 1 / a)), "rsq_f32": ("f f", wide(lambda a: 1 / np.sqrt(a))),
    "sqrt_f32": ("f f", wide(np.sqrt)), "rndne_f32": ("f f", np.rint), "floor_f32": ("f f", np.floor),
    "trunc_f32": ("f f", np.trunc), "ceil_f32": ("f f", np.ceil), "fract_f32": ("f f", lambda a: a - np.floor(a)),
    "ldexp_f32": ("f fi", lambda a, b: np.ldexp(a.astype(D), np.clip(b, -400, 400)).astype(F)),
    "frexp_exp_i32_f32": ("i f", lambda a: np.where(np.isfinite(a), np.frexp(a)[1], 0).astype(I)),
    "frexp_mant_f32": ("f f", mantissa),
    "cvt_f32_u32": ("f u", lambda a: a.astype(F)), "cvt_f32_i32": ("f i", lambda a: a.astype(F)),
    "cvt_u32_f32": ("u f", to_int(U)), "cvt_i32_f32": ("i f", to_int(I)), "cvt_f32_f16": ("f h", lambda a: a),
    "cvt_f16_f32": ("s f", half), "pack_b32_f16": ("u uu", lambda a, b: a & U(0xFFFF) | b << U(16)),
    "div_fmas_f32": ("f fff", wide(lambda a, b, c: a * b + c)),
    "div_fixup_f32": ("f fff", lambda q, b, a: np.where(np.isfinite(q), q, a / b).astype(F)),
    "mad_f32": ("f fff", lambda a, b, c: a * b + c), "madmk_f32": ("f fff", lambda a, b, c: a * b + c),
    "madak_f32": ("f fff", lambda a, b, c: a * b + c), "add_u16": ("s uu", lambda a, b: a + b & U(0xFFFF)),
    "sub_u16": ("s uu", lambda a, b: a - b & U(0xFFFF)), "mul_lo_u16": ("s uu", lambda a, b: a * b & U(0xFFFF)),
    "lshrrev_b16": ("s uu", lambda a, b: (b & U(0xFFFF)) >> (a & U(15))),
    "lshlrev_b16": ("s uu", lambda a, b: b << (a & U(15)) & U(0xFFFF)),
    "pk_fma_f16": ("u uuu", packed_fma), "dot2_f32_f16": ("f uuf", dot_of_halves),
    "cvt_f32_ubyte0": ("f u", lambda a: (a & U(255)).astype(F))}
VECTOR.update({new: VECTOR[old] for new, old in (
    ("add_nc_u16", "add_u16"), ("sub_nc_u16", "sub_u16"),
    ("add_u32", "add_nc_u32"), ("sub_u32", "sub_nc_u32"), ("subrev_u32", "subrev_nc_u32"), ("max_num_f32", "max_f32"),
    ("min_num_f32", "min_f32"), ("max3_num_f32", "max3_f32"), ("med3_num_f32", "med3_f32"), ("accvgpr_read_b32", "mov_b32"),
    ("accvgpr_write_b32", "mov_b32"), ("accvgpr_mov_b32", "mov_b32"))})


def classes(x):
    """The bit of v_cmp_class for a number: 0, 1 NaN; then, below zero and above, infinite, normal, denormal, zero."""
    size = np.abs(x)
    kind = np.where(np.isinf(x), 0, np.where(size == 0, 3, np.where(size < F(2**-126), 2, 1)))
    return np.where(np.isnan(x), 1, np.where(np.signbit(x), 2 + kind, 9 - kind)).astype(U)


COMPARE = {"eq": np.equal, "ne": np.not_equal, "lg": lambda a, b: (a < b) | (a > b), "lt": np.less, "le": np.less_equal,
           "gt": np.greater, "ge": np.greater_equal, "nlt": lambda a, b: ~(a < b), "nle": lambda a, b: ~(a <= b),
           "ngt": lambda a, b: ~(a > b), "nge": lambda a, b: ~(a >= b), "neq": np.not_equal,
           "u": lambda a, b: np.isnan(a) | np.isnan(b), "o": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
           "nlg": lambda a, b: ~((a < b) | (a > b)), "class": lambda a, b: (b >> classes(a) & U(1)).astype(bool)}
