# devices.sh - every device in a block, a table and as JSON; -d and VITCL_DEVICE
# choose.
# Some drivers report the memory that is free, which differs from run to run.
steady() { tr -s ' \n' ' ' | sed -E 's/ memory [0-9.]+ [kMG]?B/ memory/g'; }
run 0 devices
fits 80
out_has '^0:0  '
for key in platform vendor driver type memory GEMM; do
    out_has "^  $key +[^ ]"
done
cp out blocks
on_terminal 200 0 devices
cmp <(steady <out) <(steady <blocks) || fail "a wide terminal shows something else"
on_terminal 60 0 devices
fits 60
cmp <(steady <out) <(steady <blocks) ||
    fail "a narrow terminal shows other words"
run 0 devices --table
out_has '^index +name '
out_has '^0:0 '
[ "$(grep -c '^[0-9]' out)" = "$(grep -c '^[0-9]' blocks)" ] ||
    fail "the table has other devices than the blocks"
run 2 devices --table --json
says 'cannot be used together'
run 0 devices --json
json out
out_has '"index":"0:0"'
for key in name vendor type driver opencl_c compute_units clock_mhz \
    memory_bytes local_bytes fp16 fp64 subgroups integer_dot unified_memory \
    gemm tuned platform version max_alloc_bytes; do
    out_has "\"$key\":"
done
index=$(sed -n '1s/.*"index":"\([^"]*\)".*/\1/p' out)
name=$(sed -n '1s/.*"name":"\([^"]*\)".*/\1/p' out)
picture=$VT_DATA/sample.jpg
small2="--preset vit-ti/16 --size 32"
small="$small2 -k 1"
run 0 classify $small -d "$index" "$picture"
run 0 classify $small -d "${name:0:8}" "$picture"
run 0 classify $small -d any "$picture"
run 1 classify $small -d 'no such device' "$picture"
says "no such device.*$index"
run 1 classify $small -d 77:0 "$picture"
says "$index"
VITCL_DEVICE='not there' run 1 classify $small "$picture"
says "not there.*$index"
VITCL_DEVICE='not there' run 0 classify $small -d "$index" "$picture"
# With several devices and none named, the first run of a model times them.
export XDG_CONFIG_HOME=$PWD/config
run 0 classify $small "$picture"
err_not 'timed the devices'
! grep -qs ' a run' config/vitcl/choices || fail "one device was timed"
export POCL_DEVICES="basic pthread"
if "$VITCL" devices --table | grep -q '^0:1 '; then
    run 0 classify $small "$picture"
    err_has 'timed the devices, once for models of f32, .* a run: (0:[01]) [0-9.]+ ms, 0:[01] [0-9.]+ ms; using \1 '
    cp out answer
    run 0 classify $small "$picture"
    err_not 'timed the devices'
    cmp out answer || fail "another answer"
    run 0 devices
    out_has '^  fastest +f32, .*: 0:[01] .* ms, 0:[01] '
    run 0 devices --json
    json out
    out_has '"fastest":\[\{"models":"f32, '
    # What is kept decides, an answer that names no device does not.
    sed -i 's/\t0:[^\t]*$/\t0:1 1.00 ms, 0:0 2.00 ms/' config/vitcl/choices
    run 0 plan -v $small2
    err_has 'device 0:0: not selected'
    sed -i 's/\t0:[^\t]*$/\t7:1 1.00 ms/' config/vitcl/choices
    run 0 devices
    out_not '^  fastest'
    run 0 plan $small2 -d 0:1
    err_not 'timed the devices'
    VITCL_DEVICE=0:1 run 0 plan $small2
    err_not 'timed the devices'
    # It is measured again, once, and one line of it is shown.
    run 0 classify $small "$picture"
    err_has 'timed the devices'
    run 0 classify $small "$picture"
    err_not 'timed the devices'
    run 0 devices
    [ "$(grep -c '^  fastest' out)" = 1 ] || fail "two answers"
    # A file of another format stays, and then nothing is measured.
    printf 'vitcl choices 2\nwhatever\n' | tee later >config/vitcl/choices
    run 0 classify $small "$picture"
    err_not 'timed the devices'
    cmp later config/vitcl/choices || fail "another version's file is lost"
fi
unset POCL_DEVICES
# Without any driver there is one line that says how to get one.
mkdir none
OCL_ICD_VENDORS=$PWD/none/ run 1 devices
says 'pocl-opencl-icd'
OCL_ICD_VENDORS=$PWD/none/ run 1 classify $small "$picture"
says 'pocl-opencl-icd'
# A file that names a library which is not there is named itself.
mkdir lost
echo libnowhere.so.9 >lost/gone.icd
OCL_ICD_VENDORS=$PWD/lost/ run 1 devices
says 'no OpenCL device: /.*/lost/gone.icd names a library that cannot be loaded: libnowhere.so.9: '
# So is one that names none, one whose library is no driver, and one that is not there.
for line in "" libm.so.6; do
    echo "$line" >lost/gone.icd
    OCL_ICD_VENDORS=$PWD/lost/ run 1 devices
    says "no OpenCL device: /.*/lost/gone.icd names (no library|.*, which is not a driver); install"
done
OCL_ICD_VENDORS=$PWD/lost/other.icd run 1 devices
says 'no OpenCL device: /.*/lost/other.icd cannot be read; install'
# So is the variable itself, which may also name a library.
for value in /no/such/folder libm.so.6; do
    OCL_ICD_VENDORS=$value run 1 devices
    says "no OpenCL device: OCL_ICD_VENDORS names $value, which is (neither a folder nor|not) a driver; correct it, or unset it$"
done
# PoCL's cache is not blamed on other drivers.
if [ -e /etc/OpenCL/vendors/rusticl.icd ]; then
    OCL_ICD_VENDORS=rusticl.icd run 1 devices
    says "drivers are installed but offer none; Mesa's rusticl needs RUSTICL_ENABLE"
    err_not PoCL
fi
# A driver that crashes as it is loaded is the last that -v names.
echo "$VT_CL_CRASH_LIB" >lost/gone.icd
VT_CL_CRASH='6 load 1 -' VT_CL_CRASH_LOG=$PWD/crashes OCL_ICD_VENDORS=$PWD/lost/ run 1 devices -v
err_has 'the OpenCL driver crashed; -v shows where'
[ "$(grep '^vitcl devices: ' err | tail -n 1 | sed 's/.*\] //')" = \
    "driver: loading $VT_CL_CRASH_LIB, which $PWD/lost/gone.icd names" ] || fail "another last line"
