# tar.sh - pictures in tar archives are answered as the files are; what is
# hostile in an archive is one line, and the rest goes on.
[ -n "${VITCL_UNPACK-}" ] || skip "vitcl was built without libarchive"
python3 - <<'P'
import gzip, io, os, random, tarfile
random.seed(3)
os.mkdir("pics")
def picture():
    return b"P6\n8 8\n255\n" + bytes(random.randrange(256) for _ in range(192))
pic = picture()
for i in range(30):
    with open(f"pics/{i:03}.ppm", "wb") as f:
        f.write(picture())
for part in range(3):
    with tarfile.open(f"pics-{part + 8:02}.tar", "w", format=tarfile.GNU_FORMAT) as t:
        for i in range(10 * part, 10 * part + 10):
            t.add(f"pics/{i:03}.ppm")
            text = tarfile.TarInfo(f"pics/{i:03}.cls")  # as WebDataset has
            text.size = 1
            t.addfile(text, io.BytesIO(b"7"))
def add(t, name, data=pic, kind=tarfile.REGTYPE, link=""):
    m = tarfile.TarInfo(name)
    m.type, m.linkname = kind, link
    m.size = len(data) if kind == tarfile.REGTYPE else 0
    t.addfile(m, io.BytesIO(data) if m.size else None)
with tarfile.open("evil.tar", "w", format=tarfile.GNU_FORMAT) as t:
    add(t, "good1.ppm")
    add(t, "/etc/passwd.ppm")
    add(t, "../up.ppm")
    add(t, "a/../../up.ppm")
    add(t, "sym.ppm", kind=tarfile.SYMTYPE, link="/etc/passwd")
    add(t, "hard.ppm", kind=tarfile.LNKTYPE, link="good1.ppm")
    add(t, "null", kind=tarfile.CHRTYPE)
    add(t, "fifo.ppm", kind=tarfile.FIFOTYPE)
    add(t, "empty.ppm", b"")
    add(t, "x" * 5000 + ".ppm")
    add(t, "two\nlines.ppm", b"P6\n8")
    add(t, "good2.ppm")
whole = open("pics-08.tar", "rb").read()
open("cut.tar", "wb").write(whole[:512 * 9 + 100])
open("head.tar", "wb").write(whole[:512 * 8 + 100])
open("junk.tar", "wb").write(b"no archive" * 999)
bad = bytearray(whole)
bad[512 * 4 + 20] ^= 255  # a header
open("bad.tar", "wb").write(bad)
gzip.open("pics-08.tar.gz", "wb").write(whole)
P
c=(classify -m builtin:cifar10 --top 1)
run 0 "${c[@]}" --json pics
cp out wanted
run 0 "${c[@]}" --tar --html page.html pics-08.tar
python3 - <<'P' || fail "a link to what is in an archive"
page = open("page.html").read()
assert page.count("<img ") == 10 and "<a " not in page and "</a>" not in page
P

# ---- a range of archives, one on standard input, a compressed one
run 0 "${c[@]}" --json --tar 'pics-{08..10}.tar'
sed 's,"pics-[0-9]*.tar/,",' out | cmp - wanted || fail "another answer in archives"
out_has '"pics-10.tar/pics/029.ppm"'
run 0 "${c[@]}" --json --tar - < <(cat pics-09.tar)
sed -n 11,20p wanted | cmp - out || fail "another answer on standard input"
run 0 "${c[@]}" --json --tar - < <(cat pics-08.tar.gz)
sed -n 1,10p wanted | cmp - out || fail "another answer of a compressed archive"
run 0 embed -m builtin:cifar10 --tar pics-09.tar -o v.safetensors
run 0 dupes --threshold 0.1 v.safetensors # no size is known
out_not 'largest'
run 0 search -m builtin:cifar10 v.safetensors pics/015.ppm -k 1
out_has 'pics-09.tar/pics/015.ppm'

# ---- shards of archives
run 0 "${c[@]}" --json --tar 'pics-{08..10}.tar'
cp out one.jsonl
for k in 3 1 2; do
    run 0 "${c[@]}" --tar 'pics-{08..10}.tar' --shard $k/3 -o 'p/{shard}.jsonl'
done
run 0 merge p
cmp p/all.jsonl one.jsonl || fail "the parts of archives are not the run"

# ---- hostile ones: each a line, the rest is answered
run 1 "${c[@]}" --tar evil.tar pics-08.tar
out_lines 12
err_lines 10
for name in 'evil.tar//etc/passwd.ppm: its name leads' 'evil.tar/../up.ppm: its name' \
    'evil.tar/a/../../up.ppm: its name' 'sym.ppm: a link' 'hard.ppm: a link' \
    'null: a device' 'fifo.ppm: a device' 'empty.ppm: the file is empty' 'xxx'; do
    err_has "$name"
done
err_has 'evil.tar/two\\nlines.ppm: '
run 1 "${c[@]}" --tar cut.tar pics-08.tar
out_lines 12
says_one() { err_lines 1 && err_has "$1"; }
says_one 'cut.tar/pics/002.ppm: the archive is cut or damaged here$'
run 1 "${c[@]}" --tar head.tar pics-08.tar
out_lines 12
says_one 'head.tar: the archive is cut or damaged; what follows is lost$'
run 1 "${c[@]}" --tar bad.tar pics-08.tar
out_lines 19
says_one 'bad.tar: a header in the archive is damaged'
run 1 "${c[@]}" --tar junk.tar missing.tar pics pics-08.tar
out_lines 10
err_lines 3
err_has 'junk.tar: not a tar archive$'
err_has 'missing.tar: No such file'
err_has 'pics: a folder, not an archive$'

# ---- a header that libarchive reads only in part: a name of a megabyte, an
# attribute without a "="; a name that is no UTF-8 is one all the same
python3 - <<'P'
import tarfile
pic = open("pics/000.ppm", "rb").read()
def add(f, attributes):
    for kind, data in (b"x", attributes), (b"0", pic):
        m = tarfile.TarInfo("short.ppm" if kind == b"0" else "x")
        m.type, m.size = kind, len(data)
        f.write(m.tobuf(tarfile.USTAR_FORMAT) + data + bytes(-len(data) % 512))
def attribute(name, value):
    least = len(name) + len(value) + 3
    n = least + len(str(least))
    return b"%d %s=%s\n" % (least + len(str(n)), name, value)
with open("long.tar", "wb") as f:
    add(f, attribute(b"path", b"a" * 1048400 + b".ppm"))
    add(f, b"15 path~b.ppm.\n" + attribute(b"path", b"c.ppm"))
    add(f, attribute(b"path", b"d\xff.ppm"))
    add(f, attribute(b"path", b"e.ppm"))
    f.write(bytes(1024))
P
run 1 "${c[@]}" --tar long.tar
out_lines 2
out_has 'e.ppm	'
err_lines 2
[ "$(grep -c 'long.tar/short.ppm: a part of its header cannot be read, perhaps its name$' err)" = 2 ] ||
    fail "a name that is not its own"

# ---- 20,000 long names one after the other: an end, and not a line for each
python3 - <<'P'
import tarfile
def head(name, size, kind=tarfile.REGTYPE):
    m = tarfile.TarInfo(name)
    m.size, m.type = size, kind
    return m.tobuf(tarfile.GNU_FORMAT)
pic = open("pics/000.ppm", "rb").read()
good = head("good.ppm", len(pic)) + pic + bytes(-len(pic) % 512)
long = head("././@LongLink", 4, b"L") + b"x.j\0" + bytes(508)
open("nested.tar", "wb").write(good + 20000 * long + good + bytes(1024))
P
run 1 "${c[@]}" --tar nested.tar
out_lines 1
[ "$(wc -l <err)" -lt 250 ] || fail "$(wc -l <err) errors"
err_has 'nested.tar: the archive has more than 100 damaged headers; what follows is lost$'

# ---- a picture of 2 GB of zeros: its bytes are passed over, not kept
zeros() {
    python3 - <<'P'
import sys, tarfile
out = sys.stdout.buffer
def add(name, size, data):
    m = tarfile.TarInfo(name)
    m.size = size
    out.write(m.tobuf(tarfile.GNU_FORMAT))
    for piece in data:
        out.write(piece)
    out.write(bytes(-size % 512))
add("zeros.ppm", 2 << 30, [bytes(1 << 20)] * 2048)
pic = open("pics/000.ppm", "rb").read()
add("good.ppm", len(pic), [pic])
out.write(bytes(1024))
P
}
run 1 "${c[@]}" --tar - < <(zeros)
out_lines 1
says_one 'zeros.ppm: larger than 256 MiB$'
[ ! -e /etc/passwd.ppm ] || fail "something was extracted"
[ ! -e ../up.ppm ] || fail "something was extracted"

# ---- one that is cut inside a picture: its workers count the same pictures
run 1 "${c[@]}" --json --tar cut.tar pics-08.tar
cp out one.jsonl
for k in 1 2; do
    run 0 "${c[@]}" --tar cut.tar pics-08.tar --shard $k/2 -o 'cut/{shard}.jsonl'
done
run 0 merge cut
cmp cut/all.jsonl one.jsonl || fail "the parts of a cut archive are not the run"

# ---- 2 GB of zeros in a small archive end early, whatever hides them; pictures
# that shrink as much do not
python3 - <<'P'
import bz2, tarfile
pic = open("pics/000.ppm", "rb").read()
def head(name, size):
    m = tarfile.TarInfo(name)
    m.size = size
    return m.tobuf(tarfile.GNU_FORMAT)
good = head("good.ppm", len(pic)) + pic + bytes(-len(pic) % 512)
zeros = bz2.compress(bytes(64 << 20))
texts = bz2.compress(head("t.txt", 0) * (1 << 16))
for name in "zeros.ppm", "zeros.txt":
    with open(name + ".tar", "wb") as f:
        f.write(bz2.compress(good + head(name, 2 << 30)) + 32 * zeros +
                bz2.compress(good + bytes(1024)))
with open("texts.tar", "wb") as f:
    f.write(bz2.compress(good) + 32 * texts + bz2.compress(good + bytes(1024)))
large = b"P6\n8000 4000\n255\n" + bytes(96000000)
with open("honest.tar", "wb") as f:
    f.write(4 * bz2.compress(head("black.ppm", len(large)) + large +
                             bytes(-len(large) % 512)))
    f.write(bz2.compress(good + bytes(1024)))
P
for name in zeros.ppm zeros.txt texts; do
    run 1 "${c[@]}" --tar $name.tar pics-08.tar
    out_lines 11
    err_has "$name.tar: apart from pictures, the archive grows to more than 100 times its size"
done
run 0 "${c[@]}" --tar honest.tar --shard 5/5 -o 'honest/{shard}.jsonl'
grep -q '"honest.tar/good.ppm"' honest/00005-of-00005.jsonl ||
    fail "an archive of pictures that shrink well is cut"

# ---- the program that reads archives has no filter of system calls
cat >open <<'P'
#!/bin/sh
printf '\6\0\0\0\0\0\0\0\7\0\0\0\0\0\0\0'
P
chmod +x open
VITCL_UNPACK=$PWD/open run 0 "${c[@]}" --tar pics-08.tar pics-09.tar
err_lines 1
err_has 'archives were read without the system call filter'

# ---- the program that reads archives dies, or is missing
printf '#!/bin/sh\nexec head -c 100 /dev/zero\n' >dies
chmod +x dies
VITCL_UNPACK=$PWD/dies run 1 "${c[@]}" --tar pics-08.tar
err_has 'pics-08.tar: the process that reads archives has ended early$'
VITCL_UNPACK=$PWD/none run 1 "${c[@]}" --tar pics-08.tar
err_has 'pics-08.tar: .*none'
