# selftest.sh - selftest prints what a report needs and a verdict, which is bad
# if a kernel computes wrong numbers.
run 0 selftest
for key in vitcl system device platform driver OpenCL GEMM cache; do
    out_has "^$key +[^ ]"
done
out_has '^verdict: this device computes what it should'
for precision in f32 f16 bf16 int8; do # once and kept, sent and not, of 1 and 3
    out_has "^$precision on all paths +ok"
done
[ "$(tail -n 1 out | cut -d: -f1)" = verdict ] || fail "the verdict is not last"
run 2 selftest extra
says "unexpected argument 'extra'"
run 2 selftest --seconds 5
says '[-]-seconds needs --report '
run 1 selftest --report no/such/folder.md
[ ! -e no ] || fail "a folder was made"
run 0 selftest --report report.md --seconds 1
for text in '^# A report of vitcl selftest, 20' '^device +[^ ]' '^verdict: this device' \
    '^\| precision \| batch ' '^\| int8 \| 64 \| left out: no time '; do
    grep -Eq "$text" report.md || fail "no $text in $(cat report.md)"
done
grep -q WRONG report.md && fail "$(cat report.md)"
mkdir stopped
"$VITCL" selftest --report stopped/report.md --seconds 60 >out 2>err &
for ((i = 0; i < 600; i++)); do
    [ -z "$(ls -A stopped)" ] || break
    sleep 0.1
done
kill -TERM $!
wait $! && code=0 || code=$?
[ $code = 143 ] || fail "stopped, with status $code: $(cat out err)"
[ -z "$(ls -A stopped)" ] || fail "left: $(ls -A stopped)"
run 1 selftest -d 'no such device'
says 'no such device'

# A provider that the device cannot run is no wrong number: CLBlast's kernels
# have larger groups.
POCL_MAX_WORK_GROUP_SIZE=32 run 0 selftest
out_has '^clblast (gives the known answer +ok| +not available here: no matrix multiplication "clblast" on )'
out_has '^verdict: this device computes what it should'

# wrong FILE SED…: in copies of the kernels these are changed, so status 1
wrong() {
    rm -rf kernels
    cp -r "$VT_DATA/../../cl" kernels
    while [ $# -gt 0 ]; do
        sed -i "$2" "kernels/$1"
        ! cmp -s "kernels/$1" "$VT_DATA/../../cl/$1" || fail "$1 was not changed"
        shift 2
    done
    VITCL_CL_DIR=$PWD/kernels run 1 selftest
    out_has '^verdict: FAILED; please report'
    out_has '^environment +VITCL_CL_DIR=.*/kernels'
}
# A thousandth in one provider, and a third in the weights of one precision.
VITCL_DOT=off wrong gemm_plain.cl 's/vt_hsum(acc\[i\]\[j\]);/vt_hsum(acc[i][j]) * 1.001f;/' \
    gemm_rows.cl 's/const float scale = SCALES(out, N, K)/const float scale = 1.3f * SCALES(out, N, K)/'
out_has '^plain gives the known answer +FAILED'
out_has '^int8, batch of 1, weights kept +FAILED'
for good in 'native gives the known answer' 'f32 on all paths' 'bf16 on all paths'; do
    out_has "^$good +ok"
done
# A thousandth in all of them.
wrong common_work.cl 's/const float rstd = 1.0f/const float rstd = 1.001f/'
for bad in 'plain gives' 'native gives' 'f32, batch of 3, weights read once, sent'; do
    out_has "^$bad .*FAILED"
done

# A driver that loses a launch: the last one before a path's logits are read;
# another path at each commit.
losing() { # VARIABLE=VALUE
    run_code=0
    LD_PRELOAD=$VT_CL_FAIL_LIB ASAN_OPTIONS=${ASAN_OPTIONS-}:verify_asan_link_order=0 \
        env "$1" "$VITCL" selftest >out 2>err || run_code=$?
}
losing VT_CL_COUNT=calls
[ $run_code = 0 ] || fail "status $run_code with the library that counts calls"
python3 - "$VT_DATA" <<'P' >lost
import random, re, subprocess, sys
at = subprocess.run(["git", "-C", sys.argv[1], "rev-parse", "HEAD"], capture_output=True).stdout
calls = open("calls").read().split()
reads = [i for i, name in enumerate(calls) if name == "clEnqueueReadBuffer"]
there = re.findall("^(.*) on all paths", open("out").read(), re.M)
paths = [(p, batch, once, sent) for p in there for batch in (1, 3)
         for once in ("kept", "read once") for sent in ("", ", sent")]
chosen = random.Random(at).randrange(len(paths))
p, batch, once, sent = paths[chosen]
end = reads[-sum(3 if q[1] == 1 else 1 for q in paths[chosen + 1:]) - 1]
print(1 + max(i for i in range(end) if calls[i] == "clEnqueueNDRangeKernel"))
print(f"{p}, batch of {batch}, weights {once}{sent}")
P
losing "VT_CL_FAIL=$(head -n 1 lost) 0"
[ $run_code = 1 ] || fail "a lost launch: status $run_code"
grep FAILED out | cut -c1-44 | sed 's/ *$//' | head -n 1 | diff - <(tail -n 1 lost) ||
    fail "another path was named"

# If there is no verdict, selftest says why. Oclgrind and a sanitizer both want
# to be loaded first.
if command -v oclgrind >/dev/null && ! sanitized; then
    code=0
    VITCL_CACHE=off oclgrind "$VITCL" selftest >out 2>err || code=$?
    [ $code = 1 ] || fail "status $code"
    out_has '^device .*Oclgrind'
    err_has 'no verdict: Oclgrind interprets'
elif ! sanitized; then
    left_out "oclgrind is missing"
fi
