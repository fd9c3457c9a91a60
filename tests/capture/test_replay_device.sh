#!/bin/bash
# Replays the recording of an application of OpenCL on PoCL and on the host, under several allocators.
. "$(dirname "$0")/capture.sh"
needs opencl

"$app" >/dev/null || { echo "skipped: no device of OpenCL"; exit 0; }
"$gamut" record --times -o app.trace -- "$app" >/dev/null 2>&1 || fail "record ends with $?"

for device in opencl host; do
    "$gamut" replay app.trace -D $device -s raw,pool,caching,tlsf --rounds 2 --out $device.json >out 2>err ||
        fail "on $device: exit $?: $(cat out err)"
    grep -q '^gamut: 4 ok' err || fail "on $device: not every case is ok: $(cat err)"
    grep -q 'app, raw on .* of the recorded [^:]*$' err || fail "on $device: raw is not compared with the recorded time"
    grep -q 'app, pool on .*: a prediction of the application' err || fail "on $device: pool is not called a prediction"
    grep -q 'without a block that the record has' err && fail "on $device: commands were lost: $(cat err)"
done
# The same requests reach the driver as without a device.
"$gamut" replay app.trace -s raw --free-at let-go --format csv --no-save 2>/dev/null | grep ',driver_alloc_count,' >dry
[ -s dry ] || fail "the replay without a device has no driver calls"
calls=$(grep -o '"driver_alloc_count": *[0-9]*' opencl.json | head -1)
[ -n "$calls" ] || fail "the result file has no driver calls"

# A refused request ends the replay, and is named.
"$gamut" replay app.trace -D opencl -s raw --mem-limit 4KiB --no-save >out 2>err && fail "a refusal is no failure"
cat out err | grep -q 'block b[0-9]*, event [0-9]*' || fail "the refused request is not named: $(cat out err)"

# Flags that mean nothing with, or without, a device.
"$gamut" replay app.trace --no-gaps --no-save >/dev/null 2>err && fail "--no-gaps without a device"
grep -q -- '--no-gaps needs --device' err || fail "--no-gaps: $(cat err)"
"$gamut" replay app.trace -D host --own-time --no-save >/dev/null 2>err && fail "--own-time on a device"
grep -q -- '--own-time is for replays without --device' err || fail "--own-time: $(cat err)"

[ $failures -eq 0 ]
