#!/usr/bin/env python3
"""run_docs.py ROOT BUILD [FILE...] - run what the documents tell people to type.

Every fenced block of README.md, CONTRIBUTING.md and docs/*.md is one of these:

    ```sh              commands; bash runs them, and each must succeed
    ```sh no-run WHY   commands that are not run. WHY is one of REASONS.
    ```console         `$ command` lines, each with what it prints below it. That
                       is compared: numbers with a point to within 0.2 %, a line
                       of `...` stands for any lines, the rest as it is.
    ```python          all of a document are one script, which runs after its
                       commands. Below <!-- printed -->, as ```text: what it
                       prints, compared in the same way
    ```c, ```py ...    where the line above is <!-- part of: PATH -->, adjacent
                       lines of that file; otherwise not checked
    ```text            not checked

The blocks of one document run in order in one scratch folder. The folder holds
small data under the names that the text uses: see prepare(). So the commands
are those that people type, only faster. tools/newcomer runs what is marked root,
network or tree. Links to files must lead somewhere,
no line may name an option that its command's --help lacks, every folder of host/
must be in docs/architecture.md, and the packages of docs/install.md must be
those that tools/setup.sh installs.
"""
import importlib.util
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

REASONS = {
    "root": "installs something, or needs rights",
    "network": "downloads something",
    "cluster": "needs several machines",
    "minutes": "takes longer than a test may",
    "hours": "takes very long",
    "device": "needs hardware or a driver that a test machine lacks",
    "tree": "builds or tests the repository itself",
    "distribution": "is for another distribution or release",
}
# Names in a cache of Hugging Face, for small models of tests/data.
PULLED = {"timm--vit_tiny_patch16_224.augreg_in21k_ft_in1k": "models/timm_vit",
          "laion--CLIP-ViT-B-32-laion2B-s34B-b79K": "words/clip"}


def classes(folder, names, each, side):
    """Class folders: pictures of one main colour with some noise."""
    for k, name in enumerate(names):
        os.makedirs(f"{folder}/{name}")
        for i in range(each):
            with open(f"{folder}/{name}/{i}.ppm", "wb") as f:
                f.write(b"P6\n%d %d\n255\n" % (side, side) + bytes(
                    random.randrange(60) + (180 if j % 3 == k % 3 else 0)
                    for j in range(side * side * 3)))


def cifar(folder, each):
    os.mkdir(folder)
    names = "airplane automobile bird cat deer dog frog horse ship truck"
    with open(f"{folder}/batches.meta.txt", "w") as f:
        f.write("\n".join(names.split()) + "\n")
    for part in [f"data_batch_{n}" for n in range(1, 6)] + ["test_batch"]:
        with open(f"{folder}/{part}.bin", "wb") as f:
            for i in range(each):
                f.write(bytes([i % 10]) + bytes(
                    min(255, random.randrange(128) + 12 * (i % 10))
                    for _ in range(3072)))


def prepare(root, folder):
    """The files that the documents speak of."""
    data = os.path.join(root, "tests", "data")
    models = os.path.join(data, "models")
    random.seed(1)
    shutil.copy(f"{data}/sample.jpg", f"{folder}/photo.jpg")
    os.mkdir(f"{folder}/holiday")
    for name in ("cmyk.jpg", "exif6.jpg", "near_31x33.png"):
        shutil.copy(f"{data}/preprocess/in/{name}", f"{folder}/holiday")
    shutil.copy(f"{data}/sample.jpg", f"{folder}/holiday/ship.jpg")
    for split, each in (("train", 6), ("test", 2)):
        classes(f"{folder}/photos/{split}", ("apple", "leaf", "sky"), each, 24)
    cifar(f"{folder}/cifar-10-batches-bin", 10)
    shutil.copytree(f"{models}/timm_vit", f"{folder}/checkpoint")
    with open(f"{folder}/labels.txt", "w") as f:
        f.write("a beach\na street at night\ncats, dogs and birds\n")
    shutil.copy(f"{models}/npz_vit/model.npz", f"{folder}/ViT-B_16.npz")
    shutil.copytree(f"{root}/examples", f"{folder}/examples", dirs_exist_ok=True)
    shutil.copy(f"{models}/timm_vit/input.safetensors", folder)


def pull(root, cache):
    """The downloads that the documents speak of."""
    commit = "0" * 40
    for name, model in PULLED.items():
        at = f"{cache}/models--{name}"
        for part in ("refs", "snapshots"):
            os.makedirs(f"{at}/{part}")
        with open(f"{at}/refs/main", "w") as f:
            f.write(commit)
        os.symlink(f"{root}/tests/data/{model}", f"{at}/snapshots/{commit}")


class Document:
    def __init__(self, root, name):
        self.name = name
        self.errors, self.ran, self.skipped = [], 0, 0
        with open(os.path.join(root, name), encoding="utf-8") as f:
            self.lines = f.read().split("\n")

    def error(self, line, text):
        self.errors.append(f"{self.name}:{line}: {text}")

    def blocks(self):
        """(line, language, rest of the info, text, line above) of each fence."""
        at = 0
        while at < len(self.lines):
            head = re.match(r"```(\S*)\s*(.*)$", self.lines[at])
            at += 1
            if not head:
                continue
            start = at
            while at < len(self.lines) and self.lines[at] != "```":
                at += 1
            if at == len(self.lines):
                self.error(start, "this block does not end")
            above = self.lines[start - 2].strip() if start > 1 else ""
            yield (start + 1, head[1], head[2],
                   "\n".join(self.lines[start:at]) + "\n", above)
            at += 1

    def prose(self):
        """Lines outside of fences."""
        inside = False
        for number, line in enumerate(self.lines, 1):
            if line.startswith("```"):
                inside = not inside
            elif not inside:
                yield number, line


def same(want, got):
    """Whether a line is as expected, numbers with a point nearly so."""
    number = re.compile(r"\d+\.\d+")
    if re.sub(r"\s+", " ", number.sub("#", want.strip())) != \
            re.sub(r"\s+", " ", number.sub("#", got.strip())):
        return False
    pairs = zip(number.findall(want), number.findall(got))
    return all(abs(float(a) - float(b)) <= max(2e-3 * abs(float(a)), 2e-4)
               for a, b in pairs)


def is_part(text, path):
    """Whether these lines follow each other in the file; indents may differ."""
    with open(path, encoding="utf-8") as f:
        want, all_lines = ([line.strip() for line in t.splitlines()]
                           for t in (text, f.read()))
    return any(all_lines[i:i + len(want)] == want
               for i in range(len(all_lines)))


def matches(want, got):
    if not want:
        return not got
    if want[0].strip() == "...":
        return any(matches(want[1:], got[i:]) for i in range(len(got) + 1))
    return bool(got) and same(want[0], got[0]) and matches(want[1:], got[1:])


def bash(text, folder, env):
    run = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=folder,
                         env=env, stdin=subprocess.DEVNULL, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         errors="replace", timeout=300)
    return run.returncode, run.stdout, run.stderr


def run_console(doc, line, text, folder, env):
    """Each `$ command`, against the lines that follow it."""
    command, want, at = None, [], line
    for row in text.split("\n") + ["$ "]:
        if row.startswith("$ "):
            if command:
                code, out, err = bash(command, folder, env)
                got = out.rstrip("\n").split("\n") if out else []
                while want and not want[-1].strip():
                    want.pop()
                if code or not matches(want, got):
                    doc.error(at, f"{command}\nexit status {code}; it prints:\n"
                              f"{out}{err}")
            command, want, at = row[2:], [], at + len(want) + 1
        elif command and command.endswith("\\"):
            command += "\n" + row
        else:
            want.append(row)


def run_python(doc, line, code, want, folder, env):
    """One interpreter runs all of a document's code; want: what it prints."""
    run = subprocess.run([sys.executable, "-c", code], cwd=folder, env=env, text=True,
                         stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
    if run.returncode or want and not matches(want, run.stdout.splitlines()):
        doc.error(line, f"exit status {run.returncode} of\n{code}{run.stdout[-2000:]}"
                  f"{run.stderr[-2000:]}")


def check_options(doc, line, text, help_of):
    """Options of vitcl commands, also in blocks that are not run."""
    text = re.sub(r"\\\n\s*", " ", text)
    for row in text.split("\n"):
        for part in re.split(r"[|;&]", row):
            words = part.split()
            while words and (words[0] in ("$", "time", "sudo") or
                             re.match(r"[A-Z_]+=", words[0])):
                words.pop(0)
            if len(words) < 2 or words[0] != "vitcl":
                continue
            known = help_of(words[1])
            if words[1] != "help" and not words[1].startswith("-") and not known:
                doc.error(line, f"there is no command vitcl {words[1]}")
            for word in words[2:]:
                option = re.match(r"--[a-z][a-z-]*", word)
                if known and option and not re.search(
                        re.escape(option[0]) + r"(?![a-z-])", known):
                    doc.error(line, f"vitcl {words[1]} has no {option[0]}")


def check_links(doc, root):
    for number, line in doc.prose():
        for target in re.findall(r"\]\(([^)\s]+)\)|src=\"([^\"]+)\"", line):
            target = target[0] or target[1]
            # of the web, or of the page of this repository there
            if re.match(r"[a-z]+:|\.\./\.\./actions/", target):
                continue
            path, _, anchor = target.partition("#")
            at = os.path.normpath(os.path.join(
                root, os.path.dirname(doc.name), path)) if path else \
                os.path.join(root, doc.name)
            if not os.path.exists(at):
                doc.error(number, f"{path} is not there")
            elif anchor and anchor not in anchors(at):
                doc.error(number, f"{target}: no such heading")


def anchors(path):
    with open(path, encoding="utf-8") as f:
        heads = re.findall(r"^#+ +(.*)$", f.read(), re.M)
    return {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in heads}


def check_architecture(doc, root):
    """Every folder of host/ has its row."""
    folders = {os.path.relpath(f, root) for f, _, files in os.walk(f"{root}/host")
               if any(name.endswith(".c") for name in files)}
    for name in sorted(folders):
        if f"| `{name}/` |" not in "\n".join(doc.lines):
            doc.error(1, f"{name}/ is not among the folders")


def optional_packages(doc):
    """Debian's names in the table of docs/install.md."""
    names = set()
    for line in doc.lines[doc.lines.index("<!-- optional packages -->") + 3:]:
        if not line.startswith("|"):
            break
        names |= set(re.findall(r"`([^`]+)`", line.split("|")[2]))
    return names


def check_packages(doc, root):
    """The first apt command and the optional packages are what tools/setup.sh
    installs; each of README.md's is among them, and none that every build needs
    is missing there."""
    with open(f"{root}/tools/setup.sh", encoding="utf-8") as f:
        installed = set(re.search(r'^build_packages="([^"]*)"', f.read(),
                                  re.M)[1].split())
    def of_apt(name):
        with open(f"{root}/{name}", encoding="utf-8") as f:
            return set(re.search(r"apt install ((?:[^\n]*\\\n)*[^\n]*)", f.read())[1]
                       .replace("\\\n", " ").split())
    needed, optional = of_apt("docs/install.md"), optional_packages(doc)
    readme = of_apt("README.md")
    for what, names in (
            ("lacks, though tools/setup.sh installs it", installed - needed - optional),
            ("has, but tools/setup.sh does not install it", needed - installed),
            ("has as optional and as needed", needed & optional),
            ("lacks, but README.md has it", readme - needed - optional)):
        for name in sorted(names):
            doc.error(1, f"{what}: {name}")
    for name in sorted(n for n in needed - readme if n.startswith("lib")):
        if name != "libc6-dev":  # comes with gcc
            doc.error(1, f"README.md lacks {name}")


def main():
    root, build = (os.path.realpath(p) for p in sys.argv[1:3])
    names = sys.argv[3:] or ["README.md", "CONTRIBUTING.md"] + sorted(
        f"docs/{f}" for f in os.listdir(f"{root}/docs") if f.endswith(".md"))
    work = tempfile.mkdtemp()
    env = dict(os.environ)
    for name in ("VITCL_MODEL", "VITCL_DEVICE", "VITCL_CL_DIR"):
        env.pop(name, None)
    vitcl = env.get("VITCL", f"{build}/vitcl")
    env["PATH"] = f"{work}/bin:" + env["PATH"]
    env["LD_LIBRARY_PATH"] = build
    env["XDG_CONFIG_HOME"] = f"{work}/config"
    env["TMPDIR"] = f"{work}/tmp"
    env["HF_HUB_CACHE"] = f"{work}/hub"
    env["PYTHONPATH"] = f"{root}/python"
    numpy = importlib.util.find_spec("numpy")
    if not numpy:
        print("skipped: NumPy is missing")
    # cc $(pkg-config ... vitcl) as if it were installed
    env["PKG_CONFIG_PATH"] = f"{work}/lib/pkgconfig"
    helps = {}

    def help_of(command):
        if command not in helps:
            run = subprocess.run([vitcl, command, "--help"], env=env, text=True,
                                 capture_output=True)
            helps[command] = "" if run.returncode else run.stdout
        return helps[command]

    errors, ran = [], 0
    try:
        for name in ("bin", "tmp", "lib/pkgconfig"):
            os.makedirs(f"{work}/{name}")
        os.symlink(vitcl, f"{work}/bin/vitcl")
        pull(root, env["HF_HUB_CACHE"])
        with open(f"{work}/lib/pkgconfig/vitcl.pc", "w") as f:
            f.write("Name: vitcl\nDescription: this build's\nVersion: 0\n"
                    f"Cflags: -I{root}/include\nLibs: -L{build} -lvitcl\n")
        os.mkdir(f"{work}/prepared")
        prepare(root, f"{work}/prepared")
        sanitized = b"__asan_init" in open(vitcl, "rb").read()
        for name in names:
            doc = Document(root, name)
            folder = f"{work}/{name.replace('/', '_')}"
            shutil.copytree(f"{work}/prepared", folder)
            check_links(doc, root)
            if name == "docs/architecture.md":
                check_architecture(doc, root)
            if name == "docs/install.md":
                check_packages(doc, root)
            code, want, last = "", [], 0
            for line, language, info, text, above in doc.blocks():
                file = re.match(r"<!-- part of: (\S+) -->", above)
                words = info.split()
                if file and not is_part(text, os.path.join(root, file[1])):
                    doc.error(line, f"is not part of {file[1]}")
                if language in ("sh", "console"):
                    check_options(doc, line, text, help_of)
                if language == "sh" and words[:1] == ["no-run"]:
                    if not words[1:] or not set(words[1:]) <= set(REASONS):
                        doc.error(line, f"no-run wants one of {list(REASONS)}")
                    doc.skipped += 1
                elif language == "sh" and words:
                    doc.error(line, f"{info}: what is that?")
                elif sanitized and re.search(r"^\$? ?(cc|python3) ", text, re.M):
                    doc.skipped += 1  # cannot link or load sanitized objects
                elif os.environ.get("VITCL_NO_WORDS") and re.search(
                        r"--text|--labels|--prompt|words\.safetensors|search_by_words", text):
                    doc.skipped += 1  # built without utf8proc
                elif language == "python":
                    code, last = code + text, line
                    doc.ran += 1
                elif above == "<!-- printed -->":
                    want += text.splitlines()
                elif language == "sh":
                    status, out, err = bash(text, folder, env)
                    doc.ran += 1
                    if status:
                        doc.error(line, f"exit status {status} of\n{text}{out[-2000:]}"
                                  f"{err[-2000:]}")
                elif language == "console":
                    run_console(doc, line, text, folder, env)
                    doc.ran += 1
                elif not language:
                    doc.error(line, "a block without a language")
            if code and not sanitized and not os.environ.get("VITCL_NO_WORDS") and numpy:
                run_python(doc, last, code, want, folder, env)
            print(f"{name}: {doc.ran} blocks run, {doc.skipped} not, "
                  f"{len(doc.errors)} errors", flush=True)
            errors += doc.errors
            ran += doc.ran
        if os.listdir(f"{work}/tmp"):
            errors.append(f"left in TMPDIR: {os.listdir(work + '/tmp')}")
        if not sys.argv[3:] and ran < 20:
            errors.append(f"only {ran} blocks were run")
    finally:
        shutil.rmtree(work)
    for text in errors:
        print(text)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
