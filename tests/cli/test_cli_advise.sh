#!/bin/sh
# Advice for several files as a table: its lines and their order, files that cannot be read, formats, shards, an interrupt.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cli.sh"
traces=$here/../traces/pytorch
mkdir -p one/two other temporary
cp "$traces/settings/lstm.9.pickle.gz" one/lstm.pickle.gz
cp "$traces/settings/lstm.0.pickle.gz" other/lstm.pickle.gz
cp "$traces/settings/graphs.0.pickle.gz" one/two/graphs.pickle.gz
cp "$traces/small.snapshot-4.pickle" other/small.pickle
echo no log >other/bad.pickle
TMPDIR=$dir/temporary
export TMPDIR

# lines NAME...: the table has these, in this order.
lines() {
    tests=$((tests + 1))
    [ "$(sed -n 's/^\([^ ,]*\)[ ,].*/\1/p' out | grep -v -e '^settings:' -e '^program' -e '^trace$' | tr '\n' ' ')" = "$* " ] ||
        fail "the lines are not $*"
}

# ---- an unmodified program: how to serve it, and what that is worth. The program lets its only block go in each step, so that the driver gives its page
# back and gets it again: a prediction has that in it.
expect 0 "" advise "$here/../../suites/real/opencv.trace"
has "^opencv: gamut serve -s caching -- python opencv_filters.py$"
has "^  memory  *24.0 MiB instead of 4.87 MiB (19.1 MiB more)$"
has "^  calls  *3 instead of 476; "
has "^  compared  *raw, and 1 setting of gamut serve in replays"
{
    echo 'gamut trace 1
{"source":"gamut record: CUDA, cupti","application":"./steps","allocator":"raw","time_unit_ns":1,"capacity_bytes":0,"lost_beginning":false,"knows":["times","frees","done","queues","threads","uses","device_times","ends"]}
queue 0 "0"
thread 0 "0"
name 1 "k"'
    for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
        echo "alloc b$i 4096 q0 t0 @${i}00000
launch q0 t0 @${i}50000 name=1 call=4000 device=2000 ended=${i}60000 uses=b${i}w
free b$i q0 t0 @${i}70000
done b$i q0 t0 @${i}70000"
    done
} >steps.trace
expect 0 "" advise steps.trace --atlas "$here/../../results/data/atlases/h100.json.gz"
has "^steps: gamut serve -s caching -- ./steps$"
has "^  time  *.* by the atlas (about 1\.[3-9][0-9] times as fast)$"
# Calls of the log are dearer than the atlas says: they cost what they did, but for the wait of a free. A served program waits there, too, and asks for it.
sed '/^alloc/s/@.*/& call=45000/; /^free/s/@.*/& call=25000/; s/ended=\([0-9]*\)60000/ended=\175000/' steps.trace >dear.trace
expect 0 "" advise dear.trace --atlas "$here/../../results/data/atlases/h100.json.gz"
has "^  time  *.* by the atlas (about 1.75 times as fast)$"
# So do commands, transfers and waits, but no more than the atlas says: the recorder's own time is in the log's.
waits_of() {
    sed '/^alloc/,$d' steps.trace
    for i in 3 6 9 12 15; do
        echo "launch q0 t0 @${i}00000 name=1 call=2000 device=60000 ended=${i}70000
wait q0 t0 @${i}20000 call=50500
read 4096 q0 t0 @${i}80000 call=$1 device=2000 ended=${i}84000"
    done
} >waits.trace
for call in 1000 20000 90000; do
    waits_of $call
    "$gamut" replay waits.trace -s raw --atlas "$here/../../results/data/atlases/h100.json.gz" --format json --no-save | jq '.cases[0].model.predicted_ns'
done 2>err | tr '\n' ' ' >out
read -r short long longer <out
# The four gaps after a read are 19 and 70 µs shorter.
[ $((short - long)) -lt 66000 ] && [ $((short - long)) -gt 0 ] && [ $((long - longer - 280000)) -lt 100 ] && [ $((longer + 280000 - long)) -lt 100 ] ||
    fail "reads of 1, 20 and 90 µs"
expect 0 "" advise steps.trace --for gamut
lacks "gamut serve"
expect 0 "" advise steps.trace --for serve
has "^steps: gamut serve -s caching -- ./steps$"

# ---- a line a program, most bytes to save first; a program of one name is told apart by its folder
set -- one/lstm.pickle.gz one/two/graphs.pickle.gz other/lstm.pickle.gz
all="other/lstm.pickle.gz one/lstm.pickle.gz graphs"
expect 0 "" advise "$@"
# shellcheck disable=SC2086 # words
lines $all total
has "^settings: PYTORCH_CUDA_ALLOC_CONF=\.\.\.$"
has "^program  *now  *then  *saved  *%  fits now  fits then  sure  *setting$"
has "^other/lstm.pickle.gz  *748 MiB  *542 MiB  *206 MiB  *27.5  *658 MiB  *522 MiB  exact  *expandable_segments:True,max_split_size_mb:128$"
has "^graphs  *304 MiB  *304 MiB  *0 B  *0.0  *304 MiB  *304 MiB  exact  *as it is$"
has "^total of 3  *1.58 GiB  *1.36 GiB  *226 MiB  *14.0  *-  *-  *2 to change$"
expect 0 "" advise one/two/graphs.pickle.gz one/two/graphs.pickle.gz -f csv
has '^graphs.pickle.gz #1,318767104,318767104,0,0,318767104,318767104,exact,.*,,,$'
has '^graphs.pickle.gz #2,'
expect 0 "" advise "$@" -f md
has "^| other/lstm.pickle.gz | 748 MiB | .* | expandable_segments:True,max_split_size_mb:128 |$"
has "^| total of 3 | "
expect 0 "" advise "$@" -f csv
# shellcheck disable=SC2086
lines $all
has '^other/lstm.pickle.gz,.*,"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True,max_split_size_mb:128",less memory,$'
cp out all.csv
expect 0 "" advise one/two/graphs.pickle.gz other/small.pickle # a line for each device
has "^small-cuda0 "
has "^small-cuda1 "
has "^total of 3 "
expect 0 "" advise one/two/graphs.pickle.gz --format csv # a table of one line
has '^graphs,318767104,'
expect 0 "" advise one/lstm.pickle.gz other/lstm.pickle.gz --long
has "^all 2 traces: "

# ---- what cannot be read is a line with its reason, and the others go on; a wrong flag is no line
expect 3 "" advise other/bad.pickle one/two/graphs.pickle.gz nosuch.pickle
lines graphs bad nosuch total
has "^bad  *this is no log of a kind that gamut knows"
has "^nosuch .*No such file"
has "^total of 3  .*0 to change, 2 without an answer$"
expect 3 "" advise other/bad.pickle nosuch.pickle -f json
is_json out
has '"reason": "this is no log'
expect 0 "" advise "$@" -f json # in the order of the table
[ "$(sed -n 's/^ *"trace": "\(.*\)",$/\1/p' out | tr '\n' ' ')" = "$all " ] || fail "another order in JSON"
expect 2 "did you mean pool?" advise "$@" --current pol
expect 2 "exclude each other" advise "$@" --long --shard 1/2 -o s.json
[ -z "$(ls temporary)" ] || fail "files are left in TMPDIR: $(ls temporary)"

# ---- shards, joined, are the same table; a shard goes on where it was
set -- "$@" other/bad.pickle other/small.pickle
for k in 1 2 3; do
    "$gamut" advise "$@" --shard $k/3 -o s$k.json >out 2>err
    grep -q "shard $k/3 has [123] of 5 items" err || fail "no shard $k"
done
expect 0 "s1.json has [123] of them from an earlier try" advise "$@" --shard 1/3 -o s1.json
expect 0 "all.json: 3 shards" join s1.json s2.json s3.json -o all.json
is_valid result all.json
"$gamut" advise "$@" -o whole.json >whole.txt 2>err
expect 0 "" print all.json
cmp -s out whole.txt || fail "the joined table is another one"
"$gamut" advise "$@" --format csv >whole.csv 2>err
expect 0 "" print all.json --format csv
cmp -s out whole.csv || fail "the joined CSV is another one"
expect 0 "" print whole.json --format csv
cmp -s out whole.csv || fail "the CSV of the file is another one"

# ---- now is what the log held; the difference of the replay from it is a share of that
sed 's/"calls_are_logged": *true/"calls_are_logged":false/; s/"most_off_bytes": *0/"most_off_bytes":26214400/; s/"logged_peak_bytes": *[0-9]*/"logged_peak_bytes":629145600/' \
    whole.json >off.json
expect 0 "" print off.json
has "^one/lstm.pickle.gz  *600 MiB  *542 MiB  *58.0 MiB  *9.7 .* ±4.2 %  *expandable_segments:True"
has "^graphs  *600 MiB  *600 MiB  *0 B .*as it is$"

# ---- a request that was refused: 24 MiB fit within 42 MiB into an expandable segment alone
cat >refused.txt <<'END'
gamut trace 1
{"source":"PyTorch by hand","time_unit_ns":1,"capacity_bytes":null,"lost_beginning":false,"limit_least_bytes":41943040,"limit_most_bytes":44040192,"knows":["frees"]}
queue 0 "0"
alloc b1 20971520 q0
alloc b2 20971520 q0
free b1 q0
alloc b3 12582912 q0
free b2 q0
refused 25165824 q0
END
expect 0 "replays under 42.0 MiB," advise refused.txt
has "^  for  *memory for a request that was refused$"
has "^  refused  *the request of 24.0 MiB that was refused is served, within 42.0 MiB; without the setting, the largest free piece of its pool has [0-9.]* MiB, and more memory would exceed the limit"
sed 's/refused 25165824/refused 31457280/' refused.txt >larger.txt
expect 0 "replays under 42.0 MiB," advise larger.txt --current raw # a setting that is left has the line too
has "^larger: leave it as it is$"
has "^  refused  *the request of 30.0 MiB that was refused is served, within 42.0 MiB$"
expect 0 "replays under 42.0 MiB," advise refused.txt -f json
[ "$(sed -n 's/^ *"refused_requests[_a-z]*": \(.*\),$/\1/p' out | tr '\n' ' ')" = "1 0 1 1 1 1 " ] || fail "other numbers of refused requests in JSON"
has '"for": "memory for a request that was refused"'
expect 0 "" advise one/two/graphs.pickle.gz
lacks "^  refused"
expect 0 "" advise one/two/graphs.pickle.gz -f json
has '"refused_requests_served": null'
expect 0 "2 ok" replay refused.txt -s caching,vmm --no-save
has "^! .* caching: refused-request: the request of 24.0 MiB that was refused is refused too$"
has "^! .* vmm: refused-request: the request of 24.0 MiB that was refused is served$"

# ---- who holds what at the peak, where the log has call stacks
expect 0 "" advise "$traces/cudnn/conv3d.snapshot.pickle.gz"
has '^  holds  *activations 150 MiB (40 %), cuDNN workspaces 116 MiB (31 %), gradients 103 MiB (28 %), not known 3.13 MiB (0.84 %)$'
has '^  at  *extra.py:16 conv3d (activations): 150 MiB in 2 blocks$'
has '^  *ConvolutionBackward0 (cuDNN workspaces): 116 MiB in 1 block$'
expect 0 "" fit "$traces/cudnn/conv3d.snapshot.pickle.gz" -s caching
has ' at event [0-9]* (cuDNN workspaces: ConvolutionBackward0); '
expect 0 "" advise "$traces/cudnn/conv3d.snapshot.pickle.gz" --format md
has '^- ConvolutionBackward0 (cuDNN workspaces): 116 MiB in 1 block$'
expect 0 "" advise "$traces/cudnn/conv3d.snapshot.pickle.gz" --format json
has '"site": "ConvolutionBackward0"'
expect 0 "" advise one/lstm.pickle.gz
lacks '^  holds'

# ---- an interrupt leaves the table of what was done: the pipe, which is opened last, ends after the signal
mkfifo pipe.pickle
"$gamut" advise one/two/graphs.pickle.gz one/lstm.pickle.gz pipe.pickle --jobs 1 -o part.json >out 2>err &
pid=$!
exec 3>pipe.pickle
kill -TERM $pid
exec 3>&-
while kill -0 $pid 2>/dev/null; do # it may have opened the pipe again
    : <>pipe.pickle
    sleep 0.02
done
wait $pid
[ $? -eq 130 ] || fail "no exit code of an interrupt"
lines lstm graphs total
grep -q '^gamut: interrupted: the table has the 2 lines that were done$' err || fail "no word of the interrupt"
expect 0 "" print part.json
lines lstm graphs total
[ -z "$(ls temporary)" ] || fail "files are left in TMPDIR: $(ls temporary)"

# ---- a log that begins in the middle: other settings have a bound, and the current one is as far from the log as it says
expect 0 "the limit inferred" advise "$traces/midrun/seed3/graphs.expandable_divisions.pickle.gz"
has "^  memory  *about [0-9]* MiB (at least 572 MiB) instead of 846 MiB ± 40.0 MiB (.* % less)$"
has "^  but  *the log does not say what the advised setting would have held when it began: its bytes are estimates$"
expect 0 "the limit inferred" advise "$traces/midrun/seed3/graphs.expandable_divisions.pickle.gz" --format json
has '"reserved_least_bytes": 845152256,$'
has '"reserved_most_bytes": 929038336,$'
has '"reserved_most_bytes": null,$'
expect 0 "" advise "$traces"/midrun/seed1/churn.*.pickle.gz
has "^churn.by_size.pickle.gz .* about  *expandable_segments:True"
summary
