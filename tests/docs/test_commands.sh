#!/bin/bash
# The commands of README.md and docs/*.md, of the examples of the help, and in the middle of sentences exist, and have their flags. Commands stand in
# fenced blocks marked sh, and in the `run:` keys of blocks marked yaml. What a page pastes stands in a block marked text; files
# that commands read stand in blocks marked mem and csv. Also checks what README.md promises of itself.
#   test_commands.sh --run                also runs those of blocks and examples, in order, in a scratch folder, and expects exit 0
#   PAGES="FILE..." test_commands.sh      runs those of other pages, and checks nothing else
set -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
gamut=${GAMUT:-$root/build/gamut}
case $gamut in /*) ;; *) gamut=$PWD/$gamut ;; esac
[ -x "$gamut" ] || { echo "no binary at $gamut: make it, or set GAMUT" >&2; exit 1; }
for variable in $(env | sed -n 's/^\(GAMUT[A-Z_]*\)=.*/\1/p'); do unset "$variable"; done
unset MAKEFLAGS MAKELEVEL MAKEOVERRIDES

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failures=0
fail() {
    failures=$((failures + 1))
    echo "FAILED: $1" >&2
}

# scratch FOLDER: a folder that looks like the tree after a build; what commands write lands in it. It has the files that
# README.md and docs/commands.md show, for commands that read them.
scratch() {
    mkdir -p "$1/build" "$1/results" "$1/base/build"
    ln -s "$gamut" "$1/build/gamut"
    ln -s "$gamut" "$1/base/build/gamut"
    for name in workloads suites scripts plots tests .ci; do ln -s "$root/$name" "$1/$name"; done
    cp -rs "$root/results/." "$1/results/" # folders of its own: what is saved there is not in the tree
    block mem "$root/README.md" >"$1/my.mem"
    block csv "$root/docs/commands.md" >"$1/buffers.csv"
    gzip -dc "$root/tests/traces/pytorch/gnn.trace.csv.gz" >"$1/history.csv"
    cd "$1" || exit 1
}
export GITHUB_STEP_SUMMARY=$dir/summary.md
# What no flag says.
export GAMUT_DEVICE=host GAMUT_PROGRESS=never

# block LANGUAGE PAGE: the first block of that language
block() { awk -v want="$1" '/^```/ { if (inside) exit; inside = $0 == "```" want; next } inside' "$2"; }
scratch "$dir/docs"

# commands PAGE: the line and the command, of each command
commands() {
    awk '
        /^```/ {
            if (language) { language = ""; next }
            language = substr($0, 4)
            if (language !~ /^(sh|text|mem|csv|yaml|python)$/) print NR "\tERROR a block marked \"" language "\": mark it sh, text, mem, csv, yaml or python"
            next
        }
        !language && /^    [^ ]/ && before == "" { print NR "\tERROR an indented block: put it between fences" }
        { before = $0 }
        language == "sh" && /[^ ]/ { print NR "\t" $0 }
        language == "yaml" {
            match($0, /^ */)
            if (block && RLENGTH > block) { print NR "\t" substr($0, RLENGTH + 1); next }
            block = 0
            if ($0 ~ /^ *(- )?run: /) {
                depth = RLENGTH
                sub(/^ *(- )?run: /, "")
                if ($0 == "|") block = depth; else print NR "\t" $0
            }
        }' "$1"
}

# How a command is made small enough for a test, and fit for a machine without a GPU. Nothing else is changed.
rewrite() {
    sed -E -e 's/ +# .*//' \
        -e 's/-D cuda:0\+cuda:1/-D host+host/' \
        -e 's/-D (host,opencl|cuda)\b/-D host/' \
        -e 's/--rounds [0-9]+/--rounds 1/' \
        -e 's/--aa/& --rounds 3/' \
        -e 's/-d medium/-d smoke/' -e 's/ --until [^ ]+//' \
        -e 's/--suite seed-impact/& -w canny -d seed_256/' \
        -e 's/experiment isosurface/&:frames=2/' \
        -e 's|^(scripts/in_turns [^ ]+) [0-9]+ (.*)|\1 1 \2 -w stencil|' \
        -e '/--like|--add/!s/(gamut run|scripts\/in_turns .*)/& --smoke/' \
        -e "s|^make( -C [^ ]+)?|make -n -C '$root'|"
}

# Commands that are not run, and why; the program that they name must be there.
not_run() {
    case $1 in
    .ci/regress) [ -x "$root/.ci/regress" ] && echo "tests/cli/test_regress.sh runs it" ;;
    *' --format otava nightly/'* | build/otava/bin/otava* | *' steps.json')
        [ -x "$root/tests/docs/test_otava.sh" ] && echo "tests/docs/test_otava.sh runs it" ;;
    'git worktree add base '*) echo "the scratch folder is no repository" ;;
    *' man -l -') command -v man >/dev/null || echo "there is no man here" ;;
    esac
}

# named WHERE: each call of gamut in the lines of stdin names a command, and flags that the command has
"$gamut" --help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p' >names
named() {
    grep -oE '(^|[ `(/])gamut [^`|;&)]*' | sed 's/.*gamut //' | sort -u | while read -r name rest; do
        case $name in COMMAND | -*) continue ;; esac
        grep -qxF "$name" "$dir/docs/names" || { echo "$1: there is no gamut $name"; continue; }
        # Not a pipe: grep -q would end before gamut has written all.
        [ -s "$dir/docs/help.$name" ] || "$gamut" "$name" --help >"$dir/docs/help.$name"
        for flag in $(echo "$rest" | sed 's/ -- .*//' | grep -oE '(^| )--[a-z-]+'); do
            [ "$flag" = --help ] || grep -q -e "$flag\b" "$dir/docs/help.$name" || echo "$1: gamut $name has no $flag"
        done
    done
}

count=0
run_page() {
    while IFS=$'\t' read -r line command; do
        case $command in ERROR*) fail "$1:$line: ${command#ERROR }"; continue ;; esac
        count=$((count + 1))
        why=$(not_run "$command")
        [ -z "$why" ] || { echo "$1:$line: not run, $why: $command"; continue; }
        small=$(echo "$command" | rewrite)
        [ -z "${TIMES:-}" ] || echo "$SECONDS $small"
        bash -o pipefail -c "$small" >out 2>err </dev/null
        code=$?
        case $small in *'gamut doctor'*) [ $code -ne 3 ] || code=0 ;; esac # 3: it looked, and found something unfit
        if [ $code -ne 0 ]; then
            fail "$1:$line: $command"
            [ "$small" = "$command" ] || echo "  run as: $small" >&2
            sed 's/^/  stderr: /' err | tail -n 5 >&2
        fi
    done < <(commands "$1")
}

if [ -n "${PAGES:-}" ]; then
    for page in $PAGES; do run_page "$page"; done
    echo "$count commands, $failures failures"
    exit $((failures > 0))
fi
for page in "$root/README.md" "$root"/docs/*.md "$root"/*/README.md "$root"/*/*/README.md; do
    grep -oE '`(build/)?gamut [^`]*`' "$page" | tr -d '`' | named "$page"
done >wrong
# The examples of the help, which the manual repeats
{
    echo '```sh'
    for name in $(cat names); do
        "$gamut" help "$name" | sed '1,/^examples:$/d' | sed -n 's/^    //p'
    done
    echo '```'
} >examples.md
for page in "$root/README.md" "$root"/docs/*.md "$PWD/examples.md"; do
    commands "$page" >lines
    sed -n "s|^\([0-9]*\)\tERROR |$page:\1: |p" lines
    cut -f2 lines | sed 's, *#.*,,; /^ERROR/d' | named "$page"
done >>wrong
while read -r line; do fail "$line"; done <wrong

if [ "${1:-}" = --run ]; then
    for page in "$root/README.md" "$root"/docs/*.md; do run_page "$page"; done
    [ $count -gt 40 ] || fail "only $count commands were found"
    scratch "$dir/examples"
    before=$count
    PATH=$dir/examples/build:$PATH run_page "$dir/docs/examples.md"
    [ $((count - before)) -gt 30 ] || fail "only $((count - before)) examples were found"
    cd "$dir/docs" || exit 1
fi

# ---- the README
readme=$root/README.md
line=$(grep -n '^build/gamut run -w stencil' "$readme" | head -n 1 | cut -d: -f1)
# What is pasted below it has the rows and heads of what it prints: the first word of every line but the version's, and all
# of the line that heads the columns, without "of floor", which a slow machine may print once for all rows.
shape() { sed 's/ *$//; s/  of floor//' | awk '/^gamut / { next } $1 == "strategy" { $1 = $1; print; next } { print $1 }'; }
tail -n "+${line:-1}" "$readme" >below
block text below | shape >pasted
GAMUT_ROUNDS=6 GAMUT_SAMPLES=1 GAMUT_MAX_SAMPLES=1 GAMUT_TIMELINE=off GAMUT_RESULTS=$dir/no_atlas bash -c "$(sed -n "${line:-1}{s/-d small/-d smoke/;p}" "$readme")" 2>err | shape >printed
diff -u pasted printed >different || { fail "README.md: what the run prints has another shape"; cat different >&2; }

# ---- what the test itself must notice
while IFS='|' read -r what text; do
    printf '%b\n' "$text" >page.md
    if PAGES=$PWD/page.md GAMUT=$gamut bash "$here/$(basename "$0")" >/dev/null 2>&1; then found=nothing; else found=something; fi
    [ "$found" = "$what" ] || fail "the test finds $found in: $text"
done <<'END'
nothing|```sh\nbuild/gamut list charts\nmake help\n```
something|```sh\nbuild/gamut lits charts\n```
something|```sh\nbild/gamut list charts\n```
something|```sh\nmake hlep\n```
something|```sh\nbuild/gamut list charts | false\n```
something|```yaml\njobs:\n  one:\n    - run: build/gamut lits\n```
something|```yaml\njobs:\n  one:\n    - run: \|\n        build/gamut lits\n```
something|```\nbuild/gamut list charts\n```
something|It is\n\n    build/gamut list charts
END

echo "$count commands were run, $failures failures"
[ $failures -eq 0 ]
