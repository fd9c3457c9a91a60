# Metrics over the runs of a history: a panel for each program and metric, a line for each configuration, each value over
# the first one of its series. A ring marks a step, a cross an outlier; what failed has a gap and a word at the lower edge.

key_height = 16 # names of runs are askew
panel_height = 266
label_room = 1
load "panels.gp"

set xrange [0.5 : runs + 0.5]
every = runs > 8 ? int(ceil(runs / 8.0)) : 1
set xtics () rotate by -35 font ",8"
set ytics font ",9"
set format y "%.4g×"
if (!is_text) { set grid ytics lc rgb "#dddddd" lw 1 lt 1 }

heading = "metrics over the first run"
x_title = ""
y_title = "over the first"
key = "set key at screen 0.5, screen key_at / height center vertical samplen 2 maxrows 2 font ',10'"
array run_name[runs]
stats data index 0 using (run_name[int($1)] = strcol(2), 0) nooutput
run_text(p, i, run, value) = is_number(run) && is_number(value) ? sprintf("%s, %s, %s, run %d: %.4g× the first", word(titles, p), word(series, i), run_name[int(run)], run, value) : ""
tick(i, s) = (int(i - 1) % every == 0 ? s : "")

chart = "set title word(titles, p) offset 0, -0.8 font ',11'; \
    set yrange [word(lows, p) + 0 : word(highs, p) + 0]; \
    plot for [i = 1:count] data index (p - 1) * count + i using 1:3:(0):($4 - $3) with vectors nohead lw 1 lc rgb thin[i] notitle, \
        for [i = 1:count] data index (p - 1) * count + i using 1:2 with linespoints lw 1.5 pt point[i] ps 0.6 lc rgb thin[i] title (p == 1 ? word(series, i) : ''), \
        for [i = 1:count] data index (p - 1) * count + i using 1:($5 > 0 ? $2 : NaN) with points pt 2 ps 1.4 lw 1.5 lc rgb '#404040' notitle, \
        for [i = 1:values(count)] data index (p - 1) * count + i using (is_number($1) ? $1 : 1):(is_number($2) ? $2 : 1):(run_text(p, i, $1, $2)) with labels hypertext point pt 7 ps reach(5) lc rgb clear notitle, \
        data index panels * count + p using 1:(strlen(strcol(3)) ? $2 : NaN) with points pt 6 ps 1.6 lw 1.5 lc rgb '#000000' notitle, \
        data index panels * count + p using 1:2:3 with labels offset 0, 0.9 font ',9' notitle, \
        data index panels * (count + 1) + p using 1:(word(lows, p) + 0):2 with labels rotate by 90 left font ',7' textcolor rgb '#D55E00' notitle, \
        data index 0 using 1:(NaN):xtic(tick($1, strcol(2))) with points notitle; \
    unset key"
load "panels_draw.gp"
