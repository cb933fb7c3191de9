#!/usr/bin/env python3
"""test_study.py - what studies draw, choose, remember and say.

Runs keep their names, and drawn pictures their bytes, so that a study that was begun with
another version goes on. tests/cli/study*.sh start the command.
"""
import hashlib
import math
import os
import pathlib
import sys
import tempfile
import types
import unittest
import unittest.mock

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is missing")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from vitcl.study import _data, _drawn, _frame, _plan, _report  # noqa: E402
from vitcl.study._frame import Rate, Run  # noqa: E402
from vitcl.study._program import StudyError  # noqa: E402
from vitcl.study._random import Random  # noqa: E402
from vitcl.study.studies import STUDIES, resolution  # noqa: E402

SEEN = 19  # pixels that a convolutional network looks at


def windows(picture, size, step):
    """All windows of this size, sorted: without the places."""
    n = len(picture)
    return sorted(picture[y:y + size, x:x + size].tobytes()
                  for y in range(0, n - size + 1, step) for x in range(0, n - size + 1, step))


class Drawn(unittest.TestCase):
    def look_alike(self, a, b, size, step):
        self.assertFalse(np.array_equal(a, b))
        self.assertEqual(windows(a, size, step), windows(b, size, step))

    def keeps_off_the_border(self, picture):
        """No window has a mark and padding."""
        inside = slice(SEEN - 1, len(picture) - SEEN + 1)
        border = np.ones(picture.shape[:2], bool)
        border[inside, inside] = False
        self.assertTrue((picture[border] == picture[0, 0]).all())

    def test_tiles_of_a_group_are_the_same_and_a_class_is_a_place(self):
        places = []
        for index in range(80):
            picture = _drawn.arrangement(1, index).transpose(1, 2, 0)
            first = _drawn.arrangement(1, index // 4 * 4).transpose(1, 2, 0)
            self.assertEqual(windows(picture, 8, 8), windows(first, 8, 8))
            bright = picture.reshape(4, 8, 4, 8, 3).mean((1, 3, 4)) > 120
            self.assertEqual(bright.sum(), 4)
            places.append(bright.tobytes())
        self.assertEqual(len(set(places)), 4)
        self.assertEqual(places, places[:4] * 20)

    def test_tests_are_other_pictures(self):
        for index in range(30):
            picture = _drawn.arrangement(1, index)
            self.assertTrue(np.array_equal(picture, _drawn.arrangement(1, index)))
            self.assertFalse(np.array_equal(picture, _drawn.arrangement(2, index)))
            self.assertFalse(np.array_equal(picture, _drawn.arrangement(1, index + 4)))

    def test_far_apart_they_look_alike_in_both_classes(self):
        for index in range(0, 12, 2):
            a, b = _drawn.apart(1, index), _drawn.apart(1, index + 1)
            self.keeps_off_the_border(a)
            self.look_alike(a, b, SEEN, 1)
            self.look_alike(a, b, 16, 16)

    def test_a_square_is_shifted_by_two_patches(self):
        for index in range(20):
            a, b = _drawn.shift(2, index, False), _drawn.shift(2, index, True)
            self.keeps_off_the_border(a)
            self.keeps_off_the_border(b)
            self.assertTrue(np.array_equal(a[:, :-32], b[:, 32:]))
            if index % 4:
                self.look_alike(_drawn.shift(1, index // 4 * 4, False),
                                _drawn.shift(1, index, False), 16, 16)

    def test_pictures_keep_their_bytes(self):
        known = hashlib.sha256()
        for state in 1, 2:
            for i in range(40):
                for picture in (_drawn.arrangement(state, i), _drawn.apart(state, i),
                                _drawn.shift(state, i, state == 2)):
                    known.update(picture.tobytes())
        random = Random(3, 0x705, 0)
        known.update(np.array([0.02 * random.normal() for _ in range(1000)], "<f4").tobytes())
        self.assertEqual(known.hexdigest(),
                         "33d9e0f3dbecf872cd2bbd4eac85967b9d72d8a9da8c288dcc481a13b23c6e2d")


class Data(unittest.TestCase):
    def test_large_classes_give_what_small_ones_lack(self):
        part = _data.Listing("folders", "", ["a", "b"], [0] * 10 + [1] * 4, ["x"] * 14)
        self.assertEqual(_data.quotas([10, 4], 12, range(2)), [8, 4])
        self.assertEqual(_data.quotas([10, 4], 5, range(2)), [3, 2])
        chosen = part.choose(6, range(2))
        self.assertEqual([part.labels[i] for i in chosen], [0, 0, 0, 1, 1, 1])
        self.assertEqual(part.choose(3, range(1, 2)), [11, 12, 13])

    def test_one_in_five_is_a_test_picture(self):
        labels = [0] * 11 + [1] * 6
        train, test = (_data.Listing("folders", "", ["a", "b"], labels, ["x"] * 17, share)
                       for share in (False, True))
        self.assertEqual(test.choose(9, range(2)), [4, 9, 15])
        self.assertEqual(len(train.choose(99, range(2))), 14)

    def test_data_are_known_by_what_is_in_them(self):
        with tempfile.TemporaryDirectory() as folder:
            def at(name, pictures, labels=(0, 1)):
                place = pathlib.Path(folder, name)
                place.mkdir()
                paths = [place / f"{name}{i}.ppm" for i in range(len(pictures))]
                for path, picture in zip(paths, pictures):
                    path.write_bytes(picture)
                part = _data.Listing("folders", "", ["a", "b"], list(labels),
                                     list(map(str, paths)), False)
                return _data.content(types.SimpleNamespace(listings=[part, part], kind="folders"))

            long = b"a" * 5000, b"b" * 9000
            known = at("one", long)
            self.assertEqual(at("two", long), known)
            others = (at("three", (long[1], long[0])), at("four", long, (1, 0)),
                      at("five", (long[0] + b"a", long[1])), at("six", (long[0], b"c" + long[1][1:])))
            self.assertNotIn(known, others)

    def test_a_field_is_no_formula(self):
        self.assertEqual(_data._field("=1", "'"), "'=1")
        self.assertEqual(_data._field('a, "b"', ""), '"a, ""b"""')

    def test_positions_are_drawn_or_interpolated(self):
        rows = np.arange(8, dtype=np.float32).reshape(4, 2)
        wide = resolution.interpolated(rows)
        self.assertEqual(wide.shape, (16, 2))
        self.assertEqual(wide[0].tolist(), [0, 1])
        self.assertAlmostEqual(float(wide[2, 0]), 0.25)
        self.assertFalse(np.array_equal(resolution.redrawn(rows, 1), resolution.redrawn(rows, 2)))


def experiment(name, folder="/nowhere", **values):
    """All runs of a study, with made-up rates."""
    study = next(s for s in STUDIES if s.name == name)
    e = _frame.Experiment(study, _frame.Options(pathlib.Path(folder)), types.SimpleNamespace())
    values = {"data": "/data", "content": "/data", "kind": "cifar10", "classes": 10, "all_pictures": 50000,
              "all_tests": 10000, "rest_pictures": 20000, "pictures": 1000, "epochs": 8,
              "tests": 2000, **values}
    for key, value in values.items():
        setattr(e, key, value)
    return e


class Names(unittest.TestCase):
    def test_the_data_as_python_3_9_finds_it(self):
        real = os.path.realpath
        with unittest.mock.patch("os.path.realpath", lambda path: real(path)):
            self.assertEqual(_plan._real("."), real("."))
            with self.assertRaisesRegex(StudyError, "nowhere: No such file"):
                _plan._real("nowhere")


class Runs(unittest.TestCase):
    def test_runs_keep_their_names(self):
        """Of a study that was begun with another version."""
        known = hashlib.sha256()
        for study in STUDIES:
            if study.list:
                e = experiment(study.name)
                e.list_runs()
                for r in e.runs:
                    known.update(f"{r.id} {e.rate_id(r)}\n".encode())
        self.assertEqual(known.hexdigest(),
                         "71bcda1ad5f538a1a0377b27f07be6c508f358753293d1a76ca8e8868899f2b2")

    def test_the_best_rate_is_that_of_all_tries(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "files").mkdir()
            e = experiment("head", folder)
            e.list_runs()
            self.assertEqual([r.waits for r in e.runs], ([False] * 4 + [True] * 3) * 2)
            for r, accuracy in zip(e.runs, ("0.2", "0.4", "0.4", "null")):
                e.result_path(r).write_text(
                    f'{{"accuracy": {accuracy}, "shot_mean": [], "shot_sd": [], "seconds": 1.5}}')
            e.list_runs()
            self.assertEqual([r.lr for r in e.runs[4:7]], [1e-3] * 3)

    def test_what_is_frozen_costs_less(self):
        e = experiment("head")
        run = Run("a", e.vit(), name="a", lr=1, freeze="x", pictures=100, epochs=2, batch=64)
        whole = Run("a", e.vit(), name="b", lr=1, pictures=100, epochs=2, batch=64)
        e.rates = [Rate(e.rate_id(whole), 0.01, 0.003, 0.5, 0.001, 1)]
        frozen = e.cost(e.add(run)).seconds
        self.assertAlmostEqual(e.cost(whole).seconds - frozen, 200 * (0.01 - 0.003))

    def test_wrong_names_are_refused(self):
        e = experiment("head")
        for name in "", "a/b", ".a":
            with self.assertRaises(_frame.StudyError):
                e.add(Run("a", "", name=name))


class Verdicts(unittest.TestCase):
    """A verdict does not deny a difference that is within chance."""

    def read(self, name, arms, **values):
        e = experiment(name, **values)
        for arm, accuracies in arms.items():
            for accuracy in accuracies:
                e.runs.append(Run(arm, "", accuracy=accuracy, state=1, done=True))
        return e

    def sizes(self, vit, net):
        """Two tries of each, 8 points apart."""
        arms = {f"{family}-1of{part}": (mean - 0.04, mean + 0.04)
                for family, means in (("vit", vit), ("resnet", net))
                for part, mean in zip((16, 4, 1), means)}
        e = self.read("data-size", arms, pictures=160)
        e.study.read(e)
        return e.verdict

    def test_resnet_is_ahead_within_chance(self):
        said = self.sizes((0.3, 0.4, 0.5), (0.31, 0.41, 0.51))
        self.assertIn("the ResNet is not better than the ViT by more than chance: ", said)
        self.assertIn("They do not cross by more than chance", said)

    def test_vit_passes_within_chance(self):
        said = self.sizes((0.3, 0.4, 0.51), (0.6, 0.5, 0.5))
        self.assertIn("the ViT does not surpass it by more than chance: ", said)
        self.assertIn("They do not cross by more than chance", said)

    def test_skip_connections_within_chance(self):
        arms = {f"{kind}-{depth}": (mean - 0.01, mean + 0.01) for depth in (4, 8)
                for kind, mean in (("pre-norm", 0.5), ("post-norm", 0.51), ("no-skip", 0.2))}
        e = self.read("block", arms)
        e.study.read(e)
        self.assertEqual(e.verdict, (
            "Yes, skip connections are needed. With 4 blocks pre-norm has 50.0 %, no skip -30.0 "
            "points, post-norm +1.0 points, no more than chance; with 8 blocks pre-norm has 50.0 "
            "%, no skip -30.0 points, post-norm +1.0 points, no more than chance."))
        arms["no-skip-4"] = arms["no-skip-8"] = 0.3, 0.6
        e = self.read("block", arms)
        e.study.read(e)
        self.assertIn("skip connections gain no more than chance. With 4", e.verdict)

    def test_regularisation_within_chance(self):
        arms = {f"{arm}-1of{part}": (mean - 0.01, mean + 0.01)
                for part, means in ((8, (0.3, 0.3, 0.31, 0.4, 0.38)), (1, (0.5, 0.5, 0.5, 0.52, 0.5)))
                for arm, mean in zip(("none", "weight-decay", "dropout", "augmentation",
                                      "all-three"), means)}
        e = self.read("regularisation", arms)
        e.study.read(e)
        self.assertIn("Reproduced: with 125 pictures augmentation gains 10.0 points, 50 % of what "
                      "1000 pictures gain without it. Points over none, with few pictures and "
                      "with all: weight-decay +0.0 and +0.0, dropout +1.0 and +0.0, ", e.verdict)
        arms["augmentation-1of8"] = arms["all-three-1of8"] = 0.2, 0.5
        e = self.read("regularisation", arms)
        e.study.read(e)
        self.assertIn("nothing gains more than chance", e.verdict)

    def test_shots_rise_within_chance(self):
        e = self.read("few-shot", {"trained": (0.4, 0.5)}, pictures=100)
        for r, first in zip(e.runs, (0.38, 0.42)):
            r.shots, r.shot_mean = (1, 5, 10), [first + 0.01 * k for k in range(3)]
        e.study.read(e)
        self.assertIn("Not decided: accuracy rises with every number of shots, but not by more "
                      "than chance, from ", e.verdict)
        self.assertIn(": within chance of what its features give", e.verdict)

    def test_report(self):
        """The page stands alone, and shows what is said."""
        with tempfile.TemporaryDirectory() as folder:
            e = self.read("optimizer", {"resnet-adam": (0.5, 0.51), "resnet-sgd": (0.4, 0.41)})
            e.output = pathlib.Path(folder)
            e.list_runs = lambda: None
            _report.report(e, "vitcl <0>")
            page = (e.output / "report.html").read_text()
            self.assertIn("Reproduced. ResNet: Adam is better (Adam 50.5 % at", page)
            self.assertIn("vitcl &lt;0&gt;", page)
            table = (e.output / "results.tsv").read_text().split("\n")
            self.assertEqual(table[3], "resnet-adam\t0\t0.505000\t0.007071\t2\t0.8933")
            self.assertTrue(math.isnan(e.results[0].mean))


if __name__ == "__main__":
    unittest.main()
