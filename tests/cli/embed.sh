# embed.sh - features as JSON lines, .npy and .safetensors.
picture=$VT_DATA/sample.jpg
small="--preset vit-ti/16 --size 32"
echo text >text.jpg

run 1 embed $small "$picture" text.jpg "$picture"
json out
out_lines 3
out_has '"picture":"text.jpg","error":'
err_has 'text.jpg: '
err_lines 2 # and one that says that the weights are random
[ "$(sed -n 1p out)" = "$(sed -n 3p out)" ] || fail "equal pictures differ"
[ "$(sed -n 1p out | tr -cd , | wc -c)" = 192 ] || fail "not 192 features"
run 1 embed $small -o rows.npy "$picture" text.jpg "$picture"
err_has 'text.jpg: '
python3 -c 'import struct
rows = struct.unpack("<576f", open("rows.npy", "rb").read()[512:])
assert all(x != x for x in rows[192:384])
assert rows[:192] == rows[384:]' || fail "the row of the bad picture is not NaN"
run 0 embed $small --normalize "$picture"
length=$(sed 's/.*\[\(.*\)\].*/\1/' out | tr , '\n' |
    awk '{ s += $1 * $1 } END { print s }')
awk -v s="$length" 'BEGIN { exit !(s > 0.9999 && s < 1.0001) }' ||
    fail "length $length"
run 0 embed $small --features tokens -o tokens.npy "$picture" "$picture"
head -c 512 tokens.npy | grep -aq '(2,5,192)' || fail "shape of tokens"
run 0 embed $small --features class -o class.npy "$picture"
cmp <(tail -c +513 tokens.npy | head -c 768) <(tail -c +513 class.npy) ||
    fail "the class token is not the first token"
run 0 embed -m "$VT_DATA/models/hf_clip" -o clip.safetensors "$picture"
head -c 2000 clip.safetensors | grep -aq '"features"' || fail "no features"
