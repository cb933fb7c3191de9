#!/usr/bin/env python3
"""fuzz_tokenizers.py - folders of tokenizers with random keys and values.

    tools/fuzz_tokenizers.py build/tests/tokens WORK [COUNT [SEED]]
    VECTORS=8 tools/fuzz_tokenizers.py build/tests/tokens WORK [COUNT [SEED]]
    tools/fuzz_tokenizers.py --cases tests/data/text/settings.json
    tools/fuzz_tokenizers.py --rows host/text/token_keys.c tests/data/text/settings.json

By hand, with transformers. Makes COUNT folders (2000), one after the other in
WORK: a small tokenizer of each class that text towers have, with a few changes
in tokenizer_config.json, special_tokens_map.json, added_tokens.json,
tokenizer.json and config.json. AutoTokenizer and vitcl read each; the ids and
the attention masks of a few lines must be the same. VECTORS=N: of every Nth, also
the vectors that a random text tower of the folder's type computes. Prints how many are, which
are wrong, and for those that only AutoTokenizer reads, by which changes and
which of vitcl's messages. --cases makes the cases of the unit test: one for each
change, and what AutoTokenizer gives. --rows fails if a key without effect is not set
to a value that is not its default in cases of each class, which change nothing.
"""
import copy
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import warnings
from collections import Counter

CONTEXT = 16
TEXTS = ["a photo of a Cat\U00013460", "a  dog\tand\ta cat <x> b", "</s> a <s> b", "<unk>☃ <mask> é",
         "<pad>a<eos> <bos> b", "<|endoftext|> it's <|startoftext|>", "", "FOO foo xFOOx  FOO ",
         "a photo of a dog and a photo of a cat and a photo of a dog", "\u2581a <extra_id_0>b <extra_id_3>",
         "[PAD] a <x>\u00a0 b</s>"]
META = "\u2581"
WORDS = ["a", "b", "photo", "of", "cat", "dog", "and", "it", "x", "s", "foo"]


def token(i, s, **more):
    return {"id": i, "content": s, "single_word": False, "lstrip": False, "rstrip": False,
            "normalized": False, "special": True, **more}


def bpe(specials, space, suffix):
    """Letters, and the merges that make WORDS."""
    letters = sorted(set("".join(WORDS)) | set("FOCD'<>|_[]"))
    vocab, merges = list(specials), []
    ends = letters if not suffix else letters + [c + suffix for c in letters]
    vocab += ends + space
    for word in WORDS:
        parts = list(word)
        if suffix:
            parts[-1] += suffix
        else:
            parts = [META] + parts
        made = parts[0]
        for p in parts[1:]:
            if made + p not in vocab:
                vocab.append(made + p)
                merges.append([made, p])
            made += p
    return {w: i for i, w in enumerate(dict.fromkeys(vocab))}, merges


def unigram(specials):
    letters = sorted(set("".join(WORDS)) | set("FOCD'<>|_[]"))
    words = [META + w for w in WORDS]
    return [[s, 0.0] for s in specials] + [[META, -4.0]] + [[c, -6.0 - i / 9] for i, c in enumerate(letters)] \
        + [[w, -5.0 - i / 7] for i, w in enumerate(words)]


def model_bpe(vocab, merges, **more):
    return {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
            "vocab": vocab, "merges": merges, **more}


def tokenizer_json(model, added, normalizer, pre, post):
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": normalizer,
            "pre_tokenizer": pre, "post_processor": post, "decoder": None, "model": model}


CLIP_PATTERN = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
CLIP_NORM = {"type": "Sequence", "normalizers": [
    {"type": "NFC"}, {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "}, {"type": "Lowercase"}]}
CLIP_PRE = {"type": "Sequence", "pretokenizers": [
    {"type": "Split", "pattern": {"Regex": CLIP_PATTERN}, "behavior": "Removed", "invert": True},
    {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}]}
GEMMA_NORM = {"type": "Replace", "pattern": {"String": " "}, "content": META}
GEMMA_PRE = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
META_PRE = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"},
            {"type": "Metaspace", "replacement": META, "prepend_scheme": "always", "split": True}]}


def template(before, after, ids):
    return {"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": b, "type_id": 0}} for b in before]
            + [{"Sequence": {"id": "A", "type_id": 0}}]
            + [{"SpecialToken": {"id": a, "type_id": 0}} for a in after],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {s: {"id": s, "ids": [ids[s]], "tokens": [s]} for s in set(before + after)}}


def base_clip():
    specials = ["<|startoftext|>", "<|endoftext|>"]
    import open_clip.tokenizer as o
    letters = list(o.bytes_to_unicode().values())
    vocab, merges = bpe(specials, letters + [c + "</w>" for c in letters], "</w>")
    post = {"type": "RobertaProcessing", "sep": ["<|endoftext|>", 1], "cls": ["<|startoftext|>", 0],
            "trim_offsets": False, "add_prefix_space": False}
    file = tokenizer_json(model_bpe(vocab, merges, unk_token="<|endoftext|>", end_of_word_suffix="</w>"),
                          [token(0, specials[0]), token(1, specials[1])], CLIP_NORM, CLIP_PRE, post)
    config = {"tokenizer_class": "CLIPTokenizer", "bos_token": specials[0], "eos_token": specials[1],
              "pad_token": specials[1], "unk_token": specials[1], "model_max_length": 77}
    return {"tokenizer.json": file, "tokenizer_config.json": config, "config.json": {"model_type": "clip"}}


def base_clip_vocab():
    f = base_clip()
    model = f.pop("tokenizer.json")["model"]
    f["vocab.json"] = model["vocab"]
    f["merges.txt"] = "#version: 0.2\n" + "".join(" ".join(m) + "\n" for m in model["merges"])
    return f


def base_gemma(cls="GemmaTokenizer", kind="siglip"):
    specials = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"]
    vocab, merges = bpe(specials, [META] + [f"<0x{i:02X}>" for i in range(256)], "")
    ids = {s: i for i, s in enumerate(specials)}
    file = tokenizer_json(model_bpe(vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True),
                          [token(i, s) for i, s in enumerate(specials)], GEMMA_NORM, GEMMA_PRE,
                          template([], ["<eos>"], ids))
    config = {"tokenizer_class": cls, "bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>",
              "unk_token": "<unk>", "padding_side": "right", "model_input_names": ["input_ids"], "model_max_length": 64}
    return {"tokenizer.json": file, "tokenizer_config.json": config, "config.json": {"model_type": kind}}


def base_siglip2():
    return base_gemma("GemmaTokenizer", "siglip2")


def base_gemma_file():
    return base_gemma("PreTrainedTokenizerFast")


def base_xlm():
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    vocab = unigram(specials) + [["<mask>", 0.0]]
    ids = {s: i for i, s in enumerate(specials)}
    file = tokenizer_json({"type": "Unigram", "unk_id": 3, "vocab": vocab, "byte_fallback": False},
                          [token(i, s) for i, s in enumerate(specials)]
                          + [token(len(vocab) - 1, "<mask>", lstrip=True)], None, META_PRE, template(["<s>"], ["</s>"], ids))
    config = {"tokenizer_class": "XLMRobertaTokenizer", "bos_token": "<s>", "eos_token": "</s>", "sep_token": "</s>",
              "cls_token": "<s>", "unk_token": "<unk>", "pad_token": "<pad>", "mask_token": "<mask>", "model_max_length": 77}
    return {"tokenizer.json": file, "tokenizer_config.json": config, "config.json": {"model_type": "metaclip_2"}}


def base_t5():
    specials = ["<pad>", "</s>", "<unk>"]
    vocab = unigram(specials)
    file = tokenizer_json({"type": "Unigram", "unk_id": 2, "vocab": vocab, "byte_fallback": False},
                          [token(i, s) for i, s in enumerate(specials)], None, META_PRE,
                          template([], ["</s>"], {"</s>": 1}))
    config = {"tokenizer_class": "T5Tokenizer", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>",
              "model_max_length": 64, "extra_ids": 0}
    return {"tokenizer.json": file, "tokenizer_config.json": config, "config.json": {"model_type": "siglip"}}


def base_t5_file():
    f = base_t5()
    f["tokenizer_config.json"]["tokenizer_class"] = "PreTrainedTokenizerFast"
    return f


def base_clip_file():
    f = base_clip()
    f["tokenizer_config.json"]["tokenizer_class"] = "TokenizersBackend"
    return f


def base_siglip():
    config = {"tokenizer_class": "SiglipTokenizer", "do_lower_case": True, "eos_token": "</s>", "pad_token": "</s>",
              "unk_token": "<unk>", "model_max_length": 64, "model_input_names": ["input_ids"],
              "added_tokens_decoder": {"1": {k: v for k, v in token(1, "</s>").items() if k != "id"},
                                       "2": {k: v for k, v in token(2, "<unk>").items() if k != "id"}}}
    return {"spiece.model": None, "tokenizer_config.json": config, "config.json": {"model_type": "siglip"}}


BASES = {name[5:]: f for name, f in sorted(globals().items()) if name.startswith("base_")}

TOKENS = ["<s>", "</s>", "<x>", "<pad>", "<eos>", "<unk>", "<mask>", "FOO", "foo", "cat", "[PAD]", "b", META + "a",
          "<|endoftext|>"]


def added(rng, s=None):
    t = {"content": s or rng.choice(TOKENS)}
    for k in ("lstrip", "rstrip", "single_word", "normalized", "special"):
        if rng.random() < 0.7:
            t[k] = rng.random() < 0.4
    return t


def typed(rng):
    return {"__type": "AddedToken", **added(rng)}


def any_token(rng):
    return rng.choice([rng.choice(TOKENS), rng.choice(TOKENS), typed(rng), None])


def flag(rng):
    return rng.choice([True, False, True, False, None])


def wrong(rng):
    return copy.deepcopy(rng.choice([7, -1, 0.5, "x", [], {}, [1], {"a": 1}, True, None, ""]))


def several(rng, f):
    return [f(rng) for _ in range(rng.randint(0, 3))]


def decoder(rng):
    return {str(rng.choice([0, 1, 2, 3, 5, 60, 400, 9999, 41])): added(rng) for _ in range(rng.randint(0, 4))}


# key -> a value for it
CONFIG = {
    "tokenizer_class": lambda r: r.choice(["CLIPTokenizer", "CLIPTokenizerFast", "GemmaTokenizer", "GemmaTokenizerFast",
                                           "Siglip2Tokenizer", "XLMRobertaTokenizer", "T5TokenizerFast", "SiglipTokenizer",
                                           "PreTrainedTokenizerFast", "TokenizersBackend", "PreTrainedTokenizer", None]),
    "bos_token": any_token, "eos_token": any_token, "unk_token": any_token, "sep_token": any_token,
    "pad_token": any_token, "cls_token": any_token, "mask_token": any_token, "image_token": any_token,
    "extra_special_tokens": lambda r: r.choice([several(r, lambda r: r.choice([r.choice(TOKENS), typed(r)])), {"image_token": r.choice(TOKENS)}, None]),
    "additional_special_tokens": lambda r: r.choice([several(r, lambda r: r.choice(TOKENS)), None]),
    "added_tokens_decoder": decoder,
    "add_bos_token": flag, "add_eos_token": flag, "add_prefix_space": flag, "do_lower_case": flag, "legacy": flag,
    "split_special_tokens": lambda r: r.choice([True, True, False]),
    "model_max_length": lambda r: r.choice([8, 12, 77, 1000000000000000019884624838656, None, 10.0, 9.5]),
    "max_len": lambda r: r.choice([8, 12, None]),
    "padding_side": lambda r: r.choice(["left", "right", "left", "up"]),
    "truncation_side": lambda r: r.choice(["left", "right", "left"]),
    "model_input_names": lambda r: r.choice([["input_ids"], ["input_ids", "attention_mask"], ["input_ids", "token_type_ids"]]),
    "extra_ids": lambda r: r.choice([0, 3, 100]),
    "auto_map": lambda r: r.choice([{"AutoConfig": "a.B"}, {"AutoTokenizer": ["a.B", None]}]),
    "vocab": lambda r: {"a": 0}, "merges": lambda r: [], "fast_tokenizer_files": lambda r: r.choice([[], ["tokenizer.json"]]),
    "sp_model_kwargs": lambda r: r.choice([{}, {"enable_sampling": False}]),
    "keep_accents": flag, "clean_text": flag, "foo": lambda r: 1, "init_inputs": lambda r: [],
}

# the keys without effect of host/text/token_keys.c, and values that are not the defaults
IDLE = {
    "vocab_file": "x.json", "merges_file": "x.txt", "tokenizer_file": "x.json", "spm_file": "x.model",
    "special_tokens_map_file": "x.json", "added_tokens_file": "x.json", "name_or_path": "x/y", "processor_class": "XProcessor",
    "backend": "sentencepiece", "files_loaded": ["x"], "is_local": True, "local_files_only": True, "use_fast": False,
    "from_slow": True, "unk_id": 1, "max_length": 8, "stride": 2, "truncation_strategy": "only_second", "pad_to_multiple_of": 5,
    "pad_token_type_id": 1, "token_type_ids_pattern": "all_zeros", "token_type_ids_include_special_tokens": False,
    "special_tokens_pattern": "cls_sep", "verbose": False, "chat_template": "{{ x }}", "response_template": "x",
    "response_schema": {"x": 1}, "chat_control_tokens": ["<x>", "cat"], "errors": "strict", "clean_up_tokenization_spaces": True,
    "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output": True, "spaces_between_special_tokens": True,
    "fix_mistral_regex": True, "trim_offsets": False, "strip_accents": True, "tokenize_chinese_chars": False,
    "transformers_version": "3.0.0", "use_default_system_prompt": True, "_commit_hash": "x",
}
MAP_FILES = "vocab_file", "merges_file", "tokenizer_file"  # in special_tokens_map.json they have an effect
CONFIG |= {k: lambda r, v=v: r.choice([v, v, not v if isinstance(v, bool) else None]) for k, v in IDLE.items()}

MAP = {k: lambda r: r.choice([r.choice(TOKENS), added(r), r.choice(TOKENS), None]) for k in
       ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token", "image_token")} | {
    "additional_special_tokens": CONFIG["additional_special_tokens"],
    "extra_special_tokens": lambda r: r.choice([several(r, lambda r: r.choice(TOKENS)), None]),
    "model_max_length": CONFIG["model_max_length"], "padding_side": CONFIG["padding_side"],
    **{k: CONFIG[k] for k in (*MAP_FILES, "errors", "special_tokens_pattern", "name_or_path", "tokenizer_class", "legacy", "do_lower_case")}}

NORMALIZERS = [None, {"type": "Lowercase"}, {"type": "NFKC"}, CLIP_NORM, GEMMA_NORM, {"type": "Strip", "strip_left": True, "strip_right": True},
               {"type": "Prepend", "prepend": META}, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": META},
               {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
               {"type": "StripAccents"}]
PRES = [None, CLIP_PRE, GEMMA_PRE, META_PRE, {"type": "WhitespaceSplit"}, {"type": "Whitespace"},
        {"type": "Metaspace", "replacement": META, "prepend_scheme": "first", "split": True},
        {"type": "Metaspace", "replacement": META, "prepend_scheme": "never", "split": False},
        {"type": "Metaspace", "replacement": "_", "prepend_scheme": "always", "split": True},
        {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        {"type": "Split", "pattern": {"Regex": CLIP_PATTERN[CLIP_PATTERN.index("'s"):]}, "behavior": "Removed", "invert": True},
        {"type": "Digits", "individual_digits": True}]


def change_json(rng, f):
    """One change of a tokenizer.json; its name."""
    model, tokens = f["model"], f["added_tokens"]

    def more():
        return {k: v for k, v in (token(rng.choice([0, 3, 9999]), "x") | added(rng)).items()}
    what = rng.choice(["normalizer", "pre_tokenizer", "post_processor", "added", "added", "added flags", "added id", "padding",
                       "truncation", "unk_token", "fuse_unk", "byte_fallback", "ignore_merges", "decoder", "unk_id", "no added",
                       "dropout", "vocab", "model key", "version", "type", "wrong"])
    if what == "normalizer":
        f[what] = copy.deepcopy(rng.choice(NORMALIZERS))
    elif what == "pre_tokenizer":
        f[what] = copy.deepcopy(rng.choice(PRES))
    elif what == "post_processor":
        f[what] = rng.choice([None, template(["</s>"], ["<s>"], {"</s>": 5, "<s>": 6}), template([], ["cat"], {"cat": 30}),
                              {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True},
                              {"type": "BertProcessing", "sep": ["x", 8], "cls": ["y", 9]}])
    elif what == "added":
        tokens.append(more())
    elif what == "added flags" and tokens:
        tokens[rng.randrange(len(tokens))].update({rng.choice(["lstrip", "rstrip", "single_word", "normalized", "special"]): rng.random() < 0.5})
    elif what == "added id" and tokens:
        tokens[rng.randrange(len(tokens))]["id"] = rng.choice([0, 1, 7, 500])
    elif what == "padding":
        f[what] = {"strategy": rng.choice(["BatchLongest", {"Fixed": 9}]), "direction": rng.choice(["Left", "Right"]), "pad_to_multiple_of": None,
                   "pad_id": rng.choice([0, 5]), "pad_type_id": 0, "pad_token": rng.choice(TOKENS)}
    elif what == "truncation":
        f[what] = {"direction": rng.choice(["Left", "Right"]), "max_length": rng.choice([6, 99]), "strategy": "LongestFirst", "stride": rng.choice([0, 1])}
    elif what in ("fuse_unk", "byte_fallback", "ignore_merges"):
        model[what] = rng.random() < 0.5
    elif what == "unk_token" and model.get("type") == "BPE":
        model[what] = rng.choice([None, "a", "<unk>", "zzz"])
    elif what == "unk_id" and model.get("type") == "Unigram":
        model[what] = rng.choice([0, 4, None, 9999])
    elif what == "decoder":
        f[what] = rng.choice([None, {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}])
    elif what == "no added":
        f["added_tokens"] = []
    elif what == "dropout" and model.get("type") == "BPE":
        model[what] = rng.choice([0.0, None, 0.5])
    elif what == "vocab" and model.get("type") == "BPE":
        gone = rng.choice(["<unk>", "<mask>", "<0x41>", "<eos>", "<|endoftext|>", "<bos>"])
        if gone in model["vocab"]:
            last = max(model["vocab"], key=model["vocab"].get)
            at = model["vocab"].pop(gone)
            model["vocab"][last] = at
    elif what == "model key":
        model["foo"] = 1
    elif what == "version":
        f[what] = rng.choice(["1.0", "2.0", 1])
    elif what == "type":
        model.pop("type")
    elif what == "wrong":
        key = rng.choice(list(f))
        if key not in ("model",):
            f[key] = wrong(rng)
            what += " " + key
    return what


def change(rng, files):
    kind = rng.choices(["config", "map", "added", "json", "model", "drop", "wrong", "file"],
                       [10, 4, 2, 6, 1, 3, 1, 0.3])[0]
    config = files.setdefault("tokenizer_config.json", {})
    if not isinstance(config, dict):
        return "none"
    if kind == "config":
        key = rng.choice(list(CONFIG))
        config[key] = CONFIG[key](rng)
        return f"config {key}"
    if kind == "map":
        key = rng.choice(list(MAP))
        m = files.setdefault("special_tokens_map.json", {})
        if not isinstance(m, dict):
            return "none"
        m[key] = MAP[key](rng)
        if rng.random() < 0.5:
            config.pop("added_tokens_decoder", None)
        return f"map {key}"
    if kind == "added":
        m = files.setdefault("added_tokens.json", {})
        if isinstance(m, dict):
            m[rng.choice(TOKENS)] = rng.choice([0, 3, 60, 999, 7])
        if rng.random() < 0.5:
            config.pop("added_tokens_decoder", None)
        return "added_tokens.json"
    if kind == "json":
        if not isinstance(files.get("tokenizer.json"), dict) or not isinstance(files["tokenizer.json"].get("added_tokens"), list):
            return "none"
        return "json " + change_json(rng, files["tokenizer.json"])
    if kind == "model" and rng.random() < 0.15:
        files.pop("config.json", None)
        return "no config.json"
    if kind == "model":
        files["config.json"] = rng.choice([{"model_type": "clip"}, {"model_type": "siglip"}, {"model_type": "siglip2"}, {"model_type": "metaclip_2"},
                                           {"model_type": "clip_text_model"}, {"model_type": "clip", "tokenizer_class": "GemmaTokenizer"}])
        return "model " + files["config.json"]["model_type"]
    if kind == "drop":
        if config:
            key = rng.choice(list(config))
            config.pop(key)
            return f"drop {key}"
    if kind == "wrong":
        key = rng.choice(list(CONFIG))
        config[key] = wrong(rng)
        return f"wrong {key}"
    if kind == "file":
        name = rng.choice(["special_tokens_map.json", "added_tokens.json", "tokenizer_config.json"])
        files[name] = wrong(rng)
        return f"file {name}"
    return "none"


def write(folder, files):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, value in files.items():
        if value is None and name == "spiece.model":
            shutil.copy(pathlib.Path(__file__).parent.parent / "tests/data/text/siglip/spiece.model", folder / name)
        else:
            (folder / name).write_text(value if name == "merges.txt" else json.dumps(value, ensure_ascii=False))


def theirs(folder, texts=TEXTS):
    """Ids and masks, or the error. The mask is of ones if the model gets none."""
    from transformers import AutoTokenizer
    try:
        t = AutoTokenizer.from_pretrained(folder)
        context = min(CONTEXT, t.model_max_length)
        out = []
        for text in texts:
            e = t(text, padding="max_length", truncation=True, max_length=context)
            out.append([list(e["input_ids"]), list(e.get("attention_mask", [1] * len(e["input_ids"])))])
        return out, type(t).__name__
    except BaseException as e:  # pyo3's panics, too
        if isinstance(e, KeyboardInterrupt):
            raise
        return None, f"{type(e).__name__}: {str(e)[:100]}"


TOWERS = {}
TEXT_CONFIG = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64, "vocab_size": 1300,
               "max_position_embeddings": CONTEXT, "bos_token_id": 0, "eos_token_id": 1, "projection_size": 32}


def tower(kind):
    """A model of this type with random weights, or None: no text tower."""
    import torch
    import transformers as tf
    vision = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64, "image_size": 16, "patch_size": 8}
    classes = {"clip": (tf.CLIPConfig, tf.CLIPModel), "metaclip_2": (tf.MetaClip2Config, tf.MetaClip2Model), "siglip": (tf.SiglipConfig, tf.SiglipModel),
               "siglip2": (tf.Siglip2Config, tf.Siglip2Model)}
    if kind not in classes:
        return None
    if kind not in TOWERS:
        config, model = classes[kind]
        more = {} if kind.startswith("siglip") else {"projection_dim": 32}
        torch.manual_seed(5)
        end = {"eos_token_id": 2} if kind == "metaclip_2" else {}
        vision |= {"patch_size": 16, "num_patches": 4} if kind == "siglip2" else {}
        TOWERS[kind] = model(config(text_config=TEXT_CONFIG | end, vision_config=vision, **more)).eval()
        with torch.no_grad():
            for w in TOWERS[kind].parameters():
                w.copy_(torch.randn(w.shape) * (0.3 if w.ndim > 1 else 0.5))
    return TOWERS[kind]


def vectors_differ(program, folder):
    """The largest difference of a vector's number; None: one side has none."""
    import numpy
    import torch
    from transformers import AutoTokenizer
    if not (folder / "config.json").exists():
        return None
    config = json.loads((folder / "config.json").read_text())
    model = tower(config.get("model_type"))
    if model is None:
        return None
    model.save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps(json.loads((folder / "config.json").read_text()) | {
        k: v for k, v in config.items() if k == "tokenizer_class"}))
    t = AutoTokenizer.from_pretrained(folder)
    texts = [text for text in TEXTS if text and "\t" not in text]
    try:
        with torch.no_grad():
            given = t(texts, padding="max_length", truncation=True, max_length=min(CONTEXT, t.model_max_length), return_tensors="pt")
            want = model.get_text_features(**given).pooler_output.numpy()
    except (IndexError, TypeError, ValueError):
        return None
    vitcl = pathlib.Path(program).parent.parent / "vitcl"
    run = subprocess.run([vitcl, "embed", "-m", folder, "--text", "-", "-o", folder / "out.npy"], input="\n".join(texts).encode() + b"\n",
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if run.returncode or not numpy.isfinite(want).all():
        return run.stderr.decode().strip()[-100:] if run.returncode else None
    return float(abs(numpy.load(folder / "out.npy") - want).max())


def ours(program, folder):
    run = subprocess.run([program, str(folder), str(CONTEXT), "mask"], input="\n".join(TEXTS).encode() + b"\n",
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if run.returncode:
        return None, run.stderr.decode().strip().split(": ", 2)[-1]
    out = []
    for line in run.stdout.decode().splitlines():
        if line == "-":
            return None, "a text is refused"
        ids, mask = line.split("|")
        out.append([[int(i) for i in ids.split()], [int(i) for i in mask.split()]])
    return out, ""


AT = {"bos_token": "<bos>", "eos_token": "b", "unk_token": "a", "sep_token": "<x>", "pad_token": "[PAD]", "cls_token": "FOO",
      "mask_token": "<x>", "image_token": "<x>"}


def edits_of(base, files):
    """What the unit test changes in a base: {file: {key: value}}; {file: None}: it is not there."""
    config, some = "tokenizer_config.json", {"__type": "AddedToken", "content": "<x>", "lstrip": True, "rstrip": True}
    yield {}
    idle = list(IDLE.items())
    yield {config: {"foo": 1, "keep_accents": True, **dict(idle[::2])}}
    yield {config: dict(idle[1::2])}
    yield {"special_tokens_map.json": {k: v for k, v in idle if k not in MAP_FILES}}
    yield {config: {"add_bos_token": None, "add_eos_token": True}}
    for key, value in AT.items():
        if base in ("clip", "gemma_file", "t5", "siglip") or key in ("pad_token", "mask_token"):
            yield {config: {key: value}}
    yield {config: {"mask_token": {**some, "content": "foo", "single_word": True, "special": False, "normalized": True}}}
    yield {config: {"added_tokens_decoder": {"7": {"content": "FOO", "single_word": base != "siglip", "normalized": True},
                                            "5": {"content": "<x>", "lstrip": True, "special": True}}},
           "special_tokens_map.json": {"pad_token": "a"}}
    yield {"special_tokens_map.json": {"pad_token": {"content": "b", "lstrip": False}, "image_token": "<x>"}, "added_tokens.json": {"FOO": 999, "<x>": 998}}
    yield {"special_tokens_map.json": {"mask_token": {"content": "<x>", "lstrip": True, "rstrip": True, "single_word": True}}, "added_tokens.json": {"<x>": 0}}
    yield {config: {"extra_special_tokens": ["<x>", some]}}
    yield {config: {"extra_special_tokens": {"image_token": "FOO"}}, "special_tokens_map.json": {"image_token": "<x>"}}
    yield {config: {"sep_token": {"__type": "AddedToken", "content": "FOO", "special": False}, "pad_token": META + "a"}}
    yield {"special_tokens_map.json": {"additional_special_tokens": ["cat"]}, "added_tokens.json": {"FOO": 999}}
    yield {config: {"additional_special_tokens": ["<x>", "FOO"]}}
    for key, value in [("split_special_tokens", True), ("padding_side", "left"), ("truncation_side", "left"), ("model_max_length", 8),
                       ("model_max_length", None), ("model_input_names", None), ("model_input_names", ["input_ids"]), ("model_input_names", ["input_ids", "attention_mask"]),
                       ("add_prefix_space", False), ("do_lower_case", False), ("legacy", False), ("extra_ids", 3)]:
        yield {config: {key: value}}
    yield {config: {"max_len": 9, "model_max_length": None}}
    if base in ("siglip", "siglip2", "clip", "xlm"):
        yield {config: None}
    if base == "siglip":
        yield {config: {"eos_token": "cat", "model_input_names": ["input_ids", "attention_mask"]}}
    if "tokenizer.json" not in files:
        return
    for value in (NORMALIZERS[0], NORMALIZERS[1], NORMALIZERS[4]):
        yield {"tokenizer.json": {"normalizer": value}}
    for value in (PRES[0], PRES[4], PRES[10]):
        yield {"tokenizer.json": {"pre_tokenizer": value}}
    yield {"tokenizer.json": {"post_processor": None}}
    yield {"tokenizer.json": {"decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}}}
    yield {"tokenizer.json": {"added_tokens": [token(3, "FOO", normalized=True, special=False), token(2, "<x>", rstrip=True)]}}
    yield {"tokenizer.json": {
        "padding": {"strategy": {"Fixed": 9}, "direction": "Left", "pad_to_multiple_of": None, "pad_id": 5, "pad_type_id": 0, "pad_token": "a"},
        "truncation": {"direction": "Left", "max_length": 6, "strategy": "LongestFirst", "stride": 0}}, config: {"padding_side": None}}
    if base in ("gemma", "t5", "clip"):
        unigram = base == "t5"
        for name in ("PreTrainedTokenizerFast", *(("XLMRobertaTokenizerFast", "T5Tokenizer") if unigram else ("CLIPTokenizerFast", "GemmaTokenizer"))):
            yield {config: {"tokenizer_class": name}}
        for kind in ("clip_text_model", "metaclip_2") if unigram else ("clip", "siglip2", "clip_text_model"):
            yield {config: {"tokenizer_class": None}, "config.json": {"model_type": kind}}
        if not unigram:
            yield {config: {"tokenizer_class": None}, "config.json": {"tokenizer_class": "GemmaTokenizer"}}


def edited(files, edits):
    files = copy.deepcopy(files)
    for name, change in edits.items():
        if change is None:
            del files[name]
            continue
        into = files.setdefault(name, {})
        into.update(change)
        for key in [k for k, v in change.items() if k in ("padding_side", "model_input_names") and v is None]:
            del into[key]
    return files


def cases(path):
    """The cases of the unit test; one without ids has those of the base. Where a folder
    cannot be read, there is none."""
    texts = [TEXTS[i] for i in (0, 1, 2, 7, 8)]
    out = {"context": CONTEXT, "texts": texts, "bases": {}, "cases": []}
    work = pathlib.Path(path).parent / "folder"
    for base, make in BASES.items():
        out["bases"][base] = make()
        first = None
        for edits in edits_of(base, make()):
            write(work, edited(make(), edits))
            ids, note = theirs(work, texts)
            if ids:
                lines = [" ".join(map(str, i)) + "|" + "".join(map(str, m)) for i, m in ids]
                first = first or lines
                out["cases"].append({"base": base, "edits": edits} | ({} if edits and lines == first else {"ids": lines}))
            else:
                print(f"not read: {base} {edits}: {note}")
    shutil.rmtree(work)
    rows = ",\n".join(json.dumps(c, ensure_ascii=False, separators=(",", ":")) for c in out.pop("cases"))
    head = json.dumps(out, ensure_ascii=False, separators=(",", ":"))[:-1]
    pathlib.Path(path).write_text(head + ',"cases":[\n' + rows + "]}\n")


def rows(source, path):
    """Prints the keys without effect that no case of a base shows to be without; are there any?"""
    words = re.search(r'^static const char idle\[\] =([^;]+);', pathlib.Path(source).read_text(), re.M)[1]
    keys = set("".join(re.findall(r'"(.*)"', words)).split("|"))
    file, lacking = json.loads(pathlib.Path(path).read_text()), set(IDLE) ^ keys
    for base in file["bases"]:
        shown = {k for c in file["cases"] if c["base"] == base and "ids" not in c
                 for k, v in (c["edits"].get("tokenizer_config.json") or {}).items() if k in IDLE and v == IDLE[k]}
        lacking |= {f"{key} ({base})" for key in keys - shown}
    print(f"{len(keys)} keys without effect; without a case: {', '.join(sorted(lacking)) or 'none'}")
    return bool(lacking) or not keys


def main():
    if sys.argv[1] == "--rows":
        return rows(*sys.argv[2:4])
    warnings.filterwarnings("ignore")
    import transformers
    transformers.logging.set_verbosity(50)
    if sys.argv[1] == "--cases":
        return cases(sys.argv[2])
    program, work = sys.argv[1], pathlib.Path(sys.argv[2])
    count, seed = (int(v) for v in (sys.argv[3:5] + ["2000", "1"][len(sys.argv) - 3:]))
    same = both = readable = refused = lenient = 0
    why, keys = Counter(), Counter()
    wrong_ones = []
    vectors, worst, every = Counter(), 0.0, int(os.environ.get("VECTORS", 0))
    for i in range(count):
        rng = random.Random(seed * 1000003 + i)
        base = rng.choice(list(BASES))
        files = BASES[base]()
        changes = [change(rng, files) for _ in range(rng.choice([1, 1, 2, 2, 3, 4]))]
        folder = work / "folder"
        write(folder, files)
        t, note = theirs(folder)
        o, message = ours(program, folder)
        if t is None:
            lenient += o is not None
            continue
        readable += 1
        if o is None:
            refused += 1
            message = " ".join(w for w in message.split() if not w.startswith("/"))
            why[message[:90]] += 1
            for c in set(changes):
                keys[c] += 1
            continue
        if o == t:
            same += 1
            if every and i % every == 0:
                off = vectors_differ(program, folder)
                number = isinstance(off, float)
                worst = max(worst, off) if number else worst
                vectors["same" if number and off < 1e-4 else "wrong" if number else "none" if off is None else "refused"] += 1
                if not number and off or number and off >= 1e-4:
                    print(f"VECTOR {i} {base} {note} {changes}: {off}", flush=True)
            continue
        wrong_ones.append((i, base, note, changes))
        at = next(k for k in range(len(TEXTS)) if o[k] != t[k])
        print(f"WRONG {i} {base} {note} {changes}: {TEXTS[at]!r}\n   ours {o[at]}\n   theirs {t[at]}", flush=True)
        if os.environ.get("KEEP"):
            shutil.copytree(folder, work / f"wrong{i}", dirs_exist_ok=True)
    print(f"{count} folders: AutoTokenizer reads {readable}; {same} the same, {len(wrong_ones)} wrong, {refused} refused "
          f"({100 * (same + len(wrong_ones)) / max(readable, 1):.1f} % answered); {lenient} of the others are read")
    if every:
        print(f"vectors: {dict(vectors)}, the largest difference of the same is at most {worst:.1e}")
    for name, c in (("messages", why), ("changes", keys)):
        print(f"refused, by {name}:")
        for k, n in c.most_common(30):
            print(f"  {n:4} {k}")
    return bool(wrong_ones or vectors["wrong"])


if __name__ == "__main__":
    sys.exit(main())
