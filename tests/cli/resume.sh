# resume.sh - a training that goes on with other settings: which may change, what
# is said, and that a change is made once.
cifar 8
cat >config.json <<'J'
{"architecture": "vit_tiny_patch16_224", "model_args": {"img_size": 8,
 "patch_size": 4, "embed_dim": 8, "depth": 1, "num_heads": 2, "mlp_ratio": 1}}
J
given=(--config config.json --data data --batch 10 --hold-out 10 --augment light)
same_files() {
    for f in model.safetensors training.safetensors; do
        cmp "$1/$f" "$2/$f" || fail "$1/$f and $2/$f differ"
    done
}

# ---- it is finished, and says so
run 0 train "${given[@]}" --epochs 2 -o first
run 0 train --resume -o first
err_has 'already finished: 6 steps'

# ---- killed after it wrote its last state: the model is that of an earlier one
run 0 train "${given[@]}" --epochs 1 -o earlier
cp -r first stale
cp earlier/model.safetensors stale
run 0 train --resume -o stale
err_has 'already finished: 6 steps'
same_files first stale

# ---- more epochs: goes on where it ended, and the changes stay
cp -r first again
for folder in first again; do
    run 0 train --resume -o $folder --epochs 4 --lr 0.002 --layer-decay 0.7 --log $folder.log
    err_has 'no longer the same training, from the last checkpoint on: epochs 2 -> 4, lr 0.0001 -> 0.002, layer_decay 1 -> 0.7'
    [ "$(grep -c '"grad_norm": [0-9]' $folder.log)" = 6 ] || fail 'no norms of gradients'
    err_has 'done: 12 steps'
done
same_files first again
[ "$(wc -l <first.log)" = 6 ] || fail 'not six more steps'
run 0 train --resume -o first --epochs 4 --lr 0.002 --layer-decay 0.7
err_not 'no longer'
err_has 'already finished: 12 steps'

# ---- a changed training that is interrupted goes on to the same bits
run 0 train "${given[@]}" --epochs 2 -o parts
signal_at 'parts.log 2 2' 130 train --resume -o parts --epochs 4 --lr 0.002 --layer-decay 0.7 --log parts.log
run 0 train --resume -o parts
err_not 'no longer'
err_has 'done: 12 steps'
same_files first parts

run 0 train --resume -o first --objective classes # as it began
err_has 'already finished: 12 steps'

# ---- what may change, and what may not; a refusal changes nothing
run 0 train --resume -o first --epochs 5 --micro 5 --augment none
err_has 'augment "light" -> "none", epochs 4 -> 5, micro 10 -> 5'
cp -r first kept
refused() {
    run 1 train --resume -o first "${@:2}"
    says "$1"
}
refused 'first: this training began with batch 10, which cannot become 5: steps are counted' --batch 5
refused 'hold_out 10, which cannot become 5: held-out pictures would be trained with' --hold-out 5
refused 'random_state unset, which cannot become 3: the order of the pictures' --random-state 3
refused 'preset unset, which cannot become "vit-ti/16": this is another model' --preset vit-ti/16
refused 'height unset, which cannot become 16: the model.s positions have' --size 16
refused 'objective "classes", which cannot become "masked-patch"' --objective masked-patch
refused 'freeze unset, .*: the optimiser has no state' --freeze 'patch_embed.*'
refused 'precision unset, which cannot become "bf16": its steps' --precision bf16
echo '{"optimizer": "sgd"}' >sgd.json
refused 'settings unset, .*: the optimiser.s state belongs to them' --settings sgd.json
refused 'a batch of 10 pictures cannot be split into equal parts of 3' --micro 3
run 1 train --resume -o first --epochs 3
err_has 'first: 15 steps are done, but epochs 3 is only 9; give more epochs'
diff -r first kept || fail 'a refused change left something'
# also to what is the default
run 0 train --resume -o first --random-state 0 --precision f32
err_has 'already finished: 15 steps'
sed -i 's/"format"/"random_state": 5, "precision": "bf16", "format"/' kept/training.json
run 1 train --resume -o kept --random-state 0
says 'kept: this training began with random_state 5, which cannot become 0: the order of the pictures'
run 1 train --resume -o kept --precision f32
says 'precision "bf16", which cannot become "f32": its steps'

# ---- the advice after a NaN, followed to the letter, ends well
echo '{"optimizer": "sgd", "clip_grad_norm": 0, "warmup_steps": 0,
 "schedule": "constant"}' >wild.json
run 0 train "${given[@]}" --batch 2 --settings wild.json --lr 0.001 --epochs 1 -o nan
run 1 train --resume -o nan --epochs 2 --lr 9e5
err_has 'first output that is not finite'
err_has 'resume with a learning rate below 900000; if that ends the same way'
for ((tries = 1; ; tries++)); do
    advice=$(sed -n 's/.*: vitcl \(train --resume -o nan --lr [0-9.e+-]*\)$/\1/p' err)
    [ -n "$advice" ] || fail 'no advice'
    code=0
    # shellcheck disable=SC2086 # words of a command
    "$VITCL" $advice >out 2>err || code=$?
    [ $code != 0 ] || break
    [ $tries -lt 12 ] || fail 'twelve times the advice does not help'
done
err_has 'no longer the same training.*: lr '
err_has 'done: 30 steps'
run 1 train "${given[@]}" --settings wild.json --lr 9e5 --epochs 2 -o none
err_has 'start again with a learning rate below 900000$'
[ ! -e none ] || fail 'a failed training left its folder'
