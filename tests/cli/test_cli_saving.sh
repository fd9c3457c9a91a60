#!/bin/sh
# The command line: result files, several processes that write them at once, and full disks.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cli.sh"
run="run --smoke -w fft -s raw --progress never"

# together N ARGUMENT...: N processes at once. Prints their exit codes in order; stderr goes to err.
together() {
    n=$1
    shift
    tests=$((tests + 1))
    rm -f err.* code.*
    for i in $(seq "$n"); do
        ("$gamut" "$@" >/dev/null 2>"err.$i" && echo 0 >"code.$i" || echo $? >"code.$i") &
    done
    wait
    cat err.* >err
    sort code.* | paste -s -d ' '
}

# ---- runs that start in the same second
n=3
for command in "$run" "experiment isosurface:cells=4:window=2:frames=2 -s raw --rounds 1"; do
    rm -rf results
    # shellcheck disable=SC2086
    together $n $command >/dev/null
    : >out
    [ "$(find results -name '*.json' | wc -l)" -eq $n ] || fail "$n times gamut $command at once: $(ls results/*)"
    for file in results/*/*.json; do is_json "$file"; done
    [ "$(sed -n 's/.*wrote //p' err | sort -u | wc -l)" -eq $n ] || fail "$n times gamut $command: names that are not unique"
done

# ---- one name for several runs
: >out
# shellcheck disable=SC2086
[ "$(together 3 $run --out one.json)" = "0 2 2" ] || fail "--out at once: $(cat code.*)"
grep -q "one.json exists: use --force" err || fail "--out at once: the refusal says nothing"
is_json one.json
# What is no plain file, as a pipe or a device, is not replaced.
mkfifo pipe
# shellcheck disable=SC2086
expect 2 "pipe is no plain file" $run --out pipe --force
[ -p pipe ] || fail "--out PIPE --force: the pipe is gone"
echo other >target.json
ln -s target.json link.json
# shellcheck disable=SC2086
expect 0 "wrote link.json" $run --out link.json --force
[ -L link.json ] || fail "--out LINK --force: the link is gone"
is_json target.json
grep -q '"complete"' target.json || fail "--out LINK --force: the target is not the result"
[ -z "$(find . -name '*.tmp')" ] || fail "temporary files are left"

# ---- a file that a run is writing
"$gamut" run --smoke -w fft -s raw --rounds 10000 --out busy.json --progress plain >busy.out 2>busy.err &
pid=$!
tries=0
until grep -q '\[ *2/' busy.err || [ $tries -eq 3000 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
# shellcheck disable=SC2086
expect 2 "busy.json is being written by another gamut" $run --out busy.json --force
kill -TERM $pid
wait $pid
is_json busy.json

# ---- more rounds, from several processes, which wait for each other
# shellcheck disable=SC2086
expect 0 "1 ok" $run --rounds 2 --out add.json
: >out
[ "$(together 3 run --add add.json --rounds 2)" = "0 0 0" ] || fail "--add at once: $(cat code.*)"
[ "$(grep -o '"round":[0-9]*' add.json | sort -u | wc -l)" -eq 8 ] || fail "--add at once: not 8 rounds"
grep -q '^"sessions": \[\({[^}]*"rounds":2},*\)\{4\}\]' add.json || fail "--add at once: not four sessions of 2 rounds"
grep -q '^"rounds": 8,' add.json && grep -q '^"status": "complete"' add.json || fail "--add at once: the run's facts"
grep -q '"stats":{"wall_ns":{"rounds":8,' add.json || fail "--add at once: stats are not of all rounds"

# ---- no room: a file may have 64 KiB, so the result stays without rounds, and the table is printed
tests=$((tests + 1))
(
    ulimit -f 128
    "$gamut" run --smoke -w 'stencil,canny,fft,lud' --rounds 2 --out full.json
) >out 2>err </dev/null
code=$?
[ $code -eq 2 ] || fail "no room: exit $code, expected 2"
grep -q "full.json could not be written: File too large; it has what was saved before" err || fail "no room: no reason"
has "^canny smoke on host"
! grep -q "wrote" err || fail "no room: it says that it wrote the file"
is_json full.json
[ -z "$(find . -name '*.tmp')" ] || fail "no room: temporary files are left"

# ---- the same of a replay, whose result is too large at its end
"$gamut" trace import "$here/../traces/pytorch/gnn.trace.csv.gz" -o gnn.trace 2>/dev/null
tests=$((tests + 1))
(
    ulimit -f 64
    "$gamut" replay gnn.trace --out full-replay.json
) >out 2>err </dev/null
code=$?
[ $code -eq 2 ] || fail "no room for a replay: exit $code, expected 2"
grep -q "full-replay.json could not be written: File too large" err || fail "no room for a replay: no reason"
has "^gnn recorded on dry"
! grep -q "wrote" err || fail "no room for a replay: it says that it wrote the file"

# ---- room elsewhere: a file takes the place of the folder, and the result goes on in $TMPDIR
# The folder goes as soon as the second round is reported: the pipe is read line by line. Where the run ends before that, on a busy
# machine, it is made again.
for try in 1 2 3 4 5 6 7 8 9; do
    rm -rf was gone elsewhere lines
    mkdir gone elsewhere
    mkfifo lines
    TMPDIR=$dir/elsewhere "$gamut" run --smoke -w fft -s all --rounds 20 --out gone/y.json --progress plain >out 2>lines &
    pid=$!
    while IFS= read -r line; do
        echo "$line"
        case $line in "[ 2/20]"*) [ -d was ] || { mv gone was && echo >gone; } ;; esac
    done <lines >err
    wait $pid
    code=$?
    [ $code -eq 0 ] || break
done
tests=$((tests + 1))
[ $code -eq 2 ] || fail "room elsewhere: exit $code, expected 2"
grep -q "gone/y.json.*; it has what was saved before, and the whole result goes to .*elsewhere/y.json" err ||
    fail "room elsewhere: not told where"
has "^fft smoke on host"
is_json was/y.json
grep -q '"stats":{"wall_ns":{"rounds":20,' elsewhere/y.json || fail "room elsewhere: rounds are missing"
[ "$(ls elsewhere)" = y.json ] || fail "room elsewhere: more than the result"

# ---- little memory: each command says so, or does its work; in 60 MB each of them does. A sanitized gamut does not begin in so little.
begins() { (ulimit -v "$1" && exec "$gamut" --version) >out 2>&1; }
least=8000
until begins $least || [ $least -gt 60000 ]; do least=$((least + 2000)); done
"$gamut" trace import "$here/../traces/pytorch/small.trace.csv" -o small.trace 2>err
[ $least -gt 60000 ] || while read -r words; do
    tests=$((tests + 1))
    for kib in $(seq $least 2000 58000) 60000; do
        # shellcheck disable=SC2086
        (ulimit -c 0 && ulimit -v "$kib" && OMP_NUM_THREADS=1 exec "$gamut" $words) >out 2>err </dev/null
        code=$?
        [ $code -ne 0 ] || break
        [ $code -eq 134 ] && [ "$(tail -n 1 err)" = "gamut: the host is out of memory" ] || fail "gamut $words in $kib KiB: exit $code"
    done
    [ $code -eq 0 ] || fail "gamut $words does not work in $kib KiB"
done <<END
list
fit small.trace
advise small.trace
replay small.trace -s all --no-save
plan $here/../../workloads/lud/lud.mem
trace plan small.trace --force -o small.plan
view small.trace --force --out view.html
END

summary
