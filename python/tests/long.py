#!/usr/bin/env python3
"""long.py PROGRAM MODEL PICTURES [SECONDS [PART...]] - what test_package.py is too short for.

PICTURES is a folder of photographs. The parts: each kind of input gives the bits of the
program PROGRAM (answers); eight threads with a model each (threads); throughput beside the
program's (throughput); 10,000 calls without growth (growth); for so many seconds (600)
arrays, names and states of models that hypothesis makes up: exceptions, and no crash
(hypothesis). Needs NumPy, Pillow and hypothesis, and VITCL_LIBRARY.
"""
import ctypes
import gc
import io
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import vitcl  # noqa: E402

program, name, folder = sys.argv[1:4]
seconds = float(sys.argv[4]) if sys.argv[4:] else 600
parts = sys.argv[5:] or "answers threads throughput growth hypothesis".split()
pictures = sorted(p for p in pathlib.Path(folder).iterdir() if p.is_file())
expected_errors = (TypeError, ValueError, OSError, MemoryError, vitcl.VitclError)


def say(*words):
    print(*words, flush=True)


def same(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def bits():
    with tempfile.TemporaryDirectory() as at:
        subprocess.run([program, "classify", "-q", "-m", name, "--logits", f"{at}/x.npy",
                        *pictures], check=True, stdout=subprocess.DEVNULL)
        return np.load(f"{at}/x.npy")


def answers(model):
    expected = bits()
    same(model.logits(pictures), expected)
    same(model.logits(p.read_bytes() for p in pictures), expected)
    same(model.logits(map(Image.open, pictures)), expected)
    plain = [i for i, p in enumerate(pictures) if Image.open(p).mode == "RGB"]
    same(model.logits(np.asarray(Image.open(pictures[i])) for i in plain), expected[plain])
    for i in range(5):
        same(model.logits(pictures[i]), expected[i])
    say(f"{len(pictures)} pictures, {len(plain)} of them as arrays: the program's bits")


def threads(model):
    wrong, expected = [], bits()

    def work():
        with model.copy(batch=4) as own:
            for _ in range(2):
                if own.logits(pictures[:40]).tobytes() != expected[:40].tobytes():
                    wrong.append(1)

    them = [threading.Thread(target=work) for _ in range(8)]
    [t.start() for t in them]
    [t.join() for t in them]
    assert not wrong
    say("eight threads with a model each: the same bits")


def growth():
    """In kB, of what is allocated and of the resident memory, which also has the heap's
    free parts: by 10,000 calls after the first 10,000."""
    libc = ctypes.CDLL(None)

    class Heap(ctypes.Structure):
        _fields_ = [(n, ctypes.c_size_t) for n in ("arena ordblks smblks hblks hblkhd usmblks "
                                                   "fsmblks uordblks fordblks keepcost").split()]

    libc.mallinfo2.restype = Heap
    with vitcl.Model("builtin:cifar10") as model:
        array, data = np.zeros((40, 40, 3), np.uint8), pictures[0].read_bytes()

        def use(n):
            for i in range(n):
                (model.classify(array), model.embed([array] * 3), model.classify(data),
                 model.classify([pictures[0], "nowhere"], on_error="skip"))
            gc.collect()
            libc.malloc_trim(0)
            heap = libc.mallinfo2()
            return np.array([(heap.uordblks + heap.hblkhd) / 1024,
                             int(open("/proc/self/statm").read().split()[1]) * 4])

        first, then = use(2500), use(2500)  # four calls each
        say("10,000 calls after 10,000: %.0f kB more allocated, %.0f resident" % tuple(then - first))
        assert (then - first < [128, 2048]).all()


STREAM = """
import pathlib, sys, vitcl
with vitcl.Model(sys.argv[1]) as model:
    for answer in model.stream(sorted(pathlib.Path(sys.argv[2]).iterdir())):
        pass
"""


def costs(*words):
    """Seconds of a process, on the wall and of processors."""
    def used():
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        return np.array([time.monotonic(), now.ru_utime + now.ru_stime])

    before = used()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, env={
        **os.environ, "PYTHONPATH": sys.path[0]})
    return used() - before


def throughput():
    """1,000 pictures: the program's seconds by the package's, alternately, twice. Both
    start and open the model."""
    with tempfile.TemporaryDirectory() as at:
        many = []
        for i in range(1000):
            file = pathlib.Path(at, f"{i:04}{pictures[0].suffix}")
            file.symlink_to(pictures[i % len(pictures)].resolve())
            many.append(file)
        ours = theirs = 0.0
        for _ in range(2):
            theirs += costs(program, "classify", "-q", "-m", name, *many)
            ours += costs(sys.executable, "-c", STREAM, name, at)
        say("1,000 pictures: program %.1f s, package %.1f s, ratio %.2f; of processors' time "
            "%.1f s, %.1f s, %.2f" % sum(zip(theirs / 2, ours / 2, theirs / ours), ()))


# ---- what hypothesis makes up

@st.composite
def arrays(draw):
    shape = draw(st.one_of(hnp.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=40),
                           st.tuples(st.integers(0, 60), st.integers(0, 60), st.integers(1, 5))))
    kind = draw(st.sampled_from(["u1", "u1", "u1", "i1", "f4", "f8", ">u2", "?", "c8", "S3"]))
    a = np.zeros(shape, kind)
    how = draw(st.integers(0, 6))
    a = np.asfortranarray(a) if how == 1 else a
    a = a[::-1] if how == 2 and a.ndim else a
    a = a[:, ::-2] if how == 3 and a.ndim > 1 else a
    a = a.T if how == 4 else a
    a = np.broadcast_to(a, (2, *a.shape)) if how == 5 else a
    if how == 6:
        a.flags.writeable = False
    return a


names = st.one_of(st.text(max_size=30), st.binary(max_size=200),
                  st.text(alphabet="\0\ud800/~.$%\n", max_size=8))
things = st.recursive(
    st.one_of(names, st.none(), st.integers(), st.floats(), arrays(), st.just(folder),
              st.builds(io.BytesIO, st.binary(max_size=9)),
              st.sampled_from("1 L LA P RGB RGBA CMYK I F I;16".split()).map(
                  lambda mode: Image.new(mode, (5, 3)))),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.tuples(inner),
                            st.dictionaries(st.text(max_size=3), inner, max_size=2)),
    max_leaves=6)
few = settings(max_examples=25, deadline=None, database=None,
               suppress_health_check=list(HealthCheck))


def tried(call):
    try:
        call()
    except expected_errors:
        pass


@few
@given(things, st.integers(-3, 20), st.sampled_from(["raise", "skip", "none", "x"]),
       st.one_of(st.none(), st.integers(-2, 5)))
def any_pictures(thing, top, on_error, ahead):
    for call in (lambda: used.classify(thing, top, on_error=on_error), lambda: used.embed(thing),
                 lambda: list(used.stream(thing, top, on_error=on_error, ahead=ahead)),
                 lambda: used.features(thing), lambda: used.run(thing),
                 lambda: index.search(thing, top=top), lambda: index.search(picture=thing),
                 lambda: index.picture(thing), lambda: index.vectors(top, ahead),
                 lambda: used.copy(batch=ahead), lambda: vitcl.Model(thing, batch=top),
                 lambda: index.dupes(thing)):
        tried(call)


@few
@given(names, names, st.one_of(st.none(), st.tuples(st.integers(-5, 99), st.integers(-5, 99))))
def any_names(a, b, size):
    for call in (lambda: vitcl.Model(a, size=size), lambda: vitcl.Model(a, device=b),
                 lambda: vitcl.Model("builtin:cifar10", size=size).embed(pictures[0]),
                 lambda: vitcl.Index(a), lambda: used.features(pictures[0], a),
                 lambda: used.embed_text(a), lambda: used.classify(pictures[0], labels=[a]),
                 lambda: vitcl.evaluate(used, a, split=b)):
        tried(call)


@few
@given(st.lists(st.sampled_from("classify embed stream next close copy drop thread gc".split()),
                max_size=12))
def any_states(todo):
    model, streams, running, others = used.copy(batch=2), [], [], []
    a = np.zeros((20, 20, 3), np.uint8)
    for what in todo:
        try:
            if what == "classify":
                model.classify(a)
            elif what == "embed":
                model.embed([a] * 3)
            elif what == "stream":
                streams.append(model.stream([a] * 9))
            elif what == "next" and streams:
                next(streams[-1], None)
            elif what == "close":
                model.close()
            elif what == "copy":
                others.append(model)
                model = model.copy()
            elif what == "drop":
                streams, others = streams[1:], others[1:]
            elif what == "thread":
                running.append(threading.Thread(
                    target=lambda m=model: tried(lambda: m.embed([a] * 5))))
                running[-1].start()
            elif what == "gc":
                gc.collect()
        except ValueError as e:
            assert "closed" in str(e), e
    [t.join() for t in running]


with vitcl.Model(name) as model:
    for part in (answers, threads):
        if part.__name__ in parts:
            part(model)
for part in (throughput, growth):
    if part.__name__ in parts:
        part()
if "hypothesis" in parts:
    used = vitcl.Model("builtin:cifar10", batch=4)
    with tempfile.TemporaryDirectory() as at:
        vitcl.Index.update(f"{at}/x.safetensors", used, pictures[:20])
        index = vitcl.Index(f"{at}/x.safetensors")
        end, rounds = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            any_pictures()
            any_names()
            any_states()
            rounds += 1
    say(f"hypothesis: {75 * rounds} examples")
