#!/bin/bash
# A C++ program that gets its memory from libgamut_alloc.so, as PyTorch does (apps/throws.cpp), on a driver without a device: out of memory is an exception.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$root/${BUILD:-build}
[ -e "$build/libgamut_alloc.so" ] && [ -e "$build/tests/inside/apps/fake/libcuda.so.1" ] || { echo "skipped: built without CUDA"; exit 0; }
command -v g++ >/dev/null || { echo "skipped: there is no g++"; exit 0; }
# A sanitized library needs a sanitized program.
case ${BUILD:-build} in
*sanitize*) flags="-fsanitize=address,undefined" ;;
*thread*) flags="-fsanitize=thread" ;;
*) flags="" ;;
esac
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failures=0
fail() { failures=$((failures + 1)); echo "FAILED: $1" >&2; }
for variable in $(env | sed -n 's/^\(GAMUT[A-Z_]*\)=.*/\1/p'); do unset "$variable"; done
export FAKE_CUDA_WORKS=1 FAKE_CUDA_BYTES=67108864 LD_LIBRARY_PATH=$build/tests/inside/apps/fake
# shellcheck disable=SC2086
g++ -std=c++17 -O1 -g $flags -pthread -o "$dir/throws" "$here/apps/throws.cpp" -ldl || fail "throws.cpp does not compile"
for s in raw pool caching vmm; do
    GAMUT_SERVE=$s timeout 60 "$dir/throws" "$build/libgamut_alloc.so" >"$dir/out" 2>&1 || fail "an exception under $s: $? $(head -5 "$dir/out")"
done
if [ -z "$flags" ]; then # a sanitizer loads the shared C++ library
    g++ -std=c++17 -O1 -pthread -static-libstdc++ -static-libgcc -o "$dir/null" "$here/apps/throws.cpp" -ldl || fail "throws.cpp does not compile with a static C++ library"
    timeout 60 "$dir/null" "$build/libgamut_alloc.so" null >"$dir/out" 2>&1 || fail "without a shared C++ library: $? $(head -5 "$dir/out")"
fi
exit $((failures > 0))
