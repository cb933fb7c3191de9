#!/bin/sh
# ptx.sh ROOT - tools/ptx_run --interpret: the PTX of kernels for NVIDIA's matrix
# units and the machine code for AMD's are right, and mistakes in a copy of them
# are found. Skipped where clang-19, libclc or NumPy is missing.
set -e
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python=
for each in python3 /usr/bin/python3; do
    [ -n "$python" ] || ! $each -c "import numpy" 2>/dev/null || python=$each
done
[ -n "$python" ] || {
    echo "NumPy is missing"
    exit 77
}

# run FOLDER OPTIONS…: its tools/ptx_run; the exit status is in $code
run() {
    folder=$1
    shift
    code=0
    $python "$folder/tools/ptx_run" --interpret --tiny "$@" >"$work/out" 2>&1 ||
        code=$?
    cat "$work/out"
    [ $code != 2 ] || exit 77
}

# finds FILE SED-SCRIPT CASE TEXT [ARCH]: with this change, the case fails with the text
finds() {
    rm -rf "$work/copy"
    mkdir "$work/copy"
    cp -r "$root/tools" "$root/cl" "$work/copy"
    sed "$2" "$root/cl/$1" >"$work/copy/cl/$1"
    ! cmp -s "$root/cl/$1" "$work/copy/cl/$1" || {
        echo "$1: $2 changes nothing"
        exit 1
    }
    run "$work/copy" --arch "${5:-sm_80}" "$3"
    if [ $code != 1 ] || ! grep -q "$4" "$work/out"; then
        echo "$1: $2 was not found"
        exit 1
    fi
}

run "$root" f16 int8_parts dw attention_f16_72 attention_dkv
[ $code = 0 ]
run "$root" --arch sm_75 int8 attention_f16 half2_parts
[ $code = 0 ]
run "$root" --arch gfx1100 f16 attention_f16_72 dot2_parts
[ $code = 0 ]
run "$root" --arch gfx942 int8 dx
[ $code = 0 ]
finds common_units.cl 's/"r"((a)\[1\]), "r"((a)\[2\])/"r"((a)[2]), "r"((a)[1])/' bf16 WRONG
finds gemm_mma.cl 's/WAIT(1);/WAIT(2);/' int8 'copy is on its way'
finds attention_mma.cl '/WAIT(0);/{n;d;}' attention_f16 'without a barrier'
finds common_units.cl 's/as_half16(AS8(a)), as_half16(AS8(b))/as_half16(AS8(b)), as_half16(AS8(a))/' f16 WRONG gfx1100
finds common_units_dots.cl 's/s + v.s0 + v.s1/s + v.s0/' half2_parts WRONG sm_75
finds attention_mma.cl 's/if (j0 > 0)/if (0)/' attention_f16 'race in local memory' gfx942
