# train.sh - train and finetune: wrong use, Ctrl-C, kill -9, resuming, and
# other commands that use the result.
cifar 20
cat >config.json <<'J'
{"architecture": "vit_tiny_patch16_224", "model_args": {"img_size": 32,
 "patch_size": 8, "embed_dim": 32, "depth": 1, "num_heads": 2, "mlp_ratio": 2}}
J

# ---- wrong use
run 2 train --data data --epochs 1 -o out
says '--preset NAME or --config FILE is required'
run 2 train --config config.json --epochs 1 -o out
says '--data PATH is required'
run 2 train --config config.json --data data -o out
says '--epochs N is required'
run 2 train --config config.json --data data --epochs 1
says '[-]-output DIR is required$'
run 2 finetune --data data --epochs 1 -o out
says 'no model given'
run 2 train --config config.json --data data --epochs 1 -o out extra
says "unexpected argument 'extra'"
run 1 train --resume -o nowhere
says 'nowhere: no training to resume'
run 2 train --config config.json --data data --epochs 1 -o out --augment heavy
says "none, crop, light or full, not 'heavy'"
run 2 train --preset vit-xx/16 --data data --epochs 1 -o out2
says 'unknown preset "vit-xx/16"'
echo '{"architecture": "resnet50"}' >other.json
run 1 train --config other.json --data data --epochs 1 -o out2
says 'resnet50'
echo '{"architecture": "vit_base_resnet50d_224"}' >other.json
run 1 train --config other.json --data data --epochs 1 -o out2
says '"vit_base_resnet50d_224".*BatchNorm'
run 1 finetune -m "$VT_DATA/models/timm_resnetd" --data data --epochs 1 -o out2
says 'timm_resnetd: vit_small_resnet26d_224 .*not trained.*BatchNorm'
[ ! -e out2 ] || fail 'a refused training left a folder'
echo '{"architecture": "vit_base_patch16_224", "model_args": {"dept": 2}}' >other.json
run 1 train --config other.json --data data --epochs 1 -o out2
says '"dept" is unknown'
for name in vit_base_patch14_dinov2 vit_base_patch16_clip_224; do
    echo "{\"architecture\": \"$name\"}" >other.json
    run 1 train --config other.json --data data --epochs 1 -o out2
    says "other.json: \"$name\" has parts that training from scratch does not build"
done
: >old.log
ln -s behind.log link.log
for log in new.log old.log link.log; do
    run 1 train --config other.json --data data --epochs 1 -o out2 --log $log
done
[ ! -e new.log ] || fail 'a training that did not begin left its log'
[ -e old.log ] || fail 'a log of before is gone'
[ -L link.log ] || fail 'a link to a log is gone'
run 1 train --config other.json --data data --epochs 1 -o out2 --log none/new.log
says 'none/new.log: No such file'

# ---- a whole training, and commands that read it
given=(--config config.json --data data --batch 20 --epochs 4 --hold-out 20
       --random-state 5)
run 0 train "${given[@]}" -o whole --log log.json
err_has 'epoch 4/4: .*held-out accuracy'
err_has 'done: 16 steps'
json log.json
[ "$(wc -l <log.json)" = 16 ] || fail "log.json has not 16 lines"
grep -q '"step": 16.*"held_out_accuracy".*"saved": true' log.json ||
    fail "the last step was not scored and saved"
run 0 eval -m whole --data data --json
json out
run 1 train "${given[@]}" -o whole
says 'a model exists already'
cp -r whole stateless
rm -r stateless/training.safetensors stateless/best
run 1 train "${given[@]}" -o stateless
says 'a model exists already'
: >stateless/training.begins # what a killed training leaves that has no state yet
run 0 train "${given[@]}" --epochs 1 -o stateless
[ ! -e stateless/training.begins ] || fail 'a mark is left'
run 0 train --resume -o whole
err_has 'already finished: 16 steps'
for log in whole/training.jsonl ./whole//training.jsonl; do
    run 2 train --resume -o whole --log $log
    says "[-]-log must not be whole/training.jsonl, where --curve keeps the steps; name another file"
    [ ! -e whole/training.jsonl ] || fail 'a refused log is left'
done
run 1 train --resume --batch 10 -o whole
says 'began with batch 20, which cannot become 10: steps are counted in batches'

# ---- Ctrl-C before the first step and after some, then resume: the same bytes. A
# line of the log is one write() after its step.
INT=2 KILL=9 HUP=1
signal_at "fsync 1 $INT" 130 train "${given[@]}" -o parts
err_has 'stopped after step 0 of 16; to resume: vitcl train --resume -o parts'
rm -r parts
signal_at "stopped.json 3 $INT" 130 train "${given[@]}" -o parts --log stopped.json
err_has 'stopped after step 3 of 16; to resume: vitcl train --resume -o parts'
[ "$(wc -l <stopped.json)" = 3 ] || fail "stopped.json has not 3 lines"
signal_at "stopped.json 8 $INT" 130 train --resume -o parts --log stopped.json
err_has 'stopped after step 11 of 16'
# a terminal that closes, also where it says so twice
VT_SIGNAL_AGAIN=1 signal_at "stopped.json 1 $HUP" 129 train --resume -o parts \
    --log stopped.json
err_has 'stopped after step 12 of 16'
# after the last step it comes too late: the run is complete
signal_at "stopped.json 4 $INT" 0 train --resume -o parts --log stopped.json
err_has 'done: 16 steps'
err_not 'stopped'
run 0 train --resume -o parts
err_has 'already finished'
[ "$(wc -l <stopped.json)" = 16 ] || fail "stopped.json has not 16 lines"
cmp whole/training.safetensors parts/training.safetensors || fail "state differs"
cmp whole/model.safetensors parts/model.safetensors || fail "model differs"
cmp whole/best/model.safetensors parts/best/model.safetensors ||
    fail "the best model differs"

# the command is named that was used
for how in "-m whole --data data --epochs 4 --batch 20 --lr 0.01" --resume; do
    # shellcheck disable=SC2086 # words are wanted
    signal_at "named.json 1 $INT" 130 finetune $how -o named --log named.json
    err_has 'to resume: vitcl finetune --resume -o named'
done
# SIGTERM has its own status, and a SIGINT that was ignored stays so, as in a
# shell's background
signal_at "term.json 1 15" 143 train "${given[@]}" --epochs 1 -o term --log term.json
err_has 'stopped after step 1 of'
(trap '' INT && signal_at "background.json 1 $INT" 0 train "${given[@]}" --epochs 1 \
    -o background --log background.json)
# under nohup nothing stops it
(trap '' HUP && signal_at "nohup.json 1 $HUP" 0 train "${given[@]}" --epochs 1 \
    -o nohup --log nohup.json)

# ---- kill -9 while checkpoints are written: before a file is synced, and between
# the files of one checkpoint
killed=(train "${given[@]}" -o killed)
for at in 'fsync 7' 'rename 3' 'rename 4' 'rename 5' 'fsync 6' 'rename 6'; do
    signal_at "$at $KILL" 137 "${killed[@]}" --save-every 1
    killed=(train --resume -o killed)
    run 0 info -m killed
done
run 0 train --resume -o killed
err_has 'done: 16 steps'
cmp whole/training.safetensors killed/training.safetensors ||
    fail "state differs after kill -9"
cmp whole/model.safetensors killed/model.safetensors ||
    fail "model differs after kill -9"
cmp whole/best/model.safetensors killed/best/model.safetensors ||
    fail "the best model differs after kill -9"

# ---- fine-tuning starts from ln 10
run 0 finetune -m whole --data data --batch 20 --epochs 1 --size 64 -o tuned \
    --log tuned.json --freeze 'patch_embed.*'
head -1 tuned.json | grep -q '"loss": 2.3025' || fail "the first loss is not ln 10"
run 0 info -m tuned --json
out_has '64'

# ---- a failure before the first checkpoint leaves no files; after a later one the
# training can resume
run 1 finetune -m whole --data data --epochs 1 -o frozen --freeze '*'
err_has 'every parameter is frozen'
[ ! -e frozen ] || fail "a failed training left its folder"
mkdir mine && echo mine >mine/notes.txt
run 1 train "${given[@]}" -o mine --settings nowhere.json
run 1 train --preset vit-ti/16 --size 33 --data data --epochs 1 -o mine
[ "$(ls mine)" = notes.txt ] || fail "a failed training left $(ls mine)"
echo '{"optimizer": "sgd", "clip_grad_norm": 0, "warmup_steps": 0,
 "schedule": "constant"}' >wild.json
run 1 train "${given[@]}" -o nan --save-every 1 --lr 9e5 --settings wild.json
err_has 'of the plan, '
err_has 'resume with a learning rate below 900000'
err_has 'the last checkpoint, whose model is in nan: vitcl train --resume -o nan --lr 9e\+04'
run 0 info -m nan
run 1 train "${given[@]}" -o mine --lr 9e5 --settings wild.json
[ "$(ls mine)" = notes.txt ] || fail "a failed training left $(ls mine)"
for name in training.json training.jsonl left_out.txt; do
    echo mine >mine/$name
    run 1 train "${given[@]}" -o mine --freeze nosuch
    says "mine/$name: a training run would overwrite this file; move it or name another folder"
    [ "$(cat mine/$name)" = mine ] || fail "mine/$name is another"
    rm mine/$name
done

echo '{"wieght_decay": 0.05}' >typo.json
run 1 train "${given[@]}" -o typo --settings typo.json
says 'typo.json: unknown setting "wieght_decay"'
echo '{"reprob": 2}' >typo.json
run 1 train "${given[@]}" -o typo --settings typo.json
says 'typo.json: "reprob" must be a number from 0 to 1'
[ ! -e typo ] || fail "a failed training left its folder"

# ---- half-written files of a killed training are removed; only one training at a
# time uses a folder
mkdir whole/best.part
part=vitcl-part
touch whole/.model.safetensors.$part whole/.training.json.${part}2 \
    whole/model.safetensors.notours whole/other.$part \
    whole/best/.model.safetensors.$part whole/best/other.$part \
    whole/best.part/config.json whole/best.part/.model.safetensors.$part
names() { find "$1" -mindepth 1 -maxdepth 1 -printf '%f\n' | LC_ALL=C sort | tr '\n' ' '; }
run 0 train --resume -o whole
[ "$(names whole)" = "best config.json model.safetensors \
model.safetensors.notours other.$part training.json training.safetensors " ] ||
    fail "left: $(ls -A whole)"
[ "$(names whole/best)" = "config.json model.safetensors \
other.$part " ] || fail "left: $(ls -A whole/best)"
status=0
flock whole "$VITCL" train --resume -o whole >out 2>err || status=$?
[ $status = 1 ] || fail "two trainings in one folder: $status"
says 'whole: another training run is using this folder'
flock whole sleep 0.6 & # as one that was killed, and has not ended yet
sleep 0.1
run 0 train --resume -o whole
wait

# ---- without labels: the colours of masked patches; then commands that read them
run 0 train "${given[@]}" -o masked --objective masked-patch --log masked.json
head -1 masked.json | grep -q '"loss": 6\.' || fail "the first loss is not ln 512"
run 0 embed -m masked -o masked.npy "$VT_DATA/sample.jpg"
run 0 fewshot -m masked --data data --shots 1 --tries 1
run 1 classify -m masked "$VT_DATA/sample.jpg"
run 1 eval -m masked --data data
says 'no classifier'
run 0 finetune -m masked --data data --batch 20 --epochs 1 -o unmasked \
    --log unmasked.json
head -1 unmasked.json | grep -q '"loss": 2.3025' || fail "the first loss is not ln 10"
run 2 train --config config.json --data data --epochs 1 -o out --objective x
says "objective must be classes or masked-patch, not 'x'"

# ---- a hybrid
cat >hybrid.json <<'J'
{"architecture": "vit_tiny_r_s16_p8_224", "model_args": {"img_size": 32,
 "patch_size": 1, "embed_dim": 32, "depth": 1, "num_heads": 2, "mlp_ratio": 2},
 "stem_layers": [1], "stem_widths": [128]}
J
run 0 train --config hybrid.json --data data --batch 20 --epochs 1 -o hybrid
run 0 eval -m hybrid --data data --json
run 0 finetune -m hybrid --data data --batch 20 --epochs 1 -o again
for key in stem_layers stem_widths; do
    grep -q "\"$key\": \[" again/config.json || fail "$key is lost"
done
run 0 train --config again/config.json --data data --batch 20 --epochs 1 -o third

# ---- the paper's variants: trained, read, tuned at another size; only here
cat >positions.json <<'J'
{"architecture": "vit_tiny_patch16_224", "model_args": {"img_size": 16,
 "patch_size": 8, "embed_dim": 32, "depth": 1, "num_heads": 2, "mlp_ratio": 2,
 "pos_embed": "2d", "pos_injection": "layer", "representation_size": 16}}
J
sed 's/"2d".*/"relative"}}/' positions.json >relative.json
cat >resnet.json <<'J'
{"architecture": "resnetv2_50x1_bit", "model_args": {"img_size": 16,
 "layers": [1], "channels": [128], "stem_chs": 32}}
J
for name in positions relative resnet; do
    run 0 train --config $name.json --data data --batch 20 --epochs 1 -o $name
    run 0 eval -m $name --data data --json
done
for name in positions resnet; do
    run 0 finetune -m $name --data data --batch 20 --epochs 1 --size 24 \
        -o $name.tuned --log tuned.json
    head -1 tuned.json | grep -q '"loss": 2.3025' ||
        fail "$name: the first loss is not ln 10"
    run 0 info -m $name.tuned --json
    out_has '"trained_height":24'
done
run 1 finetune -m relative --data data --epochs 1 --size 24 -o nowhere
says 'fine-tuned only at its own size, 16x16'
run 1 finetune -m positions --data data --epochs 1 --size 25 -o nowhere
says 'positions: 25 pixels are not a multiple of its patch, 8; take 24 or 32'
run 1 eval -m positions --data data --size 16x30
says 'positions: 30 pixels are not a multiple of its patch, 8; take 24 or 32'
run 1 info -m relative --size 24
says 'belong to pictures of 16x16 pixels'
run 1 convert -m positions -o nowhere --to timm
says 'timm has no model with these position embeddings'
run 1 convert -m resnet -o nowhere --to hf
says '\(BiT ResNet\) keep their format; use --to timm$'
