#!/bin/sh
# assembly.sh CLANG OBJDUMP CL - instructions of processors that may not be
# here: the compiler takes them, and with the right encoding.
set -e
clang=$1 objdump=$2 cl=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# assembled MARCH PATTERN DEFINES…: gemm_dot.cl compiled for MARCH has PATTERN
assembled() {
    march=$1 pattern=$2
    shift 2
    "$clang" -x cl -cl-std=CL1.2 -Xclang -finclude-default-header \
        -target x86_64-linux-gnu -march="$march" -O2 \
        -include "$cl/common.cl" -include "$cl/common_math.cl" \
        -include "$cl/common_storage.cl" -include "$cl/common_work.cl" \
        -DNV=2 -DRA=6 -DRB=5 -DSAVED=1 "$@" \
        -c "$cl/gemm_dot.cl" -o "$work/out.o"
    "$objdump" -d "$work/out.o" >"$work/text"
    grep -Eq "$pattern" "$work/text" || {
        echo "$march $*: no $pattern"
        exit 1
    }
}
assembled haswell 'c[45] .*vpmaddwd .*%ymm' -DV=8 -DDOT=1
assembled haswell 'c[45] .*vpmaddubsw .*%ymm' -DV=8 -DDOT=4
assembled alderlake 'c4 .*vpdpbusd .*%ymm' -DV=8 -DDOT=2
assembled cascadelake '62 .*vpdpbusd .*%zmm' -DV=16 -DDOT=2
assembled cooperlake '62 .*vdpbf16ps .*%zmm' -DV=16 -DDOT=3
assembled sapphirerapids "c4 .*tdpbusd .*%tmm" -DV=16 -DDOT=2 -DTILES
assembled sapphirerapids "c4 .*tdpbf16ps .*%tmm" -DV=16 -DDOT=3 -DTILES

