# Time of an operation of the device heap against the commands of a batch: a panel for each number of live blocks.

panels = words(panel_names)
panel_height = 250
label_room = 54
load "panels.gp"

places = words(place_names)
set logscale y 10
set xrange [-0.2 : places - 0.8]
set ytics ("10 ns" 1e1, "20 ns" 2e1, "50 ns" 5e1, "100 ns" 1e2, "200 ns" 2e2, "500 ns" 5e2, "1 µs" 1e3, "2 µs" 2e3, "5 µs" 5e3, \
    "10 µs" 1e4, "20 µs" 2e4, "50 µs" 5e4, "100 µs" 1e5, "200 µs" 2e5, "500 µs" 5e5, "1 ms" 1e6) font ",9"
set xtics nomirror font ',9' ()
do for [i = 1:places] { set xtics add (word(place_names, i) i - 1) }
heading = "time of an operation of the device heap, by live blocks"
x_title = "commands in a batch"
y_title = "an operation"
key = is_text ? "set key inside top right" : "unset key"

stats data using 3 name "OP" nooutput
label_low = log10(0.7 * OP_min)
label_high = log10(1.25 * OP_max)
set yrange [10 ** label_low : 10 ** label_high]
label_step = 12.0 / (panel_height - 58) * (label_high - label_low)
label_near = 0.5
array end_x[panels * count]
array end_y[panels * count]
do for [k = 1:panels * count] {
    end_x[k] = 0
    end_y[k] = NaN
    stats data index k - 1 using ($3 > 0 ? (end_x[k] = $1, end_y[k] = log10($3), $1) : $1) nooutput
}
load "line_labels.gp"
end_of(p, i) = is_line((p - 1) * count + i) ? 10 ** label_y[(p - 1) * count + i] : 10 ** label_low
name_of(p, i) = is_line((p - 1) * count + i) && !is_text ? word(series, i) : ""

chart = "set title word(panel_names, p) . ' live blocks' offset 0, -0.8 font ',11'; \
    plot for [i = 1:count] data index (p - 1) * count + i - 1 using 1:3 with linespoints pt point[i] ps point_scale * 0.8 lw 2 lc rgb thin[i] title word(series, i), \
        for [i = 1:count] '+' every ::0::0 using (end_x[(p - 1) * count + i]):(end_of(p, i)):(name_of(p, i)) with labels left offset 1, 0 font ',9' textcolor rgb thin[i] notitle"
load "panels_draw.gp"
