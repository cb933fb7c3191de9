# settings.sh - settings of a training: those that cannot be used are refused
# by name, before anything is written.
cifar 8
python3 - <<'P'
import random, tensors
random.seed(1)
pixels = [random.random() for _ in range(6144)]
tensors.save("batch.safetensors", {"pixel_values": ("F32", [2, 3, 32, 32], pixels), "labels": ("I64", [2], [3, 7])})
P
cat >config.json <<'J'
{"architecture": "vit_tiny_patch16_224", "model_args": {"img_size": 32,
 "patch_size": 16, "embed_dim": 16, "depth": 1, "num_heads": 2, "mlp_ratio": 2}}
J
given=(--config config.json --data data --batch 8 --epochs 1 --augment light)
run 0 train "${given[@]}" -o model

# Each line: a wrong setting, and the words of its message. step has no
# augmentation.
while IFS='|' read -r json says both; do
    printf '%s' "$json" >s.json
    run 1 train "${given[@]}" -o made --settings s.json
    says "s.json: $says"
    [ ! -e made ] || fail "$json: a folder is left"
    [ -n "$both" ] || continue
    printf '{"lr": 0.1, %s' "${json#\{}" >s.json
    run 1 step -m model -i batch.safetensors -o o.safetensors --settings s.json
    says "s.json: $says"
    [ ! -e o.safetensors ] || fail "$json: a file is left"
done <<'T'
{"schedule": 7}|"schedule" must be a string
{"schedule": "cosin"}|schedule "cosin" is none of
{"warmup_steps": 3.5}|"warmup_steps" must be a whole number
{"warmup_steps": -1}|"warmup_steps" must be a whole number
{"warmup_steps": "3"}|"warmup_steps" must be a whole number
{"warmup_steps": null}|"warmup_steps" must be a whole number
{"min_lr": "0"}|"min_lr" must be a number
{"min_lr": -1}|"min_lr" must be a number
{"schedule": "constant", "min_lr": 0}|"min_lr" needs "schedule": "cosine" or "linear"$
{"mixup_prob": 0.5, "mixup": 0}|"mixup_prob" needs "mixup" or "cutmix" above 0$
{"lr": 0.1}|unknown setting "lr"
{"aa": 2.5}|"aa" must be a whole number
{"aa": "augmix-m5"}|"aa" must be a number of operations, or a string of timm.s
{"aa": "rand-m9-tweights"}|"rand-m9-tweights" has "tweights"; known, once each, are
{"aa": "rand-m9", "magnitude": 0.5}|"magnitude" is the m of "rand-m9"; omit it
{"reprob": true}|"reprob" must be a number from 0 to 1
{"optimizer": 7}|"optimizer" must be a string|both
{"optimizer": "lion"}|optimizer "lion" is none of|both
{"betas": [0.9]}|"betas" must be two numbers|both
{"betas": [0.9, 0.99, 0.999]}|"betas" must be two numbers|both
{"betas": 0.9}|"betas" must be two numbers|both
{"betas": [0.9, 1]}|"betas" must be a number from 0|both
{"betas": [1.0, 0.9]}|"betas" must be a number from 0|both
{"ema": 1.0}|"ema" must be a number from 0 to 0.99|both
{"ema": 0.99999999}|"ema" must be a number from 0 to 0.99|both
{"momentum": [0.9]}|"momentum" must be a number|both
{"momentum": 0.9}|"momentum" needs "optimizer": "sgd"$|both
{"optimizer": "sgd", "betas": [0.9, 0.99]}|"betas" needs "optimizer": "adamw" or "adam"$|both
{"optimizer": "sgd", "eps": 1e-8}|"eps" needs "optimizer": "adamw" or "adam"$|both
{"dropout": "0.1"}|"dropout" must be a number|both
{"dropout": 1}|"dropout" must be a number from 0 to 0.99|both
{"drop_path": 1}|"drop_path" must be a number from 0 to 0.99|both
{"label_smoothing": 1.1}|"label_smoothing" must be a number from 0 to 1|both
{"clip_grad_norm": null}|"clip_grad_norm" must be a number|both
{"eps": {}}|"eps" must be a number|both
{"weight_decy": 0.1}|unknown setting "weight_decy"|both
T
for key in mixup cutmix mixup_prob; do
    echo "{\"$key\": 0.5}" >s.json
    run 1 train "${given[@]}" --augment full --objective masked-patch -o made --settings s.json
    says "s.json: \"$key\" needs the objective classes: masked pictures are not mixed$"
done
echo '{"mixup": 0, "cutmix": 0}' >s.json
run 0 train "${given[@]}" --objective masked-patch -o unmixed --settings s.json
echo '[]' >s.json
run 1 train "${given[@]}" -o made --settings s.json
says 's.json: the settings must be a JSON object'
run 1 step -m model -i batch.safetensors -o o.safetensors --settings s.json
says 's.json: the settings must be a JSON object'
for bad in '{"lr": 0.1, "schedule": "cosine"}|unknown setting "schedule"' \
    '{"lr": 0.1, "batch": 3}|"batch" differs from the input.s 2 pictures'; do
    echo "${bad%|*}" >s.json
    run 1 step -m model -i batch.safetensors -o o.safetensors --settings s.json
    says "s.json: ${bad#*|}"
done
echo '{"lr": 0.1, "batch": 2, "betas": [0, 0.999]}' >s.json
run 0 step -m model -i batch.safetensors -o o.safetensors --settings s.json

# ---- learning rates
for lr in 0 -1 nan inf 1e999 x; do
    run 2 train "${given[@]}" -o made --lr=$lr
    says "\-\-lr must be a number above 0, not '$lr'"
done
run 1 train "${given[@]}" -o made --lr 1e6
says 'above 0 and below 1e\+06, not 1e\+06'
run 1 train "${given[@]}" -o made --lr 1e-50
says 'the learning rate 1e-50 is too small: in f32 it is 0$'
run 1 train "${given[@]}" -o made --layer-decay 1.5
says 'the layer decay must be above 0 and at most 1, not 1.5$'
echo '{"min_lr": 0.5}' >s.json
run 1 train "${given[@]}" -o made --lr 0.1 --settings s.json
says 's.json: "min_lr" 0.5 is above the learning rate 0.1'

# ---- patterns
quiet=(--data data --epochs 1 --batch 8 --augment light)
run 1 finetune -m model "${quiet[@]}" -o made --freeze 'blocks.0.*' \
    --freeze 'block.0.*'
says 'no parameter matches "block.0.\*"'
run 1 finetune -m model "${quiet[@]}" -o made --freeze '*'
says 'every parameter is frozen'
[ ! -e made ] || fail "a folder is left"

# ---- training.json of a run folder
run 0 train --resume -o model
for bad in '--hold-out 3|hold_out unset, which cannot become 3' \
    '--batch 4|batch 8, which cannot become 4'; do
    run 1 train --resume -o model ${bad%|*}
    says "model: this training began with ${bad#*|}: .*; omit it to resume"
done
cp model/training.json whole.json
while IFS='|' read -r edit says; do
    sed "$edit" whole.json >model/training.json
    cmp -s whole.json model/training.json && fail "$edit changes nothing"
    run 1 train --resume -o model
    says "model/training.json: $says"
done <<'T'
s/"epochs": 1/"epochs": "1"/|"epochs" must be a whole number
s/"batch": 8/"batch": 8.5/|"batch" must be a whole number
s/"augment": "light"/"augment": 3/|"augment" must be a string
s/"epochs"/"precision": "bf17", "epochs"/|unknown precision "bf17"
s/"epochs"/"random_state": -1, "epochs"/|"random_state" must be a whole number
s/"epochs"/"freeze": [1], "epochs"/|"freeze" must be a list of patterns
s/"lr": [0-9.e-]*/"lr": "1"/|"lr" must be a number
T

# ---- the output folder
mkdir mine && echo mine >mine/notes.txt
run 0 train "${given[@]}" -o mine
[ "$(cat mine/notes.txt)" = mine ] || fail "notes.txt is gone"
run 1 train "${given[@]}" -o nowhere/at/all
says 'nowhere/at/all: cannot create the folder: No such file'
run 1 train "${given[@]}" -o config.json
says 'config.json: '
