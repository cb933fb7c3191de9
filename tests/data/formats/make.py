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


MAKERS = {"webp": webp, "heif": heif}


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
