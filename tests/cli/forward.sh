# forward.sh - tensors in, tensors out.
dir=$VT_DATA/models/timm_vit
input=$dir/input.safetensors
run 0 forward -m "$dir" --input "$input" --output out.safetensors
[ ! -s out ] || fail "it should be silent"
[ ! -s err ] || fail "it should be silent"
names() { python3 -c 'import json, struct, sys
f = open(sys.argv[1], "rb")
n, = struct.unpack("<Q", f.read(8))
print(*sorted(k for k in json.loads(f.read(n)) if k[0] != "_"))' "$1"; }
names out.safetensors | grep -q logits || fail "no logits"
run 0 forward -m "$dir" --input "$input" --output kept.safetensors \
    --keep 'block.*' --keep embed --keep 'attention.*' --batch 1
for name in logits embed block.0 block.1 attention.0; do
    names kept.safetensors | tr ' ' '\n' | grep -qx "$name" || fail "no $name"
done
run 0 forward -m "$dir" --input "$input" --output x.safetensors --keep 'blokc.*'
err_has 'blokc'
run 1 forward -m "$dir" --input "$input" --output x.safetensors --size 7
says 'as --size says'
run 1 forward -m "$dir" --input "$dir/model.safetensors" --output x.safetensors
says 'pixel_values'
run 1 forward -m "$dir" --input /no/such --output x.safetensors
says '/no/such'
run 1 forward -m "$dir" --input "$input" --output /no/such/folder/x.safetensors
says '/no/such/folder'
