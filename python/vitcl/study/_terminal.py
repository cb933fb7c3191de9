"""Text for people: wrapped to the width of the terminal."""
from __future__ import annotations

import os
import re
import sys
from typing import IO

quiet = False


def columns(f: IO[str]) -> int:
    if not f.isatty():
        return 80
    try:
        wide = os.get_terminal_size(f.fileno()).columns
    except OSError:
        wide = 0
    text = os.environ.get("COLUMNS", "")
    return wide or (int(text) if text.isdigit() and 0 < int(text) <= 1000 else 80)


def wrap(text: str, indent: int = 0) -> None:
    """Lines of 60 to 80 characters; those behind the first are indented. No line begins
    with a word such as --json, which would look like an option's."""
    wide, used, line = min(max(columns(sys.stdout), 60), 80), indent, ""
    for word in re.findall(r"\S+(?:\s+-\S*)*", text):
        word = " ".join(word.split())
        if line and used + 1 + len(word) > wide:
            print(line)
            line, used = " " * indent + word, indent + len(word)
        else:
            used += len(word) + bool(line)
            line += " " * bool(line) + word
    print(line)


def row(text: str) -> None:
    """Cells; on a terminal that is too narrow the last are on lines of their own."""
    wide = columns(sys.stdout) if sys.stdout.isatty() else sys.maxsize
    line = ""
    for cell in re.findall(r" *[^ ]+", text):
        if len(line) > 4 and len(line) + len(cell) > wide:
            print(line)
            cell = "    " + cell.lstrip()
            line = ""
        line += cell
    print(line)


def say(text: str) -> None:
    """A line on standard error."""
    wide = columns(sys.stderr) if sys.stderr.isatty() else sys.maxsize
    line = "vitcl study:"
    for word in text.replace("\n", "\\n").split(" "):
        if len(line) + 1 + len(word) > wide:
            print(line, file=sys.stderr)
            line = "  " + word
        else:
            line += " " + word
    print(line, file=sys.stderr, flush=True)


def note(text: str) -> None:
    """The same, unless --quiet was given."""
    if not quiet:
        say(text)
