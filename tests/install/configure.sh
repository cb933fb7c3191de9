#!/bin/sh
# configure.sh SOURCE CC - cmake on machines that lack something.
set -eu
source=$1 cc=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() { echo "configure.sh: $*" >&2; cat "$dir/log" >&2; exit 1; }
configure() { # OPTION...
    cmake -G "Unix Makefiles" -S "$source" -B "$dir/build" -DCMAKE_C_COMPILER="$cc" \
        "$@" >"$dir/log" 2>&1
}
says() { tr -s '\n ' ' ' <"$dir/log" | grep -qE -- "$1" || fail "no word of: $1"; }

# another system: one line, before anything is looked for
! configure -DCMAKE_SYSTEM_NAME=FreeBSD || fail "FreeBSD is accepted"
says 'vitcl runs on Linux on x86-64 and 64-bit Arm, not on FreeBSD'
[ "$(grep -c '^CMake Error' "$dir/log")" = 1 ] || fail "more than one error"
rm -rf "$dir/build"

# nothing but what every build needs
mkdir "$dir/pc"
for name in OpenCL OpenCL-Headers libcjson libxxhash libzip zlib stb; do
    ! pkg-config "$name" || # Debian 12 has no OpenCL-Headers
        cp "$(pkg-config --variable=pcfiledir "$name")/$name.pc" "$dir/pc"
done
unset PKG_CONFIG_PATH
export PKG_CONFIG_LIBDIR="$dir/pc"
configure || fail "the default does not configure"
for name in Criterion CLBlast libjpeg libpng Cairo libcurl 'Open MPI' libarchive libwebp giflib libtiff \
    libheif libraw utf8proc; do
    says "-- Without [A-Za-z ]*$name"
done
! configure -DBUILD_TESTING=ON || fail "tests without Criterion"
says 'criterion'
echo "configured without what is optional"
