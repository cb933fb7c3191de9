# convert.sh - names of both libraries, number formats, and refusals.

run 2 convert
says '^vitcl convert: no model'
run 2 convert -m x
says 'no output folder given'
run 2 convert -m x -o y --to onnx
says "must be timm or hf, not 'onnx'"
run 2 convert -m x -o y --dtype f8
says "must be f32, f16 or bf16, not 'f8'"
run 1 convert -m nowhere -o y
says 'nowhere'
[ ! -e y ] || fail 'a folder is left behind'

# DINOv2: HF's mlp_ratio is an integer, and with registers it has a mask token
run 0 convert -m "$VT_DATA/models/timm_dinov2_swiglu_reg" -o hf --to hf
grep -q '"mlp_ratio": 2,' hf/config.json || fail "mlp_ratio: $(grep mlp hf/config.json)"
grep -aq '"dinov2_with_registers.embeddings.mask_token"' hf/model.safetensors || fail 'no mask token'

# open_clip's folders have no config.json of timm's to copy
run 0 convert -m "$VT_DATA/text/oc_clip" -o own
grep -q '"num_classes": 12' own/config.json || fail "config: $(cat own/config.json)"
run 1 convert -m "$VT_DATA/text/oc_siglip" -o trunk
says "converted to Hugging Face's form only"
[ ! -e trunk ] || fail 'a folder is left behind'
