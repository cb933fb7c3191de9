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
    compiled -target x86_64-linux-gnu -march="$march" "$@"
    "$objdump" -d "$work/out.o" >"$work/text"
    grep -Eq "$pattern" "$work/text" || {
        echo "$march $*: no $pattern"
        exit 1
    }
}

# block COUNT INSTRUCTION: block_ra() of what was compiled last has INSTRUCTION
# COUNT times, and keeps no vector on the stack.
block() {
    sed -n '/<block_ra>:/,/ret/p' "$work/text" >"$work/block"
    found=$(grep -c "$2 " "$work/block") || true
    [ "$found" = "$1" ] || {
        echo "block_ra: $found $2, not $1"
        exit 1
    }
    ! grep '%zmm.*%rsp\|%rsp.*%zmm' "$work/block" || {
        echo "block_ra: $2 with sums on the stack"
        exit 1
    }
}

# arm WORD DEFINES…: compiled for the plainest of 64-bit Arms, gemm_dot.cl has
# WORD, an instruction without its three registers. Clang cannot compile
# kernels for Arm as such, and objdump does not know Arm: functions, and bytes.
arm() {
    word=$1
    shift
    compiled -target aarch64-linux-gnu -march=armv8-a -DV=4 -Dkernel= \
        '-Dreqd_work_group_size(...)=' -Xclang -cl-ext=+cl_khr_fp16 "$@"
    od -An -v -tx4 -w4 --endian=little "$work/out.o" | {
        while read -r found; do
            [ $((0x$found & 0xffe0fc00)) -ne $((0x$word)) ] || exit 0
        done
        echo "Arm $*: no $word"
        exit 1
    }
}

compiled() {
    "$clang" -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -O2 \
        -include "$cl/common.cl" -include "$cl/common_math.cl" \
        -include "$cl/common_math_acts.cl" \
        -include "$cl/common_dot.cl" -include "$cl/common_halves.cl" \
        -include "$cl/common_storage.cl" -include "$cl/common_tiles.cl" \
        -include "$cl/common_words.cl" -include "$cl/common_work.cl" \
        -DSAVED=1 ${shape:--DNV=2 -DRA=6 -DRB=5} "$@" \
        -c "$cl/gemm_dot.cl" -o "$work/out.o"
}

assembled haswell 'c[45] .*vpmaddwd .*%ymm' -DV=8 -DDOT=1
assembled haswell 'c[45] .*vpmaddubsw .*%ymm' -DV=8 -DDOT=4
assembled alderlake 'c4 .*vpdpbusd .*%ymm' -DV=8 -DDOT=2
assembled cascadelake '62 .*vpdpbusd .*%zmm' -DV=16 -DDOT=2
assembled cooperlake '62 .*vdpbf16ps .*%zmm' -DV=16 -DDOT=3
assembled sapphirerapids "c4 .*tdpbusd .*%tmm" -DV=16 -DDOT=2 -DTILES
assembled sapphirerapids "c4 .*tdpbf16ps .*%tmm" -DV=16 -DDOT=3 -DTILES

# as on a processor that the compiler knows, and on one that it takes for another
shape='-DNV=4 -DRA=14 -DRB=13'
for march in sapphirerapids skylake-avx512; do
    assembled $march '62 .*vfmadd231ph 0x2\(.*\)\{1to32\},%zmm' -DV=16 -DDOT=8
    block 56 vfmadd231ph # 14 rows, 2 vectors, 2 terms
done
shape='-DNV=4 -DCHAINS=12'
assembled sapphirerapids '62 .*vfmadd231ph %zmm' -DV=16 -DDOT=8
shape=

if "$clang" --print-targets | grep -q aarch64; then
    arm 4e809400 -DDOT=5 # sdot
    arm 4e80a400 -DDOT=6 # smmla
    arm 6e40fc00 -DDOT=3 # bfdot
    arm 6e40ec00 -DDOT=7 # bfmmla
fi
