"""Lets the n-th call of a kind fail (faults.c) in several commands, and
compares the answers with those of an undisturbed run.

    sweep.py FAULTS_LIBRARY          a sample, another for each version
    VITCL_TEST_SWEEP=600 sweep.py .. a sample for this many seconds
    VITCL_TEST_SWEEP=1 sweep.py ...  every n
    VITCL_TEST_SWEEP=classify:malloc:71 sweep.py ...   one, with what it said

A command must end with status 0 and the usual results, or with status 1 and
one line that says what failed. Each answer that it gives is right, each file
is complete or does not exist, and no temporary file is left.
"""
import json, os, random, re, shutil, struct, subprocess, sys, tempfile, time

VITCL, DATA = os.environ["VITCL"], os.environ["VT_DATA"]
FAULTS = os.path.abspath(sys.argv[1])
SWEEP = os.environ.get("VITCL_TEST_SWEEP", "10")
SECONDS = int(SWEEP) if SWEEP.isdigit() and SWEEP != "1" else 0  # of a sample


class Run:
    """A command that ran in a folder, with its output and status."""

    def __init__(self, argv, stdin=b"", fault=None):
        self.argv = argv
        env = dict(os.environ, XDG_CACHE_HOME=cache, XDG_CONFIG_HOME=config)
        log = os.path.join(top, "fault.log")
        if os.path.exists(log):
            os.remove(log)
        if fault:
            env.update(LD_PRELOAD=FAULTS, VITCL_FAULT=fault,
                       VITCL_FAULT_LOG=log)
        try:
            p = subprocess.run([VITCL] + argv, input=stdin, env=env,
                               capture_output=True, timeout=120)
            self.status, self.out, self.err = p.returncode, p.stdout, p.stderr
        except subprocess.TimeoutExpired as e:
            self.status, self.out, self.err = "hang", e.stdout, e.stderr
        self.fired = open(log).read() if os.path.exists(log) else ""


def files(folder="."):
    found = {}
    for root, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(root, name)
            found[os.path.relpath(path, folder)] = open(path, "rb").read()
    return found


def need(condition, what):
    if not condition:
        raise AssertionError(what)


# ---- how each command's answers are checked --------------------------------

def same_lines(got, want):
    """Each complete line is right."""
    lines = got.out.split(b"\n")[:-1]
    need(lines == want.out.split(b"\n")[:len(lines)], "another answer")


def pictures(got, want):
    right = [json.loads(line) for line in want.out.splitlines()]
    failed = 0
    for i, line in enumerate(got.out.split(b"\n")[:-1]):
        answer = json.loads(line)
        if i == len(right) and answer.get("error") and answer["picture"] == "-":
            failed += 1  # the end of the list could not be read
            continue
        need(i < len(right), "more answers than pictures")
        if answer == right[i]:
            continue
        need(answer.get("picture") == right[i]["picture"], "order of pictures")
        need(answer.get("error"), "another answer")
        failed += 1
    return failed


def rows(got, want, name, fewer=False):
    """Rows of an .npy file are as usual, or NaN; returns how many are NaN. fewer: the
    last ones may be missing."""
    def read(data):
        at = 10 + struct.unpack("<H", data[8:10])[0]
        shape = [int(n) for n in re.findall(rb"\d+", re.search(
            rb"'shape': *\(([^)]*)\)", data).group(1))]
        n = 4 * shape[1]
        return [data[at + i * n:at + (i + 1) * n] for i in range(shape[0])]
    if name not in got:
        return len(BAD)
    a, b = read(got[name]), read(want[name])
    need(len(a) == len(b) or fewer and len(a) < len(b), "number of rows")
    failed = 0
    for x, y in zip(a, b):
        values = struct.unpack("<%df" % (len(x) // 4), x)
        need(x == y or all(v != v for v in values), "another row")
        failed += x != y
    return failed


def check_kept(got, left, whole):
    """After a failure what is done is kept, under a name that is said: lines for that."""
    before = len(left)
    for name in [n for n in left if ".partial." in n]:
        data, usual = left.pop(name), name.replace(".partial.", ".", 1)
        need(b".partial." in got.err, "kept without a word")
        if name.endswith(".npy"):
            rows({usual: data}, whole, usual, fewer=True)
        else:
            need(data.endswith(b"\n") and whole[usual].startswith(data), name + " is another")
    return len(left) < before


def check_classify(got, want, left, whole):
    rows(left, whole, "logits.npy")
    return pictures(got, want)


def check_embed(got, want, left, whole):
    return rows(left, whole, "features.npy")


def check_files(got, want, left, whole):
    same_lines(got, want)
    for name, data in left.items():
        need(data == whole.get(name), name + " is another")


def untimed(data):
    """A safetensors file's bytes without those of time_ms."""
    start = 8 + struct.unpack("<Q", data[:8])[0]
    a, b = json.loads(data[8:start])["time_ms"]["data_offsets"]
    return data[:start + a] + data[start + b:]


def check_step(got, want, left, whole):
    for name, data in left.items():
        need(untimed(data) == untimed(whole[name]), name + " is another")


def check_devices(got, want, left, whole):
    right = [json.loads(line) for line in want.out.splitlines()]
    found = [json.loads(line) for line in got.out.splitlines()]
    for answer in found:
        need(got.status == 1 or "error" not in answer, "status 0")
    if got.status == 0:
        need(len(found) == len(right), "lines are missing")
        for a, b in zip(found, right):
            for form in ("bf16", "f16", "int8"):  # tried anew: what was stored is unreadable
                if re.fullmatch("untried|fma|(vp|vd|vf|td)[a-z0-9]+", a.get(form, "")):
                    a[form] = b[form]
            if a.get("memory_bytes", 0) > 0:  # some drivers': what is free now
                a["memory_bytes"] = b["memory_bytes"]
            if "products" not in a:  # what was kept is unreadable
                b.pop("products", None)
            need(a == b, "another answer %r" % {
                k: (a.get(k), b.get(k)) for k in {**a, **b} if a.get(k) != b.get(k)})


def check_scores(got, want, left, whole):
    failed = re.search(rb"(\d+) pictures? could not be decoded", got.err)
    if failed:
        kind = got.fired.split()[0]
        need(kind in ("read", "short", "write"), kind + " is no picture's")
        need(got.status == 1, "status 0")
        need(json.loads(got.out).get("failed", 1) > 0, "no failed picture")
        return int(failed.group(1))
    same_lines(got, want)


def measured(out):
    """The part of bench's output that is the same in each run."""
    r = json.loads(out)
    ops = {k["op"] for k in r["kernels"]}
    for x in list(r["ms"].values()) + [r[k] for k in (
            "images_per_s", "gflops", "peak_gflops", "load_ms",
            "peak_memory_mb")]:
        need(x > 0, "%s is no measurement" % x)
    return [r[k] for k in ("preset", "device", "precision", "gemm", "batch")
            ], ops


def check_bench(got, want, left, whole):
    if got.out:
        need(measured(got.out) == measured(want.out), "another answer")


def verdicts(out):
    """selftest's output without times, free memory and the contents of caches."""
    return [l for l in re.sub(rb", after .*|, [0-9.]+ [GM]B(?=\))", b"", out).splitlines()
            if not l.startswith((b"cache ", b"PoCL's "))]


def check_selftest(got, want, left, whole):
    right = verdicts(want.out)
    lines = verdicts(got.out[:got.out.rfind(b"\n") + 1])
    need(got.status == 1 or len(lines) == len(right), "lines are missing")
    for line in lines:  # a choice that was stored may be unreadable now
        need(line in right or re.match(rb"(bf16|f16|int8) +untried$", line) or
             got.status == 1 and line.startswith(b"verdict: FAILED"),
             "another answer")


def check_train(got, want, left, whole):
    for line in left.get("log", b"").splitlines():
        json.loads(line)
    need(not left.get("log") or left["log"].endswith(b"\n"), "half a record")
    png = left.get("curve.png", b"")
    need(not png or png[-8:-4] == b"IEND", "half a curve")
    if got.status == 0:
        need(len(left["log"].splitlines()) == len(whole["log"].splitlines()),
             "records are missing")
        return
    again = Run([got.argv[0], "--resume", "-o", "T"])
    if again.status != 0:  # nothing had been written yet
        need(b"no training to resume" in again.err, "cannot be gone on "
             "with: " + again.err.decode(errors="replace"))
        shutil.rmtree("T", ignore_errors=True)
        again = Run(got.argv)
    need(again.status == 0, "cannot be gone on with")
    need(files("T")["model.safetensors"] == whole["T/model.safetensors"],
         "going on gives another model")


MODEL = os.path.join(DATA, "models", "timm_vit")
BAD = ["good.jpg", "text.jpg", "absent.jpg", "good.png", "folder"]
INPUT = os.path.join(MODEL, "input.safetensors")
TRAIN = ["--data", "data", "--epochs", "2", "--batch", "4", "--save-every", "1",
         "--hold-out", "2", "-o", "T", "--log", "log"]
if "VITCL_PLOT" in os.environ:  # it was built with Cairo
    TRAIN += ["--curve", "curve.png"]
COMMANDS = {
    # name: arguments, stdin, check, kinds
    "classify": (["classify", "--json", "-k", "3", "--batch", "2", "--logits",
                  "logits.npy"] + BAD, b"", check_classify),
    "list": (["classify", "--json", "-k", "1", "-"],
             "\n".join(BAD).encode() + b"\n", check_classify),
    "embed": (["embed", "-o", "features.npy"] + BAD, b"", check_embed),
    "devices": (["devices", "--json"], b"", check_devices),
    "info": (["info", "-m", MODEL, "--json"], b"", check_files),
    "convert": (["convert", "-m", MODEL, "-o", "hf", "--to", "hf"], b"",
                check_files),
    "forward": (["forward", "-m", MODEL, "-i", INPUT, "-o", "x.safetensors",
                 "--keep", "block.*"], b"", check_files),
    "step": (["step", "-m", MODEL, "-i", "batch.safetensors", "--settings",
              "settings.json", "--steps", "2", "-o", "x.safetensors"], b"",
             check_step),
    "eval": (["eval", "--data", "labelled", "--json"], b"", check_scores),
    "fewshot": (["fewshot", "-m", MODEL, "--data", "parts", "--shots", "1",
                 "--tries", "2", "--json"], b"", check_scores),
    "bench": (["bench", "-m", MODEL, "--seconds", "0.01", "--json"], b"",
              check_bench),
    "selftest": (["selftest"], b"", check_selftest),
    "train": (["train", "--config", "config.json"] + TRAIN, b"", check_train),
    "finetune": (["finetune", "-m", MODEL] + TRAIN, b"", check_train),
}
KINDS = ["malloc", "mmap", "open", "read", "short", "write", "sync", "rename",
         "fork"]


def batch(path):
    """The input of forward, with labels."""
    data = open(INPUT, "rb").read()
    at = 8 + struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8:at])
    n = head["pixel_values"]["shape"][0]
    head["labels"] = {"dtype": "I64", "shape": [n], "data_offsets":
                      [len(data) - at, len(data) - at + 8 * n]}
    text = json.dumps(head).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data[at:] +
                struct.pack("<%dq" % n, *[i % 3 for i in range(n)]))


def fill(folder):
    os.makedirs(folder)
    os.chdir(folder)
    shutil.copy(os.path.join(DATA, "sample.jpg"), "good.jpg")
    with open("text.jpg", "w") as f:
        f.write("no picture\n")
    with open("good.png", "wb") as f:  # a PNM, recognised by its content
        f.write(b"P6\n40 30\n255\n" + bytes(i * 7 % 256 for i in range(3600)))
    os.makedirs("folder/inner")
    os.link("good.png", "folder/inner/a.ppm")
    os.link("good.jpg", "folder/b.jpg")
    for name in ("bird", "cat"):
        os.makedirs("labelled/" + name)
        shutil.copy("good.jpg", "labelled/%s/1.jpg" % name)
        shutil.copy("good.png", "labelled/%s/2.ppm" % name)
    os.symlink("labelled", "data")
    os.mkdir("parts")
    for name in ("train", "test"):
        os.symlink("../labelled", "parts/" + name)
    with open("settings.json", "w") as f:
        json.dump({"optimizer": "adamw", "lr": 0.01}, f)
    batch("batch.safetensors")
    with open("config.json", "w") as f:
        json.dump({"architecture": "vit_tiny_patch16_224", "model_args": {
            "img_size": 32, "patch_size": 8, "embed_dim": 32, "depth": 1,
            "num_heads": 2, "mlp_ratio": 2}}, f)


def attempt(command, fault=None):
    """Runs in a new folder; returns the run and the files that it left."""
    folder = os.path.join(top, "work")
    os.chdir(top)
    shutil.rmtree(folder, ignore_errors=True)
    fill(folder)
    before = set(files())
    argv, stdin, _ = COMMANDS[command]
    run = Run(argv, stdin, fault)
    return run, {k: v for k, v in files().items() if k not in before}


def judge(command, got, left, want, whole):
    need(got.status in (0, 1), "status %s" % got.status)
    if left.pop("T/left_out.txt", None):  # of a picture that cannot be read
        need(b"cannot be decoded" in got.err, "left out without a word")
    said = 1
    if got.status == 0:
        need(want.status == 0, "status 0")
        need(got.out == want.out or command in ("bench", "devices", "selftest"),
             "status 0 and another answer")
        need(set(left) == set(whole), "status 0 and other files")
    else:
        said += check_kept(got, left, whole)
    failed = COMMANDS[command][2](got, want, left, whole)
    # and no temporary one: the undisturbed run leaves none
    for name in left:
        need(name in whole, "left behind: " + name)
    known = set(want.err.splitlines())
    more = [l for l in got.err.splitlines() if l not in known]
    if got.status == 1 and want.status == 0:
        need(more, "status 1 and nothing said")
    if command not in ("train", "finetune"):
        need(len(more) <= said + (failed or 0), "%d lines" % len(more))
    for line in more:
        need(line.startswith(b"vitcl"), "not a message: %r" % line)
    if failed:
        need(more, "a picture failed and nothing was said")


def version():
    try:
        return subprocess.run(["git", "-C", DATA, "rev-parse", "HEAD"],
                              capture_output=True, check=True,
                              text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return time.strftime("%Y-%m-%d")


def sweep():
    references, cases, bad = {}, [], 0
    chosen = SWEEP.split(":") if SWEEP[0].isalpha() else None
    for command in COMMANDS:
        if chosen and chosen[0] != command:
            continue
        attempt(command)  # fills the caches
        want, whole = references[command] = attempt(command, "malloc:0")
        counts = dict(line.split() for line in want.fired.splitlines())
        need(want.status == (1 if command in ("classify", "list", "embed")
                             else 0), "%s: status %s: %s" % (
                                 command, want.status, want.err))
        for kind in KINDS:
            if chosen and chosen[1:2] not in ([], [kind]):
                continue
            cases += [(command, kind, n + 1)
                      for n in range(int(counts[kind]))
                      if not chosen or len(chosen) < 3 or
                      chosen[2] == str(n + 1)]
    for kind in KINDS:  # else the C library calls it by a name that faults.c lacks
        need(chosen or any(c[1] == kind for c in cases), "no command has a call of the kind " + kind)
    total = len(cases)
    if SECONDS:  # each kind and each command equally often
        random.seed(SWEEP + version())
        weight = {}
        for c in cases:
            weight[c[:2]] = weight.get(c[:2], 0) + 1
        cases.sort(key=lambda c: random.random() * weight[c[:2]])
    start, done = time.monotonic(), 0
    for command, kind, n in cases:
        if SECONDS and time.monotonic() - start > SECONDS:
            break
        fault = "%s:%d" % (kind, n)
        got, left = attempt(command, fault)
        done += 1
        if chosen:
            print(got.status, got.out.decode(errors="replace"),
                  got.err.decode(errors="replace"), got.fired, sep="\n")
        try:
            judge(command, got, left, *references[command])
        except (AssertionError, ValueError, KeyError) as e:
            bad += 1
            print("%s:%s: %s %s\n%s%s" % (
                command, fault, type(e).__name__, e,
                got.err[-600:].decode(errors="replace"), got.fired), flush=True)
    print("%d of %d calls failed in turn, %d were not answered for" % (
        done, total, bad))
    return bad


def foreign_numbers():
    """A driver that sets a locale must not cause commas in our JSON."""
    subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8",
                    os.path.join(top, "de_DE.UTF-8")], check=True)
    want = attempt("classify")[0].out
    os.environ.update(LOCPATH=top, LC_ALL="de_DE.UTF-8", VITCL_FAULT_LOCALE="1")
    got = attempt("classify", "malloc:0")[0].out
    for name in ("LOCPATH", "LC_ALL", "VITCL_FAULT_LOCALE"):
        del os.environ[name]
    if got != want:
        print("other numbers in another locale:", got.decode())
    return got != want


top = tempfile.mkdtemp(prefix="vitcl-faults-")
cache = os.path.join(top, "cache")
config = os.path.join(top, "config")  # other tests add products to theirs
try:
    if os.path.isdir(os.environ.get("XDG_CONFIG_HOME", "")):
        shutil.copytree(os.environ["XDG_CONFIG_HOME"], config)
    sys.exit((sweep() + foreign_numbers()) > 0)
finally:
    os.chdir("/")
    shutil.rmtree(top, ignore_errors=True)
