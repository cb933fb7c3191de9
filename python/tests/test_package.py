#!/usr/bin/env python3
"""test_package.py - the Python package answers as the program does, and takes
whatever a caller does without a crash.

Needs VITCL (the program), VITCL_LIBRARY and VT_DATA; ctest sets them.
"""
import gc
import io
import itertools
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import weakref

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is missing")
    sys.exit(77)
try:
    from PIL import Image, ImageOps
except ImportError:
    Image = None

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import vitcl  # noqa: E402
from vitcl import _c  # noqa: E402

DATA = pathlib.Path(os.environ["VT_DATA"])
sys.path.insert(1, str(DATA.parent / "support"))
import tensors  # noqa: E402

CIFAR = "builtin:cifar10"
TINY, WORDS = DATA / "models/timm_vit", DATA / "text/hf_words"
PICTURES = [DATA / "sample.jpg", DATA / "small.png"] + sorted(
    p for p in (DATA / "preprocess/in").rglob("*") if p.suffix in (".jpg", ".png")
    and "broken" not in p.parts)
GOOD = PICTURES[:12]


def program(*words):
    return subprocess.run([os.environ["VITCL"], *map(str, words)], capture_output=True)


def logits(model, pictures):
    """What the program says; NaN for pictures that it cannot read."""
    with tempfile.TemporaryDirectory() as folder:
        program("classify", "-q", "-m", model, "--logits", f"{folder}/x.npy", *pictures)
        return np.load(f"{folder}/x.npy")


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


class Answers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = vitcl.Model(CIFAR)
        cls.expected = logits(CIFAR, PICTURES)

    @classmethod
    def tearDownClass(cls):
        cls.model.close()

    def alike(self, pictures, expected=None, names=PICTURES):
        expected = self.expected if expected is None else expected
        got = self.model.logits(pictures, on_error="none")
        for a, b, name in zip(got, expected, itertools.chain(names, itertools.repeat(""))):
            self.assertTrue(same(a, b) or np.isnan(a).all() and np.isnan(b).all(), name)
        self.assertEqual(len(got), len(expected))

    def test_there_is_something_to_compare(self):
        self.assertGreater(np.isfinite(self.expected).all(1).sum(), 20)

    def test_paths(self):
        self.alike(PICTURES)
        self.alike([str(p) for p in PICTURES])
        self.alike(iter(PICTURES))
        for picture, row in list(zip(PICTURES, self.expected))[:3]:
            self.assertTrue(same(self.model.logits(picture), row))

    def test_bytes(self):
        self.alike([p.read_bytes() for p in PICTURES])
        self.alike([memoryview(bytearray(p.read_bytes())) for p in PICTURES])
        self.alike([io.BytesIO(p.read_bytes()) for p in PICTURES])
        with open(PICTURES[0], "rb") as file:
            self.assertTrue(same(self.model.logits(file), self.expected[0]))

    def test_stream_of_one(self):
        for one in (GOOD[0], str(GOOD[0]), GOOD[0].read_bytes()):
            self.assertEqual([a.label for a in self.model.stream(one)], ["ship"])
        totals = []
        list(self.model.stream(GOOD, progress=lambda done, total: totals.append(total)))
        self.assertEqual(totals, [len(GOOD)] * len(GOOD))

    @unittest.skipUnless(Image, "Pillow is missing")
    def test_pillow(self):
        pairs = []
        for picture, row in zip(PICTURES, self.expected):
            try:
                image = Image.open(picture)
                image.load()
            except OSError:
                continue
            turned = b"tiff:Orientation" in picture.read_bytes()
            if turned and 0x112 not in image.getexif():
                continue  # Pillow 9 does not read a JPEG's XMP
            pairs.append((image, row, picture))
        self.assertGreater(len(pairs), 20)
        images, rows, names = zip(*pairs)
        self.alike(images, rows, names)

    @unittest.skipUnless(Image, "Pillow is missing")
    def test_arrays(self):
        names = [DATA / "sample.jpg", DATA / "preprocess/in/exif6.jpg"]
        arrays = [np.asarray(ImageOps.exif_transpose(Image.open(n)).convert("RGB"))
                  for n in names]
        expected = logits(CIFAR, names)
        for change in (np.ascontiguousarray, np.asfortranarray,
                       lambda a: np.repeat(a, 2, 1)[:, ::2], lambda a: a[::-1].copy()[::-1]):
            self.alike([change(a) for a in arrays], expected)
        still = arrays[0].copy()
        still.flags.writeable = False
        self.assertTrue(same(self.model.logits(still), expected[0]))
        self.alike(np.stack([arrays[0]] * 3), [expected[0]] * 3)
        grey = np.asarray(Image.open(DATA / "preprocess/in/gray.jpg"))
        row = logits(CIFAR, [DATA / "preprocess/in/gray.jpg"])[0]
        for form in (grey, grey[:, :, None]):
            self.assertTrue(same(self.model.logits(form), row))

    @unittest.skipUnless(Image, "Pillow is missing")
    def test_opacity_is_the_models_rule(self):
        name = DATA / "preprocess/in/rgba.png"
        image = Image.open(name)
        for model in (CIFAR, DATA / "models/hf_clip_classes"):  # dropped, and on white
            row = logits(model, [name])[0]
            with vitcl.Model(model) as m:
                for form in (name, name.read_bytes(), image, np.asarray(image)):
                    self.assertTrue(same(m.logits(form), row), (model, type(form)))

    def test_classes(self):
        lines = program("classify", "-q", "-k", 3, *GOOD).stdout.decode().split("\n")[:-1]
        rows = [line.split("\t") for line in lines]
        answers = self.model.classify(GOOD, top=3)
        said = [[str(a.picture), str(k + 1), c.label, f"{c.probability:.6f}", a.sure]
                for a in answers for k, c in enumerate(a)]
        self.assertEqual(said, [[r[0], r[1], r[2], r[4], len(r) == 5] for r in rows])
        best = self.model.classify(GOOD[0])
        self.assertEqual((best.label, best.name, best.index), ("ship", "ship", 8))
        self.assertEqual((len(best), best[0].probability), (5, best.probability))
        self.assertEqual(len(self.model.classify(GOOD[0], top=100)), 10)
        self.assertEqual(self.model.labels[8], "ship")

    def test_names(self):
        with vitcl.Model(TINY) as model:
            best = model.classify(GOOD[0])
            line = program("classify", "-q", "-m", TINY, GOOD[0]).stdout.decode().split("\t")
            self.assertEqual([best.label, best.name], line[2:4])

    def test_vectors(self):
        with tempfile.TemporaryDirectory() as folder:
            program("embed", "-q", "-o", f"{folder}/x.npy", *GOOD)
            expected = np.load(f"{folder}/x.npy")
        self.assertTrue(same(self.model.embed(GOOD), expected))
        unit = self.model.embed(GOOD[0], normalize=True)
        self.assertAlmostEqual(float(np.linalg.norm(unit)), 1, 5)
        self.assertEqual(self.model.embed([]).shape, (0, 128))

    def test_inside(self):
        with vitcl.Model(TINY, batch=2) as model:
            info, tokens = model.info, model.features(GOOD[:3])
            self.assertEqual(tokens.shape, (3, info.tokens, info.width))
            self.assertTrue(same(model.features(GOOD[2]), tokens[2]))
            self.assertEqual(model.features(GOOD[0], "block.0").shape, tokens.shape[1:])
            with self.assertRaisesRegex(ValueError, "block.99.*: .*block.0, .*norm"):
                model.features(GOOD[0], "block.99")
            self.assertEqual(set(model._sessions), {("norm",), ("block.0",)})
            values = np.zeros((5, 3, info.input_height, info.input_width), np.float32)
            out = model.run(values)
            self.assertEqual(out.shape, (5, info.classes))
            self.assertTrue((out == out[0]).all())
            with self.assertRaises(TypeError):
                model.run(values[:, :2])

    def test_bad_pictures(self):
        with tempfile.TemporaryDirectory() as folder:
            bad = pathlib.Path(folder, "bad.jpg")
            bad.write_bytes(b"no picture")
            mixed = [GOOD[0], bad, GOOD[1], "nowhere.jpg", b"", GOOD[2]]
            with self.assertRaises(vitcl.VitclError) as caught:
                self.model.classify(mixed)
            self.assertEqual(caught.exception.picture, bad)
            self.assertIn("bad.jpg", str(caught.exception))
            with self.assertRaises(OSError) as caught:
                self.model.classify("nowhere.jpg")
            self.assertEqual(caught.exception.status, vitcl.Status.EIO)
            some = self.model.classify(mixed, on_error="skip")
            self.assertEqual([a.picture for a in some], GOOD[:3])
            gaps = self.model.classify(mixed, on_error="none")
            self.assertEqual([a and a.picture for a in gaps],
                             [GOOD[0], None, GOOD[1], None, None, GOOD[2]])
            rows = self.model.embed(mixed, on_error="none")
            self.assertEqual(np.isnan(rows).all(1).tolist(), [False, True, False, True, True, False])

    def test_not_finite(self):
        with tempfile.TemporaryDirectory() as folder:
            for file in TINY.iterdir():
                pathlib.Path(folder, file.name).write_bytes(file.read_bytes())
            file = pathlib.Path(folder, "model.safetensors")
            data = bytearray(file.read_bytes())
            n = int.from_bytes(data[:8], "little")
            at = 8 + n + json.loads(data[8:8 + n])["head.bias"]["data_offsets"][0]
            data[at:at + 4] = b"\0\0\xc0\x7f"
            file.write_bytes(data)
            with vitcl.Model(folder) as model:
                self.assertEqual(model.classify(GOOD, on_error="skip"), [])
                with self.assertRaisesRegex(vitcl.VitclError, "head.bias"):
                    model.classify(GOOD)
                self.assertTrue(np.isfinite(model.embed(GOOD)).all())

    def test_stream(self):
        taken = []

        def source():
            for i in range(100):
                taken.append(i)
                yield GOOD[i % 12]

        direct = self.model.classify(GOOD)
        for i, answer in enumerate(self.model.stream(source())):
            self.assertLessEqual(len(taken), i + 1 + 8 + 2 * 8 + 16)
            self.assertEqual(answer, direct[i % 12])
        self.assertEqual(len(taken), 100)
        taken.clear()
        for i, _ in zip(range(3), self.model.stream(source(), ahead=1)):
            self.assertEqual(len(taken), i + 1)
        inner = [self.model.classify(a.picture).label for a in self.model.stream(GOOD[:4])]
        self.assertEqual(inner, [a.label for a in direct[:4]])

    def test_progress(self):
        seen = []
        self.model.classify(GOOD, progress=lambda done, total: seen.append((done, total)))
        self.assertEqual(seen[-1], (12, 12))

        class Bar:
            n = 0

            def update(self, more):
                self.n += more

        bar = Bar()
        self.model.embed(iter(GOOD), progress=bar)
        self.assertEqual(bar.n, 12)

        def fails(done, total):
            raise LookupError(done)

        with self.assertRaises(LookupError):
            self.model.embed(GOOD, progress=fails)
        with self.assertRaises(LookupError):
            vitcl.Model(TINY, progress=fails).embed(GOOD)
        self.alike(PICTURES[:3], self.expected[:3])


class Texts(unittest.TestCase):
    def setUp(self):
        if os.environ.get("VITCL_NO_WORDS"):
            self.skipTest("built without utf8proc")

    def test_words(self):
        texts = ["a dog", "a cat on a mat", "rain", "a red car", "snow", "", "x", "y", "z"]
        with tempfile.TemporaryDirectory() as folder, vitcl.Model(WORDS) as model:
            pathlib.Path(folder, "t.txt").write_text("\n".join(texts[:5]))
            program("embed", "-q", "-m", WORDS, "--text", f"{folder}/t.txt", "-o", f"{folder}/x.npy")
            got = model.embed_text(texts)
            self.assertTrue(same(got[:5], np.load(f"{folder}/x.npy")))
            self.assertTrue(same(model.embed_text("rain"), got[2]))
            answers = program("classify", "-q", "-m", WORDS, "--labels", "a dog,rain", "--prompt",
                              "a photo of {}", GOOD[0]).stdout.decode().split("\n")[:-1]
            best = model.classify(GOOD[0], labels=["a dog", "rain"], prompts="a photo of {}")
            for line, c in zip(answers, best):
                self.assertEqual(line.split("\t")[2], c.label)
                self.assertAlmostEqual(float(line.split("\t")[4]), c.probability, 5)
            with self.assertRaisesRegex(vitcl.VitclError, "labels"):
                model.classify(GOOD[0])

    def test_no_words(self):
        with vitcl.Model(TINY) as model, self.assertRaises(vitcl.VitclError) as caught:
            model.embed_text("a dog")
        self.assertEqual(caught.exception.status, vitcl.Status.EUNSUPPORTED)


class Indexes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name, "index.safetensors")
        cls.copy = pathlib.Path(cls.folder.name, "again.jpg")
        cls.copy.write_bytes(GOOD[0].read_bytes())
        cls.pictures = [*GOOD, cls.copy]
        program("embed", "-q", "-m", TINY, "-o", cls.path, *cls.pictures)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_search(self):
        with vitcl.Model(TINY) as model, vitcl.Index(self.path) as index:
            self.assertEqual((len(index), index.pictures), (13, self.pictures))
            vectors = model.embed(self.pictures)
            self.assertTrue(same(index.vectors(), vectors))
            self.assertTrue(same(index.vectors(3, 2), vectors[3:5]))
            hits = index.search(picture=GOOD[0], model=model, top=4)
            lines = program("search", "-q", "-m", TINY, "-k", 4, self.path, GOOD[0]).stdout.decode()
            self.assertEqual([[f"{h.cosine:.6f}", str(h.path)] for h in hits],
                             [line.split("\t")[-2:] for line in lines.splitlines()])
            self.assertEqual(index.search(vectors[0], top=4), hits)
            self.assertEqual(index.search(vectors[:2], top=4)[0], hits)
            self.assertEqual(index.search(picture=GOOD[0], top=4), hits)
            self.assertEqual(len(index.search(vectors[0], top=100)), 13)
            self.assertEqual(index.search(vectors[0], least=1)[0].path, GOOD[0])
            for wrong in (lambda: index.search(vectors[0][:5]), lambda: index.vectors(12, 2),
                          lambda: index.search(np.zeros(vectors.shape[1], np.float32)),
                          lambda: index.search(vectors[0], top=0)):
                with self.assertRaises(ValueError):
                    wrong()
            with self.assertRaises(TypeError):
                index.search()
            for call in (lambda: index.search("a dog"), lambda: index.search(vectors, top="3"),
                         lambda: index.search(vectors, least="x"), lambda: index.dupes("x"),
                         lambda: index.search(picture=GOOD[0], model="mine")):
                with self.assertRaises(TypeError):
                    call()
            for row in (-1, len(index), 1 << 70):
                with self.assertRaisesRegex(ValueError, "row"):
                    index.picture(row)
            with vitcl.Model(CIFAR) as other, self.assertRaises(ValueError):
                index.search(picture=GOOD[0], model=other)
        with self.assertRaisesRegex(ValueError, "closed"):
            index.search(vectors[0])
        with self.assertRaises(OSError):
            vitcl.Index("nowhere.safetensors")

    def test_update(self):
        at = pathlib.Path(self.folder.name, "made.safetensors")
        bad = pathlib.Path(self.folder.name, "bad.jpg")
        bad.write_bytes(b"no picture")
        lines = []
        with vitcl.Model(TINY) as model:
            made = vitcl.Index.update(at, model, self.pictures[:5])
            self.assertEqual((made.rows, made.embedded), (5, 5))
            made = vitcl.Index.update(at, model, [*self.pictures, bad], on_error=lines.append)
            self.assertEqual((made.embedded, made.failed, len(lines)), (8, 1, 1))
            bad.unlink()
            with self.assertRaisesRegex(OSError, "bad.jpg"):
                vitcl.Index.update(at, model, [*self.pictures, bad])
        with vitcl.Index(at) as a, vitcl.Index(self.path) as b:
            self.assertTrue(same(a.vectors(0, 13), b.vectors()))

    def test_dupes(self):
        with vitcl.Index(self.path) as index:
            groups = index.dupes(0.9999)
            self.assertIn([GOOD[0], self.copy], [[h.path for h in g] for g in groups])
            self.assertEqual(groups[0][0].cosine, groups[0][1].cosine)

            def stop(done, total):
                raise LookupError

            with self.assertRaises(LookupError):
                index.dupes(progress=stop)


class Training(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.at = pathlib.Path(cls.folder.name)
        rng = np.random.default_rng(1)
        for part, n in (("train", 8), ("test", 2)):
            for k, name in enumerate(("blue", "green", "red")):
                (cls.at / "photos" / part / name).mkdir(parents=True)
                for i in range(n):
                    a = rng.integers(0, 60, (24, 24, 3), np.uint8)
                    a[:, :, 2 - k] += 180
                    (cls.at / "photos" / part / name / f"{i}.ppm").write_bytes(
                        b"P6\n24 24\n255\n" + a.tobytes())

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_finetune(self):
        events, seen = [], []
        last = vitcl.finetune(TINY, self.at / "photos", self.at / "mine", epochs=5, batch=8,
                              lr=0.01, random_state=1, split="train", hold_out=3,
                              on_step=events.append, freeze="blocks.0.*",
                              progress=lambda done, total: seen.append((done, total)) and None)
        self.assertEqual([e.step for e in events], list(range(1, last.steps + 1)))
        self.assertEqual((last.step, seen[-1]), (last.steps, (last.steps, last.steps)))
        self.assertTrue(events[-1].saved and events[-1].scored)
        with vitcl.Model(self.at / "mine") as model:
            scores = vitcl.evaluate(model, self.at / "photos", split="test", confusion=True)
            self.assertEqual((scores.pictures, scores.top1), (6, 1.0))
            self.assertEqual(scores.confusion.tolist(), (2 * np.eye(3, dtype=int)).tolist())
            self.assertEqual(model.classify(self.at / "photos/test/red/0.ppm").label, "red")

    def test_ended(self):
        out = self.at / "ended"
        options = dict(epochs=3, batch=8, split="train", augment="none")
        last = vitcl.finetune(TINY, self.at / "photos", out, on_step=lambda e: e.step == 2,
                              **options)
        self.assertEqual(last.step, 2)

        def fails(event):
            raise LookupError(event.step)

        with self.assertRaises(LookupError):
            vitcl.finetune(TINY, self.at / "photos", out, on_step=fails, resume=True, epochs=3)
        last = vitcl.finetune(TINY, self.at / "photos", out, resume=True, epochs=3)
        self.assertEqual(last.step, last.steps)
        with self.assertRaises(ValueError):
            vitcl.finetune(TINY, self.at / "photos", out, **options)
        with self.assertRaisesRegex(vitcl.VitclError, "^settings: .*optimiser"):
            vitcl.finetune(TINY, self.at / "photos", self.at / "x", settings={"optimiser": 1})

    def test_lora(self):
        def weight(folder):
            shape, numbers = tensors.numbers(folder / "model.safetensors")["blocks.0.attn.qkv.weight"]
            return np.reshape(numbers, shape)

        vitcl.finetune(TINY, self.at / "photos", self.at / "lora", epochs=2, batch=8, lr=0.1,
                       split="train", lora=2)
        changed = weight(self.at / "lora") - weight(TINY)
        self.assertEqual(np.linalg.matrix_rank(changed, 1e-5), 2)

    def test_train(self):
        last = vitcl.train("vit-ti/16", self.at / "photos", self.at / "scratch", batch=24,
                           height=32, width=32, split="train", settings={"optimizer": "sgd"})
        self.assertEqual((last.step, last.steps), (1, 1))
        with self.assertRaises(ValueError):
            vitcl.train("vit-none/16", self.at / "photos", self.at / "y")

    def long_calls(self):
        """Functions of the headers with a progress, as far as the package calls them."""
        def progresses(type_):
            type_ = getattr(type_, "_type_", type_)
            return type_ in (_c.vitcl_progress, _c.vitcl_train_report) or any(
                progresses(field[1]) for field in getattr(type_, "_fields_", ())
                if field[1] is not type_)

        source = "".join(p.read_text() for p in pathlib.Path(vitcl.__file__).parent.glob("_*.py")
                         if p.name != "_c.py")
        return {name for name, (_, types, _) in _c.FUNCTIONS.items()
                if name in source and any(map(progresses, types))}

    def test_ctrl_c_ends_each_long_call(self):
        index, photos = self.at / "index.safetensors", self.at / "photos"
        program("embed", "-q", "-m", TINY, "-o", index, photos)
        vitcl.finetune(TINY, photos, self.at / "judge", split="train", batch=8)
        judge = vitcl.Model(self.at / "judge")
        model, opened = vitcl.Model(TINY), vitcl.Index(index)
        number = itertools.count()
        cases = {
            "vitcl_session_new": lambda: model.copy().logits(GOOD[0]),
            "vitcl_session_compute": lambda: model.logits(GOOD),
            "vitcl_evaluate": lambda: vitcl.evaluate(judge, photos, split="train"),
            "vitcl_index_search": lambda: opened.search(opened.vectors()),
            "vitcl_index_dupes": opened.dupes,
            "vitcl_index_update": lambda: vitcl.Index.update(
                self.at / f"u{next(number)}.safetensors", model, photos),
            "vitcl_train": lambda: vitcl.finetune(
                TINY, photos, self.at / f"n{next(number)}", split="train", batch=8)}
        if not os.environ.get("VITCL_NO_WORDS"):
            words = vitcl.Model(WORDS)
            cases["vitcl_text_labels"] = lambda: words._tower().labels(["a", "b"] * 30, ())
        self.assertEqual(self.long_calls() - set(cases), set(), "new long calls need a case")
        for name, call in cases.items():
            call()
            sent = []

            def send():
                sent.append(time.monotonic())
                os.kill(os.getpid(), signal.SIGINT)

            timer = threading.Timer(0.1, send)
            timer.start()
            with self.assertRaises(KeyboardInterrupt, msg=name):
                while not sent or time.monotonic() - sent[0] < 10:
                    call()
            self.assertLess(time.monotonic() - sent[0], 10, name)  # 1 on a quiet machine
            call()
        self.assertEqual(model.logits(GOOD).shape[0], len(GOOD))

    def test_convert(self):
        vitcl.convert(TINY, self.at / "hf", "hf")
        with self.assertRaisesRegex(ValueError, "exists already"):
            vitcl.convert(TINY, self.at / "hf", "timm")
        with vitcl.Model(TINY) as a, vitcl.Model(self.at / "hf") as b:
            values = np.ones((1, 3, a.info.input_height, a.info.input_width), np.float32)
            self.assertTrue(same(a.run(values), b.run(values)))


class Manners(unittest.TestCase):
    def test_wrong_types(self):
        with vitcl.Model(TINY) as model:
            for wrong in (1, None, 1.5, [1], [None], object(), {"a": 1}.values(),
                          np.zeros((4, 4, 3)), np.zeros((4, 4, 3), np.int8),
                          np.zeros((4, 4, 5), np.uint8), np.zeros((1, 1, 4, 4, 3), np.uint8),
                          [np.zeros(3, np.uint8)]):
                with self.assertRaises(TypeError, msg=repr(wrong)):
                    model.classify(wrong)
            for wrong in (np.zeros((0, 4, 3), np.uint8), "a\0b", "\ud800"):
                with self.assertRaises(ValueError, msg=repr(wrong)):
                    model.classify(wrong)
            for call in (lambda: model.classify(GOOD[0], top=0),
                         lambda: model.classify(GOOD, on_error="no"),
                         lambda: vitcl.Model(TINY, precision="f8"),
                         lambda: vitcl.Model(TINY, precision=16),
                         lambda: vitcl.Model(TINY, batch=0),
                         lambda: vitcl.Model(TINY, batch=1 << 40).embed(GOOD[:1]),
                         lambda: vitcl.Model(TINY, size=(-1, 5)), lambda: model.copy(batch=0),
                         lambda: list(model.stream(GOOD, ahead=0)),
                         lambda: vitcl.Model(TINY, size=(7, 7)).embed(GOOD[0])):
                with self.assertRaises(ValueError):
                    call()
            for call in (lambda: vitcl.Model(7), lambda: vitcl.Model(TINY, batch="8"),
                         lambda: vitcl.Model(TINY, size=224),
                         lambda: vitcl.Model(TINY, gemm=3).embed(GOOD[0]),
                         lambda: model.classify(GOOD[0], top="3"), lambda: model.run(5),
                         lambda: model.classify(GOOD[0], labels="a cat"),
                         lambda: model.features(GOOD[0], 3), lambda: vitcl.set_log(5),
                         lambda: vitcl.evaluate("mine", "nowhere"),
                         lambda: vitcl.Index.update("x.safetensors", "mine", GOOD),
                         lambda: vitcl.finetune(TINY, "nowhere", "x", on_step=5),
                         lambda: vitcl.finetune(TINY, "nowhere", "x", lr="high")):
                with self.assertRaises(TypeError):
                    call()
            with self.assertRaisesRegex(ValueError, "batch cannot be 1099511627776"):
                vitcl.finetune(TINY, "nowhere", "x", batch=1 << 40)
            precise = vitcl.Model(TINY, precision=vitcl.Precision.F32, batch=np.int64(2))
            self.assertEqual(precise.embed(GOOD[:1]).shape[0], 1)
            with self.assertRaises(OSError):
                vitcl.Model("/nowhere")
            with self.assertRaises(vitcl.VitclError) as caught:
                vitcl.Model(CIFAR, device="no such device")
            self.assertEqual(caught.exception.status, vitcl.Status.ENODEVICE)

    def test_closed(self):
        with vitcl.Model(TINY) as model:
            stream = model.stream(GOOD)
            next(stream)
            other = model.copy()
        model.close()
        for call in (lambda: model.classify(GOOD[0]), lambda: model.embed(GOOD),
                     lambda: model.info, model.copy, lambda: model.embed_text("a"),
                     lambda: list(model.stream(GOOD)), lambda: list(stream)):
            with self.assertRaisesRegex(ValueError, "closed"):
                call()
        self.assertEqual(other.embed(GOOD).shape[0], len(GOOD))
        self.assertIn("closed", repr(model))
        other.close()

    def test_dropped(self):
        for _ in range(3):
            stream = vitcl.Model(TINY).stream(GOOD)
            next(stream)
            del stream
            gc.collect()

    def test_devices(self):
        first = vitcl.devices()[0]
        with vitcl.Model(TINY, device=first.id) as model:
            self.assertEqual(model.embed(GOOD[0]).ndim, 1)

    def test_log(self):
        lines = []
        vitcl.set_log(lines.append)
        vitcl.Model(TINY).embed(GOOD[0])
        vitcl.set_log(None)
        self.assertTrue(lines)

    def test_threads(self):
        with vitcl.Model(CIFAR) as model:
            expected, wrong = model.logits(GOOD), []

            def work(own):
                for _ in range(3):
                    if not same(own.logits(GOOD), expected):
                        wrong.append(own)

            for models in ([model] * 4, [model.copy(batch=2) for _ in range(4)]):
                threads = [threading.Thread(target=work, args=(m,)) for m in models]
                [t.start() for t in threads]
                [t.join() for t in threads]
            self.assertEqual(wrong, [])

    def test_closed_by_another_thread(self):
        model = vitcl.Model(CIFAR)
        ends = []

        def work():
            try:
                model.embed(itertools.repeat(np.zeros((500, 500, 3), np.uint8)))
            except ValueError as e:
                ends.append(str(e))

        thread = threading.Thread(target=work)
        thread.start()
        time.sleep(0.2)
        model.close()
        thread.join()
        self.assertEqual(ends, ["this model is closed"])

    def child(self, code, stop=None):
        """(exit status, output) of a Python that runs the code; SIGINT where it says so."""
        head = ("import os, sys, time, signal, numpy as np, vitcl\n"
                f"sample = {str(GOOD[0])!r}\n")
        run = subprocess.Popen([sys.executable, "-c", head + code], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT,
                               env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
        if stop:
            for line in run.stdout:
                if line == b"now\n":
                    break
            time.sleep(0.3)
            run.send_signal(signal.SIGINT)
        said = run.communicate(timeout=60)[0].decode()
        return run.returncode, said

    def test_fork(self):
        code, said = self.child("""
model = vitcl.Model("builtin:cifar10")
model.classify(sample)
pid = os.fork()
if pid == 0:
    for call in (lambda: model.classify(sample), lambda: vitcl.Model("builtin:cifar10"),
                 lambda: list(model.stream([sample])), vitcl.devices, lambda: model.info):
        try:
            call()
        except RuntimeError as e:
            assert "spawn" in str(e), e
        else:
            os._exit(1)
    model.close()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
print(model.classify(sample).label)
""")
        self.assertEqual((code, said), (0, "ship\n"))

    def test_ctrl_c(self):
        for call in ("for _ in range(10000): model.embed([sample] * 64)",
                     "model.embed(np.zeros((300, 300, 3), np.uint8) for _ in range(10**6))",
                     "list(model.stream([sample] * 10**6))",
                     "model.embed([sample] * 10**6, progress=lambda done, total: None)"):
            code, said = self.child(f"""
model = vitcl.Model("builtin:cifar10")
model.classify([sample] * 8)
print("now", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("stopped")
start = time.time()
model.close()
print(time.time() - start < 5)
""", stop=True)
            self.assertEqual((code, said), (0, "stopped\nTrue\n"), call)

    def test_ctrl_c_while_a_handle_is_dropped(self):
        """Python drops what a finalizer raises."""
        class Owner:
            pass

        owner = Owner()
        weakref.finalize(owner, vitcl._library._let_go,
                         lambda _: signal.raise_signal(signal.SIGINT), None)
        began = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            del owner
            time.sleep(60)
        self.assertLess(time.monotonic() - began, 30)  # it ends a sleep, too

    def test_nothing_is_left(self):
        code, said = self.child("""
import gc, resource, threading
model = vitcl.Model("builtin:cifar10")
array = np.zeros((64, 64, 3), np.uint8)
def use(n):
    for _ in range(n):
        model.classify(sample)
        model.embed([array, array])
        try: model.classify("nowhere")
        except OSError: pass
    gc.collect()
    size = int(open("/proc/self/statm").read().split()[1]) * 4
    return size, len(os.listdir("/proc/self/fd")), threading.active_count()
use(30)
a = use(30)
b = use(90)
print(b[0] - a[0] < 4096, a[1:] == b[1:])
""")
        self.assertEqual((code, said), (0, "True True\n"))

    def test_without_opencl(self):
        """import works; the first device says in one line what to install."""
        code, said = self.child("""
os.environ["OCL_ICD_VENDORS"] = "/var/empty"
try:
    vitcl.Model("builtin:cifar10")
except vitcl.VitclError as e:
    print(e.status == vitcl.Status.ENODEVICE, "\\n" in str(e), e)
""")
        self.assertEqual(code, 0)
        self.assertTrue(said.startswith("True False no OpenCL device"), said)


if __name__ == "__main__":
    unittest.main()
