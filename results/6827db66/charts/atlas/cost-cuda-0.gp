# Made by `gamut plot`. In this folder, `gnuplot <this file>` draws it again as .svg and .png,
# `gnuplot -e "terminals='dumb'" <this file>` on the terminal.

data = 'cost-cuda-0.dat'
out = 'cost-cuda-0'
caption = 'NVIDIA H200 (cuda:0), driver 580.159.04, rev 7fc008d68dd2, 1 round, 2026-11-23'
note = ''
series = '"raw" "stream:threshold=0" "stream:threshold=max" "vmm" "pinned" "shared"'
legends = '"raw: 13.1 µs + 1.1 TiB/s; from 2.00 MiB 78.0 µs + 2.72 TiB/s" "stream:threshold=0: 56.9 µs; from 48.0 MiB 26.2 µs + 943 GiB/s" "stream:threshold=max: 11.5 µs + 54.1 TiB/s" "vmm: 71.7 µs + 2.63 TiB/s" "pinned: 809 µs; from 2.00 MiB 0.00 ns + 2.66 GiB/s" "shared: 136 µs + 12.8 GiB/s"'

# The cost of a memory by its size: alloc, first use and free on an idle device, a line a method, with the fit a + size / b
# in full in its name. The dashed line is a copy of as many bytes.

panels = 1
# Shared by the charts of an atlas: sizes and times on logarithmic axes, and a colour for each method.

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

count = words(series)
set border 3 lc rgb "#404040"
set tics nomirror out font ",10"
if (!is_text) { set grid xtics ytics lc rgb "#dddddd" lw 1 lt 1 }
set logscale x 2
set logscale y 10
set style fill transparent solid 0.15 noborder
set datafile missing "NaN"

set xtics ("1 KiB" 2**10, "32 KiB" 2**15, "1 MiB" 2**20, "32 MiB" 2**25, "1 GiB" 2**30, \
    "32 GiB" 2**35, "1 TiB" 2**40) 
set ytics ("1 ns" 1, "10 ns" 1e1, "100 ns" 1e2, "1 µs" 1e3, "10 µs" 1e4, "100 µs" 1e5, "1 ms" 1e6, \
    "10 ms" 1e7, "100 ms" 1e8, "1 s" 1e9, "10 s" 1e10)

# Wong's palette. A method that is a strategy, too, has the strategy's colour (colours.gp).
colour_of(method) = method eq "raw" ? "#999999" : method eq "resident" || method eq "stream:threshold=0" ? "#0072B2" : \
    method eq "stream:threshold=max" ? "#CC79A7" : method eq "vmm" ? "#56B4E9" : method eq "pinned" ? "#E69F00" : \
    method eq "shared" ? "#D55E00" : method eq "malloc" ? "#009E73" : "#F0E442"
dash_of(method) = method eq "raw" ? 1 : method eq "resident" || method eq "stream:threshold=0" ? 3 : method eq "stream:threshold=max" ? 4 : \
    method eq "vmm" ? 1 : method eq "pinned" ? 5 : method eq "shared" ? 4 : 1

set xlabel "size of the memory" offset 0, 0.4
set ylabel "alloc + first use + free" offset 1
stats data using 2 name "TIME" nooutput
stats data using 1 name "SIZE" nooutput
low = floor(log10(TIME_min))
high = ceil(log10(TIME_max))
set yrange [10 ** low : 10 ** high]
set xrange [SIZE_min / 1.5 : SIZE_max * 3]
# What the picture says: who is cheapest and who dearest at 1 MiB.
at_size = 2 ** 20
least_ns = most_ns = NaN
least = most = ""
do for [i = 1:count] {
    at_ns = NaN
    stats data index i - 1 using ($1 == at_size && $2 > 0 ? (at_ns = $2, $2) : $2) nooutput
    if (at_ns == at_ns && !(least_ns <= at_ns)) { least_ns = at_ns; least = word(series, i) }
    if (at_ns == at_ns && !(most_ns >= at_ns)) { most_ns = at_ns; most = word(series, i) }
}
in_words(ns) = ns < 1e3 ? sprintf("%.3g ns", ns) : ns < 1e6 ? sprintf("%.3g µs", ns / 1e3) : sprintf("%.3g ms", ns / 1e6)
heading = least eq most ? "" : sprintf("1 MiB costs from %s (%s) to %s (%s)", in_words(least_ns), least, in_words(most_ns), most)
set label 1 folded(caption . note) at screen 0.5, screen 0.025 center font ',9' textcolor rgb '#606060'

width = 830
height = 536
panel_height = 410.0
legends = legends . ' "a copy of as many bytes"'
count = count + 1
# Shared by the charts of an atlas: names at the lines. A line of sizes from 2 on ends where its data does. Needs low and
# high, the range of times as powers of ten, and panel_height.

lines = panels * count
array end_x[lines]
array end_y[lines]
do for [k = 1:lines] {
    end_x[k] = NaN
    end_y[k] = NaN
    stats data index k - 1 using ($2 > 0 ? (end_x[k] = log10($1), end_y[k] = log10($2), $1) : $1) nooutput
}
label_low = low
label_high = high
label_step = (strstrt(legends, ";") ? 29 : 13.5) / panel_height * (high - low)
label_near = 1000
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
# A fit of two lines has two lines of text. All names stand to the right of all lines, with a line to their own.
folded_fit(s) = strstrt(s, ";") ? s[1:strstrt(s, ";") - 1] . "\n   " . s[strstrt(s, ";") + 2:*] : s
wide(s) = strstrt(s, ";") && 2 * strstrt(s, ";") < strlen(s) + 3 ? strlen(s) - strstrt(s, ";") + 2 : strstrt(s, ";") ? strstrt(s, ";") - 1 : strlen(s)
longest = 4
do for [k = 1:words(legends)] { longest = wide(word(legends, k)) > longest ? wide(word(legends, k)) : longest }
names_width = 40 + 5.9 * longest
names_x = SIZE_max * 3
y_of(k) = is_line(k) ? 10 ** label_y[k] : 10 ** low
name_at(k) = is_line(k) ? folded_fit(word(legends, k)) : ""
from_x(k) = is_line(k) ? 10 ** end_x[k] : SIZE_min
from_y(k) = is_line(k) ? 10 ** end_y[k] : 10 ** low
run_x(k) = is_line(k) ? names_x - 10 ** end_x[k] : 0
rise_y(k) = is_line(k) ? y_of(k) - 10 ** end_y[k] : 0
methods = count - 1
if (is_text) { set key below Left reverse maxcols 1; unset label 1; unset xlabel; heading = heading . "\n" . folded(caption . note) }
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
    if (strlen(heading)) { set title heading font (is_text ? "" : bold . ",12") }
    if (file eq "dumb") {
        plot for [i = 1:methods] data index i - 1 using 1:2 with lines title word(legends, i), \
            data index methods using 1:2 with points title "a copy of it"
    } else {
        unset key
        set lmargin at screen 86.0 / width
        set rmargin at screen (width - names_width) / width
        set tmargin at screen 1 - 36.0 / height
        set bmargin at screen 90.0 / height
        plot for [i = 1:methods] data index i - 1 using 1:2 with linespoints lw 2 dt dash_of(word(series, i)) pt 7 ps point_scale * 0.5 lc rgb colour_of(word(series, i)), \
            data index methods using 1:2 with lines lw 2.5 dt 2 lc rgb "#000000", \
            for [i = 1:count] "+" every ::0::0 using (from_x(i)):(from_y(i)):(run_x(i)):(rise_y(i)) \
                with vectors nohead lw 0.5 dt 3 lc rgb (i > methods ? "#000000" : colour_of(word(series, i))), \
            for [i = 1:count] "+" every ::0::0 using (names_x):(y_of(i)):(name_at(i)) \
                with labels left offset 0.8, 0 font ",10" textcolor rgb (i > methods ? "#000000" : colour_of(word(series, i)))
    }
}
