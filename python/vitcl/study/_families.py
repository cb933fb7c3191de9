"""The three families that the paper compares: ViT, ResNet with group norm and standardised
weights, and their hybrid."""
from __future__ import annotations

import dataclasses

from ._frame import Experiment, Run

VIT, RESNET, HYBRID = FAMILIES = ("vit", "resnet", "hybrid")
STAGES = ('"layers": [1, 1], "channels": [128, 256]',
          '"layers": [1, 1, 1], "channels": [128, 256, 512]',
          '"layers": [2, 2, 2], "channels": [128, 256, 512]')


def of_family(e: Experiment, run: Run, family: str, size: int) -> Run:
    """The run with a model of that family, size 0 (small) to 2. Those of one size cost about
    the same; the hybrid has fewer blocks than the ViT: a stem of stride 4 and one stage, as
    many tokens as with patches of 4. A head is 16 wide in every size, as it is 64 wide in the
    paper's ViT-B and ViT-L."""
    side = (e.side + 15) // 16 * 16  # three stages after the stem need multiples of 16
    if family == RESNET:
        config = ('{"architecture": "resnetv2_50x1_bit", "model_args": {"img_size": %d, %s, '
                  '"stem_chs": 32}}\n' % (side, STAGES[size]))
    else:
        hybrid = family == HYBRID
        width = (32, 48, 64)[size]
        config = ('{"architecture": "%s", "model_args": {"img_size": %d, "patch_size": %d, '
                  '"embed_dim": %d, "depth": %d, "num_heads": %d, "mlp_ratio": 2}%s}\n' % (
                      "vit_base_r50_s16_224" if hybrid else "vit_tiny_patch16_224", side,
                      1 if hybrid else 4, width, (2, 3, 4)[size] - hybrid, width // 16,
                      ', "stem_width": 32, "stem_block": "basic", "stem_layers": [1], '
                      '"stem_widths": [32]' if hybrid else ""))
    return dataclasses.replace(run, config=config, size=side)
