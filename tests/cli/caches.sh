# caches.sh - a driver's cache that is missing, unsafe or damaged neither ends
# the program nor changes an answer.
picture=$VT_DATA/sample.jpg
small="--preset vit-ti/16 --size 32 -k 1"
run 0 classify $small "$picture"
cp out want
same() { cmp out want || fail "another answer"; }
pocl=
run 0 devices
grep -q 'Portable Computing\|pthread\|cpu-' out && pocl=yes

# Without a home, the cache is a private folder below TMPDIR, not /tmp/pocl.
mkdir tmp
export TMPDIR=$PWD/tmp
own=$TMPDIR/vitcl-$(id -u)
(
    unset HOME XDG_CACHE_HOME POCL_CACHE_DIR
    # The first start says what it waits for, later ones do not wait.
    "$VITCL" classify $small "$picture" >out 2>err || fail "the first start"
    same
    [ -z "$pocl" ] || err_has \
        '^vitcl classify: preparing kernels \(once for this device\): [0-9]+ of [0-9]+ programs, [0-9]+ s$'
    "$VITCL" classify $small "$picture" >out 2>err || fail "the second start"
    err_not 'preparing'
    run 0 classify $small -v "$picture"
    same
    err_has "$own does"
    err_has "s\] cache: $own/vitcl"
    [ "$(stat -c %a "$own")" = 700 ] || fail "$own can be read by others"
    [ -z "$pocl" ] || [ -n "$(ls "$own/pocl")" ] || fail "PoCL is elsewhere"
)
# Another number of pictures needs no other kernels.
(
    unset HOME XDG_CACHE_HOME POCL_CACHE_DIR
    for pictures in "1 2" "1 2 3" "1 2 3 4 5" "1 2 3 4 5 6 7"; do
        run 0 classify $small -v ${pictures//[0-9]/"$picture"}
        err_has 's\] kernel gemm.*from the cache'
        err_not 's\] kernel .*built in'
    done
)
cp -r "$own" warm
# The same if a file has the name, or if others may write to the folder.
(
    echo file >blocked
    export XDG_CACHE_HOME=$PWD/blocked
    unset POCL_CACHE_DIR
    run 0 classify $small "$picture"
    same
    rm -rf "$own"
    cp -r warm shared
    rm -rf shared/pocl
    mkdir shared/pocl
    chmod 777 shared/pocl
    export XDG_CACHE_HOME=$PWD/shared
    run 0 classify $small "$picture"
    same
    [ -z "$(ls shared/pocl)" ] || fail "code is kept where others may write"
    [ ! -e "$own" ] || fail "$own without need"
)
# A folder of that name that belongs to somebody else is not used.
(
    unset HOME XDG_CACHE_HOME
    rm -rf "$own"
    mkdir "$own"
    chmod 777 "$own"
    POCL_CACHE_DIR=$PWD/p run 0 devices
    [ -z "$(ls "$own")" ] || fail "$own was taken"
)
rm -rf "$own"

# Truncated object files.
[ -n "$pocl" ] || exit 0
export POCL_CACHE_DIR=$PWD/p XDG_CACHE_HOME=$PWD/warm
run 0 classify $small "$picture"
same
cut() { find p -name '*.so' -exec truncate -s 100 {} + && [ -n "$(find p -name '*.so')" ]; }
cut || fail "no objects in PoCL's cache"
# What other processes have in that folder stays; a folder that a crashed one
# has left does not.
mkdir -p p/AB/C p/again-crashed/AB
touch p/AB/C/building
run 0 classify $small "$picture"
same
err_has 'crashed; trying again with an empty PoCL cache'
[ -e p/AB/C/building ] || fail "another process's folder is gone"
[ -z "$(find p -name 'again*')" ] || fail "the second start's folder is left"
# The damaged files were replaced.
run 0 classify $small "$picture"
same
err_not 'crashed'
cut
code=0
echo "$picture" | "$VITCL" classify $small - >out 2>err || code=$?
[ $code = 1 ] || fail "status $code"
[ ! -s out ] || fail "an answer after all"
err_has "crashed; delete $POCL_CACHE_DIR and run it again"

# A driver that crashes. The second start prints nothing twice, and with
# VITCL_RETRY=off there is no second start.
crash() { # "SIGNAL CALL N TEXT" MOST COMMAND…: its status in `code`
    rm -f crashes
    code=0
    VT_CL_CRASH=$1 VT_CL_CRASH_MOST=$2 VT_CL_CRASH_LOG=$PWD/crashes \
        LD_PRELOAD=$VT_CL_CRASH_LIB \
        ASAN_OPTIONS=${ASAN_OPTIONS-}:verify_asan_link_order=0 \
        "${@:3}" >out 2>err || code=$?
}
# A first start compiles in children. If one crashes, others go on.
if [ -n "$pocl" ] && [ "$(nproc)" -ge 2 ]; then
    for call in clCompileProgram clLinkProgram; do
        export XDG_CACHE_HOME=$PWD/$call
        mkdir $call
        crash "6 $call 1 -" 9 "$VITCL" classify $small "$picture"
        [ $code = 0 ] || fail "$call crashes: status $code"
        [ -s crashes ] || fail "$call was never called"
        same
    done
fi
export XDG_CACHE_HOME=$PWD/fresh
mkdir fresh
crash '6 clCreateProgramWithSource 1 gemm_plain.cl' 2 "$VITCL" selftest
[ $code = 1 ] || fail "status $code"
err_has 'crashed; trying again'
err_has 'crashed; -v shows where'
[ "$(grep -c '^vitcl ' out)" = 1 ] || fail "the report is printed twice"
crash '6 clCreateContext 1 -' 1 "$VITCL" selftest -d 'no such device'
[ $code = 1 ] || fail "status $code"
crash '6 clCreateContext 1 -' 1 env VITCL_RETRY=off "$VITCL" devices
[ $code -gt 128 ] || fail "status $code"
err_not 'trying again'
# Two devices; a terminal would show each line at once.
export POCL_DEVICES='pthread basic'
run 0 devices --json
if [ "$(wc -l <out)" = 2 ] && ! grep -q '"error"' out; then
    cp out want
    crash '6 clCreateContext 2 -' 1 stdbuf -oL "$VITCL" devices --json
    [ $code = 0 ] || fail "status $code"
    err_has 'crashed; trying again'
    cmp out want || fail "a line is printed twice"
fi
