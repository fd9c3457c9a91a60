#!/bin/sh
# The command line: experiments.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cli.sh"
unset OCL_ICD_VENDORS
tiny=isosurface:cells=4:window=2:frames=2

expect 2 "at least one EXPERIMENT\|EXPERIMENT" experiment
expect 2 "did you mean isosurface?" experiment isosurfac
expect 2 "did you mean frames?" experiment isosurface:frame=3
expect 2 "from 1 to 100000" experiment isosurface:frames=0
expect 2 "there is no strategy 'pol'" experiment isosurface -s pol
expect 2 "exclude each other" experiment isosurface --no-save --out a.json
expect 2 "host+host. is a group: this command measures one device at a time" experiment isosurface -D host+host
expect 77 "no device matches" experiment isosurface -D opencl:no-such-device-anywhere
expect 2 "there are: best, all, host" experiment isosurface -D nosuch
expect 0 "rows, 0 failed; wrote a.json" experiment $tiny -s raw,stream --rounds 2 --out a.json
has "^isosurface on host: cells=4, window=2, frames=2, "
has "^readback  raw .* [µm]s"
has "^readback  stream .*skipped: .*no stream-ordered pool"
is_json a.json
expect 2 "a.json exists" experiment $tiny --out a.json
expect 0 "0 failed" experiment $tiny -s raw --rounds 1 --no-save --format md
has "^| readback | raw | "
expect 0 "0 failed" experiment $tiny -s raw --rounds 1 --no-save --format csv
has "^isosurface,host,method=readback strategy=raw.*,ok,frame_ns,1,[0-9]"
expect 0 "0 failed" experiment $tiny -s raw --rounds 1 --no-save --format json
is_json out
# All methods of the surface, and on PoCL the same answers as on the host.
devices=host
if "$gamut" list devices | grep -q '^opencl:0'; then devices=host,opencl:0; fi
expect 0 "0 failed; wrote iso.json" experiment isosurface:cells=6:window=2:frames=3 -D $devices -s pool --rounds 1 --out iso.json
for method in worst readback scratch batch heap; do has "^$method .* µs\|^$method .* ms"; done
[ "$(grep -o '"digest":"[0-9a-f]*","warnings"' iso.json | sort -u | wc -l)" -eq 1 ] || fail "the answers differ"
expect 3 "1 failed" experiment isosurface:cells=6:window=2:frames=3:heap=4096 -s pool --rounds 1 --no-save
has "^heap .*oom: .*give the option heap more"
has "^batch .* µs\|^batch .* ms"
expect 0 "" report iso.json --out page
grep -q 'id="f1-experiments"' page/index.html || fail "the report has no experiments"
expect 0 "" plot iso.json -c isosurface -t dumb
has "readback pool"
# A row that takes too long, and its process, do not take the rest along.
expect 3 "failed" experiment isosurface:cells=32:window=8:frames=1000:checked=0 -s raw --rounds 1 --timeout 400ms --no-save
has "^readback  raw .*timeout: no answer within 400 ms"
[ "$(grep -c '^worst\|^readback\|^scratch\|^batch\|^heap' out)" -eq 5 ] || fail "rows are missing"
# A row fails alone.
expect 3 "failed" experiment $tiny -s pool --rounds 1 --no-save --mem-limit 1
has "oom: "
# A file that is not as the format says.
sed 's/"method":"readback"/"method":7/' a.json >broken.json
expect 2 "broken.json: experiments.0..rows.1..key.method: expected a text" plot broken.json

interrupted HUP 'round 2' cut.json '"samples":{' experiment $tiny -s raw --rounds 1000

summary
