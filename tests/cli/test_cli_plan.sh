#!/bin/sh
# The command line: programs and what merge sets would do to them.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cli.sh"

# ---- programs
expect 0 "" plan right.mem --print source
lacks "alloc("
expect 0 "" plan right.mem
has "alloc("
cp out planned.mem
expect 0 "" plan planned.mem
cmp -s out planned.mem || fail "plan: printing and parsing again gives another program"
"$gamut" list workloads >workloads
while read -r name path; do
    "$gamut" plan "$name" >built_in.mem || fail "plan $name"
    expect 0 "" plan built_in.mem
    cmp -s out built_in.mem || fail "plan $name: printing and parsing again changes it ($path)"
done <workloads

# ---- what merge sets would do
cat >twice.mem <<'END'
fun twice(n: i64, f: f32) {
  let a: [n]f32 = kernel make (i < n) { a[i] = f; }
  let b: [n]f32 = kernel again (i < n) { b[i] = 2.0f * a[i]; }
  let k: i32 = b_count[0]
  let c: [k]f32 = kernel part (i < k) { c[i] = b[i]; }
  in b, c
}
dataset first { n = 256; f = 1; }
END
sed -i 's/^  let k: i32.*/  let ones: [1]i32 = replicate(1)\n  let k32: i32 = ones[0]\n  let k: i64 = i64(k32)/' twice.mem
expect 0 "twice: sizes of dataset first" plan twice.mem -m none,best k32=3
has "^  none .* 2.0[0-9] KiB .* 2.0[0-9] KiB"
has "^  best "
expect 0 "give it as k32=VALUE" plan twice.mem -m all
has "^  reuse .* - "
expect 0 "" plan twice.mem -m none n=1k k32=0
has "8.00 KiB"
expect 0 "" plan twice.mem -m reuse -d first k32=3 --format json
is_json out
has '"peak_last_use_bytes": [0-9]'
grep -q '"refused": null' out || fail "plan: no decision was made"
expect 0 "sizes of dataset" plan twice.mem -m all --format json
is_json out
has '"alloc_count": null'
expect 0 "" plan twice.mem -m reuse n=256 k32=3 --why b
has "leaves block 'b_mem' for 'a_mem'"
has "twice.mem:3:   let b"
lacks "planned in"
cp "$here/../programs/merge/every_reason.mem" every.mem
expect 0 "" plan every.mem -m reuse n=2 --why c
has "does not move into 'a_mem': .*(R3)"
has "does not move into 'b_mem': .*(R2)"
expect 0 "" plan every.mem -m reuse,plan n=3
has "c: c_mem -> a_mem  R3"
lacks "c: c_mem -> b_mem"
has "e_mem  V3 with these values no run allocates the block"
expect 0 "" plan twice.mem -m reuse n=256 k32=1 --print both
has "^-- before"
has "b: .*@ a_mem"
expect 0 "" plan kmeans -m none -d smoke moved=900,0
expect 0 "sizes of dataset smoke" plan canny -m best strong_count=100 last_grew=0
# Values that the program reads: of a run of a built-in program, of a dataset's arrays, or given.
expect 0 "those of one run on the host (dataset small, seed 42)" plan canny -m all h=512 w=512
grep -q "VALUE" err && fail "plan canny asks for what the dataset gives"
has "^  best .* 3.02 MiB .* +0.0 %"
expect 0 "those of one run on the host (dataset smoke" plan bfs -m best --format json
has '"values_from": "run"'
has '"estimated": false'
cat >read.mem <<'END'
fun first(n: i64, x: [n]i32) {
  let k: i32 = x[0]
  let a: [i64(k)]i32 = iota
  in a
}
dataset five { n = 2; x = [5, 6]; }
END
expect 0 "those of the dataset's arrays (dataset five" plan read.mem -m best --format json
has '"peak_last_use_bytes": 28'
expect 0 "sizes of dataset five" plan read.mem -m best k=6 --format json
has '"values_from": "given"'
has '"peak_last_use_bytes": 32'
expect 0 "give it as k=VALUE" plan read.mem -m best n=3
has "^best: .*; chosen by an estimate, .* not those of a_mem"
expect 0 "those of one run" plan canny -m best,reuse -d smoke --release scope
has "^  best .* 85.4 KiB .* 85.4 KiB"
has "^  reuse .* 85.4 KiB .* +0.0 %"
expect 2 "did you mean reuse?" plan twice.mem -m resue
expect 2 "has no scalar 'k33' (did you mean k32?)" plan twice.mem -m all k33=4
expect 2 "n is 'few', expected a whole number" plan twice.mem -m all n=few
expect 2 "n is -4, expected 0 or more" plan twice.mem -m all n=-4
expect 2 "f is 'x', expected a number" plan twice.mem -m all n=4 f=x
expect 2 "k32 is 3000000000, which is no i32" plan twice.mem -m all n=4 k32=3000000000
expect 2 "needs values for rows=… cols=…" plan stencil -m all steps=3
expect 2 "one argument too many: sizes are name=value" plan twice.mem -m all 4
expect 2 "has no dataset 'frist' (did you mean first?)" plan twice.mem -m all -d frist
expect 0 "" plan twice.mem -m reuse -d all k32=3
[ "$(grep -c '^-- twice, dataset ' out)" -eq "$(grep -c '^dataset' twice.mem)" ] || fail "-d all: not every dataset has a report"
expect 0 "" plan twice.mem -m reuse -d all k32=3 --format json
[ "$(grep -c '"dataset": "' out)" -eq "$(grep -c '^dataset' twice.mem)" ] || fail "-d all: not every dataset is in the JSON"
for name in apart meet from; do cp "$here/../programs/merge/sums_$name.mem" .; done
expect 0 "sizes of dataset" plan sums_apart.mem -m short_circuit --why t
has "line 9, a:"
has "(n\*d; n by 1) is apart from (n\*d + n; n by 1): one ends before the other begins, counted in stride 1"
expect 0 "sizes of dataset" plan sums_meet.mem -m short_circuit --why t
has "(n\*d + 1; n by 1) may meet (n\*d + n; n by 1): they may have an element in common"
expect 0 "sizes of dataset" plan sums_from.mem -m short_circuit --format json
has '"proof": "line 6, a:.*(n; n by 1) may meet (n; n by 1): they may have an element in common'
# The original's limits: a kernel's result keeps the order of its dimensions.
cat >turned.mem <<'END'
fun turned(n: i64, m: i64, x: [n][m]i32) {
  let a: [n][m]i32 = kernel k_a (i < n, j < m) { a[i, j] = x[i, j] + 1; }
  let t: [m][n]i32 = rearrange (1, 0) a
  let y: [m][n]i32 = copy t
  in y
}
END
expect 0 "" plan turned.mem n=4 m=3 -m short_circuit
has "coalesced  t: a_mem -> y_mem$"
expect 0 "" plan turned.mem n=4 m=3 -m short_circuit:with=original
has "coalesced  t: a_mem -> y_mem  C8 the original of 2022"
expect 2 "no array or block 'bb'" plan twice.mem -m all n=4 k32=1 --why bb
expect 2 "says nothing without merge sets" plan twice.mem n=4
expect 2 "with -m, --print is ir or both" plan twice.mem -m best --print source
expect 2 "needs FILE|WORKLOAD" plan
expect 2 "there is no flag --unchecked" plan twice.mem -m all --unchecked last_use
sed '/^dataset/d' twice.mem >sizeless.mem
expect 0 "no sizes are given and there is no dataset" plan sizeless.mem -m all
has "reused"
sed 's/^dataset \([a-z]*\) { n = [0-9]*;/dataset \1 {/' twice.mem >lacking.mem
expect 0 "no sizes are given and dataset first does not set 'n'" plan lacking.mem -m all
has "reused"
expect 2 "no dataset of twice sets all of its parameters" plan lacking.mem -m all -d all
sed 's/ f = 1;/ f = 1e39;/' twice.mem >misfit.mem
expect 2 "misfit.mem:[0-9]*:[0-9]*: 'f' of dataset 'first': the number does not fit in type f32" plan misfit.mem -m all
printf 'id,lower,upper,size\n0,0,2,10\n1,1,3,20\n2,2,4,5\n' >buffers.csv
expect 0 "height 30 bytes, lower bound 30" plan --lifetimes buffers.csv
has "offset"
expect 3 "do not fit" plan --lifetimes buffers.csv --capacity 29
expect 2 "exclude each other" plan twice.mem --lifetimes buffers.csv
expect 0 "height 30 bytes" plan --lifetimes buffers.csv --planner all
has "^planner *bytes *gap, % *time$"
has "^gamut *30 *0.00 *"
has "^ggml *30 *0.00 *"
expect 0 "height 30" plan --lifetimes buffers.csv --planner tvm --format json
has '"planner": "tvm"'
has '"height_bytes": 30'
expect 2 "no planner 'tvn'" plan --lifetimes buffers.csv --planner tvn
expect 2 "planner is for --lifetimes" plan twice.mem --planner all
printf 'id,lower,upper,size,offset\na,0,2,10,20\n"b ""x""",1,3,20,0\nc,2,4,5,25\n' >given.csv
expect 0 "the offsets of the file: valid, height 30 bytes, 0.00 % above the optimum" plan --lifetimes given.csv
has "^a,0,2,10,[0-9]*$"
expect 0 "30 bytes" plan --lifetimes given.csv --format json
has '"optimal": true'
has '"id": "b .*x.*"'
has '"over_bound": 0.0'
printf 'id,lower,upper,size,offset\na,0,2,10,45\nb,1,3,20,0\nc,2,4,5,20\n' >given.csv
expect 0 "valid, height 55 bytes, 83.33 % above the optimum" plan --lifetimes given.csv
printf 'id,lower,upper,size,offset\na,0,2,10,19\nb,1,3,20,0\nc,2,4,5,20\n' >given.csv
expect 3 "no plan: 'b' (20 bytes at 0) and 'a'\|no plan: 'a' (10 bytes at 19) and 'b' (20 bytes at 0) overlap and are both alive at 1" plan --lifetimes given.csv
expect 3 "overlap" plan --lifetimes given.csv --format json
has '"valid": false'
printf 'id,lower,upper,size,alignment,offset\na,0,2,10,8,4\n' >given.csv
expect 3 "'a' is at 4; expected a multiple of 8" plan --lifetimes given.csv
printf 'id,lower,upper,size,offset\na,0,2,10,\n' >given.csv
expect 2 "given.csv:2: offset is ''; expected a whole number" plan --lifetimes given.csv

summary
