#!/usr/bin/env python3
"""check_circles.py - no file of a folder includes or calls itself through
others.

    tools/check_circles.py TARGETS FOLDER ...

Two graphs of each FOLDER of host/ must have no circles: includes between its
files, and calls between its .c files, which follow from the undefined and the
defined symbols of their object files (TARGETS/*.dir/host/FOLDER/x.c.o, TARGETS
being the CMakeFiles of a build). Prints the files of each circle; exit status 1
if there is one.
"""
import pathlib
import re
import subprocess
import sys

HOST = pathlib.Path(__file__).resolve().parent.parent / "host"


def circles(graph):
    """The strongly connected components of more than one node (Tarjan)."""
    number, low, stack, found = {}, {}, [], []

    def visit(node):
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in number:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == number[node]:
            part = [stack.pop()]
            while part[-1] != node:
                part.append(stack.pop())
            if len(part) > 1:
                found.append(sorted(part))

    for node in sorted(graph):
        if node not in number:
            visit(node)
    return found


def includes(folder):
    graph = {f.name: set() for f in (HOST / folder).glob("*.[ch]")}
    for name in graph:
        text = (HOST / folder / name).read_text()
        wanted = re.findall(r'^ *# *include "(?:%s/)?([^"/]+)"' % folder, text, re.M)
        graph[name] = {w for w in wanted if w in graph} - {name}
    return graph


def object_of(targets, folder, source):
    """A file may be part of several targets, which give the same symbols, or of
    none, because the build lacks a library."""
    return next(iter(sorted(targets.glob(f"*.dir/host/{folder}/{source}.o"))), None)


def symbols(objects):
    """Of each object: the defined and the undefined symbols."""
    known = {o: (set(), set()) for o in map(str, objects)}
    nm = subprocess.run(["nm", "-A", *known], check=True, capture_output=True,
                        text=True)
    for line in nm.stdout.splitlines():
        obj, rest = line.split(":", 1)
        kind, name = rest.split()[-2:]
        if kind == "U":
            known[obj][1].add(name)
        elif kind.isupper():
            known[obj][0].add(name)
    return [known[str(o)] for o in objects]


def calls(targets, folder):
    """The graph, and for each edge the symbols that make it."""
    objects = {f.name: object_of(targets, folder, f.name)
               for f in sorted((HOST / folder).glob("*.c"))}
    sources = [name for name in objects if objects[name]]
    known = dict(zip(sources, symbols([objects[name] for name in sources])))
    if not any(known[a][0] for a in sources):
        sys.exit(f"host/{folder}: no file has a function: nothing was checked")
    why = {(a, b): known[a][1] & known[b][0] for a in sources for b in sources}
    return {a: {b for b in sources if why[a, b]} for a in sources}, why


def main():
    targets, failures = pathlib.Path(sys.argv[1]), 0

    for folder in sys.argv[2:]:
        graph = includes(folder)
        if not graph:
            sys.exit(f"host/{folder} has no files: nothing was checked")
        for part in circles(graph):
            failures += 1
            print(f"host/{folder}: a circle of includes: {', '.join(part)}")
        graph, why = calls(targets, folder)
        for part in circles(graph):
            failures += 1
            print(f"host/{folder}: a circle of calls: {', '.join(part)}")
            for a in part:
                for b in sorted(graph[a].intersection(part)):
                    print(f"  {a} -> {b}: {', '.join(sorted(why[a, b]))}")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
