#!/bin/sh
# Under the set extended no workload copies more often, or more bytes, or needs more memory than under coalesce, on its
# smallest data and with both release policies.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
gamut=${GAMUT:-$root/${BUILD:-build}/gamut}
command -v python3 >/dev/null || { echo "no python3: skipped"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$gamut" run --smoke --no-samples -D host -s raw -m coalesce,extended --release last-use,scope --out "$work/result.json" >"$work/log" 2>&1 || {
    cat "$work/log"
    exit 1
}
python3 - "$work/result.json" <<'END'
import json, sys
by_case = {}
for case in json.load(open(sys.argv[1]))["cases"]:
    counters = case["counters"]["cold"]
    copies = [n for n in counters if n.startswith("copy_") and "host_device" not in n]
    by_case.setdefault((case["key"]["workload"], case["key"]["release"]), {})[case["key"]["merge"]] = {
        "copies": sum(counters[n] for n in copies if n.endswith("_count")),
        "copied bytes": sum(counters[n] for n in copies if n.endswith("_bytes")),
        "peak bytes": counters["peak_requested_bytes"]}
worse = [(*case, what, sets["coalesce"][what], sets["extended"][what]) for case, sets in by_case.items()
         for what in sets["coalesce"] if sets["extended"][what] > sets["coalesce"][what]]
for w in worse:
    print("%s/%s: %s: coalesce %d, extended %d" % w)
if len(by_case) < 2 * 36:
    print("%d cases were run" % len(by_case))
sys.exit(bool(worse) or len(by_case) < 2 * 36)
END
