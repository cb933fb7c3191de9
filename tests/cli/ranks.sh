# ranks.sh - slices, and a training that several processes of mpirun share: the
# same bits however many there are.
unset VITCL_THREADS OMP_NUM_THREADS
cifar 12
cat >config.json <<'J'
{"architecture": "vit_tiny_patch16_224", "model_args": {"img_size": 8,
 "patch_size": 4, "embed_dim": 8, "depth": 2, "num_heads": 2, "mlp_ratio": 1}}
J
cat >settings.json <<'J'
{"mixup": 0.8, "cutmix": 1, "dropout": 0.1, "drop_path": 0.1, "ema": 0.9,
 "clip_grad_norm": 0.5}
J
given=(--config config.json --data data --augment full --settings settings.json
    --hold-out 6 --batch 16 --slices 4 --micro 2)
same() { # FOLDER FOLDER
    for f in model.safetensors training.safetensors best/model.safetensors; do
        cmp "$1/$f" "$2/$f" || fail "$1/$f and $2/$f differ"
    done
}

# ---- one process
run 0 train "${given[@]}" --epochs 2 -o one
run 0 train "${given[@]}" --epochs 2 --threads 1 -o again
same one again
run 0 train "${given[@]}" --slices 1 --epochs 2 -o whole
cmp -s one/training.safetensors whole/training.safetensors &&
    fail "the order of the sums makes no difference: is it another?"
for bad in 3 131072; do
    run 2 train "${given[@]}" --slices $bad --epochs 1 -o bad
    [ ! -e bad ] || fail "bad/ was left behind"
done
says "--slices must be at most 65536, not '131072'"
run 1 train "${given[@]}" --micro 8 --epochs 1 -o bad
err_has 'a slice of 4 pictures cannot be split into equal parts of 8'
run 1 train --resume -o one --slices 2
err_has 'this training began with slices 4, which cannot become 2'

# ---- slices that are not equally long, or empty: the same loss and gradients
echo '{"optimizer": "sgd", "clip_grad_norm": 0}' >plain.json
plain=(--config config.json --data data --augment none --settings plain.json
    --lr 0.3 --batch 14 --epochs 3)
losses() { # FILE: of each step
    grep -o '"loss": *[^,]*' "$1" | grep -o '[0-9.]*$'
}
run 0 train "${plain[@]}" -o whole14 --log whole.jsonl
[ "$(losses whole.jsonl | wc -l)" = 12 ] || fail "no losses: $(cat whole.jsonl)"
for how in '4 --micro 2' '8' '32'; do
    rm -rf cut cut.jsonl
    # shellcheck disable=SC2086
    run 0 train "${plain[@]}" --slices $how -o cut --log cut.jsonl
    paste <(losses whole.jsonl) <(losses cut.jsonl) |
        awk '{ d = $1 - $2; if (d * d > 1e-10) exit 1 }' ||
        fail "--slices $how: $(losses whole.jsonl) and $(losses cut.jsonl)"
done
run 0 train --resume -o whole14 --slices 1 --epochs 4
run 1 train --resume -o whole14 --slices 2
err_has 'this training began with slices 1, which cannot become 2'
uneven=("${given[@]}" --batch 14)
few=("${given[@]}" --batch 3 --micro 1)
run 0 train "${uneven[@]}" --epochs 1 -o uneven
judged=(--config config.json --data data --hold-out 50 --batch 10 --slices 4 --epochs 2
    --settings settings.json)
run 0 train "${judged[@]}" -o alone
grep -q temperature alone/config.json || fail "no certainty: nothing to compare"
run 0 train "${few[@]}" --epochs 1 -o empty

# ---- several: all with one MPI, and with the other what tells whether it works
! sanitized || { echo "MPI itself leaks: not run with a sanitizer"; exit 0; }
ranks() { # N CODE ARGS…
    local n=$1 want=$2 code=0
    shift 2
    printf '%q ' "${start[@]}" "$n" vitcl "$@" >cmd
    timeout 120 "${start[@]}" "$n" "$VITCL" "$@" >out 2>err </dev/null || code=$?
    [ "$code" = "$want" ] || fail "exit status $code, not $want"
}
two_ranks() {
    rm -rf two
    ranks 2 0 train "${given[@]}" --epochs 2 -o two -v
    same one two
    [ "$(grep -c 'vitcl train: done:' err)" = 1 ] || fail "not one rank alone speaks"
    grep -q 'for the sums over the ranks, in [4-9] buckets' err || fail "not in buckets"
}
mpis=()
if [ -n "${VITCL_OPENMPI-}" ] && command -v mpirun.openmpi >/dev/null; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    mpis+=("mpirun.openmpi --oversubscribe -np")
fi
[ -z "${VITCL_MPICH-}" ] || ! command -v mpirun.mpich >/dev/null ||
    mpis+=("mpirun.mpich -np")
[ ${#mpis[@]} -gt 0 ] || skip "neither Open MPI nor MPICH"
[ ${#mpis[@]} = 2 ] || left_out "one of Open MPI and MPICH is missing"
if [ ${#mpis[@]} = 2 ]; then
    read -ra start <<<"${mpis[1]}"
    two_ranks
fi
read -ra start <<<"${mpis[0]}"
two_ranks
ranks 2 0 train "${judged[@]}" -v -o judged
same alone judged
cmp alone/config.json judged/config.json || fail "another certainty"
grep -q "scores 26 of 50 pictures" err || fail "no rank scores a part"
ranks 2 0 train "${uneven[@]}" --epochs 1 -o odd
same uneven odd
ranks 4 0 train "${uneven[@]}" --epochs 1 -o odd4
same uneven odd4
ranks 4 0 train "${few[@]}" --epochs 1 -o few
same empty few

# ---- resumed by another number of ranks
ranks 4 0 train "${given[@]}" --epochs 1 -o parts
ranks 2 0 train --resume --epochs 2 -o parts
run 0 train "${given[@]}" --epochs 1 -o ends
run 0 train --resume --epochs 2 -o ends
same ends parts

# ---- what ranks cannot do
mkdir data2
cp data/*.bin data2
printf '\0\0\0\0' | dd of=data2/data_batch_3.bin bs=1 seek=500 conv=notrunc status=none
cat >differs <<S
#!/bin/sh
[ "\${OMPI_COMM_WORLD_RANK-\$PMI_RANK}" = 0 ] || set -- "\$@" --data data2
exec "$VITCL" "\$@"
S
chmod +x differs
VITCL=$PWD/differs ranks 2 1 train "${given[@]}" --epochs 1 -o bad
err_has 'rank 1 has other pictures to train with than rank 0'
[ "$(grep -c '^vitcl' err)" = 1 ] || fail "more than one line: $(cat err)"
[ ! -e bad ] || fail "bad/ was left behind"
ranks 3 1 train "${given[@]}" --epochs 1 -o bad
err_has 'mpirun started 3 processes; training can be shared by 2, 4, 8'
ranks 2 1 train "${given[@]}" --slices 1 --epochs 1 -o bad
err_has '2 ranks cannot share 1 slice of a batch evenly'
[ ! -e bad ] || fail "bad/ was left behind"

# ---- a rank whose device fails: one line, and one process goes on to the same bits
cat >breaks <<S
#!/bin/sh
[ "\${OMPI_COMM_WORLD_RANK-\$PMI_RANK}" = 0 ] ||
    export LD_PRELOAD="$VT_CL_DEVICE_LIB" VT_CL_DEVICE="0 2000 -5"
exec "$VITCL" "\$@"
S
chmod +x breaks
VITCL=$PWD/breaks ranks 2 1 train "${given[@]}" --epochs 2 -o broken
err_has '^vitcl train: rank 1: step .*: cannot launch kernel'
[ "$(grep -c '^vitcl train: [^ae]' err)" = 1 ] || fail "more than one line: $(cat err)"
run 0 train --resume -o broken
same one broken

# ---- a rank that dies ends the others
(
    for ((i = 0; i < 500; i++)); do
        [ ! -s killed/training.safetensors ] || break
        sleep 0.1
    done
    date +%s >when
    pkill -KILL -n -f -- "-o $PWD/killed\$"
) &
code=0
timeout 100 "${start[@]}" 2 "$VITCL" train "${given[@]}" --epochs 100000 \
    -o "$PWD/killed" >out 2>err || code=$?
case $code in
0 | 124) fail "status $code after a rank was killed" ;;
esac
[ $(($(date +%s) - $(cat when))) -lt 20 ] || fail "the others went on"
! pgrep -f -- "-o $PWD/killed\$" >/dev/null || fail "a rank still runs"
