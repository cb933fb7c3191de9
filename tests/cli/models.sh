# models.sh - errors in checkpoints are reported in one useful line.
good=$VT_DATA/models/timm_vit
edit() { # a copy whose header a Python expression changed
    rm -rf m && mkdir m && cp "$good"/config.json m/
    python3 -c 'import sys, tensors
h, data = tensors.read(sys.argv[1])
exec(sys.argv[2])
tensors.write("m/model.safetensors", h, data)' "$good/model.safetensors" "$1"
}
refuse() {
    run 1 info -m m
    says "$1"
}
edit 'pass'
run 0 info -m m
edit 'h["cls_token"]["shape"] = h["cls_token"]["shape"] + [2]'
refuse 'cls_token'
edit 'del h["norm.weight"]'
refuse 'norm.weight|hole|gap|cover'
edit 'h["other"] = h.pop("norm.weight")'
refuse 'norm.weight'
edit 'h["norm.weight"]["data_offsets"] = h["norm.bias"]["data_offsets"]'
refuse 'norm|overlap'
edit 'pass'
size=$(stat -c %s m/model.safetensors)
head -c $((size - 100)) m/model.safetensors >short && mv short m/model.safetensors
refuse 'model.safetensors'
: >m/model.safetensors
refuse 'model.safetensors'
edit 'pass'
echo '{"architecture":' >m/config.json
refuse 'config.json'
rm m/config.json
refuse 'config'

# Without -m the built-in model answers, with a note. It is a checkpoint like
# others: its folder gives the same numbers.
unset VITCL_MODEL
run 0 classify --json --logits own.safetensors "$VT_DATA/sample.jpg"
err_has '^vitcl classify: built-in model; '
out_has '"label":"(airplane|automobile|bird|cat|deer|dog|frog|horse|ship|truck)"'
run 0 convert -m builtin:cifar10 -o folder
run 0 classify -m folder --json --logits folder.safetensors "$VT_DATA/sample.jpg"
err_lines 0
cmp own.safetensors folder.safetensors || fail "not the built-in model's numbers"
[ "$(stat -c %s folder/model.safetensors)" -le 3000000 ] || fail "above 3 MB"
run 0 info --json
out_has '"classes":10'
run 1 info -m builtin:other
says 'builtin:other'
