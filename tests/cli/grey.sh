# grey.sh - models of one channel answer as their library does, which makes a picture
# grey first; 16-bit grey, which clipping makes white, gets one note; grey that
# stays visible, colour and 8 bits get none.
models=$VT_DATA/models
for name in timm_grey hf_grey; do
    run 0 forward -m "$models/$name" -i "$models/$name/input.safetensors" -o $name.safetensors
done
photos=()
for name in small.png preprocess/in/{palette,near_31x33,tall_5x97,wide_70x3}.png; do
    photos+=("$VT_DATA/$name")
done
run 0 classify -m "$models/timm_grey" --logits rows.npy "${photos[@]}"
python3 - "$models" <<'P' || fail "other numbers than the library's"
import json, struct, sys
from tensors import near, numbers
for name in "timm_grey", "hf_grey":
    want, got = (numbers(f)["logits"] for f in (f"{sys.argv[1]}/{name}/expected.safetensors", name + ".safetensors"))
    assert list(got[0]) == list(want[0]) == [2, 5]
    near(name, got[1], want[1], 1e-4)
want = sum(json.load(open(sys.argv[1] + "/timm_grey/pictures.json")).values(), [])
data = open("rows.npy", "rb").read()
near("pictures", struct.unpack("<25f", data[-100:]), want, 1e-4)
P

small="--preset vit-ti/16 --size 16"
python3 - <<'P'
import struct, zlib
def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
def png(name, depth, kind, value, channels=1):
    row = b"\0" + (struct.pack(">H", value) if depth == 16 else bytes([value])) * 8 * channels
    with open(name, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" +
                chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, depth, kind, 0, 0, 0)) +
                chunk(b"IDAT", zlib.compress(row * 8)) + chunk(b"IEND", b""))
png("white.png", 16, 0, 3000)
png("dark.png", 16, 0, 200)
png("eight.png", 8, 0, 255)
png("colour.png", 16, 2, 3000, 3)
with open("cut.png", "wb") as f:
    f.write(open("white.png", "rb").read()[:-30])
with open("white.pgm", "wb") as f:
    f.write(b"P5 8 8 65535\n" + struct.pack(">64H", *[9000] * 64))
with open("text.pgm", "wb") as f:
    f.write(b"P2 8 8 65535\n" + b"9000 " * 64)
with open("white.tif", "wb") as f:
    tags = [(256, 3, 8), (257, 3, 8), (258, 3, 16), (259, 3, 1), (262, 3, 1), (273, 4, 8),
            (277, 3, 1), (278, 3, 8), (279, 4, 128)]
    f.write(b"II*\0" + struct.pack("<I", 8 + 128) + struct.pack("<64H", *[9000] * 64) +
            struct.pack("<H", len(tags)))
    for tag, kind, value in tags:
        f.write(struct.pack("<HHII", tag, kind, 1, value))
    f.write(struct.pack("<I", 0))
P
notes() { grep -c 'more than 8 bits .*white' err || true; }
for name in white.png white.pgm text.pgm white.tif; do
    # TIFF is optional
    "$VITCL" classify $small --json $name >out 2>err || { err_has libtiff; continue; }
    [ "$(notes)" = 1 ] || fail "$name: no note"
    err_has '^vitcl classify: .*clipped, as in Pillow'
    run 0 classify $small --json -q $name
    err_lines 0
done
for name in dark.png eight.png colour.png; do
    run 0 classify $small --json $name
    [ "$(notes)" = 0 ] || fail "$name: a note"
done
run 1 classify $small --json cut.png dark.png
[ "$(notes)" = 0 ] || fail "a note on a picture that was not read"

# One note for all of a run, however often they are read; -v names them.
mkdir -p data/{a,b}
cp white.png data/a
cp white.pgm dark.png data/b
run 0 embed $small -v -o v.npy data
[ "$(grep -c 'white$' err)" = 2 ] || fail "not both are named"
cat >config.json <<'J'
{"architecture": "vit_tiny_patch16_224", "model_args": {"img_size": 8,
 "patch_size": 4, "embed_dim": 4, "depth": 1, "num_heads": 1, "mlp_ratio": 1}}
J
run 0 train --config config.json --epochs 3 --batch 3 --data data -o run
[ "$(notes)" = 1 ] || fail "not one note of a training"
