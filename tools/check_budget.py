#!/usr/bin/env python3
"""check_budget.py - the tree has no more than tools/budget allows.

    tools/check_budget.py VITCL          compare, by --help of the program VITCL
    tools/check_budget.py VITCL --set    write today's figures; allowances stay
    tools/check_budget.py VITCL --lower  write those that became smaller

tools/budget has the lines of each folder of host/ and of cl/, the words of each
document, the options of each command, and the public functions; and for each kind
an allowance, which all of the kind share. What is not in it has a figure of 0.

Who needs more takes something else out. Raising a number is a commit of its own,
which changes nothing but tools/budget, and whose body has a line "Removed: ..."
that says what was taken out for it. A folder under another name, or divided, raises
nothing. Where git is there, its history is checked.
"""
import collections
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE = "tools/budget"
HEAD = """\
# What the tree may have: tools/check_budget.py compares, and says how to raise a
# number. An allowance is shared by all of its kind.
"""


def lines_of(*files):
    return sum(path.read_bytes().count(b"\n") for path in files)


def options_of(vitcl, command):
    """Options in the table of --help; -h, which all have, does not count."""
    text = subprocess.run([vitcl, command, "--help"], check=True, capture_output=True, text=True).stdout
    table = text.partition("\noptions:\n")[2].partition("\n\n")[0]
    found = set(re.findall(r"^ {2,6}(--?\w[a-z0-9-]*)", table, re.M)) - {"-h"}
    if not found and command != "completion":
        sys.exit(f"check_budget.py: {command} --help has no table of options")
    return len(found)


def today(vitcl):
    """{(kind, name): number}"""
    found = {("cl", "cl"): lines_of(*ROOT.glob("cl/*.cl"))}
    for path in sorted(ROOT.glob("host/**/*")):
        if path.suffix in (".c", ".h", ".js", ".css"):
            key = "host", path.parent.relative_to(ROOT).as_posix()
            found[key] = found.get(key, 0) + lines_of(path)
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]):
        if path.name != "CHANGELOG.md": # release_dates limits its open entry
            words = re.findall(r"\S*[^\W\d_]\S*", path.read_text(encoding="utf-8"))  # numbers and the rules of tables are none
            found["words", path.relative_to(ROOT).as_posix()] = len(words)
    main = subprocess.run([vitcl, "--help"], check=True, capture_output=True, text=True).stdout
    for command in re.findall(r"^  ([a-z]+) +[A-Z]", main, re.M):
        found["options", command] = options_of(vitcl, command)
    declared = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("include/*.h"))
    declared = re.sub(r"/\*.*?\*/|//[^\n]*|^#.*?[^\\]$", " ", declared, flags=re.S | re.M)
    found["functions", "include"] = len(set(re.findall(r"\b(vitcl_[a-z0-9_]+)\(", declared)))
    return found


def read(text):
    """{(kind, name): number}, {kind: allowance}"""
    figures, allowed = {}, collections.Counter()
    for line in text.splitlines():
        if line and not line.startswith("#"):
            kind, name, number = line.split()
            if kind == "allowance":
                allowed[name] = int(number)
            else:
                figures[kind, name] = int(number)
    return figures, allowed


def compare(figures, allowed, found):
    wrong = []
    over = collections.defaultdict(list)
    for key, number in found.items():
        if number > figures.get(key, 0):
            over[key[0]].append((number - figures.get(key, 0), key[1], number))
    for kind, rows in over.items():
        most, total = allowed[kind], sum(row[0] for row in rows)
        if total > most:
            wrong += [f"{kind}: {name} has {number}, {more} more than its figure" for more, name, number in sorted(rows, reverse=True)]
            wrong.append(f"{kind}: {total} more in all, and {most} are allowed")
    wrong += [f"{' '.join(key)} is gone: take it off {FILE} (--lower)" for key in figures if key not in found]
    return wrong


def git(*words):
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else ""


def history():
    """Commits that raised a number together with something else, or without a reason."""
    wrong = []
    if git("rev-parse", "--show-prefix").strip() or git("rev-parse", "--is-shallow-repository").strip() != "false":
        return wrong
    for commit in git("log", "--format=%H", "--diff-filter=M", "--", FILE).split():
        new, old = (read(git("show", f"{c}:{FILE}")) for c in (commit, commit + "^"))
        moved = collections.Counter()  # what is left of the rooms that go, for those that come
        for sign, one, other in (1, old[0], new[0]), (-1, new[0], old[0]):
            for key in one.keys() - other.keys():
                moved[key[0]] += sign * one[key]
        raised = [f"{' '.join(key)} to {n}" for key, n in new[0].items()
                  if n > old[0].get(key, 0 if moved[key[0]] < 0 else n)]
        raised += [f"the allowance of {kind} to {n}" for kind, n in new[1].items() if n > old[1][kind]]
        if not raised:
            continue
        if git("show", "--format=", "--name-only", commit).split() != [FILE]:
            wrong.append(f"{commit[:8]} raises {', '.join(raised)}, and changes other files")
        if not re.search(r"^Removed: \S", git("show", "-s", "--format=%b", commit), re.M):
            wrong.append(f"{commit[:8]} raises {', '.join(raised)}; its body has no line \"Removed: ...\"")
    return wrong


def write(figures, allowed):
    text = HEAD + "".join(f"allowance {kind} {n}\n" for kind, n in allowed.items())
    text += "".join(f"{kind} {name} {n}\n" for (kind, name), n in sorted(figures.items()))
    (ROOT / FILE).write_text(text, encoding="utf-8")


def main():
    if len(sys.argv) < 2 or sys.argv[2:] not in ([], ["--set"], ["--lower"]):
        sys.exit("usage: check_budget.py VITCL [--set | --lower]")
    found = today(os.path.abspath(sys.argv[1]))
    figures, allowed = read((ROOT / FILE).read_text(encoding="utf-8"))
    if "--set" in sys.argv:
        return write(found, allowed)
    if "--lower" in sys.argv:
        return write({key: min(n, found[key]) for key, n in figures.items() if key in found}, allowed)
    wrong = compare(figures, allowed, found) + history()
    for line in wrong:
        print(line, file=sys.stderr)
    if not wrong:
        total = collections.Counter()
        for (kind, _), n in found.items():
            total[kind] += n
        print(", ".join(f"{kind} {n}" for kind, n in total.items()))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
