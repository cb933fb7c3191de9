"""The paper's table 6: the cost of its models, by arithmetic.

exaFLOPs = 6 * multiply-accumulates of a picture * pictures * epochs: two operations each, and a
training does them three times (forward, and two products backward). JFT-300M has 303 million
pictures; the head is left out.

Easy to get wrong: a 3x3 convolution at the edge multiplies with padding. A device does that, and
so it is part of GMAC, but XLA's cost analysis, which the paper's numbers come close to, counts
only positions inside of the picture (HloCostAnalysis::HandleConvolution).
"""
from __future__ import annotations

from dataclasses import dataclass

from . import _files
from ._frame import Experiment
from ._program import StudyError

JFT, SIDE = 303e6, 224
R50, R50_EXTENDED = ((3, 4, 6, 3), 1), ((3, 4, 9, 0), 1)
# epochs, the paper's exaFLOPs, and of a ResNet or a stem its blocks in each stage, and the factor
# of its widths
TABLE = (
    ("ViT-B/32", 7, 55, None),
    ("ViT-B/16", 7, 224, None),
    ("ViT-L/32", 7, 196, None),
    ("ViT-L/16", 7, 783, None),
    ("ViT-L/16", 14, 1567, None),
    ("ViT-H/14", 14, 4262, None),
    ("ResNet50x1", 7, 50, R50),
    ("ResNet50x2", 7, 199, ((3, 4, 6, 3), 2)),
    ("ResNet101x1", 7, 96, ((3, 4, 23, 3), 1)),
    ("ResNet152x1", 7, 141, ((3, 8, 36, 3), 1)),
    ("ResNet152x2", 7, 563, ((3, 8, 36, 3), 2)),
    ("ResNet152x2", 14, 1126, ((3, 8, 36, 3), 2)),
    ("ResNet200x3", 14, 3306, ((3, 24, 36, 3), 3)),
    ("R50x1+ViT-B/32", 7, 106, R50),
    ("R50x1+ViT-B/16", 7, 274, R50_EXTENDED),
    ("R50x1+ViT-L/32", 7, 246, R50),
    ("R50x1+ViT-L/16", 7, 859, R50_EXTENDED),
    ("R50x1+ViT-L/16", 14, 1668, R50_EXTENDED),
)


@dataclass(frozen=True)
class Row:
    name: str
    epochs: int
    paper: float
    resnet: bool  # or has one as its stem
    gmac: float  # a picture of 224 pixels, without the head
    whole: float  # exaFLOPs: with what convolutions multiply with their padding
    inside: float  # and without
    parameters: int  # with a head of 1000 classes
    memory: float  # bytes: weights and a picture's activations

    @property
    def counted(self) -> float:
        """What the paper's number belongs to: of a ResNet that without padding."""
        return self.inside if self.resnet else self.whole

    @property
    def apart(self) -> float:
        return self.counted / self.paper - 1


def outside(n: int, kernel: int, stride: int) -> int:
    """Along one axis of n pixels: how many of kernel * outputs positions are padding."""
    return sum(not 0 <= i * stride + k - kernel // 2 < n
               for i in range(-(-n // stride)) for k in range(kernel))


def wasted(n: int, kernel: int, stride: int, inputs: int, outputs: int) -> int:
    """Multiply-accumulates of a convolution with its padding."""
    line = -(-n // stride) * kernel
    return inputs * outputs * (line ** 2 - (line - outside(n, kernel, stride)) ** 2)


def padding(blocks: tuple[int, ...], factor: int) -> int:
    """Those of all convolutions of a ResNet: the 7x7, and a 3x3 in each block."""
    side, macs = SIDE // 4, wasted(SIDE, 7, 2, 3, 64 * factor)
    for stage, count in enumerate(blocks):
        width = 64 * factor << stage
        for block in range(count):
            stride = 2 if stage and not block else 1
            macs += wasted(side, 3, stride, width, width)
            side //= stride
    return macs


def sizes(e: Experiment, preset: str, pixels: int, batch: int) -> dict[str, float]:
    """What `vitcl info` says of a preset."""
    to, messages = e.path("measure/info.json"), e.path("measure/messages.txt")
    e.program.run(["info", "--preset", preset, "--size", str(pixels), "--batch", str(batch),
                   "--json"], to, messages, "counting a model")
    info = _files.load(to)
    keys = ("gmac", "weights_bytes", "activation_bytes", "tensor_bytes", "parameters", "width",
            "classes")
    if not all(key in info for key in keys):
        raise StudyError(f"{to}: a number is missing")
    return {key: info[key] for key in keys}


def rows(e: Experiment) -> list[Row]:
    out = []
    for name, epochs, paper, resnet in TABLE:
        size = sizes(e, name.lower().replace("r50x1", "r50"), SIDE, 1)
        pictures = JFT * epochs
        gmac = size["gmac"] - size["width"] * size["classes"] / 1e9
        whole = 6 * gmac * 1e9 * pictures / 1e18
        less = 6 * padding(*resnet) * pictures / 1e18 if resnet else 0
        out.append(Row(name, epochs, paper, bool(resnet), gmac, whole, whole - less,
                       int(size["parameters"]), size["weights_bytes"] + size["activation_bytes"]))
    return out
