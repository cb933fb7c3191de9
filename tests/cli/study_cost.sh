# study_cost.sh - the study that counts: it equals the paper's Table 6 where the
# paper agrees with itself, and reads measurements that were made before.
numpy
mkdir -p cost/files
for model in vit-b-32 vit-b-16 resnet50x1; do
    for side in 64 128 192 256 384 512; do
        awk -v s=$side 'BEGIN { printf("{\"images_per_s\": %.9g, \"load_ms\": 1500}\n", 4e6 / s / s) }' \
            >cost/files/speed-$model-$side.json
    done
done

# ---- a dry run: no data, and nothing is left to measure
run 2 study cost --data cost -o cost
says 'study cost trains nothing: it has no --data'
run 2 study cost -o cost --minutes 3 --dry-run
says 'study cost trains nothing: it has no --minutes'
run 0 study cost -o cost --dry-run
out_has '^vit-b/16 +384 +55\.484 +[0-9.]+ +done *$'
out_has '^all, in minutes +0\.0'
[ ! -e cost/results.tsv ] || fail 'a dry run wrote results'
# what it measures to know the others' time is not kept, so it is not done
mv cost/files/speed-vit-b-32-128.json kept.json
run 0 study cost -o cost --dry-run
out_has '^vit-b/32 +128 +[0-9.]+ +[0-9.]+ +to do *$'
out_has '^vit-b/32 +192 +[0-9.]+ +[0-9.]+ +done *$'
[ ! -e cost/files/speed-vit-b-32-128.json ] || fail 'a dry run kept a measurement'
mv kept.json cost/files/speed-vit-b-32-128.json

# another device's measurement is not this one's
sed -i 's/{/{"device": "another", /' cost/files/speed-vit-b-16-64.json
run 0 study cost -o cost --dry-run
out_has '^vit-b/16 +64 +[0-9.]+ +[0-9.]+ +to do *$'
sed -i 's/"device": "another", //' cost/files/speed-vit-b-16-64.json

# ---- a count that fails says why
mkdir -p cost/measure/messages.txt
run 1 study cost -o cost
says 'cost/measure/messages.txt: no process could be started: Is a directory'
rmdir cost/measure/messages.txt

run 0 study cost -o cost
out_has '^ViT-H/14 +14 +632045800 +167\.294 '
err_not 'measurement'
grep -q ' to the power of 2\.00 for vit-b/32' cost/verdict.txt || fail 'the slope is another'
# rows of the paper (arXiv 2010.11929) that must be within 0.25 %
while read -r model epochs paper; do
    awk -F '\t' -v m="$model" -v n="$epochs" -v p="$paper" \
        '$1 == m && $2 == n { d = $7 / p - 1; found = d < 0.0025 && d > -0.0025 }
         END { exit !found }' cost/results.tsv ||
        fail "$model for $epochs epochs is not $paper exaFLOPs"
done <<END
ViT-B/16 7 224
ViT-L/32 7 196
ViT-L/16 7 783
ViT-L/16 14 1567
ViT-H/14 14 4262
R50x1+ViT-B/32 7 106
R50x1+ViT-L/16 14 1668
END
# the ResNets' padding is left out: within 1 %, and 3 to 4 % above with it
awk -F '\t' '/^ResNet/ { n++; d = $7 / $8 - 1; w = $6 / $8 - 1
                         if (d > 0.01 || d < -0.01 || w < 0.03) bad = 1 }
             END { exit bad || n != 7 }' cost/results.tsv || fail 'the ResNets are others'
[ "$(wc -l <cost/results.tsv)" = 19 ] || fail 'not the 18 rows of Table 6'
[ "$(wc -l <cost/speed.tsv)" = 19 ] || fail 'not 18 measurements'
grep -q '^Partly reproduced: 7 of the 18 rows' cost/verdict.txt || fail 'the verdict is another'
grep -q 'largest batch' cost/report.html || fail 'the page lacks the batches'
! python3 -c 'import matplotlib' 2>/dev/null || [ -s cost/figure.svg ] || fail 'no figure'

# ---- a measurement without a rate is named
echo '{}' >cost/files/speed-vit-b-16-64.json
run 1 study cost -o cost
says 'cost/files/speed-vit-b-16-64.json: has no rate; remove it'
