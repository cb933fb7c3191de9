#!/usr/bin/env python3
"""short_names.py [--check] - the names that people write for published models.

Writes host/models/short_names.c. Of timm: the architectures of its ViT
modules, each with the repository of its default tag. Of OpenCLIP: its ViTs, each
with the repository of the longest training on LAION-2B, else the only one. Of
OpenAI's own package: its ViTs, one of which is the only one of its OpenCLIP name.

--check compares the file with the installed timm and open_clip and writes
nothing. Other versions than those that the file names may have more models and
other defaults; then each name must still be a published one. Exit status 77 if
timm or open_clip is not installed.
"""
import importlib.util
import os
import re
import sys
import warnings

warnings.filterwarnings("ignore")
FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..",
                    "host", "models", "short_names.c")
MODULES = ["vision_transformer", "vision_transformer_hybrid", "vision_transformer_relpos",
           "vision_transformer_sam", "deit", "beit", "eva", "naflexvit", "resnetv2"]
# As clip.available_models() spells them, and where OpenAI publishes them.
OPENAI = {"ViT-B/32": "openai/clip-vit-base-patch32",
          "ViT-B/16": "openai/clip-vit-base-patch16",
          "ViT-L/14": "openai/clip-vit-large-patch14",
          "ViT-L/14@336px": "openai/clip-vit-large-patch14-336",
          "ViT-L-14-336": "openai/clip-vit-large-patch14-336"}
HEAD = """\
/*
 * short_names.c - the names that people write for published models. Made by
 * tools/short_names.py from timm %s and open_clip %s.
 */
#include "models/hub.h"

#include <stdio.h>
#include <string.h>

/* "NAME.TAG" of timm, or "NAME OWNER/NAME". */
// clang-format off
static const char *const rows[] = {
%s};
// clang-format on

bool vt_hub_full_name(char out[VT_HUB_NAME], const char *word)
{
    const size_t n = strlen(word);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *row = rows[i];

        if (n == 0 || strncmp(row, word, n) != 0)
            continue;
        if (row[n] == ' ')
            return snprintf(out, VT_HUB_NAME, "%%s", row + n + 1) < VT_HUB_NAME;
        if (row[n] == '.' && !strchr(row, ' '))
            return snprintf(out, VT_HUB_NAME, "timm/%%s", row) < VT_HUB_NAME;
    }
    return false;
}
"""


def timm_rows():
    import timm

    for module in MODULES:
        for name in timm.list_models(module=module):
            c = timm.get_pretrained_cfg(name)
            if not c or not c.hf_hub_id:
                continue
            plain = c.hf_hub_id == f"timm/{name}.{c.tag}"
            yield f"{name}.{c.tag}" if plain else f"{name} {c.hf_hub_id}"


def open_clip_rows():
    from open_clip.pretrained import _PRETRAINED

    for name, tags in _PRETRAINED.items():
        # a repository of timm's with a tag has the picture tower alone
        hub = {tag: c["hf_hub"].strip("/") for tag, c in tags.items()
               if c.get("hf_hub", "").endswith("/") and not re.match("timm/.*[.]", c["hf_hub"])}
        usual = [tag for tag in hub if tag.startswith("laion2b")] or (list(hub) if len(hub) == 1 else [])
        if re.match("ViT-(?!.*quickgelu)", name) and usual and hub[usual[-1]] != f"timm/{name}":
            yield f"{name} {hub[usual[-1]]}"


def known():
    """All that the installed libraries publish."""
    import timm
    from open_clip.pretrained import _PRETRAINED

    names = {timm.get_pretrained_cfg(tag).hf_hub_id for m in MODULES
             for tag in timm.list_models(module=m, pretrained=True)}
    names |= {c.get("hf_hub", "").strip("/") for tags in _PRETRAINED.values() for c in tags.values()}
    return names | set(OPENAI.values())


def main():
    if not all(importlib.util.find_spec(name) for name in ("timm", "open_clip")):
        print("skipped: timm or open_clip is not installed")
        sys.exit(77)
    import open_clip
    import timm

    rows = sorted({*timm_rows(), *open_clip_rows(), *(f"{k} {v}" for k, v in OPENAI.items())})
    lines = "".join(f'    "{row}",\n' if len(row) <= 73 else '    ("%s "\n     "%s"),\n' % tuple(row.split(" "))
                    for row in rows)
    text = HEAD % (timm.__version__, open_clip.__version__, lines)
    if "--check" not in sys.argv:
        with open(FILE, "w", encoding="utf-8") as f:
            f.write(text)
        return
    with open(FILE, encoding="utf-8") as f:
        have = f.read()
    if text.split("\n")[2] == have.split("\n")[2]: # the same versions
        if text != have:
            sys.exit(f"{FILE}: run tools/short_names.py again")
        return
    there = known()
    lost = [row for row in re.findall(r'^    \(?"(.*)"\)?,$', have.replace('"\n     "', ""), re.M)
            if (row.split(" ")[1] if " " in row else f"timm/{row}") not in there]
    if lost:
        sys.exit(f"{FILE}: no longer published: {', '.join(lost)}")


if __name__ == "__main__":
    main()
