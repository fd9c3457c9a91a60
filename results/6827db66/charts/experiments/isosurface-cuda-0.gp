# Made by `gamut plot`. In this folder, `gnuplot <this file>` draws it again as .svg and .png,
# `gnuplot -e "terminals='dumb'" <this file>` on the terminal.

data = 'isosurface-cuda-0.dat'
out = 'isosurface-cuda-0'
caption = 'NVIDIA H200 (cuda:0), driver 580.159.04, rev 7fc008d68dd2, 3 rounds, 2026-11-23'
note = ''
heading = 'a window of 10 × 10 × 10 chunks of 32³ cells, a layer a frame'

# Time and bytes of each method of getting memory of unknown size: a row a method, a panel a quantity, on logarithmic
# axes. The line in a row of bytes marks the bytes that were used.

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

set border 1 lc rgb "#404040"
set tics nomirror out
unset ytics
if (!is_text) { set grid xtics lc rgb "#dddddd" lw 1 lt 1 }
unset key

stats data using (strlen(strcol(2))) name "LABEL" nooutput
rows = LABEL_records
array low_of[3]
array high_of[3]
do for [p = 1:3] {
    stats data using (column(p + 2) > 0 ? column(p + 2) : NaN) name "X" nooutput
    low_of[p] = X_records > 0 ? X_min : 1
    high_of[p] = X_records > 0 ? X_max : 1
}
stats data using ($6 > 0 ? $6 : NaN) name "USED" nooutput
if (USED_records > 0 && USED_min < low_of[3]) { low_of[3] = USED_min }
array titles[3] = ["time of a frame", "of it, the host was blocked", "most bytes held; used: the line"]
colour_of(p) = p == 1 ? "#0072B2" : p == 2 ? "#D55E00" : "#009E73"
width = 860
label_points = 16 + 7 * LABEL_max
height = 78 + 19 * rows + 46
if (is_text) { label_points = (LABEL_max + 3.0) * width / columns; line = width * 1.4 / columns; height = (rows + 9) * line }
panel_points = (width - label_points - 20) / 3.0
set yrange [rows - (is_text ? 0 : 0.4) : (is_text ? -1 : -0.6)]

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
    set tmargin at screen (is_text ? 1 - 3 * line / (height - line) : 1 - 58.0 / height)
    set bmargin at screen (is_text ? 1 - (rows + 4) * line / (height - line) : 56.0 / height)
    set label 1 folded(caption . note) at screen 0.5, screen caption_at / height center font ",9" textcolor rgb "#606060"
    set label 2 heading at screen 0.5, screen 1 - 14.0 / height center font bold . ",12"
    do for [p = 1:3] {
        set lmargin at screen (label_points + (p - 1) * panel_points) / width
        set rmargin at screen (label_points + p * panel_points - 66) / width
        set title titles[p] offset 0, -0.6 font ",11"
        set logscale x
        low = 0.7 * low_of[p]
        set xrange [low : 1.4 * high_of[p]]
        decades = log10(high_of[p] / low_of[p])
        if (p < 3) {
            set xtics ("100 ns" 1e2, "1 µs" 1e3, "10 µs" 1e4, "100 µs" 1e5, "1 ms" 1e6, "10 ms" 1e7, "100 ms" 1e8, "1 s" 1e9) font ",9"
            if (decades < 1.4) { set xtics add ("200 ns" 2e2, "500 ns" 5e2, "2 µs" 2e3, "5 µs" 5e3, "20 µs" 2e4, "50 µs" 5e4, "200 µs" 2e5, "500 µs" 5e5, "2 ms" 2e6, "5 ms" 5e6, "20 ms" 2e7, "50 ms" 5e7) }
        } else {
            set xtics ("64 KiB" 2**16, "1 MiB" 2**20, "16 MiB" 2**24, "256 MiB" 2**28, "4 GiB" 2**32, "64 GiB" 2**36) font ",9"
        }
        plot data using (column(p + 2) > 0 ? low : NaN):1:((column(p + 2) > 0 ? column(p + 2) : low) - low):(0) with vectors nohead lw 1 lc rgb "#c8c8c8", \
            data using (p == 3 && $6 > low ? $6 : NaN):($1 - 0.36):(0):(0.72) with vectors nohead lw 2.5 lc rgb "#000000", \
            data using (column(p + 2) > 0 ? column(p + 2) : NaN):1 with points pt (is_text ? 15 : 7) ps point_scale * 1.1 lc rgb colour_of(p), \
            data using (column(p + 2) > 0 ? column(p + 2) : 1.001 * low):1:(strcol(p + 6)) with labels left offset 0.9, 0 font ",9" textcolor rgb "#404040", \
            data using (1.001 * low):1:(p == 1 ? strcol(10) : "") with labels left offset 0.5, 0 font ",9" textcolor rgb "#D55E00", \
            data using (1.001 * low):1:(p == 1 ? strcol(2) : "") with labels right offset -0.8, 0 font ",10"
        unset label 1
        unset label 2
    }
    unset multiplot
}
