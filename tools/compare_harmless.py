#!/usr/bin/env python3
"""Do the keys of a preprocessor_config.json that vitcl ignores change nothing?

    tools/compare_harmless.py [--verbose]

Takes the keys that host/image/preprocess_hf.c calls harmless. For each of six
processors of transformers, by both of its back ends, a folder is written with
each of these keys at several values, loaded, and given two pictures. A value
with which the library fails is no answer; any other must give the pixels that
the processor makes without the key. Exit status 1 if one does not.

By hand: needs transformers 5.24, torchvision, Pillow.
"""
import json
import os
import re
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
os.environ["HF_HUB_OFFLINE"] = "1"
import numpy as np  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from PIL import Image  # noqa: E402

torch.set_num_threads(1)
transformers.logging.set_verbosity_error()
TREE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CLASSES = ["ViT", "DeiT", "Beit", "CLIP", "Bit", "Siglip"]
ANY = [None, True, False, 0, 1, 3, 0.5, "", "x", [], [3], {}, {"x": 1}]
MORE = {"return_tensors": ["np", "pt", "tf"], "device": ["cpu", "cuda", "meta"],
        "data_format": ["channels_first", "channels_last", "none"],
        "input_data_format": ["channels_first", "channels_last", "none"],
        "transformers_version": ["4.20.0", "5.24.0", "9.0"],
        "processor_class": ["CLIPProcessor", "SiglipProcessor"],
        "valid_processor_keys": [["images"], ["do_resize", "size"]],
        "_valid_processor_keys": [["images"], ["do_resize", "size"]]}


def keys():
    with open(TREE + "/host/image/preprocess_hf.c") as f:
        text = f.read()
    part = re.search(r"/\* about the processor.*?NULL\}", text, re.S).group(0)
    # these two say which processor it is; the tool chooses it
    return [k for k in re.findall(r'"(\w+)"', part)
            if k not in ("image_processor_type", "feature_extractor_type")]


def pixels(cls, config, pictures):
    with tempfile.TemporaryDirectory() as at:
        with open(at + "/preprocessor_config.json", "w") as f:
            json.dump(config, f)
        try:
            p = cls.from_pretrained(at)
            return [np.asarray(p(x, return_tensors="np")["pixel_values"][0]) for x in pictures]
        except Exception as e:  # pylint: disable=broad-except
            return f"{type(e).__name__}: {e}"


def main():
    r = np.random.RandomState(7)
    pictures = [Image.fromarray(r.randint(0, 256, (h, w, c), dtype=np.uint8).astype(np.uint8))
                for h, w, c in ((61, 47, 3), (33, 90, 3))]
    same = failed = other = 0
    for kind in CLASSES:
        for end in "", "Pil":
            cls = getattr(transformers, kind + "ImageProcessor" + end)
            base = {"image_processor_type": kind + "ImageProcessor"}
            want = pixels(cls, base, pictures)
            for key in keys():
                for value in ANY + MORE.get(key, []):
                    got = pixels(cls, {**base, key: value}, pictures)
                    if isinstance(got, str):
                        failed += 1
                        if "--verbose" in sys.argv:
                            print(f"{kind}{end} {key} {value!r}: {got[:90]}")
                    elif all(a.shape == b.shape and (a == b).all() for a, b in zip(want, got)):
                        same += 1
                    else:
                        other += 1
                        print(f"{kind}{end} {key} {value!r}: other pixels")
    print(f"{same} with the same pixels, {failed} that the library refuses, {other} with others")
    return other > 0


if __name__ == "__main__":
    sys.exit(main())
