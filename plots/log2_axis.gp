# Shared by the charts with a log2 axis. A first plot, which the next one replaces, finds the range of the values,
# and the tick marks are as fine as the range needs. The values are logarithms on a linear axis, because boxes on a
# logarithmic axis would not start at 1. Needs the variable chart.

set terminal dumb
set output "/dev/null"
eval chart
low = GPVAL_DATA_Y_MIN
high = GPVAL_DATA_Y_MAX
span = high - low
set ytics ()
if (span > 1.2) {
    every = int(ceil(span / 8))
    do for [k = every * (int(floor(low / every)) - 1) : int(ceil(high)) + every : every] {
        set ytics add (sprintf("%g×", 2 ** k) k)
        if (span < 4) { set ytics add (sprintf("%g×", 1.5 * 2 ** k) log2(1.5) + k) }
    }
} else {
    step = span > 0.5 ? 0.1 : span > 0.2 ? 0.05 : 0.02
    do for [k = int(floor(2 ** low / step)) - 1 : int(ceil(2 ** high / step)) + 1] {
        if (k > 0) { set ytics add (sprintf("%g×", k * step) log2(k * step)) }
    }
}
margin = span > 0 ? 0.15 * span : 0.1
set yrange [low - margin : high + margin]
