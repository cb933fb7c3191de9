#!/usr/bin/env python3
"""Make tests/data/models, preprocess/defaults and positions.safetensors there.

    tools/golden_tiny.py tests/data

One tiny checkpoint for each family, as timm and transformers save it, with
random weights far from trivial, and the results of the library itself in
float32 on the CPU, with which tests/models compares. Tensors are named as in a
plan. positions.safetensors holds torch's, timm's and scipy's own resizing.
Needs torch, timm, transformers, safetensors, numpy (scipy for one rule). With
names of models after the folder it makes these alone; timm's do not need
transformers.
"""
import json, math, os, sys, zlib

import numpy as np, torch
import torch.nn.functional as F
from safetensors.torch import save_file

torch.set_grad_enabled(False)
OUT = sys.argv[1]
D, L, H, P, S = 16, 2, 2, 8, 24  # width, depth, heads, patch, picture
TIMM = {
    "timm_vit": ("vit_base_patch16_224", dict(num_classes=5), S),
    "timm_vit_gap_rect": ("vit_base_patch16_224", dict(num_classes=5, global_pool="avg", class_token=False, img_size=(16, 32)), (16, 32)),
    "timm_vit_qknorm_reg": ("vit_base_patch16_224", dict(num_classes=5, qk_norm=True, reg_tokens=2, init_values=0.1), S),
    "timm_vit_resized": ("vit_base_patch16_224", dict(num_classes=5), (40, 32)),
    "timm_vit_avgmax": ("vit_base_patch16_224", dict(num_classes=5, global_pool="avgmax"), S),
    "timm_vit_floor": ("vit_base_patch16_224", dict(num_classes=5, img_size=(30, 21), proj_bias=False), (30, 21)),
    "timm_vit_max": ("vit_base_patch16_224", dict(num_classes=5, global_pool="max", fc_norm=False), S),
    "timm_deit_distilled": ("deit_base_distilled_patch16_224", dict(num_classes=5), S),
    "timm_dinov2_swiglu_reg": ("vit_giant_patch14_reg4_dinov2", dict(num_classes=5, mlp_ratio=3), S),
    "timm_siglip": ("vit_base_patch16_siglip_224", dict(num_classes=5), S),
    "timm_clip": ("vit_base_patch16_clip_quickgelu_224", dict(num_classes=5), S),
    "timm_beit_resized": ("beit_base_patch16_224", dict(num_classes=5), (32, 40)),
    "timm_relpos_cls": ("vit_relpos_base_patch16_cls_224", dict(num_classes=5), S),
    "timm_srelpos": ("vit_srelpos_small_patch16_224", dict(num_classes=5), S),
    "timm_relpos_rpn": ("vit_relpos_base_patch16_rpn_224", dict(num_classes=5), S),
    "timm_eva02_resized": ("eva02_base_patch14_224", dict(num_classes=5), (32, 24)),
    "timm_hybrid": ("vit_small_r26_s32_224", dict(num_classes=5, img_size=(21, 30)), (21, 30)),
    "timm_resnetd": ("vit_small_resnet26d_224", dict(num_classes=5, img_size=(19, 30)), (19, 30)),
    "hybrid_basic": ("vit_small_r26_s32_224", dict(num_classes=5, img_size=(24, 40), depth=1), (24, 40)),
    "timm_eva02_clip": ("eva02_large_patch14_clip_224", dict(num_classes=5, mlp_ratio=16), S),  # a norm of 256
    "timm_vit_avg_reg": ("vit_base_patch16_224", dict(num_classes=5, global_pool="avg", reg_tokens=2), S),
    "timm_vit_avgmax_plain": ("vit_base_patch16_224", dict(num_classes=5, global_pool="avgmax", fc_norm=False), S),
    "timm_vit_map_all": ("vit_base_patch16_224", dict(num_classes=5, global_pool="map", pool_include_prefix=True), S),
    "timm_relpos_bias_cls": ("vit_relpos_base_patch16_cls_224", dict(num_classes=5, rel_pos_type="bias"), S),
    "timm_relpos_swin": ("vit_relpos_base_patch16_224", dict(num_classes=5, rel_pos_type="mlp-swin", img_size=(16, 32)), (16, 32)),
    "timm_dinov3": ("vit_small_plus_patch16_dinov3_qkvb", dict(num_classes=5), (32, 24)),
    "timm_pe_core": ("vit_pe_core_tiny_patch16_384", dict(num_classes=5), S),
    "timm_rotary_mixed": ("vit_small_patch16_rope_mixed_ape_224", dict(num_classes=5, img_size=(16, 32)), (16, 32)),
    "timm_rotary_reg": ("vit_medium_patch16_rope_reg1_gap_256", dict(num_classes=5, img_size=(24, 40)), (24, 40)),
    "timm_aimv2": ("aimv2_large_patch14_224", dict(num_classes=5), S),
    "timm_naflex": ("naflexvit_base_patch16_siglip", dict(num_classes=5, pos_embed_grid_size=(4, 5)), (32, 56)),
    "timm_naflex_axes": ("naflexvit_base_patch16_parfac_gap", dict(num_classes=5, pos_embed_grid_size=(4, 5)), (32, 56)),
    "timm_naflex_radio": ("naflexvit_base_patch16_radio_v3", dict(num_classes=5, pos_embed_grid_size=(9, 9), reg_tokens=2), (32, 56)),
    "timm_diff": ("vit_dwee_patch16_reg1_gap_256", dict(num_classes=5, init_values=0.1), S),
    "timm_grey": ("vit_base_patch16_224", dict(num_classes=5, in_chans=1), S),
    "timm_sapiens2": ("vit_base_patch16_sapiens2", dict(num_classes=5, depth=3, num_heads=4, num_kv_heads=[4, 2, 4]), (32, 24)),
    "timm_mobileclip": ("vit_base_mci_224", dict(num_classes=5, img_size=(32, 48)), (32, 48)),
    "timm_axial": ("vit_base_patch16_224", dict(num_classes=5, global_pool="avg", class_token=False, depth=4, img_size=(24, 40), attention="axial"), (24, 40)),
    "timm_post_norm": ("vit_base_patch16_224", dict(num_classes=5, init_values=0.1, block="post-norm"), S),
    "timm_no_skip": ("vit_base_patch16_224", dict(num_classes=5, block="no-skip"), S),
}


def thin_hybrid(**kw):
    """One thin ResNetV2 stage before 1x1 patches."""
    from functools import partial

    from timm.layers import StdConv2dSame
    from timm.models.resnetv2 import ResNetV2
    from timm.models.vision_transformer_hybrid import _create_vision_transformer_hybrid

    conv = partial(StdConv2dSame, eps=1e-8)
    stem = ResNetV2(layers=(1,), channels=(128,), stem_chs=32, num_classes=0, global_pool="", preact=False, stem_type="same", conv_layer=conv)
    return _create_vision_transformer_hybrid("vit_small_r26_s32_224", backbone=stem, pretrained=False, **kw)


def thin_resnetd(**kw):
    """Two thin ResNet-D stages; the second one's 2x2 means end on an odd row."""
    from timm.models.resnet import resnet26d
    from timm.models.vision_transformer_hybrid import _create_vision_transformer_hybrid

    stem = resnet26d(features_only=True, out_indices=[2], layers=(2, 1), channels=(4, 6), stem_width=4)
    return _create_vision_transformer_hybrid("vit_small_resnet26d_224", backbone=stem, pretrained=False, **kw)


def thin_mobileclip(**kw):
    """MobileCLIP's stem, thin."""
    from timm.models.vision_transformer_hybrid import ConvStem, _create_vision_transformer_hybrid

    stem = ConvStem(channels=(4, 6, D), stride=(4, 2, 2), kernel_size=(4, 2, 2), padding=0, act_layer=torch.nn.GELU)
    return _create_vision_transformer_hybrid("vit_base_mci_224", backbone=stem, embed_args=dict(proj=False), pretrained=False, no_embed_class=True, **kw)


def basic_hybrid(**kw):
    """Two stages of one basic block, from timm's parts, because timm has no such
    model."""
    from functools import partial

    from timm.layers import GroupNormAct, StdConv2dSame
    from timm.models.resnetv2 import create_resnetv2_stem
    from timm.models.vision_transformer_hybrid import _create_vision_transformer_hybrid

    conv, norm = partial(StdConv2dSame, eps=1e-8), partial(GroupNormAct, num_groups=32)

    class Block(torch.nn.Module):
        def __init__(self, stride):
            super().__init__()
            self.downsample = torch.nn.Sequential()
            self.downsample.conv, self.downsample.norm = conv(32, 32, 1, stride=stride), norm(32, apply_act=False)
            self.conv1, self.norm1 = conv(32, 32, 3, stride=stride), norm(32)
            self.conv2, self.norm2 = conv(32, 32, 3), norm(32, apply_act=False)

        def forward(self, x):
            short = self.downsample.norm(self.downsample.conv(x))
            return F.relu(short + self.norm2(self.conv2(self.norm1(self.conv1(x)))))

    class Stem(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = create_resnetv2_stem(3, 32, stem_type="same", preact=False, conv_layer=conv, norm_layer=norm)
            self.stages = torch.nn.Sequential()
            for s in range(2):
                stage = torch.nn.Sequential()
                stage.blocks = torch.nn.Sequential(Block(s + 1))
                self.stages.append(stage)

        def forward(self, x):
            return self.stages(self.stem(x))

    return _create_vision_transformer_hybrid("vit_small_r26_s32_224", backbone=Stem(), pretrained=False, **kw)


class Axial(torch.nn.Module):
    """timm's attention over the rows of a grid, or over its columns, for a model
    that timm does not have."""

    def __init__(self, attn, wide, columns):
        super().__init__()
        self.attn, self.wide, self.columns = attn, wide, columns

    def forward(self, x, **_):
        grid = x.unflatten(1, (-1, self.wide))
        if self.columns:
            return self.attn(grid.transpose(1, 2).flatten(0, 1)).unflatten(0, (len(x), -1)).transpose(1, 2).flatten(1, 2)
        return self.attn(grid.flatten(0, 1)).unflatten(0, (len(x), -1)).flatten(1, 2)


def refill(model, seed):
    g = torch.Generator().manual_seed(seed)
    for name, p in model.named_parameters():
        r, low = torch.randn(p.shape, generator=g), name.lower()
        if any(k in low for k in ("token", "pos_embed", "position_emb", "latent", "probe", "bias_table", "class_emb")):
            p.copy_(r * 0.4)
        elif p.ndim >= 2:
            p.copy_(r * (1.3 / math.sqrt(p[0].numel())))
        elif any(k in low for k in ("gamma", "lambda", "ls1", "ls2")):
            p.copy_(0.6 + 0.2 * r)
        elif low.endswith("weight"):
            p.copy_(1 + 0.2 * r)
        else:
            p.copy_(r * 0.2)
        p.copy_(p.bfloat16().float())
    for name, b in model.named_buffers():  # BatchNorm's, as if it had been trained
        if name.endswith(("running_mean", "running_var")):
            r = torch.randn(b.shape, generator=g)
            b.copy_((0.3 * r if name.endswith("mean") else 0.2 + r.abs()).bfloat16().float())
    return model.eval()


def pixels(seed, size, channels=3):
    h, w = (size, size) if isinstance(size, int) else size
    x = torch.randn(2, channels, h, w, generator=torch.Generator().manual_seed(seed + 7))
    return x.bfloat16().float()


def save(name, config, state, x, exp):
    d = os.path.join(OUT, "models", name)
    os.makedirs(d, exist_ok=True)
    json.dump(config, open(os.path.join(d, "config.json"), "w"), indent=1)
    save_file({k: (v.bfloat16() if v.is_floating_point() else v).contiguous().clone() for k, v in state.items()}, os.path.join(d, "model.safetensors"))
    save_file({"pixel_values": x.bfloat16().contiguous()}, os.path.join(d, "input.safetensors"))
    save_file({k: v.float().contiguous().clone() for k, v in exp.items()}, os.path.join(d, "expected.safetensors"))
    size = sum(os.path.getsize(os.path.join(d, f)) for f in os.listdir(d))
    assert size < 130_000, (name, size)
    print(f"{name:24} {size:6} bytes")


def pictures(name, answer, mode="RGB"):
    """What a NaFlex or a grey model says of pictures with several aspect ratios."""
    from PIL import Image

    out = {}
    for file in ("small.png", "preprocess/in/palette.png", "preprocess/in/near_31x33.png", "preprocess/in/tall_5x97.png", "preprocess/in/wide_70x3.png"):
        out[file] = [round(float(v), 6) for v in answer(Image.open(os.path.join(OUT, file)).convert(mode))[0]]
    json.dump(out, open(os.path.join(OUT, "models", name, "pictures.json"), "w"))


def post_norm(block, x, **_):
    """Of the first Transformers."""
    x = block.norm1(x + block.ls1(block.attn(x)))
    return block.norm2(x + block.ls2(block.mlp(x)))


def no_skip(block, x, **_):
    return block.mlp(block.norm2(block.attn(block.norm1(x))))


def timm_case(i, name):
    import timm

    arch, kw, size = TIMM[name]
    args = dict(patch_size=P, img_size=S, embed_dim=D, depth=L, num_heads=H)
    args.update({k: v for k, v in kw.items() if k != "num_classes"})
    if "naflex" in name:
        del args["img_size"]
    hybrid = {"timm_hybrid": thin_hybrid, "timm_resnetd": thin_resnetd, "timm_mobileclip": thin_mobileclip, "hybrid_basic": basic_hybrid}.get(name)
    if hybrid:
        del args["patch_size"]
    make = hybrid or (lambda **a: timm.create_model(arch, **a))
    axial, block = args.pop("attention", None), args.pop("block", None)
    m = refill(make(num_classes=kw["num_classes"], **args), i)
    state = {k: v.clone() for k, v in m.state_dict().items()}
    if axial:
        args["attention"] = axial
        for j, b in enumerate(m.blocks):
            b.attn = Axial(b.attn, args["img_size"][1] // P, j % 2 == 1)
    if block:
        args["block"] = block
        for b in m.blocks:
            b.forward = {"post-norm": post_norm, "no-skip": no_skip}[block].__get__(b)
    channels = args.get("in_chans", 3)
    x = pixels(i, size, channels)
    if "naflex" not in name and tuple(x.shape[2:]) != tuple(m.patch_embed.img_size):
        m.set_input_size(img_size=tuple(x.shape[2:]))
    exp, hooks = {}, []
    for k, mod in [(f"block.{j}", b) for j, b in enumerate(m.blocks)] + [("norm", m.norm)]:
        hooks.append(mod.register_forward_hook(lambda _m, _i, o, k=k: exp.__setitem__(k, o.clone())))
    hooks.append(m.blocks[0].register_forward_pre_hook(lambda _m, a: exp.__setitem__("embed", a[0].clone())))
    exp["logits"] = m(x)
    exp["features"] = m.forward_head(m.forward_features(x), pre_logits=True)
    cfg = {"architecture": arch, "num_classes": kw["num_classes"], "num_features": D, "global_pool": m.global_pool, "model_args": args,
           "pretrained_cfg": {"input_size": [channels, S, S], "mean": [0.5] * channels, "std": [0.5] * channels},
           "label_names": [f"n{k}" for k in range(5)], "label_descriptions": {f"n{k}": f"class {k}" for k in range(5)}}
    if "naflex" in name:
        cfg["pretrained_cfg"]["input_size"] = [3, 6 * P, 6 * P]
    if channels == 1:
        cfg["pretrained_cfg"].update(interpolation="bicubic", crop_pct=0.875)
    save(name, cfg, state, x, exp)
    if channels == 1:
        from timm.data import create_transform

        how = create_transform((1, S, S), interpolation="bicubic", mean=[0.5], std=[0.5], crop_pct=0.875)
        pictures(name, lambda x: m(how(x)[None]), "L")
    if "naflex" in name:
        from timm.data.transforms_factory import transforms_imagenet_eval

        how = transforms_imagenet_eval(naflex=True, patch_size=P, max_seq_len=36, interpolation="bicubic", mean=[0.5] * 3, std=[0.5] * 3, patchify=True)
        pictures(name, lambda x: m({k: v[None] for k, v in how(x).items()}))


def resnet_case():
    """The paper's baseline as timm has it: BiT's pre-activation ResNet."""
    from functools import partial

    from timm.layers import StdConv2d
    from timm.models.resnetv2 import ResNetV2

    # no multiples of its stride; timm writes down the channels that it is given
    args, size = dict(layers=[2], channels=[128], stem_chs=32, in_chans=3), (21, 30)
    m = refill(ResNetV2(num_classes=5, stem_type="fixed", conv_layer=partial(StdConv2d, eps=1e-8), **args), 77)
    x, exp = pixels(77, size), {}
    exp["features"] = m.forward_head(m.forward_features(x), pre_logits=True)
    exp["logits"] = m(x)
    cfg = {"architecture": "resnetv2_50x1_bit", "num_classes": 5, "num_features": 128, "global_pool": "avg", "model_args": args,
           "pretrained_cfg": {"input_size": [3, *size], "mean": [0.5] * 3, "std": [0.5] * 3, "classifier": "head.fc"}}
    save("timm_resnet", cfg, m.state_dict(), x, exp)


def hf_cases():
    import transformers as tf

    c = dict(hidden_size=D, num_hidden_layers=L, num_attention_heads=H)
    m = dict(intermediate_size=3 * D, patch_size=P, image_size=S)
    words = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8, vocab_size=9)
    both = dict(vision_config=dict(**c, **m), text_config=words, num_labels=5)
    return {
        "hf_siglip_classes": (tf.SiglipForImageClassification, tf.SiglipConfig(**both), S, {}),
        "hf_clip_classes": (tf.CLIPForImageClassification, tf.CLIPConfig(**both), S, {}),
        "hf_vit_new_names": (tf.ViTForImageClassification, tf.ViTConfig(**c, **m, num_labels=5), S, {}),
        "hf_beit_new_names": (tf.BeitForImageClassification, tf.BeitConfig(**c, **m, num_labels=5, use_relative_position_bias=True, use_mean_pooling=True), S, {}),
        "hf_dinov2_new_names": (tf.Dinov2ForImageClassification, tf.Dinov2Config(**c, mlp_ratio=3, image_size=S, patch_size=P, num_labels=5, use_swiglu_ffn=True), S, {}),
        "hf_beit_no_pooler": (lambda g: tf.BeitModel(g, add_pooling_layer=False), tf.BeitConfig(**c, **m, use_relative_position_bias=True), S, {}),
        "hf_siglip_floor": (tf.SiglipVisionModel, tf.SiglipVisionConfig(**{**c, **m, "image_size": 30}), 30, {}),
        "hf_grey": (tf.ViTForImageClassification, tf.ViTConfig(**c, **m, num_labels=5, num_channels=1), S, {}),
        "hf_vit_resized": (tf.ViTForImageClassification, tf.ViTConfig(**c, **m, num_labels=5), (32, 40), dict(interpolate_pos_encoding=True)),
        "hf_vit_bare": (tf.ViTModel, tf.ViTConfig(**c, **m, qkv_bias=False), S, {}),
        "hf_deit": (tf.DeiTForImageClassificationWithTeacher, tf.DeiTConfig(**c, **m, num_labels=5), S, {}),
        "hf_dinov2_reg": (tf.Dinov2WithRegistersForImageClassification, tf.Dinov2WithRegistersConfig(**c, mlp_ratio=3, image_size=S, patch_size=P, num_labels=5, num_register_tokens=2), (32, 16), {}),
        "hf_dinov3": (tf.DINOv3ViTModel, tf.DINOv3ViTConfig(**c, **m, num_register_tokens=2), (32, 24), {}),
        "hf_dinov3_gated": (tf.DINOv3ViTModel, tf.DINOv3ViTConfig(**c, **m, use_gated_mlp=True, hidden_act="silu", query_bias=False, value_bias=False), S, {}),
        "hf_ijepa": (tf.IJepaForImageClassification, tf.IJepaConfig(**c, **m, num_labels=5), S, {}),
        "hf_data2vec": (tf.Data2VecVisionForImageClassification, tf.Data2VecVisionConfig(**c, **m, num_labels=5, use_relative_position_bias=True), S, {}),
        "hf_metaclip_2": (tf.MetaClip2ForImageClassification, tf.MetaClip2Config(**both), S, {}),
        "hf_chinese_clip": (tf.ChineseCLIPVisionModel, tf.ChineseCLIPVisionConfig(**c, **m), (32, 24), dict(interpolate_pos_encoding=True)),
        "hf_altclip": (tf.AltCLIPVisionModel, tf.AltCLIPVisionConfig(**c, **m), S, {}),
        "hf_tipsv2": (tf.Tipsv2VisionModel, tf.Tipsv2VisionConfig(**c, mlp_ratio=3, image_size=S, patch_size=P, num_register_tokens=2), (32, 16), {}),
        "hf_tipsv2_gated": (tf.Tipsv2VisionModel, tf.Tipsv2VisionConfig(**c, mlp_ratio=3, image_size=S, patch_size=P, use_swiglu_ffn=True), S, {}),
        "hf_aimv2": (tf.Aimv2VisionModel, tf.Aimv2VisionConfig(**c, **m), S, {}),
        "hf_aimv2_native": (tf.Aimv2VisionModel, tf.Aimv2VisionConfig(**c, **m, is_native=True, use_head=False), (32, 24), {}),
        "hf_dpt": (tf.DPTModel, tf.DPTConfig(**c, **m), (32, 24), {}),
        "hf_yolos": (tf.YolosModel, tf.YolosConfig(**{**c, "num_hidden_layers": 3}, intermediate_size=2 * D, patch_size=P, image_size=[24, 32], num_detection_tokens=3), (32, 24), {}),
        "hf_dinov2": (tf.Dinov2ForImageClassification, tf.Dinov2Config(**c, mlp_ratio=3, image_size=S, patch_size=P, num_labels=5, use_swiglu_ffn=True), (32, 16), {}),
        "hf_clip": (tf.CLIPVisionModelWithProjection, tf.CLIPVisionConfig(**c, **m, projection_dim=6), S, {}),
        "hf_naflex": (tf.Siglip2VisionModel, tf.Siglip2VisionConfig(**{k: v for k, v in {**c, **m}.items() if k != "image_size"}, num_patches=25), (32, 56), {}),
        "hf_siglip": (tf.SiglipVisionModel, tf.SiglipVisionConfig(**c, **m), (32, 24), dict(interpolate_pos_encoding=True)),
        "hf_beit_resized": (tf.BeitForImageClassification, tf.BeitConfig(**c, **m, num_labels=5, use_relative_position_bias=True, use_mean_pooling=True, use_mask_token=False), (32, 32), {}),
    }


def hf_case(i, name):
    import shutil, tempfile

    from safetensors.torch import load_file

    cls, cfg, size, kw = hf_cases()[name]
    cfg._attn_implementation = "eager"
    if name != "hf_vit_bare" and hasattr(cfg, "id2label") and cfg.num_labels == 5:
        cfg.id2label = {k: f"class {k}" for k in range(5)}
    m = refill(cls(cfg), i)
    x = pixels(i, size, getattr(cfg, "num_channels", 3))
    given = dict(pixel_values=x)
    if name == "hf_naflex":
        grid = [x.shape[2] // P, x.shape[3] // P]
        rows = x.reshape(2, 3, grid[0], P, grid[1], P).permute(0, 2, 4, 3, 5, 1).reshape(2, grid[0] * grid[1], -1)
        given = dict(pixel_values=rows, spatial_shapes=torch.tensor([grid] * 2), pixel_attention_mask=torch.ones(rows.shape[:2], dtype=torch.int32))
    o = m(**given, output_hidden_states=True, output_attentions=True, **kw)
    exp = {k: o[k] for k in ("logits", "cls_logits", "distillation_logits", "image_embeds", "pooler_output", "last_hidden_state") if torch.is_tensor(o.get(k))}
    hidden = o.hidden_states
    exp["embed"] = hidden[0]
    clip = name in ("hf_clip", "hf_chinese_clip", "hf_altclip")
    for k, v in enumerate(hidden[1:]):
        if k + 1 < L or "last_hidden_state" not in exp or clip:
            exp[f"block.{k}"] = v
    for k, v in enumerate(o.attentions or ()):
        exp[f"attention.{k}"] = v
    if name == "hf_yolos":  # vitcl has the detection tokens in front of the patches
        n, T = cfg.num_detection_tokens, exp["embed"].shape[1]
        order = [0, *range(T - n, T), *range(1, T - n)]
        for k in exp:
            if exp[k].ndim == 4:
                exp[k] = exp[k][:, :, order][:, :, :, order]
            elif exp[k].ndim == 3:
                exp[k] = exp[k][:, order]
    with tempfile.TemporaryDirectory() as t:
        m.save_pretrained(t)
        state = m.state_dict() if "new_names" in name else load_file(os.path.join(t, "model.safetensors"))
        save(name, json.load(open(os.path.join(t, "config.json"))), state, x, exp)
    if name == "hf_naflex":
        import transformers as tf

        how = tf.Siglip2ImageProcessor(patch_size=P, max_num_patches=40)
        how.save_pretrained(os.path.join(OUT, "models", name))
        pictures(name, lambda x: m(**how([x], return_tensors="pt")).pooler_output)


def npz_case():
    """Google's layout (vit_jax), checked by timm's own reader; pre_logits,
    which timm does not read, is between pool and head in the file."""
    import timm

    m = refill(timm.create_model("vit_base_patch16_224", num_classes=D, patch_size=P, img_size=S, embed_dim=D, depth=L, num_heads=H), 50)
    s = {k: v.numpy() for k, v in m.state_dict().items()}
    a, pre = {}, "opt/target/"
    flip = lambda w: np.ascontiguousarray(w.T)
    a["embedding/kernel"], a["embedding/bias"] = s["patch_embed.proj.weight"].transpose(2, 3, 1, 0), s["patch_embed.proj.bias"]
    a["cls"], a["Transformer/posembed_input/pos_embedding"] = s["cls_token"], s["pos_embed"]
    a["Transformer/encoder_norm/scale"], a["Transformer/encoder_norm/bias"] = s["norm.weight"], s["norm.bias"]
    a["head/kernel"], a["head/bias"] = flip(s["head.weight"]), s["head.bias"]
    for i in range(L):
        t, e = f"blocks.{i}.", f"Transformer/encoderblock_{i}/"
        q = e + "MultiHeadDotProductAttention_1/"
        for k, n in ((0, "norm1"), (2, "norm2")):
            a[e + f"LayerNorm_{k}/scale"], a[e + f"LayerNorm_{k}/bias"] = s[t + n + ".weight"], s[t + n + ".bias"]
        for k, n in enumerate(("query", "key", "value")):
            a[q + n + "/kernel"] = flip(s[t + "attn.qkv.weight"][k * D:(k + 1) * D]).reshape(D, H, D // H)
            a[q + n + "/bias"] = s[t + "attn.qkv.bias"][k * D:(k + 1) * D].reshape(H, D // H)
        a[q + "out/kernel"], a[q + "out/bias"] = flip(s[t + "attn.proj.weight"]).reshape(H, D // H, D), s[t + "attn.proj.bias"]
        for k in (0, 1):
            a[e + f"MlpBlock_3/Dense_{k}/kernel"], a[e + f"MlpBlock_3/Dense_{k}/bias"] = flip(s[t + f"mlp.fc{k + 1}.weight"]), s[t + f"mlp.fc{k + 1}.bias"]
    d = os.path.join(OUT, "models", "npz_vit")
    os.makedirs(d, exist_ok=True)
    x, exp = pixels(50, S), {}
    twin = timm.create_model("vit_base_patch16_224", num_classes=D, patch_size=P, img_size=S, embed_dim=D, depth=L, num_heads=H)
    file = os.path.join(d, "model.npz")
    np.savez(file, **a)
    twin.load_pretrained(file)
    twin.eval()
    for i, b in enumerate(twin.blocks):
        b.register_forward_hook(lambda _m, _i, o, i=i: exp.__setitem__(f"block.{i}", o.clone()))
    twin(x)
    g = torch.Generator().manual_seed(51)
    w, bias, w2 = torch.randn(D, 12, generator=g), torch.randn(12, generator=g), torch.randn(12, 5, generator=g)
    a.update({"pre_logits/kernel": w.numpy(), "pre_logits/bias": bias.numpy(), "head/kernel": w2.numpy(), "head/bias": np.zeros(5, np.float32)})
    exp["features"] = torch.tanh(twin.forward_head(twin.forward_features(x), pre_logits=True) @ w + bias)
    exp["logits"] = exp["features"] @ w2
    np.savez_compressed(file, **{pre + k: v for k, v in a.items()})
    save_file({"pixel_values": x.bfloat16().contiguous()}, os.path.join(d, "input.safetensors"))
    save_file({k: v.contiguous() for k, v in exp.items()}, os.path.join(d, "expected.safetensors"))


def positions():
    from timm.layers import resample_abs_pos_embed, resize_rel_pos_bias_table

    t, g = {}, torch.Generator().manual_seed(5)
    for h, w, H2, W2 in ((7, 7, 5, 12), (4, 6, 9, 3), (5, 5, 5, 8), (3, 3, 1, 1)):
        x = torch.randn(1, h * w, 3, generator=g)
        grid = x.reshape(1, h, w, 3).permute(0, 3, 1, 2)
        key = f"{h}x{w}.{H2}x{W2}"
        back = lambda y: y.permute(0, 2, 3, 1).reshape(-1, 3)
        t[f"in.{key}"] = x[0]
        t[f"timm.{key}"] = resample_abs_pos_embed(x, [H2, W2], [h, w], num_prefix_tokens=0)[0]
        t[f"hf.{key}"] = back(F.interpolate(grid, size=(H2, W2), mode="bicubic", align_corners=False))
        t[f"dinov2.{key}"] = back(F.interpolate(grid, scale_factor=((H2 + 0.1) / h, (W2 + 0.1) / w), mode="bicubic"))
        t[f"google.{key}"] = back(F.interpolate(grid, size=(H2, W2), mode="bilinear", align_corners=True))
        t[f"linear.{key}"] = back(F.interpolate(grid, size=(H2, W2), mode="bilinear", align_corners=False))
        t[f"smooth.{key}"] = back(F.interpolate(grid, size=(H2, W2), mode="bilinear", align_corners=False, antialias=True))
        L = max(H2, W2)
        t[f"square.{key}"] = back(F.interpolate(grid, size=(L, L), mode="bicubic", align_corners=False, antialias=True)[:, :, :H2, :W2])
    for h, w, H2, W2 in ((4, 4, 6, 9), (5, 5, 3, 4), (4, 6, 7, 5), (7, 7, 8, 8)):
        x = torch.randn((2 * h - 1) * (2 * w - 1) + 3, 2, generator=g)
        key = f"{h}x{w}.{H2}x{W2}"
        t[f"table.{key}"] = x
        t[f"geometric.{key}"] = resize_rel_pos_bias_table(x, (H2, W2), ((2 * H2 - 1) * (2 * W2 - 1) + 3, 2), (h, w))
        grid = x[:-3].reshape(1, 2 * h - 1, 2 * w - 1, 2).permute(0, 3, 1, 2)
        y = F.interpolate(grid, size=(2 * H2 - 1, 2 * W2 - 1), mode="bilinear", align_corners=False)
        t[f"bilinear.{key}"] = torch.cat([y.permute(0, 2, 3, 1).reshape(-1, 2), x[-3:]])
    try:
        import scipy.ndimage

        for k in [k for k in t if k.startswith("in.")]:
            h, w, H2, W2 = map(int, k[3:].replace(".", "x").split("x"))
            z = scipy.ndimage.zoom(t[k].reshape(h, w, 3).double().numpy(), (H2 / h, W2 / w, 1), order=1)
            if z.shape[:2] == (H2, W2):
                assert np.abs(z.reshape(-1, 3) - t["google" + k[2:]].numpy()).max() < 1e-5
        print("scipy agrees")
    except ImportError:
        print("no scipy: its zoom was not compared")
    save_file({k: v.float().contiguous().clone() for k, v in t.items()}, os.path.join(OUT, "positions.safetensors"))


def defaults():
    """The defaults of transformers' processors, without a file."""
    import transformers as tf

    d = os.path.join(OUT, "preprocess", "defaults")
    os.makedirs(d, exist_ok=True)
    for kind, types in {"ViT": ["vit", "vit_msn"], "DeiT": ["deit"], "Beit": ["beit"], "CLIP": ["clip", "clip_vision_model", "metaclip_2", "altclip", "aimv2"], "ChineseCLIP": ["chinese_clip"], "DPT": ["dpt"], "Tipsv2": ["tipsv2"], "Yolos": ["yolos"], "Siglip": ["siglip", "siglip_vision_model"], "Bit": ["dinov2", "dinov2_with_registers"]}.items():
        for t in types:
            open(os.path.join(d, t + ".json"), "w").write(getattr(tf, kind + "ImageProcessor")().to_json_string())


def need_transformers():
    """Says at once what is missing, not after minutes of other models."""
    try:
        return hf_cases()
    except ImportError as e:
        sys.exit(f"golden_tiny.py: {e}; install transformers, or name models of timm to make")


if __name__ == "__main__":
    only = sys.argv[2:]
    # all that is made without transformers
    alone = {"positions", "timm_resnet", "npz_vit", *TIMM}
    hf = {} if only and set(only) <= alone else need_transformers()
    if not only or "defaults" in only:
        defaults()
    if not only or "positions" in only:
        positions()
    for n in TIMM:
        if not only or n in only:
            timm_case(zlib.crc32(n.encode()), n)
    if not only or "timm_resnet" in only:
        resnet_case()
    if not only or "npz_vit" in only:
        npz_case()
    for n in hf:
        if not only or n in only:
            hf_case(zlib.crc32(n.encode()), n)
