#!/bin/sh
# The command line: runs, suites, and how both fail or are interrupted.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cli.sh"

# ---- runs
expect 0 "1 ok" run --smoke -s raw -w right.mem
has "triple"
lacks "gamut:"
set -- results/*/*.json
[ $# -eq 1 ] && [ -f "$1" ] || fail "run: no result file below results/"
expect 0 "4 ok" run --smoke -w canny -s raw,pool,tagged,bufalloc --out a.json --progress plain
grep -q '\[ 1/ 1\] 4 cases' err || fail "--progress plain: no line for the round"
is_json a.json
grep -q '"pool": *\[{.*"repository":"inducer/pyopencl"' a.json || fail "a.json has no origins"
expect 2 "a.json exists" run --smoke -w canny -s raw,pool,tagged,bufalloc --out a.json
expect 0 "4 ok" run --smoke -w canny -s raw,pool,tagged,bufalloc --out a.json --force --progress never
! grep -q '\[ 1/ 1\]' err || fail "--progress never: a line for the round"
expect 0 "1 ok" run --smoke right.mem -s pool --no-save --format json
is_json out
expect 0 "2 ok" run canny --smoke right.mem -s pool --no-save --format csv
GAMUT_WORKLOAD=canny expect 0 "1 ok" run --smoke right.mem -s pool --no-save --format csv
lacks "gamut:"
expect 0 "2 ok" run --smoke -w stencil_hoisted -s raw -m none,best --no-save
has "over best"
has "none .*+33.3 %"
GAMUT_ROUNDS=2 expect 0 "1 round," run -w right.mem -s raw --no-save --smoke --rounds 1
GAMUT_ROUNDS=few expect 2 "GAMUT_ROUNDS is 'few'" run --no-save
# Runs that are not --smoke first measure how fast the device copies, for seconds: few tests need them.
GAMUT_ROUNDS=2 expect 0 "2 rounds" run -w right.mem -s raw --samples 1 --min-time 0 --no-save --format json
expect 0 "" plot a.json --out charts
expect 2 "report needs --out" report a.json
expect 2 "missing.json" report missing.json --out page
expect 2 "has fits alone, which no report shows: gamut print" report "$here/../../results/data/corpus.json.gz" --out page
expect 0 "" report a.json --against a.json --out page
has "^page/index.html$"
[ -s page/index.html ] && [ -s page/data/a.json ] || fail "a report lacks its parts"
mkdir other && echo mine >other/file
expect 2 "other holds files and is not a report" report a.json --out other
expect 2 "did you mean speedup?" plot a.json --chart sppedup
expect 2 "svg, png and dumb" plot a.json --term jpeg
expect 2 "no atlas" plot a.json --chart atlas
expect 2 "none of the .* cases" plot a.json -w no_such_workload
expect 0 "" list charts
has "^pareto "
"$gamut" run --smoke -w right.mem -s raw --no-save >/dev/full 2>err
[ $? -eq 2 ] || fail "a full disk behind stdout goes unnoticed"

# ---- suites
cat >mine.json <<'END'
{"format": "gamut.suite/1", "title": "A title", "source": "a paper",
 "compare": {"strategy": ["raw", "pool"]},
 "rows": [{"name": "first", "workload": "canny", "dataset": "smoke", "published": 2},
          {"name": "second", "workload": "lud", "dataset": "smoke"},
          {"name": "third", "published": 3, "missing": "nobody has it"}]}
END
expect 0 "4 ok" run --suite mine.json --smoke --rounds 6 --out suite.json
has "^suite mine: A title"
has "^  first .*× \[.*2.00×"
has "third .* nobody has it"
is_json suite.json
grep -q '^"suite": {' suite.json || fail "suite.json has no suite"
expect 0 "2 ok" run --suite mine.json --smoke --no-save -w lud
lacks "first"
expect 2 "suite and --strategy exclude each other" run --suite mine.json -s pool --no-save
expect 2 "no row of the suite mine has the dataset large" run --suite mine.json -d large --no-save
expect 2 "did you mean seed-impact?" run --suite seed-impct
expect 2 "missing.json" run --suite missing.json
sed 's/"lud"/"lux"/' mine.json >bad.json
expect 2 "bad.json: rows\[1\]: there is no workload 'lux' (did you mean lud?)" run --suite bad.json
sed 's/: 2}/: two}/' mine.json >bad.json
expect 2 "bad.json:3:" run --suite bad.json
sed 's/"rows"/"row"/' mine.json >bad.json
expect 2 "bad.json: there is no key 'row' (did you mean rows?)" run --suite bad.json

# ---- the answer, and what ratios are over
expect 2 "has no strategy or merge set 'pol' (did you mean pool?)" \
    run --smoke -w canny -s pool,tlsf --baseline pol --out none.json
[ ! -e none.json ] || fail "--baseline: something was measured"
expect 2 "names both pool and tlsf" run --smoke -w canny -s pool,tlsf --baseline pool,tlsf --no-save
expect 0 "2 ok" run --smoke -w canny -s pool,tlsf --baseline tlsf --out tlsf.json
has "  vs tlsf  "
tail -n 3 out | head -n 1 | grep -q "^Fastest on host: " || fail "run: the last lines are no answer"
tail -n 1 out | grep -q "^1 case, 1 round: too few for intervals" || fail "run: one round is not said to be too few"
expect 0 "2 ok" run --like tlsf.json --rounds 2 --out again.json
has "^vs tlsf: paired by round"
expect 0 "2 ok" run --smoke -w canny -s pool,tlsf --format json --no-save
has '"sentences"'

# ---- failures
# A disk of 16 KiB has room for the kernels, and for nothing that the compiler writes.
mkdir small_disk
printf '%s\n' 'mount -t tmpfs -o size=16k tmpfs small_disk || exit 77' 'TMPDIR=$PWD/small_disk exec "$@"' >on_small_disk
if unshare -rm sh -c 'mount -t tmpfs tmpfs small_disk' 2>/dev/null; then
    gamut_alone=$gamut gamut=unshare
    CC=cc expect 3 "did not compile with cc: the disk of .*small_disk/.* has .* free, which is too little; set TMPDIR" \
        -rm sh on_small_disk "$gamut_alone" run --smoke -s raw -w right.mem --no-save
    gamut=$gamut_alone
else
    echo "no folder can be a full disk here: what is said then is not tested"
fi
CC=false expect 3 "did not compile with false, which said nothing" run --smoke -s raw -w right.mem --no-save
sed 's/expect { y = \[3/expect { y = [3000000000/' right.mem >misfit.mem
expect 2 "misfit.mem:[0-9]*:[0-9]*: 'y' of dataset 'smoke': the number does not fit in type i32" run --smoke -w misfit.mem --no-save
expect 3 "wrong: raw triple/smoke" run --smoke -s raw -w wrong.mem --out wrong.json
has "WRONG"
lacks "[0-9] [^ ]\{0,2\}s\b"
grep -q '"wrong"' wrong.json || fail "wrong.json does not say so"
expect 3 "oom: raw" run --smoke -w canny -s raw,pool --mem-limit 32k --no-save
has "OOM"
expect 0 "1 ok, 1 skipped" run --smoke -w canny,right.mem -s raw --mem-limit 4k --no-save
grep -q "skipped: raw .*its inputs alone are 22.5 KiB, the limit is 4.00 KiB" err ||
    fail "--mem-limit: what does not fit is not told"
has "SKIPPED  does not fit"
expect 3 "timeout: raw" run --smoke -w canny -s raw --timeout 1ms --no-save
# Intervals are known from the sixth round on; rounds end when they are narrow, or with --rounds.
quick="-w canny -d smoke -s raw --samples 1 --min-time 0"
# shellcheck disable=SC2086
expect 0 "the intervals of 1 of 1 times are within 999 %$" run $quick --until 999% --out until.json
rounds=$(jq .run.rounds until.json)
[ "$rounds" -ge 6 ] && [ "$rounds" -lt 100 ] || fail "--until: $rounds rounds"
# shellcheck disable=SC2086
expect 0 "of 0 of 1 times .* about [0-9]* rounds would do for the widest" run $quick --until 0.000001% --rounds 7 --no-save
has "run complete"
has "7 rounds"
expect 2 "until is '2', expected a percentage" run -w canny --until 2 --no-save
expect 2 "--until and --smoke exclude" run -w canny --until 2% --smoke --no-save
expect 0 "1 ok" run --like until.json --no-save
has "$rounds rounds"
# After the first time-out of a dataset the device counts as too slow for it.
expect 3 "2 skipped, 1 timeout" run --smoke -w canny -s raw,pool,tlsf --timeout 1ms --no-save --format json
has '"reason": *"not run: the first case of canny/smoke on host (none, last-use, [a-z]*) gave no answer within 1.00 ms; allow more with --timeout'
grep -q "skipped: 2 cases of canny/smoke on host: not run" err || fail "the cases of a slow dataset are not named together"
# What a device lacks is said of the strategy and the device.
expect 0 "skipped: 2 cases of stream on host: .*stream-ordered" run --smoke -w canny,right.mem -s raw,stream --no-save
has ", 1 round, "
expect 3 "1 ok, 1 wrong" run --smoke -s raw -w canny,wrong.mem --no-save
expect 0 "skipped: pool:kind=pinned .*host has one kind of memory" run --smoke -w canny -s pool,pool:kind=pinned --no-save
expect 77 "no device matches" run -D opencl:no-such-device-anywhere
expect 77 "no device matches" run -D host,opencl:no-such-device-anywhere

# ---- interruption
interrupted INT '\[ *2/' cut.json '"samples"' \
    run --smoke -w canny --rounds 10000 --progress plain
has "canny"
# A closed terminal too, in the middle of a round: the compiler of a second program, which never ends, is waited for.
mkdir scratch
cat >slow-cc <<'END'
#!/bin/sh
echo started >"$TMPDIR/file-of-the-compiler"
echo started >"$STARTED"
sleep 100
END
chmod +x slow-cc
export STARTED="$dir/started"
for signal in HUP INT TERM; do
    tests=$((tests + 1))
    rm -f started
    TMPDIR=$dir/scratch CC=$dir/slow-cc "$gamut" run --smoke -w canny,right.mem -s raw --seed 3 --out "cut-$signal.json" >out 2>err &
    pid=$!
    tries=0
    until [ -s started ] || [ $tries -eq 3000 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    [ -n "$(ls scratch)" ] || fail "SIG$signal: the compiler does not run in TMPDIR"
    kill -$signal $pid
    wait $pid
    code=$?
    [ $code -eq 130 ] || fail "SIG$signal: exit $code, expected 130"
    [ -z "$(ls scratch)" ] || fail "SIG$signal leaves a folder in TMPDIR"
    is_json "cut-$signal.json"
    grep -q '"workload":"canny".*"status":"ok"' "cut-$signal.json" || fail "SIG$signal: the case that had ended is gone"
done
TMPDIR=$dir/scratch CC=$dir/slow-cc expect 3 "timeout: raw triple" run --smoke -w right.mem -s raw --timeout 300ms --no-save
[ -z "$(ls scratch)" ] || fail "a timeout leaves a folder in TMPDIR"
# nohup: a signal that is ignored stays ignored.
rm err
(trap '' HUP; exec "$gamut" run --smoke -w canny -s raw --rounds 20 --out hup.json --progress plain) >out 2>err &
pid=$!
tries=0
until grep -qs '\[ *1/' err || [ $tries -eq 3000 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
kill -HUP $pid
wait $pid
[ $? -eq 0 ] || fail "SIGHUP under nohup ends a run"

summary
