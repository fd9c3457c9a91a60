#!/bin/bash
# The record of a replay on PoCL equals the record: same requests, frees, commands on the same queues with the same blocks and bytes, and waits.
# For a program with all that makes this hard, and for applications that were recorded (suites/real) and play within a second.
# tests/inside/apps/check_apps.sh does the same with applications that it records itself.
. "$(dirname "$0")/capture.sh"
needs opencl
"$app" >/dev/null || { echo "skipped: no device of OpenCL"; exit 0; }

"$gamut" record -o app.trace -- "$app" >/dev/null 2>&1 || fail "record ends with $?"
plays_again app.trace
"$gamut" record -o threads.trace -- "$app" threads >/dev/null 2>&1 || fail "threads: record ends with $?"
plays_again threads.trace
# With the recorded gaps, and the first replay, whose times do not count.
"$gamut" record -o gaps.trace -- "$gamut" replay app.trace -D opencl -s raw --rounds 1 --no-save >/dev/null 2>&1
for n in 0 1; do
    "$gamut" trace cut --force --phase "replay $n" -o part.trace gaps.trace 2>/dev/null
    same_actions app.trace part.trace
done
# A pool asks the driver for other blocks: the comparison sees it.
"$gamut" record -o pool.trace -- "$gamut" replay app.trace -D opencl -s pool --rounds 1 --no-save >/dev/null 2>&1
"$gamut" trace cut --force --phase "replay 1" -o part.trace pool.trace 2>/dev/null || fail "the replay under pool was not recorded"
"$gamut" trace diff --actions app.trace part.trace >/dev/null && fail "a replay under pool seems to be one under raw"

for name in ffmpeg pyclesperanto tinygrad; do
    plays_again "$root/suites/real/$name.trace"
done

[ $failures -eq 0 ]
