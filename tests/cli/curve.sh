# curve.sh - the curve of a training: as PNG and SVG, of what the log says, whole
# or not there.
cat >config.json <<'J'
{"architecture": "vit_tiny_patch16_224", "model_args": {"img_size": 8,
 "patch_size": 4, "embed_dim": 4, "depth": 1, "num_heads": 1, "mlp_ratio": 1}}
J
mkdir -p data/bird data/cat
for i in $(seq 12); do
    for class in bird cat; do
        { printf 'P6 2 2 255\n' && head -c 12 "$VT_DATA/sample.jpg"; } >data/$class/$i.ppm
    done
done
given=(--config config.json --data data --batch 4 --epochs 3)
for name in curve curve.pdf curve.PNG .png curve.png.gz /dev/full; do
    run 2 train "${given[@]}" -o none --curve "$name"
    says "--curve must be FILE.png or FILE.svg, not '$name'"
done
if [ -z "${VITCL_PLOT-}" ]; then
    run 1 train "${given[@]}" -o none --curve curve.png
    says 'built without Cairo'
    [ ! -e none ] || fail "trained all the same"
    exit 0
fi
VITCL_PLOT=$PWD/nowhere.so run 1 train "${given[@]}" -o none --curve curve.png
says 'VITCL_PLOT=.*nowhere.so: no such module'
echo text >text.so
VITCL_PLOT=$PWD/text.so run 1 train "${given[@]}" -o none --curve curve.png
says 'figures cannot be drawn: .*text.so'
VITCL_PLOT=$VT_SIGNAL_AT_LIB run 1 train "${given[@]}" -o none --curve curve.png
says 'is not that of vitcl [0-9]'
[ ! -e none ] || fail "trained all the same"

# check SVG LOG NAMES...: these lines are drawn, in their colours, with all points
# of the log at their places.
cat >check.py <<'P'
import json, re, sys
svg, log, names = open(sys.argv[1]).read(), open(sys.argv[2]), sys.argv[3:]
log = [json.loads(line) for line in log]
colours = {"loss": (0, 45, 70), "accuracy": (84, 37, 0),
           "held_out_loss": (0, 62, 45), "held_out_accuracy": (80, 48, 66),
           "lr": (90, 62, 0), "held_out_top5": (34, 71, 91)}
drawn = {name: [] for name in colours}
for path in re.findall(r"<path [^>]*>", svg): # as Cairo 1.16 or 1.18 writes them
    stroke = re.search(r"stroke[:=]\"?rgb\(([\d.]+)%, *([\d.]+)%, *([\d.]+)%", path)
    points = [tuple(map(float, p)) for p in
              re.findall(r"[ML] ([\d.]+) ([\d.]+)", path)]
    for name, colour in colours.items():
        if stroke and all(abs(float(stroke[i + 1]) - colour[i]) < 1
                          for i in range(3)):
            drawn[name].append(points)
# Each has its line in the legend, and what has no points has none.
for name, lines in drawn.items():
    assert len(lines) == 2 * (name in names), (name, len(lines))
for name in names:
    want = [(r["step"], r[name]) for r in log if name in r]
    key, got = sorted(drawn[name], key=lambda p: p[-1][1])
    assert len(key) == 2 and key[0][1] == key[1][1], key
    # An axis is linear: x goes by the step, y by the value. Cairo leaves out
    # points within a straight line.
    values = [v for _, v in want]
    first, last, low, high = want[0][0], want[-1][0], min(values), max(values)
    below, above = max(y for _, y in got), min(y for _, y in got)
    assert below > above or low == high, name
    for step, value in want:
        x = got[0][0] + (got[-1][0] - got[0][0]) * (step - first) / (last - first)
        y = below + (above - below) * (value - low) / ((high - low) or 1)
        a, b = next((a, b) for a, b in zip(got, got[1:]) if x <= b[0] + 0.01)
        there = a[1] + (b[1] - a[1]) * (x - a[0]) / (b[0] - a[0])
        assert abs(there - y) < 0.05, (name, step, value, there, y)
P
run 0 train "${given[@]}" -o plain --log plain.json --curve plain.svg
python3 check.py plain.svg plain.json loss accuracy lr || fail "another curve"
run 0 train "${given[@]}" -o held --hold-out 8 --log held.json --curve held.svg
python3 check.py held.svg held.json loss accuracy lr held_out_loss \
    held_out_accuracy || fail "another curve"

# The same as PNG; one that cannot be written leaves the old one.
run 0 train "${given[@]}" -o png --curve held.png
run 0 classify held.png
run 0 train "${given[@]}" -o svg --curve held.svg
cmp plain.svg held.svg || fail "the same training has another curve"
# One epoch: the curve is drawn once.
run 0 train "${given[@]}" --epochs 1 -o short --curve held.svg
cp held.svg before.svg
cat >limited.py <<'P'
import os, resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
n = os.path.getsize("held.svg") - 1
resource.setrlimit(resource.RLIMIT_FSIZE, (n, n))
os.execv(sys.argv[1], sys.argv[1:])
P
code=0
python3 limited.py "$VITCL" train "${given[@]}" --epochs 1 -o g --curve held.svg >out 2>err ||
    code=$?
[ $code = 1 ] || fail "status $code"
err_has 'held.svg: cannot write: File too large'
err_has 'done: '
cmp held.svg before.svg || fail "the old curve is gone"
! compgen -G '.*vitcl-part*' || fail "a part is left"
cmp short/model.safetensors g/model.safetensors || fail "another model"
run 1 train "${given[@]}" -o h --curve nowhere/curve.png
says '^vitcl train: nowhere/curve.png: cannot write: No such file'
[ ! -e h ] || fail "the folder was made although the curve cannot be written"
run 1 train "${given[@]}" -o h --hold-out 10000
says 'cannot hold out 10000 of' # not after what was chosen
run 0 train "${given[@]}" --epochs 1 -o h --curve ./h//curve.png # a folder that it makes

# ---- more than five classes: the top-5 accuracy; what is scored may come from
# pictures of their own
for class in c d e f; do cp -r data/cat data/$class; done
run 0 train "${given[@]}" -o six --val data --log six.json --curve six.svg
python3 check.py six.svg six.json loss accuracy lr held_out_loss held_out_accuracy \
    held_out_top5 || fail "another curve"
rm -r data/[cdef]

# ---- a resumed training draws its first part too: from what it kept beside the
# model, or from the log. Epochs are at the bottom.
# Cairo numbers the surfaces of a process.
alike() { cmp -s <(sed 's/surface[0-9]*//g' "$1") <(sed 's/surface[0-9]*//g' "$2"); }
INT=2 KILL=9
long=("${given[@]}" --epochs 8 --hold-out 8)
run 0 train "${long[@]}" -o one --log one.json --curve one.svg
[ "$(wc -l <one/training.jsonl)" = 32 ] || fail "other steps are kept"
cmp one.json one/training.jsonl || fail "another log is kept"
signal_at "training.jsonl 5 $INT" 130 train "${long[@]}" -o two --curve two.svg
! alike one.svg two.svg || fail "a part is already the whole"
# killed in the middle of an epoch: steps are done again and kept twice
signal_at "training.jsonl 6 $KILL" 137 train --resume -o two --curve two.svg
signal_at "training.jsonl 9 $INT" 130 train --resume -o two # no curve, but kept
run 0 train --resume -o two --curve two.svg
alike one.svg two.svg || fail "the resumed curve is another one"
[ "$(wc -l <two/training.jsonl)" -gt 32 ] || fail "no step was done twice"
rm two.svg
run 0 train --resume -o two --curve two.svg
err_has 'already finished'
alike one.svg two.svg || fail "the curve afterwards is another one"
signal_at "three.json 5 $INT" 130 train "${long[@]}" -o three --log three.json
run 0 train --resume -o three --log three.json --curve three.svg
alike one.svg three.svg || fail "the curve from the log is another one"
python3 check.py three.svg three.json loss accuracy lr held_out_loss \
    held_out_accuracy || fail "another curve"
# what is no record is passed over
signal_at "four.json 5 $INT" 130 train "${long[@]}" -o four --log four.json
{
    printf 'text\n{"step": 1e999, "loss": 3}\n{"step": -4, "loss": 3}\n{"step": "x"}\n'
    printf '{"step": nan, "loss": 1}\n\000\n{"step": 3, "loss": 7}\n'
    cat four.json
    printf '{"ste'
} >four/training.jsonl
run 0 train --resume -o four --curve four.svg
alike one.svg four.svg || fail "other lines are records too"
# nothing of it is left when a training cannot begin
echo '{"optimizer": "sgd", "clip_grad_norm": 0, "warmup_steps": 0,
 "schedule": "constant"}' >wild.json
run 1 train "${long[@]}" -o wild --lr 9e5 --settings wild.json --curve wild.svg
[ ! -e wild ] || [ -e wild/training.safetensors ] || fail "left: $(ls wild)"
