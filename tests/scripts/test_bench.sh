#!/bin/bash
# What `make bench` and `make bench-self` do, with a gamut that only prints its arguments: the first measures workloads, one of
# them alone at first, and the second runs every micro-benchmark of the tree.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
unset MAKEFLAGS MAKELEVEL MAKEOVERRIDES
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0
fail() {
    failures=$((failures + 1))
    echo "FAILED: $1" >&2
}

mkdir -p "$dir/tree/scripts"
cp "$root/scripts/bench" "$root/scripts/plots" "$dir/tree/scripts"
cat >"$dir/gamut" <<'EOF'
#!/bin/sh
echo "gamut $*" >>"${0%gamut}log"
case $* in
run*host,best*) mkdir -p results/0123abcd && sleep 0.1 && echo >results/0123abcd/new.json ;;
plot*) printf '%s\n' results/0123abcd/new/a.svg results/0123abcd/new/a.png results/0123abcd/new/b.svg ;;
print*) echo "the answer of $*" ;;
esac
EOF
chmod +x "$dir/gamut"
BUILD=$dir ROUNDS=7 "$dir/tree/scripts/bench" >"$dir/out" 2>&1 || fail "scripts/bench fails"
grep '^gamut run' "$dir/log" >"$dir/runs"
tail -n 1 "$dir/out" | grep -q '^the answer of print results/0123abcd/new.json --show means' || fail "make bench: the answer is not last"
grep -q '^charts: results/0123abcd/new/ (2)$' "$dir/out" || fail "make bench: the charts are not one line"
[ "$(wc -l <"$dir/runs")" -eq 2 ] || fail "make bench: $(wc -l <"$dir/runs") runs, not 2"
sed -n 1p "$dir/runs" | grep -q -e '-w stencil .*--no-save' || fail "make bench does not begin with one workload"
sed -n 2p "$dir/runs" | grep -q -e '--rounds 7' || fail "make bench: no run of ROUNDS rounds"
sed -n 2p "$dir/runs" | grep -q -e '-w' && fail "make bench: the second run is not of all workloads"

make -n -C "$root" bench >"$dir/out" 2>&1 || fail "make -n bench"
grep -q 'scripts/bench$' "$dir/out" || fail "make bench does not run scripts/bench"
grep -q 'bench_' "$dir/out" && fail "make bench needs a micro-benchmark"
make -n -C "$root" bench-self 2>&1 | grep -q 'scripts/bench_self$' || fail "make bench-self does not run scripts/bench_self"
for file in $(cd "$root" && find tests -name 'bench_*.c'); do
    mkdir -p "$dir/$(dirname "$file")"
    printf '#!/bin/sh\necho "ran %s"\n' "${file%.c}" >"$dir/${file%.c}"
    chmod +x "$dir/${file%.c}"
done
BUILD=$dir "$root/scripts/bench_self" >"$dir/out" 2>&1 || fail "scripts/bench_self fails"
for file in $(cd "$root" && find tests -name 'bench_*.c'); do
    grep -q "^ran ${file%.c}$" "$dir/out" || fail "make bench-self does not run ${file%.c}"
done

echo "$failures failures"
[ $failures -eq 0 ]
