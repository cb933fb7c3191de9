#!/usr/bin/env python3
"""bench_train.py - a training step compared with PyTorch's, in one run.

    tools/bench_train.py build/vitcl [--model vit_tiny_patch16_224] [--batch 16]
        [--rounds 3] [--steps 4] [--threads N] [--precision f32,bf16]
        [--torch-precision f32,bf16] [--json]

One step is forward, backward and AdamW on one batch that stays in memory.
Rounds alternate: a few steps of `vitcl step` (a process of its own, without
its first step, which fills caches), then the same number of PyTorch in each of
its precisions, so that all have the same noise. PyTorch's bf16 is autocast on
the CPU. A ratio compares with PyTorch in the same precision, or else in its
first. Medians over all steps of all rounds. Needs torch, timm, numpy and
safetensors; weights are random, which does not change the speed.
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
p.add_argument("--torch-precision", default="f32", help="f32, bf16 or both")
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


def torch_step(precision):
    begin = time.perf_counter()
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
        loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
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
theirs = {p: [] for p in o.torch_precision.split(",") if not o.no_torch}
with tempfile.TemporaryDirectory() as folder:
    write_inputs(folder)
    for precision in theirs:
        torch_step(precision)
    for number in range(o.rounds):
        for precision in times:
            times[precision] += vitcl_steps(folder, precision)
        for precision in theirs:
            theirs[precision] += [torch_step(precision)
                                  for _ in range(o.steps)]
        last = [v[-1] for v in [*theirs.values(), *times.values()]]
        print(f"round {number + 1}: " + ", ".join(f"{v:.0f} ms" for v in last),
              file=sys.stderr)

base = {k: statistics.median(v) for k, v in theirs.items()}
rows = [(f"PyTorch {k}", k, v) for k, v in theirs.items()]
rows += [(f"vitcl {k}", k, v) for k, v in times.items()]
for name, precision, all_ms in rows:
    ms = statistics.median(all_ms)
    rival = precision if precision in base else next(iter(base), None)
    ratio = base[rival] / ms if base else None
    if o.json:
        print(json.dumps({"model": o.model, "batch": o.batch, "who": name,
                          "ms": ms, "least_ms": min(all_ms), "ratio": ratio}))
    else:
        print(f"{o.model} batch {o.batch}: {name:12} {ms:9.1f} ms a step "
              f"(least {min(all_ms):.1f})"
              + (f", {ratio:.2f} x PyTorch {rival}" if ratio else ""))
