#!/usr/bin/env python3
"""make_entities.py - makes host/text/entities_table.h.

    tools/make_entities.py > host/text/entities_table.h

The list of HTML's standard comes with Python, as html.entities.html5.
"""
import html.entities
import string
import textwrap

HEAD = """/*
 * entities_table.h - HTML 5's entities; made by tools/make_entities.py.
 *
 * For each first letter, A to Z and a to z, in the order of their bytes: names
 * without it, then "=" or, where a semicolon is optional, "!", then one or two
 * code points.
 */
/* clang-format off */
static const char *const entities[] = {"""


def main():
    known = html.entities.html5
    print(HEAD)
    for letter in string.ascii_uppercase + string.ascii_lowercase:
        rows = [name[1:-1] + ("!" if name[:-1] in known else "=")
                + ",".join(f"{ord(c):x}" for c in known[name])
                for name in sorted(known, key=lambda n: n.rstrip(";"))
                if name[0] == letter and name[-1] == ";"]
        text = " ".join(rows) + " "
        lines = textwrap.wrap(text, 73, break_long_words=False, break_on_hyphens=False)
        print("\n".join(f'    "{line} "' for line in lines) + ",")
    print("};\n/* clang-format on */")


if __name__ == "__main__":
    main()
