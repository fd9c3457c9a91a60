#!/bin/sh
# What a terminal shows: no line is longer than it is wide, what was left out is said, colour goes
# where it is wanted. Files and pipes have neither limit nor colour.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cli.sh"
command -v script >/dev/null && command -v stty >/dev/null ||
    { echo "no script or stty here: terminals are not tested"; exit 0; }
unset COLUMNS NO_COLOR
export TERM=xterm

# shown WIDTH ARGUMENT...: what a terminal of that width gets, without its carriage returns.
shown() {
    width=$1
    shift
    tests=$((tests + 1))
    script -qec "stty cols $width; $gamut $* 2>err" /dev/null </dev/null | tr -d '\r' >out
    [ -s out ] || fail "gamut $*: nothing on the terminal"
}
# Characters, not bytes; escape sequences do not count.
longest() { sed "s/$(printf '\033')\[[0-9]*m//g" "${1-out}" | LC_ALL=C.UTF-8 wc -L; }
# fits WIDTH ARGUMENT...
fits() {
    shown "$@"
    [ "$(longest)" -le "$1" ] || fail "gamut $*: a line of $(longest) characters in a terminal of $1"
}
escape=$(printf '\033')

"$gamut" run -w stencil,canny -s raw,pool,tagged:policy=v3 -m none,best --smoke --rounds 6 --out a.json >table 2>err ||
    fail "run"
"$gamut" run --like a.json --out b.json --smoke >/dev/null 2>err || fail "run --like"
cat >mine.json <<'END'
{"format": "gamut.suite/1", "title": "A title", "source": "a paper",
 "compare": {"strategy": ["raw", "pool"]},
 "rows": [{"name": "a row with a long name", "workload": "stencil", "dataset": "smoke", "published": 1.5},
          {"name": "another", "workload": "canny", "dataset": "smoke", "published": 1.5}]}
END
[ "$(longest table)" -gt 80 ] || fail "the table is too narrow to test with"
! grep -q "$escape" table || fail "colour in a file"
! grep -q 'left out for width' table || fail "something was left out of a file"

fits 80 run --like a.json --no-save
has 'left out for width: '
has '^Fastest on host: '
has "$escape\\[1m"
fits 80 run --suite mine.json --no-save --smoke
fits 80 compare a.json b.json --show all
has ' metric .* base .* new .* change'
fits 80 print "$here/../../results/data/corpus.json.gz"
has '^left out for width: worst, in, driver calls, hits, idle at peak; '
fits 80 list
fits 80 plan stencil -m all
has 'left out for width: '
fits 80 plan stencil -m all --why next
fits 80 run --help
has '^    *--release'
fits 80 --help
fits 80 doctor
has "$escape\\[3[123]m"
fits 80 atlas --quick --no-save
fits 80 experiment isosurface:cells=4:window=2:frames=2 --rounds 1 --no-save
fits 70 list strategies
fits 120 plan stencil -m none
fits 80 advise "$here/../traces/pytorch/h100/lstm.trace" "$here/../traces/pytorch/h100/unet.trace"

# ---- how far: on stderr, in one line that is overwritten and erased in the end
trace=$here/../traces/pytorch/h100/lstm.trace
for command in "replay $trace -s pool --no-save" "fit $trace -s pool" "advise $trace"; do
    tests=$((tests + 1))
    script -qec "stty cols 40; $gamut $command >out" /dev/null </dev/null | tr '\r' '\n' >err
    grep -q "repla.*$escape\\[K" err || fail "gamut $command: no status line"
    [ "$(sed "s/$escape\\[K//" err | grep -v '^gamut: ' | LC_ALL=C.UTF-8 wc -L)" -le 39 ] ||
        fail "gamut $command: the status line is too long"
done

# COLUMNS goes before what the terminal says.
COLUMNS=70
export COLUMNS
shown 200 list strategies
[ "$(longest)" -le 70 ] || fail "COLUMNS=70: a line of $(longest) characters"
unset COLUMNS

# ---- colour
export NO_COLOR=1
for command in "run --like a.json --no-save" "compare a.json b.json --show all" doctor; do
    # shellcheck disable=SC2086
    shown 80 $command
    ! grep -q "$escape" out || fail "NO_COLOR: gamut $command: an escape sequence"
done
unset NO_COLOR
TERM=dumb
shown 80 doctor
! grep -q "$escape" out || fail "TERM=dumb: an escape sequence"
TERM=xterm
"$gamut" doctor >out 2>err
! grep -q "$escape" out || fail "doctor: colour in a file"

summary
