# Made by `gamut plot`. In this folder, `gnuplot <this file>` draws it again as .svg and .png,
# `gnuplot -e "terminals='dumb'" <this file>` on the terminal.

data = 'pareto-cuda-0.dat'
out = 'pareto-cuda-0'
caption = 'NVIDIA H200 (cuda:0), driver 580.159.04, data set medium, rev 7fc008d68dd2, 6 rounds, 2026-11-23'
note = ''
series = '"pool" "caching" "vmm" "bufalloc" "tlsf" "tagged" "stream" "raw"'
note = ''
heading = 'pool takes the least time in the mean, and holds 1.15× the lower bound'
below = 'raw holds the least, 1.00×, and takes 3.30× as long; geometric means of 36 programs'
low_x = -0.11890618524
high_x = 1.86409010603
low_y = -0.176558499952
high_y = 3.11920016581
plot_width = 480
plot_height = 280

# Time against memory: a point a configuration, means over the programs that all of them ran. Lower and further left is
# better. The steps are the front; names of points that another one beats beyond noise are grey.

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
# Ticks at factors on an axis whose values are their logarithms to base 2: as round numbers as the range needs. Needs
# low and high, the range in octaves, and most, how many ticks there is room for. Sets those of the x axis, and makes
# tick_places and tick_names.

span = high - low > 0.05 ? high - low : 0.05
octaves = int(ceil(span / (most > 1 ? most : 1)))
steps = "0.01 0.02 0.05 0.1 0.2 0.25 0.5"
step = 1.0
do for [k = words(steps):1:-1] { if ((2 ** high - 2 ** low) / real(word(steps, k)) <= most) { step = real(word(steps, k)) } }
tick_places = ""
tick_names = ""
if (span > 2.2 || step >= 1) {
    do for [k = octaves * int(floor(low / octaves)):int(ceil(high)):octaves] {
        tick_places = tick_places . sprintf(" %.6f", k)
        tick_names = tick_names . sprintf(" %g×", 2.0 ** k)
        if (octaves == 1 && 2 * span < most) {
            tick_places = tick_places . sprintf(" %.6f", k + log(1.5) / log(2))
            tick_names = tick_names . sprintf(" %g×", 1.5 * 2.0 ** k)
        }
    }
} else {
    do for [k = int(floor(2 ** low / step)):int(ceil(2 ** high / step))] {
        if (k > 0) {
            tick_places = tick_places . sprintf(" %.6f", log(k * step) / log(2))
            tick_names = tick_names . sprintf(" %g×", k * step)
        }
    }
}
set xtics ()
do for [k = 1:words(tick_places)] { set xtics add (word(tick_names, k) real(word(tick_places, k))) }
set ytics ()
do for [k = 1:words(tick_places)] { set ytics add (word(tick_names, k) real(word(tick_places, k))) }
low = low_x
high = high_x
# Ticks at factors on an axis whose values are their logarithms to base 2: as round numbers as the range needs. Needs
# low and high, the range in octaves, and most, how many ticks there is room for. Sets those of the x axis, and makes
# tick_places and tick_names.

span = high - low > 0.05 ? high - low : 0.05
octaves = int(ceil(span / (most > 1 ? most : 1)))
steps = "0.01 0.02 0.05 0.1 0.2 0.25 0.5"
step = 1.0
do for [k = words(steps):1:-1] { if ((2 ** high - 2 ** low) / real(word(steps, k)) <= most) { step = real(word(steps, k)) } }
tick_places = ""
tick_names = ""
if (span > 2.2 || step >= 1) {
    do for [k = octaves * int(floor(low / octaves)):int(ceil(high)):octaves] {
        tick_places = tick_places . sprintf(" %.6f", k)
        tick_names = tick_names . sprintf(" %g×", 2.0 ** k)
        if (octaves == 1 && 2 * span < most) {
            tick_places = tick_places . sprintf(" %.6f", k + log(1.5) / log(2))
            tick_names = tick_names . sprintf(" %g×", 1.5 * 2.0 ** k)
        }
    }
} else {
    do for [k = int(floor(2 ** low / step)):int(ceil(2 ** high / step))] {
        if (k > 0) {
            tick_places = tick_places . sprintf(" %.6f", log(k * step) / log(2))
            tick_names = tick_names . sprintf(" %g×", k * step)
        }
    }
}
set xtics ()
do for [k = 1:words(tick_places)] { set xtics add (word(tick_names, k) real(word(tick_places, k))) }
set xlabel "wall time over the fastest" font ",11" offset 0, 0.3
set ylabel (is_text ? "" : "peak held over the lower bound") font ",11"

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
    set label 2 heading at screen 0.5, screen 1 - (is_text ? 0.03 : 16 / height) center font bold . ",12"
    set label 3 below at screen 0.5, screen 1 - (is_text ? 0.06 : 36 / height) center font ",10" textcolor rgb "#404040"
    set lmargin at screen left / width
    set rmargin at screen (is_text ? 0.97 : (left + plot_width) / width)
    set tmargin at screen (is_text ? 0.9 : 1 - head / height)
    set bmargin at screen (is_text ? 0.22 : foot / height)
    set label 1 folded(caption . note) at screen 0.5, screen caption_at / height center font ",9" textcolor rgb "#606060"
    set label 4 (is_text ? "" : "grey name: another is faster beyond noise, and holds no more") at screen 0.5, screen 36 / height center font ",9" textcolor rgb "#606060"
    set label 5 (is_text ? "better: lower, left" : "↙ better") at screen (is_text ? 0.02 : 10 / width), screen (is_text ? 0.14 : 82 / height) left font ",11" textcolor rgb "#606060"
    plot data index 1 using (log2($1)):(log2($2)) with steps lw 1.5 lc rgb "#909090", \
        data index 2 using 1:2:($7 - $1):($4 - $2) with vectors nohead lw 0.5 lc rgb "#909090", \
        for [i = 1:(is_text ? 0 : count)] data index 0 every ::(i - 1)::(i - 1) using (log2($3)):(log2($6)):(log2($4)):(log2($5)) with xerrorbars pt 0 lw 1.2 lc rgb thin[i], \
        for [i = 1:count] data index 0 every ::(i - 1)::(i - 1) using (log2($3)):(log2($6)) with points pt (is_text ? 3 : point[i]) ps point_scale * 1.3 lw 1.5 lc rgb thin[i], \
        data index 2 using 3:4:(int($6) ? "" : strcol(5)) with labels left font ",10" textcolor rgb "#000000", \
        data index 2 using 3:4:(int($6) ? strcol(5) : "") with labels left font ",10" textcolor rgb "#909090"
    do for [l = 1:5] { unset label l }
}
