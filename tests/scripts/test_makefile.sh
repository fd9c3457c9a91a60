#!/bin/sh
# A workload or a suite that is added or removed changes what the build makes of their names, and
# nothing else does. Works in a copy of the tree made of links, with the build's own generator.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
embed=$(dirname "${GAMUT:-$root/build/gamut}")/embed
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cp -rs "$root/bench" "$root/strategies" "$root/workloads" "$root/suites" "$root/Makefile" "$dir" || exit 1
cd "$dir" || exit 1
mkdir tests
mkdir build && cp "$embed" build/embed || exit 1
failed=0

fail() {
    echo "FAILED: $1"
    failed=1
}
# What is built depends on which headers are there.
unset MAKEFLAGS MAKELEVEL
found=$(make -s --eval 'probe: ; @echo "$(call have_header,stdio.h) $(call have_header,no_such_header.h)"' probe 2>/dev/null)
[ "$found" = "yes " ] || fail "of stdio.h and no_such_header.h, the build finds: $found"
# From here on each make would look for the same headers and libraries.
export WITH_CUDA= WITH_CUPTI= WITH_OPENCL= WITH_OPENMP= JANSSON=-ljansson ZLIB=-lz ZSTD=-lzstd

# Makes the lists of workloads and suites; the generator is taken as it is.
lists() {
    make BUILD=build -o build/embed build/embedded/list.c build/embedded/suites.c >log 2>&1 || { cat log; fail "make"; }
}
# Whether a list has a name.
named() { grep -q "$2" "build/embedded/$1.c"; }

lists
named list host_kernels_lud && named suites seed-impact || fail "the lists lack what is there"
touch build/before
lists
[ ! build/embedded/list.c -nt build/before ] && [ ! build/embedded/suites.c -nt build/before ] || fail "the lists are made again for nothing"

rm -r workloads/lud suites/seed-impact.json
lists
! named list host_kernels_lud || fail "a workload that is gone is in the list"
! named suites seed-impact || fail "a suite that is gone is in the list"

mkdir workloads/new
cp workloads/fft/fft.c workloads/new/new.c
cp "$root/suites/seed-impact.json" suites/another.json
lists
named list host_kernels_new || fail "a new workload is not in the list"
named suites another || fail "a new suite is not in the list"

# A build takes every processor unless it is told how many, and goals that are named together are made in their order.
printf '%s\n' 'include Makefile' 'probe: ; @echo "$(filter -j%,$(MAKEFLAGS))"' >probe.mk
jobs() { make -s -f probe.mk "$@" probe; }
[ "$(jobs)" = "-j$(nproc)" ] && [ "$(jobs -j1)" = -j1 ] || fail "jobs: $(jobs), with -j1: $(jobs -j1)"
order=$(make -n -C "$root" setup bench 2>/dev/null | grep -oE '[a-z]*[ /](setup|bench)$' | tr '\n' ' ')
[ "$order" = "directory setup scripts/setup directory bench scripts/bench " ] || fail "setup bench is made as: $order"

# A terminal sees how many steps there are, of what is not made yet; a file sees none.
objects="build/bench/base/error.o build/bench/base/clock.o build/bench/base/sort.o"
make OPT=-O0 build/bench/base/sort.o >log 2>&1 || { cat log; fail "make of an object"; }
[ ! -s log ] || { cat log; fail "a build that is no terminal's prints"; }
script -qec "make OPT=-O0 $objects" /dev/null </dev/null >log 2>&1 || { cat log; fail "make on a terminal"; }
for step in 1/2 2/2; do grep -qF "[$step] bench/base/" log || { cat log; fail "no step $step on a terminal"; }; done
exit $failed
