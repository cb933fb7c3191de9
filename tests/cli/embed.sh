# embed.sh - features as JSON lines, .npy and .safetensors.
picture=$VT_DATA/sample.jpg
small="--preset vit-ti/16 --size 32"
echo text >text.jpg

run 1 embed $small "$picture" text.jpg "$picture"
json out
out_lines 3
out_has '"picture":"text.jpg","error":'
err_has 'text.jpg: '
err_lines 2 # and one that says that the weights are random
[ "$(sed -n 1p out)" = "$(sed -n 3p out)" ] || fail "equal pictures differ"
[ "$(sed -n 1p out | tr -cd , | wc -c)" = 192 ] || fail "not 192 features"
run 1 embed $small -o rows.npy "$picture" text.jpg "$picture"
err_has 'text.jpg: '
python3 -c 'import struct
rows = struct.unpack("<576f", open("rows.npy", "rb").read()[512:])
assert all(x != x for x in rows[192:384])
assert rows[:192] == rows[384:]' || fail "the row of the bad picture is not NaN"
run 0 embed $small --normalize "$picture"
length=$(sed 's/.*\[\(.*\)\].*/\1/' out | tr , '\n' |
    awk '{ s += $1 * $1 } END { print s }')
awk -v s="$length" 'BEGIN { exit !(s > 0.9999 && s < 1.0001) }' ||
    fail "length $length"
run 0 embed $small --features tokens -o tokens.npy "$picture" "$picture"
head -c 512 tokens.npy | grep -aq '(2,5,192)' || fail "shape of tokens"
run 0 embed $small --features class -o class.npy "$picture"
cmp <(tail -c +513 tokens.npy | head -c 768) <(tail -c +513 class.npy) ||
    fail "the class token is not the first token"
run 0 embed -m "$VT_DATA/models/hf_clip" -o clip.safetensors "$picture"
head -c 2000 clip.safetensors | grep -aq '"features"' || fail "no features"

# The grid of patch tokens equals the tensor that tests/models compares with
# timm and Hugging Face, at a size that is neither square nor the trained one.
cat >grid.py <<'E'
import json, random, shutil, subprocess, sys
from tensors import near, numbers, parts, save
vitcl, models = sys.argv[1:]
HEIGHT, WIDTH = 24, 40
random.seed(5)
rgb = bytes(random.randrange(256) for _ in range(HEIGHT * WIDTH * 3))
open("g.ppm", "wb").write(b"P6 %d %d 255\n" % (WIDTH, HEIGHT) + rgb)
x = [(v / 255 - 0.5) / 0.5 for c in range(3) for v in rgb[c::3]]
save("x.safetensors", {"pixel_values": ("F32", [1, 3, HEIGHT, WIDTH], x)})


def flat(v):
    return [x for part in v for x in flat(part)] if isinstance(v, list) else [v]


def take(name):
    """A copy of the model that takes the picture as it is."""
    shutil.copytree(f"{models}/{name}", name)
    how = {"crop_pct": 1.0, "mean": [0.5] * 3, "std": [0.5] * 3}
    if name.startswith("timm"):
        config = json.load(open(name + "/config.json"))
        config["pretrained_cfg"].update(how)
        json.dump(config, open(name + "/config.json", "w"))
    else:
        json.dump({"do_center_crop": False, "size": {"height": HEIGHT, "width": WIDTH}, "image_mean": how["mean"], "image_std": how["std"]},
                  open(name + "/preprocessor_config.json", "w"))


rows, columns = HEIGHT // 8, WIDTH // 8
for name, prefix in ("timm_vit_gap_rect", 0), ("hf_dinov2_reg", 3), ("timm_dinov3", 5):
    take(name)
    size = ["--size", f"{HEIGHT}x{WIDTH}"]
    subprocess.check_call([vitcl, "forward", "-m", name, "-i", "x.safetensors", "-o", "f.safetensors", "--keep", "norm"])
    kept = numbers("f.safetensors")
    (_, tokens, width), want = kept.get("norm") or kept["last_hidden_state"]
    assert tokens == prefix + rows * columns, (name, tokens)
    want, most = want[prefix * width:], max(map(abs, want))
    for end in ("safetensors", "npy", "jsonl")[:None if name == "timm_dinov3" else 1]:
        subprocess.check_call([vitcl, "embed", "-m", name, "--tokens", *size, "-o", "g." + end, "g.ppm", "g.ppm",
                               *["--replace"] * (end == "safetensors")])
    shape, got = numbers("g.safetensors")["features"]
    assert shape == [2, rows, columns, width], (name, shape)
    assert got[:len(want)] == got[len(want):]
    near(name, got[len(want):], want, 1e-5 * most)
raw = open("g.npy", "rb").read()
assert b"'shape': (2,%d,%d,%d)" % (rows, columns, width) in raw[:512], raw[:200]
assert raw[512:] == parts("g.safetensors")["features"][2]
lines = [json.loads(line)["features"] for line in open("g.jsonl")]
out = subprocess.check_output([vitcl, "embed", "-m", name, "--features", "patches", *size, "g.ppm"])
for grid in (*lines, json.loads(out)["features"]):
    assert len(grid) == rows and all(len(row) == columns for row in grid)
    assert all(len(v) == width for row in grid for v in row)
    near(name, flat(grid), want, 1e-5 * most)
E
python3 grid.py "$VITCL" "$VT_DATA/models" || fail "the grid of patch tokens"
cp g.ppm h.ppm
mkdir p-npy p-safetensors
run 0 embed -m timm_dinov3 --tokens --normalize --store f16 -o index.safetensors g.ppm
run 0 embed -m timm_dinov3 --update -o index.safetensors g.ppm h.ppm
head -c 4000 index.safetensors | grep -aq '"dtype":"F16","shape":\[2,3,3,16\]' ||
    fail "the updated grid"
run 1 search index.safetensors g.ppm
says '\.safetensors: the index has many vectors of each picture; search needs one vector'
for end in npy safetensors; do
    run 0 embed -m timm_dinov3 --tokens --size 32x24 -o whole.$end g.ppm h.ppm
    for shard in 1/2 2/2; do
        run 0 embed -m timm_dinov3 --tokens --size 32x24 --shard $shard -o "p-$end/all-{shard}.$end" g.ppm h.ppm
    done
    run 0 merge p-$end
    cmp whole.$end p-$end/all.$end || fail "merged grids, .$end"
done
run 1 embed -m "$VT_DATA/models/timm_resnet" --tokens g.ppm
says 'this model has no tokens; use --features pooled'
run 1 embed -m "$VT_DATA/models/timm_vit_gap_rect" --features class g.ppm
says 'this model has no class token; use --features pooled or patches'
run 2 embed -m timm_dinov3 --tokens --features class g.ppm
says -- '--tokens is --features patches, not class; leave one out'
run 2 embed -m timm_dinov3 --tokens -o t.csv g.ppm
says 'a table has no grids of tokens'
run 1 embed -m timm_dinov3 --tokens --size 20x24 g.ppm
says 'not a multiple of its patch, 8; take 16 or 24'
