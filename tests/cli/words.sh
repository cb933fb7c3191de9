# words.sh - labels and texts in words: classify --labels, search --text, embed
# --text and eval by names. The arbiter is transformers, whose answers
# tools/golden_words.py has written to tests/data/words/expected.json.
[ -z "${VITCL_NO_WORDS-}" ] || skip "vitcl was built without utf8proc"
unset VITCL_MODEL
# Most of what this case takes is compiling; shapes.sh has the same kernels with
# optimisation, tests/models those of both towers.
export POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable
words=$VT_DATA/words
cp -r "$words"/{clip,siglip} .
# A folder of both libraries: Hugging Face's config and tokenizer count.
for model in clip siglip; do
    echo '{"model_cfg":{"text_cfg":{"tokenizer_kwargs":{"clean":"canonicalize"}}}}' \
        >$model/open_clip_config.json
done
mkdir p
cp "$words"/[0-3].png p/
python3 - "$words" <<'P'
import json, sys
given = json.load(open(sys.argv[1] + "/expected.json"))["given"]
for name in given:
    with open(name, "w") as f:
        f.write("\n".join(given[name]) + "\n")
P
cat >near.py <<'P'
import json, os
def expected(model, key):
    return json.load(open(os.environ["VT_DATA"] + "/words/expected.json"))[model][key]
def near(a, b, what):
    assert len(a) == len(b), (what, len(a), len(b))
    for x, y in zip(a, b):
        assert abs(x - y) <= 1e-4 * max(1, abs(y)), (what, a, b)
P
export VT_DATA
agree() { # MODEL KEY: the probabilities in out are those of transformers
    python3 - "$1" "$2" <<'P' || fail "other probabilities: $1 $2"
import sys
from near import *
model, key = sys.argv[1:]
labels = [x.rstrip("\n") for x in open("labels")]
rows = [json.loads(line) for line in open("out")]
for row, want in zip(rows, expected(model, key), strict=True):
    assert row.get("function", "softmax") == {"clip": "softmax", "siglip": "sigmoid"}[model]
    top = row["top"]
    assert all(t["label"] == labels[t["index"]] and t["name"] is None for t in top)
    assert [t["probability"] for t in top] == sorted((t["probability"] for t in top), reverse=True)
    near([t["probability"] for t in sorted(top, key=lambda t: t["index"])], want, row["picture"])
P
}

# ---- labels
prompt=(--prompt "$(sed -n 1p prompts)")
for model in clip siglip; do
    run 0 classify -m $model --labels labels --json p
    agree $model labels
    run 0 classify -m $model --labels labels "${prompt[@]}" --json p
    agree $model prompt
    run 0 classify -m $model --labels labels --prompt prompts --json p
    agree $model prompts
done
mapfile -t each <prompts
run 0 classify -m clip --labels labels --prompt "${each[0]}" --prompt "${each[1]}" \
    --prompt "${each[2]}" --batch 1 --json p
agree clip prompts

# A list is the same as a file; a file's labels may have commas.
printf '\xEF\xBB\xBFcat\r\n\n  dog \na red car' >three
run 0 classify -m clip --labels three p
cp out from_file
run 0 classify -m clip --labels ' cat,dog ,,a red car,' p
cmp out from_file || fail "a list is not as a file"
out_lines 12
out_has $'^p/0.png\t1\ta red car\t\t0\\.[0-9]{6}$'
printf 'cat\r\r  dog \ra red car\r' >mac # what Python's text files read, too
for file in - /dev/stdin mac pipe; do
    rm -f pipe && mkfifo pipe
    [ $file != pipe ] || cat three >pipe &
    "$VITCL" classify -m clip --labels $file p <three >out 2>err || fail "labels from $file"
    cmp out from_file || fail "$file is not as a file"
done
run 2 classify -m clip --labels - p - <three
says 'standard input has the labels, so it cannot be a list of pictures, too$'
printf 'c\033[2Jat\nd\tog\nh\302\205en\n' >steers
run 0 classify -m clip --labels steers p/0.png
out_has $'^p/0.png\t[123]\tc\\\\033\\[2Jat\t\t0'
out_has $'^p/0.png\t[123]\td\\\\tog\t\t0'
out_has $'^p/0.png\t[123]\th\\\\302\\\\205en\t\t0'
on_terminal 80 0 classify -m clip --labels steers p/0.png
out_has 'c\\033\[2Jat'
run 0 classify -m clip --labels labels --csv -k 1 p
out_has '^p/3.png,"two boats, one house",0.4'
out_lines 5
run 0 classify -m clip --labels labels -k 1 --threshold 0.6 --logits logits.npy \
    --html page.html --copy-to 'to/{label}' p
out_has $'^p/1.png\t1\ta red car\t\t0.66[0-9]*$'
out_has $'^p/3.png\t1\ttwo boats, one house\t\t0.41[0-9]*\tnot sure$'
[ -e 'to/a red car/0.png' ] || fail "no folder of a label"
[ -e 'to/not sure/3.png' ] || fail "no folder of what is not sure"
grep -q 'two boats, one house' page.html || fail "no label on the page"
python3 - <<'P' || fail "other logits"
import math, struct
from near import *
data = open("logits.npy", "rb").read()
rows = struct.iter_unpack("<5f", data[-4 * 5 * 4:])
for row, want in zip(rows, expected("clip", "labels"), strict=True):
    all = sum(math.exp(x) for x in row)
    near([math.exp(x) / all for x in row], want, "logits")
P
python3 -c 'for i in range(14): print("\u00e9" * 120 + str(i))' >long
run 0 classify -m clip --labels long -k 14 --html page.html p/0.png
python3 - <<'P' || fail "a list of long labels"
import html, re
page = html.unescape(open("page.html", encoding="utf-8").read().replace("<wbr>", ""))
one = "\u00e9" * 100 + "\u2026 [0-9.]+\u00a0%"
assert re.search(f"<b>{one}</b><small>or ({one}, ){{4,}}\u2026</small>", page), page[-6000:]
P
printf 'a dog, running\na dog, asleep\n' >commas
run 0 classify -m clip --labels commas --explain p/0.png
out_has 'a dog, running'
out_has 'a dog, asleep'
run 0 classify -m clip --labels labels --explain p/0.png
out_has 'a red car'
echo broken >p/x.png
run 1 classify -m clip --labels cat,dog --logits logits.npy p
out_lines 8
err_has 'p/x.png: '
python3 -c 'import struct; a = struct.unpack("<10f", open("logits.npy", "rb").read()[-40:])
assert a[8] != a[8] and a[9] != a[9] and a[7] == a[7]' || fail "no NaN in logits"
rm p/x.png

# ---- the second start needs no text tower, and trusts nothing that is damaged
kept() { find "$XDG_CACHE_HOME/vitcl" -name '*.labels' | LC_ALL=C sort; }
kept >before
new="--labels cat,dog,$$-$RANDOM"
run 0 classify -m siglip $new --json p
cp out first
kept >after
file=$(comm -13 before after)
[ -s "$file" ] || fail "not one file of vectors: $file"
cp -p siglip/spiece.model whole
printf 'xxxxxxxxx' | dd of=siglip/spiece.model bs=1 conv=notrunc 2>/dev/null
touch -r whole siglip/spiece.model
run 0 classify -m siglip $new --json p
cmp out first || fail "another answer from the cache"
VITCL_CACHE=off run 1 classify -m siglip $new p/0.png
run 1 classify -m siglip $new,x p/0.png
touch siglip/spiece.model # it has changed
run 1 classify -m siglip $new p/0.png
cp -p whole siglip/spiece.model
for at in 3 90 99 200; do # format, checksum, kind of answer, vectors
    printf x | dd of="$file" bs=1 seek=$at conv=notrunc 2>/dev/null
    run 0 classify -m siglip $new --json p
    cmp out first || fail "a damaged file was believed"
done
for other in --prompt=a{} --lower-case; do
    run 0 classify -m siglip $new $other --json p/0.png
done
kept | comm -13 before - >after
[ "$(wc -l <after)" = 3 ] || fail "vectors were taken for others"
xargs rm <after

# ---- what there is to say
run 2 classify -m clip p
says 'has no classes of its own: add --labels "cat,dog,a red car"'
run 1 classify -m "$VT_DATA/models/timm_clip" --labels cat,dog p
says '^vitcl classify: --labels: a model of pictures and texts is needed, .*timm_clip: no text tower'
run 1 classify -m "$VT_DATA/models/hf_clip" p
says 'has no classifier; .vitcl embed. writes its features$'
for name in none.txt ./none p; do
    run 1 classify -m clip --labels $name p
    says "--labels: there is no file $name; a list of labels has a comma, such as \"cat,dog\" or \"cat,\"\$"
done
for label in 'p,' ' . A dog. It' cat; do
    run 0 classify -m clip --labels "$label" p/0.png
done
printf 'cat\n\xff\n' >bad
run 1 classify -m clip --labels bad p
says 'bad, line 2: is not UTF-8$'
printf 'cat\ndog\ncat \n' >bad
run 1 classify -m clip --labels bad p
says "^vitcl classify: bad has 'cat' twice$"
run 2 classify -m clip --labels cat,dog,cat p
says "^vitcl classify: --labels has 'cat' twice$"
printf '\n' >bad
run 1 classify -m clip --labels bad p
says 'bad: there are no labels in it$'
printf 'a {}\nb\n' >bad
run 1 classify -m clip --labels cat,dog --prompt bad p
says "bad: 'b' has no \{\} in place of the label$"
printf '\n \n' >bad
run 1 classify -m clip --labels cat,dog --prompt bad p
says 'bad: there are no prompts in it$'

# ---- eval takes the folders' names
mkdir -p data/{a_red_car,dog}
cp p/[01].png data/a_red_car/
cp p/[23].png data/dog/
sed -n '2,3p' labels >two
run 0 classify -m clip --labels two --prompt prompts -k 1 data
right=$(grep -cE $'a_red_car/.*\ta red car\t|dog/.*\tdog\t' out || true)
run 0 eval -m clip --data data --prompt prompts --json --classes
json out
out_has "\"pictures\":4,\"failed\":0,\"classes\":2,\"top1\":$(python3 -c "print(f'{$right / 4:g}')"),\"[^t]"
out_has '"class":"a_red_car"'
cp -r data/a_red_car 'data/a red car'
run 1 eval -m clip --data data
says "^vitcl eval: data has 'a red car' twice \\(_ is read as a space\\)\$"
mv 'data/a red car' data/$'\xff'
run 1 eval -m clip --data data
says '^vitcl eval: data: '
err_has ' is not UTF-8$'
rm -r data/$'\xff'
run 1 eval -m "$VT_DATA/models/hf_clip" --data data
says 'this model has no classifier: a model of pictures and texts is needed, .*hf_clip: no text tower'
run 2 eval -m "$VT_DATA/models/timm_clip" --data data --prompt 'a {}'
says 'this model has a classifier; leave --prompt out$'

# ---- search
for model in clip siglip; do
    run 0 embed -m $model -o $model.safetensors p
    run 0 search $model.safetensors --text "$(sed -n 1p texts)" --text "$(sed -n 2p texts)" \
        "$(sed -n 3p texts)" --json --html page.html
    python3 - $model <<'P' || fail "other hits of $model"
import sys
from near import *
texts = [x.rstrip("\n") for x in open("texts")]
rows = [json.loads(line) for line in open("out")]
for row, text, want in zip(rows, texts, expected(sys.argv[1], "cosines"), strict=True):
    assert row["text"] == text and "picture" not in row
    hits = row["nearest"]
    order = sorted(range(4), key=lambda i: -want[i])
    assert [h["picture"] for h in hits] == [f"p/{i}.png" for i in order], row
    near([h["cosine"] for h in hits], [want[i] for i in order], text)
P
    grep -q 'Zwei rote H' page.html || fail "no text on the page"
done
run 0 search clip.safetensors 'a dog on a beach' -k 1
out_has $'^a dog on a beach\t1\t0.1[0-9]*\tp/0.png$'
cp out one
run 0 search clip.safetensors --text 'A DOG on a beach' -k 1 --lower-case -m clip
sed 's/A DOG/a dog/' out | cmp - one || fail "another answer in capitals"
run 0 search clip.safetensors --text --help -k 1
out_has $'^--help\t1\t'
run 0 search clip.safetensors --text a --help
out_has '^usage: vitcl search'
mkdir away
mv clip.safetensors away
(cd away && "$VITCL" search clip.safetensors 'a dog on a beach' -k 1) |
    grep -q "p/0.png$" || fail "not from another folder"
mv away/clip.safetensors .
run 1 search clip.safetensors beach
says '^vitcl search: beach: No such file or directory; words are looked for with --text$'
run 1 search clip.safetensors 'my dog.jpg'
says 'my dog.jpg: No such file or directory; words are looked for with --text$'
cp p/0.png 'a picture'
run 0 search clip.safetensors 'a picture' -k 1
out_has $'^a picture\t1\t1.0+\tp/0.png$'
for option in --null --no-recursive --recursive --follow --summary; do
    run 2 search clip.safetensors --text dog $option
    says "texts are looked for, not pictures; leave $option out$"
done
run 2 search clip.safetensors p/0.png --lower-case
says '[-]-lower-case belongs to texts, not to pictures$'
# A first start, which says what it waits for
POCL_CACHE_DIR=$PWD/cold XDG_CACHE_HOME=$PWD/cold \
    "$VITCL" search clip.safetensors --text dog -q >out 2>err || fail "-q"
[ ! -s err ] || fail "-q is not quiet"
run 2 search clip.safetensors p/0.png 'a dog'
says "one search cannot mix pictures and texts \\('a dog' is a text\\)$"
run 0 embed -o builtin.safetensors p
run 1 search builtin.safetensors 'a dog'
says 'needs a model of pictures and texts, such as CLIP or SigLIP; the built-in one reads no texts$'
run 0 embed -m "$VT_DATA/models/timm_clip" -o other.safetensors p
run 1 search other.safetensors 'a dog'
says '^vitcl search: --text: a model of pictures and texts is needed, such as CLIP .*timm_clip: no text tower'
run 1 search clip.safetensors -m siglip --text dog
says 'its vectors are of another model .*name its model with -m$'
run 0 embed -m clip --features class -o class.safetensors p
run 1 search class.safetensors --text dog
says 'its vectors are --features class, with which texts cannot be compared'

# ---- vectors of texts
for file in t.safetensors t.npy t.jsonl t.csv; do
    run 0 embed -m clip --text texts -o $file
done
python3 - "$VITCL" <<'P' >slow || fail "an input that does not wait"
import os, subprocess, sys, time
r, w = os.pipe()
os.set_blocking(r, False)
p = subprocess.Popen([sys.argv[1], "embed", "-m", "clip", "--text", "-"], stdin=r)
time.sleep(0.3)
os.write(w, open("texts", "rb").read())
os.close(w)
sys.exit(p.wait())
P
run 0 embed -m clip --text - <texts
cmp out slow || fail "other vectors from an input that does not wait"
cmp out t.jsonl || fail "the file is not standard output"
python3 - <<'P' || fail "other vectors of texts"
import csv, struct
from near import *
texts = [x.rstrip("\n") for x in open("texts")]
want = expected("clip", "features")
rows = [json.loads(line) for line in open("t.jsonl")]
assert [r["text"] for r in rows] == texts
for r, w in zip(rows, want, strict=True):
    near(r["features"], w, "jsonl")
table = list(csv.reader(open("t.csv", newline="")))
assert table[0][:2] == ["text", "f0"] and [r[0] for r in table[1:]] == texts
flat = struct.unpack("<36f", open("t.npy", "rb").read()[-144:])
near(flat, sum(want, []), "npy")
assert open("t.paths").read().split("\n")[:-1] == texts
P
{ cat texts && printf 'dog %.0s' {1..300} && echo; } >long
run 0 embed -m clip --text long
out_lines 4
err_has '^vitcl embed: 1 text has more than [0-9]+ tokens, as many as the model reads; the rest is cut off$'
for _ in 1 2; do # not kept, so that it is said each time
    run 0 classify -m clip --labels long p/0.png
    err_has '^vitcl classify: 1 text has more than '
done
run 0 search clip.safetensors --text "$(cat long)" -k 1
err_has '^vitcl search: 1 text has more than '
tr '\n' '\r' <texts | "$VITCL" embed -m clip --text - >out 2>err || fail "CR alone"
cmp out t.jsonl || fail "CR alone ends no line"
run 0 embed -m siglip --text texts --normalize
python3 - <<'P' || fail "vectors are not normalised"
from near import *
for line in open("out"):
    near([sum(x * x for x in json.loads(line)["features"])], [1], "length")
P
{ printf 'dog\n\xff\n\n' && head -c 17000000 /dev/zero | tr '\0' a && printf '\ndog\n'; } >bad
run 1 embed -m clip --text bad
out_lines 5
err_has '^vitcl embed: bad, line 2: is not UTF-8$'
err_has '^vitcl embed: bad, line 4: has over 16 MB$'
json out
[ "$(sed -n 1p out)" = "$(sed -n 5p out)" ] || fail "the run did not go on"
run 1 classify -m clip --labels bad p
says 'bad, line 2: is not UTF-8$'
sed -i 2d bad
run 1 classify -m clip --labels bad p
says 'bad, line 3: has over 16 MB$'
run 2 classify -m clip --labels cat,dog --prompt $'\xff {}' p
says '^vitcl classify: --prompt: '
err_has ' is not UTF-8$'
run 2 search clip.safetensors --text $'\xff'
says '^vitcl search: the text '
err_has ' is not UTF-8$'
python3 - "$VITCL" <<'P' || fail "long texts do not end at Ctrl-C"
import os, signal, subprocess, sys, time
open("big", "w").write(("ab" * 4000000 + "\n") * 8)
os.mkdir("cut")
p = subprocess.Popen([sys.argv[1], "embed", "-m", "clip", "--text", "big", "-o", "cut/x.npy"])
while p.poll() is None and not os.listdir("cut"):
    time.sleep(0.02)
p.send_signal(signal.SIGINT)
begin = time.time()
assert p.wait() == 130, p.returncode
assert time.time() - begin < 8, time.time() - begin
P
for command in 'search t.safetensors p' 'dupes t.safetensors' 'embed -u -o t.safetensors p'; do
    run 1 $command
    says 't.safetensors: its vectors are of texts, not of pictures$'
done
for option in '--size 32' '--pixels pillow' '--max-num-patches 16' --null; do
    run 2 embed -m clip --text texts $option
    says "[-]-text and ${option% *} cannot be used together$"
done
run 1 embed -m "$VT_DATA/models/timm_clip" --text texts
says '^vitcl embed: --text: .*timm_clip: no text tower'
