#!/bin/sh
# abi.sh ROOT LIBRARY - a program that was linked with the last release runs with
# this library.
#
# X.abi has the symbols and the types of release X, as abidw (libabigail) writes
# them. With the same SONAME, no symbol may be gone, a new one belongs in a node of
# its own in tools/vitcl.map, and the types may only grow where programs stand it.
# The types are compared by abidiff. Where it is missing, the test says so, and
# fails if CI=true.
#   abi.sh ROOT LIBRARY --write X   writes X.abi in place of the last release's
set -eu
root=$1 library=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "abi.sh: $*" >&2; exit 1; }

soname() { readelf -d "$1" | sed -n 's/.*SONAME.*\[\(.*\)\].*/\1/p'; }
nm -D --defined-only "$library" | awk '{print $NF}' | grep '^vitcl_' | LC_ALL=C sort >"$dir/now"
new=$(soname "$library")

# types LIBRARY: of its public functions, without places in files, which change
types() {
    abidw --headers-dir "$root/include" --drop-private-types --drop-undefined-syms \
        --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed \
        --no-architecture --no-parameter-names --exported-interfaces-only \
        "$1" >"$dir/abi"
    typed=$(grep -c 'elf-symbol-id=' "$dir/abi") || fail "$1 has no types: build with BUILD_TESTING"
    [ "$typed" = "$(wc -l <"$dir/now")" ] ||
        fail "only $typed of $(wc -l <"$dir/now") functions have types: add their files in CMakeLists.txt"
}
if [ "${3-}" = --write ]; then
    types "$library"
    rm -f "$root"/tests/release/*.abi
    cp "$dir/abi" "$root/tests/release/$4.abi"
    exit
fi

abi=$(echo "$root"/tests/release/*.abi)
[ -f "$abi" ] || fail "not one file: $abi"
last=$(basename "$abi" .abi)
old=$(sed -n "s/^<abi-corpus.* soname='\([^']*\)'.*/\1/p" "$abi")
sed -n "s/.*<elf-symbol name='\([^']*\)' version='\([^']*\)'.*/\1@@\2/p" "$abi" | LC_ALL=C sort >"$dir/last"
[ "$(wc -l <"$dir/last")" -ge 100 ] || fail "$abi has hardly any symbol"
[ "$old" = "$new" ] || { echo "$new comes after $old: nothing to compare"; exit 0; }
if LC_ALL=C comm -23 "$dir/last" "$dir/now" | grep .; then
    fail "the symbols above are gone: raise the SOVERSION"
fi
nodes=$(sed -n 's/.*@@//p' "$dir/last" | sort -u | paste -sd'|')
if LC_ALL=C comm -13 "$dir/last" "$dir/now" | grep -E "@@($nodes)\$"; then
    fail "the symbols above are new: give them a node of their version in tools/vitcl.map"
fi
echo "$new has all $(wc -l <"$dir/last") symbols of $last"

if ! command -v abidiff >/dev/null; then
    [ "${CI-}" != true ] || fail "abidiff is missing: install abigail-tools"
    echo "skipped: types are not compared, without abidiff"
    exit 0
fi
types "$library"
# Structs that begin with their size may get members at their end. What abidiff calls
# harmless counts, because it means a float for an enum, too; a new enumerator wants
# a line here. abidiff 2.2 grows structs without has_size_change, 2.6 does not.
cat >"$dir/allowed" <<'END'
[suppress_type]
  name_not_regexp = ^vitcl_(class|image|shape|batch)$
  type_kind = struct
  has_data_member_inserted_at = end
  has_size_change = yes
END
code=0
abidiff --harmless --no-added-syms --suppressions "$dir/allowed" "$abi" "$dir/abi" >"$dir/report" || code=$?
cat "$dir/report"
[ $code = 0 ] || fail "abidiff finds what a program of $last would not stand"
echo "the types are those of $last"
