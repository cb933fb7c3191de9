# small_things.sh - what no other case is about: -q in every command, paths and
# pages, a system without /proc, messages in the singular.
quick_kernels
picture=$VT_DATA/sample.jpg
small="--preset vit-ti/16 --size 32"

# ---- -q leaves results and errors, in every command
for command in $("$VITCL" --help | grep -oE '^  [a-z][a-z-]+'); do
    "$VITCL" $command --help >help
    grep -q '^  -q, --quiet ' help || fail "$command has no -q"
done
cp "$picture" a.jpg
run 0 plan $small -q
err_lines 0
run 0 bench $small --seconds 0.1 -q
err_lines 0
run 1 info -q -m absent
says absent

# ---- in a narrow terminal, a class has a line of its own beside a long path
mkdir holiday
cp a.jpg holiday/a_picture_with_a_very_long_name.jpg
on_terminal 60 0 classify -q holiday/a_picture_with_a_very_long_name.jpg
[ "$(sed -n 1p out | sed 's/\x1b\[[0-9]*m//g')" = holiday/a_picture_with_a_very_long_name.jpg ] ||
    fail "not the path alone"
out_has '^    (not sure: )?[a-z]+ [0-9]+ %$'
fits 60

# ---- a terminal that knows no escape sequences
TERM=dumb on_terminal 60 0 classify a.jpg a.jpg
! grep -q $'\x1b' out || fail "escape sequences for a dumb terminal"

# ---- hits are named without "X/.."
mkdir -p pictures indexes elsewhere
cp a.jpg pictures
(cd indexes && "$VITCL" embed $small -q -o i.safetensors ../pictures)
run 0 search indexes/i.safetensors a.jpg
cut -f 4 out | grep -qE '^(.*/)?pictures/a\.jpg$' || fail "no picture"
out_not '\.\.'
[ -e "$(cut -f 4 out)" ] || fail "the hit is not there"
ln -s ../indexes elsewhere/link # ".." of a link is another folder
run 0 search elsewhere/link/i.safetensors a.jpg
[ -e "$(cut -f 4 out)" ] || fail "the hit is not there"

# ---- one shard is one
mkdir parts
run 0 classify $small --shard 1/1 -o 'parts/{shard}.jsonl' a.jpg
run 0 merge parts
err_has ' of 1 shard, '
run 0 merge -q -o again.jsonl parts
err_lines 0

# ---- a page keeps the spaces of paths, and has a thousand thumbnails
mkdir many
python3 - <<'P'
for i in range(1003):
    open(f"many/{i:04}  {i}.ppm", "wb").write(b"P6 4 4 255\n" + bytes(i * k % 256 for k in range(48)))
P
run 0 classify $small -k 1 --html p.html many
err_has 'the page has no thumbnails of the last 3 pictures'
[ "$(grep -c '<img ' p.html)" = 1000 ] || fail "other thumbnails"
[ "$(grep -c '<figure' p.html)" = 1003 ] || fail "pictures are missing"
grep -q '<bdi>many/<wbr>1002  1002.ppm</bdi>' p.html || fail "another path"
grep -q 'bdi { white-space: pre-wrap; }' p.html || fail "spaces are collapsed"

# ---- without /proc the helper programs are found beside the program
how="--user --map-root-user --mount"
[ "$(id -u)" != 0 ] || how=--mount
if unshare $how mount -t tmpfs none /proc 2>/dev/null && ! sanitized; then
    unset VITCL_DECODE VITCL_DECODE_ALL VITCL_TRY VITCL_STUDY
    # shellcheck disable=SC2016 # expanded inside
    unshare $how bash -c 'mount -t tmpfs none /proc && cd "$(dirname "$0")" && exec ./vitcl "$@"' \
        "$VITCL" classify $small -k 1 -q "$PWD/a.jpg" >out 2>err || fail "without /proc: $(cat err)"
    out_lines 1
else
    left_out "nothing can be mounted here"
fi
