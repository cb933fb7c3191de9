#!/usr/bin/env python3
"""screenshot.py - draw what commands print in a terminal, as an SVG.

    tools/screenshot.py -o OUT.svg [--picture FILE.jpg] COMMAND...

Each COMMAND is run by bash, on a pseudo-terminal, in the current folder. What it
prints is drawn below its line, in the colours that it asks for. --picture is
shown beside it. docs/terminal.svg was made by this, with photo.jpg (a copy of
tests/data/sample.jpg) and the checkpoint in the cache:

    tools/screenshot.py -o docs/terminal.svg --columns 88 --picture photo.jpg \\
        'vitcl classify -m vit_tiny_patch16_224 photo.jpg' \\
        'vitcl classify -q -m vit_tiny_patch16_224 photo.jpg | cut -f 3,5' \\
        'vitcl info -m vit_tiny_patch16_224'
"""
import argparse
import base64
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from html import escape

CELL, ROW, PAD, BAR = 8.43, 19, 16, 34  # of a 14-pixel font, in pixels
COLOURS = ["#484f58", "#ff7b72", "#7ee787", "#e3b341",
           "#79c0ff", "#d2a8ff", "#76e3ea", "#e6edf3"]


def run(command, columns):
    """What the command writes to a terminal of that width."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    child = subprocess.Popen(["bash", "-c", command], stdin=subprocess.DEVNULL,
                             stdout=slave, stderr=slave,
                             env=dict(os.environ, TERM="xterm", COLUMNS=str(columns)))
    os.close(slave)
    data = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # the other end is closed
            part = b""
        if not part:
            break
        data += part
    os.close(master)
    if child.wait() != 0:
        sys.exit(f"screenshot.py: {command}\n{data.decode(errors='replace')}")
    return data.decode(errors="replace").replace("\r\n", "\n").rstrip("\n")


def spans(line):
    """(text, style) of a line; what overwrites it after a \\r counts."""
    style = ""
    for part in re.split(r"(\x1b\[[0-9;]*[A-Za-z])", line.split("\r")[-1]):
        code = re.fullmatch(r"\x1b\[([0-9;]*)m", part)
        if code:
            for n in (int(x or 0) for x in code[1].split(";")):
                if n == 0:
                    style = ""
                elif n == 1:
                    style += "font-weight:bold;"
                elif n == 2:
                    style += "opacity:.6;"
                elif 30 <= n <= 37 or 90 <= n <= 97:
                    style += f"fill:{COLOURS[n % 10]};"
        elif part and not part.startswith("\x1b"):
            yield part, style


def wrapped(text, columns):
    """Rows of at most that many columns, as lists of (text, style)."""
    for line in text.expandtabs(8).split("\n"):
        row, used = [], 0
        for part, style in spans(line):
            while used + len(part) > columns:
                row.append((part[:columns - used], style))
                yield row
                part, row, used = part[columns - used:], [], 0
            row.append((part, style))
            used += len(part)
        yield row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--picture")
    parser.add_argument("--columns", type=int, default=80)
    parser.add_argument("command", nargs="+")
    a = parser.parse_args()

    rows = []
    for command in a.command:
        prompt = "\x1b[32m$\x1b[0m " + command
        rows += list(wrapped(prompt, a.columns))
        output = run(command, a.columns)
        if output:
            rows += list(wrapped(output, a.columns))
        rows.append([])
    rows.pop()

    width = a.columns * CELL + 2 * PAD
    height = len(rows) * ROW + BAR + 2 * PAD
    side, image = 0, ""
    if a.picture:
        with open(a.picture, "rb") as f:
            data = base64.b64encode(f.read()).decode()
        side = 240
        image = (f'<image x="{width}" y="{BAR + PAD}" width="{side - PAD}" height="'
                 f'{(side - PAD) * 3 // 4}" href="data:image/jpeg;base64,{data}"/>\n')
    total = round(width + side)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{height}" '
           f'viewBox="0 0 {total} {height}" role="img">',
           f'<title>{escape(a.command[0])}</title>',
           f'<rect width="{total}" height="{height}" rx="8" fill="#0d1117"/>']
    for i, colour in enumerate(("#ff5f57", "#febc2e", "#28c840")):
        out.append(f'<circle cx="{22 + 20 * i}" cy="20" r="6" fill="{colour}"/>')
    out.append('<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,\'DejaVu '
               'Sans Mono\',monospace" font-size="14" fill="#e6edf3">')
    for y, row in enumerate(rows):
        x = 0
        for text, style in row:
            if text.strip():
                # The length is given, so that any font has these columns.
                out.append(f'<text x="{PAD + x * CELL:.1f}" y="{BAR + PAD + y * ROW + 14}" '
                           f'textLength="{len(text) * CELL:.1f}"'
                           + (f' style="{style}"' if style else "")
                           + ">" + escape(text).replace(" ", "\u00a0") + "</text>")
            x += len(text)
    out += ["</g>", image + "</svg>"]
    with open(a.output, "w", encoding="utf-8") as f:
        f.write("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
