# The effect of merging under one strategy. Bars are the time of each merge set over that of none, by workload, on a
# log2 axis that starts at 1; short lines are the peak of requested bytes likewise. Below 1 is better.

load "style.gp"

set ylabel "over no merging, " . strategy
set xzeroaxis lt 1 lc rgb "#404040" lw 1.5
peaks_title = "peak bytes"

# The invisible points carry the labels, and keep a chart without any number from being an error.
chart = "plot data index 0 using 1:(0):xtic(2) with points pt -1 notitle, \
    for [i = 1:count] data index i using (at($1)):(log2($2)) with boxes lc rgb colour[i] fs pattern pattern[i] title word(series, i), \
    for [i = 1:count] data index i using (at($1)):(log2($3)):(0):(log2($4) - log2($3)) with vectors heads size graph 0.005, 90 lw 1.5 lc rgb '#000000' notitle, \
    for [i = 1:count] data index i using (at($1) - box / 2):(log2($5)):(box):(0) with vectors nohead lw 2 lc rgb '#D55E00' title (i == 1 ? peaks_title : ''), \
    for [i = 1:count] data index i using (at($1)):(0):(stringcolumn(6) eq 'ok' ? '' : stringcolumn(6)) with labels rotate by 90 left offset 0, 0.4 font ',9' notitle"

load "log2_axis.gp"

load "draw.gp"
