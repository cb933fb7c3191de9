#!/usr/bin/env python3
"""RandAugment's strings and levels as timm has them.

    tools/golden_rand.py > tests/data/rand.tsv

"string": the string, inc, operations, magnitude, its deviation and maximum, the
probability of each. "level": an operation, inc, the level, the sign, its argument.
Needs timm.
"""
import inspect
import re

from timm.data import auto_augment as aa

for text in ("rand-m9-mstd0.5-inc1", "rand-m9-n3-mstd0.5", "rand", "rand-m7", "rand-n1-p1", "rand-m15-mmax20-inc1", "rand-m9-mstd101",
             "rand-m6-n4-p0.3-mstd1.25", "rand-inc0-m10", "rand-mstd0-m0", "rand-m8-inc1-mstd1.0"):
    t = aa.rand_augment_transform(text, dict(translate_const=100, img_mean=(124, 116, 104)))
    op = t.ops[0]
    inc = any(o.name == "PosterizeIncreasing" for o in t.ops)
    assert [re.sub("Increasing", "", o.name) for o in t.ops] == aa._RAND_TRANSFORMS and t.choice_weights is None
    print("string", text, int(inc), t.num_layers, op.magnitude, op.magnitude_std, op.magnitude_max or aa._LEVEL_DENOM, op.prob, sep="\t")
for inc, names in enumerate((aa._RAND_TRANSFORMS, aa._RAND_INCREASING_TRANSFORMS)):
    for name in names:
        f = aa.LEVEL_TO_ARG[name]
        signed = f is not None and "_randomly_negate" in inspect.getsource(f)
        for level in (0, 0.3, 1, 2.5, 3, 4, 4.77, 5, 6, 7.2, 8, 9, 9.49, 10):
            for sign in (1, -1) if signed else (1,):
                aa.random.random = lambda: 0.9 if sign < 0 else 0.1
                args = f(level, {}) if f else (0,)
                print("level", name.replace("Increasing", ""), inc, level, sign, "%.15g" % args[0], sep="\t")
