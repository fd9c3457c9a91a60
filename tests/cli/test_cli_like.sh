#!/bin/sh
# The command line: runs again, more rounds, counters alone, the noise floor.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cli.sh"

"$gamut" atlas --quick --out b.json >out 2>err || fail "no b.json"
echo '{"schema": ' >half.json

# ---- a run again, and more rounds
quick="--smoke --progress never"
# shellcheck disable=SC2086
expect 0 "4 ok" run -w fft,canny -s raw,pool --rounds 2 --seed 7 $quick --out first.json
expect 0 "4 ok" run --like first.json --out again.json
ids() { sed -n 's/^{"id":"\([0-9a-f]*\)".*/\1/p' "$1"; }
[ "$(ids first.json)" = "$(ids again.json)" ] || fail "--like: other cases"
grep -q '^"seed": 7,' again.json && grep -q '^"rounds": 2,' again.json || fail "--like: another seed, or other rounds"
grep -q '"min-time":"0"' again.json || fail "--like: other options"
expect 0 "1 round, seed 7" run --like first.json --rounds 1 --no-save
expect 2 "like and --strategy exclude each other" run --like first.json -s raw
expect 2 "like and --suite exclude each other" run --like first.json --suite mine.json
expect 2 "missing.json" run --like missing.json
expect 2 "half.json" run --like half.json
expect 2 "b.json has no cases to repeat" run --like b.json
sed 's/"min-time":"0"/"min-time":"soon"/' first.json >bad.json
expect 2 "bad.json: run.options.min-time is 'soon'" run --like bad.json
sed 's/"min-time"/"most-time"/' first.json >bad.json
expect 0 "bad.json was run with --most-time 0, which this gamut does not know" run --like bad.json --no-save
# What is not there any more is told, and stands in the file.
sed 's/"8[0-9a-f]*","key":/&/; s/"inputs_digest":"[0-9a-f]*"/"inputs_digest":"0000000000000001"/' first.json >bad.json
expect 0 "canny smoke: other data than in bad.json" run --like bad.json --no-save
expect 77 "no device matches" run --like first.json -D opencl:none
# shellcheck disable=SC2086
expect 0 "1 ok" run -w right.mem -s raw $quick --out mine.json
expect 0 "1 ok" run --like mine.json --no-save
sed 's/right.mem/gone.mem/' mine.json >bad.json
expect 2 "gone.mem" run --like bad.json --no-save
# The same cases on a device that nobody has: their ids belong to their keys.
cat >elsewhere.py <<'END'
import json, sys
root = json.load(open("first.json"))
for one in root["cases"][:int(sys.argv[1])]:
    one["key"]["device"] = "opencl:99"
    text = "".join(one["key"][k] + "\n" for k in ("workload", "dataset", "merge", "release", "strategy", "device"))
    h = 0xcbf29ce484222325
    for byte in text.encode():
        h = (h ^ byte) * 0x100000001b3 & (1 << 64) - 1
    one["id"] = "%012x" % (h >> 16)
json.dump(root, open("elsewhere.json", "w"))
END
if command -v python3 >/dev/null; then
    unset GAMUT_DEVICE
    python3 elsewhere.py 1
    expect 0 "not repeated: .*opencl:99.*this machine has no such device" run --like elsewhere.json --out moved.json
    grep -q '"status":"skipped","reason":"this machine has no such device"' moved.json || fail "--like: a case is left out silently"
    expect 0 "3 ok" run --like elsewhere.json --out moved.json --force -D host
    ! grep -q "not repeated" err || fail "--like -D: what was not asked for is told"
    expect 2 "added to all or to none" run --add elsewhere.json
    python3 elsewhere.py 9
    expect 77 "no case on a device that this machine has; its cases are on opencl:99" run --like elsewhere.json
    export GAMUT_DEVICE=host
fi
expect 0 "3 rounds" run --add again.json --rounds 3
grep -q '^"rounds": 5,' again.json || fail "--add: rounds are not counted"
grep -q '^"sessions": \[{.*"rounds":2},{.*"rounds":3}\]' again.json || fail "--add: no second session"
grep -q '"stats":{"wall_ns":{"rounds":5,' again.json || fail "--add: stats are not of all rounds"
expect 0 "" plot again.json --out charts
# A name that ends in .gz is of a compressed file; whatever reads a result reads it.
expect 0 "1 round" run --like again.json --rounds 1 --out packed.json.gz
gzip -t packed.json.gz || fail "--out x.json.gz: not compressed"
expect 0 "1 round" run --add packed.json.gz --rounds 1
gzip -dc packed.json.gz | grep -q '^"rounds": 2,' || fail "--add x.json.gz: rounds are not counted"
expect 0 "" compare packed.json.gz packed.json.gz --gate exact:0
expect 0 "" plot packed.json.gz --chart time --term svg
has "^packed/time"
expect 0 "" report packed.json.gz --against packed.json.gz --out packed-page
head -c 2000 packed.json.gz >cut.json.gz
expect 2 "cut.json.gz: the compressed file ends too early" compare cut.json.gz packed.json.gz
cmp -s packed.json.gz packed-page/data/packed.json.gz || fail "report: the copy of a compressed file differs"
expect 2 "add and --out exclude each other" run --add again.json --out other.json
expect 2 "add and --like exclude each other" run --add again.json --like first.json
expect 2 "add and --seed exclude each other" run --add again.json --seed 1
expect 2 "missing.json" run --add missing.json
sed 's/"cflags":"/&-O9 /' again.json >bad.json
sed 's/^"tool": {"version":"/&9/' again.json >bad.json
expect 2 "bad.json: it is of another build (version " run --add bad.json
sed 's/"machine_id"/"machine_was"/; s/"backend":"host","name":"/&another /' again.json >bad.json
expect 2 "bad.json" run --add bad.json

# ---- counters alone
expect 0 "4 ok" run --like first.json --no-samples --out counters.json
grep -q '"rounds":\[\]' counters.json || fail "--no-samples: there are rounds"
! grep -q '"wall_ns":{"rounds"\|"at_ns":' counters.json || fail "--no-samples: there are times"
expect 0 "" compare first.json counters.json --gate exact:0
expect 0 "4 ok" run --like counters.json --no-save
expect 2 "no-samples and --no-save exclude each other" run --no-samples --no-save

# ---- the noise floor
expect 2 "rounds 3 or more" run --aa --rounds 2
expect 2 "rounds 3 or more" run --aa --smoke
expect 2 "no-samples and --aa exclude each other" run --aa --no-samples
# shellcheck disable=SC2086
expect 0 "the noise floor of host is [0-9.]* %" run -w fft -s raw,pool --rounds 3 $quick --aa --results noisy
set -- noisy/*/*.json
grep -q '^"rounds": 12,' "$1" && grep -q '^"noise": \[' "$1" || fail "--aa: not the rounds of four runs, or no floor"
is_json "$1"
origin=$(sed -n 's/^"id": "\([0-9a-f]*\)",/\1/p' "$1")
# shellcheck disable=SC2086
expect 0 "the noise floor of host is .* measured at 20" run -w canny -s raw -d smoke --rounds 6 $quick --results noisy \
    --out known.json
grep -q "\"run\":\"$origin\"" known.json || fail "a known floor does not say where it is from"
# shellcheck disable=SC2086
expect 0 "1 ok" run -w canny -s raw -d smoke --rounds 2 $quick --results noisy --no-save
! grep -q "noise floor" err || fail "a run of two rounds looks for a floor"
# shellcheck disable=SC2086
expect 3 "no noise floor: no case was ok" run -w wrong.mem -s raw --rounds 3 $quick --aa --no-save

summary
