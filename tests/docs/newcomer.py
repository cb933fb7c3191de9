#!/usr/bin/env python3
"""newcomer.py - what tools/newcomer needs of the documents.

    newcomer.py script DOCUMENT REASON...   its commands as a script for bash:
        blocks marked no-run with these reasons, and where one is "plain" those
        that are not marked. Of the man page: its examples.
    newcomer.py prepare FOLDER   the files that the documents speak of
    newcomer.py hub FOLDER       the models that they download
    newcomer.py optional         the optional packages of docs/install.md
"""
import os
import re
import shlex
import shutil
import sys

import run_docs

ROOT = os.path.realpath(f"{os.path.dirname(__file__)}/../..")
HUB = {**run_docs.PULLED,
       "timm--vit_base_patch16_224.augreg2_in21k_ft_in1k": "models/timm_vit",
       "google--vit-base-patch16-224": "models/hf_vit_resized"}


def commands(language, text):
    """Those of a block; of ```console the lines after $, not what they print."""
    if language == "sh":
        return text
    return "".join(re.findall(r"^\$ ((?:.*\\\n)*.*\n)", text, re.M))


def examples(page):
    """Of the man page, but for a training of hours, with the names of prepare()."""
    page = page.split(".SH EXAMPLES\n")[1].split(".SH ")[0].replace("\\\n", " ")
    for row in re.findall(r"^\.B (.*)$", page, re.M):
        row = row.replace("\\(aq", "'").replace("\\%", "").replace("\\-", "-")
        if not row.startswith("vitcl train "):
            row = row.replace("-m DIR", "-m checkpoint")
            yield row + (" photo.jpg\n" if row.endswith("-m mine") else "\n")


def script(name, reasons):
    if name.endswith(".1"):
        with open(f"{ROOT}/{name}", encoding="utf-8") as f:
            return "".join(examples(f.read()))
    out = ""
    for line, language, info, text, _ in run_docs.Document(ROOT, name).blocks():
        why = info.split()[1:] or ["plain"]
        if language in ("sh", "console") and set(why) <= set(reasons):
            out += f": {shlex.quote(f'{name}:{line}')}\n{commands(language, text)}"
    return out


def hub(folder):
    for name, model in HUB.items():
        at = os.path.join(folder, *name.split("--"))
        os.makedirs(at)
        source = f"{ROOT}/tests/data/{model}"
        for file in os.listdir(source):
            if file.endswith(".json") or file == "model.safetensors":
                shutil.copy(f"{source}/{file}", at)


def main():
    what, *words = sys.argv[1:]
    if what == "script":
        print(script(words[0], words[1:]), end="")
    elif what == "prepare":
        run_docs.prepare(ROOT, words[0])
    elif what == "hub":
        hub(words[0])
    elif what == "optional":
        print(*sorted(run_docs.optional_packages(
            run_docs.Document(ROOT, "docs/install.md"))))


if __name__ == "__main__":
    main()
