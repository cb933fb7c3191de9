#!/usr/bin/env python3
"""Print the numbers that tests/unit/test_inspect.c expects (needs NumPy).

    tools/golden_inspect.py [MODELS HF_VIT OUT]

With arguments, also writes OUT, such as tests/data/inspect.safetensors, from a
folder of tiny models (tests/data/models) and a folder with the tensors of a
Hugging Face ViT: its attention and tokens of one picture, and what NumPy makes
of them (needs torch, timm and safetensors).

Attention rollout as Abnar and Zuidema describe it, by products of matrices in
float64. The probabilities are those of make() in the test: a softmax in double,
stored as float32.
"""
import sys

import numpy as np

LAYERS, HEADS, PREFIX, ROWS, COLUMNS = 3, 2, 1, 2, 3
TOKENS = PREFIX + ROWS * COLUMNS


def make():
    l, h, i, j = np.indices((LAYERS, HEADS, TOKENS, TOKENS))
    logit = 2 * np.sin(0.7 * (l * 31 + h * 17 + i * 5 + j * 3) + 0.1 * i * j)
    e = np.exp(logit)
    p = e / e.sum(-1, keepdims=True)
    return p.astype(np.float32).astype(np.float64)


def rollout(probs, fuse, residual, discard):
    product = np.eye(TOKENS)
    for layer in probs:
        a = fuse(layer, axis=0)
        if discard:
            limit = np.sort(a.ravel())[int(a.size * discard) - 1]
            kept = a > limit
            kept[:, 0] = True
            a = a * kept
        a = (1 - residual) * a + residual * np.eye(TOKENS)
        product = (a / a.sum(-1, keepdims=True)) @ product
    return product



def axial_layer(l):
    """A layer's [heads, patches, patches]: even layers are over the rows of the
    grid, odd ones over its columns."""
    n = ROWS if l % 2 else COLUMNS
    line, h, i, j = np.indices((ROWS * COLUMNS // n, HEADS, n, n))
    e = np.exp(2 * np.sin(0.7 * (l * 31 + line * 11 + h * 17 + i * 5 + j * 3) + 0.1 * i * j))
    p = (e / e.sum(-1, keepdims=True)).astype(np.float32).astype(np.float64)
    y, x = np.divmod(np.arange(ROWS * COLUMNS), COLUMNS)
    line, at = (x, y) if l % 2 else (y, x)
    shown = p[line[:, None], :, at[:, None], at].transpose(2, 0, 1)
    return np.where(line[:, None] == line, shown, 0)


def axial():
    n, product = ROWS * COLUMNS, np.eye(ROWS * COLUMNS)
    y, x = np.divmod(np.arange(n), COLUMNS)
    d = np.hypot((y[:, None] - y) * 16, (x[:, None] - x) * 10)
    for l in range(2):
        p = axial_layer(l)
        product = (0.5 * p.mean(0) + 0.5 * np.eye(n)) @ product
        show(f"axial distance {l}", (p * d).sum(-1).mean(-1))
    show("axial row 4", product[4])
    show("axial answer", product.mean(0))


def distance(layer, height, width):
    y, x = np.divmod(np.arange(ROWS * COLUMNS), COLUMNS)
    d = np.hypot((y[:, None] - y) * height, (x[:, None] - x) * width)
    a = layer[:, PREFIX:, PREFIX:]
    return ((a * d).sum(-1) / a.sum(-1)).mean(-1)


def show(name, values):
    print(name, ", ".join(f"{v:.9f}" for v in values))


def rollout_of(probs, fuse, residual, first=0, count=1):
    t = probs.shape[-1]
    product = np.eye(t)
    for layer in probs:
        a = (1 - residual) * fuse(layer, axis=0) + residual * np.eye(t)
        product = (a / a.sum(-1, keepdims=True)) @ product
    return product[first : first + count].mean(0)


def distance_of(probs, side, patch):
    y, x = np.divmod(np.arange(side * side), side)
    d = patch * np.hypot(y[:, None] - y, x[:, None] - x)
    a = probs[..., 1:, 1:]
    return ((a * d).sum(-1) / a.sum(-1)).mean(-1)


def components(x, k):
    """Axes, scores and shares of the variance by NumPy's SVD; of an axis the
    number farthest from 0 is positive."""
    x = x - x.mean(0)
    u, s, v = np.linalg.svd(x, full_matrices=False)
    axes = np.zeros((k, x.shape[1]))
    for i in range(min(k, len(s))):
        if s[i] ** 2 > 1e-12 * (s**2).sum():
            axes[i] = v[i] * np.sign(v[i][np.argmax(np.abs(v[i]))])
    share = np.zeros(k)
    share[: len(s)] = (s**2 / (s**2).sum())[:k]
    return axes, (x @ axes.T).T, share


def relevance(folder, first, count):
    """Relevance of class 3 for the first picture (Chefer, Gur and Wolf, arXiv
    2103.15679, equations 5 and 6), with PyTorch's gradients; the head reads
    these tokens."""
    import json

    import timm, torch
    from safetensors.torch import load_file

    config = json.load(open(folder + "/config.json"))
    model = timm.create_model(config["architecture"], num_classes=config["num_classes"], **config["model_args"]).eval()
    model.load_state_dict({k: v.float() for k, v in load_file(folder + "/model.safetensors").items()})
    kept = []
    for block in model.blocks:
        block.attn.fused_attn = False
        block.attn.attn_drop.register_forward_hook(lambda m, i, o: kept.append(i[0]) or i[0].retain_grad())
    x = load_file(folder + "/input.safetensors")["pixel_values"][:1].float().requires_grad_()
    model(x)[0, 3].backward()
    t = kept[0].shape[-1]
    r = torch.eye(t)
    for a in kept:
        r = r + (a.grad * a)[0].clamp(min=0).mean(0) @ r
    return r[first : first + count].mean(0).detach().numpy()


def write(models, hf_vit, out):
    from safetensors.numpy import load_file, save_file
    from safetensors.torch import load_file as load_torch

    t = load_file(hf_vit + "/expected.safetensors")
    probs = np.stack([t["attention.0"][0], t["attention.1"][0]])
    tokens = t["block.1"][0, 1:]
    p = probs.astype(np.float64)
    axes, scores, share = components(tokens.astype(np.float64), 3)
    w = {k: v.double().numpy() for k, v in load_torch(models + "/timm_vit/model.safetensors").items()}
    filters = w["patch_embed.proj.weight"]
    f_axes, _, f_share = components(filters.reshape(len(filters), -1), 28)
    pos = w["pos_embed"][0, 1:]
    unit = pos / np.linalg.norm(pos, axis=1, keepdims=True)
    made = {
        "rollout_mean": rollout_of(p, np.mean, 0.5), "rollout_max": rollout_of(p, np.max, 0.3),
        "rollout_patches": rollout_of(p, np.mean, 0.5, 1, 64),
        "distance": distance_of(p, 8, 16), "token_map": p[1, :, 0, 1:], "patch_map": p[0, :, 1 + 11, 1:],
        "mean_map": p[1, :, 1:, 1:].mean(1), "pca_axes": axes, "pca_scores": scores, "pca_shares": share,
        "relevance_token": relevance(models + "/timm_vit", 0, 1),
        "relevance_mean": relevance(models + "/timm_vit_gap_rect", 0, 8),
        "relevance_registers": relevance(models + "/timm_vit_avg_reg", 3, 9),
        "relevance_distilled": relevance(models + "/timm_deit_distilled", 0, 2),
        "filters": f_axes, "filter_shares": f_share, "positions": unit @ unit.T,
    }
    made = {k: np.ascontiguousarray(v, dtype=np.float32) for k, v in made.items()}
    save_file({"attention": probs, "tokens": np.ascontiguousarray(tokens), **made}, out)


if __name__ == "__main__":
    p = make()
    show("mean", rollout(p, np.mean, 0.5, 0)[0])
    show("max, residual 0.3", rollout(p, np.max, 0.3, 0)[0])
    show("min, discard 0.4", rollout(p, np.min, 0.5, 0.4)[0])
    show("row 4", rollout(p, np.mean, 0.5, 0)[4])
    show("distance", distance(p[1], 16, 10))
    axial()
    if len(sys.argv) == 4:
        write(*sys.argv[1:])
