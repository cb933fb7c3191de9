"""Figure 5: accuracy over the compute of training, for three families, three sizes of each and
two lengths of training.

One run of each: the trend is in the eighteen points. The learning rate is chosen for the
middle size of each family.
"""
from dataclasses import replace
from math import isfinite, log10, nan
from typing import Optional, Sequence

from .._families import FAMILIES, HYBRID, RESNET, VIT, of_family
from .._frame import Experiment, Result, Run, Study

RATES = (1.5e-3, 4e-3)
SIZES = ("small", "middle", "large")
LENGTHS = (1, 2)
Point = tuple[float, float]  # log10 of TFLOP, accuracy


def like(e: Experiment, family: str, size: int, length: int) -> Run:
    arm = f"{family}-{SIZES[size]}"
    run = Run(arm, "", name=f"{arm}-x{length}", epochs=e.epochs * length, state=1)
    return of_family(e, run, family, size)


def each(e: Experiment, family: str) -> list[Run]:
    return [like(e, family, size, length) for size in range(len(SIZES)) for length in LENGTHS]


def runs(e: Experiment) -> None:
    for family in FAMILIES:
        rate = e.sweep(like(e, family, 1, 1), RATES)
        for run in each(e, family):
            e.add(replace(run, lr=rate))


def front(points: Sequence[Point]) -> list[Point]:
    """In the order of x, and only those with more accuracy than all before."""
    out: list[Point] = []
    for point in sorted(points, key=lambda p: (p[0], -p[1])):
        if not out or point[1] > out[-1][1]:
            out.append(point)
    return out


def compute_at(line: Sequence[Point], y: float) -> float:
    """log10 of the compute at which a front reaches y; NaN: outside of it."""
    for (x0, y0), (x1, y1) in zip(line, line[1:]):
        if y0 <= y <= y1:
            return x0 + (y - y0) / (y1 - y0) * (x1 - x0)
    return nan


def factor(a: Sequence[Point], b: Sequence[Point]) -> float:
    """How many times the compute of front a front b needs for equal accuracy: the geometric
    mean over the points of both; 0: no accuracy is reached by both."""
    apart = [compute_at(b, y) - compute_at(a, y) for _, y in (*a, *b)]
    known = [d for d in apart if isfinite(d)]
    return float(10 ** (sum(known) / len(known))) if known else 0


def point(e: Experiment, run: Run) -> Optional[Point]:
    known = e.named(run.name)
    return (log10(e.cost(known).flop / 1e12), known.accuracy) if known and known.done else None


def read(e: Experiment) -> None:
    points = {family: [p for p in (point(e, run) for run in each(e, family)) if p]
              for family in FAMILIES}
    pareto = front([p for family in FAMILIES for p in points[family]])
    for arm, line in [*points.items(), ("pareto-front", pareto)]:
        for x, y in line:
            e.add_result(Result(arm, x, y, nan, 1))
    fronts = {family: front(points[family]) for family in FAMILIES}
    on = [sum(p in pareto for p in fronts[family]) for family in FAMILIES]
    net, hybrid = factor(fronts[VIT], fronts[RESNET]), factor(fronts[VIT], fronts[HYBRID])
    e.say("Reproduced: the ViT needs less than half of a ResNet's compute." if net >= 2 else
          "Not reproduced at this size: the ViT does not need less than half of a ResNet's "
          "compute." if net > 0 else "Undecided at this size.")
    for name, f in ("the ResNet", net), ("the hybrid", hybrid):
        e.say(f" For equal accuracy {name} needs {f:.2f} times the ViT's compute." if f > 0 else
              f" No accuracy is reached by both the ViT and {name}.")
    e.say(f" On the Pareto front are {on[0]} of the ViT's, {on[1]} of the ResNet's and {on[2]} of "
          "the hybrid's points.")


STUDY = Study(
    name="scaling",
    paper="Figure 5",
    what="three families, three sizes, two lengths of training: accuracy over compute",
    list=runs,
    read=read,
    x="log10 of a training's TFLOP",
    y="test accuracy",
    note="On JFT a ResNet needs 2 to 4 times the compute of a ViT for the same accuracy, and "
         "hybrids are better at small sizes.",
)
