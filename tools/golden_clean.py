#!/usr/bin/env python3
"""golden_clean.py - makes tests/data/text/clean.json: texts, and what open_clip
makes of them before it cuts them into tokens.

    tools/golden_clean.py > tests/data/text/clean.json

By hand, with open_clip and ftfy.
"""
import html.entities
import json
import random

import open_clip.tokenizer
from ftfy import chardata

WORDS = ("café naïve straße “quoted” it’s — über €5 £3 ½ été façade 日本語 русский текст Ελληνικά "
         "שלום 👩‍👧 … ™ ° ± × à la às œuvre Łódź čeština İstanbul hello a photo of the").split()
GIVEN = ["cafÃ©", "â€œquotedâ€\x9d", "&lang;x&rang;", "&MICRO;", "&hellip; &star; &check;",
         "&amp;amp;amp;amp;amp;amp;amp;amp;amp;amp;amp;lt;", "&#59;&#x26;#60;", "&EACUTE;&eACUTE;&SZLIG;&LTIMES;",
         "&lt;b&gt; &amp;amp;eacute;", "<b> &EACUTE; &eacute; &eacute &notit; &nGt;", "a\r\nb\u2028c\x85d",
         "\x1b[3\u0663mred\x1b\uff3b0m", "voilÃ le travail", "Ã  la mode, Ã quele", "â€œ like this â€\ufffd",
         "a\x81\x93b", "Ã©tÃ© and été", "\u6f22 ‚Äî ‚Äú", "&NewLine;&Tab;&nbsp;x", "Ð¿Ñ€Ð¸Ð²ÐµÑ‚", "ÃƒÂ©",
         "\xed\xa0\xbd".encode("latin-1").decode("latin-1") + "\xed\xb2\xa9"]


def wrong(rng, text):
    for _ in range(rng.choice([1, 1, 2])):
        text = text.encode().decode(rng.choice(chardata.CHARMAP_ENCODINGS), "replace")
    return text


def main():
    rng = random.Random(5)
    texts = list(GIVEN)
    for encoding in chardata.CHARMAP_ENCODINGS:
        texts += ["\u201ccaf\u00e9\u201d \u00e0 \u20ac5 \u2026".encode().decode(encoding, "replace")]
    while len(texts) < 150:
        words = rng.sample(WORDS, rng.randint(1, 5))
        texts += [wrong(rng, " ".join(words)),
                  " ".join(wrong(rng, w) if rng.random() < 0.5 else w for w in words)]
    names = rng.sample(sorted(html.entities.html5), 60)
    texts += [f"&{n}x &{n.upper()}" for n in names]
    print("[")
    print(",\n".join(json.dumps([t, open_clip.tokenizer._clean_lower(t)]) for t in texts
                     if "\0" not in t))
    print("]")


if __name__ == "__main__":
    main()
