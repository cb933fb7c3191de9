#!/usr/bin/env python3
"""How far f16, bf16 and int8 are from float32, family by family.

    tools/compare_precisions.py VITCL [--only WORD] [--depth N] [--seeds N]
    tools/compare_precisions.py VITCL --trained FOLDER PICTURE...
    tools/compare_precisions.py VITCL --peer

A model of each family is made with random weights, at its native width and
picture size, four blocks deep (--depth 0: all), and saved as its library saves
it. `vitcl forward` computes two pictures in each precision; the table has the
largest difference of a feature and of a logit from the library's float32, in
parts of the largest number, the worst of all seeds. --trained: the same of a
folder as timm publishes it, with photographs. --peer: DINOv3, all blocks, features and patch tokens, beside
PyTorch on the CPU with the same weights in the same precision; both against
PyTorch's float64.

By hand: needs torch, timm 1.0.31, transformers 5.24, safetensors; up to 8 GB.
"""
import argparse
import os
import sys
import tempfile
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from compare_configs import forward, spread  # noqa: E402  (limits the memory)

warnings.filterwarnings("ignore")
import torch  # noqa: E402

torch.set_grad_enabled(False)
DEPTH = 4
PRECISIONS = ["f32", "f16", "bf16", "int8"]
# family -> timm's architecture
FAMILIES = {
    "ViT": "vit_base_patch16_224", "DeiT-3": "deit3_base_patch16_224", "DINOv2": "vit_base_patch14_reg4_dinov2",
    "DINOv3": "vit_base_patch16_dinov3", "DINOv3, SwiGLU": "vit_small_plus_patch16_dinov3",
    "Perception Encoder": "vit_pe_core_base_patch16_224", "RoPE-ViT, mixed": "vit_base_patch16_rope_mixed_ape_224",
    "LingBot": "vit_base_patch16_lingbot", "AIMv2": "aimv2_large_patch14_224", "CLIP": "vit_base_patch16_clip_quickgelu_224",
    "SigLIP": "vit_base_patch16_siglip_224", "BEiT": "beit_base_patch16_224", "ViT, relative positions": "vit_relpos_base_patch16_224",
    "EVA-02": "eva02_base_patch14_224", "Hybrid R26": "vit_small_r26_s32_224", "Hybrid, ResNet-D": "vit_base_resnet50d_224",
    "BiT ResNet": "resnetv2_50x1_bit",
}


def make(name, folder, depth, pictures, size=None, seed=7):
    import timm

    torch.manual_seed(seed)
    arch = name if timm.is_model(name) else next(iter(timm.list_models(name + "*")))
    kept = {"num_classes": 1000}
    if depth and not arch.startswith("resnet"):
        kept["depth"] = depth
    model = timm.create_model(arch, **kept).eval()
    spread(model)
    timm.models.save_for_hf(model, folder, model_args={k: v for k, v in kept.items() if k == "depth"}, safe_serialization=True)
    return model, torch.randn(pictures, *(size or model.pretrained_cfg["input_size"]))


def errors(vitcl, folder, model, pixels):
    """-> {(precision, name): largest difference}, or what vitcl says"""
    tokens = model.forward_features(pixels)
    want = {"features": model.forward_head(tokens, pre_logits=True), "logits": model.forward_head(tokens)}
    got = {}
    for p in PRECISIONS:
        said, worst = forward(vitcl, folder, pixels, want, "--precision", p)
        if said:
            return said
        got.update({(p, k): worst[k] for k in want})
    return got


def row(family, name, seeds):
    """seeds: what errors() gave for each"""
    said = next((e for e in seeds if isinstance(e, str)), None)
    cells = [said] if said else [f"{max(e[p, k] for e in seeds):.1e}" for p in PRECISIONS for k in ("features", "logits")]
    print(f"| {family} | `{name}` | " + " | ".join(cells) + " |", flush=True)


def head():
    print("| family | model | " + " | ".join(f"{p}: features | logits" for p in PRECISIONS) + " |")


def table(o):
    head()
    for family, name in FAMILIES.items():
        if o.only not in name + family:
            continue
        seeds = []
        for seed in range(7, 7 + o.seeds):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    model, pixels = make(name, folder, o.depth, 2, seed=seed)
                except Exception as e:
                    seeds.append(f"{type(e).__name__}: {str(e).splitlines()[0][:90]}")
                    break
                seeds.append(errors(o.vitcl, folder, model, pixels))
        row(family, name, seeds)


def trained(o):
    import timm
    from PIL import Image
    from timm.data import create_transform, resolve_data_config

    folder, files = o.trained[0], o.trained[1:]
    model = timm.create_model("local-dir:" + folder, pretrained=True).eval()
    prepare = create_transform(**resolve_data_config({}, model=model))
    pixels = torch.stack([prepare(Image.open(f).convert("RGB")) for f in files])
    head()
    row(f"{len(files)} photographs", os.path.basename(os.path.normpath(folder)), [errors(o.vitcl, folder, model, pixels)])


def difference(got, want):
    return float((got.double() - want).abs().max() / max(1.0, want.abs().max()))


def peer(o):
    print("| model | precision | vitcl: pooled | patch tokens | PyTorch: pooled | patch tokens |")
    for name, size in ("vit_small_patch16_dinov3", 256), ("vit_base_patch16_dinov3", 256), ("vit_base_patch16_dinov3", 512):
        if o.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            model, pixels = make(name, folder, None, 1, (3, size, size))
            exact = model.double()
            tokens = exact.forward_features(pixels.double())
            want = {"norm": tokens, "features": exact.forward_head(tokens, pre_logits=True)}
            for p, dtype in ("f32", torch.float32), ("f16", torch.float16), ("bf16", torch.bfloat16):
                import copy

                said, worst = forward(o.vitcl, folder, pixels, want, "--precision", p, "--keep", "norm")
                other = copy.deepcopy(model).to(dtype)
                t = other.forward_features(pixels.to(dtype))
                theirs = difference(other.forward_head(t, pre_logits=True), want["features"]), difference(t, want["norm"])
                ours = [said] if said else [f"{worst[k]:.1e}" for k in ("features", "norm")]
                print(f"| `{name}`, {size} | {p} | {' | '.join(ours)} | {theirs[0]:.1e} | {theirs[1]:.1e} |", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("vitcl")
    p.add_argument("--only", default="")
    p.add_argument("--depth", type=int, default=DEPTH)
    p.add_argument("--seeds", type=int, default=1)
    p.add_argument("--trained", nargs="+", metavar="FOLDER PICTURE")
    p.add_argument("--peer", action="store_true")
    o = p.parse_args()
    (peer if o.peer else trained if o.trained else table)(o)


if __name__ == "__main__":
    main()
