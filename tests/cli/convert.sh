# convert: whose names, which type, and what it says when it cannot

run 2 convert
says '^vitcl convert: no model'
run 2 convert -m x
says 'no folder to write'
run 2 convert -m x -o y --to onnx
says 'onnx is none of timm, hf'
run 2 convert -m x -o y --dtype f8
says 'f8 is none of f32, f16, bf16'
run 1 convert -m nowhere -o y
says 'nowhere'
[ ! -e y ] || fail 'a folder is left behind'

# timm -> hf -> timm: the published bytes
for name in timm_vit timm_beit timm_deit3 timm_dinov2_reg; do
    golden=$VT_SHARED/golden/$name
    have "$golden" || continue
    run 0 convert -m "$golden" -o hf --to hf
    run 0 convert -m hf -o timm
    cmp "$golden/model.safetensors" timm/model.safetensors ||
        fail "$name did not come back"
    tr -d '\n' <hf/config.json >line
    json line
    run 0 convert -m "$golden" -o half --dtype f16
    [ "$(wc -c <half/model.safetensors)" -lt \
        "$(wc -c <timm/model.safetensors)" ] || fail 'f16 is no smaller'
    cmp "$golden/config.json" half/config.json || fail 'config.json changed'
    rm -r hf timm half
done

# What HF has no class for
golden=$VT_SHARED/golden/timm_eva02
if have "$golden"; then
    run 1 convert -m "$golden" -o hf --to hf
    says 'no class for'
    [ ! -e hf ] || fail 'a folder is left behind'
fi
