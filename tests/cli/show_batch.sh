# show_batch.sh - train --show-batch: the pictures of the first step, pixel for
# pixel, their labels, and what is refused.
mkdir run
cifar 16
cat >tiny.json <<'T'
{"architecture": "vit_tiny_patch16_224", "num_classes": 10,
 "model_args": {"img_size": 32, "patch_size": 16, "embed_dim": 16, "depth": 1, "num_heads": 2}}
T
t=(train --config tiny.json --data data --epochs 1 --batch 16 --hold-out 64)
run 2 "${t[@]}" -o run/a --show-batch sheet.jpg
says 'FILE.png'
[ ! -e run/a ] || fail "a folder is left"
[ -n "${VITCL_PLOT-}" ] || {
    run 1 "${t[@]}" -o run/a --show-batch sheet.png
    says 'built without Cairo'
    exit 0
}
run 0 "${t[@]}" -o run/a --augment none --show-batch sheet.png
err_has 'sheet\.png shows the first batch'
run 0 "${t[@]}" -o run/b --augment none
cmp run/a/model.safetensors run/b/model.safetensors || fail "it changes the training"

# Without augmentation each tile is a picture of the data, enlarged.
cat >check.py <<'P'
import struct, zlib
raw = open("sheet.png", "rb").read()
assert raw[:8] == b"\x89PNG\r\n\x1a\n"
width, height, depth, kind = struct.unpack(">IIBB", raw[16:26])
assert (depth, kind) == (8, 2), (depth, kind)
at, data = 8, b""
while at < len(raw):
    n, name = struct.unpack(">I4s", raw[at:at + 8])
    data += raw[at + 8:at + 8 + n] if name == b"IDAT" else b""
    at += 12 + n
data = zlib.decompress(data)
rows, last, stride = [], bytearray(3 * width), 3 * width + 1
for y in range(height):
    how, line = data[y * stride], bytearray(data[y * stride + 1:(y + 1) * stride])
    for x in range(3 * width):
        a, b, c = (line[x - 3] if x > 2 else 0), last[x], (last[x - 3] if x > 2 else 0)
        p = a + b - c
        line[x] = line[x] + (0, a, b, (a + b) // 2,
                             min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2])[how] & 255
    rows.append(line)
    last = line
known = set()
for part in range(1, 6):
    file = open(f"data/data_batch_{part}.bin", "rb").read()
    for i in range(0, len(file), 3073):
        p = file[i + 1:i + 3073]
        known.add(bytes(p[c * 1024 + k] for k in range(1024) for c in range(3)))
starts = {p[:96] for p in known}
scale, step = 5, 160 + 8  # six tiles in a row of 960 pixels
found = set()
for left in range(20):
    for y in range(height - 32 * scale):
        if bytes(rows[y][3 * (left + u * scale) + c] for u in range(32) for c in range(3)) in starts:
            found |= {bytes(rows[y + v * scale][3 * (left + i * step + u * scale) + c]
                            for v in range(32) for u in range(32) for c in range(3)) for i in range(6)} & known
    if found:
        break
print(len(found))
P
[ "$(python3 check.py)" = 16 ] || fail "$(python3 check.py) of 16 tiles are pictures of the data"

# With everything, as SVG. A folder that is not there is refused at once; a
# sheet that cannot be written later is an error, and the training goes on.
run 0 "${t[@]}" -o run/c --augment full --show-batch full.svg
grep -q '<svg' full.svg || fail "no SVG"
grep -q '<image [^>]*width="160"' full.svg || fail "viewers smooth pictures of 32 pixels"
run 1 "${t[@]}" -o run/d --show-batch no/such.png
says 'no/such\.png: cannot write: '
long=$(printf 'x%.0s' $(seq 256)).png
run 1 "${t[@]}" -o run/d --show-batch "$long"
err_has 'x\.png: '
[ -s run/d/model.safetensors ] || fail "no model"
run 0 finetune -m run/a --data data --epochs 1 --batch 16 -o run/e --show-batch fine.png
[ -s fine.png ] || fail "no sheet of finetune"

# RandAugment's operations: one sheet for each size of their changes. Shown or
# not, the training is the same.
run 0 "${t[@]}" -o run/f --augment none --preview operations.svg
err_has "operations\.svg shows RandAugment's operations"
cmp run/a/model.safetensors run/f/model.safetensors || fail "a preview changes the training"
echo '{"magnitude": 0}' >still.json
run 0 "${t[@]}" -o run/g --settings still.json --preview still.svg
! cmp -s operations.svg still.svg || fail "the magnitude changes nothing"

# Masked patches, at the end, and again of a training that has ended.
run 2 "${t[@]}" -o run/h --show-predicted seen.png
says 'needs --objective masked-patch'
run 0 "${t[@]}" -o run/h --objective masked-patch --show-predicted seen.png
err_has 'seen\.png shows the predicted patches'
run 0 train --resume -o run/h --show-predicted again.png
cmp seen.png again.png || fail "another figure of the same model"

# A training that has ended shows what it still can, and says what it cannot.
run 1 train --resume -o run/a --show-batch none.png
err_has 'none\.png is not drawn: no step was left to train'
run 1 train --resume -o run/a --curve none.png
err_has 'none\.png is not drawn: the steps of this training were not kept'
run 1 train --resume -o run/a --show-predicted none.png
err_has 'none\.png is not drawn: the objective of this training is not masked-patch'
[ ! -e none.png ] || fail 'a figure of nothing'

# The operations on a picture that is in a file.
mkdir -p files/a files/b
for i in 1 2; do cp "$VT_DATA/sample.jpg" files/a/$i.jpg && cp "$VT_DATA/sample.jpg" files/b/$i.jpg; done
sed 's/"num_classes": 10,//' tiny.json >any.json
run 0 train --config any.json --data files --epochs 1 --batch 2 -o run/i --preview files.svg
err_has "files\.svg shows RandAugment's operations"
