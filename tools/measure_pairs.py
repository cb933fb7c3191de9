#!/usr/bin/env python3
"""measure_pairs.py VITCL [FOLDER] - `vitcl dupes` and `search` beside NumPy.

Writes an index of vectors with 200 planted pairs into FOLDER (or a temporary
one) and compares all pairs, and one vector with all, in turns: vitcl, NumPy,
vitcl, ... NumPy multiplies in f32, piece by piece, with OpenBLAS and as many
threads as vitcl has; of the pairs it computes the tiles of one triangle. Both
must find the same pairs. Prints each time, the processor time in brackets, and
the load of the machine before.

--decay X: direction i of the vectors has the size i**-X, as those of pictures
have, in a random basis; 0: all directions are alike, the worst case.

Needs NumPy and safetensors. `measure_pairs.py --numpy dupes|search INDEX` is the
other side alone.
"""
import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

THREADS = str(len(os.sched_getaffinity(0)))
os.environ.setdefault("OPENBLAS_NUM_THREADS", THREADS)
import numpy as np  # noqa: E402
from safetensors import safe_open  # noqa: E402
from safetensors.numpy import save_file  # noqa: E402

TILE = 2048
THRESHOLD = 0.85


# ---- vectors

def make(vitcl, folder, a):
    """Random rows with the metadata of a real index, so that search takes them."""
    picture, real = os.path.join(folder, "query.ppm"), os.path.join(folder, "one.safetensors")
    rng = np.random.default_rng(1)
    with open(picture, "wb") as f:
        f.write(b"P6 32 32 255\n" + rng.bytes(3072))
    subprocess.run([vitcl, "embed", "-q", "--preset", "vit-b/16", "--size", "32",
                    "-o", real, picture], check=True)
    with safe_open(real, "numpy") as f:
        about = f.metadata()
        width = f.get_tensor("features").shape[-1]
    x = rng.standard_normal((a.rows, width), dtype=np.float32)
    if a.decay:
        basis, _ = np.linalg.qr(rng.standard_normal((width, width)))
        x *= (np.arange(1, width + 1) ** -a.decay).astype(np.float32)
        x = x @ basis.astype(np.float32)
    pairs = rng.permutation(a.rows)[:400].reshape(200, 2)
    noise = rng.standard_normal((200, width), dtype=np.float32)
    x[pairs[:, 1]] = x[pairs[:, 0]] + 0.1 * x.std() * noise
    index = os.path.join(folder, "index.safetensors")
    paths = b"".join(b"%d.jpg\0" % i for i in range(a.rows))
    save_file({"features": x.astype(np.float16) if a.store == "f16" else x,
               "paths": np.frombuffer(paths, np.uint8),
               "stamps": np.full((a.rows, 2), -1, np.int64)}, index, metadata=about)
    return index, picture


# ---- NumPy

def features(index):
    """The vectors, mapped."""
    with open(index, "rb") as f:
        size = int.from_bytes(f.read(8), "little")
        t = json.loads(f.read(size))["features"]
    kind = {"F32": np.float32, "F16": np.float16}[t["dtype"]]
    return np.memmap(index, kind, "r", 8 + size + t["data_offsets"][0], tuple(t["shape"]))


def unit(x):
    x = x.astype(np.float32)
    x /= np.sqrt(np.einsum("ij,ij->i", x, x))[:, None]
    return x


def numpy_dupes(index):
    mapped = features(index)
    x = unit(mapped)
    scores, found = np.empty((TILE, TILE), np.float32), []
    for j in range(0, len(x), TILE):
        b = x[j:j + TILE].T
        for i in range(j, len(x), TILE):
            a = x[i:i + TILE]
            c = np.matmul(a, b, out=scores[:a.shape[0], :b.shape[1]])
            if i != j and c.max() < THRESHOLD:
                continue
            rows, columns = np.nonzero(c >= THRESHOLD)
            found += [(p + j, q + i) for q, p in zip(rows, columns) if p + j < q + i]
    return sorted({int(i) for pair in found for i in pair})


def numpy_search(index):
    mapped, q = features(index), np.random.default_rng(2)
    q = unit(q.standard_normal((1, mapped.shape[1]), dtype=np.float32))[0]
    start = time.perf_counter()
    best = np.empty(len(mapped), np.float32)
    for i in range(0, len(mapped), TILE):
        x = mapped[i:i + TILE].astype(np.float32, copy=False)
        best[i:i + TILE] = x @ q / np.sqrt(np.einsum("ij,ij->i", x, x))
    top = np.argpartition(-best, 10)[:10]
    top[np.argsort(-best[top])]
    return time.perf_counter() - start


# ---- in turns

def run(command):
    load = os.getloadavg()[0]
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run(command, check=True, capture_output=True, text=True)
    took, used = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    return out, took, f"({cpu:.0f} s, load {load:.1f})"


def other(what, index):
    return [sys.executable, os.path.abspath(__file__), "--numpy", what, index]


def turn(vitcl, index, picture):
    out, ours, load = run([vitcl, "dupes", "--threshold", str(THRESHOLD), index])
    here = sorted(int(line.split("\t")[2][:-4]) for line in out.stdout.splitlines())
    out, theirs, after = run(other("dupes", index))
    same = here == json.loads(out.stdout)
    print(f"dupes   vitcl {ours:7.2f} s {load}   NumPy {theirs:7.2f} s {after}   "
          f"ratio {theirs / ours:.2f}   {len(here)} rows, "
          f"{'the same' if same else 'NOT THE SAME'}", flush=True)
    out, _, load = run([vitcl, "search", "-v", index, picture])
    ours = float(re.search(r"vectors of .* in ([0-9]+) ms", out.stderr).group(1)) / 1000
    theirs, _, after = run(other("search", index))
    theirs = float(theirs.stdout)
    load, after = load.split(", ")[1], after.split(", ")[1]
    print(f"search  vitcl {ours:7.3f} s ({load}   NumPy {theirs:7.3f} s ({after}   "
          f"ratio {theirs / ours:.2f}", flush=True)
    return same


def main():
    if sys.argv[1:2] == ["--numpy"]:
        what = {"dupes": numpy_dupes, "search": numpy_search}[sys.argv[2]]
        print(json.dumps(what(sys.argv[3])))
        return 0
    args = argparse.ArgumentParser(description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("vitcl")
    args.add_argument("folder", nargs="?")
    args.add_argument("--rows", type=int, default=100000)
    args.add_argument("--decay", type=float, default=0)
    args.add_argument("--store", choices=("f32", "f16"), default="f32")
    args.add_argument("--rounds", type=int, default=3)
    a = args.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        index, picture = make(a.vitcl, a.folder or temporary, a)
        same = [turn(a.vitcl, index, picture) for _ in range(a.rounds)]
    return 0 if all(same) else 1


if __name__ == "__main__":
    sys.exit(main())
