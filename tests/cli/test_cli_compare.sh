#!/bin/sh
# The command line: comparisons.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cli.sh"

# ---- comparisons: every exit code; what stands behind it is test_compare_exit's
expect 0 "2 ok" run --smoke -w right.mem -s raw,pool --rounds 2 --out c-base.json
sed 's/"peak_reserved_bytes":[0-9][0-9]*/"peak_reserved_bytes":9999999/g' c-base.json >c-larger.json
sed 's/"status":"ok"/"status":"wrong"/g' c-base.json >c-wrong.json
sed 's/"alignment_bytes":[0-9][0-9]*/"alignment_bytes":3/' c-base.json >c-other.json
sed 's/"version": "2\./"version": "3./' c-base.json >c-newer.json
head -c 3000 c-base.json >c-cut.json
echo '{"schema": "gamut.gates/1", "gates": {"peak_*": "10MB"}}' >gates.json
sed 's/"gates":/"gate":/' gates.json >bad_gates.json
expect 0 "" compare c-base.json c-base.json
has "^unsure: "
has "? 6 rounds"
expect 0 "" compare c-base.json c-larger.json c-larger.json --gate 'peak_*:10MB'
has "within its limit"
expect 0 "" compare c-larger.json c-base.json --gate exact:0
has "+ smaller"
expect 1 "" compare c-base.json c-larger.json
has "^regression: "
expect 0 "" compare c-base.json c-larger.json --gate-file gates.json
expect 1 "" compare c-base.json c-larger.json --gate-file gates.json -g peak_reserved_bytes:0 --format csv --show worst
has ",true,true,"
expect 2 "bad_gates.json: .*there is no key" compare c-base.json c-larger.json --gate-file bad_gates.json
expect 2 "no metric 'peak' " compare c-base.json c-larger.json --gate peak:0
expect 2 "expected a percentage" compare c-base.json c-larger.json --threshold 2
expect 2 "needs BASE and NEW" compare c-base.json
expect 2 "within one file" compare c-base.json c-larger.json --by strategy=raw
expect 2 "there are: raw, pool" compare c-base.json --by strategy=rae
expect 2 "missing.json" compare c-base.json missing.json
expect 2 "c-cut.json:" compare c-base.json c-base.json c-cut.json
expect 2 "c-newer.json: schema.version" compare c-newer.json c-base.json
expect 3 "" compare c-base.json c-wrong.json --gate none
has "! wrong"
expect 0 "" compare c-wrong.json c-base.json --gate none
expect 4 "" compare c-base.json c-other.json --gate exact:0
has "device host alignment_bytes: .* (matters for everything)"
has "--force-compare"
has "^incomparable: .*nothing was compared; 2 of 2 cases dropped"
expect 0 "" compare c-base.json c-other.json --gate exact:0 --force-compare
expect 5 "" compare c-base.json c-base.json --strict
expect 0 "" compare c-base.json c-base.json --strict --gate exact:0 --format json
is_json out
has '"verdict": "ok"'
expect 0 "" compare c-base.json --by strategy=raw --format md
grep -q "^Fastest on host: " out || fail "compare --by: there is no answer"
has "paired by round"

# ---- files that differ in something: memory does not matter, a driver does for times, a program for its case alone
sed 's/"memory_bytes":[0-9]*/"memory_bytes":4096000/; s/"memory_\([a-z_]*\)_bytes":[0-9]*/"memory_\1_bytes":4096/' c-base.json >c-memory.json
expect 0 "" compare c-base.json c-memory.json
has "^differs, and matters for nothing: .*device host memory_bytes"
has "^! device host has .* times the memory of the base"
has "wall .*? 6 rounds" # its times are judged
lacks "force-compare"
sed 's/"driver":"[^"]*"/"driver":"none"/; s/"machine_id": *"[^"]*"/"machine_id":"00000000"/' c-base.json >c-moved.json
expect 0 "" compare c-base.json c-moved.json
has "^! host machine_id: .* (matters for times)"
has "^unsure: no regression in what was compared; 2 gated times left out"
has "--force-compare"
lacks " wall "
expect 5 "" compare c-base.json c-moved.json --strict
expect 4 "" compare c-base.json c-moved.json --gate wall_ns:2%
has "^incomparable: nothing that is gated was compared; 2 gated times left out"
expect 0 "" compare c-base.json c-moved.json --gate exact:0 --strict
sed 's/"driver":"[^"]*"/"driver":"none"/; s/"machine_id": *"[^"]*"/"machine_id":"00000000"/' c-larger.json >c-moved.json
expect 1 "" compare c-base.json c-moved.json
expect 0 "4 ok" run --smoke -w canny,fft -s raw,pool --rounds 1 --out c-two.json
awk '/"workload":"canny"/ { sub(/"program_digest":"[0-9a-f]*"/, "\"program_digest\":\"00000000000000aa\"") } { print }' c-two.json >c-edited.json
expect 0 "" compare c-two.json c-edited.json --gate exact:0
has "^  canny  *raw  *status .*? dropped (another program)"
lacks "^  fft .*dropped"
has "^gated: .* 2 dropped"
has "^unsure: .*; 2 of 4 cases dropped"
expect 5 "" compare c-two.json c-edited.json --gate exact:0 --strict
expect 0 "" compare c-two.json c-edited.json --gate exact:0 --format csv
has "canny.*,dropped,.*,another program,"

# ---- nothing is compared where nothing is right
expect 3 "2 wrong" run --smoke -w wrong.mem -s raw,pool --out c-all-wrong.json
expect 3 "" compare c-all-wrong.json c-all-wrong.json
has "^failed: nothing was compared: no case is ok"
expect 3 "" compare c-all-wrong.json --by strategy=raw
awk '/"strategy":"raw"/ { sub(/"status":"ok"/, "\"status\":\"wrong\"") } { print }' c-two.json >c-raw-wrong.json
expect 3 "" compare c-raw-wrong.json --by strategy=raw
has "^failed: nothing was compared: the base has no case that is ok"
lacks "^ok: "
expect 0 "" compare c-raw-wrong.json c-raw-wrong.json --gate exact:0
has "^ok: no gated metric is worse; 2 failed in both files"

# ---- experiments
expect 0 "0 failed" experiment isosurface:cells=6:window=2:frames=3 -s raw --rounds 1 --out c-rows.json
expect 0 "" compare c-rows.json c-rows.json
has "base c-rows.json: .*, 1 round, [0-9]* rows of experiments, "
sed 's/"peak_reserved_bytes":\[[0-9]*\]/"peak_reserved_bytes":[999999999]/g' c-rows.json >c-larger.json
expect 1 "" compare c-rows.json c-larger.json
has "^  isosurface method=heap .* ✗ larger"
expect 0 "" compare c-rows.json c-larger.json --gate none
expect 4 "" compare c-rows.json c-base.json
has "no case in common"

# ---- all cases of a strategy together
expect 0 "6 ok" run --smoke -w canny,fft,crypt -s raw,pool -D host --rounds 6 --out c-all.json
expect 0 "" compare c-all.json c-all.json --show all
has "all 3 cases  *raw  *wall .*+0.0 %"
has "all 3 cases  *pool  *wall "
expect 0 "" compare c-all.json c-all.json --show all --format csv
has ',\*,\*,none,last-use,pool,host,,wall_ns,warm,sampled,ns,,,1,1,1,0.02,3,'
expect 0 "" compare c-all.json c-all.json --show all --gate exact:0
lacks "all 3 cases" # a time that is not gated
expect 0 "" compare c-all.json --by strategy=raw --show all --format md
has "| all 3 cases | pool | wall | - | - | "


# ---- machines: the other one is a copy under another id
expect 0 "9 ok" run --smoke -w canny,fft,crypt -s raw,pool,tlsf -D host --rounds 6 --out m-a.json
elsewhere() { sed 's/"machine_id": *"[^"]*"/"machine_id":"00000000"/' "$1"; }
elsewhere m-a.json >m-b.json
expect 0 "" compare --by machine m-a.json m-b.json
has "^host [0-9a-f]*: .*, m-a.json$"
has "^host 00000000: .*, machine 00000000, m-b.json$"
has "^3 programs on 2 machines: the same configuration is among the fastest everywhere in 3$"
has "^take [a-z]* everywhere: .* times as long as the fastest"
expect 2 "by machine has no JSON: --format csv" compare --by machine m-a.json m-b.json --format json
expect 0 "" compare --by machine m-a.json m-b.json --format csv
[ "$(grep -c ",host [0-9a-f]*,[a-z]*,ok," out)" = 18 ] || fail "a line for each program, machine and configuration"
# Files with nothing in common, one machine alone, and what only a comparison of results takes.
expect 4 "" compare --by machine m-b.json c-base.json
has "^! canny smoke is left out: not run on every machine"
expect 2 "all cases are of one device of one machine: give files of several machines" compare --by machine m-a.json
expect 2 "by machine judges nothing: it takes no --gate" compare --by machine m-a.json m-b.json --gate wall_ns:2%
expect 2 "it takes no --strict" compare --by machine m-a.json m-b.json --strict

summary
