#!/usr/bin/env python3
"""Time a whole process: `vitcl classify -m DIR one.jpg` and Python with ONNX
Runtime, in turn, with the same random weights; and a first start with every
cache empty.

    bench_process.py [--vitcl build/vitcl] [--arch vit_base_patch16_224]
                     [--picture tests/data/sample.jpg] [--rounds 5]

Python needs timm, onnx, onnxruntime, safetensors and Pillow. The export is not
timed. The Python program is what a user would write: imports, session, Pillow's
resize and crop, one run, the five best. Peak memory is the largest process's,
as the kernel counts it.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

RIVAL = """
import sys
import numpy as np
import onnxruntime as ort
from PIL import Image
s = ort.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
im = Image.open(sys.argv[2]).convert("RGB")
w, h = im.size
k = 248 / min(w, h)
im = im.resize((round(w * k), round(h * k)), Image.BICUBIC)
l, t = (im.width - 224) // 2, (im.height - 224) // 2
x = np.asarray(im.crop((l, t, l + 224, t + 224)), np.float32) / 127.5 - 1
y = s.run(None, {"x": x.transpose(2, 0, 1)[None]})[0][0]
for i in np.argsort(-y)[:5]:
    print(i, y[i])
"""


def export(folder, arch):
    """The checkpoint's folder and the .onnx file, of one random model."""
    import safetensors.torch
    import timm
    import torch

    timm.layers.set_fused_attn(False)
    torch.manual_seed(0)
    model = timm.create_model(arch, pretrained=False).eval()
    onnx = os.path.join(folder, "model.onnx")
    torch.onnx.export(model, torch.randn(1, 3, 224, 224), onnx,
                      input_names=["x"], output_names=["y"],
                      opset_version=17, dynamo=False)
    safetensors.torch.save_file(
        {k: v.contiguous() for k, v in model.state_dict().items()},
        os.path.join(folder, "model.safetensors"))
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump({"architecture": arch, "num_classes": 1000,
                   "num_features": model.num_features,
                   "pretrained_cfg": {
                       "input_size": [3, 224, 224], "crop_pct": 0.9,
                       "interpolation": "bicubic", "crop_mode": "center",
                       "mean": [0.5] * 3, "std": [0.5] * 3,
                       "num_classes": 1000,
                       "first_conv": "patch_embed.proj",
                       "classifier": "head"}}, f)
    return onnx


def run(command, env=None):
    """Seconds and peak megabytes of a process that must succeed."""
    start = time.perf_counter()
    p = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(p.pid, 0)
    seconds = time.perf_counter() - start
    p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode:
        sys.exit(f"{command[0]}: exit status {p.returncode}")
    return seconds, usage.ru_maxrss * 1024 / 1e6


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    ap.add_argument("--vitcl", default="build/vitcl")
    ap.add_argument("--arch", default="vit_base_patch16_224")
    ap.add_argument("--picture", default="tests/data/sample.jpg")
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--folder", help="keep the exported model here")
    a = ap.parse_args()

    with tempfile.TemporaryDirectory() as scratch:
        folder = a.folder or os.path.join(scratch, "model")
        os.makedirs(folder, exist_ok=True)
        onnx = os.path.join(folder, "model.onnx")
        if not os.path.exists(onnx):
            # in a process of its own, so that torch's memory does not count
            subprocess.run([sys.executable, "-c",
                            "import sys; sys.path.insert(0, sys.argv[1]); "
                            "import bench_process; "
                            "bench_process.export(sys.argv[2], sys.argv[3])",
                            os.path.dirname(os.path.abspath(__file__)),
                            folder, a.arch], check=True,
                           stdout=subprocess.DEVNULL)
        ours = [a.vitcl, "classify", "-m", folder, a.picture]
        rival = [sys.executable, "-c", RIVAL, onnx, a.picture]
        caches = os.path.join(scratch, "caches")
        os.mkdir(caches)
        env = dict(os.environ, XDG_CACHE_HOME=caches,
                   POCL_CACHE_DIR=os.path.join(caches, "pocl"))
        first = run(ours, env)
        times = {"vitcl": [], "onnxruntime": []}
        run(rival)  # the file's pages are in memory for both
        for _ in range(a.rounds):
            times["vitcl"].append(run(ours, env))
            times["onnxruntime"].append(run(rival))
        bench = json.loads(subprocess.run(
            [a.vitcl, "bench", "-m", folder, "--seconds", "2", "--json"],
            env=env, check=True, capture_output=True).stdout)
        packed = os.path.getsize(os.path.join(folder, "model.safetensors"))

    forward = bench["ms"]["min"]
    best = {k: min(t for t, _ in v) * 1e3 for k, v in times.items()}
    most = {k: max(m for _, m in v) for k, v in times.items()}
    print(f"first start        {first[0]:8.2f} s   {first[1]:6.0f} MB")
    for k in times:
        print(f"{k:18} {best[k]:8.0f} ms  {most[k]:6.0f} MB")
    print(f"forward            {forward:8.0f} ms\n"
          f"load               {bench['load_ms']:8.0f} ms\n"
          f"vitcl - forward    {best['vitcl'] - forward:8.0f} ms\n"
          f"onnxruntime/vitcl  {best['onnxruntime'] / best['vitcl']:8.2f}\n"
          f"memory allowed     {1.25 * packed / 1e6 + 80:8.0f} MB "
          f"(1.25 of the weights + 80)")


if __name__ == "__main__":
    main()
