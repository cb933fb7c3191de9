# lib.sh - functions for the cases of tests/cli and tests/faults; the runner
# sources it first.
#
# A case is tests/cli/NAME.sh, run by bash with -euo pipefail in an empty
# folder of its own. VITCL is the program, VT_DATA is tests/data. A case that
# cannot run is skipped. One that needs larger data calls `data` in its first
# lines and does nothing that could run without the data.
#
#   run CODE ARGS…       runs vitcl ARGS and wants exit status CODE; its
#                        output lies in the files out and err, without
#                        lines about the wait for a first start
#   on_terminal COLUMNS CODE ARGS…
#                        the same with both streams on a terminal so wide; what
#                        it shows lies in out, with \n after each line
#   fits COLUMNS         no line of out is wider
#   out_has / err_has RE a line of out / err matches the extended regex
#   out_not / err_not RE no line does
#   out_lines N          out has N lines; err_lines likewise
#   says RE              after a failure: nothing on out, one line on err, and
#                        that line matches
#   json FILE            each line of FILE is a JSON value
#   skip WHY             ends the case as skipped
#   left_out WHY         says that a part of the case is skipped
#   data NAME            sets data to NAME in the folder that VITCL_TEST_DATA
#                        names; skips where either is missing
#   numpy                skips where Python has no NumPy, which studies need
#   cifar N              writes data/ with CIFAR-10's files, N pictures in each,
#                        whose label can be seen; the test pictures are those
#                        of the first file
#   sanitized            the program is built with AddressSanitizer
#   hub                  starts a hub of Hugging Face on loopback that serves
#                        hub/ (tests/support/hub.py), and sets HF_HOME,
#                        HF_ENDPOINT and port; skips without vitcl-pull
#   quick_kernels        PoCL compiles without optimisation from now on, in a third of
#                        the time: for cases that are not about what kernels compute
#   for_gpus             the kernels for GPUs from now on, compiled in that way
#   signal_at "CALL N SIGNAL" CODE ARGS…   run, with SIGNAL raised at the N-th
#                        CALL (tests/faults/signal_at.c)

umask 022 # vitcl ignores files that others can write to

fail() {
    printf 'FAILED at %s:%s: %s\n' "$(basename "${BASH_SOURCE[-1]}")" \
        "${BASH_LINENO[1]}" "$*"
    [ -f cmd ] && printf 'command: %s\n' "$(cat cmd)"
    [ -f out ] && { echo '--- out'; head -c 4000 out; }
    [ -f err ] && { echo '--- err'; head -c 4000 err; }
    exit 1
}

# On a busy machine without compiled kernels there are such lines.
without_waits() {
    LC_ALL=C sed -i '/^vitcl[ a-z]*: [a-z ]* (once for this device)/d' err
}

run() {
    local want=$1 code=0
    shift
    printf '%q ' vitcl "$@" >cmd
    "$VITCL" "$@" >out 2>err || code=$?
    without_waits
    [ "$code" = "$want" ] || fail "exit status $code, not $want"
}

on_terminal() {
    local columns=$1 want=$2 code=0
    shift 2
    printf '%q ' vitcl "$@" >cmd
    : >err
    python3 - "$columns" "$VITCL" "$@" >out <<'PYTHON' || code=$?
import fcntl, os, pty, struct, subprocess, sys, termios
leader, follower = pty.openpty()
size = struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0)
fcntl.ioctl(follower, termios.TIOCSWINSZ, size)
child = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL,
                         stdout=follower, stderr=follower)
os.close(follower)
shown = b""
try:
    while part := os.read(leader, 65536):
        shown += part
except OSError:  # the other end is closed
    pass
# only now: a part may end between the two
sys.stdout.buffer.write(shown.replace(b"\r\n", b"\n"))
sys.stdout.flush()
sys.exit(child.wait())
PYTHON
    [ "$code" = "$want" ] || fail "exit status $code, not $want"
}

fits() {
    python3 -c 'import sys, unicodedata
for line in open("out", errors="replace", newline="\n"):
    line = line.rstrip("\n").split("\r")[-1]
    if sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in line
           if not unicodedata.combining(c)) > int(sys.argv[1]):
        sys.exit(line)' "$1" || fail "a line is wider than $1"
}

signal_at() {
    local at=$1 want=$2 code=0
    shift 2
    printf '%q ' "VT_SIGNAL_AT=$at" vitcl "$@" >cmd
    VT_SIGNAL_AT=$at LD_PRELOAD=$VT_SIGNAL_AT_LIB \
        ASAN_OPTIONS=${ASAN_OPTIONS-}:verify_asan_link_order=0 \
        "$VITCL" "$@" >out 2>err || code=$?
    without_waits
    [ "$code" = "$want" ] || fail "exit status $code, not $want"
}

out_has() { grep -qE -- "$1" out || fail "out lacks: $1"; }
err_has() { grep -qE -- "$1" err || fail "err lacks: $1"; }
out_not() { ! grep -qE -- "$1" out || fail "out has: $1"; }
err_not() { ! grep -qE -- "$1" err || fail "err has: $1"; }
out_lines() { [ "$(wc -l <out)" = "$1" ] || fail "out has not $1 lines"; }
err_lines() { [ "$(wc -l <err)" = "$1" ] || fail "err has not $1 lines"; }
says() {
    [ ! -s out ] || fail "out should be empty"
    err_lines 1
    err_has "$1"
}
json() {
    # NaN and Infinity are Python's, not JSON's.
    python3 -c 'import json, sys
for line in open(sys.argv[1]): json.loads(line, parse_constant=sys.exit)' "$1" || fail "$1 is not JSON"
}
left_out() { echo "skipped: $*"; }
skip() {
    left_out "$@"
    exit 77
}
data() {
    [ -n "${VITCL_TEST_DATA-}" ] || skip "VITCL_TEST_DATA is not set"
    [ -d "$VITCL_TEST_DATA" ] || fail "VITCL_TEST_DATA: no folder $VITCL_TEST_DATA"
    data=$VITCL_TEST_DATA/$1
    [ -r "$data" ] || skip "$data is not there"
}
quick_kernels() { export POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable; }
for_gpus() {
    export VITCL_DEVICE_CLASS=gpu
    quick_kernels
}
sanitized() { grep -qaF __asan_init "$VITCL"; }
numpy() { python3 -c 'import numpy' 2>/dev/null || skip "NumPy is missing"; }
cifar() {
    python3 - "$1" <<'P'
import os, random, sys
n = int(sys.argv[1])
random.seed(1)
os.mkdir("data")
for part in range(1, 6):
    with open(f"data/data_batch_{part}.bin", "wb") as f:
        for i in range(n):
            label = (part * n + i) % 10
            f.write(bytes([label]) + bytes(
                min(255, random.randrange(128) + (100 if k % 10 == label else 0))
                for k in range(3072)))
os.link("data/data_batch_1.bin", "data/test_batch.bin")
P
}
# training_batch: batch.safetensors, five pictures of 24x24 pixels, for step
training_batch() {
    python3 - <<'P'
import random, tensors
random.seed(1)
pixels = [random.gauss(0, 1) for _ in range(5 * 3 * 24 * 24)]
tensors.save("batch.safetensors", {"pixel_values": ("F32", [5, 3, 24, 24], pixels), "labels": ("I64", [5], range(5))})
P
}
hub() {
    [ -n "${VITCL_PULL-}" ] || skip "vitcl was built without libcurl"
    unset HF_HUB_CACHE HF_HUB_OFFLINE HF_TOKEN HF_TOKEN_PATH XDG_CACHE_HOME
    unset http_proxy https_proxy all_proxy HTTPS_PROXY ALL_PROXY
    python3 "$(dirname "$VT_DATA")/support/hub.py" hub 2>hub/trouble &
    server=$!
    trap 'kill $server 2>/dev/null; wait $server 2>/dev/null || true' EXIT
    for ((i = 0; i < 200; i++)); do
        [ ! -e hub/ports ] || break
        kill -0 $server || fail "no hub: $(cat hub/trouble)"
        sleep 0.1
    done
    read -r port _ <hub/ports
    export HF_HOME=$PWD/hf HF_ENDPOINT=http://127.0.0.1:$port
}
