#!/bin/sh
# versions.sh BUILD CC INCLUDE - programs that were compiled with an earlier or
# a later header run with this library: versions.c with the header as it is,
# with one that lacks members, and with one that has more.
set -eu
build=$1 cc=$2 include=$3
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() { echo "versions.sh: $*" >&2; exit 1; }
program() { # NAME FLAGS...: with the headers in $dir/NAME
    name=$1
    shift
    $cc -Wall -Werror "$@" -I"$dir/$name" "$here/versions.c" -o "$dir/$name/run" \
        -L"$build" -lvitcl -Wl,-rpath,"$build"
    "$dir/$name/run" || fail "the program with $name header fails"
}

for name in this an-earlier a-later; do
    mkdir "$dir/$name"
    cp "$include"/*.h "$dir/$name"
done
# Removes all but the first members of options and of an info. The first
# removed member begins after the padding of the remaining ones: a compiler
# need not fill padding, and the library ignores it (host/api/sized.c).
sed -i -e '/const char \*gemm; /,/^} vitcl_session_options/{
/^}/!d
}' -e '/uint64_t weights_bytes, activation_bytes;/d' "$dir/an-earlier/vitcl.h"
sed -i -e 's/^} vitcl_session_options;/double later;\n&/' \
    -e 's/^} vitcl_model_info;/double later;\n&/' "$dir/a-later/vitcl.h"
for gone in once activation_bytes; do
    [ "$(grep -cw "$gone" "$dir/an-earlier/vitcl.h")" -lt \
        "$(grep -cw "$gone" "$dir/this/vitcl.h")" ] || fail "$gone did not go"
done
for new in vitcl_session_options vitcl_model_info; do
    grep -B1 "^} $new;" "$dir/a-later/vitcl.h" | grep -q 'double later;' ||
        fail "$new has no later member"
done
program this
program an-earlier
program a-later -DLATER
echo "programs of three headers run"
