#!/bin/bash
# A list of 1,000 shards on a real Slurm of two nodes, which this test starts and stops in a folder of its own. A task is
# requeued, one is killed, and a node is drained, while the array runs. What is joined is what one process does.
#   check_slurm.sh      SHARDS [1000]; BUILD [build]
# Skipped with a sentence where Slurm is not installed: `make setup-fleet`.
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/cluster.sh"
gamut=${GAMUT:-$root/${BUILD:-build}/gamut}
shards=${SHARDS:-1000} few=$(((shards + 49) / 50)) # few: as many must end before and beside what is done to the others
[ -x "$gamut" ] || { echo "no binary at $gamut: make it, or set GAMUT" >&2; exit 1; }
for tool in munged slurmctld slurmd sbatch; do
    command -v $tool >/dev/null || { echo "skipped: $tool is not installed: make setup-fleet installs Slurm"; exit 0; }
done
[ "$(id -u)" = 0 ] || { echo "skipped: Slurm's daemons run jobs as other users: only root can start them"; exit 0; }
for variable in $(env | sed -n 's/^\(GAMUT[A-Z_]*\)=.*/\1/p'); do unset "$variable"; done

dir=$(mktemp -d) || exit 1
trap 'cluster_stop; rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
cd "$dir" || exit 1
failures=0
fail() {
    failures=$((failures + 1))
    echo "FAILED: $1" >&2
}
# until_ok SECONDS COMMAND...: waits until the command succeeds.
until_ok() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.1
    done
}
# The cases of a file without what is no counter: a line for each.
cases() { sed -n '/^"cases"/,/^]/p' "$1" | sed 's/"slot":[0-9]*,//g; s/,$//'; }

cluster_start "$dir/cluster" || { echo "FAILED: Slurm does not come up" >&2; exit 1; }

# ---- a list: ten traces and a long one, the settings of tests/fleet/settings, each freed in two ways ----
mkdir traces
cp "$root"/suites/real/*.trace traces
awk 'BEGIN {
    print "action,addr,size,stream,time_us"
    for (i = 0; i < 100000; i++) {
        size = 512 * (1 + i * 7919 % 4001)
        at = (1 + i % 997) * 2097152
        if (i >= 997)
            printf "free_completed,%d,%d,0,%d\n", at, old[i % 997], i
        printf "alloc,%d,%d,0,%d\n", at, size, i
        old[i % 997] = size
    }
}' >long.csv
"$gamut" trace import long.csv -o traces/long.trace >/dev/null 2>&1 || fail "the long trace"
list=(replay traces -s "$(cat "$here/settings")" --free-at both --check)
"$gamut" "${list[@]}" -j 2 -o one.json >/dev/null 2>one.log || { echo "FAILED: one process: $(tail -n 1 one.log)"; exit 1; }

# ---- the array ----
start=$SECONDS
read -r array join < <("$root/scripts/slurm/submit" -n "$shards" -o all.json -- "$gamut" "${list[@]}")
[ -n "$join" ] || { fail "submit"; exit 1; }
finished() { [ "$(ls all 2>/dev/null | grep -c '\.json$')" -ge "$1" ]; }
# The number of a task that runs; it may end before something is done to it.
running() { squeue -h -j "$array" -t RUNNING -o %K | grep -m 1 '^[0-9]*$'; }
state_of() { scontrol show job "${array}_$1" 2>/dev/null | sed -n 's/.*JobState=\([A-Z_]*\).*/\1/p'; }

# One is requeued while it runs, and one is killed. A task that has just ended answers neither: then another one.
requeue_one() { requeued=$(running) && scontrol requeue "${array}_$requeued" 2>/dev/null; }
kill_one() {
    killed=$(running) && [ "$killed" != "$requeued" ] && scancel --signal=KILL --full "${array}_$killed" 2>/dev/null &&
        until_ok 20 has_ended && [ "$(state_of "$killed")" != COMPLETED ]
}
has_ended() { case $(state_of "$killed") in RUNNING | COMPLETING) return 1 ;; *) return 0 ;; esac; }
until_ok 120 finished "$few" || fail "no shard ended"
until_ok 60 requeue_one || fail "nothing was requeued"
until_ok 60 kill_one || fail "no task was killed while it ran"
echo "requeued: shard $requeued; killed: shard $killed"

# One node is drained: the other one goes on, and the first comes back later.
scontrol update nodename=n2 state=drain reason=test || fail "drain"
drained() { [ "$(squeue -h -w n2 -t RUNNING,COMPLETING | wc -l)" = 0 ]; }
until_ok 60 drained || fail "n2 still works"
before=$(ls all | grep -c '\.json$')
until_ok 120 finished $((before + few)) || fail "no shard ended on the node that is left"
[ "$(squeue -h -w n2 -t RUNNING | wc -l)" = 0 ] || fail "a drained node got a task"
scontrol update nodename=n2 state=resume || fail "resume"

joined() { [ -n "$(scontrol show job "$join" | grep -E 'JobState=(COMPLETED|FAILED)')" ]; }
until_ok 3600 joined || fail "the join did not end: $(squeue -h | head -3)"
echo "$shards shards in $((SECONDS - start)) s"

# ---- what the killed one left, and the rest ----
if "$gamut" join all/[0-9]*.json -o early.json 2>missing.log; then
    # It had written its last case before it was killed.
    echo "the killed shard was complete"
else
    [ "$(grep -c '^gamut: shard ' missing.log)" = 1 ] && grep -q "^gamut: shard $killed " missing.log ||
        fail "another shard than $killed is missing: $(head -3 missing.log)"
    cmp -s missing.log all/join.log || fail "join.log does not say what is missing: $(cat all/join.log)"
    [ ! -e all.json ] || fail "an incomplete list was joined"
    # The same task again, and the join.
    read -r array join < <("$root/scripts/slurm/submit" -n "$shards" -o all.json --array="$killed" -- "$gamut" "${list[@]}")
    until_ok 120 joined || fail "the second join did not end"
fi
[ -e all.json ] || fail "nothing was joined: $(cat all/join.log)"
cases one.json >one.cases
cases all.json >all.cases
[ -s one.cases ] && cmp -s one.cases all.cases || fail "the joined cases are not those of one process"
"$gamut" compare one.json all.json >compare.log 2>&1 || fail "compare: $(tail -n 1 compare.log)"
echo "$(grep -c '"key"' one.cases) cases, $(grep -o 'gated: [0-9]* same' compare.log | head -1) counters"
[ $failures -eq 0 ]
