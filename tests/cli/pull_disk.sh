# pull_disk.sh - a download for which the disk has no room says so before it
# begins, and one for which it becomes full leaves its part.
if [ -z "${DISK_INSIDE-}" ]; then
    for how in "--mount" "--user --map-root-user --mount"; do
        # shellcheck disable=SC2086 # words are wanted
        if unshare $how mount -t tmpfs none . 2>/dev/null; then
            DISK_INSIDE=1 exec unshare $how bash -euo pipefail "$0"
        fi
    done
    skip "no file system may be mounted here"
fi
unset VITCL_MODEL
mkdir -p hub/me/vit full
cp "$VT_DATA"/models/timm_vit/config.json hub/me/vit/
head -c 1500000 /dev/urandom >hub/me/vit/model.safetensors
hub
mount -t tmpfs -o size=2m full full
export HF_HUB_CACHE=$PWD/full
head -c 1400000 /dev/zero >full/filler
run 1 pull me/vit
says 'me/vit: 1.5 MB are needed, but .*/full has room for 0.[0-9] MB'
rm full/filler

# What another program writes meanwhile fills it.
echo 'late model.safetensors 100' >hub/faults
"$VITCL" pull me/vit >out 2>err &
pid=$!
for ((i = 0; i < 300; i++)); do
    ! compgen -G 'full/models--me--vit/blobs/*.incomplete' >part || break
    sleep 0.02
done
head -c 3000000 /dev/zero >full/filler 2>/dev/null || true
code=0
wait $pid || code=$?
[ $code = 1 ] || fail "exit status $code"
tail -n 1 err | grep -qE 'incomplete: cannot be written: No space left on device; free some space' ||
    fail "another error"
[ ! -e full/models--me--vit/snapshots ] || fail "a snapshot"
rm full/filler hub/faults
run 0 pull me/vit
cmp "$(cat out)/model.safetensors" hub/me/vit/model.safetensors || fail "other bytes"
