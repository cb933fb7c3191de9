#!/usr/bin/env python3
"""Every published tag of timm's ViT modules and every plain type of Hugging
Face, held beside vitcl.

    tools/compare_tags.py VITCL [--library timm|hf] [--only WORD] [--done FILE]

Each model is made with random weights at its native width, picture size and
settings, two blocks deep, and saved as its library saves it; the library and
`vitcl forward` compute the same pixels. Prints a line for each: name, equal,
refused or wrong, the largest difference in parts of the largest number or the
refusal; then the rows of docs/models.md. Exit status 1 if one is wrong.

--done FILE keeps the lines, and skips what it has: a run can be continued.
Tags that differ in nothing that changes the computation are computed once.

By hand: needs torch, timm 1.0.31, transformers 5.24, safetensors; up to 8 GB.
"""
import argparse
import collections
import json
import os
import re
import resource
import sys
import tempfile
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from compare_configs import forward, spread  # noqa: E402  (limits the memory)

resource.setrlimit(resource.RLIMIT_AS, (12 << 30, resource.getrlimit(resource.RLIMIT_AS)[1])
                   if resource.getrlimit(resource.RLIMIT_AS)[1] == resource.RLIM_INFINITY else resource.getrlimit(resource.RLIMIT_AS))
warnings.filterwarnings("ignore")
import torch  # noqa: E402

torch.set_grad_enabled(False)
TOLERANCE = 1e-4
MODULES = ["vision_transformer", "vision_transformer_hybrid", "vision_transformer_relpos", "vision_transformer_sam", "deit",
           "beit", "eva", "naflexvit", "resnetv2"]


def timm_tags():
    import timm

    return [t for m in MODULES for t in timm.list_models(module=m, pretrained=True)]


def make_timm(tag, folder):
    import timm

    arch = tag.split(".")[0]
    torch.manual_seed(7)
    for args in ({"depth": 2}, {}):
        try:
            model = timm.create_model(tag, **args).eval()
            break
        except TypeError:
            if not args:
                raise
    spread(model)
    for name, b in model.named_buffers():
        if name.endswith("k_bias"):  # not in the file
            b.zero_()
    timm.models.save_for_hf(model, folder, model_args=args, safe_serialization=True)
    size = model.pretrained_cfg["input_size"]
    pixels = torch.randn(1, *size)
    tokens = model.forward_features(pixels)
    want = {"features": model.forward_head(tokens, pre_logits=True)}
    if model.num_classes:
        want["logits"] = model.forward_head(tokens)
    return pixels, want, arch


def same_as(tag):
    """What decides about the computation."""
    import timm

    c = timm.get_pretrained_cfg(tag).to_dict()
    return tag.split(".")[0], str(c.get("input_size")), c.get("num_classes"), c.get("pool_size"), str(c.get("global_pool"))


def reason(said):
    said = re.sub(r"^vitcl forward: [^:]*: ", "", said)
    return re.sub(r"^\S*(vit|sam|hiera|eva)\S* ", "", said)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("vitcl")
    p.add_argument("--only", default="")
    p.add_argument("--done")
    o = p.parse_args()
    done, known = {}, {}
    if o.done and os.path.exists(o.done):
        for line in open(o.done):
            name, how, said = line.rstrip("\n").split("\t")
            done[name] = how, said
    for tag in timm_tags():
        if o.only not in tag:
            continue
        key = same_as(tag)
        if tag in done:
            known.setdefault(key, done[tag])
            continue
        if key not in known:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    pixels, want, _ = make_timm(tag, folder)
                    said, worst = forward(o.vitcl, folder, pixels, want)
                    if said:
                        known[key] = "refused", reason(said)
                    else:
                        most = max(worst.values()) if worst else float("inf")
                        known[key] = ("wrong" if not most <= TOLERANCE else "equal"), f"{most:.1e}"
                except Exception as e:  # the library itself, or no memory
                    known[key] = "not made", f"{type(e).__name__}: {str(e).splitlines()[0][:120] if str(e) else ''}"
        done[tag] = known[key]
        line = "\t".join((tag, *done[tag]))
        print(line, flush=True)
        if o.done:
            with open(o.done, "a") as f:
                f.write(line + "\n")
    report(done)
    sys.exit(any(how == "wrong" for how, _ in done.values()))


def report(done):
    counts = collections.Counter(how for how, _ in done.values())
    worst = max((float(said) for how, said in done.values() if how == "equal"), default=0)
    print(f"\n{counts['equal']} of {len(done)} equal (largest difference {worst:.1e}), {counts['refused']} refused, "
          f"{counts['wrong']} wrong, {counts['not made']} not made by the library here")
    why = collections.defaultdict(list)
    for name, (how, said) in done.items():
        if how != "equal":
            why[how, said].append(name.split(".")[0])
    for (how, said), names in sorted(why.items(), key=lambda x: -len(x[1])):
        print(f"| {len(names)} | {how} | {said} | {', '.join(sorted(set(names)))} |")


if __name__ == "__main__":
    main()
