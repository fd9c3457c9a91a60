#!/bin/sh
# The command line: stored results as tables, and in the formats of other tools.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cli.sh"

expect 0 "2 ok" run -w right.mem -s raw,pool --rounds 3 --samples 2 --out p.json
mv out table.txt
expect 0 "" print p.json
cmp -s out table.txt || fail "print: not what run printed"
for format in md csv json; do
    expect 0 "" print p.json --format $format
done
expect 3 "1 wrong" run -w wrong.mem -s raw --rounds 2 --out p-wrong.json
expect 0 "" print p-wrong.json --format bmf
has '^{}$'
expect 0 "" print p-wrong.json --format gbench
has '"triple/smoke/none/last-use/raw/host": "wrong"'
has '"benchmarks": \[\]'
expect 0 "" print p-wrong.json --format jsonl
has '"status":"wrong"'
lacks '"wall_ns":[0-9]'
expect 2 "missing.json" print missing.json
expect 2 "gbench|bmf" print p.json --format google
expect 2 "print" print
expect 2 "print takes one file; only --format otava makes a history of 2" print p.json p-wrong.json
expect 0 "" print p-wrong.json p.json p.json --format otava
[ "$(jq length out)" = 2 ] || fail "a result without a number is in the history"
expect 0 "2 ok" run -w right.mem -s raw,pool --rounds 2 --samples 2 --no-save --format bmf
is_json out
has '"latency": {'

# ---- read as the other tools read it: the fields that compare.py of Google Benchmark takes of two files, and Bencher's adapter
if command -v python3 >/dev/null; then
    "$gamut" print p.json --format gbench >g1.json
    "$gamut" print p.json --format gbench >g2.json
    "$gamut" print p.json --format bmf >bmf.json
    tests=$((tests + 1))
    python3 - <<'END' 2>err || fail "the exports are not what their readers expect"
import json
one, two = (json.load(open(f))["benchmarks"] for f in ("g1.json", "g2.json"))
names = list(dict.fromkeys(b["name"] for b in one))
assert len(names) == 2 * 5, names  # a name for the repetitions, one for each aggregate
for name in names:
    unit = next(b["time_unit"] for b in one if b["name"] == name and "real_time" in b and "cpu_time" in b)
    left, right = ([b for b in file if b["name"] == name and b["time_unit"] == unit] for file in (one, two))
    assert len(left) == len(right) == (3 if left[0]["run_type"] == "iteration" else 1)
    for a, b in zip(left, right):
        assert a["real_time"] == b["real_time"] > 0 or a["aggregate_name"] in ("stddev", "cv")
runs = [b for b in one if b["run_type"] == "iteration"]
assert sorted(b["repetition_index"] for b in runs) == [0, 0, 1, 1, 2, 2]
assert all(b["iterations"] >= 2 and b["repetitions"] == 3 for b in runs)
results = {c["key"]["strategy"]: c for c in json.load(open("p.json"))["cases"]}
for name, measures in json.load(open("bmf.json")).items():
    case = results[name.split("/")[4]]
    assert measures["latency"] == {"value": case["stats"]["wall_ns"]["median"]}, measures
    assert measures["peak-reserved-bytes"]["value"] == case["counters"]["warm"]["peak_reserved_bytes"]
END
fi
# compare.py itself, where there is one (Debian: libbenchmark-tools, python3-scipy): two files, and two filters of one.
compare=${GBENCH_COMPARE:-/usr/share/benchmark/compare.py}
if [ -f "$compare" ] && python3 -c 'import numpy, scipy' 2>/dev/null; then
    "$gamut" run -w right.mem -s raw,pool --rounds 10 --samples 2 --no-save --format gbench >g3.json 2>err
    tests=$((tests + 1))
    { python3 "$compare" --no-color benchmarks g3.json g3.json && python3 "$compare" --no-color filters g3.json raw pool; } >out 2>err ||
        fail "compare.py refuses an export"
    for strategy in raw pool; do
        has "^triple/smoke/none/last-use/$strategy/host_pvalue .* 10 vs 10"
        has "^triple/smoke/none/last-use/$strategy/host_median *+0.0000 "
    done
    has "^triple/smoke/none/last-use/\[raw vs. pool\]/host_pvalue"
fi

# ---- atlases and experiments have tables of their own
expect 0 "1 measured" atlas --quick --out p-atlas.json
expect 0 "" print p-atlas.json
has "alloc"
summary
