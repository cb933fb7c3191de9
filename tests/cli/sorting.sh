# sorting.sh - pictures into a folder for each class: nothing is overwritten,
# and no label leads out of the folder.
picture=$VT_DATA/small.png # of which the built-in model is sure
here=$(pwd -P)

mkdir in in/sub
cp -p "$picture" in/a.jpg
cp "$picture" in/sub/a.jpg
printf '\0' >>in/sub/a.jpg # the same picture in other bytes
odd=$'-new\nline "q" \xff <script>.jpg'
cp "$picture" "in/$odd"
echo text >in/bad.jpg
names() { (cd "$1" && find . ! -type d -print0 | sort -z | tr '\0' '|'); }

run 2 classify --tar --copy-to made/sorted in.tar
says '[-]-copy-to and --tar cannot be used together$'
run 1 classify -k 1 --copy-to made/sorted in
err_has 'in/bad.jpg: '
want=$'./ship/-new\nline "q" \xff <script>.jpg|./ship/a (2).jpg|./ship/a.jpg|'
[ "$(names made/sorted)" = "$want" ] || fail "names: $(names made/sorted)"
cmp in/a.jpg made/sorted/ship/a.jpg || fail "a.jpg"
cmp in/sub/a.jpg 'made/sorted/ship/a (2).jpg' || fail "the other a.jpg"
[ "$(stat -c '%a %Y' in/a.jpg)" = "$(stat -c '%a %Y' made/sorted/ship/a.jpg)" ] ||
    fail "mode and date"

# A second run adds nothing; another picture of a name gets another one.
run 1 classify -k 1 --copy-to made/sorted/ in
[ "$(names made/sorted)" = "$want" ] || fail "twice: $(names made/sorted)"
echo mine >made/sorted/ship/new.jpg
cp "$picture" in/new.jpg
run 0 classify -k 1 --copy-to 'made/sorted/{label}' in/new.jpg
[ "$(cat made/sorted/ship/new.jpg)" = mine ] || fail "overwritten"
cmp in/new.jpg 'made/sorted/ship/new (2).jpg' || fail "new (2).jpg"
nothing_left() { ! find made -name '.*vitcl*' | grep -q . || fail "a temporary file was left"; }
nothing_left

# What a killed run left is removed by the next one.
cp "$picture" in/killed.jpg
killed=(classify -k 1 --copy-to made/sorted in/killed.jpg)
signal_at ".killed.jpg.vitcl-part 1 9" 137 "${killed[@]}"
[ -e made/sorted/ship/.killed.jpg.vitcl-part ] || fail "it was not killed"
run 0 "${killed[@]}"
cmp in/killed.jpg made/sorted/ship/killed.jpg || fail "killed.jpg"
nothing_left

# Pictures inside the folder they are sorted into stay.
run 0 classify -k 1 --copy-to made/sorted made/sorted/ship/a.jpg
[ "$(find made -name 'a*' | wc -l)" = 2 ] || fail "a copy of itself"

# Links, and what is not sure.
run 0 classify -k 1 --threshold 0.9999 --link-to 'links/it is {label}/here' in/a.jpg in/sub/a.jpg
[ "$(readlink 'links/it is not sure/here/a.jpg')" = "$here/in/a.jpg" ] || fail "a link"
[ "$(readlink 'links/it is not sure/here/a (2).jpg')" = "$here/in/sub/a.jpg" ] ||
    fail "another link"
run 0 classify -k 1 --threshold 0.9999 --link-to 'links/it is {label}/here' in/a.jpg in/sub/a.jpg
[ "$(find links -type l | wc -l)" = 2 ] || fail "links twice"

# A dangling link is a name that is taken.
mkdir -p dangling/ship
ln -s /no/such/file dangling/ship/a.jpg
run 0 classify -k 1 --copy-to dangling in/a.jpg
[ -L dangling/ship/a.jpg ] || fail "a dangling link is gone"
cmp in/a.jpg 'dangling/ship/a (2).jpg' || fail "a dangling link"

# Labels that want to be elsewhere.
mkdir model
for turn in $(seq 0 15); do
    python3 - "$VT_DATA/models/timm_vit" "$turn" <<'P'
import json, shutil, sys
shutil.copy(sys.argv[1] + "/model.safetensors", "model")
c = json.load(open(sys.argv[1] + "/config.json"))
hostile = ["../../up", "/etc", "..", ".", "", ".hidden", "-rf", "a\nb\u001b[31m\u0085", "not sure",
           "x" * 300, "\u00e4" * 90, "CON: <b>|\"*?", "trail. ", "same", "same, other", "same"]
n = c.get("num_classes") or c["pretrained_cfg"]["num_classes"]
c["label_names"] = [hostile[(i + int(sys.argv[2])) % len(hostile)] for i in range(n)]
c.pop("label_descriptions", None)
c["pretrained_cfg"].pop("label_names", None)
json.dump(c, open("model/config.json", "w"))
P
    run 0 classify -m model -k 1 --copy-to cage/in/x/y in/a.jpg
done
[ "$(find . -newer model/model.safetensors -name 'a.jpg' | grep -vc '^./cage/in/x/y/[^/]*/a.jpg$')" = 0 ] ||
    fail "outside: $(find . -name a.jpg)"
python3 -c 'import os
names = [n.encode() for n in os.listdir("cage/in/x/y")]
assert len(names) >= 12, names
for n in names:
    assert n[:1] not in b".-~ " and n[-1:] not in b". " and len(n) < 120, n
    assert not any(c < 32 or c in b"\\:*?<>|\x7f" for c in n), n
    n.decode()' || fail "names of folders"

# Classes of one name get their numbers, unless another class has that name; each
# class is made the answer by its bias.
mkdir bias
apart() { # NAMES: of five classes
    for class in $(seq 0 4); do
        python3 - "$VT_DATA/models/timm_vit" "$class" "$1" <<'P'
import json, sys
from tensors import parts, save
c = json.load(open(sys.argv[1] + "/config.json"))
c["label_names"] = sys.argv[3].split("|")
assert len(c["label_names"]) == c["num_classes"]
c.pop("label_descriptions", None)
c["pretrained_cfg"].pop("label_names", None)
json.dump(c, open("bias/config.json", "w"))
weights = parts(sys.argv[1] + "/model.safetensors")
weights["head.bias"] = "F32", [5], [1e4 * (i == int(sys.argv[2])) for i in range(5)]
save("bias/model.safetensors", weights)
P
        run 0 classify -m bias -k 1 --copy-to "apart/$1" in/a.jpg
    done
    (cd "apart/$1" && printf '%s|' *) >names
}
export LC_ALL=C
apart 'crane|crane|crane 1|crane 1 1|Crane'
[ "$(cat names)" = 'Crane 4|crane 0|crane 1|crane 1 1|crane 1 1 1|' ] || fail "$(cat names)"
apart 'not sure||class 1|not sure 0|crane'
[ "$(cat names)" = 'class 1|class 1 1|crane|not sure 0|not sure 0 0|' ] || fail "$(cat names)"

# What cannot be written.
run 1 classify -k 1 --copy-to /proc/nothing in/a.jpg
says '/proc/nothing: '
mkdir -p blocked
echo file >blocked/ship
run 1 classify -k 1 --copy-to blocked in/a.jpg
err_has 'in/a.jpg: cannot be copied to blocked/ship: Not a directory'
out_lines 1
run 2 classify --copy-to a --link-to b in/a.jpg
says '[-]-copy-to and --link-to cannot be used together$'
for name in 'made/{lable}' 'made/{label}/{label}'; do
    run 2 classify --copy-to "$name" in/a.jpg
    err_has '\}: the place of the class is written \{label\}, once$'
done
