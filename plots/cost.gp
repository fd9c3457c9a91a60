# The cost of a memory by its size: alloc, first use and free on an idle device, a line a method, with the fit a + size / b
# in full in its name. The dashed line is a copy of as many bytes.

panels = 1
load "atlas_axes.gp"

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
load "atlas_labels.gp"
methods = count - 1
if (is_text) { set key below Left reverse maxcols 1; unset label 1; unset xlabel; heading = heading . "\n" . folded(caption . note) }
do for [file in terminals] {
    load "open.gp"
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
