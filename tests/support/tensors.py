"""tensors.py - safetensors files and rows of numbers, for the cases that run_case.sh runs.

A part is a tensor as a file has it: (dtype, shape, bytes).
"""
import json, math, struct

LETTERS = {"F64": "d", "F32": "f", "F16": "e", "I64": "q", "U8": "B"}  # of struct


def read(path):
    """The header of a file, and the bytes after it."""
    with open(path, "rb") as f:
        n, = struct.unpack("<Q", f.read(8))
        return json.loads(f.read(n)), f.read()


def write(path, head, data):
    """A file of this header and these bytes, whatever they are."""
    text = json.dumps(head).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def parts(path):
    """{name: part} of a file, in the order of its header; they are all that it has."""
    head, data = read(path)
    head.pop("__metadata__", None)
    found = {name: (t["dtype"], t["shape"], data[slice(*t["data_offsets"])]) for name, t in head.items()}
    assert sum(len(part) for _, _, part in found.values()) == len(data), path
    return found


def save(path, tensors, metadata=None):
    """A file of parts, in this order. Numbers may stand in place of the bytes."""
    head, data = {"__metadata__": metadata} if metadata else {}, b""
    for name, (dtype, shape, part) in tensors.items():
        if not isinstance(part, bytes):
            part = struct.pack(f"<{len(part)}{LETTERS[dtype]}", *part)
        head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    write(path, head, data)


def numbers(path):
    """{name: (shape, numbers)} of a file."""
    found = {}
    for name, (dtype, shape, part) in parts(path).items():
        if dtype == "BF16":  # the upper half of an F32
            dtype, part = "F32", b"".join(b"\0\0" + part[i:i + 2] for i in range(0, len(part), 2))
        found[name] = shape, struct.unpack(f"<{math.prod(shape)}{LETTERS[dtype]}", part)
    return found


def near(name, got, want, bound):
    """Fails unless there are as many numbers, and each differs by less than bound."""
    assert len(got) == len(want), (name, len(got), len(want))
    # max() alone may forget a NaN.
    worst = max((abs(x - y) for x, y in zip(got, want)), key=lambda d: (d != d, d))
    assert worst < bound, f"{name}: {worst}, not below {bound}"
