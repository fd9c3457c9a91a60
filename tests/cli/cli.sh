# shellcheck shell=sh
# What tests/cli/test_cli_*.sh have in common, each of which tests one part of the command line from the
# outside: exit codes, what goes to which stream, what a mistake is told. They begin with
#   here=$(cd "$(dirname "$0")" && pwd)
#   . "$here/cli.sh"
# and end with `summary`. Run $GAMUT, by default the tree's build, on the host device, in a folder of
# their own; leave nothing behind.
gamut=${GAMUT:-$here/../../build/gamut}
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
        # Where a command takes long, a line every ten seconds says how far it is.
        ! grep -Evq '^gamut: ([0-9]* replays?|(advice|fit) [0-9/]*), ' err || fail "gamut $*: something on stderr"
    else
        grep -q -e "$pattern" err || fail "gamut $*: stderr lacks '$pattern'"
    fi
    ! grep -q Sanitizer err || fail "gamut $*: a sanitizer has something to say"
    case $code in 2 | 77) [ ! -s out ] || fail "gamut $*: something on stdout" ;; esac
}
# No device of OpenCL is looked for, because to load PoCL takes longer than most commands; a test that needs one takes this back.
export OCL_ICD_VENDORS="$dir/none"
# After expect: its stdout has, or lacks, a pattern.
has() { grep -q -e "$1" out || fail "stdout lacks '$1'"; }
lacks() { ! grep -q -e "$1" out || fail "stdout has '$1'"; }
is_json() { [ "$(jq -s length "$1" 2>&1)" = 1 ] || fail "$1 is not JSON"; }
# is_valid KIND FILE: the file, as it is now, keeps to the JSON Schema of results or compare: `summary` asks for all of them at once.
is_valid() {
    { printf '{"schema": "%s", "value": ' "$(ls "$here/../../results/schema/gamut-$1"-?.schema.json)" && tr -d '\n' <"$2" && echo '}'; } >>"$dir/schemas"
    echo "$2" >>"$dir/schemas.files"
}
check_schemas() {
    cd "$dir" && : >err
    for python in python3 /usr/bin/python3; do
        "$python" "$here/../results/file/check_schema.py" <schemas >out 2>>err && break
    done
    grep -q 'No module' err && [ ! -s out ] && fail "no python3 here has jsonschema: make setup-dev installs it"
    wrong=$(paste -d' ' schemas.files out | grep -v ' valid$')
    [ -z "$wrong" ] || fail "does not keep to the schema: $wrong"
}
# interrupted SIGNAL WHEN FILE KEPT ARGUMENT...: SIGNAL as soon as stderr matches WHEN leaves a whole FILE that holds KEPT.
interrupted() {
    signal=$1 when=$2 file=$3 kept=$4
    shift 4
    tests=$((tests + 1))
    "$gamut" "$@" --out "$file" >out 2>err &
    pid=$!
    tries=0
    until grep -q "$when" err || [ $tries -eq 3000 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    kill "-$signal" $pid
    wait $pid
    code=$?
    [ $code -eq 130 ] || fail "SIG$signal: gamut $*: exit $code, expected 130"
    is_json "$file"
    grep -q '"interrupted"' "$file" || fail "SIG$signal: gamut $*: the file does not say interrupted"
    grep -q "$kept" "$file" || fail "SIG$signal: gamut $*: what was measured is gone"
}
# The last line of a test.
summary() {
    [ ! -e "$dir/schemas" ] || check_schemas
    echo "$tests command lines, $failures failures"
    [ $failures -eq 0 ]
}

# A program that is right, one that says it is wrong, and one with a mistake in line 2.
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
