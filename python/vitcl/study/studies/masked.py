"""Appendix B.1.2: training from scratch, after the prediction of masked patches, and after
supervised pre-training, with 1, 10 and 100 % of the labels.

There is one data set here: both kinds of pre-training see all its pictures, and the supervised
one all its labels. So that one is an upper bound, not a rival, where labels are few.
"""
from dataclasses import replace
from math import log10, nan

from .._frame import NO_SCORE, Experiment, Result, Run, Study, above

RATES = (5e-4, 2e-3)
MASKED_RATE = 1e-3
PERCENTS = (1, 10, 100)
ARMS = SCRATCH, MASKED, SUPERVISED = "scratch", "masked", "supervised"
MOST_REPEATS = 10


def like(e: Experiment, arm: str, percent: int) -> Run:
    """At least a picture a class. Few pictures are repeated more often, but not so often as to
    make for as many steps: they are soon known by heart. One optimiser for all; as in the
    paper, weights decay in a training from scratch (by 0.05) and not in a fine-tuning."""
    few = 100 // percent
    return Run(f"{arm}-{percent}", e.vit(), pictures=max(e.pictures // few, e.classes),
               epochs=e.epochs * min(few, MOST_REPEATS), settings='{"optimizer": "adamw"}\n',
               start="" if arm == SCRATCH else f"before-{arm}")


def runs(e: Experiment) -> None:
    first = 0.0
    for arm in ARMS:
        if arm != SCRATCH:
            before = f"before-{arm}"
            e.add(Run(before, e.vit(), name=before, score=NO_SCORE, epochs=2 * e.epochs,
                      lr=MASKED_RATE if arm == MASKED else first,
                      objective="masked-patch" if arm == MASKED else ""))
        rate = e.sweep(like(e, arm, 100), RATES)
        first = rate if arm == SCRATCH else first
        for percent in PERCENTS:
            e.repeat(like(e, arm, percent), rate)


def add(e: Experiment, arm: str, percent: int) -> Result:
    """The arm's runs as a point of the line of its kind."""
    paper = 0.799 if arm == MASKED and percent == 100 else nan
    return e.add_result(replace(e.arm(f"{arm}-{percent}"), arm=arm, x=log10(percent),
                                paper=paper))


def read(e: Experiment) -> None:
    results = {arm: [add(e, arm, percent) for percent in PERCENTS] for arm in ARMS}
    scratch, masked, supervised = results.values()
    better = sum(map(above, masked, scratch))
    below = sum(map(above, supervised, masked))
    e.say("Reproduced: masked patches are better than from scratch and worse than supervised "
          "pre-training" if better == below == len(PERCENTS) else
          f"{'Partly' if better else 'Not'} reproduced at this size: masked patches are better "
          f"than from scratch by more than chance at {better} of {len(PERCENTS)} shares of the "
          f"labels, and below supervised pre-training at {below}")
    for i, percent in enumerate(PERCENTS):
        e.say(f"{';' if i else '. With'} {percent} % of the labels: scratch "
              f"{100 * scratch[i].mean:.1f} %, masked {100 * masked[i].mean:.1f} %, supervised "
              f"{100 * supervised[i].mean:.1f} %")
    e.say(". The supervised pre-training saw all labels of these pictures.")


STUDY = Study(
    name="masked",
    paper="appendix B.1.2",
    what="from scratch, after masked-patch and after supervised pre-training, with 1, 10 and 100 % "
         "of the labels",
    list=runs,
    read=read,
    x="log10 of the labels in percent",
    y="test accuracy",
    note="B/16 on ImageNet has 79.9 % after masked-patch prediction on JFT: 2 points above from "
         "scratch, 4 below supervised pre-training.",
)
