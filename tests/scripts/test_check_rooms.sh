#!/bin/bash
# The check of the directions of includes: what it accepts, and that it sees an arrow that runs back up.
set -u
here=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0

# try CODE PATTERN FILE INCLUDE: a tree with one file that includes one header
try() {
    rm -rf "${dir:?}/tree"
    mkdir -p "$dir/tree/bench" "$dir/tree/strategies" "$dir/tree/workloads" "$dir/tree/$(dirname "$3")"
    printf '#include <stdio.h>\n#include "%s"\n' "$4" >"$dir/tree/$3"
    "$here/scripts/check_rooms" "$dir/tree" >"$dir/out" 2>&1
    code=$?
    if [ $code -ne "$1" ] || { [ -n "$2" ] && ! grep -q "$2" "$dir/out"; }; then
        echo "FAILED: $3 includes $4: exit $code, expected $1 and '$2'"
        sed 's/^/  /' "$dir/out"
        failures=$((failures + 1))
    fi
}

try 0 "" bench/run/rounds/worker.c run/execute/execute.h
try 0 "" strategies/alloc/pool.c alloc/source.h
try 0 "" workloads/fft/fft.c workload.h
try 1 "bench/run/rounds/worker.c:2: bench/run/rounds may not use bench/experiment" bench/run/rounds/worker.c experiment/rows.h
try 1 "strategies/alloc may not use bench/device" strategies/alloc/pool.c device/device.h
try 1 "bench/results/facts may not use bench/device" bench/results/facts/context.h device/nvml.h
try 1 "workloads may not use bench/run/select" workloads/fft/fft.c run/select/inputs.h
try 1 "strategies/merge/pack may not use strategies/merge " strategies/merge/pack/pack.c merge/merge.h
try 1 "bench/attic is not in the table of rooms" bench/attic/old.c base/error.h

[ $failures -eq 0 ] && echo "9 trees as expected"
[ $failures -eq 0 ]
