#!/bin/sh
# make install, and what it puts below a folder: a binary that works there, a manual, completions.
here=$(cd "$(dirname "$0")/../.." && pwd)
gamut=${GAMUT:-$here/build/gamut}
case $gamut in /*) ;; *) gamut=$PWD/$gamut ;; esac
[ -x "$gamut" ] || { echo "no binary at $gamut: make it, or set GAMUT" >&2; exit 1; }
for variable in $(env | sed -n 's/^\(GAMUT[A-Z_]*\)=.*/\1/p'); do unset "$variable"; done
unset MAKEFLAGS MAKELEVEL MAKEOVERRIDES DESTDIR PREFIX
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failures=0
fail() {
    failures=$((failures + 1))
    echo "FAILED: $1" >&2
}

# -o: what is installed is what the other tests run, even if the tree has changed meanwhile.
make_here() {
    make -s -C "$here" -o "$gamut" $libraries_made BUILD="$build" GAMUT="$gamut" PREFIX=/opt/it DESTDIR="$dir/dest" "$@" >"$dir/log" 2>&1 ||
        { cat "$dir/log" >&2; fail "make $*"; }
}
build=$(dirname "$gamut")
libraries_made=$(for library in "$build"/libgamut_*.so "$build"/libgamut_*.a; do [ -e "$library" ] && printf -- '-o %s ' "$library"; done)
make_here install
installed=$dir/dest/opt/it/bin/gamut
share=$dir/dest/opt/it/share
cmp -s "$gamut" "$installed" || fail "the binary is another one"
[ -s "$dir/dest/opt/it/lib/gamut/python/gamut/estimate.py" ] || fail "no lib/gamut/python/gamut/estimate.py"
for file in man/man1/gamut.1 bash-completion/completions/gamut zsh/site-functions/_gamut gamut/plots/rows.gp \
    doc/gamut/LICENSE doc/gamut/docs/out-of-memory.md; do
    [ -s "$share/$file" ] || fail "no share/$file"
done
# The pages that the installed ones name are there too.
for page in $(cd "$share/doc/gamut" && find . -name '*.md'); do
    for to in $(grep -o ']([a-z0-9_./-]*\.md' "$share/doc/gamut/$page" | sed 's/](//'); do
        [ -s "$share/doc/gamut/$(dirname "$page")/$to" ] || fail "$page names $to, which is not installed"
    done
done
[ "$(cd "$share/gamut/plots" && ls)" = "$(cd "$here/plots" && ls ./*.gp | sed 's|.*/||')" ] ||
    fail "the scripts of the charts are not all there"

[ "$(cd "$share/gamut/results/schema" && ls)" = "$(cd "$here/results/schema" && ls)" ] || fail "the schemas are not all there"

# It works there, away from the tree, also behind a link.
cd "$dir" || exit 1
ln -s "$installed" linked
"$installed" list workloads >out || fail "list"
grep -q '^stencil ' out || fail "list workloads: no stencil"
"$installed" run --smoke -D host -w canny -s raw,pool --out r.json >out 2>err || { cat err >&2; fail "run"; }
./linked plot r.json >charts 2>err || { cat err >&2; fail "plot"; }
[ -s charts ] || fail "plot draws nothing"
while read -r chart; do
    [ -s "$chart" ] || fail "no $chart"
done <charts
"$installed" doctor >out
grep -q '^pass  gnuplot' out || { grep gnuplot out >&2; fail "doctor does not find the scripts of the charts"; }

# The suites of traces are there.
"$installed" replay --suite real -s raw --no-save >out 2>err || { cat err >&2; fail "replay --suite"; }
[ "$(grep -c '^[a-z_]* recorded on dry' out)" -eq 10 ] || fail "replay --suite real: $(cat out)"

# It puts its own libraries into an application.
for api in opencl cuda; do
    library=libgamut_record_$api.so
    [ -e "$build/$library" ] || continue
    cmp -s "$build/$library" "$dir/dest/opt/it/lib/gamut/$library" || fail "lib/gamut/$library is missing or another one"
    # shellcheck disable=SC2016
    "$installed" record -o no.trace -- sh -c 'readlink -f "$OPENCL_LAYERS" "$CUDA_INJECTION64_PATH"' >out 2>/dev/null
    grep -q "^$(readlink -f "$dir/dest/opt/it/lib/gamut/$library")\$" out || fail "record does not use lib/gamut/$library: $(cat out)"
done

# The library of strategies: the program of its page, as C and as C++, finds it by pkg-config and links with nothing else.
library=$dir/dest/opt/it/lib/libgamut_strategies.a
sed -n '/^```c$/,/^```$/p' "$here/strategies/library/README.md" | sed '1d; $d' >lifted.c
if command -v pkg-config >/dev/null; then
    # The folders that it names are below $dir/dest.
    flags=$(PKG_CONFIG_PATH=$dir/dest/opt/it/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$dir/dest pkg-config --cflags --libs gamut-strategies) || fail "pkg-config"
    api=$(PKG_CONFIG_PATH=$dir/dest/opt/it/lib/pkgconfig pkg-config --variable=api gamut-strategies)
else
    echo "no pkg-config here: its file is not tried"
    flags="-I$dir/dest/opt/it/include/gamut-strategies -L$dir/dest/opt/it/lib -lgamut_strategies -lpthread"
    api=$(sed -n 's/^api=//p' "$dir/dest/opt/it/lib/pkgconfig/gamut-strategies.pc")
fi
# lifted COMPILER...: compiles, links, and serves by three strategies
lifted() {
    # shellcheck disable=SC2086
    "$@" -Wall -Wextra -Werror -o lifted $flags_first lifted.c $sanitizers -x none $flags >out 2>&1 || { head -5 out >&2; fail "$1 of the library's page"; return; }
    ./lifted >out 2>&1 && ./lifted raw >>out 2>&1 && ./lifted tlsf:strategy=min_time >>out 2>&1 || fail "the library's page, by $1: $(cat out)"
    [ "$(grep -c '100 requests' out)" -eq 3 ] && grep -q '^raw: .* 100 driver calls' out && grep -q '^caching: .* 1 driver calls' out ||
        fail "the library's page, by $1: $(cat out)"
    ! ./lifted nosuch >out 2>&1 && grep -q nosuch out || fail "the library's page takes nosuch: $(cat out)"
}
sanitizers=
! nm "$library" | grep -q __asan_init || sanitizers=-fsanitize=address,undefined
flags_first="-x c -std=gnu11"
lifted ${CC:-cc}
flags_first="-x c++ -std=c++17"
! command -v "${CXX:-c++}" >/dev/null || lifted "${CXX:-c++}"
# A header of another version does not link, and no name of gamut's own rooms is seen.
# shellcheck disable=SC2086
! sed "s/^#include.*/#include <gamut_strategies.h>/" lifted.c | ${CC:-cc} -x c -D"gamut_strategies_archive_$api=gamut_strategies_archive_0" - $sanitizers -o other -x none $flags 2>/dev/null ||
    fail "an archive of another version links"
others=$(nm -g --defined-only "$library" | awk 'NF == 3 && $3 !~ /^(allocator|source|error|clock|gamut_strategies)_|^(__odr_asan|DW\.)/ { print $3 }')
[ -z "$others" ] || fail "libgamut_strategies.a shows $(echo "$others" | head -3)"

# An allocator from outside of the tree: the beginning that gamut writes serves as it is, and takes its options.
outside() { # WORDS ARGUMENT...: gamut fails, and says so
    words=$1
    shift
    ! "$installed" "$@" >out 2>&1 && grep -qF -e "$words" out || fail "gamut $*: $(cat out)"
}
"$installed" new allocator mine >out || fail "gamut new: $(cat out)"
shared() { # SOURCE OBJECT
    # shellcheck disable=SC2086
    ${CC:-cc} -Wall -Wextra -Werror -shared -fPIC -o "$2" $sanitizers "$1" $flags || fail "$1 is not compiled"
}
shared mine.c mine.so
"$installed" run stencil --smoke -D host -s raw,./mine.so,./mine.so:first_use=resident --out mine.json >out 2>&1 && grep -q '^3 cases: 3 ok' out ||
    fail "run -s ./mine.so: $(cat out)"
"$installed" replay "$here/suites/real/cupy.trace" -s raw,./mine.so --no-save -f csv >out 2>/dev/null || fail "replay -s ./mine.so"
[ "$(grep -E ',(raw|./mine.so),.*,driver_alloc_count,' out | sed 's/.*,//' | sort -u | wc -l)" -eq 1 ] || fail "raw and its copy differ: $(cat out)"
# Its author asks in which programs of the corpus it is worse than another one; the installed gamut has the corpus too.
export GAMUT_TIME_LIMIT=10ms # the optimum is not asked for
BUILD=$build GAMUT=$gamut SUITE=corpus:simulation CC="${CC:-cc} $sanitizers" "$here/scripts/try" mine.c:first_use=resident raw >out 2>&1 &&
    grep -q '^./mine.so:first_use=resident against raw: better in 0, worse in 0, mixed in 0, no difference beyond 1% in 4' out || fail "scripts/try: $(cat out)"
"$installed" fit --suite corpus:simulation -s ./mine.so --against caching --free-at let-go --atlas h200 >out 2>&1
[ $? -eq 1 ] && grep -q '^flow .* mixed ' out || fail "fit --suite corpus --against: $(cat out)"
unset GAMUT_TIME_LIMIT
sed 's/ALLOCATOR_API_VERSION/4/' mine.c >old.c
shared old.c old.so
echo 'extern int nothing; int nothing;' >none.c
shared none.c none.so
outside "was compiled for version 4 of the interface of strategies, and this gamut has version $api" run stencil -s ./old.so
outside "./none.so exports no gamut_strategy" run stencil -s ./none.so
outside "./nosuch.so cannot be loaded" run stencil -s ./nosuch.so
outside "mine.c exists" new allocator mine
outside "there is an allocator raw already" new allocator raw
outside "is no name in lower case" new allocator ../mine
# What a result file names is not loaded.
"$installed" run --like mine.json --no-save >out 2>&1
grep -q "there is no strategy './mine.so'" out && grep -q '^3 cases: 1 ok, 2 skipped' out || fail "run --like mine.json: $(cat out)"

# Without its scripts it says where it looked.
mkdir alone && cp "$installed" alone/gamut
if alone/gamut plot r.json --out nowhere >out 2>err; then fail "plot without scripts"; fi

# ---- the manual
if command -v man >/dev/null && man --help 2>&1 | grep -q -e --warnings; then
    man --warnings -E UTF-8 -l -Tutf8 -Z "$share/man/man1/gamut.1" >/dev/null 2>warnings
    [ ! -s warnings ] || { head -5 warnings >&2; fail "man has warnings"; }
else
    echo "no man here: the manual is not checked with it"
fi
if command -v mandoc >/dev/null; then
    mandoc -Tlint -Werror "$share/man/man1/gamut.1" >warnings || { cat warnings >&2; fail "mandoc has errors"; }
fi
# Every command and flag that the help has.
"$installed" --help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p' >commands
[ -s commands ] || fail "--help lists no commands"
sed 's/\\-/-/g' "$share/man/man1/gamut.1" | grep -oE -e '--[a-z-]+' | sort -u >known
while read -r command; do
    grep -q "^.SS \"gamut $command" "$share/man/man1/gamut.1" || fail "the manual has no $command"
    missing=$("$installed" "$command" --help | sed -n 's/.*  \(--[a-z-]*\).*/\1/p' | sort -u | comm -23 - known)
    [ -z "$missing" ] || fail "the manual lacks of $command: $missing"
done <commands

# ---- completion
PATH=$(dirname "$installed"):$PATH bash "$here/tests/cli/completion.bash" "$share/bash-completion/completions/gamut" || fail "bash's completion"
if command -v zsh >/dev/null; then
    zsh -n "$share/zsh/site-functions/_gamut" || fail "zsh's completion"
else
    echo "no zsh here: its completion is not checked"
fi

make_here uninstall
left=$(find "$dir/dest" ! -type d)
[ -z "$left" ] || fail "uninstall leaves $left"

echo "$failures failures"
[ $failures -eq 0 ]
