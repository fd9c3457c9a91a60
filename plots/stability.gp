# The stability of a run: a point for each case and round, its time over the median of the case, in the order
# of measurement. The steps are the median of each round, the band goes from p10 to p90 of its cases. There are two
# scales, because a few points that are far off would hide the rest: all points above, those within 10 % below.

load "terminal.gp"

load "colours.gp"

near = 0.1
width = 1000
height = 620
mark_size = marks > 1500 ? 0.35 : marks > 300 ? 0.5 : 0.8
with_spread = marks <= 300 && !is_text
set border 3 lc rgb "#404040"
set tics nomirror out
if (!is_text) { set grid ytics lc rgb "#dddddd" lw 1 lt 1 }
set xrange [0 : rounds]
set format y "%+.3g %%"
if (rounds > 500) { set xtics autofreq } else { set xtics 0, (rounds > 20 ? 5 : 1) }
percent(v) = 100 * v

stats data index 1:count using 2 name "D" nooutput
largest = abs(D_min) > abs(D_max) ? abs(D_min) : abs(D_max)
low = percent(D_min < -0.001 ? 1.15 * D_min : -0.001)
high = percent(D_max > 0.001 ? 1.15 * D_max : 0.001)
panels = largest > near && !is_text ? 2 : 1

do for [file in terminals] {
    load "open.gp"
    set multiplot
    set label 1 folded(caption . note) at screen 0.5, screen caption_at / height center font ",9" textcolor rgb "#606060"
    do for [p = 1:panels] {
        set lmargin at screen 0.1
        set rmargin at screen 0.985
        set tmargin at screen 1 - (p == 1 ? 46.0 : 0.5 * height + 16) / height
        set bmargin at screen (p == panels ? 80.0 : 0.5 * height + 20) / height
        set xlabel (p == panels ? "round" : "") offset 0, 0.4
        set ylabel (p == 2 ? "within 10 %" : "over its median")
        if (p == 2) { set yrange [-percent(near) : percent(near)] } else { set yrange [low : high] }
        if (p == 1) { set key at screen 0.5, screen 1 - 8.0 / height center top horizontal Left reverse samplen 1 maxrows 2 } else { unset key }
        plot data index 0 using ($1 + 0.5):(percent($2)):1:($1 + 1):(percent($3)):(percent($4)) with boxxyerror fs transparent solid 0.12 noborder fc rgb "#000000" notitle, \
            for [s = 1:(with_spread ? count : 0)] data index s using 1:(percent($3)):(0):(percent($4 - $3)) with vectors nohead lw 1 lc rgb thin[s] notitle, \
            for [s = 1:count] data index s using 1:(percent($2)) with points pt point[s] ps mark_size lc rgb thin[s] notitle, \
            for [s = 1:count] keyentry with points pt point[s] ps 0.8 lc rgb thin[s] title word(series, s), \
            data index 0 using 1:(percent($2)):(1):(0) with vectors nohead lw 3 lc rgb "#000000" title "median of a round", \
            for [s = 1:count] data index s using 1:(percent($2)):(p == 1 ? strcol(5) : "") with labels left offset 0.6, 0.3 font ",8" textcolor rgb "#404040" notitle
        unset label 1
    }
    unset multiplot
}
