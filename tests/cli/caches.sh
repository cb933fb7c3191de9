# caches.sh - a driver's cache that is not there, not safe or damaged neither
# ends the program nor changes an answer.
picture=$VT_DATA/sample.jpg
small="--preset vit-ti/16 --size 32 -k 1"
run 0 classify $small "$picture"
cp out want
same() { cmp out want || fail "another answer"; }
pocl=
run 0 devices
grep -q 'Portable Computing\|pthread\|cpu-' out && pocl=yes

# No home: a folder of our own below TMPDIR, not /tmp/pocl.
mkdir tmp
export TMPDIR=$PWD/tmp
own=$TMPDIR/vitcl-$(id -u)
(
    unset HOME XDG_CACHE_HOME POCL_CACHE_DIR
    run 0 classify $small -v "$picture"
    same
    err_has "$own does"
    err_has "s\] cache: $own/vitcl"
    [ "$(stat -c %a "$own")" = 700 ] || fail "$own can be read by others"
    [ -z "$pocl" ] || [ -n "$(ls "$own/pocl")" ] || fail "PoCL is elsewhere"
)
cp -r "$own" warm
# Nor one where a file is in the way, or what others may write.
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
# Somebody else's folder of that name is not taken.
(
    unset HOME XDG_CACHE_HOME
    rm -rf "$own"
    mkdir "$own"
    chmod 777 "$own"
    POCL_CACHE_DIR=$PWD/p run 0 devices
    [ -z "$(ls "$own")" ] || fail "$own was taken"
)
rm -rf "$own"

# Objects that were cut short.
[ -n "$pocl" ] || exit 0
export POCL_CACHE_DIR=$PWD/p XDG_CACHE_HOME=$PWD/warm
run 0 classify $small "$picture"
same
cut() { find p -name '*.so' -exec truncate -s 100 {} + && [ -n "$(find p -name '*.so')" ]; }
cut || fail "no objects in PoCL's cache"
run 0 classify $small "$picture"
same
err_has 'crashed; trying again'
cut
code=0
echo "$picture" | "$VITCL" classify $small - >out 2>err || code=$?
[ $code = 1 ] || fail "status $code"
[ ! -s out ] || fail "an answer after all"
err_has "crashed; delete $POCL_CACHE_DIR and run it again"
