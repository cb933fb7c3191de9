# verbose.sh - -v says on stderr what is done. Instructions that fail their
# trial end a process of vitcl-try, not the program, and are named afterwards.
picture=$VT_DATA/sample.jpg
small="--preset vit-ti/16 --size 32 -k 1"
run 0 devices --json
name=$(sed -n '1s/.*"name":"\([^"]*\)".*/\1/p' out | sed 's/[].[()*+?{}|^$\]/\\&/g') # literally
run 0 classify $small "$picture"
cp out quiet
err_not 's\] '
run 0 classify $small -v "$picture"
cmp out quiet || fail "-v changes the answer"
err_has "s\] device [0-9:]+: $name"
err_has 's\] cache: /'
err_has 's\] form: [0-9]+ linear by [a-z]+'
err_has 's\] plan: [0-9]+ steps in f32, multiplied by '
VITCL_CACHE=off run 0 classify $small --verbose "$picture"
err_has 's\] cache: disabled by VITCL_CACHE=off'
err_has 's\] kernels? .*layernorm.* \[.*built (together )?in'
for command in $("$VITCL" --help | grep -oE '^  [a-z]+ '); do
    run 0 $command --help
    out_has '-v, --verbose'
done
run 0 models -v
run 0 info -v
run 0 completion --verbose bash
out_has ' devices\) words=.*--verbose '
run 0 devices -v

# Instructions that the compiler accepts but the processor does not have.
run 0 devices --json
grep -q '"int8":"\(vp\|td\|untried\)' out || exit 0
cp -r "$VT_DATA/../../cl" cl
sed -i 's/__asm__("[a-z0-9%{} ]* %2, %1, %0"/__asm__("ud2"/' cl/gemm_dot.cl
sed -i 's/"tdpbusd /"ud2; tdpbusd /' cl/common_tiles.cl
export VITCL_CL_DIR=$PWD/cl XDG_CACHE_HOME=$PWD/cache
mkdir cache
run 0 devices --json
out_has '"int8":"untried"'
run 0 classify $small --precision int8 "$picture"
err_has 'int8 by fma; (vp|td)[a-z]+ failed its trial'
run 0 devices --json
out_has '"int8":"fma; (vp|td)[a-z]+ failed its trial"'
err_has 'int8 by fma; (vp|td)[a-z]+ failed its trial'
run 0 devices
err_has 'int8 by fma; (vp|td)[a-z]+ failed its trial'
run 0 classify $small --precision int8 -v "$picture"
err_has 's\] int8 by fma; (vp|td)[a-z]+ failed its trial'
