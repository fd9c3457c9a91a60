#!/bin/sh
# What `make archive` packs is the tree: packed twice it is the same bytes. Unpacked elsewhere, where git cannot be called, it builds the
# same binary and libraries as the tree, byte for byte, knows its revision, and passes tests. `make check-release` runs this.
#   check_release.sh [TEST...]      other tests in the unpacked tree than the few that need no test program; "all": every test
# BUILD [build] has the tree's build.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-$root/build}
for variable in $(env | sed -n 's/^\(GAMUT[A-Z_]*\)=.*/\1/p'); do unset "$variable"; done
unset BUILD SOURCE_DATE_EPOCH
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failures=0
fail() {
    failures=$((failures + 1))
    echo "FAILED: $1" >&2
}
# quietly WHAT COMMAND...: runs it, shows what it said if it fails, and then ends
quietly() {
    what=$1
    shift
    "$@" >"$dir/log" 2>&1 || { tail -n 40 "$dir/log" >&2; echo "FAILED: $what" >&2; exit 1; }
}

# ---- packed
for copy in 1 2; do
    quietly "make archive" make -s -C "$root" BUILD="$dir/dist$copy" archive
done
archive=$(cd "$dir/dist1" && ls ./*.tar.gz)
cmp "$dir/dist1/$archive" "$dir/dist2/$archive" || fail "make archive packs other bytes the second time"
name=$(basename "$archive" .tar.gz)
quietly "tar" tar -x -f "$dir/dist1/$archive" -C "$dir"
cd "$dir/$name" || exit 1

# ---- built, and no object comes from another build of the same file
mkdir "$dir/bin"
printf '#!/bin/sh\necho "git $*" >>%s/git_calls\nexit 127\n' "$dir" >"$dir/bin/git"
chmod +x "$dir/bin/git"
export PATH="$dir/bin:$PATH" CCACHE_DISABLE=1
# An archive does not know whether it was changed; the tree knows that it was not.
quietly "make in the archive" make -s -j"$(nproc)" BUILD=build GIT_DIRTY=0 all
for file in "$build"/gamut "$build"/*.a "$build"/libgamut_*.so; do
    cmp "$file" "build/$(basename "$file")" || fail "$(basename "$file"): not the bytes of the tree's build"
done

# ---- as someone builds it who unpacked it
quietly "make in the archive" make -s -j"$(nproc)" BUILD=build all
revision=$(PATH=${PATH#*:} git -C "$root" rev-parse HEAD)
case $(build/gamut --version) in
"gamut ${name#gamut-} ($(echo "$revision" | cut -c 1-12))"*) ;;
*) fail "the archive's build does not know its revision: $(build/gamut --version)" ;;
esac
[ ! -s "$dir/git_calls" ] || fail "the build calls git: $(sort -u "$dir/git_calls")"
[ $# -gt 0 ] || set -- tests/cli/test_install.sh tests/alloc/test_lift.sh tests/docs/test_links.sh
if [ "$1" = all ]; then make -s BUILD=build test; else BUILD=build scripts/run_tests "$@"; fi || fail "tests of the archive"

echo "$failures failures"
[ $failures -eq 0 ]
