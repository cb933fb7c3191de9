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
import hashlib, io, os, struct, sys
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


MAKERS = {"webp": webp, "heif": heif, "gif": gif, "tga": tga, "pnm": pnm}


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
            im = ImageOps.exif_transpose(Image.open(path))
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
