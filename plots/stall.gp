# Time of a frame against the work queued in it: a panel for each amount of the host's own work. The dashed line is
# the claim: the sum of the two with a read-back, the longer of the two without.

panels = words(works)
key_height = 15 * (words(series) + 2)
panel_height = 260 + key_height
load "panels.gp"

places = words(spins)
set logscale y 10
set xrange [-0.2 : places - 0.8]
set ytics ("1 µs" 1e3, "10 µs" 1e4, "100 µs" 1e5, "1 ms" 1e6, "10 ms" 1e7, "100 ms" 1e8) font ",9"
set mytics 10
set xtics nomirror font ',9' ()
do for [i = 1:places] { set xtics add (word(spins, i) i - 1) }
heading = "time of a frame against the work that it queues (dashed: as claimed)"

stats data using 2 name "FRAME" nooutput
set yrange [10 ** floor(log10(FRAME_min)) : 2 * FRAME_max]
key = "set key at graph 0, graph -0.18 left top vertical Left reverse font ',9' samplen 3 spacing 1.05 maxcols 1"
is_heap(i) = word(series, i)[1:4] eq "heap"
line_colour(i) = is_heap(i) ? "#009E73" : thin[i]

chart = "set title 'host work ' . word(works, p) offset 0, -0.8 font ',11'; \
    plot for [i = 1:count] data index (p - 1) * count + i - 1 using 1:($3 > 0 ? $3 : NaN) with lines lw 1.5 dt 2 lc rgb line_colour(i) notitle, \
        for [i = 1:count] data index (p - 1) * count + i - 1 using 1:2 with linespoints pt point[i] ps 0.8 lw 2 lc rgb line_colour(i) title word(series, i)"
load "panels_draw.gp"
