# registers.sh - a fine-tune of Hugging Face's DINOv2 with registers has timm's
# form: no position for the class token, and still Hugging Face's numbers.
start=$VT_DATA/models/hf_dinov2_reg
cifar 2
run 0 finetune -m "$start" --data data --batch 10 --epochs 1 --lr 1e-12 -o tuned
run 0 forward -m tuned -i "$start/input.safetensors" -o out.safetensors \
    --keep embed --keep 'block.*'
python3 - tuned out.safetensors "$start/expected.safetensors" <<'P' || fail "not timm's form"
import json, sys
from tensors import near, numbers
folder, got, want = sys.argv[1], numbers(sys.argv[2]), numbers(sys.argv[3])
model = numbers(folder + "/model.safetensors")
with open(folder + "/config.json") as f:
    config = json.load(f)
# timm's constructor of this name sets no_embed_class: 3 x 3 patches.
assert config["architecture"] == "vit_base_patch14_reg4_dinov2"
assert "no_embed_class" not in config["model_args"]
assert config["model_args"]["reg_tokens"] == 2
assert model["pos_embed"][0] == [1, 9, 16], model["pos_embed"][0]
for name in "embed", "block.0", "block.1":
    assert got[name][0] == want[name][0]
    near(name, got[name][1], want[name][1], 1e-4)
P
