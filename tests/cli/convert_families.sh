# convert_families.sh - every family, converted to Hugging Face's form and
# back.
data golden

# timm -> hf -> timm: the published bytes
for name in timm_vit timm_beit timm_deit3 timm_dinov2_reg; do
    golden=$data/$name
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
run 1 convert -m "$data/timm_eva02" -o hf --to hf
says 'no class for'
[ ! -e hf ] || fail 'a folder is left behind'
