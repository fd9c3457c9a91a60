# The cost of a memory by its size: alloc, first use and free on an idle device, a line a method, with the fit a + size / b
# in its name. The dashed line is a copy of as many bytes.

panels = 1
load "atlas_axes.gp"

set xlabel "size of the memory" offset 0, 0.4
set ylabel "alloc + first use + free" offset 1
stats data using 2 name "TIME" nooutput
stats data using 1 name "SIZE" nooutput
low = floor(log10(TIME_min))
high = ceil(log10(TIME_max))
set yrange [10 ** low : 10 ** high]
set xrange [SIZE_min / 1.5 : SIZE_max * 1.5]
set label 1 folded(caption . note) at screen 0.5, screen 0.025 center font ',9' textcolor rgb '#606060'

width = 830
height = 520
panel_height = 410.0
legends = legends . ' "a copy of as many bytes"'
count = count + 1
load "atlas_labels.gp"
methods = count - 1
if (is_text) { set key below Left reverse maxcols 1; unset label 1; set xlabel folded(caption . note) }
do for [file in terminals] {
    load "open.gp"
    if (file eq "dumb") {
        plot for [i = 1:methods] data index i - 1 using 1:2 with lines title word(legends, i), \
            data index methods using 1:2 with points title "a copy of it"
    } else {
        unset key
        set lmargin at screen 86.0 / width
        set rmargin at screen (width - names_width) / width
        set tmargin at screen 1 - 20.0 / height
        set bmargin at screen 90.0 / height
        plot for [i = 1:methods] data index i - 1 using 1:2 with linespoints lw 2 dt dash_of(word(series, i)) pt 7 ps point_scale * 0.5 lc rgb colour_of(word(series, i)), \
            data index methods using 1:2 with lines lw 2.5 dt 2 lc rgb "#000000", \
            for [i = 1:count] "+" every ::0::0 using (x_of(end_x[i])):(y_of(i)):(name_at(i)) \
                with labels left offset 0.8, 0 font ",10" textcolor rgb (i > methods ? "#000000" : colour_of(word(series, i)))
    }
}
