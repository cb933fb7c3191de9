# walk.sh - a photographer's folder: every command reads the same pictures of it
# and counts the same others.
cat >config.json <<'J'
{"architecture": "vit_tiny_patch16_224", "model_args": {"img_size": 8,
 "patch_size": 4, "embed_dim": 4, "depth": 1, "num_heads": 1, "mlp_ratio": 1}}
J
python3 - <<'P'
import os, random, socket
random.seed(9)
def put(path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(b"P6 8 8 255\n" + random.randbytes(192))
def text(path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, "w").write("text")
for part in "train", "test":
    for name in "crane", "heron", "stork":
        d = f"{part}/{name}"
        for i in range(4):
            put(f"{d}/{i}.ppm")
            text(f"{d}/._{i}.ppm")  # AppleDouble
            text(f"{d}/{i}.xmp")
        for i in range(3):
            put(f"{d}/2021/may/{i}.PPM")
        text(f"{d}/2021/.DS_Store")
        put(f"{d}/.thumbs/0.ppm")
        put(f"{d}/ [odd] $name; &\u00e9.ppm")
        os.link(f"{d}/1.ppm", f"{d}/hard.ppm")
        os.symlink("../2.ppm", f"{d}/2021/soft.ppm")
        os.symlink("gone", f"{d}/gone")
        os.symlink("..", f"{d}/loop")
        os.symlink("../..", f"{d}/2021/up")
        os.mkfifo(f"{d}/pipe.ppm")
        s = socket.socket(socket.AF_UNIX)
        s.bind(f"{d}/socket.ppm")
        os.makedirs(f"{d}/empty")
    text(f"{part}/readme.txt")
    os.symlink(".", f"{part}/loop")
    os.symlink("/", f"{part}/root")
P
# A class: 8 pictures; 4 texts, a link to nothing, a pipe and a socket; 4
# AppleDouble, .DS_Store and .thumbs; 2 links to pictures; 2 links to folders.
left='24 pictures'
more='22 skipped, 18 hidden, 6 found before, 8 links to folders not followed'
all="$more (--follow)"
all=${all//(/\\(}
all=${all//)/\\)}
small="--preset vit-ti/16 --size 16"

run 0 classify $small --json -k 1 --summary train
err_has "^$left named, $all; "
run 0 embed $small --summary train -o v.safetensors
err_has "^$left embedded, $all; "
run 0 embed $small --summary --update train -o v.safetensors
err_has ": 0 of 24 pictures are new"
run 0 search v.safetensors --summary train -k 1
err_has "^$left looked for, $all; "
given=(--epochs 1 --batch 8)
run 0 train --config config.json "${given[@]}" --data . -o run
err_has "^vitcl train: ./train: $left in 3 classes, $all\$"
run 0 finetune -m run "${given[@]}" --data train -o tuned --val test
err_has "^vitcl finetune: train: $left in 3 classes, $all\$"
err_has "^vitcl finetune: test: $left in 3 classes, $all\$"
run 0 eval -m run --data .
err_has "^vitcl eval: ./test: $left in 3 classes, $all\$"
out_has '^pictures	24$'
run 0 fewshot -m run --data . --shots 2 --tries 1
err_has "^vitcl fewshot: ./train: $left in 3 classes, $all\$"
err_has "^vitcl fewshot: ./test: $left in 3 classes, $all\$"

# In a pipe what could be pictures is named all the same, unless --quiet.
run 0 classify $small --json -k 1 train
err_has '^vitcl classify: left out: 6 found before, 8 links'
run 0 classify $small --json -k 1 -q train
err_lines 0

# ---- links to folders: with --follow, but never upwards
mkdir -p linked/a linked/b elsewhere/deep
cp train/crane/0.ppm linked/a/0.ppm
cp train/crane/1.ppm elsewhere/deep/1.ppm
cp train/crane/2.ppm linked/b/2.ppm
ln -s ../../elsewhere linked/a/there
ln -s .. elsewhere/deep/up
ln -s "$PWD" elsewhere/deep/far
ln -s . linked/b/self
ln -s ../elsewhere/deep linked/c
run 0 classify $small --json -k 1 linked
out_lines 2
err_has 'left out: 3 links to folders not followed \(--follow\)$'
run 0 classify $small --json -k 1 --follow linked
out_lines 3
err_has 'left out: 4 links to folders not followed$'
out_has "\"linked/a/there/deep/1.ppm\""
run 0 train --config config.json "${given[@]}" --data linked -o two
err_has '2 pictures in 2 classes, 3 links to folders not followed \(--follow\)$'
run 1 train --config config.json "${given[@]}" --data linked --follow -o never
err_has 'linked/c/1.ppm: the same file as a/there/deep/1.ppm, in another class'
rm linked/a/there
run 0 train --config config.json "${given[@]}" --data linked --follow -o three
err_has '3 pictures in 3 classes, 3 links to folders not followed$'
grep -q '"follow": 1' three/training.json || fail "it is not kept"
run 0 train --resume -o three
run 1 train --resume -o two --follow
says 'began with follow unset'
run 0 eval -m three --data linked --follow
out_has '^pictures	3$'
run 1 eval -m two --data linked --follow
err_has "class 'c'"

# ---- each file once a run; what is named is always answered
run 0 classify $small --json -k 1 linked/b/2.ppm linked/b/2.ppm linked linked
out_lines 3
err_has 'left out: 3 found before'
run 0 classify $small --json -k 1 linked/b/2.ppm linked/b
out_lines 1
run 0 classify $small --json -k 1 - < <(printf '%s\n' linked/b/2.ppm linked/b/2.ppm)
out_lines 2
run 1 classify $small --json -k 1 train/crane/empty
err_has 'train/crane/empty: no pictures in this folder$'

# ---- one file in two classes
cp -r linked one
for link in -s ''; do
    ln $link -f "$PWD/one/a/0.ppm" one/b/x.ppm
    for command in "train --config config.json --epochs 1 -o never" "finetune -m two --epochs 1 -o never" \
        "eval -m two"; do
        run 1 $command --data one
        err_has 'one/b/x.ppm: the same file as a/0.ppm, in another class; a picture has one class: remove'
        [ ! -e never ] || fail "a refused training left a folder"
    done
    run 0 classify $small --json -k 1 one
    out_lines 2
done

# ---- archives: the same pictures
[ -n "${VITCL_UNPACK-}" ] || exit 0
tar cf train.tar --exclude=hard.ppm --exclude=soft.ppm --exclude=gone --exclude=loop \
    --exclude=up --exclude=pipe.ppm --exclude=socket.ppm --exclude=root train
run 0 classify $small --json -k 1 --summary --tar train.tar
err_has '^24 pictures named, 13 skipped, 18 hidden; '
tar cf train.tar -C train ./crane/0.ppm ./crane/._0.ppm
run 0 classify $small --json -k 1 --summary --tar train.tar
err_has '^1 picture named, 1 hidden; '
