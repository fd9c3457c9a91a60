#!/bin/sh
# What is advised for six programs of an H100 is what tests/traces/advice.txt shows. A new version of the file:
#   gamut advise --long tests/traces/pytorch/h100/*.trace >tests/traces/advice.txt
root=$(cd "$(dirname "$0")/../.." && pwd)
gamut=${GAMUT:-$root/build/gamut}
[ -x "$gamut" ] || { echo "no binary at $gamut: make it, or set GAMUT" >&2; exit 1; }
for variable in $(env | sed -n 's/^\(GAMUT[A-Z_]*\)=.*/\1/p'); do unset "$variable"; done
advice=$("$gamut" advise --long "$root"/tests/traces/pytorch/h100/*.trace 2>&1) || { echo "FAILED: advise: $advice" >&2; exit 1; }
echo "$advice" | diff "$root/tests/traces/advice.txt" - || { echo "FAILED: the advice is not that of tests/traces/advice.txt" >&2; exit 1; }
