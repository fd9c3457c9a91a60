# Made by `gamut plot`. In this folder, `gnuplot <this file>` draws it again as .svg and .png,
# `gnuplot -e "terminals='dumb'" <this file>` on the terminal.

data = 'heap_ops-cuda-0.dat'
out = 'heap_ops-cuda-0'
caption = 'NVIDIA H200 (cuda:0), driver 580.159.04, rev a38cbb6e32e0, 3 rounds, 2026-11-21'
note = ''
panel_names = '"100" "1000" "10000" "100000"'
series = '"larger" "smaller" "best" "tlsf"'
place_names = '"1" "8" "64" "1024" "16384"'

# Time of an operation of the device heap against the commands of a batch: a panel for each number of live blocks.

panels = words(panel_names)
panel_height = 250
label_room = 54
# Lays out panels in a grid, two or more a row, with the caption below. Needs the variables data, series, panels and
# panel_height. A chart puts the plot command of panel p into the variable chart, and panels_draw.gp draws it. It may
# set label_room (for names at the ends of lines), in points.

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
# Every chart gives a strategy the same colour, point type and dash. What it is combined with (merge set, release
# policy) has other points and dashes. Needs the variable series, whose words begin with a strategy. Makes the arrays
# colour, thin (the colour of lines and points), point and dash.

# Wong's palette, which people with any kind of colour blindness can tell apart. Variants of one strategy, and
# new ones, take what is left.
base_name(name) = strstrt(name, ":") ? name[1 : strstrt(name, ":") - 1] : name
own_colour(name) = name eq "raw" ? "#999999" : name eq "pool" ? "#0072B2" : \
    name eq "tagged" ? "#E69F00" : name eq "bufalloc" ? "#009E73" : name eq "stream" ? "#CC79A7" : \
    name eq "vmm" ? "#56B4E9" : name eq "tlsf" ? "#D55E00" : name eq "caching" ? "#F0E442" : ""
spare = "#56B4E9 #CC79A7 #F0E442 #0072B2 #009E73 #E69F00 #000000 #999999 #D55E00"
# The point and dash of each colour, in the order of the palette. Yellow is too light for lines, which get a
# darker shade.
palette_of_marks = "#999999 #0072B2 #E69F00 #009E73 #CC79A7 #56B4E9 #D55E00 #F0E442 #000000"
point_types = "2 7 5 9 11 13 15 6 4"
other_points = "1 6 4 8 10 12 14 7 5"
dash_types = "3 1 2 4 5 1 2 4 1"
mark_number(c) = int(sum [k = 1:words(palette_of_marks)] (word(palette_of_marks, k) eq c ? k : 0))
count = words(series)
array colour[count]
array thin[count]
array point[count]
array dash[count]
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
    point[i] = int(word(before % 2 ? other_points : point_types, mark_number(colour[i])))
    dash[i] = (int(word(dash_types, mark_number(colour[i]))) + before - 1) % 5 + 1
}

set border 3 lc rgb "#404040"
set tics nomirror out
if (!is_text) { set grid ytics lc rgb "#dddddd" lw 1 lt 1 }

if (!exists("label_room")) { label_room = 0 }
per_row = is_text || panels < 2 ? 1 : label_room > 0 || panels == 2 || panels == 4 ? 2 : 3
rows = int(ceil(panels / (1.0 * per_row)))
width = 860
head = 34
foot = is_text ? 100 : 74
height = head + rows * panel_height + foot
left(p) = ((is_text ? 80 : 66) + ((p - 1) % per_row) * (width - 60.0) / per_row) / width
right(p) = left(p) + ((width - 60.0) / per_row - (per_row > 1 ? 46 : 20) - label_room) / width
above(p) = 1 - (head + ((p - 1) / per_row) * panel_height + 24.0) / height
below(p) = above(p) - (panel_height - 58.0) / height

places = words(place_names)
set logscale y 10
set xrange [-0.2 : places - 0.8]
set ytics ("10 ns" 1e1, "20 ns" 2e1, "50 ns" 5e1, "100 ns" 1e2, "200 ns" 2e2, "500 ns" 5e2, "1 µs" 1e3, "2 µs" 2e3, "5 µs" 5e3, \
    "10 µs" 1e4, "20 µs" 2e4, "50 µs" 5e4, "100 µs" 1e5, "200 µs" 2e5, "500 µs" 5e5, "1 ms" 1e6) font ",9"
set xtics nomirror font ',9' ()
do for [i = 1:places] { set xtics add (word(place_names, i) i - 1) }
heading = "time of an operation of the device heap, by live blocks"
x_title = "commands in a batch"
y_title = "an operation"
key = is_text ? "set key inside top right" : "unset key"

stats data using 3 name "OP" nooutput
label_low = log10(0.7 * OP_min)
label_high = log10(1.25 * OP_max)
set yrange [10 ** label_low : 10 ** label_high]
label_step = 12.0 / (panel_height - 58) * (label_high - label_low)
label_near = 0.5
array end_x[panels * count]
array end_y[panels * count]
do for [k = 1:panels * count] {
    end_x[k] = 0
    end_y[k] = NaN
    stats data index k - 1 using ($3 > 0 ? (end_x[k] = $1, end_y[k] = log10($3), $1) : $1) nooutput
}
# Places for names at the ends of lines, so that none covers another. Needs panels, count (lines a panel), the arrays
# end_x and end_y (of line (p - 1) * count + i, in units of the axes; end_y is NaN where there is no line), label_low
# and label_high (the range of y), label_step (a line of text) and label_near (lines whose ends are farther apart
# in x than this do not meet). Makes the array label_y.

array label_y[panels * count]
is_line(k) = end_y[k] == end_y[k] && end_y[k] >= label_low && end_y[k] <= label_high
do for [k = 1:panels * count] { label_y[k] = end_y[k] }
do for [pass = 1:80] {
    do for [p = 1:panels] {
        do for [i = (p - 1) * count + 1:p * count] {
            do for [j = (p - 1) * count + 1:p * count] {
                if (i != j && is_line(i) && is_line(j) && abs(end_x[i] - end_x[j]) < label_near) {
                    apart = label_y[j] - label_y[i]
                    if (apart < label_step && (apart > 0 || apart == 0 && j > i)) {
                        label_y[i] = label_y[i] - 0.3 * (label_step - apart)
                        label_y[j] = label_y[j] + 0.3 * (label_step - apart)
                    }
                }
            }
        }
        do for [i = (p - 1) * count + 1:p * count] {
            if (is_line(i) && label_y[i] < label_low + 0.5 * label_step) { label_y[i] = label_low + 0.5 * label_step }
            if (is_line(i) && label_y[i] > label_high - 0.5 * label_step) { label_y[i] = label_high - 0.5 * label_step }
        }
    }
}
end_of(p, i) = is_line((p - 1) * count + i) ? 10 ** label_y[(p - 1) * count + i] : 10 ** label_low
name_of(p, i) = is_line((p - 1) * count + i) && !is_text ? word(series, i) : ""

chart = "set title word(panel_names, p) . ' live blocks' offset 0, -0.8 font ',11'; \
    plot for [i = 1:count] data index (p - 1) * count + i - 1 using 1:3 with linespoints pt point[i] ps point_scale * 0.8 lw 2 lc rgb thin[i] title word(series, i), \
        for [i = 1:count] '+' every ::0::0 using (end_x[(p - 1) * count + i]):(end_of(p, i)):(name_of(p, i)) with labels left offset 1, 0 font ',9' textcolor rgb thin[i] notitle"
# Draws the variable chart for each panel p (panels.gp). Needs the variables heading, key, x_title and y_title. Titles of
# axes stand at the first panel of a row and at the last of a column, in text behind the heading.

axes = !is_text ? "" : " (" . (x_title eq "" ? "" : "x: " . x_title . "; ") . "y: " . y_title . ")"
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
    eval key
    set multiplot
    set label 1 folded(caption . note) at screen 0.5, screen caption_at / height center font ",9" textcolor rgb "#606060"
    set label 2 (heading . axes) at screen 0.5, screen 1 - 14.0 / height center font bold . ",12"
    do for [p = 1:panels] {
        set lmargin at screen left(p)
        set rmargin at screen right(p)
        set tmargin at screen above(p)
        set bmargin at screen below(p)
        set xlabel (!is_text && p + per_row > panels ? x_title : "") font ",10" offset 0, 0.4
        set ylabel (!is_text && (p - 1) % per_row == 0 ? y_title : "") font ",10" offset 1.8, 0
        eval chart
        unset label 1
        unset label 2
    }
    unset multiplot
}
