# Time against memory: a panel a workload. A point that no other beats in both has the colour of its strategy, all
# others are grey, and the steps are the front. Lower and further left is better.

load "terminal.gp"

load "colours.gp"

log2(x) = log(x) / log(2)
panels = words(titles)
across = panels < 3 ? panels : panels < 9 ? 3 : panels < 21 ? 4 : 5
if (is_text) { across = panels < 2 ? 1 : 2 }
down = int(ceil(panels / (1.0 * across)))
width = across < 3 ? 900 : 1100
panel_height = across < 3 ? 330 : 190
longest = strlen("beaten")
do for [s = 1:count] { longest = strlen(word(series, s)) > longest ? strlen(word(series, s)) : longest }
key_rows = int(ceil((count + 1) * (longest + 5) * 8.0 / width))
head = 16 + 20 * key_rows
height = head + panel_height * down + 54
if (is_text) {
    line = width * 1.4 / columns
    head = 3 * line
    panel_height = 18 * line
    height = head + panel_height * down + 4 * line
}

set border 3 lc rgb "#404040"
tick_font = across < 3 ? ",11" : ",9"
title_font = across < 3 ? ":Bold,12" : ":Bold,10"
set tics nomirror out font tick_font
if (!is_text) { set grid xtics ytics lc rgb "#dddddd" lw 1 lt 1 }
set datafile missing "NaN"
mark_size = across < 3 ? 1.4 : 1.0

# Ticks at powers of two where a panel has several, else at as round numbers as it needs.
every(span) = span > 12 ? 4 : span > 6 ? 2 : 1
step(span) = span > 0.5 ? 0.25 : span > 0.2 ? 0.1 : 0.05
tick(k, span) = span > 1.2 ? k * every(span) : log2(1 + k * step(span))
tick_name(v) = 2 ** v >= 10 ? sprintf("%.0f×", 2 ** v) : sprintf("%.4g×", 2 ** v)

array low_x[panels]
array low_y[panels]
array width_x[panels]
array width_y[panels]
do for [p = 1:panels] {
    stats data index 2 * p - 1 using (log2($1)):(log2($2)) name "P" nooutput
    low_x[p] = P_min_x
    low_y[p] = P_min_y
    width_x[p] = P_max_x - P_min_x > 0.15 ? P_max_x - P_min_x : 0.15
    width_y[p] = P_max_y - P_min_y > 0.15 ? P_max_y - P_min_y : 0.15
}

do for [file in terminals] {
    load "open.gp"
    set multiplot
    set label 1 folded(caption . note) at screen 0.5, screen caption_at / height center font ",9" textcolor rgb "#606060"
    set label 2 "wall time over the fastest" at screen 0.5, screen 30.0 / height center font ",10"
    set label 3 "peak reserved / least lower bound" at screen 14.0 / width, screen 0.5 center rotate by 90 font ",10"
    # The key stands alone in a plot as wide as the picture.
    set lmargin at screen 0.02
    set rmargin at screen 0.98
    set tmargin at screen 0.99
    set bmargin at screen 0.98
    set xrange [0 : 1]
    set yrange [0 : 1]
    unset title
    unset border
    unset tics
    set key at screen 0.5, screen 1 - 6.0 / height center top horizontal Left reverse samplen 1 maxrows key_rows
    plot for [s = 1:count] keyentry with points pt point[s] ps mark_size lw 1.5 lc rgb thin[s] title word(series, s), \
        keyentry with points pt 7 ps 0.7 * mark_size lc rgb "#C8C8C8" title "beaten", \
        NaN notitle
    unset key
    unset label 1
    unset label 2
    unset label 3
    set border 3 lc rgb "#404040"
    set tics nomirror out font tick_font
    do for [p = 1:panels] {
        column = (p - 1) % across
        row = (p - 1) / across
        set lmargin at screen (76.0 + column * (width - 60.0) / across) / width
        set rmargin at screen (76.0 + (column + 1) * (width - 60.0) / across - 50) / width
        set tmargin at screen 1 - (head + row * panel_height + 26.0) / height
        set bmargin at screen 1 - (head + (row + 1) * panel_height - (is_text ? 2 * line : 22.0)) / height
        span_x = width_x[p]
        span_y = width_y[p]
        is_left(x) = log2(x) < low_x[p] + 0.5 * span_x
        set xrange [low_x[p] - 0.08 * span_x : low_x[p] + 1.12 * span_x]
        set yrange [low_y[p] - 0.1 * span_y : low_y[p] + 1.15 * span_y]
        set xtics nomirror ()
        set ytics nomirror ()
        do for [k = 0:40] {
            if (tick(k, span_x) < low_x[p] + 1.2 * span_x) { set xtics add (tick_name(tick(k, span_x)) tick(k, span_x)) }
            if (tick(k, span_y) < low_y[p] + 1.2 * span_y) { set ytics add (tick_name(tick(k, span_y)) tick(k, span_y)) }
        }
        set title word(titles, p) font title_font offset 0, -0.6
        plot data index 2 * p - 1 using (log2($1)):($4 == 1 ? NaN : log2($2)) with points pt 7 ps 0.7 * mark_size lc rgb "#C8C8C8" notitle, \
            data index 2 * p using (log2($1)):(log2($2)) with steps lw 1.5 lc rgb "#404040" notitle, \
            for [s = 1:count] data index 2 * p using (log2($1)):($3 == s ? log2($2) : NaN) with points pt point[s] ps mark_size lw 1.5 lc rgb thin[s] notitle, \
            data index 2 * p using (log2($1)):(log2($2)):(is_left($1) ? strcol(5) : "") with labels left offset 0.7, 0.5 font ",8" textcolor rgb "#404040" notitle, \
            data index 2 * p using (log2($1)):(log2($2)):(is_left($1) ? "" : strcol(5)) with labels right offset 0, 0.7 font ",8" textcolor rgb "#404040" notitle
    }
    unset multiplot
}
