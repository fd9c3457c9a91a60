#!/bin/bash
# Records a program of CUDA on a driver without a device (apps/fake_cuda.c). What it does is counted in apps/app_cuda.c.
. "$(dirname "$0")/capture.sh"
needs cuda
export GAMUT_CUPTI=$build/tests/inside/apps/fake/libcuda.so.1
# expect_counts TRACE COUNTS
expect_counts() {
    [ "$(counts "$1")" = "$2" ] || fail "$1: $(counts "$1"), expected $2"
    "$gamut" trace check "$1" >/dev/null || fail "$1 is not whole"
}
# expect_questions FILE MOST: how often the driver was asked about a kernel's arguments
expect_questions() {
    local n
    n=$(sed -n 's/ questions.*//p' "$1")
    [ "${n:-0}" -ge 1 ] && [ "$n" -le "$2" ] || fail "$1: the driver was asked ${n:-0} times, expected at most $2"
}

"$gamut" record --via cuda -o all.trace -- "$app" >all 2>err || fail "the record ends with $?: $(cat err)"
first="alloc=7 copy=3 done=7 fill=6 free=7 launch=119 order=1 read=1 refused=1 wait=9 write=1 "
second="alloc=1 done=1 free=1 wait=1 write=1 "
expect_counts all-Fake.trace "$first"
expect_counts all-Fake_2.trace "$second"
expect_questions all 20
grep 'is not recorded' err && fail "a second driver that calls the library"
# Graphs are counted, and what a stream captures, which does not run then; what was never made is missed for blocks only.
[ "$(sed -n 's/ *not in the trace: //p' err | sort -u | tr '\n' ';')" = "allocations captured into a graph, 1 time;commands captured into a graph, 4 times;cuGraphAddNode of memory, 1 time;cuGraphLaunch, 1 time;cuLaunchHostFunc, 2 times;frees captured into a graph, 1 time;" ] ||
    fail "what is not in the trace: $(cat err)"

"$gamut" trace show all-Fake.trace >text
# launches NAME USES: how many launches of a kernel have these uses
launches() {
    awk -v name="\"$1\"" -v uses="uses=$2" '$1 == "name" && $3 == name { id = "name=" $2 } $1 == "launch" && id && index($0, " " id " ") && $NF == uses' text | wc -l
}
# A handle that is another kernel's after its module was unloaded has that one's name and arguments.
for expected in "add b1rw,b2rw 100" "scale b1rw 11" "both b1rw,b2rw 1" "library b2rw 5" "part b1rw 2"; do
    read -r name uses n <<<"$expected"
    [ "$(launches "$name" "$uses")" -eq "$n" ] || fail "$name: $(launches "$name" "$uses") launches with the uses $uses, expected $n"
done
# Freed in the order of a stream: the address is given again before the host knows that the block is done.
[ "$(grep -oE '^(alloc|free|done|wait) (b[34]|q1)' text | sed -n '/alloc b3/,/done b4/p' | tr '\n' ';')" = \
    "alloc b3;free b3;alloc b4;done b3;wait q1;free b4;done b4;" ] || fail "in order: $(grep -E ' b[34] ' text)"
[ "$(grep -cE '^alloc b[34] 4096 q1 ' text)" -eq 2 ] || fail "a block that was asked for on a stream has another queue"
grep -q '^free b4 q2' text || fail "a block that was freed on another stream: $(grep '^free b4 ' text)"
# One call frees three mapped ranges; the command in the middle one uses that alone.
[ "$(grep -E '^(free|done) b[567] ' text | wc -l)" -eq 6 ] || fail "cuMemUnmap"
grep -q '^fill 10 .* uses=b6w' text || fail "an address inside a mapped range is no use of it"
# Streams: two, the default one, the thread's own, and the one that has the handle of one that was destroyed. The 40 that
# get no command are not in the trace.
[ "$(grep -c '^queue ' text)" -eq 5 ] || fail "queues: $(grep '^queue ' text)"
grep -q '^order q2 .* other=1$' text || fail "the wait of one stream for another is missing"

"$gamut" record --via cuda --times --anonymous -o times.trace -- "$app" >/dev/null 2>err || fail "--times: $(cat err)"
expect_counts times-Fake.trace "$first"
"$gamut" trace show times-Fake.trace >text
[ "$(grep -cE '^(launch|fill|copy|read|write) .* device=5000 ended=[0-9]+( |$)' text)" -eq 130 ] || fail "--times: not every command has its time and its end"
[ -z "$(awk -f "$here/overlap.awk" text)" ] || fail "--times: calls of a thread overlap: $(awk -f "$here/overlap.awk" text | head -3)"
grep -q '"add"' text && fail "--anonymous: a name is in the trace"

"$gamut" record --via cuda -o threads.trace -- "$app" threads >threads 2>err || fail "threads: $(cat err)"
expect_counts threads.trace "alloc=8 done=8 free=8 launch=8000 wait=8 "
[ "$("$gamut" trace show threads.trace | grep -c '^launch .* uses=b[0-9]*rw$')" -eq 8000 ] || fail "threads: launches without their use"
expect_questions threads 200

"$gamut" record --via cuda -o fork.trace -- "$app" fork >/dev/null 2>err || fail "fork: $(cat err)"
expect_counts fork.trace "alloc=2 done=2 free=2 launch=2000 wait=2 "
expect_counts "$(ls fork-*.trace)" "alloc=1 done=1 free=1 launch=1000 wait=1 "

"$gamut" record --via cuda -o kill.trace -- "$app" kill >/dev/null 2>&1
[ $? -eq 137 ] || fail "the exit code is not that of the application"
"$gamut" trace show kill.trace | grep -q '^alloc b1 12345 ' || fail "the last allocation before SIGKILL is missing"

# An end without the handlers of exit loses what CUPTI has not handed over: the commands are there, and what lacks its time is counted. CUPTI is
# asked at the end of a phase and after a period, which is as good as endless here.
export GAMUT_RECORD_ASK_S=9000000000
# loses COMMANDS: what `gamut record` said, trace info and trace check say again
loses() {
    local line="  not in the trace: device times of commands (lost where the application ends by _exit or a signal: let it end by exit), $1 times"
    grep -qxF "$line" err || fail "leave: not said: $1 commands lack their time: $(cat err)"
    "$gamut" trace info leave.trace 2>&1 | grep -qxF "$line" || fail "leave: trace info does not say it: $("$gamut" trace info leave.trace 2>&1)"
    "$gamut" trace check leave.trace 2>&1 | grep -qxF "$line" || fail "leave: trace check does not say it"
}
"$gamut" record --via cuda --times -o leave.trace -- "$app" leave 6000 >/dev/null 2>err || fail "leave: $(cat err)"
expect_counts leave.trace "alloc=1 done=1 free=1 launch=6000 read=1 wait=1 "
lost=$("$gamut" trace show leave.trace | grep -E '^(launch|read) ' | grep -vc ' device=')
[ "$lost" -gt 0 ] && [ "$lost" -lt 6001 ] || fail "leave: $lost of 6001 commands have no time"
loses "$lost"
"$gamut" trace info leave.trace | grep -qxE "untimed +$lost of 6001 commands have no device time" || fail "leave: trace info does not count"
"$gamut" trace info leave.trace --format json | grep -q "\"untimed_commands\": $lost\b" || fail "leave: trace info --format json does not count"
"$gamut" trace check leave.trace 2>&1 | grep -qx "  $lost of 6001 commands have no device time" || fail "leave: trace check does not count"
"$gamut" trace waits leave.trace >text
grep -q "^$lost of 6001 commands have no end in the record" text || fail "leave: trace waits does not say it: $(cat text)"
grep -qE '^leave.trace: of .* the host waited at least .* and at least .* hidden$' text || fail "leave: the waits are no least ones: $(cat text)"
# A stand-in for a kernel without a time is none that takes no time: that is said, and the read needs none.
"$gamut" replay leave.trace -D host -s raw --rounds 1 --no-save >/dev/null 2>err || fail "leave: replay -D: $(cat err)"
grep -q "^gamut: leave on host: $((lost - 1)) kernels: the record does not say how long they took" err || fail "leave: replay -D does not say it: $(cat err)"
# None at all: the trace does not know them.
"$gamut" record --force --via cuda --times -o leave.trace -- "$app" leave 100 >/dev/null 2>err || fail "leave: $(cat err)"
loses 101
"$gamut" trace info leave.trace | grep '^known:' | grep -E 'device_times|ends' && fail "leave: the trace knows times that it has not"
# After the period, here none at all, a call asks for what has ended.
GAMUT_RECORD_ASK_S=0 "$gamut" record --force --via cuda --times -o leave.trace -- "$app" leave 100 >/dev/null 2>err || fail "leave: $(cat err)"
grep -q "device times" err && fail "leave: a period asks for no times: $(cat err)"
# A phase that ended after 100 of 130 launches: the others are lost, and the read. A forked process must not call CUPTI.
"$gamut" record --force --via cuda --times -o leave.trace -- "$app" leave 100 30 >/dev/null 2>err || fail "leave: $(cat err)"
loses 31
"$gamut" trace show leave.trace | awk '/^launch / { n++; if (/ device=5000/ != (n <= 100)) bad = 1 } END { exit bad || n != 130 }' ||
    fail "leave: the end of a phase does not ask for the times of the launches before it"
unset GAMUT_RECORD_ASK_S

# NVTX: nests of two domains, a range that another thread ends, a mark; the one that is open at the end has no end. Phases are the process's, and
# those that began before the driver was asked for anything begin with the trace.
"$gamut" record --via cuda -o phases.trace -- "$app" phases >/dev/null 2>err || fail "phases: $(cat err)"
"$gamut" trace show phases.trace >text
[ "$(awk '$1 == "name" { name[$2] = substr($0, index($0, "\"")) } $1 ~ /^(begin|end|alloc|free)$/ { n = ""; if (match($0, /name=[0-9]+/)) n = name[substr($0, RSTART + 5, RLENGTH - 5)]; printf "%s%s;", $1, n }' text)" = \
    'begin"set up";alloc;end"set up";begin"range";begin"library: sort";begin"stra\u00DFe";alloc;end"library: sort";free;begin"mark";end"mark";end"stra\u00DFe";end"range";free;begin"open";' ] || fail "phases: $(cat text)"
grep -q '^end .* t1 .*name=2' text || fail "the range that another thread ended: $(cat text)"
"$gamut" trace info phases.trace | grep -q '^known:.* phases' || fail "the trace does not know its phases"
"$gamut" record --via cuda --anonymous -o nameless.trace -- "$app" phases >/dev/null 2>err || fail "phases: $(cat err)"
"$gamut" trace show nameless.trace >text
[ "$(grep -c '^begin' text)" -eq 6 ] && ! grep -q 'sort' text || fail "--anonymous: phases: $(cat text)"
# Another tool for NVTX stays, and it is said.
NVTX_INJECTION64_PATH=/other/tool.so "$gamut" record --via cuda -o other.trace -- "$app" phases >/dev/null 2>err || fail "phases: $(cat err)"
grep -q '^gamut: phases of NVTX are not recorded: NVTX_INJECTION64_PATH names /other/tool.so$' err || fail "another tool for NVTX: $(cat err)"
"$gamut" trace show other.trace | grep '^begin' && fail "phases are recorded though another tool has them"

# A process that names phases and uses no device has no trace.
"$gamut" record -o idle.trace -- "$app" idle >/dev/null 2>err
[ $? -eq 77 ] && grep -q 'nothing was recorded' err && [ -z "$(find . -name 'idle*')" ] || fail "phases without a device: $(cat err) $(ls)"

# Each kernel is described once, not at each launch: 60000 launches of 80 bytes and hardly anything else.
mkdir raw && GAMUT_RECORD=$PWD/raw CUDA_INJECTION64_PATH=$build/libgamut_record_cuda.so "$app" kernels >/dev/null
[ "$(cat raw/*.raw | wc -c)" -lt $((60000 * 80 + 150000)) ] || fail "kernels: $(cat raw/*.raw | wc -c) bytes are recorded"

# Another tool has CUPTI: the application goes on.
FAKE_CUDA_SUBSCRIBED=1 "$gamut" record --via cuda -o no.trace -- "$app" >out 2>err
grep -q "another tool, such as a profiler, subscribed first" err || fail "a second subscriber: $(cat err)"
grep -q "^0 questions" out || fail "a second subscriber: the application did not go on: $(cat out)"
[ -z "$(find . -name 'no*')" ] || fail "something was left of the failed recording: $(ls)"

[ $failures -eq 0 ]
