# The cost of a memory by its size: alloc, first use and free on an idle device. A line a method, with the fit
# a + size / b in the legend. The dashed line is a copy of as many bytes.

load "terminal.gp"

methods = words(series)

load "atlas_axes.gp"

set key at graph 0.02, 0.98 left top vertical Left reverse font ',10' samplen 2 spacing 1.1 maxcols 1
set xlabel "bytes"
set ylabel "alloc + first use + free" offset 1
stats data using 2 name "TIME" nooutput
set yrange [10 ** floor(log10(TIME_min)) : 10 ** (ceil(log10(TIME_max)) + 1)]
stats data using 1 name "SIZE" nooutput
set xrange [SIZE_min / 1.5 : SIZE_max * 1.5]
set label 1 folded(caption . note) at screen 0.5, 0.025 center font ',9' textcolor rgb '#606060'
set bmargin at screen 0.15

width = 1000
height = 560
if (is_text) { set key below maxcols 1; set bmargin; unset label 1; set xlabel folded(caption . note) }
do for [file in terminals] {
    load "open.gp"
    if (file eq "dumb") {
        plot for [i = 1:methods] data index i - 1 using 1:2 with lines title word(legends, i), \
            data index methods using 1:2 with points title "a copy of it"
    } else {
        plot for [i = 1:methods] data index i - 1 using 1:2 with linespoints lw 2 dt dash_of(word(series, i)) pt 7 ps 0.5 lc rgb colour_of(word(series, i)) title word(legends, i), \
            data index methods using 1:2 with lines lw 2.5 dt 2 lc rgb "#000000" title "a copy of it, for comparison"
    }
}
