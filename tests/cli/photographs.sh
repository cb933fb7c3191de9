# photographs.sh - the real model's answers on photographs: the five best as
# timm orders them, unless neighbours are closer than 1e-4.
data pictures/imagenet150
folder=$data
data models/vit_tiny_patch16_224.augreg_in21k_ft_in1k
model=$data
sed -n 2,41p "$folder.tsv" >rows
while IFS=$'\t' read -r file _; do echo "$folder/$file"; done <rows >list
"$VITCL" classify -m "$model" - <list >out 2>err || fail "exit status $?"
out_lines 200
python3 - <<'EOF' || fail "other answers"
rows = [l.rstrip("\n").split("\t") for l in open("rows")]
got = [l.rstrip("\n").split("\t") for l in open("out")]
bad = 0
for i, r in enumerate(rows):
    five = got[5 * i:5 * i + 5]
    want = [r[2]] + r[4:8]
    labels = [f[2] for f in five]
    close = any(float(a[4]) - float(b[4]) < 1e-4 for a, b in zip(five, five[1:]))
    if labels[0] != want[0] or (labels != want and not close):
        print(r[0], labels, want)
        bad += 1
raise SystemExit(bad > 0)
EOF
