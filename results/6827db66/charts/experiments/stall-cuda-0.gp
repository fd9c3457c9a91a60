# Made by `gamut plot`. In this folder, `gnuplot <this file>` draws it again as .svg and .png,
# `gnuplot -e "terminals='dumb'" <this file>` on the terminal.

data = 'stall-cuda-0.dat'
out = 'stall-cuda-0'
caption = 'NVIDIA H200 (cuda:0), driver 580.159.04, rev 6733acbf8b57, 3 rounds, 2026-11-21'
note = ''
series = '"raw readback" "pool readback" "tlsf readback" "stream readback" "heap"'
spins = '"0" "50.0 us" "500 us" "5.00 ms"'
works = '"0" "500 us" "2.50 ms"'

# Time of a frame against the work queued in it, a panel for each amount of the host's own work; dashed is what is
# claimed: the sum of the two with a read-back, the longer of the two without.

panels = words(works)
key_height = 15 * (words(series) + 2)
panel_height = 260 + key_height
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

places = words(spins)
set logscale y 10
set xrange [-0.2 : places - 0.8]
set ytics ("1 µs" 1e3, "10 µs" 1e4, "100 µs" 1e5, "1 ms" 1e6, "10 ms" 1e7, "100 ms" 1e8) font ",9"
set mytics 10
marks = ""
do for [i = 1:places] { marks = marks . sprintf('%s"%s" %d', i > 1 ? ", " : "", word(spins, i), i - 1) }
eval "set xtics (" . marks . ") nomirror font ',9'"
heading = "time of a frame against the work that it queues (dashed: what is claimed)"

stats data using 2 name "FRAME" nooutput
set yrange [10 ** floor(log10(FRAME_min)) : 2 * FRAME_max]
key = "set key at graph 0, graph -0.18 left top vertical Left reverse noenhanced font ',9' samplen 3 spacing 1.05 maxcols 1"
is_heap(i) = word(series, i)[1:4] eq "heap"
line_colour(i) = is_heap(i) ? "#009E73" : thin[i]

chart = "set title 'host work ' . word(works, p) offset 0, -0.8 font ',11'; \
    plot for [i = 1:count] data index (p - 1) * count + i - 1 using 1:($3 > 0 ? $3 : NaN) with lines lw 1.5 dt 2 lc rgb line_colour(i) notitle, \
        for [i = 1:count] data index (p - 1) * count + i - 1 using 1:2 with linespoints pt point[i] ps 0.8 lw 2 lc rgb line_colour(i) title word(series, i)"
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
