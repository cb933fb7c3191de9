# groups.sh - a driver has no room for the work-groups of a GPU's kernels, and
# says so or refuses their launches: smaller groups give the same answers.
for_gpus
model=$VT_DATA/models/timm_vit_qknorm_reg
mkdir pictures
for name in a b c d e; do cp "$VT_DATA/sample.jpg" pictures/$name.jpg; done
training_batch
echo '{"optimizer": "adamw", "lr": 0.001, "clip_grad_norm": 1.0}' >settings.json
# Are A and B the same answers? But for weights whose gradient should be 0, which
# AdamW divides by its size.
cat >near.py <<'P'
import json, sys
from tensors import near, numbers


def read(path):
    if path.endswith(".json"):
        return {f"{i} {top['index']}": [top["probability"]]
                for i, line in enumerate(open(path)) for top in json.loads(line)["top"]}
    return {name: x for name, (_, x) in numbers(path).items() if name != "time_ms"}


a, b = read(sys.argv[1]), read(sys.argv[2])
assert a and a.keys() == b.keys()
for name in a:
    if len(sys.argv) > 3:
        assert a[name] == b[name], (name, "other bits")
    elif not name.startswith("after."):
        near(name, b[name], a[name], 1e-4 * max(map(abs, a[name])) + 1e-7)
P
near() { python3 near.py "$@" || fail "not the same: $*"; }
classify() { # NAME OPTIONS…
    run 0 classify -m "$model" --gemm native --json --batch 1 "${@:2}" pictures
    cp out "$1.json"
}
step() { # NAME
    run 0 step -m "$model" -i batch.safetensors --settings settings.json \
        --gemm native -v -o "$1.safetensors"
}
room() { # "N SAYS CODE" COMMAND…: with room for groups of N
    VT_CL_GROUP=$1 LD_PRELOAD=$VT_CL_GROUP_LIB \
        ASAN_OPTIONS=${ASAN_OPTIONS-}:verify_asan_link_order=0 "${@:2}"
}

classify all
step all
err_not 'work-groups of'
for n in 64 32 16; do
    room "$n $n -54" classify $n
    near all.json $n.json
done
for n in 64 16; do
    room "$n $n -54" step $n
    near all.safetensors $n.safetensors
    for kernel in layernorm loss_rows grad_norm_part adam add; do
        err_has "kernel $kernel: work-groups of $n work-items, not 1[0-9]*$"
    done
    for kernel in layernorm_grad_w add_rows_grad mul_rows_grad qknorm_grad_w; do
        err_has "kernel $kernel: work-groups of $n work-items, not 256$"
    done
done
# The driver says that it has more room, and refuses: the same groups and bits.
room "16 256 -5" step refused
near 16.safetensors refused.safetensors exactly
err_has 'kernel layernorm: work-groups of 16 work-items, not 32$'
room "16 256 -54" classify refused
near 16.json refused.json exactly
# Products keep their groups.
room "16 16 -54 all" run 1 classify -m "$model" --gemm native pictures
says 'cannot launch kernel gemm_tile with groups of [0-9]+ work-items; 16 are possible: CL_INVALID_WORK_GROUP_SIZE'
