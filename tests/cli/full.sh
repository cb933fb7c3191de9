# full.sh - a full disk: each file is complete or missing, and the exit status
# is 1.
cp "$VT_DATA/sample.jpg" a.jpg
mkdir -p data/bird data/cat
for i in 1 2 3 4; do # small: decoders pass pixels through files
    for class in bird cat; do
        { printf 'P6 2 2 255\n' && head -c 12 a.jpg; } >data/$class/$i.ppm
    done
done
cat >config.json <<'J'
{"architecture": "vit_tiny_patch16_224", "model_args": {"img_size": 32,
 "patch_size": 16, "embed_dim": 16, "depth": 1, "num_heads": 1, "mlp_ratio": 1}}
J
given=(--config config.json --data data --batch 2 --epochs 2)
run 1 train "${given[@]}" -o a --log /dev/full
err_has '^vitcl train: /dev/full: No space left'
err_has 'done: 8 steps'
[ "$(grep -c 'No space' err)" = 1 ] || fail "said more than once"

# limited BYTES ARGS...: a file cannot become larger; a longer write is cut.
cat >limited.py <<'END'
import os, resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
n = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (n, n))
os.execv(sys.argv[2], sys.argv[2:])
END
limited() {
    local code=0
    python3 limited.py "$1" "$VITCL" "${@:2}" >out 2>err || code=$?
    [ $code = 1 ] || fail "status $code"
}
# The log has room for two and a half more records. It is longer than any other
# file of the training, so only the log reaches the limit.
python3 -c 'print("\n".join(["{\"step\": 0}"] * 100000))' >log
before=$(stat -c %s log)
run 0 train "${given[@]}" -o d --log other
record=$(head -n 1 other | wc -c)
limited $((before + 5 * record / 2)) train "${given[@]}" -o e --log log
err_has 'log: File too large'
json log
tail -n +100001 log >new
[ "$(wc -l <new)" = 2 ] || fail "$(wc -l <new) records"
cmp a/model.safetensors e/model.safetensors || fail "another model"
many=$(for i in $(seq 100); do echo a.jpg; done)
wide=(--preset vit-ti/16 --size 32 -k 1) # 1000 logits a picture
run 0 classify "${wide[@]}" --logits whole.npy $many # compiles, too
limited $(($(stat -c %s whole.npy) - 1)) classify "${wide[@]}" \
    --logits logits.npy $many
err_has 'logits.npy'
[ ! -e logits.npy ] || fail "half a file"

# What there was room for is kept, each answer whole.
err_has 'the first 99 rows are in logits.partial.npy$'
limited 512 classify "${wide[@]}" --logits none.npy $many # not even one
err_not 'none.partial'
[ ! -e none.partial.npy ] || fail "no rows in a file"
many=$(for i in $(seq 50); do echo data/bird/{1..4}.ppm; done)
for form in jsonl csv npy safetensors; do
    given=(embed --preset vit-ti/16 --size 32)
    [ $form != jsonl ] || given=(classify --preset vit-ti/16 --size 32 -k 20)
    run 0 "${given[@]}" -o whole.$form $many
    cp whole.$form room.$form
    [ $form != safetensors ] || given+=(--replace)
    size=$(stat -c %s whole.$form)
    for limit in $((size - 1)) $((size * 7 / 10)); do
        limited $limit "${given[@]}" -o room.$form $many
        err_has "the first 1[0-9]+ answers are in room.partial.$form\$"
        [ ! -s out ] || fail "answers on standard output"
        n=$(grep -oE 'the first [0-9]+' err | grep -oE '[0-9]+')
        [ "$n" -lt 200 ] || fail "all 200 rows"
        cmp room.$form whole.$form || fail "the older file changed"
        case $form in
        jsonl | csv) # which has a line of names
            head -n $((n + (${#form} == 3))) whole.$form | cmp - room.partial.$form || fail "other lines" ;;
        npy)
            [ "$(wc -l <room.partial.paths)" = "$n" ] || fail "not the paths"
            head -c 200 room.partial.npy | grep -q "($n,192)" || fail "another shape"
            rm room.partial.paths ;;
        safetensors)
            run 0 search room.partial.safetensors data/cat/1.ppm
            run 1 embed --update -o room.partial.safetensors none.jpg
            err_has "other rows: $n kept" ;;
        esac
        rm room.partial.$form
    done
done

# No room for a picture's pixels is not the picture's fault: no row of NaN.
limited 2000 embed --preset vit-ti/16 --size 32 data/cat/{1..4}.ppm
[ ! -s out ] || fail "a row for a picture that was not read"
err_has 'data/cat/1.ppm: cannot return the pixels: File too large \(ulimit -f\)$'

nothing_left() { ! compgen -G '.*vitcl-part*' || fail "a temporary file is left"; }
nothing_left

# ---- what a killed command left is removed by the next one that writes the file
signal_at "fsync 1 9" 137 embed -m a -o rows.npy a.jpg
[ "$(compgen -G '.rows.*vitcl-part*' | wc -l)" = 2 ] || fail "nothing is left"
run 0 embed -m a -o rows.npy a.jpg
nothing_left

# ---- a link stays one, and a replaced file keeps its permissions
mkdir disk
ln -s disk/rows.csv rows.csv
run 0 embed -m a -o rows.csv a.jpg
chmod 600 disk/rows.csv
run 0 embed -m a -o rows.csv a.jpg
[ -L rows.csv ] || fail "the link is replaced"
[ "$(stat -c %a disk/rows.csv)" = 600 ] || fail "others can read it"

# ---- a place that cannot be written is noticed before any work
small="--preset vit-ti/16 --size 32"
picture=$VT_DATA/sample.jpg
refuses() { # WORD COMMAND…
    run 1 "${@:2}" -v
    err_has "nowhere/x.*: cannot $1"
    err_not 's\] (device|kernel|plan) '
}
for ending in jsonl npy safetensors csv; do
    refuses write embed $small -o nowhere/x.$ending "$picture"
done
refuses write classify $small -o nowhere/x.jsonl "$picture"
refuses write classify $small --logits nowhere/x.npy "$picture"
refuses write classify $small --html nowhere/x.html "$picture"
refuses write forward -m "$VT_DATA/models/timm_vit" -i "$VT_DATA/models/timm_vit/input.safetensors" \
    -o nowhere/x.safetensors
refuses write step -m "$VT_DATA/models/timm_vit" -i x.safetensors --settings x.json \
    -o nowhere/x.safetensors
refuses write plan $small --time --trace nowhere/x.json
refuses write bench $small --plot nowhere/x.svg
refuses make plan $small --dump-kernels nowhere/x/y
