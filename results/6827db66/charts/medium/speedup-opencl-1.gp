# Made by `gamut plot`. In this folder, `gnuplot <this file>` draws it again as .svg and .png,
# `gnuplot -e "terminals='dumb'" <this file>` on the terminal.

data = 'speedup-opencl-1.dat'
out = 'speedup-opencl-1'
caption = 'NVIDIA H200 (opencl:1), driver 580.159.04, rev 890706878df1, 6 rounds, 2026-11-21'
note = ''
series = '"bufalloc" "caching" "pool" "tagged" "tlsf"'
strategy = ''
note = '; skipped: stream, vmm'

# How many times faster than raw each strategy is: bars by workload on a log2 axis that starts at 1.

# What charts of bars share: size, colours, grid, and the caption that says where the numbers come from.
# Needs the variables data, out, series and caption; see bench/record/chart.h. A chart puts its plot command
# in the variable chart; draw.gp draws it.

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

set style fill solid 1.0 border rgb "#404040"
if (!is_text) { set grid ytics lc rgb "#dddddd" lw 1 lt 1 }
set border 3 lc rgb "#404040"
set tics nomirror out
set xtics noenhanced
log2(x) = log(x) / log(2)
# One colour, point type and dash a strategy in every chart, and a pattern for what it is combined with (merge
# sets, release policies). Needs the variable series, whose words begin with a strategy; makes the arrays colour,
# thin (the colour of lines and points), point, dash and pattern.

# Wong's palette, which people with any kind of colour blindness can tell apart. Variants of one strategy, and
# new ones, take what is left. Pattern 3 is a plain one.
base_name(name) = strstrt(name, ":") ? name[1 : strstrt(name, ":") - 1] : name
own_colour(name) = name eq "raw" ? "#999999" : name eq "pool" ? "#0072B2" : \
    name eq "tagged" ? "#E69F00" : name eq "bufalloc" ? "#009E73" : name eq "stream" ? "#CC79A7" : \
    name eq "vmm" ? "#56B4E9" : name eq "tlsf" ? "#D55E00" : name eq "caching" ? "#F0E442" : ""
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
box = 0.8 / count
set boxwidth box absolute

# Clusters stand in rows of panels, all with the same scale, so that a picture of 1600 pixels shows them:
# as many a row as leave a bar 12 of them, and room for the names, the rows equally long.
stats data index 0 using (strlen(strcol(2))) name "CLUSTER" nooutput
clusters = CLUSTER_records
most = int(110 / (count + 1))
most = most > 10 ? 10 : most < 2 ? 2 : most
name_width = CLUSTER_max
if (is_text) {
    # Text cannot be slanted.
    fitting = int(0.85 * columns / (name_width + 2))
    most = fitting < 1 ? 1 : fitting < most ? fitting : most
}
panels = int(ceil(clusters / (1.0 * most)))
per_row = int(ceil(clusters / (1.0 * panels)))
slanted = !is_text && name_width > 130 / per_row
set xrange [-0.6 : clusters - 0.4]
if (slanted) { set xtics rotate by 18 right }

# What stands left or right of a panel is not drawn: arrows would leave their ends at its border.
first = 0
shown = clusters
at(x) = x > first - 0.6 && x < first + shown - 0.4 ? x : NaN

# The key: as many names a line as fit.
longest = strlen("least bound")
do for [i = 1:count] { longest = strlen(word(series, i)) > longest ? strlen(word(series, i)) : longest }
key_columns = int(95 / (longest + 7))
key_columns = key_columns < 1 ? 1 : key_columns
key_lines = int(ceil((count + 1.0) / key_columns))

# Heights in points of the SVG: key, a panel each with its names, caption.
width = 1000
head = 22 + 18 * key_lines
names = slanted ? 26 + 2.2 * name_width : 36
panel = panels > 1 ? 165 : 300
height = head + panels * (panel + names) + 20

set ylabel "speed-up over raw"
set xzeroaxis lt 1 lc rgb "#404040" lw 1.5

# The invisible points carry the labels, and keep a chart without any number from being an error.
chart = "plot data index 0 using 1:(0):xtic(2) with points pt -1 notitle, \
    for [i = 1:count] data index i using (at($1)):(log2($2)) with boxes lc rgb colour[i] fs pattern pattern[i] title word(series, i), \
    for [i = 1:count] data index i using (at($1)):(log2($3)):(0):(log2($4) - log2($3)) with vectors heads size graph 0.005, 90 lw 1.5 lc rgb '#000000' notitle, \
    for [i = 1:count] data index i using (at($1)):(0):(stringcolumn(5) eq 'ok' ? '' : stringcolumn(5)) with labels rotate by 90 left offset 0, 0.4 noenhanced font ',9' notitle"

# What log2 charts share: a first plot, which the next replaces, finds the range of the values; tick
# marks are as fine as they need. The values are logarithms on a linear axis, because boxes on a log
# axis would not start at 1. Needs the variable chart.

set terminal dumb
set output "/dev/null"
eval chart
low = GPVAL_DATA_Y_MIN
high = GPVAL_DATA_Y_MAX
span = high - low
set ytics ()
if (span > 1.2) {
    every = int(ceil(span / 8))
    do for [k = every * (int(floor(low / every)) - 1) : int(ceil(high)) + every : every] {
        set ytics add (sprintf("%g×", 2 ** k) k)
        if (span < 4) { set ytics add (sprintf("%g×", 1.5 * 2 ** k) log2(1.5) + k) }
    }
} else {
    step = span > 0.5 ? 0.1 : span > 0.2 ? 0.05 : 0.02
    do for [k = int(floor(2 ** low / step)) - 1 : int(ceil(2 ** high / step)) + 1] {
        if (k > 0) { set ytics add (sprintf("%g×", k * step) log2(k * step)) }
    }
}
margin = span > 0 ? 0.15 * span : 0.1
set yrange [low - margin : high + margin]

# A panel for each row of clusters, one below the other; the key, and the caption, stand once. Needs the
# variable chart, and the y axis set.

do for [file in terminals] {
    eval open_file(file)
    set key at screen 0.5, screen 1 - 8.0 / height center top horizontal noenhanced samplen 1.5 maxcols key_columns
    set label 1 caption . note at screen 0.5, screen 12.0 / height center noenhanced font ",9" textcolor rgb "#606060"
    set multiplot
    do for [row = 1:panels] {
        top = 1 - (head + (row - 1) * (panel + names)) / (1.0 * height)
        first = (row - 1) * per_row
        shown = per_row
        set tmargin at screen top
        set bmargin at screen top - panel / (1.0 * height)
        set lmargin at screen 0.095
        set rmargin at screen 0.99
        set xrange [first - 0.6 : first + per_row - 0.4]
        eval chart
        unset key
        unset label 1
    }
    unset multiplot
}
