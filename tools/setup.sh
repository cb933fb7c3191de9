# shellcheck shell=bash disable=SC2034,SC2086
# setup.sh - functions of tools/run and tools/test: packages, configure, build.
# Both source it; it changes to the repository's root.
set -euo pipefail
unset CDPATH
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export POCL_CACHE_DIR=${POCL_CACHE_DIR:-$PWD/build/pocl-cache}

say() { printf '%s\n' "$*" >&2; }

# Debian packages for the build, and more for the tests.
build_packages="gcc libc6-dev cmake make ninja-build pkg-config ocl-icd-opencl-dev
    libclblast-dev libjpeg-dev libpng-dev libstb-dev libcjson-dev
    libwebp-dev libgif-dev libheif-dev libtiff-dev libraw-dev
    libzip-dev zlib1g-dev libxxhash-dev libcairo2-dev fonts-dejavu-core
    libcurl4-openssl-dev nettle-dev libarchive-dev libutf8proc-dev pocl-opencl-icd"
test_packages="g++ abigail-tools clang clang-format clang-tidy cppcheck shellcheck
    libcriterion-dev mesa-opencl-icd python3 binutils locales valgrind
    libopenmpi-dev openmpi-bin libmpich-dev mpich groff-base zsh fish
    python3-numpy python3-pil python3-matplotlib"

# What Python's server is tested with; names as below.
server_packages="python3-starlette python3-uvicorn python3-python-multipart|python3-multipart"

# Compilers for GPUs; with | between the names of one in different releases.
# libclc comes with mesa-opencl-icd.
gpu_packages="clang-19 intel-ocloc|intel-opencl-icd"

# Installs the packages that dpkg does not list; does nothing if there are
# none.
install_packages() {
    local missing="" name
    command -v dpkg-query >/dev/null || {
        say "No dpkg here: install the equivalents of: $*"
        return 0
    }
    for name in "$@"; do
        dpkg-query -W -f '${db:Status-Status}\n' "$name" 2>/dev/null |
            grep -qx installed || missing+=" $name"
    done
    [ -n "$missing" ] || return 0
    say "Installing:$missing"
    local root="" log
    [ "$(id -u)" = 0 ] || root=sudo
    log=$(mktemp)
    # shellcheck disable=SC2086 # words are wanted
    if ! { $root apt-get update -qq -o Acquire::Retries=3 &&
        $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
            --no-install-recommends -o Acquire::Retries=3 \
            -o DPkg::Lock::Timeout=120 $missing; } >"$log" 2>&1 </dev/null; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        say "apt-get could not install:$missing"
        return 1
    fi
    rm -f "$log"
}

# Installs those of the packages that this release has, of a|b the first, and
# names the others. Never fails: what needs them says that they are missing.
install_what_exists() {
    local names name found have="" other="" update=true root=""
    command -v apt-cache dpkg-query >/dev/null || return 0
    [ "$(id -u)" = 0 ] || root=sudo
    for names in "$@"; do
        while :; do
            found=""
            for name in ${names//|/ }; do
                dpkg-query -W -f '${db:Status-Status}\n' "$name" 2>/dev/null |
                    grep -qx installed && found=$name && break
            done
            for name in ${names//|/ }; do
                [ -n "$found" ] || ! apt-cache show "$name" >/dev/null 2>&1 ||
                    found=$name
            done
            if [ -n "$found" ] || ! $update; then break; fi
            update=false # the lists may be empty
            $root apt-get update -qq >/dev/null 2>&1 </dev/null || true
        done
        if [ -n "$found" ]; then have+=" $found"; else other+=" $names"; fi
    done
    [ -z "$other" ] || say "This release has no package:$other"
    [ -z "$have" ] || install_packages $have || true
}

# configure FOLDER [CMAKE OPTION…] and build FOLDER [TARGET]: quiet, except
# that a failure shows the end of the log.
quietly() {
    local log=$1
    shift
    "$@" >"$log" 2>&1 </dev/null || { tail -n 40 "$log" >&2; return 1; }
}
configure() {
    local folder=$1
    shift
    mkdir -p "$folder"
    # A folder that was made by hand keeps its generator.
    [ -e "$folder/CMakeCache.txt" ] || set -- -G Ninja "$@"
    quietly "$folder/configure.log" cmake -S . -B "$folder" "$@"
}
build() {
    quietly "$1/build.log" cmake --build "$1" --target "${2:-all}"
}
