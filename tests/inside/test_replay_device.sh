#!/bin/bash
# Replays the recording of an application of OpenCL on PoCL and on the host, under several allocators.
. "$(dirname "$0")/capture.sh"
needs opencl

"$app" >/dev/null || { echo "skipped: no device of OpenCL"; exit 0; }
"$gamut" record --times -o app.trace -- "$app" >/dev/null 2>&1 || fail "record ends with $?"

for device in opencl host; do
    "$gamut" replay app.trace -D $device -s raw,pool,caching,tlsf --rounds 2 --no-save >out 2>err ||
        fail "on $device: exit $?: $(cat out err)"
    grep -q '^gamut: 4 ok' err || fail "on $device: not every case is ok: $(cat err)"
    # On another device than the recorded one the time under the recorded allocator is a prediction too.
    [ $device = opencl ] && end='' || end=': a prediction .*'
    grep -q "app, raw on .* of the recorded [^:]*$end\$" err || fail "on $device: raw is not compared with the recorded time"
    grep -q 'app, pool on .*: a prediction of the application' err || fail "on $device: pool is not called a prediction"
    grep -q 'without a block that the record has' err && fail "on $device: commands were lost: $(cat err)"
done
# Every exact count of a replay on a device is that of the replay without one, for each strategy that both can have.
# exact FILE: strategy, counter and value; what arena holds is half of the device's memory
exact() { awk -F, '$13 == "exact" && !($7 == "arena" && $11 == "peak_reserved_bytes") { print $7, $11, $17 }' "$1" | sort; }
"$gamut" replay app.trace -s all --free-at let-go --format csv --no-save >dry.csv 2>/dev/null || fail "the replay without a device"
exact dry.csv >dry
for device in opencl host; do
    "$gamut" replay app.trace -D $device -s all --no-gaps --rounds 1 --format csv --no-save >device.csv 2>/dev/null || fail "all strategies on $device"
    exact device.csv >device
    compared=0
    for strategy in $(cut -d' ' -f1 device | sort -u); do
        grep "^$strategy " dry >dry.one || continue # it needs a device
        grep "^$strategy " device | diff dry.one - >difference || fail "$strategy on $device: $(head -5 difference)"
        grep -q "^$strategy driver_alloc_count [0-9]" dry.one && compared=$((compared + 1))
    done
    [ $compared -ge 6 ] || fail "on $device $compared strategies were compared"
done

# A refused request ends the replay, and is named.
"$gamut" replay app.trace -D opencl -s raw --mem-limit 4KiB --no-save >out 2>err && fail "a refusal is no failure"
cat out err | grep -q 'block b[0-9]*, event [0-9]*' || fail "the refused request is not named: $(cat out err)"

# Flags that mean nothing with, or without, a device.
"$gamut" replay app.trace --no-gaps --no-save >/dev/null 2>err && fail "--no-gaps without a device"
grep -q -- '--no-gaps needs --device' err || fail "--no-gaps: $(cat err)"
"$gamut" replay app.trace -D host --check --no-save >/dev/null 2>err && fail "--check on a device"
grep -q -- '--check is for replays without --device' err || fail "--check: $(cat err)"

[ $failures -eq 0 ]
