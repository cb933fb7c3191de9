# classes.sh - matching of two sets of classes. Permuted, renamed or missing
# folders give the usual score, or are refused by name. Classes are matched by
# number only on request, with a note.
python3 - <<'P'
import os, random
random.seed(3)
names = ["ape", "bear", "cat", "dog", "eel"]
for part, count in (("train", 8), ("test", 6)):
    for k, name in enumerate(names):
        os.makedirs(f"data/{part}/{name}")
        for i in range(count):
            rgb = bytes(min(255, max(0, (k * 61 + c * 90) % 256 + random.randrange(-75, 76)))
                        for _ in range(256) for c in range(3))
            with open(f"data/{part}/{name}/{i}.ppm", "wb") as f:
                f.write(b"P6 16 16 255\n" + rgb)
P
cat >config.json <<'J'
{"architecture": "vit_tiny_patch16_224", "model_args": {"img_size": 16,
 "patch_size": 8, "embed_dim": 32, "depth": 1, "num_heads": 2, "mlp_ratio": 2}}
J
run 0 train --config config.json --data data --batch 20 --epochs 6 --lr 3e-3 \
    --augment none -o model
test=data/test
score() { # prints `field` of the only line in out
    python3 -c 'import json, sys; print(json.loads(open("out").readline())[sys.argv[1]])' "$1"
}
same() { [ "$1" = "$2" ] || fail "$3: $1, undisturbed $2"; }

# ---- eval: the model knows five names
run 0 eval -m model --data $test --json --classes
cp out whole.json
whole=$(score top1)
awk -v w="$whole" 'BEGIN { exit !(w > 0.5) }' || fail "the model knows nothing: $whole"
for gone in "ape" "bear dog" "ape cat eel"; do
    rm -rf part && cp -r $test part
    for name in $gone; do rm -r "part/$name"; done
    run 0 eval -m model --data part --json
    [ ! -s err ] || fail "stderr is not empty"
    want=$(python3 - <<'P'
import json, os
whole = json.load(open("whole.json"))
names = ["ape", "bear", "cat", "dog", "eel"]
rows = [r for r in whole["per_class"] if os.path.isdir("part/" + r["class"])]
right = sum(r["answers"].get(str(names.index(r["class"])), 0) for r in rows)
print(f'{right / sum(r["pictures"] for r in rows):.9g}')
P
)
    awk -v a="$(score top1)" -v b="$want" 'BEGIN { exit !((a - b) ^ 2 < 1e-14) }' ||
        fail "without $gone: $(score top1), not $want"
done
rm -rf part && cp -r $test part && mv part/dog part/a-dog
run 1 eval -m model --data part
says "class 'a-dog' of the pictures is not a class of the model \(4 of 5 are\)"
mv part/eel part/newt
run 1 eval -m model --data part --json
says "classes 'a-dog', 'newt' of the pictures are not classes"

# By number: names that are numbers count as such, other names by their order.
rm -rf part && mkdir part
for name in ape bear cat dog eel; do cp -r $test/$name part/x-$name; done
run 1 eval -m model --data part --json
says "'x-ape', .*0 of 5 are.*--classes-by number"
run 0 eval -m model --data part --json --classes-by number
same "$(score top1)" "$whole" "by place"
err_lines 1
err_has 'matched by number'
rm -rf part && mkdir part
i=0
for name in ape bear cat dog eel; do
    cp -r $test/$name part/$i # 0, 10, ..: sorted as text
    i=$((i + 1))
done
mv part/4 part/0004
run 0 eval -m model --data part --json --classes-by number
same "$(score top1)" "$whole" "by number"
rm -r part/1
run 0 eval -m model --data part --json --classes-by=number
mv part/3 part/7
run 1 eval -m model --data part --json --classes-by number
err_has "class '7' of the pictures is not a class"
rm -rf part && cp -r $test part && rm -r part/cat
run 1 eval -m model --data part --classes-by number
err_has '4 classes of the pictures and 5 of the model'
run 2 eval -m model --data part --classes-by place
says "--classes-by must be name or number, not 'place'"

# Labels next to the data: names, or numbers of the model's classes, with a note.
labels() {
    python3 - "$1" <<'P'
import json, os, sys
names = sorted(os.listdir("data/test"))
json.dump({f"{n}/{i}.ppm": [n if sys.argv[1] == "names" else k]
           for k, n in enumerate(names) for i in range(6)}, open("labels.json", "w"))
P
}
labels names
run 0 eval -m model --data $test --json --labels labels.json
same "$(score real)" "$whole" "labels by name"
[ ! -s err ] || fail "stderr is not empty"
labels numbers
run 0 eval -m model --data $test --json --labels labels.json
same "$(score real)" "$whole" "labels by number"
err_has "labels.json gives classes by number"
labels names
sed -i 's/\["eel"\]/["eeel"]/g' labels.json
run 1 eval -m model --data $test --labels labels.json
says "class 'eeel' of .*labels.json is not a class of the model"

# ---- few-shot: the test's classes are the training's
shots() { run "$1" fewshot -m model --data "$2" --shots 8 --tries 1 --json "${@:3}"; }
shots 0 data
few=$(score mean)
awk -v w="$few" 'BEGIN { exit !(w > 0.5) }' || fail "the features say nothing: $few"
rm -rf part && cp -r data part && mv part/test/dog part/test/a-dog
shots 1 part
says "class 'a-dog' of the test pictures is not a class of the training pictures"
shots 0 part --classes-by number
err_has 'matched by number'
awk -v w="$few" -v m="$(score mean)" 'BEGIN { exit !(m < w) }' ||
    fail "by place, the classes are in another order"
mv part/train/dog part/train/a-dog # both: another order, the same classes
shots 0 part
same "$(score mean)" "$few" "renamed in both"
rm -rf part && cp -r data part && rm -r part/train/bear
shots 1 part
says "class 'bear' of the test pictures"
# One class at a time: the numbers of right answers add up to the total.
sum=0
for name in ape bear cat dog eel; do
    rm -rf part && mkdir -p part/test && ln -s "$PWD/data/train" part/train
    cp -r $test/$name part/test
    shots 0 part
    sum=$(awk -v s="$sum" -v m="$(score mean)" 'BEGIN { print s + m / 5 }')
done
awk -v s="$sum" -v w="$few" 'BEGIN { exit !((s - w) ^ 2 < 1e-10) }' ||
    fail "class by class $sum, all $few"

# A picture that cannot be decoded is left out and reported.
rm -rf part && cp -r data part && echo text >part/test/cat/9.ppm
shots 1 part
same "$(score mean)" "$few" "next to a broken picture"
err_lines 2
err_has 'part/test/cat/9.ppm: not a supported'
err_has '1 picture could not be decoded'

# ---- CIFAR: the numbers of a file mean the names next to it
python3 - <<'P'
import os, random
names = "plane car bird cat deer dog frog horse ship truck".split()
order = list(range(10))
for folder in ("c10", "c10p"):
    random.seed(5)
    os.mkdir(folder)
    for part in [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]:
        with open(f"{folder}/{part}.bin", "wb") as f:
            for i in range(20):
                k = i % 10
                f.write(bytes([order.index(k)]) + bytes(
                    min(255, random.randrange(156) + (100 if j * 10 // 1024 % 10 == k else 0))
                    for j in range(3072)))
    open(f"{folder}/batches.meta.txt", "w").write("".join(names[k] + "\n" for k in order) + "\n")
    random.shuffle(order)
P
# Mean and deviation are those of the tries, one by one.
for state in 0 1 2; do
    run 0 fewshot -m model --data c10 --shots 1 --tries 1 --json \
        --random-state $state
    cp out try$state
done
run 0 fewshot -m model --data c10 --shots 1 --tries 3 --json
python3 - <<'P' || fail "mean or deviation of three tries"
import json, statistics, sys
a = [json.load(open(f"try{i}"))["mean"] for i in range(3)]
got = json.load(open("out"))
sys.exit(len(set(a)) == 1 or abs(got["mean"] - statistics.mean(a)) > 2e-6 or
         abs(got["sd"] - statistics.stdev(a)) > 2e-6)
P

# Permuted numbers, permuted names: the same classes.
run 0 train --config config.json --data c10 --batch 20 --epochs 8 --lr 3e-3 \
    --size 32 --augment none -o ten
run 0 eval -m ten --data c10 --json
ten=$(score top1)
run 0 eval -m ten --data c10p --json
same "$(score top1)" "$ten" "permuted numbers with their names"
mv c10p/batches.meta.txt meta
run 1 eval -m ten --data c10p
says "'0', '1'.* and 5 more of the pictures are not classes"
head -4 meta >c10p/batches.meta.txt
run 1 eval -m ten --data c10p
says 'batches.meta.txt: must name 10 classes, but names fewer'
(cat meta; echo more) | grep . >c10p/batches.meta.txt
run 1 eval -m ten --data c10p
says 'batches.meta.txt: must name 10 classes, but names more'

# ---- a training resumes with the classes that it began with
cp meta c10p/batches.meta.txt
run 1 train --resume -o ten --data c10p
says 'ten: the classes of the pictures are in another order than those of the training'
cp -r data part3
run 1 train --resume -o model --data nowhere
mv part3/train/dog part3/train/a-dog
run 1 train --resume -o model --data part3
says "model: class 'a-dog' of the pictures is not a class of the training"
rm -r part3/train/a-dog
run 1 train --resume -o model --data part3
says "class 'dog' of the training is not a class of the pictures"
cp -r data/train/dog part3/train && rm part3/train/dog/0.ppm
run 1 train --resume -o model --data part3
says 'model: this training began with 40 pictures, but the data now has 39'
cp data/train/dog/0.ppm part3/train/dog
run 0 train --resume -o model --data part3

# ---- errors name what is missing
rm c10/data_batch_2.bin
run 1 train --config config.json --data c10 --epochs 1 -o none
says 'c10/data_batch_2.bin: No such file'
