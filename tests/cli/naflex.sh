# naflex.sh - pictures of several aspect ratios in one run, against what timm
# and transformers answer (tools/golden_tiny.py).
models=$VT_DATA/models
photos=()
for name in small.png preprocess/in/{palette,near_31x33,tall_5x97,wide_70x3}.png; do
    photos+=("$VT_DATA/$name")
done

# The rows of a .npy file of f32, beside pictures.json of a model; "most" parts
# of the largest number are allowed.
compare() {
    python3 - "$@" <<'PYTHON' || fail "$1: other numbers than the library's"
import json, struct, sys, tensors
want = list(json.load(open(sys.argv[1] + "/pictures.json")).values())
data = open(sys.argv[2], "rb").read()
head = 10 + struct.unpack("<H", data[8:10])[0]
got = struct.unpack(f"<{len(data[head:]) // 4}f", data[head:])
most = max(abs(x) for row in want for x in row)
tensors.near(sys.argv[1], got, sum(want, []), float(sys.argv[3]) * most)
PYTHON
}

run 0 embed -m "$models/hf_naflex" -o rows.npy "${photos[@]}"
compare "$models/hf_naflex" rows.npy 1e-5
for name in timm_naflex timm_naflex_axes timm_naflex_radio; do
    run 0 classify -m "$models/$name" --batch 2 --logits rows.npy "${photos[@]}"
    compare "$models/$name" rows.npy 1e-5
done

# A batch with several pictures of one grid and of others; each row is the
# picture's own.
run 0 embed -m "$models/timm_naflex" --batch 1 "${photos[@]}" "${photos[@]}"
mv out one
run 0 embed -m "$models/timm_naflex" --batch 7 "${photos[@]}" "${photos[@]}"
python3 - one out <<'PYTHON' || fail "a batch of several grids differs"
import json, sys, tensors
a, b = ([json.loads(line) for line in open(f)] for f in sys.argv[1:])
assert len(a) == len(b) == 10
for x, y in zip(a, b):
    assert x["picture"] == y["picture"]
    tensors.near(x["picture"], y["features"], x["features"], 1e-4)
PYTHON
# No memory for another plan: one that is kept makes room.
preload=(env "LD_PRELOAD=$VT_CL_FAIL_LIB" "ASAN_OPTIONS=${ASAN_OPTIONS-}:verify_asan_link_order=0")
alone=(embed -m "$models/hf_naflex" --batch 1 "${photos[@]}")
VT_CL_COUNT=$PWD/calls "${preload[@]}" "$VITCL" "${alone[@]}" >want 2>err || fail "counting"
n=$(grep -n clCreateBuffer calls | tail -n 1 | cut -d: -f1)
VT_CL_FAIL="$n -4" "${preload[@]}" "$VITCL" "${alone[@]}" >out 2>err || fail "no memory"
cmp want out || fail "after memory was short"
# 16 bits and int8; other processors may have neither.
if [ "$(uname -m)" = x86_64 ]; then precisions='bf16 int8'; fi
for precision in ${precisions-}; do
    run 0 embed -m "$models/hf_naflex" --precision "$precision" -o rows.npy "${photos[@]}"
    compare "$models/hf_naflex" rows.npy 0.1
done

# The number of patches: 12 are 3 x 4 for palette.png, not 5 x 7.
run 0 info -m "$models/timm_naflex"
out_has '^aspect ratio any, of at most 36 patches'
run 0 info -m "$models/timm_naflex" --max-num-patches 12 --json
out_has '"height":24,.*"max_num_patches":12,'
run 0 embed -m "$models/timm_naflex" --max-num-patches 12 -o less.safetensors "${photos[@]}"
run 0 search less.safetensors "${photos[1]}" -k 1 --json
out_has 'palette.png.*"cosine":(1|0.99999)' # with 12 patches again
run 1 embed -m "$models/timm_naflex" --max-num-patches 20 -u -o less.safetensors "${photos[@]}"
err_has 'at most 12 patches \(--max-num-patches 12\)'
run 1 embed -m "$models/timm_vit" -u -o less.safetensors "${photos[@]}"
err_has 'less.safetensors: its vectors are of another model'
run 0 embed -m "$models/timm_naflex" --size 24 -o square.safetensors "${photos[@]}"
run 1 embed --max-num-patches 20 -u -o square.safetensors "${photos[@]}"
err_has 'square.safetensors: its pictures were prepared in another way'
run 2 info -m "$models/timm_naflex" --max-num-patches 12 --size 24
run 1 info -m "$models/timm_vit" --max-num-patches 12
says 'only NaFlex models have a number of patches'

# A processor's file that is not as the model needs it.
for wrong in '"patch_size": 16' '"max_num_patches": 0' '"do_resize": false'; do
    rm -rf other
    cp -r "$models/hf_naflex" other
    name=${wrong%%:*}
    sed -i "s/ $name: [^,]*/ $wrong/" other/preprocessor_config.json
    run 1 embed -m other "${photos[1]}"
    says "other/preprocessor_config.json: .*${name//\"/}"
done

# With --size a picture is one of any model.
run 0 embed -m "$models/hf_naflex" --size 40x24 "${photos[1]}"
run 0 embed -m "$models/hf_naflex" --size 40x24 --features tokens -o tokens.npy "${photos[1]}"
head -c 128 tokens.npy | grep -aq '(1,15,16)' || fail "not 15 tokens"
run 1 embed -m "$models/hf_naflex" --features tokens "${photos[1]}"
says 'choose one size \(--size\)'
run 1 convert -m "$models/hf_naflex" --to timm -o converted
says '\(NaFlex ViT\) keep their format; use --to hf$'
mkdir -p data/train/a data/train/b
for class in a b; do cp "$VT_DATA/small.png" "data/train/$class"; done
run 1 finetune -m "$models/timm_naflex_axes" --data data --epochs 1 -o tuned
says 'NaFlex resizes its positions'
