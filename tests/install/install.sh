#!/bin/sh
# install.sh BUILD CC - install into an empty folder and build main.c against
# it in four ways: pkg-config and CMake package, shared and static.
set -eu
build=$1 cc=$2
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
prefix=$dir/prefix
picture=$here/../data/preprocess/in/gray.jpg
unset VITCL_DECODE VITCL_TRY VITCL_STUDY VITCL_PLOT # they are found where they were installed

fail() { echo "install.sh: $*" >&2; exit 1; }
says() { # PROGRAM [LIBDIR]: it runs with the version that was installed
    LD_LIBRARY_PATH=${2-} "$1" "$picture" >"$dir/said" || fail "$1 fails"
    grep -qx "vitcl $version" "$dir/said" || fail "$1 is not vitcl $version"
    grep -qx "picture 61x47" "$dir/said" || fail "$1 decodes no picture"
}

# Programs must find the library: root refreshes the loader's cache, a folder that
# the loader does not search is named, and a package does neither.
mkdir "$dir/bin"
printf '#!/bin/sh\necho "ldconfig $*" >>"%s"\n' "$dir/calls" >"$dir/bin/ldconfig"
chmod +x "$dir/bin/ldconfig"
: >"$dir/calls"
PATH="$dir/bin:$PATH" DESTDIR="$dir/package" cmake --install "$build" --prefix /usr >"$dir/log"
[ ! -s "$dir/calls" ] || fail "ldconfig runs for a package"
PATH="$dir/bin:$PATH" cmake --install "$build" --prefix "$prefix" >"$dir/log"
[ "$(id -u)" != 0 ] || grep -qx 'ldconfig ' "$dir/calls" || fail "root does not run ldconfig"
grep -q "LD_LIBRARY_PATH=$prefix" "$dir/log" || fail "no word of LD_LIBRARY_PATH"
# Moved after installing: neither package may contain the old path.
mv "$prefix" "$dir/moved"
prefix=$dir/moved
lib=$(dirname "$(find "$prefix" -name libvitcl.a)")
export PKG_CONFIG_PATH="$lib/pkgconfig"
version=$(pkg-config --modversion vitcl)

for file in include/vitcl.h bin/vitcl libexec/vitcl-decode libexec/vitcl-decode-all \
    libexec/vitcl-try libexec/vitcl-study share/vitcl/python/vitcl/study/__main__.py share/vitcl/python/vitcl/serve/page.js share/man/man1/vitcl.1 share/bash-completion/completions/vitcl \
    share/zsh/site-functions/_vitcl share/fish/vendor_completions.d/vitcl.fish \
    share/doc/vitcl/README.md share/doc/vitcl/LICENSE; do
    [ -s "$prefix/$file" ] || fail "$file is not installed"
done
grep -q "$version" "$prefix/share/man/man1/vitcl.1" || fail "man page: version"
! grep -q '@[A-Z_]*@' "$prefix/share/man/man1/vitcl.1" || fail "man page: @"

# shellcheck disable=SC2046 # words are wanted
$cc "$here/main.c" -o "$dir/shared" $(pkg-config --cflags --libs vitcl)
says "$dir/shared" "$lib"
readelf -d "$dir/shared" | grep -q 'NEEDED.*libvitcl\.so\.[0-9]*\]' ||
    fail "the program does not need libvitcl by its SONAME"

"$prefix/bin/vitcl" classify "$picture" >"$dir/said" 2>&1 ||
    fail "the program classifies nothing: $(cat "$dir/said")"
! readelf -d "$prefix/bin/vitcl" "$lib/libvitcl.so" |
    grep -E 'libjpeg|libpng|libcairo|libcurl|libwebp|libgif|libtiff|libheif|libraw|libarchive' ||
    fail "more than helpers is linked with the codecs, Cairo or libcurl"
"$prefix/bin/vitcl" study list >"$dir/said" 2>&1 || fail "no studies: $(cat "$dir/said")"
if grep -q '^VITCL_PLOT:BOOL=ON' "$build/CMakeCache.txt" &&
    [ -e "$build/vitcl-plot.so" ]; then
    chmod -x "$prefix/libexec/vitcl-plot.so" # as packagers do
    if "$prefix/bin/vitcl" train --preset vit-ti/16 --data "$dir/none" \
        --epochs 1 -o "$dir/run" --curve "$dir/x.svg" >"$dir/said" 2>&1; then
        fail "trained on nothing"
    fi
    grep -q "$dir/none" "$dir/said" || fail "no module: $(cat "$dir/said")"
fi

# A statically linked program cannot know where vitcl-decode was moved to.
export VITCL_DECODE="$prefix/libexec/vitcl-decode"
# shellcheck disable=SC2046
$cc "$here/main.c" -o "$dir/static" $(pkg-config --cflags vitcl) \
    $(pkg-config --static --libs vitcl | sed 's/-lvitcl\b/-l:libvitcl.a/')
says "$dir/static"
! readelf -d "$dir/static" | grep -q libvitcl || fail "not linked statically"

# with the generator that built vitcl: others may not be installed
generator=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$build/CMakeCache.txt")
cmake -G "$generator" -S "$here" -B "$dir/outside" \
    -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$cc" >"$dir/log" || { cat "$dir/log"; exit 1; }
cmake --build "$dir/outside" >"$dir/log" || { cat "$dir/log"; exit 1; }
says "$dir/outside/shared" "$lib"
says "$dir/outside/static"
echo "installed and built against $version four ways"
