# several.sh - several devices share the pictures: the answers of one run, in
# input order, also while one of them fails.
export POCL_DEVICES="pthread pthread"
run 0 devices --table
[ "$(grep -c '^0:[01] ' out)" = 2 ] || skip "this PoCL has no two devices"
python3 - <<'P'
import os, random
random.seed(3)
classes = "airplane automobile bird cat deer".split()
for i in range(60):
    folder = f"pics/{classes[i % 5]}"
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/{i:04}.ppm", "wb") as f:
        f.write(b"P6\n32 " if i % 20 == 7 else
                b"P6\n32 32\n255\n" + (random.randbytes(3072) if i % 3 else bytes((i,)) * 3072))
for name in "dog frog horse ship truck".split():
    os.mkdir(f"pics/{name}")
P
c=(-m builtin:cifar10 --batch 4)
run 1 classify "${c[@]}" --json pics
out_has '"sure":false,"detail":"finer"'
out_has '"sure":false,"detail":"coarser"'
cp out one.jsonl
cp err one.err
two() { # CODE COMMAND ARGS…: on both devices
    local code=$1
    shift
    run "$code" "$@" --devices 0:0,0:1
}
two 1 classify "${c[@]}" --json pics
cmp out one.jsonl || fail "two devices give other answers than one"
cmp err one.err || fail "two devices say something else"
run 1 embed "${c[@]}" pics -o one.npy
run 1 embed "${c[@]}" pics -o two.npy --devices all
cmp one.npy two.npy || fail "two devices give other vectors"
cmp one.paths two.paths || fail "two devices give another order"
run 1 eval "${c[@]}" --data pics --classes
cp out one.txt
two 1 eval "${c[@]}" --data pics --classes
cmp out one.txt || fail "two devices give other scores"
two 0 bench -m builtin:cifar10 --seconds 0.1 --json
json out
out_has '"index":"0:0".*"index":"0:1"'

# ---- a device fails: at once, in the middle
lose() { # "D N CODE" STATUS COMMAND ARGS…
    local how=$1 want=$2 code=0
    shift 2
    printf '%q ' "VT_CL_DEVICE=$how" vitcl "$@" >cmd
    VT_CL_DEVICE=$how LD_PRELOAD=$VT_CL_DEVICE_LIB \
        ASAN_OPTIONS=${ASAN_OPTIONS-}:verify_asan_link_order=0 \
        "$VITCL" "$@" --devices 0:0,0:1 >out 2>err || code=$?
    without_waits
    [ "$code" = "$want" ] || fail "exit status $code, not $want"
}
# The same, until the device fails: the other one may be done before its N-th call.
lose_one() {
    for _ in 1 2 3 4 5; do
        lose "$@"
        ! grep -q 'failed and is left out' err || break
    done
}
for how in "0 0 -5" "1 100 -9999" "0 100 -6"; do
    lose_one "$how" 1 classify "${c[@]}" --json pics
    cmp out one.jsonl || fail "$how: a failing device changes the answers"
    [ "$(grep -c 'left out' err)" = 1 ] || fail "$how: not one warning"
    err_has "device 0:${how%% *} \(.*\) failed and is left out; its pictures go to the other"
done
lose_one "1 100 -5" 1 eval "${c[@]}" --data pics --classes
cmp out one.txt || fail "a failing device changes the scores"
err_has 'failed and is left out'
# It crashes before it has run, when the other one has.
lose "1 25 6" 1 eval "${c[@]}" --data pics --classes
err_has 'the OpenCL driver crashed; trying again with an empty PoCL cache'
err_has 'the OpenCL driver crashed; -v shows where'
lose_one "1 100 -5" 1 embed "${c[@]}" pics -o lost.npy
cmp one.npy lost.npy || fail "a failing device changes the vectors"
lose "9 0 -5" 1 classify "${c[@]}" --json pics
cmp out one.jsonl || fail "no device fails"
for command in "classify --json" eval; do
    read -ra words <<<"$command"
    [ "$command" = eval ] && from=(--data pics) || from=(pics)
    lose "-1 100 -5" 1 "${words[@]}" "${c[@]}" "${from[@]}"
    err_has 'CL_OUT_OF_RESOURCES'
    # none where both fail at once
    [ "$(grep -c 'left out;' err)" -le 1 ] || fail "$command: two warnings"
done

# ---- usage
run 2 classify "${c[@]}" pics --devices 0:0,0:0
says '--devices: 0:0 is named twice'
run 2 classify "${c[@]}" pics --devices 0:0,
says '--devices must be all or devices with commas'
run 1 classify "${c[@]}" pics --devices 0:0,9:9
says 'no OpenCL device matches "9:9"'
run 2 classify "${c[@]}" pics -d 0:0 --devices all
says '-d and --devices cannot be used together'
run 2 classify "${c[@]}" pics --explain --devices all
says '[-]-explain and --devices cannot be used together$'
run 2 bench --batch 1,2 --devices all
says '--devices measures one batch size'
