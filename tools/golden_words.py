#!/usr/bin/env python3
"""Make tests/data/words: small models of two towers with their tokenizers, and
what transformers answers with them, for tests/cli/words.sh.

    tools/golden_words.py tests/data

Weights are random, tokenizers are trained on a few lines. Pictures have the
model's own size, so that nothing is resized. expected.json has, for each model,
probabilities of labels without and with prompts, cosines with texts, and
vectors of texts, in float32 on the CPU. Several prompts are averaged as by
open_clip's build_zero_shot_classifier: the mean of unit vectors, made a unit
vector. Needs torch, transformers, tokenizers, sentencepiece, safetensors,
numpy, Pillow.
"""
import json, os, random, sys

import numpy as np
import torch
import transformers as tf
from PIL import Image
from safetensors.torch import load_file, save_file

torch.set_grad_enabled(False)
OUT = os.path.join(sys.argv[1], "words")
D, L, H, S, P, T, F = 16, 2, 2, 24, 8, 16, 12
LABELS = ["cat", "dog", "a red car", "two boats, one house", "Beach"]
PROMPTS = ["a photo of a {}", "{} in the snow", "art: {}"]
TEXTS = ["a dog on a beach", "Zwei rote Häuser", "the night sky, with stars"]
LINES = LABELS + TEXTS + [p.format(x) for p in PROMPTS for x in LABELS] + [
    "the quick brown fox jumps over the lazy dog", "a house on a hill near the sea"]


def refill(model, seed):
    g = torch.Generator().manual_seed(seed)
    for name, p in model.named_parameters():
        r, low = torch.randn(p.shape, generator=g), name.lower()
        if "logit_scale" in low:
            p.fill_(2.0)
        elif "logit_bias" in low:
            p.fill_(-1.25)
        elif any(k in low for k in ("token_emb", "position", "class_emb", "probe")):
            p.copy_(r * 0.4)
        elif p.ndim >= 2:
            p.copy_(r * (1.3 / p[0].numel() ** 0.5))
        elif low.endswith("weight"):
            p.copy_(1 + 0.2 * r)
        else:
            p.copy_(r * 0.2)
        p.copy_(p.bfloat16().float())
    return model.eval()


def clip_tokenizer(folder):
    """Byte-level BPE as CLIP's: 256 bytes, 256 at the end of a word, merges."""
    from tokenizers.pre_tokenizers import ByteLevel

    letters = sorted(ByteLevel.alphabet())
    vocabulary = letters + [x + "</w>" for x in letters]
    words = [list(w[:-1]) + [w[-1] + "</w>"] for line in LINES for w in line.lower().replace(",", " ,").split() if w.isascii()]
    merges = []
    for _ in range(60):
        pairs = {}
        for w in words:
            for pair in zip(w, w[1:]):
                pairs[pair] = pairs.get(pair, 0) + 1
        best = max(sorted(pairs), key=pairs.get)
        merges.append(best)
        vocabulary.append("".join(best))
        for w in words:
            i = 0
            while i + 1 < len(w):
                if (w[i], w[i + 1]) == best:
                    w[i : i + 2] = ["".join(best)]
                i += 1
    vocabulary += ["<|startoftext|>", "<|endoftext|>"]
    ids = {v: i for i, v in enumerate(vocabulary)}
    t = tf.CLIPTokenizer(vocab=ids, merges=merges, model_max_length=T)
    t.save_pretrained(folder)
    return t, len(vocabulary)


def siglip_tokenizer(folder):
    import sentencepiece as sp

    with open("lines.tmp", "w") as f:
        f.write("\n".join(x.lower() for x in LINES * 20))
    sp.SentencePieceTrainer.train(
        input="lines.tmp", model_prefix="spiece.tmp", vocab_size=72, model_type="unigram", unk_id=2, bos_id=-1, eos_id=1,
        pad_id=0, hard_vocab_limit=False,
        normalization_rule_name="identity", minloglevel=2)
    os.replace("spiece.tmp.model", os.path.join(folder, "spiece.model"))
    os.remove("spiece.tmp.vocab")
    os.remove("lines.tmp")
    t = tf.SiglipTokenizer(os.path.join(folder, "spiece.model"), model_max_length=T, model_input_names=["input_ids"])
    t.save_pretrained(folder)
    return t, 80


def make(name, seed):
    folder = os.path.join(OUT, name)
    os.makedirs(folder, exist_ok=True)
    clip = name == "clip"
    tokenizer, size = (clip_tokenizer if clip else siglip_tokenizer)(folder)
    both = dict(hidden_size=D, num_hidden_layers=L, num_attention_heads=H, intermediate_size=3 * D)
    text = dict(**both, vocab_size=size, max_position_embeddings=T)
    vision = dict(**both, image_size=S, patch_size=P)
    if clip:
        text |= dict(bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id)
        m = tf.CLIPModel(tf.CLIPConfig(text_config=text, vision_config=vision, projection_dim=F))
        images = tf.CLIPImageProcessorPil if hasattr(tf, "CLIPImageProcessorPil") else tf.CLIPImageProcessor
        images = images(size={"shortest_edge": S}, crop_size={"height": S, "width": S})
    else:
        m = tf.SiglipModel(tf.SiglipConfig(text_config=dict(**text, projection_size=D), vision_config=vision))
        images = tf.SiglipImageProcessorPil if hasattr(tf, "SiglipImageProcessorPil") else tf.SiglipImageProcessor
        images = images(size={"height": S, "width": S})
    refill(m, seed)
    m.save_pretrained(folder)
    images.save_pretrained(folder)
    weights = os.path.join(folder, "model.safetensors")
    save_file({k: v.bfloat16() if v.is_floating_point() and v.ndim else v for k, v in load_file(weights).items()}, weights)
    unit = torch.nn.functional.normalize

    def features(texts):
        ids = tokenizer(texts, padding="max_length", truncation=True, max_length=T, return_tensors="pt").input_ids
        v = m.get_text_features(input_ids=ids)
        return getattr(v, "pooler_output", v)

    def average(prompts):
        return torch.stack([unit(unit(features([p.format(x) for p in prompts])).mean(0), dim=0) for x in LABELS])

    pictures = [Image.open(os.path.join(OUT, f"{i}.png")).convert("RGB") for i in range(4)]
    pixels = images(images=pictures, return_tensors="pt").pixel_values
    image = m.get_image_features(pixel_values=pixels)
    image = unit(getattr(image, "pooler_output", image))
    bias = 0 if clip else m.logit_bias

    def probabilities(prompts):
        logits = m.logit_scale.exp() * image @ average(prompts).T + bias
        return (logits.softmax(-1) if clip else logits.sigmoid()).tolist()

    return {
        "labels": probabilities(["{}"]),
        "prompt": probabilities(PROMPTS[:1]),
        "prompts": probabilities(PROMPTS),
        "cosines": (unit(features(TEXTS)) @ image.T).tolist(),
        "features": features(TEXTS).tolist(),
    }


def draw():
    os.makedirs(OUT, exist_ok=True)
    random.seed(3)
    for i in range(4):
        colour = [random.randrange(256) for _ in range(6)]
        x = np.zeros((S, S, 3), np.uint8) + np.array(colour[:3], np.uint8)
        a, b = random.randrange(4, 9), random.randrange(12, 20)
        x[a:b, a : b + i] = colour[3:]
        Image.fromarray(x).save(os.path.join(OUT, f"{i}.png"))


draw()
expected = {"given": {"labels": LABELS, "prompts": PROMPTS, "texts": TEXTS}}
for i, name in enumerate(("clip", "siglip")):
    expected[name] = make(name, i + 1)
with open(os.path.join(OUT, "expected.json"), "w") as f:
    json.dump(expected, f, indent=1)
