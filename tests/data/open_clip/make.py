#!/usr/bin/env python3
"""Make the pictures of this folder, and what open_clip makes of pictures.

    make.py        (in a Python with Pillow 13, numpy and open_clip 3.3)

in/        one picture in each mode that Pillow reads from a file
own.tsv    for each config of PreprocessCfg a line "config" and its JSON; then for
           each picture of tests/data, upright, the SHA-256 of the RGB pixels of
           image_transform_v2() before they are normalised
AVIF, HEIC and RAW are left out: other decoders have other pixels.
"""
import hashlib, json, os, shutil, warnings
import numpy as np
from dataclasses import asdict
from PIL import Image, ImageOps
from torchvision.transforms import Compose, Normalize
from open_clip.transform import PreprocessCfg, image_transform_v2, merge_preprocess_dict

warnings.filterwarnings("ignore")
here = os.path.dirname(os.path.abspath(__file__))
data = os.path.dirname(here)
SIDE = 24
CONFIGS = (
    {},
    {"resize_mode": "squash", "interpolation": "bilinear"},
    {"resize_mode": "longest", "interpolation": "bicubic"},
    {"resize_mode": "longest", "interpolation": "random", "fill_color": 77},
)


def scene(w, h):
    y, x = np.mgrid[0:h, 0:w].astype(float)
    a = np.stack([255 * x / w, 255 * y / h, 128 + 127 * np.sin((x + 2 * y) / 5)], -1)
    a[(x - w * .3) ** 2 + (y - h * .6) ** 2 < (h * .2) ** 2] = (250, 30, 10)
    return Image.fromarray(a.astype(np.uint8), "RGB")


def pictures():
    s = scene(61, 47)
    grey = np.asarray(s.convert("L")).astype(int)
    opacity = Image.fromarray((255 - grey).clip(0, 255).astype(np.uint8), "L")
    rgba, la = s.copy(), Image.merge("LA", (s.convert("L"), opacity))
    rgba.putalpha(opacity)
    turned = Image.Exif()
    turned[0x112] = 6
    yield "onebit.png", s.convert("1"), {}
    yield "palette.png", s.quantize(19), {}
    yield "palette_transparent.png", s.quantize(19), dict(transparency=3)
    yield "palette.gif", s.quantize(19), {}
    yield "rgba.png", rgba, {}
    yield "la.png", la, {}
    yield "turned_rgba.png", rgba, dict(exif=turned)
    yield "turned_la.tif", la, dict(tiffinfo={0x112: 8})
    yield "rgba.webp", rgba, dict(lossless=True)
    yield "cmyk.jpg", s.convert("CMYK"), dict(quality=60)
    yield "cmyk.tif", s.convert("CMYK"), dict(compression="tiff_lzw")
    yield "grey16.png", Image.fromarray((3 * grey - 200).clip(0, 65535).astype(np.uint16)), {}
    yield "grey16_full.png", Image.fromarray((grey * 257 * ((grey > 90))).astype(np.uint16)), {}
    yield "int.tif", Image.fromarray((3 * grey - 200).astype(np.int32)), dict(tiffinfo={0x112: 5})
    yield "float.tif", Image.fromarray((2.3 * grey - 150.7).astype(np.float32)), dict(compression="tiff_lzw")
    yield "tall.tif", Image.fromarray((2.3 * np.tile(grey.T, (3, 1)) - 150.7).astype(np.float32)), dict(compression="tiff_lzw")
    yield "as_wide.png", rgba.resize((SIDE, 90)), {}
    yield "as_large.png", rgba.resize((SIDE, SIDE)), {}


def main():
    shutil.rmtree(os.path.join(here, "in"), ignore_errors=True)
    os.makedirs(os.path.join(here, "in"))
    for name, im, options in pictures():
        im.save(os.path.join(here, "in", name), **options)
    modes = set()
    with open(os.path.join(here, "own.tsv"), "w") as out:
        for config in CONFIGS:
            print("config", json.dumps(config), sep="\t", file=out)
            p = PreprocessCfg(**{**merge_preprocess_dict(PreprocessCfg(), config), "size": SIDE})
            steps = Compose([t for t in image_transform_v2(p, False).transforms if not isinstance(t, Normalize)])
            for root in "open_clip/in", "preprocess/in", "formats/in":
                for folder, _, names in sorted(os.walk(os.path.join(data, root))):
                    for name in sorted(names):
                        path = os.path.join(folder, name)
                        if name.endswith((".avif", ".heic", ".dng")):
                            continue
                        try:
                            im = Image.open(path)
                            mode = im.mode
                            if mode == "PA":  # Pillow loses the palette: it is black
                                continue
                            im = steps(ImageOps.exif_transpose(im))
                        except Exception:
                            continue
                        modes.add(mode)
                        rgb = (im.numpy().transpose(1, 2, 0) * 255).round().astype(np.uint8)
                        print(os.path.relpath(path, data), hashlib.sha256(rgb.tobytes()).hexdigest(), sep="\t", file=out)
    print(*sorted(modes))


if __name__ == "__main__":
    main()
