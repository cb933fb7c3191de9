# shapes.sh - meaning: a CLIP that tools/train_shapes.py trained on drawn shapes
# finds and names what it has never seen, combinations of colour, shape, number
# and place. Its vectors are those of transformers.
unset VITCL_MODEL
model=$VT_DATA/words/shapes
python3 - "$model" <<'P'
import os, sys, zlib
data = open(sys.argv[1] + "/held_out.png", "rb").read()
rows = zlib.decompress(data[data.index(b"IDAT") + 4:])  # no filter changes them
side, row = 32, 1 + 3 * 32
texts = open(sys.argv[1] + "/held_out.txt").read().splitlines()
assert len(rows) == len(texts) * side * row
os.mkdir("p")
for i in range(len(texts)):
    picture = [rows[k * row + 1:(k + 1) * row] for k in range(i * side, (i + 1) * side)]
    with open(f"p/{i:02}.ppm", "wb") as f:
        f.write(b"P6 32 32 255\n" + b"".join(picture))
P
export VT_DATA

# ---- vectors
run 0 embed -m "$model" -o index.safetensors p
run 0 embed -m "$model" --text "$model/held_out.txt" -o texts.safetensors
python3 - <<'P' || fail "other vectors"
import os
from tensors import near, numbers
expected = numbers(os.environ["VT_DATA"] + "/words/shapes/expected.safetensors")
for ours, theirs in (("index", "pictures"), ("texts", "texts")):
    shape, x = numbers(ours + ".safetensors")["features"]
    want, y = expected[theirs]
    assert shape == want and len(x) == 48 * 32, (shape, want)
    near(theirs, x, y, 1e-4)
P

# ---- each text finds its picture, and each picture is given its text
mapfile -t texts <"$model/held_out.txt"
run 0 search index.safetensors -k 1 "${texts[@]}"
out_lines 48
cp out found
run 0 classify -m "$model" --labels "$model/held_out.txt" -k 1 p
out_lines 48
cp out named
run 0 classify -m "$model" --labels "$model/held_out.txt" --prompt 'a picture of {}' \
    --prompt 'a drawing of {}' -k 1 p
out_lines 48
cp out prompted

# ---- labels of one thing each
for kind in colours shapes numbers places; do
    case $kind in
    colours) labels='red shapes,green shapes,blue shapes,yellow shapes,purple shapes,white shapes' ;;
    shapes) labels=circles,squares,triangles,crosses ;;
    numbers) labels='one shape,two shapes,three shapes' ;;
    places) labels='shapes on the left,shapes on the right,shapes at the top,shapes at the bottom' ;;
    esac
    run 0 classify -m "$model" --labels "$labels" --prompt 'a picture of {}' -k 1 p
    cp out $kind
done
python3 - "$model/held_out.txt" <<'P' || fail "too few are right"
import sys
texts = open(sys.argv[1]).read().splitlines()
def rows(name):
    return [line.rstrip("\n").split("\t") for line in open(name)]
def share(name, right):
    assert len(right) == len(texts)
    print(f"{name}: {sum(right)} of {len(right)}")
    assert sum(right) >= 0.95 * len(right), name
share("found", [r[0] == t and r[3] == f"p/{i:02}.ppm" for i, (r, t) in enumerate(zip(rows("found"), texts))])
for name in ("named", "prompted"):
    share(name, [r[0] == f"p/{i:02}.ppm" and r[2] == t for i, (r, t) in enumerate(zip(rows(name), texts))])
def about(kind, text):
    """What a label of this kind has to be, of a caption."""
    number, colour, shape, *place = text.split()
    if kind == "colours":
        return colour + " shapes"
    if kind == "shapes":
        return {"circle": "circles", "square": "squares", "triangle": "triangles", "cross": "crosses"}.get(shape, shape)
    if kind == "numbers":
        return number + (" shape" if number == "one" else " shapes")
    return " ".join(["shapes"] + place)
for kind in ("colours", "shapes", "numbers", "places"):
    share(kind, [r[2] == about(kind, t) for r, t in zip(rows(kind), texts)])
P
