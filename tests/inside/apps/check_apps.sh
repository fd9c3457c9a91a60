#!/bin/bash
# Records and serves real applications from packages (`make setup-apps`) on OpenCL. Each gives the same answer as without the recorder, and
# as served by pool and by tlsf; two
# recordings agree, nothing is missing in them, the record of a replay is the same again, and replays have the expected driver calls. Applications that are not installed are skipped.
#   check_apps.sh [NAME...]      only these
. "$(dirname "$0")/../capture.sh"
here=$here/apps
python=${APPS:-$build/apps}/bin/python
[ -e "$build/libgamut_record_opencl.so" ] || { echo "skipped: built without OpenCL"; exit 77; }
export HOME=$dir # caches of compiled kernels begin empty, and stay out of the user's
cd "$here" || exit 1
checked=0

# What happened, without when: kind, queue, block, bytes and uses of each event. The moment at which a command is done is the device's, and
# a callback comes from a thread of the driver, so frees and dones are compared as sets.
events() {
    "$gamut" trace show "$1" | sed -nE '/^(name|queue|thread|gamut) /d; /^done /d; s/ (t[0-9]+|@[0-9]+|(call|gap|device|name)=[^ ]*)//g; /^[a-z]+ /p' >"$dir/all"
    grep -v '^free ' "$dir/all"
    grep '^free ' "$dir/all" | sort
}

# check NAME VIA COUNTS COMMAND...: how many events of each kind
check() {
    name=$1 via=$2 expected=$3
    shift 3
    [ ${#only[@]} -eq 0 ] || [[ " ${only[*]} " == *" $name "* ]] || return
    "$@" >"$dir/plain" 2>"$dir/err" </dev/null || { echo "skipped: $name does not run here: $(tail -n 1 "$dir/err")"; return; }
    checked=$((checked + 1))
    for run in 1 2; do
        "$gamut" record --force -o "$dir/$name.$run.trace" -- "$@" >"$dir/recorded" 2>"$dir/err" </dev/null || fail "record ends with $?"
        cmp -s "$dir/plain" "$dir/recorded" || fail "the answer is $(tail -n 1 "$dir/recorded") instead of $(tail -n 1 "$dir/plain")"
        grep -q "by $via" "$dir/err" || fail "it was not recorded by $via: $(grep '^gamut:' "$dir/err")"
        grep "not in the trace" "$dir/err" && fail "calls are missing"
        "$gamut" trace check "$dir/$name.$run.trace" >/dev/null || fail "the trace is not whole"
        events "$dir/$name.$run.trace" >"$dir/$run"
    done
    counted=$(cut -d' ' -f1 "$dir/1" | sort | uniq -c | awk '{ printf "%s=%d ", $2, $1 }')
    [ "$counted" = "$expected" ] || fail "$counted"
    diff "$dir/1" "$dir/2" >"$dir/different" || fail "two recordings differ: $(head -n 3 "$dir/different")"
    plays_again "$dir/$name.1.trace"
    for strategy in pool tlsf; do
        "$gamut" serve -s $strategy -o "$dir/$name.$strategy.json" -- "$@" >"$dir/served" 2>"$dir/err" </dev/null || fail "serve -s $strategy ends with $?: $(tail -n 1 "$dir/err")"
        cmp -s "$dir/plain" "$dir/served" || fail "served by $strategy the answer is $(tail -n 1 "$dir/served") instead of $(tail -n 1 "$dir/plain")"
    done
    echo "$name: $(wc -l <"$dir/1") events"
}

# replays NAME WHEN STRATEGY=HITS/CALLS...: requests that a replay serves from what it holds, and how often it asks the driver. Those of the
# served application are the same.
replays() {
    name=$1
    [ -e "$dir/$1.1.trace" ] || return
    for pair in "${@:3}"; do
        found=$("$gamut" replay "$dir/$1.1.trace" -s "${pair%=*}" --free-at "$2" --no-save --format csv 2>/dev/null |
            awk -F, '$11 == "hit_count" { hits = $17 } $11 == "driver_alloc_count" { calls = $17 } END { print hits "/" calls }')
        [ "$found" = "${pair#*=}" ] || fail "${pair%=*}: $found, expected ${pair#*=}"
        [ -e "$dir/$name.${pair%=*}.json" ] || continue
        found=$(jq -r '.cases[0].counters.cold | "\(.hit_count)/\(.driver_alloc_count)"' "$dir/$name.${pair%=*}.json")
        [ "$found" = "${pair#*=}" ] || fail "served by ${pair%=*}: $found, expected ${pair#*=}"
    done
}

only=("$@")
layer="the layer of OpenCL"
check pyopencl "$layer" "alloc=2001 free=2001 launch=2000 read=1 wait=4 write=1 " "$python" pyopencl_arrays.py
check pyopencl_pool "$layer" "alloc=4 free=4 launch=2000 read=1 wait=4 write=1 " "$python" pyopencl_arrays.py pool
check opencv "$layer" "alloc=240 free=236 launch=240 map=30 read=30 unmap=30 wait=91 write=30 " "$python" opencv_filters.py
check pyclesperanto "$layer" "alloc=60 fill=8 free=60 launch=72 read=24 wait=28 write=4 " "$python" pyclesperanto_segment.py
check tinygrad "$layer" "alloc=42 launch=308 read=1 wait=1 write=3 " "$python" tinygrad_train.py
check openmm "$layer" "alloc=75 copy=2 free=75 launch=6180 map=2 read=307 wait=333 write=24 " "$python" openmm_water.py
check silx "$layer" "alloc=27 free=27 launch=521 read=190 wait=502 write=49 " "$python" silx_sift.py
check lightgbm "the driver in front, since the application's loader has no layers" "alloc=12 fill=2 free=12 launch=296 map=300 unmap=300 wait=1183 write=895 " \
    "$python" lightgbm_train.py
check ffmpeg "$layer" "alloc=18 free=18 launch=270 read=90 wait=240 write=90 " \
    ffmpeg -hide_banner -loglevel error -init_hw_device opencl=ocl -filter_hw_device ocl -f lavfi -i testsrc2=size=320x240:rate=10:duration=3 \
    -vf format=yuv420p,hwupload,avgblur_opencl=sizeX=4,unsharp_opencl,hwdownload,format=yuv420p -f md5 -

# Where a freed block may be used again at once, a pool serves all but the first requests; where it must be idle first, PyOpenCL, which runs
# ahead of the device, gets little from one. Its own pool leaves an allocator nothing to do.
replays pyopencl let-go pool=1997/4 caching=2000/1 tlsf=2000/1 raw=0/2001
replays pyopencl_pool let-go pool=0/4 raw=0/4
replays opencv let-go pool=230/10 tlsf=239/1 raw=0/240
replays pyclesperanto let-go pool=45/15 tlsf=59/1

[ $checked -gt 0 ] || { echo "skipped: no application is here; install them with make setup-apps"; exit 77; }
echo "$checked applications, $failures failures"
[ $failures -eq 0 ]
