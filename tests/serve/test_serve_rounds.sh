#!/bin/bash
# scripts/serve_rounds from end to end on a driver without a device, with stand-ins for the frameworks (frameworks/, rounds/): all rounds are made, each
# program is recorded, predicted and planned, predictions are exact, and a program that fails stops nothing.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$root/${BUILD:-build}
[ -e "$build/libgamut_alloc.so" ] && [ -e "$build/tests/capture/apps/fake/libcuda.so.1" ] || { echo "skipped: built without CUDA"; exit 0; }
python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || { echo "skipped: there is no python3 of 3.9 or later"; exit 0; }
case ${BUILD:-build} in *sanitize* | *thread*) echo "skipped: Python is not sanitized"; exit 0 ;; esac
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failures=0
fail() { failures=$((failures + 1)); echo "FAILED: $1" >&2; }
for variable in $(env | sed -n 's/^\(GAMUT[A-Z_]*\)=.*/\1/p'); do unset "$variable"; done
export FAKE_CUDA_WORKS=1 LD_LIBRARY_PATH=$build/tests/capture/apps/fake PYTHONDONTWRITEBYTECODE=1
export GAMUT_LIBRARY=$build/libgamut_alloc.so GAMUT=$build/gamut GAMUT_PROGRAMS=$here/rounds PYTHONPATH=$here/frameworks

timeout 300 python3 "$root/scripts/serve_rounds" out 200 >log 2>&1 || fail "serve_rounds ends with $?: $(tail -3 log)"
grep -q 'torch: {"can_fork": true}' log || fail "no process could be forked: $(cat log)"
# Of a program of PyTorch: 6 modes in each of 6 rounds, 2 more in 2 of them; of CuPy 5 modes. And the recorded runs.
[ "$(jq '[.[] | select(.program == "layers")] | length' out/runs.json)" = 41 ] || fail "runs of layers: $(jq length out/runs.json)"
[ "$(jq '[.[] | select(.program == "cupy_arrays")] | length' out/runs.json)" = 35 ] || fail "runs of cupy_arrays: $(jq length out/runs.json)"
jq -e '[.[] | select(.failed) | .program] == ["breaks"]' out/runs.json >/dev/null || fail "other programs failed: $(jq -c '[.[] | select(.failed)][0]' out/runs.json)"
python3 "$root/scripts/serve_rounds" --table out >table || fail "no table"
grep -q '^| layers | 1 | 1 | 1 ' table && grep -q '^| layers .*| 6 of 6 .*| 2 of 2 ' table || fail "the table: $(cat table)"
sed -n '/exactly those/,$p' table | grep '^| layers' | grep -q '^| layers \(| [26] of [26] \)*|$' || fail "predictions: $(cat table)"
sed -n '/exactly those/,$p' table | grep '^| cupy_arrays' | grep -q '^| cupy_arrays \(| [26] of [26] \)*|$' || fail "predictions: $(cat table)"
exit $((failures > 0))
