# piped.sh - a picture's bytes on standard input, for "-" and for /dev/stdin; a
# list of paths stays a list, and begins like a picture only by chance.
# shellcheck disable=SC2002 # a pipe is wanted, not a file
sample=$VT_DATA/sample.jpg in=$VT_DATA/formats/in
classify=(classify -m builtin:cifar10 --top 1)

run 0 "${classify[@]}" "$sample"
cut -f2- out >wanted
same() { # the answer is the sample's, under this name
    cut -f1 out | grep -qxF -- "$1" || fail "another name than $1"
    cut -f2- out | cmp -s - wanted || fail "another answer"
}

run 0 "${classify[@]}" - <"$sample"
same -
run 0 "${classify[@]}" - < <(cat "$sample")
same -
run 0 "${classify[@]}" /dev/stdin < <(cat "$sample")
same /dev/stdin
run 0 "${classify[@]}" /dev/stdin <"$sample"
same /dev/stdin
run 0 "${classify[@]}" -0 - <"$sample"
same -
run 0 "${classify[@]}" - < <(
    head -c 2 "$sample"
    sleep 0.3
    tail -c +3 "$sample"
)
same -

# ---- every format is known by its first bytes
for name in lossy.webp pillow.gif cmyk.tif big_endian.tif lossy.heic alpha.avif \
    palette.tga grey_packed.tga p1.pbm p3.ppm p5_of_4095.pgm preview6.dng; do
    "$VITCL" "${classify[@]}" "$in/$name" >file 2>why || {
        grep -q 'which this build lacks' why || fail "$name: $(cat why)"
        continue
    }
    run 0 "${classify[@]}" - <"$in/$name"
    cut -f2- file | cmp -s - <(cut -f2- out) || fail "$name: another answer"
done

# ---- with other operands
run 0 "${classify[@]}" "$sample" - "$sample" < <(cat "$sample")
out_lines 3
[ "$(sed -n 2p out | cut -f1)" = - ] || fail "not in order"
run 0 embed -m builtin:cifar10 - < <(cat "$sample")
out_has '^\{"picture":"-"'

# ---- broken pictures
head -c 3000 "$sample" >cut.jpg
run 1 "${classify[@]}" - <cut.jpg
says 'standard input: the JPEG is truncated'
run 1 "${classify[@]}" /dev/stdin < <(cat cut.jpg)
says '/dev/stdin: the JPEG is truncated'
run 1 "${classify[@]}" --json - <cut.jpg
out_has '"picture":"-","error":"standard input: the JPEG is truncated"'

# ---- lists: first names that begin like pictures
for name in BM.jpg GIF89.jpg RIFF.jpg 'P6 a.jpg' 8BPS; do
    cp "$sample" "$name"
    run 0 "${classify[@]}" - < <(printf '%s\n%s\n' "$name" "$sample")
    out_lines 2
    run 0 "${classify[@]}" -0 - < <(printf '%s\0%s\0' "$name" "$sample")
    out_lines 2
done
run 1 "${classify[@]}" - < <(printf 'BMW.jpg\n%s\n' "$sample")
err_has 'BMW.jpg: No such file'
out_lines 1
