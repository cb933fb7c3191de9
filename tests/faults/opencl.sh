# opencl.sh - one OpenCL call fails, each in turn: no crash, a line that says so,
# and every answer that is given is the undisturbed one.
#
# A sample, another for each commit; VITCL_TEST_SWEEP=1 tries all.
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
    VT_CL_FAIL="$n $cl" timeout 120 "${preload[@]}" "$VITCL" "$@" >out 2>err ||
        code=$?
}

# sweep NAME KINDS WANT COMMAND…: KINDS is a regex of calls, WANT the undisturbed
# status; before_NAME makes ready, check_NAME looks at what came of it.
sweep() {
    local name=$1 kinds=$2 want=$3 total n cl changed=0 noticed=0
    shift 3
    for _ in 1 2; do # the first fills the caches
        before_$name
        VT_CL_COUNT=$PWD/calls "${preload[@]}" "$VITCL" "$@" >"$name.out" \
            2>"$name.err" && code=0 || code=$?
        [ "$code" = "$want" ] || fail "$name: $code undisturbed"
    done
    keep_$name
    total=$(wc -l <calls)
    python3 - "$kinds" "$seed" "${VITCL_TEST_SWEEP:-0}" <<'P' >sample
import random, re, sys
names = open("calls").read().split()
random.seed(sys.argv[2])
for kind in sorted(set(names)):
    at = [i + 1 for i, name in enumerate(names) if name == kind]
    if re.fullmatch(sys.argv[1], kind):
        for i in at if sys.argv[3] == "1" else random.sample(at, min(len(at), 2)):
            print(i, kind)
P
    while read -r n kind <&3; do
        cl=${codes[$((n % ${#codes[@]}))]}
        before_$name
        try "$n" "$cl" "$@"
        [ "$code" = 0 ] || [ "$code" = 1 ] || fail "$kind: status $code"
        cmp -s err "$name.err" || noticed=$((noticed + 1))
        if [ "$code" != "$want" ] || ! cmp -s out "$name.out"; then
            changed=$((changed + 1))
            if [ $name = devices ]; then # the rest is listed all the same
                json out
                continue
            fi
            [ "$code" = 1 ] || fail "$kind: another output with status $code"
            [ -s err ] || fail "$kind: failed without a word"
        fi
        "check_$name" || fail "$kind: what came of it is not the undisturbed"
    done 3<sample
    [ $((changed + noticed)) -gt 0 ] || fail "$name: no failure was noticed"
    echo "$name: $(wc -l <sample) of $total calls, $changed changed the output"
}
seed=$(git -C "$VT_DATA" rev-parse HEAD 2>/dev/null || echo 1)

# Each line that is given is a line of the undisturbed run, in its order.
lines_of() {
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
sweep classify 'cl.*Program.*' 1 classify -m "$model" --json pictures
unset VITCL_CACHE

before_devices() { :; }
keep_devices() { :; }
check_devices() { :; }
sweep devices '.*' 0 devices --json

# A file is whole or is not there.
before_embed() { rm -f x.npy; }
keep_embed() { cp x.npy whole.npy; }
check_embed() { [ ! -e x.npy ] || cmp -s x.npy whole.npy; }
sweep embed '.*' 1 embed -m "$model" -o x.npy pictures

# A training that broke off goes on to the same bits, or begins anew.
cifar 4
cat >config.json <<'J'
{"architecture": "vit_tiny_patch16_224", "model_args": {"img_size": 32,
 "patch_size": 8, "embed_dim": 32, "depth": 1, "num_heads": 2, "mlp_ratio": 2}}
J
before_train() { rm -rf t; }
keep_train() { cp t/training.safetensors whole.safetensors; }
check_train() {
    if [ -d t ]; then
        "$VITCL" train --resume -o t 2>resumed || return 1
        cmp -s t/training.safetensors whole.safetensors
    else
        [ "$code" = 1 ]
    fi
}
sweep train '.*' 0 train --config config.json --data data --epochs 2 --batch 10 \
    --save-every 1 --random-state 5 -o t
