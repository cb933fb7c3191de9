# problem.sh - problem_type of Hugging Face's classifiers: what their numbers
# mean, in every format and score.
python3 - "$VT_DATA/models/hf_vit_new_names" <<'P'
import json, os, sys
from tensors import parts, save
# five classes; and one, whose head is the first row of those
def model(name, problem, classes=5):
    os.mkdir(name)
    config = json.load(open(sys.argv[1] + "/config.json"))
    config["id2label"] = {str(i): f"class {i}" for i in range(classes)}
    if problem:
        config["problem_type"] = problem
    json.dump(config, open(name + "/config.json", "w"))
    weights = parts(sys.argv[1] + "/model.safetensors")
    for key, (dtype, shape, data) in weights.items():
        if key.startswith("classifier."):
            weights[key] = dtype, [classes] + shape[1:], data[:len(data) // 5 * classes]
    save(name + "/model.safetensors", weights)
model("softmax", None)
model("single", "single_label_classification")
model("multi", "multi_label_classification")
model("numbers", "regression")
model("one", None, 1)
model("one_single", "single_label_classification", 1)
model("number", "regression", 1)
model("other", "ranking")
P
cp "$VT_DATA/sample.jpg" a.jpg
python3 - <<'P'
for name, colour in (("b", (200, 30, 10)), ("c", (0, 90, 200)), ("d", (250, 250, 250))):
    open(name + ".ppm", "wb").write(b"P6 40 30 255\n" + bytes(colour) * 600 + bytes(1800))
P
pictures=(a.jpg b.ppm c.ppm d.ppm)

# ---- the numbers are those of the function, in every format
for m in softmax single multi numbers one one_single number; do
    run 0 classify -m $m --logits $m.npy --json "${pictures[@]}"
    mv out $m.json
    run 0 classify -m $m "${pictures[@]}"
    mv out $m.tsv
    run 0 classify -m $m --csv "${pictures[@]}"
    mv out $m.csv
done
python3 - <<'P'
import csv, json, math, struct
for m, kind in dict(softmax="softmax", single="softmax", multi="sigmoid", numbers="none",
                    one="sigmoid", one_single="sigmoid", number="none").items():
    n = 1 if m in ("one", "one_single", "number") else 5
    raw = open(m + ".npy", "rb").read()[-4 * 4 * n:]
    rows = [json.loads(line) for line in open(m + ".json")]
    fields = [line.rstrip("\n").split("\t") for line in open(m + ".tsv")]
    table = list(csv.reader(open(m + ".csv", newline="")))
    for i, row in enumerate(rows):
        x = struct.unpack(f"<{n}f", raw[4 * n * i:4 * n * (i + 1)])
        total = sum(map(math.exp, x))
        want = [math.exp(v) / total if kind == "softmax" else
                1 / (1 + math.exp(-v)) if kind == "sigmoid" else v for v in x]
        assert row.get("function", "softmax") == kind, row
        order = sorted(range(n), key=lambda k: -x[k])
        assert [t["index"] for t in row["top"]] == order
        for k, t in enumerate(row["top"]):
            key = "number" if kind == "none" else "probability"
            assert ("probability" in t) != (kind == "none")
            for got in (t[key], float(fields[i * n + k][4]),
                        float(table[i + 1][2 if k == 0 else 5 + 2 * k - 1])):
                assert abs(got - want[t["index"]]) < 2e-6, (m, i, k, got, want)
        assert table[0][2] == key
P
run 1 classify -m other a.jpg
says 'other: the config.s problem_type "ranking" is not supported'

# ---- a threshold holds for each class of several, and for no number
run 0 classify -m multi a.jpg
threshold=$(sed -n 2,3p out | cut -f5 | awk '{ s += $1 } END { print s / 2 }')
run 0 classify -m multi --threshold "$threshold" a.jpg
[ "$(grep -c 'not sure' out)" = 3 ] || fail "not two classes reach $threshold"
run 0 classify -m multi --threshold "$threshold" --json a.jpg
[ "$(grep -o '"sure":true' out | wc -l)" = 3 ] || fail "JSON says otherwise"
# The third is marked where people read, and the others behind it with it.
on_terminal 80 0 classify -m multi --threshold "$threshold" --html marked.html a.jpg
[ "$(grep -o 'class [0-9]\|not sure:' out | sed -n 3p)" = 'not sure:' ] || fail "on a terminal"
grep -qE '<small>class [0-9].{5,9}, not sure: class [0-9]' marked.html || fail "on a page"
run 0 classify -m multi --threshold "$threshold" --explain a.jpg
[ "$(grep -n '^  not sure:$' out)" = '4:  not sure:' ] || fail "beside bars"
on_terminal 80 0 classify -m multi --threshold 0.9999 a.jpg
[ "$(grep -o 'not sure: class' out | wc -l)" = 2 ] || fail "on each line of a terminal"
run 2 classify -m numbers --threshold 0.5 a.jpg
says '--threshold is a probability, but this model answers with numbers'
run 2 classify -m numbers --copy-to x a.jpg
says 'this model has no classes \(regression\); leave --copy-to out$'
[ ! -e x ] || fail "a folder was made"
run 0 classify -m multi --copy-to sorted/ a.jpg
[ "$(ls sorted)" = "$(cut -f4 multi.tsv | head -1)$(cut -f3 multi.tsv | head -1)" ] ||
    fail "sorted elsewhere"

# ---- pages, bars, figures
number=$(sed -n 1p number.tsv | cut -f5)
short=$(printf %.4g "$number")
run 0 classify -m number --html page.html a.jpg
grep -qF "class 0 $short" page.html || fail "the page lacks $short"
run 0 classify -m number --explain a.jpg
grep -qF -- "$short" out || fail "no number"
out_not 'class 0.*%'
on_terminal 80 0 classify -m number a.jpg
grep -qF -- "class 0 $short" out || fail "no number on a terminal"
if [ -n "${VITCL_PLOT-}" ]; then
    run 0 inspect -m number -o inside a.jpg
    grep -q '"number": ' inside/inspect.json || fail "inspect has no number"
    run 0 inspect -m one -o within a.jpg
    grep -o '"probability": [0-9.]*' within/inspect.json | cut -d' ' -f2 >got
    awk -v a="$(cat got)" -v b="$(head -1 one.tsv | cut -f5)" \
        'BEGIN { exit !(a - b < 1e-5 && b - a < 1e-5) }' || fail "inspect: $(cat got)"
fi

# ---- convert keeps it
for to in timm hf; do
    run 0 convert -m multi --to $to -o multi-$to
    run 0 classify -m multi-$to --size 24 a.jpg
    err_not 'problem'
    grep -q '"problem_type": "multi_label_classification"' multi-$to/config.json ||
        fail "convert --to $to lost the problem_type"
done

# ---- eval: mean average precision, as scikit-learn has it
mkdir -p data/{x,y}
cp a.jpg b.ppm data/x
cp c.ppm d.ppm data/y
echo '{"a": [0, 1], "b": ["class 1"], "c": [], "d": [2, 1, 0]}' >labels.json
run 0 eval -m multi --data data --labels labels.json --json
json out
out_has '^\{"pictures":4,"failed":0,"classes":3,"map":'
python3 - <<'P'
import json, struct
x = struct.unpack("<20f", open("multi.npy", "rb").read()[-80:])
right = [{0, 1}, {1}, set(), {0, 1, 2}]
total = 0
for c in range(3):
    order, hits, sum_ = sorted(range(4), key=lambda i: -x[5 * i + c]), 0, 0
    for k, i in enumerate(order):
        if c in right[i]:
            hits += 1
            sum_ += hits / (k + 1)
    total += sum_ / hits
got = json.load(open("out"))["map"]
assert abs(got - total / 3) < 1e-6, (got, total / 3)
P
run 0 eval -m multi --data data --labels labels.json
out_has '^map	0\.[0-9]{4}$|^map	1\.0000$'
mv data/x 'data/class 0' # the other folder is no class: it has none
run 0 eval -m one --data data --json
out_has '"classes":1,"map":'
run 1 eval -m softmax --data data
says "class 'y' of the pictures is not a class"
run 2 eval -m multi --data data --labels labels.json --confusion x.csv
says 'any number of classes per picture; leave --confusion out'

# ---- and the mean squared error: numbered folders, or lists of numbers
mv 'data/class 0' data/-1.5
mv data/y data/2
run 0 eval -m number --data data --json
cp out folders
python3 - <<'P'
import json, struct
x = struct.unpack("<4f", open("number.npy", "rb").read()[-16:])
want = sum((a - b) ** 2 for a, b in zip(x, (-1.5, -1.5, 2, 2))) / 4
got = json.load(open("out"))
assert got["pictures"] == 4 and abs(got["mse"] - want) < 1e-5 * want, (got, want)
P
run 1 eval -m numbers --data data
says 'the model answers with 5 numbers, and a folder is named by one'
echo '{"a": [-1.5], "b": [-1.5], "c": [2], "d": [2]}' >values.json
run 0 eval -m number --data data --labels values.json --json
cmp out folders || fail "another error with the same numbers"
echo '{"a": [-1.5], "b": [-1.5], "c": [2], "d": []}' >values.json
run 1 eval -m number --data data --labels values.json
says 'picture 3 has 0 numbers, but the model answers with 1'
echo '{"a": [1], "b": [1], "c": [2], "d": ["y"]}' >values.json
run 1 eval -m number --data data --labels values.json
says 'values.json: "y" is not a number'
mv data/2 data/y
run 1 eval -m number --data data
says "class 'y' of the pictures is not a number"
