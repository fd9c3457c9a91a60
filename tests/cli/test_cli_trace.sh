#!/bin/sh
# The command line: traces of applications, from the logs of other tools.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cli.sh"
traces=$here/../traces

# ---- import: what was made is said on stderr; several devices are several files
expect 0 '^wrote gnn.trace: 6420 events, 2120 blocks, at most 1.76 GiB at once$' trace import "$traces/pytorch/gnn.snapshot.pickle.gz" -o gnn.trace
expect 2 'gnn.trace is there already: --force replaces it' trace import "$traces/pytorch/gnn.snapshot.pickle.gz" -o gnn.trace
expect 0 '^wrote small-cuda1.trace: 6 events' trace import "$traces/pytorch/small.snapshot-4.pickle" -o small.trace
gunzip -c "$traces/pytorch/gnn.snapshot.pickle.gz" | "$gamut" trace import /dev/stdin -o piped.trace 2>err || fail "a pipe is not read"
cmp -s piped.trace gnn.trace || fail "a pipe gives another trace than a file"
[ -e small-cuda0.trace ] || fail "there is no trace of the first device"
[ ! -e small.trace ] || fail "there is a trace without a device"
expect 0 '^  1 free late: moved in front of the next owner of the address' trace import "$traces/rmm/small.csv" -o rmm.trace
expect 2 "rmm/small.csv: byte 0: expected a pickle of protocol 2 to 5" trace import --log pytorch "$traces/rmm/small.csv" -o x.trace
expect 2 'there is no importer .rmn. (did you mean rmm?)' trace import --log rmn "$traces/rmm/small.csv" -o x.trace
printf '\200\004cos\nsystem\n.' >evil.pickle
expect 2 'evil.pickle: byte 2: GLOBAL is refused' trace import evil.pickle -o x.trace
[ ! -e x.trace ] || fail "a refused log leaves a trace"
[ -z "$(find . -name 'x.trace*')" ] || fail "a refused log leaves a part of a trace"

# A word of PyTorch's variable that gamut does not know is a note at each step, and the end of none.
entry='"addr": 1048576, "stream": 0, "frames": []'
cat >word.json <<END
{"segments": [], "device_traces": [[{"action": "segment_alloc", "size": 12582912, $entry}, {"action": "alloc", "size": 2000000, $entry},
 {"action": "free_completed", "size": 2000000, $entry}]],
 "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "frobnicate:[1:2,3:4],large_segment_size_mb:12,pinned_num_register_threads:8"}}
END
unknown="gamut does not know 'frobnicate' of PYTORCH_CUDA_ALLOC_CONF: replays are without it"
expect 0 "$unknown" trace import word.json -o word.trace
grep -q '^pinned_num_register_threads changes nothing' err || fail "import: no note of a pinned word"
expect 0 "$unknown" replay word.trace -s recorded --no-save
has 'caching:conf={large_segment_size_mb:12,pinned_num_register_threads:8} .* 12.0 MiB'
expect 0 '' advise word.trace
has "  but  *$unknown"
has "the replay of the recorded setting makes the same 1 driver call"
has "compared .* and 46 settings of PyTorch"
expect 0 "" advise word.trace --for pytorch
has "compared .* and 18 settings of PyTorch"
expect 2 "has no word 'frobnicate'; there are: expandable_segments, " replay word.trace -s 'caching:conf={frobnicate:1}' --no-save
expect 2 "large_segment_size_mb is new in PyTorch 2.11, and version is 2.10" replay word.trace -s 'caching:version=2.10:conf={large_segment_size_mb:32}' --no-save

# ---- info, check, cut, diff, show
expect 0 '' trace info gnn.trace
has '^allocator *caching'
has 'known: times frees done queues pools addresses driver phases'
lacks '^refused'
cat >refused.txt <<END
gamut trace 1
{"source":"test","time_unit_ns":1,"capacity_bytes":null,"application":null,"device":null,"began":null,"allocator":null,"lost_beginning":false,"knows":["frees","sites"]}
queue 0 "0"
name 1 "train.py:9 step"
refused 3145728 q0 name=1
END
expect 0 '^wrote refused.trace' trace import refused.txt -o refused.trace --force
expect 0 '' trace info "$here/../../suites/corpus/compile_train.trace"
has "^cold  *the first 34.6 s, in which something was compiled; later a phase comes every 9.* event 5209 on$"
expect 0 '' trace info "$here/../../suites/corpus/lstm.trace"
lacks "^cold"
expect 0 '' trace info refused.trace
has '^refused  *3.00 MiB at event 1; gamut explain says why$'
expect 0 '^wrote conv3d.trace' trace import "$traces/pytorch/cudnn/conv3d.snapshot.pickle.gz" -o conv3d.trace
expect 0 '' trace info conv3d.trace
has '^holds  *activations 150 MiB (40 %), cuDNN workspaces 116 MiB (31 %), gradients 103 MiB (28 %), not known 3.13 MiB (0.84 %)$'
has '^at  *extra.py:16 conv3d (activations): 150 MiB in 2 blocks$'
has '^  *ConvolutionBackward0 (cuDNN workspaces): 116 MiB in 1 block$'
expect 0 '' trace info conv3d.trace --format json
has '"category": "cuDNN workspaces"'
expect 0 '' trace check gnn.trace
has '^ok: 6420 events, 2120 blocks, digest '
expect 0 '' trace show gnn.trace
cp out gnn.txt
expect 0 '^wrote again.trace' trace import gnn.txt -o again.trace
expect 0 '' trace diff gnn.trace again.trace
has '^0 events differ$'
expect 0 '^wrote part.trace' trace cut gnn.trace --first 100 --last 200 -o part.trace
expect 1 '' trace diff gnn.trace part.trace --lines 1
head -c 3000 gnn.trace >torn.trace
expect 2 'torn.trace: the file was cut off after event' trace check torn.trace
# A file that is there is refused before the work.
expect 2 'part.trace exists: use --force' trace plan torn.trace -o part.trace
expect 2 'part.trace exists: use --force' trace cut gnn.trace --phase none -o part.trace
expect 2 'part.trace exists: use --force' view torn.trace -o part.trace
expect 2 '/dev/null is no plain file: use another name$' trace export gnn.trace --force -o /dev/null

# ---- waits: of several traces; what a trace does not know is an error
expect 0 '' trace waits "$here"/../../suites/real/opencv.trace "$here"/../../suites/real/cupy.trace --lines 2
has 'opencv.trace: of 898 ms the host waited at most 773 ms as asked for, and at most 30.0 ms hidden$'
has 'cupy.trace: of 411 ms the host waited 0.00 ns as asked for, and 231 µs hidden'
has '^  free  *no  *236  *0  *90 '
has '^   773 ms  86.1%     30  blocking read .*  resizeLN$'
has '^  and 5 places more: --lines$'
expect 0 '' trace waits "$here/../../suites/real/opencv.trace" --format json
cp out out.json
is_json out.json
has '"by": "bounds"'
expect 2 'gnn.trace: the trace does not know the commands: waits need a recording by gamut record' trace waits gnn.trace
expect 2 'trace waits: expected a file' trace waits

# ---- export: JSON for the viewers
expect 0 '' trace export small-cuda0.trace
cp out out.json
is_json out.json
has '"name":"requested bytes","ph":"C","ts":31.000,"pid":1,"tid":0,"args":{"bytes":7400}'
has '"name":"iteration","ph":"b","ts":26.000'
has '"name":"driver_alloc","ph":"i","ts":20.000.*"args":{"bytes":2097152,"queue":"77"}'
has '"name":"held by the recorded allocator","ph":"C","ts":70.000,"pid":1,"tid":0,"args":{"bytes":6291456}'
expect 0 '' trace export rmm.trace -o rmm.json
is_json rmm.json
expect 2 'rmm.json exists: use --force to replace it' trace export rmm.trace -o rmm.json
expect 0 '' trace export rmm.trace --force -o rmm.json
expect 2 'no/rmm.json' trace export rmm.trace -o no/rmm.json
# ---- an event that names no queue has queue 0, whose name is the same before and after a line that names it
printf '%s\n' 'gamut trace 1' '{"source":"by hand","time_unit_ns":1000,"capacity_bytes":null,"lost_beginning":false,"knows":["times"]}' 'held b1 40' 'begin q0 @6000' >queue.txt
expect 0 'wrote queue.trace' trace import queue.txt -o queue.trace
"$gamut" trace show queue.trace >again.txt
expect 0 'wrote queue-again.trace' trace import again.txt -o queue-again.trace
[ "$("$gamut" trace check queue.trace)" = "$("$gamut" trace check queue-again.trace)" ] || fail "the text of a trace gives another trace: $(cat again.txt)"

summary
