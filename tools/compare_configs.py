#!/usr/bin/env python3
"""Random models of timm and transformers, held beside vitcl.

    tools/compare_configs.py VITCL [--library timm|hf] [--seeds 0:300] [--keep DIR]

For each seed a class that vitcl supports is made with random values of every
argument that its constructor has, at small widths, saved as the library saves
it, loaded again by the library, and run there and by `vitcl forward` on the
same pixels. vitcl may refuse the model; an answer must be the library's. Ends
with a count of equal, refused and wrong ones; exit status 1 if one is wrong. A
model that the library itself cannot make, save or load again is drawn anew.

--keep writes the models of these seeds with their input and answer, in the form
of tests/data/models.

By hand: needs torch, timm 1.0.31, transformers 5.24, safetensors.
"""
import argparse
import collections
import inspect
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import warnings

resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
warnings.filterwarnings("ignore")
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
import numpy as np  # noqa: E402
import torch  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

torch.set_num_threads(1)
TOLERANCE = 2e-4  # of the largest number; both compute in f32


def spread(model):
    """Weights that show: no zeros, no equal scales."""
    stored = model.state_dict()  # other buffers are not in the file
    for name, t in list(model.named_parameters()) + list(model.named_buffers()):
        if name not in stored or not t.is_floating_point() or "relative_coords" in name:
            continue
        with torch.no_grad():
            if "running_var" in name:
                t.copy_(torch.rand_like(t) + 0.5)
            elif t.ndim < 2 or "token" in name or "pos_embed" in name:
                t.copy_(torch.randn_like(t) * 0.3 + (1 if name.endswith("weight") or "gamma" in name or "lambda" in name else 0))
            else:
                t.copy_(torch.randn_like(t) * (0.7 / max(t[0].numel(), 1) ** 0.5))


# ---- what is drawn -----------------------------------------------------------

def draw_size(r, patch, square=None):
    h = patch * r.choice([2, 3, 4]) + r.choice([0, 0, 0, 1])
    w = h if square or r.random() < 0.6 else patch * r.choice([2, 3, 5])
    return h, w


ACTS = ["gelu", "gelu_tanh", "quick_gelu", "relu", "silu", "tanh", "gelu_erf", "mish", "hard_swish",
        "leaky_relu", "sigmoid", "swish"]


def maybe(r, args, key, values, chance=0.3):
    if r.random() < chance:
        args[key] = r.choice(values)


def draw_timm(r):
    import timm

    arch = r.choice([
        "vit_base_patch16_224", "vit_base_patch16_224", "vit_base_patch16_clip_224", "vit_base_patch14_dinov2",
        "vit_giant_patch14_dinov2", "vit_base_patch16_siglip_224", "deit_base_patch16_224", "vit_medium_patch16_gap_256",
        "deit_base_distilled_patch16_224", "deit3_base_patch16_224", "vit_base_patch14_reg4_dinov2",
        "vit_base_patch16_siglip_gap_224", "beit_base_patch16_224", "beit_base_patch16_224", "beitv2_base_patch16_224",
        "eva02_base_patch14_448", "eva02_tiny_patch14_224", "eva02_base_patch16_clip_224", "eva_giant_patch14_224",
        "eva02_tiny_patch14_224", "vit_relpos_base_patch16_224", "vit_srelpos_small_patch16_224",
        "vit_relpos_base_patch16_rpn_224", "vit_relpos_base_patch16_cls_224", "vit_base_patch16_clip_quickgelu_224",
    ])
    entry = timm.models._registry.model_entrypoint(arch)
    module = sys.modules[entry.__module__]
    cls = {"eva": "Eva", "beit": "Beit", "vision_transformer_relpos": "VisionTransformerRelPos"}.get(
        entry.__module__.rsplit(".", 1)[1], "VisionTransformer")
    cls = getattr(module, cls, None) or timm.models.vision_transformer.VisionTransformer
    known = {k for k in inspect.signature(cls.__init__).parameters if k not in ("self", "device", "dtype")}
    heads = r.choice([1, 2, 3])
    head = r.choice([4, 8, 16])
    patch = r.choice([4, 8])
    size = draw_size(r, patch)
    args = dict(img_size=list(size), patch_size=patch, embed_dim=heads * head, depth=r.choice([1, 2, 3]),
                num_heads=heads, mlp_ratio=r.choice([1.5, 2, 3, 4]), num_classes=r.choice([1, 2, 5, 7]))
    choices = {
        "in_chans": [3, 3, 3, 3, 1], "global_pool": ["avg", "avgmax", "max", "token", "map", "", "prr"],
        "qkv_bias": [True, False], "qk_norm": [True, False], "scale_attn_norm": [True, False],
        "scale_mlp_norm": [True, False], "proj_bias": [True, False], "init_values": [None, 1e-5, 0.1],
        "class_token": [True, False], "pos_embed": ["learn", "none", ""], "no_embed_class": [True, False],
        "reg_tokens": [0, 1, 4], "pre_norm": [True, False], "final_norm": [True, False], "fc_norm": [True, False, None],
        "pool_include_prefix": [True, False], "dynamic_img_size": [True, False], "dynamic_img_pad": [True, False],
        "drop_rate": [0.1], "pos_drop_rate": [0.1], "patch_drop_rate": [0.2], "proj_drop_rate": [0.1],
        "attn_drop_rate": [0.1], "drop_path_rate": [0.1], "weight_init": ["jax", "moco", "reset"], "fix_init": [True, False],
        "embed_norm_layer": [None, "layernorm"], "norm_layer": [None, "layernorm", "rmsnorm", "layernormfp32"],
        "act_layer": ACTS, "attn_layer": ["", "diff", "attn"], "num_kv_heads": [None, 1], "qkv_fused": [True, False],
        "swiglu_mlp": [True, False], "swiglu_align_to": [0, 8], "scale_mlp": [True, False], "scale_attn_inner": [True, False],
        "attn_type": ["eva", "rope"], "attn_only_layer_scale": [True, False], "num_reg_tokens": [0, 1, 3],
        "use_abs_pos_emb": [True, False], "use_rot_pos_emb": [True, False],
        "rope_type": ["cat", "mixed", "dinov3", "mrope"], "rope_grid_offset": [0, 0.5],
        "rope_grid_indexing": ["ij", "xy"], "rope_temperature": [10000.0, 100.0], "rope_rotate_half": [True, False],
        "rope_shift_coords": [None, 0.1], "rope_jitter_coords": [None, 1.1], "rope_rescale_coords": [None, 1.1],
        "use_post_norm": [True, False], "use_pre_transformer_norm": [True, False],
        "use_post_transformer_norm": [True, False, None], "use_fc_norm": [True, False, None],
        "attn_pool_num_heads": [None, 1], "attn_pool_mlp_ratio": [None, 2.0], "head_init_scale": [0.001, 1.0],
        "ref_feat_shape": [None, 4, [2, 5], 16], "use_rel_pos_bias": [True, False], "use_shared_rel_pos_bias": [True, False],
        "rel_pos_type": ["mlp", "mlp-swin", "mlpswin", "bias", "swin"], "rel_pos_dim": [None, 12],
        "shared_rel_pos": [True, False],
    }
    for key in sorted(known & set(choices)):
        maybe(r, args, key, choices[key], r.choice([0.12, 0.25]))
    if r.random() < 0.03:
        args[r.choice(["head_dim", "dropout", "distilled", "hybrid_backbone"])] = 1
    return arch, args


def make_timm(r, folder):
    import timm

    arch, args = draw_timm(r)
    args = {k: v for k, v in args.items() if v is not None}
    torch.manual_seed(r.randrange(1 << 30))
    model = timm.create_model(arch, **args).eval()
    spread(model)
    timm.models.save_for_hf(model, folder, model_args=args, safe_serialization=True)
    for extra in os.listdir(folder):
        if extra.endswith(".bin"):
            os.remove(os.path.join(folder, extra))
    if r.random() < 0.15:  # a key that timm does not read
        edit(folder, lambda c: c.update({r.choice(["global_pool", "num_features", "note", "hidden_act"]):
                                         r.choice(["avg", "token", "max", 7])}))
    if r.random() < 0.15:  # its default instead
        edit(folder, lambda c: drop_key(r, r.choice([c, c["model_args"], c["pretrained_cfg"]])))
    model = timm.create_model("local-dir:" + folder, pretrained=True).eval()
    size = args["img_size"]
    pixels = torch.randn(2, args.get("in_chans", 3), *size)
    with torch.no_grad():
        return pixels, {"logits": model(pixels)}, f"{arch} {args}"


def draw_hf(r):
    import transformers as t

    kind = r.choice(["ViT", "ViTMSN", "ViTMAE", "IJepa", "DPT", "Yolos", "DeiT", "Dinov2", "Dinov2WithRegisters", "DINOv3ViT",
                     "Tipsv2Vision", "Tipsv2", "CLIPVision", "CLIP", "MetaClip2Vision", "MetaClip2", "ChineseCLIPVision",
                     "ChineseCLIP", "AltCLIPVision", "AltCLIP", "SiglipVision", "Siglip", "Aimv2Vision", "Aimv2", "Beit", "Beit",
                     "Data2VecVision"])
    heads, head, patch = r.choice([1, 2, 3]), r.choice([4, 8, 16]), r.choice([4, 8])
    size = draw_size(r, patch)
    args = dict(hidden_size=heads * head, num_hidden_layers=r.choice([1, 2, 3]), num_attention_heads=heads,
                image_size=size[0] if size[0] == size[1] else list(size), patch_size=patch)
    if kind == "Yolos":  # it reads a list only
        args["image_size"] = list(size)
    if kind.startswith(("Dinov2", "Tipsv2")):
        args["mlp_ratio"] = r.choice([1, 2, 3, 4])
    else:
        args["intermediate_size"] = r.choice([8, 24, 40])
    choices = {
        "hidden_act": ["gelu", "gelu_new", "quick_gelu", "relu", "silu", "gelu_pytorch_tanh", "gelu_python", "tanh", "mish",
                       "gelu_fast", "gelu_10", "sigmoid", "gelu_accurate", "swish", "linear"],
        "hidden_dropout_prob": [0.1], "attention_probs_dropout_prob": [0.1], "attention_dropout": [0.1],
        "initializer_range": [0.5], "layer_norm_eps": [1e-12, 1e-6, 1e-5, 0.1], "num_channels": [3] * 9 + [1],
        "qkv_bias": [True, False], "encoder_stride": [8], "pooler_output_size": [None, 12], "pooler_act": ["tanh", "gelu", "relu", "mish"],
        "vocab_size": [10], "use_mask_token": [True, False], "use_absolute_position_embeddings": [True, False],
        "use_relative_position_bias": [True, True, False], "use_shared_relative_position_bias": [True, False],
        "layer_scale_init_value": [0.0, 0.1, 1.0], "drop_path_rate": [0.1], "use_mean_pooling": [True, False],
        "pool_scales": [[1, 2]], "use_auxiliary_head": [True, False], "semantic_loss_ignore_index": [0],
        "layerscale_value": [0.5], "use_swiglu_ffn": [True, False], "apply_layernorm": [True, False],
        "reshape_hidden_states": [True, False], "num_register_tokens": [1, 2, 4], "projection_dim": [6, 16],
        "initializer_factor": [1.0, 0.3], "vision_use_head": [True, False], "head_dim": [head, head * 2, 4],
        "rms_norm_eps": [1e-6, 1e-5, 0.1], "use_head": [True, False], "is_native": [True, False], "mlp_bias": [True, False],
        "num_detection_tokens": [1, 3, 5], "use_mid_position_embeddings": [True, False], "rope_theta": [100.0, 30.0],
        "use_gated_mlp": [True, False], "query_bias": [True, False], "key_bias": [True, False], "value_bias": [True, False],
        "proj_bias": [True, False], "readout_type": ["add", "ignore"], "neck_hidden_sizes": [[8, 8, 8, 8]],
        "mask_ratio": [0.5],
    }
    if kind.startswith("Aimv2"):
        choices["hidden_act"] = ["silu", "silu", "silu", "gelu"]
    cls = getattr(t, (kind + "Vision" if kind in TWO else kind) + "Config")
    known = {f for f in cls.__dataclass_fields__} | {"head_dim"}
    for key in sorted(known & set(choices)):
        maybe(r, args, key, choices[key], 0.05 if key == "head_dim" else 0.3)
    return kind, args


# Models of two towers, whose text towers are not compared here.
TWO = {"CLIP", "MetaClip2", "ChineseCLIP", "AltCLIP", "Siglip", "Aimv2", "Tipsv2"}


def make_hf(r, folder):
    import transformers as t

    kind, args = draw_hf(r)
    args = {k: v for k, v in args.items() if v is not None}
    torch.manual_seed(r.randrange(1 << 30))
    labels = r.choice([2, 3, 5])
    if kind in TWO:
        text = dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1, vocab_size=11,
                    max_position_embeddings=4, bos_token_id=0, eos_token_id=1, pad_token_id=2)
        if kind == "Siglip":
            text["projection_size"] = args["hidden_size"]
        if kind == "AltCLIP":
            text["project_dim"] = 8
        if kind == "Tipsv2":
            text["hidden_size"] = args["hidden_size"]
            text["num_attention_heads"] = args["num_attention_heads"]
        extra = {} if kind in ("Siglip", "Tipsv2") else {"projection_dim": r.choice([6, 16])}
        config = getattr(t, kind + "Config")(vision_config=args, text_config=text, num_labels=labels, **extra)
    else:
        config = getattr(t, kind + "Config")(**args, num_labels=labels)
    heads = {"CLIP": ["CLIPModel", "CLIPForImageClassification"], "CLIPVision": ["CLIPVisionModel", "CLIPVisionModelWithProjection"],
             "MetaClip2": ["MetaClip2Model", "MetaClip2ForImageClassification"],
             "MetaClip2Vision": ["MetaClip2VisionModel", "MetaClip2VisionModelWithProjection"],
             "ChineseCLIP": ["ChineseCLIPModel"], "ChineseCLIPVision": ["ChineseCLIPVisionModel"],
             "AltCLIP": ["AltCLIPModel"], "AltCLIPVision": ["AltCLIPVisionModel"],
             "Aimv2": ["Aimv2Model"], "Aimv2Vision": ["Aimv2VisionModel"],
             "Tipsv2": ["Tipsv2Model"], "Tipsv2Vision": ["Tipsv2VisionModel"],
             "ViTMAE": ["ViTMAEModel"], "DPT": ["DPTModel", "DPTForDepthEstimation"], "DINOv3ViT": ["DINOv3ViTModel"],
             "Yolos": ["YolosModel", "YolosForObjectDetection"],
             "Siglip": ["SiglipModel", "SiglipForImageClassification"], "SiglipVision": ["SiglipVisionModel"],
             "DeiT": ["DeiTModel", "DeiTForImageClassification", "DeiTForImageClassificationWithTeacher"]}
    name = r.choice(heads.get(kind, [kind + "Model", kind + "ForImageClassification"]))
    cls = getattr(t, name)
    model = cls(config).eval()
    spread(model)
    model.save_pretrained(folder)
    if r.random() < 0.3:
        add_key(r, folder)
    if r.random() < 0.2:
        edit(folder, lambda c: drop_key(r, r.choice([c, c.get("vision_config", c)])))
    model, loading = cls.from_pretrained(folder, output_loading_info=True)
    if any(loading.get(k) for k in ("missing_keys", "mismatched_keys", "unexpected_keys")):
        raise RuntimeError("loaded with other keys")
    model = model.float().eval()
    size = args["image_size"]
    size = [size, size] if isinstance(size, int) else size
    pixels = torch.randn(2, args.get("num_channels", 3), *size)
    with torch.no_grad():
        if kind in TWO and name.endswith("Model"):
            v = model.vision_model(pixels)
            out = {"pooler_output": v.pooler_output}
            if hasattr(model, "visual_projection"):
                out["image_embeds"] = model.visual_projection(v.pooler_output)
        else:
            if kind == "ViTMAE":  # no patch is left out, and they keep their order
                model.config.mask_ratio = 0.0
                noise = torch.arange(model.embeddings.patch_embeddings.num_patches).float().repeat(2, 1)
                o = model(pixels, noise=noise)
            else:
                base = getattr(model, "dpt", getattr(model, "vit", None)) if name.endswith(("DepthEstimation", "Detection")) else None
                o = (base or model)(pixels)
            if kind == "Yolos":  # vitcl has the detection tokens in front of the patches
                n = model.config.num_detection_tokens
                x = o.last_hidden_state
                o["last_hidden_state"] = torch.cat([x[:, :1], x[:, -n:], x[:, 1:-n]], 1)
            out = {k: o[k] for k in ("logits", "image_embeds", "pooler_output", "last_hidden_state", "cls_logits") if k in o and o[k] is not None}
    return pixels, out, f"{name} {args}"


def add_key(r, folder):
    """A key that the class may not know, or a spelling that it knows, too."""
    key, value = r.choice([
        ("attention_bias", False), ("rope_theta", 100.0), ("use_rope", True), ("hidden_dropout", 0.3), ("num_heads", 7),
        ("embed_dim", 9), ("depth", 1), ("per_layer_config", {"0": {"hidden_act": "relu"}}), ("layer_norm_epsilon", 0.3),
        ("act_layer", "relu"), ("quantization_config", None), ("vision_config_dict", None), ("norm_eps", 0.1),
        ("torch_dtype", "float32"), ("pruned_heads", {"0": [0]}), ("activation", "relu"), ("num_labels", 3),
        ("vision_config", {"hidden_act": "relu", "num_attention_heads": 1}), ("num_register_tokens", 2), ("qkv_bias", False),
        ("use_swiglu_ffn", True), ("layer_scale_init_value", 0), ("use_mean_pooling", False), ("head_dim", 2),
        ("vision_use_head", False), ("pooler_act", "relu"), ("projection_dim", 3), ("function_to_apply", "none"),
    ])

    def change(c):
        if key == "vision_config_dict":
            if "vision_config" in c:
                c[key] = {**c["vision_config"], "hidden_act": r.choice(["relu", "gelu", "silu"])}
            return
        (c.get("vision_config") if r.random() < 0.5 and "vision_config" in c else c).update({key: value})
    edit(folder, change)


def drop_key(r, config):
    """The library takes its default."""
    config.pop(r.choice(sorted(config)))


def edit(folder, change):
    path = os.path.join(folder, "config.json")
    with open(path) as f:
        config = json.load(f)
    change(config)
    with open(path, "w") as f:
        json.dump(config, f, indent=1)


# ---- holding both side by side -----------------------------------------------

def forward(vitcl, folder, pixels, want, *options):
    """-> (what vitcl says, {name: largest difference})"""
    with tempfile.TemporaryDirectory() as tmp:
        given, answer = tmp + "/in.safetensors", tmp + "/out.safetensors"
        save_file({"pixel_values": pixels.contiguous()}, given)
        run = subprocess.run([vitcl, "forward", "-m", folder, "-i", given, "-o", answer, *options],
                             capture_output=True, text=True)
        if run.returncode:
            return run.stderr.strip().splitlines()[-1] if run.stderr.strip() else f"exit status {run.returncode}", None
        got = load_file(answer)
    worst = {}
    for name, t in want.items():
        if name not in got:
            continue
        a, b = got[name].numpy().astype(np.float64), t.numpy().astype(np.float64)
        if a.size != b.size:
            worst[name] = float("inf")
            continue
        d = np.abs(a.reshape(-1) - b.reshape(-1)).max()
        worst[name] = float(d / max(1.0, np.abs(b).max()))
    return None, worst


def one(vitcl, library, seed, keep):
    r = random.Random(f"{library} {seed}")
    make = make_timm if library == "timm" else make_hf
    for attempt in range(60):
        with tempfile.TemporaryDirectory() as tmp:
            folder = tmp + "/m"
            os.mkdir(folder)
            try:
                pixels, want, what = make(r, folder)
                if not all(torch.isfinite(v).all() for v in want.values()):
                    continue
            except Exception as e:
                if os.environ.get("COMPARE_VERBOSE"):
                    print(f"  drawn anew: {type(e).__name__}: {str(e)[:160]}", flush=True)
                continue
            said, worst = forward(vitcl, folder, pixels, want)
            wrong = worst is not None and (not worst or max(worst.values()) > TOLERANCE)
            if keep or wrong and os.environ.get("COMPARE_WRONG"):
                to = os.path.join(keep or os.environ["COMPARE_WRONG"], f"{library}_{seed}")
                shutil.rmtree(to, ignore_errors=True)
                shutil.copytree(folder, to)
                save_file({"pixel_values": pixels.contiguous()}, to + "/input.safetensors")
                save_file({k: v.contiguous() for k, v in want.items()}, to + "/expected.safetensors")
            return ("refused" if said else "wrong" if wrong else "equal"), said or worst, what
    return "undrawn", "", ""


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("vitcl")
    p.add_argument("--library", choices=["timm", "hf"], action="append")
    p.add_argument("--seeds", default="0:300")
    p.add_argument("--keep")
    o = p.parse_args()
    first, last = map(int, o.seeds.split(":"))
    counts = collections.Counter()
    for library in o.library or ["timm", "hf"]:
        for seed in range(first, last):
            how, said, what = one(o.vitcl, library, seed, o.keep)
            counts[library, how] += 1
            print(f"{library} {seed}\t{how}\t{said}\t{what}", flush=True)
    for (library, how), n in sorted(counts.items()):
        print(f"{library}\t{how}\t{n}")
    sys.exit(any(how == "wrong" for _, how in counts))


if __name__ == "__main__":
    main()
