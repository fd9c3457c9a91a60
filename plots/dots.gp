# Sorted dots: a row a configuration, a panel a workload or trace, the least first. Vertical lines are the lower bound
# and, where it is known, the optimum; the axis is what is over the better known of the two. Needs the variables data,
# series, titles, x_name, least_words (what the first of a panel does), dot_name, ring_name ("": there are no rings) and
# optimum_name.

load "terminal.gp"
load "colours.gp"

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
    load "open.gp"
    set multiplot
    set label 1 folded(caption . note) at screen 0.5, screen caption_at / height center font ",9" textcolor rgb "#606060"
    set label 2 heading at screen 0.5, screen 1 - 12.0 / height center font bold . ",12"
    set label 3 x_name at screen 0.5, screen 1 - (is_text ? 2.2 * line : 30.0) / height center font ",11"
    right = high + (across < 2 && !is_text ? 0.25 : 0.45) * span
    set xrange [low - 0.06 * span : right]
    set xtics font ",9"
    set ytics font ",9"
    most = is_text ? 6 : 7
    load "log2_ticks.gp"
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
