#!/bin/sh
# The command line from the outside: exit codes, what goes to which stream, what a mistake is told.
# Runs $GAMUT, by default the tree's build, on the host device; leaves nothing behind.
here=$(cd "$(dirname "$0")" && pwd)
gamut=${GAMUT:-$here/../build/gamut}
case $gamut in /*) ;; *) gamut=$PWD/$gamut ;; esac
[ -x "$gamut" ] || { echo "no binary at $gamut: make it, or set GAMUT" >&2; exit 1; }

# The caller's settings must not decide what is tested.
for variable in $(env | sed -n 's/^\(GAMUT[A-Z_]*\)=.*/\1/p'); do unset "$variable"; done
export GAMUT_DEVICE=host
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

failures=0 tests=0
fail() {
    failures=$((failures + 1))
    echo "FAILED: $1" >&2
    sed 's/^/  stdout: /' out | head -5 >&2
    sed 's/^/  stderr: /' err | head -5 >&2
}

# expect CODE STDERR-PATTERN ARGUMENT...; "" stands for nothing on stderr. On a mistake (2) and
# where nothing could run (77) stdout is empty.
expect() {
    code=$1 pattern=$2
    shift 2
    tests=$((tests + 1))
    "$gamut" "$@" >out 2>err </dev/null
    got=$?
    [ "$got" -eq "$code" ] || fail "gamut $*: exit $got, expected $code"
    if [ -z "$pattern" ]; then
        [ ! -s err ] || fail "gamut $*: something on stderr"
    else
        grep -q -e "$pattern" err || fail "gamut $*: stderr lacks '$pattern'"
    fi
    ! grep -q Sanitizer err || fail "gamut $*: a sanitizer has something to say"
    case $code in 2 | 77) [ ! -s out ] || fail "gamut $*: something on stdout" ;; esac
}
# After expect: its stdout has, or lacks, a pattern.
has() { grep -q -e "$1" out || fail "stdout lacks '$1'"; }
lacks() { ! grep -q -e "$1" out || fail "stdout has '$1'"; }
is_json() {
    if command -v python3 >/dev/null; then
        python3 -m json.tool "$1" >/dev/null 2>&1 || fail "$1 is not JSON"
    else
        [ "$(tail -c 2 "$1")" = "}" ] || fail "$1 has no end"
    fi
}

cat >right.mem <<'END'
fun triple(n: i64, x: [n]i32) {
  let y: [n]i32 = kernel triple_step (i < n) { y[i] = 3 * x[i]; }
  in y
}
dataset smoke { n = 4; x = [1, 2, 3, 4]; } expect { y = [3, 6, 9, 12]; }
END
sed 's/12\]/13]/' right.mem >wrong.mem
cat >broken.mem <<'END'
fun triple(n: i64) {
  let y: [n]i32 = iotta
  in y
}
END

# ---- usage
expect 2 "usage:"
expect 0 "" --help
has "Exit codes"
expect 0 "" --version
has "^gamut "
expect 2 "did you mean list?" lsit
expect 0 "" run --help
has "GAMUT_WORKLOAD"
expect 2 "did you mean --rounds?" run --ruonds 3
expect 2 "at least 1" run --rounds 0
expect 2 "whole number" run --rounds few
expect 2 "needs a value" run --rounds
expect 2 "a size such as" run --mem-limit lots
expect 2 "did you mean table?" run --format tabel
expect 2 "one argument too many" run stencil
expect 2 "exclude each other" run --no-save --out x.json
expect 2 "below --samples" run --samples 9 --max-samples 3
expect 2 "below 2^53\|at most" run --seed 9007199254740992

# ---- names that do not exist
expect 2 "did you mean stencil_hoisted?" run -w stencil_hosted
expect 2 "there are: .*canny" run -w nothing_like_it
expect 2 "did you mean pool" run -s pol
expect 2 "did you mean policy" run -s tagged:polcy=v4
expect 2 "v9" run -s tagged:policy=v9
expect 2 "did you mean small?" run -w canny -d smal
expect 2 "no merge set 'coalese' (did you mean coalesce?)" run -m coalese
expect 2 "did you mean disjoint?" run -m reuse:with=disjoin
expect 2 "did you mean scope?" run --release scoop
expect 2 "did you mean cuda?" run -D cdua
expect 2 "did you mean devices?" list devcies
expect 2 "did you mean canny?" plan cany

# ---- files
expect 2 "broken.mem:2:" run -w broken.mem
expect 2 "iotta" plan broken.mem
expect 2 "missing.mem" run -w missing.mem
expect 2 "missing.json" plot missing.json
echo '{"schema": ' >half.json
expect 2 "half.json" plot half.json
expect 2 "half.json exists" run -w right.mem --out half.json
expect 2 "half.json/x.json" run --smoke -w right.mem --out half.json/x.json

# ---- what there is
for topic in workloads datasets strategies merges suites devices metrics; do
    expect 0 "" list "$topic"
    [ -s out ] || fail "list $topic: nothing on stdout"
done
expect 0 "" list devices
has "^host "
expect 0 "" list strategies
has ":policy="
expect 0 "" list merges
has "^  best "
has "^  disjoint "

# ---- programs
expect 0 "" plan right.mem --print source
lacks "alloc("
expect 0 "" plan right.mem
has "alloc("
cp out planned.mem
expect 0 "" plan planned.mem
cmp -s out planned.mem || fail "plan: printing and parsing again gives another program"
"$gamut" list workloads >workloads
while read -r name path; do
    "$gamut" plan "$name" >built_in.mem || fail "plan $name"
    expect 0 "" plan built_in.mem
    cmp -s out built_in.mem || fail "plan $name: printing and parsing again changes it ($path)"
done <workloads

# ---- what merge sets would do
cat >twice.mem <<'END'
fun twice(n: i64, f: f32) {
  let a: [n]f32 = kernel make (i < n) { a[i] = f; }
  let b: [n]f32 = kernel again (i < n) { b[i] = 2.0f * a[i]; }
  let k: i32 = b_count[0]
  let c: [k]f32 = kernel part (i < k) { c[i] = b[i]; }
  in b, c
}
dataset first { n = 256; f = 1; }
END
sed -i 's/^  let k: i32.*/  let ones: [1]i32 = replicate(1)\n  let k32: i32 = ones[0]\n  let k: i64 = i64(k32)/' twice.mem
expect 0 "twice: sizes of dataset first" plan twice.mem -m none,best k32=3
has "^  none .* 2.0[0-9] KiB .* 2.0[0-9] KiB"
has "^  best "
expect 0 "give it as k32=VALUE" plan twice.mem -m all
has "^  reuse .* - "
expect 0 "" plan twice.mem -m none n=1k k32=0
has "8.00 KiB"
expect 0 "" plan twice.mem -m reuse -d first k32=3 --format json
is_json out
has '"peak_last_use_bytes": [0-9]'
grep -q '"refused": null' out || fail "plan: no decision was made"
expect 0 "sizes of dataset" plan twice.mem -m all --format json
is_json out
has '"alloc_count": null'
expect 0 "" plan twice.mem -m reuse n=256 k32=3 --why b
has "leaves block 'b_mem' for 'a_mem'"
has "twice.mem:3:   let b"
lacks "planned in"
expect 0 "" plan twice.mem -m reuse n=256 k32=1 --print both
has "^-- before"
has "b: .*@ a_mem"
expect 0 "" plan kmeans -m none -d smoke moved=900,0
expect 0 "sizes of dataset smoke" plan canny -m best strong_count=100 last_grew=0
expect 2 "did you mean reuse?" plan twice.mem -m resue
expect 2 "has no scalar 'k33' (did you mean k32?)" plan twice.mem -m all k33=4
expect 2 "n is 'few', expected a whole number" plan twice.mem -m all n=few
expect 2 "n is -4, expected 0 or more" plan twice.mem -m all n=-4
expect 2 "f is 'x', expected a number" plan twice.mem -m all n=4 f=x
expect 2 "k32 is 3000000000, which is no i32" plan twice.mem -m all n=4 k32=3000000000
expect 2 "needs values for rows=… cols=…" plan stencil -m all steps=3
expect 2 "one argument too many: sizes are name=value" plan twice.mem -m all 4
expect 2 "has no dataset 'frist' (did you mean first?)" plan twice.mem -m all -d frist
expect 2 "no array or block 'bb'" plan twice.mem -m all n=4 k32=1 --why bb
expect 2 "says nothing without merge sets" plan twice.mem n=4
expect 2 "with -m, --print is ir or both" plan twice.mem -m best --print source
expect 2 "needs FILE|WORKLOAD" plan
expect 2 "there is no flag --unchecked" plan twice.mem -m all --unchecked last_use
sed '/^dataset/d' twice.mem >sizeless.mem
expect 0 "no sizes are given and there is no dataset" plan sizeless.mem -m all
has "reused"
printf 'id,lower,upper,size\n0,0,2,10\n1,1,3,20\n2,2,4,5\n' >buffers.csv
expect 0 "height 30 bytes, lower bound 30" plan --lifetimes buffers.csv
has "offset"
expect 3 "do not fit" plan --lifetimes buffers.csv --capacity 29
expect 2 "exclude each other" plan twice.mem --lifetimes buffers.csv
{
    echo program,dataset,variant,before_bytes,after_bytes,bound_before_bytes,bound_after_bytes,fun,fun_dataset,fun_values
    echo sums,1k,gpu,32000,16000,,,series,smoke,n=1000
    echo other,1k,gpu,1,1,,,,,
} >published.csv
expect 0 "" plan --published published.csv
has "32,000 .* 16,000 .* equal"
has "no program of ours: other 1k gpu"
expect 0 "" plan --published published.csv --format csv
has "^sums,1k,gpu,series,smoke,n=1000,32000,16000,,,32000,16000,24000,16000,24000,16000,optimal"
has "^other,1k,gpu,,,,1,1,,,,"
expect 0 "" plan --published published.csv --format json
has '"ours_best_bytes": 16000'
expect 2 "No such file" plan --published missing.csv
expect 2 "--published and --merge exclude each other" plan --published published.csv -m all
expect 2 "--published and a program exclude each other" plan --published published.csv series
expect 2 "csv is for --published" plan twice.mem -m all --format csv

# ---- runs
expect 0 "1 ok" run --smoke -s raw -w right.mem
has "triple"
lacks "gamut:"
set -- results/*/*.json
[ $# -eq 1 ] && [ -f "$1" ] || fail "run: no result file below results/"
expect 0 "4 ok" run --smoke -w canny -s raw,pool,tagged,bufalloc --out a.json --progress plain
grep -q '\[ 1/ 1\] 4 cases' err || fail "--progress plain: no line for the round"
is_json a.json
expect 2 "a.json exists" run --smoke -w canny -s raw,pool,tagged,bufalloc --out a.json
expect 0 "4 ok" run --smoke -w canny -s raw,pool,tagged,bufalloc --out a.json --force --progress never
! grep -q '\[ 1/ 1\]' err || fail "--progress never: a line for the round"
expect 0 "1 ok" run --smoke -w right.mem -s pool --no-save --format json
is_json out
expect 0 "1 ok" run --smoke -w right.mem -s pool --no-save --format csv
lacks "gamut:"
expect 0 "2 ok" run --smoke -w stencil_hoisted -s raw -m none,best --no-save
has "over best"
has "none .*+33.3 %"
GAMUT_ROUNDS=2 expect 0 "1 round," run -w right.mem -s raw --no-save --smoke --rounds 1
GAMUT_ROUNDS=few expect 2 "GAMUT_ROUNDS is 'few'" run --no-save
# What the memory does is looked at once, in the first round; not in smoke runs, and not where told so.
# Runs that are not --smoke first measure how fast the device copies, for seconds: few tests need them.
GAMUT_ROUNDS=2 expect 0 "2 rounds" run -w right.mem -s raw --samples 1 --min-time 0 --no-save --format json
has '"memory":{"timer_ns"'
has '"timeline": *"on"'
[ "$(grep -o '"latency":' out | wc -l)" -eq 1 ] || fail "the memory of one case was looked at more than once"
expect 0 "1 ok" run -w right.mem -s raw --rounds 1 --samples 1 --min-time 0 --no-save --format json --timeline off
lacks '"memory":'
has '"timeline": *"off"'
expect 0 "1 ok" run --smoke -w right.mem -s raw --no-save --format json
lacks '"memory":'
expect 0 "1 ok" run --smoke -w right.mem -s raw --no-save --format json --timeline on
has '"memory":'
expect 2 "expected one of on|off" run -w right.mem --timeline no --no-save
expect 0 "" plot a.json --out charts
expect 2 "report needs --out" report a.json
expect 2 "missing.json" report missing.json --out page
expect 0 "" report a.json --against a.json --out page
has "^page/index.html$"
[ -s page/index.html ] && [ -s page/data/a.json ] || fail "a report lacks its parts"
mkdir other && echo mine >other/file
expect 2 "other has files in it and is no report" report a.json --out other
expect 2 "did you mean speedup?" plot a.json --chart sppedup
expect 2 "svg, png and dumb" plot a.json --term jpeg
expect 2 "no atlas" plot a.json --chart atlas
expect 2 "none of the .* cases" plot a.json -w no_such_workload
expect 0 "" list charts
has "^stability "
"$gamut" run --smoke -w right.mem -s raw --no-save >/dev/full 2>err
[ $? -eq 2 ] || fail "a full disk behind stdout goes unnoticed"

# ---- is the machine fit
expect 2 "did you mean --format?" doctor --fromat json
expect 2 "expected one of table|json" doctor --format xml
expect 2 "one argument too many" doctor host
expect 3 "" doctor --results right.mem/x
has "^fail  results  *right.mem/x: Not a directory -> set GAMUT_RESULTS"
GAMUT_RESULTS=right.mem/x expect 3 "" doctor --format json
is_json out
has '"verdict": "fail"'
rm -rf looked_at
"$gamut" doctor --results looked_at/here >out 2>err </dev/null
code=$?
if grep -q '^pass  build' out; then [ $code -eq 0 ]; else [ $code -eq 3 ]; fi || fail "doctor: exit $code"
has "^pass  device host "
has "^pass  results  *looked_at/here: will be made"
[ ! -s err ] || fail "doctor: something on stderr"
[ ! -e looked_at ] || fail "doctor makes the folder that it looks at"

expect 0 "the noise floor of host" run --aa --smoke -w canny -s raw --rounds 12 --results floors
"$gamut" doctor --results floors >out 2>err
has "^pass  noise floor host  *[0-9.]* % of wall time"
"$gamut" doctor >out 2>err
has "^info  noise floor host  *none yet"

# ---- manual and completion
expect 0 "" man
has "^.SH EXIT STATUS"
expect 2 "one argument too many" man run
expect 2 "completion needs bash|zsh" completion
expect 2 "there are: bash zsh" completion fish

# ---- comparisons: every exit code; what stands behind it is test_compare_exit's
expect 0 "2 ok" run --smoke -w right.mem -s raw,pool --rounds 2 --out c-base.json
sed 's/"peak_reserved_bytes":[0-9][0-9]*/"peak_reserved_bytes":9999999/g' c-base.json >c-larger.json
sed 's/"status":"ok"/"status":"wrong"/g' c-base.json >c-wrong.json
sed 's/"alignment_bytes":[0-9][0-9]*/"alignment_bytes":3/' c-base.json >c-other.json
sed 's/"version": "1\./"version": "2./' c-base.json >c-newer.json
head -c 3000 c-base.json >c-cut.json
echo '{"schema": "gamut.gates/1", "gates": {"peak_*": "10MB"}}' >gates.json
sed 's/"gates":/"gate":/' gates.json >bad_gates.json
expect 0 "" compare c-base.json c-base.json
has "^unsure: "
has "needs 6 rounds, has 2"
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
expect 2 "between 0 and 1" compare c-base.json c-larger.json --alpha 5%
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
expect 0 "" compare c-base.json c-other.json --gate exact:0 --force-compare
expect 5 "" compare c-base.json c-base.json --strict
expect 0 "" compare c-base.json c-base.json --strict --gate exact:0 --format json
is_json out
has '"verdict": "ok"'
expect 0 "" compare c-base.json --by strategy=raw --format md
has "paired by round"

# ---- an atlas
expect 2 "exclude each other" atlas --no-save --out b.json
expect 2 "did you mean --quick?" atlas --qick
expect 2 "one argument too many" atlas host
expect 2 "json" atlas --format csv
expect 77 "no device matches" atlas -D opencl:no-such-device-anywhere
expect 2 "a.json exists" atlas --quick --out a.json
expect 0 "1 measured; wrote b.json" atlas --quick --out b.json
has "^raw  *alloc .* us"
has "^malloc  *first_use"
has "^stream:threshold=0  *host has no"
is_json b.json
expect 0 "" plot b.json --out atlas-charts
expect 0 "1 measured" atlas --quick --no-save --format json
is_json out
if "$gamut" list devices | grep -q '^opencl:0'; then
    expect 0 "1 measured" atlas --quick --no-save -D opencl
    has "^raw  *free .* [a-z_]*$"
    has "^command  *read "
fi

# ---- predictions
expect 2 "none.json" run --smoke -w right.mem --no-save --atlas none.json
expect 2 "a.json: the file has no atlas" run --smoke -w right.mem --no-save --atlas a.json
expect 0 "1 ok" run --smoke -w canny -s raw --no-save --atlas b.json
has "strategy  .*wall  *predicted  *error"
expect 0 "1 ok" run --smoke -w canny -s raw --no-save --atlas b.json --format json
has '"predicted_ns": *[1-9]'
is_json out
if "$gamut" list devices | grep -q '^opencl:0'; then
    expect 0 "b.json has no atlas of opencl:0" run --smoke -w canny -s raw --no-save -D opencl:0 --atlas b.json
fi
sed 's/"device": "host", "name": "/&another /' b.json >another.json
expect 0 "was made on another" run --smoke -w canny -s raw --no-save --atlas another.json
sed 's/"waits":"unknown"/"waits":"perhaps"/' b.json >broken.json
expect 2 "broken.json: atlas.*curves.0.*waits" run --smoke -w canny --no-save --atlas broken.json
# The newest of the device is found by itself, but not for a smoke run.
mkdir -p kept/machine && cp another.json kept/machine/20300101T000000Z-x.json
cp b.json kept/machine/20200101T000000Z-x.json && cp a.json kept/machine/20290101T000000Z-x.json
expect 0 "predicted by the atlas in kept/machine/20200101" run -w canny -s raw -d smoke --rounds 1 \
    --max-samples 5 --no-save --results kept
expect 0 "1 ok" run --smoke -w canny -s raw --no-save --results kept
! grep -q atlas err || fail "a smoke run looks for atlases"

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
has "^  first .*x \[.*2.00x"
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

# ---- a run again, and more rounds
quick="--smoke --progress never"
# shellcheck disable=SC2086
expect 0 "4 ok" run -w right.mem,canny -d smoke -s raw,pool --rounds 2 --seed 7 $quick --timeline on --out first.json
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
sed 's/right.mem/gone.mem/' first.json >bad.json
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
grep -q '^"parts": \[{.*"rounds":2},{.*"rounds":3}\]' again.json || fail "--add: no second part"
grep -q '"stats":{"wall_ns":{"rounds":5,' again.json || fail "--add: stats are not of all rounds"
expect 0 "" plot again.json --out charts
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
expect 0 "the noise floor of host is [0-9.]* %" run -w right.mem -s raw,pool --rounds 3 $quick --aa --results noisy
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

# ---- failures
expect 3 "wrong: raw triple/smoke" run --smoke -s raw -w wrong.mem --out wrong.json
has "WRONG"
lacks "[0-9] [nmu]s"
grep -q '"wrong"' wrong.json || fail "wrong.json does not say so"
expect 3 "oom: raw" run --smoke -w canny -s raw,pool --mem-limit 32k --no-save
has "OOM"
expect 0 "1 ok, 1 skipped" run --smoke -w canny,right.mem -s raw --mem-limit 4k --no-save
grep -q "skipped: raw .*its inputs alone are 22.5 KiB, the limit is 4.00 KiB" err ||
    fail "--mem-limit: what does not fit is not told"
has "SKIPPED  does not fit"
expect 3 "timeout: raw" run --smoke -w canny -s raw --timeout 1ms --no-save
expect 3 "1 ok, 1 wrong" run --smoke -s raw -w canny,wrong.mem --no-save
expect 77 "no device matches" run -D opencl:no-such-device-anywhere
expect 77 "no device matches" run -D host,opencl:no-such-device-anywhere

# ---- interruption
# interrupted WHEN FILE KEPT ARGUMENT...: SIGINT as soon as stderr matches WHEN leaves a whole FILE that holds KEPT.
interrupted() {
    when=$1 file=$2 kept=$3
    shift 3
    tests=$((tests + 1))
    "$gamut" "$@" --out "$file" >out 2>err &
    pid=$!
    tries=0
    until grep -q "$when" err || [ $tries -eq 300 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    kill -INT $pid
    wait $pid
    code=$?
    [ $code -eq 130 ] || fail "SIGINT: gamut $*: exit $code, expected 130"
    is_json "$file"
    grep -q '"interrupted"' "$file" || fail "SIGINT: gamut $*: the file does not say interrupted"
    grep -q "$kept" "$file" || fail "SIGINT: gamut $*: what was measured is gone"
}
interrupted '\[ *2/' cut.json '"samples"' \
    run --smoke -w canny --rounds 10000 --progress plain
has "canny"
# Sizes are visited in random order, the first may take a second: which way has a row by then is chance.
interrupted 'sizes' cut_atlas.json '"sample_count":[1-9]' atlas
has "^[a-z]* .* [nmu]*s ("

echo "$tests command lines, $failures failures"
[ $failures -eq 0 ]
