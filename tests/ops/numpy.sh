# shellcheck shell=sh
# numpy.sh - sets python to one that has NumPy; skips the test that sources it
# where there is none.
python=
for each in python3 /usr/bin/python3; do
    [ -n "$python" ] || ! $each -c "import importlib.util as of
raise SystemExit(not of.find_spec('numpy'))" 2>/dev/null || python=$each
done
[ -n "$python" ] || {
    echo "skipped: NumPy is missing"
    exit 77
}
