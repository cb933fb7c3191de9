# forward.sh - tensors in, tensors out.
dir=$VT_DATA/models/timm_vit
input=$dir/input.safetensors
run 0 forward -m "$dir" --input "$input" --output out.safetensors
[ ! -s out ] || fail "it should be silent"
[ ! -s err ] || fail "it should be silent"
names() { python3 -c 'import sys, tensors; print(*sorted(tensors.parts(sys.argv[1])))' "$1"; }
names out.safetensors | grep -q logits || fail "no logits"
run 0 forward -m "$dir" --input "$input" --output kept.safetensors \
    --keep 'block.*' --keep embed --keep 'attention.*' --batch 1
for name in logits embed block.0 block.1 attention.0; do
    names kept.safetensors | tr ' ' '\n' | grep -qx "$name" || fail "no $name"
done
run 0 forward -m "$VT_DATA/models/timm_resnet" --output resnet.safetensors \
    --input "$VT_DATA/models/timm_resnet/input.safetensors"
# timm's names, and patterns without a match
run 0 forward -m "$dir" --input "$input" --output timm.safetensors \
    --keep 'blocks.*' --keep embed --keep 'blocks.*.attn' --batch 1
cmp kept.safetensors timm.safetensors || fail "timm's names are other tensors"
run 0 forward -m "$dir" --input "$input" --output one.safetensors --keep blocks.1.attn
[ "$(names one.safetensors)" = 'attention.1 features logits' ] || fail "$(names one.safetensors)"
for name in 'blokc.*' blocks.7 blocks.0.mlp 'blocks.*.attn.qkv' blocks; do
    run 1 forward -m "$dir" --input "$input" --output x.safetensors --keep embed --keep "$name"
    says "--keep ${name//\*/.}: no tensor of this model has such a name"
    [ ! -e x.safetensors ] || fail "written all the same"
    run 1 plan -m "$dir" --keep "$name"
    says "no tensor of this model has such a name"
done
run 0 plan -m "$dir" --keep blocks.0.attn --keep blocks.1
run 1 forward -m "$dir" --input "$input" --output x.safetensors --size 7
says 'as --size says'
run 1 forward -m "$dir" --input "$dir/model.safetensors" --output x.safetensors
says 'pixel_values'
run 1 forward -m "$dir" --input /no/such --output x.safetensors
says '/no/such'
run 1 forward -m "$dir" --input "$input" --output /no/such/folder/x.safetensors
says '/no/such/folder'
