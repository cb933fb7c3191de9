# inspect.sh - the figures of real models, their numbers, their index, and what
# is refused.
picture=$VT_DATA/sample.jpg
[ -n "${VITCL_PLOT-}" ] || {
    run 1 inspect --preset vit-ti/16 -o out "$picture"
    says 'built without Cairo'
    [ ! -e out ] || fail "a folder is left"
    exit 0
}
echo text >text.jpg
mkdir other
cp "$picture" other/sample.jpg
model=(-m "$VT_DATA/models/timm_vit")
run 1 inspect "${model[@]}" -o a "$picture" text.jpg other/sample.jpg
err_has 'text.jpg: '
cat >want <<'T'
a/model/filters.png
a/model/positions.png
a/sample.jpg/rollout.png
a/sample.jpg/attention.png
a/sample.jpg/pca.png
a/sample.jpg.1/rollout.png
a/sample.jpg.1/attention.png
a/sample.jpg.1/pca.png
a/model/attention-distance.tsv
a/model/attention-distance.png
a/inspect.json
a/report.html
T
diff want out || fail "the names of the files"
for name in rollout attention pca; do
    cmp "a/sample.jpg/$name.safetensors" "a/sample.jpg.1/$name.safetensors" ||
        fail "equal pictures differ"
done

# check FOLDER LAYERS HEADS HEIGHT WIDTH ROWS COLUMNS [LEFT_OUT...]: the index
# names files that exist, and numbers have their shapes and ranges.
cat >check.py <<'END'
import json, math, os, sys
from tensors import numbers
folder, (layers, heads, height, width, rows, columns) = sys.argv[1], map(int, sys.argv[2:8])
index = json.load(open(folder + "/inspect.json", encoding="utf-8"))
assert [x["figure"] for x in index["left_out"]] == sys.argv[8:], index["left_out"]
shown = {}
for figure in index["figures"] + index["pictures"][0]["figures"]:
    assert figure["title"] and figure["alt"] and figure["caption"], figure
    for key in "png", "svg", "tensors", "numbers":
        assert os.path.getsize(folder + "/" + figure[key]), figure[key]
    (name, (shape, values)), = numbers(folder + "/" + figure["tensors"]).items()
    text = json.load(open(folder + "/" + figure["numbers"]))
    assert text["name"] == name and text["shape"] == shape, text
    assert all(math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-12) for a, b in zip(values, text["values"], strict=True))
    shown[name] = shape, values
shape, v = shown["rollout"]
assert shape == [rows, columns], shape
assert all(x > 0 for x in v) and 0.2 < sum(v) <= 1.000001, sum(v)
shape, v = shown["attention"]
assert shape[1:] == [rows, columns] and (min(v) > 0 or index["model"]["family"] == "axial") and sum(v) <= shape[0] * 1.000001, shape
assert shown["pca"][0] == [3, rows, columns]
shape, v = shown["attention_distance"]
assert shape == [layers, heads] and all(0 < x < math.hypot(height, width) for x in v)
lines = open(folder + "/model/attention-distance.tsv").read().splitlines()
assert lines[0] == "layer\thead\tpixels"
cells = [line.split("\t") for line in lines[1:]]
assert [c[:2] for c in cells] == [[str(l), str(h)] for l in range(layers) for h in range(heads)]
assert all(math.isclose(float(c[2]), x, rel_tol=1e-5) for c, x in zip(cells, v)), cells
if "positions" in shown:
    shape, v = shown["positions"]
    n = shape[0] * shape[1]
    assert shape[2:] == shape[:2] and len(v) == n * n
    assert all(abs(v[i * n + i] - 1) < 1e-6 for i in range(n)), "not like itself"
assert index["pictures"][0]["classes"] == sorted(index["pictures"][0]["classes"], key=lambda c: -c["probability"])
END
check() { python3 check.py "$@" || fail "figures of $1"; }
check a 2 2 24 24 3 3

# a rectangle without class token; registers; relative positions; a hybrid
run 0 inspect -m "$VT_DATA/models/timm_vit_gap_rect" -o b "$picture"
check b 2 2 16 32 2 4
run 0 inspect -m "$VT_DATA/models/hf_dinov2_reg" -o c "$picture"
check c 2 2 24 24 3 3
run 0 inspect -m "$VT_DATA/models/timm_relpos_cls" -o rel "$picture"
check rel 2 2 24 24 3 3 positions
run 0 inspect -m "$VT_DATA/models/timm_hybrid" -o hybrid "$picture"
python3 - hybrid <<'E' || fail "a hybrid"
import json, sys
index = json.load(open(sys.argv[1] + "/inspect.json"))
assert [x["figure"] for x in index["left_out"]] == ["filters"], index
assert len(index["pictures"][0]["figures"]) == 3
E
run 0 inspect -o d --heads max --discard 0.5 --residual 0.25 "$picture"
run 0 inspect "${model[@]}" --heads min -o e "$picture"
! cmp -s a/sample.jpg/rollout.safetensors e/sample.jpg/rollout.safetensors ||
    fail "--heads changes nothing"

# axial attention: a patch looks along its row in even layers, along its column
# in odd ones
for layer in 0 3; do
    run 0 inspect -m "$VT_DATA/models/timm_axial" --layer "$layer" --query 9,17 -o "axial$layer" "$picture"
    check "axial$layer" 4 2 24 40 3 5
done
python3 - <<'E' || fail "the patches that an axial layer looks at"
import json
for layer, seen in (0, lambda y, x: y == 2), (3, lambda y, x: x == 1):
    t = json.load(open(f"axial{layer}/sample.jpg/attention.json"))
    heads, rows, columns = t["shape"]
    for h in range(heads):
        v = t["values"][h * rows * columns:(h + 1) * rows * columns]
        assert abs(sum(v) - 1) < 1e-5, v
        assert all((p > 0) == seen(*divmod(i, columns)) for i, p in enumerate(v)), v
E
run 1 inspect -m "$VT_DATA/models/timm_axial" --class top -o g "$picture"
says 'relevance is not available for axial attention'
run 1 inspect -m "$VT_DATA/models/timm_axial" --discard 0.5 -o g "$picture"
says -- '--discard is not available for axial attention'
[ ! -e g ] || fail "a refusal leaves a folder"

# several pictures in one basis: the left half of a picture has the same colours
# as where it is the right half
python3 - <<'E'
import random
random.seed(1)
def half():
    return [bytes(random.randrange(256) for _ in range(24 * 3)) for _ in range(48)]
a, b, c = half(), half(), half()
def save(name, left, right):
    open(name, "wb").write(b"P6 48 48 255\n" + b"".join(l + r for l, r in zip(left, right)))
save("1.ppm", a, b)
save("2.ppm", b, c)
save("3.ppm", c, a)
E
cp -r "$VT_DATA/models/timm_vit" local
python3 - <<'E'
# No positions, and no attention: a token is its patch's.
import json
from tensors import parts, save
weights = parts("local/model.safetensors")
for name, (dtype, shape, data) in weights.items():
    if name == "pos_embed" or ".attn.proj." in name:
        weights[name] = dtype, shape, bytes(len(data))
save("local/model.safetensors", weights)
config = json.load(open("local/config.json"))
config["pretrained_cfg"]["crop_pct"] = 1.0
json.dump(config, open("local/config.json", "w"))
E
run 0 inspect -m local --size 48 --together -o all 1.ppm 2.ppm 3.ppm
run 0 inspect -m local --size 48 --together -o again 3.ppm 2.ppm 1.ppm
run 0 inspect -m local --size 48 -o own 1.ppm 2.ppm 3.ppm
grep -q 'components of the patch tokens of 3 pictures' all/inspect.json || fail "a caption"
python3 - <<'E' || fail "pictures in one basis"
import json
def scores(folder, picture):
    t = json.load(open(f"{folder}/{picture}.ppm/pca.json"))
    assert t["shape"] == [3, 6, 6]
    v = t["values"]
    rows = [[tuple(v[k * 36 + y * 6 + x] for k in range(3)) for x in range(6)] for y in range(6)]
    return [r[:3] for r in rows], [r[3:] for r in rows]
def far(a, b):
    return max(abs(p - q) for r, s in zip(a, b) for u, v in zip(r, s) for p, q in zip(u, v))
def check(folder):
    (a, b), (b2, c), (c2, a2) = (scores(folder, k) for k in "123")
    return max(far(a, a2), far(b, b2), far(c, c2)), max(far(a, b), far(a, c))
same, other = check("all")
assert same < 1e-4 * other, (same, other)
same, _ = check("own")
assert same > 1e-2 * other, (same, other)
same, other = max(far(x, y) for k in "123" for x, y in zip(scores("all", k), scores("again", k))), other
assert same < 1e-4 * other, ("the order of the pictures changes the basis", same)
# Of all tokens: the mean of a component is 0, and the first varies most.
values = [[x for k in "123" for half in scores("all", k) for row in half for t in row for x in t[i:i + 1]] for i in range(3)]
assert all(abs(sum(v)) < 1e-3 * max(v) for v in values)
spread = [sum(x * x for x in v) for v in values]
assert spread[0] > spread[1] > spread[2] > 0
assert abs(sum(x * y for x, y in zip(*values[:2]))) < 1e-4 * spread[0]
E
run 2 inspect -m local --together -o g - </dev/null
says -- '--together needs pictures that can be read twice'
run 2 inspect -m local --together -o g
says -- '--together needs pictures that can be read twice'
run 2 inspect -m local --together -o g /dev/stdin < <(cat 1.ppm)
says -- '--together needs pictures that can be read twice'

# NaFlex: the largest square of the budget; positions of its grid, and YOLOS'
run 0 inspect -m "$VT_DATA/models/timm_naflex" --together -o naflex "$picture"
check naflex 2 2 48 48 6 6
run 0 inspect -m "$VT_DATA/models/hf_naflex" -o hf_naflex
run 0 inspect -m "$VT_DATA/models/hf_yolos" -o hf_yolos
python3 - "$VT_DATA/models" <<'E' || fail "positions of NaFlex and YOLOS"
import json, math, sys
from tensors import near, numbers
for model, name, first, shape in (("hf_naflex", "embeddings.position_embedding.weight", 0, [5, 5, 5, 5]),
                                  ("hf_yolos", "embeddings.position_embeddings", 1, [3, 4, 3, 4])):
    (*_, width), v = numbers(f"{sys.argv[1]}/{model}/model.safetensors")[name]
    rows = [v[i * width:(i + 1) * width] for i in range(first, first + math.prod(shape[:2]))]
    dot = lambda a, b: sum(x * y for x, y in zip(a, b))
    want = [dot(a, b) / math.sqrt(dot(a, a) * dot(b, b)) for a in rows for b in rows]
    got = json.load(open(model + "/model/positions.json"))
    assert got["shape"] == shape, got["shape"]
    near(model, got["values"], want, 1e-5)
E

# a long name is cut between characters
long=$(printf 'x%.0s' {1..2}; printf '写%.0s' {1..70}).ppm
cp 1.ppm "$long"
run 0 inspect -m local -o cut "$long"
! grep -q $'\xef\xbf\xbd' cut/inspect.json || fail "a name is cut inside a character"

# Names that JSON cannot express, that are taken, or that leave no room for a
# number: each line on stdout is a file, and the index names what is there.
whole=$(printf 'x%.0s' {1..250}).ppm
cp 1.ppm "other/$whole"
for name in $'bad\xff\n\e[31m.ppm' inspect.json report.html "$whole"; do
    cp 1.ppm "$name"
    set -- "$@" "$name"
done
run 0 inspect -m local -o odd "$@" "other/$whole"
while read -r name; do [ -f "$name" ] || fail "no file $name"; done <out
python3 - <<'E' || fail "an index of odd names"
import json, os
index = json.load(open("odd/inspect.json"))
folders = [p["folder"] for p in index["pictures"]]
assert folders == ["bad___[31m.ppm", "inspect.json.1", "report.html.1", "x" * 250 + ".ppm", "x" * 248 + ".1"], folders
assert all(os.path.getsize("odd/" + f["png"]) for p in index["pictures"] for f in p["figures"])
E
# One without a folder ends the run; the index and the page have those before.
root=$(printf './%.0s' {1..1950})far
run 1 inspect -m local -o "$root" 1.ppm "$whole" 2.ppm
err_has 'xxx.ppm: the path is too long$'
python3 -c 'import json; assert len(json.load(open("far/inspect.json"))["pictures"]) == 1' ||
    fail "the index after a failure"
[ -s far/report.html ] || fail "no page after a failure"
on_terminal 80 0 inspect -m local -o $'red\e[31m'
out_has '^red\\033\[31m/report.html$'

# another size; a layer, a head, a patch
run 0 inspect "${model[@]}" --size 32x40 -o big "$picture"
check big 2 2 32 40 4 5
run 0 inspect "${model[@]}" --layer 0 --head 1 --query 23,8 -o f "$picture"
grep -q '"title": "Attention of layer 0, head 1"' f/inspect.json || fail "a title"
grep -q 'from the patch in row 2, column 3' f/inspect.json || fail "a patch"
! cmp -s a/sample.jpg/attention.safetensors f/sample.jpg/attention.safetensors ||
    fail "--query changes nothing"
for wrong in '--layer 2' '--head x' '--query 24,0' '--query 0,24' '--query 3' '--query 1,2,3' '--layer -1' '--class 5'; do
    # shellcheck disable=SC2086
    run 2 inspect "${model[@]}" -o g $wrong "$picture"
    [ ! -e g ] || fail "$wrong leaves a folder"
done

run 2 inspect "${model[@]}" -o g --class cat "$picture"
says -- '--class cat: it has to be top or a whole number from 0'

# the relevance for a class: the best one is the same as by its index
run 0 inspect "${model[@]}" --class top -o top "$picture"
best=$(python3 -c 'import json; print(json.load(open("top/inspect.json"))["pictures"][0]["classes"][0]["index"])')
run 0 inspect "${model[@]}" --class "$best" -o best "$picture"
run 0 inspect "${model[@]}" --class "$(((best + 1) % 5))" -o next "$picture"
cmp top/sample.jpg/relevance.safetensors best/sample.jpg/relevance.safetensors ||
    fail "the relevance for the best class"
! cmp -s top/sample.jpg/relevance.safetensors next/sample.jpg/relevance.safetensors ||
    fail "--class changes nothing"
# Figures begin at what the head reads: here the patches, not a token in front
# of them. Of one layer, the gradient is not in those tokens' rows.
cp -r "$VT_DATA/models/timm_vit_avg_reg" bare
python3 - <<'E'
import json
from tensors import parts, save
weights = {n: t for n, t in parts("bare/model.safetensors").items() if not n.startswith(("cls_token", "blocks.1."))}
dtype, (one, rows, width), data = weights["pos_embed"]
weights["pos_embed"] = dtype, [one, rows - 1, width], data[len(data) // rows:]
save("bare/model.safetensors", weights)
config = json.load(open("bare/config.json"))
config["model_args"] |= {"depth": 1, "class_token": False}
json.dump(config, open("bare/config.json", "w"))
E
run 0 inspect -m bare --size 16 --class top -o pooled "$picture"
! grep -q 'the class token' pooled/inspect.json || fail "a register is called the class token"
grep -q 'reaches the mean of all patches through' pooled/inspect.json || fail "the caption of a rollout"
for query in 0,0 8,0 0,8 8,8; do
    run 0 inspect -m bare --size 16 --query $query -o "$query" "$picture"
done
python3 - <<'E' || fail "figures of pooled patches"
from tensors import near, numbers
(_, v), = numbers("pooled/sample.jpg/relevance.safetensors").values()
assert min(v) >= 0 and max(v) > 0, v
def attention(folder):
    (_, v), = numbers(folder + "/sample.jpg/attention.safetensors").values()
    return v
each = [attention(folder) for folder in ("0,0", "8,0", "0,8", "8,8")]
mean = [sum(v) / 4 for v in zip(*each)]
near("the mean of the patches' attention", attention("pooled"), mean, 1e-6)
# The rollout of one layer: half of the heads' mean, and half of the patch itself.
(_, v), = numbers("pooled/sample.jpg/rollout.safetensors").values()
near("the rollout", v, [(a + b) / 4 + 1 / 8 for a, b in zip(mean[:4], mean[4:])], 1e-6)
E
run 1 inspect -m "$VT_DATA/models/hf_vit_bare" --class top -o g "$picture"
err_has 'has no classes for --class'

# without pictures
run 0 inspect "${model[@]}" -o weights
[ "$(cat out)" = "weights/model/filters.png
weights/model/positions.png
weights/inspect.json
weights/report.html" ] || fail "the figures of weights"
cmp weights/model/filters.safetensors a/model/filters.safetensors || fail "filters"
run 1 inspect -m "$VT_DATA/models/timm_resnet" -o g
err_has 'has neither patch filters nor position embeddings'

run 1 inspect "${model[@]}" -o a "$picture"
says 'a exists already; name a new folder'
run 1 inspect "${model[@]}" -o none/here "$picture"
says 'none/here: cannot make the folder: '
run 1 inspect -m "$VT_DATA/models/timm_resnet" -o g "$picture"
err_has 'has no attention over patches'
[ ! -e g ] || fail "an empty folder is left"
run 2 inspect "${model[@]}" "$picture"
says -- '--output DIR is required'
run 2 inspect "${model[@]}" -o g --residual 1 "$picture"
says 'are shares, below 1'
for wrong in '--layer 0' '--head 0' '--query 0,0' '--class top' '--heads max' '--residual 0.1' '--discard 0.1' \
    '--pixels pillow' --no-recursive --follow --null; do
    # shellcheck disable=SC2086
    run 2 inspect "${model[@]}" -o g $wrong
    says -- "${wrong% *} is about pictures; name some"
done
[ ! -e g ] || fail "wrong usage makes a folder"
