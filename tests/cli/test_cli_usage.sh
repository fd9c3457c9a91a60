#!/bin/sh
# The command line: flags, names, files, what there is, doctor, manual and completion.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cli.sh"

# ---- a driver that ends the process
if [ -e "${gamut%/*}/tests/inside/apps/fake/libcuda.so.1" ]; then
    export LD_LIBRARY_PATH="${gamut%/*}/tests/inside/apps/fake" FAKE_CUDA_ABORTS=1
    expect 0 "" list devices
    has "^host "
    has "cuda: a driver ends the process that lists its devices: .*SIGABRT"
    expect 0 "1 ok" run -w canny -s pool --smoke -D host --no-save
    expect 2 "cuda: a driver ends the process" run -w canny -s pool --smoke -D cuda --no-save
    unset LD_LIBRARY_PATH FAKE_CUDA_ABORTS
fi

# ---- usage
expect 2 "usage:"
expect 0 "" --help
has "Exit codes"
expect 0 "" --version
has "^gamut "
expect 2 "did you mean list?" lsit
expect 2 "did you mean run?" rnu
expect 0 "" help
has "Exit codes"
expect 2 "did you mean run?" help rnu
expect 2 "other commands have it: .*replay, " fit x.trace --mem-limit 1GiB
expect 2 "did you mean stencil?" run -w workloads/stencil
"$gamut" run --help >told
expect 0 "" help run
cmp -s out told || fail "gamut help run and gamut run --help differ"
for command in $("$gamut" help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p'); do
    expect 0 "" "$command" --help
    has '^examples:$'
    has '^    .*gamut '
done
expect 2 "opencl:NVIDIA" run -D nvidia
expect 2 "did you mean all?" run -m al
expect 0 "" run --help
has "GAMUT_WORKLOAD"
expect 2 "did you mean --rounds?" run --ruonds 3
expect 2 "from 1 to" run --rounds 0
expect 2 "a size such as" run --mem-limit lots
expect 2 "did you mean table?" run --format tabel
expect 2 "did you mean stencil_hoisted?" run stencil_hosted
# -f is one flag in all commands.
for command in $("$gamut" help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p'); do
    "$gamut" "$command" --help | grep -E '^  (-f, )?(    )?--format' | grep -v '^  -f, --format' && fail "$command: --format without -f"
    "$gamut" "$command" --help | grep '^  -f, ' | grep -v '^  -f, --format' && fail "$command: -f is another flag"
done
expect 2 "exclude each other" run --no-save --out x.json
expect 2 "below --samples" run --samples 9 --max-samples 3
expect 2 "from 0 to 9007199254740991" run --seed 9007199254740992
# What a script passes if its variable is not set: nothing would be saved, or below /, or no gate be left.
for command in "run --out" "run --results" "run -w" "atlas --out" "experiment isosurface --results" "plan --lifetimes" \
    "plot a.json --out" "report a.json --out" "compare a.json b.json --gate" "doctor --results"; do
    # shellcheck disable=SC2086
    expect 2 "--[a-z]* is empty, expected [A-Z:.a-z]*: is a variable" $command ""
done
expect 2 "--out is empty" run --out=
[ ! -e results ] || fail "an empty name: something was written"

# ---- files of another kind: the commands that read them are named
trace=$here/../../suites/real/cupy.trace snapshot=$here/../traces/pytorch/gnn.snapshot.pickle.gz
result=$(echo "$here"/../../results/data/atlases/h200.json.gz)
for command in "run -w" run plan print plot "run --like" "report --out x" "compare --by strategy=raw" "join --out x.json"; do
    # shellcheck disable=SC2086
    expect 2 "cupy.trace is a trace: gamut advise, fit, replay" $command "$trace"
    # shellcheck disable=SC2086
    expect 2 "gz is a pickle: gamut advise, fit, replay" $command "$snapshot"
done
for command in advise fit replay "trace info" run plan; do
    # shellcheck disable=SC2086
    expect 2 "h200.json.gz is a result: gamut print, plot" $command "$result"
done

# Whatever the command, what is refused by name is named.
printf 'PK\3\4 and more' >state.pt
echo '{"schema": "1.1.1-chakra.0.0.4"}' | gzip >chakra.json.gz
for command in advise "trace import" print "run -w" "plan --merge none" view; do
    # shellcheck disable=SC2086
    expect 2 "state.pt is a zip archive, as torch.save" $command state.pt
    # shellcheck disable=SC2086
    expect 2 "chakra.json.gz is an execution trace of PyTorch" $command chakra.json.gz
done
expect 2 "small.plan is a plan of offsets: the strategy planned:trace=FILE" replay "$here/../alloc/small.plan"
mkfifo pipe
cat "$trace" >pipe &
expect 2 "pipe is a trace: gamut .* read it, as a file" trace info pipe

# ---- names of atlases
expect 0 "" list atlases
has '^h200  *cuda:0 on NVIDIA H200, driver [0-9.]*; opencl'
expect 2 "no atlas or file 'h20'; gamut list atlases" advise "$trace" --atlas h20
expect 2 "no_such.json: No such file" replay "$trace" --atlas no_such.json
for atlas in h200 "$result"; do
    expect 0 "" advise "$snapshot" --atlas "$atlas"
    has 'calls .* which take [0-9.]* ms instead of [0-9.]* ms'
    mv out "${atlas##*/}.txt"
done
cmp -s h200.txt h200.json.gz.txt || fail "the atlas h200 is another than its file"

# ---- names that do not exist
expect 2 "did you mean stencil_hoisted?" run -w stencil_hosted
expect 2 "there are: .*canny" run -w nothing_like_it
expect 2 "did you mean pool" run -s pol
expect 2 "did you mean policy" run -s tagged:polcy=v4
expect 2 "v9" run -s tagged:policy=v9
expect 2 "did you mean small?" run -w canny -d smal
expect 2 "no merge set 'coalese' (did you mean coalesce?)" run -m coalese
expect 2 "did you mean disjoint?" run -m reuse:with=disjoin
expect 2 "did you mean scope?" run --release scoop
expect 2 "did you mean cuda?" run -D cdua
expect 2 "did you mean devices?" list devcies
expect 2 "did you mean canny?" plan cany

# ---- files
expect 2 "broken.mem:2:" run -w broken.mem
expect 2 "iotta" plan broken.mem
expect 2 "missing.mem" run -w missing.mem
expect 2 "missing.json" plot missing.json
echo '{"schema": ' >half.json
expect 2 "half.json" plot half.json
expect 2 "half.json exists" run -w right.mem --out half.json
expect 2 "half.json/x.json" run --smoke -w right.mem --out half.json/x.json

# ---- what there is
for topic in workloads datasets strategies conf merges suites devices metrics; do
    expect 0 "" list "$topic"
    [ -s out ] || fail "list $topic: nothing on stdout"
done
expect 0 "" list workloads
has "^stencil  .*Hotspot: heat in a chip"
for topic in workloads datasets strategies conf merges residencies suites experiments devices metrics charts; do
    expect 0 "" list "$topic" --format json
    is_json out
    has '^"schema": "gamut.list/1"'
    has "^\"$topic\": "
done
expect 0 "" list --format json
is_json out
for member in '"path":"workloads/stencil/stencil.mem"' '"datasets":\[.*"smoke"' '"id":"host"' \
    '"name":"pool".*"options":\[{"name":"leading_bits","default":"' '"better":"lower"' '"one_per":"device"'; do
    has "$member"
done
for command in list man completion plan; do
    expect 2 "there are: .*--help" "$command" --no-such-flag
    ! grep -q "(null)" err || fail "gamut $command: (null)"
done
expect 0 "" list devices
has "^host "
expect 0 "" list strategies
has "from: .*inducer/pyopencl, src/mempool.hpp at [0-9a-f]* (20[0-9][0-9])"
has ":policy="
expect 0 "" list merges
has "^  best "
has "^  disjoint "

# ---- is the machine fit
expect 2 "did you mean --format?" doctor --fromat json
expect 2 "one argument too many" doctor host
expect 3 "" doctor --results right.mem/x
has "^fail  results  *right.mem/x: Not a directory -> set GAMUT_RESULTS"
GAMUT_RESULTS=right.mem/x expect 3 "" doctor --format json
is_json out
has '"verdict": "fail"'
rm -rf looked_at
"$gamut" doctor --results looked_at/here >out 2>err </dev/null
code=$?
if grep -q '^pass  build' out; then [ $code -eq 0 ]; else [ $code -eq 3 ]; fi || fail "doctor: exit $code"
has "^pass  device host "
has "^pass  results  *looked_at/here: will be made"
[ ! -s err ] || fail "doctor: something on stderr"
[ ! -e looked_at ] || fail "doctor makes the folder that it looks at"

expect 0 "the noise floor of host is [0-9.]* % for a case, [0-9.]* % for all cases of a strategy" \
    run --aa --smoke -w canny,fft,crypt -s raw --rounds 12 --results floors

# ---- each flag of each command without its value, with an empty one, with a flag that no command has, and each command on files that it cannot read
# refused GLOB ARGUMENT...: one process a usage, as there are many; the only error on stderr is like GLOB. (plan shows the line of the program below it.)
refused() {
    glob=$1 tests=$((tests + 1)) wrong=$((wrong + 1))
    shift
    "$gamut" "$@" >out 2>err </dev/null
    [ $? -eq 2 ] && [ ! -s out ] || fail "gamut $*: not a mistake"
    {
        read -r line
        # shellcheck disable=SC2254
        case $line in $glob) ;; *) fail "gamut $*: stderr is not like $glob" ;; esac
        while read -r line; do case $line in *gamut:* | *Sanitizer* | *"runtime error"*) fail "gamut $*: more than one error" ;; esac done
    } <err
}
mkdir unread unread/folder
(cd unread && : >empty && echo '{"schema": ' >half.json && echo "no kind" >unknown)
before=$(ls -R) wrong=0
for command in $("$gamut" help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p'); do
    for flag in $("$gamut" "$command" --help | sed -n 's/^  [-a-z, ]*\(--[a-z-]*\) [A-Z].*/\1/p'); do
        refused "*$flag needs a value*" "$command" "$flag"
        refused "*$flag*expected *" "$command" "$flag="
    done
    refused "*--no-such-flag*" "$command" --no-such-flag
    case $command in record | serve) continue ;; esac # these are names of applications there
    for file in missing.json folder empty half.json unknown; do refused "gamut: *" "$command" "unread/$file"; done
done

# ---- wrong values of each flag: of another type, below or beyond what a number can be, of another unit, a word that is none of a list, a missing file, a file
# that is there, a folder that is a file; and each wrong value before and after a right one
cases=$(echo floors/*/*.json)
for command in $("$gamut" help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p'); do
    case $command in
    experiment) more=isosurface ;;
    plan) more="canny -m none" ;;
    plot) more=$cases ;;
    report) more="$result --out no_report" ;;
    print | join) more=$result ;;
    replay | fit | explain | advise | view) more=$trace ;;
    record | serve) more="-- true" ;;
    trace) more="import $trace" ;;
    *) more= ;;
    esac
    "$gamut" "$command" --help | sed -n 's/^  [-a-z, ]*\(--[a-z-]*\) \([A-Z]\S*\)  \(.*\)/\1 \2 \3/p' >flags
    while read -r flag value help; do
        rest=$more
        case $value in
        N | M) wrongs="few -1 1.5 5parsec 99999999999999999999" right=1 ;;
        SIZE) wrongs="lots -1 5parsec 1e999 99999999999999999999 99999999999999999999GiB" right=1GiB ;;
        TIME) wrongs="soon -1s 5parsec 1e999s 99999999999999999999s" right=1s ;;
        PART) wrongs="much -1% 5parsec nan 1e999" right= ;;
        K/N) wrongs="few 0/2 3/2 1/0 -1/2 1/99999999999999999999" right= ;;
        METRIC:LIMIT) wrongs="few wall_ns wall_ns: wall_ns:much wall_ns:-1 wall_ns:nan wall_ns:5parsec" right= ;;
        *) wrongs=no_such right=$(expr "$help" : '.*: \([a-z0-9-]*\)|.*') ;;
        esac
        case $command$flag in
        serve--name | report--title) continue ;;  # any word is one
        doctor--results | join--out) continue ;;  # above, and in test_cli_fleet.sh
        report--out) wrongs="right.mem right.mem/x" right= rest=$result ;;
        trace--out) wrongs="right.mem right.mem/x" rest="cut $trace" ;;
        *--out | *--results) wrongs="right.mem right.mem/x" right= ;;
        trace--phase) rest="cut $trace --out no_part" ;;
        plan--why) rest="right.mem n=4 -m none" ;;
        fit--bound) rest="$trace -s raw --against raw" ;;
        plan--lifetimes) rest= ;;
        plan--planner) rest="--lifetimes $here/../merge/pack/minimalloc_A.csv" ;;
        compare--by) rest=$cases ;;
        compare--*) rest="$cases $cases" ;;
        serve--atlas) rest="--beside $trace -- true" ;;
        view--workload | view--dataset | view--merge | view--release) rest=$cases ;;
        esac
        for value in $wrongs; do
            case $value in no_such) said="no[ _]such" ;; right*) said=$value ;; *) said="${flag#--}*${value##*:}" ;; esac
            # shellcheck disable=SC2086
            refused "gamut: *$said*" "$command" "$flag=$value" $rest
        done
        # shellcheck disable=SC2086
        [ -z "$right" ] || {
            refused "gamut: *$said*" "$command" "$flag=$value" "$flag=$right" $rest
            refused "gamut: *$said*" "$command" "$flag" "$right" "$flag" "$value" $rest
        }
    done <flags
done
rm flags
expect 0 "" report "$result" --title '</title><script>' --out titled
grep -q '<title>&lt;/title&gt;&lt;script&gt;' titled/index.html || fail "a title is more than text"
rm -r titled
[ $wrong -ge 700 ] || fail "only $wrong wrong usages were found in the help"
[ "$(ls -R)" = "$before" ] || fail "a wrong usage left a file behind"

# ---- a flag given twice: a list grows, of another flag the last value counts
expect 0 "" list strategies -f text
mv out text
expect 0 "" list strategies -f json --format=text
cmp -s out text || fail "list: -f json -f text is not text"
expect 0 "8 events" trace cut "$trace" --first 1 --last 2 --out first.trace --first=5 --last=10 --out last.trace
[ ! -e first.trace ] && [ -e last.trace ] || fail "trace cut: --out first --out last is not last"
expect 0 "2 cases, 1 round" run -w canny --smoke -s raw --no-save -w fft -f json --rounds 5 --rounds 1
grep -q '"canny"' out && grep -q '"fft"' out || fail "run: -w canny -w fft is not both"
expect 2 "trace info does not read --first, which is for cut" trace info "$trace" --first 2
expect 2 "trace waits does not read --actions, which is for diff" trace waits "$trace" --actions
expect 2 "trace check does not read --force, which is for cut, plan, import, export" trace check "$trace" --force
expect 2 "trace show does not read --out, which is for cut, plan, import, export" trace show "$trace" --out shown
expect 2 "--atlas is for --beside" serve --atlas h200 -- true
expect 2 "--why is for a program" plan --lifetimes "$here/../merge/pack/minimalloc_A.csv" --why 1
expect 2 "--dataset says nothing without merge sets" plan canny --dataset small
expect 2 "right.mem/x could not be made" plot $cases --out right.mem/x
[ "$(wc -l <err)" -eq 1 ] || fail "plot: the folder is told more than once"

# ---- manual and completion
expect 0 "" man
has "^.SH EXIT STATUS"
has "^.SH EXAMPLES"
has "^ *gamut run .*stencil"
has '^.TH GAMUT 1 "20[0-9-]*" "gamut'
expect 2 "one argument too many" man run
expect 2 "completion needs bash|zsh" completion
expect 2 "there are: bash zsh" completion fish
# The programs of others are code.
for words in --help "run --help" "plan --help" man; do
    # shellcheck disable=SC2086
    expect 0 "" $words
    has "A .mem file is code"
done

# ---- what cannot be written is an error, be it only help
if [ -w /dev/full ]; then
    for command in --help "run --help" help "help run" --version list man "completion bash"; do
        tests=$((tests + 1))
        "$gamut" $command >/dev/full 2>err
        [ $? -eq 2 ] && grep -q 'stdout could not be written' err || fail "gamut $command >/dev/full"
    done
fi

summary
