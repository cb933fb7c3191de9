# mistakes.sh - the message for each mistake of mistakes.txt.
#
# mistakes.txt is a transcript: a command after "$ ", its exit status, and the
# lines on standard error. A line that begins with # is a heading. This case
# runs every command in a folder with the files made below and compares.
#
# To update mistakes.txt with the present messages, for review as a diff:
#
#   VT_UPDATE_MISTAKES=1 ctest --test-dir build -R cli_mistakes
#
# Parts that differ between machines are replaced: the case's folder by
# nothing, the tests' data by DATA, the device by DEVICE, a list of devices by
# DEVICES, what the names of two have in common by TWIN, the words of libheif by
# WORDS, a size in MB or a batch that fits by N.
file=$(dirname "$VT_DATA")/cli/mistakes.txt
here=$PWD
export HOME=$here HF_HOME=$here/huggingface VITCL_DEVICE=cpu
unset VITCL_MODEL HF_HUB_CACHE

python3 - "$VT_DATA" <<'PYTHON'
import json, os, shutil, struct, sys, zlib
from tensors import parts, save

data = sys.argv[1]
models = data + "/models"


def write(path, content):
    if os.path.dirname(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(content if isinstance(content, bytes) else content.encode())


def read(path):
    with open(path, "rb") as f:
        return f.read()


def model(name, config=None, weights=None):
    """A copy of models/timm_vit with another config or other weights."""
    old = models + "/timm_vit/"
    settings = json.loads(read(old + "config.json"))
    if config:
        settings.update(config)
    write(name + "/config.json", json.dumps(settings))
    save(name + "/model.safetensors", weights or parts(old + "model.safetensors"))


# Pictures: a good one, and one broken in each format.
cat = read(data + "/sample.jpg")
write("cat.jpg", cat)
write("empty.jpg", "")
write("text.jpg", "a line of text\n")
write("cut.jpg", cat[:3000])


def chunk(kind, content):
    return (struct.pack(">I", len(content)) + kind + content +
            struct.pack(">I", zlib.crc32(kind + content)))


def png(width, height, content):
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) +
            chunk(b"IDAT", zlib.compress(content)) + chunk(b"IEND", b""))


write("cut.png", png(8, 8, b"\0" * 200)[:50])
write("huge.png", png(30000, 30000, b"\0" * 100))
write("cut.gif", b"GIF89a\x08\0\x08\0\x80\0\0\0\0\0\xff\xff\xff,\0\0")
write("cut.bmp", b"BM" + struct.pack("<IHHIIiiHHIIiiII", 246, 0, 0, 54, 40, 8,
                                      8, 1, 24, 0, 192, 0, 0, 0, 0))
write("cut.ppm", b"P6 8 8 255\n" + b"\0" * 20)
write("cut.psd", b"8BPS\0\1" + b"\0" * 8)
write("cat.webp", b"RIFF\x24\0\0\0WEBPVP8 \x18\0\0\0" + b"\0" * 24)
write("cat.tif", b"II*\0\x08\0\0\0" + b"\0" * 16)
write("cat.heic", b"\0\0\0\x18ftypheic\0\0\0\0heicmif1" + b"\0" * 8)
os.mkdir("empty")
write("papers/notes.txt", "a line of text\n")

# Models.
model("vit")
good = read("vit/model.safetensors")
weights = parts("vit/model.safetensors")
model("swin", {"architecture": "swin_tiny_patch4_window7_224"})
model("cut")
write("cut/model.safetensors", good[:-1000])
model("patches", {"model_args": {"patch_size": 7, "img_size": 24,
                                 "embed_dim": 16, "depth": 2, "num_heads": 2}})
broken = dict(weights)
del broken["norm.weight"]
model("headless", weights=broken)
broken = dict(weights)
dtype, shape, part = broken["head.weight"]
broken["head.weight"] = (dtype, shape[::-1], part)
model("transposed", weights=broken)
broken = dict(weights)
dtype, shape, part = broken["head.bias"]
broken["head.bias"] = (dtype, shape, b"\xff" * len(part))
model("nan", weights=broken)
model("comma")
write("comma/config.json", '{"architecture": "vit_base_patch16_224",}')
write("configless/model.safetensors", good)
write("weightless/config.json", read("vit/config.json"))
save("other.safetensors", {"x": ("F32", [1], [0])})
shutil.copy(models + "/timm_vit/input.safetensors", "input.safetensors")
os.symlink(models + "/hf_clip", "clip")
os.symlink(models + "/hybrid_basic", "hybrid")

# A cache of Hugging Face, with a download that was broken off.
commit = "0123456789abcdef0123456789abcdef01234567"
hub = "huggingface/hub/models--timm--vit"
write(f"{hub}/refs/main", commit)
write(f"{hub}/snapshots/{commit}/config.json", read("vit/config.json"))
os.symlink("../../blobs/aa", f"{hub}/snapshots/{commit}/model.safetensors")

# Data sets.
for kind in "cat", "dog":
    for i in range(4):
        write(f"pets/{kind}/{i}.jpg", cat)
        write(f"wild/{kind}/{i}.jpg", cat)
write("wild/fox/0.jpg", cat)
os.makedirs("flat")
write("flat/0.jpg", cat)
for name in ["data_batch_%d" % i for i in range(1, 6)] + ["test_batch"]:
    write(f"cifar/{name}.bin", b"\0" * 3073 * 2)
write("cifar/data_batch_3.bin", b"\0" * 3073 + b"\0" * 100)
for name in ["data_batch_%d" % i for i in range(1, 6)] + ["test_batch"]:
    write(f"cifar11/{name}.bin", (b"\x0b" + b"\0" * 3072) * 2)
write("labels.json", "[[0], [1]]")
write("lr.json", '{"learning_rate": 0.1}')
write("sgd.json", '{"optimizer": "sdg"}')
write("tiny.json", json.dumps({
    "architecture": "vit_tiny_patch16_224",
    "model_args": {"img_size": 16, "patch_size": 8, "embed_dim": 16,
                   "depth": 1, "num_heads": 2, "mlp_ratio": 2}}))
write("old/notes.txt", "a line of text\n")
PYTHON
: >x.npy
mkdir none folder.npy

run 0 train --config tiny.json --data pets --epochs 1 --batch 4 -o trained

vitcl() { "$VITCL" "$@"; }

# Two devices of one name need PoCL, which creates as many as requested.
run 0 devices --json
name=$(sed -n '/Portable Computing Language/s/.*"name":"\([^"]*\)".*"type":"cpu".*/\1/p' \
    out | head -n 1)
[ -n "$name" ] || skip "no device of PoCL"
twin=${name#*-} # what names of PoCL's devices on this machine have in common

# Of the lines that begin with ^A, which are from standard error.
plain() {
    python3 -c 'import re, sys
here, data, name, twin = sys.argv[1:]
for line in sys.stdin.buffer.read().decode(errors="backslashreplace").split("\n")[:-1]:
    if not line.startswith("\1"):
        print(line)
        continue
    line = line[1:]
    for old, new in ((here + "/", ""), (data, "DATA"), (name, "DEVICE"),
                     (twin, "TWIN")):
        line = line.replace(old, new)
    line = re.sub(r"(available|name one): .*", r"\1: DEVICES", line)
    line = re.sub(r"(not a valid HEIF: ).*", r"\1WORDS", line)
    line = re.sub(r"\d+ MB(, )\d+( MB a buffer)", r"N MB\1N\2", line)
    line = re.sub(r"(a batch of )\d+( fits)", r"\1N\2", line)
    # A slow machine says that it compiles.
    if "(once for this device)" not in line:
        print(line)' "$here" "$VT_DATA" "$name" "$twin"
}

# A paragraph is a command with its answer; other lines stay as they are.
asked=0
while IFS= read -r line; do
    case $line in
    '$ '*)
        code=0
        (eval "${line#\$ }") >out 2>err </dev/null || code=$?
        printf '%s\nexit status %d\n' "$line" $code
        sed $'s/^/\1/' err
        asked=$((asked + 1))
        ;;
    '#'*) printf '%s\n' "$line" ;;
    '') printf '\n' ;;
    esac
done <"$file" >all
plain <all >said
[ $asked -ge 60 ] || fail "only $asked mistakes"
if [ -n "${VT_UPDATE_MISTAKES-}" ]; then
    cp said "$file"
fi
diff -u "$file" said || fail "other words than in mistakes.txt"
