"""Appendix D.2: depth, width, MLP and patch size, scaled one by one from a middle: accuracy
over compute. The learning rate is chosen for the middle, and is that of all."""
from dataclasses import replace
from math import log10, nan, sqrt

from .._frame import Experiment, Result, Run, Study, Vit

RATES = (5e-4, 1.5e-3, 5e-3)
# patch: a share of the side. Of each way, the smaller and the larger
MIDDLE = Vit(48, 4, 4, 96, 8)
WAYS = {
    "depth": {"depth-2": replace(MIDDLE, depth=2), "depth-8": replace(MIDDLE, depth=8)},
    "width": {"width-24": replace(MIDDLE, width=24), "width-96": replace(MIDDLE, width=96)},
    "MLP": {"mlp-48": replace(MIDDLE, mlp=48), "mlp-384": replace(MIDDLE, mlp=384)},
    "patch size": {"patch-large": replace(MIDDLE, patch=4),
                   "patch-small": replace(MIDDLE, patch=16)},
}


def like(e: Experiment, arm: str, size: Vit) -> Run:
    """Patches of 8, 4 or 2 pixels at 32; a side is a multiple of 4."""
    patch = e.side // size.patch if e.side % 8 == 0 or size.patch != 4 else e.side // 2
    while e.side % patch:
        patch -= 1
    return Run(arm, e.vit("", replace(size, patch=patch)))


def runs(e: Experiment) -> None:
    middle = like(e, "middle", MIDDLE)
    rate = e.sweep(middle, RATES)
    e.repeat(middle, rate)
    for way in WAYS.values():
        for arm, size in way.items():
            e.repeat(like(e, arm, size), rate)


def result(e: Experiment, arm: str) -> Result:
    """x: log10 of a run's TFLOP."""
    run = e.named(f"{arm}-1")
    return replace(e.arm(arm), x=log10(e.cost(run).flop / 1e12) if run else nan)


def slope(less: Result, more: Result) -> tuple[float, float]:
    """Points of accuracy for ten times the compute, and the variance of that."""
    scale = 100 / (more.x - less.x)
    return scale * (more.mean - less.mean), scale * scale * (less.doubt() + more.doubt())


def read(e: Experiment) -> None:
    middle, gain = result(e, "middle"), {}
    for way, arms in WAYS.items():
        less, more = (result(e, arm) for arm in arms)
        for r in (less, middle, more):
            e.add_result(replace(r, arm=way))
        gain[way] = slope(less, more)
    (depth, depth_doubt), (width, width_doubt) = gain["depth"], gain["width"]
    if abs(depth - width) <= 2 * sqrt(depth_doubt + width_doubt):
        e.say("Not reproduced at this size: depth and width do not differ by more than chance. ")
    else:
        e.say("Reproduced: depth gains more than width. " if depth > width else
              "Not reproduced at this size: width gains more than depth. ")
    e.say("Points of accuracy for ten times the compute, from the smallest to the largest: ")
    e.say(", ".join(f"{way} {points:.1f} +- {sqrt(doubt):.1f}"
                    for way, (points, doubt) in gain.items()) + ".")


STUDY = Study(
    name="shape",
    paper="appendix D.2, Figure 8",
    what="depth, width, MLP and patch size scaled one by one: accuracy over compute",
    list=runs,
    read=read,
    x="log10 of a training's TFLOP",
    y="test accuracy",
    note="In the paper depth gains most up to 64 layers, with less after 16, width least, and "
         "smaller patches gain without parameters.",
)
