#!/bin/sh
# The command line: histories.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cli.sh"

# aged FILE DAY REVISION [SED-SCRIPT]: the first result as it would have been on another day at another commit
aged() {
    sed "s/\"started_at\": *\"[^\"]*\"/\"started_at\": \"2026-01-$2T00:00:00Z\"/; s/\"id\": \"[0-9a-f]*\",/\"id\": \"00000000000000$2\",/
        s/\"git_rev\":\"[^\"]*\",\"git_dirty\":[a-z]*/\"git_rev\":\"$3\",\"git_dirty\":false/; ${4:-}" h-first.json >"$1"
}
expect 0 "2 ok" run -w right.mem -s raw,pool --rounds 2 --samples 3 --out h-first.json
mkdir all all/more empty
aged all/1.json 01 aaaaaaaaaaaa
aged all/2.json 02 bbbbbbbbbbbb 's/"peak_reserved_bytes":[0-9][0-9]*/"peak_reserved_bytes":9999999/g'
aged all/more/3.json 03 cccccccccccc 's/"peak_reserved_bytes":[0-9][0-9]*/"peak_reserved_bytes":9999999/g'

# ---- a folder, and the exit codes
expect 0 "" history all
has "^3 runs, rev aaaaaaaaa to ccccccccc, in the order of their times, not of their commits"
has "larger .* in aaaaaaaaa\.\.bbbbbbbbb$"
has "^ok: "
aged all/4.json 04 dddddddddddd 's/"peak_reserved_bytes":[0-9][0-9]*/"peak_reserved_bytes":10000000/g'
expect 1 "" history all --metric peak_reserved_bytes
has "in ccccccccc\.\.ddddddddd, the newest run"
has "^regression: "
aged all/4.json 04 dddddddddddd 's/"status":"ok"/"status":"wrong"/g'
expect 3 "" history all --show worst
has "! wrong in the newest run"
rm all/4.json
expect 4 "" history all/1.json
has "^incomparable: "
expect 0 "" history all/1.json all/2.json all/more/3.json -w 'triple' -s raw -D host --show all
has "triple.* raw .* peak_reserved_bytes  *3 "
lacks "pool"
expect 4 "" history all -s 'no*'
expect 0 "" history all --strict --metric peak_reserved_bytes

# ---- files that are no results: left out of a folder by their names, an error if named
head -c 500 h-first.json >all/cut.json
cp all/1.json all/again.json
echo '{}' >all/empty.json
echo text >all/notes.txt
expect 0 "" history all --metric peak_reserved_bytes
has "^! left out: all/cut.json: "
has "^! left out: all/again.json: it has the run of all/1.json again"
has "^! left out: all/empty.json: "
lacks "notes.txt"
expect 5 "" history all --metric peak_reserved_bytes --strict
expect 2 "all/cut.json:" history all/1.json all/cut.json
expect 2 "the folder empty has no result file" history empty
expect 2 "missing.json" history all/1.json missing.json
rm all/cut.json all/again.json all/empty.json

# ---- mistakes
expect 2 "no metric 'wall'" history all --metric wall
expect 2 "expected a percentage" history all --threshold 2
expect 2 "between 0 and 1" history all --alpha 2
expect 2 "table|md|csv|json|jsonl" history all --format xml
expect 2 "history" history

# ---- formats
expect 0 "" history all --format md
has "^| triple"
expect 0 "" history all --format csv
has "^name,started_at,git_rev,"
has ",larger,"
expect 0 "" history all --format json
is_json out
has '"schema": "gamut.history/1"'
if python3 -c "import jsonschema" 2>/dev/null; then
    printf '{"schema": "%s", "value": %s}\n' "$here/../../results/schema/gamut-history-1.schema.json" "$(tr -d '\n' <out)" |
        python3 "$here/../record/result/check_schema.py" | grep -qx valid || fail "the history does not keep to the schema"
fi
expect 0 "" history all --format jsonl
if command -v python3 >/dev/null; then
    python3 -c '
import json, sys
lines = [json.loads(line) for line in sys.stdin]
reserved = [l for l in lines if l["metric"] == "peak_reserved_bytes" and l["strategy"] == "raw" and l["phase"] == "warm"]
assert [l["git_rev"] for l in reserved] == ["aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc"], reserved
assert reserved[1]["value"] == 9999999 and reserved[1]["step"] == "larger", reserved
' <out || fail "history --format jsonl: not what was expected"
fi

# ---- a page and a chart; a revision is no markup and no command of gnuplot
sed 's/"git_rev":"[^"]*"/"git_rev":"<b>`touch owned`"/' all/more/3.json >all/more/4.json
sed -i 's/"started_at": "2026-01-03/"started_at": "2026-01-04/; s/"id": "0000000000000003"/"id": "0000000000000004"/' all/more/4.json
expect 0 "wrote page/index.html" history all --out page
[ -s page/data/history.json ] || fail "the page has no data"
cp page/index.html out
has "&lt;b&gt;"
lacks "<b>"
has "[0-9] series: [1-9][0-9]* with steps, "
for tag in section header main; do
    [ "$(grep -o "<$tag[ >]" out | wc -l)" -eq "$(grep -o "</$tag>" out | wc -l)" ] || fail "<$tag> is not closed"
done
expect 0 "wrote page/index.html" history all --out page
expect 2 "holds files" history all --out all
expect 0 "" history all --format json
cp out trend.json
if command -v gnuplot >/dev/null; then
    [ -s page/charts/history-host.svg ] || fail "the page has no chart"
    ! grep -q "Not drawn" page/index.html || fail "a chart was not drawn"
    expect 0 "" plot trend.json -t dumb
    has "triple: peak_reserved_bytes"
    expect 2 "none of the .* is of workload other" plot trend.json -w other
    [ ! -e owned ] && [ ! -e page/charts/owned ] || fail "gnuplot ran a revision"
fi
echo '{"schema": "gamut.history/1", "series": 3}' >bad.json
expect 2 "bad.json: it is not what gamut history" plot bad.json
echo '{"schema": "gamut.history/1", "series": [1, {"device": "host", "known": 2, "points": [{"run": 1e300, "value": "x"}, 7], "steps": [[]]}]}' >odd.json
expect 2 "nothing to draw" plot odd.json -t dumb
rm all/more/4.json

# ---- the order of commits, by a git history in the folder; a revision that is no hash reaches no shell
if command -v git >/dev/null; then
    git init -q repo
    for day in 03 02 01; do
        GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a GIT_COMMITTER_DATE="2026-01-${day}T00:00:00Z" \
            git -C repo commit -q --allow-empty -m "$day"
        aged "repo/$day.json" "$day" "$(git -C repo rev-parse --short=12 HEAD)"
    done
    aged repo/04.json 04 "$(git -C repo rev-parse --short=12 HEAD)" 's/"git_dirty":false/"git_dirty":true/'
    cd repo || exit 1
    tests=$((tests + 1))
    "$gamut" history . >../out 2>../err
    cd ..
    has "in the order of their commits"
    has "^! 1 run of a changed working tree"
    sed 's/"git_rev":"[^"]*"/"git_rev":"$(touch owned)"/' repo/01.json >repo/05.json
    expect 0 "" history repo --show all
    has "in the order of their times"
    [ ! -e owned ] && [ ! -e repo/owned ] || fail "a revision was run"
fi

summary
