# ahead.sh - with the kernels for GPUs a batch is sent while the one before is
# computed: the same answers in the same order as one batch of all pictures.
for_gpus
model=$VT_DATA/models/timm_vit
mkdir pics
python3 - <<'P'
for i in range(8):
    data = bytes((x * (i + 3) + y * 5 + c * 40) % 256 for y in range(30 + i)
                 for x in range(40 - i) for c in range(3))
    open("pics/%d.ppm" % i, "wb").write(b"P6 %d %d 255\n" % (40 - i, 30 + i) + data)
P
echo 'no picture' >pics/2b.ppm
run 1 classify -m "$model" --json --batch 32 pics # one batch: nothing is ahead
mv out whole
[ "$(sort -u whole | wc -l)" = 9 ] || fail "answers do not differ"
for batch in 1 3; do
    run 1 classify -m "$model" --json --batch $batch pics
    cmp out whole || fail "other answers in batches of $batch"
    err_has 'pics/2b.ppm: not a supported'
    run 1 embed -m "$model" --batch $batch -o $batch.npy pics
done
cmp 1.npy 3.npy || fail "other features in batches of 3"
# Scores of labelled pictures, and several devices, each of which sends ahead.
# ahead LEAST COMMAND…: in a run, at least so many batches are written to a
# device between the start of another one, which copies its pictures, and its
# answers.
ahead() {
    local least=$1 code=0 sent
    shift
    VT_CL_COUNT=$PWD/calls LD_PRELOAD=$VT_CL_FAIL_LIB \
        ASAN_OPTIONS=${ASAN_OPTIONS-}:verify_asan_link_order=0 \
        "$VITCL" "$@" >out 2>err || code=$?
    [ "$code" -le 1 ] || fail "$*: status $code"
    sent=$(grep -oE 'Copy|Read|Write' calls | tr '\n' ' ' |
        grep -o 'Copy Write' | wc -l)
    [ "$sent" -ge "$least" ] ||
        fail "$*: $sent batches were sent ahead, not $least"
}
ahead 2 classify -m "$model" --json --batch 3 pics
cmp out whole || fail "other answers when calls are counted"
for i in 0 1 2 3 4 5 6 7; do
    mkdir -p "data/$((i % 3))"
    cp "pics/$i.ppm" "data/$((i % 3))"
done
mkdir data/3 data/4
cp pics/2b.ppm data/1
scores=(-m "$model" --data data --classes-by number --json --classes)
run 1 eval "${scores[@]}" --batch 32
mv out scores
for batch in 1 3; do
    run 1 eval "${scores[@]}" --batch $batch
    cmp out scores || fail "other scores in batches of $batch"
    err_has '1 picture could not be decoded'
    ahead $((batch == 1 ? 7 : 2)) eval "${scores[@]}" --batch $batch
    cmp out scores || fail "other scores when calls are counted"
done
# A list whose writer waits for each answer before the next path.
mkfifo paths answers
"$VITCL" classify -m "$model" --json --batch 3 - <paths >answers 2>err &
exec 3>paths 4<answers
for i in 0 1 2 3; do
    echo "pics/$i.ppm" >&3
    read -r -t 60 line <&4 || fail "no answer to picture $i"
    grep -qxF "$line" whole || fail "another answer: $line"
done
exec 3>&-
wait $! || fail "status $?"
# An answer that is not finite: a second run finds out why, and the batch that
# was sent meanwhile is answered as ever.
python3 - "$model" <<'P'
import os, shutil, struct, sys
from tensors import parts, save
os.mkdir("large")
for name in os.listdir(sys.argv[1]):
    shutil.copyfile(sys.argv[1] + "/" + name, "large/" + name)
weights = parts("large/model.safetensors")
dtype, shape, data = weights["patch_embed.proj.weight"]
weights["patch_embed.proj.weight"] = dtype, shape, struct.pack("<2f", 3e38, 3e38) + data[8:]
save("large/model.safetensors", weights)
for i in range(8):  # 128: almost 0 when normalised
    open("pics/%d.ppm" % i, "wb").write(b"P6 32 32 255\n" + bytes([128 * (i % 3 > 0)]) * 3072)
P
run 1 classify -m large --json --batch 32 pics
mv out whole
[ "$(grep -c 'all weights are finite' whole)" = 3 ] || fail "$(cat whole)"
for batch in 1 3; do
    run 1 classify -m large --json --batch $batch pics
    cmp out whole || fail "other answers beside one that is not finite"
done

export POCL_DEVICES="pthread pthread"
run 0 devices --table
[ "$(grep -c '^0:[01] ' out)" = 2 ] || exit 0 # this PoCL has no two devices
for batch in 1 3; do
    run 1 classify -m large --json --batch $batch pics --devices all
    cmp out whole || fail "two devices give other answers"
    run 1 classify -m "$model" --json --batch $batch pics --devices all
    mv out two
    run 1 classify -m "$model" --json --batch $batch pics
    cmp out two || fail "two devices give other answers of finite weights"
    run 1 eval "${scores[@]}" --batch $batch --devices all
    cmp out scores || fail "two devices give other scores"
done
# While it computes, others may not have been read yet.
ahead 1 classify -m "$model" --json --batch 1 pics --devices 0:0
