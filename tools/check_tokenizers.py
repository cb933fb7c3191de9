#!/usr/bin/env python3
"""check_tokenizers.py - compares token ids with those of other libraries.

    tools/check_tokenizers.py build/tests/tokens WORK [CASE...]
    tools/check_tokenizers.py --small tests/data/text

By hand, with transformers, tokenizers, sentencepiece, open_clip and ftfy. Makes
folders of tokenizers in WORK, with CLIP's vocabulary of open_clip's package and
with others that it trains on texts of this machine, and gives each 100,000 lines
in many scripts. Prints, for each case, how many lines differ, the first ones,
and fails where more differ than may. --small makes the folders of the
unit tests.
"""
import glob
import gzip
import json
import os
import pathlib
import random
import subprocess
import sys
import unicodedata

LINES = int(os.environ.get("LINES", 100000))
RANDOM = LINES // 10
CONTEXT = 77
BLOCKS = ["Latin 41 7a", "Latin1 a1 17f", "Greek 370 3ff", "Cyrillic 400 4ff",
          "Hebrew 591 5f4", "Arabic 600 6ff", "Devanagari 900 97f",
          "Thai e01 e5b", "Georgian 10a0 10ff", "Hangul ac00 d7a3",
          "Jamo 1100 11ff", "Kana 3041 30ff", "Han 4e00 9fff",
          "Vietnamese 1ea0 1ef9", "Greek+ 1f00 1fff", "Ethiopic 1200 137c",
          "Cherokee 13a0 13f4", "Khmer 1780 17f9", "Emoji 1f300 1f64f",
          "Emoji+ 1f900 1f9ff", "Symbols 2190 27bf", "Letterlike 2100 218f",
          "Wide ff01 ffee", "Ligatures fb00 fb4f", "Maths 1d400 1d7ff",
          "Marks 300 36f", "Punctuation 2000 206f", "Deseret 10400 1044f"]
SPICE = ["can't", "I'LL", "it's", "<|endoftext|>", "</s>", "<unk>", "&amp;",
         "&lt;b&gt;", "&eacute;t&eacute;", "&#39;", "https://example.org/a?b=c&d=1#e",
         "1,234.56", "12/31/1999", "+49 (0)30 123", "foo_bar-baz", "\u200d",
         "👩‍👩‍👧", "🇩🇪", "é", "e\u0301", "İstanbul", "ΟΔΥΣΣΕΥΣ", "Σ", "ﬁre", "\t",
         "  ", "\u00a0", "\u3000", "\u0007", "\x1b[31mred\x1b[0m", "\u2028",
         "\ufeff", "\x1c", "\x85", "\x00", "“quoted”", "naïve", "ß", "\u2581a",
         "...", "!!!", "①②", "½", "x²", "٣٤٥", "\r"]


def words_of(rng, block):
    low, high = (int(h, 16) for h in block.split()[1:])
    return "".join(chr(rng.randint(low, high)) for _ in range(rng.randint(1, 9)))


def natural_lines(rng):
    files = (glob.glob("/usr/share/common-licenses/*")
             + glob.glob("/usr/share/doc/*/copyright")
             + glob.glob("/usr/share/perl/*/pod/*.pod")
             + glob.glob("/usr/lib/python3*/*.py"))
    lines = set()
    for name in sorted(set(map(os.path.realpath, files))):
        for line in pathlib.Path(name).read_bytes().split(b"\n"):
            try:
                text = line.decode().rstrip("\r")
            except UnicodeDecodeError:
                continue
            if text.strip():
                lines.add(text[:400])
    lines = sorted(lines)
    rng.shuffle(lines)
    return lines


def all_lines():
    """The lines, and how many of them are natural: the first ones. All are, of a file
    that FROM names."""
    if "FROM" in os.environ:
        lines = pathlib.Path(os.environ["FROM"]).read_bytes().decode().split("\n")
        return lines, len(lines)
    rng = random.Random(1)
    lines = natural_lines(rng)[:LINES // 2]
    natural = len(lines)
    while len(lines) < LINES - RANDOM:
        parts = [rng.choice(SPICE) if rng.random() < 0.3
                 else words_of(rng, rng.choice(BLOCKS))
                 for _ in range(rng.randint(0, 12))]
        lines.append(rng.choice(["", " ", " "]).join(parts))
    while len(lines) < LINES:
        lines.append("".join(
            chr(c) for c in (rng.randrange(rng.choice([128, 0x800, 0x10000, 0x110000]))
                             for _ in range(rng.randint(0, 40)))
            if not 0xd800 <= c < 0xe000 and c != 10))
    return [line.replace("\n", " ") for line in lines], natural


def ids_of(program, folder, lines, context, lower=False):
    run = subprocess.run([program, str(folder), str(context)] + ["lower"] * lower,
                         input="\n".join(lines).encode() + b"\n",
                         stdout=subprocess.PIPE, check=True)
    return [[int(i) for i in line.split() if i != "-"] for line in run.stdout.decode().splitlines()]


def write(folder, name, value):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(value if isinstance(value, str)
                               else json.dumps(value, ensure_ascii=False))


def clip_files():
    import open_clip.tokenizer as o
    text = gzip.open(o.default_bpe()).read().decode().split("\n")
    tokenizer = o.SimpleTokenizer()
    vocab = dict(tokenizer.encoder)
    vocab["<|startoftext|>"] = vocab.pop("<start_of_text>")
    vocab["<|endoftext|>"] = vocab.pop("<end_of_text>")
    merges = text[1:49152 - 256 - 2 + 1]
    return vocab, "#version: 0.2\n" + "\n".join(merges) + "\n", o.default_bpe()


CLIP_CONFIG = {"tokenizer_class": "CLIPTokenizer", "bos_token": "<|startoftext|>",
               "eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>",
               "unk_token": "<|endoftext|>", "model_max_length": 77,
               "do_lower_case": True, "errors": "replace"}


def hf_ids(folder, lines, context):
    from transformers import AutoTokenizer
    tokenizer = AutoTokenizer.from_pretrained(folder)
    out = []
    for at in range(0, len(lines), 1000):
        out += tokenizer(lines[at:at + 1000], padding="max_length", truncation=True,
                         max_length=context)["input_ids"]
    return out


def open_clip_ids(folder, lines, context):
    import open_clip
    tokenizer = open_clip.get_tokenizer(f"local-dir:{folder}")
    out = []
    for at in range(0, len(lines), 1000):
        out += tokenizer(lines[at:at + 1000], context_length=context).tolist()
    return out


def case_clip_vocab(work):
    vocab, merges, _ = clip_files()
    write(work, "vocab.json", vocab)
    write(work, "merges.txt", merges)
    write(work, "tokenizer_config.json", CLIP_CONFIG)
    write(work, "config.json", {"model_type": "clip"})
    return hf_ids, 0


def case_clip_json(work):
    from transformers import CLIPTokenizer
    vocab, merges, _ = clip_files()
    pairs = [tuple(m.split(" ")) for m in merges.split("\n")[1:-1]]
    CLIPTokenizer(vocab=vocab, merges=pairs, model_max_length=77).save_pretrained(work)
    write(work, "config.json", {"model_type": "clip"})
    return hf_ids, 0


def case_open_clip(work):
    write(work, "open_clip_config.json", {"model_cfg": {"text_cfg": {"context_length": 77}}})
    pathlib.Path(work / "bpe_simple_vocab_16e6.txt.gz").write_bytes(
        pathlib.Path(clip_files()[2]).read_bytes())
    return open_clip_ids, 0.01


def case_open_clip_json(work):
    case_clip_json(work)
    write(work, "open_clip_config.json", {"model_cfg": {"text_cfg": {"context_length": 77}}})
    return open_clip_ids, 0.01


def multilingual(rng, count):
    """Texts with words that come again, as a vocabulary needs them."""
    words = [words_of(rng, rng.choice(BLOCKS)) for _ in range(4000)]
    for _ in range(count):
        yield " ".join(words[min(int(rng.expovariate(0.002)), 3999)]
                       for _ in range(rng.randint(3, 12)))


def train(work, kind, size, **more):
    import sentencepiece as spm
    rng = random.Random(2)
    corpus = work.parent / f"corpus-{kind}.txt"
    corpus.write_text("\n".join(natural_lines(rng)[:60000] + list(multilingual(rng, 20000))))
    model = work.parent / f"{kind}-{size}"
    if not model.with_suffix(".model").exists():
        spm.SentencePieceTrainer.train(
            input=str(corpus), model_prefix=str(model), model_type=kind, vocab_size=size,
            character_coverage=0.9995, minloglevel=2, num_threads=2, **more)
    return model.with_suffix(".model").read_bytes()


def gemma_model(work, size=12000):
    return train(work, "bpe", size, byte_fallback=True, split_digits=True,
                 normalization_rule_name="identity", add_dummy_prefix=False,
                 remove_extra_whitespaces=False, pad_id=0, eos_id=1, bos_id=2, unk_id=3,
                 pad_piece="<pad>", eos_piece="<eos>", bos_piece="<bos>",
                 user_defined_symbols=["<mask>", "<table>"] + ["\u2581" * n for n in (2, 3, 4)])


def t5_model(work):
    return train(work, "unigram", 8000, normalization_rule_name="nmt_nfkc_cf",
                 pad_id=0, eos_id=1, unk_id=2, bos_id=-1)


def spm_ids(name, end):
    def ids(folder, lines, context):
        import sentencepiece as spm
        model = spm.SentencePieceProcessor(model_file=str(folder / name))
        pad = max(model.pad_id(), 0)
        out = [i[:context - 1] + [end] for i in model.encode(lines)]
        return [i + [pad] * (context - len(i)) for i in out]
    return ids


def case_spm_bpe(work):
    (work / "tokenizer.model").write_bytes(gemma_model(work))
    return spm_ids("tokenizer.model", 1), 0


def case_spm_unigram(work):
    (work / "spiece.model").write_bytes(t5_model(work))
    return spm_ids("spiece.model", 1), 0


def case_siglip(work):
    (work / "spiece.model").write_bytes(t5_model(work))
    write(work, "tokenizer_config.json", {
        "tokenizer_class": "SiglipTokenizer", "do_lower_case": True, "eos_token": "</s>",
        "pad_token": "</s>", "unk_token": "<unk>", "model_max_length": 64})
    write(work, "config.json", {"model_type": "siglip"})
    return hf_ids, 0


def case_siglip2(work, model_type="siglip"):
    from transformers import GemmaTokenizer
    (work / "tokenizer.model").write_bytes(gemma_model(work))
    if not (work / "tokenizer.json").exists():
        GemmaTokenizer.from_pretrained(work, add_bos_token=False, add_eos_token=True,
                                       padding_side="right").save_pretrained(work)
    write(work, "config.json", {"model_type": model_type})
    return hf_ids, 0


def case_siglip2_naflex(work):
    return case_siglip2(work, "siglip2")


def case_t5_json(work):
    from transformers import T5Tokenizer
    (work / "spiece.model").write_bytes(t5_model(work))
    if not (work / "tokenizer.json").exists():
        T5Tokenizer.from_pretrained(work, extra_ids=0).save_pretrained(work)
    write(work, "config.json", {"model_type": "t5"})
    return hf_ids, 0


def case_xlm_json(work):
    from sentencepiece import sentencepiece_model_pb2 as pb2
    from transformers import XLMRobertaTokenizer
    model = pb2.ModelProto.FromString(t5_model(work))
    vocab = [(p.piece, p.score) for p in model.pieces if p.type == 1]
    vocab = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)] + vocab + [("<mask>", 0.0)]
    XLMRobertaTokenizer(vocab=vocab, _spm_precompiled_charsmap=model.normalizer_spec.precompiled_charsmap,
                        model_max_length=77).save_pretrained(work)
    write(work, "config.json", {"model_type": "metaclip_2"})
    return hf_ids, 0


def case_large(work):
    """As many pieces and merges as Gemma's, made up: how long does opening take?"""
    rng = random.Random(3)
    pieces = ["<pad>", "<eos>", "<bos>", "<unk>"] + [f"<0x{i:02X}>" for i in range(256)]
    pieces += sorted({"\u2581"} | {chr(c) for b in BLOCKS for c in range(
        *(int(h, 16) for h in b.split()[1:])) if unicodedata.category(chr(c)) != "Cn"})
    known, merges = set(pieces), []
    base = pieces[260:]
    while len(pieces) < 256000:
        a, b = rng.choice(base), rng.choice(base)
        if len(a + b) <= 12 and a + b not in known:
            known.add(a + b)
            pieces.append(a + b)
            base.append(a + b)
            merges += [(w[:k], w[k:]) for w in [a + b] for k in range(1, len(w))
                       if w[:k] in known and w[k:] in known]
    write(work, "tokenizer.json", {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [
            {"id": i, "content": pieces[i], "single_word": False, "lstrip": False,
             "rstrip": False, "normalized": False, "special": True} for i in range(4)],
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
        "pre_tokenizer": None, "decoder": None, "post_processor": None,
        "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>",
                  "continuing_subword_prefix": None, "end_of_word_suffix": None,
                  "fuse_unk": True, "byte_fallback": True, "ignore_merges": False,
                  "vocab": {p: i for i, p in enumerate(pieces)}, "merges": merges}})
    write(work, "tokenizer_config.json", {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "<eos>", "pad_token": "<pad>", "unk_token": "<unk>"})
    return hf_ids, 0


def open_clip_of(case):
    def make(work):
        case(work)
        (work / "config.json").unlink()
        write(work, "open_clip_config.json", {"model_cfg": {"text_cfg": {
            "context_length": CONTEXT, "hf_tokenizer_name": "x",
            "tokenizer_kwargs": {"clean": "canonicalize"}}}})
        return open_clip_ids, 0.01
    return make


case_open_clip_t5 = open_clip_of(case_t5_json)
case_open_clip_gemma = open_clip_of(case_siglip2)


SMALL = ["a photo of a cat", "A red car, isn't it?", "two   dogs\tand a cat", "", " ", "123 45",
         "it's the dog's", "Café e\u0301t\u00e9", "ΟΔΥΣΣΕΥΣ Σ", "İstanbul", "日本語", "👩‍👩‍👧 🇩🇪",
         "<|endoftext|> a", "a </s> b", "&lt;b&gt; &amp; &eacute; &#39;", "ﬁre “quoted” ｗｉｄｅ",
         "foo_bar-baz!!! ...", "\u2581a \u2581\u2581", "\x07\x1b[31mred\x1b[0m", "שלום مرحبا", "½ ① x²",
         "the the the the the the the the the the the the the the the the the the the"]


def small(work):
    """Makes tests/data/text: folders with few pieces, and what each arbiter gives."""
    import sentencepiece as spm
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
    from transformers import CLIPTokenizer, GemmaTokenizer, T5Tokenizer
    write(work, "lines.txt", "\n".join(SMALL) + "\n")
    corpus = work / "corpus.txt"
    corpus.write_text("\n".join(natural_lines(random.Random(4))[:3000] + SMALL * 20))

    clip = Tokenizer(models.BPE(end_of_word_suffix="</w>"))
    clip.normalizer = normalizers.Lowercase()
    clip.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(),
                                                  pre_tokenizers.ByteLevel(add_prefix_space=False)])
    clip.train([str(corpus)], trainers.BpeTrainer(
        vocab_size=700, end_of_word_suffix="</w>", show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), limit_alphabet=256))
    import open_clip.tokenizer as o
    merges = [tuple(m) for m in json.loads(clip.to_str())["model"]["merges"]]
    letters = list(o.bytes_to_unicode().values())
    names = letters + [c + "</w>" for c in letters] + ["".join(m) for m in merges]
    names += ["<|startoftext|>", "<|endoftext|>"]
    vocab = {p: i for i, p in enumerate(dict.fromkeys(names))}
    write(work / "clip_vocab", "vocab.json", vocab)
    write(work / "clip_vocab", "merges.txt",
          "#version: 0.2\n" + "".join(" ".join(m) + "\n" for m in merges))
    write(work / "clip_vocab", "tokenizer_config.json", CLIP_CONFIG)
    CLIPTokenizer(vocab=vocab, merges=merges, model_max_length=77).save_pretrained(work / "clip_json")
    text = '"small#version: 0.2\n' + "".join(" ".join(m) + "\n" for m in merges)
    (work / "open_clip").mkdir(exist_ok=True)
    path = work / "open_clip" / "bpe_simple_vocab_16e6.txt.gz"
    path.write_bytes(gzip.compress(text.rstrip().encode(), mtime=0))
    write(work / "open_clip", "open_clip_config.json",
          {"model_cfg": {"text_cfg": {"context_length": 20}}})

    def model(name, **more):
        spm.SentencePieceTrainer.train(input=str(corpus), model_prefix=str(work / name),
                                       character_coverage=0.99, minloglevel=2, **more)
        data = (work / f"{name}.model").read_bytes()
        for end in (".model", ".vocab"):
            (work / f"{name}{end}").unlink()
        return data

    rules = work / "rules.tsv"
    rules.write_text("".join(f"{ord(a):X}\t{' '.join(f'{ord(c):X}' for c in b)}\n" for a, b in [
        ("\t", " "), ("\u3000", " "), ("ﬁ", "fi"), ("½", "1⁄2"), ("①", "1"), ("\x07", "")]))
    unigram = model("unigram", model_type="unigram", vocab_size=400, pad_id=0, eos_id=1, unk_id=2,
                    bos_id=-1, normalization_rule_tsv=str(rules))
    bpe = model("bpe", model_type="bpe", vocab_size=700, byte_fallback=True,
                normalization_rule_name="identity", add_dummy_prefix=False,
                remove_extra_whitespaces=False, pad_id=0, eos_id=1, bos_id=2, unk_id=3,
                pad_piece="<pad>", eos_piece="<eos>", bos_piece="<bos>",
                user_defined_symbols=["<mask>", "\u2581\u2581"])
    for name, file, data in [("siglip", "spiece.model", unigram), ("unigram", "spiece.model", unigram),
                             ("bpe", "tokenizer.model", bpe)]:
        (work / name).mkdir(exist_ok=True)
        (work / name / file).write_bytes(data)
    write(work / "siglip", "tokenizer_config.json", {
        "tokenizer_class": "SiglipTokenizer", "eos_token": "</s>", "pad_token": "</s>",
        "unk_token": "<unk>", "model_max_length": 64})
    for name, cls, file, data, more in [
            ("t5", T5Tokenizer, "spiece.model", unigram, {"extra_ids": 0}),
            ("gemma", GemmaTokenizer, "tokenizer.model", bpe,
             {"add_eos_token": True, "add_bos_token": False, "padding_side": "left"})]:
        (work / name).mkdir(exist_ok=True)
        (work / name / file).write_bytes(data)
        cls.from_pretrained(work / name, **more).save_pretrained(work / name)
        (work / name / file).unlink(missing_ok=True)
    for path in (corpus, rules):
        path.unlink()
    for path in work.glob("*/tokenizer.json"):
        path.write_text(json.dumps(json.loads(path.read_text()), ensure_ascii=False,
                                   separators=(",", ":")))

    def simple(folder, lines, context):
        tokenizer = o.SimpleTokenizer(bpe_path=str(folder / "bpe_simple_vocab_16e6.txt.gz"))
        return tokenizer(lines, context_length=context).tolist()

    arbiters = {"clip_vocab": hf_ids, "clip_json": hf_ids, "open_clip": simple, "siglip": hf_ids,
                "t5": hf_ids, "gemma": hf_ids, "unigram": spm_ids("spiece.model", 1),
                "bpe": spm_ids("tokenizer.model", 1)}
    for name, arbiter in arbiters.items():
        kinds = {"siglip": "siglip", "t5": "t5", "gemma": "siglip"}
        write(work / name, "config.json", {"model_type": kinds.get(name, "clip")})
        ids = arbiter(work / name, SMALL, 20)
        (work / name / "config.json").unlink()
        write(work / name, "expected.txt", "".join(" ".join(map(str, i)) + "\n" for i in ids))


def main():
    if sys.argv[1] == "--small":
        return small(pathlib.Path(sys.argv[2]))
    program, work = sys.argv[1], pathlib.Path(sys.argv[2])
    cases = {name[5:]: f for name, f in globals().items() if name.startswith("case_")}
    lines, natural = all_lines()
    failed = False
    for name in sys.argv[3:] or cases:
        folder = work / name
        folder.mkdir(parents=True, exist_ok=True)
        arbiter, may = cases[name](folder)
        print(f"{name}: ", end="", flush=True)
        ours = ids_of(program, folder, lines, CONTEXT)
        theirs = arbiter(folder, lines, CONTEXT)
        refused = [i for i in range(len(lines)) if not ours[i]]
        wrong = [i for i in range(len(lines)) if ours[i] and ours[i] != theirs[i]]
        newer = wrong
        wrong = [i for i in wrong if not any(
            unicodedata.category(c) == "Cn" for c in lines[i])]
        newer = [i for i in newer if i not in wrong]
        of_natural = sum(i < natural for i in wrong)
        bad = of_natural > may * natural or may == 0 and len(wrong) > 0
        failed |= bad
        print(f"{len(refused)} refused, {len(wrong)} of {len(lines)} lines differ, {of_natural} of {natural} "
              f"natural ones, and {len(newer)} with characters that Python does not know"
              f"{': TOO MANY' if bad else ''}")
        show = int(os.environ.get("SHOW", 5))
        for i in refused[:show]:
            print(f"  refused: {lines[i][:80]!r}")
        for i in wrong[:show] + newer[:show]:
            at = next(k for k in range(CONTEXT) if ours[i][k] != theirs[i][k])
            print(f"  {lines[i]!r}\n    at {at}: {ours[i][at:at + 8]} and {theirs[i][at:at + 8]}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
