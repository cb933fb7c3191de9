# validation.sh - pictures that a training scores: --val and --hold-out, the best
# model, --patience, the log; interrupted trainings continue with the same bits.
cat >config.json <<'J'
{"architecture": "vit_tiny_patch16_224", "model_args": {"img_size": 8,
 "patch_size": 4, "embed_dim": 8, "depth": 1, "num_heads": 1, "mlp_ratio": 1}}
J
# Six classes: a colour each, and noise. Of val/, every third picture has another
# class's colour, so that no model is right about all of them.
python3 - <<'P'
import os, random
random.seed(3)
for part, n in (("data", 8), ("val", 3)):
    for k in range(6):
        os.makedirs(f"{part}/c{k}")
        for i in range(n):
            c = (k + (part == "val" and i == 2)) % 6
            colour = (c * 50, 255 - c * 50, 128 if c % 2 else 0)
            with open(f"{part}/c{k}/{i}.ppm", "wb") as f:
                f.write(b"P6 8 8 255\n" + bytes(
                    min(255, max(0, v + random.randrange(-30, 30)))
                    for _ in range(64) for v in colour))
P
echo '{"dropout": 0.1, "drop_path": 0.2, "ema": 0.9}' >settings.json
given=(--config config.json --data data --batch 16 --lr 0.01 --augment none
       --settings settings.json)

# ---- wrong use
run 2 train "${given[@]}" --epochs 1 -o no --val val --hold-out 3
says '--val and --hold-out cannot be used together'
run 2 train "${given[@]}" --epochs 1 -o no --patience 3
says '--patience needs --val PATH, --hold-out N or --resume'
run 1 train "${given[@]}" --epochs 1 -o no --val nowhere
says 'nowhere: no such folder'
cp -r val missing && rm -r missing/c3
run 1 train "${given[@]}" --epochs 1 -o no --val missing
says "^vitcl train: missing: class 'c3' of the training pictures is not a class of the validation pictures \(5 of 6 are\)$"
cp -r val unknown && cp -r val/c1 unknown/c9
run 1 train "${given[@]}" --epochs 1 -o no --val unknown
says "^vitcl train: unknown: class 'c9' of the validation pictures is not a class of the training pictures \(6 of 7 are\)$"
mkdir other && cp -r val/c1 other/d1
run 1 train "${given[@]}" --epochs 1 -o no --val other
says "class 'd1' .*\(0 of 1 are\)$"
[ ! -e no ] || fail 'a refused training left a folder'

# ---- the numbers are those of eval, the best model's those of the best epoch
run 0 train "${given[@]}" --epochs 10 --val val -o whole --log log.json
err_has '^vitcl train: epoch 1/10: loss [0-9.]+, accuracy [0-9.]+ %, held-out loss [0-9.]+, held-out accuracy [0-9.]+ %, top-5 [0-9.]+ %, best, lr '
[ "$(grep -c ': epoch ' err)" = 10 ] || fail 'not one line for each epoch'
json log.json
cp err said
for name in whole whole/best; do
    run 0 eval -m $name --data val --json
    cp out ${name//\//-}.json
done
cat >best.py <<'P'
import json, re, sys
log = [json.loads(line) for line in open("log.json")]
scored = [r for r in log if "held_out_accuracy" in r]
assert [r["step"] for r in scored] == [r["epoch"] * 3 for r in scored], scored
assert len(scored) == 10
best = max(scored, key=lambda r: (r["held_out_accuracy"], -r["held_out_loss"]))
for name, r in (("whole", scored[-1]), ("whole-best", best)):
    e = json.load(open(name + ".json"))
    assert abs(e["top1"] - r["held_out_accuracy"]) < 1e-6, (name, e, r)
    assert abs(e["top5"] - r["held_out_top5"]) < 1e-6, (name, e, r)
assert best["held_out_accuracy"] > scored[0]["held_out_accuracy"], scored
assert best["held_out_top5"] > best["held_out_accuracy"], best
said = open("said").read()
assert re.search(rf"the best epoch was {best['epoch']}, with "
                 rf"{100 * best['held_out_accuracy']:.2f} % of the held-out "
                 r"pictures right; its model is in whole/best", said), said
# An epoch's line has the mean of that epoch's steps.
for r in scored:
    steps = [s for s in log if s["epoch"] == r["epoch"]]
    loss = sum(s["loss"] for s in steps) / len(steps)
    right = sum(s["accuracy"] for s in steps) / len(steps)
    shown = re.search(rf"epoch {r['epoch']}/10: loss ([\d.]+), accuracy ([\d.]+) %",
                      said)
    assert abs(float(shown[1]) - loss) < 6e-5, (r, loss, shown[0])
    assert abs(float(shown[2]) - 100 * right) < 0.06, (r, right, shown[0])
P
python3 best.py || fail 'other numbers'

# ---- scoring changes nothing in the training, except the notes about it
run 0 train "${given[@]}" --epochs 10 -o alone --log alone.json
cmp whole/model.safetensors alone/model.safetensors || fail 'scoring changes the model'
[ ! -e alone/best ] || fail 'a best model of no scores'
err_not 'held-out'
[ "$(grep -c ': epoch ' err)" = 10 ] || fail 'not one line for each epoch'

# ---- stopped and killed anywhere, also around best/: the same bytes and lines
INT=2 KILL=9
same() {
    for name in training.safetensors model.safetensors best/model.safetensors \
        best/config.json; do
        cmp whole/$name "$1/$name" || fail "$1: $name differs"
    done
    grep ': epoch 10/10' said | sed 's/, [0-9.]* pictures.*//' >want
    grep ': epoch 10/10' err | sed 's/, [0-9.]* pictures.*//' >got
    cmp want got || fail "another last line: $(cat got)"
    grep 'best epoch' said | sed 's,whole/best,,' >want
    grep 'best epoch' err | sed "s,$1/best,," >got
    cmp want got || fail "another best epoch: $(cat got)"
}
signal_at "parts.json 4 $INT" 130 train "${given[@]}" --epochs 10 --val val -o parts \
    --log parts.json
mv val moved
run 1 train --resume -o parts
says 'val: no such folder'
signal_at "parts.json 7 $INT" 130 train --resume -o parts --val moved --log parts.json
signal_at "parts.json 18 $INT" 130 train --resume -o parts --val moved --log parts.json
run 0 train --resume -o parts --val moved
same parts
mv moved val
# renames: settings, config, model, state, model; then best/'s config, model, and
# the folder; later its model alone
killed=(train "${given[@]}" --epochs 10 --val val -o killed)
for at in 'rename 6' 'rename 2' 'rename 3' 'rename 4' 'fsync 3' 'rename 1' \
    'rename 2' 'rename 4' 'rename 3'; do
    signal_at "$at $KILL" 137 "${killed[@]}"
    killed=(train --resume -o killed)
    run 0 info -m killed
    [ ! -e killed/best ] || run 0 info -m killed/best
done
run 0 train --resume -o killed
same killed
[ "$(cd killed && printf '%s ' * best/*)" = "best config.json model.safetensors \
training.json training.safetensors best/config.json best/model.safetensors " ] ||
    fail "left: $(ls killed killed/best)"

# ---- patience: a learning rate of almost 0 never makes it better
slow=("${given[@]}" --epochs 50 --val val --lr 1e-30 --patience 3)
echo '{}' >settings.json
run 0 train "${slow[@]}" -o slow --log slow.json
err_has 'ended after epoch 4 of 50: none of the last 3 was better; the model is in slow'
err_has 'best epoch was 1,'
[ "$(wc -l <slow.json)" = 12 ] || fail 'another number of steps'
run 0 train --resume -o slow
err_has 'ended after epoch 4 of 50'
run 0 train --resume -o slow --patience 5
err_has 'ended after epoch 6 of 50: none of the last 5 was better'
run 0 train --resume -o slow # the new patience stays
err_has 'ended after epoch 6 of 50: none of the last 5 was better'
run 0 info -m slow/best
# other pictures to score: the best score of the first ones is forgotten, also
# where the training is killed before it scores
cp -r val fewer && rm fewer/*/0.ppm
signal_at "rename 4 $KILL" 137 train --resume -o slow --val fewer
run 0 train --resume -o slow
err_has 'ended after epoch 12 of 50: none of the last 5 was better'
err_has 'best epoch was 7,'
# with pictures of the training
run 0 train "${given[@]}" --epochs 50 --lr 1e-30 --hold-out 7 --patience 1 -o held
err_has 'ended after epoch 2 of 50: none of the last 1 was better'
run 1 train --resume -o held --val val
says 'held: this training began with held-out pictures; omit val to resume'
run 0 train "${given[@]}" --epochs 1 -o plain
run 1 train --resume -o plain --patience 2
says 'plain: this training scores no pictures'
run 0 train --resume -o plain --epochs 2 --val val
run 0 train --resume -o plain --epochs 3 # and so do new pictures
err_has 'epoch 3/3: .*held-out accuracy'

# ---- best/ is never taken from somebody
mkdir -p mine/best && echo mine >mine/best/notes.txt
run 1 train "${given[@]}" --epochs 1 --val val -o mine
says 'mine: a model exists already'
[ "$(ls mine/best)" = notes.txt ] || fail "left: $(ls mine/best)"

mv data first
# ---- classes in another order: those of CIFAR's files are in that of batches.meta.txt
python3 - <<'P'
import os, random
random.seed(4)
def planes(k): # a colour for each class, and noise
    return bytes(min(255, max(0, v + random.randrange(-20, 20)))
                 for v in (k * 28, 255 - k * 28, 255 * (k % 2)) for _ in range(1024))
os.mkdir("data")
for k in range(10):
    os.makedirs(f"folders/n{k}")
    for i in range(6):
        p = planes(k)
        with open(f"folders/n{k}/{i}.ppm", "wb") as f:
            f.write(b"P6 32 32 255\n" + bytes(
                v for rgb in zip(p[:1024], p[1024:2048], p[2048:]) for v in rgb))
with open("data/test_batch.bin", "wb") as f:
    for k in range(10):
        f.write(bytes([9 - k]) + planes(k))
with open("data/batches.meta.txt", "w") as f:
    f.write("".join(f"n{9 - k}\n" for k in range(10)))
P
run 0 train --config config.json --data folders --batch 10 --epochs 15 --lr 0.02 \
    --augment none --val data -o order --log order.json
run 0 eval -m order --data data --json
python3 -c 'import json
e, r = json.load(open("out")), [json.loads(line) for line in open("order.json")][-1]
assert abs(e["top1"] - r["held_out_accuracy"]) < 1e-6, (e, r)
assert abs(e["top5"] - r["held_out_top5"]) < 1e-6, (e, r)
assert r["held_out_accuracy"] > 0.3, r' || fail 'other numbers than eval'

# ---- without labels
rm -r data && mv first data
run 0 train "${given[@]}" --epochs 2 --objective masked-patch --val val -o masked
err_has 'epoch 2/2: .*held-out accuracy'
