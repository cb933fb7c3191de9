# copies.sh - a driver that computes in copies of host memory, as OpenCL permits
# and Intel's does (cl_copy.c): every answer is the one without copies.
#
# A suite of tests/ops is another one at each commit.
tests=$(dirname "$VT_HOST")
model=$VT_DATA/models/timm_vit
export VT_CL_COPY=$PWD/copied ASAN_OPTIONS=${ASAN_OPTIONS-}:verify_asan_link_order=0
cat >copying <<C
#!/bin/sh
LD_PRELOAD=$VT_CL_COPY_LIB exec "$VITCL" "\$@"
C
chmod +x copying
run_copying() {
    VITCL=$PWD/copying run "$@"
}
# both ARGS…: the same on both drivers; OUT is the file that it writes
both() {
    run 0 "$@"
    cp "${OUT:-out}" want
    : >copied
    run_copying 0 "$@"
    grep -qE '^[0-9]+ buffers, mapped [0-9]+ times$' copied || fail "nothing was copied"
    cmp "${OUT:-out}" want || fail "another answer"
}

# ---- weights that are read before each launch, and such that are kept
both classify --json "$VT_DATA/sample.jpg"
mapped=$(sed 's/.*mapped \([0-9]*\) times/\1/' copied | sort -n | tail -n 1)
[ "$mapped" -ge 10 ] || fail "no weight was written by the host: mapped $mapped times"
for precision in f32 f16 bf16 int8; do
    both classify -m "$model" --precision $precision --json "$VT_DATA/sample.jpg"
    both classify -m "$model" --precision $precision --json --batch 1 \
        "$VT_DATA/sample.jpg" "$VT_DATA/small.png"
done
OUT=x.npy both embed -m "$model" -o x.npy "$VT_DATA/sample.jpg"
OUT=x.safetensors both forward -m "$model" -i "$model/input.safetensors" \
    -o x.safetensors --keep 'block.*' --keep 'attention.*'
run_copying 0 selftest
out_has '^verdict: this device computes what it should'

# ---- a training step, but for its times
training_batch
echo '{"optimizer": "adamw", "lr": 0.01}' >settings.json
for way in run run_copying; do
    $way 0 step -m "$model" -i batch.safetensors --settings settings.json -o $way.safetensors
    python3 - $way.safetensors <<'P'
import pickle, sys
from tensors import parts
pickle.dump({k: v for k, v in parts(sys.argv[1]).items() if k != "time_ms"}, open(sys.argv[1] + ".all", "wb"))
P
done
cmp run.safetensors.all run_copying.safetensors.all || fail "another step"

# ---- suites of tests/models and tests/ops
suite() { # PROGRAM FILTER
    POCL_WORK_GROUP_SPECIALIZATION=0 CRITERION_JOBS=1 LD_PRELOAD=$VT_CL_COPY_LIB \
        "$tests/test_$1" --jobs 1 --filter "$2" >suite 2>&1 || fail "$2: $(tail -n 20 suite)"
    grep -q 'Tested: [1-9]' suite || fail "$2: nothing was tested"
}
suite models 'session/once*'
suite models golden/class_token_only
suite models golden/int8
suite ops 'linear/*'
suite ops "$(python3 - "$VT_DATA" <<'P'
import random, subprocess, sys
at = subprocess.run(["git", "-C", sys.argv[1], "rev-parse", "HEAD"], capture_output=True).stdout
print(random.Random(at).choice("activation add attention embed layernorm loss mul optimizer patch pool slice".split()))
P
)/*"
