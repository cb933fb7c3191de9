#!/usr/bin/env python3
"""Write tests/data/bmp.tsv: small BMPs of every form, valid and odd,
and Pillow's results for them.

    golden_bmp.py            Needs: pip install pillow numpy

A row: name, "ok" or "error", width, height, SHA-256 of the RGB bytes, the file in hex. Some also go to tests/fuzz/corpus/image/.
"""
import hashlib, io, os, pathlib, random, struct, tempfile
import numpy as np
from PIL import Image

random.seed(7)
W, H = 13, 7
HEADS = (12, 40, 52, 56, 64, 108, 124)


def pack(values, bits):  # a row, padded to four bytes
    n = sum(v << (len(values) - 1 - i) * bits for i, v in enumerate(values)) if bits < 8 else 0
    if bits < 8:
        total = len(values) * bits
        row = (n << -total % 8).to_bytes((total + 7) // 8, "big")
    else:
        row = b"".join(v.to_bytes(bits // 8, "little") for v in values)
    return row + b"\0" * (-len(row) % 4)


def head(kind, w, h, bits, compression=0, colours=0, masks=(0, 0, 0, 0), size=0):
    if kind == 12:
        return struct.pack("<IHHHH", 12, w, h & 0xffff, 1, bits)
    b = struct.pack("<IiiHHIIiiII", 40, w, h, 1, bits, compression, size, 2835, 2835, colours, 0)
    if kind != 64:
        b += struct.pack("<4I", *masks)
    return struct.pack("<I", kind) + b[4:].ljust(kind - 4, b"\0")[:kind - 4]


def bmp(head, palette=b"", pixels=b"", offset=None, between=b""):
    at = 14 + len(head) + len(between) + len(palette)
    return b"BM" + struct.pack("<IHHI", at + len(pixels), 0, 0, at if offset is None else offset) + head + between + palette + pixels


def palette(n, core, ramp=False):
    entry = lambda i: bytes([i] * 3) if ramp else bytes([random.randrange(256) for _ in range(3)])
    return b"".join(entry(i) + b"\0" * (not core) for i in range(n))


def rows(bits, top, w=W, h=H):
    return b"".join(pack([random.randrange(min(top, 1 << bits)) for _ in range(w)], bits) for _ in range(h))


def indexed():
    for kind in HEADS:
        for bits in 1, 4, 8:
            n = 1 << bits
            yield f"{bits}bit_head{kind}", bmp(head(kind, W, H, bits), palette(n, kind == 12), rows(bits, n))
    for bits, w in (1, 1), (1, 8), (1, 33), (4, 1), (4, 2), (8, 1), (8, 4):
        yield f"{bits}bit_wide{w}", bmp(head(40, w, 3, bits), palette(1 << bits, False), rows(bits, 256, w, 3))
    for bits, n in (4, 3), (8, 5), (8, 200), (1, 1):
        yield f"{bits}bit_beyond_{n}", bmp(head(40, W, H, bits, colours=n), palette(n, False), rows(bits, 256))
    yield "8bit_beyond_core", bmp(head(12, W, H, 8), palette(20, True), rows(8, 256), offset=26 + 60)
    yield "8bit_more_256", bmp(head(40, W, H, 8, colours=300), palette(300, False), rows(8, 256))
    yield "8bit_more_70000", bmp(head(40, W, H, 8, colours=70000), palette(256, False), rows(8, 256))
    yield "1bit_more_16", bmp(head(40, W, H, 1, colours=16), palette(16, False), rows(1, 2))
    yield "8bit_ramp", bmp(head(40, W, H, 8), palette(256, False, True), rows(8, 256))
    yield "8bit_ramp_core", bmp(head(12, W, H, 8), palette(256, True, True), rows(8, 256))
    yield "8bit_ramp_beyond_30", bmp(head(40, W, H, 8, colours=30), palette(30, False, True), rows(8, 256))
    yield "8bit_almost_ramp", bmp(head(40, W, H, 8), palette(255, False, True) + b"\xff\xff\xfe\0", rows(8, 256))
    yield "1bit_black_white", bmp(head(40, W, H, 1), b"\0\0\0\0\xff\xff\xff\0", rows(1, 2))
    yield "1bit_white_black", bmp(head(40, W, H, 1), b"\xff\xff\xff\0\0\0\0\0", rows(1, 2))
    yield "8bit_forgotten_palette", bmp(head(40, W, H, 8), palette(256, False), rows(8, 256), offset=54)
    yield "8bit_offset_0", bmp(head(40, W, H, 8), palette(256, False), rows(8, 256), offset=0)
    yield "24bit_offset_0", bmp(head(40, W, H, 24), b"", rows(24, 1 << 24), offset=0)
    yield "8bit_cut_palette", bmp(head(40, 2, 2, 8, colours=200), palette(3, False) + b"\1", b"", offset=54 + 4)
    yield "2bit", bmp(head(40, W, H, 2), palette(4, False), rows(2, 4))


def coloured():
    for kind in HEADS:
        for bits in 16, 24, 32:
            yield f"{bits}bit_head{kind}", bmp(head(kind, W, H, bits), b"", rows(bits, 1 << bits))
    for bits, w in (16, 1), (16, 2), (24, 1), (24, 2), (24, 3), (24, 4), (32, 1):
        yield f"{bits}bit_wide{w}", bmp(head(40, w, 3, bits), b"", rows(bits, 1 << bits, w, 3))
    for bits in 8, 16, 24, 32:
        p = palette(256, False) if bits == 8 else b""
        yield f"{bits}bit_from_above", bmp(head(40, W, -H, bits), p, rows(bits, 1 << bits))
        whole = bmp(head(40, W, H, bits), p, rows(bits, 1 << bits))
        yield f"{bits}bit_no_padding", whole[:len(whole) - -W * bits // 8 % 4] if W * bits // 8 % 4 else whole
        yield f"{bits}bit_cut", whole[:-5]
    yield "16bit_all_colours", bmp(head(40, 64, 16, 16), b"", b"".join(struct.pack("<H", i * 32 + i % 32) for i in range(1024)))
    yield "24bit_with_palette", bmp(head(40, W, H, 24, colours=9), palette(9, False), rows(24, 1 << 24))


def fields():
    masks = {
        32: [(0xff0000, 0xff00, 0xff, 0), (0xff000000, 0xff0000, 0xff00, 0), (0xff000000, 0xff00, 0xff, 0), (0xff000000, 0xff0000, 0xff00, 0xff),
             (0xff, 0xff00, 0xff0000, 0xff000000), (0xff0000, 0xff00, 0xff, 0xff000000), (0xff000000, 0xff00, 0xff, 0xff0000), (0, 0, 0, 0), (0xff, 0xff00, 0xff0000, 0), (0x3ff, 0xffc00, 0x3ff00000, 0)],
        24: [(0xff0000, 0xff00, 0xff, 0), (0xff, 0xff00, 0xff0000, 0)],
        16: [(0xf800, 0x7e0, 0x1f, 0), (0x7c00, 0x3e0, 0x1f, 0), (0xf00, 0xf0, 0xf, 0xf000)],
        8: [(0xe0, 0x1c, 3, 0)],
    }
    for bits, all in masks.items():
        for i, m in enumerate(all):
            for kind in 40, 52, 56, 108, 124:
                if kind in (40, 124) or (i in (0, 5) and bits == 32) or (bits == 16 and i == 0):
                    between = struct.pack("<3I", *m[:3]) if kind == 40 else b""
                    yield f"fields{bits}_{i}_head{kind}", bmp(head(kind, W, H, bits, 3, masks=m), b"", rows(bits, 1 << bits), between=between)
    yield "fields_cut", bmp(head(40, 1, 1, 16, 3), b"", b"", between=b"\0\xf8\0\0\xe0\7\0")
    m = struct.pack("<3I", 0xf800, 0x7e0, 0x1f)
    yield "fields16_offset_0", bmp(head(40, W, H, 16, 3), b"", rows(16, 65536), offset=0, between=m)
    yield "fields16_all_colours", bmp(head(40, 64, 16, 16, 3), b"", b"".join(struct.pack("<H", i * 64 + i % 64) for i in range(1024)), between=m)


def runs():
    def one(name, bits, code, w=W, h=3, compression=None, odd=b"", n=None):
        c = compression or {8: 1, 4: 2}.get(bits, 1)
        p = palette(n or 1 << min(bits, 8), False)
        return name, bmp(head(40, w, h, bits, c, colours=n or 0), p + odd, code)
    full8 = b"".join(bytes([5, 3, 8, 200 + i, 0, 0]) for i in range(3)) + b"\0\1"
    full4 = b"".join(bytes([5, 0x3a, 8, 0xc0 + i, 0, 0]) for i in range(3)) + b"\0\1"
    yield one("rle8", 8, full8)
    yield one("rle4", 4, full4)
    yield one("rle8_no_end", 8, full8[:-2])
    yield one("rle8_cut", 8, full8[:-6])
    yield one("rle8_ends_early", 8, b"\5\1\0\0\0\1")
    yield one("rle8_line_ends", 8, b"\5\1\0\0\0\0\1\7\0\0\0\1")
    yield one("rle8_too_long", 8, b"\xff\1\5\2\0\0\x0d\3\0\0\x0d\4\0\1")
    yield one("rle4_too_long", 4, b"\xff\x12\5\x34\0\0\x0d\x56\0\0\x0d\x78\0\1")
    yield one("rle8_delta", 8, b"\2\1\0\2\3\1\1\x09\0\0\x0d\2\0\1")
    yield one("rle8_delta_far", 8, b"\2\1\0\2\xff\xff\0\1")
    yield one("rle8_delta_cut", 8, b"\2\1\0\2\xff")
    for odd in b"", b"\0":
        yield one(f"rle8_raw{len(odd)}", 8, b"\0\5\1\2\3\4\5\0\x08\x08\0\0\0\6abcdef\7\1\0\0\x0d\2\0\1", odd=odd)
        yield one(f"rle4_raw{len(odd)}", 4, b"\0\5\x12\x34\x50\0\x08\x08\0\0\0\x06\xab\xcd\xef\0\7\x12\0\0\x0d\x92\0\1", odd=odd)
    yield one("rle8_raw_over_line", 8, b"\0\x14" + bytes(range(20)) + b"\0\0\x0d\2\0\0\0\1")
    yield one("rle8_raw_fills", 8, b"\0\x27" + bytes(range(39)) + b"\0")
    yield one("rle8_raw_beyond", 8, b"\0\xff" + bytes(range(39)) + b"\0")
    yield one("rle8_raw_cut", 8, b"\0\x27" + bytes(range(20)))
    yield one("rle8_from_above", 8, full8, h=-3)
    yield one("rle4_from_above", 4, full4, h=-3)
    yield one("rle8_beyond", 8, full8, n=7)
    yield one("rle8_of_4bit", 4, full8, compression=1)
    yield one("rle4_of_8bit", 8, full4, compression=2)
    yield one("rle8_of_24bit", 24, full8, compression=1)
    yield one("rle_unknown", 8, full8, compression=4)
    noise = bytes(random.randrange(256) for _ in range(400))
    yield one("rle8_noise", 8, noise, w=9, h=5)
    yield one("rle4_noise", 4, noise, w=9, h=5)
    for i in range(12):
        words = b"".join(random.choice([bytes([random.randrange(1, 9), random.randrange(256)]), b"\0\0", b"\0\2" + bytes([random.randrange(4), random.randrange(2)]),
                                        b"\0\4" + bytes(random.randrange(256) for _ in range(4 if i % 2 else 2))]) for _ in range(60))
        yield one(f"rle{8 if i % 2 else 4}_mixed{i}", 8 if i % 2 else 4, words, w=7 + i, h=3 + i % 3)


def broken():
    good = bmp(head(40, W, H, 24), b"", rows(24, 1 << 24))
    for n in 2, 13, 17, 26, 40, 53, 54:
        yield f"cut_at_{n}", good[:n]
    yield "head_16", bmp(struct.pack("<IIIHH", 16, W, H, 1, 24), b"", rows(24, 1 << 24))
    yield "wide_0", bmp(head(40, 0, H, 24))
    yield "high_0", bmp(head(40, W, 0, 24))
    yield "wide_negative", bmp(head(40, -W, H, 24), b"", rows(24, 1 << 24))
    yield "offset_beyond", bmp(head(40, W, H, 24), b"", rows(24, 1 << 24), offset=5000)
    yield "offset_in_head", bmp(head(40, W, H, 24), b"", rows(24, 1 << 24), offset=20)


def decoded(data):
    with tempfile.NamedTemporaryFile(suffix=".bmp") as f:  # as a file: Pillow maps those
        f.write(data)
        f.flush()
        try:
            im = Image.open(f.name).convert("RGB")
            if 0 in im.size:
                raise ValueError
            return "ok", *im.size, hashlib.sha256(np.asarray(im).tobytes()).hexdigest()
        except Exception:
            return "error", 0, 0, "-"


root = pathlib.Path(__file__).parent.parent / "tests"
with open(root / "data/bmp.tsv", "w") as out:
    for group in indexed, coloured, fields, runs, broken:
        for name, data in group():
            print(name, *decoded(data), data.hex(), sep="\t", file=out)
            if name in ("4bit_head12", "1bit_head40", "8bit_beyond_5", "16bit_head40", "32bit_from_above", "fields16_0_head40", "fields32_5_head124", "rle4_raw1", "rle8_delta", "rle8_mixed3", "8bit_ramp_beyond_30"):
                (root / f"fuzz/corpus/image/{name}.bmp").write_bytes(data)
