# own_pictures.sh - a training as people do it: folders of pictures of which some
# are broken, killed, resumed for more epochs, validated; the best model evaluated.
cat >config.json <<'J'
{"architecture": "vit_tiny_patch16_224", "model_args": {"img_size": 16,
 "patch_size": 4, "embed_dim": 16, "depth": 2, "num_heads": 2, "mlp_ratio": 2}}
J
# Green circles on blue and red crosses on black, 50 and 10 of each; three of the
# hundred are broken.
python3 - <<'P'
import os, random
random.seed(5)
for part, n in (("train", 50), ("val", 10)):
    for shape in ("circle", "cross sign"):
        os.makedirs(f"photos/{part}/{shape}")
        for i in range(n):
            x, y, r = (random.randrange(a, b) for a, b in ((6, 10), (6, 10), (3, 6)))
            def ink(u, v):
                if shape == "circle":
                    return abs((u - x) ** 2 + (v - y) ** 2 - r * r) <= r
                return min(abs(u - x), abs(v - y)) == 0 and max(abs(u - x), abs(v - y)) <= r
            pixels = bytes(b for v in range(16) for u in range(16)
                           for b in (200 * ink(u, v) * (shape != "circle"),
                                     200 * ink(u, v) * (shape == "circle"),
                                     250 * (shape == "circle")))
            with open(f"photos/{part}/{shape}/{i:02}.ppm", "wb") as f:
                f.write(b"P6 16 16 255\n" + pixels)
for name, keep in (("circle/07", 300), ("circle/31", 13), ("cross sign/22", 0)):
    os.truncate(f"photos/train/{name}.ppm", keep)
P
given=(--config config.json --data photos/train --val photos/val --batch 16
       --lr 0.003)

# killed, resumed, then continued for more epochs
signal_at 'log 9 9' 137 train "${given[@]}" --epochs 2 --log log -o model
err_has '3 files cannot be decoded and are left out; model/left_out.txt lists them'
run 0 train --resume -o model
run 0 train --resume -o model --epochs 6
err_has 'epochs 2 -> 6'
err_has 'the best epoch was [0-9]+, with [0-9.]+ % of the held-out pictures right; its model is in model/best'
said=$(sed -n 's/.*best epoch was [0-9]*, with \([0-9.]*\) %.*/\1/p' err)

# the same without the kill
run 0 train "${given[@]}" --epochs 2 -o plain
run 0 train --resume -o plain --epochs 6 -q # which hides no loss of pictures
err_has '^vitcl train: 3 files could not be decoded and were left out$'
err_lines 1
for f in model.safetensors best/model.safetensors training.safetensors; do
    cmp "model/$f" "plain/$f" || fail "$f: other bits after a kill"
done

# photos/val is what eval reads of photos
run 0 eval -m model/best --data photos --json --classes --confusion matrix.csv
python3 - "$said" <<'P' || fail "the best model's scores"
import csv, json, sys
r = json.load(open("out"))
assert abs(100 * r["top1"] - float(sys.argv[1])) < 0.01, (r["top1"], sys.argv[1])
rows = list(csv.reader(open("matrix.csv")))
assert rows[0][1:] == ["circle", "cross sign"], rows
right = sum(int(rows[i + 1][i + 1]) for i in range(2))
assert right == round(20 * r["top1"]) and right >= 18, (right, r)
P
run 0 classify -m model/best --csv photos/val
out_lines 21

# timm loads the best model and gives its answers
if ! python3 -c 'import timm' 2>/dev/null; then
    echo "timm is not installed: the model was not loaded there"
    exit
fi
run 0 classify -m model/best --json photos/val
python3 - <<'P' || fail "timm's answers"
import json, numpy, timm, torch
from PIL import Image
from safetensors.torch import load_file
c = json.load(open("model/best/config.json"))
net = timm.create_model(c["architecture"], num_classes=2, **c["model_args"])
net.load_state_dict(load_file("model/best/model.safetensors"))
look = timm.data.create_transform(**timm.data.resolve_data_config(c["pretrained_cfg"]))
for row in map(json.loads, open("out")):
    with torch.no_grad():
        p = net.eval()(look(Image.open(row["picture"]).convert("RGB"))[None]).softmax(-1)[0]
    top = row["top"][0]
    assert top["index"] == p.argmax() and abs(p.max() - top["probability"]) < 1e-4, (row, p)
P
