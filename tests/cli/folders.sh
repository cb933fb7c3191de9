# folders.sh - folders of pictures: what is read, counted and left out.
picture=$VT_DATA/sample.jpg
small="--preset vit-ti/16 --size 32"

mkdir -p tree/b/c
cp "$picture" tree/a.jpg
cp "$picture" tree/b/b.jpg
cp "$picture" tree/b/c/c.jpg
echo text >tree/notes.txt
echo film >tree/b/film.mp4
echo 'no picture' >tree/bad.png
echo hidden >tree/.hidden

# The summary goes to standard error; in a pipe only where it is asked for.
run 1 classify $small --json -k 1 tree
err_not 'pictures named'
out_lines 4
for command in classify embed; do
    run 1 $command $small --summary tree
    tail -n 1 err >last
    word=$([ $command = classify ] && echo named || echo embedded)
    grep -qE "^3 pictures $word, 1 could not be read \(listed above\), 2 skipped, 1 hidden; [0-9]+\.[0-9] s\$" last ||
        fail "summary: $(cat last)"
done
run 0 classify $small --summary tree/a.jpg
err_has '^1 picture named; [0-9.]+ s$'

# --quiet leaves answers and errors.
run 1 classify $small --json -k 1 tree
cp out before
run 1 classify $small --json -k 1 --quiet tree
cmp before out || fail "--quiet changes the answers"
err_lines 1
err_has 'tree/bad.png: '
run 0 embed $small -q tree/a.jpg
err_lines 0

# Without the ending of a picture the first bytes decide, in archives, too.
mkdir -p bare/in
cp "$picture" bare/IMG_0001
cp "$picture" bare/in/photo.jpg.1
cp "$VT_DATA/preprocess/in/near_31x33.png" bare/20240501_1733
printf 'P6\n# of a scanner\n4 4 255\n%048d' 0 >bare/in/scan.raw
python3 - <<'P'
import struct
bmp = b"BM" + struct.pack("<IIIIiiHHIIiiII", 66, 0, 54, 40, 2, 2, 1, 24, 0, 16, 0, 0, 0, 0)
others = {
    "bitmap": bmp + bytes(16),  # the last picture; what follows is none
    "a.txt": b"BMW and others: a list of what is in the garage\n",
    "b.txt": b"P6 is the name of the sixth picture\n", "c": b"P", "d": b"",
    "e.txt": b"GIF89a is the format of 1989\n", "f.mp4": b"\0\0\0\x20ftypisom" + bytes(32),
    "g.txt": b"This is WEBP, a format of pictures\n", "h.npy": b"\x93NUMPY\1\0" + bytes(40),
    "i.wav": b"RIFF\0\0\0\0WAVEfmt " + bytes(32), "j.ico": bytes([0, 0, 1, 0, 1, 0]) + bytes(32),
}
for name, text in others.items():
    open(f"bare/in/{name}", "wb").write(text)
P
mkfifo bare/in/pipe
run 0 classify $small --json -k 1 --summary bare
out_lines 5
out_has '"bare/IMG_0001"'
err_has '^5 pictures named, 11 skipped; '
rm bare/in/pipe
if [ -n "${VITCL_UNPACK-}" ]; then
    sed 's/.*bare\///' out >folder
    tar cf bare.tar -C bare 20240501_1733 IMG_0001 in
    run 0 classify $small --json -k 1 --summary --tar bare.tar
    err_has '^5 pictures named, 10 skipped; '
    sed "s/.*bare.tar.//" out | sort >archive
    sort folder | cmp - archive || fail "other answers from an archive"
    run 0 classify $small --json -k 1 --tar bare.tar --shard 1/2
    out_lines 3
fi
# Folders in folders.
run 0 classify $small --json -k 1 --no-recursive --summary tree/b
out_lines 1
out_has '"tree/b/b.jpg"'
err_has '^1 picture named, 1 skipped;'
run 0 classify $small --json -k 1 --recursive tree/b
out_lines 2
mkdir -p outer/inner
cp "$picture" outer/inner/
run 1 classify $small --no-recursive outer
err_has 'outer: no pictures in this folder'
run 2 classify $small --recursive --no-recursive tree
says '[-]-recursive and --no-recursive cannot be used together$'

terminal() {
    python3 -c 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) != 0)' \
        "$VITCL" "$@" >screen </dev/null || fail "in a terminal"
}

# A terminal gets it, with its progress, for more than one picture.
terminal classify $small tree/a.jpg tree/b/b.jpg
grep -q '^2 pictures named; ' screen || fail "no summary in a terminal"
terminal classify $small tree/a.jpg
! grep -q 'named; ' screen || fail "a summary of one picture"
terminal classify $small -q tree/b/c
! grep -qE 'named; |random weights' screen || fail "--quiet is not quiet"
