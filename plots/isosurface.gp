# Time and bytes of each method of getting memory of unknown size: a line a method, a panel a quantity. All
# axes but the first are logarithmic. The black line in a bar of bytes marks the bytes that were used.

load "terminal.gp"

set border 1 lc rgb "#404040"
set tics nomirror out
unset ytics
if (!is_text) { set grid xtics lc rgb "#dddddd" lw 1 lt 1 }
set style fill solid 1.0 border rgb "#404040"
unset key

stats data using (strlen(strcol(2))) name "LABEL" nooutput
rows = LABEL_records
array most_of[3]
do for [p = 1:3] {
    stats data using (column(p + 2)) name "X" nooutput
    most_of[p] = X_max > 0 ? X_max : 1
}
array titles[3] = ["time of a frame", "of it, the host was blocked", "most bytes held; used (line)"]
colour_of(p) = p == 1 ? "#0072B2" : p == 2 ? "#D55E00" : "#009E73"
width = 1200
label_points = 16 + 7 * LABEL_max
height = 78 + 24 * rows + 46
if (is_text) { label_points = (LABEL_max + 3.0) * width / columns; height = (rows + 8) * width * 1.4 / columns }
panel_points = (width - label_points - 20) / 3.0
set yrange [rows - 0.4 : -0.6]

do for [file in terminals] {
    load "open.gp"
    set multiplot
    set tmargin at screen 1 - 58.0 / height
    set bmargin at screen 56.0 / height
    set label 1 folded(caption . note) at screen 0.5, screen caption_at / height center font ",9" textcolor rgb "#606060"
    set label 2 heading at screen 0.5, screen 1 - 14.0 / height center font ",13"
    do for [p = 1:3] {
        set lmargin at screen (label_points + (p - 1) * panel_points) / width
        set rmargin at screen (label_points + p * panel_points - 78) / width
        set title titles[p] offset 0, -0.6 font ",11"
        unset logscale x
        most = most_of[p]
        if (p == 1) {
            low = 0
            set xrange [0 : 1.02 * most]
            set xtics (most >= 1e9 ? sprintf("%.3g s", most / 1e9) : most >= 1e6 ? sprintf("%.3g ms", most / 1e6) : sprintf("%.3g µs", most / 1e3) most, "0" 0)
        } else {
            low = p == 2 ? 100 : 2 ** 16
            set logscale x
            set xrange [low : (most > 2 * low ? most : 2 * low)]
            if (p == 2) { set xtics ("100 ns" 1e2, "1 µs" 1e3, "10 µs" 1e4, "100 µs" 1e5, "1 ms" 1e6, "10 ms" 1e7, "100 ms" 1e8) }
            else { set xtics ("64 KiB" 2**16, "1 MiB" 2**20, "16 MiB" 2**24, "256 MiB" 2**28, "4 GiB" 2**32, "64 GiB" 2**36) }
        }
        plot data using (column(p + 2) > low ? (column(p + 2) + low) / 2 : low):1:(low):(column(p + 2) > low ? column(p + 2) : low):($1 - 0.36):($1 + 0.36) \
                with boxxyerror fc rgb colour_of(p), \
            data using (p == 3 && $6 > low ? $6 : NaN):($1 - 0.36):(0):(0.72) with vectors nohead lw 2.5 lc rgb "#000000", \
            data using (column(p + 2) > low ? column(p + 2) : 1.001 * low):1:(strcol(p + 6)) with labels left offset 0.5, 0 font ",9" textcolor rgb "#404040", \
            data using (1.001 * low):1:(p == 1 ? strcol(10) : "") with labels left offset 0.5, 0 font ",9" textcolor rgb "#D55E00", \
            data using (low):1:(p == 1 ? strcol(2) : "") with labels right offset -0.8, 0 font ",10"
        unset label 1
        unset label 2
    }
    unset multiplot
}
