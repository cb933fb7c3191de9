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
run 0 plan --preset vit-ti/16 --size 32
out_has 'layernorm'
out_has 'attention'
out_has '^activations '
run 0 plan --preset vit-ti/16 --size 32 --time --json
json out
out_has '"ms":'

# A trace: the steps of `plan --time`, one after the other; the file is whole or
# the old one stays.
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
says 'full.json: cannot write: Is a directory'
cmp t.json before.json || fail "the trace has changed"
[ "$(find . -name '*.part')" = "" ] || fail "a part is left"
