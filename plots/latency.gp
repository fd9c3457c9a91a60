# How long calls of the allocator take: the share of calls (y) that take at most this long (x, logarithmic). Panels
# for alloc and free, cold and warm. Points mark p50, p99 and the longest call, and the key of each panel names them.

panels = 4
key_height = 15 * words(series)
panel_height = 220 + key_height
load "panels.gp"

titles = '"alloc, cold" "free, cold" "alloc, warm" "free, warm"'
set logscale x 10
set yrange [0 : 1.04]
set ytics ("0" 0, "50 %%" 0.5, "90 %%" 0.9, "100 %%" 1) font ",9"
set xtics ("1 ns" 1, "10 ns" 1e1, "100 ns" 1e2, "1 µs" 1e3, "10 µs" 1e4, "100 µs" 1e5, "1 ms" 1e6, \
    "10 ms" 1e7, "100 ms" 1e8, "1 s" 1e9) font ",9"
set mxtics 10
if (!is_text) { set grid xtics ytics lc rgb "#dddddd" lw 1 lt 1 }
heading = "time of the allocator's calls, " . what . " (p50, p99, longest)"
x_title = ""
y_title = "calls"

set xrange [10 ** floor(log10(least_ns)) : 10 ** ceil(log10(1.01 * most_ns))]
key = "set key at graph 0, graph -0.2 left top vertical Left reverse font ',9' samplen 3 spacing 1.05 maxcols 1"

title_of(p, i) = word(series, i) . "  " . word(legends, (p - 1) * count + i)
chart = "set title word(titles, p) offset 0, -0.8 font ',11'; \
    plot for [i = 1:count] data index (p - 1) * count + i - 1 using 1:2 with lines lw 2 dt dash[i] lc rgb thin[i] notitle, \
        for [i = 1:count] data index 4 * count + p - 1 every ::(i - 1)::(i - 1) using 1:(0.5) with points pt point[i] ps point_scale * 0.9 lw 1.5 lc rgb thin[i] notitle, \
        for [i = 1:count] data index 4 * count + p - 1 every ::(i - 1)::(i - 1) using 2:(0.99) with points pt point[i] ps point_scale * 0.9 lw 1.5 lc rgb thin[i] notitle, \
        for [i = 1:count] data index 4 * count + p - 1 every ::(i - 1)::(i - 1) using 3:(1) with points pt point[i] ps point_scale * 0.9 lw 1.5 lc rgb thin[i] notitle, \
        for [i = 1:count] NaN with linespoints pt point[i] ps point_scale * 0.9 lw 2 dt dash[i] lc rgb thin[i] title title_of(p, i), \
        for [i = 1:values(count)] data index 4 * count + p - 1 every ::(i - 1)::(i - 1) using 1:(0.5):(word(series, i) . ', ' . word(titles, p) . ', half of the calls: at most ' . time_of($1)) with labels hypertext point pt 7 ps reach(5) lc rgb clear notitle, \
        for [i = 1:values(count)] data index 4 * count + p - 1 every ::(i - 1)::(i - 1) using 2:(0.99):(word(series, i) . ', ' . word(titles, p) . ', 99 of 100 calls: at most ' . time_of($2)) with labels hypertext point pt 7 ps reach(5) lc rgb clear notitle, \
        for [i = 1:values(count)] data index 4 * count + p - 1 every ::(i - 1)::(i - 1) using 3:(1):(word(series, i) . ', ' . word(titles, p) . ', the longest call: ' . time_of($3)) with labels hypertext point pt 7 ps reach(5) lc rgb clear notitle"
load "panels_draw.gp"
