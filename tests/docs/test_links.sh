#!/bin/sh
# Checks every page (*.md) of the tree: a relative link names a file that exists and a heading that it has, and what
# stands in backticks and looks like a path or a source file of the tree is one. ROOT [the tree] can be another tree.
here=$(cd "$(dirname "$0")" && pwd)
cd "${ROOT:-$here/../..}" || exit 1
list=$(mktemp) files=$(mktemp) || exit 1
trap 'rm -f "$list" "$files"' EXIT
failures=0
fail() {
    failures=$((failures + 1))
    echo "FAILED: $1" >&2
}

# Goldens are output, and build folders hold copies of it.
pages=$(find . -name '*.md' ! -path './build*' ! -path './.git/*' ! -path './tests/golden/*' | sed 's|^\./||' | sort)

# links PAGE: "link" or "code", the line, and the target of each link and of each text in backticks outside of fences
links() {
    awk '
        /^ *```/ { fenced = !fenced; next }
        fenced { next }
        {
            text = $0
            while (match(text, /\]\([^)]*\)/)) {
                print "link\t" NR "\t" substr(text, RSTART + 2, RLENGTH - 3)
                text = substr(text, RSTART + RLENGTH)
            }
            count = split($0, part, "`")
            for (i = 2; i < count; i += 2) print "code\t" NR "\t" part[i]
        }' "$1"
}

# anchors PAGE: its headings as GitHub spells them in links
anchors() {
    awk '/^ *```/ { fenced = !fenced } !fenced && /^#+ / { sub(/^#+ /, ""); print tolower($0) }' "$1" |
        sed 's/[]`*().,:;?!"/+=<>{}|&%$#@~^\\[]//g; s/'"'"'//g; s/ /-/g'
}

check_link() {
    page=$1 line=$2 target=$3
    case $target in http://* | https://* | mailto:*) return ;; esac
    file=${target%%#*}
    case $file in
    '') file=$page ;;
    *) file=$(dirname "$page")/$file ;;
    esac
    [ -e "$file" ] || { fail "$page:$line: the link $target leads nowhere"; return; }
    echo "$file" >>"$files"
    case $target in
    *'#'*) anchors "$file" | grep -qxF -e "${target#*#}" || fail "$page:$line: $file has no heading #${target#*#}" ;;
    esac
}

# exists PATTERN...: is the first of them, expanded by the shell, there?
exists() { [ -e "$1" ]; }

# A path begins with a folder of the tree, a source file ends like one; NAME and W stand for any name.
check_code() {
    page=$1 line=$2 name=$3
    case $name in
    *[!A-Za-z0-9_./*-]* | build/* | */build/*) return ;;
    CL/cl.h | cuda.h | nvrtc.h) return ;; # of the system
    bench/* | strategies/* | workloads/* | suites/* | results/* | plots/* | docs/* | scripts/* | tests/* | .ci/*) ;;
    ../*) name=$(dirname "$page")/$name ;;
    *.c | *.h | *.kernel | *.gp)
        pattern=$(echo "$name" | sed 's/\<NAME\>/*/; s/_NAME\>/_*/; s/^W\>/*/')
        [ -n "$(find bench strategies workloads tests plots -path "*/$pattern" | head -n 1)" ] || fail "$page:$line: there is no file $name"
        return
        ;;
    *) return ;;
    esac
    pattern=$(echo "$name" | sed 's/\<NAME\>/*/; s/_NAME\>/_*/; s/\<W\>/*/g; s/_W\>/_*/; s/\<NAME\>/*/')
    # shellcheck disable=SC2086
    exists $pattern || exists "$(dirname "$page")"/$pattern || fail "$page:$line: there is no $name"
}

count=0
for page in $pages; do
    links "$page" >"$list"
    while IFS='	' read -r kind line target; do
        count=$((count + 1))
        "check_$kind" "$page" "$line" "$target"
    done <"$list"
done
# A file that git ignores is here and in no other checkout.
git check-ignore --stdin <"$files" >"$list" 2>/dev/null
while read -r file; do fail "$file: git ignores what a page links to"; done <"$list"
[ $count -gt 500 ] || [ -n "${ROOT:-}" ] || fail "only $count links and names were found"

# ---- what the test itself must notice
if [ -z "${ROOT:-}" ]; then
    broken=$(mktemp -d) || exit 1
    mkdir -p "$broken/bench" "$broken/strategies" "$broken/workloads" "$broken/tests" "$broken/plots"
    while IFS='|' read -r what text; do
        printf '# One heading: `it`\n\n%s\n' "$text" >"$broken/page.md"
        if ROOT=$broken sh "$here/$(basename "$0")" >/dev/null 2>&1; then found=nothing; else found=something; fi
        [ "$found" = "$what" ] || fail "the test finds $found in: $text"
    done <<'END'
nothing|[a](page.md) [b](#one-heading-it) [c](page.md#one-heading-it) [d](https://x.example/y) `bench/` `build/x` `make x.c y`
something|[a](pages.md)
something|[b](#another-heading)
something|[c](page.md#one)
something|`bench/cli/gone.c`
something|`gone.c` has the rules
END
    rm -rf "$broken"
fi

echo "$count links and names, $failures failures"
[ $failures -eq 0 ]
