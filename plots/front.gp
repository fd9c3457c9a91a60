# Time against memory: a point a configuration. Lower and further left is better. The steps are the front; names of points
# that another one beats are grey. Needs x_name, y_name, time_unit and grey_words.

load "terminal.gp"
load "colours.gp"

log2(x) = log(x) / log(2)
left = 78.0
head = 58.0
foot = 106.0
width = left + plot_width + 26
height = head + plot_height + foot
# In text a name has a line and columns of its own, as in the picture.
if (is_text) { left = 10.0 * width / columns; height = 38 * 1.4 * width / columns }
fold_at = is_text ? fold_at : 110

set border 3 lc rgb "#404040"
set tics nomirror out font ",10"
if (!is_text) { set grid xtics ytics lc rgb "#dddddd" lw 1 lt 1 }
unset key
set xrange [low_x : high_x]
set yrange [low_y : high_y]
low = low_y
high = high_y
most = 6
load "log2_ticks.gp"
set ytics ()
do for [k = 1:words(tick_places)] { set ytics add (word(tick_names, k) real(word(tick_places, k))) }
low = low_x
high = high_x
tick_unit = time_unit
load "log2_ticks.gp"
set xlabel x_name font ",11" offset 0, 0.3
set ylabel (is_text ? "" : y_name) font ",11"

do for [file in terminals] {
    load "open.gp"
    set label 2 heading at screen 0.5, screen 1 - (is_text ? 0.03 : 16 / height) center font bold . ",12"
    set label 3 below at screen 0.5, screen 1 - (is_text ? 0.06 : 36 / height) center font ",10" textcolor rgb "#404040"
    set lmargin at screen left / width
    set rmargin at screen (is_text ? 0.97 : (left + plot_width) / width)
    set tmargin at screen (is_text ? 0.9 : 1 - head / height)
    set bmargin at screen (is_text ? 0.22 : foot / height)
    set label 1 folded(caption . note) at screen 0.5, screen caption_at / height center font ",9" textcolor rgb "#606060"
    set label 4 (is_text ? "" : grey_words) at screen 0.5, screen 36 / height center font ",9" textcolor rgb "#606060"
    set label 5 (is_text ? "better: lower, left" : "↙ better") at screen (is_text ? 0.02 : 10 / width), screen (is_text ? 0.14 : 82 / height) left font ",11" textcolor rgb "#606060"
    plot data index 1 using (log2($1)):(log2($2)) with steps lw 1.5 lc rgb "#909090", \
        data index 2 using 1:2:($7 - $1):($4 - $2) with vectors nohead lw 0.5 lc rgb "#909090", \
        for [i = 1:(is_text ? 0 : count)] data index 0 every ::(i - 1)::(i - 1) using (log2($3)):(log2($6)):(log2($4)):(log2($5)) with xerrorbars pt 0 lw 1.2 lc rgb thin[i], \
        for [i = 1:count] data index 0 every ::(i - 1)::(i - 1) using (log2($3)):(log2($6)) with points pt (is_text ? 3 : point[i]) ps point_scale * 1.3 lw 1.5 lc rgb thin[i], \
        data index 2 using 3:4:(int($6) ? "" : strcol(5)) with labels left font ",10" textcolor rgb "#000000", \
        data index 2 using 3:4:(int($6) ? strcol(5) : "") with labels left font ",10" textcolor rgb "#909090"
    do for [l = 1:5] { unset label l }
}
