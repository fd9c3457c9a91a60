#!/bin/sh
# Under the set extended no workload copies more often, or more bytes, or needs more memory with blocks freed at the end of
# their scope, than under coalesce, on its smallest data.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
gamut=${GAMUT:-$root/${BUILD:-build}/gamut}
command -v python3 >/dev/null || { echo "no python3: skipped"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$gamut" run --smoke --no-samples -D host -s raw -m coalesce,extended --release scope --out "$work/result.json" >"$work/log" 2>&1 || {
    cat "$work/log"
    exit 1
}
python3 - "$work/result.json" <<'END'
import json, sys
by_case = {}
for case in json.load(open(sys.argv[1]))["cases"]:
    counters = case["counters"]["cold"]
    copies = [n for n in counters if n.startswith("copy_") and "host_device" not in n]
    by_case.setdefault((case["key"]["workload"], case["key"]["dataset"]), {})[case["key"]["merge"]] = {
        "copies": sum(counters[n] for n in copies if n.endswith("_count")),
        "copied bytes": sum(counters[n] for n in copies if n.endswith("_bytes")),
        "peak bytes": counters["peak_requested_bytes"]}
worse = [(*case, what, sets["coalesce"][what], sets["extended"][what]) for case, sets in by_case.items()
         for what in sets["coalesce"] if sets["extended"][what] > sets["coalesce"][what]]
for w in worse:
    print("%s/%s: %s: coalesce %d, extended %d" % w)
if not by_case:
    print("no workload was run")
sys.exit(bool(worse) or not by_case)
END
