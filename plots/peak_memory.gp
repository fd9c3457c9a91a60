# The most memory that each strategy held from the driver, over the bound that no strategy can go below.

load "style.gp"

set ylabel "peak / lower bound"
set xzeroaxis lt 1 lc rgb "#404040" lw 1.5

# The short lines are the peak of what the program asked for: bars above them are the allocator's.
chart = "plot data index 0 using 1:(0):xtic(2) with points pt -1 notitle, \
    for [i = 1:count] data index i using (at($1)):(log2($2)) with boxes lc rgb colour[i] fs pattern pattern[i] title word(series, i), \
    for [i = 1:count] data index i using (at($1) - box / 2):(log2($3)):(box):(0) with vectors nohead lw 2 lc rgb '#D55E00' title (i == 1 ? 'requested' : ''), \
    for [i = 1:count] data index i using (at($1)):(0):(stringcolumn(6) eq 'ok' ? '' : stringcolumn(6)) with labels rotate by 90 left offset 0, 0.4 font ',9' notitle"

load "log2_axis.gp"

load "draw.gp"
