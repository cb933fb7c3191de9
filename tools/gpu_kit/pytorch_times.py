#!/usr/bin/env python3
"""PyTorch's speed with timm's ViT-B/16, to set beside vitcl's. Each line is printed once it is known.

    pytorch_times.py time     matrix products; then the model eager, by CUDA graph and compiled, inputs on the GPU
    pytorch_times.py train    a training step, eager and compiled

Exit status 77: PyTorch, timm or a GPU is missing.
"""
import sys, time

try:
    import timm, torch
except ImportError as e:
    print("skipped:", e)
    sys.exit(77)
if not torch.cuda.is_available():
    print("skipped: PyTorch sees no GPU")
    sys.exit(77)
SHORT = {torch.bfloat16: "bf16", torch.float16: "f16", torch.float32: "f32"}


def exact(yes):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = not yes


def rate(f, seconds=0.7):
    """Calls a second."""
    for _ in range(5):
        f()
    torch.cuda.synchronize()
    start, n = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        for _ in range(5):
            f()
        torch.cuda.synchronize()
        n += 5
    return n / (time.perf_counter() - start)


def model(kind):
    return timm.create_model("vit_base_patch16_224").eval().cuda().to(kind)


def pictures(batch, kind):
    return torch.randn(batch, 3, 224, 224, device="cuda", dtype=kind)


def graphed(m, x):
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with torch.cuda.stream(stream):
        for _ in range(3):
            m(x)
    torch.cuda.current_stream().wait_stream(stream)
    with torch.cuda.graph(graph):
        m(x)
    return graph.replay


def tell(kind, how, batch, calls):
    print("PyTorch %-4s %-24s batch %3d: %8.1f pictures/s" % (kind, how, batch, calls * batch), flush=True)


def eager(kind, name, batches):
    m = model(kind)
    for batch in batches:
        x = pictures(batch, kind)
        tell(name, "eager", batch, rate(lambda: m(x)))
        tell(name, "eager, by graph", batch, rate(graphed(m, x)))


def compiled(kind, mode, batches):
    for batch in batches:
        torch._dynamo.reset()
        m, x = torch.compile(model(kind), mode=mode), pictures(batch, kind)
        tell(SHORT[kind], "compiled" + (", by graph" if mode else ""), batch, rate(lambda: m(x)))


def products():
    """Those of ViT-B/16 at batch 64: what the vendor's library reaches."""
    for kind in torch.bfloat16, torch.float32:
        for m, n, k in ((8192, 8192, 8192), (12608, 2304, 768), (12608, 768, 768), (12608, 3072, 768), (12608, 768, 3072)):
            x, w = torch.randn(m, k, device="cuda", dtype=kind), torch.randn(n, k, device="cuda", dtype=kind)
            calls = rate(lambda: x @ w.T, 0.2)
            print("product %s %5d x %4d x %4d: %.0f TFLOP/s" % (SHORT[kind], m, n, k, calls * 2 * m * n * k / 1e12), flush=True)


def times():
    print(torch.cuda.get_device_name(), "PyTorch", torch.__version__)
    exact(True)
    with torch.no_grad():
        products()
        eager(torch.bfloat16, "bf16", (1, 64))
        compiled(torch.bfloat16, "reduce-overhead", (64, 1))
        eager(torch.bfloat16, "bf16", (8, 256))
        eager(torch.float32, "f32", (1, 64))
        compiled(torch.bfloat16, None, (64,))
        exact(False)
        eager(torch.float32, "tf32", (64,))
        eager(torch.float16, "f16", (1, 8, 64, 256))
        compiled(torch.bfloat16, "reduce-overhead", (8, 256))


def train():
    def step():
        with torch.autocast("cuda", torch.bfloat16, enabled=half):
            loss = torch.nn.functional.cross_entropy(m(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    exact(True)
    for half, how, batch in ((True, "eager", 8), (True, "eager", 64), (True, "compiled", 64), (True, "compiled", 8), (False, "eager", 64)):
        torch._dynamo.reset()
        m, x, y = model(torch.float32).train(), pictures(batch, torch.float32), torch.arange(batch, device="cuda")
        optimizer = torch.optim.AdamW(m.parameters(), 1e-4, fused=True)
        if how == "compiled":
            m = torch.compile(m)
        tell("bf16" if half else "f32", "training step, " + how, batch, rate(step, 1))


{"time": times, "train": train}[sys.argv[1]]()
