#!/usr/bin/env python3
"""Train tests/data/words/shapes: a CLIP that knows drawn shapes by words.

    OMP_NUM_THREADS=1 tools/train_shapes.py tests/data [STEPS]

Pictures of 32x32 pixels show one to three shapes of one kind and colour, in a
column on the left or right, or in a row at the top or bottom: 6 colours, 4
shapes, 3 numbers, 4 places. They are drawn while it trains. One combination in
six never is: 48 of 288, so that each shape, number and place lacks one colour.
Captions say some or all of it, such as "two red circles on the left". A picture
is to be found by every caption that is true of it.

The folder is as Hugging Face has CLIP, with weights in f16 and a tokenizer
trained on the captions. Beside it are held_out.png, a strip of a picture of
each held-out combination, held_out.txt with their captions, and
expected.safetensors with the vectors that transformers computes of both. Needs
torch, transformers, tokenizers, safetensors, numpy. Three minutes on a core.
"""
import itertools, json, os, struct, sys, zlib

import numpy as np
import torch
import transformers as tf
from safetensors.torch import load_file, save_file

OUT = os.path.join(sys.argv[1], "words", "shapes")
STEPS = int(sys.argv[2]) if len(sys.argv) > 2 else 1500
S, P, WIDTH, HEADS, MLP, FEATURES, CONTEXT, BATCH = 32, 8, 64, 4, 128, 32, 16, 120
COLOURS = {"red": (220, 40, 40), "green": (40, 190, 60), "blue": (50, 80, 230), "yellow": (230, 220, 50), "purple": (160, 50, 190), "white": (235, 235, 235)}
SHAPES = {"circle": "circles", "square": "squares", "triangle": "triangles", "cross": "crosses"}
NUMBERS = ("one", "two", "three")
PLACES = ("on the left", "on the right", "at the top", "at the bottom")
PROMPTS = ("{}", "{}", "a picture of {}", "a drawing of {}")
ALL = list(itertools.product(range(6), range(4), range(3), range(4)))
HELD = [x for x in ALL if (x[0] + x[1] + 2 * x[2] + 3 * x[3]) % 6 == 0]
SEEN = [x for x in ALL if x not in HELD]


def caption(colour, shape, number, place):
    """Each a number, or None: it is not said."""
    one = number == 0
    noun = ("shape" if one else "shapes") if shape is None else list(SHAPES.items())[shape][0 if one else 1]
    return " ".join(([] if number is None else [NUMBERS[number]]) + ([] if colour is None else [list(COLOURS)[colour]]) + [noun] +
                    ([] if place is None else [PLACES[place]]))


def cover(shape, dx, dy, r):
    """How much of each pixel a shape covers."""
    x, y = abs(dx), abs(dy)
    if shape == 0:
        d = np.hypot(x, y) - r
    elif shape == 1:
        d = np.maximum(x, y) - 0.9 * r
    elif shape == 2:
        d = np.maximum(dy - 0.8 * r, 0.9 * x - 0.45 * dy - 0.5 * r)
    else:
        d = np.minimum(np.maximum(x - 1.1 * r, y - 0.35 * r), np.maximum(x - 0.35 * r, y - 1.1 * r))
    return np.clip(0.5 - d, 0, 1)


def draw(rng, colour, shape, number, place):
    ink = np.clip(np.array(list(COLOURS.values())[colour]) + rng.integers(-20, 21, 3), 0, 255)
    x = np.full((S, S, 3), rng.integers(0, 50, 3), float)
    r = rng.uniform(3.6, 4.6)
    near, far = rng.uniform(6, 9), rng.uniform(-2, 2)
    grid = np.arange(S) + 0.5
    for i in range(number + 1):
        along = S / 2 + far + (i - number / 2) * 10 + rng.uniform(-0.5, 0.5)
        across = near + rng.uniform(-0.5, 0.5)
        across = across if place in (0, 2) else S - across
        cx, cy = (across, along) if place < 2 else (along, across)
        c = cover(shape, grid[None] - cx, grid[:, None] - cy, r)[..., None]
        x = x * (1 - c) + ink * c
    return np.rint(x).astype(np.uint8)


def tokenizer():
    """Byte-level BPE as CLIP's: 256 bytes, 256 at the end of a word, merges."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    t = Tokenizer(models.BPE(end_of_word_suffix="</w>"))
    t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    t.train_from_iterator([p.format(caption(*x)) for x in SEEN for p in PROMPTS] + [caption(a, None, b, c) for a, _, b, c in SEEN],
                          trainers.BpeTrainer(vocab_size=1000, end_of_word_suffix="</w>", show_progress=False))
    merges = [tuple(m) for m in json.loads(t.to_str())["model"]["merges"]]
    vocabulary = letters + [x + "</w>" for x in letters] + ["".join(m) for m in merges] + ["<|startoftext|>", "<|endoftext|>"]
    t = tf.CLIPTokenizer(vocab={v: i for i, v in enumerate(vocabulary)}, merges=merges, model_max_length=CONTEXT)
    return t, len(vocabulary)


def strip(path, pictures):
    """A PNG of pictures below each other, whose rows no filter changes."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = np.concatenate(pictures)
    raw = b"".join(b"\0" + row.tobytes() for row in rows)
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", S, len(rows), 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b""))


class Shapes:
    def __init__(self):
        torch.manual_seed(1)
        self.tokenizer, size = tokenizer()
        both = dict(hidden_size=WIDTH, num_attention_heads=HEADS, intermediate_size=MLP)
        text = dict(**both, num_hidden_layers=2, vocab_size=size, max_position_embeddings=CONTEXT, bos_token_id=size - 2, eos_token_id=size - 1)
        vision = dict(**both, num_hidden_layers=3, image_size=S, patch_size=P)
        self.model = tf.CLIPModel(tf.CLIPConfig(text_config=text, vision_config=vision, projection_dim=FEATURES))
        self.images = getattr(tf, "CLIPImageProcessorPil", tf.CLIPImageProcessor)(size={"shortest_edge": S}, crop_size={"height": S, "width": S})
        self.mean, self.std = (torch.tensor(x).view(1, 3, 1, 1) * 255 for x in (self.images.image_mean, self.images.image_std))

    def pictures(self, pictures):
        x = torch.from_numpy(np.stack(pictures)).permute(0, 3, 1, 2).float()
        v = self.model.get_image_features(pixel_values=(x - self.mean) / self.std)
        return getattr(v, "pooler_output", v)

    def texts(self, texts):
        ids = self.tokenizer(texts, padding=True, truncation=True, max_length=CONTEXT, return_tensors="pt").input_ids
        v = self.model.get_text_features(input_ids=ids)
        return getattr(v, "pooler_output", v)


unit = torch.nn.functional.normalize


def step(m, rng):
    """The loss: each caption's pictures, and each picture's captions."""
    which = [SEEN[i] for i in rng.permutation(len(SEEN))[:BATCH]]
    said = [[a if rng.random() < 0.8 else None for a in x] if rng.random() < 0.6 else list(x) for x in which]
    texts = [PROMPTS[rng.integers(len(PROMPTS))].format(caption(*s)) for s in said]
    true = torch.tensor([[all(a is None or a == b for a, b in zip(s, x)) for x in which] for s in said]).float()
    logits = m.model.logit_scale.exp() * unit(m.texts(texts)) @ unit(m.pictures([draw(rng, *x) for x in which])).T
    return sum(torch.nn.functional.cross_entropy(z, t / t.sum(1, keepdim=True)) for z, t in ((logits, true), (logits.T, true.T))) / 2


@torch.no_grad()
def score(m, rng):
    """Shares of held-out captions that find their picture, and of pictures that
    are given their caption, shape, colour, number and place."""
    texts = unit(m.texts([caption(*x) for x in HELD]))
    pictures = [unit(m.pictures([draw(rng, *x) for x in HELD])) for _ in range(5)]
    own = torch.arange(len(HELD))
    shares = [np.mean([((texts @ p.T).argmax(1) == own).float().mean() for p in pictures]),
              np.mean([((p @ texts.T).argmax(1) == own).float().mean() for p in pictures])]
    for kind, n in enumerate((6, 4, 3, 4)):
        labels = unit(m.texts(["a picture of " + caption(*[i if k == kind else None for k in range(4)]) for i in range(n)]))
        right = torch.tensor([x[kind] for x in HELD])
        shares.append(np.mean([((p @ labels.T).argmax(1) == right).float().mean() for p in pictures]))
    return " ".join(f"{x:.3f}" for x in shares)


def train(m):
    rng = np.random.default_rng(1)
    weights = [p for p in m.model.parameters()]
    opt = torch.optim.AdamW(weights, lr=0, betas=(0.9, 0.98), weight_decay=0.02)
    for i in range(STEPS):
        for group in opt.param_groups:
            group["lr"] = 2e-3 * min(1, (i + 1) / 100) * (1 - i / STEPS)
        opt.zero_grad()
        loss = step(m, rng)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1)
        opt.step()
        with torch.no_grad():
            m.model.logit_scale.clamp_(max=4.0)
        if i % 100 == 0:
            print(f"{i:6}  loss {loss:.3f}  held out: {score(m, np.random.default_rng(2))}", flush=True)


def save(m):
    os.makedirs(OUT, exist_ok=True)
    with torch.no_grad():
        for p in m.model.parameters():
            p.copy_(p.half().float())
    m.model.save_pretrained(OUT)
    m.images.save_pretrained(OUT)
    m.tokenizer.save_pretrained(OUT)
    weights = os.path.join(OUT, "model.safetensors")
    save_file({k: v.half() if v.is_floating_point() and v.ndim else v for k, v in load_file(weights).items()}, weights, metadata={"format": "pt"})
    rng = np.random.default_rng(3)
    pictures, texts = [draw(rng, *x) for x in HELD], [caption(*x) for x in HELD]
    strip(os.path.join(OUT, "held_out.png"), pictures)
    with open(os.path.join(OUT, "held_out.txt"), "w") as f:
        f.write("\n".join(texts) + "\n")
    with torch.no_grad():
        save_file({"pictures": m.pictures(pictures), "texts": m.texts(texts)}, os.path.join(OUT, "expected.safetensors"))
    print("at the end", score(m, np.random.default_rng(4)))


m = Shapes()
m.model.train()
train(m)
m.model.eval()
save(m)
