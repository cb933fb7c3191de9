#!/usr/bin/env python3
"""What selftest's models answer, for host/cli/bench/known_sums.h.

    tools/golden_selftest.py >host/cli/bench/known_sums.h

timm computes in double. The weights of a preset are whole numbers times a power
of two (host/models/stored.c), the pictures too, so they are repeated here to the
bit; for each picture, eight sums over an eighth of its logits each, with signs.
On stderr, how much these sums change if a tensor is lost or is its
neighbour's, which is what selftest must notice. Needs torch and timm.
"""
import sys

import numpy as np
import timm
import torch

torch.set_grad_enabled(False)
np.seterr(over="ignore")
U = np.uint64
STEP = U(0x9E3779B97F4A7C15)


def mix(x):
    x = (x ^ (x >> U(30))) * U(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> U(27))) * U(0x94D049BB133111EB)
    return x ^ (x >> U(31))


def weights(name, count):
    seed = STEP
    for c in name.encode():
        seed = mix(seed ^ U(c))
    r = mix(seed + np.arange(0, count, 2, dtype=np.uint64) * STEP)
    part = [(r >> U(16 * i) & U(0xFFFF)).astype(np.int64) for i in range(4)]
    x = np.stack([part[0] + part[1], part[2] + part[3]], 1).reshape(-1)[:count] - 65535
    vector = "norm" in name or name.endswith(".bias")
    return x * 2.0 ** (-18 if vector else -20) + ("norm" in name and name.endswith(".weight"))


def pictures(count, side):
    i = np.arange(count * side * side * 3, dtype=np.uint64)
    rgb = (i * U(2654435761) >> U(13)).astype(np.uint8).reshape(count, side, side, 3)
    return torch.from_numpy(rgb / 127.5 - 1).permute(0, 3, 1, 2)


def sums(logits):
    n = logits.shape[1]
    sign = 1 - 2.0 * (np.arange(n, dtype=np.uint64) * U(2654435761) >> U(31) & U(1))
    return (logits * torch.from_numpy(sign)).reshape(len(logits), n // 8, 8).sum(1)


def losses(m, x, want):
    params = dict(m.named_parameters())
    least = {}
    for name, p in params.items():
        other = name.replace("blocks.3.", "blocks.4.")
        if "blocks." in name and other == name:
            continue
        old = p.clone()
        for how in ("is lost", "is another's"):
            if how == "is lost":
                p.fill_("norm" in name and name.endswith("weight"))
            elif other != name:
                p.copy_(params[other])
            else:
                continue
            off = ((sums(m(x)) - want).abs().max() / want.abs().max()).item()
            key = f"a {'matrix' if p.ndim > 1 else 'vector'} {how}"
            least[key] = min(least.get(key, (9, "")), (off, name))
            p.copy_(old)
    print(*(f"{how}: at least {off:.1e} ({name})" for how, (off, name) in least.items()), sep="\n", file=sys.stderr)


def table(name, arch, count, side):
    m = timm.create_model(arch, img_size=side).double().eval()
    for key, p in m.named_parameters():
        p.copy_(torch.from_numpy(weights(key, p.numel())).reshape(p.shape))
    x = pictures(count, side)
    want = sums(m(x))
    print(f"static const double {name}[][KNOWN_SUMS] = {{")
    for row in want:
        v = [f"{e:.8g}" for e in row.tolist()]
        print("    {" + ", ".join(v[:4]) + ",\n     " + ", ".join(v[4:]) + "},")
    print("};")
    if count < 8:
        losses(m, x, want)


print("""/*
 * known_sums.h - sums of the logits of the models of known.h.
 *
 * Made by tools/golden_selftest.py.
 */
#ifndef VT_CLI_KNOWN_SUMS_H
#define VT_CLI_KNOWN_SUMS_H
""")
table("small", "vit_tiny_patch16_224", 3, 64)
table("large", "vit_base_patch16_224", 8, 224)
print("\n#endif")
