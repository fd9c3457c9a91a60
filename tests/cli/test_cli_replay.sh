#!/bin/sh
# The command line: traces, and replays of them.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cli.sh"
unset GAMUT_DEVICE # a replay needs none
traces=$here/../traces

# ---- traces
expect 0 "wrote gnn.trace: 6340 events, 2120 blocks" trace import "$traces/pytorch/gnn.trace.csv.gz" -o gnn.trace
expect 2 "gnn.trace is there already: --force replaces it" trace import "$traces/pytorch/gnn.trace.csv.gz" -o gnn.trace
expect 2 "did you mean import?" trace imprt gnn.trace
expect 2 "expected 2 files, found 1" trace diff gnn.trace
expect 2 "this is no log of a kind that gamut knows" trace info "$traces/README.md"
expect 2 "this is no log of a kind that gamut knows" trace import "$traces/README.md"
expect 0 "" trace info gnn.trace
has "^blocks  *2120"
has "1887947224 bytes"
expect 0 "" trace info gnn.trace --format json
is_json out
expect 0 "" trace check gnn.trace
expect 0 "" trace show gnn.trace
cp out gnn.txt
expect 0 "wrote back.trace" trace import gnn.txt -o back.trace
expect 0 "" trace diff gnn.trace back.trace
has "^0 events differ"
expect 0 "wrote part.trace: 1[0-9]* events" trace cut gnn.trace --first 1001 --last 1100 -o part.trace
expect 1 "" trace diff gnn.trace part.trace
expect 2 "has 6340 events" trace cut gnn.trace --first 7000 -o none.trace
[ ! -e none.trace ] || fail "none.trace was written"
head -c 9000 gnn.trace >cut.trace
expect 2 "cut off" trace check cut.trace

# ---- the suite of real applications: small, whole, described, and replayed by its name
folder=$here/../../suites/real
expect 0 "10 ok" replay --suite real -s tlsf --no-save --check
for trace in "$folder"/*.trace; do
    name=$(basename "$trace" .trace)
    has "^$name recorded on dry"
    grep -q "^| \`$name\` | [A-Za-z]* [0-9]" "$folder/README.md" || fail "suites/real/README.md does not say what $name is"
    "$gamut" trace check "$trace" >/dev/null || fail "$trace is damaged"
    "$gamut" trace show "$trace" | grep -qE '/(tmp|home|work|root)/' && fail "$trace has a path of the machine"
done
[ "$(cat "$folder"/*.trace | wc -c)" -lt 1000000 ] || fail "the suite has more than 1 MB"
expect 0 "11 ok" replay gnn.trace --suite real -s raw --no-save
expect 2 "replay --suite real" run --suite real
expect 0 '' list suites
has '^real '
has '^ *rows: cupy, ffmpeg, jax, lightgbm, opencv, openmm, pyclesperanto, pyopencl, tinygrad, torch$'
expect 2 "there is no suite of traces 'none'" replay --suite none
expect 2 "the suite real has no list of kinds and halves" replay --suite real:training
expect 2 "'none' is no kind or half" fit --suite corpus:none

# ---- the corpus: its list says what each trace is, and its means are over programs
corpus=$here/../../suites/corpus
expect 0 '' list corpus
has '^ffmpeg  *data  *[a-z]*  *ffmpeg 5.1.9: '
expect 0 '' fit --suite corpus:data -s cupy,blocks --show means --atlas h200
has '^[4-9] programs\. Regret'
has '^blocks .* ffmpeg '
has '^data  *[4-9]  cupy'
lacks 'not ranked'
expect 0 '' fit --suite corpus:data -s cupy,blocks --show means --format csv
lacks 'programs'
[ "$(cat "$corpus"/*.trace | wc -c)" -lt 8000000 ] || fail "the corpus has more than 8 MB"
# What PyTorch's allocator held is what a replay of its rules holds, and each trace has all that the corpus says of one.
expect 0 'ok' replay --suite corpus -s caching --no-save --format json
! command -v python3 >/dev/null || python3 - "$corpus/corpus.json" 3<out <<'END' || fail "a trace of the corpus is not what its list says"
import json, os, sys
held = {c["key"]["workload"]: c["counters"]["cold"] for c in json.load(os.fdopen(3))["cases"]}
traces, wrong = json.load(open(sys.argv[1]))["traces"], 0
for name, t in traces.items():
    missing = [k for k in ("kind", "half", "application", "licence", "command", "device", "date", "typical", "truth") if not t.get(k)]
    truth, replayed = t["truth"], held[name]
    if truth["allocator"] == "caching":
        missing += [k for k, is_as in (("reserved_peak_bytes", "peak_reserved_bytes"), ("driver_alloc_count", "driver_alloc_count")) if truth[k] != replayed[is_as]]
    if missing:
        wrong += 1
        print(name, *missing)
sys.exit(wrong > 0 or len(traces) < 40)
END
# one allocator against another, by program: the exit code says whether it is worse anywhere
some="$folder/pyopencl.trace $folder/ffmpeg.trace $folder/opencv.trace"
expect 1 '' fit $some -s blocks --against caching --atlas h200
has '^blocks against caching: better in 0, worse in 1, mixed in 2, no difference beyond 1% in 0'
[ "$(sed -n 4p out | awk '{print $1, $2}')" = "ffmpeg worse" ] || fail "the worst program is not the first"
expect 0 '' fit $some -s 'caching:conf={}' --against caching
has 'better in 0, worse in 0, mixed in 0, no difference beyond 1% in 3'
expect 1 '' fit $some -s pool --against caching
has 'better in 2, worse in 1, mixed in 0'
expect 0 '' fit $some -s pool --against caching --bound 99%
expect 1 '' fit $some -s blocks --against caching --format csv
has '^blocks,opencv,,worse,'
expect 1 '' fit $some -s ggml:pool=virtual --against ggml
has '^ffmpeg .* worse  event [0-9]*: '
expect 2 "needs another allocator" fit $some -s caching --against caching
expect 2 "bound is 'x', expected a percentage" fit $some -s blocks --against caching --bound x
expect 2 "there is no suite of traces" replay --suite ../tests
expect 2 "needs TRACE" replay

# ---- replays: bytes and driver calls as PyTorch reported them (tests/traces/README.md)
expect 0 "3 ok; wrote r.json" replay gnn.trace -s raw,caching,vmm -o r.json
is_json r.json
has "caching .* 4.44 GiB  *2.53×  *20 "
has "vmm .* 1.84 GiB"
# What a replay has not is not in the table either, nor missed.
has "strategy *reserved *over bound *driver calls *hits"
has "lower bound 1.76 GiB"
has "^Least memory: raw, 1.00× the lower bound with 4220 driver calls.$"
has "^Fewer driver calls: vmm (224, 1.05×); fewest: caching (20, 2.53×).$"
grep -Eq "wall|intervals|no times" out && fail "the table misses times"
expect 0 "" compare r.json r.json
expect 2 "r.json exists" replay gnn.trace -o r.json
# A name that is not UTF-8 is one in the file with '?', whose id is by what the file has.
odd=$(printf 'caf\351') && cp gnn.trace "$odd.trace"
expect 0 "2 ok" replay "$odd.trace" -s raw,pool -o "$odd.json"
expect 0 "" print "$odd.json"
expect 0 "" report "$odd.json" "$odd.json" --out odd
expect 2 "are both called gnn" replay gnn.trace ./gnn.trace --no-save
expect 2 "did you mean pool?" replay gnn.trace -s pol --no-save
expect 3 "1 oom" replay gnn.trace -s caching --mem-limit 1GiB --no-save
has "OOM  *block b[0-9]*, event [0-9]*: "
expect 0 "2 ok" replay gnn.trace -s pool --free-at both --check --no-save
expect 2 "No such file" replay nosuch.trace --no-save
expect 0 "1 ok" replay gnn.trace -s vmm --atlas h200 --no-save
has " driver calls  driver time "
has "^  vmm .*  224  *2\.1[0-9] ms  "
# The recorded allocator, by the settings of the snapshot, and PyTorch's words.
expect 0 "wrote unet.trace" trace import "$traces/pytorch/settings/unet.9.pickle.gz" -o unet.trace
expect 0 "2 ok" replay unet.trace -s 'recorded,caching:conf={max_split_size_mb:64,max_non_split_rounding_mb:32}' --no-save
has "caching:conf={expandable_segments:True,max_split_size_mb:64} .* 4.54 GiB"
has "caching:conf={max_split_size_mb:64,max_non_split_rounding_mb:32} .* 4.96 GiB"
# How far the driver's pool was off, as the tables of docs/numbers.md have it.
expect 0 "$(awk -F, '$3 + 0 { n = split($5, runs, " "); low = high = runs[1] + $4
        for (i in runs) { x = runs[i] + $4; low = x < low ? x : low; high = x > high ? x : high }
        off = ($3 < low ? low : $3 > high ? high : $3) / $3 - 1; good += off < 1 / 0.98 - 1 && off > 1 / 1.02 - 1
        all++; least = off < least ? off : least; most = off > most ? off : most }
    END { printf "of %d programs %d reserved as much within 2 %%, %d from %.0f %% less to %.0f %% more", all, good,
        all - good, -100 * least, 100 * most }' "$here"/../../results/data/driver-pool*.csv)" replay unet.trace -s stream --no-save
expect 2 "did you mean max_split_size_mb?" replay unet.trace -s 'caching:conf={max_split_sizemb:64}' --no-save

# ---- planned from a recording
"$gamut" trace cut gnn.trace --last 100 -o first.trace 2>err
expect 2 "planned needs a trace: planned:trace=FILE" replay first.trace -s planned --no-save
expect 2 "nosuch.trace: No such file" replay first.trace -s planned:trace=nosuch.trace --no-save
expect 2 "--out FILE is missing" trace plan first.trace
expect 0 "queue 0: 40 requests, arena of 694 MiB" trace plan first.trace -o first.plan
expect 2 "first.plan exists" trace plan first.trace -o first.plan
expect 0 "planned:trace=first.plan is an oracle" replay first.trace --check --no-save \
    -s planned:trace=first.trace,planned:trace=first.plan
has "reserved 696 MiB.* hits 72%"
sed 's/^slots.*//; $d' first.plan >cut.plan
expect 2 "cut.plan:[0-9]*: expected BYTES OFFSET" replay first.trace -s planned:trace=cut.plan --no-save
sed '/^queue/,$s/^\([0-9]*\) [0-9]* \(.*\)/\1 0 \2/' first.plan >overlap.plan
expect 2 "overlap.plan: queue 0: slots [0-9]* and [0-9]* overlap" replay first.trace -s planned:trace=overlap.plan --no-save
expect 0 "1 ok" replay first.trace -s 'p*' --no-save # no pattern means planned
"$gamut" replay first.trace -s ggml:pool=virtual --no-save >out 2>err
has "not on dry: ggml:pool=virtual (event .* is not the last of the stack"
! grep -q "is an oracle" err || fail "a strategy that was skipped is an oracle"
! grep -q planned out || fail "a pattern chose planned, which needs a trace"
expect 0 "2 ok" run -w stencil --smoke -D host -s pool,planned:trace=first.plan --no-save
expect 2 "first.trace is no plan: gamut trace plan makes one" run -w stencil --smoke -D host -s planned:trace=first.trace --no-save

# ---- the least capacity: it serves, and a little less does not
expect 0 "" fit gnn.trace -s caching,vmm
has "lower bound 1.76 GiB, optimum 1.76 GiB (proven)"
has "caching .*1.86 GiB .*fragmentation: 753 MiB at event 3554; 925 MiB live, 224 MiB free in 8 pieces, the largest 196 MiB"
expect 0 "" fit gnn.trace -s caching --format json
is_json out
capacity=$(sed -n 's/.*"capacity_bytes": \([0-9]*\).*/\1/p' out)
refused=$(sed -n 's/.*"refused_bytes": \([0-9]*\).*/\1/p' out)
expect 0 "1 ok" replay gnn.trace -s caching --mem-limit "$capacity" --no-save
expect 3 "1 oom" replay gnn.trace -s caching --mem-limit "$refused" --no-save
expect 0 "" fit gnn.trace -s raw,tlsf --format csv
[ "$(wc -l <out)" -eq 3 ] || fail "not a line a fit"
expect 0 "" fit unet.trace gnn.trace -s recorded,caching --format csv
grep -q '^unet,"*caching:conf={expandable_segments:True,max_split_size_mb:64}' out || fail "fit: the recorded allocator of unet is missing"
[ "$(grep -c '^gnn,' out)" -eq 1 ] || fail "fit: the recorded allocator of gnn is caching, and comes twice"
# 20 MiB live when 30 are refused: they must be served too, but no plan has them
cat >short.log <<'END'
gamut trace 1
{"source":"by hand","time_unit_ns":1,"capacity_bytes":null,"lost_beginning":false,"knows":["frees"]}
queue 0 "default"
alloc b1 20971520 q0
refused 31457280 q0
END
"$gamut" trace import short.log -o short.trace 2>err
expect 0 "" fit short.trace -s caching,arena,planned:trace=short.trace
has "^short: lower bound 50.0 MiB, optimum 50.0 MiB (proven); 1 refused request, at which the log ends$"
has "^  caching  *50.0 MiB"
has "^  arena .*; the least found: the allocator reads the capacity, so less may serve too, and more may not"
has "^  planned.* 20.0 MiB  .*  demand: 20.0 MiB at event 1; .*without 1 refused request of the log"
lacks "may run from"
expect 0 "" advise short.trace
has "^  fits .*; the live blocks and the refused requests alone are 50.0 MiB; it may need more: the log ends where it was refused$"
expect 0 "" fit "$traces/pytorch/cudnn/unet_bench.trace" -s caching --time-limit 1ms
has "; 534 dispensable requests, the largest of 1.13 GiB"
has "least capacity  may run from"
has "caching  *2.18 GiB  *1.26 GiB"
lacks "a hole"
expect 0 "" advise "$traces/pytorch/cudnn/unet_bench.trace"
has "^  fits .*perhaps into 1.26 GiB with smaller workspaces of cuDNN; "
expect 0 "" fit "$traces/pytorch/h100/resnet.trace" -s caching --time-limit 1ms
has "a hole: 3.63 GiB serves too, and some capacities above it do not"
expect 0 "" advise "$traces/pytorch/h100/resnet.trace"
has "^  fits .*; into 3.67 GiB as it is (a hole: into 3.63 GiB too, but not into all above it); "
"$gamut" trace import "$traces/rmm/small.csv" -o rmm.trace 2>err
expect 2 "does not say which allocator was recorded: name a strategy" fit rmm.trace -s recorded
expect 77 "device memory" fit gnn.trace -s pool:kind=pinned
expect 2 "did you mean pool?" fit gnn.trace -s pol
expect 2 "No such file" fit nosuch.trace

# ---- the file and charts of replays
is_valid result r.json
[ "$(wc -c <r.json)" -lt 30000 ] || fail "r.json has $(wc -c <r.json) bytes for 3 cases"
expect 0 "" plot r.json -c held --term dumb
has "memory held from the driver at most, over the lower bound, on dry"
has "holds the least *$"
has "2.53× 4.44 GiB"
expect 0 "" fit gnn.trace -s vmm,tlsf --out fits.json
expect 0 "" plot fits.json --term dumb
has "vmm needs the least *$"
has "least memory that serves the trace, over the optimum"
has "vmm .*1.02× 1.80 GiB"

# ---- advice, in the application's words
expect 0 "" advise gnn.trace
has "^gnn: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
has "^  for  *less memory$"
has "^  memory  *1.84 GiB instead of 4.44 GiB (58.5 % less)$"
has "^  calls  *26 instead of 20 as the log counts them "
has "the replay of the recorded setting makes the same 20 driver calls"
# The time of these is that of the strategies' checks in builds that check: a part of the trace does.
expect 0 "wrote start.trace" trace cut gnn.trace --last 1500 -o start.trace
expect 0 "" advise start.trace --current vmm
has "^start: leave it as it is"
has "vmm is assumed"
expect 0 "" advise start.trace --format md
has '^### start: `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`'
cp start.trace again.trace
expect 0 "" advise start.trace again.trace --long --format json
is_json out
has '"application": "pytorch"'
[ "$(grep -c '"leave": false' out)" -eq 3 ] || fail "no advice for both and for each"
expect 0 "" advise gnn.trace --mem-limit 1GiB
has "^gnn: no setting helps"
expect 2 "cannot be replayed" advise gnn.trace --current pool:kind=pinned
expect 2 "did you mean pytorch?" advise gnn.trace --for pytorc
expect 2 "No such file" advise nosuch.trace

# ---- every command takes a log as it takes the trace that import makes of it, and leaves no file behind
log=$traces/pytorch/small.trace.csv
expect 0 "wrote small.trace" trace import "$log" -o small.trace
"$gamut" trace show "$folder/opencv.trace" >opencv.txt
mkdir temporary
export TMPDIR=$dir/temporary
for words in advise "fit -s vmm --format csv" "replay -s vmm,recorded --no-save" "trace info" "trace check" "trace show" \
    "trace export" "trace cut --last 10 --force -o cut.trace" "trace plan --force -o log.plan"; do
    # shellcheck disable=SC2086 # words
    "$gamut" $words small.trace >of-trace 2>err-of-trace
    # shellcheck disable=SC2086
    "$gamut" $words "$log" >out 2>err || fail "gamut $words takes no log"
    # The line that names the run says the second in which it began.
    sed -i 's/, 20[0-9T:-]*Z,/, AT,/' out of-trace
    cmp -s out of-trace || fail "gamut $words: a log has another answer than its trace"
    cmp -s err err-of-trace || fail "gamut $words: another message for a log"
done
expect 0 "" trace diff small.trace "$log"
expect 0 "" trace waits opencv.txt
has '^opencv.txt: of 898 ms the host waited'
expect 2 "^gamut: $log: the trace does not know the commands" trace waits "$log"
expect 0 "small-cuda0: replays under" advise "$traces/pytorch/small.snapshot-4.pickle"
has "^small-cuda1: "
has "^all 2 traces: "
expect 2 "the log has 2 devices: gamut trace import makes a trace of each" trace info "$traces/pytorch/small.snapshot-4.pickle"
[ -z "$(ls temporary)" ] || fail "files are left in TMPDIR: $(ls temporary)"
unset TMPDIR

# ---- a folder is all traces in it
mkdir folder none
cp start.trace folder/b.trace
cp start.trace folder/a.trace
echo no trace >folder/c.txt
expect 0 "2 ok" replay folder -s vmm --no-save
has "^a recorded on dry"
has "^b recorded on dry"
expect 0 "" fit folder -s raw
has "^a: lower bound"
expect 0 "" advise folder
expect 2 "none: the folder has no file .*.trace" replay none --no-save
summary
