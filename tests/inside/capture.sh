# shellcheck shell=bash
# What the tests of recorders have in common. They begin with
#   . "$(dirname "$0")/capture.sh"
#   needs opencl      or cuda: what was built for it; else the test is skipped
# and then stand in an empty folder of their own, which goes at the end.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$root/${BUILD:-build}
gamut=${GAMUT:-$build/gamut}
unset GAMUT_DEVICE
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failures=0
# fail WHAT: $name is the application, where there are several
fail() { failures=$((failures + 1)); echo "FAILED: ${name:+$name: }$1" >&2; }

needs() {
    app=$build/tests/inside/apps/app_$1
    [ -x "$app" ] && [ -e "$build/libgamut_record_$1.so" ] || { echo "skipped: built without the recorder of $1"; exit 0; }
    cd "$dir" || exit 1
}

# counts TRACE: how many events of each kind, on one line
counts() { "$gamut" trace show "$1" | awk '/^[a-z]+ / && $1 !~ /^(name|queue|thread|gamut)$/ { n[$1]++ } END { for (k in n) print k "=" n[k] }' | sort | tr '\n' ' '; }

# record_replay TRACE OUT: the record of a replay on PoCL under raw, which is timed: the second one. The trace is that of the process that replays: the one before it makes no call that counts.
record_replay() {
    local folder
    folder=$(mktemp -d "$dir/again.XXXXXX")
    "$gamut" record -o "$folder/again.trace" -- "$gamut" replay "$1" -D opencl -s raw --no-gaps --rounds 1 --no-save >"$folder/out" 2>&1 &&
        "$gamut" trace cut --force --phase "replay 1" -o "$2" "$folder/again.trace" 2>>"$folder/out" || { fail "the record of a replay of $1: $(cat "$folder/out")"; return 1; }
    rm -r "$folder"
}

# same_actions TRACE OTHER
same_actions() { "$gamut" trace diff --actions --lines 1 "$1" "$2" >"$dir/difference" || { fail "$1 and $2 differ: $(cat "$dir/difference")"; return 1; }; }

# plays_again TRACE: the record of a replay is the trace, and so is the record of a replay of that
plays_again() {
    record_replay "$1" "$dir/second.trace" && same_actions "$1" "$dir/second.trace" &&
        record_replay "$dir/second.trace" "$dir/third.trace" && same_actions "$dir/second.trace" "$dir/third.trace"
}
