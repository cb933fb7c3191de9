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
