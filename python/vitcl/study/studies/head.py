"""Appendix D.3: class token against the mean of the patch tokens.

The paper found the mean far worse at first. It only needed another learning rate, so each
arm has its own.
"""
from .._frame import Experiment, Run, Study, above

RATES = (3e-4, 1e-3, 3e-3, 1e-2)
ARMS = {"class-token": "", "mean": ', "class_token": false, "global_pool": "avg"'}


def runs(e: Experiment) -> None:
    for arm, more in ARMS.items():
        run = Run(arm, e.vit(more))
        e.repeat(run, e.sweep(run, RATES))


def read(e: Experiment) -> None:
    best = [e.best_rate(arm) for arm in ARMS]
    token, mean = (e.add_arm(arm, rate) for arm, rate in zip(ARMS, best))
    for arm in ARMS:
        e.add_sweep(arm)
    apart = max(100 * (e.swept(arm, rate) - e.swept(arm, other))
                for arm, rate in zip(ARMS, best) for other in RATES)
    if e.tries == 1:
        e.say("Not decided: each head has its own learning rate")
    elif above(token, mean) or above(mean, token):
        e.say("Not reproduced at this size: each with its own learning rate, "
              f"{'the class token' if token.mean > mean.mean else 'the mean'} is better")
    else:
        e.say("Reproduced: each with its own learning rate, the two heads are alike")
    e.say(f" (class token {100 * token.mean:.1f} % at {best[0]:.3g}, mean of the patches "
          f"{100 * mean.mean:.1f} % at {best[1]:.3g}). The learning rate alone makes a difference "
          f"of up to {apart:.1f} points.")


STUDY = Study(
    name="head",
    paper="appendix D.3, Figure 9",
    what="class token against mean pooling, each with its own learning rate",
    list=runs,
    read=read,
    x="learning rate",
    y="test accuracy",
    note="B/16 on ImageNet: with its own learning rate mean pooling works as well as a class "
         "token; with the other's it is far worse.",
)
