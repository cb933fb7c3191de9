# disk.sh - real file systems that are full or read-only, mounted in a
# namespace of their own. A cache that cannot be written costs time, but no
# answer. Output is written completely; otherwise one line names the file and
# the cause, and an older file stays as it was.
if [ -z "${DISK_INSIDE-}" ]; then
    for how in "--mount" "--user --map-root-user --mount"; do
        # shellcheck disable=SC2086 # words are wanted
        if unshare $how mount -t tmpfs none . 2>/dev/null; then
            DISK_INSIDE=1 exec unshare $how bash -euo pipefail "$0"
        fi
    done
    skip "no file system may be mounted here"
fi
quick_kernels
picture=$VT_DATA/sample.jpg
model=$VT_DATA/models/timm_vit
mkdir full behind sealed tmp
mount -t tmpfs -o size=2m,nr_inodes=100 none full
mount --bind behind sealed
mount -o remount,bind,ro sealed
[ ! -w sealed ] || ! touch sealed/x 2>/dev/null || fail "sealed can be written"
# fill BYTES: leaves that much room, in whole pages.
fill() {
    rm -f full/filler
    head -c 4000000 /dev/zero >full/filler 2>/dev/null || true
    [ "$1" = 0 ] || truncate -s -"$1" full/filler
}
# refused CAUSE ARGS…: ends with status 1 and one line with the cause. What there
# was room for may be kept, and is said.
refused() {
    local cause=$1 lines=1
    shift
    run 1 "$@"
    if grep -qE '^vitcl [a-z]+: the first [0-9]+ .* in full/x\.partial\.' err; then
        rm full/x.partial.*
        lines=2
    fi
    err_lines $lines
    err_has "^vitcl $1: .*$cause"
}

# ---- caches: the answers are the same if they cannot be written
run 0 classify -m "$model" --json "$picture"
cp out want
for at in full sealed; do
    fill 0
    (
        export HOME=$PWD/$at/home TMPDIR=$PWD/tmp
        unset XDG_CACHE_HOME POCL_CACHE_DIR
        run 0 classify -m "$model" --json -v "$picture"
        cmp out want || fail "$at: another answer"
        err_has "no folder of yours can hold a cache: $TMPDIR/vitcl-"
        err_has "cache: $TMPDIR/vitcl-.*/vitcl$"
        err_not 'vitcl/pocl'
    )
    # only the driver's cache is elsewhere
    (
        export XDG_CACHE_HOME=$PWD/$at
        run 0 classify -m "$model" --json -v "$picture"
        cmp out want || fail "$at: another answer"
        if [ $at = sealed ]; then
            err_has "cache: none; $PWD/sealed/vitcl cannot be used"
        fi
    )
done

# ---- files that the user asked for
cat >config.json <<'J'
{"architecture": "vit_tiny_patch16_224", "model_args": {"img_size": 32,
 "patch_size": 8, "embed_dim": 32, "depth": 1, "num_heads": 2, "mlp_ratio": 2}}
J
mkdir -p data/bird data/cat
for i in 1 2 3 4; do
    for class in bird cat; do
        { printf 'P6 2 2 255\n' && head -c 12 "$picture"; } >data/$class/$i.ppm
    done
done
given=(--config config.json --data data --batch 4 --epochs 3 --save-every 1)
echo old >curve.png
curve=()
[ -z "${VITCL_PLOT-}" ] || curve=(--curve curve.png)
run 0 train "${given[@]}" -o whole --log log "${curve[@]}"
many=()
for _ in $(seq 256); do many+=(data/bird/1.ppm); done # 5 kB of logits
export XDG_CONFIG_HOME=$PWD/config
run 0 tune -m "$model" --seconds 1
writers() { # FOLDER, CAUSE: every command that writes a file or folder there
    local at=$1 cause=$2 name anew=()
    for name in x.npy x.safetensors; do
        [ $name = x.npy ] || anew=(--replace)
        refused "$at/$name: .*$cause" embed "${anew[@]}" -m "$model" -o "$at/$name" "${many[@]}"
        refused "$at/$name: .*$cause" classify -m "$model" --logits "$at/$name" \
            "${many[@]}"
    done
    refused "$at/model.*: .*$cause" convert -m whole -o "$at/model"
}
# the contents of FOLDER, by name and checksum
state() { find "$1" -not -name filler -exec sh -c \
    'echo "$1 $([ -d "$1" ] || sha256sum <"$1")"' - '{}' \; | sort; }

# A refused command leaves no new file and does not change an old one.
# shellcheck disable=SC2034 # read by name, as ${!at}
full='No space left on device'
# shellcheck disable=SC2034
sealed='Read-only file system'
for old in none some; do
    for at in full sealed; do
        [ $at = full ] && to=full || to=behind # the files that the mount shows
        rm -rf ${to:?}/*
        mkdir -p $to/config/vitcl
        if [ $old = some ]; then
            cp config/vitcl/tuned $to/config/vitcl
            echo old | tee $to/x.npy $to/x.paths $to/x.safetensors $to/x.csv >$to/log
            cp curve.png $to
        fi
        for room in 0 4096; do
            [ $at = sealed ] || fill $room
            before=$(state $at)
            writers $at "${!at}"
            [ $room != 0 ] || refused "$at/x.csv: .*${!at}" eval -m whole \
                --data data --confusion $at/x.csv
            [ $room != 0 ] || XDG_CONFIG_HOME=$PWD/$at/config refused \
                "$at/config/vitcl/tuned: .*${!at}" tune -m "$model" --seconds 1
            [ $old = some ] ||
                refused "$at/run.*: .*${!at}" train "${given[@]}" -o $at/run
            [ "$(state $at)" = "$before" ] || fail "before: $before
after: $(state $at)"
        done
    done
done

# ---- a training whose disk fills up resumes from its last checkpoint; an unwritable
# log or curve does not stop it
rm -rf full/*
signal_at "stopped.json 2 2" 130 train "${given[@]}" -o full/run --log stopped.json
before=$(state full/run)
fill 16384
run 1 train --resume -o full/run
err_has '^vitcl train: full/run/.*: cannot write: No space left'
err_has 'the last checkpoint is intact; to resume from it: .*--resume -o full/run$'
[ "$(state full/run)" = "$before" ] || fail "left: $(ls full/run)"
rm full/filler
run 0 train --resume -o full/run
cmp full/run/model.safetensors whole/model.safetensors || fail "another model"

rm -rf full/*
echo '{"step": 0}' >full/log
cp curve.png full
fill 0
truncate -s 4096 full/log # fills its page to the last byte
cp full/log log.before
run 1 train "${given[@]}" -o logged --log full/log
err_has '^vitcl train: full/log: No space left'
[ "$(grep -c 'No space' err)" = 1 ] || fail "said more than once"
cmp full/log log.before || fail "half a record"
cmp logged/model.safetensors whole/model.safetensors || fail "another model"
if [ -n "${VITCL_PLOT-}" ]; then
    run 1 train "${given[@]}" -o drawn --curve full/curve.png
    err_has '^vitcl train: full/curve.png: cannot write: No space left'
fi
cmp full/curve.png curve.png || fail "the old curve is gone"
# shellcheck disable=SC2012 # names of our own
[ "$(ls full | tr '\n' ' ')" = "curve.png filler log " ] || fail "left: $(ls full)"
refused 'sealed/log: Read-only' train "${given[@]}" -o sealed-log --log sealed/log
[ ! -e sealed-log ] || fail "trained without a log"

# ---- standard output
mkdir parts
ln -s ../data parts/train
for class in bird cat; do # of other bytes, so that no training picture is scored
    mkdir -p parts/test/$class
    { printf 'P6 2 2 255\n' && tail -c 12 "$picture"; } >parts/test/$class/1.ppm
done
for command in "classify -m $model --json $picture" "embed -m $model $picture" \
    "devices" "devices --json" "info -m $model" "info -m $model --json" \
    "plan -m $model" "eval -m whole --data data" "--version" "--help" \
    "help train" "bench -m $model --seconds 1" \
    "fewshot -m whole --data parts --shots 1 --tries 1"; do
    code=0
    # shellcheck disable=SC2086 # words are wanted
    "$VITCL" $command >/dev/full 2>err || code=$?
    without_waits
    [ $code = 1 ] || fail "$command to a full disk: status $code"
    err_lines 1
    err_has '^vitcl.*standard output cannot be written: No space left'
done

# ---- pictures that are sorted: a full disk is said once, the answers go on
mkdir -p many full/sorted/ship
for i in 1 2 3 4 5; do
    cp "$VT_DATA/small.png" many/$i.jpg
done
fill 0
run 1 classify -q -k 1 --copy-to full/sorted many
out_lines 5
err_lines 1
err_has 'many/1.jpg: cannot be copied to full/sorted/ship: No space left on device; nor are the pictures after it'
rm -r full/sorted

# ---- no folder at all: the same answer, or the reason why there is no device
mount -t tmpfs -o ro none /dev/shm
mount -t tmpfs -o ro none /tmp
[ -x "$VITCL" ] || exit 0 # this hides the files below /tmp
export HOME=/tmp TMPDIR=/tmp
unset XDG_CACHE_HOME POCL_CACHE_DIR
code=0
"$VITCL" classify -m "$model" --json "$picture" >out 2>err || code=$?
if [ $code = 0 ]; then
    cmp out want || fail "another answer"
else
    [ $code = 1 ] || fail "status $code"
    says 'PoCL needs a writable folder for its cache'
fi
