# stopped.sh - the answers that are done stay when a run with -o is stopped or
# fails, and the older file, too.
python3 - <<'P'
import os, random
random.seed(6)
os.mkdir("p")
for i in range(4):
    with open(f"p/{i}.ppm", "wb") as f:
        f.write(b"P6 32 32 255\n" + bytes(random.randrange(256) for _ in range(3072)))
P
for form in jsonl npy safetensors csv; do
    echo old >c.$form
    echo old >e.$form
done
cat >stop.py <<'P'
# stop.py PROGRAM SIGNAL OUTPUT ARGS… - answers four pictures of a list that goes on, then stops.
import os, signal, subprocess, sys
program, sent, output, *args = sys.argv[1:]
run = subprocess.Popen([program, *args, os.environ.get("OPT", "-o"), output, "--batch", "1", "-"], stdin=subprocess.PIPE,
                       stderr=subprocess.PIPE, bufsize=0)
run.stdin.write(b"p/0.ppm\np/1.ppm\nnone.ppm\np/2.ppm\np/3.ppm\nlast.ppm\n")
for line in run.stderr:
    if b"last.ppm: " in line:
        break
run.send_signal(getattr(signal, sent))
rest = run.stderr.read().decode()
assert run.wait() == 128 + getattr(signal, sent), run.returncode
said = [l for l in rest.splitlines() if "stopped; " in l]
assert all("the first 6 " in l for l in said), said
for l in said:
    print(l.split(" are in ")[1])
P
stop() { # SIGNAL OUTPUT ARGS…: prints the name that is said
    python3 stop.py "$VITCL" "$@" || fail "stopped: $*"
}

c=(classify -m builtin:cifar10)
run 1 "${c[@]}" --json p/0.ppm p/1.ppm none.ppm p/2.ppm p/3.ppm last.ppm
cp out want.jsonl
for sent in SIGINT SIGTERM SIGHUP; do
    name=$(stop $sent c.jsonl "${c[@]}")
    cmp $name want.jsonl || fail "not the answers in $name"
    echo $name >>names
done
[ "$(cat names)" = "c.partial.jsonl
c.partial2.jsonl
c.partial3.jsonl" ] || fail "the names: $(cat names)"

# Logits, and a link to a file elsewhere: beside that.
mkdir far
ln -s far/f.jsonl f.jsonl
run 1 "${c[@]}" --logits want.npy p/0.ppm p/1.ppm none.ppm p/2.ppm p/3.ppm last.ppm
echo old >l.npy
[ "$(stop SIGTERM f.jsonl "${c[@]}" --logits l.npy)" = "l.partial.npy
far/f.partial.jsonl" ] || fail "other names"
cmp far/f.partial.jsonl want.jsonl || fail "not the answers of the link"
cmp l.partial.npy want.npy || fail "not the logits"
[ "$(cat l.npy)" = old ] || fail "the older logits"
[ -L f.jsonl ] || fail "the link is gone"

e=(embed --preset vit-ti/16 --size 32)
for form in jsonl npy safetensors csv; do
    run 1 "${e[@]}" -o want.$form p/0.ppm p/1.ppm none.ppm p/2.ppm p/3.ppm last.ppm
    anew=()
    [ $form != safetensors ] || anew=(--replace)
    [ "$(stop SIGTERM e.$form "${e[@]}" "${anew[@]}")" = e.partial.$form ] || fail "another name"
    cmp e.partial.$form want.$form || fail "not the answers of .$form"
done
cmp e.partial.paths want.paths || fail "not the paths of .npy"
run 0 search e.partial.safetensors p/2.ppm -k 1
out_has '	p/2.ppm$'
OPT=--html stop SIGTERM page.html search e.partial.safetensors -k 1 >hits
[ "$(wc -l <hits)" = 4 ] || fail "hits: $(cat hits)"
for text in p/3.ppm last.ppm '</html>'; do grep -q "$text" page.html || fail "the page has no $text"; done
for form in jsonl npy safetensors csv; do
    [ "$(cat c.$form e.$form)" = "old
old" ] || fail "the older file changed"
done

# A worker's part: one such file, until it is complete.
for form in jsonl npy; do
    for _ in 1 2; do
        [ "$(stop SIGTERM w/1.$form "${e[@]}" --shard 1/1)" = w/1.partial.$form ] || fail "another name"
    done
    printf 'p/0.ppm\np/1.ppm\n' | "$VITCL" "${e[@]}" -q --shard 1/1 -o w/1.$form - || fail "the worker"
done
[ "$(echo w/*)" = "w/1.jsonl w/1.jsonl.manifest w/1.npy w/1.npy.manifest w/1.paths" ] || fail "left: $(echo w/*)"

# ---- a failure: the answers before it
preload=(env "LD_PRELOAD=$VT_CL_FAIL_LIB" "ASAN_OPTIONS=${ASAN_OPTIONS-}:verify_asan_link_order=0")
pictures=(p/0.ppm p/1.ppm none.ppm p/2.ppm p/3.ppm)
kept() { # NAME COMMAND…: the device is lost at the last picture
    local code=0 n anew=()
    [[ $1 != *.safetensors ]] || anew=(--replace)
    VT_CL_COUNT=$PWD/calls "${preload[@]}" "$VITCL" "${@:2}" "${anew[@]}" --batch 1 -o "$1" "${pictures[@]}" 2>err || true
    n=$(grep -n clEnqueueReadBuffer calls | tail -n 1 | cut -d: -f1)
    VT_CL_FAIL="$n -5" "${preload[@]}" "$VITCL" "${@:2}" "${anew[@]}" --batch 1 -o "$1" "${pictures[@]}" >out 2>err || code=$?
    [ $code = 1 ] || fail "status $code"
    err_has "the first 4 answers are in ${1%.*}.partial2?.${1##*.}\$"
}
kept lost.jsonl "${c[@]}"
head -n 4 c.partial.jsonl | cmp - lost.partial.jsonl || fail "not the answers before it"
for form in jsonl npy safetensors csv; do
    kept fails.$form "${e[@]}"
done
head -n 4 want.jsonl | cmp - fails.partial.jsonl || fail "not the vectors before it"
head -n 4 want.paths | cmp - fails.partial.paths || fail "not the paths before it"
head -n 5 want.csv | cmp - fails.partial.csv || fail "not the lines before it"
run 0 search fails.partial.safetensors p/2.ppm -k 1
out_has '	p/2.ppm$'
run 0 embed --preset vit-ti/16 --size 32 -o u.safetensors p/3.ppm
for _ in 1 2; do kept u.safetensors "${e[@]}"; done
[ -e u.partial2.safetensors ] || fail "the first was replaced"
# Copies that fail leave the answers.
mkdir d
for class in airplane automobile bird cat deer dog frog horse ship truck "not sure"; do
    echo >"d/$class"
done
run 1 "${c[@]}" -o k.jsonl p --copy-to 'd/{label}'
err_has 'cannot be copied to d/'
[ "$(wc -l <k.jsonl)" = 4 ] || fail "a copy that failed took the answers"
