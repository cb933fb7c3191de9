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
# without any usual ending, the only file whose first bytes are those of weights
cp "$data/03_train_ckpt/mae_style/model.pth" lightning/epoch_9
rm lightning/last.ckpt
echo text >lightning/README.md
run 0 classify -m lightning --logits bytes.npy "$VT_DATA/sample.jpg"
cmp bytes.npy plain.npy || fail "without an ending: other logits"
cp lightning/epoch_9 lightning/epoch_8
run 1 info -m lightning
says 'lightning: several weight files: pass the path of one'
rm lightning/epoch_*
run 1 info -m lightning
says 'lightning: no model.safetensors, .npz or PyTorch file'
