#!/usr/bin/env python3
"""Make tests/data/text: models of two towers, a few dozen KB each.

    tools/golden_text.py tests/data [NAME...]

Random weights far from trivial, as transformers and open_clip save them, and
what these libraries compute in float32 on the CPU, with which tests/models
compares: expected.safetensors has the tokens `ids`, the pictures
`pixel_values`, and `text_embeds`, `image_embeds`, `logits_per_image`. Needs
torch, transformers, open_clip, timm, safetensors.
"""
import json, math, os, sys

import torch
from safetensors.torch import load_file, save_file

torch.set_grad_enabled(False)
OUT = os.path.join(sys.argv[1], "text")
D, L, H, S, P, WORDS, T, F, LONG = 16, 2, 2, 24, 8, 41, 11, 12, 40


def refill(model, seed):
    g = torch.Generator().manual_seed(seed)
    for name, p in model.named_parameters():
        r, low = torch.randn(p.shape, generator=g), name.lower()
        if "logit_scale" in low:
            p.fill_(2.5)
        elif "logit_bias" in low:
            p.fill_(-3.25)
        elif any(k in low for k in ("token_emb", "position", "pos_embed", "class_emb", "latent", "probe", "cls_token")):
            p.copy_(r * 0.4)
        elif p.ndim >= 2:
            p.copy_(r * (1.3 / math.sqrt(p[0].numel())))
        elif low.endswith("weight"):
            p.copy_(1 + 0.2 * r)
        else:
            p.copy_(r * 0.2)
        p.copy_(p.bfloat16().float())
    return model.eval()


def texts(seed, end, pad, T=T):
    """Of several lengths: none at all, one as long as the context."""
    g = torch.Generator().manual_seed(seed)
    ids = torch.full((4, T), pad)
    for i, n in enumerate((2, T // 2, T, T - 3 if T < 20 else 16)):
        ids[i, : n - 1] = torch.randint(3, WORDS - 3, (n - 1,), generator=g)
        ids[i, n - 1] = end
    return ids


def pictures(seed):
    return torch.randn(2, 3, S, S, generator=torch.Generator().manual_seed(seed)).bfloat16().float()


def folder(name):
    d = os.path.join(OUT, name)
    os.makedirs(d, exist_ok=True)
    return d


def expect(name, ids, x, text, image, logits, **more):
    e = {"ids": ids.int(), "text_embeds": text} | more
    if image is not None:
        e |= {"pixel_values": x, "image_embeds": image, "logits_per_image": logits}
    save_file({k: v.contiguous().clone() for k, v in e.items()}, os.path.join(folder(name), "expected.safetensors"))
    size = sum(os.path.getsize(os.path.join(folder(name), f)) for f in os.listdir(folder(name)))
    assert size < 180_000, (name, size)
    print(f"{name:24} {size:6} bytes")


def halve(path):
    save_file({k: v.bfloat16() if v.is_floating_point() and v.ndim else v for k, v in load_file(path).items()}, path)


def hf(name, i):
    import transformers as tf

    both = dict(hidden_size=D, num_hidden_layers=L, num_attention_heads=H, intermediate_size=3 * D)
    words = dict(**both, vocab_size=WORDS, max_position_embeddings=T, bos_token_id=1)
    vision = dict(**both, image_size=S, patch_size=P)
    end = WORDS - 1
    pixels = pictures(i)
    if name == "hf_clip":  # old: the end is the highest number
        ids = texts(i, end, 0)
        m = tf.CLIPModel(tf.CLIPConfig(text_config=dict(**words, eos_token_id=2), vision_config=vision, projection_dim=F))
    elif name == "hf_clip_end":  # new: the end is not the highest number
        ids = texts(i, 7, WORDS - 1)
        m = tf.CLIPTextModelWithProjection(tf.CLIPTextConfig(**words, eos_token_id=7, hidden_act="gelu", projection_dim=F))
    elif name == "hf_metaclip_2":  # the end's number is 2, as in its files
        ids = texts(i, 2, 1)
        m = tf.MetaClip2Model(tf.MetaClip2Config(text_config=dict(**{**words, "bos_token_id": 0}, eos_token_id=2), vision_config=vision, projection_dim=F))
    elif name == "hf_clip_bare":
        ids = texts(i, end, end)
        m = tf.CLIPTextModel(tf.CLIPTextConfig(**words, eos_token_id=end))
    elif name == "hf_clip_long":
        ids = texts(i, end, 0, LONG)
        m = tf.CLIPTextModelWithProjection(tf.CLIPTextConfig(**{**words, "max_position_embeddings": LONG}, eos_token_id=2, projection_dim=F))
    else:
        ids = texts(i, 1, 1)
        m = tf.SiglipModel(tf.SiglipConfig(text_config=dict(**words, eos_token_id=1, projection_size=D), vision_config=vision))
    refill(m, i)
    if name in ("hf_clip_end", "hf_clip_long"):
        out = (m(input_ids=ids).text_embeds, None, None)
    elif name == "hf_clip_bare":
        out = (m(input_ids=ids).pooler_output, None, None)
    else:
        o = m(input_ids=ids, pixel_values=pixels)
        unit = torch.nn.functional.normalize
        text, image = (getattr(m, f"get_{k}_features")(**{a: v}) for k, a, v in (("text", "input_ids", ids), ("image", "pixel_values", pixels)))
        text, image = (getattr(v, "pooler_output", v) for v in (text, image))
        assert torch.allclose(unit(text), o.text_embeds, atol=1e-6)
        out = (text, image, o.logits_per_image)
    m.save_pretrained(folder(name))
    halve(os.path.join(folder(name), "model.safetensors"))
    expect(name, ids, pixels, *out)


OPEN_CLIP = {
    "oc_clip": dict(vision_cfg={}, text_cfg={}, quick_gelu=True),
    "oc_scaled": dict(vision_cfg=dict(ls_init_value=0.1), text_cfg=dict(ls_init_value=0.1, act_kwargs=dict(approximate="tanh"), pool_type="eos", eos_id=5), custom_text=True),
    "oc_siglip": dict(vision_cfg=dict(timm_model_name="vit_base_patch16_siglip_224", timm_pool="map", timm_proj="none"),
                      text_cfg=dict(no_causal_mask=True, proj_bias=True, pool_type="last", norm_kwargs=dict(eps=1e-6)), custom_text=True, init_logit_bias=-10),
    "oc_eva": dict(vision_cfg=dict(timm_model_name="eva02_base_patch16_clip_224", timm_pool="token", timm_proj=None), text_cfg={}, custom_text=True),
    "oc_trunk": dict(vision_cfg=dict(timm_model_name="vit_base_patch16_224", timm_pool="", timm_proj="linear"), text_cfg={}, custom_text=True),
    "oc_mean": dict(vision_cfg=dict(no_ln_pre=True, pool_type="avg", final_ln_after_pool=True), text_cfg=dict(no_causal_mask=True, pool_type="last")),
}


def tiny_timm():
    """timm's models of these names, but small, by what the tensors show."""
    import timm

    make = timm.create_model

    def small(name, **kw):
        kw.pop("pretrained", None)
        kw = {k: v for k, v in kw.items() if not (k == "global_pool" and v == "")}
        return make(name, img_size=S, patch_size=P, embed_dim=64, depth=1, num_heads=1, mlp_ratio=1, **kw)

    timm.create_model = small


def open_clip(name, i):
    import open_clip.model as oc

    c = json.loads(json.dumps(OPEN_CLIP[name]))
    trunk = "timm_model_name" in c["vision_cfg"]
    size = 64 if name == "oc_siglip" else F
    c["embed_dim"] = size
    c["text_cfg"] |= dict(context_length=T, vocab_size=WORDS, width=D, heads=H, layers=L)
    c["vision_cfg"] |= dict(image_size=S) if trunk else dict(image_size=S, layers=L, width=D, head_width=D // H, patch_size=P)
    kw = {k: v for k, v in c.items() if k != "custom_text"}
    cls = oc.CustomTextCLIP if c.get("custom_text") else oc.CLIP
    m = refill(cls(**kw), i)
    ids = texts(i, 5 if name == "oc_scaled" else WORDS - 1, 0)
    x = pictures(i)
    text, image = m.encode_text(ids), m.encode_image(x)
    out = m.get_logits(x, ids)[0]
    pre = dict(mean=[0.5, 0.4, 0.3], std=[0.25, 0.5, 0.75], interpolation="bicubic", resize_mode="squash" if trunk else "shortest")
    d = folder(name)
    json.dump(dict(model_cfg=c, preprocess_cfg=pre), open(os.path.join(d, "open_clip_config.json"), "w"), indent=1)
    state = {k: v.bfloat16() if v.is_floating_point() and v.ndim else v for k, v in m.state_dict().items()}
    if name == "oc_scaled":
        torch.save(state, os.path.join(d, "open_clip_pytorch_model.bin"))
    else:
        save_file({k: v.contiguous().clone() for k, v in state.items()}, os.path.join(d, "open_clip_model.safetensors"))
    expect(name, ids, x, text, image, out)


TEXTS = ["a dog on a beach", "Ein rotes Auto, 3 km/h!", "", "  two \n lines ", "a photo of a very long name that is cut at the end of the context"]
LABELS = ["cat", "dog", "red car"]
PROMPTS = ["a photo of a {}.", "{}", "{} beside {}"]


def vocabulary(d):
    """A vocabulary of bytes and a few merges, as CLIP's."""
    from tokenizers import models, Tokenizer
    from transformers import CLIPTokenizerFast
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    letters = list(bytes_to_unicode().values())
    words = {w: i for i, w in enumerate(letters + [c + "</w>" for c in letters])}
    merges = ["p h", "ph o", "pho t", "phot o</w>", "o f</w>", "c a", "ca t</w>", "d o", "do g</w>", "b e", "be a", "bea c", "beac h</w>", "r e", "re d</w>", "ca r</w>", "o n</w>", "t h", "th e</w>"]
    for m in merges:
        words.setdefault(m.replace(" ", ""), len(words))
    for w in ("<|startoftext|>", "<|endoftext|>"):
        words[w] = len(words)
    json.dump(words, open(os.path.join(d, "vocab.json"), "w"), ensure_ascii=False)
    open(os.path.join(d, "merges.txt"), "w").write("#version: 0.2\n" + "\n".join(merges) + "\n")
    t = CLIPTokenizerFast.from_pretrained(d, model_max_length=T)
    assert len(t) == len(words), (len(t), len(words))
    t.save_pretrained(d)
    for f in ("vocab.json", "merges.txt"):
        os.remove(os.path.join(d, f))
    return t


def words(name, i):
    """Texts instead of tokens, and labels by several prompts."""
    import transformers as tf
    from open_clip import build_zero_shot_classifier

    d = folder(name)
    t = vocabulary(d)
    both = dict(hidden_size=D, num_hidden_layers=L, num_attention_heads=H, intermediate_size=3 * D)
    m = tf.CLIPModel(tf.CLIPConfig(text_config=dict(**both, vocab_size=len(t), max_position_embeddings=T, bos_token_id=len(t) - 2, eos_token_id=2),
                                   vision_config=dict(**both, image_size=S, patch_size=P), projection_dim=F))
    refill(m, i)

    def ids(x):
        return t(x, padding="max_length", truncation=True, max_length=T, return_tensors="pt")["input_ids"]

    def embed(x):
        v = m.get_text_features(input_ids=x)
        return getattr(v, "pooler_output", v)

    class Clip(torch.nn.Module):
        def encode_text(self, x, normalize):
            return torch.nn.functional.normalize(embed(x), dim=-1)

    templates = [lambda c, p=p: p.replace("{}", c) for p in PROMPTS]
    labels = build_zero_shot_classifier(Clip(), ids, LABELS, templates, num_classes_per_batch=2, device="cpu")
    m.save_pretrained(d)
    halve(os.path.join(d, "model.safetensors"))
    tf.CLIPImageProcessor(size=dict(shortest_edge=S), crop_size=dict(height=S, width=S)).save_pretrained(d)
    save_file({"ids": ids(TEXTS).int(), "text_embeds": embed(ids(TEXTS)).contiguous(), "labels": labels.T.contiguous()}, os.path.join(d, "expected.safetensors"))
    print(f"{name:24} {sum(os.path.getsize(os.path.join(d, f)) for f in os.listdir(d)):6} bytes")


def siglip2(name, i):
    """SigLIP's towers with a vocabulary like Gemma's, as SigLIP 2 of fixed size has."""
    import transformers as tf

    d = folder(name)
    text = json.load(open(os.path.join(OUT, "gemma", "tokenizer.json")))
    text["truncation"] = {"direction": "Right", "max_length": T, "strategy": "LongestFirst", "stride": 0}
    text["padding"] = {"strategy": {"Fixed": T}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0, "pad_token": "<pad>"}
    json.dump(text, open(os.path.join(d, "tokenizer.json"), "w"), ensure_ascii=False)
    json.dump({"add_bos_token": False, "add_eos_token": True, "bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>", "unk_token": "<unk>",
               "model_max_length": T, "padding_side": "right", "tokenizer_class": "GemmaTokenizer"}, open(os.path.join(d, "tokenizer_config.json"), "w"))
    t = tf.AutoTokenizer.from_pretrained(d)
    both = dict(hidden_size=D, num_hidden_layers=L, num_attention_heads=H, intermediate_size=3 * D)
    m = refill(tf.SiglipModel(tf.SiglipConfig(text_config=dict(**both, vocab_size=len(t), max_position_embeddings=T, projection_size=D, bos_token_id=2, eos_token_id=1),
                                              vision_config=dict(**both, image_size=S, patch_size=P))), i)
    lines = TEXTS + [x.lower() for x in TEXTS]
    given = t(lines, padding="max_length", truncation=True, max_length=T, return_tensors="pt")
    m.save_pretrained(d)
    halve(os.path.join(d, "model.safetensors"))
    ids = given["input_ids"]
    text, masked = (m.get_text_features(**x).pooler_output for x in ({"input_ids": ids}, given))
    expect(name, ids, None, text, None, None, masked_embeds=masked)  # as there is no model_input_names


names = ["hf_clip", "hf_clip_end", "hf_clip_bare", "hf_siglip", *list(OPEN_CLIP)[:5], "hf_words", "hf_clip_long", *list(OPEN_CLIP)[5:], "hf_siglip2", "hf_metaclip_2"]
tiny_timm()
for i, name in enumerate(names):
    if len(sys.argv) > 2 and name not in sys.argv[2:]:
        continue
    (siglip2 if name == "hf_siglip2" else words if name == "hf_words" else hf if name.startswith("hf_") else open_clip)(name, i)
