#!/usr/bin/env python3
"""Make tests/data/train: one training step by PyTorch, for tests/models.

    tools/golden_step.py tests/data

The loss and every gradient of a tiny checkpoint of tests/data/models with
rotary positions, in float32 on the CPU. Gradients have the names of vitcl's
parameters. Needs torch, timm, safetensors.
"""
import json
import os
import sys

import timm
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file

DATA, NAME = sys.argv[1], "timm_dinov3"
REFUSED = "timm_rotary_mixed"  # learnt frequencies: only a batch of its size


def canonical(grads):
    out = {}
    for name, g in grads.items():
        head, _, last = name.rpartition(".")
        if last in ("gamma_1", "gamma_2"):
            out[f"{head}.ls{last[-1]}.gamma"] = g
        elif last == "q_bias":
            out[head + ".qkv.bias"] = torch.cat([g, grads[head + ".k_bias"], grads[head + ".v_bias"]])
        elif ".fc1_g." in name:
            out[name.replace("fc1_g", "fc1")] = torch.cat([g, grads[name.replace("fc1_g", "fc1_x")]])
        elif last not in ("k_bias", "v_bias") and ".fc1_x." not in name:
            out[name] = g
    return out


def main():
    source, out = f"{DATA}/models/{NAME}", f"{DATA}/train/{NAME}"
    config = json.load(open(source + "/config.json"))
    model = timm.create_model(config["architecture"], num_classes=config["num_classes"], global_pool=config["global_pool"], **config["model_args"]).eval()
    model.load_state_dict(load_file(source + "/model.safetensors"))
    for block in model.blocks:
        block.attn.k_bias.requires_grad_()  # zero in timm, a parameter here
    torch.manual_seed(5)
    pixels, labels = torch.randn(2, 3, 24, 24), torch.tensor([1, 4])
    loss = F.cross_entropy(model(pixels), labels)
    loss.backward()
    grads = canonical({k: p.grad for k, p in [*model.named_parameters(), *model.named_buffers()] if p.grad is not None})
    os.makedirs(out, exist_ok=True)
    save_file({"pixel_values": pixels, "labels": labels}, out + "/batch.safetensors")
    save_file({"loss": loss.detach().reshape(1), **{"grad." + k: v.contiguous() for k, v in grads.items()}}, out + "/expected.safetensors")
    os.makedirs(f"{DATA}/train/{REFUSED}", exist_ok=True)
    save_file({"pixel_values": torch.zeros(2, 3, 16, 32), "labels": labels}, f"{DATA}/train/{REFUSED}/batch.safetensors")
    with open(out + "/train.json", "w") as f:
        f.write('{"optimizer": "sgd", "lr": [0.01], "momentum": 0.9, "weight_decay": 0.0, "batch": 2}\n')


if __name__ == "__main__":
    main()
