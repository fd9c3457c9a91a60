# Made by `gamut plot`. In this folder, `gnuplot <this file>` draws it again as .svg and .png,
# `gnuplot -e "terminals='dumb'" <this file>` on the terminal.

data = 'held-opencl-1.dat'
out = 'held-opencl-1'
caption = 'NVIDIA H200 (opencl:1), driver 580.159.04, data set medium, rev 7fc008d68dd2, 6 rounds, 2026-11-23'
note = ''
series = '"raw" "bufalloc" "caching" "pool" "tagged" "tlsf"'
titles = '"backprop medium" "backprop_cpu medium" "bfs medium" "bfs_list medium" "bfs_mapwrite medium" "broadcast medium" "canny medium" "canny_cpu medium" "canny_gpu medium" "cfd medium" "cfd_cpu medium" "crypt medium"'
note = '; 144 more cases of other workloads are not shown'
where = 'opencl:1'

# The most memory that each configuration held from the driver, over the lower bound.

x_name = "memory held from the driver at most, over the lower bound, on " . where
least_words = "holds the least"
dot_name = "held"
ring_name = ""
optimum_name = ""
# Sorted dots: a row a configuration, a panel a workload or trace, the least first. Vertical lines are the lower bound
# and, where it is known, the optimum; the axis is what is over the better known of the two. Needs the variables data,
# series, titles, x_name, least_words (what the first of a panel does), dot_name, ring_name ("": there are no rings) and
# optimum_name.

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

panels = words(titles)
across = is_text || panels < 2 ? 1 : 2
longest = 4
do for [i = 1:count] { longest = strlen(word(series, i)) > longest ? strlen(word(series, i)) : longest }
longest = longest > 40 ? 40 : longest
shown(s) = strlen(s) > 40 ? s[1:39] . "…" : s
array bound[panels]
array best[panels]
array rows[panels]
array base[panels]
stats data index 0 using (bound[int($1) + 1] = $3, best[int($1) + 1] = $4, rows[int($1) + 1] = $5, 0) nooutput
most_rows = 1
low = 0.0
high = 0.0
over(p, b) = log(b / base[p]) / log(2)
do for [p = 1:panels] {
    base[p] = best[p] > 0 ? best[p] : bound[p] > 0 ? bound[p] : NaN
    most_rows = rows[p] > most_rows ? int(rows[p]) : most_rows
    if (!(base[p] > 0)) { base[p] = 1 }
    stats data index p using (over(p, $3)):(over(p, $4 > 0 ? $4 : $3)) name "OVER" nooutput
    high = OVER_max_x > high ? OVER_max_x : high
    high = OVER_max_y > high ? OVER_max_y : high
    low = OVER_min_x < low ? OVER_min_x : low
    if (bound[p] > 0 && over(p, bound[p]) < low) { low = over(p, bound[p]) }
}
span = high - low > 0.1 ? high - low : 0.1

# What the picture says: who is first, alone or with others, in most panels.
array least[panels]
do for [p = 1:panels] { stats data index p using 3 name "LEAST" nooutput; least[p] = LEAST_min }
heading = ""
first_in = 0
do for [i = 1:count] {
    is_first = 0
    do for [p = 1:panels] { stats data index p using (strcol(2) eq word(series, i) && $3 <= least[p] ? (is_first = is_first + 1, $3) : $3) nooutput }
    if (is_first > first_in) { first_in = is_first; heading = word(series, i) . " " . least_words . (panels > 1 ? sprintf(" in %d of %d panels", first_in, panels) : "") }
}

# Sizes in points of the SVG.
down = int(ceil(panels / (1.0 * across)))
width = across < 2 ? 820 : 900
line = is_text ? width * 1.4 / columns : 17.0
names_width = is_text ? (longest + 6.0) * width / columns : 20 + 6.2 * longest
head = is_text ? 6 * line : 76
panel_height = (most_rows + 1) * line + (is_text ? 5 * line : 54)
foot = is_text ? 5 * line : 46
height = head + down * panel_height + foot

set border 3 lc rgb "#404040"
set tics nomirror out
if (!is_text) { set grid xtics ytics lc rgb "#dddddd" lw 1 lt 1 }
times(p, b) = sprintf(b < 10 * base[p] ? "%.2f× %s" : "%.0f× %s", b / base[p], amount(b))
column_of(p) = (p - 1) % across
row_of(p) = (p - 1) / across
has_rings = strlen(ring_name) > 0

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
    set label 1 folded(caption . note) at screen 0.5, screen caption_at / height center font ",9" textcolor rgb "#606060"
    set label 2 heading at screen 0.5, screen 1 - 12.0 / height center font bold . ",12"
    set label 3 x_name at screen 0.5, screen 1 - (is_text ? 2.2 * line : 30.0) / height center font ",11"
    right = high + (across < 2 && !is_text ? 0.25 : 0.45) * span
    set xrange [low - 0.06 * span : right]
    set xtics font ",9"
    set ytics font ",9"
    most = is_text ? 6 : 7
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
    do for [p = 1:panels] {
        set lmargin at screen (names_width + column_of(p) * (width - 10.0) / across) / width
        set rmargin at screen ((column_of(p) + 1) * (width - 10.0) / across - 8) / width
        set tmargin at screen 1 - (head + row_of(p) * panel_height + (is_text ? line : 22.0)) / height
        set bmargin at screen 1 - (head + row_of(p) * panel_height + (is_text ? 2 * line : 22.0) + (rows[p] + 1) * line) / height
        set yrange [rows[p] + 0.9 : 0.1]
        set title word(titles, p) font bold . ",11" offset 0, -0.6
        unset arrow
        if (bound[p] > 0) { set arrow 1 from first over(p, bound[p]), graph 0 to first over(p, bound[p]), graph 1 nohead lw 2 dt (4, 3) lc rgb "#D55E00" }
        if (best[p] > 0) { set arrow 2 from first over(p, best[p]), graph 0 to first over(p, best[p]), graph 1 nohead lw 1.5 lc rgb "#404040" }
        set key at screen 0.5, screen 1 - (is_text ? 3.6 * line : 50.0) / height center horizontal samplen 2 maxrows 1 font ",10"
        plot data index p using (over(p, $3)):1:ytic(shown(strcol(2))) with points pt 7 ps point_scale * 1.2 lc rgb "#0072B2" title (p == 1 ? dot_name : ''), \
            data index p using (has_rings && $4 > 0 ? over(p, $4) : NaN):1 with points pt 6 ps point_scale * 1.2 lw 1.5 lc rgb "#606060" title (p == 1 && has_rings ? ring_name : ''), \
            data index p using (right):1:(times(p, $3)) with labels right font ",9" textcolor rgb "#404040" notitle, \
            keyentry with lines lw 2 dt (4, 3) lc rgb "#D55E00" title (p == 1 ? 'lower bound' : ''), \
            keyentry with lines lw 1.5 lc rgb "#404040" title (p == 1 && best[p] > 0 ? optimum_name : '')
        unset key
        unset label 1
        unset label 2
        unset label 3
    }
    unset multiplot
}
