#!/usr/bin/env python3
"""measure_dupes.py VITCL MODEL FOLDER - what `vitcl dupes` finds and misses.

Makes near-duplicates of each photograph in FOLDER (half as large, recompressed,
cropped by 5 %), embeds all with MODEL and prints precision and recall for some
thresholds: of the pairs that share a group, how many are of one photograph, and
of the pairs of one photograph, how many share a group. Photographs of FOLDER
that are near-duplicates of each other count against precision. Needs Pillow.
"""
import itertools
import json
import os
import subprocess
import sys
import tempfile

from PIL import Image


def variants(picture):
    width, height = picture.size
    yield "resized", picture.resize((max(width // 2, 1), max(height // 2, 1)),
                                    Image.Resampling.LANCZOS), 90
    yield "recompressed", picture, 40
    # 5 % of the width and of the height, at the left and at the top
    yield "cropped", picture.crop((width // 20, height // 20, width, height)), 90


def make(folder, to):
    for name in sorted(os.listdir(folder)):
        with Image.open(os.path.join(folder, name)) as file:
            picture = file.convert("RGB")
        stem = os.path.splitext(name)[0]
        os.symlink(os.path.abspath(os.path.join(folder, name)),
                   os.path.join(to, f"{stem}@original.jpg"))
        for kind, changed, quality in variants(picture):
            changed.save(os.path.join(to, f"{stem}@{kind}.jpg"), quality=quality)


def pairs(groups):
    for group in groups:
        names = sorted(os.path.basename(p["picture"]) for p in group["pictures"])
        yield from itertools.combinations(names, 2)


def same(a, b):
    return a.split("@")[0] == b.split("@")[0]


def measure(vitcl, index, threshold, originals):
    out = subprocess.run([vitcl, "dupes", "--json", "--threshold",
                          str(threshold), index], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    found = list(pairs(json.loads(line) for line in out.splitlines()))
    right = [pair for pair in found if same(*pair)]
    total = originals * 6  # of four pictures each
    kinds = {}
    for kind in ("resized", "recompressed", "cropped"):
        kinds[kind] = sum("@original." in a + b and f"@{kind}." in a + b
                          for a, b in right) / originals
    print(f"{threshold:9} {len(right) / max(len(found), 1):9.4f} "
          f"{len(right) / total:7.4f}   " +
          "  ".join(f"{kind} {share:.4f}" for kind, share in kinds.items()),
          flush=True)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    vitcl, model, folder = sys.argv[1:]
    with tempfile.TemporaryDirectory() as work:
        pictures = os.path.join(work, "pictures")
        index = os.path.join(work, "index.safetensors")
        os.mkdir(pictures)
        make(folder, pictures)
        subprocess.run([vitcl, "embed", "-m", model, "-o", index, pictures],
                       check=True)
        print("threshold precision  recall   of pairs with the original")
        for threshold in (0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98):
            measure(vitcl, index, threshold, len(os.listdir(folder)))


if __name__ == "__main__":
    main()
