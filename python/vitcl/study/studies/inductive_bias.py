"""Section 3.1: a convolutional network looks at neighbourhoods and takes a shifted thing for
the same thing; a ViT does neither by itself. Two drawn tasks (_drawn.py): on one a network that
looks no farther than 19 pixels can only guess, on the other it must hold."""
from math import sqrt

from .._drawn import APART, APART_CLASSES, MARKS_SIDE, SHIFT, SHIFT_CLASSES
from .._frame import Experiment, Result, Run, Study

RATES = (1e-3, 3e-3)
LEARNED = 90  # percent
VIT = ('vit_tiny_patch16_224", "model_args": {"img_size": 96, "patch_size": 16, "embed_dim": 64, '
       '"depth": 2, "num_heads": 4, "mlp_ratio": 2%s}')
ARMS = {
    # a 7x7 of stride 2, a 3x3 pool of stride 2 and a 3x3: 19 pixels
    "resnet": 'resnetv2_50x1_bit", "model_args": {"img_size": 96, "layers": [1], "channels": '
              '[128], "stem_chs": 32}',
    "vit-none": VIT % ', "pos_embed": "none"',
    "vit-1d": VIT % "",
}
TASKS = {"apart": APART, "shift": SHIFT}


def runs(e: Experiment) -> None:
    """Pictures are as they are: resized, moved or mirrored they would be others."""
    for task, made in TASKS.items():
        for arm, model in ARMS.items():
            config = ('{"architecture": "%s, "pretrained_cfg": {"input_size": [3, 96, 96], '
                      '"crop_pct": 1.0, "interpolation": "bilinear", "mean": [0.5, 0.5, 0.5], '
                      '"std": [0.5, 0.5, 0.5]}}\n' % model)
            run = Run(f"{task}-{arm}", config, augment="none", made=made, batch=32,
                      settings='{"warmup_steps": 100}\n', size=MARKS_SIDE)
            e.repeat(run, e.sweep(run, RATES))


def guesses(e: Experiment, r: Result, classes: int) -> bool:
    """Nothing but chance?"""
    chance = 1 / classes
    return abs(r.mean - chance) <= 2 * sqrt(chance * (1 - chance) / e.tests)


def learned(r: Result) -> bool:
    return 100 * r.mean >= LEARNED


def read(e: Experiment) -> None:
    results = {task: {arm: e.add_arm(f"{task}-{arm}") for arm in ARMS} for task in TASKS}
    known = {}  # of the second task, where the training pictures are
    for task in TASKS:
        for arm in ARMS:
            name = f"{task}-{arm}"
            e.add_sweep(name)
            known[arm] = e.swept(name, e.best_rate(name))
    apart, shift = results["apart"], results["shift"]
    far = (guesses(e, apart["resnet"], APART_CLASSES) and
           guesses(e, apart["vit-none"], APART_CLASSES) and learned(apart["vit-1d"]))
    held = (guesses(e, shift["vit-none"], SHIFT_CLASSES) and learned(shift["resnet"]) and
            shift["vit-1d"].mean < shift["resnet"].mean)
    said = {True: "Reproduced", False: "Not reproduced at this size"}
    e.say(f"{said[far]}: two marks that are farther apart than the ResNet looks: ")
    e.say(", ".join(f"{arm} {100 * r.mean:.1f} %" for arm, r in apart.items()))
    e.say(f". {said[held]}: a square in a place where no training picture had it (in brackets: in "
          "those places): ")
    e.say(", ".join(f"{arm} {100 * r.mean:.1f} % ({100 * known[arm]:.1f})"
                    for arm, r in shift.items()) + ".")


STUDY = Study(
    name="inductive-bias",
    paper="Section 3.1",
    what="two drawn tasks: one on which a convolutional network must fail, one on which it must "
         "hold; needs no data",
    list=runs,
    read=read,
    x="-",
    y="test accuracy",
    note="The paper has no numbers for it: a ViT has much less image-specific inductive bias than "
         "a CNN, where locality and translation equivariance are baked into each layer.",
    drawn=True,
)
