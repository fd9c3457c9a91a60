#!/bin/bash
# The tables of the pages are those of their files, and what the pages show of commands is what these print: scripts/tables.
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
export GAMUT=${GAMUT:-$root/build/gamut}
[ -x "$GAMUT" ] || { echo "no binary at $GAMUT: make it, or set GAMUT" >&2; exit 1; }
for variable in $(env | sed -n 's/^\(GAMUT_[A-Z_]*\)=.*/\1/p'); do unset "$variable"; done
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failures=0
fail() {
    failures=$((failures + 1))
    echo "FAILED: $1" >&2
}

cd "$root" || exit 1
scripts/tables --check || fail "the pages are not what their files give: scripts/tables"
scripts/serve_rounds --data results/data/serve-runs.json.gz | cmp - results/data/serve.json ||
    fail "results/data/serve.json is not made of its runs: scripts/tables --from"
by_hand='/^<!--tables:/ { made = 1; next } /^\|/ { if (!made && /\| \**[0-9][0-9.,]* ([nµm]?s|[KMG]i?B|%)\** (\[|±|\|)/) print FILENAME ": " $0; next } { made = 0 }'
awk "$by_hand" README.md docs/*.md strategies/*/README.md suites/README.md suites/*/README.md >"$dir/out"
[ -s "$dir/out" ] && fail "tables by hand, which scripts/tables could make: $(cat "$dir/out")"

# ---- the damage that must be noticed, in a copy of the tree
mkdir -p "$dir/tree/scripts" && cd "$dir/tree" || exit 1
for name in README.md docs strategies suites results; do cp -r "$root/$name" .; done
cp "$root/scripts/tables" "$root/scripts/published" scripts/
for name in tests workloads; do ln -s "$root/$name" .; done
differs() { ! scripts/tables --check docs/driver-costs.md >"$dir/out" 2>&1; }

row=$(grep -m 1 '^| `cuMemFree` | .*every queue' docs/driver-costs.md)
sed -i 's/^\(| `cuMemFree` | \)[^|]*\(|.*every queue\)/\1321 µs \2/; s/^| `cuMemAlloc` | [0-9].*nothing |$/&\n| `cuMemAlloc2` | 1 µs |/' docs/driver-costs.md
differs || fail "figures of tables were changed by hand, and nothing noticed"
grep -qF "+$row" "$dir/out" && grep -q '^-| `cuMemAlloc2`' "$dir/out" || fail "the difference is not shown: $(cat "$dir/out")"
scripts/tables docs/driver-costs.md >/dev/null
cmp docs/driver-costs.md "$root/docs/driver-costs.md" || fail "the table was not put right"
sed -i 's/tables:at-rest/tables:at_rest/' docs/driver-costs.md
differs && grep -q 'there is no table at_rest' "$dir/out" || fail "an unknown table is no error"
cp "$root/docs/driver-costs.md" docs/

# ---- newer files: the atlas of scripts/gpu_box takes the place of all atlases, and a table that cannot be made of a file stays
mkdir "$dir/box"
atlas=$(sed -n 's/^<!--tables:at-rest atlas=\(.*\)-->/\1/p' docs/driver-costs.md)
gzip -dc "$root/$atlas" | sed 's/"git_rev": *"[0-9a-f]*"/"git_rev": "0123456789ab"/' |
    jq -c '.run.started_at = "2030-01-02T03:04:05Z" | .context.host.machine_id = "0badf00d" |
        (.atlas[0].curves[] | select(.call == "free").points[] | select(.bytes == 1073741824)) |= (.p50_ns = 654321 | .paced_ns = 654321)' >"$dir/box/atlas.json"
gzip -dc "$root/$(sed -n 's/.*tables:free-list seed-impact=\(.*\)-->/\1/p' docs/h200.md)" |
    jq -c '.run.started_at = "2030-01-02T03:04:06Z" | del(.suite.rows[0].measured[1])' >"$dir/box/seed-impact.json"
python3 - "$dir/box" <<'END' || fail "no newer runs"
import gzip, json, sys
runs = json.load(gzip.open("results/data/serve-runs.json.gz"))
runs["runs"] = [r for r in runs["runs"] if r["phase"] != "round 5"]
with gzip.open(sys.argv[1] + "/serve-runs.json.gz", "wt") as to:
    json.dump(runs, to)
END
python3 "$root/scripts/serve_rounds" --data "$dir/box/serve-runs.json.gz" >"$dir/box/serve.json"
gzip -dc "$root/$(sed -n 's/.*tables:surface isosurface=\(.*\)-->/\1/p' docs/h200.md)" |
    jq -c '.run.started_at = "2030-01-02T03:04:07Z" | .run.status = "interrupted"' >"$dir/box/isosurface.json"
jq -c '.sizes |= map(del(.recorded))' results/data/thrust.json >"$dir/box/thrust.json"
printf '\n## Of an older file\n\nIt was found in [the first one](../%s).\n' "$atlas" >>docs/driver-costs.md
scripts/tables --from "$dir/box" >"$dir/out" || fail "scripts/tables --from"
new=results/0badf00d/20300102T030405Z-0123456789ab.json.gz
[ -e "$new" ] || fail "the new atlas was not kept"
grep -q "tables:at-rest atlas=$new-->" docs/driver-costs.md || fail "a table has the older atlas"
grep -q "(../$new)" docs/driver-costs.md || fail "the prose has the older atlas"
grep -q '^docs/driver-costs.md: read again: From 16 GiB on' "$dir/out" || fail "prose with figures is not named"
tail -1 docs/driver-costs.md | grep -qF "$atlas" || fail "prose far from a table has the new atlas"
grep -qF "${row%%µs*}µs" docs/driver-costs.md && grep -q '^| `cuMemFree` | .* 654 µs ' docs/driver-costs.md || fail "the table has the older price"
grep -q "^+.*654 µs" "$dir/out" || fail "the change is not shown"
grep -q '^| ResNet-50 | [0-9.]* ms | [0-9.]* of 5 ' docs/h200.md || fail "the page has the older runs"
python3 "$root/scripts/serve_rounds" --data results/data/serve-runs.json.gz | cmp - results/data/serve.json || fail "a page's runs and their tables are not of one folder"
grep -q '^docs/h200.md: free-list stays as it is: .*opencl:1' "$dir/out" || fail "a table that lacks a device was not left as it is"
grep -q '^results/data/thrust.json stays as it is: docs/h200.md: recorder-cost' "$dir/out" && cmp results/data/thrust.json "$root/results/data/thrust.json" || fail "a data file of which one table cannot be made took the place of the older one"
grep -q 'isosurface.json is left out: it is of a run that is interrupted' "$dir/out" || fail "a run that was interrupted is taken"
cmp docs/choosing.md "$root/docs/choosing.md" || fail "a page changed without a file of its own"

echo "$failures failures"
[ $failures -eq 0 ]
