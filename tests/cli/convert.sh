# convert.sh - names of both libraries, number formats, and refusals.

run 2 convert -o x
says '^vitcl convert: no model'
run 2 convert -m x
says '[-]-out DIR is required$'
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

# A model that is there stays, be it another one or the one that is read.
find left -type f -exec sha256sum {} + >before
for from in "$VT_DATA/models/timm_vit_max" left; do
    run 1 convert -m "$from" -o left --dtype f16
    says '^vitcl convert: left: a model exists already; name another folder$'
done
sha256sum --quiet -c before || fail 'a model is replaced'

# DINOv2: HF's mlp_ratio is an integer, and with registers it has a mask token
run 0 convert -m "$VT_DATA/models/timm_dinov2_swiglu_reg" -o hf --to hf
grep -q '"mlp_ratio": 2,' hf/config.json || fail "mlp_ratio: $(grep mlp hf/config.json)"
grep -aq '"dinov2_with_registers.embeddings.mask_token"' hf/model.safetensors || fail 'no mask token'

# A finite number must not become infinite.
large() { # TYPE NUMBER RE ARGS…
    python3 - "$VT_DATA/models/timm_vit" "$1" "$2" <<'P'
import os, shutil, sys
from tensors import parts, save

folder, dtype, number = sys.argv[1:]
weights = parts(folder + "/model.safetensors")
shape = weights["head.bias"][1]
weights["head.bias"] = dtype, shape, [float(number)] + [0.0] * (shape[0] - 1)
os.makedirs("large", exist_ok=True)
save("large/model.safetensors", weights)
shutil.copyfile(folder + "/config.json", "large/config.json")
P
    run 1 convert -m large -o never "${@:4}"
    says "head.bias: $3\$"
    [ ! -e never ] || fail 'a folder is left behind'
}
large F32 1e5 '100000 is too large for f16: use bf16' --dtype f16
large F32 3.4e38 '3.4e.38 is too large for bf16: use f32' --dtype bf16
large F64 -1e300 '-1e.300 is too large for f32'
large F64 1e300 '1e.300 is too large for f32' --to hf
large F64 1e300 '1e.300 is too large for f32' --dtype bf16

# These have names that no other class of HF has; only the type changes.
for name in hf_aimv2 hf_aimv2_native hf_dinov3 hf_dinov3_gated; do
    run 0 convert -m "$VT_DATA/models/$name" -o same-$name --to hf --dtype f16
    cmp "$VT_DATA/models/$name/config.json" same-$name/config.json || fail "$name: config"
    run 0 convert -m "$VT_DATA/models/$name" -o full-$name --to hf
    python3 - "$VT_DATA/models/$name" full-$name <<'P' || fail "$name: other names"
import sys, tensors
a, b = (tensors.parts(folder + "/model.safetensors") for folder in sys.argv[1:])
assert a.keys() == b.keys()
P
done

# open_clip's folders have no config.json of timm's to copy
run 0 convert -m "$VT_DATA/text/oc_clip" -o own
grep -q '"num_classes": 12' own/config.json || fail "config: $(cat own/config.json)"
run 1 convert -m "$VT_DATA/text/oc_siglip" -o trunk
says "can only be converted to Hugging Face's format"
[ ! -e trunk ] || fail 'a folder is left behind'

# The text tower stays, with its tokenizer, in HF's own format alone.
run 0 convert -m "$VT_DATA/text/hf_words" -o words --to hf
err_not 'left out'
for file in tokenizer.json tokenizer_config.json; do
    cmp "$VT_DATA/text/hf_words/$file" words/$file || fail "$file"
done
run 0 convert -m "$VT_DATA/text/hf_words" -o picture
err_has '; the text tower is left out$'
[ ! -e picture/tokenizer.json ] || fail 'a tokenizer without its tower'

# One detection token of YOLOS looks like a register, whose position timm has not.
python3 - "$VT_DATA/models/hf_yolos" <<'P'
import json, os, sys
from tensors import parts, save

weights = {}
for name, (dtype, shape, data) in parts(sys.argv[1] + "/model.safetensors").items():
    if name in ("embeddings.detection_tokens", "embeddings.position_embeddings"):  # two less of both
        one, n, width = shape
        shape, data = [one, n - 2, width], data[:len(data) // n * (n - 2)]
    if "mid_position" not in name and "pooler" not in name:
        weights[name] = dtype, shape, data
os.mkdir("yolos")
save("yolos/model.safetensors", weights)
config = json.load(open(sys.argv[1] + "/config.json"))
config.update(num_detection_tokens=1, use_mid_position_embeddings=False)
json.dump(config, open("yolos/config.json", "w"))
P
run 0 info -m yolos
run 1 convert -m yolos -o trunk --to timm
says 'timm has no model with detection tokens'

# What a training wrapped gets the names that the library knows; what lies beside
# the model is left out.
python3 - "$VT_DATA" <<'P'
import os, shutil, sys
from tensors import parts, save

for name, prefix in ("models/timm_vit", "model.net._orig_mod."), ("text/hf_words", "module."):
    folder = os.path.basename(name)
    shutil.copytree(f"{sys.argv[1]}/{name}", folder, copy_function=shutil.copyfile)
    weights = {prefix + name: part for name, part in parts(folder + "/model.safetensors").items()}
    if "net" in prefix:
        weights["metric.total"] = "F32", [1], [5]
    save(folder + "/model.safetensors", weights)
P
for name in models/timm_vit text/hf_words; do
    to=${name#*/}
    run 0 convert -m "$VT_DATA/$name" -o plain-$to --to "${to%_*}"
    run 0 convert -m "$to" -o bare-$to --to "${to%_*}"
    cmp plain-$to/model.safetensors bare-$to/model.safetensors || fail "$name: names of a wrapper"
done

# A family that has no other form is not written as a plain ViT.
for name in hf_aimv2 hf_dinov3 timm_dinov3 timm_relpos_cls timm_mobileclip; do
    [[ $name = hf_* ]] && to=timm own=hf || to=hf own=timm
    run 1 convert -m "$VT_DATA/models/$name" -o never --to $to
    says "^vitcl convert: [^ ]*/$name: models of this family \(.*\) keep their format; use --to $own\$"
    [ ! -e never ] || fail "$name: a folder is left behind"
done

# EVA is one.
mkdir eva
cp "$VT_DATA/models/timm_vit/model.safetensors" eva
sed 's/"architecture": "[^"]*"/"architecture": "eva_giant_patch14_clip_224"/' \
    "$VT_DATA/models/timm_vit/config.json" >eva/config.json
run 0 convert -m eva -o eva-hf --to hf
run 0 convert -m "$VT_DATA/models/timm_vit" -o vit-hf --to hf
cmp eva-hf/model.safetensors vit-hf/model.safetensors || fail 'EVA as a ViT'
