#!/bin/sh
# What is written of a version in several places is the same: Makefile, CHANGELOG.md and debian/changelog. The packages' scripts can be run.
set -u
cd "$(dirname "$0")/../.." || exit 1
list=$(mktemp) || exit 1
trap 'rm -f "$list"' EXIT
failures=0
fail() {
    failures=$((failures + 1))
    echo "FAILED: $1" >&2
}
version=$(sed -n 's/^VERSION *:= //p' Makefile)
[ "$(sed -n 's/^## //p' CHANGELOG.md | head -n 1)" = "$version" ] || fail "CHANGELOG.md does not begin with version $version"
[ "$(sed -n '1s/^gamut (\(.*\)) .*/\1/p' debian/changelog)" = "$version" ] || fail "debian/changelog does not begin with version $version"
api=$(sed -n 's/^.define GAMUT_STRATEGIES_API //p' strategies/library/gamut_strategies.h)
grep -q "interface has version $api\.$" CHANGELOG.md || fail "CHANGELOG.md does not say that the strategies' interface has version $api"

for script in .ci/release scripts/deb debian/rules tests/scripts/check_release.sh tests/scripts/check_gpu_box.sh; do
    [ -x "$script" ] || fail "$script cannot be run"
done
# Where each package's file list says that a file is, make install puts one.
make -s -n install DESTDIR=/d PREFIX=/usr LIBDIR=/usr/lib/machine BUILD=build 2>/dev/null | tr ' ' '\n' | sed -n 's|^/d/||p' | sed 's|site-functions|vendor-completions|' >"$list"
while read -r path; do
    grep -q "^$(echo "$path" | sed 's|\*|[^/]*|g')" "$list" || fail "make install puts nothing to $path"
done <<END
$(cat debian/*.install)
END
echo "$failures failures"
[ $failures -eq 0 ]
