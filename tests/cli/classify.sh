# classify.sh - answers in every format, in input order, with good and bad
# pictures mixed.
picture=$VT_DATA/sample.jpg
small="--preset vit-ti/16 --size 32"

run 0 classify $small "$picture"
err_lines 1
err_has 'random weights'
out_lines 5
[ "$(awk -F'\t' 'NF == 5' out | wc -l)" = 5 ] || fail "not five fields"
[ "$(cut -f2 out | tr '\n' ' ')" = "1 2 3 4 5 " ] || fail "ranks"
run 0 classify $small -k 99999 "$picture"
out_lines 1000
sum=$(awk -F'\t' '{ s += $5 } END { print s }' out)
awk -v s="$sum" 'BEGIN { exit !(s > 0.999 && s < 1.001) }' || fail "sum $sum"

# A folder is read sorted, with its subfolders; hidden files and other types
# are skipped.
mkdir -p tree/b tree/.hidden
cp "$picture" tree/c.jpg
cp "$picture" tree/b/z.JPG
cp "$picture" tree/a.jpeg
cp "$picture" tree/.hidden/h.jpg
echo text >tree/notes.txt
ln -s .. tree/b/up
run 0 classify $small --json -k 1 tree
json out
sed 's/{"picture":"\([^"]*\)".*/\1/' out >order
printf 'tree/a.jpeg\ntree/b/z.JPG\ntree/c.jpg\n' | cmp - order ||
    fail "order: $(cat order)"
sed 's/.*"top"/"top"/' out | sort -u >same
[ "$(wc -l <same)" = 1 ] || fail "equal pictures, other answers"

# Lists on standard input; names that are not UTF-8 or have odd characters.
odd=$'tab\there \xff"quote\\.jpg'
cp "$picture" "$odd"
printf '%s\0%s\0' tree/a.jpeg "$odd" >list
"$VITCL" classify $small --json -k 1 -0 - <list >out 2>err || fail "-0 -"
json out
out_lines 2
out_has 'tab\\there .*quote'
"$VITCL" classify $small -k 1 "$odd" >out 2>err || fail "odd name"
out_lines 1
printf 'tree/a.jpeg\n%s\n' "$picture" |
    "$VITCL" classify $small -k 1 - >out 2>err || fail "-"
out_lines 2
# An empty line has an answer, too, for which its writer may wait.
printf 'tree/a.jpeg\n\n%s\n' "$picture" | "$VITCL" classify $small --json -k 1 - >out 2>err &&
    fail "an empty line"
out_lines 3
sed -n 2p out | grep -qx '{"picture":"-","error":"standard input, line 2: is empty"}' ||
    fail "no answer to an empty line"
# At the end of a list it is none; before, there may be more to come.
printf 'tree/a.jpeg\n\n\r\n' | "$VITCL" classify $small -k 1 - >out 2>err || fail "empty lines at the end"
out_lines 1
rm out
{ printf '\n' && timeout 60 bash -c 'until [ -s out ]; do sleep 0.05; done'; } |
    "$VITCL" classify $small --json -k 1 - >out 2>err && fail "an empty line alone"
out_lines 1

# Bad pictures: one useful line each; the others are answered; exit status 1.
: >empty.jpg
echo 'this is no picture' >text.jpg
head -c 3000 "$picture" >short.jpg
python3 -c 'import struct, sys, zlib
def chunk(t, d): return struct.pack(">I", len(d)) + t + d + struct.pack(
    ">I", zlib.crc32(t + d))
sys.stdout.buffer.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(
    ">IIBBBBB", 30000, 30000, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(
    b"\0" * 1000)) + chunk(b"IEND", b""))' >huge.png
mkdir bare
run 1 classify $small --json -k 1 absent.jpg tree/a.jpeg empty.jpg text.jpg \
    short.jpg huge.png bare tree/c.jpg
json out
out_lines 8
sed 's/{"picture":"\([^"]*\)","\([a-z]*\)".*/\1 \2/' out >kinds
printf '%s\n' 'absent.jpg error' 'tree/a.jpeg top' 'empty.jpg error' \
    'text.jpg error' 'short.jpg error' 'huge.png error' 'bare error' \
    'tree/c.jpg top' | cmp - kinds || fail "kinds: $(cat kinds)"
err_lines 7 # six errors, and that the weights are random
for bad in absent.jpg empty.jpg text.jpg short.jpg huge.png bare; do
    err_has "$bad"
done
err_has 'huge.png.*(30000|million)'
err_has 'bare.*no pictures'
run 1 classify $small text.jpg
[ ! -s out ] || fail "an answer for a text file"

# Logits: one row for each picture, NaN for bad ones; the file appears
# complete.
run 1 classify $small --logits logits.npy "$picture" text.jpg tree/a.jpeg
head -c 6 logits.npy | tail -c 5 | grep -q NUMPY || fail "no .npy"
[ "$(stat -c %s logits.npy)" = $((512 + 3 * 1000 * 4)) ] || fail "size"
head -c 512 logits.npy | grep -aq '(3,1000)' || fail "shape"
[ "$(tail -c +513 logits.npy | head -c 4000 | sha256sum)" = \
    "$(tail -c 4000 logits.npy | sha256sum)" ] || fail "rows differ"
python3 -c 'import struct, sys
rows = struct.unpack("<3000f", open("logits.npy", "rb").read()[512:])
assert all(x != x for x in rows[1000:2000])
assert all(x == x for x in rows[:1000] + rows[2000:])' ||
    fail "the row of the bad picture is not NaN alone"
run 0 classify $small --logits logits.safetensors "$picture"
head -c 200 logits.safetensors | grep -aq '"logits":.*"shape":\[1,1000\]' ||
    fail "no logits"
run 1 classify $small --logits /no/such/folder/x.npy "$picture"
err_has '/no/such/folder/x.npy'
! compgen -G '.*vitcl-part*' || fail "a temporary file was left"

# The same bits with every batch size, and close answers from every provider.
for batch in 1 2 7; do
    run 0 classify $small --batch $batch --logits b$batch.npy tree "$picture"
    cmp b1.npy b$batch.npy || fail "other bits at --batch $batch"
done
for gemm in plain native clblast; do
    run 0 classify $small --gemm $gemm -k 1 "$picture"
    cut -f3 out >>labels
done
[ "$(sort -u labels | wc -l)" = 1 ] || fail "providers disagree"
run 2 classify $small --gemm mkl "$picture"
err_has "must be clblast, native or plain, not 'mkl'"
VITCL_MODEL=$VT_DATA/models/timm_vit run 0 classify -k 2 "$picture"
err_lines 0
out_lines 2
run 1 classify -m "$VT_DATA/models/hf_clip" "$picture"
says 'vitcl embed'
run 1 classify --preset vit-b/16 --batch 60000 "$picture"
says 'batch of [0-9]+ fits'
