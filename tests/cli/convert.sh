# convert.sh - names of both libraries, number formats, and refusals.

run 2 convert
says '^vitcl convert: no model'
run 2 convert -m x
says 'no output folder given'
run 2 convert -m x -o y --to onnx
says "must be timm or hf, not 'onnx'"
run 2 convert -m x -o y --dtype f8
says "must be f32, f16 or bf16, not 'f8'"
run 1 convert -m nowhere -o y
says 'nowhere'
[ ! -e y ] || fail 'a folder is left behind'

# What a conversion that was killed has left goes with the next one.
mkdir -p left/.convert-aB3dE6 left/.convert-other left/.convert-backup
echo half >left/.convert-aB3dE6/model.safetensors
echo half >left/.convert-aB3dE6/.model.safetensors.vitcl-part
echo mine | tee left/.convert-other/file >left/.convert-backup/file
run 0 convert -m "$VT_DATA/models/timm_vit" -o left
[ ! -e left/.convert-aB3dE6 ] || fail 'a killed conversion stays'
for file in left/.convert-other/file left/.convert-backup/file; do
    [ -e $file ] || fail "$file is gone"
done

# DINOv2: HF's mlp_ratio is an integer, and with registers it has a mask token
run 0 convert -m "$VT_DATA/models/timm_dinov2_swiglu_reg" -o hf --to hf
grep -q '"mlp_ratio": 2,' hf/config.json || fail "mlp_ratio: $(grep mlp hf/config.json)"
grep -aq '"dinov2_with_registers.embeddings.mask_token"' hf/model.safetensors || fail 'no mask token'

# These have names that no other class of HF has; only the type changes.
for name in hf_aimv2 hf_aimv2_native hf_dinov3 hf_dinov3_gated; do
    run 0 convert -m "$VT_DATA/models/$name" -o same --to hf --dtype f16
    cmp "$VT_DATA/models/$name/config.json" same/config.json || fail "$name: config"
    run 0 convert -m "$VT_DATA/models/$name" -o full --to hf
    python3 - "$VT_DATA/models/$name" full <<'P' || fail "$name: other names"
import json, struct, sys

def names(folder):
    raw = open(folder + "/model.safetensors", "rb").read()
    return sorted(set(json.loads(raw[8:8 + struct.unpack("<Q", raw[:8])[0]])) - {"__metadata__"})

assert names(sys.argv[1]) == names(sys.argv[2])
P
done

# open_clip's folders have no config.json of timm's to copy
run 0 convert -m "$VT_DATA/text/oc_clip" -o own
grep -q '"num_classes": 12' own/config.json || fail "config: $(cat own/config.json)"
run 1 convert -m "$VT_DATA/text/oc_siglip" -o trunk
says "converted to Hugging Face's form only"
[ ! -e trunk ] || fail 'a folder is left behind'

# One detection token of YOLOS looks like a register, whose position timm has not.
python3 - "$VT_DATA/models/hf_yolos" <<'P'
import json, os, struct, sys

raw = open(sys.argv[1] + "/model.safetensors", "rb").read()
n = struct.unpack("<Q", raw[:8])[0]
head, data = json.loads(raw[8:8 + n]), b""
for name, t in list(head.items()):
    if name == "__metadata__" or "mid_position" in name or "pooler" in name:
        del head[name]
        continue
    a, b = t["data_offsets"]
    part = raw[8 + n + a:8 + n + b]
    each = len(part) // t["shape"][1] if "token" in name else 0
    if "detection_tokens" in name:
        t["shape"][1], part = 1, part[:each]
    if name.endswith("position_embeddings"):
        rows = t["shape"][1] - 2
        part = part[:len(part) // (rows + 2) * rows]
        t["shape"][1] = rows
    t["data_offsets"] = [len(data), len(data) + len(part)]
    data += part
head = json.dumps(head).encode()
os.mkdir("yolos")
with open("yolos/model.safetensors", "wb") as f:
    f.write(struct.pack("<Q", len(head)) + head + data)
config = json.load(open(sys.argv[1] + "/config.json"))
config.update(num_detection_tokens=1, use_mid_position_embeddings=False)
json.dump(config, open("yolos/config.json", "w"))
P
run 0 info -m yolos
run 1 convert -m yolos -o trunk --to timm
says 'timm has no model with detection tokens'
