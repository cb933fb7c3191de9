"""Section 4.1: accuracy of a linear classifier on frozen features of a few pictures a class,
beside the fine-tuned model's.

There is no second data set here: the features are of a model that was trained on the same
classes.
"""
from math import log10

from .._frame import Experiment, Result, Run, Study, above, mean_of

RATES = (3e-4, 1e-3, 3e-3)
SHOTS = (1, 5, 10, 25)


def shots(e: Experiment) -> list[int]:
    return [n for n in SHOTS if n <= e.pictures // e.classes]


def runs(e: Experiment) -> None:
    run = Run("trained", e.vit(), shots=shots(e))
    e.repeat(run, e.sweep(run, RATES))


def add_shots(e: Experiment, i: int, n: int) -> Result:
    """The mean over the trained models, each the mean of its draws."""
    values = [r.shot_mean[i] for r in e.runs if r.done and len(r.shots) > i]
    return e.add_result(Result("few-shot", log10(n), *mean_of(values), len(values)))


def read(e: Experiment) -> None:
    few = [add_shots(e, i, n) for i, n in enumerate(shots(e))]
    trained = e.add_arm("trained")
    if len(few) < 2:
        e.say("Too few pictures a class to compare shots.")
        return
    first, last = few[0], few[-1]
    rises = all(b.mean > a.mean for a, b in zip(few, few[1:]))
    e.say("Not reproduced at this size: accuracy does not rise with every number of shots"
          if not rises else
          "Reproduced: accuracy rises with every number of shots" if above(last, first) else
          "Not decided: accuracy rises with every number of shots, but not by more than chance")
    e.say(f", from {100 * first.mean:.1f} % with 1 to {100 * last.mean:.1f} % with "
          f"{shots(e)[-1]}. The model's own head, trained on all pictures, has "
          f"{100 * trained.mean:.1f} %: ")
    e.say("more than its features give with so few" if above(trained, last) else
          "less than its features give with so few" if above(last, trained) else
          "within chance of what its features give with so few")
    e.say(".")


STUDY = Study(
    name="few-shot",
    paper="section 4.1",
    what="1, 5, 10 and 25 shots on frozen features, beside the trained head",
    list=runs,
    read=read,
    x="log10 of shots",
    y="test accuracy",
    note="The paper uses few-shot accuracy as a quick stand-in where fine-tuning would cost too "
         "much.",
)
