# recipes.sh - tables of data sets as they are distributed (docs/training.md), of
# which tiny copies are made here: Pets, Flowers-102, ImageNet with ReaL labels.
table=$(dirname "$VT_DATA")/../tools/dataset_table
cat >config.json <<'J'
{"architecture": "vit_tiny_patch16_224", "model_args": {"img_size": 8,
 "patch_size": 4, "embed_dim": 8, "depth": 1, "num_heads": 1, "mlp_ratio": 1}}
J
python3 - <<'P'
import os, random, struct, zlib
random.seed(1)
def picture(path, k):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(b"P6 8 8 255\n" + bytes(min(255, max(0, v + random.randrange(-30, 30)))
                for _ in range(64) for v in (k * 100, 255 - k * 100, 90)))
# ---- Pets: cats begin with a capital letter
os.makedirs("pets/annotations")
for split, first in (("trainval", 1), ("test", 101)):
    with open(f"pets/annotations/{split}.txt", "w") as f:
        for k, breed in enumerate(("Abyssinian", "american_bulldog", "Maine_Coon")):
            for i in range(first, first + 3):
                f.write(f"{breed}_{i} {k + 1} {1 + (k == 1)} 1\n")
                picture(f"pets/images/{breed}_{i}.jpg", k)
# ---- Flowers-102: .mat files of level 5, one compressed, with short elements
def element(kind, data):
    return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)
def matrix(name, kind, form, values):
    text = name.encode()
    named = (struct.pack("<I", len(text) << 16 | 1) + text.ljust(4, b"\0")
             if len(text) <= 4 else element(1, text))
    return element(14, element(6, struct.pack("<II", 6, 0))
                   + element(5, struct.pack("<ii", 1, len(values))) + named
                   + element(kind, struct.pack(f"<{len(values)}{form}", *values)))
def packed(data):
    data = zlib.compress(data)
    return struct.pack("<II", 15, len(data)) + data
def mat(path, *arrays):
    with open(path, "wb") as f:
        f.write(b"MATLAB 5.0 MAT-file".ljust(124) + b"\0\1IM" + b"".join(arrays))
label = [1 + i % 3 * 50 for i in range(12)]
for i, k in enumerate(label):
    picture(f"flowers/jpg/image_{i + 1:05}.jpg", k // 50)
mat("flowers/imagelabels.mat", packed(matrix("labels", 2, "B", label)))
mat("flowers/setid.mat", packed(matrix("trnid", 9, "d", range(1, 7))),
    packed(matrix("valid", 4, "H", [7, 8, 9])), matrix("id", 2, "B", [1]),
    packed(matrix("tstid", 9, "d", [10, 11, 12])))
# ---- ImageNet: three classes, whose numbers are in another order
for i in range(6):
    picture(f"imagenet/ILSVRC2012_val_{i + 1:08}.JPEG", i % 3)
names = ["n01440764", "n02119789", "n02123045"]
open("truth.txt", "w").write("".join(f"{(3, 1, 2)[i % 3]}\n" for i in range(6)))
open("map_clsloc.txt", "w").write("n02119789 1 kit_fox\nn02123045 2 tabby\nn01440764 3 tench\n")
open("synsets.txt", "w").write("".join(names[i % 3] + "\n" for i in range(6)))
open("real.json", "w").write("[[0], [], [2, 1], [1], [1], [0, 2]]")
P
"$table" pets pets >pets/table.csv
"$table" flowers flowers >flowers/table.csv
"$table" imagenet imagenet truth.txt map_clsloc.txt >imagenet/table.csv
"$table" imagenet imagenet synsets.txt | cmp - imagenet/table.csv || fail 'other synsets'
grep -q '^images/american_bulldog_2.jpg,american_bulldog,train$' pets/table.csv ||
    fail 'another table of pets'
grep -q '^jpg/image_00009.jpg,101,val$' flowers/table.csv || fail 'another table of flowers'
grep -q '^ILSVRC2012_val_00000002.JPEG,n02119789,val$' imagenet/table.csv ||
    fail 'another table of ImageNet'

given=(train --config config.json --epochs 2 --batch 3 --lr 0.01 --augment none)
run 0 "${given[@]}" --data pets/table.csv -o pet
run 0 eval -m pet --data pets/table.csv --json
out_has '"pictures":9,.*"classes":3,'
run 0 "${given[@]}" --data flowers/table.csv --val flowers/table.csv -o flower
err_has 'held-out accuracy'
run 0 eval -m flower --data flowers/table.csv --json
out_has '"pictures":3,'
run 0 "${given[@]}" --data imagenet/table.csv --split val -o net
run 0 eval -m net --data imagenet/table.csv --labels real.json --json
out_has '"pictures":6,.*"real_pictures":5,'

# ---- what is missing is named
! "$table" imagenet imagenet truth.txt >/dev/null 2>err || fail 'numbers without a map'
err_has "^truth.txt: line 1: no synset of '3'; give MAP$"
! "$table" pets flowers >/dev/null 2>err || fail 'a folder of other data'
err_has 'trainval.txt'
