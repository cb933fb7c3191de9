#!/usr/bin/env python3
"""bench_train.py - a training step compared with PyTorch's, in one run.

    tools/bench_train.py build/vitcl [--model vit_tiny_patch16_224] [--batch 16]
        [--rounds 3] [--steps 4] [--threads N] [--precision f32,bf16] [--json]

One step is forward, backward and AdamW on one batch that stays in memory.
Rounds alternate: a few steps of `vitcl step` (a process of its own, without
its first step, which fills caches), then the same number of PyTorch in f32, so
that both have the same noise. Medians over all steps of all rounds. Needs
torch, timm, numpy and safetensors; weights are random, which does not change
the speed.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import timm
import torch
from safetensors.numpy import load_file, save_file

p = argparse.ArgumentParser()
p.add_argument("vitcl")
p.add_argument("--model", default="vit_tiny_patch16_224")
p.add_argument("--batch", type=int, default=16)
p.add_argument("--rounds", type=int, default=3)
p.add_argument("--steps", type=int, default=4)
p.add_argument("--threads", type=int, default=os.cpu_count())
p.add_argument("--precision", default="f32")
p.add_argument("--no-torch", action="store_true", help="vitcl alone")
p.add_argument("--json", action="store_true")
o = p.parse_args()

LR, BETAS, EPS, DECAY = 1e-3, (0.9, 0.999), 1e-8, 0.05
torch.manual_seed(0)
torch.set_num_threads(o.threads)
model = timm.create_model(o.model, num_classes=1000).train()
side = model.default_cfg["input_size"][1]
x = torch.randn(o.batch, 3, side, side)
y = torch.randint(0, 1000, (o.batch,))
optimizer = torch.optim.AdamW(
    model.parameters(), lr=LR, betas=BETAS, eps=EPS, weight_decay=DECAY
)


def torch_step():
    begin = time.perf_counter()
    optimizer.zero_grad(set_to_none=True)
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    return (time.perf_counter() - begin) * 1e3


def write_inputs(folder):
    weights = {k: v.detach().contiguous().numpy()
               for k, v in model.state_dict().items()}
    save_file(weights, f"{folder}/model.safetensors")
    batch = {"pixel_values": x.numpy(), "labels": y.numpy()}
    save_file(batch, f"{folder}/batch.safetensors")
    with open(f"{folder}/config.json", "w") as f:
        json.dump({"architecture": o.model, "num_classes": 1000}, f)
    with open(f"{folder}/train.json", "w") as f:
        json.dump({"optimizer": "adamw", "lr": LR, "betas": BETAS, "eps": EPS,
                   "weight_decay": DECAY, "clip_grad_norm": 0.0,
                   "label_smoothing": 0.0}, f)


def vitcl_steps(folder, precision):
    out = f"{folder}/out.safetensors"
    subprocess.run(
        [o.vitcl, "step", "-m", folder, "--input", f"{folder}/batch.safetensors",
         "--settings", f"{folder}/train.json", "--steps", str(o.steps + 1),
         "--precision", precision, "--output", out], check=True)
    return load_file(out)["time_ms"][1:].tolist()


times = {p: [] for p in o.precision.split(",")}
theirs = []
with tempfile.TemporaryDirectory() as folder:
    write_inputs(folder)
    if not o.no_torch:
        torch_step()
    for number in range(o.rounds):
        for precision in times:
            times[precision] += vitcl_steps(folder, precision)
        if not o.no_torch:
            theirs += [torch_step() for _ in range(o.steps)]
        last = [v[-1] for v in [theirs, *times.values()] if v]
        print(f"round {number + 1}: " + ", ".join(f"{v:.0f} ms" for v in last),
              file=sys.stderr)

base = statistics.median(theirs) if theirs else None
rows = [("PyTorch f32", base, theirs)] if theirs else []
rows += [(f"vitcl {k}", statistics.median(v), v) for k, v in times.items()]
for name, ms, all_ms in rows:
    ratio = base / ms if base else None
    if o.json:
        print(json.dumps({"model": o.model, "batch": o.batch, "who": name,
                          "ms": ms, "least_ms": min(all_ms), "ratio": ratio}))
    else:
        print(f"{o.model} batch {o.batch}: {name:12} {ms:9.1f} ms a step "
              f"(least {min(all_ms):.1f})"
              + (f", {ratio:.2f} x PyTorch" if ratio else ""))
