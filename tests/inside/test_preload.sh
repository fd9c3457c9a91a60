#!/bin/bash
# Serves programs that know nothing of gamut through libgamut_serve_cuda.so, on a driver without a device
# (tests/inside/apps/fake_cuda.c): one finds the driver as the CUDA runtime does, or asks dlsym for each function, one is linked to it.
# What they do and expect is in apps/app_preload.c. What is not served, or refused, is in the statistics.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$root/${BUILD:-build}
gamut=${GAMUT:-$build/gamut}
library=$build/libgamut_serve_cuda.so
apps=$build/tests/inside/apps
[ -e "$library" ] || { echo "skipped: built without CUDA, or not for x86-64"; exit 0; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failures=0
fail() { failures=$((failures + 1)); echo "FAILED: $1" >&2; }
# A sanitizer opens libraries in the place of the program, so that the folder in the program is not looked at.
export LD_LIBRARY_PATH=$build/tests/inside/apps/fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export FAKE_CUDA_WORKS=1 GAMUT_SERVE_STATISTICS=$dir/statistics.json
strategies="raw pool tagged bufalloc tlsf caching stream vmm"
# A library whose runtime has to be the first one of the process.
first=$(ldd "$library" | awk '/lib[at]san/ { print $3 }')
export ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 TSAN_OPTIONS="atexit_sleep_ms=0 ${TSAN_OPTIONS:-}"

# served WAY CASE...: runs it with the library; WAY: runtime, dlsym, linked
served() {
    local way=$1
    shift
    rm -f statistics.json
    case $way in
    runtime) LD_PRELOAD="$first $library" timeout 300 "$apps/app_preload" "$@" ;;
    dlsym) LD_PRELOAD="$first $library" timeout 300 "$apps/app_preload" dlsym "$@" ;;
    linked) LD_PRELOAD="$first $library" timeout 300 "$apps/app_linked" "$@" ;;
    esac >out 2>err
}
# expect_ok NAME WAY CASE...
expect_ok() {
    local name=$1
    shift
    served "$@" || fail "$name, $*: ends with $?: $(head -3 err)"
}
# expect FILTER VALUE NAME: of the statistics
expect() {
    local is
    is=$(jq -c "$1" statistics.json 2>/dev/null)
    [ "$is" = "$2" ] || fail "$3: $1 is $is, expected $2"
}
# expect_passed COUNT PATTERN NAME: what was left to the driver, whose name has the pattern
expect_passed() { expect "[.passed | to_entries[] | select(.key | test(\"$2\")) | .value]" "[$1]" "$3"; }
# expect_refusal PATTERN NAME: one sentence
expect_refusal() {
    [ "$(grep -c '^gamut:' err)" = 1 ] && grep -q "^gamut: .*$1" err || fail "$2: $(cat err), expected: $1"
}

# ---- the cases are right without the library
for case in order any elsewhere next; do
    for app in app_preload app_linked; do
        "$apps/$app" $case >out 2>err || fail "$app $case, not served, ends with $?: $(head -3 err)"
    done
done

# ---- each rule under every strategy, and in each way; each strategy in each way
export FAKE_CUDA_BYTES=68719476736
ways=(runtime dlsym linked) turn=0
for s in $strategies; do
    for case in order any elsewhere frees ranges; do
        for way in ${ways[turn++ % 3]}; do
            GAMUT_SERVE=$s FAKE_CUDA_SEED=3 expect_ok "$s" $way $case
            expect '.devices | map(.live_count) | add' 0 "$s, $way $case"
            expect '.devices | map(.broken) | add' 0 "$s, $way $case"
            GAMUT_SERVE=$s GAMUT_SERVE_DEBUG=1 expect_ok "$s, debugged" $way $case
        done
    done
done
unset FAKE_CUDA_BYTES
# A hundred blocks of one stream in the memory of one, while its commands are queued; and the result file has the same.
for way in runtime dlsym linked; do
    GAMUT_SERVE=caching GAMUT_SERVE_RESULT=result-$way.json expect_ok order $way order
    expect '.devices[0].counters | [.alloc_count, .driver_alloc_count, .peak_reserved_bytes]' '[100,1,2097152]' "order, $way"
    expect '[.passed_count, .refusal]' '[0,null]' "order, $way"
    [ "$(jq .cases[0].counters.cold.hit_count result-$way.json)" = 99 ] || fail "order, $way: the result file"
    "$gamut" compare result-$way.json result-$way.json >/dev/null || fail "order, $way: no result file for compare"
done

# ---- what is not served
for way in runtime dlsym linked; do
    expect_ok passed $way passed
    for what in primary captured 'default streams' Pitch Managed; do expect_passed 1 "$what" "passed, $way"; done
    expect .passed_count 5 "passed, $way"
    expect '.devices[0] | [.counters.alloc_count, .live_count]' '[1,0]' "passed, $way"
    expect_ok ranges $way ranges
    expect_refusal 'cuIpcGetMemHandle is refused' "ranges, $way"
    expect_passed 2 'handles' "ranges, $way"
    expect_ok own_pool $way own_pool
    expect_refusal 'calls cuMemPoolSetAccess: the driver has all requests of cuMemAllocAsync' "own_pool, $way"
    expect_passed 1 'chose pool or access' "own_pool, $way"
    expect_ok reset $way reset
    expect_refusal 'device 0 is reset' "reset, $way"
    expect_passed 1 'were reset' "reset, $way"
    expect '.devices | map(.counters.alloc_count)' '[3,1]' "reset, $way"
    # Other devices reach what cuMemAlloc gave.
    for s in pool:0 tlsf:0 vmm:801 stream:801; do
        GAMUT_SERVE=${s%:*} expect_ok "peers under ${s%:*}" $way peers
        expect_refusal 'not serving: the program calls cuCtxEnablePeerAccess' "peers under $s, $way"
        expect_passed 1 'serving was ended' "peers under $s, $way"
        case $s in
        *:801) [ "$(cat out)" = 801 ] || fail "peers under $s, $way: $(cat out)" ;;
        *) [ "$(cat out)" != 801 ] || fail "peers under $s, $way: refused" ;;
        esac
    done
    expect_ok unknown $way unknown
    expect_refusal 'not serving: the program asks for cuMemAllocBeyond, which this build does not know' "unknown, $way"
    expect '[.passed_count, .devices[0].counters.alloc_count, .devices[0].live_count]' '[1,1,0]' "unknown, $way"
    expect_ok later $way later
    expect_refusal 'asks for the cuMemAlloc of CUDA 1[0-9.]*, and this build knows' "later, $way"
    expect_ok next $way next
    for version in 99000 10020; do
        FAKE_CUDA_VERSION=$version expect_ok "a driver of $version" $way order
        expect_refusal 'not serving: the driver is ' "a driver of $version, $way"
        expect '[.passed_count, .devices]' '[100,[]]' "a driver of $version, $way"
    done
done
GAMUT_SERVE=poool served runtime order && fail "an unknown strategy serves"
grep -q "^gamut: serving: GAMUT_SERVE is 'poool': there is no strategy" err || fail "an unknown strategy: $(cat err)"

# ---- by the command, which cannot load a driver under TSan to see that it is there
sees=1
ldd "$apps/fake/libcuda.so.1" | grep -q libtsan && sees=0
for app in app_preload app_linked; do
    # libcuda is there, so that no flag has to say it; a strategy that OpenCL lacks serves CUDA alone
    [ $sees = 0 ] || GAMUT_SERVE_STATISTICS= "$gamut" serve -s vmm -- "$apps/$app" order >out 2>err || fail "gamut serve of $app, by itself, ends with $?: $(cat err)"
    [ $sees = 0 ] || grep -q '^gamut: cuda:0 served 100 requests under vmm' err || fail "gamut serve of $app, by itself: $(cat err)"
    "$gamut" serve -s caching --via cuda-preload -o served.json --force -- "$apps/$app" order >out 2>err || fail "gamut serve of $app ends with $?: $(cat err)"
    grep -q '^gamut: cuda:0 served 100 requests under caching: 99 hits' err || fail "gamut serve of $app: $(cat err)"
    [ "$(jq .cases[0].counters.cold.hit_count served.json)" = 99 ] || fail "gamut serve of $app: the result file"
done
# A process of gamut is killed while the application runs: the other one goes on, with the application's answers and the result.
"$apps/app_linked" order >plain 2>&1 && mkfifo go
for who in first second; do
    "$gamut" serve -s caching --via cuda-preload -o $who.json -- sh -c 'echo $PPID >pid; read -r go <go; exec "$1" order' sh "$apps/app_linked" >out 2>err &
    until [ -s pid ]; do sleep 0.02; done
    kill -9 "$([ $who = first ] && echo $! || cat pid)"
    echo >go; wait $! 2>/dev/null
    for _ in $(seq 500); do [ -z "$(find . -name "$who.json.??????")" ] && break; sleep 0.02; done
    cmp -s plain out && [ "$(ls -d $who*)" = $who.json ] && [ "$(jq .cases[0].counters.cold.hit_count $who.json)" = 99 ] || fail "the $who process of gamut was killed: $(cat out err; ls)"
    rm pid
done
"$gamut" serve --via cuda-preload -- "$apps/app_preload" passed >out 2>err || fail "gamut serve of what is passed: $(cat err)"
grep -q '^gamut: left to the driver: 1 requests of cuMemAllocPitch (the driver chooses the pitch)' err || fail "gamut serve of what is passed: $(cat err)"
FAKE_CUDA_VERSION=99000 "$gamut" serve --via cuda-preload -- "$apps/app_linked" order >out 2>err
[ $? = 77 ] && grep -q 'nothing was served: the driver has all requests' err && grep -q 'left to the driver: 100 requests after serving was ended' err || fail "gamut serve that serves nothing: $(cat err)"
"$gamut" serve -- true >out 2>err
[ $? = 77 ] && grep -q "nothing was served: the $([ $sees = 1 ] && echo program asked libcuda for no memory)" err || fail "gamut serve of no CUDA: $(cat err)"
"$gamut" serve -s vmm -- true >out 2>err
[ $? = 77 ] && { [ $sees = 0 ] || grep -q "OpenCL is not served: .* has no virtual memory" err; } || fail "gamut serve of an API that the strategy does not know: $(cat err)"

# ---- programs without CUDA are as they were
[ "$(LD_PRELOAD="$first $library" bash -c 'echo well')" = well ] || fail "a program without CUDA"

# ---- threads and streams, with refusals
for s in $strategies; do
    for way in runtime linked; do
        GAMUT_SERVE=$s FAKE_CUDA_REFUSE=20 FAKE_CUDA_SEED=5 expect_ok "stress under $s" $way stress 6 150 5
        expect '.devices | map(.broken) | add' 0 "stress under $s, $way"
        expect '[.passed_count, .refusal]' '[0,null]' "stress under $s, $way"
    done
done

[ $failures -eq 0 ] && echo "preloaded under $strategies"
exit $((failures > 0))
