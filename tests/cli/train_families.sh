# train_families.sh - finetune takes other libraries' files, for which timm has
# other names, and eval takes what it made.
data golden
cifar 20
for start in hf_beit hf_clip hf_siglip npz_hybrid_thin; do
    run 0 finetune -m "$data/$start" --data data --batch 20 --epochs 1 \
        -o "tuned-$start"
    run 0 eval -m "tuned-$start" --data data --json
done
