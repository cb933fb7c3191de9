# products.sh - the default of a GPU and of a processor that is not known: each
# product by the multiplication that was the fastest when all were timed, once
# for a device, driver and version.
export XDG_CONFIG_HOME=$PWD/config VITCL_DEVICE_CLASS=gpu
small="-m $VT_DATA/models/timm_vit -d 0:0"
kept=config/vitcl/choices
picture=$VT_DATA/sample.jpg
# For sed: every answer says that BEST was faster than OTHER.
answers() { # BEST OTHER
    echo "s/	[a-z]* [0-9.]* ms, [a-z]* [0-9.]* ms\$/	$1 1.000 ms, $2 2.000 ms/"
}
run 0 plan $small -v --gemm clblast
[ ! -e $kept ] || fail "timed with --gemm"
grep -q 'clblast Xgemm' out || skip "CLBlast does not work here"
VITCL_CACHE=off run 0 plan $small
[ ! -e $kept ] || fail "timed without a cache"
out_not 'measured'
out_has 'clblast Xgemm'
run 0 plan $small
err_has 'timed [1-9][0-9]* products? with every multiplication, once for this device'
out_has 'measured'
grep -q '	product .*: [0-9x]* f32 .*by tile clblast	' $kept || fail "$(cat $kept)"
cp $kept first
run 0 plan $small -v
err_not 'timed'
err_has 'product .* f32 .*: (tile|clblast) [0-9.]+ ms, '
cmp $kept first || fail "timed again"
# What is kept decides, for any batch.
sed -i "$(answers tile clblast)" $kept
grep -q 'tile 1.000' $kept || fail "$(cat $kept)"
run 0 plan $small
out_has 'native tile .*, measured'
out_not 'clblast'
run 0 plan $small --batch 3
err_not 'timed'
out_not 'clblast'
run 0 embed $small "$picture" -o tile.csv
run 0 embed $small "$picture" --gemm native -o native.csv
cmp tile.csv native.csv || fail "another multiplication than what is kept"
sed -i 's/tile 1.000 ms, clblast/clblast 1.000 ms, tile/' $kept
run 0 plan $small
out_has 'clblast Xgemm.*, measured'
out_not 'native'
run 0 devices
out_has '^  products +fastest: clblast [0-9]+$'
run 0 devices --json
json out
out_has '"products":"clblast [0-9]+"'
run 0 bench $small --seconds 0.2 --json
out_has '"gemm":"clblast"'
run 0 plan $small --gemm native
out_not 'clblast'
# Another version's or driver's answers, and wrong ones, do not count.
for change in 's/^[0-9.]*	/9.9.9	/' 's/, [^,:]*: /, another driver: /' \
    's/	clblast [^	]*$/	faster 1.000 ms/'; do
    sed "$change" $kept >changed
    grep -v '^#' changed | tail -n +2 >lines
    cp changed $kept
    run 0 plan $small
    err_has 'timed [1-9]'
    grep -qxFf lines $kept || fail "other lines are gone: $(cat $kept)"
    cp $kept again
    run 0 plan $small
    err_not timed
    cmp $kept again || fail "timed twice"
done
# Where nothing can be kept, the order is fixed.
printf 'vitcl choices 2\n' >$kept
run 0 plan $small
err_not timed
out_has 'clblast Xgemm'
out_not measured
# A known processor's order is fixed; another one's products are timed in f32.
rm $kept
export VITCL_DEVICE_CLASS=cpu
if grep -qw avx2 /proc/cpuinfo; then
    run 0 plan $small -v
    [ ! -e $kept ] || fail "timed on a known processor"
    out_has 'native rows'
    out_not 'clblast|measured'
fi
export VITCL_DEVICE_CLASS=unknown-cpu
run 0 plan $small
err_has 'timed [1-9][0-9]* products? with every multiplication, once for this device'
out_has 'measured'
grep -q '	product .*: [0-9x]* f32 .*by [a-z]* clblast	' $kept || fail "$(cat $kept)"
cp $kept first
run 0 plan $small -v
err_not 'timed'
cmp $kept first || fail "timed again"
for best in rows clblast; do
    other=clblast
    [ $best = rows ] || other=rows
    sed -i "$(answers $best $other)" $kept
    run 0 plan $small
    err_not 'timed'
    out_has "$best .*, measured"
    out_not "$other .*, measured"
done
# In another precision only the products that stay f32 are timed: the head's and,
# where no unit multiplies bf16, the patches'. By the rows the bits are native's.
rm $kept
run 0 plan $small --precision int8
n=2 timed='2 products'
! grep -qE '^ +2 +linear .* [tv]dpbf16ps ' out || n=1 timed='1 product'
err_has "timed $timed with every multiplication"
[ "$(grep -c '	product .* f32 ' $kept)/$(grep -c '	product ' $kept)" = $n/$n ] ||
    fail "$(cat $kept)"
sed -i "$(answers rows clblast)" $kept
run 0 embed $small "$picture" --gemm native --precision int8 -o native8.csv
run 0 embed $small "$picture" --precision int8 -o int8.csv
err_not 'timed'
cmp int8.csv native8.csv || fail "int8 has other bits"
VITCL_CACHE=off run 0 plan $small
out_has 'native rows'
out_not 'clblast|measured'
