# clblast.sh - CLBlast multiplies whatever f32 has: answers of published families,
# a photograph and a training step.
run 0 plan -m "$VT_DATA/models/timm_vit" --gemm clblast
grep -q 'clblast Xgemm' out || skip "CLBlast is not here, or does not work"
cat >near.py <<'P'
import json, struct, sys


def read(path):
    with open(path, "rb") as f:
        head = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        body = f.read()
    return {name: [v[0] for v in struct.iter_unpack("<f", body[slice(*t["data_offsets"])])]
            for name, t in head.items() if t.get("dtype") == "F32" and name != "time_ms"}


# A has what B has, but for weights after a step, which AdamW divides by the gradient's size.
a, b, found = read(sys.argv[1]), read(sys.argv[2]), 0
for name in b:
    if name.startswith("after."):
        continue
    assert len(a[name]) == len(b[name]), name
    most, worst = max(map(abs, b[name])), max(abs(x - y) for x, y in zip(a[name], b[name]))
    # Each on its own: max() may forget a NaN.
    assert all(abs(x - y) <= 1e-4 * most + 1e-6 for x, y in zip(a[name], b[name])), (name, worst, most)
    found += 1
assert found, sys.argv
P
near() { python3 near.py "$@" || fail "not the same: $*"; }
# Tensors inside, as timm, Hugging Face and Google's code have them.
for name in timm_vit hf_dinov2 npz_vit timm_hybrid; do
    model=$VT_DATA/models/$name
    run 0 forward -m "$model" -i "$model/input.safetensors" --gemm clblast \
        --keep embed --keep 'block.*' --keep norm --keep 'attention.*' --keep features \
        -o $name.safetensors
    near $name.safetensors "$model/expected.safetensors"
done
# A photograph has the label and the logits of the native kernels.
for gemm in native clblast; do
    run 0 classify "$VT_DATA/sample.jpg" --gemm $gemm --logits $gemm.safetensors
    head -n 1 out >$gemm.txt
done
near clblast.safetensors native.safetensors
cut -c1-20 native.txt >want
cut -c1-20 clblast.txt | cmp - want || fail "another label"
# The loss and each gradient of a step, those of the native kernels.
training_batch
echo '{"optimizer": "adamw", "lr": 0.001}' >settings.json
for gemm in native clblast; do
    run 0 step -m "$VT_DATA/models/timm_vit" -i batch.safetensors --settings settings.json \
        --gemm $gemm -v -o step-$gemm.safetensors
    grep -c "$gemm" err >/dev/null || fail "no product by $gemm"
done
near step-clblast.safetensors step-native.safetensors
