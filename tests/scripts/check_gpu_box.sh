#!/bin/bash
# Rehearses the steps of scripts/gpu_box without a GPU: what runs programs on the host and PoCL, what serves on a driver without a device
# (tests/inside/apps/fake_cuda.c), with stand-ins for the frameworks and for bench_alloc (box/). hotspot-loop is left out for its 10 s; but for its
# name it is seed-impact.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$root/${BUILD:-build}
command -v jq >/dev/null || { echo "skipped: there is no jq"; exit 0; }
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || { echo "skipped: there is no python3 of 3.10 or later"; exit 0; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failures=0
fail() { failures=$((failures + 1)); echo "FAILED: $1" >&2; }
for variable in $(env | sed -n 's/^\(GAMUT[A-Z_]*\)=.*/\1/p'); do unset "$variable"; done
export BUILD=$build CHECKED=host GROUPS_OF_DEVICES=host+host DEVICES=host
box=$root/scripts/gpu_box

# ---- programs and experiments
runs="cpus atlas smoke medium large seed-impact pinned matrix isosurface merge groups-small groups-medium crossed"
"$box" --rehearse "$dir/runs" $runs >"$dir/log" 2>&1 || fail "the rehearsal ends with $?: $(tail -20 "$dir/log")"
[ "$(paste -sd' ' "$dir/runs/done")" = "$runs" ] || fail "done: $(paste -sd' ' "$dir/runs/done")"
for step in $runs; do
    [ $step = cpus ] || [ $step = crossed ] || jq -e '.run.status == "complete"' "$dir/runs/$step.json" >/dev/null || fail "$step left no result"
done
if "$build/gamut" list devices | grep -q '^opencl:0'; then
    DEVICES=opencl:0 OPENCL=0 "$box" --short --rehearse "$dir/opencl" smoke serve-opencl serve-opencl-suite >"$dir/log" 2>&1 || fail "the rehearsal on PoCL ends with $?: $(tail -20 "$dir/log")"
fi
grep -q -- "--atlas $dir/runs/atlas.json" <(jq -r '.run.argv | join(" ")' "$dir/runs/medium.json") || fail "medium is not predicted by the atlas of the box"
# All sets under all allocators, with plans that are the program's own: what is planned is held from the start.
jq -e '[.rows[] | select(.device == "host")] | length == 36 and all(.copies >= 0 and .reserved >= .requested) and
    (map(select(.merge == "both").copied) | unique) != (map(select(.merge == "none").copied) | unique)' "$dir/runs/crossed.json" >/dev/null || fail "crossed.json: $(tail -3 "$dir/log")"
jq -e '[.cases[].key.merge] | unique == ["best", "coalesce+reuse", "none"]' "$dir/runs/matrix.json" >/dev/null || fail "the merge sets of matrix"
tar tzf "$dir/runs/all.tar.gz" | grep -qx ./log || fail "all.tar.gz lacks the log"
# What is done is not done again; what is no step, or fails, is said.
"$box" --rehearse "$dir/runs" $runs 2>&1 | grep -q '^== medium at' && fail "a step that is done was done again"
"$box" --rehearse "$dir/runs" medum >"$dir/log" 2>&1 && fail "an unknown step"
grep -q "no step 'medum'" "$dir/log" || fail "an unknown step: $(cat "$dir/log")"
CHECKED=opencl:77 "$box" --rehearse "$dir/wrong" pinned atlas >"$dir/log" 2>&1
[ $? = 1 ] && grep -q 'left: nothing; not ended well: pinned$' "$dir/log" && [ "$(cat "$dir/wrong/done")" = atlas ] || fail "a step that fails: $(tail -3 "$dir/log")"
"$box" --seconds 5 --rehearse "$dir/late" atlas smoke >"$dir/log" 2>&1
[ $? = 3 ] && grep -q 'left: atlas smoke' "$dir/log" || fail "no time: $(tail -1 "$dir/log")"

# ---- what serves, and bench_alloc
serves="serve serve-packages rmm preload bench-alloc replays"
case ${BUILD##*/} in *sanitize* | *thread*) serves= ;; esac
if [ -n "$serves" ] && [ -e "$build/tests/inside/apps/fake/libcuda.so.1" ] && [ -e "$build/libgamut_serve_cuda.so" ]; then
    mkdir -p "$dir/build/tests/alloc"
    for f in gamut libgamut_alloc.so libgamut_serve_cuda.so; do ln -s "$build/$f" "$dir/build/"; done
    printf '#!/bin/sh\ncat "%s"\n' "$here/box/bench_alloc.txt" >"$dir/build/tests/alloc/bench_alloc"
    chmod +x "$dir/build/tests/alloc/bench_alloc"
    mkdir "$dir/serves" && echo atlas >"$dir/serves/done"
    gzip -dc "$root/$(sed -n 's/^<!--tables:at-rest atlas=\(.*\)-->/\1/p' "$root/docs/driver-costs.md")" >"$dir/serves/atlas.json"
    BUILD=$dir/build FAKE_CUDA_WORKS=1 LD_LIBRARY_PATH=$build/tests/inside/apps/fake PYTHONPATH=$here/box:$root/tests/inside/frameworks \
        GAMUT_PROGRAMS=$root/tests/inside/rounds PROGRAMS=layers PRELOADED="$build/tests/inside/apps/app_preload order" REPLAYED=$build/tests/inside/apps/app_opencl \
        "$box" --rehearse "$dir/serves" $serves >"$dir/log" 2>&1 || fail "serving ends with $?: $(tail -20 "$dir/log")"
    grep -q ' times predicted: ' "$dir/log" || fail "serve has no atlas: $(cat "$dir/log")"
    jq -e '.tables.reserved | .head[7] == "`planned`" and .rows[0][0] == "layers" and (.rows[0][5:8] | all(type == "number"))' "$dir/serves/serve.json" >/dev/null || fail "serve.json"
    python3 "$root/scripts/serve_rounds" --data "$dir/serves/serve-runs.json.gz" | cmp - "$dir/serves/serve.json" || fail "serve.json is not made of serve-runs.json.gz"
    jq -e '.figures.pool == [{ns: 20.2}, {ns: 20.1}, {ns: 28.1}, {ns: 1076, few: true}]' "$dir/serves/bench-alloc.json" >/dev/null || fail "bench-alloc.json: $(cat "$dir/serves/bench-alloc.json")"
    jq -e '.replays[0] | .name == "kernels" and .recorded_ns > 0 and .replays.raw.median_ns > 0' "$dir/serves/replays.json" >/dev/null || fail "replays: $(cat "$dir/log")"
    jq -e '.ends[] | select(.way == "caching").served[0] == 1' "$dir/serves/serve-packages.json" >/dev/null || fail "JAX was not served: $(cat "$dir/log")"
    grep -q '^MemoryError' "$dir/serves/rmm.txt" || fail "rmm.txt: $(cat "$dir/serves/rmm.txt")"
    [ -e "$dir/serves/preload-vmm.json" ] || fail "the preload"
fi

# ---- the files have the names that the pages' tables know, and the pages are made of them
cd "$root" || exit 1
elsewhere="bench-planned corpus corpus-conf driver_pool earlier ends estimate explained fleet half hotspot kernels kinds lbm locvol lud midrun nw option others planned-times planned-unseen plans-million pools profiled python-predicted recorder-asks recorder-calls recurrent seq serve-again serve-cupy serve-held serve-opencl-predicted serve-opencl-predicted-gpu serve-opencl-raw serve-runs settings slowed summary thrust-apart thrust-earlier thrust-recorder tries two-cores two-hosts verdicts"
for role in $(cat README.md docs/*.md strategies/*/README.md suites/real/README.md | grep '^<!--tables:' | grep -o '[a-z_-]*=' | tr -d = | sort -u); do
    scripts/gpu_box --steps | grep -q "^[+ ] $role " || case " $elsewhere " in *" $role "*) ;; *) fail "no step of scripts/gpu_box measures $role" ;; esac
done
mkdir -p "$dir/tree/scripts" "$dir/box" && cd "$dir/tree" || exit 1
for name in README.md docs strategies suites results; do cp -r "$root/$name" .; done
cp "$root/scripts/gpu_box" "$root/scripts/tables" scripts/
gzip -dc "$root/$(sed -n 's/^<!--tables:at-rest atlas=\(.*\)-->/\1/p' docs/driver-costs.md)" |
    jq -c '.run.started_at = "2030-01-02T03:04:05Z" | (.atlas[0].curves[] | select(.call == "free").points[]) |= (.p50_ns = 123456 | .paced_ns = 123456)' >"$dir/box/atlas.json"
echo atlas >"$dir/box/done"
scripts/gpu_box "$dir/box" atlas >"$dir/log" 2>&1 || fail "the box with everything done ends with $?: $(tail -5 "$dir/log")"
grep -q '^+| `cuMemFree` | 123 µs' "$dir/box/pages.diff" && grep -q '20300102T030405Z' docs/driver-costs.md || fail "the pages: $(cat "$dir/log")"
# A step that takes longer than what is left is not begun.
CHECKED=opencl:77 scripts/gpu_box --seconds 200 "$dir/box" pinned check cpus >"$dir/log" 2>&1
grep -q 'pinned did not end well' "$dir/log" && grep -q 'left: check; not' "$dir/log" || fail "a step that does not fit: $(tail -5 "$dir/log")"
exit $((failures > 0))
