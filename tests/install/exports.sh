#!/bin/sh
# exports.sh LIBRARY INCLUDE - the shared library has a SONAME, exports only
# vitcl_*, each with a version, and exports every function that a public header
# declares.
set -eu
library=$1 include=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

readelf -d "$library" | grep -q 'SONAME.*\[libvitcl\.so\.[0-9]*\]' ||
    { echo "exports.sh: no SONAME libvitcl.so.N" >&2; exit 1; }

nm -D --defined-only "$library" | awk '{print $NF}' |
    grep -v '^VITCL_[0-9.]*\(@@VITCL_[0-9.]*\)\?$' | sort -u >"$dir/versioned"
sed 's/@@VITCL_[0-9.]*$//' "$dir/versioned" >"$dir/exported"
if grep -v '^vitcl_[a-z0-9_]*@@VITCL_0\.[0-9]*$' "$dir/versioned"; then
    echo "exports.sh: the names above are exported, or without a version" >&2
    exit 1
fi
cat "$include"/*.h | grep -oE '\bvitcl_[a-z0-9_]+\(' | tr -d '(' |
    sort -u >"$dir/declared"
[ -s "$dir/declared" ] || { echo "exports.sh: no declarations" >&2; exit 1; }
if comm -13 "$dir/exported" "$dir/declared" | grep .; then
    echo "exports.sh: the functions above are declared, not exported" >&2
    exit 1
fi
wc -l <"$dir/declared" | sed 's/$/ functions exported/'
