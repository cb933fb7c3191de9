# table.sh - --data FILE.csv: the same bits as class folders, in train, finetune,
# eval, fewshot and study; --val of the same table; tables of other programs;
# wrong tables.
cat >config.json <<'J'
{"architecture": "vit_tiny_patch16_224", "model_args": {"img_size": 8,
 "patch_size": 4, "embed_dim": 8, "depth": 1, "num_heads": 1, "mlp_ratio": 1}}
J
# Three classes, a colour each, as folders and as tables of the same files: in the
# order of the folders, and in a spreadsheet's manner, in another folder.
python3 - <<'P'
import csv, os, random
random.seed(3)
rows, names = [], ["a, b", "n01", "zebra"]
for part, n in (("train", 6), ("val", 3), ("test", 2)):
    for k, name in enumerate(names):
        os.makedirs(f"photos/{part}/{name}")
        for i in range(n):
            path = f"{part}/{name}/{i}.ppm"
            with open("photos/" + path, "wb") as f:
                f.write(b"P6 8 8 255\n" + bytes(
                    min(255, max(0, v + random.randrange(-30, 30)))
                    for _ in range(64) for v in (k * 100, 255 - k * 100, 90)))
            rows.append([path, name, part])
with open("photos/table.csv", "w", newline="") as f:
    csv.writer(f).writerows([["path", "label", "split"]] + rows)
os.mkdir("sheets")
with open("sheets/odd.csv", "w", newline="", encoding="utf-8-sig") as f:
    csv.writer(f, quoting=csv.QUOTE_ALL).writerows(
        [["Label", "note", "Path", "Split"]]
        + [[l, "two\nlines", "../photos/" + p, s.replace("val", "validation")]
           for p, l, s in random.sample(rows, len(rows))])
with open("sheets/mac.csv", "w", newline="") as f: # whole paths without suffix, CR alone
    csv.writer(f, lineterminator="\r").writerows(
        [["file_name", "label", "split"]]
        + [[os.path.abspath("photos/" + p)[:-4], l, s.replace("val", "valid").title()]
           for p, l, s in rows])
P
given=(--config config.json --epochs 2 --batch 6 --lr 0.01 --augment none)
run 0 train "${given[@]}" --data photos --val photos/val -o folders
run 0 train "${given[@]}" --data photos/table.csv --val photos/table.csv -o table
err_has 'held-out accuracy'
cmp folders/model.safetensors table/model.safetensors || fail 'another model'
cmp folders/best/config.json table/best/config.json || fail 'other classes'
signal_at 'rename 6 9' 137 train "${given[@]}" --data photos/table.csv -o killed
run 0 train --resume -o killed
cmp folders/model.safetensors killed/model.safetensors || fail 'another model, resumed'
run 0 finetune -m table --data sheets/odd.csv --val sheets/odd.csv --epochs 1 -o tuned

run 0 eval -m table --data photos --classes
cp out want
for data in photos/table.csv sheets/odd.csv sheets/mac.csv; do
    run 0 eval -m table --data $data --classes
    cmp want out || fail "$data: other scores"
    for split in val validation VALID; do
        run 0 eval -m table --data $data --split $split --json
        out_has '"pictures":9,'
    done
done
run 0 fewshot -m table --data photos --shots 2
cp out want
run 0 fewshot -m table --data photos/table.csv --shots 2
cmp want out || fail 'other scores of a few shots'
echo '{"0.ppm": ["n01"], "1.ppm": []}' >labels.json
run 0 eval -m table --data photos/table.csv --labels labels.json --json
out_has '"real_pictures":3[,}]'

# ---- what is among the training pictures, too
{ cat photos/table.csv && printf 'train/zebra/0.ppm,zebra,test\r\n'; } >photos/both.csv
run 0 eval -m table --data photos/both.csv --json
err_has '1 of the 7 test pictures is among the training pictures, too'

# ---- a study takes it, and splits it where it has no split of its own
python3 - <<'P'
import csv
rows = list(csv.reader(open("photos/table.csv", newline="")))
csv.writer(open("photos/whole.csv", "w", newline="")).writerows(
    [r[:2] for r in rows if r[2] != "test"])
P
small=(--pictures 18 --epochs 1 --tries 1 --test-pictures 6 -q)
run 0 study few-shot --data photos/table.csv "${small[@]}" -o study
[ -s study/verdict.txt ] || fail 'no verdict'
run 0 study few-shot --data photos/whole.csv "${small[@]}" --dry-run
grep -q '^train/000000-0.ppm,"a, b",train$' study/data/18-6/pictures.csv ||
    fail 'another table'

# ---- columns with other names, and what is between them
python3 - <<'P'
import csv
rows = list(csv.reader(open("photos/table.csv", newline="")))[1:]
for name, sep in ("other.txt", ";"), ("tabs.tsv", "\t"):
    csv.writer(open("photos/" + name, "w", newline=""), delimiter=sep).writerows(
        [["image", "breed", "path", "label", "part"]] + [[p, l, "none", "x", s] for p, l, s in rows])
P
other=(--column breed --column path=image --column split=part)
run 0 eval -m table --data photos --classes
cp out want
run 0 eval -m table --data photos/other.txt "${other[@]}" --sep ';' --classes
cmp want out || fail 'other scores of a table of another program'
run 0 eval -m table --data photos/tabs.tsv "${other[@]}" --classes
cmp want out || fail 'other scores of a table with tabs'
run 0 fewshot -m table --data photos --shots 2
cp out want
run 0 fewshot -m table --data photos/other.txt --column label=breed "${other[@]:2}" --sep ';' --shots 2
cmp want out || fail 'other scores of a few shots, of another table'
run 0 train "${given[@]}" --data photos/other.txt --val photos/other.txt "${other[@]}" --sep ';' -o other
cmp folders/model.safetensors other/model.safetensors || fail 'another model of a table of another program'
run 0 train --resume --epochs 3 -o other
run 1 train --resume --column label --epochs 4 -o other
says 'columns .* cannot become .*: these are other pictures'
run 0 finetune -m table --data photos/tabs.tsv --val photos/val "${other[@]}" --sep tab --epochs 1 -o tabs
cmp tuned/config.json tabs/config.json || fail 'other classes of a fine-tuned model'
sed 's/path,label/image,breed/' photos/whole.csv >photos/breed.csv
run 0 study few-shot --data photos/breed.csv "${other[@]:0:4}" "${small[@]}" -o study-breed
cmp study/results.tsv study-breed/results.tsv || fail 'another study'
run 1 study few-shot --data photos/breed.csv "${other[@]:0:4}" --sep , "${small[@]}" -o study-breed
says 'study-breed: has a study with other --column or --sep; name another folder'
run 1 eval -m table --data photos/tabs.tsv
says "photos/tabs.tsv: line 2: path 'none': No such file"
run 1 eval -m table --data photos/tabs.tsv --column bred
says "photos/tabs.tsv: line 1: no column 'bred'; its columns: 'image', 'breed', 'path', 'label', 'part'; "
run 1 eval -m table --data photos/other.txt --column breed
says "line 1: no column 'path'; its columns: 'image;breed;path;label;part'; .* --sep what is between them"
run 1 eval -m table --data photos --column breed
says 'photos: is a folder; only a table has columns'
run 2 eval -m table --data photos/tabs.tsv --sep ab
says '[-]-sep must be one character or tab, not .ab.'
run 2 eval -m table --data photos/tabs.tsv --column a --column label=b
says '[-]-column .label=b. is the second of its kind'
run 2 study cost --sep tab
says 'it has no --column or --sep'

# ---- wrong tables: one line that names the file, the line and the cause
wrong() {
    printf '%b' "$1" >photos/wrong.csv
    run 1 eval -m table --data photos/wrong.csv "${@:3}"
    says "^vitcl eval: photos/wrong.csv: $2"
}
one='path,label,split\ntrain/n01/0.ppm,n01,train\n'
wrong 'path;label;split\n' "line 1: no column 'path'"
wrong 'path,label,Label\n' "line 1: two columns 'label'; leave one out"
wrong "${one}train/n01/1.ppm,n01, n02,test\n" \
    'line 3: 4 fields, more than the columns .*; put quotes around a field with a comma'
wrong "${one}train/n01/x.ppm,n01,test\n" "line 3: path 'train/n01/x.ppm': No such file"
wrong "${one}train/n01/1.ppm,n01,dev\n" "line 3: split 'dev' is none of train, val"
wrong "${one}train/n01/1.ppm,,test\n" "line 3: no label for 'train/n01/1.ppm'"
wrong "$one$PWD/photos/x.ppm,n01,test\n" "line 3: path '/.*x.ppm': No such"
wrong "$one" 'no row has the split test or val'
wrong "$one" "no row has the split 'val'" --split val
wrong "$one" "its splits are train, val, valid, validation and test, not 'dev'" --split dev
wrong 'path,label\ntrain/n01/0.ppm,n01\n' 'has no column split' --split test
run 1 fewshot -m table --data photos/whole.csv
says "photos/whole.csv: has no column split, so that it has no part 'train'"
run 1 train "${given[@]}" --data none.csv -o no
says 'none.csv: No such file'
run 1 eval -m table --data config.json
says 'config.json: is a file; give a folder .* or a table FILE.csv'
