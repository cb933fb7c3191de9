#!/usr/bin/env python3
"""What int8 changes, and what it saves: vitcl beside OpenVINO and ONNX Runtime.

    compare_int8.py --model DIR --pictures DIR [--vitcl [NAME=]build/vitcl ...]
                    [--calibrate 100] [--batch 1] [--rounds 5] [--cache DIR]

DIR holds a checkpoint of timm (config.json, model.safetensors), --pictures JPEG
and PNG files, in the order of their names. The reference is timm in f32.
OpenVINO's int8 is nncf.quantize (full quantisation, for transformers),
calibrated on as many of these pictures as --calibrate says; ONNX Runtime's is
its dynamic quantisation. All programs see the pixels of timm's preprocessing,
except vitcl, which reads the pictures itself.

Each row: answers (the largest logit) that stay, the largest error of a logit
relative to the largest logit, its root mean square, and the fastest forward of
all rounds in milliseconds, in which the programs take turns with two threads.
ONNX Runtime has no bf16.

Python needs timm, torch, onnx, onnxruntime, openvino, nncf, safetensors and
Pillow.
"""
import argparse
import glob
import json
import os
import subprocess
import tempfile
import time

import numpy as np

THREADS = 2


def load(folder, paths):
    """timm's model, and the pictures as it reads them."""
    import timm
    import torch
    from PIL import Image
    from safetensors.torch import load_file
    torch.set_num_threads(THREADS)
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as f:
        config = json.load(f)
    timm.layers.set_fused_attn(False)
    model = timm.create_model(config["architecture"], pretrained=False,
                              num_classes=config["num_classes"]).eval()
    model.load_state_dict(
        load_file(os.path.join(folder, "model.safetensors")))
    data = timm.data.resolve_data_config(config.get("pretrained_cfg", {}),
                                         model=model)
    transform = timm.data.create_transform(**data)
    pixels = np.stack([transform(Image.open(p).convert("RGB")).numpy()
                       for p in paths])
    with torch.inference_mode():
        logits = np.concatenate(
            [model(torch.from_numpy(pixels[i:i + 10])).numpy()
             for i in range(0, len(pixels), 10)])
    return model, pixels, logits


def export(path, model, pixels):
    import torch
    if not os.path.exists(path):
        torch.onnx.export(model, torch.from_numpy(pixels[:1]), path,
                          input_names=["x"], output_names=["y"],
                          dynamic_axes={"x": {0: "n"}, "y": {0: "n"}},
                          dynamo=False, opset_version=17)


def onnxruntime(path, precision):
    import onnxruntime as ort
    from onnxruntime.quantization import QuantType, quantize_dynamic
    if precision == "int8":
        quantised = path + ".int8"
        if not os.path.exists(quantised):
            quantize_dynamic(path, quantised, weight_type=QuantType.QInt8)
        path = quantised
    options = ort.SessionOptions()
    options.intra_op_num_threads = THREADS
    session = ort.InferenceSession(path, options,
                                   providers=["CPUExecutionProvider"])
    return lambda x: session.run(None, {"x": x})[0]


def openvino(path, precision, batch, pixels):
    import openvino as ov
    core = ov.Core()
    hint = {"INFERENCE_NUM_THREADS": THREADS, "PERFORMANCE_HINT": "LATENCY"}
    quantised = f"{path}.nncf{len(pixels)}.xml"
    if precision != "int8":
        hint["INFERENCE_PRECISION_HINT"] = precision
        model = core.read_model(path)
    elif os.path.exists(quantised):
        model = core.read_model(quantised)
    else:
        import nncf
        model = core.read_model(path)
        model.reshape([1, *pixels.shape[1:]])
        model = nncf.quantize(model, nncf.Dataset([x[None] for x in pixels]),
                              model_type=nncf.ModelType.TRANSFORMER,
                              subset_size=len(pixels))
        ov.save_model(model, quantised, compress_to_fp16=False)
    model.reshape([batch, *pixels.shape[1:]])
    request = core.compile_model(model, "CPU", hint).create_infer_request()
    return lambda x: request.infer({0: x}).to_tuple()[0].copy()


def all_logits(run, pixels, batch):
    whole = np.resize(pixels, (-(-len(pixels) // batch) * batch,
                               *pixels.shape[1:]))
    return np.concatenate([run(whole[i:i + batch]) for i in
                           range(0, len(whole), batch)])[:len(pixels)]


def timer(run, pixels, batch):
    x = np.resize(pixels, (batch, *pixels.shape[1:]))

    def time_it():
        best = 1e9
        for _ in range(10):
            start = time.perf_counter()
            run(x)
            best = min(best, 1e3 * (time.perf_counter() - start))
        return best
    return time_it


def vitcl_logits(program, args, paths, precision):
    from safetensors.numpy import load_file
    with tempfile.TemporaryDirectory() as t:
        out = os.path.join(t, "logits.safetensors")
        subprocess.run([program, "classify", "-q", "-m", args.model, "--batch",
                        str(args.batch), "--precision", precision, "--logits",
                        out, *paths], check=True, stdout=subprocess.DEVNULL)
        return load_file(out)["logits"]


def vitcl_timer(program, args, precision):
    def time_it():
        r = subprocess.run([program, "bench", "-m", args.model, "--batch",
                            str(args.batch), "--precision", precision,
                            "--threads", str(THREADS), "--seconds", "1",
                            "--json"],
                           check=True, capture_output=True, text=True)
        return json.loads(r.stdout)["ms"]["min"]
    return time_it


def main():
    p = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", required=True)
    p.add_argument("--pictures", required=True)
    p.add_argument("--vitcl", nargs="+", default=["build/vitcl"])
    p.add_argument("--calibrate", type=int, default=100)
    p.add_argument("--batch", type=int, default=1)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--cache", help="keep the exported models here")
    args = p.parse_args()
    paths = sorted(q for e in ("jpg", "jpeg", "JPEG", "png")
                   for q in glob.glob(os.path.join(args.pictures, "*." + e)))
    model, pixels, want = load(args.model, paths)
    folder = args.cache or tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    onnx = os.path.join(folder, "model.onnx")
    export(onnx, model, pixels)
    rows = {}
    for v in args.vitcl:
        name, program = v.split("=", 1) if "=" in v else ("vitcl", v)
        for precision in ("f32", "bf16", "int8"):
            rows[name, precision] = (
                vitcl_logits(program, args, paths, precision),
                vitcl_timer(program, args, precision))
    for precision in ("f32", "bf16", "int8"):
        run = openvino(onnx, precision, args.batch, pixels[:args.calibrate])
        rows["OpenVINO", precision] = (all_logits(run, pixels, args.batch),
                                       timer(run, pixels, args.batch))
    for precision in ("f32", "int8"):
        run = onnxruntime(onnx, precision)
        rows["ONNX Runtime", precision] = (all_logits(run, pixels, args.batch),
                                           timer(run, pixels, args.batch))
    best = {}
    for _ in range(args.rounds):
        for key, (_, time_it) in rows.items():
            best[key] = min(best.get(key, 1e9), time_it())
    print("| program | precision | answers kept | largest error | RMS | ms |")
    print("|---|---|---|---|---|---|")
    for key, (got, _) in rows.items():
        error = got - want
        kept = int((got.argmax(1) == want.argmax(1)).sum())
        print(f"| {key[0]} | {key[1]} | {kept} of {len(paths)} | "
              f"{abs(error).max() / abs(want).max():.2g} | "
              f"{np.sqrt((error ** 2).mean()):.2g} | {best[key]:.1f} |")


if __name__ == "__main__":
    main()
