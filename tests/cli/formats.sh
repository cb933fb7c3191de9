# formats.sh - classify's tables, and answers that are not sure.
picture=$VT_DATA/sample.jpg
little=$VT_DATA/small.png # 32x32, as the built-in model's training pictures
small="--preset vit-ti/16 --size 32"

# --csv is read by another program; names have what must be quoted.
quoted=$'a "quoted",\nname.jpg'
odd=$'byte \xff <b>.jpg'
cp "$picture" "$quoted"
cp "$picture" "$odd"
cp "$little" -- '=1+1.jpg'
cp "$picture" -- '-dash.jpg'
echo no >bad.jpg
run 1 classify --csv -k 3 -- "$quoted" "$odd" '=1+1.jpg' bad.jpg '-dash.jpg'
python3 - <<'P' || fail "the table"
import csv
raw = open("out", "rb").read()
assert raw.count(b"\r\n") == 6, raw
rows = list(csv.reader(raw.decode("utf-8", "surrogateescape").splitlines(True), strict=True))
assert rows[0] == ["path", "class", "probability", "sure", "error", "class 2",
                   "probability 2", "class 3", "probability 3"], rows[0]
assert [r[0].encode("utf-8", "surrogateescape") for r in rows[1:]] == [
    b'a "quoted",\nname.jpg', b"byte \xff <b>.jpg", b"./=1+1.jpg", b"bad.jpg",
    b"./-dash.jpg"], rows
assert {len(r) for r in rows} == {9}
for r in rows[1:]:
    if r[0] == "bad.jpg":
        assert r[4] and not any(r[1:4] + r[5:]), r
    else:
        assert r[1] == "ship" and not r[4], r
        assert r[3] == ("yes" if r[0] == "./=1+1.jpg" else "no"), r
        assert 1 > float(r[2]) > float(r[6]) > float(r[8]) > 0, r
P
wide=$'\xef\xbc\x9d1.jpg' # a wide =, in any locale
cp "$picture" "$wide"
run 0 embed $small -o rows.csv -- '=1+1.jpg' '-dash.jpg' "$wide" "$quoted"
python3 - <<'P' || fail "formulas in the vectors' table"
import csv
rows = list(csv.reader(open("rows.csv", newline=""), strict=True))
assert [r[0] for r in rows[1:]] == ["./=1+1.jpg", "./-dash.jpg", "./\uff1d1.jpg",
                                    'a "quoted",\nname.jpg'], [r[0] for r in rows]
P
run 0 classify $small --csv -k 1 "$picture"
out_has '^path,class,probability,sure,error.$'
out_has ',class [0-9]+,0\.[0-9]+,,.$' # no threshold: neither yes nor no
run 2 classify --csv --json "$picture"
says '[-]-csv and --json cannot be used together$'

# The built-in model knows when it is not sure, others if they are told.
run 0 classify --json -k 1 "$little"
out_has '"sure":true,"top"'
run 0 classify --json -k 1 --threshold 0.9999 "$little"
out_has '"sure":false,"top"'

# A picture of another kind than it was trained with, however likely a class is.
run 0 classify --json -k 1 --threshold 0.5 "$picture"
out_has '"sure":false,"detail":"finer","top":[^}]*"ship",[^}]*"probability":0\.9'
python3 -c 'open("plain.ppm", "wb").write(b"P6 32 32 255\n" + bytes((40, 90, 200)) * 1024)'
run 0 classify --json -k 1 plain.ppm "$little"
out_has '"picture":"plain.ppm","sure":false,"detail":"coarser"'
[ "$(grep -c '"sure":true,"top"' out)" = 1 ] || fail "the second of two pictures"
run 0 classify -k 2 --threshold 0.9999 "$picture"
[ "$(grep -c $'\tnot sure$' out)" = 2 ] || fail "lines that are not sure"
run 0 classify -k 2 "$little"
[ "$(awk -F'\t' 'NF == 5' out | wc -l)" = 2 ] || fail "lines that are sure"
run 0 classify $small --json -k 1 "$picture"
out_not sure
run 0 classify $small --json -k 1 --threshold 0.5 "$picture"
out_has '"sure":false'
run 0 classify --csv -k 1 --threshold 0.9999 "$picture"
out_has ',no,.$'
for bad in 0 -1 1.01 nan x; do
    run 2 classify --threshold $bad "$picture"
    says '^vitcl classify: --threshold must be '
done

# Probabilities are those of the logits divided by the temperature.
run 0 classify --json -k 10 --logits l.npy "$picture"
python3 - "$VT_DATA/../../models/cifar10/config.json" <<'P' || fail "not calibrated"
import json, math, struct, sys
t = json.load(open(sys.argv[1]))["vitcl_certainty"]["temperature"]
z = struct.unpack("<10f", open("l.npy", "rb").read()[-40:])
s = sum(math.exp(v / t) for v in z)
for c in json.load(open("out"))["top"]:
    assert abs(math.exp(z[c["index"]] / t) / s - c["probability"]) < 1e-6, c
P

# A terminal says so, and once what the model knows.
python3 -c 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) != 0)' \
    "$VITCL" classify -m builtin:cifar10 --threshold 0.9999 "$picture" "$odd" "$little" '=1+1.jpg' \
    >screen </dev/null || fail "in a terminal"
[ "$(grep -c 'not sure: ship 9' screen)" = 4 ] || fail "a terminal: $(cat screen)"
[ "$(grep -c 'not sure: finer detail than in the training pictures' screen)" = 1 ] ||
    fail "why: $(cat screen)"
[ "$(grep -c 'the model knows 10 classes: airplane, automobile,' screen)" = 1 ] ||
    fail "what it knows: $(cat screen)"

# Numbers of a config that make no sense.
mkdir model
python3 - "$VT_DATA/models/timm_vit" <<'P'
import json, shutil, sys
shutil.copy(sys.argv[1] + "/model.safetensors", "model")
c = json.load(open(sys.argv[1] + "/config.json"))
for i, bad in enumerate([{"temperature": 0, "threshold": 0.5}, {"temperature": 1},
                         {"temperature": 1, "threshold": 2}, {"temperature": "a", "threshold": 0}]):
    c["vitcl_certainty"] = bad
    json.dump(c, open(f"config{i}.json", "w"))
c["vitcl_certainty"] = {"temperature": 2, "threshold": 1}
json.dump(c, open("good.json", "w"))
for i, bad in enumerate([1, [1], [2, 1], [-0.1, 1], [0, 4.1], [0, "1"], [0, 1, 2], {"a": 0, "b": 1},
                         [0, 1e300], [None, None]]):
    c["vitcl_certainty"] = {"temperature": 1, "threshold": 0.5, "detail": bad}
    json.dump(c, open(f"detail{i}.json", "w"))
P
for i in 0 1 2 3; do
    cp config$i.json model/config.json
    run 1 classify -m model "$picture"
    says 'vitcl_certainty must have a temperature'
done
for bad in detail*.json; do
    cp "$bad" model/config.json
    run 1 classify -m model "$picture"
    says 'detail in the config.s vitcl_certainty must be two numbers from 0 to 4'
done
cp good.json model/config.json # as older trainings wrote it
run 0 classify -m model --json "$picture"
out_has '"sure":false,"top"'

# Converting keeps them: what is certain stays so, and the key is the last.
python3 - good.json <<'P' >model/config.json
import json, sys
c = json.load(open(sys.argv[1]))
c["vitcl_certainty"] = {"temperature": 1.375, "threshold": 0.8125, "detail": [0, 0.0625]}
json.dump(c, sys.stdout)
P
run 0 classify -m model --json "$picture"
out_has '"sure":false,"detail":"finer"'
cp out wanted
run 0 convert -m model -o as-hf --to hf
run 0 convert -m as-hf -o as-timm --to timm
for folder in as-hf as-timm; do
    python3 - $folder/config.json <<'P' || fail "$folder lost the certainty"
import json, sys
c = json.load(open(sys.argv[1]))
assert list(c)[-1] == "vitcl_certainty", list(c)
assert c["vitcl_certainty"] == {"temperature": 1.375, "threshold": 0.8125,
                                "detail": [0, 0.0625]}
P
done
probabilities() { grep -oE '"(probability|sure|detail)":[^,}]*' "$1"; }
run 0 classify -m as-timm --json "$picture" # as-hf: HF resizes otherwise
cmp <(probabilities out) <(probabilities wanted) || fail "as-timm answers differently"

# A path that is not UTF-8 can be found again by its bytes, in every kind of row.
run 1 classify --json -- "$odd" bad.jpg "$picture"
cp out rows
run 0 embed -o rows.jsonl -- "$odd" "$picture"
cat rows.jsonl >>rows
run 0 embed -o index.safetensors -- "$odd" "$picture"
run 0 search index.safetensors --json -- "$odd"
cat out >>rows
run 0 dupes index.safetensors --json
cat out >>rows
run 0 inspect -o looked -- "$odd"
tr -d '\n' <looked/inspect.json >>rows
python3 - "$odd" <<'P' || fail "the bytes of paths"
import base64, json, os, sys
odd, seen = os.fsencode(sys.argv[1]), 0
def check(x):
    global seen
    if isinstance(x, list):
        for y in x:
            check(y)
    if not isinstance(x, dict):
        return
    for key in ("picture", "nearest"):
        if isinstance(x.get(key), str):
            name = {"picture": "path_bytes"}.get(key, key + "_bytes")
            assert (name in x) == ("\ufffd" in x[key]), x
            if name in x:
                assert base64.b64decode(x[name]) == odd, x
                seen += 1
    for y in x.values():
        check(y)
for line in open("rows", encoding="utf-8"):
    check(json.loads(line))
assert seen >= 7, seen
P
