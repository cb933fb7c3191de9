"""What a review of the paper asked: is it the skip connections that work? The paper's blocks
(norms first), those of the first Transformers (norms behind the sum) and blocks without skip
connections, each with its own learning rate."""
from dataclasses import replace

from .._frame import Experiment, Result, Run, Study, Vit, above

RATES = (3e-4, 1e-3, 3e-3)
PRE, POST, NO_SKIP = KINDS = "pre-norm", "post-norm", "no-skip"
DEPTHS = 4, 8


def runs(e: Experiment) -> None:
    for depth in DEPTHS:
        for kind in KINDS:
            more = "" if kind == PRE else f', "block": "{kind}"'
            run = Run(f"{kind}-{depth}", e.vit(more, Vit(depth=depth)))
            e.repeat(run, e.sweep(run, RATES))


def add(e: Experiment, kind: str, depth: int) -> Result:
    return e.add_result(replace(e.arm(f"{kind}-{depth}"), arm=kind, x=depth))


def beside(pre: Result, other: Result) -> str:
    points = f"{100 * (other.mean - pre.mean):+.1f} points"
    apart = above(pre, other) or above(other, pre)
    return points if apart else f"{points}, no more than chance"


def read(e: Experiment) -> None:
    results = {depth: {kind: add(e, kind, depth) for kind in KINDS} for depth in DEPTHS}
    needed = sum(above(r[PRE], r[NO_SKIP]) for r in results.values())
    e.say("Yes, skip connections are needed" if needed == len(DEPTHS) else
          "Skip connections are needed at one depth only" if needed else
          "Not shown at this size: skip connections gain no more than chance")
    for depth, r in results.items():
        e.say(f"{'. With' if depth == DEPTHS[0] else '; with'} {depth} blocks pre-norm has "
              f"{100 * r[PRE].mean:.1f} %, no skip {beside(r[PRE], r[NO_SKIP])}, post-norm "
              f"{beside(r[PRE], r[POST])}")
    e.say(".")


STUDY = Study(
    name="block",
    paper="equations 2 and 3",
    what="blocks with norms first, with norms behind the sum, and without skip connections",
    list=runs,
    read=read,
    x="blocks",
    y="test accuracy",
    note="The paper puts norms before attention and MLP, and skip connections around them. It does "
         "not compare this with other blocks; a review asked whether the skip connections do the "
         "work.",
)
