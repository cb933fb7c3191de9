#!/usr/bin/env python3
"""Write the corpora of the readers of weights, JSON, indexes, tokenizers, manifests,
lists and tables (python3, nothing else).

    tests/fuzz/make_corpus.py        into corpus/ next to this file
"""
import base64
import gzip
import io
import json
import os
import struct
import zipfile

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")


def put(kind, name, data):
    os.makedirs(os.path.join(HERE, kind), exist_ok=True)
    with open(os.path.join(HERE, kind, name), "wb") as f:
        f.write(data)


def safetensors(tensors, metadata=None):
    head, data = {}, b""
    if metadata:
        head["__metadata__"] = metadata
    for name, dtype, shape, body in tensors:
        head[name] = {"dtype": dtype, "shape": shape,
                      "data_offsets": [len(data), len(data) + len(body)]}
        data += body
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def npy(descr, shape, body, fortran=False, version=1):
    text = repr({"descr": descr, "fortran_order": fortran, "shape": shape})
    text = text.encode() + b"\n"
    size = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + size + text + body


def npz(arrays, method):
    f = io.BytesIO()
    with zipfile.ZipFile(f, "w", method) as z:
        for name, body in arrays:
            info = zipfile.ZipInfo(name + ".npy", (1980, 1, 1, 0, 0, 0))
            info.compress_type = method
            z.writestr(info, body)
    return f.getvalue()


def tensor(offset, size, stride):
    def ints(v):
        return b"(" + b"".join(b"K" + bytes([i]) for i in v) + b"t"
    return (b"ctorch._utils\n_rebuild_tensor_v2\n((\x8c\x07storage"
            b"ctorch\nFloatStorage\n\x8c\x010\x8c\x03cpuK\x06tQK"
            + bytes([offset]) + ints(size) + ints(stride)
            + b"\x89ccollections\nOrderedDict\n)RtR")


def floats(n):
    return struct.pack("<%df" % n, *[i * 0.5 for i in range(n)])


put("safetensors", "timm", safetensors([
    ("patch_embed.proj.weight", "F32", [2, 3, 1, 1], floats(6)),
    ("blocks.0.attn.q_bias", "F16", [2], b"\0<\0<"),
    ("blocks.0.attn.v_bias", "F16", [2], b"\0<\0<"),
    ("blocks.0.gamma_1", "BF16", [], b"\x80?"),
    ("labels", "I64", [1], b"\7" + b"\0" * 7)], {"format": "pt"}))
put("safetensors", "hf", safetensors([
    ("vit.embeddings.patch_embeddings.projection.weight", "F32", [1, 1],
     floats(1)),
    ("vit.encoder.layer.0.attention.attention.query.weight", "F64", [1, 1],
     b"\0" * 8),
    ("vit.encoder.layer.0.attention.attention.key.weight", "F64", [1, 1],
     b"\0" * 8),
    ("vit.encoder.layer.0.attention.attention.value.weight", "F64", [1, 1],
     b"\0" * 8)]))
put("safetensors", "siglip", safetensors([
    ("vision_model.embeddings.patch_embedding.weight", "F32", [0, 3],  b""),
    ("vision_model.head.attention.in_proj_weight", "F32", [3, 1], floats(3)),
    ("vision_model.head.attention.in_proj_bias", "F32", [3], floats(3))]))
put("safetensors", "empty", safetensors([]))

ARRAYS = [
    ("embedding/kernel", npy("<f4", (1, 1, 3, 2), floats(6))),
    ("Transformer/encoderblock/LayerNorm_0/scale",
     npy("|V2", (3, 2), b"\x80?" * 6)),
    ("Transformer/encoderblock_0/MultiHeadDotProductAttention_1/out/kernel",
     npy(">f4", (1, 2, 3), floats(6), True)),
    ("cls", npy("<f2", (1, 1, 2), b"\0<\0<", version=3)),
    ("opt/step", npy("<i8", (), b"\1" + b"\0" * 7, version=2))]
put("npz", "stored", npz(ARRAYS, zipfile.ZIP_STORED))
put("npz", "deflated", npz(ARRAYS, zipfile.ZIP_DEFLATED))
put("npz", "npy", ARRAYS[0][1])
put("npz", "npy_fortran", ARRAYS[2][1])

W = b"\x8c\x17patch_embed.proj.weight"
put("pickle", "state", b"\x80\x02ccollections\nOrderedDict\n)Rq\0(" + W
    + tensor(0, (2, 3), (3, 1)) + b"\x8c\1tq\1" + tensor(1, (2, 2), (1, 2))
    + b"u}\x8c\x09_metadata}sb.")
put("pickle", "training", b"\x80\x02}(\x8c\5model}" + W
    + tensor(0, (6,), (1,)) + b"s\x8c\5epochM\x10'\x8c\2lrG?\xb9\x99\x99\x99"
    b"\x99\x99\x9a\x8c\1l](K\1\x8a\2\xff\xff\x88Neu.")
put("pickle", "script", b"\x80\x02c__torch__\nM\n)\x81}(\x8c\6visual"
    b"c__torch__.m\nN\n)\x81}\x8c\1w" + tensor(5, (), ()) + b"sb\x8c\1n"
    b"ctorch.jit._pickle\nbuild_intlist\n](K\1K\2e\x85Rub.")
put("pickle", "four", b"\x80\4\x95\x20\0\0\0\0\0\0\0\x8c\x0bcollections"
    b"\x8c\x0bOrderedDict\x93)R\x94\x8c\1a\x94" + tensor(0, (1,), (1,))
    + b"s.")

put("json", "all", b' {"a": [1, -2.5e3, true, false, null, {}, []], '
    b'"\\u00e9\\ud83d\\ude00\\n": "\xe2\x82\xac", "n": 9007199254740991}\n')
put("json", "config", json.dumps({
    "architecture": "vit_tiny_patch16_224", "num_classes": 2,
    "pretrained_cfg": {"mean": [0.5, 0.5, 0.5], "crop_pct": 0.9},
    "id2label": {"0": "cat", "1": "dog"}}).encode())

ABOUT = {"format": "vitcl index 1", "model": "/models/tiny", "model_id": "0a" * 32,
         "pictures_id": "1b" * 32, "feature": "pooled", "size": "0x0",
         "normalized": "false"}
PATHS = b"a.jpg\0b/\xff\n.jpg\0a.jpg\0"
STAMPS = struct.pack("<6q", 9, 1, -1, -1, 2**62, 7)


def index(features, about=ABOUT):
    return safetensors([features, ("paths", "U8", [len(PATHS)], PATHS),
                        ("stamps", "I64", [3, 2], STAMPS)], about)


put("index", "f32", index(("features", "F32", [3, 2], floats(6))))
put("index", "f16", index(("features", "F16", [3, 5], b"\0<\0|\1\0" * 5),
                          {**ABOUT, "normalized": "true", "size": "32x48"}))
put("index", "tokens", index(("features", "F32", [3, 2, 4], floats(24)),
                             {**ABOUT, "feature": "tokens"}))
put("index", "more_paths", index(("features", "F32", [2, 2], floats(4))))
put("index", "no_about", index(("features", "F32", [3, 2], floats(6)), None))

MANIFEST = {"format": "vitcl partition 1", "version": "0.2.0", "command": "embed",
            "shard": 2, "shards": 7, "model_id": "0a" * 32,
            "pictures_id": "1b" * 32, "settings": "features=pooled store=f32",
            "device": "a device", "gemm": "native", "rows": 12, "failed": 1, "input": 80,
            "names": "0123456789abcdef", "bytes": 4096, "file": "a-00002.npy"}
put("manifest", "good", json.dumps(MANIFEST).encode() + b"\n")
put("manifest", "other", json.dumps({**MANIFEST, "shard": 8, "file": "a/b"}).encode())
put("manifest", "long", json.dumps({**MANIFEST, "settings": "x" * 511}).encode())

put("left_out", "names", b"bird/1.jpg\ncat/a\\012b\\134.jpg\n\ncat/\xff.png\n")
put("left_out", "odd", b"\\\\12\n\\777\\000x\nno newline\\1")

# names of files that lie beside the table, which is /proc/self/fd/N
put("table", "quoted", b'\xef\xbb\xbfpath,label,split\r\n'
    b'../status,"a, ""b""",train\r\n../maps,"two\nlines",val\r\n'
    b"../comm,c,validation\r\n\r\n../limits,c,test\r\n")
put("table", "plain", b"label,x,PATH\n=1,,../status\n=1,,./../status\n2,,../maps")
put("table", "twice", b"path,label\n../status,a\n../status,b\n")
put("table", "quote", b'path,label\n"../status,a\n')
put("table", "zero", b"path,label\n../sta\0tus,a\n")
put("table", "split", b"path,label,split\n../status,a,dev\n")

def charsmap():
    """A map of a tab to a space: a trie of 32 units, and the text."""
    units = [0] * 32
    units[0] = 16 << 10
    units[16 ^ 9] = 9 | 1 << 8 | 2 << 10
    units[16 ^ 9 ^ 2] = 1 << 31
    return struct.pack("<I", 128) + struct.pack("<32I", *units) + b" \0"


def field(number, value):
    if isinstance(value, bytes):
        return bytes([number << 3 & 0x7f | 2 | 0x80 * (number > 15)]) + (
            bytes([number >> 4]) if number > 15 else b"") + bytes(
                [len(value) & 0x7f | 0x80, len(value) >> 7]) + value
    if isinstance(value, float):
        return bytes([number << 3 | 5]) + struct.pack("<f", value)
    return (bytes([number << 3]) if number < 16 else
            bytes([number << 3 & 0x7f | 0x80, number >> 4])) + bytes([value])


def spm(kind, pieces, fallback=0):
    types = {"<unk>": 2, "<s>": 3, "</s>": 3, "it": 4}
    out = b"".join(
        field(1, field(1, p.encode()) + field(2, -float(i))
              + field(3, 6 if p.startswith("<0x") else types.get(p, 1)))
        for i, p in enumerate(pieces))
    return (out + field(2, field(3, kind) + field(35, fallback) + field(42, 2))
            + field(3, field(2, charsmap()) + field(3, 1) + field(4, 1)))


PIECES = ["<unk>", "<s>", "</s>", "\u2581", "a", "b", "t", "\u2581a", "ab", "at", "it"]
put("spm", "unigram", spm(1, PIECES))
put("spm", "bpe", spm(2, PIECES))
put("spm", "bytes", spm(2, PIECES + [f"<0x{i:02X}>" for i in range(256)], 1))


def words(pieces, scores=(), merge=None):
    """A vocabulary in the cache (host/text/kept.c)."""
    def slot(key, shift, slots):
        return (key * 0x9e3779b97f4a7c15 & (1 << 64) - 1) >> shift & slots - 1

    text, rows, table = b"", b"", [0] * 64
    for i, p in enumerate(pieces):
        h = 0xcbf29ce484222325
        for c in p:
            h = (h ^ c) * 0x100000001b3 & (1 << 64) - 1
        h ^= h >> 32
        at = slot(h, 20, 64)
        while table[at]:
            at = (at + 1) % 64
        table[at] = i + 1
        rows += struct.pack("<IIi", len(text), len(p), i)
        text += p
    out = b"{}" + text + rows + struct.pack("<64I", *table)
    out += struct.pack(f"<{len(scores)}d", *scores)
    if merge:
        ids = [pieces.index(m) for m in (*merge, b"".join(merge))]
        key = ids[0] << 32 | ids[1]
        numbers = [0] * 64
        numbers[slot(key ^ key >> 29, 24, 64)] = 1
        out += struct.pack("<3i", *ids) + struct.pack("<64I", *numbers)
    return (b"vitcl words 1\n\0\0" + struct.pack("<II32sQ", 0x01020304, bool(scores), b"", 0)
            + struct.pack("<QQIIII", 2, len(text), len(pieces), 64, bool(merge), 64 * bool(merge)) + out)


put("words", "merges", words([b"a", b"b", b"ab", b"c"], merge=(b"a", b"b")))
put("words", "scores", words([b"a", b"b", b"ab", b"c"], scores=(-1.5, -2, -1, -3)))

TOKEN = {"id": 0, "content": "</s>", "lstrip": True, "rstrip": True, "single_word": True,
         "normalized": True}
put("text", "bpe", json.dumps({
    "added_tokens": [TOKEN, {**TOKEN, "id": 9, "content": "it", "normalized": False}],
    "normalizer": {"type": "Sequence", "normalizers": [
        {"type": "NFKC"}, {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "},
        {"type": "Lowercase"}, {"type": "Strip", "strip_left": True, "strip_right": True}]},
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious",
         "invert": False},
        {"type": "ByteLevel", "add_prefix_space": True, "use_regex": True}]},
    "post_processor": {"type": "RobertaProcessing", "sep": ["</s>", 0], "cls": ["</s>", 0]},
    "model": {"type": "BPE", "unk_token": "</s>", "fuse_unk": True, "end_of_word_suffix": "$",
              "vocab": {p: i for i, p in enumerate(
                  ["</s>", "a", "b", "t$", "at$", "ab", "o$", "\u0120", "\u0120a"])},
              "merges": ["a b", ["a", "t$"], "\u0120 a"]}}).encode())
put("text", "unigram", json.dumps({
    "added_tokens": [TOKEN], "normalizer": {"type": "Precompiled", "precompiled_charsmap":
                                            base64.b64encode(charsmap()).decode()},
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
        {"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "\u2581",
                                      "prepend_scheme": "always", "split": True}]},
    "post_processor": {"type": "TemplateProcessing", "single": [
        {"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "</s>"}}],
        "special_tokens": {"</s>": {"id": "</s>", "ids": [0]}}},
    "model": {"type": "Unigram", "unk_id": 1,
              "vocab": [["</s>", 0], ["<unk>", -1.5e1], ["\\u2581a", -2], ["a", -3.25]]}}).encode())
put("text", "merges.gz", gzip.compress(b"#version\na t\na b\nat o\n", mtime=0))
