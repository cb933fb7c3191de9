# tune.sh - parameters are searched, stored, used and checked; instructions
# that do not work crash a child process, not the run.
export XDG_CONFIG_HOME=$PWD/config
device=$("$VITCL" devices --json | sed -n '1s/.*"name":"\([^"]*\)".*/\1/p')
driver=$("$VITCL" devices --json | sed -n '1s/.*"driver":"\([^"]*\)".*/\1/p')
small="-m $VT_DATA/models/timm_vit -d 0:0"
kernel() { sed -n '/ linear /s/.*  native/native/p' out | head -1; }
answers() { # FILE [options]
    local file=$1
    shift
    run 0 embed $small --gemm native "$@" -o "$file" "$VT_DATA/sample.jpg"
}
out_tuned() {
    run 0 devices --json
    grep -q "\"index\":\"0:0\".*\"tuned\":$1[,}]" out || fail "not tuned: $1"
}

# A search of length zero measures the built-in parameters and stores them.
out_tuned 0
answers plain.npy
run 0 tune $small --seconds 1
err_lines 0
out_lines 2
out_has '^(rows|tile|clblast) f32 '
out_has 'times as fast as before; kept in .*/config/vitcl/tuned$'
grep -q "^$device	$driver	[a-z]* f32 " config/vitcl/tuned ||
    fail "kept: $(cat config/vitcl/tuned)"
out_tuned 1
[ -z "$(find config/vitcl -type f ! -name tuned ! -name choices)" ] || fail "left something"
run 0 plan $small
out_has ', tuned(, measured)?$'

# A line written by hand chooses another kernel; the answer has the same bits.
if grep -q '	rows f32' config/vitcl/tuned; then
    run 0 plan $small --gemm native
    before=$(kernel)
    line='lanes 4 vectors 3 block 2 terms 64 rows 4 panels 1 groups 2'
    printf 'vitcl tuned 1\n%s\t%s\trows f32 %s\n' "$device" "$driver" "$line" \
        >config/vitcl/tuned
    run 0 plan $small --gemm native
    err_lines 0
    out_has 'native rows [12]x12 f32, tuned'
    [ "$(kernel)" != "$before" ] || fail "the kernel is still $before"
    answers tuned.npy
    cmp plain.npy tuned.npy || fail "other bits"
fi

# Wrong lines are ignored, with one warning.
sed -i 's/f32 .*/f32 lanes 1000000/' config/vitcl/tuned
answers bad.npy
err_lines 1
err_has '/config/vitcl/tuned:2 is ignored: '
cmp plain.npy bad.npy || fail "other bits"
run 0 devices
err_lines 1
head -c 3000 /dev/urandom >config/vitcl/tuned
answers bad.npy
err_lines 1
err_has '/config/vitcl/tuned is ignored: '
cmp plain.npy bad.npy || fail "other bits"
# Such a file is not replaced: nothing is searched. One that begins with a NUL is
# not an empty one.
{ printf '\0' && head -c 3000 /dev/urandom; } >config/vitcl/tuned
cp config/vitcl/tuned before
run 1 tune $small --seconds 60
err_has '/config/vitcl/tuned: .* nothing can be added; correct or remove it$'
cmp before config/vitcl/tuned || fail "its lines are lost"
# Nor is anything searched where nothing can be kept.
XDG_CONFIG_HOME='' HOME='' run 1 tune $small --seconds 60
says 'no place to keep what is found: neither XDG_CONFIG_HOME nor HOME is the path of a folder$'
XDG_CONFIG_HOME=$PWD/none/such run 1 tune $small --seconds 60
says '/none/such/vitcl/tuned: cannot write: No such file or directory$'
rm config/vitcl/tuned

# What is kept for CLBlast, as CLBlast's own tuners write it.
run 1 tune --export clblast -d 0:0
says 'nothing is tuned for CLBlast on .* yet: vitcl tune --gemm clblast does it$'
[ ! -e clblast_xgemm_2_32.json ] || fail "wrote nothing tuned"
run 2 tune --export clblast -m "$VT_DATA/models/timm_vit"
says '[-]-export and -m cannot be used together$'
run 2 tune $small -o out.json
says '^vitcl tune: -o needs --export clblast$'
run 0 plan $small --gemm clblast
if grep -q 'clblast Xgemm' out; then
    line='GEMMK 0 KREG 1 KWG 16 KWI 2 MDIMA 8 MDIMC 8 MWG 32 NDIMB 8 NDIMC 8 NWG 32 SA 0 SB 0 STRM 0 STRN 0 VWM 4 VWN 4'
    printf 'vitcl tuned 1\n%s\t%s\tclblast f32 %s\n' "$device" "$driver" "$line" \
        >config/vitcl/tuned
    run 0 tune --export clblast -d 0:0
    err_lines 0
    out_has '^clblast_xgemm_2_32.json: [0-9.]+ ms for 1024x1024x1024; [0-9.]+ ms with the built-in parameters$'
    run 0 devices --json
    mv out devices.json
    python3 - "$line" <<'P' || fail "not a file of CLBlast's: $(cat clblast_xgemm_2_32.json)"
import json, sys

words = sys.argv[1].split()
tuned = dict(zip(words[::2], map(int, words[1::2])))
file = json.load(open("clblast_xgemm_2_32.json"))
here = json.loads(open("devices.json").readline())
# What scripts/database reads: all but the arrays are strings.
attributes = """kernel_family precision best_kernel best_time best_parameters
    arg_m arg_n arg_k arg_alpha arg_beta device device_vendor device_type
    device_core_clock device_compute_units device_extra_info platform_vendor
    platform_version clblast_device_type clblast_device_vendor
    clblast_device_architecture clblast_device_name""".split()
assert sorted(file) == sorted(attributes + ["results"]), sorted(file)
assert all(isinstance(file[a], str) for a in attributes)
assert file["kernel_family"].rstrip("12_") == "xgemm"
assert file["precision"] == "32" and file["best_kernel"] == "Xgemm"
assert [file["arg_" + a] for a in ("m", "n", "k")] == ["1024"] * 3
assert [file["arg_" + a] for a in ("alpha", "beta")] == ["2.00"] * 2
assert file["device"] == here["name"] and file["device_vendor"] == here["vendor"]
assert file["clblast_device_name"] == here["name"].replace("pthread-", "", 1)
assert file["clblast_device_type"] == file["device_type"] == "CPU"
assert file["device_compute_units"] == str(here["compute_units"])
assert file["platform_vendor"] and file["platform_version"].startswith("OpenCL ")
results = file["results"]
assert len(results) == 2
for r in results:
    assert sorted(r) == ["kernel", "parameters", "time"], r
    assert r["kernel"] == "Xgemm" and r["time"] > 0
    assert r["parameters"].pop("PRECISION") == 32
    assert list(r["parameters"]) == list(tuned), r  # the database's order
assert results[0]["parameters"] == tuned != results[1]["parameters"]
best = min(results, key=lambda r: r["time"])
want = dict(best["parameters"], PRECISION=32)
got = dict(w.split("=") for w in file["best_parameters"].split())
assert {k: int(v) for k, v in got.items()} == want, got
assert abs(float(file["best_time"]) - best["time"]) <= 0.006
P
    # Nothing is left where it cannot be measured.
    VITCL_TRY=/nonexistent run 1 tune --export clblast -d 0:0 -o new.json
    [ ! -e new.json ] || fail "wrote what was not measured"
    rm config/vitcl/tuned
fi

# A GPU's default is tuned in f32; elsewhere it is the native one that is not.
VITCL_DEVICE_CLASS=gpu run 1 tune $small --precision bf16
says 'the native multiplication cannot be tuned in bf16 on '

run 2 tune $small nonsense
run 2 tune $small --gemm plain
says "--gemm must be clblast or native, not 'plain'"
run 1 tune --preset vit-ti/16 -d 'no such device'
says 'no such device'

# An instruction that the processor lacks: the child process is killed, the run
# uses multiply-adds, and later runs know the result.
export XDG_CACHE_HOME=$PWD/cache
cp -r "$VT_DATA/../../cl" lacking
sed -i 's/^    const int chunk = .*/    __asm__ volatile("ud2");\n&/' \
    lacking/gemm_dot.cl
answers plain8.npy --precision int8
if grep -qs '^int8 by: [vt]' cache/vitcl/*.verdict; then
    answers plain8.npy --precision int8
    VITCL_DOT=off answers fma8.npy --precision int8
    err_lines 0
    export VITCL_CL_DIR=$PWD/lacking
    answers lacking.npy --precision int8
    err_lines 1
    err_has 'int8 by fma; (vp|td)[a-z]+ failed its trial'
    cmp fma8.npy lacking.npy || fail "not by multiply-adds"
    answers lacking.npy --precision int8
    err_lines 0
    cmp fma8.npy lacking.npy || fail "not by multiply-adds"
    # A candidate that crashes its child process does not end the search.
    sed -i 's/^    const int chunk = .*/    __asm__ volatile("ud2");\n&/' \
        lacking/gemm_rows.cl
    run 1 tune $small --seconds 1
    says 'the parameters in use cannot be timed: it crashed with signal 4$'
    [ ! -e config/vitcl/tuned ] || fail "kept nothing"
fi
