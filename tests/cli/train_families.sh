# train_families.sh - finetune reads files of other libraries, which have other
# names than timm's, and eval reads the result.
data golden
cifar 20
for start in hf_beit hf_clip hf_siglip npz_hybrid_thin; do
    run 0 finetune -m "$data/$start" --data data --batch 20 --epochs 1 \
        -o "tuned-$start"
    run 0 eval -m "tuned-$start" --data data --json
done
