#!/bin/bash
# Recordings of PyTorch that begin at a random event: gamut advise replays the recorded setting as exactly as expected.csv says, no worse and no
# better, and the log's peak is what PyTorch counted. traces/README.md says which recordings these are.
#   test_midrun.sh --update      writes expected.csv anew, after it has printed what got better or worse
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
gamut=${GAMUT:-$root/build/gamut}
[ -x "$gamut" ] || { echo "no binary at $gamut: make it, or set GAMUT" >&2; exit 1; }
for variable in $(env | sed -n 's/^\(GAMUT_[A-Z_]*\)=.*/\1/p'); do unset "$variable"; done
midrun=$root/tests/traces/pytorch/midrun
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

python3 "$root/scripts/midrun.py" --check "$gamut" "$midrun"/seed* >"$dir/now.csv" || exit 1
python3 - "$midrun/expected.csv" "$dir/now.csv" <<'END'
import csv, sys

def rows_of(path):
    with open(path) as file:
        return {f"seed {r['seed']}, {r['program']}.{r['setting']}": r for r in csv.DictReader(file)}

def words(row):
    return row["reason"] or f"{row['equal_calls']} of {row['calls']} driver calls are equal, at most {int(row['most_off_bytes']):,} bytes off"

def badness(row):
    return (1, 0, 0) if row["reason"] else (0, int(row["calls"]) - int(row["equal_calls"]), int(row["most_off_bytes"]))

expected, now = map(rows_of, sys.argv[1:])
for name in sorted(expected.keys() | now.keys()):
    old, new = expected.get(name), now.get(name)
    if old is None or new is None:
        print(f"{name}: {'new' if new else 'gone'}")
    elif old != new:
        change = "better" if badness(new) < badness(old) else "worse" if badness(new) > badness(old) else "different"
        print(f"{name} got {change}: {words(new)}; expected: {words(old)}")
sys.exit(expected != now)
END
same=$?
[ "$1" = --update ] && exec cp "$dir/now.csv" "$midrun/expected.csv"
[ "$same" = 0 ] || echo "FAILED: the replays are not those of $midrun/expected.csv; if all that changed got better: $0 --update" >&2
exit "$same"
