# The memory of a run, event by event: a panel for each configuration. Reserved bytes are light, requested bytes
# dark, and the lower bound is dotted. A title names the peak where the reserved bytes are cut off.

panels = words(series)
panel_height = 200
load "panels.gp"

stats data index 0 using 3 name "RESERVED" nooutput
array reserved[panels]
stats data index 0 using (reserved[int($1) + 1] = $3) nooutput
most_steps = 1
array peaks[panels]
do for [i = 1:panels] {
    stats data index i using 2:4 name "PEAK" nooutput
    stats data index i using 5 name "BOUND" nooutput
    peaks[i] = word(series, i) . ": at most " . whole(PEAK_max_y) . " reserved, " . whole(PEAK_max_x) . " requested; lower bound " . whole(BOUND_max)
}
do for [i = 1:panels] {
    stats data index i using 1 name "STEP" nooutput
    most_steps = STEP_max > most_steps ? STEP_max : most_steps
}
set xrange [0 : most_steps / step_scale]
set yrange [0 : 1.08 * top / unit_bytes]
set xtics tick_step(most_steps / step_scale) font ",9"
set format x tick_format(most_steps / step_scale)
set ytics font ",9"

heading = "memory of " . what . " over a run"
x_title = step_name
y_title = unit
cut(i) = reserved[i] > 1.08 * top ? " (reserves " . amount(reserved[i]) . ")" : ""
key = "set key at screen 0.5, screen key_at / height center vertical samplen 2 maxrows 1 font ',10'"

chart = "set title word(series, p) . cut(p) offset 0, -0.8 font bold . ',11'; \
    plot data index p using ($1 / step_scale):($4 / unit_bytes) with fillsteps fc rgb colour[p] fs transparent solid 0.25 noborder title (p == 1 ? 'reserved' : ''), \
        data index p using ($1 / step_scale):($4 / unit_bytes) with steps lc rgb colour[p] lw 1.5 notitle, \
        data index p using ($1 / step_scale):($3 / unit_bytes) with steps lc rgb '#606060' lw 1 title (p == 1 ? 'granted' : ''), \
        data index p using ($1 / step_scale):($2 / unit_bytes) with fillsteps fc rgb colour[p] fs transparent solid 0.35 noborder notitle, \
        data index p using ($1 / step_scale):($6 / unit_bytes) with fillsteps fc rgb colour[p] fs solid 0.9 noborder title (p == 1 ? 'requested' : ''), \
        data index p using ($1 / step_scale):($2 / unit_bytes) with steps lc rgb '#000000' lw 1 notitle, \
        data index p using ($1 / step_scale):($5 / unit_bytes) with steps lc rgb '#D55E00' lw 2 dt (2, 2) title (p == 1 ? 'lower bound' : ''), \
        for [i = 1:values(2)] '+' every ::0::0 using (i > 1 ? most_steps / step_scale : 0):(0.54 * top / unit_bytes):(peaks[p]) with labels hypertext point pt 7 ps reach(panel_reach) lc rgb clear notitle; \
    unset key"
load "panels_draw.gp"
