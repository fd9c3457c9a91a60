# Made by `gamut plot`. In this folder, `gnuplot <this file>` draws it again as .svg and .png,
# `gnuplot -e "terminals='dumb'" <this file>` on the terminal.

data = 'speedup-opencl-1.dat'
out = 'speedup-opencl-1'
caption = 'NVIDIA H200 (opencl:1), driver 580.159.04, data set medium, rev 7fc008d68dd2, 6 rounds, 2026-11-23'
note = ''
series = '"bufalloc" "caching" "pool" "tagged" "tlsf"'
strategy = ''
note = '; skipped: stream, vmm'
series = '"pool" "caching" "tlsf" "bufalloc" "tagged"'
low_1 = -0.25
high_1 = 4.84999333538

# How many times faster than raw each configuration is. Whiskers are intervals over rounds.

titles = '"speed-up over raw"'
better = "right is faster"
reference_name = "raw"
# A row for each program and a dot for each configuration; the means over the programs stand apart, above, and
# their names are the legend. Needs the variables data, series, low_1, high_1, titles (a heading
# for each measure), better ("right is better") and reference_name (what 1 stands for).

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

measures = words(titles)
array lows[2]
array highs[2]
lows[1] = low_1
highs[1] = high_1
if (measures > 1) { lows[2] = low_2; highs[2] = high_2 }
log2(x) = log(x) / log(2)
at(v) = v > 0 ? log2(v) : NaN
stats data index 0 using (strlen(strcol(2))) name "LABEL" nooutput
stats data index 1 using (strlen(strcol(2))) name "NAME" nooutput
# What the picture says: the mean of the first configuration, and where there is room that of the last.
array first[2]
do for [k = 1:measures] {
    first[k] = ""
    stats data index 1 every ::0::0 using (first[k] = strcol(2) . " " . strcol(6 + 4 * (k - 1)), 0) nooutput
    to_last = ""
    stats data index 1 every ::(count - 1) using (to_last = " to " . strcol(2) . " " . strcol(6 + 4 * (k - 1)), 0) nooutput
    if (measures == 1 && count > 1 && strlen(titles . first[k] . to_last) < 66) { first[k] = first[k] . to_last }
}
rows = LABEL_records
longest = LABEL_max > NAME_max + 2 * is_text ? LABEL_max : NAME_max + 2 * is_text

# Sizes in points of the SVG.
width = 830
line = is_text ? width * 1.4 / columns : 18.0
names_width = is_text ? (longest + 2.0) * width / columns : 20 + 6.6 * longest
# The words above the names have room, too.
over_names = is_text ? 22.0 * width / columns : 122.0
names_width = names_width < over_names ? over_names : names_width
texts_width = is_text ? 11.0 * width / columns : measures > 1 ? 70 : 142
lane_height = count > 12 ? 2.2 : 3.2
row_height = is_text ? line : lane_height * count + 5 > 17 ? lane_height * count + 5 : 17.0
head = is_text ? 3 * line : 54
edge = is_text ? 0.5 : 0.2 # beyond the first and the last row
means_height = (count + 2 * edge) * line
gap = is_text ? 4 * line : 54
foot = is_text ? 5 * line : 78
height = head + means_height + gap + row_height * (rows + 2 * edge) + foot
panel_width = (width - names_width - (measures > 1 ? 0 : texts_width)) / measures
# The place of a distance from the top. The last line of a text is at 0.
down(distance) = 1 - distance / (is_text ? height - line : height)
left(k) = (names_width + (k - 1) * panel_width) / width
right(k) = left(k) + (panel_width - (measures > 1 ? texts_width : 6)) / width

set border 1 lc rgb "#404040"
set tics nomirror out font ",10"
if (!is_text) { set grid xtics lc rgb "#dddddd" lw 1 lt 1 }
unset key
unset ytics
set datafile missing "NaN"
letter(i) = word("A B C D E F G H I J K L M N O P Q R S T U V W X", i)
name_of(i, name) = is_text ? letter(int(i)) . " " . name : name
lane(i) = is_text ? 0 : (i - (count + 1) / 2.0) * 0.8 / count
clip(v) = v < first_x ? first_x : v > last_x ? last_x : v
mark_size = count > 9 ? 0.6 : 0.75

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
    do for [k = 1:measures] {
        low = lows[k]
        high = highs[k]
        # Room for half a dot at both ends.
        room = 0.02 * (high - low > 0.05 ? high - low : 0.05)
        first_x = low - room
        last_x = high + room
        set xrange [first_x : last_x]
        most = int(panel_width / (is_text ? 8.0 * width / columns : 50.0))
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
        set lmargin at screen left(k)
        set rmargin at screen right(k)
        if (!is_text) { set arrow 1 from first 0, graph 0 to first 0, graph 1 nohead lw 1.2 lc rgb "#404040" front }
        c = 3 + 4 * (k - 1)

        # The means, which are the legend, too.
        set tmargin at screen down(head)
        set bmargin at screen down(head + means_height)
        set yrange [count + 0.5 + edge : 0.5 - edge]
        set title word(titles, k) . ": " . first[k] font bold . ",11" offset 0, -0.5
        unset xlabel
        if (k == 1) { set label 3 (rows > 1 ? sprintf("mean of %d programs", rows) : "") at screen left(k), screen down(is_text ? head - 0.3 * line : head - 9) right offset -0.8, 0 font ",9" textcolor rgb "#404040" }
        plot for [i = 1:(is_text ? 0 : count)] data index 1 every ::(i - 1)::(i - 1) using (clip(at(column(c)))):1:(clip(at(column(c + 1)))):(clip(at(column(c + 2)))) \
                with xerrorbars pt 0 lw 1.5 lc rgb thin[i] notitle, \
            for [i = 1:(is_text ? 0 : count)] data index 1 every ::(i - 1)::(i - 1) using (clip(at(column(c)))):1 with points pt point[i] ps point_scale * 1.1 lw 1.5 lc rgb thin[i] notitle, \
            data index 1 using (is_text ? clip(at(column(c))) : first_x):1:(is_text ? letter(int($1)) : "") with labels notitle, \
            data index 1 using (first_x):1:(k == 1 ? name_of($1, strcol(2)) : "") with labels right offset -0.8, 0 font ",10" notitle, \
            data index 1 using (last_x):1:(strcol(c + 3)) with labels left offset (is_text ? 2 : 0.8), 0 font ",9" textcolor rgb "#404040" notitle
        unset label 1

        # The programs.
        set tmargin at screen down(head + means_height + gap)
        set bmargin at screen down(height - foot)
        set yrange [rows + 0.5 + edge : 0.5 - edge]
        unset title
        set xlabel (is_text ? "" : word(titles, k) . ": " . better) font ",10" offset 0, 0.3
        if (!is_text) { do for [r = 1:rows:2] { set object r rectangle from graph 0, first r - 0.5 to graph 1, first r + 0.5 behind fs solid 1 noborder fc rgb "#F3F3F3" } }
        if (k == 1) { set label 3 (rows > 1 ? "largest first" : "") at screen left(k), screen down(head + means_height + gap - 9) right offset -0.8, 0 font ",9" textcolor rgb "#404040" }
        if (k == 1) { set label 4 reference_name at screen right(k), screen down(head + means_height + gap - 9) left offset 0.8, 0 font ",9" textcolor rgb "#404040" }
        plot for [i = 1:(is_text ? 0 : count)] data index 1 + i using (clip(at(column(2 + 3 * (k - 1))))):($1 + lane(i)):(clip(at(column(3 + 3 * (k - 1))))):(clip(at(column(4 + 3 * (k - 1))))) \
                with xerrorbars pt 0 lw 1 lc rgb thin[i] notitle, \
            for [i = 1:count] data index 1 + i using (clip(at(column(2 + 3 * (k - 1))))):($1 + lane(i)):(is_text ? letter(i) : "") with labels notitle, \
            for [i = 1:(is_text ? 0 : count)] data index 1 + i using (clip(at(column(2 + 3 * (k - 1))))):($1 + lane(i)) with points pt point[i] ps point_scale * mark_size lw 1.2 lc rgb thin[i] notitle, \
            data index 0 using (first_x):1:(k == 1 ? strcol(2) : "") with labels right offset -0.8, 0 font ",10" notitle, \
            data index 0 using (last_x):1:(k == 1 ? strcol(4) : "") with labels right offset -1, 0 font ",8" textcolor rgb "#B04000" notitle, \
            data index 0 using (last_x):1:(k == 1 ? strcol(3) : "") with labels left offset (is_text ? 2 : 0.8), 0 font ",9" textcolor rgb "#404040" notitle
        unset label 3
        unset label 4
        unset object
    }
    unset multiplot
}
