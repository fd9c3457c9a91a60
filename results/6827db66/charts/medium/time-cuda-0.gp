# Made by `gamut plot`. In this folder, `gnuplot <this file>` draws it again as .svg and .png,
# `gnuplot -e "terminals='dumb'" <this file>` on the terminal.

data = 'time-cuda-0.dat'
out = 'time-cuda-0'
caption = 'NVIDIA H200 (cuda:0), driver 580.159.04, data set medium, rev 7fc008d68dd2, 6 rounds, 2026-11-23'
note = ''
series = '"raw" "bufalloc" "caching" "pool" "stream" "tagged" "tlsf" "vmm"'
strategy = ''
note = ''
parts = '"driver alloc" "driver free" "waiting in driver calls (model)" "strategy (model)" "kernels, copies and the rest"'
part_numbers = '2 3 4 6 7'
across = 2
per_column = 76
marks = 'device at work (model)'

# The portions of a run's time: a stack for each configuration, over the slowest one of its workload. Colours stand
# for the portions of the time, not for strategies. The line across a bar marks the time that the device was at work
# by the model.

# The output: an image that scales, one that every program shows, or text. A chart sets width and height, in points
# of the SVG, and loads open.gp for each file of terminals.

set encoding utf8
if (!exists("terminals")) { terminals = "svg png" }
if (!exists("columns")) { columns = 100 }
is_text = terminals eq "dumb"
pixels = 1.6
has_cairo = strstrt(GPVAL_TERMINALS, "pngcairo")

# Bytes in words.
amount(b) = b < 10 * 2**10 ? sprintf("%.0f B", b) : b < 2**20 ? sprintf("%.1f KiB", b / 2**10) : \
    b < 2.0**30 ? sprintf("%.1f MiB", b / 2**20) : sprintf("%.2f GiB", b / 2.0**30)

# A text below a picture, in at most two lines of this many letters; the rest becomes an ellipsis. Its middle is to be
# caption_at points above the edge.
fold_at = is_text ? columns - 4 : 180
fold_end(s) = (fold_last = fold_at, sum [i = 1:fold_at] (s[i:i] eq " " ? (fold_last = i, 0) : 0), fold_last)
shortened(s) = strlen(s) > fold_at ? s[1:fold_at - 1] . "…" : s
folded(s) = strlen(s) <= fold_at ? (caption_at = 12.0, s) : \
    (caption_at = 17.0, fold_break = fold_end(s), s[1:fold_break] . "\n" . shortened(s[fold_break + 1:*]))

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
# Opens the output of one file of terminals (terminal.gp). Texts are shown as they are: names of a result are no markup.
# A label that is not to be seen has no text: gnuplot 5.4 crashes on a plot of a single label at NaN.

# Points of an SVG are larger than those of an image.
point_scale = file eq "svg" ? 0.6 : 1.0
# gnuplot would name a family of fonts that no browser has.
bold = file eq "svg" ? "sans" : "sans:Bold"
if (file eq "svg") {
    set terminal svg size int(width), int(height) dynamic noenhanced font "sans,12" background rgb "white"
    set output out . ".svg"
}
if (file eq "png" && has_cairo) { set terminal pngcairo size int(pixels * width), int(pixels * height) noenhanced font "sans,12" fontscale 1.35 }
if (file eq "png" && !has_cairo) { set terminal png size int(pixels * width), int(pixels * height) noenhanced font "sans,12" fontscale 1.35 }
if (file eq "png") { set output out . ".png" }
if (file eq "dumb") {
    lines_of_text = int(columns * height / width / 1.4 + 0.5)
    set terminal dumb noenhanced size columns, (lines_of_text > 16 ? lines_of_text : 16)
    set output
}
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
