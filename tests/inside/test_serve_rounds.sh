#!/bin/bash
# scripts/serve_rounds from end to end on a driver without a device, with stand-ins for the frameworks (frameworks/, rounds/): all rounds are made, each
# program is recorded, predicted and planned, predictions are exact, and a program that fails stops nothing.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$root/${BUILD:-build}
[ -e "$build/libgamut_alloc.so" ] && [ -e "$build/tests/inside/apps/fake/libcuda.so.1" ] || { echo "skipped: built without CUDA"; exit 0; }
python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || { echo "skipped: there is no python3 of 3.9 or later"; exit 0; }
case ${BUILD:-build} in *sanitize* | *thread*) echo "skipped: Python is not sanitized"; exit 0 ;; esac
gamut=${GAMUT:-$build/gamut}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failures=0
fail() { failures=$((failures + 1)); echo "FAILED: $1" >&2; }
for variable in $(env | sed -n 's/^\(GAMUT[A-Z_]*\)=.*/\1/p'); do unset "$variable"; done
export FAKE_CUDA_WORKS=1 LD_LIBRARY_PATH=$build/tests/inside/apps/fake PYTHONDONTWRITEBYTECODE=1
export GAMUT_LIBRARY=$build/libgamut_alloc.so GAMUT=$gamut GAMUT_PROGRAMS=$here/rounds PYTHONPATH=$here/frameworks

export GAMUT_CUPTI=$build/tests/inside/apps/fake/libcuda.so.1 GAMUT_ATLAS=$root/$(sed -n 's/^<!--tables:at-rest atlas=\(.*\)-->/\1/p' "$root/docs/driver-costs.md")

timeout 1000 python3 "$root/scripts/serve_rounds" out 1000 layers cupy_arrays breaks captures loses >log 2>&1 || fail "serve_rounds ends with $?: $(tail -3 log)"
grep -q 'torch: {"can_fork": true, "version": "2.11"}' log || fail "no process could be forked: $(cat log)"
# Of a program of PyTorch: 6 modes in each of 6 rounds, 2 more in 2 of them; of CuPy 5 modes. And the recorded runs.
[ "$(jq '[.runs[] | select(.program == "layers")] | length' out/runs.json)" = 41 ] || fail "runs of layers: $(jq '.runs | length' out/runs.json)"
[ "$(jq '[.runs[] | select(.program == "cupy_arrays")] | length' out/runs.json)" = 35 ] || fail "runs of cupy_arrays: $(jq '.runs | length' out/runs.json)"
jq -e '[.runs[] | select(.failed) | .program] == ["breaks"]' out/runs.json >/dev/null || fail "other programs failed: $(jq -c '[.runs[] | select(.failed)][0]' out/runs.json)"
jq -e '.measured | .frameworks.torch == "2.11" and (.machine | contains("CUDA")) and (.gamut | startswith("gamut "))' out/runs.json >/dev/null || fail "what measured: $(jq -c .measured out/runs.json)"
! grep -q "$dir" out/runs.json || fail "runs.json has paths of the machine"
python3 "$root/scripts/serve_rounds" --table out >table || fail "no table"
grep -q '^| layers | 1 | 1 | 1 ' table && grep -q '^| layers | 5 of 5 | 6 of 6 ' table && grep -q '^| layers .*| 6 of 6 .*| 2 of 2 ' table || fail "the table: $(cat table)"
sed -n '/exactly those/,$p' table | grep '^| layers' | grep -q '^| layers \(| [26] of [26] \)*|$' || fail "predictions: $(cat table)"
sed -n '/exactly those/,$p' table | grep '^| cupy_arrays' | grep -q '^| cupy_arrays \(| [26] of [26] \)*|$' || fail "predictions: $(cat table)"

# The tables of the pages, of the folder and of its runs alone
python3 "$root/scripts/serve_rounds" --data out >data.json || fail "no data"
jq -e '[.tables[].rows[0][0]] | unique == ["layers"]' data.json >/dev/null && jq -e '.tables.exact.rows | map(.[0]) == ["layers", "CuPy arrays", "captures", "loses"] and all(.[1:] == ["6 of 6", "6 of 6", "6 of 6", "2 of 2", "2 of 2"])' data.json >/dev/null || fail "the data: $(cat data.json)"
jq -e '.tables.times.rows[0][1:5] | (.[0] | test("^[0-9.]+ ms$")) and (.[1:] | all(test("^[0-9.]+ \\[[0-9.]+, [0-9.]+\\]$")))' data.json >/dev/null || fail "the times: $(jq -c .tables.times data.json)"
gzip -c out/runs.json >runs.json.gz && python3 "$root/scripts/serve_rounds" --data runs.json.gz | cmp - data.json || fail "the data of the runs alone"
# A prediction that is not what was served is shown with both figures.
jq '.predicted.layers.vmm.hit_count += 1' out/runs.json >wrong.json
python3 "$root/scripts/serve_rounds" --table wrong.json >table-wrong
grep -q '^| layers | 6 of 6 | 0 of 6; hit_count [0-9]* for [0-9]*; ' table-wrong || fail "a wrong prediction"

# Predicted times. Steps but the first make no call of the driver under any strategy, so the prediction of all is the same. A program that cannot go
# without its allocator, and one that takes too long, cost nothing else.
jq -e '.timed | keys == ["layers"] and (.layers.predicted_ms | keys == ["caching", "planned", "pool", "tlsf", "vmm"] and .vmm > 0 and (map(.) | unique | length == 1)) and (.layers.recorded_step_ms | length == 4)' out/runs.json >/dev/null ||
    fail "the predicted times: $(jq -c .timed out/runs.json) $(cat log)"
grep -q 'captures is left out of the predicted times: RuntimeError: the driver has no memory for a capture$' log || fail "captures: $(cat log)"
grep -q 'loses is left out of the predicted times: .*device' log || fail "loses: $(cat log)"
sed -n '/^Predicted time/,/^Counters/p' table | grep -q '^| layers \(| [0-9.]*, [0-9.]* \)\{5\}|$' || fail "the predicted times in the table: $(cat table)"
jq -e '.tables["predicted-times"] | .head == ["program", "`caching`", "`vmm`", "`planned`", "`pool`", "`tlsf`"] and (.rows | length == 1) and (.rows[0][1:] | all(test("^[0-9.]+, [0-9.]+$")))' data.json >/dev/null || fail "the predicted times in the data"
GAMUT_TIMED_S=0.5 timeout 1000 python3 "$root/scripts/serve_rounds" late 1000 sleeps layers >log 2>&1 || fail "a program that sleeps: $(cat log)"
grep -q 'sleeps is left out of the predicted times: gamut record was ended after [0-9]* s$' log && grep -q 'layers is left out of the predicted times: no time is left$' log || fail "a program that sleeps: $(cat log)"
[ "$(jq '[.runs[] | select(.failed | not) | select(.phase == "round 0")] | length' late/runs.json)" = 16 ] && jq -e '.timed == {}' late/runs.json >/dev/null || fail "nothing was measured after a program that sleeps"
python3 "$root/scripts/serve_rounds" --data late | jq -e '.tables["predicted-times"].rows == []' >/dev/null || fail "predicted times that nothing predicted"
! pgrep -f "$dir/late" || fail "the program that sleeps is still there"
# Without an atlas nothing is recorded with times.
GAMUT_ATLAS= timeout 1000 python3 "$root/scripts/serve_rounds" without 1 layers >log 2>&1 && ! grep -q 'predicted times\|times predicted' log || fail "without an atlas: $(cat log)"
exit $((failures > 0))
