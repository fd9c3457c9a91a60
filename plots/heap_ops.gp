# Time of an operation of the device heap against the size of a batch: a panel for each number of live blocks.
# The dashed line is the fitted time of the command; what is above it is the launch.

panels = words(live)
key_height = 15 * (words(series) + 1)
panel_height = 260 + key_height
load "panels.gp"

places = words(batches)
set logscale y 10
set xrange [-0.2 : places - 0.8]
set ytics ("10 ns" 1e1, "100 ns" 1e2, "1 µs" 1e3, "10 µs" 1e4, "100 µs" 1e5, "1 ms" 1e6) font ",9"
set mytics 10
set xtics nomirror font ',9' ()
do for [i = 1:places] { set xtics add (word(batches, i) i - 1) }
heading = "time of an operation against the commands of a batch (dashed: the command's part)"

stats data using 2 name "OP" nooutput
stats data using ($3 > 0 ? $3 : NaN) name "COMMAND" nooutput
least = COMMAND_records > 0 && COMMAND_min < OP_min ? COMMAND_min : OP_min
set yrange [10 ** floor(log10(least)) : 2 * OP_max]
key = "set key at graph 0, graph -0.18 left top vertical Left reverse font ',9' samplen 3 spacing 1.05 maxcols 1"

chart = "set title word(live, p) . ' live blocks' offset 0, -0.8 font ',11'; \
    plot for [i = 1:count] data index (p - 1) * count + i - 1 using 1:($3 > 0 ? $3 : NaN) with lines lw 1.5 dt 2 lc rgb thin[i] notitle, \
        for [i = 1:count] data index (p - 1) * count + i - 1 using 1:2 with linespoints pt point[i] ps 0.8 lw 2 lc rgb thin[i] title word(series, i)"
load "panels_draw.gp"
