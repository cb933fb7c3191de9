# dupes.sh - a file is no duplicate of itself, whatever names it has, nor of one
# that is gone; of a group the size, resolution and date of each file are shown.
small="--preset vit-ti/16 --size 16"
python3 - <<'P'
import os, random
random.seed(5)
def put(path, rgb, side):
    with open(path, "wb") as f:
        f.write(b"P6 %d %d 255\n" % (side, side) + rgb * side * side)
os.makedirs("p/best")
for i in range(4):
    rgb = random.randbytes(3)
    put(f"p/{i}.ppm", rgb, 16)
    if i == 1:
        put("p/large.ppm", rgb, 32)
        put("p/copy.ppm", rgb, 16)
os.utime("p/large.ppm", (0, 1714564800))
os.link("p/0.ppm", "p/hard.ppm")
os.symlink("0.ppm", "p/soft.ppm")
os.symlink("../2.ppm", "p/best/2.ppm")
open("list", "w").write("".join(f"p/{n}.ppm\n" for n in (
    "0", "1", "2", "3", "hard", "soft", "best/2", "large", "copy", "3")))
P
run 0 embed $small -o i.safetensors - <list
groups() { # the names of each group
    run 0 dupes i.safetensors --threshold 0.9999 --json
    json out
    python3 -c 'import json
for l in open("out"):
    print(*(p["picture"] for p in json.loads(l)["pictures"]))' >names
}
groups
[ "$(cat names)" = "p/1.ppm p/large.ppm p/copy.ppm" ] || fail "groups: $(cat names)"
err_has '^vitcl dupes: 4 rows are of a file that another row names, too: each file is compared once$'
python3 - <<'P' || fail "what is known of the files"
import json, os
a, b, c = json.load(open("out"))["pictures"]
assert [p["width"] for p in (a, b, c)] == [16, 32, 16] and b["height"] == 32
assert [p["largest"] for p in (a, b, c)] == [False, True, False]
for p in (a, b, c):
    assert p["bytes"] == os.path.getsize(p["picture"]) and p["cosine"] > 0.9999
assert a["nearest"] in ("p/copy.ppm", "p/large.ppm") and c["nearest"] != "p/copy.ppm"
P
TZ=UTC run 0 dupes i.safetensors --threshold 0.9999
out_lines 3
out_has '^1	[01]\.[0-9]+	p/large.ppm	32x32	3085	2024-05-01 12:00	largest$'
out_has '^1	[01]\.[0-9]+	p/copy.ppm	16x16	781	20[0-9-]+ [0-9:]+	$'
TZ=UTC on_terminal 100 0 dupes i.safetensors --threshold 0.9999
out_has '^1\.000 +32x32 +3\.1 kB  2024-05-01 12:00  largest  p/large.ppm$|^0.999.*largest  p/large.ppm$'
out_has '^vitcl dupes: 3 pictures in 1 group, of 6 compared$'
run 0 dupes i.safetensors --threshold 0.9999 --html i.html
grep -q '32x32 3.1 kB 2024-.*, the largest' i.html || fail "no sizes on the page"

# ---- from another folder: paths that lead there
here=$PWD
mkdir away
cd away || exit
run 0 dupes ../i.safetensors --threshold 0.9999 --html page.html
out_has "	$here/p/large.ppm	32x32	"
out_lines 3
[ "$(grep -c 'data:image/jpeg' page.html)" -ge 3 ] || fail "no thumbnails"
cd "$here" || exit

# ---- none is where the index says: the vectors are compared
mv p moved
run 0 dupes i.safetensors --threshold 0.9999
err_has 'none of the files is where the index says'
out_has '^[1-4]	1\.0[0-9]*	p/hard.ppm				$'
on_terminal 60 0 dupes i.safetensors --threshold 0.9999
out_not '^ +$' # nothing is known of them
mv moved p

# ---- files that are gone
rm p/copy.ppm p/3.ppm
groups
[ "$(cat names)" = "p/1.ppm p/large.ppm" ] || fail "groups: $(cat names)"
err_has '^vitcl dupes: p/copy.ppm: the file is gone$'
err_has '^vitcl dupes: p/3.ppm: the file is gone$'
err_has '^vitcl dupes: 2 pictures of the index are gone and left out$'
rm p/large.ppm p/0.ppm
groups
[ ! -s names ] || fail "a file that is gone: $(cat names)"

# ---- pictures in archives
[ -n "${VITCL_UNPACK-}" ] || exit 0
tar cf a.tar p/1.ppm p/2.ppm && tar rf a.tar --transform s/1/4/ p/1.ppm
run 0 embed $small --replace --tar a.tar a.tar -o i.safetensors
groups
[ "$(cat names)" = "a.tar/p/1.ppm a.tar/p/4.ppm" ] || fail "groups: $(cat names)"
