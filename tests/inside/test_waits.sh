#!/bin/bash
# Records an application on PoCL that waits for slow kernels, and finds its waits. Only lower bounds are asked of times.
. "$(dirname "$0")/capture.sh"
needs opencl
app=$build/tests/inside/apps/waits_opencl
"$app" >/dev/null || { echo "skipped: no device of OpenCL"; exit 0; }

# number KIND MEMBER: of the kind of call, in the JSON
number() { awk -v kind="\"$1\":" -v member="\"$2\":" '$1 == "\"kinds\":" { inside = 1 } inside && $1 == kind { here = 1 } here && $1 == member { sub(/,$/, "", $2); print $2; exit }' json; }

for times in --times ""; do
    kernel_ns=$("$gamut" record $times -o app.trace --force -- "$app" 2>err) || fail "the record ends with $?: $(cat err)"
    "$gamut" trace waits app.trace --format json >json || fail "waits ends with $?"
    [ "${kernel_ns:-0}" -ge 10000000 ] || fail "the kernel took $kernel_ns ns"
    # One map blocks, and waited for the kernel; the wait after the other one did so too. A part of a kernel may run
    # before the call begins, and another thread may hold the processor then.
    [ "$(number map calls)" = 1 ] && [ "$(number map waited)" = 1 ] || fail "times '$times': blocking maps: $(cat json)"
    [ "$(number map longest_ns)" -ge $((kernel_ns / 2)) ] || fail "times '$times': the map waited $(number map longest_ns) of $kernel_ns ns"
    [ "$(number wait longest_ns)" -ge $((kernel_ns / 2)) ] || fail "times '$times': the longest wait is $(number wait longest_ns) of $kernel_ns ns"
    grep -q '"for": "spin"' json || fail "times '$times': the kernel is not named"
    grep -q "\"by\": \"$([ -n "$times" ] && echo ends || echo bounds)\"" json || fail "times '$times': $(grep '"by"' json)"
done

# By the ends of commands the map that does not block is none of those that wait for the kernel.
"$gamut" record --times -o app.trace --force -- "$app" >out 2>err
"$gamut" trace show app.trace >text
[ "$(grep -c '^map ' text)" -eq 2 ] || fail "maps: $(grep '^map ' text)"
"$gamut" trace waits app.trace >out || fail "waits ends with $?"
grep -q '^  blocking map  *no  *1  *1  *0 ' out || fail "the table of kinds: $(cat out)"

[ $failures -eq 0 ]
