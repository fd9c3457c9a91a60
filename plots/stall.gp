# Time of a frame over the longer of what the host does and what is queued: 1 is a frame that never waits. A panel for each
# amount of the host's work; dashed is what was claimed: the sum of both works for a read-back, the longer one for a heap.

panels = words(panel_names)
panel_height = 250
label_room = 104
load "panels.gp"

places = words(place_names)
time_of(ns) = ns == 0 ? "0" : ns < 1e6 ? sprintf("%.3g µs", ns / 1e3) : sprintf("%.3g ms", ns / 1e6)
work_of(p) = real(word(panel_names, p))
longer(p, queued) = work_of(p) > queued ? work_of(p) : queued
over(p, queued, ns) = longer(p, queued) > 0 ? ns / longer(p, queued) : NaN

label_low = 0.75 # room for names
label_high = 1
label_near = 0.5
array end_x[panels * count]
array end_y[panels * count]
do for [p = 1:panels] {
    do for [i = 1:count] {
        k = (p - 1) * count + i
        end_x[k] = 0
        end_y[k] = NaN
        stats data index k - 1 using (y = over(p, $2, $3), y == y ? (end_x[k] = $1, end_y[k] = y, label_high = y > label_high ? y : label_high) : 0, $1) nooutput
    }
}
label_high = label_high + 0.1
label_step = 12.0 / (panel_height - 58) * (label_high - label_low)
load "line_labels.gp"
name_of(p, i) = is_line((p - 1) * count + i) && !is_text ? word(series, i) : ""
set xrange [-0.2 : places - 0.8]
set yrange [label_low : label_high]
set format y "%.1f×"
set ytics font ",9"
set xtics nomirror font ',9' ()
do for [i = 1:places] { set xtics add (time_of(real(word(place_names, i))) i - 1) }
heading = "time of a frame over the longer of both works; dashed: as claimed"
x_title = "queued work"
y_title = "frame"
key = is_text ? "set key inside top right" : "unset key"

chart = "set title (work_of(p) == 0 ? 'without work of the host' : 'the host works ' . time_of(work_of(p))) offset 0, -0.8 font ',11'; \
    plot for [i = 1:count] data index (p - 1) * count + i - 1 using 1:(over(p, $2, $4)) with lines lw 1.5 dt 2 lc rgb '#606060' notitle, \
        for [i = 1:count] data index (p - 1) * count + i - 1 using 1:(over(p, $2, $3)) with linespoints pt point[i] ps point_scale * 0.8 lw 2 lc rgb thin[i] title word(series, i), \
        for [i = 1:count] '+' every ::0::0 using (end_x[(p - 1) * count + i]):(label_y[(p - 1) * count + i]):(name_of(p, i)) with labels left offset 1, 0 font ',9' textcolor rgb thin[i] notitle"
load "panels_draw.gp"
