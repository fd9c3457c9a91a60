#!/bin/sh
# The gate of CI, and the scripts that measure: what they find, what they do not, and the exit codes.
here=$(cd "$(dirname "$0")/../.." && pwd)
GAMUT=${GAMUT:-$here/build/gamut}
case $GAMUT in /*) ;; *) GAMUT=$PWD/$GAMUT ;; esac
[ -x "$GAMUT" ] || { echo "no binary at $GAMUT: make it, or set GAMUT" >&2; exit 1; }
for variable in $(env | sed -n 's/^\(GAMUT_[A-Z_]*\)=.*/\1/p'); do unset "$variable"; done
unset GITHUB_STEP_SUMMARY
export GAMUT
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export OUT="$dir/fresh"
# No device of OpenCL is looked for: to load PoCL takes longer than most commands.
export OCL_ICD_VENDORS="$dir/none"
failures=0 tests=0

# expect CODE PATTERN COMMAND...: PATTERN in what it prints
expect() {
    code=$1 pattern=$2
    shift 2
    tests=$((tests + 1))
    "$@" >out 2>&1 </dev/null
    got=$?
    if [ $got -ne "$code" ] || { [ -n "$pattern" ] && ! grep -q -e "$pattern" out; }; then
        failures=$((failures + 1))
        echo "FAILED: $*: exit $got, expected $code and '$pattern'" >&2
        tail -5 out | sed 's/^/  /' >&2
    fi
}
regress="$here/.ci/regress"

# ---- one byte, one call, one copy
"$GAMUT" run --smoke -D host -w 'canny,fft*' -s pool --no-samples --out base.json >/dev/null 2>&1
# change FILE NAME BY: the counter of the cold run of every case
change() { awk -v name="\"$2\":" -v by="$3" '/^{"id":/ {
    i = index($0, name)
    if (i) { head = substr($0, 1, i + length(name) - 1); rest = substr($0, i + length(name)); match(rest, /^[0-9]+/)
        $0 = head (substr(rest, 1, RLENGTH) + by) substr(rest, RLENGTH + 1) }
    }
    { print }' base.json >"$1"; }
gates="--gate-file $here/results/baseline/gates.json"
# shellcheck disable=SC2086
expect 0 "ok: " "$GAMUT" compare base.json base.json $gates
for counter in peak_requested_bytes peak_reserved_bytes driver_alloc_count copy_in_place_bytes launch_count alloc_count; do
    change more.json $counter 1
    # shellcheck disable=SC2086
    expect 1 "$counter" "$GAMUT" compare base.json more.json $gates --format csv
    # shellcheck disable=SC2086
    expect 0 "ok" "$GAMUT" compare more.json base.json $gates
done
change more.json hit_count 1 # fewer hits are no loss where there are fewer requests
# shellcheck disable=SC2086
expect 0 "ok" "$GAMUT" compare more.json base.json $gates

# ---- .ci/regress against a file
"$GAMUT" run --smoke -D host -w 'fft*' -s pool --out mine.json >/dev/null 2>&1
expect 0 "ok: \|unsure: " "$regress" mine.json
awk '{ sub(/"peak_reserved_bytes":[0-9]+/, "\"peak_reserved_bytes\":1"); print }' mine.json >less.json
expect 1 "regression" "$regress" less.json
export GITHUB_STEP_SUMMARY="$dir/step.md"
expect 1 "regression" "$regress" less.json mine.json
grep -q "regression" step.md && grep -q "ok: \|unsure: " step.md || { echo "FAILED: no summary for GitHub" >&2; failures=$((failures + 1)); }
unset GITHUB_STEP_SUMMARY
expect 2 "missing.json" "$regress" missing.json
expect 2 "no binary at /nowhere" env GAMUT=/nowhere "$regress"
expect 2 "regress --update" "$regress" --help

# ---- baselines: memory, kernel and machine change nothing, another program is dropped by its name
mkdir -p tree/.ci tree/results/baseline
cp "$regress" tree/.ci
cp "$here/results/baseline/gates.json" tree/results/baseline
sed 's/"memory_\([a-z_]*\)":[0-9][0-9]*/"memory_\1":16384/g; s/"kernel": *"[^"]*"/"kernel":"1"/; s/"machine_id": *"[^"]*"/"machine_id":"00000000"/' base.json >tree/results/baseline/host.json
expect 0 "device host memory_bytes" tree/.ci/regress
expect 0 "^\*\*ok\*\*: " tree/.ci/regress
awk '/"workload":"canny"/ { sub(/"program_digest":"[0-9a-f]*"/, "\"program_digest\":\"00000000000000aa\"") } { print }' base.json >tree/results/baseline/host.json
expect 5 "canny.*dropped (another program)" tree/.ci/regress
sed 's/"program_digest":"[0-9a-f]*"/"program_digest":"00000000000000aa"/' base.json >tree/results/baseline/host.json
expect 4 "^\*\*incomparable\*\*: " tree/.ci/regress

# ---- rounds in turns
flags="--smoke -D host -w fft -s raw,pool --progress never"
# shellcheck disable=SC2086
expect 0 "" "$here/scripts/in_turns" turns 4 base="$GAMUT" new="$GAMUT" third="$GAMUT" $flags
for file in base new third; do
    [ "$(grep -c '"rounds":1' turns/$file.json)" -ge 1 ] && grep -q '^"rounds": 4,' turns/$file.json ||
        { echo "FAILED: $file.json has not four rounds in parts" >&2; failures=$((failures + 1)); }
done
starts() { grep '^"sessions":' turns/$1.json | grep -o '"started_at":"[^"]*"' | sed "s/$/ $1/"; }
order=$({ starts base; starts new; starts third; } | sort | sed 's/.* //' | tr '\n' ' ')
[ "$order" = "base new third third new base base new third third new base " ] ||
    { echo "FAILED: the order of turns: $order" >&2; failures=$((failures + 1)); }
expect 2 "in_turns OUT ROUNDS" "$here/scripts/in_turns" turns
expect 2 "in_turns OUT ROUNDS" "$here/scripts/in_turns" turns 2 one="$GAMUT" -w fft
expect 2 "no-such-workload" "$here/scripts/in_turns" turns 2 base="$GAMUT" new="$GAMUT" -w no-such-workload
expect 2 "trial run" "$here/scripts/trial" sane
expect 2 "no windows yet" env OUT="$PWD/nothing" "$here/scripts/trial" judge

# ---- a trial of two windows in which nothing was slowed: no alarms, and nothing found where there should be something
for window in 1 2; do
    "$here/scripts/in_turns" trial/windows/$window 2 a="$GAMUT" b="$GAMUT" c="$GAMUT" d="$GAMUT" \
        --smoke -D host -w fft,crypt,canny -s raw,pool --progress never
    gzip trial/windows/$window/*.json
    echo 1.5 >trial/windows/$window/load
done
expect 1 "a build and itself: 4 comparisons, 0 called a regression" env OUT="$PWD/trial" "$here/scripts/trial" judge
grep -q "^load 1.5 to 1.5" out && grep -q "slower in 0, faster in 0, at [01]\.[0-9]* of the base" out ||
    { echo "FAILED: the summary of a trial" >&2; cat out >&2; failures=$((failures + 1)); }
# Per window two comparisons of a build with itself, two of both; one of the second with the first.
[ "$(cut -d, -f1 trial/trial.csv | sort | uniq -c | tr -s ' \n' ' ')" = " 1 apart 1 comparison 4 same 4 slowed " ] &&
    [ "$(awk -F, 'NF != 18' trial/trial.csv)" = "" ] &&
    [ "$(grep -cE '^(same|slowed|apart),[12],1\.5,[01],[0-9.]+,,,,unsure,' trial/trial.csv)" = 9 ] ||
    { echo "FAILED: the table of a trial" >&2; cat trial/trial.csv >&2; failures=$((failures + 1)); }

echo "$tests command lines, $failures failures"
[ "$failures" -eq 0 ]
