"""Section 4.3 and later papers: regularisation and augmentation replace data. Weight decay,
dropout, augmentation, and all three, with an eighth of the pictures and with all, in the same
number of steps."""
from dataclasses import replace
from math import log10

from .._frame import Experiment, Result, Run, Study, above

RATES = (5e-4, 1.5e-3)
PARTS = (8, 1)
NONE = "none"
# settings and augmentation; the paper's weight decay and dropout
ARMS = {
    NONE: ('"weight_decay": 0', NONE),
    "weight-decay": ('"weight_decay": 0.1', NONE),
    "dropout": ('"weight_decay": 0, "dropout": 0.1', NONE),
    "augmentation": ('"weight_decay": 0', "full"),
    "all-three": ('"weight_decay": 0.1, "dropout": 0.1', "full"),
}


def pictures_of(e: Experiment, part: int) -> int:
    return max(e.pictures // part, 5 * e.classes)


def like(e: Experiment, arm: str, part: int) -> Run:
    settings, augment = ARMS[arm]
    return Run(f"{arm}-1of{part}", e.vit(), settings="{%s}\n" % settings, augment=augment,
               pictures=pictures_of(e, part), epochs=e.epochs * part)


def runs(e: Experiment) -> None:
    rate = e.sweep(like(e, NONE, 1), RATES)
    for part in PARTS:
        for arm in ARMS:
            e.repeat(like(e, arm, part), rate)


def add(e: Experiment, arm: str, part: int) -> Result:
    return e.add_result(replace(e.arm(f"{arm}-1of{part}"), arm=arm,
                                x=log10(pictures_of(e, part))))


def read(e: Experiment) -> None:
    few, every = ({arm: add(e, arm, part) for arm in ARMS} for part in PARTS)
    best = max((r for arm, r in few.items() if arm != NONE), key=lambda r: r.mean)
    gap, gain = every[NONE].mean - few[NONE].mean, best.mean - few[NONE].mean
    if above(best, few[NONE]) and above(every[NONE], few[NONE]):
        e.say(f"Reproduced: with {pictures_of(e, PARTS[0])} pictures {best.arm} gains "
              f"{100 * gain:.1f} points, {100 * gain / gap:.0f} % of what {e.pictures} pictures "
              "gain without it")
    else:
        e.say("Not reproduced at this size: with few pictures nothing gains more than chance")
    e.say(". Points over none, with few pictures and with all: " + ", ".join(
        f"{arm} {100 * (few[arm].mean - few[NONE].mean):+.1f} and "
        f"{100 * (every[arm].mean - every[NONE].mean):+.1f}" for arm in ARMS if arm != NONE) + ".")


STUDY = Study(
    name="regularisation",
    paper="section 4.3, Table 3",
    what="weight decay, dropout and augmentation, with an eighth of the pictures and with all",
    list=runs,
    read=read,
    x="log10 of training pictures",
    y="test accuracy",
    note="The paper trains on ImageNet with weight decay 0.3 and dropout 0.1, on JFT with less. "
         "Later papers (DeiT, and How to train your ViT) find that augmentation and regularisation "
         "are worth ten times the pictures.",
)
