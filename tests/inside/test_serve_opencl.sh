#!/bin/bash
# Serves programs of OpenCL on PoCL: answers are those of the unserved program, whatever strategy serves and however it gets in. What
# the programs do is in apps/blocks_opencl.c and in tests/inside/apps/app_opencl.c.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$root/${BUILD:-build}
gamut=${GAMUT:-$build/gamut}
app=$build/tests/inside/apps/app_opencl
blocks=$build/tests/inside/apps/blocks_opencl
[ -x "$blocks" ] && [ -e "$build/libgamut_serve_opencl.so" ] || { echo "skipped: built without OpenCL"; exit 0; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failures=0
fail() { failures=$((failures + 1)); echo "FAILED: $1" >&2; }
"$blocks" alignment >/dev/null 2>&1 || { echo "skipped: no device of OpenCL"; exit 0; }
strategies="raw pool tagged bufalloc tlsf caching"

# same NAME FLAGS... -- COMMAND...: the answer is that of the unserved program
same() {
    local name=$1 before=()
    shift
    while [ "$1" != -- ]; do before+=("$1"); shift; done
    shift
    [ -e "plain.$name" ] || timeout 120 "$@" >"plain.$name" 2>&1 || fail "$name ends with $? unserved: $(cat "plain.$name")"
    timeout 120 "$gamut" serve "${before[@]}" -- "$@" >served 2>err || fail "$name served with ${before[*]} ends with $?: $(tail -3 err)"
    cmp -s "plain.$name" served || fail "$name served with ${before[*]}: $(diff "plain.$name" served | head -4)"
}
# counted NAME: what a device's server counted, of the last run with --out
counted() { jq ".cases[0].counters.cold.$1" served.json; }

# Leaks are those of the driver, and of programs that end with what they have.
case ${BUILD:-build} in *sanitize* | *thread*) is_sanitized=1 && export ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 ;; *) is_sanitized=0 ;; esac

# ---- an application of everything, in every way; it is not sanitized, and a sanitized library needs a sanitized program
for via in auto layer icd preload; do [ $is_sanitized = 1 ] || same app -s pool --via $via -- "$app"; done
for s in $strategies; do
    [ $is_sanitized = 1 ] && app=$blocks && break
    same app -s "$s" -- "$app"
    same threads_of_app -s "$s" -- "$app" threads
done
[ $is_sanitized = 1 ] && same passed -s caching -- "$blocks" passed
grep -q '^gamut: opencl:0 served [0-9]* requests under caching: .* hits, .* driver calls' err || fail "it is not said what was served: $(cat err)"
grep -q '^gamut: left to the driver: [0-9]* images' err || fail "it is not said what was not served: $(cat err)"

# ---- each rule; those of queues and threads under every strategy
for s in $strategies; do
    for rule in two-queues no-order callbacks threads; do same $rule -s "$s" -- "$blocks" $rule; done
done
# What the strategy matters little for: under two of them
for s in raw pool tlsf; do
    for rule in user-event facts destructors views mistakes passed contexts callbacks-late; do same $rule -s "$s" -- "$blocks" $rule; done
done
for rule in two-queues no-order callbacks callbacks-late; do same $rule -s tlsf --debug -- "$blocks" $rule; done
# An image of a block needs one that begins its memory (see image-within), and the debug mode keeps freed blocks for a while.
for s in raw pool; do for rule in facts views; do same $rule -s $s --debug -- "$blocks" $rule; done; done
# A driver with one thread, which also calls back: nothing that is called from there waits for a command.
for rule in callbacks callbacks-late; do POCL_MAX_PTHREAD_COUNT=1 same $rule -s pool --debug -- "$blocks" $rule; done
# The same threads and forks where memory is refused now and then
for s in raw pool tagged bufalloc tlsf; do
    for debug in "" --debug; do
        same threads -s $s --mem-limit 96KiB $debug -- "$blocks" threads
        grep -q '^[1-9][0-9]* refused' err || fail "threads under $s $debug: nothing was refused: $(cat err)"
    done
done
"$gamut" serve -s tlsf --debug -- "$blocks" beyond >out 2>err
[ $? -eq 134 ] && grep -q "byte 0 after the block of 16380 bytes at 0x[0-9a-f]* was overwritten" err || fail "a byte beyond a block is not found: $(cat err)"
for rule in two-queues no-order user-event views callbacks callbacks-late threads; do [ "$(sort -u plain.$rule)" = "0 wrong" ] || fail "$rule is wrong unserved: $(cat plain.$rule)"; done
[ "$(tail -1 plain.destructors)" = "called: abcd" ] || fail "destructors: $(cat plain.destructors)"

# ---- PoCL makes no image of a sub-buffer: a block that begins a memory is that memory, and what cannot be served is said
for s in raw pool tagged; do same image-within -s $s -- "$blocks" image-within; done
"$gamut" serve -s tlsf -- "$blocks" image-within >out 2>err
cmp -s plain.image-within out || grep -q "makes no image of a buffer that is a part of a memory.* such as pool and raw" err || fail "an image within a memory: $(cat out err)"

# ---- out of memory: the application's error, and the memory of a released block is there again
"$gamut" serve -s pool --mem-limit 8MiB -- "$blocks" out-of-memory >out 2>err || fail "out of memory ends with $?: $(cat err)"
[ "$(cat out)" = "7 blocks, then -4
after a release 0" ] || [ "$(cat out)" = "8 blocks, then -4
after a release 0" ] || fail "out of memory: $(cat out)"

# ---- memory of contexts that are gone is given back
"$gamut" serve -s caching -o served.json --force -- "$blocks" contexts >out 2>err
[ "$(jq '[.cases[].counters.cold.driver_alloc_count - .cases[].counters.cold.driver_free_count] | max' served.json)" -le 0 ] || fail "contexts keep their memory"

# ---- a record of the program, played without a device, has the counters of the served run
"$gamut" record --force -o churn.trace -- "$blocks" churn >/dev/null 2>err || fail "record: $(cat err)"
# The device's alignment, which each block has that is served, is known to the replay.
"$gamut" trace show churn.trace | grep -q "\"alignment_bytes\":$("$blocks" alignment)[,}]" || fail "the recording has another alignment than $("$blocks" alignment)"
for s in $strategies tlsf:parent=1MiB; do
    "$gamut" serve --force -s "$s" --name churn -o served.json --beside churn.trace -- "$blocks" churn >out 2>err || fail "churn under $s ends with $?: $(cat err)"
    grep -q '^gamut: the application ran for [0-9.]* [mµ]*s from its first request on$' err || fail "$s: how long it ran: $(cat err)"
    grep -q "^gamut: predicted of churn.trace: $(jq '.cases[0].counters.cold.hit_count' served.json) hits, .* held, no time: without --atlas$" err || fail "$s beside its prediction: $(cat err)"
    "$gamut" replay churn.trace -s "$s" --free-at let-go --force -o predicted.json >/dev/null 2>err || fail "replay: $(cat err)"
    for file in predicted served; do
        jq -c '.cases[0].counters.cold | {peak_requested_bytes, peak_granted_bytes, peak_reserved_bytes, alloc_count, free_count, hit_count,
            driver_alloc_count}' $file.json >$file.counters
    done
    grep -q '"alloc_count":10000,' served.counters || fail "$s: nothing was counted: $(cat served.counters)"
    "$gamut" compare predicted.json served.json --gate exact:0 >compared 2>&1 || fail "compare: $(cat compared)"
    cmp -s predicted.counters served.counters || fail "$s: predicted $(cat predicted.counters) served $(cat served.counters)"
done

# Under raw the driver serves and gamut only counts, unless there is a limit, a recording or the debug mode: the counts are the same.
for rule in churn facts destructors views contexts; do
    for flags in "" "--mem-limit 1GiB"; do
        "$gamut" serve --force -s raw $flags -o raw.json -- "$blocks" $rule >out 2>err || fail "$rule under raw $flags ends with $?: $(cat err)"
        jq -c '[.cases[].counters.cold]' raw.json >"counted.${flags:0:1}"
    done
    grep -q '"free_count":[1-9]' counted. && cmp -s counted. counted.- || fail "what is counted of $rule under raw: $(diff counted. counted.-)"
done

# A name that is not UTF-8, as those of old encodings are, ends neither the application nor gamut, and its result file is read.
cp "$blocks" $'caf\351' && "$gamut" serve -s pool -o $'caf\351.json' -- $'./caf\351' views >out 2>err && cmp -s plain.views out && "$gamut" print $'caf\351.json' >out 2>err ||
    fail "a name that is not UTF-8: $(cat out err)"
"$gamut" serve -s pool --beside gone.trace -- "$blocks" churn >out 2>err
[ $? = 2 ] && grep -q '^gamut: .*gone.trace' err || fail "beside a trace that is not there: $(cat err)"

# ---- the process that began first has the name of --out
for i in 1 2; do
    "$gamut" serve --force -s pool -o several.json -- sh -c '"$1" churn; for i in 1 2 3; do "$1" passed; "$1" facts; done' sh "$blocks" >out 2>err || fail "several processes: $(cat err)"
    [ "$(jq '.cases[0].counters.cold.alloc_count' several.json)" = 10000 ] || fail "the first of several processes has another name: $(cat err)"
done
[ "$(find . -name 'several-*.json' | wc -l)" -ge 3 ] || fail "several processes: $(ls)"

# ---- kills: of gamut (the application goes on) and of the application. FAULTS_SECONDS=N kills for N seconds.
mkfifo go
no_folder() { for _ in $(seq 500); do [ -z "$(find . -name '*.??????' -type d)" ] && return; sleep 0.02; done; fail "$1: $(ls)"; rm -r ./*.??????; }
# gamut is two processes, and the other one goes on: the program that was started, and the parent of the application.
for who in first second; do
    "$gamut" serve -s caching -o $who.json -- sh -c '"$1" facts; echo $PPID >pid; read -r go <go; "$1" views; exit 5' sh "$blocks" >out 2>err &
    until [ -s pid ]; do sleep 0.02; done
    kill -9 "$([ $who = first ] && echo $! || cat pid)"
    echo >go; wait $! 2>/dev/null; code=$?
    no_folder "the $who process of gamut was killed"
    [ $code = "$([ $who = first ] && echo 137 || echo 5)" ] && [ "$(ls $who*.json | wc -l)" = 2 ] && cat plain.facts plain.views | cmp -s - out || fail "the $who process of gamut was killed: $code, $(diff <(cat plain.facts plain.views) out; cat err; ls)"
    rm pid
done
# What begins OpenCL after the application has ended finds its driver, is served, and the folder goes with it.
"$gamut" serve -s caching -o outlived.json -- sh -c '"$1" facts; (read -r go <go; "$1" views) & exit 4' sh "$blocks" >out 2>err
[ $? = 4 ] || fail "an application that is outlived: $(cat err)"
echo >go
no_folder "a process has outlived the application"
cat plain.facts plain.views | cmp -s - out && [ "$(ls outlived*.json | wc -l)" = 2 ] || fail "a process has outlived the application: $(cat out err; ls)"
"$gamut" serve -s caching -o killed.json -- sh -c '"$1" facts; kill -9 $$' sh "$blocks" >out 2>err
[ $? -eq 137 ] && [ -s killed.json ] && cmp -s plain.facts out || fail "the application was killed: $(cat out err)"
# Both processes of gamut at once: their folder is that of the application while it lives, and then the next gamut removes it.
"$gamut" serve -s caching -o all.json -- sh -c 'echo $PPID $$ >pid; read -r go <go' >out 2>err &
until [ -s pid ]; do sleep 0.02; done
read -r second application <pid && rm pid
kill -9 $! "$second"
wait $! 2>/dev/null
for still in 1 0; do
    find . -name 'all.json.??????' -exec touch -d '2 minutes ago' {} +
    "$gamut" serve -s caching -o all.json --force -- "$blocks" facts >out 2>err && cmp -s plain.facts out || fail "served where a folder stays: $(cat out err)"
    [ "$(find . -name 'all.json.??????' | wc -l)" = $still ] || fail "of processes that were killed at once: $(ls), expected $still folders"
    [ $still = 0 ] || { kill -9 "$application"; flock all.json.?????? true; }
done
faults_end=$((SECONDS + ${FAULTS_SECONDS:-0})) kills=0
while [ $SECONDS -lt $faults_end ]; do
    all=($strategies) && s=${all[kills % ${#all[@]}]} kills=$((kills + 1))
    rm -f pid
    "$gamut" serve -s "$s" $([ $((kills % 2)) = 0 ] || echo --mem-limit 2200KiB) --force -o fault.json -- sh -c 'echo $$ >pid; while "$1" threads >threads && [ "$(sort -u threads)" = "0 wrong" ]; do :; done; echo wrong' sh "$blocks" >out 2>err &
    until [ -s pid ]; do sleep 0.02; done
    pid=$(cat pid)
    sleep 0.$((RANDOM % 900 + 100))
    kill -9 "$pid" $(pgrep -P "$pid") 2>/dev/null
    wait $! 2>/dev/null
    [ ! -s out ] || fail "killed under $s: $(cat out err)"
    no_folder "killed under $s" # a child that began after pgrep has it to its end
done

# ---- mistakes
expect() { # CODE PATTERN ARGUMENT...
    local code=$1 pattern=$2
    shift 2
    "$gamut" serve "$@" >out 2>err
    [ $? -eq "$code" ] || fail "serve $*: not exit $code"
    grep -q -- "$pattern" err || fail "serve $*: '$pattern' is not in: $(cat err)"
}
expect 2 "there is no strategy 'poool'" -s poool -- "$app"
expect 2 "strategy null gives all requests the same memory" -s null -- "$app"
expect 2 "cannot be started" -s pool -- ./nosuch
expect 2 "APPLICATION" -s pool
expect 2 "exists" -s pool -o served.json -- "$app"
expect 77 "nothing was served" -s pool -- true
expect 77 "or it was killed$" -s pool --via preload -- true
expect 2 "^gamut: nowhere/x.json: no folder can be made beside it: No such file" -s pool -o nowhere/x.json -- true
# A loader that reads no variable: gamut finds out before the application begins.
mkdir deaf && sed 's/OPENCL_LAYERS/OPENCL_NOTHIN/g; s/OCL_ICD_VENDORS/OCL_ICD_NOTHING/g' "$(ldd "$app" | awk '/libOpenCL/ { print $3 }')" >deaf/libOpenCL.so.1
for via in layer icd; do LD_LIBRARY_PATH=$PWD/deaf expect 77 "nothing was served: .* for a loader of its own try --via preload" -s pool --via $via -- "$blocks" facts; done
LD_LIBRARY_PATH=$PWD/deaf expect 0 "^gamut: opencl:0 served" -s pool -- "$blocks" facts
expect 3 "" -s pool -- sh -c 'exit 3'
# What cannot serve is said before the application begins.
for s in "2 max_split.is.1048576 caching:max_split=1MiB" "77 has.no.virtual.memory vmm" "77 has.no.stream-ordered.pool stream" \
    "77 has.one.kind.of.memory pool:kind=pinned"; do
    read -r code pattern strategy <<<"$s"
    expect "$code" "^gamut: strategy ${strategy%%:*} could not start: .*$pattern" -s "$strategy" -- echo begun
    [ -s out ] && fail "the application has begun under $strategy"
done
# Where the environment alone asks, the application ends at its first use of OpenCL.
for s in "2 caching:max_split=1MiB" "77 vmm" "2 poool"; do
    GAMUT_SERVE=${s#* } OPENCL_LAYERS=$build/libgamut_serve_opencl.so "$blocks" facts >out 2>err
    [ $? -eq "${s%% *}" ] || fail "GAMUT_SERVE=${s#* }: not exit ${s%% *}"
    [ "$(grep -c '' err)" = 1 ] && grep -q "^gamut: serving: GAMUT_SERVE is '${s#* }': " err && [ ! -s out ] || fail "GAMUT_SERVE=${s#* }: $(cat out err)"
done
[ -z "$(find . -name '*.??????' -type d)" ] || fail "folders stay: $(ls)"

[ $failures -eq 0 ] && echo "served under $strategies; killed $kills times"
exit $((failures > 0))
