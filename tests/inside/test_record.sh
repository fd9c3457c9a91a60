#!/bin/bash
# Records an application of OpenCL on PoCL, unmodified, as a layer and in front of the driver. What it did is counted in its source.
. "$(dirname "$0")/capture.sh"
needs opencl

answer=$("$app") || { echo "skipped: no device of OpenCL"; exit 0; }

expected="alloc=161 begin=1 copy=2 done=161 end=1 fill=4 free=161 launch=302 map=2 order=150 read=6 refused=1 unmap=2 wait=163 write=1 "

for via in auto layer preload icd; do
    out=$("$gamut" record --via $via -o $via.trace -- "$app" 2>err) || fail "--via $via ends with $?: $(cat err)"
    [ "$out" = "$answer" ] || fail "--via $via: the application printed $out instead of $answer"
    [ "$(counts $via.trace)" = "$expected" ] || fail "--via $via: $(counts $via.trace), expected $expected"
    "$gamut" trace check $via.trace >/dev/null || fail "--via $via: the trace is not whole"
done
[ -z "$(find . -name '*.raw')" ] || fail "raw files stay"
grep -q "by the driver in front$" err || fail "it is not said how it was recorded: $(cat err)"
grep "not in the trace" err && fail "handles are unknown"

# The block that was freed under a command is freed before it is done, and the second queue waits for the first.
"$gamut" trace show layer.trace >text
grep -q '^order q1 ' text || fail "the wait of one queue for another is missing"
# Blocks are used until the last of their handles ends: that of a part, of the block of a part, of an image of a buffer.
awk '/^(free|done) / { ended[$2] = 1 } match($0, /uses=.*/) { split(substr($0, RSTART + 5), use, ","); for (i in use) { sub(/[rw]+$/, "", use[i]); if (use[i] in ended) print } }' text | grep . &&
    fail "a block is used after its end"
grep -q '^read 1024 .* uses=b[0-9]*r$' text && ! grep -q '^alloc b[0-9]* 1024 ' text || fail "an image of a buffer counts as memory"
grep -q '^refused 1125899906842624 ' text || fail "the refused request is missing"
awk '$1 == "name" && $3 == "\"images\"" { id = "name=" $2 } id && index($0, " " id) { print $1 } /^(read|write) 8192 / { print $1 }' text |
    tr '\n' ' ' | grep -qx 'begin write read end ' || fail "the phase is not around the commands of the image"
grep -q '"11 (out of order)"' text || fail "the queue without order has no name"

# With eight threads nothing is lost, and each call stands in its thread.
"$gamut" record -o threads.trace -- "$app" threads >/dev/null 2>&1
[ "$(counts threads.trace)" = "alloc=467 begin=1 copy=2 done=467 end=1 fill=4 free=467 launch=902 map=2 order=450 read=12 refused=1 unmap=2 wait=469 write=1 " ] ||
    fail "eight threads: $(counts threads.trace)"

# What was done before a SIGKILL is in the file.
"$gamut" record -o kill.trace -- "$app" kill >out 2>&1
[ $? -eq 137 ] || fail "the exit code is not that of the application"
"$gamut" trace show kill.trace | grep -q '^alloc b162 12345 ' || fail "the last allocation before SIGKILL is missing"

# A process that forks goes on in a file of its own.
"$gamut" record -o fork.trace -- "$app" fork >/dev/null 2>&1 || fail "fork ends with $?"
[ "$(find . -name 'fork*.trace' | wc -l)" -eq 2 ] || fail "fork: $(ls)"

# The two processes of gamut are killed one after the other: the trace is whole. What begins OpenCL later is recorded too.
mkfifo go
no_folder() { for _ in $(seq 500); do [ -z "$(find . -name '*.??????' -type d)" ] && return; sleep 0.02; done; fail "$1: $(ls)"; }
for who in first second; do
    "$gamut" record -o $who.trace -- sh -c 'echo $PPID >pid; read -r go <go; exec "$1"' sh "$app" >out 2>err &
    until [ -s pid ]; do sleep 0.02; done
    kill -9 "$([ $who = first ] && echo $! || cat pid)"
    echo >go; wait $! 2>/dev/null
    no_folder "the $who process of gamut was killed"
    [ "$(cat out)" = "$answer" ] && [ "$(counts $who.trace)" = "$expected" ] || fail "the $who process of gamut was killed: $(cat out err)"
    rm pid
done
"$gamut" record -o outlived.trace -- sh -c '"$1"; (read -r go <go; exec "$1") & exit 4' sh "$app" >out 2>err
[ $? = 4 ] && echo >go && no_folder "a process has outlived the application"
for trace in outlived*.trace; do [ "$(counts "$trace")" = "$expected" ] || fail "$trace: $(cat err)"; done
[ "$(ls outlived*.trace | wc -l)" = 2 ] && [ "$(cat out)" = "$answer
$answer" ] || fail "a process has outlived the application: $(cat out err; ls)"

# No room: the application goes on and its exit code stays. The reason is said, what was recorded until then is kept, and there is no half of a trace.
mkdir small
small() { unshare -rm sh -c 'mount -t tmpfs -o size=16k tmpfs small && "$@"; echo "$?" "$(ls small)"' sh "$@" >out 2>err; }
if small true; then
    small "$gamut" record -o small/full.trace -- sh -c '"$1"; exit 3' sh "$app"
    [ "$(sed 's/full.trace\.......$/folder/' out)" = "$answer
3 folder" ] || fail "no room: $(cat out err)"
    for said in "the recording of process [0-9]* ends here: a thread's chunk: No space" "what was recorded is in .*small/full.trace.......; .gamut trace import. reads it"; do
        grep -q "^gamut: $said" err || fail "no room: '$said' is not in: $(cat err)"
    done
fi

# Times of the device; no names.
"$gamut" record --times --anonymous -o times.trace -- "$app" >/dev/null 2>&1
"$gamut" trace show times.trace >text
[ "$(grep -c '^launch .* device=.* ended=' text)" -eq 302 ] || fail "--times: not every launch has its time and its end"
[ -z "$(awk -f "$here/overlap.awk" text)" ] || fail "--times: calls of a thread overlap: $(awk -f "$here/overlap.awk" text | head -3)"
grep -q 'add"\|app_opencl\|images"' text && fail "--anonymous: a name is in the trace"
grep -q '"kernel 2"' text || fail "--anonymous: kernels cannot be told apart"

# Mistakes.
expect() { # CODE PATTERN ARGUMENT...
    local code=$1 pattern=$2
    shift 2
    "$gamut" "$@" >out 2>err
    [ $? -eq "$code" ] || fail "$*: not exit $code"
    grep -q -- "$pattern" err || fail "$*: '$pattern' is not in: $(cat err)"
}
expect 2 "cannot be started" record -o no.trace -- ./nosuch
expect 2 "the file is there" record -o layer.trace -- "$app"
expect 2 "APPLICATION" record
expect 77 "nothing was recorded" record -o no.trace -- true
expect 77 "in a way that gamut sees$" record --via preload -o no.trace -- true
# A loader that reads no variable: gamut finds out before the application begins.
mkdir deaf && sed 's/OPENCL_LAYERS/OPENCL_NOTHIN/g; s/OCL_ICD_VENDORS/OCL_ICD_NOTHING/g' "$(ldd "$app" | awk '/libOpenCL/ { print $3 }')" >deaf/libOpenCL.so.1
LD_LIBRARY_PATH=$PWD/deaf expect 77 "nothing was recorded: .* for a loader of its own try --via preload" record --via layer -o no.trace -- "$app"
LD_LIBRARY_PATH=$PWD/deaf expect 0 "by its place in the drivers' tables" record -o deaf.trace -- "$app"
expect 3 "" record -o no.trace -- sh -c 'exit 3'
[ -z "$(find . -name 'no.trace*')" ] || fail "something was left of failed recordings: $(ls)"

[ $failures -eq 0 ]
