# lora.sh - finetune --lora: what trains, what is saved, and the same bits after
# any stop. Its steps are compared with peft's in tests/models/test_finetune.c.
cifar 8
model=$VT_DATA/models/timm_vit
given=(-m "$model" --data data --batch 10 --epochs 2 --hold-out 10 --augment light --lr 0.05)
run 0 finetune "${given[@]}" --lora 4 -o whole --log log
err_has 'optimiser [0-9.]* kB'
cmp -s whole/model.safetensors whole/base/model.safetensors && fail 'nothing was learnt'
python3 - whole <<'P'
import sys, tensors
folder = sys.argv[1]
now, base, state = (tensors.parts(f"{folder}/{f}") for f in ("model.safetensors", "base/model.safetensors", "training.safetensors"))
assert now.keys() == base.keys()
changed = {k for k in now if now[k] != base[k]}
layers = {f"blocks.{i}.{l}.weight" for i in (0, 1) for l in ("attn.qkv", "attn.proj", "mlp.fc1", "mlp.fc2")}
assert changed == layers | {"head.weight", "head.bias"}, changed
kept = {k.split(".", 1)[1] for k in state if k.startswith("param.")}
assert kept == {k[:-6] + f"lora_{x}.weight" for k in layers for x in "AB"} | {"head.weight", "head.bias"}, kept
P
run 0 eval -m whole --data data

# ---- stopped, killed, and gone on with: the same bits
signal_at 'stopped.log 2 2' 130 finetune "${given[@]}" --lora 4 -o parts --log stopped.log
signal_at 'stopped.log 2 9' 137 finetune --resume -o parts --log stopped.log
run 0 finetune --resume -o parts
for f in model.safetensors training.safetensors base/model.safetensors best/model.safetensors; do
    cmp "whole/$f" "parts/$f" || fail "$f differs"
done
run 1 finetune --resume -o parts --lora 5
says "parts: this training began with lora 4, which cannot become 5: the optimiser's state belongs to it"

# ---- its factor; the averages of both matrices are added
echo '{"lora_alpha": 8, "ema": 0.9}' >s.json
run 0 finetune "${given[@]}" --epochs 1 --lora 4 --settings s.json -o other
cmp -s whole/best/model.safetensors other/model.safetensors && fail 'alpha changes nothing'

# ---- refused; nothing is left
for wrong in '--settings s.json|lora_alpha. needs lora' '--lora 1025|the lora must be at most 1024' \
    '--lora 4 --freeze *lora*|no layer for LoRA that trains' \
    '--lora 4 --freeze *lora_A*|only one of LoRA.s two matrices is frozen'; do
    # shellcheck disable=SC2086 # words are wanted
    set -f && run 1 finetune "${given[@]}" ${wrong%|*} -o none && set +f
    says "${wrong#*|}"
    [ ! -e none ] || fail "${wrong%|*}: a folder is left"
done
run 1 finetune -m "$VT_DATA/models/timm_resnet" --data data --epochs 1 --lora 2 -o none
says 'no layer for LoRA'
[ ! -e none ] || fail 'a folder is left'
mkdir -p mine/base && echo mine >mine/base/notes.txt
run 1 finetune "${given[@]}" --lora 4 -o mine
says 'mine: a model exists already'
