# Of a trace's text: the calls of a thread that begin before its call before has ended, by more than rounding. A call that
# frees several blocks is several events with one begin.
$1 ~ /^[a-z]+$/ && match($0, / call=[0-9]+/) {
    call = substr($0, RSTART + 6, RLENGTH - 6) + 0
    thread = match($0, / t[0-9]+/) ? substr($0, RSTART, RLENGTH) : ""
    begin = match($0, /@[0-9]+/) ? substr($0, RSTART + 1, RLENGTH - 1) + 0 : 0
    if ($1 == "alloc")
        begin -= call # its stamp is its end
    if (thread in end && begin != began[thread] && begin + 3 < end[thread])
        print last[thread] " | " $0
    began[thread] = begin
    end[thread] = begin + call
    last[thread] = $0
}
