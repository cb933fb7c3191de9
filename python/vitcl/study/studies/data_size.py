"""Figures 3 and 4: how much data a ViT needs beside a ResNet.

All runs see the same number of pictures: a sixteenth of the data is repeated sixteen times as
often.
"""
from dataclasses import replace
from math import log10, nan
from typing import Sequence

from .._families import FAMILIES, RESNET, VIT, of_family
from .._frame import Experiment, Result, Run, Study, above, mean_of

RATES = (1e-3, 4e-3)
PARTS = (16, 4, 1)
SHOTS, LEAST = 5, 5


def pictures_of(e: Experiment, part: int) -> int:
    """At least a picture a class, and CIFAR-10 has five files."""
    return max(e.pictures // part, e.classes, LEAST)


def few_shot(e: Experiment) -> bool:
    return e.pictures // PARTS[0] >= SHOTS * e.classes


def like(e: Experiment, family: str, part: int) -> Run:
    run = Run(f"{family}-1of{part}", "", pictures=pictures_of(e, part), epochs=e.epochs * part,
              shots=(SHOTS,) if few_shot(e) else ())
    return of_family(e, run, family, 2)


def runs(e: Experiment) -> None:
    for family in FAMILIES:
        rate = e.sweep(like(e, family, PARTS[-1]), RATES)
        for part in PARTS:
            e.repeat(like(e, family, part), rate)


def add(e: Experiment, family: str, part: int) -> Result:
    """The arm's runs as a point of its family's line, and their few-shot tests in the table
    only."""
    arm = f"{family}-1of{part}"
    result = e.add_result(replace(e.arm(arm), arm=family, x=log10(pictures_of(e, part))))
    if few_shot(e):
        values = [r.shot_mean[0] for r in e.runs if r.done and r.shots and r.arm == arm]
        e.add_result(Result(f"{family}-{SHOTS}-shot", result.x, *mean_of(values), len(values),
                            nan, True))
    return result


def crossing(vit: Sequence[Result], net: Sequence[Result]) -> float:
    """Pictures at which the two lines cross; 0: they do not."""
    for i in range(len(vit) - 1):
        a, b = vit[i].mean - net[i].mean, vit[i + 1].mean - net[i + 1].mean
        if a < 0 <= b:
            return float(10 ** (vit[i].x + a / (a - b) * (vit[i + 1].x - vit[i].x)))
    return 0


def read(e: Experiment) -> None:
    results = {family: [add(e, family, part) for part in PARTS] for family in FAMILIES}
    vit, net = results[VIT], results[RESNET]
    at, early, late = crossing(vit, net), above(net[0], vit[0]), above(vit[-1], net[-1])
    e.say("Reproduced: " if early and late else
          "Half reproduced at this size: with the least data the ResNet is better, but the ViT "
          "does not surpass it by more than chance: " if early else
          "Not reproduced at this size: with the least data the ResNet is not better than the ViT "
          "by more than chance: ")
    e.say(f"ViT {100 * vit[0].mean:.1f} % against ResNet {100 * net[0].mean:.1f} % with "
          f"{pictures_of(e, PARTS[0])} pictures, {100 * vit[-1].mean:.1f} % against "
          f"{100 * net[-1].mean:.1f} % with {e.pictures}. ")
    if at > 0 and early and late:
        e.say(f"The ViT passes the ResNet at about {at:.0f} pictures.")
    else:
        e.say("They do not cross by more than chance: the ViT's lead goes from "
              f"{100 * (vit[0].mean - net[0].mean):+.1f} to "
              f"{100 * (vit[-1].mean - net[-1].mean):+.1f} points.")


STUDY = Study(
    name="data-size",
    paper="Figures 3 and 4",
    what="ViT, ResNet and hybrid on a sixteenth, a quarter and all of the data, the same number of "
         "steps",
    list=runs,
    read=read,
    x="log10 of training pictures",
    y="test accuracy",
    note="Pre-trained on 9 million pictures of JFT a ViT is below a ResNet, on 90 million or more "
         "above it.",
)
