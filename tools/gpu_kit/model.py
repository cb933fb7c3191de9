#!/usr/bin/env python3
"""A ViT with random weights, pictures, and what vitcl must compute of them.

    model.py make FOLDER [--tiny]    ViT-B/16 and 256 pictures; --tiny: a small one and 2
    model.py check WANT GOT NAME BOUND
    model.py losses FOLDER BATCH GOT NAME BOUND

The logits are PyTorch's in double, of timm's model on the GPU; where either is missing, NumPy's of the first 8
pictures. Needs NumPy. `check` ends with 1 where an error, over the largest logit, is above BOUND. `losses` says how long
the steps of `vitcl step` took, and sets their losses beside PyTorch's in f32; it ends with 1 where one is further off
than BOUND of the first.
"""
import json, os, struct, sys

import numpy as np

WIDE, DEPTH, HEADS, SIDE, CLASSES, PICTURES = (256, 2, 4, 144, 10, 2) if "--tiny" in sys.argv else (768, 12, 12, 224, 1000, 256)
ARCHITECTURE, PATCH = "vit_base_patch16_224", 16
MORE = dict(img_size=SIDE, embed_dim=WIDE, depth=DEPTH, num_heads=HEADS)


def save(path, tensors):
    """safetensors: the length of a header in JSON, the header, the numbers."""
    head, at = {}, 0
    for name, x in tensors.items():
        head[name] = {"dtype": {"float32": "F32", "int64": "I64"}[x.dtype.name], "shape": x.shape,
                      "data_offsets": [at, at + x.nbytes]}
        at += x.nbytes
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for x in tensors.values():
            f.write(np.ascontiguousarray(x).tobytes())


def load(path, name):
    with open(path, "rb") as f:
        n, = struct.unpack("<Q", f.read(8))
        row = json.loads(f.read(n))[name]
        begin, end = row["data_offsets"]
        f.seek(8 + n + begin)
        return np.frombuffer(f.read(end - begin), {"F32": np.float32, "I64": np.int64}[row["dtype"]]).reshape(row["shape"])


def cut(x):
    """To a number of bf16."""
    return (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


def weights():
    """Numbers of bf16, so that rounding the weights costs nothing. Their size keeps all layers at work."""
    r = np.random.default_rng(1)

    def normal(scale, *shape):
        return cut(r.standard_normal(shape, np.float32) * np.float32(scale))

    def linear(name, rows, *columns):
        return {name + ".weight": normal(np.prod(columns)**-0.5, rows, *columns), name + ".bias": normal(0.2, rows)}

    def norm(name):
        return {name + ".weight": cut(1 + normal(0.125, WIDE)), name + ".bias": normal(0.2, WIDE)}

    out = {"cls_token": normal(0.4, 1, 1, WIDE), "pos_embed": normal(0.4, 1, 1 + (SIDE // PATCH)**2, WIDE)}
    out.update(linear("patch_embed.proj", WIDE, 3, PATCH, PATCH))
    for i in range(DEPTH):
        b = "blocks.%d." % i
        out.update({**norm(b + "norm1"), **linear(b + "attn.qkv", 3 * WIDE, WIDE), **linear(b + "attn.proj", WIDE, WIDE),
                    **norm(b + "norm2"), **linear(b + "mlp.fc1", 4 * WIDE, WIDE), **linear(b + "mlp.fc2", WIDE, 4 * WIDE)})
    out.update({**norm("norm"), **linear("head", CLASSES, WIDE)})
    return out


def by_numpy(w, x):
    """The logits in double. Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words"; layer norm's epsilon is timm's."""
    from math import erf
    w = {name: t.astype(float) for name, t in w.items()}
    n, p = len(x), SIDE // PATCH

    def linear(name, x):
        return x @ w[name + ".weight"].reshape(len(w[name + ".bias"]), -1).T + w[name + ".bias"]

    def norm(name, x):
        x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w[name + ".weight"] + w[name + ".bias"]

    def attention(name, x):
        q, k, v = linear(name + "qkv", x).reshape(n, -1, 3, HEADS, WIDE // HEADS).transpose(2, 0, 3, 1, 4)
        s = q @ k.swapaxes(-1, -2) * (WIDE // HEADS)**-0.5
        s = np.exp(s - s.max(-1, keepdims=True))
        return linear(name + "proj", (s / s.sum(-1, keepdims=True) @ v).swapaxes(1, 2).reshape(n, -1, WIDE))

    y = x.astype(float).reshape(n, 3, p, PATCH, p, PATCH).transpose(0, 2, 4, 1, 3, 5).reshape(n, p * p, -1)
    y = linear("patch_embed.proj", y)
    y = np.concatenate([np.repeat(w["cls_token"], n, 0), y], 1) + w["pos_embed"]
    for i in range(DEPTH):
        b = "blocks.%d." % i
        y = y + attention(b + "attn.", norm(b + "norm1", y))
        h = linear(b + "mlp.fc1", norm(b + "norm2", y))
        y = y + linear(b + "mlp.fc2", 0.5 * h * (1 + np.vectorize(erf)(h / 2**0.5)))
    return linear("head", norm("norm", y)[:, 0])


def peer(kind, w):
    """timm's model, on the GPU."""
    import timm, torch
    if not torch.cuda.is_available() and "--tiny" not in sys.argv:
        raise ImportError("PyTorch sees no GPU")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    m = timm.create_model(ARCHITECTURE, num_classes=CLASSES, **MORE).to("cuda" if torch.cuda.is_available() else "cpu", kind)
    m.load_state_dict({name: torch.from_numpy(t.copy()) for name, t in w.items()})
    return torch, m.eval()


def by_torch(w, x):
    """The logits in double, and how near PyTorch comes to them in other precisions."""
    def logits(kind):
        torch, m = peer(getattr(__import__("torch"), kind), w)
        with torch.no_grad():
            return torch.cat([m(part.to(m.cls_token)) for part in torch.from_numpy(x).split(32)]).double().cpu().numpy()

    want = logits("double")
    for kind in "float32", "bfloat16", "float16":
        print(compared(want, logits(kind), "PyTorch, " + kind)[1])
    return want


def losses(folder, batch, got, name, bound):
    took, got = np.sort(load(got, "time_ms")[1:]), load(got, "losses")
    x, y = load(batch, "pixel_values"), load(batch, "labels")
    middle = took[len(took) // 2]
    print("training step %s, batch %d: %.1f ms (%.1f to %.1f), %.1f pictures/s" % (
        name, len(x), middle, took[0], took[-1], len(x) / middle * 1e3))
    print("losses", " ".join("%.5f" % v for v in got))
    with open(folder + "/settings.json") as f:
        settings = json.load(f)
    try:
        worst = 0
        for half in False, True:
            torch, m = peer(__import__("torch").float32, {n: load(folder + "/model.safetensors", n) for n in weights()})
            at = m.cls_token.device
            pixels, labels = torch.from_numpy(x.copy()).to(at), torch.from_numpy(y.copy()).to(at)
            optimizer, want = torch.optim.AdamW(m.parameters(), settings["lr"], weight_decay=settings["weight_decay"]), []
            for _ in got:
                with torch.autocast(at.type, torch.bfloat16, enabled=half):
                    loss = torch.nn.functional.cross_entropy(m(pixels).float(), labels)
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                want.append(loss.item())
            if not half:
                exact, worst = np.array(want), np.abs(got - want).max() / want[0]
            else:
                print("PyTorch's in bf16 are off by %.1e of the first" % (np.abs(want - exact).max() / exact[0]))
    except ImportError as e:
        print("not compared with PyTorch's:", e)
        return
    right = worst <= float(bound)
    print("PyTorch's in f32", " ".join("%.5f" % v for v in exact))
    print("off by %.1e of the first%s" % (worst, "" if right else "  WRONG: more than %s" % bound))
    sys.exit(not right)


def compared(want, got, name):
    """The largest error over the largest logit, and a line."""
    if got.shape != want.shape or not np.isfinite(got).all():
        return np.inf, "%-24s NOT FINITE, or %s instead of %s" % (name, got.shape, want.shape)
    error = np.abs(want - got)
    most = error.max() / np.abs(want).max()
    return most, "%-24s largest error %.2e of the largest logit, relative norm %.2e, same class %d of %d" % (
        name, most, np.linalg.norm(error) / np.linalg.norm(want), (want.argmax(1) == got.argmax(1)).sum(), len(want))


def make(to):
    os.makedirs(to, exist_ok=True)
    w = weights()
    save(to + "/model.safetensors", w)
    with open(to + "/config.json", "w") as f:
        json.dump({"architecture": ARCHITECTURE, "num_classes": CLASSES, "num_features": WIDE, "global_pool": "token",
                   "model_args": MORE,
                   "pretrained_cfg": {"input_size": [3, SIDE, SIDE], "mean": [0.5] * 3, "std": [0.5] * 3}}, f)
    x = cut(np.random.default_rng(2).standard_normal((PICTURES, 3, SIDE, SIDE), np.float32))
    save(to + "/input.safetensors", {"pixel_values": x})
    for batch in 8, 64:
        some = min(PICTURES // 2, batch)
        save(to + "/batch-%d.safetensors" % batch, {"pixel_values": x[:some], "labels": np.arange(some) % CLASSES})
    with open(to + "/settings.json", "w") as f:
        json.dump({"optimizer": "adamw", "lr": 0.0001, "weight_decay": 0.0}, f)
    try:
        want, by = by_torch(w, x), "PyTorch"
    except ImportError as e:
        want, by = by_numpy(w, x[:8]), "NumPy: %s" % e
    save(to + "/want.safetensors", {"logits": want.astype(np.float32)})
    print("%d pictures, logits of %d by %s" % (PICTURES, len(want), by))


def check(want, got, name, bound):
    want, got = (load(f, "logits").astype(float) for f in (want, got))
    most, line = compared(want, got[:len(want)], name)
    right = most <= float(bound)
    print(line + ("" if right else "  WRONG: more than %s" % bound))
    sys.exit(not right)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2])
    elif sys.argv[1] == "losses":
        losses(*sys.argv[2:7])
    else:
        check(*sys.argv[2:6])
