#!/usr/bin/env python3
"""Print the numbers that tests/unit/test_inspect.c expects (needs NumPy).

    tools/golden_inspect.py

Attention rollout as Abnar and Zuidema describe it, by products of matrices in
float64. The probabilities are those of make() in the test: a softmax in double,
stored as float32.
"""
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


def distance(layer, height, width):
    y, x = np.divmod(np.arange(ROWS * COLUMNS), COLUMNS)
    d = np.hypot((y[:, None] - y) * height, (x[:, None] - x) * width)
    a = layer[:, PREFIX:, PREFIX:]
    return ((a * d).sum(-1) / a.sum(-1)).mean(-1)


def show(name, values):
    print(name, ", ".join(f"{v:.9f}" for v in values))


if __name__ == "__main__":
    p = make()
    show("mean", rollout(p, np.mean, 0.5, 0)[0])
    show("max, residual 0.3", rollout(p, np.max, 0.3, 0)[0])
    show("min, discard 0.4", rollout(p, np.min, 0.5, 0.4)[0])
    show("row 4", rollout(p, np.mean, 0.5, 0)[4])
    show("distance", distance(p[1], 16, 10))
