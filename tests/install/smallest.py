#!/usr/bin/env python3
"""smallest.py SMALL FULL - a build without what is optional against a full one.

Both decode the pictures of tests/data: the sizes and the turning are the same,
and pixels differ by a few levels at most. What is damaged is refused. The
program classifies, and says what it lacks.
"""
import ctypes
import glob
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
LEVELS, MEAN = 8, 0.7  # of 255: the largest difference, and the mean


class Image(ctypes.Structure):
    _fields_ = [("width", ctypes.c_uint32), ("height", ctypes.c_uint32),
                ("rgb", ctypes.POINTER(ctypes.c_uint8))]


def decoder(build):
    os.environ["VITCL_DECODE"] = f"{build}/vitcl-decode"
    os.environ["VITCL_DECODE_ALL"] = f"{build}/vitcl-decode-all"
    lib = ctypes.CDLL(f"{build}/libvitcl.so")
    lib.vitcl_last_error.restype = ctypes.c_char_p

    def decode(path):
        image = Image()
        if lib.vitcl_image_load(ctypes.byref(image), path.encode()):
            return lib.vitcl_last_error().decode()
        size = image.width, image.height
        rgb = ctypes.string_at(image.rgb, 3 * image.width * image.height)
        lib.vitcl_image_free(ctypes.byref(image))
        return size, rgb
    return decode


def all_pictures(build, paths):
    """In a process of its own: one library for each build."""
    read, write = os.pipe()
    if os.fork() == 0:
        decode = decoder(build)
        with os.fdopen(write, "wb") as f:
            import pickle
            pickle.dump([decode(path) for path in paths], f)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as f:
        import pickle
        return pickle.load(f)


def main():
    small, full = sys.argv[1:3]
    paths = sorted(glob.glob(f"{ROOT}/tests/data/**/*.jpg", recursive=True) +
                   glob.glob(f"{ROOT}/tests/data/**/*.png", recursive=True) +
                   glob.glob(f"{ROOT}/docs/*.png"))
    bad = []
    with tempfile.TemporaryDirectory() as scratch:
        def add(name, data):
            paths.append(f"{scratch}/{name}")
            with open(paths[-1], "wb") as f:
                f.write(data)
        with open(f"{ROOT}/tests/data/sample.jpg", "rb") as f:
            jpeg = f.read()
        add("cut.jpg", jpeg[:len(jpeg) // 2])
        add("cut_late.jpg", jpeg[:-400])
        add("no_end.jpg", jpeg[:-2])
        with open(f"{ROOT}/tests/data/preprocess/in/near_31x33.png", "rb") as f:
            png = f.read()
        add("cut.png", png[:len(png) // 2])
        add("sum.png", png[:20] + b"\x01" + png[21:])
        for path, a, b in zip(paths, all_pictures(small, paths), all_pictures(full, paths)):
            name = os.path.relpath(path, ROOT)
            if isinstance(a, str) or isinstance(b, str):
                if not (isinstance(a, str) and isinstance(b, str)):
                    bad.append(f"{name}: {a if isinstance(a, str) else 'decoded'}, "
                               f"not {b if isinstance(b, str) else 'decoded'}")
                continue
            if a[0] != b[0]:
                bad.append(f"{name}: {a[0]}, not {b[0]}")
                continue
            apart = [abs(x - y) for x, y in zip(a[1], b[1])]
            if max(apart) > LEVELS or sum(apart) / len(apart) > MEAN:
                bad.append(f"{name}: apart by {max(apart)}, {sum(apart) / len(apart):.2f} in the mean")
    for name in ("VITCL_DECODE", "VITCL_DECODE_ALL", "VITCL_TRY"):
        os.environ.pop(name, None)
    run = subprocess.run([f"{small}/vitcl", "classify", "-k", "1", f"{ROOT}/tests/data/sample.jpg"],
                         capture_output=True, text=True)
    if run.returncode or not re.search(r"\t1\tship\t\t0\.9[012]", run.stdout):
        bad.append(f"classify: {run.stdout}{run.stderr}")
    if run.stderr.count("stb_image") != 1:
        bad.append(f"no note: {run.stderr}")
    run = subprocess.run([f"{small}/vitcl", "devices"], capture_output=True, text=True)
    if "built without CLBlast" not in run.stdout:
        bad.append(f"devices: {run.stdout}{run.stderr}")
    run = subprocess.run([f"{small}/vitcl", "classify", "--gemm", "clblast",
                          f"{ROOT}/tests/data/sample.jpg"], capture_output=True, text=True)
    if run.returncode != 1 or "available: native, plain" not in run.stderr:
        bad.append(f"--gemm clblast: {run.stdout}{run.stderr}")
    print("\n".join(bad) or f"{len(paths)} pictures, as in a full build")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
