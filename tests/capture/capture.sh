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
    app=$build/tests/capture/apps/app_$1
    [ -x "$app" ] && [ -e "$build/libgamut_record_$1.so" ] || { echo "skipped: built without the recorder of $1"; exit 0; }
    cd "$dir" || exit 1
}

# counts TRACE: how many events of each kind, on one line
counts() { "$gamut" trace show "$1" | awk '/^[a-z]+ / && $1 !~ /^(name|queue|thread|gamut)$/ { n[$1]++ } END { for (k in n) print k "=" n[k] }' | sort | tr '\n' ' '; }
