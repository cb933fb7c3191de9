"""The paper's main claim, section 4: pre-trained on much, a ViT transfers to little. A model is
fine-tuned with 1, 10 and 100 % of the pictures; the same model stays as it is below a linear
head, and is tested by few shots; and the same architecture is trained from scratch.

The model is the checkpoint that the user names. Without one it is trained on three fifths of
the classes, and the others are what it is transferred to.
"""
from dataclasses import dataclass, replace
from math import isnan, log10, nan

from .._frame import (ALL, FIRST, HELD_OUT, NO_SCORE, REST, Experiment, Result, Run, Sheet, Study,
                      above)

FEW, TUNED, FROZEN, SCRATCH = ARMS = ("few-shot", "fine-tuned", "frozen", "scratch")
# Few pictures are repeated more often.
REPEATS = {1: 10, 10: 3, 100: 1}  # by percent
# A new head alone is trained by SGD with momentum, all layers by AdamW; where the model was
# trained before, by BEiT's recipe, with a smaller rate for each layer below the head.
RATES = {TUNED: (2e-4, 5e-4), FROZEN: (0.1, 0.3), SCRATCH: (5e-4, 2e-3)}
ADAMW = '{"optimizer": "adamw", "weight_decay": 0.05}'
LAYER_DECAY = 0.75
FIRST_RATE = 1.5e-3
BATCH = 32
LEAST = 5  # pictures: CIFAR-10 has five files
ENOUGH = 500  # pictures, of which 100 are held out, to choose a rate by
BEFORE = "before"  # the run, where no model is named


def part_of(e: Experiment) -> int:
    return ALL if e.model() else REST


def share_of(e: Experiment, part: int, percent: int) -> int:
    """This share of the pictures that there are of the part."""
    return max(e.part_pictures(part) * percent // 100, e.part_classes(part), LEAST)


def with_model(e: Experiment, run: Run, begins: bool) -> Run:
    """begins: with the model, and not only with its architecture."""
    model = e.model()
    if model:
        return replace(run, part=part_of(e), config=model.config, size=model.side, model=begins)
    return replace(run, part=part_of(e), config=e.vit(), start=BEFORE if begins else "")


def like(e: Experiment, arm: str, percent: int) -> Run:
    pictures = share_of(e, part_of(e), percent)
    run = Run(f"{arm}-{percent}", "", batch=min(BATCH, pictures // 2), pictures=pictures,
              epochs=REPEATS[percent] * e.epochs, freeze="[!h]*" if arm == FROZEN else "")
    if arm == TUNED:
        run = replace(run, settings=ADAMW, layer_decay=LAYER_DECAY)
    return with_model(e, run, arm != SCRATCH)


def few_shots(e: Experiment, percent: int) -> Run:
    """Every try draws other pictures of all."""
    part, name = part_of(e), f"{FEW}-{percent}"
    run = Run(name, "", name=name, score=NO_SCORE, batch=BATCH, untrained=True,
              pictures=share_of(e, part, 100),
              shots=(share_of(e, part, percent) // e.part_classes(part),))
    return with_model(e, run, True)


def runs(e: Experiment) -> None:
    if not e.model():
        e.add(Run(BEFORE, e.vit(), name=BEFORE, score=NO_SCORE, epochs=2 * e.epochs, part=FIRST,
                  pictures=share_of(e, FIRST, 100), lr=FIRST_RATE))
    # a tenth of the pictures is enough to choose by, if there are many
    enough = 10 if share_of(e, part_of(e), 10) >= ENOUGH else 100
    rate = {arm: e.sweep(like(e, arm, enough), rates) for arm, rates in RATES.items()}
    for percent in REPEATS:
        e.add(few_shots(e, percent))
        # what is compared runs at about the same time, under the same load
        for i in range(1, e.tries + 1):
            for arm in RATES:
                e.add_try(like(e, arm, percent), rate[arm], i)


@dataclass(frozen=True)
class Point:
    result: Result
    minutes: float  # of a try; of few shots, of all tries
    pictures: int


def point(e: Experiment, arm: str, percent: int) -> Point:
    name = f"{arm}-{percent}"
    result = e.arm(name)
    tried = [r for r in e.runs if r.arm == name and r.score != HELD_OUT]
    for r in tried:
        if r.untrained:
            result = replace(result, mean=r.shot_mean[0], sd=r.shot_sd[0], tries=e.tries)
    # ViT-L/16, pre-trained on ImageNet-21k; all pictures, 384 pixels
    known = arm == TUNED and percent == 100 and e.model() and e.kind == "cifar10"
    result = replace(result, sd=nan if result.tries < 2 else result.sd,
                     paper=0.9915 if known else nan)
    minutes = sum(r.seconds / 60 for r in tried) / max(len(tried), 1)
    return Point(result, minutes, share_of(e, part_of(e), percent))


def row(arm: str, p: Point) -> list[str]:
    r = p.result
    return [arm, str(p.pictures), f"{r.mean:.4f}", "-" if isnan(r.sd) else f"{r.sd:.4f}",
            str(r.tries), f"{p.minutes:.2f}", "-" if isnan(r.paper) else f"{r.paper:.4f}"]


def read(e: Experiment) -> None:
    sheet = e.add_sheet(Sheet(
        "results.tsv",
        "Test accuracy: the mean of the tries and its deviation. minutes: of one try, with its "
        "score; few-shot: of all tries. few-shot is the paper's least squares on frozen features, "
        "and each of its tries draws other pictures.",
        ("arm", "pictures", "accuracy", "deviation", "tries", "minutes", "paper")))
    points = {percent: {arm: point(e, arm, percent) for arm in ARMS} for percent in REPEATS}
    for share in points.values():
        for arm, p in share.items():
            sheet.rows.append(row(arm, p))
            e.add_point(arm, log10(p.pictures), p.result.mean)
    better = sum(above(p[TUNED].result, p[SCRATCH].result) for p in points.values())
    e.say("Not decided: fine-tuned against scratch" if e.tries == 1 else
          "Reproduced: what was learned before transfers, with all shares of the pictures"
          if better == len(points) else
          "Partly reproduced: fine-tuning is better than training from scratch by more than chance "
          f"with {better} of {len(points)} shares of the pictures" if better else
          "Not reproduced at this size: fine-tuning is not better than training from scratch by "
          "more than chance")
    for i, share in enumerate(points.values()):
        few, tuned, frozen, scratch = (share[arm].result.mean for arm in ARMS)
        e.say(f"{'.' if i else '. With'} {share[TUNED].pictures} pictures: fine-tuned "
              f"{100 * tuned:.1f} %, {100 * (tuned - scratch):.1f} points above scratch "
              f"({100 * scratch:.1f} %); frozen, with a new head, {100 * frozen:.1f} %, or "
              f"{100 * few:.1f} % by least squares")
    e.say(".")


STUDY = Study(
    name="transfer",
    paper="section 4, Table 2",
    what="a pre-trained model (-m) fine-tuned, frozen and by few shots, beside training from "
         "scratch, with 1, 10 and 100 % of the pictures",
    list=runs,
    read=read,
    x="log10 of the pictures",
    y="test accuracy",
    note="The paper fine-tunes with all 50,000 pictures of CIFAR-10 at 384 pixels: 99.15 % with "
         "L/16 after ImageNet-21k, 99.50 % with H/14 after JFT-300M.",
    model=True,
)
