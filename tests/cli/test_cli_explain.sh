#!/bin/sh
# gamut explain: why a request was refused, and which setting serves it, held against what PyTorch did under the same limit.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cli.sh"
refused=$here/../traces/pytorch/refused

limit='replays under .*, the limit inferred from its refusals'
expect 0 "$limit" explain "$refused/gpt.pickle.gz"
has '^Out of memory: 157 MiB asked for\. Of a limit of at most 1\.78 GiB, 1\.63 GiB are reserved: 1\.35 GiB by live blocks, and 288 MiB are free in 36 pieces, the largest 110 MiB\.$'
has '^Why: the largest free piece of its pool has 110 MiB, and more memory would exceed the limit; 3\.59 MiB of the free bytes are in the pool for blocks of other sizes\.$'
has '^With PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True it is served, with [0-9]* MiB to spare\. Later requests are not in the log'
has '^At the peak the most is held by midrun\.py:76 loss_of (activations): 901 MiB in 73 blocks\.$'
has '^Sure: the replay of the recorded setting makes the same 103 driver calls\.$'
has "^Each block at that moment: gamut view $refused/gpt.pickle.gz$"
[ "$(wc -l <out)" -le 10 ] || fail "more than ten lines"
cp out explained
# A limit below what lives at once.
expect 0 '' explain "$refused/gpt.pickle.gz" --mem-limit 1GiB
has '^PyTorch reserves 2\.14 GiB at its peak without the limit, which refuses a request\. '
has '^None of 18 settings serves all requests under the limit\.$'
expect 0 "$limit" "$refused/gpt.pickle.gz"
cmp -s out explained || fail "gamut LOG is not gamut explain LOG"
expect 2 "there is no command 'no.pickle'" no.pickle

# With the limit that PyTorch had there is one option, which has its price.
expect 0 '' explain "$refused/experts.pickle.gz" --mem-limit 1765801984
has '^Out of memory: 214 MiB asked for\. Of a limit of 1\.64 GiB, '
has '^With PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:32 it is served, .* calls the driver [0-9]* times instead of 131\.'
# Without it the log leaves an interval, in all of which this option serves.
expect 0 "$limit" advise "$refused/experts.pickle.gz" # names what explain does, and counts as the log does
has "^experts: PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:32$"
expect 0 "$limit" advise "$refused/gpt.pickle.gz"
has "^  calls     61 instead of 103 as the log counts them (253 instead of 103 functions of the driver)"
expect 0 "$limit" explain "$refused/gnn.pickle.gz"
has '^With PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:32 it is served, with [0-9.]* MiB to spare, but calls the driver '
has '^At the peak the most is held by midrun\.py:147 loss_of: 1\.39 GiB in 8 blocks\.$'
lacks 'hurt together'
# max_split_size_mb:64 serves too, and not under a little less.
expect 0 '' explain "$refused/gnn.pickle.gz" --mem-limit 2044723200
has '^With PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:32 it is served'
# Here vmm needs 40 MiB.
cat >alone.txt <<'END'
gamut trace 1
{"source":"PyTorch by hand","time_unit_ns":1,"capacity_bytes":null,"allocator":"caching","lost_beginning":false,"limit_least_bytes":39845888,"limit_most_bytes":50331648,"knows":["frees","sites"]}
queue 0 "0"
name 1 "train.py:9 step > linear.py:134 forward"
alloc b1 20971520 q0
alloc b2 20971520 q0
free b1 q0
alloc b3 2097152 q0
free b2 q0
refused 35651584 q0 name=1
END
expect 0 "$limit" explain alone.txt
has '^With PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True it is served if the limit is at least 40\.0 MiB, 2\.00 MiB more than the log proves\. Later'
has '^Where: train\.py:9 step > linear\.py:134 forward\.$'
expect 0 '' explain alone.txt --mem-limit 64MiB
has '^In the replay the request of 34\.0 MiB that was refused is served, so the reason is not known\.$'

expect 0 "$limit" advise "$refused/gnn.pickle.gz"
has '^  refused  *the request of 329 MiB that was refused is served, within 1\.92 GiB; without the setting, the largest free piece of its pool has 54\.9 MiB, and more memory'
expect 0 "$limit" explain "$refused/gnn.pickle.gz" --format json
is_json out
has '"largest_free_bytes": 57536512'
has '"own_pool": 118000128'
has '"reason": "the largest free piece of its pool has 54\.9 MiB'
has '"words": "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:'

# ---- a log without a refused request, of two settings that hurt together
expect 0 '' explain "$refused/both.pickle.gz"
has '^PyTorch reserves 13\.7 GiB at its peak\. Its live blocks are 338 MiB at most: 13\.3 GiB (98 %) are lost\.$'
has '^It fits into 340 MiB\.$'
has '^Without PYTORCH_CUDA_ALLOC_CONF it reserves 340 MiB, and fits into 340 MiB\.$'
has '^Sure: the replay of the recorded setting makes the same 200 driver calls\.$'
has '^But: .* can hurt together: .* 13\.7 GiB with both, 340 MiB with expandable_segments alone, and 340 MiB with max_split_size_mb alone\.$'
expect 0 '' advise "$refused/both.pickle.gz"
has '^  but  .* can hurt together'
# Here the advised setting combines them.
expect 0 '' explain "$refused/../settings/lstm.1.pickle.gz"
has '^With PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True,max_split_size_mb:128 '
has '^But: .* can hurt together: .* In this log they do not, but with other sizes they may\.$'
expect 0 '' advise "$refused/../settings/lstm.1.pickle.gz" -f json
has 'can hurt together'

# ---- each setting serves what PyTorch served with it
python3 - "$gamut" "$refused" <<'END' >out 2>&1 || fail "a replay serves what PyTorch refused, or the reverse"
import csv, json, subprocess, sys
def served(program, limit, conf):
    current = f"caching:conf={{{conf}}}" + (":limit=fraction" if "expandable" in conf else "") if conf else "caching"
    answer = subprocess.run([sys.argv[1], "advise", f"{sys.argv[2]}/{program}.pickle.gz", "--mem-limit", limit, "--current", current, "-f", "json"],
                            stdout=subprocess.PIPE, check=True).stdout
    one = json.loads(answer)["advice"][0]["traces"][0]
    return not one["current_is_refused"] and one["current"]["refused_requests_served"] == one["current"]["refused_requests"]
wrong = [row for row in list(csv.reader(open(f"{sys.argv[2]}/served.csv")))[1:] if served(*row[:3]) != (row[3] == "yes")]
sys.exit("\n".join(map(str, wrong)) or 0)
END

# ---- where the log begins in the middle, what another setting reserves is an estimate
expect 0 "" explain "$here/../traces/pytorch/midrun/seed2/churn.default.pickle.gz"
has "expandable_segments:True it reserves about 410 MiB (at least 354 MiB), and fits into"
summary
