# wrapped.sh - checkpoints as trainings leave them: with the names of wrappers,
# and with other objects beside the state dict.
data reports
for m in "$data"/02_prefix/*/; do
    run 0 classify -m "$m" --logits "$(basename "$m").npy" "$VT_DATA/sample.jpg"
    first=${first:-$(basename "$m").npy}
    cmp "$(basename "$m").npy" "$first" || fail "$m: other logits"
done
for m in mae_style timm_namespace; do
    run 0 classify -m "$data/03_train_ckpt/$m" --logits $m.npy "$VT_DATA/sample.jpg"
    cmp $m.npy plain.npy || fail "$m: other logits"
done
# a folder with a .ckpt, and the file by its path
mkdir lightning
cp "$data/03_train_ckpt/mae_style/config.json" lightning
cp "$data/03_train_ckpt/mae_style/model.pth" lightning/last.ckpt
run 0 classify -m lightning --logits ckpt.npy "$VT_DATA/sample.jpg"
cmp ckpt.npy plain.npy || fail ".ckpt: other logits"
