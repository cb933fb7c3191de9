#!/usr/bin/env python3
"""Each activation and its derivative as PyTorch computes them, in double.

    tools/golden_acts.py > tests/data/acts.tsv

A line: vitcl's name, x, act(x), act'(x); at the places where a slope jumps, too.
Needs torch, timm and transformers.
"""
import sys
import timm.layers
import torch
from transformers.activations import ACT2FN

TIMM = {"elu": "elu", "selu": "selu", "hardsigmoid": "hard_sigmoid", "hardmish": "hard_mish"}
HF = {"none": "linear", "gelu": "gelu", "gelutanh": "gelu_pytorch_tanh", "quickgelu": "quick_gelu", "tanh": "tanh",
      "relu": "relu", "silu": "silu", "sigmoid": "sigmoid", "relu6": "relu6", "relu2": "relu2", "leakyrelu": "leaky_relu",
      "mish": "mish", "hardswish": "hardswish", "gelu10": "gelu_10", "laplace": "laplace"}
AT = [-90, -40, -12, -6.5, -4, -3, -2.5, -2, -1.3, -1, -.4, -.01, -1e-4, 0, 1e-4, .02, .7, 1, 1.9, 2, 2.6, 3, 3.1, 5, 6, 6.2,
      9.5, 10, 10.5, 19, 25, 90]

for name in (*HF, *TIMM):
    act = ACT2FN[HF[name]] if name in HF else timm.layers.create_act_layer(TIMM[name])
    x = torch.tensor(AT, dtype=torch.float64, requires_grad=True)
    y = act(x)
    y.sum().backward()
    for row in zip(AT, y.tolist(), x.grad.tolist()):
        print(name, *("%.9g" % v for v in row), sep="\t")
