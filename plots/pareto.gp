# Time against memory: a point a configuration, means over the programs that all of them ran. Lower and further left is
# better. The steps are the front; points that another one beats beyond noise are grey.

load "terminal.gp"
load "colours.gp"

log2(x) = log(x) / log(2)
left = 84.0
head = 34.0
foot = 76.0
width = left + plot_width + 26
height = head + plot_height + foot
if (is_text) { left = 10.0 * width / columns; height = 0.62 * height }

array is_beaten[count]
stats data index 0 using (is_beaten[int($1)] = int($8)) nooutput
grey = "#B8B8B8"
set border 3 lc rgb "#404040"
set tics nomirror out font ",10"
if (!is_text) { set grid xtics ytics lc rgb "#e4e4e4" lw 1 lt 1 }
unset key
set xrange [low_x : high_x]
set yrange [low_y : high_y]
low = low_y
high = high_y
most = is_text ? 6 : 9
load "log2_ticks.gp"
set ytics ()
do for [k = 1:words(tick_places)] { set ytics add (word(tick_names, k) real(word(tick_places, k))) }
low = low_x
high = high_x
load "log2_ticks.gp"
set xlabel "wall time over the fastest" . (is_text ? "" : ": left is faster") font ",11" offset 0, 0.3
set ylabel (is_text ? "" : "peak held over the lower bound: lower is less") font ",11"

do for [file in terminals] {
    load "open.gp"
    set title (programs > 1 ? sprintf("time and memory, geometric means of %d programs", programs) : "time and memory") font bold . ",12" offset 0, -0.4
    set lmargin at screen left / width
    set rmargin at screen (is_text ? 0.97 : (left + plot_width) / width)
    set tmargin at screen 1 - head / height
    set bmargin at screen (is_text ? 0.28 : foot / height)
    set label 1 folded(caption . note) at screen 0.5, screen caption_at / height center font ",9" textcolor rgb "#606060"
    plot data index 1 using (log2($1)):(log2($2)) with steps lw 1.5 lc rgb "#909090", \
        data index 2 using 1:2:($3 - $1):($4 - $2) with vectors nohead lw 0.7 lc rgb "#C8C8C8", \
        for [i = 1:(is_text ? 0 : count)] data index 0 every ::(i - 1)::(i - 1) using (log2($3)):(log2($6)):(log2($4)):(log2($5)) with xerrorbars pt 0 lw 1.2 lc rgb (is_beaten[i] ? grey : thin[i]), \
        for [i = 1:count] data index 0 every ::(i - 1)::(i - 1) using (log2($3)):(log2($6)) with points pt (is_text ? 3 : point[i]) ps point_scale * 1.3 lw 1.5 lc rgb (is_beaten[i] ? grey : thin[i]), \
        data index 2 using (is_text ? $1 : $3):(is_text ? $2 : $4):5 with labels left offset (is_text ? 1 : 0), 0 font ",10" textcolor rgb "#202020"
    unset label 1
}
