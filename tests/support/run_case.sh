#!/usr/bin/env bash
# run_case.sh CASE.sh - run one case of tests/cli or tests/faults in an empty folder.
#
# What the case prints is compared with CASE.out and CASE.err, and its exit
# status with CASE.code, where those files exist; without CASE.code it must be
# 0. A case that cannot run here exits with 77 and says why: it is skipped.
# Its Python finds tensors.py, and leaves no compiled module beside it.
set -u
case=$(cd "$(dirname "$1")" && pwd)/$(basename "$1" .sh)
support=$(cd "$(dirname "$0")" && pwd)
export PYTHONPATH=$support${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1
export TERM=xterm-256color # without it, no line would be drawn
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/work" "$dir/tmp"
export TMPDIR=$dir/tmp
cd "$dir/work" || exit 1

BASH_ENV=$(dirname "$case")/../cli/lib.sh bash -euo pipefail "$case.sh" \
    >"$dir/out" 2>"$dir/err" </dev/null
code=$?
[ "$code" != 77 ] || { cat "$dir/out"; exit 77; }
grep '^skipped: ' "$dir/out" # for tools/test, which counts them
failed=0
want=0
[ -f "$case.code" ] && want=$(cat "$case.code")
[ "$code" = "$want" ] || { echo "exit status $code, not $want"; failed=1; }
for stream in out err; do
    if [ -f "$case.$stream" ]; then
        diff -u "$case.$stream" "$dir/$stream" || failed=1
    fi
done
if [ $failed = 1 ]; then
    cat "$dir/out" "$dir/err"
fi
exit $failed
