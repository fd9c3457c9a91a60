#!/bin/bash
# The Python module bench/inside/gamut, on a driver without a device and with stand-ins for the frameworks (frameworks/).
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$root/${BUILD:-build}
[ -e "$build/libgamut_alloc.so" ] && [ -e "$build/tests/inside/apps/fake/libcuda.so.1" ] || { echo "skipped: built without CUDA"; exit 0; }
command -v python3 >/dev/null || { echo "skipped: there is no python3"; exit 0; }
case ${BUILD:-build} in *sanitize* | *thread*) echo "skipped: Python is not sanitized"; exit 0 ;; esac
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failures=0
fail() { failures=$((failures + 1)); echo "FAILED: $1" >&2; }
for variable in $(env | sed -n 's/^\(GAMUT[A-Z_]*\)=.*/\1/p'); do unset "$variable"; done
export FAKE_CUDA_WORKS=1 LD_LIBRARY_PATH=$build/tests/inside/apps/fake PYTHONDONTWRITEBYTECODE=1
export GAMUT_LIBRARY=$build/libgamut_alloc.so PYTHONPATH=$root/bench/inside:$here/frameworks
serve() { python3 "$here/frameworks/serve.py" "$1" >out 2>err || fail "$1 ends with $?: $(tail -3 err)"; }

serve torch
[ -s served.json ] || fail "no result file"
serve cupy
grep -q '^1099511627776 bytes' out || fail "cupy: $(cat out)"
serve order
serve wrong
grep -q "strategy caching could not start: .*max_split is 1048576" out || fail "wrong: $(cat out)"
grep -q "there is no strategy 'vmmm' (did you mean vmm?)" out && grep -q "framework 'tensorflow': there are torch, cupy, rmm" out || fail "wrong: $(cat out)"
# Statistics and a result when the process ends.
GAMUT_SERVE_STATISTICS=- GAMUT_SERVE_RESULT=end.json serve cupy
grep -q '"strategy": "pool:leading_bits=3"' err && [ -s end.json ] || fail "at the end: $(cat err)"
# The library is found where make install puts it.
mkdir -p lib/gamut/python && cp "$build/libgamut_alloc.so" lib/gamut && cp -r "$root/bench/inside/gamut" lib/gamut/python
unset GAMUT_LIBRARY
PYTHONPATH=lib/gamut/python:$here/frameworks serve cupy
rm lib/gamut/libgamut_alloc.so
PYTHONPATH=lib/gamut/python:$here/frameworks python3 -c 'import gamut; gamut.path()' 2>err && fail "a library that is not there was found"
grep -q 'libgamut_alloc.so is neither beside' err || fail "no library: $(cat err)"
exit $((failures > 0))
