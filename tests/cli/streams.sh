# streams.sh - closed, full and endless streams; lists that are not lists;
# names with control characters. A failure is one line and status 1.
picture=$VT_DATA/sample.jpg
cp "$picture" a.jpg

# A closed stream stays closed: no file or socket gets its descriptor.
code=0
"$VITCL" classify -k 1 - <&- >out 2>err || code=$?
[ $code = 1 ] || fail "closed stdin: status $code"
err_has 'standard input: it is closed, so there is no list'
code=0
"$VITCL" classify --json a.jpg >&- 2>err || code=$?
[ $code = 1 ] || fail "closed stdout: status $code"
err_has 'standard output cannot be written: '
"$VITCL" classify -k 1 a.jpg >out 2>&- || fail "closed stderr"
out_lines 1
"$VITCL" classify -k 1 a.jpg <&- >two 2>&- || fail "closed stdin and stderr"
cmp out two || fail "another answer"
code=0
"$VITCL" classify a.jpg <&- >&- 2>&- || code=$?
[ $code = 1 ] || fail "all closed: status $code"
for command in "classify -k 1" embed; do
    code=0
    "$VITCL" $command a.jpg >/dev/full 2>err || code=$?
    [ $code = 1 ] || fail "$command to a full disk: status $code"
    err_has 'standard output cannot be written: '
done

# list REASON ARGS...: stdin is not a list. There is one error and status 1;
# earlier lines and other operands are answered.
list() {
    local code=0
    (
        sanitized || ulimit -v 4000000 # sanitizers reserve terabytes
        timeout 60 "$VITCL" classify -k 1 "${@:2}" - a.jpg >out 2>err
    ) || code=$?
    [ $code = 1 ] || fail "status $code"
    without_waits
    [ "$(grep -acv 'built-in model; ' err)" = 1 ] || fail "not one error"
    err_has "standard input.*$1"
    tail -n 1 out | grep -q '^a.jpg' || fail "the next operand has no answer"
}
list 'Is a directory' </tmp
list 'NUL' </dev/zero
list 'is empty' -0 </dev/zero
list 'longer than a path' < <(yes | tr -d '\n')
printf 'P6\n1 1\n255\nab' | list 'PNM is truncated'
printf '\x89PNG\r\n\x1a\nabc' | list 'PNG is truncated'
printf 'a.jpg\nb\0\n' | list 'line 2: holds a NUL'
[ "$(grep -c '^a.jpg' out)" = 2 ] || fail "the good line has no answer"
cp a.jpg P6
echo P6 | "$VITCL" classify -k 1 - >out 2>err || fail "a file called P6"
code=0
"$VITCL" classify --json - </tmp >out 2>err || code=$?
[ $code = 1 ] || fail "status $code"
json out
out_has '"picture":"-","error":"standard input: '

# In a tree with links in circles, each folder is read once.
mkdir -p web/0
cp a.jpg web/0
for i in $(seq 40); do
    mkdir "web/$i"
    ln -s "../$((i - 1))" "web/$i/x"
    ln -s "../$((i - 1))" "web/$i/y"
done
timeout 60 "$VITCL" classify -k 1 --follow web >out 2>err || fail "a web of links"
out_lines 1
out_has '^web/0/a.jpg'
timeout 60 "$VITCL" classify -k 1 --follow web/40 >out 2>err || fail "a web of links"
out_lines 1
out_has '^web/40/(x/)+a.jpg'
mkdir broken
ln -s nowhere broken/text
ln -s nowhere broken/lost.jpg
run 1 classify -k 1 broken
err_has 'broken/lost.jpg: No such file'

# A message names its picture exactly once, even if the name is long or odd.
deep=$(printf '%0200d/' 1 2 3)
mkdir -p "$deep"
odd=$'a\nb\x1b[31mc\xc2\x9bd\xff.jpg'
for name in text.jpg "$PWD/text.jpg" ./text.jpg "$deep/text.jpg" "$odd"; do
    echo text >"$name"
    run 1 classify -k 1 "$name"
    err_lines 1
    case $name in
    "$odd") grep -qaF $'vitcl classify: a\\nb\x1b[31mc\xc2\x9bd\xff.jpg: not a' err ;;
    *) grep -qaF "vitcl classify: $name: not a supported picture format" err ;;
    esac || fail "not the name once"
    run 1 classify --json "$name"
    json out
    out_has '"error":"not a supported picture format'
done
run 1 classify --json "$deep/absent.jpg"
out_has '"error":"No such file'

# Names and labels cannot control a terminal; a pipe gets their bytes
# unchanged.
cat >terminal.py <<'END'
import os, sys
master, slave = os.openpty()
pid = os.fork()
if pid == 0:
    os.dup2(slave, int(sys.argv[1]))
    os.execv(sys.argv[2], sys.argv[2:])
os.close(slave)
text = b""
try:
    while True:
        part = os.read(master, 65536)
        if not part:
            break
        text += part
except OSError:
    pass
os.waitpid(pid, 0)
sys.stdout.buffer.write(text.replace(b"\r\n", b"\n"))
END
cp a.jpg "$odd"
python3 terminal.py 1 "$VITCL" classify -k 1 "$odd" >out 2>err
grep -qaF 'a\nb\033[31mc\302\233d\377.jpg' out || fail "not escaped"
echo text >"$odd"
python3 terminal.py 2 "$VITCL" classify -k 1 "$odd" >err 2>out
grep -qaF 'a\nb\033[31mc\302\233d\377.jpg: not a' err || fail "not escaped"
cp a.jpg "$odd"
python3 terminal.py 1 "$VITCL" classify --json -k 1 "$odd" >out 2>err
out_has 'a\\nb\\u001b\[31mc\\u009bd.*\.jpg'
cp -r "$VT_DATA/models/timm_vit" evil
chmod -R u+w evil
python3 - evil/config.json <<'END'
import json, sys
c = json.load(open(sys.argv[1]))
c["label_names"] = ["\x1b[31mred\x9b\u202e%d" % i for i in range(c["num_classes"])]
json.dump(c, open(sys.argv[1], "w"))
END
python3 terminal.py 1 "$VITCL" classify -m evil -k 1 a.jpg >out 2>err
grep -qaF '\033[31mred\302\233\342\200\256' out || fail "a label is not escaped"
run 0 classify -m evil --json -k 1 a.jpg
out_has '"label":"\\u001b\[31mred\\u009b\\u202e'
turned=$'\xe2\x80\xae'a.jpg # U+202E, in any locale
cp a.jpg "$turned"
run 0 embed -o rows.jsonl "$turned"
grep -qF '"picture":"\u202ea.jpg"' rows.jsonl || fail "a name is not escaped"
hidden=$'\xe2\x80\x8f\xd8\x9c\xf3\xa0\x81\x81'a.jpg # U+200F, U+061C, U+E0041
cp a.jpg "$hidden"
run 0 classify --json -k 1 "$hidden"
json out
out_has '"picture":"\\u200f\\u061c\\udb40\\udc41a.jpg"'
python3 terminal.py 1 "$VITCL" classify -k 1 "$hidden" >out 2>err
grep -qaF '\342\200\217\330\234\363\240\201\201a.jpg' out || fail "not escaped"
"$VITCL" classify -m evil -k 1 a.jpg >out 2>err || fail "evil"
grep -qF '\033[31mred\302\233' out || fail "a table has the bytes"

# A program that writes a path gets its answer without closing the list; a path
# that comes in two parts is one path; -0 as well.
cat >coprocess.py <<'END'
import select, subprocess, sys
def answer():
    if not select.select([p.stdout], [], [], 300)[0]:
        sys.exit("no answer")
    return p.stdout.readline()
for end, more in ((b"\n", []), (b"\0", ["-0"])):
    p = subprocess.Popen([sys.argv[1], "classify", "-k", "1", *more, "-"], bufsize=0,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    answers = []
    for text in (b"a.jpg" + end, b"a.j", b"pg" + end):
        p.stdin.write(text)
        if text.endswith(end):
            answers.append(answer())
        elif select.select([p.stdout], [], [], 0.2)[0]:
            sys.exit("an answer to half a path")
    if answers != 2 * answers[:1] or not answers[0].startswith(b"a.jpg\t1\t"):
        sys.exit(f"other answers: {answers}")
    p.stdin.write(b"a.jpg") # the end needs no delimiter
    p.stdin.close()
    if p.stdout.read() != answers[0] or p.wait() != 0:
        sys.exit("the last path has no answer")
END
cp "$picture" a.jpg
python3 coprocess.py "$VITCL" 2>err || fail "answers do not come one by one"

# Standard input that does not wait, and has nothing for a moment.
cat >slowly.py <<'END'
import os, subprocess, sys, time
data = sys.stdin.buffer.read()
r, w = os.pipe()
os.set_blocking(r, False)
p = subprocess.Popen(sys.argv[1:], stdin=r)
for part in data[:5], data[5:20], data[20:], b"":
    time.sleep(0.3)
    os.write(w, part)
os.close(w)
sys.exit(p.wait())
END
cp "$picture" a.jpg
slowly() { python3 slowly.py "$VITCL" "$@" >out 2>err || fail "an input that does not wait"; }
echo a.jpg | slowly embed --preset vit-ti/16 --size 32 -u -o slowly.safetensors -
run 0 search slowly.safetensors a.jpg
out_has 'a.jpg'
echo a.jpg | slowly classify -k 1 -
out_has '^a.jpg	1	'
{ printf 'P6 2 2 255\n' && head -c 12 a.jpg; } | slowly classify -k 1 -
out_has '^-	1	'
if [ -n "${VITCL_UNPACK-}" ]; then
    tar cf - a.jpg | slowly classify -k 1 --tar -
    out_has 'a.jpg	1	'
fi

# A message is one line in a pipe; on a terminal its lines end between words.
long='no picture of this name 写真/in this folder.jpg'
"$VITCL" classify "$long" >out 2>err && fail "no such picture"
[ "$(grep -c "$long: No such file or directory" err)" = 1 ] || fail "not one line"
for columns in 30 41 60; do
    on_terminal $columns 1 classify -m builtin:cifar10 "$long" nowhere
    fits $columns
    tr '\n' ' ' <out | sed 's/  */ /g' >joined
    grep -qF "vitcl classify: $long: No such file or directory" joined ||
        fail "words are cut at $columns columns"
done

# A list of Windows, an archive in its place, and an address.
printf '\xEF\xBB\xBFa.jpg\r\na.jpg\r\n' | "$VITCL" classify -k 1 - >out 2>err ||
    fail "a list of Windows: $(cat err)"
[ "$(cut -f 1 out | tr '\n' ' ')" = 'a.jpg a.jpg ' ] || fail "other names: $(cat out)"
cp a.jpg $'cr.jpg\r'
printf 'cr.jpg\r\n' | "$VITCL" classify -k 1 - >out 2>err || fail "a name that ends with CR"
printf 'a.jpg\r\n' | iconv -t UTF-16 | list 'line 1: is UTF-16; write the list as UTF-8'
tar -cf in.tar a.jpg
for pack in cat gzip; do
    $pack <in.tar | list 'archive, not a list of paths \(--tar'
done
echo - | "$VITCL" classify -k 1 - >out 2>err && fail "a file named -"
err_has '^vitcl classify: \./-: No such file'
run 1 classify https://example.org/cat.jpg
err_has 'cat.jpg: addresses are not opened; .*curl -sL ADDRESS \| vitcl classify -'
small="--preset vit-ti/16 --size 32"
for word in HTTPS://x.org/cat.jpg s3://b/cat.jpg; do
    run 1 embed $small -o v.npy $word
    err_has "$word: addresses are not opened; .*curl -sL ADDRESS \\| vitcl embed -"
done
[ -z "${VITCL_UNPACK-}" ] || run 1 embed $small -o v.npy --tar https://x.org/a.tar
[ -z "${VITCL_UNPACK-}" ] || err_has 'a.tar: addresses are not opened; curl -sL ADDRESS \| vitcl embed --tar -'

# Archives in the place of pictures and of lists.
python3 - <<'P'
import io, tarfile, zipfile
with tarfile.open("a.tar", "w") as t, tarfile.open("a.tgz", "w:gz") as g, \
        tarfile.open("a.txz", "w:xz") as x, tarfile.open("a.tbz", "w:bz2") as b, \
        zipfile.ZipFile("a.zip", "w") as z:
    for one in t, g, x, b:
        one.addfile(tarfile.TarInfo("cat.jpg"), io.BytesIO())
    z.writestr("cat.jpg", "")
P
for name in a.tar a.tgz a.txz a.tbz a.zip; do
    run 1 classify $name
    err_has "$name: an? .*, not a picture \(--tar reads tar archives\)"
    run 1 classify - <$name
    err_has 'line 1: is an archive, not a list of paths'
done
