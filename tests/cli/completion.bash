#!/usr/bin/env bash
# What bash's completion of gamut offers: completion.bash SCRIPT
set -u
source "$1" || exit 1
failures=0

# offers EXPECTED WORD...: the last word is being typed; EXPECTED are some of the offers, "!x" is none.
offers() {
    local expected=$1 want
    shift
    COMP_WORDS=(gamut "$@") COMP_CWORD=$#
    _gamut
    for want in $expected; do
        if [[ $want == !* ]]; then
            [[ " ${COMPREPLY[*]} " != *" ${want#!} "* ]] && continue
        else
            [[ " ${COMPREPLY[*]} " == *" $want "* ]] && continue
        fi
        echo "FAILED: gamut $*: ${want#!} $([[ $want == !* ]] && echo is || echo is not) in: ${COMPREPLY[*]}" >&2
        failures=$((failures + 1))
    done
}

cd "$(mktemp -d)" || exit 1
trap 'rm -rf "$PWD"' EXIT
mkdir folder
touch result.json my.trace my.pickle.gz

offers "run list plan doctor --help !worker" ""
offers "plan plot !run" pl
offers "--rounds --release !--quick" run --r
offers "--quick !--rounds" atlas --
offers "table md csv json" run --format ""
offers "md !table" run --format m
offers "md !table" run --format = m
offers "table md" run --format =
offers "stencil stencil_hoisted all" run -w ""
offers "canny,lud !canny,fft" run --workload canny,l
offers "pool !raw !recorded" run -s p
offers "advised recorded vmm" view --beside ""
offers "recorded !advised" view -s ""
offers "best extended" plan stencil -m ""
offers "smoke medium" run -d ""
offers "host cuda opencl all best" run --device ""
offers "last-use scope" run --release ""
offers "seed-impact" run --suite s
offers "real" replay --suite r
offers "workloads strategies" list ""
offers "bash zsh" completion ""
offers "run plan !result.json" help ""
offers "stencil result.json folder" plan ""
offers "result.json !stencil" plot ""
offers "result.json" compare ""
offers "wall_ns !copy_bytes !all" compare --gate w
offers "folder !result.json" run --results ""
offers "result.json" run --atlas r
offers "!result.json !--rounds" run --rounds ""
offers "leading_bits= kind= handle= !policy=" run -s pool :
offers "pinned" replay -s pool : kind = p
offers "!pinned !kind=" run -s pool : kind = x
offers "policy=" run -s raw,tagged : p
offers "kind= !leading_bits=" run -s pool : leading_bits = 2 : k
offers "{expandable_segments: !kind=" replay -s caching : conf = {exp
offers "True,max_split_size_mb:" replay -s caching : conf = "{expandable_segments" : "True,max_s"
offers "my.trace my.pickle.gz folder !result.json" advise ""
offers "my.trace !my.pickle.gz" trace info my.t
offers "result.json" replay res
offers "h200 result.json" replay --atlas ""
exit $((failures > 0))
