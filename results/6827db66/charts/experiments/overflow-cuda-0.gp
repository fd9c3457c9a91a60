# Made by `gamut plot`. In this folder, `gnuplot <this file>` draws it again as .svg and .png,
# `gnuplot -e "terminals='dumb'" <this file>` on the terminal.

data = 'overflow-cuda-0.dat'
out = 'overflow-cuda-0'
caption = 'NVIDIA H200 (cuda:0), driver 580.159.04, rev 6733acbf8b57, 1 round, 2026-11-21'
note = ''
chunks = '"1" "10" "100" "1000"'

# How often a pool that chunks share is too small, against its size: measured, of sizes drawn one by one, of separate
# buffers as large as a share, and as claimed (dashed). A panel for each number of chunks.

panels = words(chunks)
key_height = 15 * 5
panel_height = 250 + key_height
series = '"measured" "drawn one by one" "separate buffers" "claimed (at the bottom: less than that)"'
# The places of panels in a grid, two or more a row, for charts of one workload; the caption below. Needs the
# variables data, series, panels and panel_height. A chart puts what panel p shows into the variable chart;
# panels_draw.gp draws it.

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
# One colour, point type and dash a strategy in every chart, and a pattern for what it is combined with (merge
# sets, release policies). Needs the variable series, whose words begin with a strategy; makes the arrays colour,
# thin (the colour of lines and points), point, dash and pattern.

# Wong's palette, which people with any kind of colour blindness can tell apart. Variants of one strategy, and
# new ones, take what is left. Pattern 3 is a plain one.
base_name(name) = strstrt(name, ":") ? name[1 : strstrt(name, ":") - 1] : name
own_colour(name) = name eq "raw" ? "#999999" : name eq "pool" ? "#0072B2" : \
    name eq "tagged" ? "#E69F00" : name eq "bufalloc" ? "#009E73" : name eq "stream" ? "#CC79A7" : \
    name eq "vmm" ? "#56B4E9" : name eq "tlsf" ? "#D55E00" : name eq "caching" ? "#F0E442" : \
    name eq "device_heap" ? "#000000" : ""
spare = "#56B4E9 #CC79A7 #F0E442 #0072B2 #009E73 #E69F00 #000000 #999999 #D55E00"
# What goes with a colour, in the order of the palette; yellow is too light for lines, and has a darker shade.
palette_of_marks = "#999999 #0072B2 #E69F00 #009E73 #CC79A7 #56B4E9 #D55E00 #F0E442 #000000"
point_types = "2 7 5 9 11 13 15 6 4"
dash_types = "3 1 2 4 5 1 2 4 1"
mark_number(c) = int(sum [k = 1:words(palette_of_marks)] (word(palette_of_marks, k) eq c ? k : 0))
patterns = "3 4 5 1 6 2 7"
count = words(series)
array colour[count]
array thin[count]
array point[count]
array dash[count]
array pattern[count]
taken = ""
owned = ""
do for [i = 1:count] { owned = owned . own_colour(base_name(word(word(series, i), 1))) }
next_spare = 0
do for [i = 1:count] {
    name = word(word(series, i), 1)
    before = 0
    colour[i] = ""
    do for [j = 1:i - 1] {
        if (word(word(series, j), 1) eq name) { before = before + 1; colour[i] = colour[j] }
    }
    pattern[i] = int(word(patterns, before % words(patterns) + 1))
    if (colour[i] eq "") {
        colour[i] = own_colour(base_name(name))
        if (colour[i] eq "" || strstrt(taken, colour[i])) {
            colour[i] = word(spare, next_spare % words(spare) + 1)
            next_spare = next_spare + 1
            do for [k = words(spare):1:-1] {
                if (!strstrt(taken . owned, word(spare, k))) { colour[i] = word(spare, k) }
            }
        }
        taken = taken . colour[i]
    }
    thin[i] = colour[i] eq "#F0E442" ? "#B5A800" : colour[i]
    point[i] = int(word(point_types, mark_number(colour[i])))
    dash[i] = (int(word(dash_types, mark_number(colour[i]))) + before - 1) % 5 + 1
}

set border 3 lc rgb "#404040"
set tics nomirror out
if (!is_text) { set grid ytics lc rgb "#dddddd" lw 1 lt 1 }

per_row = is_text ? 1 : panels < 5 ? (panels < 2 ? 1 : 2) : panels < 10 ? 3 : 4
rows = int(ceil(panels / (1.0 * per_row)))
width = 1000
head = 34
foot = 58
height = head + rows * panel_height + foot
left(p) = ((is_text ? 80 : 52) + ((p - 1) % per_row) * 945.0 / per_row) / width
right(p) = left(p) + (945.0 / per_row - 48) / width
above(p) = 1 - (head + ((p - 1) / per_row) * panel_height + 24.0) / height
if (!exists("key_height")) { key_height = 0 }
below(p) = above(p) - (panel_height - key_height - 58.0) / height

stats data using 1 name "PERCENT" nooutput
set logscale x 2
set logscale y 10
set xrange [PERCENT_min / 1.1 : PERCENT_max * 1.1]
set yrange [1e-6 : 1.5]
set xtics ("50 %%" 50, "100 %%" 100, "200 %%" 200, "400 %%" 400, "800 %%" 800) font ",9"
set ytics ("1" 1, "10 %%" 0.1, "1 %%" 0.01, "0.1 %%" 1e-3, "10^{-4}" 1e-4, "10^{-5}" 1e-5, "10^{-6}" 1e-6) font ",9"
heading = "how often a pool is too small, against its size over the mean demand"
key = "set key at graph 0, graph -0.2 left top vertical Left reverse noenhanced font ',9' samplen 3 spacing 1.05 maxcols 1; set termoption enhanced"
seen(y) = y > 0 ? y : NaN

chart = "set title (word(chunks, p) eq '1' ? 'one chunk' : word(chunks, p) . ' chunks') offset 0, -0.8 font ',11'; \
    plot data index p - 1 using 1:(seen($2)) with linespoints pt 7 ps 0.9 lw 2.5 lc rgb '#0072B2' title word(series, 1), \
        data index p - 1 using 1:(seen($3)) with linespoints pt 6 ps 0.7 lw 1.5 lc rgb '#56B4E9' title word(series, 2), \
        data index p - 1 using 1:(seen($4)) with linespoints pt 5 ps 0.7 lw 1.5 lc rgb '#E69F00' title word(series, 3), \
        data index p - 1 using 1:($5 > 1.1e-6 ? $5 : 1.1e-6) with lines lw 2 dt 2 lc rgb '#D55E00' title word(series, 4)"
# Draws the variable chart for each panel p; see panels.gp. Needs the variables heading and key, too.

do for [file in terminals] {
    eval open_file(file)
    set termoption noenhanced
    eval key
    set multiplot
    set label 1 caption . note at screen 0.5, screen 12.0 / height center font ",9" textcolor rgb "#606060"
    set label 2 heading at screen 0.5, screen 1 - 14.0 / height center font ",13"
    do for [p = 1:panels] {
        set lmargin at screen left(p)
        set rmargin at screen right(p)
        set tmargin at screen above(p)
        set bmargin at screen below(p)
        eval chart
        unset label 1
        unset label 2
    }
    unset multiplot
}
