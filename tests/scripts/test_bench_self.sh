#!/bin/sh
# Each program that `make bench-self` runs prints what the harness itself costs.
set -eu
cd "$(dirname "$0")/../.."
found=0
for bench in $(sed -n 's#^"$build/\(tests/[^"]*\)".*#\1#p' scripts/bench_self); do
    found=$((found + 1))
    grep -q 'clock_print_cost(stdout);' "$bench.c" || { echo "$bench does not print the harness's own cost"; exit 1; }
done
[ $found -ge 9 ] || { echo "scripts/bench_self runs $found programs: expected 9 and more"; exit 1; }
