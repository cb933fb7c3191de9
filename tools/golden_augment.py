#!/usr/bin/env python3
"""Print the checksums of tests/unit/test_augment.c: Pillow's results for a
computed picture.

    golden_augment.py        Needs: pip install pillow numpy

The picture is 37 x 29, v[y, x, c] = (x * 7 + y * 13 + c * 50 + (x * y) % 11 * 5) % 256; the checksum is FNV-1a over its bytes.
"""
import numpy as np
from PIL import Image, ImageEnhance, ImageOps

y, x, c = np.mgrid[0:29, 0:37, 0:3]
im = Image.fromarray(((x * 7 + y * 13 + c * 50 + (x * y) % 11 * 5) % 256 // 2 + 40).astype(np.uint8))


def fnv(image):
    h = 0xcbf29ce484222325
    for b in np.asarray(image).tobytes():
        h = (h ^ b) * 0x100000001b3 & 0xffffffffffffffff
    return h


def affine(m):
    return im.transform(im.size, Image.Transform.AFFINE, m, Image.Resampling.NEAREST, fillcolor=(128, 128, 128))


level = 0.7
print("autocontrast", hex(fnv(ImageOps.autocontrast(im))))
print("equalize", hex(fnv(ImageOps.equalize(im))))
print("solarize", hex(fnv(ImageOps.solarize(im, int(256 - 256 * level)))))
print("posterize", hex(fnv(ImageOps.posterize(im, 8 - int(4 * level + 0.5)))))
print("invert", hex(fnv(ImageOps.invert(im))))
print("solarize_add", hex(fnv(im.point([min(255, i + int(110 * level)) if i < 128 else i for i in range(256)] * 3))))
for name, e in (("color", ImageEnhance.Color), ("contrast", ImageEnhance.Contrast), ("brightness", ImageEnhance.Brightness), ("sharpness", ImageEnhance.Sharpness)):
    for sign in (1, -1):
        print(name, sign, hex(fnv(e(im).enhance(1 + 0.9 * level * sign))))
print("shear_x", hex(fnv(affine((1, 0.3 * level, 0, 0, 1, 0)))))
print("translate_y", hex(fnv(affine((1, 0, 0, 0, 1, level * 29 * 150 / 331)))))
print("rotate", hex(fnv(im.rotate(30 * level, Image.Resampling.NEAREST, fillcolor=(128, 128, 128)))))
