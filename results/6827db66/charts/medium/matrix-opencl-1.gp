# Made by `gamut plot`. In this folder, `gnuplot <this file>` draws it again as .svg and .png,
# `gnuplot -e "terminals='dumb'" <this file>` on the terminal.

data = 'matrix-opencl-1.dat'
out = 'matrix-opencl-1'
caption = 'NVIDIA H200 (opencl:1), driver 580.159.04, data set medium, rev 7fc008d68dd2, 6 rounds, 2026-11-23'
note = ''
series = '"raw" "bufalloc" "caching" "pool" "tagged" "tlsf"'
strategy = ''
note = '; skipped: stream, vmm'
mean_row = 36
low = 0
high = 4

# How many times faster than raw: a row a workload, a column a configuration, by gain. The palette is Wong's orange and
# blue, which people with any kind of colour blindness can tell apart, and white where there is no difference: blue is
# better than raw. It is logarithmic, and each side goes as far as its values do (low and high, in octaves). A grey
# print shows the size of a difference, the numbers its direction. Noise is grey, without a colour; cells without a number
# are hatched and say why.

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

key_title = "speed-up over raw\n~ noise: the interval contains 1"
log2(x) = log(x) / log(2)
stats data index 0 using (strlen(strcol(2))) name "ROW" nooutput
stats data index 1 using (strlen(strcol(2))) name "COLUMN" nooutput
rows = ROW_records
columns_shown = COLUMN_records
# Each side has at least a quarter of an octave if it has any value.
worst = low
best = high
worst = worst > -0.02 ? 0 : worst > -0.25 ? -0.25 : worst
best = best < 0.02 ? 0 : best < 0.25 ? 0.25 : best
if (worst == 0 && best == 0) { best = 0.25 }

left = 16 + 6.6 * ROW_max
top = 26 + 6.4 * COLUMN_max
cell_width = 42
cell_height = 19
key_height = 76
width = left + cell_width * columns_shown + 24
width = width < 560 ? 560 : width
height = top + cell_height * rows + key_height
if (is_text) {
    # Names of columns stand in as many lines as keep them apart.
    left = (ROW_max + 4) * width / (1.0 * columns)
    cell_width = 0.95 * (width - left) / columns_shown
    lines = int(ceil((COLUMN_max + 1.0) / (cell_width * columns / width)))
    line = width * 1.4 / columns
    top = (lines + 2) * line
    key_height = 3 * line
    height = top + key_height + line * rows
}

unset border
unset key
set style fill solid 1.0
set tics scale 0 nomirror font ",10"
unset xtics
set ytics ()
set x2tics () rotate by 90 left
if (worst == 0) { set palette defined (0 "#FFFFFF", 1 "#0072B2") }
if (best == 0) { set palette defined (-1 "#D55E00", 0 "#FFFFFF") }
if (worst < 0 && best > 0) { set palette defined (worst "#D55E00", 0 "#FFFFFF", best "#0072B2") }
set cbrange [worst : best]
set xrange [-0.5 : columns_shown - 0.5]
set yrange [rows - 0.5 : -0.5]
set x2range [-0.5 : columns_shown - 0.5]
if (mean_row > 0 && !is_text) { set arrow 1 from -0.5, mean_row - 0.5 to columns_shown - 0.5, mean_row - 0.5 nohead lw 1.5 lc rgb "#404040" front }

# Ticks of the colour box: its ends and 1, unless they would cover each other.
tick(v) = sprintf("%.3g×", 2 ** v)
set cbtics out nomirror scale default font ",9" ("1×" 0)
if (worst < 0 && -worst > 0.15 * (best - worst)) { set cbtics add (tick(worst) worst) }
if (worst < -1 && best < -3 * worst) { set cbtics add (tick(worst / 2) worst / 2) }
if (best > 1 && -worst < 3 * best) { set cbtics add (tick(best / 2) best / 2) }
if (best > 0 && best > 0.15 * (best - worst)) { set cbtics add (tick(best) best) }
set colorbox horizontal user origin screen (left / (1.0 * width)), screen 52.0 / height size screen (190.0 / width), screen 9.0 / height

clipped(v) = v > best ? best : v < worst ? worst : v
is_dark(v, noise) = !noise && (v > 0.65 * best && v > 0 || v < 0.65 * worst && v < 0)
is_plain(v, noise) = !noise && !is_dark(v, noise)
digits(v) = v >= 100 ? sprintf("%.0f", v) : v >= 10 ? sprintf("%.1f", v) : sprintf("%.2f", v)
number(v, noise) = (noise ? "~" : "") . digits(v)
is_known(s) = s eq "ok"

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
    set lmargin at screen left / (1.0 * width)
    set rmargin at screen (left + cell_width * columns_shown) / (1.0 * width)
    set tmargin at screen 1 - top / (1.0 * height)
    set bmargin at screen key_height / (1.0 * height)
    set label 1 folded(caption . note) at screen 0.5, screen caption_at / height center font ",8" textcolor rgb "#606060"
    set label 2 key_title at screen (left + 200.0) / width, screen 61.0 / height left font ",10"
    if (file eq "dumb") {
        unset colorbox
        unset x2tics
        unset label 2
        do for [i = 1:columns_shown] { set label 2 + i word(series, i) at first i - 1, graph 1 center offset 0, 1 + (i - 1) % lines }
        plot data index 0 using (0):1:ytic(2) with points pt -1, \
            data index 2 using 2:1:(is_known(strcol(4)) ? number($3, $5 == 1) : strcol(4)) with labels
    } else {
        plot data index 0 using (0):1:ytic(2) with points pt -1, \
            data index 1 using 1:(0):x2tic(2) axes x2y1 with points pt -1, \
            data index 2 using 2:1:($2 - 0.49):($2 + 0.49):($1 - 0.47):($1 + 0.47):(is_known(strcol(4)) ? ($5 == 1 ? 0 : clipped(log2($3))) : NaN) with boxxyerror fs solid 1.0 noborder lc palette, \
            data index 2 using (is_known(strcol(4)) ? NaN : $2):1:($2 - 0.49):($2 + 0.49):($1 - 0.47):($1 + 0.47) with boxxyerror fs pattern 4 noborder fc rgb "#BBBBBB", \
            data index 2 using 2:1:(is_known(strcol(4)) && is_plain(log2($3), $5 == 1) ? number($3, 0) : "") with labels font ",9" textcolor rgb "#111111", \
            data index 2 using 2:1:(is_known(strcol(4)) && $5 == 1 ? number($3, 1) : "") with labels font ",9" textcolor rgb "#808080", \
            data index 2 using 2:1:(is_known(strcol(4)) && is_dark(log2($3), $5 == 1) ? number($3, 0) : "") with labels font ",9" textcolor rgb "#FFFFFF", \
            data index 2 using 2:1:(is_known(strcol(4)) ? "" : strcol(4)) with labels font ",8" textcolor rgb "#000000"
    }
}
