#!/usr/bin/env python3
"""golden_csv.py - tests/data/csv/tables.json: tables with every kind of line end,
and the rows that pandas reads from them (pandas 3.1).

    tools/golden_csv.py tests/data/csv/tables.json
"""
import io
import json
import random
import sys

import pandas


def field(r):
    text = "".join(r.choice(["a", "b", "a b", "é", ",", '"', "\n", "\r", "\r\n"])
                   for _ in range(r.randrange(1, 5)))
    quoted = any(c in text for c in ',"\r\n') or r.random() < 0.2
    return '"' + text.replace('"', '""') + '"' if quoted else text


def table(r):
    columns = r.randrange(1, 4)
    ends = r.choice([["\n"], ["\r\n"], ["\r"], ["\n", "\r\n", "\r"]])
    text = ""
    for _ in range(r.randrange(1, 5)):
        if r.random() < 0.15:
            text += r.choice(ends)  # a blank line
        text += ",".join("x" + field(r) if r.random() < 0.3 else field(r)
                         for _ in range(columns)) + r.choice(ends)
    return text if r.random() < 0.7 else text.rstrip("\r\n")


def main():
    r = random.Random(66)
    cases = []
    while len(cases) < 80:
        text = table(r)
        if '"' in text.replace('""', "") and "x\"" in text:
            continue  # a quote within a field is refused
        frame = pandas.read_csv(io.StringIO(text, newline=""), header=None,
                                dtype=str, keep_default_na=False, engine="c")
        rows = frame.values.tolist()
        if all(any(row) for row in rows):
            cases.append({"text": text, "rows": rows})
    with open(sys.argv[1], "w", encoding="utf-8") as f:
        f.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")


main()
