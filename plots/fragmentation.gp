# Fragmentation over a run: bytes held from the driver and in no block, a panel for each configuration. Dark is the
# least within a point, light the most. A title has the peak, and its share of the peak of held bytes.

panels = words(series)
panel_height = 200
load "panels.gp"

array spare[panels]
array reserved[panels]
stats data index 0 using (spare[int($1) + 1] = $3, reserved[int($1) + 1] = $4) nooutput
most_steps = 1
do for [i = 1:panels] {
    stats data index i using 1 name "STEP" nooutput
    most_steps = STEP_max > most_steps ? STEP_max : most_steps
}
set xrange [0 : most_steps / step_scale]
set yrange [0 : 1.08 * top / unit_bytes]
set xtics tick_step(most_steps / step_scale) font ",9"
set format x tick_format(most_steps / step_scale)
set ytics font ",9"

heading = "held and in no block, at most (share of the peak held): " . what
x_title = step_name
y_title = unit
peak(i) = sprintf(": %.3g %s (%.0f %%)", spare[i] / unit_bytes, unit, 100 * spare[i] / reserved[i])
both(i) = word(series, i) . ": at most " . whole(spare[i]) . " held and in no block; " . whole(reserved[i]) . " held"
key = "set key at screen 0.5, screen key_at / height center vertical samplen 2 maxrows 1 font ',10'"

chart = "set title word(series, p) . peak(p) offset 0, -0.8 font ',11'; \
    plot data index p using ($1 / step_scale):($2 / unit_bytes) with fillsteps fc rgb colour[p] fs transparent solid 0.35 noborder title (p == 1 ? 'most' : ''), \
        data index p using ($1 / step_scale):($3 / unit_bytes) with fillsteps fc rgb colour[p] fs solid 0.9 noborder title (p == 1 ? 'least' : ''), \
        data index p using ($1 / step_scale):($2 / unit_bytes) with steps lc rgb thin[p] lw 1 notitle, \
        for [i = 1:values(2)] '+' every ::0::0 using (i > 1 ? most_steps / step_scale : 0):(0.54 * top / unit_bytes):(both(p)) with labels hypertext point pt 7 ps reach(panel_reach) lc rgb clear notitle; \
    unset key"
load "panels_draw.gp"
