# kernels.sh - plan and step write what they compile, for the kernels of either
# class of device; VITCL_DEVICE_CLASS chooses another class than the device's.
small="--preset vit-ti/16 --size 32 --gemm native"
run 0 plan $small
cp out plain
run 0 plan $small --dump-kernels here
cmp out plain || fail "--dump-kernels changes the plan"
for class in cpu gpu; do
    VITCL_DEVICE_CLASS=$class run 0 plan $small --dump-kernels $class
    for program in "$class"/*.cl; do
        name=$(basename "$program")
        grep -q "kernel .*\b${name%-*}(" <(tr '\n' ' ' <"$program") ||
            fail "$program lacks its kernel"
        [ "$(grep -c . "${program%.cl}.options")" = 1 ] ||
            fail "$program has no options"
    done
    ls $class >$class.names
done
grep -q '^gemm_tile-1.cl' gpu.names || fail "no product for GPUs"
! grep -q '^gemm_tile' cpu.names || fail "a product for GPUs on a processor"
grep -q -- '-cl-std=CL1.2 .*-DTM=' gpu/gemm_tile-1.options ||
    fail "options: $(cat gpu/gemm_tile-1.options)"
# Again: the same bytes, and nothing besides.
VITCL_DEVICE_CLASS=gpu run 0 plan $small --dump-kernels again
diff -r gpu again >/dev/null || fail "written twice, they differ"
# The answers of the other class are those of the model, too.
picture=$VT_DATA/sample.jpg
model=$VT_DATA/models/timm_vit
run 0 embed -m "$model" -o own.csv "$picture"
(for_gpus; run 0 embed -m "$model" -o other.csv "$picture")
python3 - <<'P' || fail "other answers"
from tensors import near
def numbers(path):
    return [float(x) for x in open(path).read().split("\n")[-2].split(",")[1:]]
a, b = numbers("own.csv"), numbers("other.csv")
assert a != b and len(a) > 10
near("other.csv", b, a, 1e-4)
P
VITCL_DEVICE_CLASS=tpu run 1 plan $small
says 'VITCL_DEVICE_CLASS.*cpu or gpu'
for word in emulated emulate-mma mma161 none; do
    VITCL_MMA=$word run 1 plan $small
    says "VITCL_MMA is \"$word\".*emulate-NAME, or NAME: mma16, .*dpas16"
done
VITCL_DOT=x run 1 plan $small
says 'VITCL_DOT is "x"; it can be off or vpmaddwd$'
VITCL_CACHE=of run 1 plan $small
says 'VITCL_CACHE is "of"; it can be off$'
VITCL_TRY_SECONDS=abc run 1 plan $small
says 'VITCL_TRY_SECONDS=abc: must be a number from 1 to 86400$'
run 0 plan $small --dump-kernels new//
diff -r here new >/dev/null || fail "a slash at the end: other files"
: >file
run 1 plan $small --dump-kernels file/sub
says 'file/sub'
run 1 plan $small --dump-kernels file/
says 'file/: is not a folder$'
run 1 plan $small --dump-kernels none/new/
says 'none/new/: cannot make the folder: No such file'
# A training's kernels: also those of the gradients and the update.
cifar 1
run 0 train --preset vit-ti/16 --size 16 --data data --batch 10 --epochs 1 -o start
python3 - <<'P'
from tensors import save
save("batch.safetensors", {"pixel_values": ("F32", [1, 3, 16, 16], bytes(3072)), "labels": ("I64", [1], [0])})
open("settings.json", "w").write(
    '{"optimizer": "adamw", "lr": 0.001, "clip_grad_norm": 1, "ema": 0.9}')
P
(for_gpus; run 0 step -m start -i batch.safetensors --settings settings.json \
    -o after.safetensors --gemm native --dump-kernels step -v)
# However many parameters there are, each kernel updates them in one launch.
err_has 's\] plan: .*, [0-9]+ launches; '
for name in grad_norm_part grad_norm adam ema; do
    err_has "s\\] form: 1 $name by $name\$"
done
for name in gemm_tile attention_grad loss; do
    [ -n "$(find step -name "$name*")" ] || fail "no $name in a training's kernels"
done
