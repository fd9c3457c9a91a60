# How many times faster than raw each strategy is: bars by workload on a log2 axis that starts at 1.

load "style.gp"

set ylabel "speed-up over raw"
set xzeroaxis lt 1 lc rgb "#404040" lw 1.5

# The invisible points carry the labels, and keep a chart without any number from being an error.
chart = "plot data index 0 using 1:(0):xtic(2) with points pt -1 notitle, \
    for [i = 1:count] data index i using (at($1)):(log2($2)) with boxes lc rgb colour[i] fs pattern pattern[i] title word(series, i), \
    for [i = 1:count] data index i using (at($1)):(log2($3)):(0):(log2($4) - log2($3)) with vectors heads size graph 0.005, 90 lw 1.5 lc rgb '#000000' notitle, \
    for [i = 1:count] data index i using (at($1)):(0):(stringcolumn(5) eq 'ok' ? '' : stringcolumn(5)) with labels rotate by 90 left offset 0, 0.4 font ',9' notitle"

load "log2_axis.gp"

load "draw.gp"
