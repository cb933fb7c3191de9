#!/usr/bin/env python3
"""Make goldens of fine-tuning in tests/data/train, by timm and PyTorch.

    tools/golden_finetune.py tests/data

layers.tsv    checkpoint, parameter or what its parameters' names begin with, and
              the factor of its learning rate, by timm's param_groups_layer_decay
layer_decay/  five steps of AdamW with these factors, for `vitcl step`
lora/         five steps with peft's LoRA: start.* are A, after.* A, B and the head,
              merged.* what they make of the weights

Needs torch, timm, peft and safetensors.
"""
import json
import os
import re
import sys

import timm
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from timm.models.resnetv2 import ResNetV2
from timm.optim import param_groups_layer_decay

DATA = sys.argv[1]
OUT = DATA + "/train"
DECAY = 0.65
MODELS = ("timm_aimv2 timm_beit_resized timm_clip timm_deit_distilled timm_diff timm_dinov2_swiglu_reg timm_dinov3 "
          "timm_eva02_clip timm_hybrid timm_pe_core timm_relpos_rpn timm_resnet timm_rotary_reg timm_sapiens2 timm_siglip "
          "timm_srelpos timm_vit timm_vit_avg_reg").split()


def load(name):
    source = f"{DATA}/models/{name}"
    config = json.load(open(source + "/config.json"))
    args = dict(config["model_args"], num_classes=config["num_classes"], global_pool=config["global_pool"])
    if name == "timm_resnet":
        return ResNetV2(**args)
    model = timm.create_model(config["architecture"], **args)
    if name == "timm_vit":
        model.load_state_dict(load_file(source + "/model.safetensors"))
    return model.eval()


def layers():
    with open(OUT + "/layers.tsv", "w") as f:
        for name in MODELS:
            model, rows = load(name), {}
            names = {id(p): n for n, p in model.named_parameters()}
            for group in param_groups_layer_decay(model, layer_decay=DECAY):
                for p in group["params"]:
                    whole = names[id(p)]
                    key = re.match(r"stages\.\d+\.blocks\.\d+|blocks\.\d+|patch_embed|attn_pool|stem|[^.]*", whole)[0]
                    assert rows.setdefault(key, group["lr_scale"]) == group["lr_scale"], whole
            for key, scale in rows.items():
                print(name, key, "%.9g" % scale, sep="\t", file=f)


def steps(model, groups, settings, name, batch, after):
    """Trains and writes a case."""
    optimizer = torch.optim.AdamW(groups, weight_decay=settings["weight_decay"])
    expected, losses, norms = {}, [], []
    for i, lr in enumerate(settings["lr"]):
        for g in optimizer.param_groups:
            g["lr"] = lr * g.get("lr_scale", 1)
        loss = F.cross_entropy(model(batch["pixel_values"]), batch["labels"])
        optimizer.zero_grad()
        loss.backward()
        params = [p for p in model.parameters() if p.requires_grad]
        norms.append(torch.nn.utils.clip_grad_norm_(params, settings["clip_grad_norm"]))
        losses.append(loss.detach())
        optimizer.step()
    expected["losses"] = torch.stack(losses)
    expected["grad_norms"] = torch.stack(norms)
    for k, v in after(model).items():
        expected[k] = v.detach().clone().contiguous()
    os.makedirs(f"{OUT}/{name}", exist_ok=True)
    save_file(batch, f"{OUT}/{name}/batch.safetensors")
    save_file(expected, f"{OUT}/{name}/expected.safetensors")


def make_batch():
    torch.manual_seed(5)
    return {"pixel_values": torch.randn(2, 3, 24, 24), "labels": torch.tensor([1, 4])}


def layer_decay():
    model = load("timm_vit")
    groups = param_groups_layer_decay(model, 0.05, weight_decay_exclude_1d=False, layer_decay=DECAY)
    settings = {"optimizer": "adamw", "lr": [1e-3, 2e-3, 3e-3, 2e-3, 1e-3], "weight_decay": 0.05, "clip_grad_norm": 1.0,
                "layer_decay": DECAY}
    steps(model, groups, settings, "layer_decay", make_batch(), lambda m: {"after." + k: v for k, v in m.named_parameters()})
    with open(f"{OUT}/layer_decay/train.json", "w") as f:
        f.write(json.dumps(settings) + "\n")


def lora():
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(3)
    config = LoraConfig(r=3, lora_alpha=6, target_modules=r"blocks\.\d+\.(attn\.(qkv|proj)|mlp\.fc[12])", modules_to_save=["head"])
    model = get_peft_model(load("timm_vit"), config)

    def short(k):
        return k.removeprefix("base_model.model.").replace(".default", "").replace(".modules_to_save", "")

    trained = {short(k): p for k, p in model.named_parameters() if p.requires_grad}
    start = {"start." + k: p.detach().clone() for k, p in trained.items() if "lora_A" in k}

    def after(m):
        out = start | {"after." + k: v.detach().clone() for k, v in trained.items()}
        return out | {"merged." + k: v for k, v in m.merge_and_unload().state_dict().items()}

    settings = {"lr": [1e-2, 2e-2, 3e-2, 2e-2, 1e-2], "weight_decay": 0.05, "clip_grad_norm": 1.0}
    steps(model, list(trained.values()), settings, "lora", make_batch(), after)


if __name__ == "__main__":
    layers()
    layer_decay()
    lora()
