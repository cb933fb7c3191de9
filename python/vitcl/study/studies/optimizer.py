"""Appendix D.1: Adam against SGD with momentum, each with its own learning rate, for a ViT
and, as in the paper, a ResNet."""
from math import nan

from .._frame import Experiment, Result, Run, Study, above

ADAM = '{"optimizer": "adam"}\n', (5e-4, 1.5e-3, 5e-3)
SGD = '{"optimizer": "sgd", "momentum": 0.9}\n', (0.02, 0.06, 0.2)
# settings and rates, the paper's mean over its data sets for ResNet-50
ARMS = {
    "vit-adam": (ADAM, nan),
    "vit-sgd": (SGD, nan),
    "resnet-adam": (ADAM, 0.8933),
    "resnet-sgd": (SGD, 0.8879),
}


def config(e: Experiment, arm: str) -> str:
    if arm.startswith("vit"):
        return e.vit()
    return ('{"architecture": "resnetv2_50x1_bit", "model_args": {"img_size": %d, "layers": '
            '[1, 1, 1], "channels": [128, 256, 512], "stem_chs": 32}}\n'
            % ((e.side + 15) // 16 * 16))


def runs(e: Experiment) -> None:
    for arm, ((settings, rates), _) in ARMS.items():
        run = Run(arm, config(e, arm), settings=settings)
        e.repeat(run, e.sweep(run, rates))


def compare(e: Experiment, what: str, adam: Result, sgd: Result) -> None:
    how = ("Adam is better" if above(adam, sgd) else "SGD is better" if above(sgd, adam) else
           "the two do not differ by more than chance")
    e.say(f"{what}: {how} (Adam {100 * adam.mean:.1f} % at {e.best_rate(adam.arm):.3g}, SGD "
          f"{100 * sgd.mean:.1f} % at {e.best_rate(sgd.arm):.3g}). ")


def read(e: Experiment) -> None:
    vit_adam, vit_sgd, resnet_adam, resnet_sgd = (
        e.add_arm(arm, e.best_rate(arm), paper) for arm, (_, paper) in ARMS.items())
    for arm in ARMS:
        e.add_sweep(arm)
    e.say("Reproduced. " if above(resnet_adam, resnet_sgd) else
          "Not reproduced at this size: for a ResNet, the paper has Adam slightly better. ")
    compare(e, "ResNet", resnet_adam, resnet_sgd)
    compare(e, "ViT", vit_adam, vit_sgd)


STUDY = Study(
    name="optimizer",
    paper="appendix D.1, Table 7",
    what="Adam against SGD, each with its own learning rate",
    list=runs,
    read=read,
    x="learning rate",
    y="test accuracy",
    note="The paper pre-trains ResNets on JFT with both and averages over its transfer data sets: "
         "ResNet-50 has 89.33 % with Adam and 88.79 % with SGD.",
)
