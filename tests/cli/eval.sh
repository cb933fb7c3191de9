# eval.sh - scores on labelled pictures agree with the answers of classify.
model=$VT_DATA/models/timm_vit
run 0 info -m "$model" --json
classes=$(sed -n 's/.*"classes":\([0-9]*\).*/\1/p' out)
run 0 classify -m "$model" -k 1 --json "$VT_DATA/sample.jpg"
best=$(sed -n 's/.*"index":\([0-9]*\).*/\1/p' out)

# A model whose classes have no names is matched by number on request. The
# picture is in the folder of its answer, and in another one.
for ((i = 0; i < classes; i++)); do mkdir -p "data/$(printf %04d "$i")"; done
other=$(printf %04d $(((best + 1) % classes)))
cp "$VT_DATA/sample.jpg" "data/$(printf %04d "$best")/a.jpg"
run 1 eval -m "$model" --data data --json
says '--classes-by number matches them by number'
number=(--classes-by number)
run 0 eval -m "$model" --data data --json "${number[@]}"
json out
out_has '"pictures":1,"failed":0,.*"top1":1}'
cp "$VT_DATA/sample.jpg" "data/$other/b.jpg"
run 0 eval -m "$model" --data data --json --classes --batch 1 "${number[@]}"
json out
out_has '"pictures":2,.*"top1":0.5,'
out_has "\"answers\":{\"$best\":1}"

# Several right classes a picture: a.jpg and b.jpg are both answered `best`.
real() {
    printf '%s' "$1" >real.json
    run "${3:-0}" eval -m "$model" --data data --json --labels real.json "${number[@]}"
    [ -z "$2" ] || out_has "$2"
}
real "{\"a\": [$best], \"$other/b.jpg\": [0, 1, $best]}" '"real_pictures":2,"real":1}'
json out
real "{\"a.jpg\": [], \"b.jpg\": [$(((best + 1) % classes))]}" \
    '"top1":0.5,.*"real_pictures":1,"real":0}'
real '{"a": [], "b": []}' '"real_pictures":0,"real":0}'
run 0 eval -m "$model" --data data --labels real.json "${number[@]}"
out_has '^real	0.0000$'
real '{"a": [1], "c": [1]}' '' 1
err_has "real.json: no entry for picture .*b.jpg"
real "{\"a\": [$classes], \"b\": []}" '' 1
err_has "real.json: class $classes is out of range; the model has"
for bad in '{"a": 1, "b": []}' '{"a": [-1], "b": []}' '{"a": [1.5], "b": []}' \
    '{"a": [[1]], "b": []}' '{"a": [1], "a": [2], "b": []}' '"a"' '[[1]' '' \
    '[[1], [2]]' '{"a": [99999999999], "b": []}'; do
    real "$bad" '' 1
    err_has 'real.json:'
done
run 1 eval -m "$model" --data data --labels nowhere.json
says 'nowhere.json'
mkdir -p numbered/x
cp "$VT_DATA/sample.jpg" numbered/x/ILSVRC2012_val_00000002.JPEG
cp "$VT_DATA/sample.jpg" numbered/x/ILSVRC2012_val_00000003_n01440764.jpg
for ((i = 1; i < classes; i++)); do mkdir numbered/y$i; done
for list in "[[], [$best], [$best, 1]] 1" "[[$best], [], []] 0"; do
    echo "${list% *}" >real.json
    run 0 eval -m "$model" --data numbered --json --labels real.json "${number[@]}"
    out_has "\"real\":${list##* }}"
done
echo '[[], [1]]' >real.json
run 1 eval -m "$model" --data numbered --labels real.json
says 'a list of 2 entries, but the name of .*00000003_n01440764.jpg does not'

echo text >"data/$other/c.jpg"
run 1 eval -m "$model" --data data "${number[@]}"
out_has '^failed	1$'
err_has '1 picture could not be decoded'

# The expected calibration error is that of the probabilities of classify, from
# the definition; also with a temperature, and added up from parts.
python3 - <<'PYTHON'
import os, random
random.seed(3)
for i in range(30):
    os.makedirs(f"noise/{i % 5:04d}", exist_ok=True)
    low, high = random.randrange(128), random.randrange(128, 256)
    with open(f"noise/{i % 5:04d}/{i}.ppm", "wb") as f:
        f.write(b"P6 24 24 255\n" + bytes(random.randint(low, high) for _ in range(1728)))
PYTHON
cat >error.py <<'PYTHON'
import json, sys
answers = [json.loads(line) for line in open("answers")]
bins = [[] for _ in range(15)]
for a in answers:
    p, right = a["top"][0]["probability"], int(a["picture"].split("/")[1]) == a["top"][0]["index"]
    bins[next(i for i in range(15) if i / 15 < p <= (i + 1) / 15)].append((p, right))
assert sum(map(bool, bins)) > 1 and len(answers) == 30
want = sum(abs(sum(p - r for p, r in b)) for b in bins) / len(answers)
got = json.load(open("out"))["calibration_error"]
assert abs(got - want) < 1e-6 and want > 0.01, (got, want)
PYTHON
cp -r "$model" cold
sed -i '0,/{/s//{"vitcl_certainty": {"temperature": 0.1, "threshold": 0.5, "detail": [0, 4]},/' cold/config.json
for m in "$model" cold; do
    run 0 classify -m "$m" -k 1 --json noise/*/*.ppm
    cp out answers
    run 0 eval -m "$m" --data noise "${number[@]}"
    out_has '^calibration_error	0\.[0-9]{4}$'
    run 0 eval -m "$m" --data noise --json "${number[@]}"
    python3 error.py || fail "another calibration error than $m's"
    cp out whole
    rm -rf parts && mkdir parts
    for k in 1 2; do
        run 0 eval -m "$m" --data noise "${number[@]}" --shard $k/2 -o "parts/{shard}.json"
    done
    run 0 merge parts --json
    cmp whole out || fail 'parts add up to something else'
done

# Ten classes of one colour each: any features tell them apart.
mkdir cifar
python3 - <<'PYTHON'
import random
random.seed(1)
for name, n in (("data_batch_1", 60), ("test_batch", 30)):
    with open(f"cifar/{name}.bin", "wb") as f:
        for i in range(n):
            label = i % 10
            plane = [(label * 25 + random.randrange(9)) % 256, (label * 90) % 256, (label * 155) % 256]
            f.write(bytes([label]) + b"".join(bytes([v]) * 1024 for v in plane))
for i in range(2, 6):
    open(f"cifar/data_batch_{i}.bin", "wb").write(open("cifar/data_batch_1.bin", "rb").read())
PYTHON
run 0 fewshot -m "$model" --data cifar --shots 3 --shots 1 --tries 2 --json
json out
out_lines 2
mean=$(sed -n 's/{"shots":3,"mean":\([0-9.]*\),.*/\1/p' out)
awk -v m="$mean" 'BEGIN { exit !(m > 0.8) }' || fail "accuracy $mean"
cp out first
run 0 fewshot -m "$model" --data cifar --shots 3 --shots 1 --tries 2 --json
cmp out first || fail "another run, another answer"
[ ! -s err ] || fail "30 pictures a class are enough for 3: $(cat err)"
run 0 fewshot -m "$model" --data cifar --shots 31 --tries 1
out_has '^31 shots'
err_has '^vitcl fewshot: 10 classes have fewer than 31 training pictures; all of them are used$'

run 2 eval -m "$model"
says '--data PATH is required'
run 1 eval -m "$model" --data nowhere
says 'nowhere: no such folder'
run 1 eval --data "$VT_DATA/sample.jpg"
err_has 'sample.jpg: is a file; give a folder'
run 1 eval -m "$model" --data cifar --split validation
says "'train' and 'test', not 'validation'"
run 2 fewshot -m "$model" --data cifar --shots 0
says "not '0'"
