#!/bin/bash
# build.sh - build the fuzz targets as OSS-Fuzz asks for them: it sets CC, CXX,
# CFLAGS, CXXFLAGS and LIB_FUZZING_ENGINE, SRC has the tree in vitcl/, and what runs
# goes to OUT, with its corpus. Dockerfile has the packages.
set -euo pipefail
cmake -S "$SRC/vitcl" -B "$WORK/build" -G Ninja -DCMAKE_BUILD_TYPE=None \
    -DBUILD_TESTING=ON -DVITCL_FUZZ_ENGINE="$LIB_FUZZING_ENGINE" -DVITCL_HARDEN=OFF \
    -DVITCL_CLBLAST=OFF -DVITCL_PLOT=OFF -DVITCL_PULL=OFF -DVITCL_TAR=OFF -DVITCL_MPI=OFF \
    -DCMAKE_EXE_LINKER_FLAGS="-Wl,--disable-new-dtags,-rpath,'\$ORIGIN/lib'"

# The targets run where only glibc is.
mkdir -p "$OUT/lib"
for file in "$SRC"/vitcl/tests/fuzz/fuzz_*.c; do
    target=$(basename "$file" .c)
    ninja -C "$WORK/build" "tests/$target"
    cp "$WORK/build/tests/$target" "$OUT"
    ldd "$WORK/build/tests/$target" | awk '$3 ~ "^/" { print $3 }' |
        grep -vE '/lib(c|m|dl|rt|pthread|resolv)\.so' | xargs -r cp -Lt "$OUT/lib"
    (cd "$SRC/vitcl/tests/fuzz/corpus/${target#fuzz_}" && zip -qr "$OUT/${target}_seed_corpus.zip" .)
done
