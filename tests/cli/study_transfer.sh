# study_transfer.sh - the study of transfer: with a checkpoint, and without one
# from some classes to the others.
numpy
models=$VT_DATA/models
cifar 40
given=(--data data --pictures 100 --epochs 1 --test-pictures 20 --tries 1)

# ---- wrong use
run 2 study head -m "$models/timm_vit" "${given[@]}" -o none
says '-m is for the study transfer; head trains its own models'
run 1 study transfer -m nowhere "${given[@]}" -o none
err_has 'nowhere'
run 1 study transfer -m "$models/timm_vit_gap_rect" "${given[@]}" -o oblong
err_has 'was trained at 16x[0-9]+ pixels; a study needs a model of square pictures$'
mkdir -p three/{a,b,c}
for c in a b c; do
    for i in 1 2 3 4 5 6; do cp "$VT_DATA/sample.jpg" three/$c/$c$i.jpg; done
done
run 1 study transfer --data three -o none
err_has 'three: 3 classes are too few to learn some and transfer to the others, which takes 4; name a checkpoint: -m$'
! sanitized || skip 'trains too long under AddressSanitizer'

# ---- the classes of the second part have fewer pictures than the others
mkdir -p five/{a,b,c,d,e}
for c in a b c d e; do
    for i in 1 2 3 4 5 6 7 8 9 10 11 12; do cp "$VT_DATA/sample.jpg" five/$c/$i.jpg; done
done
rm five/{d,e}/{1,10,11,12}.jpg
run 0 study transfer --data five --epochs 1 --tries 1 -o five.out --dry-run
out_has '^before +26 '
out_has '^scratch-100-1 +14 '

# ---- a checkpoint: its architecture and its size; nothing is trained for few
# shots, and a frozen model costs less than a whole one
run 0 study transfer -m "$models/timm_vit" "${given[@]}" -o named --dry-run
out_has '^fine-tuned-100-lr-0.0005 +100 +1 '
out_has '^few-shot-10 +100 +0 '
out_has '^scratch-1-1 +10 +10 '
out_not '^before'
run 0 study transfer -m "$models/timm_vit" "${given[@]}" -o named
[ "$(cut -f1,2 named/results.tsv | tr '\t\n' ' ;')" = "arm pictures;few-shot 10;fine-tuned 10;frozen 10;scratch 10;few-shot 10;fine-tuned 10;frozen 10;scratch 10;few-shot 100;fine-tuned 100;frozen 100;scratch 100;" ] ||
    fail "other rows: $(cat named/results.tsv)"
grep -q '^fine-tuned	100	.*	0.9915$' named/results.tsv || fail 'the paper is not beside it'
grep -q 'Not decided' named/verdict.txt || fail "another verdict: $(cat named/verdict.txt)"
grep -q 'least squares' named/report.html || fail 'the page lacks the table'
cat >same.py <<'P'
import sys, tensors
before, after = map(tensors.parts, sys.argv[1:])
print(*sorted(k for k in before if before[k] != after.get(k)))
P
# of two frozen models the heads alone differ
weights() { echo named/runs/$1-*/model.safetensors; }
[ "$(python3 same.py "$(weights frozen-10-1)" "$(weights frozen-100-1)")" = 'head.bias head.weight' ] ||
    fail 'a frozen model changed elsewhere, or its head did not'
python3 same.py "$(weights frozen-100-1)" "$(weights fine-tuned-100-1)" | grep -q 'blocks.0.attn.qkv.weight' ||
    fail 'a fine-tuned model did not change'

# ---- the same model elsewhere, and another model: other runs, and a dry run leaves the folder as it is
find named -printf '%p %T@\n' >before
cp -r "$models/timm_vit" elsewhere
run 0 study transfer -m elsewhere "${given[@]}" -o named --dry-run
out_not '(frozen|fine-tuned|few-shot).*[0-9]$'
run 0 study transfer -m "$models/timm_vit_resized" "${given[@]}" -o named --dry-run
out_not '(frozen|fine-tuned|few-shot).* done$'
find named -printf '%p %T@\n' | cmp - before || fail 'a dry run changed a study'

# ---- no checkpoint: six classes before, the other four after; another
# precision is another run
run 0 study transfer "${given[@]}" -o own
err_has 'run 1 of 19: before'
labels() { python3 -c 'import sys; print(*sorted({r[i] for p in sys.argv[1:] for r in [open(p, "rb").read()] for i in range(0, len(r), 3073)}))' "$@"; }
[ "$(labels own/data/60-20-first/*.bin)" = '0 1 2 3 4 5' ] || fail 'before are other classes'
[ "$(labels own/data/40-20-rest/*.bin)" = '6 7 8 9' ] || fail 'after are other classes'
[ "$(stat -c %s own/data/40-20-rest/test_batch.bin)" = $((16 * 3073)) ] || fail "not all 16 test pictures"
grep -q '"precision"' own/runs/scratch-1-1-*/training.json && fail 'it is not f32'
run 0 study transfer "${given[@]}" -o own
err_not 'run [0-9]* of'
run 0 study transfer "${given[@]}" -o own --precision bf16 --dry-run
out_not ' done$'
