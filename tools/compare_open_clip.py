#!/usr/bin/env python3
"""Every config of open_clip's model_configs, held beside vitcl.

    tools/compare_open_clip.py BUILD [--only WORD] [--done FILE] [--keep DIR]
    tools/compare_open_clip.py BUILD --pictures FILE...

Each model is made with random weights at its native width, picture size and
settings, two blocks deep and with few words, and saved as a folder of the hub;
open_clip and vitcl compute the same pixels, and texts of the same tokens. Prints
a line for each tower: name, tower, equal, refused or wrong, the largest
difference in parts of the largest number or the refusal; then the counts for
docs/models.md. Exit status 1 if one is wrong.

Text towers of Hugging Face need downloads: for these one of open_clip stands in
the file, and the config says theirs. With --pictures, the pixels that both
prepare of these files are compared instead, in folders of several preprocess_cfg;
vitcl turns pictures upright, so open_clip gets them upright, too. --done FILE keeps the lines, and skips what
it has: a run can be continued. --keep leaves the folders.

By hand: needs torch, open_clip 3.3, timm 1.0.31, safetensors; up to 8 GB.
"""
import argparse
import collections
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from compare_configs import forward, spread  # noqa: E402  (limits the memory)
from compare_tags import TOLERANCE, reason  # noqa: E402

import numpy as np  # noqa: E402
import torch  # noqa: E402
from safetensors.torch import save_file  # noqa: E402

torch.set_grad_enabled(False)
WORDS, TEXTS = 999, 4


def shallow(create):
    """timm's create_model with two blocks, or two a stage."""
    def make(name, **args):
        fives = ({"depths": (1,) * 5},) if name.endswith(("mci3", "mci4")) else ()
        for depth in (*fives, {"depth": 2}, {"depth": 2, "num_kv_heads": None}, {"depths": (1, 1, 1, 1)},
                      {"depths": (2, 2, 2, 2)}, {"layers": (1, 1, 1, 1)}, {}):
            try:
                return create(name, **args, **depth)
            except (AssertionError, TypeError, RuntimeError, ValueError, IndexError):
                if not depth:
                    raise
    return make


def cut(config):
    """The config that is made, and the one that is written."""
    made = json.loads(json.dumps(config))
    vision, text = made["vision_cfg"], made["text_cfg"]
    if isinstance(vision.get("layers"), list):
        vision["layers"] = [1, 1, 1, 1]
    elif not vision.get("timm_model_name"):
        vision["layers"] = 2
    vision.pop("timm_model_pretrained", None)
    if text.get("hf_model_name"):
        made.pop("multimodal_cfg", None)
        vision.pop("output_tokens", None)
        made["text_cfg"] = dict(width=64, heads=2, layers=1, vocab_size=WORDS)
        written = json.loads(json.dumps(made))
        written["text_cfg"] = text
        return made, written
    text.update(layers=2, vocab_size=WORDS)
    if "multimodal_cfg" in made:
        made["multimodal_cfg"].update(layers=1, vocab_size=WORDS)
    return made, made


def make(name, folder, preprocess=None):
    """Writes the model; -> pixels, the picture's and the texts' vectors, tokens."""
    import open_clip.model as o
    from open_clip.coca_model import CoCa

    made, written = cut(NAMES[name])
    args = {k: v for k, v in made.items() if k != "custom_text"}
    torch.manual_seed(7)
    cls = CoCa if "multimodal_cfg" in made else o.CustomTextCLIP if made.get("custom_text") else o.CLIP
    model = cls(**args).eval()
    spread(model)
    text = made["text_cfg"]
    context, end = text.get("context_length", 77), text.get("eos_id", WORDS - 1)
    if text.get("pool_type", "argmax") != "eos":
        end = WORDS - 1
    tokens = torch.zeros(TEXTS, context, dtype=torch.int64)
    for i, n in enumerate((2, context // 2, context, 5)):
        tokens[i, : n - 1] = torch.randint(3, WORDS - 1, (n - 1,))
        tokens[i, n - 1] = end
    size = made["vision_cfg"].get("image_size", 224)
    pixels = torch.randn(1, 3, *(size if isinstance(size, (list, tuple)) else (size, size)))
    with open(os.path.join(folder, "open_clip_config.json"), "w") as f:
        json.dump({"model_cfg": written, "preprocess_cfg": preprocess or {}}, f)
    save_file({k: v.contiguous().clone() for k, v in model.state_dict().items()},
              os.path.join(folder, "open_clip_model.safetensors"))
    return pixels, model.encode_image(pixels, normalize=False), model.encode_text(tokens, normalize=False), tokens


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("batch", ctypes.c_uint32), ("gemm", ctypes.c_char_p),
                ("precision", ctypes.c_int), ("lower_case", ctypes.c_int)]


def embed_tokens(build, folder, features):
    """In a process of its own: tokens.npy -> vectors.npy."""
    tokens = np.load(os.path.join(folder, "tokens.npy"))
    lib = ctypes.CDLL(os.path.join(build, "libvitcl.so"))
    lib.vitcl_last_error.restype = ctypes.c_char_p
    device, text = ctypes.c_void_p(), ctypes.c_void_p()
    options = Options(size=ctypes.sizeof(Options), batch=TEXTS)
    out = np.zeros((len(tokens), features), np.float32)
    for status in (
            lambda: lib.vitcl_device_open(ctypes.byref(device), None),
            lambda: lib.vitcl_text_new(ctypes.byref(text), device, folder.encode(), ctypes.byref(options)),
            lambda: lib.vitcl_text_embed_tokens(out.ctypes.data_as(ctypes.c_void_p), text,
                                                tokens.ctypes.data_as(ctypes.c_void_p), len(tokens))):
        if status():
            sys.exit(lib.vitcl_last_error().decode())
    np.save(os.path.join(folder, "vectors.npy"), out)


PREPARED = (
    {},
    {"resize_mode": "squash", "interpolation": "bilinear"},
    {"resize_mode": "longest", "interpolation": "bicubic"},
    {"resize_mode": "longest", "interpolation": "bilinear", "fill_color": 77},
)


def prepare(build, folder, side, files):
    """In a process of its own: the prepared pictures -> prepared.npz."""
    lib = ctypes.CDLL(os.path.join(build, "libvitcl.so"))
    lib.vitcl_last_error.restype = ctypes.c_char_p
    device, model, session, loader = (ctypes.c_void_p() for _ in range(4))
    for status in (
            lambda: lib.vitcl_device_open(ctypes.byref(device), None),
            lambda: lib.vitcl_model_load(ctypes.byref(model), device, folder.encode()),
            lambda: lib.vitcl_session_new(ctypes.byref(session), model, None),
            lambda: lib.vitcl_loader_new(ctypes.byref(loader), session, 1)):
        if status():
            sys.exit(lib.vitcl_last_error().decode())
    out = {}
    for i, file in enumerate(files):
        rgb = np.zeros((side, side, 3), np.uint8)
        failed = lib.vitcl_loader_push(loader, file.encode()) or lib.vitcl_loader_next(
            rgb.ctypes.data_as(ctypes.c_void_p), loader)
        out[str(i)] = np.array(lib.vitcl_last_error().decode()) if failed else rgb
    np.savez(os.path.join(folder, "prepared.npz"), **out)


def compare_pictures(build, files):
    """-> is one wrong?"""
    from PIL import Image, ImageOps
    from torchvision.transforms import Normalize
    import open_clip

    side, counts = 48, collections.Counter()
    NAMES["small"] = {"embed_dim": 32, "vision_cfg": {"image_size": side, "layers": 1, "width": 64, "patch_size": 16},
                      "text_cfg": {"width": 64, "heads": 2, "layers": 1, "context_length": 16}}
    for config in PREPARED:
        with tempfile.TemporaryDirectory() as folder:
            make("small", folder, config)
            steps = open_clip.create_model_and_transforms("local-dir:" + folder)[2].transforms
            subprocess.run([sys.executable, __file__, build, "--prepare", folder, str(side), *files], check=True)
            prepared = np.load(os.path.join(folder, "prepared.npz"))
            for i, file in enumerate(files):
                got, mode = prepared[str(i)], "-"
                try:
                    want = Image.open(file)
                    mode = want.mode
                    want = ImageOps.exif_transpose(want)
                    for step in steps:
                        want = want if isinstance(step, Normalize) else step(want)
                    want = (want.numpy().transpose(1, 2, 0) * 255).round().astype(np.uint8)
                    how = "refused" if got.ndim == 0 else "equal" if (got == want).all() else "wrong"
                except Exception as e:
                    how, got = "not read", np.array(type(e).__name__)
                counts[how] += 1
                said = str(got) if got.ndim == 0 else "" if how == "equal" else f"{np.abs(got - want.astype(int)).max()} levels"
                print(json.dumps(config), file, mode, how, said, sep="\t", flush=True)
    print(", ".join(f"{n} {how}" for how, n in counts.items()))
    return counts["wrong"] > 0


def texts(build, folder, tokens, want):
    np.save(os.path.join(folder, "tokens.npy"), tokens.numpy().astype(np.int32))
    run = subprocess.run([sys.executable, __file__, build, "--embed", folder, str(want.shape[1])],
                         capture_output=True, text=True)
    if run.returncode:
        return (run.stderr.strip().splitlines() or ["exit status %d" % run.returncode])[-1], None
    got = np.load(os.path.join(folder, "vectors.npy")).astype(np.float64)
    want = want.numpy().astype(np.float64)
    return None, {"text_embeds": np.abs(got - want).max() / max(1.0, np.abs(want).max())}


def judge(folder, said, worst):
    if said:
        return "refused", reason(said.replace(folder + ": ", "").replace(folder + "/", ""))
    most = max(worst.values()) if worst else float("inf")
    return ("wrong" if not most <= TOLERANCE else "equal"), f"{most:.1e}"


def one(build, name, keep):
    """-> {tower: (how, said)}"""
    folder = os.path.join(keep, name) if keep else tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    try:
        pixels, image, text, tokens = make(name, folder)
        image = {"image_embeds": image, "features": image, "logits": image}
        return {"pictures": judge(folder, *forward(os.path.join(build, "vitcl"), folder, pixels, image)),
                "texts": judge(folder, *texts(build, folder, tokens, text))}
    except Exception as e:  # the library itself, or no memory
        how = "not made", f"{type(e).__name__}: {str(e).splitlines()[0][:120] if str(e) else ''}"
        return {"pictures": how, "texts": how}
    finally:
        if not keep:
            shutil.rmtree(folder)


def report(done):
    for tower in "pictures", "texts":
        these = {n: d for (n, t), d in done.items() if t == tower}
        counts = collections.Counter(how for how, _ in these.values())
        worst = max((float(said) for how, said in these.values() if how == "equal"), default=0)
        print(f"\n{tower}: {counts['equal']} of {len(these)} equal (largest difference {worst:.1e}), "
              f"{counts['refused']} refused, {counts['wrong']} wrong, {counts['not made']} not made by the library here")
        why = collections.defaultdict(list)
        for name, d in these.items():
            if d[0] != "equal":
                why[d].append(name)
        for (how, said), names in sorted(why.items(), key=lambda x: -len(x[1])):
            print(f"| {len(names)} | {how} | {said} | {', '.join(names)} |")


NAMES = {}


def main():
    if "--embed" in sys.argv:
        build, _, folder, features = sys.argv[1:]
        return embed_tokens(build, folder, int(features))
    if "--prepare" in sys.argv:
        build, _, folder, side, *files = sys.argv[1:]
        return prepare(build, folder, int(side), files)
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("build")
    p.add_argument("--only", default="")
    p.add_argument("--done")
    p.add_argument("--keep")
    p.add_argument("--pictures", nargs="+")
    o = p.parse_args()
    if o.pictures:
        sys.exit(compare_pictures(os.path.abspath(o.build), o.pictures))
    import open_clip
    import timm

    timm.create_model = shallow(timm.create_model)
    import open_clip.timm_model as trunk

    trunk.timm.create_model = timm.create_model
    NAMES.update((n, open_clip.get_model_config(n)) for n in sorted(open_clip.list_models()))
    done = {}
    if o.done and os.path.exists(o.done):
        for line in open(o.done):
            name, tower, how, said = line.rstrip("\n").split("\t")
            done[name, tower] = how, said
    for name in NAMES:
        if o.only not in name or (name, "texts") in done:
            continue
        for tower, (how, said) in one(os.path.abspath(o.build), name, o.keep).items():
            done[name, tower] = how, said
            line = "\t".join((name, tower, how, said))
            print(line, flush=True)
            if o.done:
                with open(o.done, "a") as f:
                    f.write(line + "\n")
    report(done)
    sys.exit(any(how == "wrong" for how, _ in done.values()))


if __name__ == "__main__":
    main()
