# answer_first.sh - the answer is the first thing that is said; one line about the
# built-in model follows it, and an error comes alone.
picture=$VT_DATA/sample.jpg
little=$VT_DATA/small.png
model='built-in model; photographs: vitcl pull '
unset VITCL_MODEL
mkdir empty
cp "$picture" a.jpg
cp "$little" b.png
echo '%PDF-1.7' >paper.pdf

# Both streams into one file: what comes first is first.
merged() { # LINES ARGS…: so many lines, the last of which is about the model
    local lines=$1
    shift
    printf '%q ' vitcl "$@" >cmd
    "$VITCL" "$@" >out 2>&1 || fail "exit status $?"
    cp out err
    without_waits
    mv err out
    out_lines "$lines"
    [ "$(grep -c "$model" out)" = 1 ] || fail "not one line about the model"
    tail -n 1 out | grep -qE "^vitcl $1: ${model}[a-z0-9_./]+\$" || fail "it is not the last line"
}
merged 2 classify -k 1 a.jpg
merged 3 classify -k 1 b.png a.jpg
merged 3 classify --json b.png a.jpg
merged 3 embed b.png a.jpg
merged 1 embed -o x.npy a.jpg
run 0 inspect -o looked a.jpg
figures=$(wc -l <out)
merged $((figures + 2)) inspect -o again a.jpg # with a line on what it has not
run 0 classify --quiet a.jpg
err_lines 0
run 0 classify -m builtin:cifar10 a.jpg # named, so known
err_lines 0

# An error alone has one line.
for word in absent.jpg paper.pdf https://example.org/a.jpg empty; do
    run 1 classify "$word"
    says "$word"
done
run 1 embed -o x.npy paper.pdf
says 'paper.pdf'
run 1 inspect -o none absent.jpg # which draws the model's figures
err_not "$model"
run 1 eval --data empty
says 'empty'
run 1 classify -k 1 paper.pdf a.jpg absent.jpg # the note once, with the first answer
err_lines 3
[ "$(grep -c "$model" err)" = 1 ] || fail "the note of a run with errors"
run 1 classify --preset vit-ti/16 --size 32 paper.pdf
says 'paper.pdf'

# On a terminal too, whose lines it fits.
for columns in 60 80; do
    on_terminal $columns 0 classify a.jpg
    fits $columns
    without_waits
    head -n 1 out | grep -q 'a\.jpg.*not sure: ship ' || fail "the first line of $columns columns"
    out_lines 3
    sed -n 3p out | grep -q "^$model" || fail "the third line"
    on_terminal $columns 0 classify -k 1 b.png a.jpg
    head -n 1 out | grep -q 'b\.png[^ ]*  ship ' || fail "the first line"
    sed -n 2p out | grep -q 'a\.jpg[^ ]*  not sure: ship ' || fail "the second line"
done
