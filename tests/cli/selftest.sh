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
says 'seconds is for --report'
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
quick_kernels
POCL_MAX_WORK_GROUP_SIZE=32 run 0 selftest
out_has '^clblast (agrees with plain +ok| +not available here: no matrix multiplication "clblast" on )'
out_has '^verdict: this device computes what it should'

# A kernel whose results are off by a thousandth.
cp -r "$VT_DATA/../../cl" kernels
sed -i 's/vt_hsum(acc\[i\]\[j\]);/vt_hsum(acc[i][j]) * 1.001f;/' \
    kernels/gemm_plain.cl
cmp -s kernels/gemm_plain.cl "$VT_DATA/../../cl/gemm_plain.cl" &&
    fail "the kernel was not changed"
export VITCL_CL_DIR=$PWD/kernels
run 1 selftest
out_has 'agrees with plain +FAILED'
out_has '^verdict: FAILED; please report'
out_has '^environment +VITCL_CL_DIR=.*/kernels'
unset VITCL_CL_DIR

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
