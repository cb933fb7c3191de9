#!/usr/bin/env python3
"""Does the other library compute the same from what `vitcl convert` writes?

    tools/compare_conversions.py VITCL [SEEDS [FIRST]]

For each of SEEDS seeds (70), a random small model of timm and one of transformers,
with every argument that changes what is computed, are saved by their own
library, converted, and loaded by the other one, which must give the same
numbers. A model that vitcl refuses counts as refused; its reasons are listed.
Exit status 1 if a number is wrong or the other library cannot load a folder.
Needs torch, timm, transformers, safetensors. By hand: it takes minutes."""
import collections
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile

resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
os.environ["HF_HUB_OFFLINE"] = "1"

import safetensors.torch
import timm
import torch
import transformers

torch.set_grad_enabled(False)
torch.set_num_threads(1)
transformers.logging.set_verbosity_error()
VITCL = sys.argv[1]
ACTS = ["gelu", "gelu_tanh", "quick_gelu", "relu", "silu", "tanh"]
HF_ACTS = {"gelu_tanh": "gelu_pytorch_tanh"}
MEAN, STD = [0.5, 0.4, 0.3], [0.2, 0.2, 0.1]


def fill(model, seed):
    """Numbers far from trivial, also where a library begins with 0 or 1."""
    torch.manual_seed(seed)
    for name, p in model.named_parameters():
        if p.ndim > 1 and "token" not in name and "pos" not in name:
            p.normal_(0, p[0].numel() ** -0.5)
        elif "norm" in name and name.endswith("weight"):
            p.uniform_(0.5, 1.5)
        else:
            p.normal_(0, 0.3)
    return model.eval()


def size(r):
    """patch, picture"""
    patch = r.choice([4, 8])
    high = patch * r.randint(2, 4)
    return patch, (high, high if r.random() < 0.75 else patch * r.randint(2, 5))


# ---- models of timm ----

TIMM = ["vit_base_patch16_224", "deit_base_distilled_patch16_224",
        "deit_base_patch16_224", "deit3_base_patch16_224",
        "beit_base_patch16_224", "beitv2_base_patch16_224",
        "vit_base_patch14_dinov2", "vit_base_patch14_reg4_dinov2",
        "vit_giant_patch14_dinov2", "vit_base_patch16_clip_224",
        "vit_base_patch16_clip_quickgelu_224", "vit_base_patch16_siglip_224",
        "vit_base_patch32_siglip_256", "vit_medium_patch16_gap_256",
        "vit_base_patch16_siglip_gap_224"]
# no class of transformers: to be refused
TIMM_ONLY = ["eva02_tiny_patch14_224", "vit_relpos_base_patch16_224",
             "vit_base_patch16_rpn_224"]


def timm_model(r, seed, folder):
    name = r.choice(TIMM if r.random() < 0.9 else TIMM_ONLY)
    patch, side = size(r)
    heads = r.choice([1, 2, 3])
    beit, siglip = "beit" in name, "siglip" in name
    plain = not beit and not siglip and name not in TIMM_ONLY and "gap" not in name
    args = dict(img_size=side, patch_size=patch, embed_dim=heads * 8, depth=2,
                num_heads=heads, mlp_ratio=r.choice([2, 3, 4]))
    classes = r.choice([0, 1, 5])
    if beit:
        kind = r.choice(["own", "shared", "none"])
        args |= dict(use_rel_pos_bias=kind == "own",
                     use_shared_rel_pos_bias=kind == "shared",
                     use_abs_pos_emb=kind == "none" or r.random() < 0.3)
        if r.random() < 0.2:
            args["init_values"] = None
    elif r.random() < 0.5 and "giant" not in name and "eva" not in name:
        args["act_layer"] = r.choice(ACTS)
    if plain:
        if r.random() < 0.2:
            args["qkv_bias"] = False
        if r.random() < 0.1:
            args["qk_norm"] = True
        if r.random() < 0.1:
            args["proj_bias"] = False
    if r.random() < 0.2 and plain and "distilled" not in name:
        args["global_pool"] = r.choice(["avg", "token"])
    model = timm.create_model(name, num_classes=classes, **args)
    fill(model, seed)
    model(torch.zeros(1, 3, *side))
    with open(folder + "/config.json", "w") as f:
        json.dump({"architecture": name, "num_classes": classes,
                   "num_features": model.num_features,
                   "global_pool": args.get("global_pool", model.global_pool),
                   "model_args": args,
                   "pretrained_cfg": {
                       "input_size": [3, *side], "interpolation": r.choice(["bicubic", "bilinear"]),
                       "crop_pct": r.choice([1.0, 0.9]), "mean": MEAN, "std": STD,
                       "num_classes": classes}}, f)
    safetensors.torch.save_file(
        {k: v.contiguous() for k, v in model.state_dict().items()},
        folder + "/model.safetensors", {"format": "pt"})
    return f"timm {name} {classes} {args}", side, model


def load_hf(folder):
    with open(folder + "/config.json") as f:
        name = json.load(f)["architectures"][0]
    model, info = getattr(transformers, name).from_pretrained(
        folder, output_loading_info=True)
    lost = [k for k in info["missing_keys"] if "pooler" not in k]
    if lost or info["unexpected_keys"] or info["mismatched_keys"]:
        raise ValueError(f"keys {lost} {info['unexpected_keys']} {info['mismatched_keys']}")
    transformers.AutoImageProcessor.from_pretrained(folder)
    return model.eval()


def numbers_hf(model, x):
    """What the model is for, and a feature where that is all tokens."""
    if type(model).__name__ in ("CLIPModel", "SiglipModel"):  # with a text tower
        y = model.vision_model(pixel_values=x).pooler_output
        return model.visual_projection(y) if hasattr(model, "visual_projection") else y
    y = model(pixel_values=x)
    for key in ("logits", "image_embeds", "pooler_output", "last_hidden_state"):
        if getattr(y, key, None) is not None and not (
                key == "pooler_output" and not returns_pooled(model)):
            return getattr(y, key)


def returns_pooled(model):
    return type(model).__name__ in ("CLIPVisionModel", "SiglipVisionModel") or \
        (type(model).__name__ == "BeitModel" and model.config.use_mean_pooling)


def numbers_timm(model, x, like):
    """The same of a timm model; like: the other library's."""
    if like.ndim == 3:
        y = model.forward_features(x)
        return y
    return model(x)


# ---- models of transformers ----

HF = ["ViTModel", "ViTForImageClassification", "ViTMSNModel",
      "ViTMSNForImageClassification", "DeiTModel", "DeiTForImageClassification",
      "DeiTForImageClassificationWithTeacher", "Dinov2Model",
      "Dinov2ForImageClassification", "Dinov2WithRegistersForImageClassification",
      "BeitForImageClassification", "BeitModel", "CLIPVisionModel",
      "CLIPVisionModelWithProjection", "CLIPModel", "CLIPForImageClassification",
      "SiglipVisionModel", "SiglipModel", "SiglipForImageClassification"]


def hf_model(r, seed, folder):
    name = r.choice(HF)
    patch, side = size(r)
    heads = r.choice([1, 2, 3])
    act = r.choice(ACTS + ["gelu"] * 6)
    args = dict(hidden_size=heads * 8, num_hidden_layers=2, num_attention_heads=heads,
                hidden_act=HF_ACTS.get(act, act), patch_size=patch,
                image_size=side[0] if side[0] == side[1] else list(side))
    base = name.split("For")[0].removesuffix("Model").removesuffix("VisionModelWithProjection").removesuffix("Vision")
    default = {"CLIP": 1e-5, "Siglip": 1e-6, "ViTMSN": 1e-6}.get(base, 1e-12)
    args["layer_norm_eps"] = r.choice([default] * 6 + [1e-12, 1e-6, 1e-5, 1e-3, 0.1])
    more = {}
    if base.startswith("Dinov2"):
        args |= dict(mlp_ratio=r.choice([2, 4]), use_swiglu_ffn=r.random() < 0.3)
        if args["layer_norm_eps"] == default:
            args["layer_norm_eps"] = 1e-6
    else:
        args["intermediate_size"] = heads * r.choice([16, 20, 32])
    if base in ("ViT", "ViTMSN", "DeiT", "Dinov2", "Dinov2WithRegisters") and r.random() < 0.2:
        args["qkv_bias"] = False
    if name in ("ViTModel", "DeiTModel"):
        more["add_pooling_layer"] = r.random() < 0.4
    if base == "Beit":
        kind = r.choice(["own", "shared", "none"])
        args |= dict(use_relative_position_bias=kind == "own",
                     use_shared_relative_position_bias=kind == "shared",
                     use_absolute_position_embeddings=kind == "none",
                     use_mean_pooling=r.random() < 0.7,
                     layer_scale_init_value=r.choice([0.1, 0.1, 0]))
    if "Projection" in name:
        args["projection_dim"] = 6
    if "Classification" in name:
        args["id2label"] = {i: f"class {i}" for i in range(r.choice([1, 5]))}
    kind = {"CLIPVisionModel": "CLIPVision", "CLIPVisionModelWithProjection": "CLIPVision",
            "SiglipVisionModel": "SiglipVision"}.get(name, base)
    config = getattr(transformers, kind + "Config")
    if name in ("SiglipForImageClassification", "CLIPForImageClassification",
                "CLIPModel", "SiglipModel"):
        both = {"id2label": args.pop("id2label")} if "id2label" in args else {}
        text = dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1,
                    num_attention_heads=1, vocab_size=11, bos_token_id=0,
                    eos_token_id=1, pad_token_id=2, max_position_embeddings=4)
        if base == "Siglip":
            text["projection_size"] = args["hidden_size"]
        else:
            both["projection_dim"] = 6
        config = getattr(transformers, base + "Config")
        config = config(vision_config=args, text_config=text, **both)
    else:
        config = config(**args)
    model = fill(getattr(transformers, name)(config, **more), seed)
    model.save_pretrained(folder)
    numbers_hf(model, torch.zeros(1, 3, *side))
    shape = {"height": side[0], "width": side[1]}
    processor = {"CLIP": "CLIP", "Siglip": "Siglip", "Beit": "Beit", "DeiT": "DeiT"}.get(base, "ViT")
    with open(folder + "/preprocessor_config.json", "w") as f:
        json.dump({"image_processor_type": processor + "ImageProcessor", "size": shape,
                   "do_center_crop": False, "image_mean": MEAN, "image_std": STD,
                   "resample": r.choice([2, 3])}, f)
    return f"{name} {args} {more}", side, model


def load_timm(folder):
    return timm.create_model("local-dir:" + folder, pretrained=True).eval()


# ---- one conversion ----

def compare(seed, to):
    r = random.Random(f"{seed} {to}")
    with tempfile.TemporaryDirectory() as at:
        start, out = at + "/start", at + "/out"
        for _ in range(40):  # what the library cannot run itself is drawn anew
            shutil.rmtree(start, ignore_errors=True)
            os.mkdir(start)
            try:
                what, side, model = (timm_model if to == "hf" else hf_model)(r, seed, start)
                break
            except Exception:  # pylint: disable=broad-except
                continue
        done = subprocess.run([VITCL, "convert", "-m", start, "-o", out, "--to", to],
                              capture_output=True, text=True)
        if done.returncode != 0:
            return what, "refused", done.stderr.strip().split(": ", 2)[-1]
        x = torch.randn(2, 3, *side, generator=torch.Generator().manual_seed(seed))
        try:
            other = load_hf(out) if to == "hf" else load_timm(out)
            if to == "hf":
                want = numbers_hf(other, x)
                have = numbers_timm(model, x, want)
            else:
                want = numbers_hf(model, x)
                have = numbers_timm(other, x, want)
        except Exception as e:  # pylint: disable=broad-except
            return what, "wrong", f"{type(e).__name__}: {e}"
        if want.shape != have.shape:
            return what, "wrong", f"shapes {tuple(want.shape)}, {tuple(have.shape)}"
        off = float((want - have).abs().max() / want.abs().max())
        return what, "equal" if off < 1e-4 else "wrong", f"off by {off:.2g}"


def main():
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 70
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    counts, reasons = collections.Counter(), collections.Counter()
    for seed in range(first, first + seeds):
        for to in "hf", "timm":
            what, verdict, why = compare(seed, to)
            counts[verdict] += 1
            if verdict == "refused":
                reasons[f"to {to}: {why}"] += 1
            if verdict == "wrong":
                print(f"seed {seed} to {to}: {what}\n    {why}", flush=True)
    for reason, n in reasons.most_common():
        print(f"{n} refused {reason}")
    print(f"{2 * seeds} conversions: {counts['equal']} equal, "
          f"{counts['refused']} refused, {counts['wrong']} wrong")
    return counts["wrong"] > 0


if __name__ == "__main__":
    sys.exit(main())
