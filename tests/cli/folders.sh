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
run 1 classify $small --json -k 1 --quiet --summary tree
cmp before out || fail "--quiet changes the answers"
err_lines 1
err_has 'tree/bad.png: '
run 0 embed $small -q tree/a.jpg
err_lines 0

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
says 'contradict'

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
