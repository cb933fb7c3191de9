# pixels.sh - whose resize a picture gets, Pillow's or torchvision's: as the
# model's files say, or --pixels; an index and a training remember it.
cp -r "$VT_DATA/models/hf_vit_new_names" m
sed -i 's/"5.23.0"/"4.57.1"/' m/config.json
processor() { # folder kind resample
    echo "{\"image_processor_type\": \"ViTImageProcessor$2\", \"resample\": $3,
        \"size\": {\"height\": 24, \"width\": 24}}" >"$1/preprocessor_config.json"
}
cp -r m fast
cp -r m five
sed -i 's/"4.57.1"/"5.0.0"/' five/config.json
processor m '' 3
processor fast Fast 3
processor five '' 3
mkdir p
python3 - <<'P'
import random
random.seed(2)
for i in range(3):
    open(f"p/{i}.ppm", "wb").write(b"P6 97 83 255\n" + bytes(random.randrange(256) for _ in range(97 * 83 * 3)))
P

# ---- the files say, and the option decides
numbers() { # name model options
    local to=$1
    shift
    run 0 embed -m "$@" p
    cp out "$to"
}
numbers pillow m
numbers tensor m --pixels torchvision
! cmp -s pillow tensor || fail 'torchvision resizes as Pillow'
numbers same fast && cmp same tensor
numbers same five && cmp same tensor
numbers same fast --pixels pillow && cmp same pillow
numbers same m --pixels pillow && cmp same pillow
rm five/preprocessor_config.json
numbers same five
numbers other five --pixels pillow
! cmp -s same other || fail 'without a processor: not by the version'
run 0 info -m fast
out_has ' resized as by torchvision$'
run 0 info -m m --json
out_has '"pixels":"pillow"'
run 2 embed -m m --pixels cairo p
err_has 'pillow or torchvision'
for model in m fast; do # a filter that torchvision does not have
    processor $model Fast 5
    run 1 embed -m $model p/0.ppm
    err_has 'torchvision does not resize tensors by the filter "hamming"'
    run 0 embed -m $model --pixels pillow p/0.ppm
done
processor m '' 3
processor fast Fast 3

# ---- an index
about() {
    python3 -c 'import sys, tensors
print(tensors.read(sys.argv[1])[0]["__metadata__"]["pixels"])' "$1"
}
run 0 embed -m fast -o a.safetensors p
run 0 embed -m fast --pixels pillow -o b.safetensors p
run 0 embed -m m -o c.safetensors p
[ "$(about a.safetensors) $(about b.safetensors) $(about c.safetensors)" = \
    'torchvision pillow pillow' ] || fail 'the indexes have other pixels'
for index in a b c; do
    run 0 search $index.safetensors p/1.ppm
    head -1 out | grep -q '1.000000	p/1.ppm$' || fail "$index: other pixels"
done
cp p/2.ppm p/3.ppm
run 0 embed -m fast -o b.safetensors --update p
[ "$(about b.safetensors)" = pillow ] || fail 'an update changes the pixels'
run 1 embed -m fast -o b.safetensors --update --pixels torchvision p
err_has 'b.safetensors: its pictures were resized as by pillow \(--pixels pillow\)'

# ---- a training, and conversions
cifar 4
for kind in torchvision pillow; do
    run 0 finetune -m fast --pixels $kind --data data --epochs 1 --batch 20 -o to_$kind
done
grep -q '"vitcl_pixels": "torchvision"' to_torchvision/config.json || fail 'forgotten'
! grep -q vitcl_pixels to_pillow/config.json || fail 'Pillow has a word'
run 0 finetune -m fast --data data --epochs 1 --batch 20 -o files
cmp files/config.json to_torchvision/config.json
cmp files/model.safetensors to_torchvision/model.safetensors
! cmp -s to_pillow/model.safetensors to_torchvision/model.safetensors ||
    fail 'the training had other pixels than the model'
numbers same to_torchvision
numbers other to_torchvision --pixels torchvision
cmp same other
run 1 finetune --resume --data data --epochs 2 -o to_pillow --pixels torchvision
err_has 'began with pixels "pillow", which cannot become "torchvision"'
run 0 convert -m fast -o as_timm --to timm
grep -q '"vitcl_pixels": "torchvision"' as_timm/config.json || fail 'timm: forgotten'
run 0 convert -m as_timm -o as_hf --to hf
grep -q ViTImageProcessorFast as_hf/preprocessor_config.json || fail 'hf: forgotten'

# what has no crop is no picture of timm
echo '{"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 24},
    "do_center_crop": false}' >m/preprocessor_config.json
run 1 convert -m m -o uncropped --to timm
err_has "timm cannot express this model's crop of pictures"
[ ! -e uncropped ] || fail 'a folder is left behind'
