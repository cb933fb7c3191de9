# opencl.sh - one OpenCL call at a time fails. The command does not crash, says
# on one line what failed, and every answer that it prints is the one of an
# undisturbed run.
#
# Tries one call of each kind, another one at each commit; with
# VITCL_TEST_SWEEP=1, all of them.
models=("$VT_DATA/models/timm"*)
model=${models[0]}
mkdir pictures
for name in a c d; do cp "$VT_DATA/sample.jpg" pictures/$name.jpg; done
echo 'no picture' >pictures/b.jpg
preload=(env "LD_PRELOAD=$VT_CL_FAIL_LIB"
         "ASAN_OPTIONS=${ASAN_OPTIONS-}:verify_asan_link_order=0")
codes=(-4 -5 -6 -9999) # no memory for a buffer, no resources, no host memory

# try N CODE COMMAND…: its status in `code`
try() {
    local n=$1 cl=$2
    shift 2
    code=0
    printf '%q ' "VT_CL_FAIL=$n $cl" vitcl "$@" >cmd
    VT_CL_FAIL="$n $cl" VT_CL_COUNT=$PWD/tried timeout 120 "${preload[@]}" "$VITCL" "$@" >out 2>err ||
        code=$?
}

# Removes from FILE what differs between undisturbed runs, such as times, and
# memory, which PoCL takes from what is free.
settle() { # NAME FILE
    case $1 in
    bench) sed -i -E 's/("[a-z0-9_]+":)[0-9.e+-]+/\1/g
        s/\{"op":"([a-z0-9]+)",[^}]*\}/\1/g; s/"kernels":.*/"kernels"/' "$2" ;;
    selftest) sed -i -E 's/^(verdict: .*), after .*/\1/; s/, [0-9.]+ [GM]B\)/)/
        /^(cache|PoCL.s) /d' "$2" ;;
    esac
}

builds() { grep -c clBuildProgram "$1" || true; }

# sweep NAME KINDS WANT COMMAND…: KINDS is a regex of calls, WANT the status of
# an undisturbed run. before_NAME prepares a run, keep_NAME keeps the undisturbed
# result, check_NAME compares with it.
sweep() {
    local name=$1 kinds=$2 want=$3 total n cl more changed=0 noticed=0 tried=0
    shift 3
    for _ in 1 2; do # the first run fills the caches
        before_$name
        VT_CL_COUNT=$PWD/calls "${preload[@]}" "$VITCL" "$@" >"$name.out" \
            2>"$name.err" && code=0 || code=$?
        [ "$code" = "$want" ] || fail "$name: $code undisturbed"
    done
    settle $name $name.out
    keep_$name
    total=$(wc -l <calls)
    python3 - "$kinds" "$seed" "${VITCL_TEST_SWEEP:-0}" <<'P' >sample
import random, re, sys
names = open("calls").read().split()
random.seed(sys.argv[2])
rest = []
for kind in sorted(set(names)):
    at = [i + 1 for i, name in enumerate(names) if name == kind]
    if re.fullmatch(sys.argv[1], kind):
        random.shuffle(at)
        some = len(at) if sys.argv[3] == "1" else 1
        for i in at[:some]:
            print(i, kind)
        rest += [(i, kind) for i in at[some:]]
random.shuffle(rest)
for i, kind in rest:
    print(i, kind, "more")
P
    while read -r n kind more <&3; do
        # Beyond the sample, only until one failure is noticed.
        [ -z "$more" ] || [ $((changed + noticed)) = 0 ] || break
        tried=$((tried + 1))
        cl=${codes[$((n % ${#codes[@]}))]}
        before_$name
        try "$n" "$cl" "$@"
        settle $name out
        [ "$code" = 0 ] || [ "$code" = 1 ] || fail "$kind: status $code"
        if ! cmp -s err "$name.err" ||
            { [ -n "${recovers:-}" ] && [ "$(builds tried)" != "$(builds calls)" ]; }; then
            noticed=$((noticed + 1))
        fi
        if [ "$code" != "$want" ] || ! cmp -s out "$name.out"; then
            changed=$((changed + 1))
            if [ $name = devices ]; then # the other devices are listed
                json out
                continue
            fi
            # without CLBlast the device is as good as before
            [ $name != selftest ] || ! grep -q '^clblast .*not available here: ' out || continue
            [ "$code" = 1 ] || fail "$kind: another output with status $code"
            ! cmp -s err "$name.err" || fail "$kind: failed without a word"
        fi
        "check_$name" || fail "$kind: what came of it is not the undisturbed"
    done 3<sample
    [ $((changed + noticed)) -gt 0 ] || fail "$name: no failure was noticed"
    echo "$name: $tried of $total calls, $changed changed the output"
}
seed=$(git -C "$VT_DATA" rev-parse HEAD 2>/dev/null || echo 1)

# Each printed line is a line of the undisturbed run, in the same order.
lines_of() {
    ! cmp -s "$1" "$2" || return 0
    python3 - "$1" "$2" <<'P'
import sys
want = iter(open(sys.argv[2], errors="replace").read().split("\n"))
given = open(sys.argv[1], errors="replace").read().split("\n")[:-1]
sys.exit(any(line not in want for line in given))
P
}

before_classify() { :; }
keep_classify() { :; }
check_classify() { lines_of out classify.out; }
sweep classify '.*' 1 classify -m "$model" --json --batch 1 pictures
export VITCL_CACHE=off
# Programs that cannot be built together are built one by one, without a word:
# there are more builds.
recovers=1 sweep classify 'cl.*Program.*' 1 classify -m "$model" --json pictures
unset VITCL_CACHE

# A second queue sends each batch while the one before is computed.
for_gpus
sweep classify '.*' 1 classify -m "$model" --json --batch 1 pictures
# Without pinned memory it sends from plain memory, which only -v says.
VT_CL_COUNT=$PWD/calls "${preload[@]}" "$VITCL" classify -m "$model" --json \
    --batch 1 pictures >whole 2>whole.err || true
at=$(grep -n clEnqueueMapBuffer calls | cut -d: -f1)
[ -n "$at" ] || fail "no buffer was mapped"
for n in $((at - 1)) "$at"; do # it cannot be made, or not be mapped
    for cl in "${codes[@]}"; do
        try "$n" "$cl" classify -m "$model" --json --batch 1 pictures
        [ "$code" = 1 ] || fail "status $code"
        cmp out whole || fail "other answers from plain memory"
        cmp err whole.err || fail "plain memory is said without -v"
    done
    try "$n" "$cl" classify -v -m "$model" --json --batch 1 pictures
    cmp out whole || fail "other answers from plain memory"
    err_has 'no pinned memory for transfers: '
done
unset VITCL_DEVICE_CLASS POCL_EXTRA_BUILD_FLAGS

before_devices() { :; }
keep_devices() { :; }
check_devices() { :; }
sweep devices '.*' 0 devices --json

# A file is complete or does not exist.
before_embed() { rm -f x.npy; }
keep_embed() { cp x.npy whole.npy; }
check_embed() { [ ! -e x.npy ] || cmp -s x.npy whole.npy; }
sweep embed '.*' 1 embed -m "$model" -o x.npy pictures

# An interrupted training resumes to the same bits, or has left no files.
cifar 4
cat >config.json <<'J'
{"architecture": "vit_tiny_patch16_224", "model_args": {"img_size": 32,
 "patch_size": 8, "embed_dim": 32, "depth": 1, "num_heads": 2, "mlp_ratio": 2}}
J
trains=train
before_train() { rm -rf t; }
keep_train() { cp t/training.safetensors whole.safetensors; }
check_train() {
    if [ -d t ]; then
        "$VITCL" $trains --resume -o t 2>resumed || return 1
        cmp -s t/training.safetensors whole.safetensors
    else
        [ "$code" = 1 ]
    fi
}
sweep train '.*' 0 train --config config.json --data data --epochs 2 --batch 10 \
    --save-every 1 --random-state 5 -o t

# ---- the other commands
trains=finetune
before_finetune() { before_train; }
keep_finetune() { keep_train; }
check_finetune() { check_train; }
sweep finetune '.*' 0 finetune -m "$model" --data data --epochs 1 --batch 10 \
    --save-every 1 --random-state 5 -o t

before_forward() { rm -f x.safetensors; }
keep_forward() { cp x.safetensors whole.safetensors; }
check_forward() { [ ! -e x.safetensors ] || cmp -s x.safetensors whole.safetensors; }
sweep forward '.*' 0 forward -m "$model" -i "$model/input.safetensors" \
    -o x.safetensors --keep 'block.*'

# A step's file also contains times.
python3 - "$model/input.safetensors" <<'P'
import json, sys
from tensors import parts, save
batch = parts(sys.argv[1])
n = batch["pixel_values"][1][0]
save("batch.safetensors", {**batch, "labels": ("I64", [n], [i % 3 for i in range(n)])})
json.dump({"optimizer": "adamw", "lr": 0.01}, open("settings.json", "w"))
P
untimed() {
    python3 - "$1" <<'P'
import hashlib, json, struct, sys
data = open(sys.argv[1], "rb").read()
at = 8 + struct.unpack("<Q", data[:8])[0]
a, b = json.loads(data[8:at])["time_ms"]["data_offsets"]
print(hashlib.sha256(data[:at + a] + data[at + b:]).hexdigest())
P
}
before_step() { rm -f x.safetensors; }
keep_step() { untimed x.safetensors >whole.sum; }
check_step() { [ ! -e x.safetensors ] || untimed x.safetensors | cmp -s - whole.sum; }
sweep step '.*' 0 step -m "$model" -i batch.safetensors --settings settings.json \
    --steps 2 -o x.safetensors

before_eval() { :; }
keep_eval() { :; }
check_eval() { lines_of out eval.out; }
sweep eval '.*' 0 eval --data data --classes-by number --json

before_fewshot() { :; }
keep_fewshot() { :; }
check_fewshot() { lines_of out fewshot.out; }
sweep fewshot '.*' 0 fewshot -m "$model" --data data --shots 1 --tries 2 --json

before_bench() { :; }
keep_bench() { :; }
check_bench() { lines_of out bench.out; }
sweep bench '.*' 0 bench -m "$model" --seconds 0.01 --json

# Only its verdict may differ: that the device fails.
before_selftest() { :; }
keep_selftest() { :; }
check_selftest() {
    sed -i "/^verdict: FAILED/d" out
    lines_of out selftest.out
}
# It runs every path in every precision, and other kinds of calls have failed above.
kinds='cl(Enqueue.*|BuildProgram|CreateKernel|CreateBuffer|Finish)'
[ "${VITCL_TEST_SWEEP:-0}" != 1 ] || kinds='.*'
sweep selftest "$kinds" 0 selftest
