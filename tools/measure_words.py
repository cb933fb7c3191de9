#!/usr/bin/env python3
"""measure_words.py BUILD MODEL [FOLDER] - what words cost.

MODEL: a folder of CLIP with its tokenizer, such as ViT-B/32. Prints:

- from words to an answer, in a process that holds the text tower and an index
  of a million vectors in 16 bits (BUILD/tests/answers), and a copy of as many
  bytes; then a whole `vitcl search --text`;
- `classify --labels` with 1,000 labels, whose vectors are kept from a first
  start, beside `embed` of the same pictures, in turns.

Of each the shortest time of all rounds and the least processor time, which
depends less on what else the machine does. The index (1 GB for vectors of 512)
is written into FOLDER, or a temporary one.
"""
import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time


def run(*command):
    """Seconds, and those of the processor."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    took, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def least(rows):
    return [min(column) for column in zip(*rows)]


def pictures(folder, count):
    random.seed(1)
    os.makedirs(folder, exist_ok=True)
    for i in range(count):
        with open(os.path.join(folder, f"{i:03}.ppm"), "wb") as f:
            f.write(b"P6 224 224 255\n" + random.randbytes(3 * 224 * 224))


def search(vitcl, answers, model, folder, a):
    one, index = (os.path.join(folder, x) for x in ("one.safetensors", "index.safetensors"))
    run(vitcl, "embed", "-q", "-m", model, "-o", one, os.path.join(folder, "pictures", "000.ppm"))
    run(answers, "make", one, index, str(a.rows))
    out = subprocess.run([answers, model, index, str(a.rounds + 1)], check=True, capture_output=True, text=True).stdout
    rows = [[float(x) for x in line.split()] for line in out.splitlines()]
    text, found, text_used, found_used, copy = least(rows[1:])
    print(f"words to answer, {a.rows} vectors: text {text:.1f} + search {found:.1f} ms; processor {text_used:.1f} + {found_used:.1f} ms, "
          f"copy {copy:.0f} ms")
    took, used = least([run(vitcl, "search", "-q", index, "--text", "a dog on a beach") for _ in range(a.rounds)])
    print(f"vitcl search --text: {took:.2f} s, processor {used:.2f} s")


def labels(vitcl, model, folder, a):
    path, of = os.path.join(folder, "labels.txt"), os.path.join(folder, "pictures")
    with open(path, "w") as f:
        f.write("".join(f"a thing of kind {i}\n" for i in range(1000)))
    classify = [vitcl, "classify", "-q", "-m", model, "--labels", path, of]
    embed = [vitcl, "embed", "-q", "-m", model, of]
    print(f"classify --labels, first start: {run(*classify)[0]:.1f} s")
    rows = [run(*classify) + run(*embed) for _ in range(a.rounds)]
    took, used, embed_took, embed_used = least(rows)
    print(f"{a.pictures} pictures: classify --labels {took:.2f} s, processor {used:.2f} s; embed {embed_took:.2f} s, processor "
          f"{embed_used:.2f} s; ratio {used / embed_used:.3f}")


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("build")
    args.add_argument("model")
    args.add_argument("folder", nargs="?")
    args.add_argument("--rows", type=int, default=1000000)
    args.add_argument("--pictures", type=int, default=64)
    args.add_argument("--rounds", type=int, default=8)
    a = args.parse_args()
    vitcl, answers = os.path.join(a.build, "vitcl"), os.path.join(a.build, "tests", "answers")
    with tempfile.TemporaryDirectory() as temporary:
        folder = a.folder or temporary
        pictures(os.path.join(folder, "pictures"), a.pictures)
        labels(vitcl, a.model, folder, a)
        search(vitcl, answers, a.model, folder, a)
    return 0


if __name__ == "__main__":
    sys.exit(main())
