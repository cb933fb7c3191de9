#!/bin/sh
# ptx.sh ROOT - tools/ptx_run --interpret: the PTX of kernels for NVIDIA's matrix
# units and the machine code for AMD's are right, and mistakes in a copy of them
# are found; so are bulk.ptx, which no kernel is made of yet, and mistakes in it.
# Skipped where clang-19, libclc or NumPy is missing.
set -e
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# shellcheck source=tests/ops/numpy.sh
. "$root/tests/ops/numpy.sh"

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

# right ARCH CASE…: the kernels are right
right() {
    run "$root" --arch "$@"
    [ $code = 0 ]
}

# bulk SED-SCRIPT TEXT: with this change of bulk.ptx, it ends so
bulk() {
    sed "$1" "$root/tests/ops/bulk.ptx" >"$work/bulk.ptx"
    [ -z "$1" ] || ! cmp -s "$root/tests/ops/bulk.ptx" "$work/bulk.ptx" || {
        echo "bulk.ptx: $1 changes nothing"
        exit 1
    }
    $python "$root/tests/ops/bulk.py" "$root" "$work/bulk.ptx" >"$work/out" 2>&1 || :
    grep -q "$2" "$work/out" || {
        cat "$work/out"
        echo "bulk.ptx: $1 does not end with $2"
        exit 1
    }
}

# Two of NVIDIA's cases and one mistake, others at each commit; with
# VITCL_TEST_MMA=all everything, AMD's, too.
commit=$(git -C "$root" rev-parse HEAD 2>/dev/null || echo 1)
turn=$((0x$(echo "$commit" | cut -c1-7)))
chosen() { # NUMBER OF: is this one of the row's turn?
    [ "${VITCL_TEST_MMA:-}" = all ] || [ $(((turn + $1) % $2)) = 0 ]
}
cases="sm_80:f16 sm_80:int8_parts sm_80:dw sm_80:attention_f16_72 sm_80:attention_dkv \
    sm_75:int8 sm_75:attention_f16 sm_90:f16_groups sm_90:bf16_groups sm_90:int8_groups"
for arch in sm_75 sm_80 sm_90; do
    names='' n=0
    for each in $cases; do
        [ "${each%:*}" != $arch ] || ! chosen $n 5 || names="$names ${each#*:}"
        n=$((n + 1))
    done
    # shellcheck disable=SC2086 # names are words
    [ -z "$names" ] || right $arch $names
done
! chosen 0 6 ||
    finds common_units_by_nvidia.cl 's/"r"((a)\[1\]), "r"((a)\[2\])/"r"((a)[2]), "r"((a)[1])/' bf16 WRONG
! chosen 1 6 || finds gemm_mma_copies.cl 's/WAIT(1)/WAIT(2)/' int8 'copy is on its way'
! chosen 3 6 || finds common_units_by_nvidia.cl 's/32ul << 32/16ul << 32/' int8_groups WRONG sm_90
! chosen 2 6 || finds attention_mma.cl '/WAIT(0);/{n;d;}' attention_f16 'without a barrier'
! chosen 4 6 ||
    finds common_units_by_nvidia.cl 's/wait_group.sync.aligned 0/wait_group.sync.aligned 1/' bf16_groups 'wgmma may still read' sm_90
! chosen 5 6 || finds common_units_by_nvidia.cl 's/fence.proxy.async.shared::cta;//' bf16_groups 'no fence.proxy.async' sm_90

n=0
while IFS='|' read -r change text; do
    ! chosen $n 18 || bulk "$change" "$text"
    n=$((n + 1))
done <<'END'
|^right$
s/arrive.expect_tx\(.*\)_, \(.*\), 256;/expect_tx\1\2, 256; mbarrier.arrive\1_, \2;/|^right$
s/try_wait/test_wait/|^right$
/^FULL:/,/bra 	FULL/d|read of a word whose copy is on its way
/bra 	FULL/d|read of a word whose copy is on its way
/^FULL:/i xor.b32 %r17, %r17, 1;|read of a word whose copy is on its way
/^EMPTY:/i xor.b32 %r17, %r17, 1;|waits for others, which never come
s/empty\(+8\)*\], 64/empty\1], 63/|write of what another thread read (63
/ld.shared.u32 	%r20/{h;d};/_, \[%r15\]/{G}|write of what another thread read
s/_, \[%r14\], 256/_, [%r14], 384/|waits for others, which never come
s/_, \[%r14\], 256/_, [%r14], 128/|completes with a copy on its way
s/%r16+128\]/%r16+120]/|16 bytes that is not aligned, shared address
s/%rd2+128\]/%rd2+120]/|16 bytes that is not aligned, address
s/, 128, \[%r14\]/, 120, [%r14]/|a bulk copy of 120 bytes
/cp.async.bulk.*+128/a st.global.u32 [%rd2], %r11;|write of a word that a bulk copy may still read
/fence.mbarrier_init/d;/fence.proxy/d|init of this mbarrier has no fence
/fence.proxy/d|no fence.proxy.async is between
/^LAST:/,/bra 	LAST/d|read of what thread 33 wrote
END
[ "${VITCL_TEST_MMA:-}" = all ] || exit 0

for each in gfx1100:f16 gfx1100:attention_f16_72 gfx1100:dot2_parts gfx942:int8 gfx942:dx; do
    right "${each%:*}" "${each#*:}"
done
finds common_units_by_amd.cl 's/as_half16(AS8(a)), as_half16(AS8(b))/as_half16(AS8(b)), as_half16(AS8(a))/' f16 WRONG gfx1100
finds attention_mma.cl 's/if (j0 > 0)/if (0)/' attention_f16 'race in local memory' gfx942
