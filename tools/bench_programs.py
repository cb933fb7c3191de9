"""bench_programs.py - the programs that tools/bench_table compares, one a process.

    python3 bench_programs.py PROGRAM VARIANT JOB    (JOB: JSON)

Loads the program, runs it twice, prints "ready VERSION", and answers every line of
standard input with "ms X": the shortest of some runs. Each program has the settings
that are best for it; where that depends on the machine, it has several variants,
and bench_table takes the fastest.
"""
import ctypes
import json
import os
import sys
import time

# What each program has for a precision of the tables. "half" is the fair question
# about 16 bits: on some processors these are slower than f32, which may be used, too.
VARIANTS = {
    "vitcl": {"f32": ["f32"], "half": ["half"], "int8": ["int8"]},
    "OpenVINO": {"f32": ["f32"], "half": ["f32", "bf16", "f16"], "int8": ["int8"]},
    "ONNX Runtime": {"f32": ["f32", "f32 fused"], "half": ["f32", "f32 fused"], "int8": ["int8"]},
    "MNN": {"f32": ["f32"], "half": ["f32", "low"], "int8": ["int8"]},
    "PyTorch": {"f32": ["f32"], "half": ["f32", "bf16", "f16"], "int8": ["int8"]},
    "compiled": {"f32": ["f32"], "half": ["f32", "bf16", "f16"], "int8": []},
    "ZenDNN": {"f32": ["f32"], "half": ["f32", "bf16"], "int8": []},
}
F16 = "avx512_fp16"  # without it, f16 is emulated, and many times as slow as f32
AMX = "amx_bf16"  # with it, bf16 is many times as fast as f32
TIMES = ["compiled", "ZenDNN"]  # choose kernels by their times, so nothing else should run
TRAINING = {"PyTorch": ["f32", "bf16"], "compiled": ["f32", "bf16"]}
CLIP = "clip_vit_base_patch32"  # the text tower alone


def variants(name, precision):
    """The variants that this processor has units for; no f32 beside AMX's bf16."""
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        units = f.read().split()
    found = [v for v in VARIANTS[name][precision] if v != "f16" or F16 in units]
    return [v for v in found if v != "f32" or "bf16" not in found or AMX not in units]


def make(name):
    """The model with random weights, and its input for a batch."""
    import torch
    torch.manual_seed(0)
    if name == CLIP:
        import transformers
        config = transformers.CLIPConfig()  # the sizes of ViT-B/32
        config.text_config.projection_dim = config.projection_dim
        model = transformers.CLIPTextModelWithProjection(config.text_config).eval()

        class Tower(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.model = model

            def forward(self, ids):
                return self.model(input_ids=ids).text_embeds

        def texts(n): # as long as the context, so that all programs compute the same
            ids = torch.randint(1, 49000, (n, 77))
            ids[:, 0], ids[:, -1] = 49406, 49407  # begin and end
            return ids
        return Tower().eval(), texts
    import timm
    model = timm.create_model(name).eval()
    return model, lambda n: torch.randn(n, *model.default_cfg["input_size"])


def export(name, folder):
    """FOLDER/model.onnx, and a checkpoint for vitcl beside it, of one model."""
    import safetensors.torch
    import torch
    os.makedirs(folder + ".part")
    model, example = make(name)
    config = {"architecture": name, "num_classes": getattr(model, "num_classes", 0)}
    state = model.state_dict()
    if name == CLIP:
        import transformers
        whole = transformers.CLIPModel(transformers.CLIPConfig())
        config = {**whole.config.to_dict(), "model_type": "clip", "architectures": ["CLIPModel"]}
        state = whole.state_dict()
        state.update(model.model.state_dict())
    else:
        import timm
        timm.layers.set_fused_attn(False)
        config["num_features"] = model.num_features
        config["pretrained_cfg"] = {
            **{k: model.default_cfg[k] for k in ("input_size", "mean", "std", "interpolation", "num_classes")},
            "crop_pct": 0.9, "crop_mode": "center"}
        model, example = make(name)
    with open(folder + ".part/config.json", "w", encoding="utf-8") as f:
        json.dump(config, f)
    safetensors.torch.save_file({k: v.clone().contiguous() for k, v in state.items()}, folder + ".part/model.safetensors")
    torch.onnx.export(model, (example(1),), folder + ".part/model.onnx", input_names=["x"], output_names=["y"],
                      dynamic_axes={"x": {0: "n"}, "y": {0: "n"}}, dynamo=False, opset_version=17)
    os.rename(folder + ".part", folder)


def kept(path, make):
    """The file, which make(path) writes if it is not there; several may at a time."""
    if not os.path.exists(path):
        part = f"{path}.{os.getpid()}"
        make(part)
        os.replace(part, path)
    return path


# ---- each returns its version and a function that runs it once

def load_vitcl(variant, job):
    """The library that stands beside the program, as a program of its own loads it."""
    class Options(ctypes.Structure):  # the first members of vitcl_session_options
        _fields_ = [("size", ctypes.c_size_t), ("batch", ctypes.c_uint32), ("height", ctypes.c_uint32),
                    ("width", ctypes.c_uint32), ("gemm", ctypes.c_char_p), ("precision", ctypes.c_int)]

    class TextOptions(ctypes.Structure):  # of vitcl_text_options
        _fields_ = [("size", ctypes.c_size_t), ("batch", ctypes.c_uint32), ("gemm", ctypes.c_char_p),
                    ("precision", ctypes.c_int)]
    os.environ.setdefault("POCL_WORK_GROUP_SPECIALIZATION", "0")  # as the program has it
    lib = ctypes.CDLL(os.path.join(job["build"], "libvitcl.so"))
    lib.vitcl_last_error.restype = lib.vitcl_version.restype = ctypes.c_char_p

    def check(status):
        if status:
            sys.exit(os.fsdecode(lib.vitcl_last_error()))
    device, made = ctypes.c_void_p(), ctypes.c_void_p()
    path, batch = os.fsencode(job["folder"]), job["batch"]
    precision = {"f32": 0, "half": 3, "int8": 4}[variant]
    check(lib.vitcl_device_open(ctypes.byref(device), None))
    _, example = make(job["model"])
    x = example(batch).numpy()
    if job["model"] == CLIP:
        options = TextOptions(ctypes.sizeof(TextOptions), batch, None, precision)
        check(lib.vitcl_text_new(ctypes.byref(made), device, path, ctypes.byref(options)))
        ids = x.astype("int32")
        out = (ctypes.c_float * (512 * batch))()
        return os.fsdecode(lib.vitcl_version()), lambda: check(
            lib.vitcl_text_embed_tokens(out, made, ids.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint32(batch)))
    model = ctypes.c_void_p()
    check(lib.vitcl_model_load(ctypes.byref(model), device, path))
    options = Options(ctypes.sizeof(Options), batch, 0, 0, None, precision)
    check(lib.vitcl_session_new(ctypes.byref(made), model, ctypes.byref(options)))
    lib.vitcl_session_features.restype = lib.vitcl_session_classes.restype = ctypes.c_uint32
    classes = lib.vitcl_session_classes(made)
    count = batch * (classes or lib.vitcl_session_features(made))
    out = (ctypes.c_float * count)()

    def run():
        check(lib.vitcl_session_run_values(made, x.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint32(batch)))
        check(lib.vitcl_session_read(out, ctypes.c_size_t(count), made, b"logits" if classes else b"features",
                                     ctypes.c_uint32(batch)))
    return os.fsdecode(lib.vitcl_version()), run


def load_openvino(variant, job):
    """Fixed shapes, the hint for latency, the precision as a hint; int8 by nncf after calibration."""
    import numpy as np
    import openvino as ov
    core = ov.Core()
    model = core.read_model(job["folder"] + "/model.onnx")
    _, example = make(job["model"])
    x = example(job["batch"]).numpy()
    hints = {"INFERENCE_NUM_THREADS": job["threads"], "PERFORMANCE_HINT": "LATENCY"}
    if variant == "int8":
        import nncf
        model.reshape([1, *x.shape[1:]])
        model = nncf.quantize(model, nncf.Dataset([example(1).numpy() for _ in range(8)]),
                              model_type=nncf.ModelType.TRANSFORMER, subset_size=8)
    else:
        hints["INFERENCE_PRECISION_HINT"] = variant
    model.reshape(list(x.shape))
    request = core.compile_model(model, "CPU", hints).create_infer_request()
    return ov.__version__.split("-")[0], lambda: np.asarray(request.infer({0: x})[0])


def load_ort(variant, job):
    """All optimisations, fixed shapes; "fused": after its own fusion of attention; int8: dynamic."""
    import onnxruntime as ort
    path = job["folder"] + "/model.onnx"
    if variant == "int8":
        from onnxruntime.quantization import QuantType, quantize_dynamic
        path = kept(job["folder"] + "/int8.onnx", lambda to: quantize_dynamic(path, to, weight_type=QuantType.QInt8))
    elif variant == "f32 fused":
        from onnxruntime.transformers.optimizer import optimize_model
        kind = "clip" if job["model"] == CLIP else "vit"
        path = kept(job["folder"] + "/fused.onnx", lambda to: optimize_model(path, model_type=kind, opt_level=1).save_model_to_file(to))
    options = ort.SessionOptions()
    options.intra_op_num_threads = job["threads"]
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.add_free_dimension_override_by_name("n", job["batch"])
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    _, example = make(job["model"])
    x = example(job["batch"]).numpy()
    return ort.__version__, lambda: session.run(None, {"x": x})


def load_mnn(variant, job):
    """Precision "low" may use 16 bits; int8: weights of 8 bits, and memory "low", which rounds inputs, too."""
    import importlib.metadata
    import subprocess
    import MNN.expr as F
    import MNN.nn as nn
    made = kept(f"{job['folder']}/{'int8' if variant == 'int8' else 'f32'}.mnn", lambda to: subprocess.run(
        [os.path.join(os.path.dirname(sys.executable), "mnnconvert"), "-f", "ONNX", "--modelFile", job["folder"] + "/model.onnx",
         "--MNNModel", to, "--bizCode", "x", *(["--weightQuantBits", "8"] if variant == "int8" else [])], check=True))
    runtime = nn.create_runtime_manager(({"backend": 0, "numThread": job["threads"],
                                          "precision": "high" if variant == "f32" else "low",
                                          "memory": "low" if variant == "int8" else "normal"},))
    net = nn.load_module_from_file(made, ["x"], ["y"], runtime_manager=runtime)
    _, example = make(job["model"])
    x = example(job["batch"]).numpy()
    if job["model"] == CLIP:
        x = F.const(x.astype("int32"), list(x.shape), F.NCHW, F.int)
    else:
        x = F.convert(F.const(x, list(x.shape), F.NCHW), F.NCHW)
    return importlib.metadata.version("MNN"), lambda: net.forward([x])[0].read()


def load_torch(variant, job, compiled=None):
    """Inference mode; compiled: constants frozen, the fastest kernels chosen by trials (ZenDNN: its backend)."""
    import torch
    import timm
    torch.set_num_threads(job["threads"])
    timm.layers.set_fused_attn(True)
    version = torch.__version__.split("+")[0]
    model, example = make(job["model"])
    x = example(job["batch"])
    if variant == "int8":
        model = torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear}, dtype=torch.qint8)
    elif variant != "f32":
        dtype = {"bf16": torch.bfloat16, "f16": torch.float16}[variant]
        model, x = model.to(dtype), x.to(dtype) if x.is_floating_point() else x
    if compiled:
        import torch._inductor.config as config
        config.freezing = True
        if compiled == "zentorch":
            import zentorch
            version = zentorch.__version__
            model = torch.compile(model, backend="zentorch", dynamic=False)
        else:
            model = torch.compile(model, mode="max-autotune", dynamic=False)

    def run():
        with torch.inference_mode() if not compiled else torch.no_grad():
            model(x)
    return version, run


def load_training(variant, job, compiled):
    """Forward, backward and AdamW on one batch; bf16 is autocast."""
    import torch
    torch.set_num_threads(job["threads"])
    model, example = make(job["model"])
    model.train()
    x, y = example(job["batch"]), torch.randint(0, 1000, (job["batch"],))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05, fused=True)

    def loss_of():
        with torch.autocast("cpu", torch.bfloat16, enabled=variant == "bf16"):
            return torch.nn.functional.cross_entropy(model(x), y)
    if compiled:
        loss_of = torch.compile(loss_of, dynamic=False)

    def run():
        optimizer.zero_grad(set_to_none=True)
        loss_of().backward()
        optimizer.step()
    return torch.__version__.split("+")[0], run


def main():
    program, variant, job = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what programs print is no answer
    if program == "export":
        return export(job["model"], job["folder"])
    if job.get("training"):
        version, run = load_training(variant, job, program == "compiled")
    else:
        version, run = {
            "vitcl": load_vitcl, "OpenVINO": load_openvino, "ONNX Runtime": load_ort, "MNN": load_mnn, "PyTorch": load_torch,
            "compiled": lambda v, j: load_torch(v, j, "inductor"),
            "ZenDNN": lambda v, j: load_torch(v, j, "zentorch")}[program](variant, job)
    run()
    run()
    print("ready", version, file=answers, flush=True)
    for _ in sys.stdin:
        best, runs, begin = float("inf"), 0, time.perf_counter()
        while not runs or time.perf_counter() - begin < job["seconds"]:
            start = time.perf_counter()
            run()
            best, runs = min(best, time.perf_counter() - start), runs + 1
        print("ms", best * 1e3, file=answers, flush=True)
    return None


if __name__ == "__main__":
    main()
