#!/bin/sh
# archive.sh ROOT - tools/release gives the same bits twice, from a clone with
# other settings of its user, too, and the archive has what a build needs.
set -eu
root=$1
git -C "$root" rev-parse -q --verify HEAD >/dev/null 2>&1 ||
    { echo "skipped: no repository of git here"; exit 77; }
[ "$(git -C "$root" rev-parse --show-prefix)" = "" ] || { echo "skipped: the repository is another's"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "archive.sh: $*" >&2; exit 1; }

"$root/tools/release" --source "$dir/one" >"$dir/said" 2>"$dir/note"
sleep 1 # another second: no time of today is in it
git clone -q "$root" "$dir/clone"
git -C "$dir/clone" checkout -q "$(git -C "$root" rev-parse HEAD)"
(umask 077 && git -C "$dir/clone" config tar.umask 0077 && cp "$root/tools/release" "$dir/clone/tools/release" &&
    "$dir/clone/tools/release" --source "$dir/two" >"$dir/again" 2>>"$dir/note")
cmp "$dir"/one/*.tar.gz "$dir"/two/*.tar.gz || fail "two archives differ"
cmp "$dir/said" "$dir/again" || fail "two checksums differ"
(cd "$dir/one" && sha256sum -c --quiet ./*.sha256) || fail "the checksum is wrong"
name=$(basename "$dir"/one/*.tar.gz .tar.gz)
tar -tzf "$dir/one/$name.tar.gz" >"$dir/files"
! grep -v "^$name/" "$dir/files" || fail "files beside $name/"
! grep '/\.git/' "$dir/files" || fail "files of git"
for file in CMakeLists.txt LICENSE CHANGELOG.md include/vitcl.h models/cifar10/model.safetensors tools/run; do
    grep -qx "$name/$file" "$dir/files" || fail "no $file"
done
cat "$dir/said"
