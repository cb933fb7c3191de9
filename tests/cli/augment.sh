# augment.sh - the augmentation that a training chooses by its data.
cat >config.json <<'J'
{"architecture": "vit_tiny_patch16_224", "model_args": {"img_size": 8,
 "patch_size": 4, "embed_dim": 4, "depth": 1, "num_heads": 1, "mlp_ratio": 1}}
J
# Pictures of noise with a bright bar, at the left in one class and at the right
# in the other; or at either side in both.
python3 - <<'P'
import os, random
random.seed(6)
for name in ("sided", "alike"):
    for c in ("a", "b"):
        os.makedirs(f"{name}/{c}")
        for i in range(30):
            side = c == "a" if name == "sided" else i % 2
            px = bytes(min(255, random.randrange(80) + 120 * ((x < 3) if side else (x > 8)))
                       for y in range(12) for x in range(12) for _ in range(3))
            open(f"{name}/{c}/{i}.ppm", "wb").write(b"P6 12 12 255\n" + px)
P
given=(train --config config.json --batch 10 --epochs 1)
run 0 "${given[@]}" --data sided -o sided.auto
err_has 'augment crop: pictures and their mirror images are unlike .*, so that none is flipped \(0\.[1-9]'
grep -q '"augment": "crop"' sided.auto/training.json || fail 'not crop'
run 0 "${given[@]}" --data alike -o alike.auto
err_has 'augment light: .* are alike, so that half are flipped \(0\.0'
grep -q '"augment": "light"' alike.auto/training.json || fail 'not light'

# what was chosen is what that word means, and a word is not judged
for name in none crop light full; do
    run 0 "${given[@]}" --data sided -o sided.$name --augment $name
    err_not 'augment'
done
cmp sided.auto/model.safetensors sided.crop/model.safetensors || fail 'crop is another'
for name in none light full; do
    ! cmp -s sided.auto/model.safetensors sided.$name/model.safetensors || fail "crop is $name"
done
run 0 "${given[@]}" --data alike -o alike.light --augment light
cmp alike.auto/model.safetensors alike.light/model.safetensors || fail 'light is another'
run 2 "${given[@]}" --data sided -o never --augment heavy
says "must be none, crop, light or full, not 'heavy'"

# CIFAR's own files are judged like folders
cifar 20
run 0 "${given[@]}" --data data -o records
err_has 'augment (crop|light): '
