# clblast.sh - CLBlast multiplies whatever f32 has: answers of published families,
# a photograph and a training step.
run 0 plan -m "$VT_DATA/models/timm_vit" --gemm clblast
grep -q 'clblast Xgemm' out || skip "CLBlast is not here, or does not work"
cat >near.py <<'P'
import sys, tensors
# A has what B has, but for weights after a step, which AdamW divides by the gradient's size.
a, b, found = tensors.numbers(sys.argv[1]), tensors.numbers(sys.argv[2]), 0
for name, (_, want) in b.items():
    if name == "time_ms" or name.startswith("after."):
        continue
    tensors.near(name, a[name][1], want, 1e-4 * max(map(abs, want)) + 1e-6)
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
