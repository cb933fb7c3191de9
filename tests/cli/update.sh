# update.sh - what an index keeps when it is updated with other pictures, from
# another folder, after a stop, and while pictures are replaced.
small="--preset vit-ti/16 --size 32"
mkdir -p a/deep b
python3 - <<'P'
import os, random
random.seed(4)
for name in [f"a/{i}.ppm" for i in range(9)] + ["a/deep/9.ppm"] + [f"b/{i}.ppm" for i in range(3)]:
    with open(name, "wb") as f:
        f.write(b"P6 32 32 255\n" + bytes(random.randrange(256) for _ in range(3072)))
P
find a b -type f -exec touch -d '2 days ago' '{}' +
cat >read.py <<'P'
import os, struct, tensors
def index(name):
    stored = tensors.parts(name)
    paths = [os.fsdecode(p) for p in stored["paths"][2].split(b"\0")[:-1]]
    _, (_, width), data = stored["features"]
    rows = [data[4 * width * i:4 * width * (i + 1)] for i in range(len(paths))]
    stamps = struct.iter_unpack("<2q", stored["stamps"][2])
    return dict(zip(paths, zip(rows, stamps))), paths, tensors.read(name)[0]["__metadata__"]
P
is() { # NAME PATH…: the paths of the rows are these
    python3 - "$@" <<'P' || fail "not the rows"
import sys
from read import index
paths = index(sys.argv[1])[1]
assert paths == sys.argv[2:], paths
P
}
same() { # NAME OTHER: rows of the same path are the same
    python3 - "$@" <<'P' || fail "not the same numbers"
import sys
from read import index
x, y = index(sys.argv[1])[0], index(sys.argv[2])[0]
for path in x.keys() & y.keys():
    assert x[path] == y[path], path
P
}
a=(a/{0..8}.ppm a/deep/9.ppm)

# ---- another folder
run 0 embed $small -o i.safetensors a
run 0 embed --update -o i.safetensors b
err_has '^vitcl embed: 3 of 3 pictures are new or have changed; other rows: 10 kept$'
is i.safetensors "${a[@]}" b/{0..2}.ppm
cp i.safetensors both
for folder in a b a/deep "$PWD/b" ./a; do # nothing changes, the order neither
    run 0 embed --update -o i.safetensors "$folder"
    err_has ' 0 of '
    cmp i.safetensors both || fail "an update without changes"
done
cp b/0.ppm a/35.ppm
run 0 embed --update -o i.safetensors a
is i.safetensors a/{0..3}.ppm a/35.ppm a/{4..8}.ppm a/deep/9.ppm b/{0..2}.ppm
rm a/35.ppm a/8.ppm
run 0 embed --update -o i.safetensors b
err_has '; other rows: 9 kept, 2 without a file$'
is i.safetensors a/{0..7}.ppm a/deep/9.ppm b/{0..2}.ppm
same i.safetensors both
ln b/0.ppm b/7.ppm # a name of its own
run 0 embed --update -o i.safetensors b/7.ppm
is i.safetensors a/{0..7}.ppm a/deep/9.ppm b/{0..2}.ppm b/7.ppm
rm b/7.ppm
# Names of one picture: repeated, by another way, of a file with hard links
run 0 embed $small --update -o once.safetensors ./b/1.ppm b/../b/0.ppm b/0.ppm b/1.ppm ./b/1.ppm
err_has ' 2 of 2 '
is once.safetensors ./b/1.ppm b/../b/0.ppm
cp once.safetensors before
run 1 embed $small -o once.safetensors b/0.ppm
says 'once.safetensors has 2 rows already; --update adds to them, --replace writes it anew$'
cmp once.safetensors before || fail "a refused run changed the index"
run 2 embed $small --update --replace -o once.safetensors b/0.ppm
says '[-]-replace and --update cannot be used together$'
run 2 embed $small --replace -o x.npy b/0.ppm
says '[-]-replace needs -o FILE.safetensors$'
run 0 embed $small --replace -o once.safetensors b/0.ppm
for n in {10..15}; do ln b/0.ppm b/$n.ppm; done
run 0 embed --update -o once.safetensors b/{10..12}.ppm ./b/0.ppm b/{13..15}.ppm b/../b/1{0..5}.ppm b/0.ppm
err_has ' 6 of 7 '
is once.safetensors b/{10..15}.ppm b/0.ppm
run 0 embed --update -o once.safetensors b/./13.ppm ./b/0.ppm
err_has ' 0 of 2 .*; other rows: 5 kept$'
is once.safetensors b/{10..15}.ppm b/0.ppm
run 1 embed --update -o once.safetensors b/none.ppm b/none.ppm
err_has 'b/none.ppm: No such file or directory$'
is once.safetensors b/{10..15}.ppm b/0.ppm
rm b/1?.ppm
echo no >b/bad.ppm
run 1 embed --update -o i.safetensors b/bad.ppm
rm b/bad.ppm
run 0 embed --update -o i.safetensors b -q
[ ! -s err ] || fail "-q is not quiet"
is i.safetensors a/{0..7}.ppm a/deep/9.ppm b/{0..2}.ppm

cp b/0.ppm ./- # a name in a list, not the list
for new in 1 0; do
    echo - | "$VITCL" embed $small --update -o dash.safetensors - 2>err || fail "a file named -"
    is dash.safetensors ./-
    [ $new = 1 ] || err_has ' 0 of 1 '
done
rm ./-

"$VITCL" embed --update -o i.safetensors - <b/0.ppm >out 2>err && fail "a picture on standard input"
says 'standard input is a picture, which --update would not find again; '

# ---- a time of change that is to come
cp b/0.ppm later.ppm
touch -d '+10 hours' later.ppm
run 0 embed $small -o l.safetensors later.ppm
run 0 embed --update -o l.safetensors later.ppm
err_has ' 0 of 1 '
rm later.ppm
run 0 embed --update -o l.safetensors b/0.ppm
is l.safetensors b/0.ppm

# ---- pruning
mkdir locked
chmod 0 locked
if [ ! -r locked ]; then
    run 1 embed --update --prune -o i.safetensors a locked
    err_has 'not all pictures could be listed, so no row is dropped'
    is i.safetensors a/{0..7}.ppm a/deep/9.ppm b/{0..2}.ppm
fi
rmdir locked
# A name with a slip, a disk that is not mounted (missing, or empty), an empty list
cp i.safetensors before
mv a away
for folder in B a 'b a' empty; do
    mkdir -p empty
    for prune in '' --prune; do
        run 1 embed --update $prune -o i.safetensors $folder
        err_has 'not all pictures could be listed, so no row is dropped$'
        is i.safetensors a/{0..7}.ppm a/deep/9.ppm b/{0..2}.ppm
        same i.safetensors before
        cp before i.safetensors
    done
done
printf '%s\n' a/{0..7}.ppm | "$VITCL" embed --update --prune -o i.safetensors - 2>err &&
    fail "pictures that are not there"
err_has 'a/7.ppm: No such file or directory$'
cmp i.safetensors before || fail "a list of pictures that are not there changes the index"
for prune in '' --prune; do
    run 0 embed --update $prune -o i.safetensors - </dev/null
    err_has 'no pictures are named, so no row is dropped$'
    cmp i.safetensors before || fail "an empty list changes the index"
done
mv away a
run 0 embed --update --prune -o i.safetensors b a/deep
err_has ' 0 of 4 pictures are new or have changed; other rows: .*8 pruned$'
is i.safetensors b/{0..2}.ppm a/deep/9.ppm
run 2 embed $small --prune -o i.safetensors b
says '[-]-prune needs --update$'

# ---- folders and files with new names: their rows, if one of them has its numbers
mkdir -p n/deep
cp -p b/{0..2}.ppm n
cp -p b/0.ppm n/deep/5.ppm # of the same size and time, as all of these are
run 0 embed $small --replace -o i.safetensors n
cp i.safetensors before
mv n m
run 0 embed --update -o i.safetensors m
err_has '^vitcl embed: 0 of 4 pictures are new or have changed, 4 renamed$'
is i.safetensors m/{0..2}.ppm m/deep/5.ppm
python3 - <<'P' || fail "not the rows of the old names"
from read import index
old, new = index("before")[0], index("i.safetensors")[0]
assert {"m" + path[1:]: row for path, row in old.items()} == new
P
run 0 embed $small --replace -o want.safetensors m
cmp i.safetensors want.safetensors || fail "renamed pictures have other rows"
# Two that exchanged their names, on the way to other names
mv m n
mv n/0.ppm x
mv n/1.ppm n/0.ppm
mv x n/1.ppm
run 0 embed --update -o i.safetensors n
err_has ' 4 of 4 pictures are new or have changed; other rows: 4 without a file$'
run 0 embed $small --replace -o want.safetensors n
same i.safetensors want.safetensors
# Times of their own tell them apart without their names
for i in 0 1 2; do touch -d "2026-01-0$((i + 1))" n/$i.ppm; done
run 0 embed --update -o i.safetensors n
mv n m
mv m/0.ppm x
mv m/1.ppm m/0.ppm
mv x m/1.ppm
mv m/2.ppm m/two.ppm
cp -p b/0.ppm m/new.ppm
run 0 embed --update -o i.safetensors b m
err_has ' 4 of 8 pictures are new or have changed, 4 renamed$'
run 0 embed $small --replace -o want.safetensors b m
same i.safetensors want.safetensors
# Other pictures of the same sizes, times and names
run 0 embed $small --replace -o i.safetensors m
mv m n
python3 - <<'P'
import glob, os
for name in glob.glob("n/**/*.ppm", recursive=True):
    then = os.stat(name)
    data = open(name, "rb").read()
    open(name, "wb").write(data[:13] + data[:12:-1])
    os.utime(name, ns=(then.st_atime_ns, then.st_mtime_ns))
P
run 0 embed --update -o i.safetensors n
err_has ' 5 of 5 pictures are new or have changed; other rows: 5 without a file$'
run 0 embed $small --replace -o want.safetensors n
same i.safetensors want.safetensors
# Where no row is dropped, the old name's row stays, too; one file is embedded at once
run 0 embed $small --replace -o i.safetensors n
mv n m
run 1 embed --update -o i.safetensors n m
err_has '^vitcl embed: 1 of 6 pictures are new or have changed, 5 renamed; other rows: 5 kept$'
mv m/two.ppm m/three.ppm
run 0 embed --update -o i.safetensors m
err_has ' 1 of 5 pictures are new or have changed; other rows: 6 without a file$'
run 0 embed $small --replace -o want.safetensors m
same i.safetensors want.safetensors
rm -r m want.safetensors

# ---- from another folder, and with the pictures in another place
cp both i.safetensors
mkdir c
cp b/1.ppm c/new.ppm
here=$PWD
cd c || exit
run 0 embed --update -o ../i.safetensors ../b new.ppm
cp err out ..
run 0 search ../i.safetensors ../a/3.ppm -k 1
out_has "	$here/a/3.ppm\$"
cd "$here" || exit
is i.safetensors a/{0..7}.ppm a/deep/9.ppm b/{0..2}.ppm c/new.ppm
run 0 search i.safetensors a/3.ppm -k 1
out_has '	a/3.ppm$'
# From a subfolder, whose going must not matter; a link on the way stays one
mkdir sub
ln -s ../b sub/link
run 0 embed $small -o s.safetensors a/0.ppm
cd sub || exit
run 0 embed --update -o ../s.safetensors ../b/0.ppm link/1.ppm link/../a/1.ppm
cd "$here" || exit
is s.safetensors a/0.ppm b/0.ppm sub/link/1.ppm a/1.ppm
rm -r sub
run 0 embed --update -o s.safetensors b/2.ppm
err_has '; other rows: 3 kept, 1 without a file$'

mkdir -p moved/in
mv a b c i.safetensors moved/in
cd moved || exit # the folder of the index has them now
run 0 search in/i.safetensors in/a/3.ppm -k 1
out_has '	in/a/3.ppm$'
run 0 embed --update -o in/i.safetensors in/b/0.ppm
err_has ' 0 of 1 pictures are new or have changed; other rows: 12 kept$'
cd "$here" || exit
mv moved/in/[abc] .

# ---- rows whose folder the index cannot say, or that is away: they may be elsewhere
for folder in $'caf\xe9' former; do
    mkdir $folder
    cp -p b/1.ppm $folder/p.ppm
    cd $folder || exit
    run 0 embed $small --replace -o ../n.safetensors p.ppm
    cd "$here" || exit
    mv $folder away
    for other in c b; do
        run 0 embed --update -o n.safetensors $other
        err_has '; other rows: [12] kept$'
    done
    is n.safetensors p.ppm "$here/c/new.ppm" "$here/b/"{0..2}.ppm
    mv away $folder
    cd $folder || exit
    run 0 embed --update -o ../n.safetensors p.ppm ../b ../c
    err_has ' 0 of 5 '
    cd "$here" || exit
done
rm -r c/../former

# ---- archives: rows stay while the archive is there
if [ -x "$(dirname "$VITCL")/vitcl-unpack" ]; then
    echo broken >b/broken.ppm
    tar cf pics.tar b/{0..2}.ppm b/broken.ppm
    rm b/broken.ppm
    run 1 embed $small --tar -o t.safetensors pics.tar
    run 0 embed --update -o t.safetensors c
    err_has '; other rows: 4 kept$'
    rm pics.tar
    run 0 embed --update -o t.safetensors c
    err_has '; other rows: 4 without a file$'
    is t.safetensors c/new.ppm
    tar cf - b/{0..2}.ppm | "$VITCL" embed $small --tar --replace -o t.safetensors - 2>err
    mv b away # nobody can look for pictures of standard input
    run 0 embed --update -o t.safetensors c
    is t.safetensors b/{0..2}.ppm c/new.ppm
    mv away b
    run 0 embed --update -o t.safetensors b # they are other pictures
    err_has ' 3 of 3 '
fi

# ---- a lost device: what is done is kept, too
preload=(env "LD_PRELOAD=$VT_CL_FAIL_LIB" "ASAN_OPTIONS=${ASAN_OPTIONS-}:verify_asan_link_order=0")
run 0 embed $small -o lost.safetensors a/0.ppm
cp lost.safetensors before
update=("${preload[@]}" "$VITCL" embed --batch 1 --update -o lost.safetensors b)
VT_CL_COUNT=$PWD/calls "${update[@]}" 2>err || fail "counting"
n=$(grep -n clEnqueueReadBuffer calls | tail -n 1 | cut -d: -f1)
cp before lost.safetensors
code=0
VT_CL_FAIL="$n -5" "${update[@]}" 2>err || code=$?
[ $code = 1 ] || fail "status $code"
err_has '^vitcl embed: what is done is kept, and --update continues from there$'
is lost.safetensors a/0.ppm b/{0,1}.ppm
run 0 embed --update -o lost.safetensors b
is lost.safetensors a/0.ppm b/{0..2}.ppm
rm before

# ---- two runs at once: the second waits, and both have their rows
mkfifo list
for index in new old; do
    [ $index = new ] || run 0 embed $small -o $index.safetensors a/0.ppm
    "$VITCL" embed $small --update -o $index.safetensors - <list 2>first &
    exec 7>list
    echo a/1.ppm >&7
    for _ in {1..200}; do [ ! -e .$index.safetensors.vitcl-hold ] || break; sleep 0.05; done
    "$VITCL" embed $small --update -o $index.safetensors b 2>second 7>&- &
    for _ in {1..100}; do ! grep -q 'another run updates it; waiting' second || break; sleep 0.1; done
    exec 7>&-
    wait
    grep -q "^vitcl embed: $index.safetensors: another run updates it; waiting for it to end$" second ||
        fail "it did not wait: $(cat first second)"
    [ ! -e .$index.safetensors.vitcl-hold ] || fail "it is held for good"
done
is new.safetensors a/1.ppm b/{0..2}.ppm
is old.safetensors a/{0,1}.ppm b/{0..2}.ppm
: >.old.safetensors.vitcl-hold # of a run that was killed
run 0 embed --update -o old.safetensors a/2.ppm
is old.safetensors a/{0,1}.ppm b/{0..2}.ppm a/2.ppm

# ---- an index that is not what it says: rows of another width, another word
cat >make.py <<'P'
import json, sys
from tensors import parts, read, save
about = {k: v for k, v in read("i.safetensors")[0]["__metadata__"].items() if k != "block"}
about.update(json.loads(sys.argv[2]))
stored, less = parts("i.safetensors"), int(sys.argv[1])
dtype, (rows, width), data = stored["features"]
features = b"".join(data[4 * width * i:4 * (width * i + less)] for i in range(rows))
save("made.safetensors", {"features": (dtype, [rows, less], features), "stamps": stored["stamps"],
                          "paths": stored["paths"]}, about)
P
run 0 embed $small -o i.safetensors a b
python3 make.py 192 '{}'
run 0 embed --update -o made.safetensors b
cp b/0.ppm b/8.ppm # what is new has 192 numbers
python3 make.py 8 '{}'
run 1 embed --update -o made.safetensors b
err_has 'made.safetensors: its vectors have another shape than this model.s; with --replace instead, the file is written anew$'
rm b/8.ppm
python3 make.py 192 '{"feature": "a\"b"}'
run 1 embed --update -o made.safetensors b
says 'made.safetensors: not an index: its metadata are missing or invalid'

# ---- a stop: what is done, and everything else as it was
run 0 embed $small --replace -o i.safetensors a b
cp i.safetensors before
for name in a/{4..7}.ppm; do
    sed 's/255/254/' $name >x && touch -d yesterday x && mv x $name
done
python3 - "$VITCL" <<'P' || fail "a stop"
import glob, os, signal, subprocess, sys, time
run = subprocess.Popen([sys.argv[1], "embed", "--update", "-o", "i.safetensors", "--batch", "1", "-"],
                       stdin=subprocess.PIPE, stderr=subprocess.PIPE)
run.stdin.write(b"\n".join(b"a/%d.ppm" % i for i in range(4, 8)) + b"".join(b"\nnone%d.ppm" % i for i in range(4000)))
run.stdin.close()
for line in run.stderr: # the first of those that are not there
    if b"none0.ppm: " in line:
        break
run.send_signal(signal.SIGTERM)
rest = run.stderr.read()
assert run.wait() == 143 and b"continues from there" in rest, rest
from read import index
old, order, _ = index("before")
new, now, _ = index("i.safetensors")
assert [p for p in now if not p.startswith("none")] == order
for p in order:
    assert (new[p] != old[p]) == (p in [f"a/{i}.ppm" for i in range(4, 8)]), p
P

# ---- pictures that are replaced while the run goes on: mv, with an older time
python3 - "$VITCL" <<'P' || fail "pictures that were replaced"
import glob, os, random, shutil, signal, subprocess, sys, time
names = [f"r/{i}.ppm" for i in range(300)]
def write(folder):
    os.makedirs(folder)
    for i in range(300):
        with open(f"{folder}/{i}.ppm", "wb") as f:
            f.write(b"P6 32 %d 255\n" % (32 + len(folder)) + random.randbytes(96 * 40))
        os.utime(f"{folder}/{i}.ppm", (10**9 + len(folder), 10**9 + len(folder)))
write("r"), write("new")
run = subprocess.Popen([sys.argv[1], "embed", "--preset", "vit-ti/16", "--size", "32",
                        "--batch", "1", "-q", "-o", "r.safetensors", "r"])
def written():
    return max([0] + [os.stat(f).st_size for f in glob.glob(".r.safetensors*") + glob.glob("r.safetensors*")])
while written() < 60000 and run.poll() is None:
    time.sleep(0.002)
run.send_signal(signal.SIGSTOP) # what was decoded in advance waits
for i in range(300):
    os.rename(f"new/{i}.ppm", f"r/{i}.ppm")
run.send_signal(signal.SIGCONT)
assert run.wait() == 0
P
run 0 embed --update -o r.safetensors r
run 0 embed $small -o want.safetensors r
same r.safetensors want.safetensors

