# threads.sh - --threads and the usual variables set how many threads a driver of
# the processor has, and none of them changes an answer.
unset VITCL_THREADS OMP_NUM_THREADS POCL_MAX_PTHREAD_COUNT POCL_CPU_MAX_CU_COUNT
export VITCL_DEVICE=cpu

units() { # N: that many compute units
    run 0 devices
    out_has "type +cpu, $1 compute unit"
}
VITCL_THREADS=1 units 1
OMP_NUM_THREADS=1 units 1
OMP_NUM_THREADS=1,4 units 1
VITCL_THREADS=2 OMP_NUM_THREADS=1 units 2
OMP_NUM_THREADS=1 POCL_MAX_PTHREAD_COUNT=2 POCL_CPU_MAX_CU_COUNT=2 units 2
VITCL_THREADS='' OMP_NUM_THREADS=1 units 1 # as if it were unset
[ "$(nproc)" = 1 ] || OMP_NUM_THREADS=many units "$(nproc)"
taskset -c "$(taskset -cp $$ | grep -oE '[0-9]+$')" "$VITCL" devices >out
out_has 'type +cpu, 1 compute unit'
# Ranks of one mpirun share the cores that it may use, unless it bound them.
printf '#!/bin/bash\n"$@"\nexit $?\n' >mpirun
printf '#!/bin/bash\n"$@"\nexit $?\n' >wrapper
chmod +x mpirun wrapper
under() { # CORES RANKS UNITS COMMAND…
    OMPI_COMM_WORLD_LOCAL_SIZE=$2 taskset -c "$1" ./mpirun "${@:4}" "$VITCL" devices >out
    out_has "type +cpu, $3 compute unit"
}
mapfile -t core < <(python3 -c 'import os; print(*os.sched_getaffinity(0), sep="\n")')
if [ "${#core[@]}" -gt 2 ]; then
    under "${core[0]},${core[1]}" 2 1
    under "${core[0]},${core[1]},${core[2]}" 2 1 ./wrapper
    under "${core[0]},${core[1]},${core[2]}" 1 3
    under "${core[0]},${core[1]},${core[2]}" 4 1
fi
[ "${#core[@]}" = 1 ] || under "${core[0]},${core[1]}" 2 1 taskset -c "${core[1]}"
for bad in 0 x 5000; do
    VITCL_THREADS=$bad run 1 devices
    says 'VITCL_THREADS='
done
run 2 classify --threads 0 "$VT_DATA/sample.jpg"
says '--threads must be a whole number, at least 1'
run 2 classify --threads 5000 "$VT_DATA/sample.jpg"
says '--threads must be at most 4096'

# The option comes before the variables.
POCL_MAX_PTHREAD_COUNT=2 POCL_CPU_MAX_CU_COUNT=2 VITCL_THREADS=2 \
    run 0 selftest --threads 1
out_has '^device .*1 unit,'

cifar 8
cat >config.json <<'J'
{"architecture": "vit_tiny_patch16_224", "model_args": {"img_size": 8,
 "patch_size": 4, "embed_dim": 8, "depth": 1, "num_heads": 2, "mlp_ratio": 1}}
J
model=$VT_DATA/models/timm_vit
for n in 1 3; do
    run 0 forward -m "$model" -i "$model/input.safetensors" --threads $n \
        -o $n.safetensors
    run 0 train --config config.json --data data --batch 10 --augment light \
        --epochs 1 --threads $n --workers $n -o $n
done
cmp 1.safetensors 3.safetensors || fail "threads change an answer"
cmp 1/training.safetensors 3/training.safetensors ||
    fail "threads change a training"

# A kernel whose work-items share memory by mistake gives other bits now and then:
# many starts of the built-in model, which has convolutions and attention.
for n in {1..16}; do
    run 0 classify --threads 2 --logits "$n.npy" "$VT_DATA/sample.jpg"
    cmp 1.npy "$n.npy" || fail "another run has other bits"
done
