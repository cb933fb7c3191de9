"""Appendix D.6: Axial-ViT beside ViT, over the compute and over the time of a training.

Two axial blocks, one over rows and one over columns, are in place of each of a ViT's, as in
the paper. Both have the mean of the patches as their head's input, because an axial model has
no class token. The learning rate is chosen for the smaller size of each family.
"""
from dataclasses import dataclass, replace
from math import log10

from .._frame import Experiment, Result, Run, Study, Vit, above

RATES = (1e-3, 3e-3)
FAMILIES = VIT, AXIAL = "vit", "axial"
# depth: of the ViT
SIZES = {
    "2-blocks": Vit(48, 2, 4, 96, 8),
    "4-blocks": Vit(48, 4, 4, 96, 8),
    "small-patches": Vit(48, 2, 4, 96, 4),
}
MEAN = ', "class_token": false, "global_pool": "avg"'


def like(e: Experiment, family: str, name: str) -> Run:
    size, axial = SIZES[name], family == AXIAL
    patch = size.patch  # a side is a multiple of 4
    if e.side % patch:
        patch = 2 if e.side % (patch // 2) else patch // 2
    size = replace(size, patch=patch, depth=size.depth * (1 + axial))
    return Run(f"{family}-{name}", e.vit(MEAN + ', "attention": "axial"' * axial, size))


def runs(e: Experiment) -> None:
    """What is compared runs one after the other, so that their times are those of the same
    load."""
    rate = {family: e.sweep(like(e, family, "2-blocks"), RATES) for family in FAMILIES}
    for name in SIZES:
        for family in FAMILIES:
            e.repeat(like(e, family, name), rate[family])


@dataclass(frozen=True)
class Point:
    result: Result
    tflop: float  # of a run
    seconds: float  # the mean over the tries


def point(e: Experiment, family: str, name: str) -> Point:
    arm = f"{family}-{name}"
    tries = [run for run in (e.named(f"{arm}-{i + 1}") for i in range(e.tries)) if run]
    return Point(e.arm(arm), e.cost(tries[-1]).flop / 1e12 if tries else 0,
                 sum(run.seconds / e.tries for run in tries))


def compare(axial: Point, vit: Point) -> str:
    a, b = axial.result, vit.result
    return "above" if above(a, b) else "below" if above(b, a) else "not apart from"


def read(e: Experiment) -> None:
    points = {family: {name: point(e, family, name) for name in SIZES} for family in FAMILIES}
    for family in FAMILIES:
        for what, x in ("TFLOP", "tflop"), ("seconds", "seconds"):
            for p in points[family].values():
                e.add_result(replace(p.result, arm=f"{family}, over {what}",
                                     x=log10(getattr(p, x))))
    better = sum(above(points[AXIAL][name].result, points[VIT][name].result) for name in SIZES)
    e.say("Reproduced: Axial-ViT is better than its ViT at all sizes." if better == len(SIZES) else
          f"Partly reproduced: Axial-ViT is better than its ViT at {better} of {len(SIZES)} sizes."
          if better else
          "Not reproduced at this size: Axial-ViT is not better than its ViT.")
    for name in SIZES:
        axial, vit = points[AXIAL][name], points[VIT][name]
        e.say(f" {name}: {100 * axial.result.mean:.1f} % with Axial-ViT, {compare(axial, vit)} the "
              f"ViT's {100 * vit.result.mean:.1f} %, for {axial.tflop / vit.tflop:.2f} times the "
              f"operations and {axial.seconds / vit.seconds:.2f} times the time.")
    # a ViT that costs about what an Axial-ViT of half its depth does
    e.say(" At about equal compute, Axial-ViT of 2 blocks is "
          f"{compare(points[AXIAL]['2-blocks'], points[VIT]['4-blocks'])} the ViT of 4.")


STUDY = Study(
    name="axial",
    paper="appendix D.6, Figure 13",
    what="attention over rows and columns in turn, beside ViT: accuracy over compute and over time",
    list=runs,
    read=read,
    x="log10 of a training's TFLOP, or of its seconds",
    y="test accuracy",
    note="In the paper Axial-ViT-B/32 and B/16 are better than their ViT-B, but cost more compute, "
         "because each block is replaced by two, with an MLP more.",
)
