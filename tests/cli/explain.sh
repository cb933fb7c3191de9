# explain.sh - classify --explain: bars and blocks that fit, with the colours
# that a terminal has, and plain text elsewhere.
picture=$VT_DATA/sample.jpg
unset COLORTERM NO_COLOR
cp "$picture" a.jpg
cp "$picture" b.jpg
esc=$'\033'

run 0 classify --explain a.jpg
out_has '^a\.jpg  not sure$'
out_has '^  ship +91 % #{40}'
out_has '^ +[0-9.]+ %  \.:-=\+\*#%@ [0-9.]+ % of the attention, a patch$'
! LC_ALL=C grep -q '[^ -~]' out || fail "not plain"
fits 80
cp out plain
# The classes are those without --explain.
run 0 classify a.jpg
while read -r _ _ name p _; do
    grep -q "^  $name  *$(python3 -c "p = 100 * $p; print('%.1f' % p if p < 0.95 else '%.0f' % p)") %" plain ||
        fail "$name $p"
done <out

for columns in 60 80; do
    COLORTERM=truecolor on_terminal $columns 0 classify -q --explain a.jpg b.jpg
    [ "$(grep -c 'of the attention' out)" = 2 ] || fail "not two pictures"
    out_has "$esc\\[38;2;[0-9]+;[0-9]+;[0-9]+m$esc\\[48;2;[0-9]+;[0-9]+;[0-9]+m▀"
    out_not "$esc\\[[34]8;5;"
    sed -i "s/$esc\\[[0-9;]*m//g" out
    fits $columns
    out_has '^  ship +91 % █'
    on_terminal $columns 0 classify -q --explain a.jpg
    out_has "$esc\\[38;5;[0-9]+m$esc\\[48;5;[0-9]+m▀"
    out_not "$esc\\[[34]8;2;"
    NO_COLOR=1 on_terminal $columns 0 classify -q --explain a.jpg
    ! LC_ALL=C grep -q '[^ -~]' out || fail "NO_COLOR has colours"
    fits $columns
done
NO_COLOR='' on_terminal 80 0 classify -q --explain a.jpg
out_has "$esc\\[38;5;"
TERM=dumb on_terminal 80 0 classify -q --explain a.jpg
! LC_ALL=C grep -q '[^ -~]' out || fail "colours for a dumb terminal"
COLORTERM=truecolor on_terminal 30 0 classify -q --explain a.jpg
sed -i "s/$esc\\[[0-9;]*m//g" out
grep -v 'of the attention' out >kept
mv kept out
fits 30

# A failure between two pictures; no classifier needs no patches.
echo text >text.jpg
run 1 classify --explain a.jpg text.jpg b.jpg
err_has 'text.jpg: '
sed 's/^a\.jpg/b.jpg/' plain | cat plain - | diff - out || fail "others than one by one"
run 0 classify -m "$VT_DATA/models/timm_resnet" --explain a.jpg b.jpg
[ "$(grep -c 'has no attention over patches, so only its classes are shown' err)" = 1 ] ||
    fail "said more than once, or not"
out_has '^b\.jpg$'
out_not 'of the attention'
# patches alone, without a class token, on a rectangle
run 0 classify -m "$VT_DATA/models/timm_vit_gap_rect" --explain a.jpg
out_has 'of the attention'

run 2 classify --explain --json a.jpg
says '[-]-explain and --json cannot be used together$'
run 2 classify --explain --csv a.jpg
says 'csv'
run 2 classify --explain --batch 2 a.jpg
says 'leave --batch out'

# The brightest cell is that of the rollout which `inspect` writes.
[ -n "${VITCL_PLOT-}" ] || exit 0
cat >check.py <<'P'
import glob, tensors
[path] = glob.glob("seen/**/*rollout.safetensors", recursive=True)
(rows, columns), v = tensors.numbers(path)["rollout"]
lines = open("out").read().split("\n")
end = next(i for i, l in enumerate(lines) if "of the attention" in l)
names = max(i for i, l in enumerate(lines[:end]) if " % " in l)
cells = [l[2:].ljust(40) for l in lines[names + 1:end]]
for sign, value in (("@", max(v)), (" ", min(v))):
    at = v.index(value)
    y, x = (at // columns + 0.5) / rows, (at % columns + 0.5) / columns
    assert cells[int(y * len(cells))][int(x * 40)] == sign, (sign, at, cells)
least, most = lines[end].split()[0], lines[end].split(" % of")[0].split()[-1]
assert float(least) == float("%.2g" % (100 * min(v))), (least, min(v))
assert float(most) == float("%.2g" % (100 * max(v))), (most, max(v))
P
for name in timm_vit timm_vit_avg_reg; do
    rm -rf seen
    run 0 inspect -m "$VT_DATA/models/$name" -o seen a.jpg
    run 0 classify -m "$VT_DATA/models/$name" --explain a.jpg
    python3 check.py || fail "not inspect's rollout of $name"
done
