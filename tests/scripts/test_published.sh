#!/bin/bash
# No program of gamut needs more bytes than its published counterpart, and each needs those that it needed. GAMUT_UPDATE_GOLDEN=1 writes the table anew.
root=$(cd "$(dirname "$0")/../.." && pwd)
export GAMUT=${GAMUT:-$root/build/gamut}
golden=$root/tests/golden/published.csv
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failures=0
fail() {
    failures=$((failures + 1))
    echo "FAILED: $1" >&2
}

"$root/scripts/published" >"$dir/out" || fail "a program needs more than was published"
[ -n "${GAMUT_UPDATE_GOLDEN:-}" ] && cp "$dir/out" "$golden"
diff "$golden" "$dir/out" || fail "a program needs other bytes than $golden has"

# series makes 32 n bytes as it is written, and 16 n coalesced.
rows() {
    { echo "variant,program,dataset,before_bytes,after_bytes,bound_before_bytes,bound_after_bytes,fun,fun_dataset,fun_values,remark"; printf '%s\n' "$@"; } >"$dir/rows.csv"
    "$root/scripts/published" "$dir/rows.csv" >"$dir/out" 2>"$dir/err"
}
rows gpu,a,b,321,160,150,,series,thesis,n=10,x && fail "best needs more than a bound, and the exit code is 0"
grep -q '^a,b,gpu,321,160,150,,320,160,240,160,240,160,fewer,equal,more$' "$dir/out" || fail "wrong: $(cat "$dir/out")"
rows gpu,a,b,,160,,170,series,thesis,n=10,x gpu,c,d,1,1,,,,,, || fail "a row without a figure or a program: $(cat "$dir/err")"
grep -q '^a,b,gpu,,160,,170,320,160,240,160,240,160,,equal,equal$' "$dir/out" && grep -q '^c,d,gpu,1,1,,,,,,,,,,,$' "$dir/out" || fail "wrong: $(cat "$dir/out")"
# Plain is the program as it is written: 24 n bytes with blocks freed at their last use.
printf '%s\n' program,dataset,variant,plain_bytes,fun,fun_dataset,fun_values,note a,b,f64,240,series,thesis,n=10, c,d,f64,1,,,,missing e,f,f64,239,series,thesis,n=10,known >"$dir/rows.csv"
"$root/scripts/published" "$dir/rows.csv" >"$dir/out" 2>"$dir/err" || fail "the table of 2022: $(cat "$dir/err")"
grep -q '^a,b,f64,240,240,.*,160,equal$' "$dir/out" && grep -q '^c,d,f64,1,,.*,missing$' "$dir/out" && grep -q ',more: known$' "$dir/out" || fail "wrong: $(cat "$dir/out")"
sed -i 's/,240,/,239,/' "$dir/rows.csv"
"$root/scripts/published" "$dir/rows.csv" >"$dir/out" 2>"$dir/err" && fail "a program needs a byte more, and the exit code is 0"
grep -q ',more$' "$dir/out" || fail "wrong: $(cat "$dir/out")"
rows gpu,a,b,1,1,,,sereis,thesis,, && fail "an unknown program"
grep -q "did you mean series?" "$dir/err" || fail "the error is not gamut's: $(cat "$dir/err")"

echo "$failures failures"
[ $failures -eq 0 ]
