#!/usr/bin/env python3
"""paper.py - docs/paper.md names only what is there, and all of the paper.

    paper.py ROOT VITCL

Each file exists, each command and its options are the program's, each part of
the paper has a row, one without code is in the table of what is not here and says
why, and the verdict of a study is that of docs/studies.md.
"""
import pathlib
import re
import subprocess
import sys

LINES = 120
SECTIONS = ("2 3.1 3.2 4.1 4.2 4.3 4.4 4.5 4.6 5 A B.1 B.1.1 B.1.2 C D.1 D.2 D.3 D.4 D.5 D.6 D.7 "
            "D.8 D.9 D.10").split()
FIGURES, TABLES, EQUATIONS = 14, 9, 8
ROOT, VITCL = pathlib.Path(sys.argv[1]), sys.argv[2]
PAPER = ROOT / "docs" / "paper.md"
errors = []


def said(*words):
    done = subprocess.run([VITCL, *words], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else ""


def rows(path, columns):
    """Number and cells of each row of the document's tables of so many columns."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        cells = [c.strip() for c in line.strip("| ").split(" | ")]
        if line.startswith("| ") and len(cells) == columns:
            yield number, cells


def check_command(complain, text, helps, studies):
    words = text.split()
    if words[:1] != ["vitcl"] or len(words) < 2:
        return complain(f"'{text}' is no command")
    name = words[1]
    if name not in helps:
        helps[name] = said(name, "--help")
    if not helps[name]:
        complain(f"there is no command '{name}'")
    for word in words[2:]:
        if word.startswith("-") and not re.search(rf"(^|[\s,]){word}\b", helps[name]):
            complain(f"{name} has no option {word}")
    if name == "study" and words[2] not in studies:
        complain(f"there is no study '{words[2]}'")
    return None


def numbers(text, what):
    """The numbers of "figures 3 and 4" or "equations 5 to 8"."""
    for first, second, join in ((m[1], m[3], m[2]) for m in re.finditer(
            rf"\b{what}s? (\d+)(?:(,| and| to) (\d+))?", text)):
        last = int(second or first)
        yield from range(int(first), last + 1) if join == " to" else {int(first), last}


def main():
    verdicts = {c[0].strip("`"): c[4] for _, c in rows(ROOT / "docs" / "studies.md", 5)
                if re.fullmatch(r"`[a-z-]+`", c[0])}
    helps, studies = {}, set(re.findall(r"^  ([a-z-]+)  ", said("study"), re.M))
    every, checked = "", 0
    for number, (what, command, code, test, verdict) in rows(PAPER, 5):
        def complain(text, number=number):
            errors.append(f"docs/paper.md:{number}: {text}")
        if what in ("paper", "claim") or set(what) == {"-"}:
            continue
        every += what + "\n"
        checked += 1
        for cell, at in ((code, ("cl/", "host/", "python/")), (test, ("tests/", "python/tests/"))):
            paths = re.findall(r"`([^`]+)`", cell)
            if not paths:
                complain("code and a test, or a row of what is not here")
            for path in paths:
                if not path.startswith(at) or not (ROOT / path).is_file():
                    complain(f"{path} is not a file below {' or '.join(at)}")
        for text in re.findall(r"`([^`]+)`", command):
            check_command(complain, text, helps, studies)
            study = re.match(r"vitcl study (\S+)", text)
            if study and "](studies.md#" not in verdict and verdict != verdicts.get(study[1]):
                complain(f"docs/studies.md says of {study[1]}: {verdicts.get(study[1])}")
    for number, (what, because) in rows(PAPER, 2):
        every += what + "\n"
        if not because:
            errors.append(f"docs/paper.md:{number}: it does not say why")
    for section in SECTIONS:
        if not re.search(rf"^(appendix )?{re.escape(section)}\b(?!\.\d)", every, re.M):
            errors.append(f"docs/paper.md: no row of section {section}")
    for what, most in (("figure", FIGURES), ("table", TABLES), ("equation", EQUATIONS)):
        for missing in sorted(set(range(1, most + 1)) - set(numbers(every, what))):
            errors.append(f"docs/paper.md: no row of {what} {missing}")
    if not verdicts or not studies or checked < len(SECTIONS):
        errors.append("docs/paper.md: nothing was checked")
    if len(PAPER.read_text().splitlines()) > LINES:
        errors.append(f"docs/paper.md: more than {LINES} lines")
    print("\n".join(errors) or f"{checked} rows")
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main())
