# The portions of a run's time: a stack for each configuration, over the slowest one of its workload. Colours stand
# for the portions of the time, not for strategies. The line across a bar marks the time that the device was at work
# by the model.

load "terminal.gp"

set border 1 lc rgb "#404040"
set xtics nomirror out ("0" 0, "25 %%" 0.25, "50 %%" 0.5, "75 %%" 0.75, "100 %%" 1)
unset ytics
if (!is_text) { set grid xtics lc rgb "#dddddd" lw 1 lt 1 }
set style fill solid 1.0 border rgb "#404040"

# The portions in the order of their blocks. Light and dark alternate, so that grey prints show the borders. A pattern
# would make a printer's file ten times as large: browsers print each patterned bar as an image.
part_colours = "#0072B2 #F0E442 #D55E00 #F3C0A0 #CC79A7 #009E73 #DDDDDD"
part_count = words(parts)

stats data index 0 using (strlen(strcol(2))) name "LABEL" nooutput
longest = LABEL_max
row_points = 15
label_points = 14 + 6.0 * longest
stats data index 0 using (strlen(strcol(3))) name "TIME" nooutput
time_points = is_text ? (TIME_max + 1.0) * 830 * across / columns : 16 + 5.2 * TIME_max
width = across == 1 ? 830 : across == 2 ? 1300 : 1600
head = (across == 1 ? 20 + 17 * ((part_count + 2) / 2) : 30 + 17 * (part_count + 1)) # gnuplot puts the names below each other where panels are narrow
height = head + row_points * per_column + 102
if (is_text) { label_points = (longest + 3.0) * width / columns; height = (2 * per_column + 10) * width * 1.4 / columns }

do for [file in terminals] {
    load "open.gp"
    set multiplot
    do for [c = 1:across] {
        set tmargin at screen 1 - head / (1.0 * height)
        set bmargin at screen 84.0 / height
        set lmargin at screen ((c - 1) * width / across + label_points) / (1.0 * width)
        set rmargin at screen (c * width / across - time_points) / (1.0 * width)
        set xrange [0 : 1]
        if (!is_text) { set xlabel "time over the slowest configuration of the program" font ",10" offset 0, 0.4 }
        set yrange [(c * per_column) - 0.4 : ((c - 1) * per_column) - 0.6]
        low = (c - 1) * per_column - 0.5
        high = c * per_column - 0.5
        seen(y) = y > low && y < high ? y : NaN
        if (c == 1) {
            set key at screen 0.5, screen 1 - 8.0 / height center top vertical Left reverse samplen 1.5 maxrows (across == 1 ? (part_count + 2) / 2 : part_count + 1) font ",10"
            set label 1 folded(caption . note) at screen 0.5, screen caption_at / height center font ",9" textcolor rgb "#606060"
        }
        plot for [p = 1:part_count] data index p using (($2 + $3) / 2):(seen($1)):2:3:($1 - 0.38):($1 + 0.38) \
                with boxxyerror fc rgb word(part_colours, int(word(part_numbers, p))) title word(parts, p), \
            data index part_count + 1 using 2:(seen($1) - 0.5):(0):(1) with vectors nohead lw 2.5 lc rgb "#000000" title marks, \
            data index 0 using (0):($4 < 0 ? NaN : seen($1)):2 with labels right offset -0.8, 0 font ",10" notitle, \
            data index 0 using (0):($4 < 0 ? seen($1) : NaN):2 with labels left offset -0.3, 0 font bold . ",11" notitle, \
            data index 0 using ($4):(seen($1)):3 with labels left offset 0.6, 0 font ",9" textcolor rgb "#404040" notitle
        unset key
        unset label 1
    }
    unset multiplot
}
