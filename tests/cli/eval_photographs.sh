# eval_photographs.sh - the real model scores as timm scores it.
data pictures/imagenet150.tsv
pictures=$(dirname "$data")
data models/vit_tiny_patch16_224.augreg_in21k_ft_in1k
tail -n +2 "$pictures/imagenet150.tsv" |
    while IFS=$'\t' read -r file label _; do
        mkdir -p "photos/$label"
        ln -s "$(realpath "$pictures/imagenet150/$file")" "photos/$label/$file"
    done
run 0 eval -m "$data" --data photos --json
# timm has 128 right first answers and 144 among the first five, of 150
out_has '"top1":0.853333333,"top5":0.96}'
