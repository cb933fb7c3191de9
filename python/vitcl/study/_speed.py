"""Appendix D.5: speed and the largest batch, over the resolution. Models are measured with `vitcl
bench`, one file for each measurement, so that a study that goes on does not measure again."""
from __future__ import annotations

import os
from dataclasses import dataclass, field
from math import floor, log10
from pathlib import Path
from typing import Sequence

from . import _files
from ._frame import Experiment
from ._program import StudyError
from ._table_6 import sizes

MODELS = ("vit-b/32", "vit-b/16", "resnet50x1")
SIDES = (64, 128, 192, 256, 384, 512)


@dataclass
class Speed:
    model: str
    side: int
    gmac: float = 0
    rate: float = 0  # pictures a second, one at a time; 0: not measured yet
    load: float = 0  # seconds before
    batch: float = 0  # the largest that the device's memory can hold


@dataclass
class Speeds:
    device: str
    memory: int  # of the device, in bytes: all, and at once
    buffer: int
    all: list[Speed] = field(default_factory=list)

    def of(self, model: str) -> list[Speed]:
        return [s for s in self.all if s.model == model]


def _answer(e: Experiment, s: Speed) -> Path:
    return e.path(f"files/speed-{s.model.replace('/', '-')}-{s.side}.json")


def _read_answer(s: Speed, path: Path, device: str) -> None:
    """The rate stays 0 if there is no answer of this device yet."""
    if not path.exists():
        return
    json = _files.load(path)
    if json.get("device", device) != device:
        return
    rate, load = _files.number(json.get("images_per_s")), _files.number(json.get("load_ms"))
    if not (rate > 0 and load == load):
        raise StudyError(f"{path}: has no rate; remove it to measure it again")
    s.rate, s.load = rate, load / 1e3


def measure(e: Experiment, speeds: Speeds, s: Speed) -> None:
    """Unless it was measured before on this device."""
    to, part = _answer(e, s), e.path("measure/bench.json")
    _read_answer(s, to, speeds.device)
    if s.rate > 0:
        return
    e.note(f"measurement {speeds.all.index(s) + 1} of {len(speeds.all)}: {s.model}, {s.side} "
           "pixels")
    words = ["bench", "--preset", s.model, "--size", str(s.side), "--seconds", "0.5", "--json"]
    words += ["--device", e.options.device] if e.options.device else []
    e.program.run(words, part, e.path("measure/messages.txt"), "a measurement")
    _read_answer(s, part, speeds.device)
    if not e.options.dry:  # its `files` may be the study's
        os.replace(part, to)


def _largest_batch(e: Experiment, speeds: Speeds, s: Speed) -> None:
    """By the memory that plans of one and two pictures need, of which no tensor may be larger
    than a buffer."""
    one, two = (sizes(e, s.model, s.side, n) for n in (1, 2))
    s.gmac = one["gmac"]
    each = two["activation_bytes"] - one["activation_bytes"]
    tensor = two["tensor_bytes"] - one["tensor_bytes"]
    if each > 0 and tensor > 0:
        left = speeds.memory - one["weights_bytes"] - one["activation_bytes"]
        s.batch = max(0, 1 + min(floor(left / each),
                                 floor((speeds.buffer - one["tensor_bytes"]) / tensor)))


def known(e: Experiment) -> Speeds:
    """What is known without a measurement, and from those that have been made on this device."""
    device = ["-d", e.options.device] if e.options.device else []
    name, memory, buffer = e.program.ask("@device", *device)[:3]
    speeds = Speeds(name, int(memory), int(buffer),
                    [Speed(model, side) for model in MODELS for side in SIDES])
    for s in speeds.all:
        _read_answer(s, _answer(e, s), name)
        _largest_batch(e, speeds, s)
    return speeds


def slope(values: Sequence[float]) -> float:
    """Of log10 over log10 of the side: 2 if it grows with the number of pixels."""
    x, y = [log10(side) for side in SIDES], [log10(v) for v in values]
    n, sx, sy = len(x), sum(x), sum(y)
    return ((n * sum(a * b for a, b in zip(x, y)) - sx * sy) /
            (n * sum(a * a for a in x) - sx * sx))
