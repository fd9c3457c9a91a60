#!/bin/sh
# Shards of a list, and what joins them.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cli.sh"
real=$here/../../suites/real
mkdir traces
cp "$real"/cupy.trace "$real"/ffmpeg.trace "$real"/opencv.trace "$real"/tinygrad.trace traces/
set -- traces -s raw,pool,caching

# The cases of a file without what is no counter: a line for each.
cases() { sed -n '/^"cases"/,/^]/p' "$1" | sed 's/"slot":[0-9]*,//g; s/,$//'; }
same_cases() {
    tests=$((tests + 1))
    cases "$1" >one.cases
    cases "$2" >other.cases
    [ -s one.cases ] && cmp -s one.cases other.cases || fail "$1 and $2 have other cases"
}

# ---- replays ----
expect 0 'wrote one.json' replay "$@" -o one.json
for k in 1 2 3 4 5; do
    expect 0 "shard $k/5 has [23] of 12 items" replay "$@" --shard $k/5 -o s$k.json
done
expect 0 'all.json: 5 shards, 12 ok' join s?.json -o all.json
same_cases one.json all.json
expect 0 '' compare one.json all.json
# In any order, from any folder, by the environment.
expect 0 'all.json: 5 shards, 12 ok' join s3.json s1.json s5.json s4.json s2.json -o all.json --force
same_cases one.json all.json
GAMUT_SHARD=1/5 expect 0 'shard 1/5' replay traces/tinygrad.trace traces/opencv.trace traces/ffmpeg.trace \
    traces/cupy.trace -s caching,raw,pool -o t1.json
cases s1.json >one.cases && cases t1.json >other.cases
cmp -s one.cases other.cases || fail "another order of arguments, another shard"
# More shards than items: some are empty.
for k in 1 2 3 4 5; do
    expect 0 "shard $k/5 has [01] of 3 items" replay traces/cupy.trace -s raw,pool,caching --shard $k/5 -o e$k.json
done
expect 0 'e.json: 5 shards, 3 ok' join e?.json -o e.json
is_valid result s1.json
is_valid result all.json
is_valid result e.json

# ---- what does not fit together ----
expect 2 'join needs --out' join s1.json
expect 2 'all.json exists: use --force' join s?.json -o all.json
expect 2 'one.json is no shard: join takes files that were made with --shard' join one.json s1.json -o x.json
expect 2 "is in s2.json and in s2.json: leave one of them out" join s?.json s2.json -o x.json
expect 3 'shard 2 has no file: .*gamut[^ ]* replay traces -s raw,pool,caching -o s2.json --shard 2/5' \
    join s1.json s3.json s4.json s5.json -o x.json
grep -q '1 shard .*nothing is joined' err && [ ! -e x.json ] || fail "an incomplete list was joined"
# The command that is named fills the gap.
rm s2.json
sh -c "$(sed -n 's/.*has no file: //p' err)" >out 2>err || fail "the command that was named"
expect 0 'all.json: 5 shards' join s?.json -o all.json --force
same_cases one.json all.json

sed 's/"git_rev":"[0-9a-z]*"/"git_rev":"123456789abc"/' s2.json >b2.json
expect 2 'b2.json: it is of another build (git_rev "123456789abc"' join s1.json b2.json s3.json s4.json s5.json -o x.json
expect 0 'shard 2/5' replay traces -s raw,pool,tlsf --shard 2/5 -o l2.json
expect 2 'l2.json: it was made with other options: --strategy is "raw,pool,tlsf", here "raw,pool,caching"' \
    join s1.json l2.json s3.json s4.json s5.json -o x.json
expect 0 'shard 2/5' replay traces/cupy.trace traces/ffmpeg.trace traces/opencv.trace -s raw,pool,caching --shard 2/5 -o m2.json
expect 2 'm2.json: it is of another list: shard 2/5 of 9 items' join s1.json m2.json s3.json s4.json s5.json -o x.json
expect 0 'shard 2/6' replay "$@" --shard 2/6 -o n2.json
expect 2 'n2.json: it is of another list: shard 2/6 of 12 items.*; this one is shard 1/5' \
    join s1.json n2.json s3.json s4.json s5.json -o x.json
expect 0 'shard 2/5' replay "$@" --mem-limit 1GiB --shard 2/5 -o o2.json
expect 2 'o2.json: it was made with other options: --mem-limit is "1GiB", here not set' \
    join s1.json o2.json s3.json s4.json s5.json -o x.json
# A file whose case was taken out, and one that read another trace of the same name.
victim=$(sed -n 's/^{"id":"\([0-9a-f]*\)".*/\1/p' s2.json | head -1)
sed "/^{\"id\":\"$victim\"/d" s2.json | sed -z 's/,\n\]/\n]/' >d2.json
expect 2 'the files have 11 items that are not the 12 of the list' join s1.json d2.json s3.json s4.json s5.json -o x.json
sed 's/"program_digest":"[0-9a-f]*"/"program_digest":"0123456789abcdef"/' s2.json >p2.json
expect 2 'is another trace or program, or has other data, in s[0-9].json than in p2.json\|in p2.json than in s' \
    join s1.json p2.json s3.json s4.json s5.json -o x.json

# ---- a shard is done once ----
expect 2 "shard is '6/5', expected K/N" replay "$@" --shard 6/5 -o y.json
expect 2 'shard needs --out' replay "$@" --shard 1/5
expect 0 's1.json has [23] of them from an earlier try' replay "$@" --shard 1/5 -o s1.json
expect 2 's1.json cannot be gone on with: it is shard 1, this one is shard 2' replay "$@" --shard 2/5 -o s1.json
expect 2 's1.json cannot be gone on with: it was made with other options' replay "$@" --mem-limit 1GiB --shard 1/5 -o s1.json
expect 2 'one.json cannot be gone on with: it was made without --shard' replay "$@" --shard 1/5 -o one.json
expect 2 'b2.json cannot be gone on with: it is of another build' replay "$@" --shard 2/5 -o b2.json
expect 0 'shard 2/5 has' replay "$@" --shard 2/5 -o b2.json --force

# A shard that was killed while it replayed goes on with what it had saved: all but the last second. The trace grows until a replay
# of it has something saved before it ends, so that there is something to kill in every build and on every machine.
many=32000
grow() {
    awk -v many=$many 'BEGIN {
        print "action,addr,size,stream,time_us"
        for (i = 0; i < many; i++) {
            size[i % 997] = 512 * (1 + i * 7919 % 4001)
            at = (1 + i % 997) * 2097152
            if (i >= 997)
                printf "free_completed,%d,%d,0,%d\n", at, old[i % 997], i
            printf "alloc,%d,%d,0,%d\n", at, size[i % 997], i
            old[i % 997] = size[i % 997]
        }
    }' >long.csv
    expect 0 'wrote\|long.trace' trace import long.csv -o long.trace --force
    rm -f k-one.json
}
set -- long.trace -j 1 --check -s 'pool:leading_bits=0|1|2|3|4|5,tagged:policy=v*,raw,caching,tlsf'
grow
# A replay that SIGTERM stopped in its middle is not in the file either.
for signal in KILL TERM; do
    while [ $many -lt 1000000 ]; do
        rm -f k.json
        "$gamut" replay "$@" --shard 1/1 -o k.json >out 2>err &
        pid=$!
        until grep -q '"status":"ok"' k.json 2>/dev/null; do
            kill -0 $pid 2>/dev/null || break
            sleep 0.05
        done
        kill -$signal $pid 2>/dev/null
        wait $pid 2>/dev/null
        code=$?
        [ "$(grep -c '"status":"ok"' k.json)" -lt 14 ] || code=0 # the signal came when all was done
        [ $code -eq 0 ] || break
        many=$((many * 2))
        grow
    done
    case $signal$code in KILL137 | TERM130) ;; *) fail "SIG$signal: exit $code" ;; esac
    kept=$(grep -c '"status":"ok"' k.json)
    [ -e k-one.json ] || expect 0 'wrote k-one.json' replay "$@" -o k-one.json
    expect 3 "shard 1 is not finished: k.json has $kept of [0-9]* items: .*replay long.trace" join k.json -o k-all.json
    expect 0 "k.json has $kept of them from an earlier try" replay "$@" --shard 1/1 -o k.json
    expect 0 'k-all.json: 1 shard' join k.json -o k-all.json --force
    same_cases k-one.json k-all.json
    rm -f k-all.json
done
# join that is stopped at any moment: the file that was there, or the whole new one. SIGKILL alone may leave its temporary file. Without --foreground,
# timeout would kill itself too and not wait for join.
"$gamut" join k.json -o k-all.json 2>/dev/null
for after in 02 08 21; do
    for signal in INT TERM KILL; do
        (timeout --foreground -s $signal 0.0$after "$gamut" join k.json -o k-all.json --force; :) >out 2>err
        same_cases k-one.json k-all.json
        [ $signal = KILL ] && rm -f k-all.json.*.tmp
    done
done
expect 0 'k-all.json: 1 shard' join k.json -o k-all.json --force
[ "$(ls k-all.json*)" = k-all.json ] || fail "join that was killed leaves $(ls k-all.json*)"

# ---- runs in rounds ----
run_shard() { k=$1; shift; expect 0 "shard $k/2 has" run -w 'stencil*,lud' -s raw,pool -D host --smoke --rounds 3 --shard $k/2 "$@"; }
run_shard 1 -o r1.json
run_shard 2 -o r2.json
expect 0 'r.json: 2 shards, 8 ok' join r1.json r2.json -o r.json
has_rounds() { [ "$(grep -o '"round":[0-9]*' "$1" | sort | uniq -c | tr -s ' \n' ' ')" = "$2" ] || fail "$1 has other rounds"; }
has_rounds r.json ' 8 "round":0 8 "round":1 8 "round":2 '
expect 0 '' compare r.json r.json
# Programs stay whole: their times are compared.
for program in lud stencil; do
    [ "$(grep -l "\"workload\":\"$program\"" r1.json r2.json | wc -l)" = 1 ] || fail "$program is in two shards"
done
# Interrupted in a round, it goes on with that round.
interrupted TERM '1/30' i1.json '"round":0' run -w 'stencil*,lud' -s raw,pool -D host --smoke --rounds 30 \
    --shard 1/1 --progress plain
before=$(grep -o '"round":[0-9]*' i1.json | wc -l)
expect 3 'shard 1 is not finished: i1.json has .* of 8 items: .*gamut[^ ]* run ' join i1.json -o x.json
expect 0 'shard 1/1 has 8 of 8' run -w 'stencil*,lud' -s raw,pool -D host --smoke --rounds 30 --shard 1/1 \
    --progress plain -o i1.json
[ "$before" -gt 0 ] && [ "$(grep -o '"round":[0-9]*' i1.json | sort | uniq -c | awk '$1 != 8' | wc -l)" = 0 ] &&
    [ "$(grep -o '"round":[0-9]*' i1.json | wc -l)" = 240 ] || fail "the rounds that were interrupted"
grep -q '"sessions": *\[.*started_at.*started_at' i1.json || fail "one session"
expect 0 'i.json: 1 shard, 8 ok' join i1.json -o i.json
# On another machine the shard begins anew: its rounds are of one machine.
sed 's/"machine_id":"[0-9a-f]*"/"machine_id":"00000000"/; s/"status": *"complete"/"status":"interrupted"/' r1.json >q1.json
run_shard 1 -o q1.json
grep -q 'q1.json is of another machine: its rounds are dropped' err || fail "another machine"
# Two machines that ran a shard each are kept apart.
sed 's/"machine_id":"[0-9a-f]*"/"machine_id":"00000000"/' r2.json >v2.json
expect 0 'v-00000000.json: 1 shard' join r1.json v2.json -o v.json
[ "$(ls v-*.json | wc -l)" = 2 ] && [ ! -e v.json ] || fail "two machines in one file"
is_valid result r.json
is_valid result v-00000000.json

# ---- replays on a device: in rounds, all cases of a trace in one shard, apart by machine
set -- traces/tinygrad.trace traces/ffmpeg.trace traces/opencv.trace -s raw,pool -D host --no-gaps --rounds 2
expect 0 '6 ok; wrote g-one.json' replay "$@" -o g-one.json
for k in 1 2; do
    expect 0 "shard $k/2 has [24] of 6 items" replay "$@" --shard $k/2 -o g$k.json
done
expect 3 'shard 2 has no file: .*gamut[^ ]* replay traces/tinygrad.trace .* -o g2.json --shard 2/2' join g1.json -o g.json
expect 0 'g.json: 2 shards, 6 ok' join g1.json g2.json -o g.json
is_valid result g.json
has_rounds g.json ' 6 "round":0 6 "round":1 '
for trace in tinygrad ffmpeg opencv; do
    [ "$(grep -l "\"workload\":\"$trace\"" g1.json g2.json | wc -l)" = 1 ] || fail "$trace is in two shards"
done
# The cases, and what each asked for, are those of one process; its times are not. A time is in every case.
asked() { sed -n '/^"cases"/,/^]/p' "$1" | sed -n 's/^{"id":"\([0-9a-f]*\)".*"alloc_count":\([0-9]*\).*"wall_ns":{"rounds":2,.*/\1 \2/p'; }
asked g-one.json >one.cases && asked g.json >other.cases
[ "$(wc -l <one.cases)" = 6 ] && cmp -s one.cases other.cases || fail "g.json has other cases than g-one.json"
expect 0 'g1.json has [24] of them from an earlier try' replay "$@" --shard 1/2 -o g1.json
has_rounds g1.json " $(grep -c '"round":0' g1.json) \"round\":0 $(grep -c '"round":1' g1.json) \"round\":1 "
sed 's/"machine_id":"[0-9a-f]*"/"machine_id":"00000000"/' g2.json >w2.json
expect 0 'w-00000000.json: 1 shard' join g1.json w2.json -o w.json
[ "$(ls w-*.json | wc -l)" = 2 ] && [ ! -e w.json ] || fail "replays of two machines in one file"
sed 's/"machine_id":"[0-9a-f]*"/"machine_id":"00000000"/' g-one.json >w-one.json
expect 0 '' compare --by machine g.json w-one.json
has '^3 programs on 2 machines'

# ---- fits, advice ----
for k in 1 2; do
    expect 0 "shard $k/2 has [36] of 9 items" fit traces/cupy.trace traces/opencv.trace traces/ffmpeg.trace -s raw,pool,caching \
        --shard $k/2 -o f$k.json
    expect 0 "shard $k/2 has 1 of 2 items" advise traces/opencv.trace traces/ffmpeg.trace --for rmm --shard $k/2 -o a$k.json
done
expect 0 'f.json: 2 shards' join f1.json f2.json -o f.json
is_valid result f.json
expect 0 '' fit traces/cupy.trace traces/ffmpeg.trace traces/opencv.trace -s raw,pool,caching -o f-one.json
sed -n '/^"fits"/,/^]/p' f.json >one.cases && sed -n '/^"fits"/,/^]/p' f-one.json >other.cases
[ -s one.cases ] && cmp -s one.cases other.cases || fail "other fits"
expect 0 'f1.json has [36] of them from an earlier try' fit traces/cupy.trace traces/opencv.trace traces/ffmpeg.trace \
    -s raw,pool,caching --shard 1/2 -o f1.json
expect 0 'a.json: 2 shards' join a1.json a2.json -o a.json
is_valid result a.json
expect 0 '' advise traces/ffmpeg.trace traces/opencv.trace --for rmm -o a-one.json
for file in a.json a-one.json; do
    sed -n '/^"advice"/,/^]/p' $file | grep -c '"id"' >>counts
done
[ "$(sort -u counts)" = 2 ] || fail "not all advice"

# ---- the scripts of Slurm: no name is a command. This sbatch runs a task after the other.
odd='x.json $(touch ran) `touch ran` "q'"'"'
end'
mkdir bin "$odd" && cp traces/cupy.trace "$odd/a;b.trace"
cat >bin/sbatch <<'END'
#!/bin/sh
tasks=
while case $1 in --*) ;; *) false ;; esac; do
    case $1 in --array=1-*) tasks=$(seq "${1#--array=1-}") ;; esac
    shift
done
for SLURM_ARRAY_TASK_ID in ${tasks:-1}; do export SLURM_ARRAY_TASK_ID; "$@" >&2; done
echo 7
END
chmod +x bin/sbatch
tests=$((tests + 1))
PATH=$PWD/bin:$PATH "$here/../../scripts/slurm/submit" -n 2 -o "$odd/all.json" -- "$gamut" replay "$odd/a;b.trace" -s raw,pool >out 2>err
[ "$(cat out)" = "7 7" ] && [ -s "$odd/all/00002.json" ] && ! find . -name ran | grep . || fail "submit with odd names: $(cat out err)"
same_cases "$odd/all.json" "$odd/all.json"
summary
