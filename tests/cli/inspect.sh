# inspect.sh - rollout and attention distance of real models: the files, their
# numbers, and what is refused.
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
a/sample.jpg.rollout.png
a/sample.jpg.1.rollout.png
a/attention-distance.tsv
a/attention-distance.png
a/attention-distance.svg
T
diff want out || fail "the names of the files"
while read -r name; do
    [ -s "$name" ] || fail "$name is missing"
done <out
cmp a/sample.jpg.rollout.safetensors a/sample.jpg.1.rollout.safetensors ||
    fail "equal pictures differ"

# check FOLDER LAYERS HEADS HEIGHT WIDTH ROWS COLUMNS: the shares of patches are
# positive and add up to at most 1; distances are below the diagonal.
cat >check.py <<'END'
import json, math, struct, sys
folder, (layers, heads, height, width, rows, columns) = sys.argv[1], map(int, sys.argv[2:])
raw = open(folder + "/sample.jpg.rollout.safetensors", "rb").read()
n = struct.unpack("<Q", raw[:8])[0]
head = json.loads(raw[8:8 + n])["rollout"]
assert head["shape"] == [rows, columns], head
v = struct.unpack("<%df" % (rows * columns), raw[8 + n:])
assert all(x > 0 for x in v) and 0.2 < sum(v) <= 1.000001, sum(v)
lines = open(folder + "/attention-distance.tsv").read().splitlines()
assert lines[0] == "layer\thead\tpixels"
cells = [line.split("\t") for line in lines[1:]]
assert [c[:2] for c in cells] == [[str(l), str(h)] for l in range(layers) for h in range(heads)]
assert all(0 < float(c[2]) < math.hypot(height, width) for c in cells), cells
END
check() { python3 check.py "$@" || fail "numbers of $1"; }
check a 2 2 24 24 3 3

# a rectangle without class token; registers; a hybrid
run 0 inspect -m "$VT_DATA/models/timm_vit_gap_rect" -o b "$picture"
check b 2 2 16 32 2 4
run 0 inspect -m "$VT_DATA/models/hf_dinov2_reg" -o c "$picture"
check c 2 2 24 24 3 3
run 0 inspect -o d --heads max --discard 0.5 --residual 0.25 "$picture"
run 0 inspect "${model[@]}" --heads min -o e "$picture"
! cmp -s a/sample.jpg.rollout.safetensors e/sample.jpg.rollout.safetensors ||
    fail "--heads changes nothing"

run 1 inspect "${model[@]}" -o a "$picture"
says 'a exists already; name a new folder'
run 1 inspect "${model[@]}" -o none/here "$picture"
says 'none/here: cannot make the folder: '
run 1 inspect -m "$VT_DATA/models/timm_resnet" -o f "$picture"
err_has 'has no attention over patches'
[ ! -e f ] || fail "an empty folder is left"
run 2 inspect "${model[@]}" -o g
run 2 inspect "${model[@]}" "$picture"
says -- '--output DIR is required'
run 2 inspect "${model[@]}" -o g --residual 1 "$picture"
says 'are shares, below 1'
[ ! -e g ] || fail "wrong usage makes a folder"
