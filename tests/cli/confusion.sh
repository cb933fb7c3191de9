# confusion.sh - precision, recall, F1 and the confusion matrix of eval, counted
# and computed once more in Python from the answers of classify.
model=(-m builtin:cifar10)
python3 - <<'P'
import os, random
random.seed(8)
for name in ("airplane", "cat", "dog", "frog", "ship"):
    os.makedirs(f"data/{name}")
    for i in range({"airplane": 5, "cat": 7, "dog": 4, "frog": 8, "ship": 0}[name]):
        corners = [random.randrange(256) for _ in range(12)]
        with open(f"data/{name}/{i}.ppm", "wb") as f:
            f.write(b"P6 2 2 255\n" + bytes(corners))
P
run 0 classify "${model[@]}" -k 1 --json data
cp out answers
run 0 eval "${model[@]}" --data data --classes --json --confusion matrix.csv
json out
cp out scores.json
run 0 eval "${model[@]}" --data data --classes
cat >check.py <<'P'
import csv, json
from collections import Counter
names = ["airplane", "cat", "dog", "frog", "ship"]
pairs = Counter()
for line in open("answers"):
    a = json.loads(line)
    pairs[a["picture"].split("/")[-2], a["top"][0]["label"]] += 1
assert sum(pairs.values()) == 24 and len(pairs) > 4, pairs
e = json.load(open("scores.json"))

def share(a, b):
    return a / b if b else 0
want = {}
for n in names:
    right = pairs[n, n]
    support = sum(v for (c, _), v in pairs.items() if c == n)
    answered = sum(v for (_, a), v in pairs.items() if a == n)
    p, r = share(right, answered), share(right, support)
    want[n] = (support, right, p, r, share(2 * p * r, p + r))
assert [c["class"] for c in e["per_class"]] == names
near = lambda a, b: abs(a - b) < 1e-6
for c in e["per_class"]:
    w = want[c["class"]]
    assert (c["pictures"], c["right"]) == w[:2], c
    assert all(near(a, b) for a, b in zip((c["precision"], c["recall"], c["f1"]), w[2:])), (c, w)
used = [want[n] for n in names if want[n][0]]
macro = [sum(w[i] for w in used) / len(used) for i in (2, 3, 4)]
assert len(used) == 4
assert all(near(e["macro"][k], m) for k, m in zip(("precision", "recall", "f1"), macro))
wrong = {k: v for k, v in pairs.items() if k[0] != k[1] and v}
assert {(c["class"], c["answer"]): c["pictures"] for c in e["confused"]} == wrong
counts = [c["pictures"] for c in e["confused"]]
assert counts == sorted(counts, reverse=True)

rows = list(csv.reader(open("matrix.csv", newline="")))
assert rows[0][:6] == ["class"] + names, rows[0]
assert set(rows[0][6:]) == {a for _, a in pairs} - set(names)
for row in rows[1:]:
    for answer, n in zip(rows[0][1:], row[1:]):
        assert int(n) == pairs[row[0], answer], (row, answer)

text = [line.rstrip("\n").split("\t") for line in open("out")][4:]
assert text[0] == ["class", "pictures", "precision", "recall", "f1"]
for line, n in zip(text[1:6], names):
    assert line[0] == n and int(line[1]) == want[n][0]
    assert all(near(float(a), b) for a, b in zip(line[2:], want[n][2:]))
assert text[6][:2] == ["macro", "24"]
assert text[7] == ["class", "answer", "pictures"]
assert {(a, b): int(n) for a, b, n in text[8:]} == wrong
P
python3 check.py || fail 'the scores are not those of the answers'

# all right, and one class alone
cp -r data right && rm -r right/*/*
line=$(grep -m1 '"label":"airplane"' answers) || line=
[ -n "$line" ] || fail 'no answer is airplane; choose another seed'
picture=${line#*'"picture":"'}
cp "${picture%%'"'*}" right/airplane/a.ppm
run 0 eval "${model[@]}" --data right --classes --json
out_has '"macro":\{"precision":1,"recall":1,"f1":1\}'
out_has '"confused":\[\]'
out_has '"class":"cat","pictures":0,"right":0,"precision":0,"recall":0,"f1":0,'

# to a terminal: the matrix if it fits, else pairs; no line is wider
python3 - "$VITCL" "$VT_DATA/../../models/cifar10" <<'P'
import fcntl, json, os, pty, struct, subprocess, sys, termios, unicodedata
def shown(columns, model="builtin:cifar10"):
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    p = subprocess.Popen([sys.argv[1], "eval", "-m", model, "--data", "data",
                          "--classes"], stdout=slave, stderr=subprocess.DEVNULL)
    os.close(slave)
    text = b""
    while True:
        try:
            part = os.read(master, 4096)
        except OSError:
            break
        if not part:
            break
        text += part
    assert p.wait() == 0
    return text.decode().replace("\r\n", "\n")
wide, narrow = shown(120), shown(52)
assert "rows: class, columns: answer" in wide and "confused" not in wide
assert "confused" in shown(34) and "columns: answer" not in shown(34)
for text, columns in ((wide, 120), (narrow, 52)):
    assert all(len(line) <= columns for line in text.split("\n")), text
    assert "\nairplane  " in text and "precision  recall" in text and "\t" not in text.split("\n\n")[1]

# names of two columns a character, and of a letter with an accent of its own
config = json.load(open(sys.argv[2] + "/config.json"))
label = dict(zip(("cat", "dog", "frog"), ("\u732b", "\u72ac" * 20, "cafe\u0301")))
for name, other in label.items():
    os.rename("data/" + name, "data/" + other)
config["label_names"] = [label.get(name, name) for name in config["label_names"]]
os.mkdir("wide")
json.dump(config, open("wide/config.json", "w"))
os.symlink(sys.argv[2] + "/model.safetensors", "wide/model.safetensors")
for part in shown(120, "wide").split("\n\n")[1:3]:
    lines = part.rstrip("\n").split("\n")[-6:]
    columns = [sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in line
                   if not unicodedata.combining(c)) for line in lines]
    assert len(set(columns)) == 1, (columns, part)
for name, other in label.items():
    os.rename("data/" + other, "data/" + name)
P

# files: endings, refusals before the work, names that are not UTF-8
run 2 eval "${model[@]}" --data data --confusion matrix.txt
says "must be FILE.csv, FILE.png or FILE.svg, not 'matrix.txt'"
run 1 eval "${model[@]}" --data data --confusion nowhere/matrix.csv
says 'nowhere/matrix.csv: cannot write: No such file'
ln -s nowhere/matrix.csv linked.csv # known before the data is read
run 1 eval "${model[@]}" --data nothing --confusion linked.csv
says 'linked.csv: cannot write: No such file'
[ -n "${VITCL_PLOT-}" ] || {
    run 1 eval "${model[@]}" --data data --confusion matrix.svg
    says 'built without Cairo'
    exit 0
}
mv data/dog $'data/a,"\xff\nb' && mv data/cat "data/$(printf 'long%.0s' $(seq 60))"
by=(--classes-by number)
for i in 5 6 7; do mkdir -p data/z$i; done
mkdir data/=1+1 data/@SUM
for name in matrix.svg matrix.png matrix.csv; do
    run 0 eval "${model[@]}" --data data --confusion $name "${by[@]}"
done
python3 - <<'P'
import csv, struct, xml.dom.minidom as m
svg = m.parse("matrix.svg").documentElement
w, h = (float(svg.getAttribute(k).replace("px", "")) for k in ("width", "height"))
for use in svg.getElementsByTagName("use"):
    x, y = float(use.getAttribute("x")), float(use.getAttribute("y"))
    assert -w <= x <= w and -h <= y <= h, (x, y)
png = open("matrix.png", "rb").read()
assert png[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">II", png[16:24]) == (int(w), int(h))
rows = list(csv.reader(open("matrix.csv", newline="", errors="surrogateescape")))
names = [r[0] for r in rows[1:]]
assert rows[0][1:11] == names and 'a,"\udcff\nb' in names, rows[0]
assert names[:2] == ["'=1+1", "'@SUM"], names # no formulas
assert len(rows) == 11 and sum(map(int, sum((r[1:] for r in rows[1:]), []))) == 24
P
