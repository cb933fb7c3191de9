#!/bin/sh
# dates.sh ROOT - the version and the date of a release agree wherever they
# stand: CMakeLists.txt, vitcl.h, CHANGELOG.md, the man page, debian/, examples.
# While the first entry of CHANGELOG.md is "Unreleased", only its version counts.
set -eu
cd "$1"
failures=0
wrong() { echo "dates.sh: $*" >&2; failures=$((failures + 1)); }
same() { # WHERE FOUND WANTED
    [ "$2" = "$3" ] || wrong "$1 has '$2', not '$3'"
}

version=$(sed -n 's/^project(vitcl VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
abi=$(sed -n 's/.* SOVERSION \([0-9][0-9]*\).*/\1/p' CMakeLists.txt)
date=$(sed -n 's/^## [0-9.]* - //p' CHANGELOG.md | head -n 1)

same vitcl.h "$(sed -n 's/^#define VITCL_VERSION_[A-Z]* //p' include/vitcl.h | paste -sd.)" "$version"
same CHANGELOG.md "$(sed -n 's/^## \([0-9.]*\) - .*/\1/p' CHANGELOG.md | head -n 1)" "$version"
[ "$(sed -n '/^## /,$p' CHANGELOG.md | sed '2,${/^## /,$d}' | wc -l)" -le 100 ] ||
    wrong "CHANGELOG.md: the first entry has more than 100 lines"
sed -n 's/^## [0-9.]* - //p' CHANGELOG.md | sed 1d | grep -vxE '[0-9]{4}-[0-9]{2}-[0-9]{2}' &&
    wrong "CHANGELOG.md: an earlier version has no date"

# The library's name has the SOVERSION.
for file in debian/control debian/rules tools/deb python/vitcl/_c.py \
    "debian/libvitcl$abi.install"; do
    [ -e "$file" ] || { wrong "$file is missing"; continue; }
    others=$(grep -oE '(libvitcl|libvitcl\.so\.|/vitcl)[0-9]+' "$file" | grep -vE "[^0-9]$abi\$") || continue
    wrong "$file has $others"
done
grep -q "^Package: libvitcl$abi\$" debian/control || wrong "debian/control has no libvitcl$abi"

case $date in
Unreleased) echo "version $version is not released" ;;
????-??-??)
    same "the man page" "$(sed -n 's/^\.TH VITCL 1 "\([0-9-]*\)".*/\1/p' "$(find host -name vitcl.1)")" "$date"
    same debian/changelog "$(sed -n '1s/^vitcl (\(.*\)-[0-9]*).*/\1/p' debian/changelog)" "$version"
    packed=$(date -u -d "$(sed -n 's/^ -- .*>  //p' debian/changelog | head -n 1)" +%F)
    [ "$(printf '%s\n%s\n' "$date" "$packed" | sort | head -n 1)" = "$date" ] ||
        wrong "debian/changelog is of $packed, before $date"
    [ -e "tests/release/$version.abi" ] || wrong "tests/release has no types of $version: tools/release --record"
    if [ "$(git rev-parse --show-prefix 2>&1)" = "" ] && git rev-parse -q --verify "v$version^{commit}" >/dev/null &&
        ! git diff --quiet "v$version" -- CMakeLists.txt cl host include; then
        wrong "$version has a tag, and what follows it the same version: begin the next"
    fi
    echo "version $version is of $date"
    ;;
*) wrong "CHANGELOG.md: '$date' is no date" ;;
esac
[ "$failures" -eq 0 ]
