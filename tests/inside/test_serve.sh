#!/bin/bash
# Serves a program on a driver without a device (tests/inside/apps/fake_cuda.c): each rule of bench/inside/server.h by itself, then
# threads, streams, devices and refusals at random under every strategy. What the program does and expects is in apps/app_serve.c.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$root/${BUILD:-build}
gamut=${GAMUT:-$build/gamut}
app=$build/tests/inside/apps/app_serve
[ -x "$app" ] || { echo "skipped: built without CUDA"; exit 0; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failures=0
fail() { failures=$((failures + 1)); echo "FAILED: $1" >&2; }
export FAKE_CUDA_WORKS=1
# LeakSanitizer cannot stop the threads of a process to which another is a copy of one thread.
forking=detect_leaks=0
strategies="raw pool tagged bufalloc tlsf caching stream vmm"

# expect_ok NAME COMMAND...
expect_ok() {
    local name=$1
    shift
    "$@" >out 2>err || fail "$name ends with $?: $(head -3 err)"
}
# expect_fault PATTERN COMMAND...: a sentence, and the end of the process
expect_fault() {
    local pattern=$1
    shift
    { "$@"; } >out 2>err && fail "$* ends well, expected: $pattern"
    grep -q "^gamut: serving.*$pattern" err || fail "$*: $(cat err), expected: $pattern"
}

# ---- each rule, under every strategy; 64 streams of strategies that take much at once
export FAKE_CUDA_BYTES=68719476736
for s in $strategies; do
    for rule in order record_stream freed_elsewhere many_streams capture capture_alone context; do
        GAMUT_SERVE=$s FAKE_CUDA_SEED=1 expect_ok "$rule under $s" "$app" $rule
        GAMUT_SERVE=$s FAKE_CUDA_SEED=2 GAMUT_SERVE_DEBUG=1 expect_ok "$rule under $s, debugged" "$app" $rule
    done
done
unset FAKE_CUDA_BYTES
# A hundred blocks of one stream in the memory of one, while commands of all of them are queued.
GAMUT_SERVE=caching expect_ok order "$app" order
[ "$(cat out)" = 2097152 ] || fail "order: $(cat out) bytes reserved"

# ---- settings
expect_ok begin "$app" begin
grep -q "there is no strategy 'cachin' (did you mean caching?)" out && grep -q 'gamut serves already, under pool:leading_bits=3' out ||
    fail "begin: $(cat out)"
GAMUT_SERVE=poool expect_fault "GAMUT_SERVE is 'poool': there is no strategy" "$app" order
GAMUT_SERVE=planned expect_fault "planned needs a trace" "$app" order
GAMUT_SERVE=caching:max_split=1MiB "$app" order >out 2>err
[ $? -eq 2 ] && grep -q "^gamut: serving: GAMUT_SERVE is 'caching:max_split=1MiB': strategy .* could not start: " err || fail "max_split: $(cat err)"
GAMUT_SERVE_CAPACITY=many expect_fault "GAMUT_SERVE_CAPACITY is 'many': a size such as 8GiB" "$app" order
GAMUT_SERVE_CAPACITY=64MiB expect_ok "a capacity" "$app" order

GAMUT_SERVE_RESULT=forked.json expect_ok "a forked process" "$app" fork
[ -s forked.json ] || fail "the process that forked has no result"

# ---- out of memory: blocks of other streams are waited for, then the request fails with a sentence
FAKE_CUDA_BYTES=67108864 expect_ok "out of memory" "$app" out_of_memory
grep -q 'cuMemAlloc of 100 MiB: CUDA_ERROR_OUT_OF_MEMORY' out || fail "out of memory: $(cat out)"

# ---- faults
GAMUT_SERVE_DEBUG=1 expect_fault "byte 0 after the block of 1000 bytes at 0x[0-9a-f]* was overwritten" "$app" beyond
expect_ok "a byte beyond, without the debug mode" "$app" beyond
expect_fault "no live block of cuda:0 has the address" "$app" twice
GAMUT_SERVE=null expect_fault "strategy null gives all requests the same memory" "$app" stress 1 1 100 1
GAMUT_SERVE=raw FAKE_CUDA_TWICE=1 expect_fault "was handed out twice" "$app" stress 1 1 100 1

# ---- threads, streams and devices, with refusals and forks: no two blocks that live overlap, each request is counted once, and the
# driver has back what nobody holds
for s in $strategies; do
    for debug in 0 1; do
        GAMUT_SERVE=$s GAMUT_SERVE_DEBUG=$debug FAKE_CUDA_REFUSE=20 FAKE_CUDA_SEED=$((debug + 3)) \
            ASAN_OPTIONS=$forking expect_ok "stress under $s, debug $debug" "$app" stress 8 4 300 $((debug + 3)) 60
    done
done

# ---- killed in the middle: the recording has each block that was handed out. FAULTS_SECONDS=N goes on for N seconds, each time from
# another seed and under the next strategy.
faults_end=$((SECONDS + ${FAULTS_SECONDS:-0})) faults_blocks=0 seed=$((${FAULTS_SEED:-5} - 1))
while seed=$((seed + 1)) && [ $SECONDS -lt $faults_end ] || [ $seed -eq "${FAULTS_SEED:-5}" ]; do
    all=($strategies) && s=${all[seed % ${#all[@]}]}
    rm -rf record told dead*.trace && mkdir record
    GAMUT_SERVE=$s GAMUT_SERVE_RECORD=record FAKE_CUDA_REFUSE=20 FAKE_CUDA_SEED=$seed ASAN_OPTIONS=$forking "$app" stress 8 4 100000000 $seed 50 told 2>err &
    process=$!
    until told=$(od -An -t u8 told 2>/dev/null); [ "${told:-0}" -gt $((500 + seed * 997 % 5000)) ]; do kill -0 $process || break; done
    kill -9 $process
    wait $process 2>/dev/null
    "$gamut" trace import record/app_serve-*.raw -o dead.trace >/dev/null 2>&1 || fail "killed under $s, seed $seed: $(cat err)"
    recorded=$(for t in dead*.trace; do "$gamut" trace check "$t" >/dev/null && "$gamut" trace info "$t" -f json | jq .totals.blocks; done | jq -s add)
    told=$(($(od -An -t u8 told))) faults_blocks=$((faults_blocks + told))
    # Each of eight threads may have been in a request.
    [ "$recorded" -ge $told ] && [ "$recorded" -le $((told + 8)) ] || fail "killed under $s, seed $seed: $told blocks were handed out, $recorded recorded"
    [ $SECONDS -ge $faults_end ] || GAMUT_SERVE=$s GAMUT_SERVE_DEBUG=$((seed % 2)) FAKE_CUDA_REFUSE=$((5 + seed % 20)) FAKE_CUDA_SEED=$seed \
        ASAN_OPTIONS=$forking expect_ok "stress under $s, seed $seed" "$app" stress 8 4 2000 $seed 50
done

# ---- a recording of what was served: a replay of it without a device has the counters of the served run. What a driver's pool holds
# is the driver's matter: `stream` is not compared. `planned` has a plan of a run before.
rm -rf record && mkdir record
GAMUT_SERVE_RECORD=record expect_ok "a run to plan" "$app" stress 1 1 300 7
"$gamut" trace import record/app_serve-*.raw -o short.trace >/dev/null 2>&1 && "$gamut" trace plan short.trace -o short.plan >/dev/null 2>&1 || fail "plan"
for case in late captures "stress 1 4 2000 7"; do
    for s in ${strategies/stream /} planned:trace=short.plan planned:trace=short.trace; do
        rm -rf record && mkdir record
        GAMUT_SERVE=$s GAMUT_SERVE_RECORD=record GAMUT_SERVE_RESULT=served.json GAMUT_SERVE_STATISTICS=statistics.json GAMUT_SERVE_NAME=app \
            FAKE_CUDA_BYTES=8589934592 expect_ok "$case recorded under $s" "$app" $case
        "$gamut" trace import record/app_serve-*.raw -o app.trace --force >/dev/null 2>err || fail "import: $(cat err)"
        "$gamut" trace check app.trace >/dev/null || fail "the trace of $s is not whole"
        "$gamut" replay app.trace -s "$s" --free-at done -o predicted.json --force >/dev/null 2>err || fail "replay: $(cat err)"
        # Each request under a plan is counted once.
        case $case$s in stress*planned*) jq -e '.devices[0] | .counters.alloc_count as $all | .planned | .hit_count > 0 and ([to_entries[] | select(.key | endswith("_count")).value] | add) == $all' \
            statistics.json >/dev/null || fail "$case under $s: $(jq -c '.devices[0] | .counters.alloc_count, .planned' statistics.json)" ;; esac
        if [ "$case$s" = capturescaching ]; then expect_ok "captures again, on the host" "$gamut" replay app.trace -s caching -D host --no-save; fi
        for file in predicted served; do
            jq -ce '.cases[0].counters.cold | {peak_requested_bytes, peak_granted_bytes, peak_reserved_bytes, alloc_count, free_count, hit_count,
                driver_alloc_count, driver_free_count, driver_map_count, driver_unmap_count, driver_sync_count}
                | if .alloc_count > 0 then . else empty end' $file.json >$file.counters || fail "$file.json of $s has no counters"
        done
        "$gamut" compare predicted.json served.json >compared || fail "$case under $s: compare finds the served run worse than its prediction: $(tail -2 compared)"
        cmp -s predicted.counters served.counters || fail "$case under $s: predicted $(cat predicted.counters) served $(cat served.counters)"
    done
done
grep -q 'predictions for cuda:0' compared || fail "compare does not say what it compares: $(cat compared)"
# Another run of the program asks for more.
GAMUT_SERVE=$s GAMUT_SERVE_RESULT=served.json GAMUT_SERVE_NAME=app expect_ok "a longer run" "$app" stress 1 4 3000 7
"$gamut" compare predicted.json served.json >compared
[ $? -eq 1 ] && grep -q 'alloc_count' compared || fail "compare with a longer run: $(cat compared)"

[ $failures -eq 0 ] && echo "served under $strategies; killed after $faults_blocks blocks"
exit $((failures > 0))
