#!/bin/sh
# The command line: files that come from elsewhere and are not what gamut writes.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cli.sh"

# ---- escape sequences, C1 controls and overrides of the direction do not reach the terminal
"$gamut" run -w stencil -s raw,pool --smoke --rounds 2 --out good.json >/dev/null 2>err || fail "run"
c1=$(printf '\302\233') override=$(printf '\342\200\256')
# poison FILE: the three stand at the start of every text but those that gamut looks up.
poison() {
    looked_up='id|kind|better|unit|backend|status|check|machine_id|workload|dataset|merge|release|strategy|device|residency'
    sed -E -e "s/\"([a-z_0-9]+)\":( ?)\"/\"\\1\":\\2\"\\\\u001b]0;$c1$override/g" \
        -e "s/\"($looked_up)\":( ?)\"[^;\"]*;$c1$override/\"\\1\":\\2\"/g" \
        -e "/^\"schema\"/,/^}/s/\"[^;\"]*;$c1$override/\"/" "$1"
}
# plain: no such bytes in out or err, which have texts.
plain() {
    tests=$((tests + 1))
    for stream in out err; do
        ! LC_ALL=C grep -q -e "$(printf '\033')" -e "$c1" -e "$override" $stream || fail "$1: a control character in std$stream"
    done
}
poison good.json >bad.json
for format in table md; do
    "$gamut" compare bad.json good.json --force-compare --format $format >out 2>err
    grep -q 'base bad.json' out || fail "compare has nothing to say"
    grep -q '?]0;' out || fail "compare shows no text of the file"
    plain "compare --format $format"
    "$gamut" run --like bad.json --format $format --no-save --smoke >out 2>err
    grep -q '?]0;' err || fail "run --like shows no text of the file"
    plain "run --like --format $format"
    cp bad.json added.json
    "$gamut" run --add added.json --rounds 1 --format $format >out 2>err
    plain "run --add --format $format"
done
sed "s/\"status\":\"ok\"/\"status\":\"\\\\u001b]0;$c1$override\"/" good.json >bad_status.json
for command in "compare good.json" "report --out r" "plot --out p" "run --like"; do
    expect 2 'status: "?]0;' $command bad_status.json
    plain "$command"
done
sed "s/triple_step/& /; s/3 \* x/3 \/* $(printf '\033')[31m *\/ * x/" right.mem >escape.mem
expect 2 'escape.mem:2:[0-9]*: .*control character 27' plan escape.mem

# ---- names of files and folders that gnuplot would read as something else
if command -v gnuplot >/dev/null; then
    for name in "'" 'a"b' '`:>PWN`' '$(:>PWN)'; do
        cp good.json "./$name.json"
        expect 0 "" plot -c speedup,time -t svg "./$name.json"
        [ -s "$name/speedup-host.svg" ] || fail "plot $name.json: no chart"
        [ "$(ls "$name" | wc -l)" = 6 ] || fail "plot $name.json: more than data, script and image of two charts"
    done
fi

# ---- charts say what they show, and names in text are whole
if command -v gnuplot >/dev/null; then
    h200=$here/../../results/6827db66
    expect 0 "" plot "$h200/20261123T145822Z-7fc008d68dd2.json.gz" -c pareto -t dumb
    has "pool takes the least time in the mean, and holds 1.15× the lower bound"
    has "raw holds the least, 1.00×, and takes 3.30× as long; geometric means of 36 programs"
    for name in bufalloc tlsf stream vmm tagged caching pool raw; do
        sed 1,4d out | grep -qw "$name" || { cat out; fail "plot pareto: the name $name is not whole"; }
    done
    expect 0 "" plot "$h200/20261123T145822Z-7fc008d68dd2.json.gz" -w stencil,fft -s raw,pool -c speedup -t dumb
    has "^ *mean of 2 programs *$"
    has "^ *speed-up over raw: pool 8.19× *$"
    expect 0 "" plot "$h200/20261123T145535Z-7fc008d68dd2.json.gz" -c cost,atlas -t svg,dumb --out atlas
    has "1 MiB costs from 11.8 µs (stream:threshold=max) to 835 µs (pinned)"
    for chart in atlas cost; do
        grep -q "from 2.00 MiB [0-9.]* µs + [0-9.]* TiB/s" atlas/$chart-cuda-0.svg && ! grep -q … atlas/$chart-cuda-0.svg ||
            fail "plot $chart: a label is not whole"
    done
fi

# ---- reading stops at a bound; pipes can be read within it
ln -s /dev/zero zero.json
for command in plan "plan --lifetimes" "compare good.json" "compare good.json good.json --gate-file" \
    "run -w stencil --suite" "run --like"; do
    expect 2 'zero.json: expected at most 128 MiB' $command ./zero.json
done
mkfifo endless
yes >endless 2>/dev/null &
expect 2 'endless: expected at most 128 MiB' plan ./endless
tests=$((tests + 2))
"$gamut" plan /dev/stdin <right.mem >out 2>err && grep -q triple out || fail "plan /dev/stdin"
cat good.json >endless &
"$gamut" compare endless good.json >out 2>err || fail "compare FIFO"

# ---- a long sum is as deep as nested parentheses: what recurses over expressions must not overflow
# long TERMS BEFORE TERM AFTER: a program with such a chain in it.
long() {
    printf 'fun f(n: i64, x: [n]f32) {\n  %s' "$2"
    yes "$3" | head -n "$1" | tr '\n' ' '
    printf '%s\n  let y: [n]f32 = kernel k (i < n) { y[i] = x[i]; }\n  in y\n}\ndataset smoke { n = 1; x = [1]; }\n' "$4"
}
long 100000 'let m: i64 = n' '+ n' '' >sum.mem
long 100000 'let m: i64 = 1' '* 1' '' >constants.mem
long 100000 'assert n > 0' '&& n > 0' '' >and.mem
long 100000 'let m: i64 =' '-' 'n' >minus.mem
for program in sum constants and; do
    for command in plan "plan -m all" "run -w"; do
        expect 2 "$program.mem:2:[0-9]*: .*more than 1000 operators" $command ./$program.mem
    done
done
expect 2 "minus.mem:2:[0-9]*: .*more than 200 levels" plan ./minus.mem
long 1000 'let m: i64 = n' '+ n' '' >sum.mem
long 999 'assert n > 0' '&& n > 0' '' >and.mem
for program in sum and; do
    expect 0 "sizes of dataset smoke" plan ./$program.mem -m all
    expect 0 "1 ok" run -w ./$program.mem -s raw --smoke --no-save
done

summary
