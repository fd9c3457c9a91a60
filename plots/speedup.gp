# How many times faster than raw each strategy is: bars by workload on a log2 axis that starts at 1.
# Run by `gamut` on <name>.dat (bench/record/chart.c writes it, and sets the variables).

load scripts . "/style.gp"

log2(x) = log(x) / log(2)
set ylabel "speed-up over raw"
set xzeroaxis lt 1 lc rgb "#404040" lw 1.5

# The values are logarithms on a linear axis, because boxes on a log axis would not start at 1. The
# invisible points carry the labels, and keep a chart without any number from being an error.
chart = "plot data index 0 using 1:(0):xtic(2) with points pt -1 notitle, \
    for [i = 1:count] data index i using 1:(log2($2)) with boxes lc rgb colour[i] title word(series, i), \
    for [i = 1:count] data index i using 1:(log2($3)):(0):(log2($4) - log2($3)) with vectors heads size graph 0.005, 90 lw 1.5 lc rgb '#000000' notitle, \
    for [i = 1:count] data index i using 1:(0):(stringcolumn(5) eq 'ok' ? '' : stringcolumn(5)) with labels rotate by 90 left offset 0, 0.4 noenhanced font ',9' notitle"

# Tick marks as fine as the values need: a first plot, which the next replaces, finds their range.
eval svg
eval chart
low = GPVAL_DATA_Y_MIN
high = GPVAL_DATA_Y_MAX
span = high - low
set ytics ()
if (span > 1.2) {
    do for [k = int(floor(low)) - 1 : int(ceil(high)) + 1] {
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

eval svg
eval chart
eval png
eval chart
