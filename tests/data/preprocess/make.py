#!/usr/bin/env python3
"""Make the small pictures of this folder, and what Pillow makes of them.

    make.py        (in a Python with Pillow 13, numpy, torchvision 0.29 and
                    transformers 5.24)

in/             pictures of many kinds, all computed here
decode.tsv      file, ok|error, width, height, SHA-256 of the RGB bytes after
                EXIF orientation and convert("RGB")
white.tsv       the same with what is transparent laid on white, as transformers'
                convert_to_rgb does
resize.tsv      in width, in height, out width, out height, filter, SHA-256 of
                Image.resize of the picture that noise() makes
resize_torchvision.tsv
                the same of torchvision's resize of 8-bit tensors, on a CPU with
                AVX2
cases/          for each config: the config as a checkpoint carries it, and for
                each picture the 8-bit pixels after resize and crop
The steps are written out here as timm 1.0 (timm/data/transforms_factory.py),
torchvision (center_crop) and transformers (image_transforms.py) do them; the
pixels are Pillow's. Those of a processor that ends in Fast are what the class
of transformers makes with its torchvision back end.
"""
import hashlib, io, json, math, os, shutil, struct, zlib
import numpy as np
import torch
import transformers
from PIL import Image, ImageOps
from torchvision.transforms.v2 import InterpolationMode, functional

here = os.path.dirname(os.path.abspath(__file__))


def noise(w, h):
    """The same numbers as noise() in test_resize.c."""
    s, out = 12345, bytearray()
    for _ in range(w * h * 3):
        s = (s * 1664525 + 1013904223) & 0xffffffff
        out.append(s >> 24)
    return Image.frombytes("RGB", (w, h), bytes(out))


def scene(w, h):
    """Smooth colours with hard edges; not symmetric."""
    y, x = np.mgrid[0:h, 0:w].astype(float)
    a = np.stack([255 * x / max(w - 1, 1), 255 * y / max(h - 1, 1),
                  128 + 127 * np.sin((x + 2 * y) / 5)], -1)
    a[(x - w * .3) ** 2 + (y - h * .6) ** 2 < (min(w, h) * .2) ** 2] = (250, 30, 10)
    a[(x > w * .7) & (y < h * .2)] = (0, 0, 255)
    return Image.fromarray(a.astype(np.uint8), "RGB")


def chunk(name, body, crc=None):
    c = zlib.crc32(name + body) if crc is None else crc
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", c)


def png(w, h, depth, color, raw, extra=b"", interlace=0):
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, depth, color, 0, 0, interlace)) +
            extra + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b""))


def saved(im, fmt, **k):
    b = io.BytesIO(); im.save(b, fmt, **k); return b.getvalue()


def exif(n):
    e = Image.Exif(); e[0x112] = n; return e.tobytes()


def psd(w, h, planes, packed):
    """Colours first; the planes after them are noise: opacity, and a selection."""
    a = np.dstack([np.asarray(scene(w, h)), np.random.RandomState(5).randint(0, 256, (h, w, planes - 3), np.uint8)])
    rows = [bytes(a[y, :, p]) for p in range(planes) for y in range(h)]
    if packed:  # PackBits: each row as one literal
        rows = [bytes([w - 1]) + r for r in rows]
    table = b"".join(struct.pack(">H", len(r)) for r in rows) if packed else b""
    return b"8BPS" + struct.pack(">H6xHIIHHIIIH", 1, planes, h, w, 8, 3, 0, 0, 0, packed) + table + b"".join(rows)


def adam7(a):
    """The filtered bytes of an interlaced picture [h, w, n]."""
    out = b""
    for x, y, dx, dy in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)):
        part = a[y::dy, x::dx]
        if part.size:
            out += b"".join(b"\0" + row.tobytes() for row in part)
    return out


def bmp(w, h, masks, raw):
    """32 bits with a mask for the opacity (BITMAPV4HEADER)."""
    head = struct.pack("<IiiHHIIiiII4I", 108, w, h, 1, 32, 3, len(raw), 0, 0, 0, 0, *masks) + b"BGRs" + bytes(48)
    return struct.pack("<2sIHHI", b"BM", 14 + 108 + len(raw), 0, 0, 122) + head + raw


def transparent():
    s = scene(13, 11)
    ramp = Image.frombytes("L", s.size, bytes(i * 255 // 142 for i in range(143)))
    rgba = np.dstack([np.asarray(s), np.asarray(ramp)])
    yield "alpha/rgba.png", saved(Image.fromarray(rgba), "PNG")
    yield "alpha/la.png", saved(Image.merge("LA", (s.convert("L"), ramp)), "PNG")
    yield "alpha/interlaced.png", png(13, 11, 8, 6, adam7(rgba), interlace=1)
    wide = np.random.RandomState(3).randint(0, 65536, (5, 4 * 7)).astype(">u2")
    rows = b"".join(b"\0" + r.tobytes() for r in wide)
    yield "alpha/rgba16.png", png(7, 5, 16, 6, rows)
    yield "alpha/la16.png", png(14, 5, 16, 4, rows)
    yield "alpha/palette.png", png(5, 1, 8, 3, b"\0\0\1\2\3\4", chunk(b"PLTE", bytes(range(10, 22))) + chunk(b"tRNS", b"\0\x7f\xff"))
    yield "alpha/palette2.png", png(4, 1, 2, 3, b"\0\x1b", chunk(b"PLTE", bytes(range(0, 240, 20))) + chunk(b"tRNS", b"\xff\x05"))
    for depth, keys in (1, (0, 1)), (2, (1, 85, 3)), (4, (0, 15, 34)), (8, (7, 263)), (16, (7, 255, 300)):
        for k in keys:
            raw = {16: b"\0\0\7\1\7\1\x2c\xff\xff"}.get(depth, b"\0\x1b\x27\x07\x08")
            yield f"alpha/grey{depth}_{k}.png", png(len(raw) // 2 if depth == 16 else 4, 1, depth, 0, raw, chunk(b"tRNS", struct.pack(">H", k)))
    for k in (1, 2, 3), (257, 2, 3), (4, 5, 7):
        yield "alpha/rgb_%d_%d.png" % k[:2], png(2, 1, 8, 2, b"\0\1\2\3\4\5\6", chunk(b"tRNS", struct.pack(">3H", *k)))
        yield "alpha/rgb16_%d_%d.png" % k[:2], png(2, 1, 16, 2, b"\0\1\x2c\2\2\3\3\4\4\5\5\6\6", chunk(b"tRNS", struct.pack(">3H", *k)))
    yield "alpha/bgra.bmp", bmp(13, 11, (0xff0000, 0xff00, 0xff, 0xff000000), rgba[::-1, :, [2, 1, 0, 3]].tobytes())
    yield "alpha/abgr.bmp", bmp(13, 11, (0xff000000, 0xff0000, 0xff00, 0xff), rgba[::-1, :, [3, 2, 1, 0]].tobytes())
    yield "alpha/no_masks.bmp", bmp(13, 11, (0, 0, 0, 0), rgba[::-1, :, [2, 1, 0, 3]].tobytes())


def pictures():
    s = scene(61, 47)
    j = saved(s, "JPEG", quality=85)
    yield "exif6.jpg", saved(s, "JPEG", quality=85, exif=exif(6))
    yield "progressive_420.jpg", saved(scene(90, 64), "JPEG", quality=70, progressive=True, subsampling=2)
    yield "cmyk.jpg", saved(s.convert("CMYK"), "JPEG", quality=85)
    yield "gray.jpg", saved(s.convert("L"), "JPEG", quality=85)
    yield "palette.png", saved(s.quantize(40), "PNG")
    yield "rgba.png", saved(Image.merge("RGBA", (*s.split(), s.getchannel(0))), "PNG")
    yield "tall_5x97.png", saved(scene(5, 97), "PNG")
    yield "wide_70x3.png", saved(scene(70, 3), "PNG")
    yield "one_pixel.png", saved(scene(1, 1), "PNG")
    yield "near_31x33.png", saved(scene(31, 33), "PNG")
    # decoding alone
    for n in range(1, 9):
        yield f"turn/exif{n}.png", saved(scene(7, 5), "PNG", exif=exif(n))
    xmp = b'<x:xmpmeta><rdf:Description tiff:Orientation="8"/></x:xmpmeta>'
    yield "turn/xmp.jpg", j[:2] + b"\xff\xe1" + struct.pack(">H", len(xmp) + 31) + b"http://ns.adobe.com/xap/1.0/\0" + xmp + j[2:]
    text = ("\nexif\n%8d\n%s\n" % (len(exif(5)), exif(5).hex())).encode()
    raw = b"".join(b"\0" + bytes(range(y, y + 21)) for y in range(5))
    yield "turn/raw_profile.png", png(7, 5, 8, 2, raw, chunk(b"zTXt", b"Raw profile type exif\0\0" + zlib.compress(text)))
    yield "turn/broken_exif.jpg", j[:2] + b"\xff\xe1" + struct.pack(">H", 14) + b"Exif\0\0MM\0*\xff\xff" + j[2:]
    g16 = b"".join(b"\0" + struct.pack(">6H", 0, 255, 256, 70, 65535, 3 + y) for y in range(4))
    yield "png/gray16.png", png(6, 4, 16, 0, g16)
    yield "png/rgb16.png", png(2, 4, 16, 2, g16)
    yield "png/gray_alpha16.png", png(3, 4, 16, 4, g16)
    yield "png/gray2_trns.png", png(8, 2, 2, 0, b"\0\x1b\xe4\0\x1b\x00", chunk(b"tRNS", b"\0\1"))
    yield "png/beyond_palette.png", png(4, 1, 8, 3, b"\0\0\1\2\xff", chunk(b"PLTE", bytes(range(10, 16))))
    yield "png/idat_crc.png", png(7, 5, 8, 2, raw)[:-16] + b"\0\0\0\0" + chunk(b"IEND", b"")
    yield from transparent()
    # broken
    yield "broken/cut.jpg", j[:len(j) // 2]
    yield "broken/no_end_marker.jpg", j[:-2]
    p = png(7, 5, 8, 2, raw)
    yield "broken/cut.png", p[:70]
    yield "broken/ihdr_crc.png", p[:29] + b"\0\0\0\0" + p[33:]
    yield "broken/huge.png", png(30000, 30000, 8, 2, b"")
    yield "broken/empty.jpg", b""
    yield "broken/text.jpg", b"this is not a picture\n"
    yield "broken/header_only.jpg", j[:3]
    # other formats
    yield "other/rgb.bmp", saved(s, "BMP")
    yield "other/rgb.ppm", saved(scene(7, 5), "PPM")
    yield "other/gray.pgm", saved(scene(7, 5).convert("L"), "PPM")
    yield "other/cut.ppm", saved(scene(7, 5), "PPM")[:-1]
    # Pillow misreads the table of rows of five packed planes.
    for planes, packed in (3, False), (3, True), (4, False), (4, True), (5, False):
        yield f"other/{planes}{'_packed' * packed}.psd", psd(9, 6, planes, packed)
    yield "other/cut.psd", psd(9, 6, 4, True)[:-1]


def rint(x):
    return round(x)  # to even, as Python does


def crop(im, h, w, fill, hf):
    W, H = im.size
    a = np.asarray(im)
    out = np.empty((h, w, 3), np.uint8); out[:] = fill
    def span(have, want):  # (from, to, n)
        if have >= want:
            return ((have - want) // 2 if hf else rint((have - want) / 2)), 0, want
        d = want - have
        return 0, (math.ceil(d / 2) if hf else d // 2), have
    y, ty, n = span(H, h); x, tx, m = span(W, w)
    out[ty:ty + n, tx:tx + m] = a[y:y + n, x:x + m]
    return Image.fromarray(out)


def shortest(im, size, f):
    W, H = im.size
    s = (size, int(size * H / W)) if W <= H else (int(size * W / H), size)
    return im.resize(s, f)


def keep_ratio(im, h, w, f, longest):
    W, H = im.size
    r = max(H / h, W / w) if longest else min(H / h, W / w)
    return im.resize((rint(W / r), rint(H / r)), f)


RESAMPLE = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4, "hamming": 5}


def timm_case(im, c):
    h, w = c["input_size"][1:]; f = RESAMPLE[c["interpolation"]]
    sh, sw = math.floor(h / c["crop_pct"]), math.floor(w / c["crop_pct"])
    if c["crop_mode"] == "squash":
        return crop(im.resize((sw, sh), f), h, w, 0, False)
    if c["crop_mode"] == "border":
        return crop(keep_ratio(im, sh, sw, f, True), h, w, [round(255 * v) for v in c["mean"]], False)
    im = shortest(im, sh, f) if sh == sw else keep_ratio(im, sh, sw, f, False)
    return crop(im, h, w, 0, False)


def hf_case(im, c):
    s = c["size"]
    im = shortest(im, s["shortest_edge"], c["resample"]) if "shortest_edge" in s else im.resize((s["width"], s["height"]), c["resample"])
    return crop(im, c["crop_size"]["height"], c["crop_size"]["width"], 0, True) if c.get("do_center_crop") else im


def fast_case(im, c):
    """Without a size of its own, the class scales and normalises nothing."""
    name = c["image_processor_type"][:-len("Fast")]
    p = getattr(transformers, name)(**{**c, "do_rescale": False, "do_normalize": False})
    assert p.backend == "torchvision"
    out = p(im, return_tensors="pt")["pixel_values"][0]
    assert out.dtype == torch.uint8
    return Image.fromarray(out.permute(1, 2, 0).numpy())


def torchvision_resize(im, W, H, f):
    x = torch.from_numpy(np.asarray(im).copy()).permute(2, 0, 1).contiguous()
    mode = {0: InterpolationMode.NEAREST_EXACT, 1: InterpolationMode.LANCZOS,
            2: InterpolationMode.BILINEAR, 3: InterpolationMode.BICUBIC}[f]
    return functional.resize(x, [H, W], interpolation=mode, antialias=True).permute(1, 2, 0).numpy()


def timm_config(size, how, pct, mode, mean, std):
    return dict(input_size=[3, *size], interpolation=how, crop_pct=pct, crop_mode=mode, mean=[mean] * 3, std=[std] * 3)


def hf_config(kind, size, resample, crop_size=None):
    c = dict(do_normalize=True, do_rescale=True, do_resize=True, image_mean=[.5] * 3, image_std=[.5] * 3,
             image_processor_type=kind + "ImageProcessor", resample=resample, rescale_factor=1 / 255, size=size)
    if crop_size:
        c.update(do_center_crop=True, crop_size=dict(height=crop_size, width=crop_size))
    return c


TIMM = {
    "timm_center": timm_config((32, 32), "bicubic", .9, "center", .5, .5),
    "timm_oblong_box": timm_config((24, 41), "box", .875, "center", .5, .5),
    "timm_squash": timm_config((24, 40), "bilinear", .95, "squash", .45, .2),
    "timm_border": timm_config((32, 32), "lanczos", .95, "border", .47, .2),
}
HF = {
    "hf_vit": hf_config("ViT", dict(height=32, width=32), 2),
    "hf_deit_hamming": hf_config("DeiT", dict(height=37, width=37), 5, 32),
    "hf_dinov2": hf_config("Bit", dict(shortest_edge=37), 3, 32),
    "hf_small_nearest": hf_config("CLIP", dict(shortest_edge=21), 0, 32),
}


FAST = {
    "hf_vit_fast": hf_config("ViT", dict(height=32, width=32), 2),
    "hf_deit_lanczos_fast": hf_config("DeiT", dict(height=37, width=37), 1, 32),
    "hf_small_bicubic_fast": hf_config("CLIP", dict(shortest_edge=21), 3, 32),
    "hf_nearest_fast": hf_config("Bit", dict(shortest_edge=37), 0, 32),
}
for c in FAST.values():
    c["image_processor_type"] += "Fast"
ON_WHITE = ("hf_dinov2", "hf_small_nearest", "hf_small_bicubic_fast", "hf_nearest_fast")  # of Bit and CLIP, whose processors convert to RGB themselves


def rgb(path, on_white=False):
    im = Image.open(path); im.load()
    im = ImageOps.exif_transpose(im)
    if on_white and ("A" in im.getbands() or im.info.get("transparency") is not None):
        im = im.convert("RGBA")
        im = Image.alpha_composite(Image.new("RGBA", im.size, (255,) * 4), im)
    return im.convert("RGB")


def main():
    for d in ("in", "cases"):
        shutil.rmtree(os.path.join(here, d), ignore_errors=True)
    table, white = [], []
    for name, data in pictures():
        path = os.path.join(here, "in", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "wb").write(data)
        try:
            im = rgb(path)
            table.append((name, "ok", *im.size, hashlib.sha256(im.tobytes()).hexdigest()))
        except Exception as e:
            table.append((name, "error", "-", "-", type(e).__name__))
            continue
        white.append((name, "ok", *im.size, hashlib.sha256(rgb(path, True).tobytes()).hexdigest()))
    open(os.path.join(here, "white.tsv"), "w").writelines("\t".join(map(str, r)) + "\n" for r in white)
    open(os.path.join(here, "decode.tsv"), "w").writelines("\t".join(map(str, r)) + "\n" for r in table)
    with open(os.path.join(here, "resize.tsv"), "w") as out, open(os.path.join(here, "resize_torchvision.tsv"), "w") as too:
        for w, h, W, H in ((50, 37, 33, 24), (50, 37, 7, 90), (17, 64, 17, 9), (64, 17, 31, 17), (5, 5, 5, 5), (1, 1, 9, 4),
                           (3, 200, 40, 1), (200, 3, 1, 7), (31, 29, 224, 224), (333, 251, 224, 113),
                           (23, 25, 24, 24), (51, 126, 4, 21), (51, 126, 4, 35), (60, 16, 96, 14),
                           (30, 50, 20, 30), (30, 50, 20, 29)):
            for f in range(6):
                im = noise(w, h).resize((W, H), f)
                print(w, h, W, H, f, hashlib.sha256(im.tobytes()).hexdigest(), sep="\t", file=out)
                if f < 4:
                    a = torchvision_resize(noise(w, h), W, H, f)
                    print(w, h, W, H, f, hashlib.sha256(a.tobytes()).hexdigest(), sep="\t", file=too)
    for name, c in {**TIMM, **HF, **FAST}.items():
        d = os.path.join(here, "cases", name); os.makedirs(d)
        timm = name in TIMM
        json.dump(dict(architecture="vit", pretrained_cfg=c) if timm else c,
                  open(os.path.join(d, "config.json" if timm else "preprocessor_config.json"), "w"), indent=1)
        for p in sorted(os.listdir(os.path.join(here, "in"))):
            path = os.path.join(here, "in", p)
            if os.path.isfile(path):
                (timm_case if timm else fast_case if name in FAST else hf_case)(rgb(path, name in ON_WHITE), c).save(os.path.join(d, p.rsplit(".", 1)[0] + ".png"), optimize=True)


if __name__ == "__main__":
    main()
