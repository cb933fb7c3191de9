# dirty.sh - folders with files that are no pictures, broken or missing: what is
# left out, what is refused, and what a resumed training sees.
export XDG_CACHE_HOME=$PWD/cache
quick_kernels
cat >config.json <<'J'
{"architecture": "vit_tiny_patch16_224", "model_args": {"img_size": 8,
 "patch_size": 4, "embed_dim": 4, "depth": 1, "num_heads": 1, "mlp_ratio": 1}}
J
mkdir -p clean/bird clean/cat
for i in $(seq 10 29); do
    for class in bird cat; do
        { printf 'P6 2 2 255\n' && head -c "$((12 * i))" "$VT_DATA/sample.jpg" | tail -c 12; } \
            >clean/$class/$i.ppm
    done
done
cp -r clean data
echo text >data/bird/00-notes.jpg
: >data/cat/15-empty.png
head -c 600 "$VT_DATA/sample.jpg" >data/cat/20-half.jpg
odd=$'data/bird/12-new\nline\\'$'\xff'.jpg
echo text >"$odd"
given=(train --config config.json --batch 8 --epochs 3 --random-state 4)

# ---- left out, named, counted; the same bits as without these files
run 0 "${given[@]}" --data clean -o clean.run --log clean.log
err_not 'cannot be decoded'
run 0 "${given[@]}" --data data -o run
err_has 'data/bird/00-notes.jpg: not a supported picture format'
err_has 'data/cat/15-empty.png: the file is empty'
err_has 'data/cat/20-half.jpg: '
err_has '4 files cannot be decoded and are left out; run/left_out.txt lists them'
cmp run/model.safetensors clean.run/model.safetensors || fail 'other bits'
[ ! -e clean.run/left_out.txt ] || fail 'a list of nothing'
[ "$(wc -l <run/left_out.txt)" = 4 ] || fail 'left_out.txt has not 4 lines'
grep -q '^bird/00-notes.jpg$' run/left_out.txt || fail 'bird/00-notes.jpg is not listed'
grep -qaF 'bird/12-new\012line\134' run/left_out.txt || fail 'an odd name'

# ---- the next training only looks at what is new: a picture of the cache is not
# decoded again, as one that was broken without a trace shows
compgen -G 'cache/vitcl/*.pictures' >kept || fail 'nothing is kept'
touch -r data/cat/10.ppm time
size=$(wc -c <data/cat/10.ppm)
head -c "$size" /dev/zero >data/cat/10.ppm
touch -r time data/cat/10.ppm
run 1 "${given[@]}" --data data -o again
err_has '^vitcl train: 4 files cannot'
err_has 'data/cat/10.ppm: not a supported'
VITCL_CACHE=off run 0 "${given[@]}" --data data -o again
err_has '^vitcl train: 5 files cannot'
for f in cache/vitcl/*.pictures; do printf 'garbage' >"$f"; done
run 0 "${given[@]}" --data data -o third
err_has '^vitcl train: 5 files cannot'
cp clean/cat/10.ppm data/cat/10.ppm

# ---- what is kept of a folder is of all its pictures, not of the last half
mkdir half
for i in 0 1 2 3; do cp clean/cat/1$i.ppm half; done
printf 'path,label\n10.ppm,a\n11.ppm,b\n' >half/train.csv
printf 'path,label\n12.ppm,a\n13.ppm,b\n' >half/val.csv
XDG_CACHE_HOME=$PWD/other run 0 "${given[@]}" --data half/train.csv --val half/val.csv -o halves
[ "$(sed 1,2d other/vitcl/*.pictures | wc -c)" = $((4 * 8)) ] || fail 'not four keys behind the head'

# ---- interrupted and resumed: the same list, whatever became of the files
signal_at "parts.log 4 2" 130 "${given[@]}" --data data -o parts --log parts.log
cp clean/cat/12.ppm data/cat/15-empty.png # repaired
rm "$odd"                                 # removed
run 0 train --resume -o parts
err_not 'cannot be decoded'
cmp run/model.safetensors parts/model.safetensors || fail 'other bits after a resume'
: >data/cat/15-empty.png
rm parts/left_out.txt
run 1 train --resume -o parts
says 'began with 40 pictures, but the data now has 43'

# ---- what a limit allowed may be over another one
cp -r clean large
{ printf 'P5 1100 1000 255\n'; head -c 1100000 /dev/zero; } >large/bird/large.pgm
run 0 "${given[@]}" --data large -o unlimited
err_not 'cannot be decoded'
VITCL_DECODE_PIXELS=1 run 0 "${given[@]}" --data large -o limited
err_has '1 file cannot be decoded and is left out'

# ---- more than ten
for i in $(seq 20); do echo text >"data/cat/b$i.jpg"; done
run 0 "${given[@]}" --data data -o many
err_has '^vitcl train: 23 files cannot'
[ "$(grep -c 'data/' err)" = 10 ] || fail 'not ten are named'

# ---- refused
run 1 "${given[@]}" --data data -o strict --strict
err_has '23 of 63 files cannot be decoded \(the first are listed above\); remove them'
[ ! -e strict ] || fail 'a refused training left a folder'
run 0 "${given[@]}" --data clean -o strict --strict
mkdir -p none/a none/b && echo text >none/a/x.jpg && echo text >none/b/y.jpg
run 1 "${given[@]}" --data none -o never
err_has 'none: none of the 2 files can be decoded'

# ---- data from which nothing, or not much, can be learnt
mkdir -p one/bird && cp clean/bird/1* one/bird
run 1 "${given[@]}" --data one -o never
says "one: all pictures are of one class \('bird'\).*two or more classes"
mkdir one/cat && echo text >one/cat/x.jpg
run 1 "${given[@]}" --data one -o never
err_has "all pictures are of one class"
[ ! -e never ] || fail 'a refused training left a folder'
run 0 "${given[@]}" --data one -o masked --objective masked-patch
rm one/cat/x.jpg && cp clean/cat/10.ppm one/cat && mkdir one/dog one/emu
run 0 "${given[@]}" --data one -o odd
err_has "classes 'dog', 'emu' have no pictures: the model learns nothing of them"
run 0 "${given[@]}" --data one -o large --batch 16
err_has 'a batch of 16 is more than the 11 pictures to train with.*--batch 11 would not'
run 0 "${given[@]}" --data one -o fits --batch 11
err_not 'a batch of'

# ---- finetune, eval and fewshot
run 0 finetune -m run --batch 8 --epochs 1 --data data -o tuned
err_has '^vitcl finetune: 23 files cannot'
run 1 finetune -m run --batch 8 --epochs 1 --data data -o tuned2 --strict
err_has '23 of 63 files cannot be decoded'
run 1 eval -m run --data data
out_has '^pictures	40$'
out_has '^failed	23$'
[ "$(grep -c 'data/' err)" = 10 ] || fail 'not ten are named'
err_has '23 pictures could not be decoded and are left out of the scores'
run 1 eval -m run --data data --strict
says 'data/bird/00-notes.jpg: not a supported'
run 0 eval -m run --data clean --strict
mkdir parted && cp -r data parted/train && cp -r clean parted/test
run 1 fewshot -m run --data parted --shots 50 --tries 2
err_has '46 pictures could not be decoded'
[ "$(grep -c 'parted/train/' err)" = 10 ] || fail 'not ten are named, or one twice'
run 1 fewshot -m run --data parted --shots 50 --tries 2 --strict
err_has 'parted/train/.*: not a supported'
run 0 "${given[@]}" --data parted -o fromparted
err_has '23 files cannot'

# ---- one folder for training and scoring
rm -r parted/train && cp -r clean parted/train && rm parted/test/bird/1*
run 0 finetune -m run --data parted --batch 8 --epochs 1 -o both
run 0 eval -m both --data parted
out_has '^pictures	30$'
mv parted/test parted/val
run 0 eval -m both --data parted
out_has '^pictures	30$'
run 0 eval -m both --data parted --split train
out_has '^pictures	40$'
run 0 fewshot -m both --data parted --shots 1 --tries 1
mkdir -p parted/test/bird parted/test/cat && cp clean/cat/10.ppm parted/test/cat
run 0 eval -m both --data parted
out_has '^pictures	1$'
rm -r parted/test parted/val
run 1 eval -m both --data parted
says 'parted: has train/, but no test/ or val/; name another folder, or --split train'
mv parted/train parted/validation
run 0 eval -m both --data parted
out_has '^pictures	40$'
run 1 train --config config.json --epochs 1 --data parted -o never
says 'parted: has validation/, but no train/'
# a class may have the name of a part
mkdir vehicles && cp -r clean/bird vehicles/train && cp -r clean/cat vehicles/plane
run 0 "${given[@]}" --data vehicles -o vehicles.run
run 0 eval -m vehicles.run --data vehicles
out_has '^pictures	40$'
# what a training keeps in JSON has to be UTF-8
cp -r clean $'cl\xff'
run 1 "${given[@]}" --data $'cl\xff' -o never
err_has 'training keeps this name in a UTF-8 file, but it is not UTF-8; rename it or link to it$'
