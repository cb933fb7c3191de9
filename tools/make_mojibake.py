#!/usr/bin/env python3
"""make_mojibake.py - makes host/text/mojibake_table.h from ftfy's rules.

    tools/make_mojibake.py > host/text/mojibake_table.h

By hand, with ftfy. Its regular expressions are alternatives of short sequences of
sets of characters. Characters that are in the same sets are one sort; a set is
the bits of its sorts.
"""
import itertools
import re
import re._parser as parser
import textwrap

import ftfy.bad_codecs.sloppy  # noqa: F401 - its codecs
from ftfy import badness, chardata, fixes

SPACE, WORD, OTHER, NEWLINE = "space", "word", "other", "newline"
REST = (SPACE, WORD, OTHER, NEWLINE)  # of the characters that no set names


def of_category(category, c):
    text = chr(c) if isinstance(c, int) else {SPACE: "\u2003", WORD: "\u6f22", OTHER: "\u2600", NEWLINE: "\n"}[c]
    if category == parser.CATEGORY_SPACE:
        return bool(re.match(r"\s", text))
    if category == parser.CATEGORY_WORD:
        return bool(re.match(r"\w", text))
    raise ValueError(category)


def member(items, c):
    """Is the character, or the rest of a kind, in a set of the parser's?"""
    negated = items[0][0] == parser.NEGATE
    found = False
    for op, value in items[negated:]:
        if op == parser.LITERAL:
            found |= value == c
        elif op == parser.RANGE:
            found |= isinstance(c, int) and value[0] <= c <= value[1]
        elif op == parser.CATEGORY:
            found |= of_category(value, c)
        else:
            raise ValueError(op)
    return found != negated


def sequences(parsed):
    """The alternatives, each a list of sets, with "^" where one has to begin the text."""
    out = [[]]
    for op, value in parsed:
        if op == parser.BRANCH:
            out = [a + b for a in out for part in value[1] for b in sequences(part)]
        elif op == parser.SUBPATTERN:
            out = [a + b for a in out for b in sequences(value[3])]
        elif op == parser.MAX_REPEAT:
            low, high, part = value
            counts = range(int(high), int(low) - 1, -1)
            out = [a + [s for b in bs for s in b] for a in out for n in counts
                   for bs in itertools.product(sequences(part), repeat=n)]
        elif op == parser.AT:
            out = [a + ["^"] for a in out]
        elif op == parser.IN:
            out = [a + [value] for a in out]
        elif op == parser.LITERAL:
            out = [a + [[(op, value)]] for a in out]
        elif op == parser.NOT_LITERAL:
            out = [a + [[(parser.NEGATE, None), (parser.LITERAL, value)]] for a in out]
        elif op == parser.ANY:
            out = [a + [[(parser.NEGATE, None), (parser.LITERAL, 10)]] for a in out]
        else:
            raise ValueError(op)
    return out


class Sorts:
    """Characters by the sets that have them."""

    def __init__(self, rules, characters, rest):
        self.sets = [s for rule in rules for s in rule if s != "^"]
        self.number, self.of = {}, {}
        for c in [*rest, *characters]:
            key = tuple(member(s, c) for s in self.sets)
            self.of[c] = self.number.setdefault(key, len(self.number))

    def bits(self, items):
        return sum({1 << n for c, n in self.of.items() if member(items, c)})


def show(text, indent):
    blank = " " * indent
    print(textwrap.fill(text, 78, initial_indent=blank, subsequent_indent=blank))


def words(bits, count):
    return ",".join(f"0x{bits >> 64 * i & (1 << 64) - 1:x}" for i in range(count))


def rows(name, rules, sorts, count):
    print(f"static const pattern {name}[] = {{")
    for rule in rules:
        begin = rule[0] == "^"
        sets = rule[begin:]
        show(f"{{{len(sets)}, {int(begin)}, {{"
             + ", ".join("{" + words(sorts.bits(s), count) + "}" for s in sets) + "}},", 4)
    print("};")


def named(rules):
    found = set()
    for s in itertools.chain.from_iterable(rules):
        if s == "^":
            continue
        for op, value in s:
            if op == parser.LITERAL:
                found.add(value)
            elif op == parser.RANGE:
                found.update(range(value[0], value[1] + 1))
    return found


def main():
    bad = sequences(parser.parse(badness.BADNESS_RE.pattern, re.VERBOSE))
    clues = chardata.UTF8_CLUES
    cont = "[" + clues["utf8_continuation"] + "]"
    unit = sequences(parser.parse("|".join([
        f"[{clues['utf8_first_of_2']}]{cont}", f"[{clues['utf8_first_of_3']}]{cont}{cont}",
        f"[{clues['utf8_first_of_4']}]{cont}{cont}{cont}"])))
    before = sequences(parser.parse("[" + clues["utf8_continuation_strict"] + "]"))
    texts = bad + unit + before
    characters = sorted(named(texts) | set(range(128)))
    sorts = Sorts(texts, characters, REST)
    bytes_rules = {
        "altered": chardata.ALTERED_UTF8_RE.pattern, "lossy": chardata.LOSSY_UTF8_RE.pattern}
    parsed = {k: sequences(parser.parse(v.decode("latin-1"))) for k, v in bytes_rules.items()}
    bytes_sorts = Sorts([r for p in parsed.values() for r in p], range(256), ())
    count = -(-max(len(sorts.number), len(bytes_sorts.number)) // 64)

    print("""/*
 * mojibake_table.h - the rules of ftfy 6 (Apache-2.0) about text that was
 * decoded wrongly; made by tools/make_mojibake.py.
 */
/* clang-format off */""")
    longest = max(len(s) - (s[0] == "^") for s in texts + sum(parsed.values(), []))
    print(f"enum {{ SET_WORDS = {count}, LONGEST = {longest} }};")
    print("""typedef struct pattern { /* characters or bytes in a row */
    uint8_t n, begin; /* begin: of the text */
    uint64_t set[LONGEST][SET_WORDS]; /* bits of sorts */
} pattern;""")
    print("/* Sorts of the characters that no rule names. */")
    print("enum { " + ", ".join(f"REST_{k.upper()} = {sorts.of[k]}" for k in REST) + " };")
    print("static const vt_code_range sorts[] = {")
    runs = []
    for c in characters:
        if runs and runs[-1][1] == c - 1 and runs[-1][2] == sorts.of[c]:
            runs[-1][1] = c
        else:
            runs.append([c, c, sorts.of[c]])
    show(" ".join(f"{{0x{a:x},0x{b:x},{n}}}," for a, b, n in runs), 4)
    print("};\nstatic const uint8_t byte_sorts[256] = {")
    show(", ".join(str(bytes_sorts.of[b]) for b in range(256)), 4)
    print("};")
    rows("bad_rules", bad, sorts, count)
    rows("unit_rules", unit, sorts, count)
    rows("before_unit", before, sorts, count)
    for name, p in parsed.items():
        rows(name + "_rules", p, bytes_sorts, count)
    print("/* What 0x80 to 0xFF are in each encoding, in the order of their trial. */")
    print("static const struct {\n    bool sloppy, macroman;\n    uint16_t code[128];\n} encodings[] = {")
    for encoding in chardata.CHARMAP_ENCODINGS:
        text = bytes(range(128, 256)).decode(encoding)
        print(f"    {{{int(encoding.startswith('sloppy'))}, {int(encoding == 'macroman')}, {{ /* {encoding} */")
        show(", ".join(f"0x{ord(c):x}" for c in text), 8)
        print("    }},")
    print("};\n/* clang-format on */")


if __name__ == "__main__":
    main()
