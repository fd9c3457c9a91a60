# Made by `gamut plot`. In this folder, `gnuplot <this file>` draws it again as .svg and .png,
# `gnuplot -e "terminals='dumb'" <this file>` on the terminal.

data = 'stability-cuda-0.dat'
out = 'stability-cuda-0'
caption = 'NVIDIA H200 (cuda:0), driver 580.159.04, data set medium, rev 7fc008d68dd2, 6 rounds, 2026-11-23'
note = ''
rows = 12
rounds = 6
times = 1728
half = 0.00511840714211
nine_tenths = 0.0359017166642

# The stability of a run. Above, in the order of measurement: the median of all cases, in steps, and the band from p10
# to p90. Below, a row a case, those that scatter most: a dot for each round.

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

longest = 4
if (rows > 0) { stats data index 1 using (strlen(strcol(2))) name "NAME" nooutput; longest = NAME_max }
width = 830
line = is_text ? width * 1.4 / columns : 17.0
names_width = is_text ? (longest + 3.0) * width / columns : 24 + 6.2 * longest
names_width = names_width < 90 && !is_text ? 90 : names_width
head = is_text ? 3 * line : 40
band_height = is_text ? 12 * line : 190
gap = is_text ? 5 * line : 84
foot = is_text ? 5 * line : 84
height = head + band_height + gap + (rows + 1) * line + foot
down(distance) = 1 - distance / (is_text ? height - line : height)
percent(v) = 100 * v

set border 3 lc rgb "#404040"
set tics nomirror out font ",10"
if (!is_text) { set grid xtics ytics lc rgb "#dddddd" lw 1 lt 1 }
unset key
stats data index 0 using 5:6 name "BAND" nooutput
top = BAND_max_y > 0.005 ? BAND_max_y : 0.005
bottom = BAND_min_x < -0.005 ? BAND_min_x : -0.005
stats data index 2 using 2 name "FAR" nooutput

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
    set lmargin at screen (is_text ? 0.12 : 76.0 / width)
    set rmargin at screen 0.975
    set tmargin at screen down(head)
    set bmargin at screen down(head + band_height)
    set xrange [0 : rounds]
    set yrange [1.1 * percent(bottom) : 1.1 * percent(top)]
    set format y "%+.3g %%"
    set format x "%g"
    set ytics nomirror out font ",10"
    if (rounds > 500) { set xtics autofreq } else { set xtics 0, (rounds > 200 ? 50 : rounds > 60 ? 10 : rounds > 20 ? 5 : 1) }
    set xlabel "round, in the order of measurement" font ",10" offset 0, 0.3
    set title sprintf("%.0f times: half within ±%.2g %%", times, percent(half)) . (is_text ? "" : " of the median of their case") . sprintf(", nine tenths within ±%.2g %%", percent(nine_tenths)) font (is_text ? "" : bold . ",11") offset 0, -0.5
    if (!is_text) { set label 2 "median and p10 to p90" at graph 0.99, graph 0.95 right font ",9" textcolor rgb "#404040" }
    plot data index 0 using ($1 + ($2 + $3) / 2):(percent($4)):($1 + $2):($1 + $3):(percent($5)):(percent($6)) with boxxyerror fs solid 1 noborder fc rgb "#C9DCEC", \
        data index 0 using ($1 + $2):(percent($4)):($3 - $2):(0) with vectors nohead lw 2 lc rgb "#0072B2", \
        0 lw 1 lc rgb "#404040"
    unset label 1
    unset label 2
    if (rows > 0) {
        set lmargin at screen names_width / width
        set tmargin at screen down(head + band_height + gap)
        set bmargin at screen down(height - foot)
        set border 1
        set yrange [rows + 1 : 0]
        unset ytics
        low = percent(FAR_min)
        high = percent(FAR_max > FAR_min ? FAR_max : FAR_min + 0.01)
        set xrange [low - 0.03 * (high - low) : high + 0.03 * (high - low)]
        set xtics autofreq
        set format x "%+.3g %%"
        set title "the cases that scatter most, a dot a round" font (is_text ? "" : bold . ",11") offset 0, -0.5
        set xlabel (is_text ? "" : "time of a round over the median of the case") font ",10" offset 0, 0.3
        plot data index 1 using (low):1:(0):(0) with vectors nohead lc rgb "#ffffff", \
            data index 2 using (percent($2)):1 with points pt (is_text ? 15 : 7) ps point_scale * 0.8 lc rgb "#0072B2", \
            data index 1 using (low - 0.03 * (high - low)):1:2 with labels right offset -0.8, 0 font ",10"
    }
    unset multiplot
    set border 3
    set ytics
}
