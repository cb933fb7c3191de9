# trial.sh - a host of the library survives every way in which a trial of an
# instruction can fail: a compiler that crashes, wrong numbers, a hang, a
# missing program. The host then uses FMAs, and the failure is stored.
picture=$VT_DATA/sample.jpg
# As the program sets it, so that the program and the hosts give the same
# answers.
export POCL_WORK_GROUP_SPECIALIZATION=0
fresh() { rm -rf cache crashes; mkdir cache; }
export XDG_CACHE_HOME=$PWD/cache XDG_CONFIG_HOME=$PWD/config
# host ARGS…: its output is in out and err
host() {
    printf '%q ' host "$@" >cmd
    code=0
    timeout 300 "$VT_HOST" "$@" >out 2>err || code=$?
    [ $code = 0 ] || fail "host ends with status $code"
}
crashing() { # SIGNAL ARGS…: passing an instruction to the driver is fatal
    local number=$1
    shift
    LD_PRELOAD=$VT_CL_CRASH_LIB \
        VT_CL_CRASH="$number clCreateProgramWithSource 1 vpmaddwd" \
        VT_CL_CRASH_LOG=$PWD/crashes \
        ASAN_OPTIONS=${ASAN_OPTIONS-}:verify_asan_link_order=0 host "$@"
}
# In such a host the driver's own linker does not run. So the kernels of the form
# that is chosen, which may be another than last time on a busy machine, have to
# be in the driver's cache: a plain host puts them there.
host_without_children() { # HOW
    timeout 300 "$VT_HOST" int8 "$1" >out 2>err && return
    grep -q 'Error waiting for child process' err ||
        fail "host int8 $1: $(cat err)"
    host int8
    fresh
    host int8 "$1"
}
tells() { grep -E "^($1) " out | grep -v '^log' >"$2"; }
forms() { grep -E '^(form|attention) ' "$1"; }
crashes() { stat -c %s crashes 2>/dev/null || echo 0; }

fresh
VITCL_DOT=off host int8
out_has '^form fma$'
tells 'answer' by_fmas
tells 'answer|form|attention' all_by_fmas
fresh
host int8
tells 'answer|form|attention' usual
if grep -q '^before fma$' out; then
    skip "this processor has no instruction that could be tried"
fi
out_has '^before untried$'
out_has '^untried 0$'
out_not 'failed its|cannot be'
form=$(sed -n 's/^form //p' out)
host int8 # the result is stored now
out_has "^before $form$"
tells 'answer|form|attention' again
cmp usual again || fail "another form or answer at the second start"
out_not '^log (vitcl-try|tried)'

# The compiler crashes: it aborts, or ends by one of the other usual signals,
# which varies from commit to commit.
commit=$(git -C "$VT_DATA" rev-parse --short=8 HEAD 2>/dev/null || echo 1)
usual_signals=(11 4 8)
for number in 6 ${usual_signals[$((16#$commit % 3))]}; do
    fresh
    crashing $number int8
    out_has '^form fma; (vp|td)[a-z]+ failed its trial$'
    out_has '^untried 0$'
    out_has "^log (vp|td)[a-z]+ failed its trial: it (crashed with signal $number|ended without)"
    tells answer got
    cmp by_fmas got || fail "signal $number: not by multiply-adds"
    n=$(crashes)
    [ "$n" -gt 0 ] || fail "signal $number: nothing crashed"
    crashing $number int8
    out_has '^before fma; (vp|td)[a-z]+ failed its trial$'
    [ "$(crashes)" = "$n" ] || fail "signal $number: it was tried again"
    tells answer got
    cmp by_fmas got || fail "signal $number: another answer"
done
run 0 devices --json
out_has '"int8":"fma; (vp|td)[a-z]+ failed its trial"'
err_has 'int8 by fma; (vp|td)[a-z]+ failed its trial'
# The same in a host that cannot learn how its child processes end.
for how in ignore reap catch; do
    fresh
    crashing 6 int8 $how
    out_has '^form fma; (vp|td)[a-z]+ failed its trial$'
    tells answer got
    cmp by_fmas got || fail "$how: not by multiply-adds"
    fresh
    host_without_children $how
    out_not 'failed its|cannot be'
    # Trials may choose others than last time; by the same forms the bits are the
    # same.
    tells 'answer|form|attention' got
    for same in usual all_by_fmas; do
        [ "$(forms got)" != "$(forms $same)" ] || cmp $same got ||
            fail "$how: another answer"
    done
done
# Without a cache nothing is stored, and nothing crashes either.
VITCL_CACHE=off crashing 6 int8
out_has '^form fma; (vp|td)[a-z]+ failed its trial$'

# Wrong numbers, also in bf16, by which attention would multiply.
fresh
cp -r "$VT_DATA/../../cl" cl
sed -i 's/vpmaddwd %2/vpaddd %2/; s/vpdpbusd %2/vpaddd %2/; s/"vdpbf16ps %2/"vpaddd %2/' cl/gemm_dot.cl
sed -i 's/"tdpbusd/"tdpbuud/; s/"tdpbf16ps/"tdpbuud/' cl/common_tiles.cl
VITCL_CL_DIR=$PWD/cl host int8
out_has '^form fma; (vp|td)[a-z]+ failed its trial$'
tells answer got
cmp by_fmas got || fail "wrong: not by multiply-adds"

# A program that is missing or cannot run gives no result.
fresh
try=$VITCL_TRY
echo 'not a program' >text
chmod +x text
for VITCL_TRY in "$PWD/absent" "$PWD/text"; do
    export VITCL_TRY
    host int8
    out_has '^form fma; (vp|td)[a-z]+ cannot be tried$'
    out_has '^log (vp|td)[a-z]+ cannot be tried and is not used: .*(absent|text)'
    tells answer got
    cmp by_fmas got || fail "missing: not by multiply-adds"
done
export VITCL_TRY=$PWD/absent
run 0 devices --json
json out
out_has '"int8":"fma; (vp|td)[a-z]+ cannot be tried"'
err_has 'int8 by fma; (vp|td)[a-z]+ cannot be tried'
run 0 classify --precision int8 "$picture"
err_has 'int8 by fma; (vp|td)[a-z]+ cannot be tried'
run 0 classify --precision int8 -v "$picture"
err_has 'cannot be tried and is not used: VITCL_TRY=.*absent: no such program'
host half
out_has '^answer '
run 0 selftest
out_has '^int8 +fma; (vp|td)[a-z]+ cannot be tried$'
out_has '^environment +VITCL_TRY=.*absent'
export VITCL_TRY=$try
host int8
out_has '^before untried$'
out_not 'cannot be'

# A program that prints no result is killed, which counts as a failed trial.
cat >./hang <<H
#!/bin/sh
echo \$\$ >>$PWD/pids
exec sleep 1000
H
cat >./talk <<H
#!/bin/sh
while :; do echo something; echo something >&2; echo nonsense >&0; done
H
chmod +x hang talk
for program in hang talk; do
    fresh
    start=$SECONDS
    VITCL_TRY=$PWD/$program VITCL_TRY_SECONDS=1 host int8
    [ $((SECONDS - start)) -lt 100 ] || fail "$program: $((SECONDS - start)) s"
    out_has '^form fma; (vp|td)[a-z]+ failed its trial$'
    tells answer got
    cmp by_fmas got || fail "$program: not by multiply-adds"
done
while read -r pid; do
    ! kill -0 "$pid" 2>/dev/null || fail "process $pid is still there"
done <pids
# If somebody else kills it, nothing is known about the instruction.
fresh
printf '#!/bin/sh\nkill -TERM $$\n' >hang
VITCL_TRY=$PWD/hang host int8
out_has '^form fma; (vp|td)[a-z]+ cannot be tried$'
host int8
out_has '^before untried$'

# If a host is killed, its trial ends as well.
fresh
cat >hang <<H
#!/bin/sh
echo \$\$ >pid
exec "$try" "\$@"
H
cp -r "$VT_DATA/../../cl" slow
sed -i 's/^    const int chunk = .*/    for (;;) __asm__ volatile("pause");\n&/' \
    slow/gemm_dot.cl
rm -f pid
VITCL_CL_DIR=$PWD/slow VITCL_TRY=$PWD/hang timeout -s KILL 20 "$VT_HOST" int8 \
    >out 2>err || true
[ -s pid ] || fail "no trial had begun"
for _ in 1 2 3 4 5 6 7 8 9 10; do
    kill -0 "$(cat pid)" 2>/dev/null || exit 0
    sleep 0.5
done
fail "the trial outlives its host"
