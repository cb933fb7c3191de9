#!/bin/sh
# gpu_kit.sh ROOT - what tools/gpu_kit does without a GPU: vitcl's logits are near
# to the reference's, which notices others; PTX that was kept replaces the
# compiler. Skipped where NumPy is missing; the last part also where clang-19 or libclc is.
set -e
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# shellcheck source=tests/ops/numpy.sh
. "$root/tests/ops/numpy.sh"

model="$python $root/tools/gpu_kit/model.py"
$model make "$work/m" --tiny
"$VITCL" forward -m "$work/m" -i "$work/m/input.safetensors" -o "$work/out.safetensors" -d any
$model check "$work/m/want.safetensors" "$work/out.safetensors" f32 1e-5
! $model check "$work/m/want.safetensors" "$work/out.safetensors" exact 0 || exit 1

# run OPTIONS…: tools/ptx_run; exits where something is missing
run() {
    code=0
    $python "$root/tools/ptx_run" "$@" || code=$?
    [ $code != 2 ] || exit "${missing:-77}"
    return $code
}
run --record "$work/ptx" --arch sm_80 attention_f16
missing=1
CLANG=/dev/null run --interpret --tiny --arch sm_80 --ptx "$work/ptx" attention_f16
# Other sources or options are not answered.
(run --interpret --tiny --arch sm_80 --ptx "$work/ptx" f16) >"$work/said" 2>&1 && exit 1
grep -q 'has no PTX of' "$work/said" || { cat "$work/said"; exit 1; }
