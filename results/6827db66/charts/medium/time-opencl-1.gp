# Made by `gamut plot`. In this folder, `gnuplot <this file>` draws it again as .svg and .png,
# `gnuplot -e "terminals='dumb'" <this file>` on the terminal.

data = 'time-opencl-1.dat'
out = 'time-opencl-1'
caption = 'NVIDIA H200 (opencl:1), driver 580.159.04, rev 890706878df1, 6 rounds, 2026-11-21'
note = ''
series = '"raw" "bufalloc" "caching" "pool" "tagged" "tlsf"'
strategy = ''
note = '; skipped: stream, vmm'
parts = '"driver alloc" "driver free" "waiting in driver calls (model)" "strategy (model)" "kernels, copies and the rest"'
part_numbers = '2 3 4 6 7'
across = 3
per_column = 70
marks = 'device at work (model)'

# Where the time of a run goes: a stack for each way to run, over the slowest of its workload. Colours tell the
# parts, not the strategies; the line across a bar is how long the device was at work, as the model has it.

# What to draw into: an image that scales, one that goes everywhere, or text. A chart sets width and
# height, in points of the SVG, and evaluates open_file(f) for each f of terminals.

set encoding utf8
if (!exists("terminals")) { terminals = "svg png" }
if (!exists("columns")) { columns = 100 }
is_text = terminals eq "dumb"
pixels = 1.6
bitmap = strstrt(GPVAL_TERMINALS, "pngcairo") ? "pngcairo" : "png"
open_file(f) = f eq "svg" ? sprintf('set terminal svg size %d,%d dynamic font "sans,12" background rgb "white"; set output "%s.svg"', width, height, out) \
    : f eq "png" ? sprintf('set terminal %s size %d,%d font "sans,12" fontscale 1.35; set output "%s.png"', bitmap, pixels * width, pixels * height, out) \
    : sprintf('set terminal dumb noenhanced size %d,%d; set output', columns, columns * height / width / 1.4 > 16 ? columns * height / width / 1.4 : 16)

set border 1 lc rgb "#404040"
set xtics nomirror out ("0" 0, "25 %%" 0.25, "50 %%" 0.5, "75 %%" 0.75, "slowest" 1)
unset ytics
if (!is_text) { set grid xtics lc rgb "#dddddd" lw 1 lt 1 }
set style fill solid 1.0 border rgb "#404040"

# The parts in the order of their blocks; light and dark in turns, so that grey prints show the bounds.
part_colours = "#0072B2 #F0E442 #D55E00 #D55E00 #CC79A7 #009E73 #DDDDDD"
part_patterns = "3 3 3 6 3 3 3"
part_count = words(parts)

stats data index 0 using (strlen(strcol(2))) name "LABEL" nooutput
longest = LABEL_max
row_points = 15
label_points = 12 + 6.3 * longest
width = across == 1 ? 1000 : across == 2 ? 1300 : 1600
head = across == 1 ? 56 : 30 + 17 * (part_count + 1) # gnuplot puts the names below each other where panels are narrow
height = head + row_points * per_column + 70
if (is_text) { label_points = (longest + 3.0) * width / columns; height = (2 * per_column + 10) * width * 1.4 / columns }

do for [file in terminals] {
    eval open_file(file)
    set multiplot
    do for [c = 1:across] {
        set tmargin at screen 1 - head / (1.0 * height)
        set bmargin at screen 52.0 / height
        set lmargin at screen ((c - 1) * width / across + label_points) / (1.0 * width)
        set rmargin at screen (c * width / across - 70) / (1.0 * width)
        set xrange [0 : 1]
        set yrange [(c * per_column) - 0.4 : ((c - 1) * per_column) - 0.6]
        low = (c - 1) * per_column - 0.5
        high = c * per_column - 0.5
        seen(y) = y > low && y < high ? y : NaN
        if (c == 1) {
            set key at screen 0.5, screen 1 - 8.0 / height center top horizontal Left reverse noenhanced samplen 1.5 maxcols across == 1 ? 3 : 4
            set label 1 caption . note at screen 0.5, screen 12.0 / height center noenhanced font ",9" textcolor rgb "#606060"
        }
        plot for [p = 1:part_count] data index p using (($2 + $3) / 2):(seen($1)):2:3:($1 - 0.38):($1 + 0.38) \
                with boxxyerror fc rgb word(part_colours, int(word(part_numbers, p))) fs pattern int(word(part_patterns, int(word(part_numbers, p)))) title word(parts, p), \
            data index part_count + 1 using 2:(seen($1) - 0.5):(0):(1) with vectors nohead lw 2.5 lc rgb "#000000" title marks, \
            data index 0 using (0):($4 < 0 ? NaN : seen($1)):2 with labels right offset -0.8, 0 noenhanced font ",10" notitle, \
            data index 0 using (0):($4 < 0 ? seen($1) : NaN):2 with labels left offset -0.3, 0 noenhanced font ":Bold,11" notitle, \
            data index 0 using ($4):(seen($1)):3 with labels left offset 0.6, 0 noenhanced font ",9" textcolor rgb "#404040" notitle
        unset key
        unset label 1
    }
    unset multiplot
}
