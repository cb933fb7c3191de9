# ahead.sh - with the kernels for GPUs a batch is sent while the one before is
# computed: the same answers in the same order as one batch of all pictures.
export VITCL_DEVICE_CLASS=gpu
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
import json, os, shutil, struct, sys
os.mkdir("large")
for name in os.listdir(sys.argv[1]):
    shutil.copyfile(sys.argv[1] + "/" + name, "large/" + name)
with open("large/model.safetensors", "r+b") as f:
    size = struct.unpack("<Q", f.read(8))[0]
    at = json.loads(f.read(size))["patch_embed.proj.weight"]["data_offsets"][0]
    f.seek(8 + size + at)
    f.write(struct.pack("<2f", 3e38, 3e38))
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
