# Made by `gamut plot`. In this folder, `gnuplot <this file>` draws it again as .svg and .png,
# `gnuplot -e "terminals='dumb'" <this file>` on the terminal.

data = 'pareto-opencl-1.dat'
out = 'pareto-opencl-1'
caption = 'NVIDIA H200 (opencl:1), driver 580.159.04, rev 890706878df1, 6 rounds, 2026-11-21'
note = ''
series = '"raw" "bufalloc" "caching" "pool" "tagged" "tlsf"'
titles = '"backprop" "bfs" "bfs_mapwrite" "canny" "canny_cpu" "canny_gpu" "cfd" "cfd_cpu" "crypt" "crypt_transposed" "fft" "fft_futhark" "fft_radix2" "fluid" "kmeans" "kmeans_cpu" "locvolcalib" "lud" "myocyte_like" "myocyte_like_cpu" "nbody" "option_pricing" "radix_sort" "radix_sort_blelloch" "series" "srad" "stencil" "stencil_hoisted"'

# Time against memory, a panel a workload: what nothing beats in both is in its strategy's colour, what something
# beats is grey, and the steps are the front. Lower and further left is better.

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
    eval open_file(file)
    set multiplot
    set label 1 caption . note at screen 0.5, screen 12.0 / height center noenhanced font ",9" textcolor rgb "#606060"
    set label 2 "wall time over the fastest" at screen 0.5, screen 30.0 / height center noenhanced font ",10"
    set label 3 "peak reserved / least lower bound" at screen 14.0 / width, screen 0.5 center rotate by 90 noenhanced font ",10"
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
    set key at screen 0.5, screen 1 - 6.0 / height center top horizontal Left reverse noenhanced samplen 1 maxrows key_rows
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
        set title word(titles, p) noenhanced font title_font offset 0, -0.6
        plot data index 2 * p - 1 using (log2($1)):($4 == 1 ? NaN : log2($2)) with points pt 7 ps 0.7 * mark_size lc rgb "#C8C8C8" notitle, \
            data index 2 * p using (log2($1)):(log2($2)) with steps lw 1.5 lc rgb "#404040" notitle, \
            for [s = 1:count] data index 2 * p using (log2($1)):($3 == s ? log2($2) : NaN) with points pt point[s] ps mark_size lw 1.5 lc rgb thin[s] notitle, \
            data index 2 * p using (is_left($1) ? log2($1) : NaN):(log2($2)):5 with labels left offset 0.7, 0.5 noenhanced font ",8" textcolor rgb "#404040" notitle, \
            data index 2 * p using (is_left($1) ? NaN : log2($1)):(log2($2)):5 with labels right offset 0, 0.7 noenhanced font ",8" textcolor rgb "#404040" notitle
    }
    unset multiplot
}
