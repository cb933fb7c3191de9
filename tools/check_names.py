#!/usr/bin/env python3
"""check_names.py - one type name, one meaning, in all of host/ and include/.

    tools/check_names.py [ROOT]

Finds each typedef and each tag of a struct, union or enum that is defined
there, and fails where
  - a header's name, or one that begins with vt_ or vitcl_, is defined twice. A
    handle is defined once: its struct may be in another file than its typedef;
  - a .c file gives a meaning of its own to a header's name;
  - a function has a type's name.
Other names of .c files may be in several of them (work, entry, job: some thirty
are): their scope is one file, and they are read in it. Prints where each is
defined; exit status 1 if there is one.
"""
import collections
import pathlib
import re
import sys

SHARED = re.compile(r"vt_|vitcl_")


def code_of(path):
    """The text with as many lines, but without comments and strings."""
    return re.sub(r"/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'",
                  lambda m: "\n" * m.group().count("\n") or " ",
                  path.read_text(), flags=re.S)


def statement_end(code, at):
    depth = 0
    for i in range(at, len(code)):
        depth += (code[i] in "({") - (code[i] in ")}")
        if code[i] == ";" and depth == 0:
            return i
    return len(code)


def alias_of(text):
    """The name that a typedef gives, and the tag that it is a name for."""
    text = re.sub(r"__attribute__\s*\(\(.*\)\)", "", text, flags=re.S)
    while "{" in text:
        text = re.sub(r"\{[^{}]*\}", " ", text)
    tag = re.match(r"\s*(?:struct|union|enum)\s+(\w+)\s+\w+\s*$", text)
    name = (re.search(r"\(\s*\*\s*(\w+)\s*\)\s*\(", text)
            or re.search(r"(\w+)\s*(?:\[[^]]*\]\s*)*$", text)
            or re.search(r"(\w+)\s*\([^()]*\)\s*$", text))
    return name.group(1), tag and tag.group(1)


def definitions(code):
    """(name, position, whether it is a definition that needs none elsewhere).
    A typedef for a tag of the same name that is defined elsewhere is a
    handle's."""
    bodies = {m.group(1): m.start() for m in
              re.finditer(r"\b(?:struct|union|enum)\s+(\w+)\s*\{", code)}
    for name, at in bodies.items():
        yield name, at, True
    for m in re.finditer(r"^[ \t]*typedef\b", code, re.M):
        name, tag = alias_of(code[m.end():statement_end(code, m.end())])
        if name not in bodies or tag not in (None, name):
            yield name, m.start(), tag != name


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1
                        else pathlib.Path(__file__).resolve().parent.parent)
    files = sorted([*root.glob("host/**/*.[ch]"), *root.glob("include/*.h")])
    whole, handles = collections.defaultdict(list), collections.defaultdict(list)
    functions, failures = collections.defaultdict(list), 0

    for path in files:
        code = code_of(path)
        where = path.relative_to(root)
        for name, at, complete in definitions(code):
            place = f"{where}:{code[:at].count(chr(10)) + 1}"
            (whole if complete else handles)[name].append(place)
        for m in re.finditer(r"^(?!typedef)\w[^\n;=]*?\b((?:vt|vitcl)_\w+)\((?!\*)", code, re.M):
            functions[m.group(1)].append(f"{where}:{code[:m.start()].count(chr(10)) + 1}")
    if len(whole) < 100:
        sys.exit(f"only {len(whole)} types were found: nothing was checked")

    for name in sorted({*whole, *handles}):
        places = whole[name] + handles[name]
        shared = SHARED.match(name) or any(".h:" in p for p in places)
        if shared and (len(whole[name]) > 1 or len(handles[name]) > 1):
            failures += 1
            print(f"{name} has several meanings: {', '.join(places)}")
        if name in functions:
            failures += 1
            print(f"{name} is a type and a function: {places[0]}, {functions[name][0]}")
    if failures:
        return 1
    print(f"{len({*whole, *handles})} names of types have one meaning each")
    return 0


if __name__ == "__main__":
    sys.exit(main())
