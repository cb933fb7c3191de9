# walk.sh - a photographer's folder: every command reads the same pictures of it
# and counts the same others.
cat >config.json <<'J'
{"architecture": "vit_tiny_patch16_224", "model_args": {"img_size": 8,
 "patch_size": 4, "embed_dim": 4, "depth": 1, "num_heads": 1, "mlp_ratio": 1}}
J
cat >folder.py <<'P'
# folder.py PART: 130 odd files in three class folders; prints how many pictures
# there are, and what is to be said of the others.
import os, random, socket, sys
part = sys.argv[1]
random.seed(part)
count = dict.fromkeys(("pictures", "skipped", "hidden", "again", "links"), 0)
def under(kind, path):
    count[kind] += 1
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return path
def put(kind, path, data=None):
    with open(under(kind, path), "wb") as f:
        f.write(data or b"P6 8 8 255\n" + random.randbytes(192))
endings = ("ppm PPM jpg JPG jpeg Jpeg", "jpe jfif png bmp DIB pgm", "pnm tif TIFF webp gif")
odd = (b" [odd] $name; &\xc3\xa9", b"e\xcc\x81", b"\xc3\xa9", b"new\nline", b"tab\tand\\", b"\x1b[31mred", b"-rf", b"\xff\xfe",
       b"quote\"'`", b"\xe2\x80\xaegpj", b"%s%n", b"=1+1", b"x" * 250, b"a.tar", b"trailing ", b"\x7f\x01")
other = ("IMG.xmp", "IMG.XMP", "IMG.THM", "Thumbs.db", "IMG_0001", "jpg", "x.jpg.part", "x.jpg~", "a.mov", "photos.zip",
         "2021/readme.txt")
hidden = ("._0.ppm", ".DS_Store", ".hidden.jpg", ".jpg", "2021/._x.jpg", "__MACOSX/._x.jpg")
for i, name in enumerate(("crane", "heron", "stork")):
    d = f"{part}/{name}"
    for ending in endings[i].split():
        put("pictures", f"{d}/IMG_1.{ending}")
    for text in odd[i::3]:
        put("pictures", os.fsencode(d) + b"/" + text + b".ppm")
    put("pictures", f"{d}/first.ppm")
    put("pictures", f"{d}/copy.ppm", open(f"{d}/first.ppm", "rb").read())  # a file of its own
    put("pictures", f"{d}/2021/may/deep/1.PPM")
    put("pictures", f"{d}/folder.jpg/2.ppm")
    put("pictures", f"{d}/@eaDir/3.ppm")
    put("pictures", f"{d}/IMG_0002")  # its first bytes say so
    for text in other:
        put("skipped", f"{d}/{text}", b"text")
    for text in hidden:
        put("hidden", f"{d}/{text}", b"text")
    put("hidden", f"{d}/.thumbs/0.ppm")
    os.link(f"{d}/first.ppm", under("again", f"{d}/hard.ppm"))
    os.symlink("../first.ppm", under("again", f"{d}/2021/soft.ppm"))
    os.symlink("2021/soft.ppm", under("again", f"{d}/softer.ppm"))
    os.symlink("gone", under("skipped", f"{d}/gone"))
    os.symlink("itself", under("skipped", f"{d}/itself"))
    os.symlink("..", under("links", f"{d}/loop"))
    os.symlink("../..", under("links", f"{d}/2021/up"))
    os.symlink("2021", under("links", f"{d}/zz"))
    os.mkfifo(under("skipped", f"{d}/pipe.ppm"))
    s = socket.socket(socket.AF_UNIX)
    s.bind(under("skipped", f"{d}/socket.ppm"))
    os.makedirs(f"{d}/empty")
put("skipped", f"{part}/readme.txt", b"text")
put("hidden", f"{part}/._crane", b"text")
os.symlink(".", under("links", f"{part}/loop"))
os.symlink("/", under("links", f"{part}/root"))
assert sum(count.values()) > 130, count
print(count["pictures"], "{skipped} skipped, {hidden} hidden, {again} found before, {links} links to folders not followed"
      .format(**count))
P
read -r n more < <(python3 folder.py train)
read -r m rest < <(python3 folder.py test)
[ "$n $more" = "$m $rest" ] || fail "two folders that differ"
left="$n pictures"
all="$more (--follow)"
all=${all//(/\\(}
all=${all//)/\\)}
small="--preset vit-ti/16 --size 16"

run 0 classify $small --json -k 1 --summary train
err_has "^$left named, $all; "
run 0 embed $small --summary train -o v.safetensors
err_has "^$left embedded, $all; "
run 0 embed $small --summary --update train -o train/v.safetensors # which is held meanwhile
err_has "^$left embedded, $all; "
rm train/v.safetensors
run 0 embed $small --summary --update train -o v.safetensors
err_has ": 0 of $n pictures are new"
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
out_has "^pictures	$n\$"
run 0 fewshot -m run --data . --shots 2 --tries 1
err_has "^vitcl fewshot: ./train: $left in 3 classes, $all\$"
err_has "^vitcl fewshot: ./test: $left in 3 classes, $all\$"

# In a pipe what could be pictures is named all the same, unless --quiet.
run 0 classify $small --json -k 1 train
err_has '^vitcl classify: left out: 9 found before, 11 links'
run 0 classify $small --json -k 1 -q train
err_lines 0

# ---- links to folders: with --follow, but never upwards
mkdir -p linked/a linked/b elsewhere/deep
cp train/crane/first.ppm linked/a/0.ppm
cp train/crane/IMG_1.jpg elsewhere/deep/1.ppm
cp train/crane/IMG_1.JPG linked/b/2.ppm
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

# ---- what cannot be read is named, and counted apart
mkdir -p bad/crane bad/heron
for class in crane heron; do cp train/$class/first.ppm bad/$class/0.ppm; done
: >bad/crane/empty.jpg
echo text >bad/crane/text.png
head -c 100 bad/crane/0.ppm >bad/heron/cut.ppm
ln -s gone bad/heron/gone.tif
run 1 classify $small --json -k 1 --summary bad
err_has '^2 pictures named, 4 could not be read \(listed above\); '
for more in "" --update; do
    run 1 embed $small --summary $more -o bad.safetensors bad
    err_has '^[20] pictures embedded, 4 could not be read \(listed above\); '
done
run 1 search v.safetensors --summary bad -k 1
err_has '^2 pictures looked for, 4 could not be read \(listed above\); '

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

# ---- a picture to train and to test, as a link, as a file and as a copy
mkdir -p both/train/{a,b} both/test/{a,b}
cp train/crane/IMG_1.{jpg,PPM} both/train/a
cp test/crane/IMG_1.jpg both/test/a
for part in train test; do cp $part/heron/IMG_1.png both/$part/b; done
run 0 train --config config.json --epochs 1 --data both -o apart --val both/test
err_not 'among'
run 0 eval -m apart --data both
err_not 'among'
ln -s ../../train/a/IMG_1.PPM both/test/a
ln both/train/b/IMG_1.png both/test/b/x.png
cp both/train/a/IMG_1.jpg both/test/b/copy.ppm
run 0 train --config config.json --epochs 1 --data both -o together --val both/test
err_has '^vitcl train: 3 of the 5 pictures to score are among those to train, too, such as both/test/a/IMG_1.PPM: the scores will'
run 0 eval -m apart --data both
err_has '^vitcl eval: 3 of the 5 test pictures are among the training pictures, too, such as both/test/a/IMG_1.PPM: the'
run 0 fewshot -m apart --data both --shots 1 --tries 1
err_has '^vitcl fewshot: 3 of the 5 test pictures are among'
run 0 eval -m apart --data both --split train
err_not 'among'

# ---- archives: the same pictures
[ -n "${VITCL_UNPACK-}" ] || exit 0
find train -type f ! -name hard.ppm -print0 | sort -z | tar cf train.tar --null -T -
run 0 classify $small --json -k 1 --summary --tar train.tar
err_has "^$left named, 34 skipped, 22 hidden; "
tar cf train.tar -C train ./crane/first.ppm ./crane/._0.ppm
run 0 classify $small --json -k 1 --summary --tar train.tar
err_has '^1 picture named, 1 hidden; '
