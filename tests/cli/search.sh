# search.sh - paths beside vectors, indexes that are updated, searched and
# grouped. The arbiter of cosines is Python in double.
small="--preset vit-ti/16 --size 32"
odd=$'odd "name", \\ \n\xff.ppm'
mkdir p
python3 - "$odd" <<'P'
import os, random, sys
random.seed(1)
def ppm(name, data):
    open(os.path.join(b"p", name), "wb").write(b"P6 32 32 255\n" + bytes(data))
pictures = [[random.randrange(256) for _ in range(3072)] for _ in range(6)]
for i, p in enumerate(pictures):
    ppm(b"%d.ppm" % i, p)
near = list(pictures[2]); near[7] ^= 1
ppm(b"near2.ppm", near)
ppm(os.fsencode(sys.argv[1]), pictures[4])
P
echo broken >p/bad.ppm

# ---- formats
for file in a.safetensors half.safetensors a.npy a.jsonl a.csv; do
    store=
    [ $file = half.safetensors ] && store="--store f16"
    run 1 embed $small $store -o $file p
    err_has 'p/bad.ppm: '
done
json a.jsonl
cat >read.py <<'P'
import tensors
def index(name):
    stored = tensors.numbers(name)
    (count, width), flat = stored["features"]
    paths = bytes(stored["paths"][1]).split(b"\0")[:-1]
    rows = [flat[i * width:(i + 1) * width] for i in range(count)]
    shape, stamps = stored["stamps"]
    assert shape == [len(paths), 2] and len(paths) == count
    return paths, rows, stamps, tensors.read(name)[0]["__metadata__"]
def cosine(a, b):
    dot = lambda x, y: sum(i * j for i, j in zip(x, y))
    return dot(a, b) / (dot(a, a) * dot(b, b)) ** 0.5
P
python3 - "$odd" <<'P' || fail "the formats differ"
import csv, json, os, struct, sys
from read import *
paths, rows, stamps, about = index("a.safetensors")
odd = b"p/" + os.fsencode(sys.argv[1])
assert odd in paths and len(paths) == 9, paths
bad = paths.index(b"p/bad.ppm")
assert rows[bad][0] != rows[bad][0] and stamps[2 * bad] == -1
for i, p in enumerate(paths):
    assert i == bad or stamps[2 * i] == os.stat(p).st_size
    assert i == bad or stamps[2 * i + 1] == os.stat(p).st_mtime_ns
assert about["feature"] == "pooled" and len(about["model_id"]) == 64
halves = index("half.safetensors")
assert halves[0] == paths
for a, b in zip(rows, halves[1]):
    assert all(x != x and y != y or abs(x - y) <= 5e-4 * abs(x) + 1e-7 for x, y in zip(a, b))
npy = open("a.npy", "rb").read()
flat = struct.unpack("<%df" % ((len(npy) - 512) // 4), npy[512:])
assert all(x == y or x != x and y != y for x, y in zip(flat, sum(rows, ())))
lines = open("a.paths", "rb").read().split(b"\n")[:-1]
back = lambda s: s.replace(b"\\\\", b"\0").replace(b"\\n", b"\n").replace(b"\\t", b"\t").replace(b"\0", b"\\")
assert [back(l) for l in lines] == paths
objects = [json.loads(l) for l in open("a.jsonl", encoding="utf-8")]
table = list(csv.reader(open("a.csv", newline="", encoding="utf-8", errors="surrogateescape")))
assert table[0][:2] == ["picture", "f0"] and len(table) == 10
for i, (o, line) in enumerate(zip(objects, table[1:])):
    assert os.fsencode(line[0]) == paths[i]
    assert o["picture"].encode() == paths[i].replace(b"\xff", b"\xef\xbf\xbd")
    if i == bad:
        assert o["error"] and not any(line[1:])
    else:
        for x, y, z in zip(o["features"], line[1:], rows[i]):
            assert struct.pack("<f", x) == struct.pack("<f", float(y)) == struct.pack("<f", z)
P
run 2 embed $small -o a.txt p
run 2 embed $small --update -o a.npy p
run 2 embed $small --store f16 -o a.csv p

# ---- search
cp p/3.ppm query.ppm
run 0 search a.safetensors query.ppm p/2.ppm -k 4
out_lines 8
cp out text
run 0 search a.safetensors query.ppm p/2.ppm -k 4 --json
json out
python3 - <<'P' || fail "not the nearest"
import json
from read import *
paths, rows, _, _ = index("a.safetensors")
answers = [json.loads(l) for l in open("out", encoding="utf-8")]
lines = [l.rstrip("\n").split("\t") for l in open("text", encoding="utf-8", errors="surrogateescape")]
for n, (query, name) in enumerate(((b"p/3.ppm", "query.ppm"), (b"p/2.ppm", "p/2.ppm"))):
    q = rows[paths.index(query)]
    want = sorted((-cosine(q, r), i) for i, r in enumerate(rows) if r[0] == r[0])[:4]
    near = answers[n]["nearest"]
    assert answers[n]["picture"] == name and len(near) == 4
    assert near[0]["cosine"] > 0.99999
    for k, ((c, i), hit) in enumerate(zip(want, near)):
        assert abs(hit["cosine"] + c) < 2e-6, (hit, c)
        line = lines[4 * n + k]
        assert line[0] == name and line[1] == str(k + 1)
        assert abs(float(line[2]) + c) < 2e-6
P
run 0 search half.safetensors query.ppm -k 1
out_has '^query.ppm	1	1\.0000[0-9]*	p/3.ppm$|^query.ppm	1	0\.9999[0-9]*	p/3.ppm$'
run 0 search a.safetensors query.ppm --threshold 0.99999 -k 3
out_has '	p/3.ppm$'
run 0 search a.safetensors query.ppm --threshold 1 -k 1
out_lines 1
python3 - <<'P' # the first vector turned round, and no checksums
import tensors
all = tensors.parts("a.safetensors")
kind, shape, data = all["features"]
turned = bytes(b ^ (i % 4 == 3) << 7 for i, b in enumerate(data[:4 * shape[1]]))
all["features"] = kind, shape, turned + data[4 * shape[1]:]
about = tensors.read("a.safetensors")[0]["__metadata__"]
del all["checksums"], about["block"]
tensors.save("turned.safetensors", all, about)
P
for least in 0:0 -0.999:1 -1:1; do
    run 0 search turned.safetensors query.ppm --threshold ${least%:*} -k 20
    [ "$(grep -c '	-0\.' out)" = ${least#*:} ] || fail "a threshold of $least"
done
printf 'query.ppm\0p/bad.ppm\0p/2.ppm\0' >list
run 1 search a.safetensors -0 - -k 1 --json <list
json out
out_lines 3
sed -n 2p out | grep -q '"picture":"p/bad.ppm","error"' || fail "not in order"
# A program that waits for an answer gets it before a batch is full.
python3 - "$VITCL" <<'P' || fail "no answer to a list that goes on"
import select, subprocess, sys
run = subprocess.Popen([sys.argv[1], "search", "a.safetensors", "--batch", "4", "-k", "1", "-"], bufsize=0,
                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
for name in b"p/1.ppm", b"p/3.ppm":
    run.stdin.write(name + b"\n")
    if not select.select([run.stdout], [], [], 60)[0]:
        run.kill()
        sys.exit(1)
    assert run.stdout.readline().startswith(name + b"\t1\t")
run.stdin.close()
assert run.stdout.read() == b"" and run.wait() == 0
P
run 2 search a.safetensors
run 2 search a.safetensors query.ppm --threshold 1.5
run 1 search a.safetensors query.ppm -m "$VT_DATA/models/hf_clip"
says 'a.safetensors: its vectors are of another model'
run 1 search a.npy query.ppm
says 'a.npy: '
run 1 search p query.ppm
says 'p: a folder, not an index'
run 0 embed $small --features tokens -o tokens.safetensors p/1.ppm
run 1 search tokens.safetensors query.ppm
says '\.safetensors: the index has many vectors of each picture'
run 1 dupes tokens.safetensors
says '\.safetensors: the index has many vectors of each picture'

# ---- groups
run 0 dupes a.safetensors --threshold 0.99999 --json
json out
python3 - "$odd" <<'P' || fail "not the groups"
import json, sys
from read import *
paths, rows, _, _ = index("a.safetensors")
n = len(paths)
group = list(range(n))
for i in range(n):
    for j in range(i):
        if rows[i][0] == rows[i][0] and rows[j][0] == rows[j][0] and cosine(rows[i], rows[j]) >= 0.99999:
            old, new = group[i], group[j]
            group = [new if g == old else g for g in group]
want = [[paths[i] for i in range(n) if group[i] == g] for g in dict.fromkeys(group)]
want = sorted(g for g in want if len(g) > 1)
found = [json.loads(l)["pictures"] for l in open("out", encoding="utf-8")]
names = sorted([p["picture"].encode().replace(b"\xef\xbf\xbd", b"\xff") for p in g] for g in found)
assert names == want and len(want) >= 2, (names, want)
P
run 0 dupes a.safetensors --threshold 0.99999
out_has '^[12]	(1\.0|0\.99999)[0-9]*	p/near2.ppm	'
on_terminal 100 0 dupes a.safetensors --threshold 0.99999
out_has 'of 8 compared; 1 without a vector left out'
run 0 embed $small -o one.safetensors p/1.ppm
run 0 dupes one.safetensors
out_lines 0
run 2 dupes
run 2 dupes a.safetensors --threshold 2

# ---- updates; update.sh has what stays
sleep 0.1
run 0 embed $small --update -o u.safetensors p/0.ppm p/1.ppm p/2.ppm
cp u.safetensors first
run 0 embed $small --update -o u.safetensors p/0.ppm p/1.ppm p/2.ppm
err_has '0 of 3 pictures are new or have changed'
cmp first u.safetensors || fail "an update without changes changed the index"
cp p/5.ppm p/1.ppm
run 0 embed $small --update --prune -o u.safetensors p/0.ppm p/1.ppm p/3.ppm
err_has '2 of 3 pictures are new or have changed; other rows: 1 pruned$'
run 0 embed $small -o whole.safetensors p/0.ppm p/1.ppm p/3.ppm
python3 - <<'P' || fail "an update is not what a new index is"
from read import *
a, b = index("u.safetensors"), index("whole.safetensors")
assert a[0] == b[0] == [b"p/0.ppm", b"p/1.ppm", b"p/3.ppm"]
for x, y in zip(a[1], b[1]):
    assert cosine(x, y) > 0.999999
P
run 1 embed $small --update -o u.safetensors p/0.ppm p/bad.ppm
run 1 embed $small --update -o u.safetensors p/0.ppm p/bad.ppm
err_has '1 of 2 pictures are new' # failures are tried again
cp u.safetensors before
for change in "--size 48" --normalize "--features class"; do
    run 1 embed --preset vit-ti/16 --size 32 $change --update -o u.safetensors p/0.ppm p/4.ppm
    err_has 'u.safetensors: its (vectors|pictures)'
    err_not 'are new'
    cmp before u.safetensors || fail "a refused update changed the index"
done
run 1 embed -m "$VT_DATA/models/hf_clip" --update -o u.safetensors p/0.ppm
err_has 'another model'
# Without a model, the index's: its size and features, too.
cp p/1.ppm p/6.ppm
VITCL_MODEL=none run 0 embed --update --prune -o u.safetensors p/0.ppm p/6.ppm
err_has '1 of 2 pictures are new'
run 0 embed $small --replace -o whole.safetensors p/0.ppm p/6.ppm
python3 - <<'P' || fail "an update took another model"
from read import *
a, b = index("u.safetensors"), index("whole.safetensors")
assert a[0] == b[0] and all(cosine(x, y) > 0.999999 for x, y in zip(a[1], b[1]))
P
cp -r "$VT_DATA/models/hf_clip" moved
run 0 embed -m moved --features class --normalize -o m.safetensors p/0.ppm
mv moved elsewhere
for command in "embed --update -o m.safetensors p/0.ppm p/1.ppm" "search m.safetensors p/1.ppm"; do
    run 1 $command
    says 'm.safetensors: its model is no longer at .*/moved; name its place with -m'
done
run 0 embed -m elsewhere --update -o m.safetensors p/0.ppm p/1.ppm
err_has '1 of 2 pictures are new'
rm p/6.ppm
cp before u.safetensors
# Ctrl-C while a list is read: the earlier file is intact, nothing is left.
python3 - "$VITCL" <<'P' || fail "stopped: the index changed, or a file was left"
import glob, signal, subprocess, sys, time
run = subprocess.Popen([sys.argv[1], "embed", "--preset", "vit-ti/16", "--size", "32",
                        "--replace", "-o", "u.safetensors", "-"], stdin=subprocess.PIPE)
run.stdin.write(b"p/0.ppm\n")
run.stdin.flush()
while not glob.glob(".u.safetensors.*") and run.poll() is None:
    time.sleep(0.05)
run.send_signal(signal.SIGINT)
assert run.wait() == 130
assert not glob.glob(".u.safetensors.*")
assert open("u.safetensors", "rb").read() == open("before", "rb").read()
P

# ---- files that are no index
head -c 20000 a.safetensors >cut.safetensors
for command in "search cut.safetensors query.ppm" "dupes cut.safetensors" \
    "embed $small --update -o cut.safetensors p/0.ppm"; do
    run 1 $command
    says 'cut.safetensors: '
done

run 1 search query.ppm a.safetensors
says 'query.ppm: .*; an index is written by vitcl embed -o FILE.safetensors'

# ---- pages
mv p/0.ppm away.ppm
run 1 search a.safetensors query.ppm p/bad.ppm p/0.ppm -k 8 --html s.html
mv away.ppm p/0.ppm
python3 - <<'P' || fail "not the page of a search"
import re
page = open("s.html", encoding="utf-8", errors="replace").read()
first, bad, gone = re.findall(r"<section>(.*?)</section>", page, re.S)
figures = re.findall(r"<figure.*?</figure>", first, re.S)
assert len(figures) == 9, len(figures)
assert "<b>looked for</b>" in figures[0] and "query.ppm" in figures[0]
assert "data:image/jpeg" in figures[0]
for f in figures[1:]:
    why = "no thumbnail: the file is not there" in f
    assert why == ("0.ppm</bdi>" in f) and why == ("data:image/jpeg" not in f), f
for section, name in (bad, "p/bad.ppm"), (gone, "p/0.ppm"):
    assert f"<h2>{name}</h2>" in section and 'class="e"' in section, section
P
run 0 dupes a.safetensors --threshold 0.99999 --html d.html
grep -q 'group 1' d.html || fail "no groups"
run 2 dupes a.safetensors --html d.txt
