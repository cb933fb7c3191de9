#!/usr/bin/env python3
"""Make the small pictures of the formats that vitcl-decode-all reads, and of
TGA and PNM, and what Pillow makes of them.

    make.py [FORMAT ...]    (in a Python with Pillow 13, pillow-heif 1.8, numpy,
                            tifffile)

in/             pictures, all computed here; a file that exists is kept, because
                encoders change between versions
decode.tsv      file, ok|error, width, height, SHA-256 of the RGB bytes after
                EXIF orientation and convert("RGB")
white.tsv       the same with what is transparent laid on white, as transformers'
                convert_to_rgb does
near/           for lossy AVIF and HEIC, whose pixels depend on the decoder: the
                RGB bytes as PPM, of Pillow and pillow-heif
"""
import hashlib, io, os, struct, sys, zlib
import numpy as np
from PIL import Image, ImageOps, ImageSequence

here = os.path.dirname(os.path.abspath(__file__))


def scene(w, h):
    """Smooth colours with hard edges; not symmetric."""
    y, x = np.mgrid[0:h, 0:w].astype(float)
    a = np.stack([255 * x / max(w - 1, 1), 255 * y / max(h - 1, 1),
                  128 + 127 * np.sin((x + 2 * y) / 5)], -1)
    a[(x - w * .3) ** 2 + (y - h * .6) ** 2 < (min(w, h) * .2) ** 2] = (250, 30, 10)
    a[(x > w * .7) & (y < h * .2)] = (0, 0, 255)
    return Image.fromarray(a.astype(np.uint8), "RGB")


def smooth(w, h):
    """No edges: the same pixels however stored colour is enlarged."""
    y, x = np.mgrid[0:h, 0:w].astype(float)
    a = np.stack([40 + 150 * x / w, 60 + 150 * y / h, 128 + 60 * np.sin((x + 2 * y) / 30)], -1)
    return Image.fromarray(a.astype(np.uint8), "RGB")


def with_alpha(im):
    y, x = np.mgrid[0:im.height, 0:im.width]
    out = im.copy()
    out.putalpha(Image.fromarray(((x * 9 + y * 5) % 256).astype(np.uint8), "L"))
    return out


def exif(n):
    e = Image.Exif(); e[0x112] = n; return e.tobytes()


def saved(im, fmt, **k):
    b = io.BytesIO(); im.save(b, fmt, **k); return b.getvalue()


def put(name, data):
    path = os.path.join(here, "in", name)
    if not os.path.exists(path):
        open(path, "wb").write(data)


# ---- WebP
def webp():
    im = scene(37, 29)
    rgba = with_alpha(im)
    put("lossy.webp", saved(im, "WEBP", quality=80))
    put("lossless.webp", saved(im, "WEBP", lossless=True))
    put("lossy_alpha.webp", saved(rgba, "WEBP", quality=70))
    put("lossless_alpha.webp", saved(rgba, "WEBP", lossless=True, exact=True))
    put("exif6.webp", saved(im, "WEBP", lossless=True, exif=exif(6)))
    put("exif5_lossy.webp", saved(im, "WEBP", quality=50, exif=b"Exif\0\0" + exif(5)[6:]))
    put("xmp8.webp", saved(im, "WEBP", lossless=True, xmp=b'<x:xmpmeta><rdf:Description tiff:Orientation="8"/></x:xmpmeta>'))
    others = [rgba.rotate(90 * i).resize(rgba.size) for i in (1, 2)]
    put("animated.webp", saved(rgba, "WEBP", lossless=True, save_all=True,
                               append_images=others, duration=100, exact=True))
    put("one.webp", saved(im.crop((3, 4, 4, 5)), "WEBP", lossless=True))
    whole = saved(im, "WEBP", quality=80)
    put("cut.webp", whole[:len(whole) // 2])


# ---- AVIF and HEIC
def heif():
    """The decoder may enlarge stored colour as it likes, so these are smooth, and
    held to near/ within a tolerance."""
    import pillow_heif
    pillow_heif.register_heif_opener()
    im = smooth(36, 26)
    rgba = with_alpha(im)
    put("lossless.avif", saved(scene(36, 26), "AVIF", quality=100, subsampling="4:4:4"))
    put("lossy.avif", saved(im, "AVIF", quality=70))
    put("alpha.avif", saved(rgba, "AVIF", quality=90))
    put("exif6.avif", saved(im, "AVIF", quality=90, exif=exif(6)))
    put("exif7.avif", saved(im, "AVIF", quality=90, exif=exif(7)))
    put("two.avif", saved(im, "AVIF", quality=80, save_all=True, append_images=[im.rotate(180)]))
    put("lossy.heic", saved(im, "HEIF", quality=70))
    put("full.heic", saved(scene(36, 26), "HEIF", quality=100, chroma=444))
    put("alpha.heic", saved(rgba, "HEIF", quality=90))
    put("exif8.heic", saved(im, "HEIF", quality=90, exif=exif(8)))
    put("exif5.heic", saved(im, "HEIF", quality=90, exif=exif(5)))
    whole = saved(im, "HEIF", quality=70)
    put("cut.heic", whole[:len(whole) // 2])


# ---- GIF
def lzw(indices, bits):
    """Codes of one size, with a clear before the table grows: any decoder's."""
    clear, width = 1 << bits, bits + 1
    codes, since = [clear], 0
    for i in indices:
        if since == clear - 2:
            codes.append(clear)
            since = 0
        codes.append(i)
        since += 1
    codes.append(clear + 1)
    out, acc, n = bytearray(), 0, 0
    for c in codes:
        acc |= c << n
        n += width
        while n >= 8:
            out.append(acc & 255)
            acc >>= 8
            n -= 8
    out.append(acc & 255)
    blocks = b"".join(bytes([len(out[i:i + 255])]) + bytes(out[i:i + 255])
                      for i in range(0, len(out), 255))
    return bytes([bits]) + blocks + b"\0"


def gif_file(screen, frames, palette=b"", background=0):
    """frames: (left, top, w, h, indices, local palette, interlaced, transparent)"""
    def packed(p):
        return 0x80 | (len(p) // 3).bit_length() - 2 if p else 0
    out = b"GIF89a" + struct.pack("<HHBBB", *screen, packed(palette) | 0x70, background, 0) + palette
    for left, top, w, h, indices, local, interlaced, transparent in frames:
        if transparent is not None:
            out += b"\x21\xf9\x04" + bytes([1, 0, 0, transparent]) + b"\0"
        out += b"\x21\xfe\x05hello\0"
        out += b"," + struct.pack("<HHHHB", left, top, w, h, packed(local) | (0x40 if interlaced else 0)) + local
        out += lzw(indices, 4)
    return out + b";"


def gif():
    im = scene(37, 29).quantize(16)
    put("pillow.gif", saved(im, "GIF"))
    put("interlaced.gif", saved(im, "GIF", interlace=1))
    put("animated.gif", saved(im, "GIF", save_all=True, append_images=[im.rotate(180)], duration=50))
    put("grey.gif", saved(scene(20, 10).convert("L"), "GIF"))
    colours = bytes((7 * i * i + 31 * i) % 256 for i in range(48))
    other = bytes((11 * i * i + 3 * i + 90) % 256 for i in range(48))
    some = [(3 * i + i // 7) % 16 for i in range(17 * 13)]
    put("local.gif", gif_file((17, 13), [(0, 0, 17, 13, some, other, False, None)], colours))
    put("transparent.gif", gif_file((17, 13), [(0, 0, 17, 13, some, b"", False, 5)], colours))
    put("smaller.gif", gif_file((30, 25), [(4, 7, 17, 13, some, b"", False, None)], colours, 3))
    put("smaller_transparent.gif", gif_file((30, 25), [(4, 7, 17, 13, some, b"", True, 5)], colours, 3))
    put("beyond.gif", gif_file((10, 8), [(4, 7, 17, 13, some, b"", True, None)], colours))
    put("no_palette.gif", gif_file((17, 13), [(0, 0, 17, 13, some, b"", False, None)]))
    put("few_colours.gif", gif_file((17, 13), [(0, 0, 17, 13, some, b"", False, None)], colours[:24]))
    whole = saved(im, "GIF")
    put("cut.gif", whole[:len(whole) // 2])
    put("empty.gif", gif_file((17, 13), [], colours))


# ---- TIFF
def directory(order, tags, at):
    """tags: {number: (type, values)}, as it stands in a file from `at` on"""
    codes = {1: "B", 2: "B", 3: "H", 4: "I", 7: "B"}
    extra_at = at + 2 + 12 * len(tags) + 4
    entries, extra = b"", b""
    for number in sorted(tags):
        kind, values = tags[number]
        body = struct.pack(order + "%d%s" % (len(values), codes[kind]), *values)
        if len(body) <= 4:
            field = body.ljust(4, b"\0")
        else:
            field = struct.pack(order + "I", extra_at + len(extra))
            extra += body + b"\0" * (len(body) % 2)
        entries += struct.pack(order + "HHI", number, kind, len(values)) + field
    return struct.pack(order + "H", len(tags)) + entries + struct.pack(order + "I", 0) + extra


def tiff_file(order, tags, strips):
    data, offsets = b"", []
    for body in strips:
        offsets.append(8 + len(data))
        data += body + b"\0" * (len(body) % 2)
    at = 8 + len(data)
    magic = b"II*\0" if order == "<" else b"MM\0*"
    tags = {**tags, 273: (4, offsets), 279: (4, [len(b) for b in strips])}
    return magic + struct.pack(order + "I", at) + data + directory(order, tags, at)


def baseline(w, h, bits, photometric, samples=1, **more):
    """Tags of a picture in one strip; more: e.g. t338=(3, [1])"""
    tags = {256: (4, [w]), 257: (4, [h]), 258: (3, [bits] * samples), 259: (3, [1]),
            262: (3, [photometric]), 277: (3, [samples]), 278: (4, [h])}
    tags.update({int(k[1:]): v for k, v in more.items()})
    return tags


def tiff():
    import tifffile
    im = scene(37, 29)
    rgba = with_alpha(im)
    grey = im.convert("L")
    a = np.asarray(im)
    for compression in ("raw", "tiff_lzw", "tiff_adobe_deflate", "packbits", "jpeg", "zstd"):
        put("rgb_%s.tif" % compression, saved(im, "TIFF", compression=compression))
    put("grey_jpeg.tif", saved(grey, "TIFF", compression="jpeg"))
    for compression in ("raw", "group3", "group4"):
        put("bits_%s.tif" % compression, saved(im.convert("1"), "TIFF", compression=compression))
    put("palette.tif", saved(im.quantize(77), "TIFF", compression="tiff_lzw"))
    put("rgba.tif", saved(rgba, "TIFF"))
    put("grey_alpha.tif", saved(rgba.convert("LA"), "TIFF"))
    put("cmyk.tif", saved(im.convert("CMYK"), "TIFF", compression="tiff_lzw"))
    put("pages.tif", saved(im, "TIFF", save_all=True, append_images=[im.rotate(180)]))
    for n in (3, 5, 8):
        put("turned%d.tif" % n, saved(im, "TIFF", tiffinfo={274: n}, compression="tiff_lzw"))

    def tifffiled(name, array, **k):
        b = io.BytesIO(); tifffile.imwrite(b, array, **k); put(name, b.getvalue())
    y, x = np.mgrid[0:29, 0:37]
    wide = (a.astype(np.uint16) * 257 + 13)
    tifffiled("tiles.tif", np.tile(a, (2, 2, 1)), tile=(32, 48), photometric="rgb", compression="zlib")
    tifffiled("tiles_planar.tif", np.moveaxis(a, -1, 0), tile=(16, 16), photometric="rgb", planarconfig="separate")
    tifffiled("planar.tif", np.moveaxis(a, -1, 0), photometric="rgb", planarconfig="separate", compression="zlib")
    tifffiled("strips.tif", a, photometric="rgb", rowsperstrip=4, compression="zlib", predictor=True)
    tifffiled("big_endian.tif", a, photometric="rgb", byteorder=">")
    tifffiled("rgb16.tif", wide, photometric="rgb")
    tifffiled("rgb16_big_endian.tif", wide, photometric="rgb", byteorder=">", compression="zlib")
    tifffiled("grey16.tif", (x * 7 + y * 3).astype(np.uint16), photometric="minisblack")
    tifffiled("grey16_big_endian.tif", (x * 7 + y * 3).astype(np.uint16), photometric="minisblack", byteorder=">")
    tifffiled("grey16_white.tif", (x * 7 + y * 3).astype(np.uint16), photometric="miniswhite")
    tifffiled("grey_white.tif", (x * 5 + y).astype(np.uint8), photometric="miniswhite")
    tifffiled("signed16.tif", (x * 9 - y * 3 - 20).astype(np.int16), photometric="minisblack")
    tifffiled("signed32.tif", (x * 9 - y * 3 - 20).astype(np.int32), photometric="minisblack")
    tifffiled("float.tif", (x * 9.3 - y * 3.1 - 20).astype(np.float32), photometric="minisblack")
    tifffiled("bigtiff.tif", a, photometric="rgb", bigtiff=True)
    packed = bytes((5 * i * i + 17 * i + i // 9) % 256 for i in range(10000))
    for bits in (1, 2, 4):
        stride = (21 * bits + 7) // 8
        for photometric in (0, 1):
            put("bits%d_%d.tif" % (bits, photometric),
                tiff_file("<>"[bits == 2], baseline(21, 15, bits, photometric), [packed[:stride * 15]]))
        colours = [(i * 7919) % 65536 for i in range(3 << bits)]
        put("palette%d.tif" % bits,
            tiff_file("<", baseline(21, 15, bits, 3, t320=(3, colours)), [packed[:stride * 15]]))
    put("fill_order.tif", tiff_file("<", baseline(21, 15, 1, 1, t266=(3, [2])), [packed[:45]]))
    put("bits12.tif", tiff_file("<", baseline(20, 15, 12, 1), [packed[:450]]))
    put("associated.tif", tiff_file("<", baseline(20, 15, 8, 2, 4, t338=(3, [1])), [packed[:1200]]))
    put("unspecified.tif", tiff_file("<", baseline(20, 15, 8, 2, 4, t338=(3, [0])), [packed[:1200]]))
    put("rgba16.tif", tiff_file(">", baseline(20, 15, 16, 2, 4, t338=(3, [2])), [packed[:2400]]))
    put("cmyk16.tif", tiff_file("<", baseline(20, 15, 16, 5, 4), [packed[:2400]]))
    put("xmp6.tif", tiff_file("<", baseline(20, 15, 8, 1, t700=(1, list(b'<x tiff:Orientation="6"/>'))), [packed[:300]]))
    put("ycc.tif", tiff_file("<", baseline(20, 16, 8, 6, 3, t259=(3, [8]), t530=(3, [2, 2])),
                             [zlib.compress(packed[:480])]))
    whole = saved(im, "TIFF", compression="tiff_lzw")
    put("cut_rows.tif", tiff_file("<", baseline(21, 15, 8, 1), [packed[:200]]))
    put("cut.tif", whole[:len(whole) // 2])


# ---- RAW
def dng(turned, order="<"):
    """A JPEG as preview, a sensor's 16-bit numbers as the picture."""
    preview = saved(scene(160, 120), "JPEG", quality=85)
    w, h = 640, 480
    sensor = struct.pack(order + "%dH" % (w * h), *([700] * (w * h)))
    inner = baseline(w, h, 16, 32803, t254=(4, [0]), t33421=(3, [2, 2]), t33422=(1, [0, 1, 1, 2]))
    first = 8 + len(preview) + len(preview) % 2
    outer = baseline(160, 120, 8, 6, 3, t254=(4, [1]), t259=(3, [7]), t274=(3, [turned]),
                     t271=(2, list(b"Maker\0")), t272=(2, list(b"Model\0")),
                     t50706=(1, [1, 4, 0, 0]), t50708=(2, list(b"Maker Model\0")))
    deflated = zlib.compress(sensor, 9)
    inner[259] = (3, [8])
    body = preview + b"\0" * (len(preview) % 2) + deflated + b"\0" * (len(deflated) % 2)
    inner[273], inner[279] = (4, [first]), (4, [len(deflated)])
    at = 8 + len(body)
    part = directory(order, inner, at)
    outer[273], outer[279], outer[330] = (4, [8]), (4, [len(preview)]), (4, [at])
    magic = b"II*\0" if order == "<" else b"MM\0*"
    start = at + len(part)
    return magic + struct.pack(order + "I", start) + body + part + directory(order, outer, start)


def raw():
    put("preview1.dng", dng(1))
    put("preview6.dng", dng(6, ">"))
    put("preview8.dng", dng(8))


# ---- TGA
def tga_file(kind, w, h, depth, body, flags=0x20, palette=b"", first=0, map_depth=0, ident=b""):
    count = len(palette) * 8 // map_depth if map_depth else 0
    return struct.pack("<BBBHHBHHHHBB", len(ident), 1 if map_depth else 0, kind, first, count,
                       map_depth, 0, 0, w, h, depth, flags) + ident + palette + body


def tga():
    im = scene(21, 17)
    rgba = with_alpha(im)
    for name, picture in (("rgb", im), ("rgba", rgba), ("grey", im.convert("L")),
                          ("palette", im.quantize(60)), ("grey_alpha", rgba.convert("LA"))):
        put(name + ".tga", saved(picture, "TGA"))
        put(name + "_packed.tga", saved(picture, "TGA", compression="tga_rle"))
    put("from_below.tga", saved(im, "TGA", orientation=-1))
    body = bytes((5 * i * i + 17 * i) % 256 for i in range(13 * 9 * 2))
    put("rgb16.tga", tga_file(2, 13, 9, 16, body))
    put("from_right.tga", tga_file(3, 13, 9, 8, body, 0x30, ident=b"a name"))
    put("from_corner.tga", tga_file(3, 13, 9, 8, body, 0x10))
    colours = bytes((7 * i * i + 31 * i) % 256 for i in range(240))
    numbers = bytes(b % 60 for b in body)
    put("palette16.tga", tga_file(1, 13, 9, 8, numbers, palette=colours[:120], map_depth=16))
    put("palette32.tga", tga_file(1, 13, 9, 8, numbers, palette=colours, map_depth=32))
    put("palette_from_7.tga", tga_file(1, 13, 9, 8, bytes(7 + b % 53 for b in body), palette=colours[:159], first=7, map_depth=24))
    put("cut.tga", tga_file(2, 13, 9, 24, body))
    put("cut_packed.tga", tga_file(10, 13, 9, 24, body[:9]))


# ---- PBM, PGM, PPM
def pnm():
    im = scene(13, 9)
    grey = im.convert("L")
    values = list(grey.tobytes())
    text = lambda v: b" ".join(b"%d" % x for x in v)
    put("p1.pbm", b"P1\n# a comment\n13 9\n" + b"".join(b"%d" % (x > 99) for x in values))
    put("p1_spaces.pbm", b"P1 13 9\n" + text(x > 99 for x in values) + b"\n# the end\n")
    put("p4.pbm", saved(im.convert("1"), "PPM"))
    put("p2.pgm", b"P2\n13 9 255\n" + text(values) + b"\n")
    put("p2_of_15.pgm", b"P2\n13 9\n15\n" + text(x // 17 for x in values) + b" ")
    put("p2_of_1000.pgm", b"P2\n13 9\n1000\n" + text(x // 64 for x in values) + b" ")
    put("p3.ppm", b"P3 13 9 # a comment\n255\n" + text(im.tobytes()) + b"\n")
    put("p3_of_7.ppm", b"P3 13 9 7\n" + text(x // 37 for x in im.tobytes()) + b"\n")
    put("p3_of_65535.ppm", b"P3 13 9 65535\n" + text(x * 211 for x in im.tobytes()) + b"\n")
    put("p5_of_100.pgm", b"P5 13 9 100\n" + bytes(x * 100 // 255 for x in values))
    put("p5_above.pgm", b"P5 13 9 100\n" + bytes(values))
    put("p5_of_65535.pgm", b"P5 13 9 65535\n" + b"".join(struct.pack(">H", x * 2) for x in values))
    put("p5_of_4095.pgm", b"P5 13 9 4095\n" + b"".join(struct.pack(">H", x // 16) for x in values))
    put("p6_of_31.ppm", b"P6 13 9 31\n" + bytes(x // 8 for x in im.tobytes()))
    put("p6_of_1023.ppm", b"P6 13 9 1023\n" + b"".join(struct.pack(">H", x * 4) for x in im.tobytes()))
    put("p6_of_65535.ppm", b"P6 13 9 65535\n" + b"".join(struct.pack(">H", x * 257) for x in im.tobytes()))
    put("cut_text.pgm", b"P2\n13 9 255\n" + text(values[:-1]) + b"\n")
    put("cut_bits.pbm", b"P4\n13 9\n" + bytes(17))
    put("cut_wide.ppm", b"P6 13 9 65535\n" + bytes(13 * 9 * 6 - 1))
    put("too_much.pgm", b"P2 3 1 255\n1 2 256\n")


MAKERS = {"webp": webp, "heif": heif, "gif": gif, "tiff": tiff, "raw": raw, "tga": tga, "pnm": pnm}


def row(name, im):
    return "%s\tok\t%d\t%d\t%s\n" % (name, im.width, im.height,
                                     hashlib.sha256(im.tobytes()).hexdigest())


def laid_on_white(im):
    rgba = im.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", rgba.size, "WHITE"), rgba).convert("RGB")


def table():
    import pillow_heif
    pillow_heif.register_heif_opener()
    plain, white = [], []
    for name in sorted(os.listdir(os.path.join(here, "in"))):
        path = os.path.join(here, "in", name)
        try:
            im = Image.open(path)
            if name.endswith(".dng"): # the preview, turned as the file says
                im = Image.open(io.BytesIO(open(path, "rb").read()[8:]))
                im.getexif()[0x112] = int(name[7])
            im = ImageOps.exif_transpose(im)
            if name.endswith((".avif", ".heic")):
                near = os.path.join(here, "near", name + ".ppm")
                im.convert("RGB").save(near)
                if name.startswith("alpha"):
                    laid_on_white(im).save(near[:-4] + ".white.ppm")
                continue
            plain.append(row(name, im.convert("RGB")))
            white.append(row(name, im.convert("RGB") if im.mode == "RGB" else laid_on_white(im)))
        except Exception as why:
            print(name, repr(why), file=sys.stderr)
            plain.append(name + "\terror\t0\t0\t-\n")
    open(os.path.join(here, "decode.tsv"), "w").writelines(plain)
    open(os.path.join(here, "white.tsv"), "w").writelines(white)


if __name__ == "__main__":
    for folder in ("in", "near"):
        os.makedirs(os.path.join(here, folder), exist_ok=True)
    for name in sys.argv[1:] or MAKERS:
        MAKERS[name]()
    table()
