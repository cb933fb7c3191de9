# finite.sh - an answer that is not finite is an error that names its origin;
# the other pictures of the batch are answered.
cat >change.py <<'END'
# change.py FROM TO NAME AT BITS [AT BITS ...]: a checkpoint in f32 whose tensor
# NAME has other bits at its AT-th number.
import os, shutil, struct, sys
from tensors import parts, save
src, dst, name, *pairs = sys.argv[1:]
shutil.copytree(src, dst, dirs_exist_ok=True)
weights = parts(src + "/model.safetensors")
for key, (dtype, shape, data) in weights.items():
    words = [w << 16 if dtype == "BF16" else w for (w,) in struct.iter_unpack(
        "<H" if dtype == "BF16" else "<I", data)]
    for i in range(0, len(pairs) if key == name else 0, 2):
        words[int(pairs[i])] = int(pairs[i + 1], 16)
    weights[key] = "F32", shape, struct.pack("<%dI" % len(words), *words)
os.chmod(dst, 0o755)
os.remove(dst + "/model.safetensors")
save(dst + "/model.safetensors", weights)
END
from=$VT_DATA/models/timm_vit_resized
for grey in 0 127 128; do
    { printf 'P6 24 24 255\n' && python3 -c "import os; os.write(1, bytes([$grey]) * 1728)"; } >$grey.ppm
done

# A damaged weight, with NaNs of different bits: no picture is answered.
for bits in 7fc00001 7fc0dead 7f800000; do
    python3 change.py "$from" nan blocks.1.attn.qkv.bias 20 $bits
    run 1 classify -m nan --json 127.ppm 128.ppm
    json out
    out_lines 2
    out_not '"top"|null'
    out_has '"picture":"127.ppm","error":".*blocks.1.attn.qkv.bias.*element 20'
    err_has '^vitcl classify: 128.ppm: no answer: weight blocks.1.attn.qkv.bias is'
done
for precision in bf16 int8; do
    python3 change.py "$from" nan blocks.0.mlp.fc1.weight 40 7fc0dead
    run 1 classify -m nan --precision $precision 127.ppm
    says 'weight blocks.0.mlp.fc1.weight is NaN at element 40'
done
run 1 embed -m nan 127.ppm
json out
out_has '"error":'
out_not 'null'
run 1 embed -m nan --features tokens 127.ppm
out_not 'null'

# A lambda is made from four tensors, none of which is in the plan.
for bits in 49742400 7f7fffff 7fc00000; do
    python3 change.py "$VT_DATA/models/timm_diff" lambda blocks.1.attn.lambda_q1 0 $bits
    python3 change.py lambda lambda2 blocks.1.attn.lambda_k1 0 $bits
    run 1 classify -m lambda2 127.ppm
    says 'the lambda that blocks.1.attn.lambda_\* give is not a finite number$'
done

# Numbers that become too large in one picture only: the others are answered.
python3 change.py "$from" large patch_embed.proj.weight 0 7f61b1e6 1 7f61b1e6
run 1 classify -m large --json --logits l.npy 127.ppm 0.ppm 128.ppm
json out
[ "$(sed 's/{"picture":"\([^"]*\)","\([a-z]*\)".*/\1 \2/' out | tr '\n' ' ')" = \
    "127.ppm top 0.ppm error 128.ppm top " ] || fail "other answers"
err_lines 1
err_has '0.ppm: no answer: all weights are finite, but linear with patch_embed'
tail -c 60 l.npy | python3 -c 'import math, struct, sys
x = [math.isfinite(v) for v in struct.unpack("<15f", sys.stdin.buffer.read())]
assert x == [True] * 5 + [False] * 5 + [True] * 5, x' || fail "rows of logits"
run 1 embed -m large 127.ppm 0.ppm 128.ppm
out_lines 3
out_not 'null'
out_has '"0.ppm","error"'

# A picture is explained after one without an answer.
run 1 classify -m large -k 1 --explain 0.ppm 127.ppm
mv out after
run 0 classify -m large -k 1 --explain 127.ppm
cmp after out || fail "another map"

# Such a model has no score.
mkdir -p set/n0 set/n1
cp 0.ppm 127.ppm set/n0
cp 128.ppm set/n1
run 1 eval -m large --data set
says '0.ppm: no answer'
