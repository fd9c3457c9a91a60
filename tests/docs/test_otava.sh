#!/bin/bash
# Runs the lines of docs/ci.md that feed Apache Otava, with the real package, on results in which a known commit has a step, and
# on results without one. Skipped where `make setup-dev` could not install the package.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
gamut=${GAMUT:-$root/build/gamut}
otava=${OTAVA:-$(dirname "$gamut")/otava/bin/otava}
[ -x "$otava" ] || { echo "skipped: Apache Otava is not at $otava; make setup-dev installs it from PyPI"; exit 77; }
page=$root/docs/ci.md
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failures=0
fail() {
    failures=$((failures + 1))
    echo "FAILED: $1" >&2
}

# block LANGUAGE FIRST-LINE: the block of the page that begins with a line like this
block() {
    awk -v language="$1" -v first="$2" '
        /^```/ { inside = $0 == "```" language; begins = inside; shown = 0; next }
        begins { shown = $0 ~ first; begins = 0 }
        inside && shown' "$page"
}
block yaml '^# otava.yaml' >otava.yaml
block sh '^build/gamut print --format otava' >lines
[ -s otava.yaml ] && [ "$(wc -l <lines)" = 3 ] || fail "docs/ci.md has no otava.yaml, or other than three commands for it"
mkdir -p build/otava/bin nightly
ln -s "$gamut" build/gamut
ln -s "$otava" build/otava/bin/otava

# nights STEP: twelve results whose times wobble by 1 %. From night STEP on they take a fifth longer and hold 4096 bytes more.
nights() {
    rm -f nightly/*
    for night in $(seq 1 12); do
        jq -c --argjson night "$night" --argjson step "$1" '
            ($night >= $step) as $late | (1 + ($night * 7 % 5 - 2) / 200) as $wobble |
            .run.started_at = "2026-01-\($night + 10)T01:00:00Z" | .context.tool.git_rev = "c0ffee0000\($night + 10)" |
            .context.tool.git_dirty = false |
            .cases |= map(
                .rounds[].samples.wall_ns |= map(if . then 1000000 * $wobble * (if $late then 1.2 else 1 end) | floor else . end) |
                .counters.warm.peak_reserved_bytes |= if $late then . + 4096 else . end)' one.json >"nightly/$((night + 10)).json"
    done
}
found() {
    bash -e -o pipefail lines 2>err || fail "the lines of docs/ci.md fail: $(cat err)"
}
GAMUT_PROGRESS=never "$gamut" run --smoke -w canny -s pool -D host --rounds 3 --samples 3 --out one.json >out 2>&1 || fail "no result: $(cat out)"
name=canny/smoke/none/last-use/pool/host

nights 8
found >steps.txt
grep -q "^c0ffee000018 $name/peak_reserved_bytes " steps.txt || fail "the commit of the step is not named for a counter: $(cat steps.txt)"
grep -q "^c0ffee000018 $name/wall_ns@" steps.txt || fail "the commit of the step is not named for a time: $(cat steps.txt)"
awk '$4 <= $3 { exit 1 }' steps.txt || fail "a step upwards goes down: $(cat steps.txt)"
[ "$(wc -l <steps.txt)" = 2 ] || fail "Otava names more than the step: $(cat steps.txt)"

nights 13
found >steps.txt
[ ! -s steps.txt ] || fail "Otava names a step where there is none: $(cat steps.txt)"

echo "two histories, $failures failures"
exit $((failures > 0))
