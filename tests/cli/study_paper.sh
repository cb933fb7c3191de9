# study_paper.sh - studies whose runs differ in more than a learning rate: drawn
# tasks, subsets of the data, pre-training.
numpy
! sanitized || skip 'trains too long under AddressSanitizer'
cifar 40

# ---- subsets: the same number of pictures is seen with each
given=(--data data --pictures 160 --epochs 1 --test-pictures 20 --tries 1)
run 0 study data-size "${given[@]}" -o size --dry-run
for family in vit resnet hybrid; do
    out_has "^$family-1of16-1 +10 +16 "
    out_has "^$family-1of4-1 +40 +4 "
    out_has "^$family-1of1-1 +160 +1 "
done

# a picture a class at least
run 0 study data-size "${given[@]}" --pictures 60 -o few --dry-run
out_has '^vit-1of16-1 +10 +16 '

# ---- pre-training: the supervised one waits for a learning rate
run 0 study masked "${given[@]}" -o masked --dry-run
out_has '^before-masked +160 +2 '
out_has '^before-supervised +160 +2 '
out_has '^masked-1-1 +10 +10 '
out_has '^supervised-100-1 +160 +1 '

# ---- as many epochs as fit: of fine-tunings a quarter, in whole numbers. On a slow
# machine not even one fits.
run 0 study resolution --data data --test-pictures 20 --tries 1 --minutes 2 -o resolution \
    --dry-run
awk '/minutes on this device/ { for (i = 1; i < NF; i++) if ($i == "about") planned = $(i + 1) }
     $5 == "TFLOP" && $3 > epochs { epochs = $3 }
     END { exit !(epochs && (planned <= 2 || epochs == 1)) }' out || fail 'more than fits is planned'

# ---- where things are: without positions a model answers the same for the four
# pictures of a group, so that one in four is right, whatever it has learnt
run 0 study positions "${given[@]}" -o positions
grep -q '^arranged-none	*0.250000	' positions/results.tsv ||
    fail "none is not at chance: $(grep arranged-none positions/results.tsv)"
[ "$(grep -c '^arranged-' positions/results.tsv)" = 4 ] ||
    fail 'not four arms on the arrangement task'
grep -q 'none is at chance' positions/verdict.txt || fail 'the verdict is another'
grep -q 'With one try of each arm' positions/verdict.txt || fail 'one try is taken for more'
[ "$(stat -c %s positions/data/quarters-*-20/test_batch.bin)" = $((20 * 3073)) ] ||
    fail 'the arranged test pictures are not twenty'

# ---- pictures that are drawn: no data is needed, and none is taken
run 0 study inductive-bias --pictures 40 --epochs 2 --test-pictures 8 --tries 1 -o bias --dry-run
out_has '^apart-resnet-lr-0.001 +40 +2 '
out_has '^shift-vit-1d-1 +40 +2 '
out_has '^18 runs'
run 2 study inductive-bias --data data -o bias
err_has 'draws its pictures: it has no --data'
