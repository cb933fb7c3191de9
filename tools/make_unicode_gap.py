#!/usr/bin/env python3
"""make_unicode_gap.py - makes host/text/unicode_gap.h.

    tools/make_unicode_gap.py > host/text/unicode_gap.h

By hand, with tokenizers, unicodedata2 (the newest Unicode), and a Python whose
unicodedata has Unicode 14. Normal forms of tokenizers are those of an older
Unicode: it leaves newer characters as they are. Its regular expressions know
letters and numbers of a newer one than some versions of utf8proc.
"""
import textwrap
import unicodedata

from tokenizers import Regex, normalizers
from unicodedata2 import combining, decomposition, normalize, unidata_version

FORMS = [(f, getattr(normalizers, f)()) for f in ("NFC", "NFD", "NFKC", "NFKD")]


def differs(text):
    return any(normalize(form, text) != own.normalize_str(text) for form, own in FORMS)


def newer(pattern):
    """What tokenizers counts as such, and Unicode 14 does not have."""
    codes = [c for c in range(0x80, 0x110000) if unicodedata.category(chr(c)) == "Cn"]
    return set(codes) - set(map(ord, normalizers.Replace(Regex(pattern), "").normalize_str("".join(map(chr, codes)))))


def main():
    assert unicodedata.unidata_version < "15"
    gap = set()
    for code in range(0x80, 0x110000):
        c = chr(code)
        if 0xd800 <= code < 0xe000 or not (combining(c) or decomposition(c)):
            continue
        if any(map(differs, (c, "a\u0301" + c, "a" + c + "\u0327", "a\u0345" + c, c + "\u0334"))):
            gap.add(code)
        parts = decomposition(c).split()
        if len(parts) == 2 and parts[0][0] != "<":
            pair = "".join(chr(int(p, 16)) for p in parts)
            if normalize("NFC", pair) == c and FORMS[0][1].normalize_str(pair) != c:
                gap.update(int(p, 16) for p in parts if int(p, 16) > 0x400)
    letters, numbers = newer(r"\p{L}"), newer(r"\p{N}")
    runs = []
    for code in sorted(gap | letters | numbers):
        sort = (code in gap) + 2 * (code in letters) + 4 * (code in numbers)
        if runs and runs[-1][1:] == [code - 1, sort]:
            runs[-1][1] = code
        else:
            runs.append([code, code, sort])
    print(f"""/*
 * unicode_gap.h - {len(gap)} characters (1) that tokenizers (Hugging Face) leaves as
 * they are in every normal form, and Unicode {unidata_version} does not, and
 * {len(letters)} letters (2) and {len(numbers)} numbers (4) that it knows and Unicode 14 does not;
 * made by tools/make_unicode_gap.py.
 */
/* clang-format off */
static const vt_code_range gaps[] = {{""")
    print(textwrap.fill(" ".join(f"{{0x{a:x},0x{b:x},{s}}}," for a, b, s in runs), 78,
                        initial_indent="    ", subsequent_indent="    ", break_long_words=False))
    print("};\n/* clang-format on */")


if __name__ == "__main__":
    main()
