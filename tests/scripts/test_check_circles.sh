#!/bin/bash
# The check of circles of object files: it finds them by their symbols, and refuses too many and too large ones.
set -u
here=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
mkdir -p scripts bench/a bench/b build/bench/a build/bench/b
cp "$here/scripts/check_circles" scripts/
failures=0

# file PATH NAME USED...: an object with the function NAME, which calls the functions USED
file() {
    local path=$1 name=$2 used
    shift 2
    {
        for used in "$@"; do echo "void $used(void);"; done
        echo "void $name(void); void $name(void) {"
        for used in "$@"; do echo "$used();"; done
        echo "}"
    } >"bench/$path.c"
    ${CC:-cc} -c "bench/$path.c" -o "build/bench/$path.o" || exit 1
}
# try CODE PATTERN: what the check says of the files so far
try() {
    scripts/check_circles build >out 2>&1
    code=$?
    if [ $code -ne "$1" ] || { [ -n "$2" ] && ! grep -q "$2" out; }; then
        echo "FAILED: exit $code, expected $1 and '$2'"
        sed 's/^/  /' out
        failures=$((failures + 1))
    fi
}

file a/one one two
file a/two two elsewhere
try 0 ""
[ -s out ] && { echo "FAILED: a circle where there is none"; failures=$((failures + 1)); }
file a/two two three
file b/three three one
try 0 "^3 files: bench/a/one.c bench/a/two.c bench/b/three.c$"
file b/three three four
file b/four four one
try 1 "the largest of 4 files: expected at most 4, of at most 3"
# A name of a driver, and a name that two libraries define, lead to no other folder.
file b/three three
file b/four four two
file a/two two clFinish shared
file b/driver clFinish four
file b/left shared four
file a/right shared
try 0 ""
[ -s out ] && { echo "FAILED: namesakes make a circle"; failures=$((failures + 1)); }
for i in 1 2 3 4 5; do
    file "a/from$i" "from$i" "to$i"
    file "a/to$i" "to$i" "from$i"
done
try 1 "5 circles, the largest of 2 files"

[ $failures -eq 0 ] && echo "5 trees as expected"
[ $failures -eq 0 ]
