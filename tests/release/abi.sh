#!/bin/sh
# abi.sh ROOT LIBRARY CC - a program that was linked with the last release runs
# with this library.
#
# `symbols` has what the last release exports, below its SONAME. With the same
# SONAME, none of them may be gone, and what is new belongs in a node of its own
# in tools/vitcl.map. Where abidiff (libabigail) is installed and a tag vX of the
# same SONAME is there, the types are compared, too.
#   abi.sh ROOT LIBRARY CC --write   writes `symbols`, for a release
set -eu
root=$1 library=$2 cc=$3
list=$root/tests/release/symbols
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "abi.sh: $*" >&2; exit 1; }

soname() { readelf -d "$1" | sed -n 's/.*SONAME.*\[\(.*\)\].*/\1/p'; }
{
    soname "$library"
    nm -D --defined-only "$library" | awk '{print $NF}' | grep '^vitcl_' | LC_ALL=C sort
} >"$dir/now"
[ "${4-}" != --write ] || { cp "$dir/now" "$list"; exit; }

old=$(head -n 1 "$list") new=$(head -n 1 "$dir/now")
[ "$old" = "$new" ] || { echo "$new comes after $old: nothing to compare"; exit 0; }
if LC_ALL=C comm -23 "$list" "$dir/now" | grep .; then
    fail "the symbols above are gone: raise the SOVERSION"
fi
nodes=$(sed -n 's/.*@@//p' "$list" | sort -u | paste -sd'|')
if LC_ALL=C comm -13 "$list" "$dir/now" | grep -E "@@($nodes)\$"; then
    fail "the symbols above are new: give them a node of their version in tools/vitcl.map"
fi
echo "$new has all $(($(wc -l <"$list") - 1)) symbols of its last release"

tag=
if [ "$(git -C "$root" rev-parse --show-prefix 2>&1)" = "" ]; then # not in another's repository
    tag=$(git -C "$root" describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null) || tag=
fi
if [ -z "$tag" ]; then
    echo "skipped: types are not compared, without a tag of a release"
    exit 0
fi
if git -C "$root" diff --quiet "$tag" -- CMakeLists.txt cl host include tools/vitcl.map; then
    echo "nothing of the library has changed since $tag"
    exit 0
fi
command -v abidiff >/dev/null || { echo "skipped: types are not compared, without abidiff"; exit 0; }
build() { # FOLDER: the library with its types
    if ! { cmake -G "Unix Makefiles" -S "$dir/$1" -B "$dir/$1/build" -DCMAKE_C_COMPILER="$cc" -DBUILD_TESTING=OFF \
        -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS=-g -DVITCL_HARDEN=OFF &&
        cmake --build "$dir/$1/build" --target vitcl -j 2; } >"$dir/log" 2>&1; then
        cat "$dir/log"
        fail "no build of $1"
    fi
}
mkdir "$dir/last" "$dir/here"
git -C "$root" archive "$tag" | tar -x -C "$dir/last"
(cd "$root" && git ls-files -z | tar --null -T - -c) | tar -x -C "$dir/here"
build last
[ "$(soname "$dir/last/build/libvitcl.so")" = "$new" ] || { echo "$tag has another SONAME"; exit 0; }
build here
# Structs that begin with their size may get members at their end.
cat >"$dir/allowed" <<'END'
[suppress_type]
  name_not_regexp = ^vitcl_(class|image|shape|batch|fewshot_score)$
  type_kind = struct
  has_data_member_inserted_at = end
END
code=0
abidiff --no-added-syms --suppressions "$dir/allowed" \
    --headers-dir1 "$dir/last/include" --headers-dir2 "$dir/here/include" \
    "$dir/last/build/libvitcl.so" "$dir/here/build/libvitcl.so" >"$dir/report" || code=$?
cat "$dir/report"
[ $code = 0 ] || fail "abidiff finds what a program of $tag would not stand"
echo "the types are those of $tag"
