"""Section 3.2: a model that was trained on pictures of half the side is fine-tuned at the whole
side. Its positions are interpolated in two dimensions, or in one, drawn anew, or there are
none."""
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .. import _files
from .._frame import Experiment, Run, Study, above
from .._program import StudyError
from .._random import Random

RATES = (0.01, 0.03, 0.1)
FIRST_RATE = 1.5e-3
# the run it begins with, and: does it get other positions than the program's?
ARMS = {"2-d": ("small", False), "1-d": ("small", True), "redrawn": ("small", True),
        "none": ("small-none", False)}
Floats = npt.NDArray[np.float32]


# ---- other positions for a checkpoint ----


def interpolated(rows: Floats) -> Floats:
    """Four times as many, each between two of these."""
    n = len(rows)
    x = (np.arange(4 * n) + 0.5) * n / (4 * n) - 0.5
    low = np.clip(np.floor(x), 0, n - 1)
    part = np.clip(x - low, 0, 1)[:, None]
    a = low.astype(int)
    b = np.minimum(a + 1, n - 1)
    return np.asarray((1 - part) * rows[a] + part * rows[b], np.float32)


def redrawn(rows: Floats, state: int) -> Floats:
    random = Random(state, 0x705, 0)
    drawn = [0.02 * random.normal() for _ in range(4 * rows.size)]
    return np.array(drawn, np.float32).reshape(4 * len(rows), -1)


def change_weights(to: Path, start: Path, run: Run) -> None:
    """The class token's row stays; the patches' become four times as many."""
    data = (start / "model.safetensors").read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    head, parts, at = {}, [], 0
    for name, tensor in json.loads(data[8:end]).items():
        if name == "__metadata__":
            continue
        first, last = tensor["data_offsets"]
        content = data[end + first:end + last]
        if name == "pos_embed":
            if tensor["dtype"] != "F32":
                raise StudyError(f"{start}: pos_embed is {tensor['dtype']}, not F32")
            old = np.frombuffer(content, "<f4").reshape(tensor["shape"][1:])
            new = redrawn(old[1:], run.state) if run.arm == "redrawn" else interpolated(old[1:])
            content = np.concatenate([old[:1], new]).tobytes()
            tensor["shape"][1] = 1 + len(new)
        head[name] = {**tensor, "data_offsets": [at, at + len(content)]}
        parts.append(content)
        at += len(content)
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    _files.write(to / "model.safetensors",
                 b"".join([len(text).to_bytes(8, "little"), text, *parts]))


def prepare(to: Path, start: Path, run: Run) -> None:
    """The config gets twice the sides: "[16, 16]" and "[3, 16, 16]"."""
    config = (start / "config.json").read_bytes()
    half = run.size // 2
    _files.write(to / "config.json", config.replace(b"%d, %d]" % (half, half),
                                                    b"%d, %d]" % (run.size, run.size)))
    change_weights(to, start, run)


# ---- runs ----


def whole_side(e: Experiment) -> int:
    """Sides that are a multiple of 8: half of them has whole patches of 4."""
    return (e.side + 7) // 8 * 8


def config(e: Experiment, start: str) -> str:
    return e.vit("" if start == "small" else ', "pos_embed": "none"')


def large(e: Experiment, arm: str, state: int) -> Run:
    start, changed = ARMS[arm]
    return Run(arm, config(e, start), size=whole_side(e), epochs=max(e.epochs // 4, 1),
               prepare=prepare if changed else None, start=f"{start}-{state}", state=state)


def runs(e: Experiment) -> None:
    for start in "small", "small-none":
        e.repeat(Run(start, config(e, start), size=whole_side(e) // 2), FIRST_RATE)
    for arm in ARMS:
        rate = e.sweep(large(e, arm, 1), RATES)
        for i in range(1, e.tries + 1):
            e.add(replace(large(e, arm, i), name=f"{arm}-{i}", lr=rate))


def read(e: Experiment) -> None:
    side = whole_side(e)
    small = e.add_arm("small", side / 2)
    e.add_arm("small-none", side / 2)
    results = {}
    for arm in ARMS:
        results[arm] = e.add_arm(arm, side)
        e.add_sweep(arm)
    first, *others = results.values()
    better = sum(above(first, other) for other in others)
    e.say("Reproduced: positions that are interpolated in two dimensions are better than all "
          "others" if better == len(others) else
          "Not reproduced at this size: positions that are interpolated in two dimensions are "
          f"better than {better} of {len(others)} others")
    two, one, drawn, none = (100 * r.mean for r in results.values())
    e.say(f" (2-D {two:.1f} %, 1-D {one:.1f} %, drawn anew {drawn:.1f} %, none {none:.1f} %). "
          f"Before, at {side / 2:.0f} pixels, it is {100 * small.mean:.1f} %: the higher "
          "resolution ")
    e.say("helps." if above(first, small) else
          "does not help in so few epochs." if above(small, first) else
          "makes no difference beyond chance.")


STUDY = Study(
    name="resolution",
    paper="section 3.2",
    what="fine-tuning at twice the side: positions interpolated in 2-D, in 1-D, drawn anew, none",
    list=runs,
    read=read,
    x="pixels a side",
    y="test accuracy",
    note="The paper fine-tunes at a higher resolution and interpolates the positions in two "
         "dimensions. It has no figures for others.",
)
