# bench.sh - bench as JSON: every figure that scripts read is there.
run 0 bench --preset vit-ti/16 --size 32 --seconds 0.1 --batch 2 --json
json out
out_lines 1
for key in preset device precision batch ms images_per_s gflops peak_gflops \
    load_ms peak_memory_mb kernels; do
    out_has "\"$key\":"
done
python3 -c 'import json
r = json.load(open("out"))
assert r["preset"] == "vit-ti/16" and r["batch"] == 2
assert 0 < r["ms"]["min"] <= r["ms"]["median"] <= r["ms"]["max"]
assert r["peak_gflops"] > 0 and r["images_per_s"] > 0
assert {"op", "ms", "gflops", "share"} == set(r["kernels"][0])
assert abs(sum(k["share"] for k in r["kernels"]) - 1) < 1e-3' ||
    fail "figures: $(cat out)"
run 0 bench --preset vit-ti/16 --size 32 --seconds 0.1
out_has '^forward .* ms'
on_terminal 60 0 bench --preset vit-ti/16 --size 32 --seconds 0.1
fits 60
run 0 bench --preset vit-ti/16 --size 32 --seconds 0.1
out_has '^forward .* ms \(p90 [0-9.]+, p99 [0-9.]+, min'

# Several batches: a row each, or an object; the figure has them all.
run 0 bench --preset vit-ti/16 --size 32 --seconds 0.1 --batch 1,3,2 --json
json out
out_lines 3
python3 -c 'import json
rows = [json.loads(line) for line in open("out")]
assert [r["batch"] for r in rows] == [1, 3, 2]
first = 0
for r in rows:
    ms = r["ms"]
    assert 0 < ms["min"] <= ms["median"] <= ms["p90"] <= ms["p99"] <= ms["max"]
    assert abs(r["images_per_s"] * ms["median"] / 1e3 / r["batch"] - 1) < 1e-2
    assert r["runs"] >= 3 and r["peak_gflops"] > 0 and r["kernels"]
    # each batch has its own work only
    work = sum(k["ms"] * k["gflops"] for k in r["kernels"])
    first = first or work
    assert abs(work / first / r["batch"] - 1) < 0.05, (r["batch"], work, first)' ||
    fail "figures: $(cat out)"
run 0 bench --preset vit-ti/16 --size 32 --seconds 0.1 --batch 3,1
out_has '^ batch +p50 ms +p90 ms +p99 ms +pictures/s '
out_has '^     3( +[0-9.]+){6}$'
out_has '^     1( +[0-9.]+){6}$'
out_not 'layernorm'
on_terminal 60 0 bench --preset vit-ti/16 --size 32 --seconds 0.1 --batch 3,1
out_has '^     3( +[0-9.]+){6}$' # one line
for batch in 0 '1,' ',1' '1,,2' x 1,x 1.5 -1 ' 1' 65537 99999999999; do
    run 2 bench --preset vit-ti/16 --batch "$batch"
    says "--batch must be whole numbers from 1 to 65536, with commas .*'$batch'"
done
run 2 bench --preset vit-ti/16 --batch "$(seq -s, 33)"
says '--batch has more than 32 numbers'
run 0 bench --help
tr -s ' \n' ' ' <out | grep -q 'this long (default 3), at most 1000 runs' ||
    fail "--help does not say how many runs"
run 2 bench --preset vit-ti/16 --plot b.pdf
says "--plot must be FILE.png or FILE.svg, not 'b.pdf'"
if [ -n "${VITCL_PLOT-}" ]; then
    run 0 bench --preset vit-ti/16 --size 32 --seconds 0.1 --batch 1,2,4 --plot b.svg
    python3 - <<'P' || fail "another figure"
import re, xml.dom.minidom
svg = open("b.svg").read()
xml.dom.minidom.parseString(svg)
# the legend's lines come first, then the curves; Cairo leaves a point on a line out
lines = [re.findall(r"[ML] ([\d.]+) [\d.]+", p) for p in
         re.findall(r"<path [^>]*stroke-width[:=]\W?2\b[^>]*>", svg)][4:]
assert len(lines) == 4, len(lines) # p50, p90, p99, rate
for l in lines:
    first, *middle, last = map(float, l)
    for x in middle:
        assert abs((last - x) - 2 * (x - first)) < 2, l
assert any(len(l) == 3 for l in lines)
P
    run 0 bench --preset vit-ti/16 --size 32 --seconds 0.1 --plot one.png
    [ "$(head -c 4 one.png | tail -c 3)" = PNG ] || fail "no PNG"
    run 1 bench --preset vit-ti/16 --size 32 --seconds 0.1 --plot nowhere/b.svg
    err_has 'nowhere/b.svg: cannot write: No such file'
else
    run 1 bench --preset vit-ti/16 --plot b.svg
    says 'built without Cairo'
fi
# The kernels of a whole run: with the gaps they fill it, and they take no longer
# than it.
run 0 bench --preset vit-ti/16 --size 32 --seconds 0.1 --batch 1,2 --timeline --json
python3 -c 'import json
for line in open("out"):
    r = json.loads(line)
    t = r["timeline"]
    parts = [t[k] for k in ("first_ms", "kernels_ms", "gaps_ms", "rest_ms")]
    assert all(p > 0 for p in parts), t
    assert abs(sum(parts) - t["run_ms"]) < 1e-3, t
    assert 50 < t["steps"] < 120, t
    gaps = [g["ms"] for g in t["gaps"]]
    assert len(gaps) == 10 and gaps == sorted(gaps, reverse=True), gaps
    assert sum(gaps) <= t["gaps_ms"] + 1e-2, t
    assert {g["op"] for g in t["gaps"]} <= {k["op"] for k in r["kernels"]}' ||
    fail "timeline: $(cat out)"
on_terminal 60 0 bench --preset vit-ti/16 --size 32 --seconds 0.1 --timeline
fits 60
run 2 bench --preset vit-ti/16 --size 32 --batch 1,2 --timeline
says '--timeline of several batches needs --json'

# Without pixels the first step works on what is there.
run 0 bench --preset vit-ti/16 --size 32 --seconds 0.1 --no-send
out_has '^forward .* ms'
VITCL_DEVICE_CLASS=gpu run 0 bench --preset vit-ti/16 --size 32 --seconds 0.1 \
    --gemm plain --no-send
out_has '^forward .* ms'

# Buffers in place of parts of one: the same bits.
dir=$VT_DATA/models/timm_vit
for arena in "" own; do
    VITCL_ARENA=$arena VITCL_DEVICE_CLASS=gpu run 0 forward -m "$dir" \
        -i "$dir/input.safetensors" -o "x$arena.safetensors" --gemm plain
done
VITCL_ARENA=x run 1 forward -m "$dir" -i "$dir/input.safetensors" -o y.safetensors
says 'VITCL_ARENA is "x"; it can be own'
cmp x.safetensors xown.safetensors || fail "other bits"
run 0 plan --preset vit-ti/16 --size 32
out_has 'layernorm'
out_has 'attention'
out_has '^activations '
for preset in vit_base_r50_s16_224 resnet50x1; do
    run 0 plan --preset $preset --size 64
    out_has '  1x1000 '
    out_has ' steps, [0-9.]* GFLOP$'
done
# On a processor each step of the ResNet is one launch.
[ "$(sed -nE 's/^([0-9]+) steps.*/\1/p' out)" = \
    "$(sed -nE 's/.* ([0-9]+) launches.*/\1/p' out)" ] || fail "other launches than steps"
run 0 plan --preset vit-ti/16 --size 32 --time --json
json out
out_has '"ms":'

# A trace: the steps of `plan --time`, one after the other; the file is whole or
# the old one stays.
# A terminal gets what fits, the same words; a pipe one line a step.
given=(plan --preset vit-ti/16 --size 32)
run 0 "${given[@]}" --table
cp out table
run 0 "${given[@]}"
cmp out table || fail 'a pipe has another table'
shown() { sed -i 's/.*\x1b\[K//' out; } # without a wait for a first start
on_terminal 60 0 "${given[@]}" --table
shown
cmp out table || fail 'a terminal has another table'
words() { tr -cs 'a-zA-Z0-9.' '\n' <"$1" | sort; }
for columns in 60 80 100; do
    on_terminal $columns 0 "${given[@]}"
    shown
    fits $columns
    cmp <(words out) <(words table) || fail "other words in $columns columns"
    on_terminal $columns 0 "${given[@]}" --time
    shown
    fits $columns
    out_has '^ +0  normalise  '
done
run 2 plan --table --json
says 'cannot be used together'
run 0 plan --preset vit-ti/16 --size 32 --time --json --trace t.json
python3 - <<'P' || fail "another trace"
import json
steps = [json.loads(line) for line in open("out")]
trace = json.load(open("t.json"))
events = [e for e in trace["traceEvents"] if e["ph"] == "X"]
assert {e["ph"] for e in trace["traceEvents"]} == {"M", "X"}
assert len(events) == len(steps) > 10
end = 0
for e, s in zip(events, steps):
    a = e["args"]
    assert abs(e["ts"] - end) < 0.1 and abs(e["dur"] - 1e3 * s["ms"]) < 0.1
    end = e["ts"] + e["dur"]
    assert e["name"] == (s["op"] + " " + s["output"]).strip() and e["cat"] == s["op"]
    assert (a["output"], a["shape"], a["kernel"]) == (s["output"], s["shape"], s["kernel"])
    assert (a["provider"] is not None) == (s["op"] == "linear"), e
    if s["op"] == "linear":
        assert abs(a["GFLOP/s"] * s["ms"] * 1e-3 - s["gflop"]) <= 0.05 * s["gflop"] + 1e-6
P
cp t.json before.json
run 2 plan --preset vit-ti/16 --size 32 --trace t.json
says '--trace needs --time'
run 2 plan --preset vit-ti/16 --size 32 --time --trace t.txt
says '--trace must be FILE.json'
run 1 plan --preset vit-ti/16 --size 32 --time --trace nowhere/t.json
says 'nowhere/t.json: cannot write: No such file'
mkdir full.json
run 1 plan --preset vit-ti/16 --size 32 --time --trace full.json
says 'full.json: is a folder, not a file'
cmp t.json before.json || fail "the trace has changed"
[ "$(find . -name '*vitcl-part*')" = "" ] || fail "a part is left"
